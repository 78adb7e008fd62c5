//! Snapshots of the state of producers.

use std::collections::BTreeSet;

use bytes::Buf;
use dohle_wire::id::Offset;

use super::finding::{Problem, Problems};
use crate::log::producer::ProducerTable;
use crate::log::snapshot;

/// Version, checksum and count come first; the checksum covers what is behind it.
const HEAD: usize = 10;
const CRC_END: usize = 6;
const ENTRY: usize = 46;
const VERSION: i16 = 1;

/// Reads the snapshot of the producers below `upto`; nothing if it is damaged.
pub(super) fn check(bytes: &[u8], upto: Offset, problems: &mut Problems) -> Option<ProducerTable> {
    if bytes.len() < HEAD {
        let expected = format!("at least the {HEAD} bytes of a head");
        problems.push(Problem::new("size", expected, format!("{} bytes", bytes.len())).at(0));
        return None;
    }
    let mut rest = bytes;
    let (version, crc, count) = (rest.get_i16(), rest.get_u32(), rest.get_i32());
    if version != VERSION {
        let problem = Problem::new("version", VERSION.to_string(), version.to_string());
        problems.push(problem.at(0));
        return None;
    }
    let sum = crc32c::crc32c(&bytes[CRC_END..]);
    if sum != crc {
        let expected = format!("content with the checksum {crc:#010x}");
        problems.push(Problem::new("checksum", expected, format!("{sum:#010x}")).at(2));
        return None;
    }
    let announced = usize::try_from(count).ok().and_then(|count| count.checked_mul(ENTRY));
    if announced.is_none_or(|announced| announced > rest.len()) {
        let expected = format!("{count} entries of {ENTRY} bytes");
        problems.push(Problem::new("count", expected, format!("{} bytes", rest.len())).at(6));
        return None;
    }
    entries(&rest[..announced.unwrap_or(0)], upto, problems);
    let table = snapshot::parse(bytes);
    if table.is_none() {
        let expected = "earlier batches of the producers above, behind their entries";
        let position = HEAD + announced.unwrap_or(0);
        problems.push(Problem::new("value", expected, "something else").at(position as u64));
    }
    table
}

fn entries(bytes: &[u8], upto: Offset, problems: &mut Problems) {
    let mut seen = BTreeSet::new();
    for (at, mut raw) in (HEAD as u64..).step_by(ENTRY).zip(bytes.chunks_exact(ENTRY)) {
        let (id, epoch, sequence) = (raw.get_i64(), raw.get_i16(), raw.get_i32());
        let (last, delta, _timestamp) = (raw.get_i64(), raw.get_i32(), raw.get_i64());
        let (coordinator, open) = (raw.get_i32(), raw.get_i64());
        let mut wrong = |expected: String, found: String| {
            problems.push(Problem::new("value", expected, found).at(at));
        };
        if id < 0 || !seen.insert(id) {
            wrong("a producer id, once".to_owned(), id.to_string());
        }
        if epoch < -1 || sequence < -1 || coordinator < -1 {
            let found = format!("{epoch}, {sequence}, {coordinator}");
            wrong("an epoch, a sequence, a coordinator's epoch".to_owned(), found);
        }
        if last < -1 || last >= upto.0 || delta < 0 || (last >= 0 && i64::from(delta) > last) {
            let found = format!("{last}, with {delta} before it");
            wrong(format!("the offset of a batch below {upto}"), found);
        }
        if open < -1 || open >= upto.0 {
            wrong(format!("a transaction open from below {upto}"), open.to_string());
        }
    }
}
