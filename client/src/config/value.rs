//! Parsing of single values.

use std::time::Duration;

use super::ConfigError;

/// Longest wait that a setting can ask for: a hundred years, so that sums of waits never overflow.
const LONGEST_MS: u64 = 100 * 365 * 24 * 3_600_000;

fn bad(key: &'static str, expected: &'static str, found: &str) -> ConfigError {
    ConfigError::BadValue { key, expected, found: found.to_owned() }
}

/// A setting that there is not.
pub(super) fn unknown(key: &str) -> ConfigError {
    let instead = match key {
        "partitioner.class" => "a `Partitioner` is given to the producer",
        "key.serializer" | "value.serializer" => "a `TypedProducer` is given its serializers",
        "key.deserializer" | "value.deserializer" => "a `Deserializer` is applied to what was read",
        _ => return ConfigError::UnknownKey { key: key.to_owned() },
    };
    ConfigError::InCode { key: key.to_owned(), instead }
}

pub(super) fn millis(key: &'static str, value: &str) -> Result<Duration, ConfigError> {
    let ms = value.trim().parse::<u64>();
    let ms = ms.map_err(|_| bad(key, "a number of milliseconds, 0 or more", value))?;
    Ok(Duration::from_millis(ms.min(LONGEST_MS)))
}

pub(super) fn bytes(key: &'static str, value: &str) -> Result<usize, ConfigError> {
    let count = value.trim().parse::<i32>().ok().and_then(|count| usize::try_from(count).ok());
    count.ok_or_else(|| bad(key, "a number of bytes from 0 to 2147483647", value))
}

pub(super) fn memory(key: &'static str, value: &str) -> Result<usize, ConfigError> {
    value.trim().parse().map_err(|_| bad(key, "a number of bytes, 0 or more", value))
}

pub(super) fn count(key: &'static str, value: &str) -> Result<u32, ConfigError> {
    let count = value.trim().parse::<u32>().ok().filter(|count| *count > 0);
    count.ok_or_else(|| bad(key, "a number, 1 or more", value))
}

pub(super) fn flag(key: &'static str, value: &str) -> Result<bool, ConfigError> {
    match value.trim() {
        "true" => Ok(true),
        "false" => Ok(false),
        _ => Err(bad(key, "true or false", value)),
    }
}

pub(super) fn choice<T: Copy>(
    key: &'static str,
    expected: &'static str,
    value: &str,
    choices: &[(&str, T)],
) -> Result<T, ConfigError> {
    let found = choices.iter().find(|(name, _)| *name == value.trim());
    found.map(|(_, choice)| *choice).ok_or_else(|| bad(key, expected, value))
}

/// Addresses separated by commas, each a host and a port; IPv6 hosts in brackets.
pub(super) fn addresses(key: &'static str, value: &str) -> Result<Vec<(String, u16)>, ConfigError> {
    let parsed: Option<Vec<_>> = value
        .split(',')
        .map(str::trim)
        .filter(|part| !part.is_empty())
        .map(|part| {
            let (host, port) = part.rsplit_once(':')?;
            let host = host.strip_prefix('[').and_then(|h| h.strip_suffix(']')).unwrap_or(host);
            let port = port.parse::<u16>().ok().filter(|port| *port > 0)?;
            (!host.is_empty()).then(|| (host.to_owned(), port))
        })
        .collect();
    parsed
        .filter(|list| !list.is_empty())
        .ok_or_else(|| bad(key, "a list of host:port, for example 127.0.0.1:9092", value))
}

/// A text that is not empty.
pub(super) fn name(key: &'static str, value: &str) -> Result<String, ConfigError> {
    let name = value.trim();
    if name.is_empty() { Err(bad(key, "a name", value)) } else { Ok(name.to_owned()) }
}

/// A span of time as ISO 8601 writes it in days, hours, minutes and seconds: `P1DT2H3M4S`.
pub(super) fn iso_duration(text: &str) -> Option<Duration> {
    let rest = text.strip_prefix('P')?;
    let (date, time) = rest.split_once('T').unwrap_or((rest, ""));
    let days = match date {
        "" => 0,
        date => date.strip_suffix('D')?.parse::<u64>().ok()?.checked_mul(86_400_000)?,
    };
    if rest.is_empty() || rest.ends_with('T') {
        return None;
    }
    let mut ms = days;
    let mut left = time;
    for (unit, factor) in [('H', 3_600_000), ('M', 60_000), ('S', 1000)] {
        let Some((number, behind)) = left.split_once(unit) else { continue };
        let (whole, part) = number.split_once('.').unwrap_or((number, ""));
        ms = ms.checked_add(whole.parse::<u64>().ok()?.checked_mul(factor)?)?;
        if !part.is_empty() {
            let digits = part.bytes().all(|digit| digit.is_ascii_digit());
            let milli = format!("{part}00").get(..3).filter(|_| digits && unit == 'S')?.to_owned();
            ms = ms.checked_add(milli.parse().ok()?)?;
        }
        left = behind;
    }
    left.is_empty().then(|| Duration::from_millis(ms.min(LONGEST_MS)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_of_time_are_read() {
        let check = |text, ms: Option<u64>| {
            assert_eq!(iso_duration(text), ms.map(Duration::from_millis), "{text}");
        };
        check("PT1S", Some(1000));
        check("PT0.25S", Some(250));
        check("P2DT3H4M5.006S", Some(2 * 86_400_000 + 3 * 3_600_000 + 4 * 60_000 + 5006));
        check("P7D", Some(7 * 86_400_000));
        for bad in ["", "P", "PT", "1S", "PT1", "PT-1S", "PT1M2H", "P1M", "PT1.5M", "PT1.xS"] {
            check(bad, None);
        }
    }
}
