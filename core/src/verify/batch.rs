//! What is inside of a batch whose checksum is right.

use dohle_wire::id::Timestamp;
use dohle_wire::record::control::ControlRecord;
use dohle_wire::record::{BatchHeader, Codecs, RawBatch, Record, RecordIter, TimestampType};

use super::finding::Problem;

/// Most bytes that the records of a batch may take when decompressed.
const RECORDS_MAX: usize = 512 << 20;

/// Reads the records of a batch to the last byte.
///
/// # Errors
/// The first thing that is wrong.
pub(super) fn check(batch: &RawBatch, dense: bool, codecs: &dyn Codecs) -> Result<(), Problem> {
    let header = &batch.header;
    let slots = i64::from(header.last_offset_delta) + 1;
    let count = i64::from(header.records_count);
    if count > slots || (dense && count < slots) {
        let expected = format!("{slots} records by the last offset");
        return Err(Problem::new("records", expected, format!("{count} by the count")));
    }
    let bytes = batch.records(codecs, RECORDS_MAX).map_err(|error| {
        Problem::new("records", format!("{} data", header.compression()), error.to_string())
    })?;
    let (mut next, mut latest) = (0, Timestamp(-1));
    for (index, found) in RecordIter::new(&bytes, header.records_count).enumerate() {
        let wrong = |expected: &str, found: String| {
            Problem::new("records", format!("record {index}: {expected}"), found)
        };
        let record = found.map_err(|error| wrong("as long as it says", error.to_string()))?;
        let delta = i64::from(record.offset_delta);
        if delta < next || delta >= slots {
            let expected = format!("offset delta from {next} to {}", slots - 1);
            return Err(wrong(&expected, delta.to_string()));
        }
        control(header, &record).map_err(|error| wrong("a control record", error))?;
        next = delta + 1;
        latest = latest.max(record.timestamp(header));
    }
    let told = header.timestamp_type() == TimestampType::CreateTime && count > 0;
    if told && latest != header.max_timestamp {
        let expected = format!("greatest timestamp {}, as the header has it", header.max_timestamp);
        return Err(Problem::new("timestamps", expected, latest.to_string()));
    }
    Ok(())
}

fn control(header: &BatchHeader, record: &Record<'_>) -> Result<(), String> {
    if !header.is_control() {
        return Ok(());
    }
    let (key, value) = (record.key.unwrap_or_default(), record.value.unwrap_or_default());
    ControlRecord::decode(key, value).map(drop).map_err(|error| error.to_string())
}
