//! Files of record batches: segments of logs, and snapshots of the metadata log.

use std::fs::File;
use std::io::{self, BufReader, Read, Write};
use std::path::Path;

use bytes::Bytes;
use dohle_codec::NativeCodecs;
use dohle_wire::record::control::ControlRecord;
use dohle_wire::record::{
    BATCH_HEADER_LEN, BatchHeader, RawBatch, Record, RecordIter, TimestampType,
};
use serde_json::{Value, json};

use super::out::{Out, Row};
use super::record::{self, Content};

/// Most bytes that a batch may take, and its records when decompressed: a damaged length must not
/// ask for more memory than this.
const BATCH_LIMIT: usize = 512 << 20;

/// What to print of a file of batches.
#[derive(Copy, Clone, Debug)]
pub(super) struct Wish {
    /// Print the records too.
    pub(super) data: bool,
    /// Whose records they are.
    pub(super) topic: Topic,
}

/// What the records of a file are.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) enum Topic {
    /// Those of the metadata log.
    Metadata,
    /// Those of `__consumer_offsets`.
    Groups,
    /// Whatever clients wrote.
    Other,
}

/// Prints the batches of a file; reports the first damage and stops there. Gives the offset after
/// the last batch, if there is one.
pub(super) fn dump<W: Write>(path: &Path, wish: Wish, out: &mut Out<W>) -> io::Result<Option<i64>> {
    let file = File::open(path)?;
    let len = file.metadata()?.len();
    let mut file = BufReader::with_capacity(1 << 20, file);
    let (mut position, mut next_offset) = (0, None);
    while position < len {
        let batch = match read_batch(&mut file, len - position)? {
            Ok(batch) => batch,
            Err(problem) => {
                out.damage(position, &problem)?;
                break;
            }
        };
        let header = batch.header;
        out.row("batch", 0, &batch_row(&batch, position))?;
        if let Some(next_offset) = next_offset.filter(|next| header.base_offset.0 < *next) {
            let problem = format!(
                "base offset {} is not after the batch before, which ends before {next_offset}",
                header.base_offset
            );
            out.damage(position, &problem)?;
        }
        if !batch.crc_ok() {
            out.damage(position, &format!("the checksum is not the {} it should be", header.crc))?;
        } else if let Err(problem) = records(&batch, wish, out)? {
            out.damage(position, &problem)?;
        }
        next_offset = Some(header.next_offset().0);
        position += header.total_len() as u64;
    }
    Ok(next_offset)
}

/// The next batch, or what is wrong with the bytes there.
fn read_batch(file: &mut impl Read, left: u64) -> io::Result<Result<RawBatch, String>> {
    let cut = |needed: usize| Err(format!("a batch of {needed} bytes is cut off after {left}"));
    if left < BATCH_HEADER_LEN as u64 {
        return Ok(Err(format!(
            "{left} bytes are left, fewer than the {BATCH_HEADER_LEN} of a batch header"
        )));
    }
    let mut bytes = vec![0; BATCH_HEADER_LEN];
    file.read_exact(&mut bytes)?;
    let header = match BatchHeader::parse(&bytes) {
        Ok(header) => header,
        Err(_) if bytes.iter().all(|byte| *byte == 0) => {
            return Ok(Err(format!("no batch: zeros ({left} bytes to the end of the file)")));
        }
        Err(error) => return Ok(Err(format!("no batch: {error}"))),
    };
    let len = header.total_len();
    if len as u64 > left {
        return Ok(cut(len));
    }
    if len > BATCH_LIMIT {
        return Ok(Err(format!("a batch of {len} bytes, more than {BATCH_LIMIT}")));
    }
    bytes.resize(len, 0);
    file.read_exact(&mut bytes[BATCH_HEADER_LEN..])?;
    Ok(RawBatch::parse(Bytes::from(bytes)).map_err(|error| format!("no batch: {error}")))
}

/// The names are those of Kafka's own dump tool.
fn batch_row(batch: &RawBatch, position: u64) -> Row {
    let header = &batch.header;
    let horizon = header.has_delete_horizon().then_some(header.base_timestamp.0);
    Row::new()
        .with("baseOffset", header.base_offset.0)
        .with("lastOffset", header.last_offset().0)
        .with("count", header.records_count)
        .with("baseSequence", header.base_sequence.0)
        .with("lastSequence", header.last_sequence().0)
        .with("producerId", header.producer_id.0)
        .with("producerEpoch", header.producer_epoch.0)
        .with("partitionLeaderEpoch", header.partition_leader_epoch.0)
        .with("isTransactional", header.is_transactional())
        .with("isControl", header.is_control())
        .maybe("deleteHorizonMs", horizon)
        .with("position", position)
        .with(stamp(header), header.max_timestamp.0)
        .with("size", header.total_len() as u64)
        .with("magic", header.magic)
        .with("compresscodec", header.compression().name())
        .with("crc", header.crc)
        .with("isvalid", batch.crc_ok())
}

const fn stamp(header: &BatchHeader) -> &'static str {
    match header.timestamp_type() {
        TimestampType::CreateTime => "CreateTime",
        TimestampType::LogAppendTime => "LogAppendTime",
    }
}

/// Reads the records of a batch to the last byte, and prints them if that is wished.
fn records<W: Write>(
    batch: &RawBatch,
    wish: Wish,
    out: &mut Out<W>,
) -> io::Result<Result<(), String>> {
    let bytes = match batch.records(&NativeCodecs, BATCH_LIMIT) {
        Ok(bytes) => bytes,
        Err(error) => return Ok(Err(format!("the records cannot be decompressed: {error}"))),
    };
    for (index, found) in RecordIter::new(&bytes, batch.header.records_count).enumerate() {
        let found = match found {
            Ok(found) => found,
            Err(error) => return Ok(Err(format!("record {index} of the batch: {error}"))),
        };
        let content = match content(&batch.header, &found, wish) {
            Ok(content) => content,
            Err(problem) => return Ok(Err(format!("record {index} of the batch: {problem}"))),
        };
        if wish.data || wish.topic == Topic::Metadata || batch.header.is_control() {
            out.row("record", 1, &record_row(&batch.header, index, &found, content))?;
        }
    }
    Ok(Ok(()))
}

fn record_row(header: &BatchHeader, index: usize, found: &Record<'_>, content: Content) -> Row {
    // As in Kafka, whether there is a producer or not: some write 0 without one.
    let sequence = (header.base_sequence.0 >= 0)
        .then(|| i32::try_from(index).ok().map(|index| header.base_sequence.plus(index).0))
        .flatten();
    let size = |data: Option<&[u8]>| data.map_or(-1, |data| data.len() as i64);
    let row = Row::new()
        .with("offset", found.offset(header).0)
        .with(stamp(header), found.timestamp(header).0)
        .with("keySize", size(found.key))
        .with("valueSize", size(found.value))
        .maybe("sequence", sequence);
    content.into_iter().fold(row, |row, (name, value)| row.with(name, value))
}

/// What a record says, or why it cannot be read.
fn content(header: &BatchHeader, found: &Record<'_>, wish: Wish) -> Result<Content, String> {
    if header.is_control() {
        let (key, value) = (found.key.unwrap_or_default(), found.value.unwrap_or_default());
        return match ControlRecord::decode(key, value) {
            Ok(Some(control)) => Ok(vec![("control", record::fields(&control))]),
            Ok(None) => Ok(vec![("control", json!("of an unknown type"))]),
            Err(error) => Err(format!("a control record that cannot be read: {error}")),
        };
    }
    match wish.topic {
        Topic::Metadata => record::metadata(found.value.unwrap_or_default()),
        Topic::Groups => record::group(found.key.unwrap_or_default(), found.value),
        Topic::Other => Ok(plain(found)),
    }
}

/// A record as text.
fn plain(found: &Record<'_>) -> Content {
    let text = |data: &[u8]| json!(String::from_utf8_lossy(data));
    let headers: Vec<Value> =
        found.headers.map(|each| json!([text(each.key), each.value.map(text)])).collect();
    let mut content = Vec::new();
    if !headers.is_empty() {
        content.push(("headers", json!(headers)));
    }
    content.push(("key", found.key.map_or(Value::Null, text)));
    content.push(("payload", found.value.map_or(Value::Null, text)));
    content
}
