//! A log under which the disk was full: what could not be written is given up, all else is kept.
//!
//! A write that found no space left nothing, or a part of itself, and what was written behind it
//! lies behind a gap. None of that was acknowledged or shown. Recovery, from what the log knows
//! of itself, gives it up as it gives up a torn tail, and works without any space: indexes that it
//! cannot write stay in memory.

use super::Log;
use super::names::FileKind;
use super::recover::{Gaps, RecoveryPlan};
use crate::disk::DiskOp;
use crate::fx::Fx;
use crate::mutant::Mutant;

impl Log {
    /// How to open the log anew. The one that is asked must not be used any more.
    #[must_use]
    pub fn reopening(&self) -> RecoveryPlan {
        let believes = self.settings.mutants.has(Mutant::ReopenedAsWritten);
        let recovery_point = if believes { self.end } else { self.recovery_point() };
        RecoveryPlan {
            owner: self.store.owner,
            generation: self.store.generation + 1,
            folder: self.store.folder.clone(),
            topic_id: self.store.topic_id,
            own: true,
            anonymous: true,
            clean: false,
            recovery_point,
            durable: self.durable,
            gaps: Gaps::Upto(self.gaps_upto),
            log_start: Some(self.log_start),
            settings: self.settings.clone(),
        }
    }

    /// Writes the side files that found no space when the log was opened. To be called once, when
    /// there is some.
    pub fn reseal<E: From<DiskOp>>(&mut self, fx: &mut Fx<E>) {
        if self.store.unsaved_epoch.is_some() && !self.store.epochs_pending() {
            self.store.put_epochs(&self.epochs, fx);
        }
        let closed = self.segments.len().saturating_sub(1);
        for at in 0..closed {
            let next = self.segment_next(at);
            let segment = &mut self.segments[at];
            if !std::mem::take(&mut segment.starved) {
                continue;
            }
            segment.unsealed = 2;
            if let Some(aborted) = self.aborted.encode(segment.base, next) {
                segment.unsealed += 1;
                let path = self.store.file(FileKind::TxnIndex, segment.base);
                self.store.put(path, aborted, segment.base.0, fx);
            }
            let base = segment.base;
            let (offsets, times) =
                (segment.indexes.encode_offsets(), segment.indexes.encode_times());
            self.store.put(self.store.file(FileKind::Index, base), offsets, base.0, fx);
            self.store.put(self.store.file(FileKind::TimeIndex, base), times, base.0, fx);
        }
    }
}
