//! The controller: a ledger over the metadata log.
//!
//! `decide` is pure: the image as it is with everything proposed so far (the speculative root), a
//! little soft state, a request; out come records and the reply. One file for each family of
//! commands. [`apply`] alone changes an image.
//!
//! Two roots: *speculative* holds everything appended, so that the next decision builds on it;
//! *committed* holds what the quorum has committed and is all that leaves this unit (C3). Both
//! are persistent maps that share what is equal, so that keeping two of them costs little and
//! dropping one is a pointer.
//!
//! A reply waits until everything is committed that was appended when it was decided: it may
//! rest on any of that, a refusal as much as a success.
//!
//! Invariants: the committed root is at or behind the speculative one and equals a replay of the
//! committed log (C2); topic names and ids map to each other one to one (C5); producer ids are
//! given out of committed blocks only (C8).
//!
//! Must never know: disks, files, how records become durable.

pub mod apply;
pub mod brokers;
pub mod configs;
pub mod features;
pub mod partitions;
pub mod placement;
pub mod producer_ids;
#[cfg(test)]
mod tests;
pub mod topics;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use dohle_wire::error::ErrorCode;
use dohle_wire::id::{LeaderEpoch, NodeId, Offset, PartitionIndex, TopicId, Uuid};
use dohle_wire::message::MetadataRecord;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

use self::apply::Applied;
use self::producer_ids::{Given, ProducerIds};
use crate::image::Image;
use crate::mail::{AdminReply, AdminRequest, Refusal, ReplyTo};
use crate::quorum::batches::{Entry, EntryKind, Versioned};

/// What a decision comes to.
#[derive(Clone, Debug, PartialEq)]
pub struct Decision {
    /// To be appended, all or none.
    pub records: Vec<MetadataRecord>,
    /// To be sent once they are committed.
    pub reply: AdminReply,
}

impl Decision {
    /// A decision that changes nothing.
    #[must_use]
    pub fn reply(reply: AdminReply) -> Self {
        Self { records: Vec::new(), reply }
    }
}

/// Directories by topic and partition.
pub type Preferred = BTreeMap<(String, PartitionIndex), Uuid>;

/// So many partitions are remembered that are still to be made.
const PREFERRED_MAX: usize = 10_000;

/// What decisions use that is not in the log.
#[derive(Clone, Debug)]
pub struct Soft {
    /// Data directories of this node that failed since it started.
    pub failed_dirs: BTreeSet<Uuid>,
    /// Directories for partitions that are still to be made.
    pub preferred: Preferred,
    random: ChaCha8Rng,
}

impl Soft {
    /// Soft state whose random ids no other start of any node gives: `seed` and `incarnation`
    /// are the driver's, `epoch` rises with each start.
    #[must_use]
    pub fn new(seed: u64, incarnation: Uuid, epoch: LeaderEpoch) -> Self {
        let mut key = [0; 32];
        key[..8].copy_from_slice(&seed.to_be_bytes());
        key[8..24].copy_from_slice(&incarnation.0);
        key[24..28].copy_from_slice(&epoch.0.to_be_bytes());
        Self {
            failed_dirs: BTreeSet::new(),
            preferred: Preferred::new(),
            random: ChaCha8Rng::from_seed(key),
        }
    }

    /// An id for a new topic: a random UUID (version 4), as Kafka's not reserved and not one
    /// whose text begins like an option of a command.
    pub fn fresh_topic_id(&mut self, image: &Image) -> TopicId {
        loop {
            let mut bytes = [0; 16];
            self.random.fill_bytes(&mut bytes);
            bytes[6] = bytes[6] & 0x0f | 0x40;
            bytes[8] = bytes[8] & 0x3f | 0x80;
            let id = TopicId(Uuid(bytes));
            let dashed = id.to_string().starts_with('-');
            if !dashed && !id.0.is_reserved() && !image.topic_names.contains_key(&id) {
                return id;
            }
        }
    }
}

/// A reply and the offset that has to be committed before it may leave.
#[derive(Clone, Debug)]
struct Parked {
    after: Offset,
    reply: ReplyTo,
    answer: AdminReply,
}

/// The controller of this node.
#[derive(Clone, Debug)]
pub struct Controller {
    speculative: Arc<Image>,
    committed: Arc<Image>,
    /// Images at the ends of batches that are not committed yet.
    ahead: VecDeque<Arc<Image>>,
    /// The image before records that belong together and whose end has not come.
    torn: Option<Arc<Image>>,
    ignored: BTreeSet<&'static str>,
    parked: VecDeque<Parked>,
    soft: Soft,
    producer_ids: ProducerIds,
}

impl Controller {
    /// A controller that knows of nothing yet.
    #[must_use]
    pub fn new(empty: Image, soft: Soft) -> Self {
        let image = Arc::new(empty);
        Self {
            speculative: Arc::clone(&image),
            committed: image,
            ahead: VecDeque::new(),
            torn: None,
            ignored: BTreeSet::new(),
            parked: VecDeque::new(),
            soft,
            producer_ids: ProducerIds::default(),
        }
    }

    /// The image with everything appended.
    #[must_use]
    pub fn speculative(&self) -> &Arc<Image> {
        &self.speculative
    }

    /// The image with everything committed.
    #[must_use]
    pub fn committed(&self) -> &Arc<Image> {
        &self.committed
    }

    /// Kinds of records that were read and that nothing acts on.
    #[must_use]
    pub fn ignored(&self) -> &BTreeSet<&'static str> {
        &self.ignored
    }

    /// Whether the log so far ends in records that belong together and miss their end.
    #[must_use]
    pub fn is_torn(&self) -> bool {
        self.torn.is_some()
    }

    /// Soft state begins anew with each epoch.
    pub fn begin(&mut self, soft: Soft) {
        self.soft = soft;
    }

    /// No new partitions go to this data directory any more.
    pub fn fail_dir(&mut self, dir: Uuid) {
        self.soft.failed_dirs.insert(dir);
    }

    /// A partition that is still to be made shall be in this directory; forgotten when there are
    /// too many.
    pub fn prefer_dir(&mut self, topic: String, index: PartitionIndex, dir: Uuid) {
        if self.soft.preferred.len() < PREFERRED_MAX {
            self.soft.preferred.insert((topic, index), dir);
        }
    }

    /// Takes in records of the log, committed or not.
    ///
    /// # Errors
    /// Why they cannot be applied: this node must not go on (C2).
    pub fn replay(&mut self, entries: &[Entry]) -> Result<(), String> {
        let mut image = (*self.speculative).clone();
        for Entry { offset, epoch, what } in entries {
            match what {
                EntryKind::Leader(leader) => {
                    apply::apply_leader(&mut image, *offset, *epoch, *leader);
                }
                EntryKind::Voters(_) | EntryKind::Other => {
                    apply::advance(&mut image, *offset, *epoch);
                }
                EntryKind::Metadata(record) => self.apply(&mut image, *offset, *epoch, record)?,
            }
        }
        self.push(image);
        Ok(())
    }

    /// Takes in records that were just appended from `base` on.
    ///
    /// # Errors
    /// Why they cannot be applied.
    pub fn appended(
        &mut self,
        base: Offset,
        epoch: LeaderEpoch,
        records: &[Versioned],
    ) -> Result<(), String> {
        let mut image = (*self.speculative).clone();
        for (delta, (record, _)) in (0..).zip(records) {
            self.apply(&mut image, base.plus(delta), epoch, record)?;
        }
        self.push(image);
        Ok(())
    }

    fn apply(
        &mut self,
        image: &mut Image,
        offset: Offset,
        epoch: LeaderEpoch,
        record: &MetadataRecord,
    ) -> Result<(), String> {
        match record {
            MetadataRecord::BeginTransaction(_) => self.torn = Some(Arc::new(image.clone())),
            MetadataRecord::EndTransaction(_) => self.torn = None,
            MetadataRecord::AbortTransaction(_) => {
                if let Some(before) = self.torn.take() {
                    *image = (*before).clone();
                }
            }
            _ => {}
        }
        match apply::apply(image, offset, epoch, record) {
            Ok(Applied::Known) => Ok(()),
            Ok(Applied::Ignored(kind)) => {
                self.ignored.insert(kind);
                Ok(())
            }
            Err(why) => Err(format!("metadata record at offset {offset}: {why}")),
        }
    }

    fn push(&mut self, image: Image) {
        self.speculative = Arc::new(image);
        self.ahead.push_back(Arc::clone(&self.speculative));
    }

    /// Decides a request, on top of everything appended. Those that change nothing by themselves
    /// do not come here: producer ids are given by [`Self::give_producer_id`].
    pub fn decide(&mut self, request: &AdminRequest) -> Decision {
        let image = &self.speculative;
        let mut decision = match request {
            AdminRequest::CreateTopics { topics, validate_only } => {
                topics::create(image, &mut self.soft, topics, *validate_only)
            }
            AdminRequest::DeleteTopics { topics } => topics::delete(image, topics),
            AdminRequest::CreatePartitions { topics, validate_only } => {
                partitions::grow(image, &self.soft, topics, *validate_only)
            }
            AdminRequest::AlterConfigs { resources, validate_only } => {
                configs::alter(image, resources, *validate_only)
            }
            AdminRequest::InitProducerId { .. } | AdminRequest::DescribeQuorum => {
                unreachable!("{request:?} is answered without a decision")
            }
        };
        placement::prefer(image, &mut self.soft, &mut decision.records);
        if decision.records.len() > RECORDS_MAX {
            let text = "Unable to perform excessively large batch operation.";
            let refusal = Refusal::new(ErrorCode::PolicyViolation, text);
            return Decision::reply(AdminReply::Refused(refusal));
        }
        decision
    }

    /// Gives out a producer id, or keeps the request until there is one.
    pub fn give_producer_id(&mut self, reply: ReplyTo, request: &AdminRequest) -> Given {
        let AdminRequest::InitProducerId { current } = request else {
            unreachable!("only requests for producer ids come here");
        };
        self.producer_ids.give(&self.committed, reply, *current)
    }

    /// The record that grants the next block of producer ids, if one is wanted. It will lie at
    /// `offset`.
    pub fn want_producer_ids(&mut self, offset: Offset) -> Option<MetadataRecord> {
        self.producer_ids.want_block(&self.speculative, offset)
    }

    /// Refuses those who wait for producer ids that no block can come for.
    pub fn refuse_starving(&mut self, refusal: &Refusal) -> Vec<(ReplyTo, AdminReply)> {
        match self.producer_ids.starves() {
            true => self.producer_ids.refuse(refusal),
            false => Vec::new(),
        }
    }

    /// Keeps a reply until all that is appended so far is committed; gives it back when it is.
    pub fn park(&mut self, reply: ReplyTo, answer: AdminReply) -> Option<AdminReply> {
        let after = self.speculative.offset;
        if after <= self.committed.offset {
            return Some(answer);
        }
        self.parked.push_back(Parked { after, reply, answer });
        None
    }

    /// Everything below `upto` is committed: the committed root moves there. Gives the replies
    /// that waited for it.
    pub fn commit(&mut self, upto: Offset) -> Vec<(ReplyTo, AdminReply)> {
        while let Some(image) = self.ahead.pop_front_if(|image| image.offset < upto) {
            self.committed = image;
        }
        let mut answers = Vec::new();
        while let Some(parked) = self.parked.pop_front_if(|parked| parked.after < upto) {
            answers.push((parked.reply, parked.answer));
        }
        answers.extend(self.producer_ids.commit(upto));
        self.invariants();
        answers
    }

    /// The quorum cannot commit any more: what is only appended is dropped, everyone who waits
    /// is refused.
    pub fn give_up(&mut self, refusal: &Refusal) -> Vec<(ReplyTo, AdminReply)> {
        self.speculative = Arc::clone(&self.committed);
        self.ahead.clear();
        let parked = self.parked.drain(..);
        let mut answers: Vec<_> =
            parked.map(|parked| (parked.reply, AdminReply::Refused(refusal.clone()))).collect();
        answers.extend(self.producer_ids.give_up(refusal));
        answers
    }

    /// Asserts what must always hold.
    pub fn invariants(&self) {
        let (committed, speculative) = (&self.committed, &self.speculative);
        assert!(
            committed.offset <= speculative.offset,
            "C2: committed {} past appended {}",
            committed.offset,
            speculative.offset
        );
        assert!(
            speculative.topics.size() == speculative.topic_names.size(),
            "C5: {} topics have {} ids",
            speculative.topics.size(),
            speculative.topic_names.size()
        );
        self.producer_ids.invariants(committed);
    }
}

/// Records that one request may write (QuorumController.MAX_RECORDS_PER_USER_OP).
const RECORDS_MAX: usize = 10_000;

/// The broker that `image` is about, as far as it is registered.
#[must_use]
pub fn local_epoch(image: &Image) -> Option<i64> {
    image.brokers.get(&NodeId(image.local.node_id)).map(|broker| broker.epoch)
}
