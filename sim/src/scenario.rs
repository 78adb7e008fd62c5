//! Scenarios: what happens in a run, from an empty world to the last check.

use std::collections::BTreeMap;
use std::sync::Arc;

use dohle_client::config::Acks;
use dohle_codec::NativeCodecs;
use dohle_core::config::broker::BrokerConfig;
use dohle_core::group::place::OFFSETS_TOPIC;
use dohle_core::mutant::Mutants;
use dohle_wire::record::Codecs;

use crate::choice::{Choices, Stream};
use crate::clock::{Clock, SEC};
use crate::disk::SimDisk;
use crate::fault::{Fault, Nemesis};
use crate::node::{Node, NodeSettings};
use crate::oracle::{Oracles, Violation};
use crate::swarm::{GroupShape, Protocols, Swarm, TopicShape};
use crate::workload::{Changes, Errand, Group, Kind, Reader, Setup, Task, Writer};
use crate::world::{Event, Halt, World};

/// The scenarios there are.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Scenario {
    /// One node, several clients, crashes.
    Single,
    /// One log on one disk.
    Log,
}

/// A run of a limited script ends so long after its last operation.
const LED_TO: u64 = 10 * SEC;

/// After faults are over everything has to come to an end within this time.
const LIVENESS_LIMIT: u64 = 120 * SEC;

/// Fewer acknowledged records than this prove nothing.
const ACKNOWLEDGED_MIN: u64 = 200;

/// If there are groups: fewer acknowledged commits, or complete generations, prove nothing.
const COMMITS_MIN: u64 = 20;
const GENERATIONS_MIN: u64 = 3;

impl Scenario {
    /// All of them.
    pub const ALL: [Self; 2] = [Self::Single, Self::Log];

    /// Its name on the command line.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Single => "single",
            Self::Log => "log",
        }
    }

    /// The scenario of that name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|scenario| scenario.name() == name)
    }
}

fn codecs() -> Arc<dyn Codecs> {
    Arc::new(NativeCodecs)
}

fn clock(world: &mut World, swarm: &Swarm) -> Clock {
    if swarm.skewed_clocks { Clock::drawn(&mut world.kernel.choices) } else { Clock::exact() }
}

/// The world of scenario `single` in its first moment.
pub(crate) fn populate(choices: Choices, swarm: &Swarm, mutants: Mutants) -> World {
    let mut world = node_world(choices, swarm, mutants);
    add_clients(&mut world, swarm);
    add_faults(&mut world, swarm);
    world
}

/// A world with one node, `node0:9092`, and nobody else.
pub(crate) fn node_world(choices: Choices, swarm: &Swarm, mutants: Mutants) -> World {
    let mut world = World::new(choices, swarm.net, Oracles::new(swarm.fsync));
    let (config, _) = BrokerConfig::from_properties(&swarm.properties)
        .expect("the swarm draws valid configurations");
    let settings = NodeSettings {
        config: Arc::new(config),
        shards: swarm.shards,
        codecs: codecs(),
        address: (Arc::from("node0"), 9092),
        mail_delay: swarm.mail_delay,
        mutants,
    };
    let node_clock = clock(&mut world, swarm);
    world.add_node(Node::new(0, settings, SimDisk::new(swarm.disk), node_clock));
    world
}

/// Lets the faults of the swarm happen to that node.
pub(crate) fn add_faults(world: &mut World, swarm: &Swarm) {
    let plan = Nemesis::plan(&mut world.kernel.choices, &swarm.faults, swarm.length - 2 * SEC);
    for (at, fault) in plan {
        world.kernel.at(2 * SEC + at, Event::Fault(0, fault));
    }
}

fn add_clients(world: &mut World, swarm: &Swarm) {
    let topics = swarm.topics.iter().cloned().chain(swarm.groups.and_then(offsets_topic));
    let setup = Setup::new(topics.collect(), &mut world.kernel.choices);
    world.add_actor(Box::new(setup), Clock::exact(), 0);
    let clients = swarm.clients;
    let mut next = 0;
    let mut id = || {
        next += 1;
        next
    };
    let kinds = (0..clients.idempotent).map(|_| None).chain((0..clients.plain).map(Some));
    for plain in kinds {
        let choices = &mut world.kernel.choices;
        let acks = [Acks::None, Acks::Leader, Acks::All];
        let kind = match plain {
            None => Kind::Idempotent,
            Some(_) => Kind::Plain(choices.pick(Stream::Workload, "acks", &acks)),
        };
        let topics = swarm.topics.clone();
        let pause = clients.pause * (clients.idempotent + clients.plain);
        let writer = Writer::new(id(), kind, topics, pause, codecs(), choices);
        let clock = clock(world, swarm);
        world.add_actor(Box::new(writer), clock, SEC);
    }
    for _ in 0..clients.consumers {
        let choices = &mut world.kernel.choices;
        let reader = Reader::new(id(), Task::Follow, &swarm.topics, codecs(), choices);
        let clock = clock(world, swarm);
        world.add_actor(Box::new(reader), clock, SEC);
    }
    if clients.admin {
        let changes = Changes::new(id(), swarm.topics.clone(), &mut world.kernel.choices);
        let clock = clock(world, swarm);
        world.add_actor(Box::new(changes), clock, SEC);
    }
    add_groups(world, swarm, Errand::Commit, 10_000);
}

/// The topic that remembers groups, if it is made beforehand.
fn offsets_topic(shape: GroupShape) -> Option<TopicShape> {
    let bytes = shape.segment_bytes?.to_string();
    let configs = [("cleanup.policy", "compact"), ("internal.segment.bytes", &*bytes)];
    let configs = configs.map(|(key, value)| (key.to_owned(), value.to_owned()));
    let (name, partitions) = (OFFSETS_TOPIC.to_owned(), shape.partitions);
    Some(TopicShape { name, partitions, configs: configs.into() })
}

/// A member that crashes comes back as another process: a group is not that many in its life.
const GROUP_PROCESSES: u64 = 10_000;

/// Adds what there is of groups, their members being processes from `first` on.
fn add_groups(world: &mut World, swarm: &Swarm, errand: Errand, first: u64) {
    let Some(shape) = swarm.groups else { return };
    for number in 0..shape.count {
        let first = first + number * GROUP_PROCESSES;
        let group = Group::new(number, first, shape, errand, &swarm.topics, swarm.fsync);
        let clock = clock(world, swarm);
        world.add_actor(Box::new(group), clock, SEC);
    }
}

/// Faults; then they heal, and every client comes to an end; somebody reads everything; the node
/// stops cleanly and starts once more.
pub(crate) fn single(world: &mut World, swarm: &Swarm) -> Result<(), Halt> {
    match world.kernel.choices.is_limited() {
        true => play_script(world, swarm)?,
        false => work(world, swarm)?,
    }
    world.heal();
    settle(world, "to finish after faults ended")?;
    let reader =
        Reader::new(1_000, Task::Drain, &swarm.topics, codecs(), &mut world.kernel.choices);
    world.add_actor(Box::new(reader), Clock::exact(), 0);
    settle(world, "to read everything")?;
    world.oracles.finish()?;
    let life = world.nodes[0].life;
    world.shutdown(0)?;
    let limit = world.kernel.time + LIVENESS_LIMIT;
    let again = |world: &World| world.nodes[0].life > life && world.nodes[0].is_ready();
    if !world.run(limit, again)? {
        return Err(Violation::new("liveness", "a clean stop and start did not end").into());
    }
    let node = &world.nodes[0];
    world.oracles.replay(node)?;
    world.oracles.claims(node)?;
    add_groups(world, swarm, Errand::Read, 100_000);
    settle(world, "to fetch what groups committed")
}

/// Faults and work, until there was enough of both.
fn work(world: &mut World, swarm: &Swarm) -> Result<(), Halt> {
    world.run(swarm.length, |_| false)?;
    // Long clogs and recoveries can leave little time for work, and keep faults waiting.
    let struck = |world: &World, fault: &Fault| world.nemeses[0].happened[*fault as usize] >= 2;
    let enough = |world: &World| {
        let counts = world.oracles.counts();
        counts.acknowledged >= ACKNOWLEDGED_MIN
            && (swarm.groups.is_none()
                || counts.commits >= COMMITS_MIN && counts.generations >= GENERATIONS_MIN)
            && swarm.faults.iter().all(|fault| struck(world, fault))
    };
    world.run(2 * swarm.length, enough)?;
    Ok(())
}

/// Only what a script has happens: after that nothing more is waited for but what it led to.
fn play_script(world: &mut World, swarm: &Swarm) -> Result<(), Halt> {
    let spent = |world: &World| world.kernel.choices.is_spent();
    if world.run(2 * swarm.length, spent)? {
        let limit = (world.kernel.time + LED_TO).min(2 * swarm.length);
        world.run(limit, |_| false)?;
    }
    Ok(())
}

/// Waits until the nodes serve and all actors are done.
fn settle(world: &mut World, what: &str) -> Result<(), Halt> {
    let limit = world.kernel.time + LIVENESS_LIMIT;
    let over = |world: &World| world.nodes.iter().all(Node::is_ready) && world.is_idle();
    if world.run(limit, over)? {
        return Ok(());
    }
    let busy = world.busy().join(", ");
    Err(Violation::new("liveness", format!("{busy} {what}: not done")).into())
}

/// What a run must have done at least to count, and what it did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Gates {
    /// By name: (least, got).
    pub counts: BTreeMap<&'static str, (u64, u64)>,
}

impl Gates {
    /// The gates of a run that has ended.
    #[must_use]
    pub fn of(world: &World, swarm: &Swarm) -> Self {
        let history = world.oracles.counts();
        let armed = world.oracles.armed;
        let mut counts = BTreeMap::from([
            ("simulated_s", (60, world.kernel.time / SEC)),
            ("acknowledged", (ACKNOWLEDGED_MIN, history.acknowledged)),
            ("polled", (100, history.polled)),
            ("batches_compared", (100, armed.batches)),
            ("recoveries_compared", (1, armed.recoveries)),
            ("logs_replayed", (1, armed.replays)),
            ("segments_searched", (0, armed.searched)),
            ("segments_sealed", (0, armed.sealed)),
        ]);
        if swarm.groups.is_some_and(|groups| groups.protocols == Protocols::Consumer) {
            counts.insert("assignments_audited", (3, world.oracles.owners.looked_at));
        }
        if swarm.groups.is_some() {
            counts.extend([
                ("commits", (COMMITS_MIN, history.commits)),
                ("commits_fetched", (COMMITS_MIN, history.commits_fetched)),
                ("generations", (GENERATIONS_MIN, history.generations)),
            ]);
        }
        for fault in swarm.faults.iter().copied() {
            counts.insert(fault.name(), (2, world.nemeses[0].happened[fault as usize]));
        }
        // A clean stop comes at the end of every run; those of the nemesis come on top.
        if !swarm.has(Fault::Stop) {
            counts.insert(Fault::Stop.name(), (1, world.nemeses[0].happened[Fault::Stop as usize]));
        }
        Self { counts }
    }

    /// The first gate that was not reached.
    #[must_use]
    pub fn missed(&self) -> Option<Violation> {
        let (name, (least, got)) = self.counts.iter().find(|(_, (least, got))| got < least)?;
        Some(Violation::new("gate", format!("{name}: {got}, at least {least} needed")))
    }
}
