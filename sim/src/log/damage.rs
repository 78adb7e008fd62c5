//! What becomes of a log whose disk is wrong without a word.
//!
//! State: which flaws are still to strike, whether a read of this life went wrong. Where something
//! may be refused or cut because of damage, only that is let through:
//! * an opening, a truncation or a look-up may be refused, while anything is wrong. Then the
//!   operator puts right what is, and everything that was promised has to be there: a refusal
//!   changes nothing;
//! * an opening may cut the log at a batch that is damaged, if it says so, and never below the
//!   recovery point that it was given; and it must cut it there if it looked at the batch and a
//!   checksum covers what is wrong with it;
//! * a reader may get a batch whose checksum is wrong, and stops there.
//!
//! What no checksum covers (where a batch lies, and that it is there at all) may fool an opening.
//! That is counted, put right, and the log opened anew.
//!
//! Must never know: how the log finds out.

use dohle_core::log::Log;
use dohle_core::log::names::{
    FileKind, LEADER_EPOCHS, LOG_START, PARTITION_METADATA, TRUNCATED_TO,
};
use dohle_core::log::txn;
use dohle_wire::id::Offset;
use dohle_wire::record::split_batches;

use super::{LogSwarm, LogWorld, folder};
use crate::choice::{Choices, Stream};
use crate::disk::{Crash, Flaw, Scar, frames};
use crate::oracle::Violation;

/// A flaw is armed, or rots a byte, when so many acts have passed.
pub(super) type Planned = (u64, Flaw, u64);

/// Which flaws strike when.
pub(super) fn plan(choices: &mut Choices, swarm: &LogSwarm) -> Vec<Planned> {
    let mut plan = Vec::new();
    for flaw in &swarm.flaws {
        let count = choices.range(Stream::Faults, "flaws", 3, 7);
        for index in 0..count {
            let within = choices.below(Stream::Faults, "flaw-when", swarm.acts / count);
            let salt = choices.below(Stream::Faults, "flaw-salt", 1 << 48);
            plan.push((index * swarm.acts / count + within, *flaw, salt));
        }
    }
    plan.sort_by_key(|(at, ..)| *at);
    plan
}

/// Damage of a log's records.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) struct Wound {
    /// Base offset of the batch.
    pub(super) base: i64,
    /// A checksum covers all of it.
    pub(super) covered: bool,
}

/// What an opening was told.
#[derive(Copy, Clone, Debug, Default)]
pub(super) struct Told {
    pub(super) recovery_point: i64,
    pub(super) clean: bool,
}

impl LogWorld {
    /// Lets flaws strike that are due.
    pub(super) fn strike_flaws(&mut self) {
        // What is never synced never goes wrong on its way.
        if self.disk.waits_for_a_sync() && self.acts.is_multiple_of(50) {
            self.flush();
        }
        let due = |(at, ..): &Planned| *at <= self.acts;
        let Some((at, flaw, salt)) = self.flaws.pop_front_if(|planned| due(planned)) else {
            return;
        };
        let struck = match flaw {
            Flaw::Rot => self.rot(salt),
            _ => self.disk.arm(flaw, salt),
        };
        if !struck {
            let later = self.flaws.partition_point(|(other, ..)| *other <= self.acts + 10);
            self.flaws
                .insert(later, (at + 10, flaw, salt.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 8));
        }
    }

    /// One bit in one of the log's files decays.
    fn rot(&mut self, salt: u64) -> bool {
        let names = self.disk.tree().names(&folder(), true);
        let what = [
            Some(FileKind::Log),
            Some(FileKind::Log),
            Some(FileKind::Log),
            Some(FileKind::Index),
            Some(FileKind::TimeIndex),
            Some(FileKind::TxnIndex),
            Some(FileKind::Snapshot),
            Some(FileKind::Sums),
            None,
        ][(salt % 9) as usize];
        let small = [LEADER_EPOCHS, LOG_START, TRUNCATED_TO, PARTITION_METADATA];
        let fits = |name: &&String| match what {
            Some(kind) => FileKind::parse(name).is_some_and(|(found, _)| found == kind),
            None => small.contains(&name.as_str()),
        };
        let fitting: Vec<&String> = names.iter().filter(fits).collect();
        let salt = salt / 9;
        // The newest more often than not: that is what an opening looks at.
        let newest = matches!(what, Some(FileKind::Log | FileKind::Snapshot)) && salt % 16 < 11;
        let any = (salt % fitting.len().max(1) as u64) as usize;
        let at = if newest { fitting.len().saturating_sub(1) } else { any };
        let Some(name) = fitting.get(at) else { return false };
        let path = folder().join(name);
        let content = self.disk.tree().durable_content(&path).unwrap_or_default();
        let whole = self.disk.tree().content(&path).is_some_and(|live| live.starts_with(content));
        // A folder of another topic is set aside, unless it is known to be this one's.
        let nameless = name.as_str() == PARTITION_METADATA && self.saved_point <= 0;
        if content.is_empty() || !whole || nameless || !self.disk.tree().scars(&path).is_empty() {
            return false;
        }
        let at = salt.rotate_left(17) % content.len() as u64;
        // Nothing covers the leader epoch of a batch, nor its place but the order of offsets.
        if what == Some(FileKind::Log) {
            let inside = frames(content)
                .into_iter()
                .find(|(from, len)| (*from as u64..(*from + *len) as u64).contains(&at));
            if inside.is_none_or(|(from, _)| at < from as u64 + 16) {
                return false;
            }
        }
        let mut rotten = content.to_vec();
        let mask = 1 << (salt % 8);
        rotten[at as usize] ^= mask;
        self.unsure_aborted |= what == Some(FileKind::TxnIndex) && is_plausible(name, &rotten);
        self.disk.rot(&path, at, mask);
        true
    }

    /// What is wrong with the records, from the first one on.
    pub(super) fn wounds(&self) -> Vec<Wound> {
        let tree = self.disk.tree();
        let mut wounds = Vec::new();
        for name in tree.names(&folder(), false) {
            let Some((FileKind::Log, base)) = FileKind::parse(&name) else { continue };
            let path = folder().join(&name);
            let scars = tree.scars(&path);
            if scars.is_empty() {
                continue;
            }
            let sound = tree.sound_content(&path, false).unwrap_or_default();
            wounds.extend(scars.iter().map(|scar| wound(scar, &sound, base)));
        }
        wounds.sort_by_key(|wound| wound.base);
        wounds
    }

    /// Whether anything is wrong with the log's files, or was with what was read of them.
    pub(super) fn is_harmed(&self) -> bool {
        let tree = self.disk.tree();
        let names = tree.names(&folder(), false);
        let scarred = |name: &String| !tree.scars(&folder().join(name)).is_empty();
        self.misread || names.iter().any(scarred)
    }

    /// Whether what was recovered may be wrong, since nothing covers what is.
    pub(super) fn may_be_fooled(&self) -> bool {
        let told = self.told;
        let wounds = self.wounds();
        wounds.iter().any(|w| !w.covered) || (told.clean && (self.misread || !wounds.is_empty()))
    }

    /// Something was refused. Anything wrong is a reason, and is put right.
    pub(super) fn refuse(&mut self, why: &str) -> Result<(), Violation> {
        self.kernel.note(|| "nemesis".to_owned(), || format!("refused for damage: {why}"));
        self.tally.refused += 1;
        self.heal();
        self.end(Crash::Kill, false)
    }

    /// The operator puts everything right.
    pub(super) fn heal(&mut self) {
        self.misread = false;
        self.disk.heal_scars(&folder());
    }

    /// The log was opened, and what it has is wrong, although nothing could tell.
    pub(super) fn fooled(&mut self, end: i64, why: &Violation) -> Result<(), Violation> {
        self.kernel.note(|| "nemesis".to_owned(), || format!("fooled: {why}"));
        self.tally.fooled += 1;
        let first = self.wounds().first().map_or(i64::MAX, |wound| wound.base);
        self.heal();
        let floor = self.expects.floor.min(first).min(end.max(self.told.recovery_point));
        self.end(Crash::Kill, false)?;
        self.expects.floor = self.expects.floor.min(floor);
        self.expects.damaged = true;
        Ok(())
    }

    /// Whether an opening may have ended the log there, and has where it must. True if it is for
    /// damage that something promised is gone.
    pub(super) fn weigh(&mut self, log: &Log, note: Option<&String>) -> Result<bool, Violation> {
        let (start, end, told) = (log.log_start().0, log.end().0, self.told);
        let wounds = self.before.clone();
        let l7 = |text: String| Err(Violation::new("L7", text));
        let looked = |wound: &&Wound| {
            wound.covered && wound.base >= told.recovery_point.max(start) && !told.clean
        };
        let left = self.wounds();
        let kept = |wound: &&Wound| wound.base < end && left.contains(wound);
        if let Some(wound) = wounds.iter().filter(looked).find(kept) {
            return l7(format!(
                "the batch at {} is damaged, and the log ends at {end}",
                wound.base
            ));
        }
        let lost = end < self.expects.floor;
        // Where batches go on behind damage is not known, though it may be in what is deleted.
        let all = wounds.iter().chain(&self.earlier).map(|wound| wound.base.max(start));
        let Some(first) = all.min() else { return Ok(false) };
        if !lost || end < self.model.end_before(first) {
            return Ok(false);
        }
        if end < told.recovery_point {
            return l7(format!("cut at {end}, and durable up to {}", told.recovery_point));
        }
        if note.is_none() && !wounds.is_empty() {
            return l7(format!("cut at {end} for damage, and nobody is told"));
        }
        self.tally.damage_cut += 1;
        Ok(true)
    }

    /// The recovery point that an opening goes by. Checkpoints from before a truncation are not
    /// believed any further than it says.
    pub(super) fn told(&self, recovery_point: i64, clean: bool) -> Told {
        let bound = self.disk.tree().sound_content(&folder().join(TRUNCATED_TO), false);
        let bound = bound.and_then(|text| {
            let text = String::from_utf8(text).ok()?;
            text.lines().next()?.parse::<i64>().ok()
        });
        let bound = bound.filter(|_| !clean).unwrap_or(i64::MAX);
        Told { recovery_point: recovery_point.min(bound), clean }
    }
}

/// The batch that a scar is in.
fn wound(scar: &Scar, sound: &[u8], segment: Offset) -> Wound {
    let inside = frames(sound)
        .into_iter()
        .find(|(from, len)| (*from as u64..(*from + *len) as u64).contains(&scar.at));
    let batch = inside.and_then(|(from, len)| {
        let bytes = sound.get(from..from + len)?;
        split_batches(bytes.to_vec().into()).next()?.ok()
    });
    let base = batch.map_or(segment, |batch| batch.header.base_offset);
    let covered = inside.is_some_and(|(from, len)| {
        let range = from as u64 + 16..(from + len) as u64;
        range.contains(&scar.at) && scar.at + scar.sound.len() as u64 <= range.end
    });
    let covered = covered && matches!(scar.flaw, Flaw::Rot | Flaw::CorruptWrite);
    Wound { base: base.0, covered }
}

/// Whether a file of aborted transactions may be right: no checksum covers it.
fn is_plausible(name: &str, file: &[u8]) -> bool {
    let base = FileKind::parse(name).map_or(Offset(0), |(_, base)| base);
    txn::parse(file, base, Offset(i64::MAX)).is_some()
}
