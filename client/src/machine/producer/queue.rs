//! The batches of one partition, and the rules of their order.
//!
//! With idempotence (KIP-98, and Kafka's TransactionManager) every batch gets a sequence when it is
//! first taken to be sent. The broker takes batches in the order of sequences only, and knows the
//! last five again. The rules here keep that order through every failure:
//!
//! * At most `max.in.flight` ≤ 5 batches have a sequence and no outcome, all sent over one
//!   connection at a time.
//! * Until the first acknowledgement for an identity there is at most one: a broker that knows
//!   nothing of a producer takes any first sequence, so that a second batch could overtake the first.
//! * A batch that is repeated is sent only when it is the first without outcome.
//! * When a sequence is lost for good (a batch failed, or the broker misses batches that it had
//!   acknowledged) nothing new is sent until the fate of every batch is known; then the partition
//!   goes on with the next epoch and sequence 0, and the old epoch is fenced.
//! * A batch that may have been written is never sent under another identity: it would be written
//!   twice. Where Kafka's producer takes that risk, the batch fails here, and says that it is in
//!   doubt.

use std::collections::VecDeque;
use std::time::Duration;

use dohle_wire::ErrorCode;
use dohle_wire::id::{ProducerEpoch, Sequence};

use super::batch::{Batch, Identity, Stamp, Waiting, is_before};
use crate::machine::ConnId;

/// What has to happen before batches can be stamped again.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Renewal {
    /// Nothing.
    None,
    /// Go on with the next epoch.
    Epoch,
    /// Go on with another producer id.
    Id,
}

/// What decides whether a batch may be sent now.
#[derive(Copy, Clone, Debug)]
pub(super) struct Rules {
    pub(super) now: Duration,
    pub(super) idempotent: bool,
    pub(super) max_in_flight: usize,
    pub(super) batch_size: usize,
    pub(super) linger: Duration,
    /// Batches with a record sent before this flush do not linger.
    pub(super) flush: u64,
    /// Nothing lingers.
    pub(super) urgent: bool,
}

/// The batches of one partition.
#[derive(Clone, Debug)]
pub(super) struct Queue {
    /// Batches to be sent, in order: repeated ones first. Only the last may be open.
    waiting: VecDeque<Batch>,
    /// Batches that were sent and have no outcome.
    wire: Vec<Batch>,
    wire_conn: Option<ConnId>,
    /// What batches are stamped with; none before the first, and while another id is awaited.
    identity: Option<Identity>,
    next_sequence: Sequence,
    /// The broker acknowledged a batch of this identity.
    proven: bool,
    renewal: Renewal,
}

impl Queue {
    pub(super) const fn new() -> Self {
        Self {
            waiting: VecDeque::new(),
            wire: Vec::new(),
            wire_conn: None,
            identity: None,
            next_sequence: Sequence(0),
            proven: false,
            renewal: Renewal::None,
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.waiting.is_empty() && self.wire.is_empty()
    }

    pub(super) fn has_waiting(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// Batches that wait, for the partitioner.
    pub(super) fn queued(&self) -> usize {
        self.waiting.len()
    }

    /// When the first waiting batch was to be sent.
    pub(super) fn due(&self, linger: Duration) -> Option<Duration> {
        self.waiting.front().map(|first| first.created.saturating_add(linger))
    }

    pub(super) const fn identity(&self) -> Option<Identity> {
        self.identity
    }

    pub(super) const fn renewal(&self) -> Renewal {
        self.renewal
    }

    /// The batch that takes a record of `size` bytes, or `None` if a new one is needed.
    pub(super) fn open(&mut self, size: usize, batch_size: usize) -> Option<&mut Batch> {
        self.waiting.back_mut().filter(|batch| batch.has_room(size, batch_size))
    }

    pub(super) fn push(&mut self, batch: Batch) {
        self.waiting.push_back(batch);
    }

    /// Whether the first waiting batch may be sent over `conn` as far as order is concerned.
    pub(super) fn may_send(&self, rules: &Rules, conn: ConnId) -> bool {
        let Some(first) = self.waiting.front() else { return false };
        if first.not_before > rules.now || (!self.wire.is_empty() && self.wire_conn != Some(conn)) {
            return false;
        }
        if !rules.idempotent {
            // With one request at a time order is kept without sequences, too.
            return rules.max_in_flight > 1 || self.wire.is_empty();
        }
        match first.stamp {
            Some(stamp) => {
                (self.renewal == Renewal::None || first.in_doubt)
                    && self.wire.iter().all(|sent| follows(sent, stamp.sequence))
            }
            None => {
                let allowed = if self.proven { rules.max_in_flight } else { 1 };
                self.renewal == Renewal::None
                    && self.identity.is_some()
                    && self.wire.len() < allowed
            }
        }
    }

    /// Whether the first waiting batch need not wait for more records.
    pub(super) fn is_ripe(&self, rules: &Rules) -> bool {
        let Some(first) = self.waiting.front() else { return false };
        self.waiting.len() > 1
            || rules.urgent
            || first.attempts > 0
            || first.is_full(rules.batch_size)
            || first.created.saturating_add(rules.linger) <= rules.now
            || first.records.first().is_some_and(|record| record.flush < rules.flush)
    }

    /// Takes the first waiting batch to be sent. It is stamped if `idempotent`.
    pub(super) fn take(&mut self, idempotent: bool) -> Option<Batch> {
        let mut batch = self.waiting.pop_front()?;
        if idempotent && batch.stamp.is_none() {
            let identity = self.identity.expect("nothing is taken without an identity");
            batch.stamp = Some(Stamp { identity, sequence: self.next_sequence });
            self.next_sequence = self.next_sequence.plus(batch.count());
        }
        Some(batch)
    }

    /// A batch that was taken is on its way.
    pub(super) fn sent(&mut self, mut batch: Batch, conn: ConnId) {
        batch.attempts = batch.attempts.saturating_add(1);
        self.wire_conn = Some(conn);
        self.wire.push(batch);
    }

    /// Takes a batch off the wire: its attempt has an outcome.
    pub(super) fn outcome(&mut self, number: u64) -> Option<Batch> {
        let at = self.wire.iter().position(|batch| batch.number == number)?;
        Some(self.wire.remove(at))
    }

    /// A batch of the current identity was acknowledged.
    pub(super) fn acknowledged(&mut self, batch: &Batch) {
        if batch.stamp.is_some_and(|stamp| Some(stamp.identity) == self.identity) {
            self.proven = true;
        }
    }

    /// Whether no batch before this one lacks an outcome.
    pub(super) fn is_first(&self, batch: &Batch) -> bool {
        let Some(stamp) = batch.stamp else { return true };
        self.wire.iter().chain(&self.waiting).all(|other| match other.stamp {
            Some(_) => follows(other, stamp.sequence),
            None => true,
        })
    }

    /// Puts a batch back to be sent again.
    pub(super) fn put_back(&mut self, batch: Batch) {
        let comes_first = |other: &Batch| match (other.stamp, batch.stamp) {
            (Some(other), Some(batch)) => is_before(other.sequence, batch.sequence),
            (Some(_), None) => true,
            (None, Some(_)) => false,
            (None, None) => other.attempts > 0 && other.number < batch.number,
        };
        let at = self.waiting.iter().position(|other| !comes_first(other));
        self.waiting.insert(at.unwrap_or(self.waiting.len()), batch);
    }

    /// A batch is out for good without acknowledgement. Its sequence can be used again if nothing
    /// can have come of it and nothing follows it; otherwise the stream has a hole.
    pub(super) fn gave_up(&mut self, batch: &Batch) {
        let Some(stamp) = batch.stamp else { return };
        if Some(stamp.identity) != self.identity {
            return;
        }
        let followed = self.wire.iter().chain(&self.waiting).any(|other| other.stamp.is_some());
        if batch.in_doubt || followed {
            self.renew(Renewal::Epoch);
        } else {
            self.next_sequence = stamp.sequence;
        }
    }

    /// The stream must go on under another identity.
    pub(super) fn renew(&mut self, renewal: Renewal) {
        self.renewal = self.renewal.max(renewal);
    }

    /// The topic was created anew: its broker knows nothing of this producer.
    pub(super) const fn unprove(&mut self) {
        self.proven = false;
    }

    /// Whether every batch that was sent has an outcome, so that the others can be stamped anew.
    fn is_settled(&mut self) -> bool {
        if !self.wire.is_empty() {
            return false;
        }
        // What certainly was not written holds back everything after it.
        let mut held_back = false;
        for batch in self.waiting.iter_mut().filter(|batch| batch.stamp.is_some()) {
            held_back |= !batch.in_doubt;
            batch.in_doubt &= !held_back;
        }
        self.waiting.iter().all(|batch| batch.stamp.is_none() || !batch.in_doubt)
    }

    /// Goes on under another identity if that is due and possible. `given` is the newest identity
    /// that the cluster gave to this producer.
    pub(super) fn try_renew(&mut self, given: Option<Identity>) {
        if self.identity.is_none() && self.renewal == Renewal::None {
            self.identity = given;
        }
        if self.renewal == Renewal::None || !self.is_settled() {
            return;
        }
        let Some(old) = self.identity else { return };
        let fresh = match (self.renewal, old.epoch) {
            (Renewal::Epoch, ProducerEpoch(epoch)) if epoch < i16::MAX - 1 => {
                Some(Identity { epoch: ProducerEpoch(epoch + 1), ..old })
            }
            _ => {
                self.renewal = Renewal::Id;
                given.filter(|given| given.id != old.id)
            }
        };
        let Some(fresh) = fresh else { return };
        self.identity = Some(fresh);
        self.renewal = Renewal::None;
        self.next_sequence = Sequence(0);
        self.proven = false;
        self.waiting.iter_mut().for_each(|batch| batch.stamp = None);
    }

    /// Takes out the waiting batches whose time is over.
    pub(super) fn take_expired(&mut self, now: Duration) -> Vec<Batch> {
        let (expired, kept) =
            std::mem::take(&mut self.waiting).into_iter().partition(|batch| batch.expires <= now);
        self.waiting = kept;
        Vec::from_iter::<VecDeque<_>>(expired)
    }

    /// Gives up on the records of batches on the wire whose time is over. Each comes with why its
    /// attempt before was not taken.
    pub(super) fn give_up_sent(&mut self, now: Duration) -> Vec<(Waiting, Option<ErrorCode>)> {
        let late = self.wire.iter_mut().filter(|batch| batch.expires <= now);
        let mut records = Vec::new();
        for batch in late {
            let refused = batch.refused;
            records.extend(std::mem::take(&mut batch.records).into_iter().map(|r| (r, refused)));
        }
        records
    }

    /// Why the broker did not take the oldest batch when it was last sent.
    pub(super) fn refused(&self) -> Option<ErrorCode> {
        self.wire.first().or_else(|| self.waiting.front())?.refused
    }

    /// Takes out everything.
    pub(super) fn take_all(&mut self) -> Vec<Batch> {
        self.wire.drain(..).chain(self.waiting.drain(..)).collect()
    }

    /// The times that matter to this partition.
    pub(super) fn times(&self, linger: Duration) -> impl Iterator<Item = (Duration, &'static str)> {
        let first = self.waiting.front().map(|batch| {
            let lingers = (batch.created.saturating_add(linger), "linger.ms");
            if batch.attempts > 0 { (batch.not_before, "retry back-off") } else { lingers }
        });
        let all = self.wire.iter().chain(&self.waiting).filter(|batch| !batch.is_given_up());
        first
            .into_iter()
            .chain(all.map(|batch| batch.expires).min().map(|at| (at, "delivery.timeout.ms")))
    }

    /// Walks the whole queue: for debug builds.
    #[cfg(debug_assertions)]
    pub(super) fn invariants(&self, idempotent: bool, max_in_flight: usize) {
        let stamped = self.wire.iter().chain(&self.waiting).filter(|batch| batch.stamp.is_some());
        let outstanding = stamped.count();
        // A batch that was too large for the broker counts as one with its halves.
        assert!(!idempotent || self.wire.len() <= max_in_flight, "too many batches on the wire");
        assert!(idempotent || outstanding == 0, "stamps are for idempotent producers");
        let mut last: Option<Sequence> = None;
        let mut unstamped = false;
        for batch in &self.waiting {
            match batch.stamp {
                Some(stamp) => {
                    assert!(!unstamped, "repeated batches come before new ones");
                    assert!(
                        last.is_none_or(|last| is_before(last, stamp.sequence)),
                        "repeated batches are in the order of their sequences"
                    );
                    last = Some(stamp.sequence);
                }
                None => unstamped = true,
            }
        }
    }
}

fn follows(batch: &Batch, sequence: Sequence) -> bool {
    batch.stamp.is_some_and(|stamp| is_before(sequence, stamp.sequence))
}
