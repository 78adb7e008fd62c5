//! Groups of the consumer protocol.

mod commits;
mod errors;
mod members;
mod migration;
mod random;
mod rebalance;
mod settings;

use dohle_wire::id::{TopicId, Uuid};

use super::*;
use crate::group::consumer::request::{ConsumerBeat, ConsumerDescription, ConsumerHeartbeat};
use crate::group::consumer::{ConsumerState, Member};
use crate::group::record::{Current, MemberState};
use crate::group::topics::{Part, Topic};

/// Milliseconds that members may take to give up partitions.
const REVOKE_MS: u64 = 60_000;

/// A topic's id goes by its name.
fn topic_id(name: &str) -> TopicId {
    let number = name.bytes().fold(1_000, |sum: u128, byte| sum * 256 + u128::from(byte));
    TopicId(Uuid::from_u128(number))
}

fn p(topic: &str, index: i32) -> Part {
    (topic_id(topic), PartitionIndex(index))
}

fn parts(topic: &str, indexes: impl IntoIterator<Item = i32>) -> BTreeSet<Part> {
    indexes.into_iter().map(|index| p(topic, index)).collect()
}

/// A heartbeat that says nothing new.
fn beat(member: &str, epoch: i32) -> ConsumerHeartbeat {
    ConsumerHeartbeat {
        group: GROUP.into(),
        member: member.into(),
        epoch,
        instance: None,
        rack: None,
        client_id: "app".into(),
        client_host: "/127.0.0.1".into(),
        rebalance_timeout_ms: None,
        topics: None,
        pattern: None,
        assignor: None,
        owned: None,
        chooses_id: true,
    }
}

/// A heartbeat that says what is owned too.
fn beat_with(member: &str, epoch: i32, owned: BTreeSet<Part>) -> ConsumerHeartbeat {
    ConsumerHeartbeat { owned: Some(owned), ..beat(member, epoch) }
}

/// The first heartbeat of a member.
fn enter(member: &str, topics: &[&str]) -> ConsumerHeartbeat {
    ConsumerHeartbeat {
        rebalance_timeout_ms: Some(i32::try_from(REVOKE_MS).unwrap()),
        topics: Some(topics.iter().map(|topic| Arc::from(*topic)).collect()),
        owned: Some(BTreeSet::new()),
        ..beat(member, 0)
    }
}

fn enter_as(instance: &str, member: &str, topics: &[&str]) -> ConsumerHeartbeat {
    ConsumerHeartbeat { instance: Some(instance.into()), ..enter(member, topics) }
}

fn enter_by(member: &str, pattern: &str) -> ConsumerHeartbeat {
    ConsumerHeartbeat { pattern: Some(pattern.into()), topics: None, ..enter(member, &[]) }
}

impl World {
    /// A world with topics, each with so many partitions.
    fn with_topics(topics: &[(&str, usize)], change: impl FnOnce(&mut GroupSettings)) -> Self {
        let mut world = Self::with(change);
        topics.iter().for_each(|(name, count)| world.set_topic(name, *count));
        world
    }

    /// A topic has so many partitions from now on; none for one that is no more.
    fn set_topic(&mut self, name: &str, partitions: usize) {
        self.set_topic_as(name, topic_id(name), partitions);
    }

    fn set_topic_as(&mut self, name: &str, id: TopicId, partitions: usize) {
        let mut topics = (*self.topics).clone();
        match partitions {
            0 => topics.remove(name),
            count => topics.insert(Topic::new(name.into(), id, &vec![BTreeSet::new(); count])),
        }
        self.topics = Arc::new(topics);
        self.step(Input::Topics(Arc::clone(&self.topics)));
        if partitions == 0 {
            self.step(Input::TopicsGone(vec![name.into()]));
        }
    }

    #[track_caller]
    fn beats(&mut self, beat: ConsumerHeartbeat) -> Result<ConsumerBeat, Refusal> {
        let request = self.ask(Request::ConsumerHeartbeat(Box::new(beat)));
        match self.answer(request) {
            Answer::ConsumerBeaten(told) => told,
            other => panic!("{other:?}"),
        }
    }

    #[track_caller]
    fn told(&mut self, beat: ConsumerHeartbeat) -> ConsumerBeat {
        self.beats(beat).expect("a heartbeat that is accepted")
    }

    /// The epoch and what it may read, where it is told.
    #[track_caller]
    fn news(&mut self, beat: ConsumerHeartbeat) -> (i32, Option<BTreeSet<Part>>) {
        let told = self.told(beat);
        (told.epoch, told.assigned)
    }

    #[track_caller]
    fn code(&mut self, beat: ConsumerHeartbeat) -> ErrorCode {
        self.beats(beat).expect_err("a heartbeat that is refused").code
    }

    #[track_caller]
    fn group(&self) -> &ConsumerGroup {
        self.coordinator.groups.get(GROUP).and_then(Group::consumer).expect("a consumer group")
    }

    #[track_caller]
    fn member(&self, id: &str) -> &Member {
        let (_, member) = self.group().members().find(|(known, _)| &***known == id).expect("in");
        member
    }

    #[track_caller]
    fn current(&self, id: &str) -> &Current {
        &self.member(id).current
    }

    #[track_caller]
    fn owns(&self, id: &str) -> BTreeSet<Part> {
        self.current(id).assigned.keys().copied().collect()
    }

    #[track_caller]
    fn describe_consumer(&mut self) -> Result<ConsumerDescription, Refusal> {
        let request = self.ask(Request::DescribeConsumer(GROUP.into()));
        match self.answer(request) {
            Answer::ConsumerDescribed(described) => described,
            other => panic!("{other:?}"),
        }
    }

    #[track_caller]
    fn consumer_state(&mut self) -> ConsumerState {
        self.describe_consumer().expect("a consumer group").state
    }

    /// Each of them does what it is told, heartbeat by heartbeat, until nothing changes.
    #[track_caller]
    fn settle_down(&mut self, members: &[&str]) {
        for _ in 0..10 {
            for id in members {
                let epoch = self.current(id).epoch;
                let owned = self.owns(id);
                self.told(beat_with(id, epoch, owned));
            }
        }
        assert_eq!(self.group().state(), ConsumerState::Stable);
    }
}

/// What kinds of records were written, in order.
fn kinds(records: &[Record]) -> Vec<&'static str> {
    let kind = |record: &Record| match record {
        Record::Offset { .. } => "offset",
        Record::Group { .. } => "group",
        Record::Consumer { fact: Fact::Epoch(_), .. } => "epoch",
        Record::Consumer { fact: Fact::Member(..), .. } => "member",
        Record::Consumer { fact: Fact::TargetEpoch(_), .. } => "target epoch",
        Record::Consumer { fact: Fact::Target(..), .. } => "target",
        Record::Consumer { fact: Fact::Current(..), .. } => "current",
        Record::Consumer { fact: Fact::Pattern(..), .. } => "pattern",
    };
    records.iter().map(kind).collect()
}
