//! What is appended: batches of all kinds, as a leader and as a follower.

use dohle_core::batch::CheckedBatch;
use dohle_core::fx::Fx;
use dohle_core::log::Log;
use dohle_core::log::producer::{ProducerEntry, Verdict};
use dohle_wire::id::{LeaderEpoch, Offset, ProducerEpoch, ProducerId, Sequence, Timestamp};
use dohle_wire::record::control::{ControlRecord, EndTransaction};
use dohle_wire::record::{BatchBuilder, BatchHeader, NoCodecs, RawBatch, patch};

use super::{LogWorld, Phase, Role};
use crate::oracle::Violation;

/// Transactional producers have ids from here on.
const TRANSACTIONAL: i64 = 100;

/// Whose batch it is.
#[derive(Copy, Clone, Debug)]
enum Author {
    Nobody,
    Idempotent(ProducerId, ProducerEpoch, Sequence),
    Transaction(ProducerId, ProducerEpoch, Sequence),
    Marker(ProducerId, ProducerEpoch, bool),
}

/// The producer's epoch and next sequence, and whether it has a transaction open.
fn stands(entry: Option<&ProducerEntry>) -> (ProducerEpoch, Sequence, bool) {
    let Some(entry) = entry else { return (ProducerEpoch(0), Sequence(0), false) };
    let next = entry.batches.back().map_or(Sequence(0), |batch| batch.last_sequence.plus(1));
    (entry.epoch, next, entry.open_transaction.is_some())
}

impl LogWorld {
    pub(super) fn append(&mut self) -> Result<(), Violation> {
        let Phase::Serving(log) = &self.phase else { return Ok(()) };
        let known = |id: i64| {
            stands(log.producers().iter().find(|(known, _)| known.0 == id).map(|(_, e)| e))
        };
        let choices = &mut self.kernel.choices;
        let stream = crate::choice::Stream::Workload;
        let all = self.swarm.producers + self.swarm.transactional + 1;
        let who = choices.below(stream, "producer", all as u64) as i64;
        let author = if who == 0 {
            Author::Nobody
        } else if who <= self.swarm.producers {
            let (epoch, next, _) = known(who);
            match choices.chance(stream, "producer-epoch", 30_000) {
                true => Author::Idempotent(
                    ProducerId(who),
                    ProducerEpoch(epoch.0 % 30_000 + 1),
                    Sequence(0),
                ),
                false => Author::Idempotent(ProducerId(who), epoch, next),
            }
        } else {
            let id = TRANSACTIONAL + who;
            let (epoch, next, open) = known(id);
            match open && choices.chance(stream, "marker", 350_000) {
                true => {
                    let commit = choices.chance(stream, "commit", 600_000);
                    Author::Marker(ProducerId(id), epoch, commit)
                }
                false => Author::Transaction(ProducerId(id), epoch, next),
            }
        };
        let batch = self.build(author);
        self.tally.markers += u64::from(matches!(author, Author::Marker(..)));
        match self.role {
            Role::Leader => self.lead_with(&batch),
            Role::Follower => self.follow_with(batch),
        }
    }

    fn build(&mut self, author: Author) -> RawBatch {
        self.tally.appended += 1;
        let number = self.tally.appended;
        let mut builder = BatchBuilder::new(Offset(0));
        builder = match author {
            Author::Nobody => builder,
            Author::Idempotent(id, epoch, sequence) => builder.producer(id, epoch, sequence),
            Author::Transaction(id, epoch, sequence) => {
                builder.producer(id, epoch, sequence).transactional()
            }
            Author::Marker(id, epoch, _) => {
                builder.producer(id, epoch, Sequence(-1)).transactional().control()
            }
        };
        self.aborts = matches!(author, Author::Marker(.., false));
        // Clocks of producers disagree.
        let wall = self.now().wall.0 + self.draw("time-error", 40) as i64 - 20;
        if let Author::Marker(_, _, commit) = author {
            let end = EndTransaction { coordinator_epoch: 1 };
            let record =
                if commit { ControlRecord::Commit(end) } else { ControlRecord::Abort(end) };
            let value = record.value().expect("a marker has a value");
            builder.push(Timestamp(wall), Some(&record.key()), Some(&value), &[]).expect("small");
        } else {
            let filler = [b'.'; 160];
            for index in 0..=self.draw("records", 5) {
                let extra = self.draw("bytes", 160) as usize / 3;
                let mut value = format!("{number} {index} ").into_bytes();
                value.extend_from_slice(&filler[..extra]);
                let time = Timestamp(wall + index as i64);
                builder.push(time, None, Some(&value), &[]).expect("small");
            }
        }
        RawBatch::parse(builder.build(&NoCodecs).expect("not empty")).expect("just made")
    }

    fn lead_with(&mut self, batch: &RawBatch) -> Result<(), Violation> {
        let (now, epoch) = (self.now(), LeaderEpoch(self.epoch));
        let checked = CheckedBatch::trusted(batch.header, batch.bytes.clone(), None);
        let mut fx = Fx::new();
        let Phase::Serving(log) = &mut self.phase else { return Ok(()) };
        if !batch.header.is_control()
            && log.producers().judge(&batch.header, self.mutants) != Verdict::New
        {
            return Ok(());
        }
        let base = active_base(log);
        let Ok(placed) = log.append(now, &checked, epoch, &mut self.files, &mut fx) else {
            return Ok(());
        };
        self.tally.rolls += u64::from(active_base(log) > base && base.is_some());
        self.model.note_bases(log);
        let mut header = batch.header;
        (header.base_offset, header.partition_leader_epoch) = (placed.base, epoch);
        self.took(header, &mut fx)
    }

    fn follow_with(&mut self, batch: RawBatch) -> Result<(), Violation> {
        let low = self.model.last_batch_epoch();
        let epoch = low + self.draw("batch-epoch", (self.epoch - low).max(0) as u64 + 1) as i32;
        let gap = match self.swarm.gaps && self.draw("gap", 8) == 0 {
            true => 1 + self.draw("gap-size", 6) as i64,
            false => 0,
        };
        let mut bytes = batch.bytes.to_vec();
        let base = Offset(self.model.end() + gap);
        patch(&mut bytes, base, LeaderEpoch(epoch)).expect("it has a header");
        let batch = RawBatch::parse(bytes.into()).expect("whole");
        let (now, asked_in) = (self.now(), LeaderEpoch(self.epoch));
        let mut fx = Fx::new();
        let Phase::Serving(log) = &mut self.phase else { return Ok(()) };
        let before = active_base(log);
        let came = log.append_as_follower(now, &batch, asked_in, &mut self.files, &mut fx);
        match came {
            Ok(Some(_)) => {
                self.tally.followed += 1;
                self.tally.rolls += u64::from(active_base(log) > before && before.is_some());
                self.model.note_bases(log);
                self.took(batch.header, &mut fx)
            }
            Ok(None) => Err(Violation::new("liveness", "a follower skips what it asked for")),
            Err(error) => {
                Err(Violation::new("liveness", format!("a follower cannot go on: {error}")))
            }
        }
    }

    fn took(
        &mut self,
        header: BatchHeader,
        fx: &mut Fx<dohle_core::disk::DiskOp>,
    ) -> Result<(), Violation> {
        self.submit(fx);
        let (base, next) = (header.base_offset.0, header.next_offset().0);
        self.kernel.note(|| "workload".to_owned(), || format!("append {base} to {next}"));
        let end = self.model.end();
        let found = match base < end || (base > end && !self.swarm.gaps) {
            true => Err(format!("a batch got offset {base}, the log ended at {end}")),
            false => Ok(()),
        };
        self.inside("L1", found)?;
        self.model.append(header, self.aborts);
        Ok(())
    }
}

fn active_base(log: &Log) -> Option<Offset> {
    log.segments().last().map(|segment| segment.base)
}
