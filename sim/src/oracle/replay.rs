//! What a log's derived state has to be, folded anew over the batches on disk.
//!
//! L1 offsets without gaps, L3 epochs that never decrease, L6 indexes that point at batches,
//! P1 contiguous sequences, P2 no batch twice, P3 no older epoch, P4 the producer table equals
//! the fold.

use std::collections::{BTreeMap, BTreeSet};

use dohle_core::disk::FilePath;
use dohle_core::log::Log;
use dohle_core::log::names::FileKind;
use dohle_wire::id::{Offset, Sequence};

use super::Violation;
use super::disk_log::{DiskBatch, DiskLog};
use crate::disk::Tree;

/// How many batches of a producer have to be remembered.
const REMEMBERED: usize = 5;

/// Checks the log on disk by itself, and the state that the core holds of it.
pub(super) fn check(
    tree: &Tree,
    folder: &FilePath,
    disk: &DiskLog,
    log: &Log,
    lossy: bool,
) -> Result<(), Violation> {
    let fail =
        |name: &str, text: String| Err(Violation::new(name, format!("{}: {text}", folder.path)));
    covers(disk, log).or_else(|text| fail("L7", text))?;
    epochs(disk, log).or_else(|text| fail("L3", text))?;
    producers(disk, log, lossy).or_else(|(name, text)| fail(name, text))?;
    indexes(tree, folder, disk).or_else(|text| fail("L6", text))?;
    segments(log).or_else(|text| fail("L6", text))
}

/// The batches on disk are the log that the core believes in.
fn covers(disk: &DiskLog, log: &Log) -> Result<(), String> {
    // A coordinator may be writing already.
    let (start, end) = (log.log_start().0, log.written().0);
    if start >= end {
        return Ok(());
    }
    let mut next = None;
    for batch in disk.from(start) {
        if next.is_some_and(|next| next != batch.base()) {
            return Err(format!("offsets jump from {next:?} to {}", batch.base()));
        }
        if next.is_none() && batch.base() > start {
            return Err(format!("log starts at {start}, the disk at {}", batch.base()));
        }
        next = Some(batch.next());
    }
    match next {
        Some(next) if next >= end => Ok(()),
        other => Err(format!(
            "the core's log ends at {end}, valid batches on disk end at {other:?} ({})",
            disk.damage.as_deref().unwrap_or("no damage")
        )),
    }
}

fn epochs(disk: &DiskLog, log: &Log) -> Result<(), String> {
    let mut last = i32::MIN;
    for batch in disk.from(log.log_start().0).filter(|batch| batch.base() < log.end().0) {
        let epoch = batch.header.partition_leader_epoch.0;
        if epoch < last {
            return Err(format!("leader epoch falls from {last} to {epoch} at {}", batch.base()));
        }
        last = epoch;
        let at = batch.base().max(log.log_start().0);
        let cached = log.epochs().epoch_at(Offset(at)).map(|epoch| epoch.0);
        if cached != Some(epoch) {
            return Err(format!("epoch cache says {cached:?} at {at}, the log {epoch}"));
        }
    }
    Ok(())
}

/// A producer as the fold knows it.
#[derive(Default)]
struct Folded<'a> {
    epoch: i16,
    batches: Vec<&'a DiskBatch>,
}

fn producers(disk: &DiskLog, log: &Log, lossy: bool) -> Result<(), (&'static str, String)> {
    let complete = disk.segments.first() == Some(&0) && !lossy;
    let mut folded: BTreeMap<i64, Folded<'_>> = BTreeMap::new();
    let mut seen = BTreeSet::new();
    for batch in disk.batches.iter().filter(|batch| batch.base() < log.end().0) {
        let header = &batch.header;
        if !header.has_producer_id() || header.is_control() {
            continue;
        }
        let (id, epoch) = (header.producer_id.0, header.producer_epoch.0);
        let at =
            |text: &str| format!("producer {id} epoch {epoch} at offset {}: {text}", batch.base());
        if !seen.insert((id, epoch, header.base_sequence.0)) {
            return Err(("P2", at(&format!("sequence {} is there twice", header.base_sequence))));
        }
        let known = folded.contains_key(&id);
        let state = folded.entry(id).or_insert_with(|| Folded { epoch, batches: Vec::new() });
        if epoch < state.epoch {
            return Err(("P3", at(&format!("epoch {} is known", state.epoch))));
        }
        if epoch > state.epoch {
            *state = Folded { epoch, batches: Vec::new() };
        }
        let expected = match state.batches.last() {
            Some(last) => Some(next_sequence(last)),
            None if known || complete => Some(Sequence(0)),
            None => None,
        };
        if expected.is_some_and(|expected| expected != header.base_sequence) {
            let found = header.base_sequence;
            return Err(("P1", at(&format!("sequence {found}, expected {expected:?}"))));
        }
        state.batches.push(batch);
    }
    compare(&folded, log, complete).map_err(|text| ("P4", text))
}

fn next_sequence(batch: &DiskBatch) -> Sequence {
    batch.header.last_sequence().plus(1)
}

fn compare(folded: &BTreeMap<i64, Folded<'_>>, log: &Log, complete: bool) -> Result<(), String> {
    let held: BTreeMap<i64, _> = log.producers().iter().map(|(id, entry)| (id.0, entry)).collect();
    for (id, fold) in folded {
        let Some(entry) = held.get(id) else {
            return Err(format!("producer {id} is in the log, not in the table"));
        };
        if entry.epoch.0 != fold.epoch {
            return Err(format!("producer {id} has epoch {}, not {}", fold.epoch, entry.epoch));
        }
        let expected = fold.batches.iter().rev().take(REMEMBERED);
        let got = entry.batches.iter().rev();
        for (rank, (batch, known)) in expected.clone().zip(got).enumerate() {
            let same = known.last_sequence == batch.header.last_sequence()
                && known.last_offset == batch.header.last_offset()
                && known.offset_delta == batch.header.last_offset_delta;
            if !same {
                return Err(format!("producer {id}, batch {rank} from the last: {known:?}"));
            }
        }
        let (want, have) = (expected.count(), entry.batches.len());
        if have < want || (complete && have != want) {
            return Err(format!("producer {id}: {have} batches remembered, {want} in the log"));
        }
    }
    match held.keys().find(|id| complete && !folded.contains_key(id)) {
        Some(id) => Err(format!("producer {id} is in the table, not in the log")),
        None => Ok(()),
    }
}

/// Offset indexes point at the batches that hold their offsets.
fn indexes(tree: &Tree, folder: &FilePath, disk: &DiskLog) -> Result<(), String> {
    // That of the active segment is written when the segment ends.
    let closed = disk.segments.len().saturating_sub(1);
    for segment in &disk.segments[..closed] {
        let name = FileKind::Index.name(Offset(*segment));
        let Some(file) = tree.content(&folder.join(&name)) else { continue };
        let mut last = None;
        for entry in file.as_chunks::<8>().0 {
            let (relative, position) = entry.split_at(4);
            let relative = u32::from_be_bytes(relative.try_into().expect("4 bytes"));
            let position = u32::from_be_bytes(position.try_into().expect("4 bytes"));
            // The rest of a preallocated file.
            if last.is_some() && relative == 0 && position == 0 {
                break;
            }
            if last.is_some_and(|last| last >= (relative, position)) {
                return Err(format!("{name}: {relative} -> {position} after {last:?}"));
            }
            last = Some((relative, position));
            let offset = segment + i64::from(relative);
            let target = disk
                .batches
                .iter()
                .find(|batch| batch.segment == *segment && batch.position == u64::from(position));
            if !target.is_some_and(|batch| batch.base() <= offset && offset < batch.next()) {
                return Err(format!("{name}: offset {offset} is not at {position}"));
            }
        }
    }
    Ok(())
}

fn segments(log: &Log) -> Result<(), String> {
    let bases: Vec<i64> = log.segments().iter().map(|segment| segment.base.0).collect();
    // A log that was never written to has no files yet.
    let complete = !bases.is_empty() || log.log_start() == log.end();
    match bases.is_sorted_by(|a, b| a < b) && complete {
        true => Ok(()),
        false => Err(format!("segments {bases:?}")),
    }
}
