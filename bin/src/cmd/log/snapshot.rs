//! Snapshots of the state of producers: the last batch of each, as Kafka has it, and behind those
//! what only this broker writes, the batches before the last.

use std::fs;
use std::io::{self, Write};
use std::path::Path;

use bytes::Bytes;
use dohle_wire::{DecodeError, Reader};

use super::out::{Out, Row};

/// Version, checksum and count come first.
const HEAD: usize = 10;
const ENTRY: usize = 46;
const VERSION: i16 = 1;
/// What earlier batches begin with, and the size of one.
const EARLIER_MAGIC: u32 = 0x646f_4835;
const EARLIER: usize = 32;

/// Prints the producers of a snapshot.
pub(super) fn dump<W: Write>(path: &Path, out: &mut Out<W>) -> io::Result<()> {
    let bytes = Bytes::from(fs::read(path)?);
    if bytes.len() < HEAD {
        return out.damage(0, &format!("{} bytes, fewer than the {HEAD} of a head", bytes.len()));
    }
    let expected = crc32c::crc32c(&bytes[6..]);
    let mut reader = Reader::new(bytes.clone());
    let (version, crc, count) = match head(&mut reader) {
        Ok(head) => head,
        Err(error) => return out.damage(0, &error.to_string()),
    };
    if version != VERSION {
        return out.damage(0, &format!("version {version}, expected {VERSION}"));
    }
    if crc != expected {
        out.damage(2, &format!("the checksum is {crc}, but the content has {expected}"))?;
    }
    let entries = reader.remaining() / ENTRY;
    let announced = usize::try_from(count).unwrap_or(usize::MAX);
    if announced > entries {
        let left = reader.remaining();
        out.damage(6, &format!("{count} entries of {ENTRY} bytes announced, {left} bytes follow"))?;
    }
    for _ in 0..announced.min(entries) {
        match entry(&mut reader) {
            Ok(row) => out.row("producer", 0, &row)?,
            Err(error) => return out.damage(HEAD as u64, &error.to_string()),
        }
    }
    dump_earlier(reader, bytes.len(), out)
}

/// Prints the batches before the last of each producer, the oldest first.
fn dump_earlier<W: Write>(mut reader: Reader, len: usize, out: &mut Out<W>) -> io::Result<()> {
    let at = (len - reader.remaining()) as u64;
    if reader.remaining() == 0 {
        return Ok(());
    }
    let left = reader.remaining();
    if reader.u32() != Ok(EARLIER_MAGIC) || !reader.remaining().is_multiple_of(EARLIER) {
        return out.damage(at, &format!("{left} bytes follow that are no earlier batches"));
    }
    while reader.remaining() > 0 {
        match earlier(&mut reader) {
            Ok(row) => out.row("earlier", 1, &row)?,
            Err(error) => return out.damage(at, &error.to_string()),
        }
    }
    Ok(())
}

fn earlier(reader: &mut Reader) -> Result<Row, DecodeError> {
    Ok(Row::new()
        .with("earlierOf", reader.i64()?)
        .with("lastSequence", reader.i32()?)
        .with("lastOffset", reader.i64()?)
        .with("offsetDelta", reader.i32()?)
        .with("lastTimestamp", reader.i64()?))
}

fn head(reader: &mut Reader) -> Result<(i16, u32, i32), DecodeError> {
    Ok((reader.i16()?, reader.u32()?, reader.i32()?))
}

fn entry(reader: &mut Reader) -> Result<Row, DecodeError> {
    Ok(Row::new()
        .with("producerId", reader.i64()?)
        .with("producerEpoch", reader.i16()?)
        .with("lastSequence", reader.i32()?)
        .with("lastOffset", reader.i64()?)
        .with("offsetDelta", reader.i32()?)
        .with("lastTimestamp", reader.i64()?)
        .with("coordinatorEpoch", reader.i32()?)
        .with("currentTxnFirstOffset", reader.i64()?))
}
