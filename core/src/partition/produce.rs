//! Appending what producers send, and answering when it is safe.

use dohle_wire::error::ErrorCode;
use dohle_wire::id::{Offset, Timestamp};

use super::{Effect, Partition};
use crate::batch::CheckedBatch;
use crate::disk::FileIds;
use crate::fx::Fx;
use crate::log::producer::Verdict;
use crate::mail::{Acks, Answer, Appended, Produce, Refusal, ReplyTo};
use crate::mutant::Mutant;
use crate::time::Now;

/// A produce request whose records are not safe yet.
#[derive(Clone, Debug)]
pub(super) struct Waiting {
    /// Records below have to be safe.
    pub(super) upto: Offset,
    pub(super) reply: ReplyTo,
    base: Offset,
    append_time: Option<Timestamp>,
}

impl Partition {
    /// A producer's batch.
    pub fn on_produce(
        &mut self,
        now: Now,
        produce: &Produce,
        files: &mut FileIds,
        fx: &mut Fx<Effect>,
    ) {
        match self.admit(now, produce, files, fx) {
            Err(refusal) => {
                fx.push(Effect::Answer(produce.reply, Answer::Produced(Err(refusal))));
            }
            Ok(waiting) if waiting.upto <= self.high_watermark => self.acknowledge(&waiting, fx),
            Ok(waiting) if self.mutants.has(Mutant::AckBeforeCompletion) => {
                self.acknowledge(&waiting, fx);
            }
            Ok(waiting) => self.wait(waiting),
        }
        self.invariants();
    }

    fn admit(
        &mut self,
        now: Now,
        produce: &Produce,
        files: &mut FileIds,
        fx: &mut Fx<Effect>,
    ) -> Result<Waiting, Refusal> {
        self.check_leader(None)?;
        if produce.acks == Acks::All {
            self.check_min_isr()?;
        }
        let header = produce.batch.header();
        match self.log.producers().judge(header, self.mutants) {
            Verdict::Refused(code) => Err(self.out_of_order(code, produce)),
            Verdict::Duplicate(batch) => Ok(Waiting {
                upto: batch.last_offset.plus(1),
                reply: produce.reply,
                base: batch.base_offset(),
                append_time: produce.batch.append_time().map(|_| batch.timestamp),
            }),
            Verdict::New => self.append(now, produce, files, fx),
        }
    }

    fn check_min_isr(&self) -> Result<(), Refusal> {
        let min = usize::try_from(self.config.min_insync_replicas).unwrap_or(1);
        let effective = min.min(self.state.replicas.len());
        if self.state.isr.len() >= effective {
            return Ok(());
        }
        let (isr, code) = (self.state.isr.len(), ErrorCode::NotEnoughReplicas);
        Err(Refusal::new(code, format!("{isr} replicas in sync, {effective} needed")))
    }

    fn out_of_order(&self, code: ErrorCode, produce: &Produce) -> Refusal {
        let header = produce.batch.header();
        let known = self.log.producers().iter().find(|(id, _)| **id == header.producer_id);
        let known = known.map_or_else(String::new, |(_, entry)| {
            let last = entry.batches.back().map_or(-1, |batch| batch.last_sequence.0);
            format!(", last known epoch {} sequence {last}", entry.epoch)
        });
        Refusal::new(
            code,
            format!(
                "producer {} epoch {} sequence {}{known}",
                header.producer_id, header.producer_epoch, header.base_sequence
            ),
        )
    }

    /// Appends batches of the node's own, all of them or none, which nobody is answered for here:
    /// whoever wrote them waits until the high watermark reaches the offset that is returned.
    ///
    /// # Errors
    /// Leadership errors, too few replicas in sync, a batch larger than a segment.
    pub fn append_own(
        &mut self,
        now: Now,
        batches: &[CheckedBatch],
        files: &mut FileIds,
        fx: &mut Fx<Effect>,
    ) -> Result<Offset, Refusal> {
        self.check_leader(None)?;
        self.check_min_isr()?;
        batches.iter().try_for_each(|batch| self.log.check_size(batch))?;
        for batch in batches {
            let appended = self.log.append(now, batch, self.state.leader_epoch, files, fx)?;
            self.unseen.push_back((appended.next, batch.bytes().len() as u64));
        }
        self.invariants();
        Ok(self.log.end())
    }

    fn append(
        &mut self,
        now: Now,
        produce: &Produce,
        files: &mut FileIds,
        fx: &mut Fx<Effect>,
    ) -> Result<Waiting, Refusal> {
        let batch = &produce.batch;
        let appended = self.log.append(now, batch, self.state.leader_epoch, files, fx)?;
        self.unseen.push_back((appended.next, batch.bytes().len() as u64));
        Ok(Waiting {
            upto: appended.next,
            reply: produce.reply,
            base: appended.base,
            append_time: batch.append_time(),
        })
    }

    /// Keeps the queue in log order: a retry of an earlier batch waits before later ones.
    fn wait(&mut self, waiting: Waiting) {
        let at = self.waiting.partition_point(|other| other.upto <= waiting.upto);
        self.waiting.insert(at, waiting);
    }

    pub(super) fn answer_waiting(&mut self, fx: &mut Fx<Effect>) {
        while self.waiting.front().is_some_and(|first| first.upto <= self.high_watermark) {
            if let Some(waiting) = self.waiting.pop_front() {
                self.acknowledge(&waiting, fx);
            }
        }
    }

    fn acknowledge(&self, waiting: &Waiting, fx: &mut Fx<Effect>) {
        let appended = Appended {
            base: waiting.base,
            log_append_time: waiting.append_time,
            log_start: self.log.log_start(),
        };
        fx.push(Effect::Answer(waiting.reply, Answer::Produced(Ok(appended))));
    }
}
