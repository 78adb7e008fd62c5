//! Producer ids, given out of blocks that the log has granted (ProducerIdControlManager,
//! RPCProducerIdManager).
//!
//! Invariant C8: blocks are disjoint for ever. An id is given out only when the record that
//! grants its block is committed, and a block is never gone back to after a restart.

use std::collections::VecDeque;
use std::ops::Range;

use dohle_wire::error::ErrorCode;
use dohle_wire::id::{NodeId, Offset, ProducerEpoch, ProducerId};
use dohle_wire::message::{MetadataRecord, ProducerIdsRecord};

use crate::image::Image;
use crate::mail::{AdminReply, Refusal, ReplyTo};

/// Ids in a block (ProducerIdsBlock.PRODUCER_ID_BLOCK_SIZE).
pub const BLOCK: i64 = 1000;

/// With fewer ids left than this, the next block is asked for ahead of need.
const LOW: i64 = BLOCK / 10;

/// Epochs end here: the last one is kept for fencing.
const LAST_EPOCH: i16 = i16::MAX - 1;

/// The blocks this node holds and those who wait for the next one.
#[derive(Clone, Debug, Default)]
pub struct ProducerIds {
    /// Granted ids, not given out yet.
    granted: VecDeque<Range<i64>>,
    /// A block that was asked for, and the offset of the record that grants it.
    coming: Option<(Offset, Range<i64>)>,
    waiting: VecDeque<ReplyTo>,
}

/// What becomes of a request for a producer id.
#[derive(Clone, Debug, PartialEq)]
pub enum Given {
    /// It is answered.
    Now(AdminReply),
    /// The answer comes with the next block.
    Later,
}

impl ProducerIds {
    /// Answers InitProducerId without a transactional id.
    pub fn give(
        &mut self,
        image: &Image,
        reply: ReplyTo,
        current: Option<(ProducerId, ProducerEpoch)>,
    ) -> Given {
        if let Some((id, epoch)) = current.and_then(|current| next_epoch(image, current)) {
            return Given::Now(AdminReply::ProducerId(id, epoch));
        }
        match self.take() {
            Some(id) => Given::Now(AdminReply::ProducerId(id, ProducerEpoch(0))),
            None => {
                self.waiting.push_back(reply);
                Given::Later
            }
        }
    }

    fn take(&mut self) -> Option<ProducerId> {
        let block = self.granted.front_mut()?;
        let id = block.next()?;
        if block.is_empty() {
            self.granted.pop_front();
        }
        Some(ProducerId(id))
    }

    fn left(&self) -> i64 {
        self.granted.iter().map(|block| block.end - block.start).sum()
    }

    /// The record that grants the next block, when one is wanted and none is on its way.
    /// `offset` is where the record will lie.
    pub fn want_block(&mut self, image: &Image, offset: Offset) -> Option<MetadataRecord> {
        let enough = self.left() >= LOW && self.waiting.is_empty();
        if enough || self.coming.is_some() {
            return None;
        }
        let local = NodeId(image.local.node_id);
        let start = image.next_producer_id.0;
        let end = start.checked_add(BLOCK)?;
        self.coming = Some((offset, start..end));
        let epoch = image.brokers.get(&local).map_or(-1, |broker| broker.epoch);
        let record =
            ProducerIdsRecord { broker_id: local.0, broker_epoch: epoch, next_producer_id: end };
        Some(record.into())
    }

    /// Everything below `upto` is committed. Gives the answers of those who waited for it.
    pub fn commit(&mut self, upto: Offset) -> Vec<(ReplyTo, AdminReply)> {
        if let Some((_, block)) = self.coming.take_if(|(offset, _)| *offset < upto) {
            self.granted.push_back(block);
        }
        let mut answers = Vec::new();
        while !self.waiting.is_empty() {
            let Some(id) = self.take() else { break };
            let reply = self.waiting.pop_front().expect("someone waits");
            answers.push((reply, AdminReply::ProducerId(id, ProducerEpoch(0))));
        }
        answers
    }

    /// Whether someone waits for a block and none is on its way.
    #[must_use]
    pub fn starves(&self) -> bool {
        !self.waiting.is_empty() && self.coming.is_none()
    }

    /// Refuses everyone who waits.
    pub fn refuse(&mut self, refusal: &Refusal) -> Vec<(ReplyTo, AdminReply)> {
        let all = self.waiting.drain(..);
        all.map(|reply| (reply, AdminReply::Refused(refusal.clone()))).collect()
    }

    /// No record that was asked for will be committed: refuses everyone who waits, and asks for a
    /// block anew when there may be one again.
    pub fn give_up(&mut self, refusal: &Refusal) -> Vec<(ReplyTo, AdminReply)> {
        self.coming = None;
        self.refuse(refusal)
    }

    /// Asserts what must always hold.
    pub fn invariants(&self, committed: &Image) {
        for block in &self.granted {
            let next = committed.next_producer_id.0;
            assert!(block.end <= next, "C8: holds {block:?}, granted below {next}");
        }
    }
}

/// An id that was given out keeps its producer and gets its next epoch, until epochs run out.
/// Ids that no block holds yet are nobody's, whatever a client says.
fn next_epoch(
    image: &Image,
    (id, epoch): (ProducerId, ProducerEpoch),
) -> Option<(ProducerId, ProducerEpoch)> {
    let given = (0..image.next_producer_id.0).contains(&id.0);
    let bumped = epoch.0.checked_add(1).filter(|next| (0..LAST_EPOCH).contains(next));
    bumped.filter(|_| given).map(|next| (id, ProducerEpoch(next)))
}

/// What a client is told when ids have run out for good.
#[must_use]
pub fn exhausted() -> Refusal {
    Refusal::new(ErrorCode::UnknownServerError, "there are no producer ids left")
}
