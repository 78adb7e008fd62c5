//! The search for damage ([`crate::scrub`]) in what a shard has: which segment is next, how fast
//! it goes, who hears of it.
//!
//! State: a [`Lane`] for each data directory, which has one operation under way at most. Inputs:
//! ends of operations (`What::Scrub`), ticks. Effects: reads, sums beside the segments, notes.
//!
//! Invariants: what is damaged is told and counted, never changed and served on; nothing is read
//! for a while after a start, nothing once the shard stops; partitions take turns, a segment each.

mod lane;
mod place;

use self::lane::Lane;
use super::*;
use crate::log::names::FileKind;
use crate::scrub::damage::Damage;
use crate::scrub::job::{Report, Target};

/// What the search went through since the start.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub struct Scrubbed {
    /// Segments, each time anew.
    pub segments: u64,
    /// Bytes of them and their side files.
    pub bytes: u64,
    /// Segments that got sums.
    pub sealed: u64,
    /// Damaged ranges.
    pub damages: u64,
    /// Files of sums that were damaged themselves.
    pub bad_sums: u64,
}

/// The search in all data directories.
#[derive(Clone, Debug)]
pub(super) struct Scrubber {
    lanes: Vec<Lane>,
    total: Scrubbed,
    /// Sums could not be written: told once.
    told_unsealed: bool,
}

impl Scrubber {
    pub(super) fn new(config: &BrokerConfig, shards: u16) -> Self {
        let pace = lane::Pace {
            bytes_per_second: config.scrub_max_bytes_per_second.div_ceil(u64::from(shards.max(1))),
            interval_ms: config.scrub_interval_ms,
        };
        let dirs = if pace.bytes_per_second == 0 { 0 } else { config.log_dirs.len() };
        let dirs = u16::try_from(dirs).unwrap_or(u16::MAX);
        let lanes = (0..dirs).map(|dir| Lane::new(dir, pace)).collect();
        Self { lanes, total: Scrubbed::default(), told_unsealed: false }
    }

    pub(super) fn deadline(&self) -> Deadline {
        self.lanes.iter().map(Lane::deadline).fold(None, earlier)
    }
}

impl Shard {
    /// What the search for damage went through since the start.
    #[must_use]
    pub fn scrubbed(&self) -> Scrubbed {
        self.scrubber.total
    }

    /// The logs are open: the search may begin by and by.
    pub(super) fn begin_scrub(&mut self, now: Now) {
        self.scrubber.lanes.iter_mut().for_each(|lane| lane.begin(now));
    }

    pub(super) fn tick_scrub(&mut self, now: Now, fx: &mut Fx<Effect>) {
        for at in 0..self.scrubber.lanes.len() {
            let lane = &mut self.scrubber.lanes[at];
            let ended = lane.tick(now, &self.slots, &mut self.files, fx);
            if let Some(cycle) = ended.filter(|cycle| cycle.segments > 0) {
                self.tell_cycle(at, cycle, fx);
            }
        }
    }

    pub(super) fn on_scrub(&mut self, now: Now, done: IoDone, fx: &mut Fx<Effect>) {
        let at = done.id.generation as usize;
        let Some(lane) = self.scrubber.lanes.get_mut(at) else { return };
        if let Some((target, report)) = lane.on_io(now, done, &self.slots, fx) {
            self.on_report(&target, &report, fx);
        }
    }

    /// Nothing more is read; what is under way ends unheard.
    pub(super) fn stop_scrub(&mut self, fx: &mut Fx<Effect>) {
        self.scrubber.lanes.iter_mut().for_each(|lane| lane.stop(fx));
        self.scrubber.lanes.clear();
    }

    fn on_report(&mut self, target: &Target, report: &Report, fx: &mut Fx<Effect>) {
        let found = report.damages.list().len() as u64 + report.damages.more;
        let one = Scrubbed {
            segments: 1,
            bytes: report.bytes,
            sealed: u64::from(report.sealed),
            damages: found,
            bad_sums: u64::from(report.bad_sums.is_some()),
        };
        self.scrubber.total.add(one);
        if let Some(lane) = self.scrubber.lanes.get_mut(usize::from(target.folder.dir)) {
            lane.count(one);
        }
        for damage in report.damages.list() {
            note(Level::Error, self.damage_text(target, damage), fx);
        }
        if report.damages.more > 0 {
            let (file, more) = (self.file_text(target, FileKind::Log), report.damages.more);
            note(Level::Error, format!("{file}: {more} more ranges are damaged"), fx);
        }
        self.tell_sums(target, report, fx);
    }

    fn tell_sums(&mut self, target: &Target, report: &Report, fx: &mut Fx<Effect>) {
        let file = self.file_text(target, FileKind::Sums);
        if let Some(why) = &report.bad_sums {
            let then = match report.sealed {
                true => "they were made anew from the segment, which is sound",
                false => "they say nothing",
            };
            note(Level::Warn, format!("{file}: the sums are damaged ({why}); {then}"), fx);
        }
        if let Some(error) = &report.unsealed
            && !std::mem::replace(&mut self.scrubber.told_unsealed, true)
        {
            note(Level::Warn, format!("{file}: the sums cannot be written: {error}"), fx);
        }
    }

    /// What an operator has to know of damage.
    fn damage_text(&self, target: &Target, damage: &Damage) -> String {
        let Damage { kind, from, upto, first, next, why } = damage;
        let file = self.file_text(target, *kind);
        let last = upto.saturating_sub(1);
        let what = format!("{file}: bytes {from} to {last} are damaged: {why}");
        if *kind != FileKind::Log {
            return format!(
                "{what}. Records are not concerned: what the file says is checked before it is \
                 used. To have it made anew stop the broker, remove the file and start"
            );
        }
        let last = next.0.saturating_sub(1).max(first.0);
        format!(
            "{what}. It concerns records from offset {first} to {last}. Nothing was changed, and \
             they are served as they are: clients that check checksums refuse them. Restore the \
             file from a copy while the broker is stopped, or delete the records below {next}; \
             `dohle log verify` says more"
        )
    }

    fn file_text(&self, target: &Target, kind: FileKind) -> String {
        let dir = self.config.log_dirs.get(usize::from(target.folder.dir));
        let dir = dir.map_or("", String::as_str);
        format!("{dir}/{}/{}", target.folder.path, target.name(kind))
    }

    fn tell_cycle(&self, dir: usize, cycle: Scrubbed, fx: &mut Fx<Effect>) {
        let dir = self.config.log_dirs.get(dir).map_or("", String::as_str);
        let Scrubbed { segments, bytes, sealed, damages, bad_sums } = cycle;
        let shard = self.id.0;
        let text = format!(
            "{dir}: shard {shard} searched {segments} closed segments ({bytes} bytes) for damage: \
             {damages} damaged ranges, {bad_sums} damaged sums; {sealed} segments got sums"
        );
        note(if damages > 0 { Level::Error } else { Level::Info }, text, fx);
    }
}

impl Scrubbed {
    fn add(&mut self, other: Self) {
        self.segments += other.segments;
        self.bytes += other.bytes;
        self.sealed += other.sealed;
        self.damages += other.damages;
        self.bad_sums += other.bad_sums;
    }
}
