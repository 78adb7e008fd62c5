//! What is checked with a view inside: the log's state against the model, and against the files.

use bytes::Bytes;
use dohle_core::log::Log;
use dohle_core::log::index::{parse_offsets, parse_times};
use dohle_core::log::names::FileKind;
use dohle_wire::id::Offset;
use dohle_wire::record::{BatchHeader, RawBatch, split_batches};

use super::{LogWorld, Phase, folder};
use crate::disk::Tree;
use crate::oracle::Violation;

/// A batch in a file.
#[derive(Copy, Clone, Debug)]
struct Placed {
    header: BatchHeader,
    segment: i64,
    position: u64,
}

impl LogWorld {
    /// Everything that has to hold at any moment while the log serves.
    pub(super) fn look(&mut self) -> Result<(), Violation> {
        let Phase::Serving(log) = &self.phase else { return Ok(()) };
        log.invariants();
        let (start, end) = (log.log_start().0, log.end().0);
        let expected = (self.model.start, self.model.end());
        let found = match (start, end) == expected {
            true => Ok(()),
            false => Err(format!("the log is {start} to {end}, expected {expected:?}")),
        };
        self.inside("L1", found)?;
        self.derived(false, false)?;
        self.claims()
    }

    /// L3, P4: state is a fold over the log. `opened`: it was just built anew.
    pub(super) fn derived(&mut self, opened: bool, crashed: bool) -> Result<(), Violation> {
        if self.blind {
            return Ok(());
        }
        let phase = std::mem::replace(&mut self.phase, Phase::Down);
        let found = match &phase {
            Phase::Serving(log) => {
                self.model.note_bases(log);
                let epochs = self.model.epochs(log, crashed).map_err(|text| ("L3", text));
                let model = &mut self.model;
                let aborted = match self.unsure_aborted {
                    true => Ok(()),
                    false => model.aborted(log).map_err(|text| ("T3", text)),
                };
                let mut producers = || model.producers(log, opened).map_err(|text| ("P4", text));
                epochs.and(aborted).and_then(|()| producers())
            }
            _ => Ok(()),
        };
        self.phase = phase;
        found.map_err(|(name, text)| Violation::new(name, text))
    }

    /// L10: what the log believes to be written or durable is.
    pub(super) fn claims(&mut self) -> Result<(), Violation> {
        let Phase::Serving(log) = &self.phase else { return Ok(()) };
        if self.disk.failed().is_some() {
            return Ok(());
        }
        let found = claims(self.disk.tree(), log);
        self.inside("L10", found)
    }

    /// L6: the indexes of closed segments describe them, when nothing is being written.
    pub(super) fn sides(&mut self) -> Result<(), Violation> {
        let Phase::Serving(log) = &self.phase else { return Ok(()) };
        let found = sides(self.disk.tree(), log);
        self.inside("L6", found)
    }
}

/// Batches without damage from the segment on that holds `start`.
fn scan(tree: &Tree, start: i64, durable: bool) -> Vec<Placed> {
    let folder = folder();
    let names = tree.names(&folder, durable);
    let logs = names.iter().filter_map(|name| FileKind::parse(name));
    let bases: Vec<i64> =
        logs.filter(|(kind, _)| *kind == FileKind::Log).map(|(_, base)| base.0).collect();
    let first = bases.iter().rposition(|base| *base <= start).unwrap_or(0);
    let mut found = Vec::new();
    let mut next = None;
    for segment in bases.into_iter().skip(first) {
        if next.is_some_and(|next| next != segment) {
            break;
        }
        let path = folder.join(&FileKind::Log.name(Offset(segment)));
        // What is wrong with the disk is not the log's claim.
        let content = tree.sound_content(&path, durable).unwrap_or_default();
        let (mut position, mut reached) = (0, segment);
        for batch in split_batches(Bytes::from(content)) {
            let sound = |batch: &RawBatch| batch.crc_ok() && batch.header.base_offset.0 >= reached;
            let Some(batch) = batch.ok().filter(sound) else { return found };
            found.push(Placed { header: batch.header, segment, position });
            position += batch.bytes.len() as u64;
            reached = batch.header.next_offset().0;
        }
        next = Some(reached);
    }
    found
}

fn claims(tree: &Tree, log: &Log) -> Result<(), String> {
    let start = log.log_start();
    for (claim, durable, what) in
        [(log.written(), false, "written"), (log.durable(), true, "durable")]
    {
        let batches = scan(tree, start.0, durable);
        let end = batches.last().map_or(start, |batch| batch.header.next_offset());
        // A gap may lie behind the last batch.
        if claim > end && claim > start {
            return Err(format!("{what} up to {claim} it says, up to {end} it is"));
        }
    }
    let (point, end) = (log.recovery_point(), log.durable());
    if point > end {
        return Err(format!("recovery point {point}, durable up to {end}"));
    }
    Ok(())
}

fn sides(tree: &Tree, log: &Log) -> Result<(), String> {
    let first = log.segments().first().map_or(log.log_start(), |segment| segment.base);
    let batches = scan(tree, first.0, false);
    let closed = log.segments().len().saturating_sub(1);
    for segment in &log.segments()[..closed] {
        let base = segment.base;
        let inside: Vec<&Placed> = batches.iter().filter(|b| b.segment == base.0).collect();
        let content = |kind: FileKind| {
            let content = tree.sound_content(&folder().join(&kind.name(base)), false);
            content.ok_or_else(|| format!("segment {base} has no {kind:?}"))
        };
        let offsets = parse_offsets(&content(FileKind::Index)?, segment.size);
        let offsets = offsets.ok_or_else(|| format!("the index of {base} is not one"))?;
        for entry in offsets {
            let at = base.plus(i64::from(entry.relative));
            let holds = |placed: &&&Placed| placed.position == u64::from(entry.position);
            if inside.iter().find(holds).is_none_or(|placed| placed.header.last_offset() != at) {
                return Err(format!("the index of {base} has {at} at {}", entry.position));
            }
        }
        times(base, &content(FileKind::TimeIndex)?, &inside)?;
    }
    Ok(())
}

fn times(base: Offset, file: &[u8], inside: &[&Placed]) -> Result<(), String> {
    let entries =
        parse_times(file).ok_or_else(|| format!("the time index of {base} is not one"))?;
    for entry in &entries {
        let at = base.plus(i64::from(entry.relative));
        let upto = inside.iter().take_while(|placed| placed.header.base_offset <= at);
        let most = upto.map(|placed| placed.header.max_timestamp).max();
        if most != Some(entry.timestamp) {
            let time = entry.timestamp;
            return Err(format!("the time index of {base} has {time} at {at}, not {most:?}"));
        }
    }
    let most = inside.iter().map(|placed| placed.header.max_timestamp).max();
    match most.filter(|most| most.0 >= 0) == entries.last().map(|entry| entry.timestamp) {
        true => Ok(()),
        false => Err(format!("the time index of {base} ends with {:?}", entries.last())),
    }
}
