//! Clients that change topics.

use std::sync::Arc;
use std::time::Duration;

use dohle_client::config::AdminConfig;
use dohle_client::machine::admin::{
    AdminError, Call, ConfigChange, ConfigResource, Effect, Input, ItemError, NewTopic, OffsetSpec,
    Reply,
};
use dohle_client::machine::{Admin, Token, TopicPartition};
use dohle_core::time::{Deadline, Instant, Now, earlier};
use dohle_jepsen::{Action, Key};
use dohle_wire::ErrorCode;
use dohle_wire::id::Offset;

use super::shell::Shell;
use super::{SCRATCH, connection, did};
use crate::actor::{Actor, ActorEffect, ActorInput};
use crate::choice::{Choices, Stream};
use crate::clock::{MS, SEC};
use crate::swarm::TopicShape;

fn shell(name: &str, choices: &mut Choices) -> Shell<Admin> {
    let config = AdminConfig { connection: connection(name), api_timeout: Duration::from_secs(20) };
    let seed = choices.below(Stream::Ids, "admin-seed", u64::MAX);
    Shell::new(Admin::new(config, seed).expect("these settings are valid"))
}

fn new_topic(name: &str, partitions: i32, configs: Vec<(String, String)>) -> NewTopic {
    NewTopic { name: Arc::from(name), partitions, replication_factor: -1, configs }
}

/// Makes the topics of the workload, again and again until they are there.
pub struct Setup {
    shell: Shell<Admin>,
    topics: Vec<TopicShape>,
    calls: u64,
    again: Option<Instant>,
    done: bool,
}

impl Setup {
    /// A client that makes these topics.
    pub fn new(topics: Vec<TopicShape>, choices: &mut Choices) -> Self {
        Self { shell: shell("setup", choices), topics, calls: 0, again: None, done: false }
    }

    fn create(&mut self, now: Now, fx: &mut Vec<ActorEffect>) {
        let topics = self.topics.iter().map(|topic| {
            let configs = topic.configs.iter().map(|(k, v)| (k.clone(), v.clone())).collect();
            new_topic(&topic.name, topic.partitions, configs)
        });
        let call = Call::CreateTopics(topics.collect());
        self.calls += 1;
        self.again = None;
        let token = Token(self.calls);
        let effects = self.shell.step(now, Input::Call { token, call }, fx);
        self.settle(now, effects, fx);
    }

    fn settle(&mut self, now: Now, effects: Vec<Effect>, fx: &mut Vec<ActorEffect>) {
        for effect in effects {
            let Effect::Done { result, .. } = effect else { continue };
            fx.push(ActorEffect::Note(format!("{result:?}")));
            self.done = matches!(&result, Ok(Reply::Each(each)) if each.values().all(is_there));
            if !self.done {
                self.again = Some(Instant(now.mono.0 + 200 * MS));
            }
        }
    }
}

fn is_there(result: &Result<(), ItemError>) -> bool {
    match result {
        Ok(()) => true,
        Err(error) => error.code == ErrorCode::TopicAlreadyExists,
    }
}

impl Actor for Setup {
    fn name(&self) -> String {
        "setup".to_owned()
    }

    fn on(&mut self, now: Now, input: ActorInput, _: &mut Choices, fx: &mut Vec<ActorEffect>) {
        let effects = self.shell.relay(now, &input, fx);
        self.settle(now, effects, fx);
        let due = self.again.is_some_and(|at| at <= now.mono);
        if due || matches!(input, ActorInput::Start) {
            self.create(now, fx);
        }
    }

    fn deadline(&self) -> Deadline {
        earlier(self.shell.deadline(), self.again.map(|at| (at, "another attempt")))
    }

    fn is_done(&self) -> bool {
        self.done
    }

    fn status(&self) -> String {
        format!("{} attempts", self.calls)
    }
}

/// Creates and deletes scratch topics, deletes records, changes configs, asks for offsets.
pub struct Changes {
    id: u64,
    shell: Shell<Admin>,
    topics: Vec<TopicShape>,
    calls: u64,
    open: Option<(Token, Option<TopicPartition>)>,
    next: Option<Instant>,
    /// A partition whose records may be deleted, and its end.
    deletable: Option<(TopicPartition, Offset)>,
    finishing: bool,
}

impl Changes {
    /// Client number `id`.
    pub fn new(id: u64, topics: Vec<TopicShape>, choices: &mut Choices) -> Self {
        Self {
            id,
            shell: shell("admin", choices),
            topics,
            calls: 0,
            open: None,
            next: None,
            deletable: None,
            finishing: false,
        }
    }

    fn act(&mut self, now: Now, choices: &mut Choices, fx: &mut Vec<ActorEffect>) {
        if !choices.operation() {
            return self.pause(now, choices);
        }
        let (call, asked) = self.choose(choices, fx);
        self.calls += 1;
        let token = Token(self.calls);
        self.open = Some((token, asked));
        self.next = None;
        fx.push(ActorEffect::Note(format!("{call:?}")));
        let effects = self.shell.step(now, Input::Call { token, call }, fx);
        self.settle(now, effects, choices, fx);
    }

    fn choose(
        &mut self,
        choices: &mut Choices,
        fx: &mut Vec<ActorEffect>,
    ) -> (Call, Option<TopicPartition>) {
        if let Some((at, end)) = self.deletable.take() {
            let before = choices.below(Stream::Workload, "delete-before", end.0 as u64 + 1) as i64;
            let key = Key::new(&*at.topic, at.partition);
            did(self.id, Action::Deleted { key, before }, fx);
            return (Call::DeleteRecords(vec![(at, Offset(before))]), None);
        }
        let scratch: Arc<str> = Arc::from(choices.pick(Stream::Workload, "which", &SCRATCH));
        match choices.below(Stream::Workload, "change", 10) {
            0..=2 => {
                let partitions = choices.range(Stream::Workload, "scratch-size", 1, 3) as i32;
                (Call::CreateTopics(vec![new_topic(&scratch, partitions, Vec::new())]), None)
            }
            3 => (Call::DeleteTopics(vec![scratch]), None),
            4..=5 => (self.alter(choices), None),
            6 => (Call::CreatePartitions(vec![(scratch, 4)]), None),
            7 => (Call::DescribeTopics(None), None),
            _ => {
                let at = self.partition(choices);
                (Call::ListOffsets(vec![(at.clone(), OffsetSpec::Latest)]), Some(at))
            }
        }
    }

    fn alter(&self, choices: &mut Choices) -> Call {
        let topic = self.partition(choices).topic;
        let (key, values): (&str, &[&str]) = match choices.below(Stream::Workload, "config", 3) {
            0 => ("internal.segment.bytes", &["500", "4000", "50000"]),
            1 => ("index.interval.bytes", &["0", "200", "4096"]),
            _ => ("flush.ms", &["100", "2000"]),
        };
        let value = choices.pick(Stream::Workload, "config-value", values);
        let change = match choices.chance(Stream::Workload, "config-delete", 200_000) {
            true => ConfigChange::Delete(key.to_owned()),
            false => ConfigChange::Set(key.to_owned(), value.to_owned()),
        };
        Call::AlterConfigs(vec![(ConfigResource::Topic(topic), vec![change])])
    }

    fn partition(&self, choices: &mut Choices) -> TopicPartition {
        let topic = choices.below(Stream::Workload, "topic", self.topics.len() as u64) as usize;
        let TopicShape { name, partitions, .. } = &self.topics[topic];
        let index = choices.below(Stream::Workload, "partition", *partitions as u64);
        TopicPartition::new(&**name, index as i32)
    }

    fn settle(
        &mut self,
        now: Now,
        effects: Vec<Effect>,
        choices: &mut Choices,
        fx: &mut Vec<ActorEffect>,
    ) {
        for effect in effects {
            let Effect::Done { token, result } = effect else { continue };
            fx.push(ActorEffect::Note(format!("{result:?}")));
            let open = self.open.take();
            assert!(
                open.as_ref().is_some_and(|(asked, _)| *asked == token),
                "an answer to nothing"
            );
            let asked = open.and_then(|(_, asked)| asked);
            if choices.chance(Stream::Workload, "delete-records", 300_000) {
                self.deletable = asked.and_then(|at| found(&result, at));
            }
            if !self.finishing {
                self.pause(now, choices);
            }
        }
    }

    fn pause(&mut self, now: Now, choices: &mut Choices) {
        let pause = choices.heavy(Stream::Workload, "admin-pause", SEC).min(10 * SEC);
        self.next = Some(Instant(now.mono.0 + pause));
    }
}

fn found(
    result: &Result<Reply, AdminError>,
    at: TopicPartition,
) -> Option<(TopicPartition, Offset)> {
    let Ok(Reply::Offsets(offsets)) = result else { return None };
    let found = offsets.get(&at)?.as_ref().ok()?;
    Some((at, found.offset))
}

impl Actor for Changes {
    fn name(&self) -> String {
        "admin".to_owned()
    }

    fn on(
        &mut self,
        now: Now,
        input: ActorInput,
        choices: &mut Choices,
        fx: &mut Vec<ActorEffect>,
    ) {
        let effects = self.shell.relay(now, &input, fx);
        self.settle(now, effects, choices, fx);
        match input {
            ActorInput::Start => self.next = Some(now.mono),
            ActorInput::Finish => (self.finishing, self.next) = (true, None),
            ActorInput::Opened(_) | ActorInput::Closed(_) | ActorInput::Lost(_) => {}
            ActorInput::Frame(..) | ActorInput::Tick => {}
        }
        if self.next.is_some_and(|at| at <= now.mono) {
            self.act(now, choices, fx);
        }
    }

    fn deadline(&self) -> Deadline {
        earlier(self.shell.deadline(), self.next.map(|at| (at, "the next change")))
    }

    fn is_done(&self) -> bool {
        self.finishing && self.open.is_none()
    }

    fn status(&self) -> String {
        format!("{} calls, waiting: {}", self.calls, self.open.is_some())
    }
}
