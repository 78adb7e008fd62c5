//! The configuration of a run, drawn from its seed: sizes, speeds, clients, and which faults
//! exist at all. Leaving things out is as much a part of it as the sizes are: a fault that hides
//! another is absent from some runs.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::choice::{Choices, Stream};
use crate::clock::{MS, SEC, US};
use crate::disk::DiskSpeed;
use crate::fault::Fault;
use crate::net::NetSpeed;

/// A topic of the workload.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TopicShape {
    /// Its name.
    pub name: String,
    /// How many partitions it has.
    pub partitions: i32,
    /// Its configs.
    pub configs: BTreeMap<String, String>,
}

/// How many clients of which kind there are.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Clients {
    /// Idempotent producers with five requests in flight.
    pub idempotent: u64,
    /// Producers with acks 0, 1 or all and no idempotence.
    pub plain: u64,
    /// Consumers.
    pub consumers: u64,
    /// Whether topics and configs change and records are deleted while all that goes on.
    pub admin: bool,
    /// Typical pause between two sends of any producer, in nanoseconds.
    pub pause: u64,
}

/// Which protocols the members of a group speak.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Protocols {
    /// One of them assigns.
    Classic,
    /// The coordinator assigns (KIP-848).
    Consumer,
    /// Each chooses when it comes, so that groups change from one to the other.
    Mixed,
}

impl Protocols {
    /// To draw from.
    const DRAWN: [Self; 5] =
        [Self::Classic, Self::Classic, Self::Consumer, Self::Consumer, Self::Mixed];
}

/// Consumer groups, all alike.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GroupShape {
    /// How many there are.
    pub count: u64,
    /// Members of each.
    pub members: u64,
    /// Members that say nothing for so long are out.
    pub session_timeout_ms: i32,
    /// Partitions of the topic that remembers them.
    pub partitions: i32,
    /// Whether that topic is made beforehand, with segments of so many bytes.
    pub segment_bytes: Option<i32>,
    /// What members speak.
    pub protocols: Protocols,
    /// Whether members are static: those that crash come back as who they were.
    pub statics: bool,
    /// Whether offsets of a group without members expire during the run.
    pub expiry: bool,
    /// Whether groups are deleted in the end.
    pub deleted: bool,
}

/// One run's configuration.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Swarm {
    /// Shards of the node.
    pub shards: u16,
    /// Acknowledgements wait for a sync; nothing acknowledged may be lost with power.
    pub fsync: bool,
    /// Settings of the broker that are not the default.
    pub properties: BTreeMap<String, String>,
    /// Topics.
    pub topics: Vec<TopicShape>,
    /// Clients.
    pub clients: Clients,
    /// Consumer groups, if there are any.
    pub groups: Option<GroupShape>,
    /// Faults that the nemesis schedules.
    pub faults: Vec<Fault>,
    /// Clocks are wrong from the start.
    pub skewed_clocks: bool,
    /// The network.
    pub net: NetSpeed,
    /// The disks.
    pub disk: DiskSpeed,
    /// A typical delay of mail between the units of a node, in nanoseconds.
    pub mail_delay: u64,
    /// How long faults happen, in nanoseconds.
    pub length: u64,
}

impl Swarm {
    /// A run with a single node.
    pub fn single(choices: &mut Choices) -> Self {
        let fsync = chance(choices, "fsync", 40);
        // Producers are faster than the disk. (Where each answer waits for a sync, no run would
        // come to its end.)
        let outrun = !fsync && chance(choices, "outrun", 30);
        let topics = choices.range(Stream::Swarm, "topics", 1, 3);
        let mut swarm = Self {
            shards: choices.range(Stream::Swarm, "shards", 1, 4) as u16,
            fsync,
            properties: properties(choices, fsync, outrun),
            topics: (0..topics).map(|index| topic(choices, index)).collect(),
            clients: clients(choices),
            groups: None,
            faults: faults(choices),
            skewed_clocks: chance(choices, "skewed-clocks", 50),
            net: net(choices),
            disk: disk(choices, outrun),
            mail_delay: choices.pick(Stream::Swarm, "mail-delay", &[0, US, 20 * US, MS]),
            length: choices.range(Stream::Swarm, "length", 60, 75) * SEC,
        };
        if outrun {
            swarm.length += 20 * SEC;
        }
        swarm.add_groups(choices);
        swarm.add_dirs(choices);
        swarm
    }

    /// Several data directories: replicas move between them, and one of them fails.
    fn add_dirs(&mut self, choices: &mut Choices) {
        if !chance(choices, "several-dirs", 40) {
            return;
        }
        let dirs = choices.pick(Stream::Swarm, "dirs", &["/a,/b", "/a,/b", "/a,/b,/c"]);
        self.properties.extend([pair("log.dirs", dirs)]);
        if chance(choices, "moves", 80) {
            self.faults.push(Fault::Move);
        }
        if chance(choices, "sick-dirs", 60) {
            self.faults.push(Fault::Sick);
        }
    }

    fn add_groups(&mut self, choices: &mut Choices) {
        if !chance(choices, "groups", 50) {
            return;
        }
        let shape = GroupShape {
            count: choices.range(Stream::Swarm, "group-count", 1, 2),
            members: choices.range(Stream::Swarm, "members", 1, 3),
            session_timeout_ms: choices.pick(Stream::Swarm, "session-ms", &[1_000, 3_000, 6_000]),
            partitions: choices.range(Stream::Swarm, "offsets-partitions", 1, 3) as i32,
            segment_bytes: chance(choices, "offsets-topic", 60)
                .then(|| choices.pick(Stream::Swarm, "offsets-bytes", &[6_000, 12_000, 40_000])),
            protocols: choices.pick(Stream::Swarm, "protocols", &Protocols::DRAWN),
            statics: chance(choices, "static-members", 40),
            expiry: chance(choices, "expiring-offsets", 45),
            deleted: chance(choices, "deleted-groups", 40),
        };
        let delay_ms = choices.pick(Stream::Swarm, "initial-delay-ms", &[0, 0, 50, 500]);
        self.properties.extend([
            pair("group.min.session.timeout.ms", shape.session_timeout_ms),
            pair("group.initial.rebalance.delay.ms", delay_ms),
            pair("offsets.topic.num.partitions", shape.partitions),
            pair("group.consumer.min.session.timeout.ms", shape.session_timeout_ms),
            pair("group.consumer.session.timeout.ms", shape.session_timeout_ms),
            pair("group.consumer.min.heartbeat.interval.ms", 100),
            pair("group.consumer.heartbeat.interval.ms", 200),
            pair("group.consumer.assignment.interval.ms", delay_ms),
        ]);
        if shape.expiry {
            self.properties.extend([pair("offsets.retention.minutes", 1)]);
            self.length += 25 * SEC;
        }
        if chance(choices, "frequent-expiry-checks", if shape.expiry { 100 } else { 60 }) {
            let ms = choices.pick(Stream::Swarm, "expiry-check-ms", &[500, 2_000, 10_000]);
            self.properties.extend([pair("offsets.retention.check.interval.ms", ms)]);
        }
        if chance(choices, "small-loads", 50) {
            let bytes = choices.pick(Stream::Swarm, "load-bytes", &[70, 300, 4_000]);
            self.properties.extend([pair("offsets.load.buffer.size", bytes)]);
        }
        self.groups = Some(shape);
    }

    /// The same without any fault.
    #[must_use]
    pub fn calm(self) -> Self {
        let net = NetSpeed { reset: 0, response_lost: 0, half_open: 0, replay: 0, ..self.net };
        Self { faults: Vec::new(), skewed_clocks: false, net, ..self }
    }

    /// Whether the nemesis does that.
    #[must_use]
    pub fn has(&self, fault: Fault) -> bool {
        self.faults.contains(&fault)
    }
}

fn chance(choices: &mut Choices, label: &'static str, percent: u32) -> bool {
    choices.chance(Stream::Swarm, label, percent * 10_000)
}

fn pair(key: &str, value: impl ToString) -> (String, String) {
    (key.to_owned(), value.to_string())
}

fn properties(choices: &mut Choices, fsync: bool, outrun: bool) -> BTreeMap<String, String> {
    let mut properties = BTreeMap::from([
        pair("listeners", "PLAINTEXT://node0:9092"),
        pair("auto.create.topics.enable", false),
        // As often as lives are short.
        pair("dohle.scrub.interval.ms", 1_500),
        pair("dohle.scrub.max.bytes.per.second", 8_000_000),
    ]);
    if fsync {
        properties.extend([pair("log.flush.interval.messages", 1)]);
    } else if chance(choices, "background-flush", 50) {
        let ms = choices.pick(Stream::Swarm, "flush-ms", &[50, 1000, 10_000]);
        properties.extend([pair("log.flush.interval.ms", ms)]);
    }
    if outrun {
        let bytes = choices.pick(Stream::Swarm, "unflushed", &[500, 2000]);
        properties.extend([pair("dohle.unflushed.bytes", bytes)]);
    } else if chance(choices, "few-unflushed", 60) {
        let bytes = choices.pick(Stream::Swarm, "unflushed", &[1000, 10_000, 100_000]);
        properties.extend([pair("dohle.unflushed.bytes", bytes)]);
    }
    if chance(choices, "frequent-checkpoints", 60) {
        let ms = choices.pick(Stream::Swarm, "checkpoint-ms", &[500, 3000, 10_000]);
        properties.extend([pair("log.flush.offset.checkpoint.interval.ms", ms)]);
    }
    properties
}

fn disk(choices: &mut Choices, outrun: bool) -> DiskSpeed {
    let medium = choices.pick(Stream::Swarm, "disk-medium", &[100 * US, MS, 8 * MS]);
    DiskSpeed {
        inline: chance(choices, "disk-inline", 30),
        cached: choices.pick(Stream::Swarm, "disk-cached", &[2 * US, 20 * US, 200 * US]),
        medium,
        sync: match outrun {
            true => choices.pick(Stream::Swarm, "disk-sync", &[40 * MS, 150 * MS]),
            false => medium,
        },
        stalls: 0,
    }
}

fn topic(choices: &mut Choices, index: u64) -> TopicShape {
    let mut configs = BTreeMap::new();
    if chance(choices, "tiny-segments", 75) {
        let bytes = choices.pick(Stream::Swarm, "segment-bytes", &[400, 2_000, 16_000, 100_000]);
        configs.extend([pair("internal.segment.bytes", bytes)]);
    }
    if chance(choices, "small-index", 50) {
        let bytes = choices.pick(Stream::Swarm, "index-bytes", &[16, 64, 1024]);
        configs.extend([pair("segment.index.bytes", bytes)]);
    }
    if chance(choices, "dense-index", 60) {
        let bytes = choices.pick(Stream::Swarm, "index-interval", &[0, 100, 1000]);
        configs.extend([pair("index.interval.bytes", bytes)]);
    }
    if chance(choices, "short-segments", 20) {
        configs.extend([pair("segment.ms", 5_000)]);
    }
    TopicShape {
        name: format!("topic{index}"),
        partitions: choices.range(Stream::Swarm, "partitions", 1, 3) as i32,
        configs,
    }
}

fn clients(choices: &mut Choices) -> Clients {
    Clients {
        idempotent: choices.range(Stream::Swarm, "idempotent", 1, 3),
        plain: choices.range(Stream::Swarm, "plain", 0, 2),
        consumers: choices.range(Stream::Swarm, "consumers", 1, 3),
        admin: chance(choices, "admin", 60),
        pause: choices.pick(Stream::Swarm, "pause", &[80 * MS, 120 * MS, 150 * MS]),
    }
}

fn faults(choices: &mut Choices) -> Vec<Fault> {
    let mut faults = Vec::new();
    for (fault, label, percent) in [
        (Fault::Kill, "kills", 75),
        (Fault::Power, "power-losses", 70),
        (Fault::Stop, "stops", 35),
        (Fault::ClockJump, "clock-jumps", 40),
        (Fault::Clog, "clogs", 50),
        (Fault::Full, "full-disks", 40),
    ] {
        if chance(choices, label, percent) {
            faults.push(fault);
        }
    }
    if !faults.contains(&Fault::Kill) && !faults.contains(&Fault::Power) {
        faults.push(Fault::Kill);
    }
    faults
}

fn net(choices: &mut Choices) -> NetSpeed {
    let mut rate = |label, percent, rates: &[u32]| match chance(choices, label, percent) {
        true => choices.pick(Stream::Swarm, "rate", rates),
        false => 0,
    };
    let reset = rate("resets", 60, &[500, 3_000, 15_000]);
    let response_lost = rate("responses-lost", 60, &[500, 3_000, 15_000]);
    let half_open = rate("half-open", 30, &[200, 1_000]);
    let replay = rate("replays", 50, &[2_000, 20_000, 100_000]);
    let delay = choices.pick(Stream::Swarm, "net-delay", &[50 * US, 500 * US, 5 * MS]);
    NetSpeed { delay, reset, response_lost, half_open, replay }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_third_of_the_seeds_syncs_before_it_acknowledges_and_every_seed_crashes() {
        let swarms: Vec<Swarm> =
            (1..=300).map(|seed| Swarm::single(&mut Choices::new(seed))).collect();
        assert!(swarms.iter().filter(|swarm| swarm.fsync).count() > 100);
        let grouped = swarms.iter().filter(|swarm| swarm.groups.is_some()).count();
        assert!((120..180).contains(&grouped), "groups in {grouped} of 300 seeds");
        assert!(swarms.iter().all(|swarm| swarm.has(Fault::Kill) || swarm.has(Fault::Power)));
        for fault in Fault::ALL {
            let with = swarms.iter().filter(|swarm| swarm.has(fault)).count();
            assert!((30..290).contains(&with), "{} in {with} of 300 seeds", fault.name());
        }
    }
}
