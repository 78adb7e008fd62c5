//! Appending as a follower does: batches come with their offsets and leader epochs, as the leader
//! has them, and are taken over byte by byte (LogValidator has nothing to say here; Kafka's
//! `UnifiedLog.appendAsFollower`).
//!
//! What a leader sends is input from outside: whatever does not fit is a typed error, and nothing
//! is appended. Offsets may leave gaps, as compaction of the leader's log does.

use dohle_wire::id::{LeaderEpoch, Offset};
use dohle_wire::record::RawBatch;

use super::{Log, LogAppend};
use crate::disk::{DiskOp, FileIds};
use crate::fx::Fx;
use crate::time::Now;

/// Why a leader's batch does not continue this log.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FollowError {
    /// Its bytes are not what its checksum says.
    #[error("the checksum of the batch at offset {0} does not match")]
    Checksum(
        /// First offset of the batch.
        Offset,
    ),
    /// It begins below the end of the log.
    #[error("a batch at offset {found}, where the log ends at {end}")]
    Offset {
        /// First offset of the batch.
        found: Offset,
        /// End of the log.
        end: Offset,
    },
    /// Its leader epoch is below one that the log knows already (L3).
    #[error("a batch of leader epoch {found} after epoch {known}")]
    Epoch {
        /// Epoch of the batch.
        found: LeaderEpoch,
        /// Latest epoch of the log.
        known: LeaderEpoch,
    },
}

impl Log {
    /// Appends a leader's batch as it is. Nothing is done with one that is of a later epoch than
    /// the leader was asked in: its place in the log is for that epoch's leader to say
    /// (KAFKA-18723).
    ///
    /// # Errors
    /// The batch does not continue the log; the log has not changed.
    pub fn append_as_follower<E: From<DiskOp>>(
        &mut self,
        now: Now,
        batch: &RawBatch,
        asked_in: LeaderEpoch,
        files: &mut FileIds,
        fx: &mut Fx<E>,
    ) -> Result<Option<LogAppend>, FollowError> {
        let (found, epoch) = (batch.header.base_offset, batch.header.partition_leader_epoch);
        if epoch > asked_in {
            return Ok(None);
        }
        if !batch.crc_ok() {
            return Err(FollowError::Checksum(found));
        }
        if found < self.end() {
            return Err(FollowError::Offset { found, end: self.end() });
        }
        if let Some(known) = self.epochs().latest().filter(|known| *known > epoch) {
            return Err(FollowError::Epoch { found: epoch, known });
        }
        Ok(Some(self.put(now, &batch.header, &batch.bytes, files, fx)))
    }
}
