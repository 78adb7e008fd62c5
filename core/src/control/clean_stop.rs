//! `.kafka_cleanshutdown`: the mark of a clean stop (CleanShutdownFileHandler).

use serde_json::Value;

/// Name of the file.
pub(super) const FILE: &str = ".kafka_cleanshutdown";

/// What it is renamed to, durably, before anything is written: a rename is known to be on the
/// disk when it completes, which a removal is not.
pub(super) const USED: &str = ".kafka_cleanshutdown.used";

/// The file's content after a stop in which the broker had this epoch.
pub(super) fn encode(broker_epoch: i64) -> String {
    format!("{{\"version\":0,\"brokerEpoch\":{broker_epoch}}}")
}

/// The broker epoch in the file; none in an empty one, as older brokers wrote it.
///
/// # Errors
/// That the file is damaged: then the stop was not clean.
pub(super) fn parse(bytes: &[u8]) -> Result<Option<i64>, String> {
    if bytes.is_empty() {
        return Ok(None);
    }
    let root: Value = serde_json::from_slice(bytes).map_err(|error| error.to_string())?;
    match root.get("brokerEpoch").and_then(Value::as_i64) {
        Some(epoch) => Ok(Some(epoch).filter(|epoch| *epoch >= 0)),
        None => Err("brokerEpoch is missing".to_owned()),
    }
}

/// Whether a file is the mark of a clean stop.
///
/// # Errors
/// What is wrong with it.
pub(crate) fn check(bytes: &[u8]) -> Result<(), String> {
    parse(bytes).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_content_is_kafkas_to_the_byte() {
        assert_eq!(encode(12), "{\"version\":0,\"brokerEpoch\":12}");
        assert_eq!(parse(encode(12).as_bytes()), Ok(Some(12)));
    }

    #[test]
    fn an_empty_file_is_a_clean_stop_a_damaged_one_is_not() {
        assert_eq!(parse(b""), Ok(None));
        assert!(parse(b"{\"version\":0").is_err());
        assert!(parse(b"{}").is_err());
        assert!(parse(b"\xff").is_err());
    }
}
