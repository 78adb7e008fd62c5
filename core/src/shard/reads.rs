//! Fetches: reading several partitions, waiting for look-ups, watching for more.

use super::*;
use crate::log::locate::LocatePlan;
use crate::mail::{OffsetQuery, Read, ReadOutcome, Readable};
use crate::partition::{Lookup, LookupFor, Sought, Watcher, completed};

/// Reads and look-ups under way.
#[derive(Clone, Debug, Default)]
pub(super) struct Reads {
    next: i64,
    lookups: BTreeMap<i64, (Lookup, Asker)>,
    gathering: BTreeMap<i64, Gathering>,
}

/// Who wants to know what a look-up finds.
#[derive(Clone, Debug)]
enum Asker {
    /// Part `at` of a gathering read.
    Read { gathering: i64, at: usize },
    /// A ListOffsets.
    Offset { reply: ReplyTo, partition: PartitionId },
}

/// A read that waits for look-ups.
#[derive(Clone, Debug)]
struct Gathering {
    read: Read,
    outcomes: Vec<ReadOutcome>,
    missing: usize,
}

impl Reads {
    fn token(&mut self) -> i64 {
        self.next += 1;
        self.next
    }

    fn look_up(&mut self, slot: u32, lookup: Lookup, asker: Asker, fx: &mut Fx<Effect>) {
        let token = self.token();
        let id = IoId { owner: slot, generation: 0, what: What::Locate, end: token };
        fx.push(Effect::Disk(DiskOp::Locate { id, plan: lookup.plan.clone() }));
        self.lookups.insert(token, (lookup, asker));
    }
}

/// Reads that are told when more can be read, with the bytes they still want.
#[derive(Clone, Debug, Default)]
pub(super) struct Watches {
    watched: BTreeMap<Watcher, Watched>,
    over: Vec<(Watcher, Vec<u32>)>,
}

/// What one read waits for, and in which slots.
#[derive(Clone, Debug)]
struct Watched {
    wanted: u64,
    slots: Vec<u32>,
}

impl Watches {
    /// Wakes the watchers whose wish is fulfilled.
    pub(super) fn on_readable(&mut self, watchers: &[Watcher], bytes: u64, fx: &mut Fx<Effect>) {
        for watcher in watchers {
            let Some(watched) = self.watched.get_mut(watcher) else { continue };
            watched.wanted = watched.wanted.saturating_sub(bytes);
            if watched.wanted == 0 {
                self.end(*watcher);
                let (session, request) = *watcher;
                fx.push(Effect::Session(session, ToSession::Wake { request }));
            }
        }
    }

    fn end(&mut self, watcher: Watcher) {
        if let Some(watched) = self.watched.remove(&watcher) {
            self.over.push((watcher, watched.slots));
        }
    }
}

impl Shard {
    pub(super) fn on_read(&mut self, read: Read, fx: &mut Fx<Effect>) {
        let gathering = self.reads.token();
        let mut outcomes = Vec::with_capacity(read.parts.len());
        let mut missing = 0;
        for (at, part) in read.parts.iter().enumerate() {
            let sought = self.open(&part.partition).and_then(|p| p.on_read(part, read.isolation));
            let result = match sought {
                Err(code) => Err(code),
                Ok(Sought::Known(readable)) => Ok(readable),
                Ok(Sought::Lookup(lookup)) => {
                    missing += 1;
                    let slot = self.by_id[&part.partition];
                    self.reads.look_up(slot, lookup, Asker::Read { gathering, at }, fx);
                    Err(ErrorCode::UnknownServerError)
                }
            };
            outcomes.push(ReadOutcome { slot: part.slot, result });
        }
        let gathered = Gathering { read, outcomes, missing };
        if missing == 0 {
            self.finish_read(gathered, fx);
        } else {
            self.reads.gathering.insert(gathering, gathered);
        }
    }

    fn finish_read(&mut self, gathered: Gathering, fx: &mut Fx<Effect>) {
        let Gathering { read, outcomes, .. } = gathered;
        let bytes: u64 = outcomes.iter().map(readable_bytes).sum();
        let urgent = outcomes.iter().any(is_urgent);
        if let Some(wanted) = read.watch.filter(|wanted| bytes < *wanted && !urgent) {
            self.watch(&read, wanted - bytes);
        }
        answer_to(read.reply, Answer::Read(outcomes), fx);
    }

    fn watch(&mut self, read: &Read, wanted: u64) {
        let watcher = (read.reply.session, read.reply.request);
        self.watches.end(watcher);
        self.forget_watches();
        let mut slots = Vec::with_capacity(read.parts.len());
        for part in &read.parts {
            if let Ok((slot, partition)) = self.open_mut(&part.partition) {
                partition.watch(watcher);
                slots.push(slot);
            }
        }
        self.watches.watched.insert(watcher, Watched { wanted, slots });
    }

    /// Nobody waits for that read any more, nor will when it is done with its look-ups or when
    /// it no longer has to wait for a log.
    pub(super) fn on_unwatch(&mut self, watcher: Watcher) {
        let gathering = self.reads.gathering.values_mut().map(|gathering| &mut gathering.read);
        let parked = self.parked.iter_mut().filter_map(|mail| match mail {
            ToShard::Read(read) => Some(read),
            _ => None,
        });
        for read in gathering.chain(parked) {
            if (read.reply.session, read.reply.request) == watcher {
                read.watch = None;
            }
        }
        self.watches.end(watcher);
        self.forget_watches();
    }

    /// Takes watchers whose watch is over out of the partitions.
    fn forget_watches(&mut self) {
        for (watcher, slots) in std::mem::take(&mut self.watches.over) {
            for slot in slots {
                if let Some(partition) = self.slots.get_mut(slot).and_then(Slot::open_mut) {
                    partition.unwatch(watcher);
                }
            }
        }
    }

    pub(super) fn on_list_offset(
        &mut self,
        reply: ReplyTo,
        id: PartitionId,
        query: &OffsetQuery,
        fx: &mut Fx<Effect>,
    ) {
        let sought = self.open(&id).and_then(|partition| partition.on_list_offset(query));
        match sought {
            Err(code) => answer_to(reply, Answer::Offset(Err(code)), fx),
            Ok(Sought::Known(found)) => answer_to(reply, Answer::Offset(Ok(found)), fx),
            Ok(Sought::Lookup(lookup)) => {
                let slot = self.by_id[&id];
                self.reads.look_up(slot, lookup, Asker::Offset { reply, partition: id }, fx);
            }
        }
    }

    pub(super) fn on_located(&mut self, now: Now, done: IoDone, fx: &mut Fx<Effect>) {
        let Some((lookup, asker)) = self.reads.lookups.remove(&done.id.end) else { return };
        let found = match done.result {
            Ok(crate::disk::IoOk::Located(found)) => Ok(found),
            Ok(_) => Err("a look-up answered with something else".to_owned()),
            Err(error) => Err(error.to_string()),
        };
        let further = matches!(found, Ok(None)).then(|| self.further(done.id.owner, &lookup));
        if let Some(plan) = further.flatten() {
            let purpose = lookup.purpose;
            return self.reads.look_up(done.id.owner, Lookup { plan, purpose }, asker, fx);
        }
        match (asker, lookup.purpose) {
            (Asker::Read { gathering, at }, LookupFor::Read { answer, max_bytes, .. }) => {
                let result = found
                    .map(|found| completed(*answer, max_bytes, &lookup.plan, found.as_ref()))
                    .map_err(|why| self.look_up_failed(now, &why, fx));
                self.on_gathered(gathering, at, result, fx);
            }
            (Asker::Offset { reply, partition }, LookupFor::Time(time)) => {
                let answer = match found {
                    Ok(found) => {
                        self.open(&partition).map(|p| p.timed(time, found.as_ref(), &*self.codecs))
                    }
                    Err(why) => Err(self.look_up_failed(now, &why, fx)),
                };
                answer_to(reply, Answer::Offset(answer), fx);
            }
            (asker, _) => unreachable!("{asker:?} asked for something else"),
        }
    }

    /// Where a look-up that found nothing goes on, if it does.
    fn further(&self, slot: u32, lookup: &Lookup) -> Option<LocatePlan> {
        let LookupFor::Read { upper, .. } = lookup.purpose else { return None };
        let partition = self.slots.get(slot).and_then(Slot::open)?;
        partition.log().read_further(&lookup.plan, upper)
    }

    /// A read that fails is told to the operator and answered; whether the disk is broken, the
    /// next write will say.
    fn look_up_failed(&self, _now: Now, why: &str, fx: &mut Fx<Effect>) -> ErrorCode {
        note(Level::Error, format!("a read failed: {why}"), fx);
        ErrorCode::KafkaStorageError
    }

    fn on_gathered(
        &mut self,
        token: i64,
        at: usize,
        result: Result<Readable, ErrorCode>,
        fx: &mut Fx<Effect>,
    ) {
        let Some(gathering) = self.reads.gathering.get_mut(&token) else { return };
        gathering.outcomes[at].result = result;
        gathering.missing -= 1;
        if gathering.missing == 0
            && let Some(gathered) = self.reads.gathering.remove(&token)
        {
            self.finish_read(gathered, fx);
        }
    }
}

/// Whether a read is answered however few bytes there are.
fn is_urgent(outcome: &ReadOutcome) -> bool {
    outcome.result.as_ref().map_or(true, |readable| readable.more)
}

fn readable_bytes(outcome: &ReadOutcome) -> u64 {
    outcome.result.as_ref().map_or(0, |readable| readable.records.len() as u64)
}
