//! The configuration of a run of scenario `log`, drawn from its seed.

use dohle_core::config::topic::TopicConfig;
use dohle_core::log::LogSettings;
use dohle_core::mutant::Mutants;
use serde::{Deserialize, Serialize};

use crate::choice::{Choices, Stream};
use crate::clock::{MS, US};
use crate::disk::{DiskSpeed, Flaw};
use crate::fault::Fault;

/// How often the workload does what, relative to appends.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mix {
    /// Reads and look-ups by offset, time and epoch.
    pub reads: u64,
    /// Explicit flushes.
    pub flushes: u64,
    /// Checkpoints.
    pub checkpoints: u64,
    /// Changes of the leader epoch, and of who leads.
    pub epochs: u64,
    /// Truncations.
    pub cuts: u64,
    /// Truncations that empty the log.
    pub empties: u64,
    /// Moves of the log start.
    pub starts: u64,
    /// Closed segments that are searched for damage.
    pub searches: u64,
}

/// One run's configuration.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogSwarm {
    /// Acknowledgements wait for a sync; nothing acknowledged may be lost with power.
    pub fsync: bool,
    /// `segment.bytes`.
    pub segment_bytes: u64,
    /// `segment.index.bytes`.
    pub index_bytes: usize,
    /// `index.interval.bytes`.
    pub index_interval: u64,
    /// `segment.ms`, if it is short.
    pub segment_ms: Option<i64>,
    /// `flush.ms`, if there is one.
    pub flush_ms: Option<i64>,
    /// Idempotent producers.
    pub producers: i64,
    /// Transactional producers.
    pub transactional: i64,
    /// The leader that is followed has compacted its log.
    pub gaps: bool,
    /// What the workload does.
    pub mix: Mix,
    /// How many things the workload does.
    pub acts: u64,
    /// A typical pause between two of them, in nanoseconds.
    pub pause: u64,
    /// How the process ends.
    pub faults: Vec<Fault>,
    /// Operations of the disk that fail.
    pub failing_disk: bool,
    /// Apache Kafka has the log now and then, and does not finish its compaction.
    pub compactions: bool,
    /// How the disk is wrong without a word.
    pub flaws: Vec<Flaw>,
    /// The disk.
    pub disk: DiskSpeed,
}

impl LogSwarm {
    /// Draws one.
    pub fn draw(choices: &mut Choices) -> Self {
        let fsync = chance(choices, "fsync", 40);
        Self {
            fsync,
            segment_bytes: pick(choices, "segment-bytes", &[400, 800, 2_000, 8_000, 40_000]),
            index_bytes: pick(choices, "index-bytes", &[48, 64, 128, 1_024, 10_240]) as usize,
            index_interval: pick(choices, "index-interval", &[0, 100, 500, 4_096]),
            segment_ms: chance(choices, "short-segments", 20).then_some(40),
            flush_ms: (!fsync && chance(choices, "background-flush", 40)).then_some(5),
            producers: choices.range(Stream::Swarm, "producers", 0, 4) as i64,
            transactional: choices.range(Stream::Swarm, "transactional", 0, 3) as i64,
            gaps: chance(choices, "gaps", 30),
            mix: mix(choices),
            acts: choices.range(Stream::Swarm, "acts", 1_500, 2_500),
            pause: pick(choices, "pause", &[10 * US, 60 * US, 300 * US]),
            faults: faults(choices),
            failing_disk: chance(choices, "failing-disk", 45),
            compactions: chance(choices, "compactions", 25),
            flaws: flaws(choices),
            disk: disk(choices),
        }
    }

    /// What the log is told.
    #[must_use]
    pub fn settings(&self, mutants: Mutants) -> LogSettings {
        LogSettings {
            segment_bytes: self.segment_bytes,
            segment_ms: self.segment_ms.unwrap_or(i64::MAX),
            index_bytes: self.index_bytes,
            index_interval: self.index_interval,
            gaps: self.gaps,
            flush_messages: if self.fsync { 1 } else { i64::MAX },
            flush_ms: self.flush_ms.unwrap_or(i64::MAX),
            preallocate: self.index_interval == 0,
            ..LogSettings::from_topic(&TopicConfig::default(), mutants)
        }
    }
}

fn chance(choices: &mut Choices, label: &'static str, percent: u32) -> bool {
    choices.chance(Stream::Swarm, label, percent * 10_000)
}

fn pick(choices: &mut Choices, label: &'static str, items: &[u64]) -> u64 {
    choices.pick(Stream::Swarm, label, items)
}

fn disk(choices: &mut Choices) -> DiskSpeed {
    let inline = chance(choices, "disk-inline", 25);
    let cached = pick(choices, "disk-cached", &[2 * US, 20 * US, 100 * US]);
    let medium = pick(choices, "disk-medium", &[50 * US, 300 * US, 2 * MS]);
    let stalls = pick(choices, "disk-stalls", &[0, 2_000, 20_000]) as u32;
    DiskSpeed { inline, cached, medium, sync: medium, stalls }
}

fn mix(choices: &mut Choices) -> Mix {
    Mix {
        reads: pick(choices, "reads", &[15, 30, 60]),
        flushes: pick(choices, "flushes", &[0, 3, 10]),
        checkpoints: pick(choices, "checkpoints", &[3, 6, 15]),
        epochs: pick(choices, "epochs", &[2, 4, 8]),
        cuts: pick(choices, "cuts", &[0, 2, 4, 8]),
        empties: pick(choices, "empties", &[0, 0, 2]),
        starts: pick(choices, "starts", &[0, 2, 4]),
        searches: pick(choices, "searches", &[0, 3, 10]),
    }
}

/// Half of the disks are right.
fn flaws(choices: &mut Choices) -> Vec<Flaw> {
    if !chance(choices, "flawed-disk", 50) {
        return Vec::new();
    }
    Flaw::ALL.into_iter().filter(|flaw| chance(choices, flaw.name(), 35)).collect()
}

fn faults(choices: &mut Choices) -> Vec<Fault> {
    let mut faults = Vec::new();
    for (fault, label, percent) in
        [(Fault::Kill, "kills", 70), (Fault::Power, "power-losses", 75), (Fault::Stop, "stops", 60)]
    {
        if chance(choices, label, percent) {
            faults.push(fault);
        }
    }
    if !faults.contains(&Fault::Kill) && !faults.contains(&Fault::Power) {
        faults.push(Fault::Power);
    }
    faults
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_third_of_the_seeds_syncs_before_it_acknowledges_and_every_seed_crashes() {
        let swarms: Vec<LogSwarm> =
            (1..=300).map(|seed| LogSwarm::draw(&mut Choices::new(seed))).collect();
        assert!(swarms.iter().filter(|swarm| swarm.fsync).count() > 100);
        assert!(swarms.iter().filter(|swarm| swarm.mix.cuts > 0).count() > 150);
        let crashes = [Fault::Kill, Fault::Power];
        assert!(swarms.iter().all(|s| s.faults.iter().any(|fault| crashes.contains(fault))));
    }
}
