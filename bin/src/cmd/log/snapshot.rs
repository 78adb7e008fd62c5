//! Snapshots of the state of producers.

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
    let whole = (bytes.len() - HEAD) / ENTRY;
    if usize::try_from(count) != Ok(whole) || !(bytes.len() - HEAD).is_multiple_of(ENTRY) {
        let left = bytes.len() - HEAD;
        out.damage(6, &format!("{count} entries of {ENTRY} bytes announced, {left} bytes follow"))?;
    }
    for _ in 0..whole {
        match entry(&mut reader) {
            Ok(row) => out.row("producer", 0, &row)?,
            Err(error) => return out.damage(HEAD as u64, &error.to_string()),
        }
    }
    Ok(())
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
