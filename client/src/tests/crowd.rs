//! Several members of one group, under losses, late answers, coordinators that move, members that
//! come, go and stop polling: whatever happens, no partition is read by two members of the group,
//! every record is read, no commit goes back, and none covers what nobody has read.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use proptest::prelude::*;

use super::broker::Broker;
use super::consumer::batch;
use super::group::config;
use super::producer::Turning;
use super::world::World;
use crate::config::{ConsumerConfig, GroupProtocol, Strategy as Assignor};
use crate::machine::consumer::{Effect, Input};
use crate::machine::group::{Call, GroupEffect, Rebalance, Subscription};
use crate::machine::{Consumer, Token};

const MEMBERS: usize = 3;
const PARTITIONS: i32 = 4;
const SLICE: Duration = Duration::from_millis(100);

/// What happens next.
#[derive(Clone, Debug)]
enum Event {
    Poll { member: usize, max_records: usize },
    Serve { member: usize, conn: usize },
    Hear { member: usize, conn: usize },
    Cut { member: usize, conn: usize, requests_arrive: bool },
    Pass { slices: u32 },
    Append { partition: i32 },
    Move { node: i32 },
    Commit { member: usize },
    Unsubscribe { member: usize },
    Subscribe { member: usize },
    Drop { member: usize },
    Expel,
}

fn event() -> impl Strategy<Value = Event> {
    let member = || 0..MEMBERS;
    prop_oneof![
        16 => (member(), 1usize..4).prop_map(|(member, max_records)| Event::Poll { member, max_records }),
        8 => (member(), 0usize..6).prop_map(|(member, conn)| Event::Serve { member, conn }),
        8 => (member(), 0usize..6).prop_map(|(member, conn)| Event::Hear { member, conn }),
        2 => (member(), 0usize..6, any::<bool>()).prop_map(|(member, conn, requests_arrive)| {
            Event::Cut { member, conn, requests_arrive }
        }),
        12 => (1u32..30).prop_map(|slices| Event::Pass { slices }),
        6 => (0..PARTITIONS).prop_map(|partition| Event::Append { partition }),
        1 => (0i32..=2).prop_map(|node| Event::Move { node }),
        2 => member().prop_map(|member| Event::Commit { member }),
        1 => member().prop_map(|member| Event::Unsubscribe { member }),
        2 => member().prop_map(|member| Event::Subscribe { member }),
        1 => member().prop_map(|member| Event::Drop { member }),
        1 => Just(Event::Expel),
    ]
}

fn settings(kind: usize) -> ConsumerConfig {
    let kinds = [
        (GroupProtocol::Classic, vec![Assignor::Range, Assignor::CooperativeSticky]),
        (GroupProtocol::Classic, vec![Assignor::CooperativeSticky]),
        (GroupProtocol::Classic, vec![Assignor::Sticky]),
        (GroupProtocol::Consumer, vec![Assignor::Range, Assignor::CooperativeSticky]),
    ];
    let (protocol, strategies) = kinds[kind].clone();
    let mut config = config(protocol);
    config.group.strategies = strategies;
    config.group.max_poll_interval = Duration::from_secs(20);
    config.group.auto_commit_interval = Duration::from_secs(1);
    config.connection.request_timeout = Duration::from_secs(5);
    config
}

struct Crowd {
    settings: ConsumerConfig,
    worlds: Vec<World<Consumer>>,
    broker: Broker,
    now: Duration,
    seed: u64,
    /// Who was told that it reads a partition, and has not acknowledged that it does not.
    readers: BTreeMap<i32, BTreeSet<usize>>,
    /// What a member gives up once it acknowledges.
    going: BTreeMap<usize, BTreeSet<i32>>,
    read: BTreeMap<i32, BTreeSet<i64>>,
    checked: usize,
    high: BTreeMap<i32, i64>,
}

impl Crowd {
    fn new(kind: usize) -> Self {
        let mut broker = Broker::new(2);
        broker.create("t", PARTITIONS as usize);
        let settings = settings(kind);
        let mut crowd = Self {
            settings,
            worlds: Vec::new(),
            broker,
            now: Duration::from_secs(1),
            seed: 0,
            readers: BTreeMap::new(),
            going: BTreeMap::new(),
            read: BTreeMap::new(),
            checked: 0,
            high: BTreeMap::new(),
        };
        for _ in 0..MEMBERS {
            let world = crowd.fresh();
            crowd.worlds.push(world);
        }
        crowd
    }

    fn fresh(&mut self) -> World<Consumer> {
        self.seed += 1;
        let machine = Consumer::new(self.settings.clone(), Arc::new(Turning), self.seed);
        let mut world = World::new(machine.expect("valid settings"), Broker::new(1));
        world.now = self.now;
        world.input(Input::Subscribe(Subscription::to(["t"])));
        world
    }

    /// Does something with a member.
    fn with<T>(&mut self, member: usize, act: impl FnOnce(&mut World<Consumer>) -> T) -> T {
        let world = &mut self.worlds[member];
        std::mem::swap(&mut world.broker, &mut self.broker);
        let result = act(world);
        std::mem::swap(&mut world.broker, &mut self.broker);
        self.hear(member);
        self.check_commits();
        result
    }

    /// Notes what a member was given and told.
    fn hear(&mut self, member: usize) {
        let effects: Vec<Effect> = self.worlds[member].out.drain(..).collect();
        for effect in effects {
            match effect {
                Effect::Records { partition, records } => {
                    let index = partition.partition;
                    assert!(self.readers[&index].contains(&member), "it reads what it has");
                    let read = self.read.entry(index).or_default();
                    read.extend(records.iter().map(|record| record.offset.0));
                }
                Effect::Group(GroupEffect::Rebalance(Rebalance::Assigned(parts))) => {
                    for at in parts {
                        self.begin(member, at.partition);
                    }
                }
                Effect::Group(GroupEffect::Rebalance(Rebalance::Revoked(parts))) => {
                    let parts = parts.iter().map(|at| at.partition).collect();
                    self.going.insert(member, parts);
                }
                Effect::Group(GroupEffect::Rebalance(Rebalance::Lost(parts))) => {
                    for at in parts {
                        self.readers.entry(at.partition).or_default().remove(&member);
                    }
                }
                Effect::Group(GroupEffect::Done { .. }) => {}
                other => panic!("{other:?}"),
            }
        }
    }

    fn begin(&mut self, member: usize, index: i32) {
        let readers = self.readers.entry(index).or_default();
        // Whom the coordinator has put out may not know it yet.
        let in_group = |member: usize| {
            let id = self.worlds[member].machine.membership().map(|(id, _)| id.to_owned());
            id.is_some_and(|id| self.broker.groups.has_member(&id))
        };
        for other in readers.iter().filter(|other| **other != member) {
            let reads = self.worlds[*other].machine.assignment().any(|at| at.partition == index);
            let both = reads && in_group(*other) && in_group(member);
            assert!(!both, "{member} and {other} both read {index}");
        }
        readers.insert(member);
    }

    /// A member acknowledges what it was told last.
    fn acknowledged(&mut self, member: usize) {
        for index in self.going.remove(&member).unwrap_or_default() {
            self.readers.entry(index).or_default().remove(&member);
        }
    }

    fn check_commits(&mut self) {
        let commits = &self.broker.groups.commits[self.checked..];
        for (_, index, offset) in commits {
            let high = self.high.entry(*index).or_insert(0);
            assert!(*offset >= *high, "a commit of {index} went back from {high} to {offset}");
            *high = *offset;
            let read = self.read.entry(*index).or_default();
            assert!((0..*offset).all(|o| read.contains(&o)), "{index}: {offset} was not read");
        }
        self.checked = self.broker.groups.commits.len();
    }

    fn pass(&mut self, slices: u32) {
        for _ in 0..slices {
            self.now += SLICE;
            for member in 0..MEMBERS {
                let now = self.now;
                self.with(member, |world| world.pass(now.saturating_sub(world.now)));
            }
        }
    }

    fn poll(&mut self, member: usize, max_records: usize) {
        // The machine takes a poll as the acknowledgement of what it told before.
        self.acknowledged(member);
        self.with(member, |world| world.input(Input::Poll { max_records }));
    }

    fn drop_member(&mut self, member: usize) {
        self.with(member, |world| {
            world.input(Input::Close);
            world.pass(Duration::ZERO);
        });
        self.readers.values_mut().for_each(|readers| readers.retain(|reader| *reader != member));
        self.going.remove(&member);
        // What it sent and nobody served is lost with it.
        self.worlds[member] = self.fresh();
    }

    fn apply(&mut self, event: &Event) {
        match *event {
            Event::Poll { member, max_records } => self.poll(member, max_records),
            Event::Serve { member, conn } => self.with(member, |world| {
                if let Some(id) = world.busy().get(conn).copied() {
                    world.serve(id);
                }
            }),
            Event::Hear { member, conn } => self.with(member, |world| {
                if let Some(id) = world.busy().get(conn).copied() {
                    world.hear(id);
                }
            }),
            Event::Cut { member, conn, requests_arrive } => self.with(member, |world| {
                if let Some(id) = world.open().get(conn).copied() {
                    // A commit that arrives after a later one would undo it; that is no fault of
                    // the client, so what arrives at all arrives at once.
                    while requests_arrive && world.serve(id) {}
                    world.cut(id, false);
                }
            }),
            Event::Pass { slices } => self.pass(slices),
            Event::Append { partition } => {
                let batch = batch(&["x", "y"], |builder| builder);
                let log = self.broker.log("t", partition as usize);
                log.append(&batch).expect("appended");
            }
            Event::Move { node } => self.broker.groups.node = node,
            Event::Commit { member } => self.with(member, |world| {
                world.input(Input::Call { token: Token(1), call: Call::Commit(None) });
            }),
            Event::Unsubscribe { member } => {
                self.with(member, |world| world.input(Input::Unsubscribe));
            }
            Event::Subscribe { member } => self.with(member, |world| {
                world.input(Input::Subscribe(Subscription::to(["t"])));
            }),
            Event::Drop { member } => self.drop_member(member),
            Event::Expel => self.broker.groups.expel(),
        }
    }

    /// Lets everything come to rest.
    fn calm(&mut self) {
        self.broker.groups.node = 1;
        for member in 0..MEMBERS {
            self.apply(&Event::Subscribe { member });
        }
        for _ in 0..200 {
            for member in 0..MEMBERS {
                self.poll(member, 100);
            }
            self.pass(5);
        }
        for index in 0..PARTITIONS {
            let end = self.broker.log("t", index as usize).end();
            let read = self.read.entry(index).or_default();
            let missing: Vec<i64> = (0..end).filter(|offset| !read.contains(offset)).collect();
            assert!(missing.is_empty(), "partition {index}: {missing:?} were never read");
            let committed = self.broker.groups.offsets.get(&("t".to_owned(), index));
            assert_eq!(committed.map_or(0, |(offset, ..)| *offset), end, "all is committed");
            assert_eq!(self.readers[&index].len(), 1, "somebody reads {index}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 100,
        max_shrink_iters: 400,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn a_group_reads_everything_and_nothing_twice_at_once(
        kind in 0..4usize,
        events in proptest::collection::vec(event(), 20..150),
    ) {
        let mut crowd = Crowd::new(kind);
        for event in &events {
            crowd.apply(event);
        }
        crowd.calm();
    }
}

#[test]
fn an_assignment_that_is_taken_back_before_it_was_confirmed_is_given_up() {
    let mut crowd = Crowd::new(3);
    let poll = |member| Event::Poll { member, max_records: 1 };
    let pass = || Event::Pass { slices: 1 };
    let drop = |member| Event::Drop { member };
    // The new member 0 hears of partitions, and does not come to confirm them before it has to give
    // them up: then it owns what it owned when it last spoke, and has to speak all the same.
    let events = [
        poll(0),
        poll(1),
        pass(),
        drop(2),
        drop(0),
        poll(0),
        poll(2),
        poll(0),
        pass(),
        poll(0),
        poll(1),
    ];
    events.iter().for_each(|event| crowd.apply(event));
    crowd.calm();
}
