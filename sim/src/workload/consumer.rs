//! Clients that read.

use std::sync::Arc;
use std::time::Duration;

use dohle_client::config::{AutoOffsetReset, ConsumerConfig, IsolationLevel};
use dohle_client::machine::consumer::{ConsumeError, ConsumedRecord, Effect, Input, Start};
use dohle_client::machine::{Consumer, TopicPartition};
use dohle_core::time::{Deadline, Instant, Now, earlier};
use dohle_jepsen::{Action, Key, Polled};
use dohle_wire::record::Codecs;

use super::shell::Shell;
use super::{connection, did};
use crate::actor::{Actor, ActorEffect, ActorInput};
use crate::choice::{Choices, Stream};
use crate::clock::MS;
use crate::swarm::TopicShape;

/// What a reader is there for.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Task {
    /// Reads from the beginning or the end, and seeks now and then, until it is asked to finish.
    Follow,
    /// Reads everything there is from the beginning, then ends.
    Drain,
}

/// A consumer of all partitions of some topics.
pub struct Reader {
    id: u64,
    task: Task,
    shell: Shell<Consumer>,
    partitions: Vec<TopicPartition>,
    start: Start,
    next: Option<Instant>,
    finishing: bool,
}

impl Reader {
    /// Client number `id`.
    ///
    /// # Panics
    /// If its settings are not valid, which would be a mistake in this file.
    pub fn new(
        id: u64,
        task: Task,
        topics: &[TopicShape],
        codecs: Arc<dyn Codecs>,
        choices: &mut Choices,
    ) -> Self {
        let isolations = [IsolationLevel::ReadUncommitted, IsolationLevel::ReadCommitted];
        let config = ConsumerConfig {
            connection: connection(&format!("consumer{id}")),
            auto_offset_reset: AutoOffsetReset::None,
            isolation: choices.pick(Stream::Workload, "isolation", &isolations),
            fetch_max_wait: Duration::from_millis(match task {
                Task::Follow => choices.pick(Stream::Workload, "max-wait", &[200, 500]),
                Task::Drain => 1,
            }),
            max_partition_fetch_bytes: match task {
                Task::Follow => {
                    choices.pick(Stream::Workload, "partition-bytes", &[500, 10_000, 1_048_576])
                }
                Task::Drain => 1_048_576,
            },
            ..ConsumerConfig::default()
        };
        let starts = [Start::Earliest, Start::Latest];
        let start = match task {
            Task::Follow => choices.pick(Stream::Workload, "start", &starts),
            Task::Drain => Start::Earliest,
        };
        let partitions = topics
            .iter()
            .flat_map(|topic| {
                (0..topic.partitions).map(|index| TopicPartition::new(&*topic.name, index))
            })
            .collect();
        let seed = choices.below(Stream::Ids, "consumer-seed", u64::MAX);
        let machine = Consumer::new(config, codecs, seed).expect("these settings are valid");
        Self {
            id,
            task,
            shell: Shell::new(machine),
            partitions,
            start,
            next: None,
            finishing: false,
        }
    }

    fn begin(&mut self, now: Now, fx: &mut Vec<ActorEffect>) {
        let assignment = self.partitions.iter().map(|at| (at.clone(), self.start)).collect();
        let keys = self.partitions.iter().map(key).collect();
        did(self.id, Action::Assign(keys), fx);
        let effects = self.shell.step(now, Input::Assign(assignment), fx);
        self.settle(now, effects, fx);
        self.next = Some(now.mono);
    }

    fn poll(&mut self, now: Now, choices: &mut Choices, fx: &mut Vec<ActorEffect>) {
        if self.task == Task::Follow && choices.chance(Stream::Workload, "seek", 5_000) {
            let which = choices.below(Stream::Workload, "sought", self.partitions.len() as u64);
            let at = self.partitions[which as usize].clone();
            let starts = [Start::Earliest, Start::Latest];
            let start = choices.pick(Stream::Workload, "seek-to", &starts);
            self.seek(now, at, start, fx);
        }
        if self.shell.machine.has_records() {
            let max_records = match self.task {
                Task::Follow => choices.pick(Stream::Workload, "max-records", &[1, 10, 500]),
                Task::Drain => 500,
            };
            let effects = self.shell.step(now, Input::Poll { max_records }, fx);
            self.settle(now, effects, fx);
        }
        let pause = match self.task {
            Task::Follow => choices.heavy(Stream::Workload, "poll", 200 * MS),
            Task::Drain => 5 * MS,
        };
        self.next = Some(Instant(now.mono.0 + pause));
    }

    fn seek(&mut self, now: Now, at: TopicPartition, start: Start, fx: &mut Vec<ActorEffect>) {
        did(self.id, Action::Assign(vec![key(&at)]), fx);
        let effects = self.shell.step(now, Input::Seek(at, start), fx);
        self.settle(now, effects, fx);
    }

    fn drop_fetched(&mut self, now: Now, lost: &[(String, i32)], fx: &mut Vec<ActorEffect>) {
        for (topic, partition) in lost {
            let at = TopicPartition::new(&**topic, *partition);
            if let Some(position) = self.shell.machine.position(&at) {
                let input = Input::Seek(at, Start::Offset(position));
                let effects = self.shell.step(now, input, fx);
                self.settle(now, effects, fx);
            }
        }
    }

    fn settle(&mut self, now: Now, effects: Vec<Effect>, fx: &mut Vec<ActorEffect>) {
        for effect in effects {
            match effect {
                Effect::Records { partition, records } => {
                    let key = key(&partition);
                    let polled = records.iter().map(|record| polled(&key, record)).collect();
                    did(self.id, Action::Poll(polled), fx);
                }
                Effect::Failed { partition, error } => {
                    fx.push(ActorEffect::Note(format!("{partition}: {error}")));
                    // The position is before the log's start, or past an end that power took.
                    let start = match error {
                        ConsumeError::OffsetOutOfRange(_) => Start::Earliest,
                        ConsumeError::NoPosition
                        | ConsumeError::Refused(_)
                        | ConsumeError::Corrupt { .. } => self.start,
                    };
                    self.seek(now, partition, start, fx);
                }
                Effect::Net(_) => unreachable!("the shell carries these out"),
                Effect::Group(_) => unreachable!("this reader is a member of no group"),
            }
        }
    }

    fn at_end(&self, at: &TopicPartition) -> bool {
        let machine = &self.shell.machine;
        let position = machine.position(at);
        position.is_some()
            && position >= machine.high_watermark(at)
            && machine.high_watermark(at).is_some()
    }
}

fn key(at: &TopicPartition) -> Key {
    Key::new(&*at.topic, at.partition)
}

/// A record as the history has it; the value leads the payload.
fn polled(key: &Key, record: &ConsumedRecord) -> Polled {
    let value = record.value.as_ref().and_then(|value| value.first_chunk());
    let value = value.map_or(0, |bytes| u64::from_be_bytes(*bytes));
    Polled { key: key.clone(), offset: record.offset.0, value }
}

impl Actor for Reader {
    fn name(&self) -> String {
        format!("consumer{}", self.id)
    }

    fn on(
        &mut self,
        now: Now,
        input: ActorInput,
        choices: &mut Choices,
        fx: &mut Vec<ActorEffect>,
    ) {
        let effects = self.shell.relay(now, &input, fx);
        self.settle(now, effects, fx);
        match input {
            ActorInput::Start => self.begin(now, fx),
            ActorInput::Finish => {
                self.finishing = self.task == Task::Follow;
                if self.finishing {
                    self.next = None;
                    let effects = self.shell.step(now, Input::Close, fx);
                    self.settle(now, effects, fx);
                }
            }
            ActorInput::Lost(lost) => self.drop_fetched(now, &lost, fx),
            ActorInput::Opened(_) | ActorInput::Closed(_) => {}
            ActorInput::Frame(..) | ActorInput::Tick => {}
        }
        if self.next.is_some_and(|at| at <= now.mono) {
            self.poll(now, choices, fx);
        }
    }

    fn deadline(&self) -> Deadline {
        earlier(self.shell.deadline(), self.next.map(|at| (at, "the next poll")))
    }

    fn is_done(&self) -> bool {
        match self.task {
            Task::Follow => self.finishing,
            Task::Drain => {
                !self.shell.machine.has_records()
                    && self.partitions.iter().all(|at| self.at_end(at))
            }
        }
    }

    fn status(&self) -> String {
        let part = |at: &TopicPartition| {
            let machine = &self.shell.machine;
            let (position, end) = (machine.position(at), machine.high_watermark(at));
            format!("{at} at {:?} of {:?}", position.map(|o| o.0), end.map(|o| o.0))
        };
        self.partitions.iter().map(part).collect::<Vec<_>>().join(", ")
    }
}
