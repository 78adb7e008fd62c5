//! What is known of one partition: which batch lies where, and what was promised of it.

use std::collections::BTreeMap;

use dohle_wire::record::BatchHeader;

use super::Violation;

/// A batch that somebody was told of.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) struct Known {
    pub(super) next: i64,
    pub(super) crc: u32,
    /// Its producer was told that it is kept.
    pub(super) acknowledged: bool,
}

/// What clients were told of one partition.
#[derive(Clone, Debug, Default)]
pub(super) struct Truth {
    pub(super) batches: BTreeMap<i64, Known>,
    /// Records before this may have been deleted on request.
    pub(super) deletable: i64,
    /// The latest high watermark and in which life of the node that was.
    high_watermark: (u32, i64),
    /// The latest log start, likewise.
    log_start: (u32, i64),
    /// Something was lost with power: sequences need not begin at zero any more.
    pub(super) lossy: bool,
}

impl Truth {
    /// Somebody was told that this batch lies here.
    pub(super) fn learn(
        &mut self,
        base: i64,
        header: &BatchHeader,
        acknowledged: bool,
    ) -> Result<(), Violation> {
        let next = base + i64::from(header.last_offset_delta) + 1;
        let crc = header.crc;
        if let Some(known) = self.batches.get_mut(&base) {
            known.acknowledged |= acknowledged;
            return match (known.next, known.crc) == (next, crc) {
                true => Ok(()),
                false => Err(Violation::new(
                    if acknowledged { "R17" } else { "R14" },
                    format!("another batch at offset {base}: was {known:?}, is now {header:?}"),
                )),
            };
        }
        let before = self.batches.range(..base).next_back();
        let after = self.batches.range(base..).next();
        let overlaps = before.is_some_and(|(_, known)| known.next > base)
            || after.is_some_and(|(start, _)| *start < next);
        if overlaps {
            let text = format!("batch {base}..{next} overlaps {before:?} or {after:?}");
            return Err(Violation::new("L1", text));
        }
        self.batches.insert(base, Known { next, crc, acknowledged });
        Ok(())
    }

    /// A node told the bounds of the log.
    pub(super) fn bounds(
        &self,
        log_start: i64,
        last_stable: i64,
        high_watermark: i64,
    ) -> Result<(), Violation> {
        let ordered = 0 <= log_start && log_start <= last_stable && last_stable <= high_watermark;
        if !ordered {
            let text = format!("log start {log_start}, stable {last_stable}, hw {high_watermark}");
            return Err(Violation::new("L2", text));
        }
        if log_start > self.deletable {
            let text = format!("log starts at {log_start}, deleted up to {}", self.deletable);
            return Err(Violation::new("L8", text));
        }
        Ok(())
    }

    /// What the node itself believes, at one moment.
    pub(super) fn on_node(
        &mut self,
        life: u32,
        start: i64,
        watermark: i64,
    ) -> Result<(), Violation> {
        for (name, value, last) in
            [("L8", start, &mut self.log_start), ("R3", watermark, &mut self.high_watermark)]
        {
            if last.0 == life && value < last.1 {
                return Err(Violation::new(name, format!("went back from {} to {value}", last.1)));
            }
            *last = (life, value);
        }
        Ok(())
    }

    /// Forgets what ends past `end`. Returns how many acknowledged batches that was.
    pub(super) fn forget(&mut self, end: i64) -> u64 {
        self.lossy = true;
        let gone = self.batches.extract_if(.., |_, known| known.next > end);
        gone.filter(|(_, known)| known.acknowledged).count() as u64
    }
}
