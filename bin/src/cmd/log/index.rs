//! Index files beside a segment: offsets, times, aborted transactions.

use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::Path;

use dohle_wire::record::{BATCH_HEADER_LEN, BatchHeader};

use super::out::{Out, Row};

/// Prints an offset index and checks each entry against the segment, if that is there.
pub(super) fn offsets<W: Write>(path: &Path, base: i64, out: &mut Out<W>) -> io::Result<()> {
    let mut segment = File::open(path.with_extension("log")).ok();
    let mut last = (base, -1);
    each::<8, W>(path, out, |at, entry, out| {
        let (delta, position) = (int(&entry[..4]), int(&entry[4..]));
        let offset = base.saturating_add(i64::from(delta));
        let row = Row::new().with("offset", offset).with("position", position);
        out.row("offsetIndex", 0, &row)?;
        if delta < 0 || position < 0 || offset < last.0 || i64::from(position) <= last.1 {
            let problem = format!("offset {offset} at {position} is not after the entry before");
            return out.damage(at, &problem);
        }
        last = (offset, i64::from(position));
        match &mut segment {
            Some(segment) => check_position(segment, offset, position, at, out),
            None => Ok(()),
        }
    })
}

/// An entry names the last offset of a batch and where that batch starts.
fn check_position<W: Write>(
    segment: &mut File,
    offset: i64,
    position: i32,
    at: u64,
    out: &mut Out<W>,
) -> io::Result<()> {
    let mut bytes = [0; BATCH_HEADER_LEN];
    segment.seek(SeekFrom::Start(u64::from(position.unsigned_abs())))?;
    if segment.read_exact(&mut bytes).is_err() {
        return out.damage(at, &format!("position {position} is beyond the end of the segment"));
    }
    match BatchHeader::parse(&bytes) {
        Ok(header) if (header.base_offset.0..=header.last_offset().0).contains(&offset) => Ok(()),
        Ok(header) => {
            let (from, to) = (header.base_offset, header.last_offset());
            let found = format!("offset {offset} is not in the batch there ({from} to {to})");
            out.damage(at, &found)
        }
        Err(error) => out.damage(at, &format!("no batch starts at position {position}: {error}")),
    }
}

/// Prints a time index.
pub(super) fn times<W: Write>(path: &Path, base: i64, out: &mut Out<W>) -> io::Result<()> {
    let mut last = (i64::MIN, i64::MIN);
    each::<12, W>(path, out, |at, entry, out| {
        let (timestamp, delta) = (long(&entry[..8]), int(&entry[8..]));
        let offset = base.saturating_add(i64::from(delta));
        let row = Row::new().with("timestamp", timestamp).with("offset", offset);
        out.row("timeIndex", 0, &row)?;
        if delta < 0 || timestamp < last.0 || offset < last.1 {
            let problem = format!("{timestamp} at offset {offset} is before the entry before");
            return out.damage(at, &problem);
        }
        last = (timestamp, offset);
        Ok(())
    })
}

/// Prints an index of aborted transactions.
pub(super) fn aborted<W: Write>(path: &Path, out: &mut Out<W>) -> io::Result<()> {
    let mut last = i64::MIN;
    each::<34, W>(path, out, |at, entry, out| {
        let version = i16::from_be_bytes([entry[0], entry[1]]);
        let (first_offset, last_offset) = (long(&entry[10..18]), long(&entry[18..26]));
        let row = Row::new()
            .with("version", version)
            .with("producerId", long(&entry[2..10]))
            .with("firstOffset", first_offset)
            .with("lastOffset", last_offset)
            .with("lastStableOffset", long(&entry[26..]));
        out.row("abortedTransaction", 0, &row)?;
        if version != 0 {
            return out.damage(at, &format!("version {version} of an entry, expected 0"));
        }
        if last_offset < last || first_offset > last_offset {
            return out.damage(at, "the offsets are out of order");
        }
        last = last_offset;
        Ok(())
    })
}

/// Visits the entries of a file up to the zeros with which a file in use is filled up.
fn each<const N: usize, W: Write>(
    path: &Path,
    out: &mut Out<W>,
    mut visit: impl FnMut(u64, &[u8; N], &mut Out<W>) -> io::Result<()>,
) -> io::Result<()> {
    let bytes = fs::read(path)?;
    let used = bytes.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
    let (entries, rest) = bytes.as_chunks::<N>();
    let used = used.div_ceil(N);
    for (index, entry) in entries.iter().take(used).enumerate() {
        visit((index * N) as u64, entry, out)?;
    }
    let zeros = bytes.len() - (used * N).min(bytes.len());
    if zeros > 0 && rest.is_empty() {
        out.row("filler", 0, &Row::new().with("zeros", zeros as u64))?;
    }
    if !rest.is_empty() {
        let at = (bytes.len() - rest.len()) as u64;
        let problem = format!("{} bytes are left, not the {N} of an entry", rest.len());
        out.damage(at, &problem)?;
    }
    Ok(())
}

fn int(bytes: &[u8]) -> i32 {
    bytes.first_chunk().map_or(0, |bytes| i32::from_be_bytes(*bytes))
}

fn long(bytes: &[u8]) -> i64 {
    bytes.first_chunk().map_or(0, |bytes| i64::from_be_bytes(*bytes))
}
