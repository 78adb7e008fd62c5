//! Finds anomalies in what the members of consumer groups were told.
//!
//! Offsets that are committed for a partition of a group are unique in the history and rise in
//! the order in which they are sent. A commit whose fate is unknown may take effect late, and
//! thereby replace a later one, but only within its own generation.
//!
//! Messages of different members pass one another on their way. That is why an answer is held
//! against what was known when its request was sent ([`GroupAction::Asked`]), not against what
//! others were told meanwhile.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::checker::{Anomaly, Counts};
use crate::op::Key;

/// What a member of a group did, or what happened to the group.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum GroupAction {
    /// A request is sent; at most one of a process at a time.
    Asked,
    /// A member was let into a generation.
    Joined {
        /// Which.
        generation: i32,
        /// The member's id.
        member: String,
        /// All members, which only the leader is told.
        members: Option<BTreeSet<String>>,
    },
    /// A member was given its assignment: its generation is complete.
    Synced {
        /// Which.
        generation: i32,
        /// The member's id.
        member: String,
        /// Its partitions.
        owned: Vec<Key>,
    },
    /// Offsets are sent to be committed.
    Commit {
        /// By a member of this generation.
        generation: i32,
        /// Where to.
        offsets: Vec<(Key, i64)>,
    },
    /// What became of the last commit of the process; nothing is said when nobody knows.
    Committed {
        /// The partitions.
        keys: Vec<Key>,
        /// Whether it was accepted; if not, it is certain that it never will be.
        accepted: bool,
    },
    /// Committed offsets as the coordinator tells them; none where nothing is committed.
    Fetched(Vec<(Key, Option<i64>)>),
    /// Any end of what the coordinator remembered may be gone: the promise that covered it does
    /// not hold for what happened.
    Forgotten,
}

/// What is known of one group.
#[derive(Clone, Debug, Default)]
pub(crate) struct Group {
    name: String,
    generations: BTreeMap<i32, Generation>,
    /// What leaders were told of their generations, by process.
    led: BTreeMap<u64, (i32, BTreeSet<String>)>,
    keys: BTreeMap<Key, Commits>,
    asked: BTreeMap<u64, Asked>,
}

/// A generation that was complete.
#[derive(Clone, Debug, Default)]
struct Generation {
    members: Option<BTreeSet<String>>,
    synced: BTreeSet<String>,
    owners: BTreeMap<Key, String>,
}

/// What was known when a request was sent.
#[derive(Clone, Debug, Default)]
struct Asked {
    /// The newest generation that was complete.
    generation: i32,
    floors: BTreeMap<Key, i64>,
    /// The commit, if the request is one.
    commit: BTreeMap<Key, i64>,
}

/// Offsets committed for one partition.
#[derive(Clone, Debug, Default)]
struct Commits {
    sent: BTreeMap<i64, Sent>,
    /// The last that is known to be committed.
    floor: Option<i64>,
}

#[derive(Copy, Clone, Debug)]
struct Sent {
    generation: i32,
    fate: Fate,
}

#[derive(Copy, Clone, Debug, PartialEq, Eq)]
enum Fate {
    /// It may take effect now or later.
    Open,
    /// It takes no effect any more, whatever it did before.
    Past,
    Refused,
}

impl Group {
    pub(crate) fn new(name: &str) -> Self {
        Self { name: name.to_owned(), ..Self::default() }
    }

    /// Takes in what happened next.
    pub(crate) fn observe(
        &mut self,
        process: u64,
        action: &GroupAction,
        counts: &mut Counts,
        found: &mut Vec<Anomaly>,
    ) {
        match action {
            GroupAction::Asked => self.on_asked(process),
            GroupAction::Joined { generation, member, members } => {
                found.extend(self.on_joined(process, *generation, member, members.as_ref()));
            }
            GroupAction::Synced { generation, member, owned } => {
                counts.generations += u64::from(!self.generations.contains_key(generation));
                found.extend(self.on_synced(process, *generation, member, owned));
            }
            GroupAction::Commit { generation, offsets } => {
                self.on_commit(process, *generation, offsets);
            }
            GroupAction::Committed { keys, accepted } => {
                counts.commits += if *accepted { keys.len() as u64 } else { 0 };
                found.extend(keys.iter().filter_map(|key| self.on_end(process, key, *accepted)));
            }
            GroupAction::Fetched(offsets) => {
                counts.commits_fetched +=
                    offsets.iter().filter(|(_, at)| at.is_some()).count() as u64;
                let offsets = offsets.iter();
                found.extend(offsets.filter_map(|(key, at)| self.on_fetched(process, key, *at)));
            }
            GroupAction::Forgotten => self.forget(),
        }
    }

    fn newest(&self) -> i32 {
        self.generations.last_key_value().map_or(-1, |(generation, _)| *generation)
    }

    fn on_asked(&mut self, process: u64) {
        let floors = self.keys.iter();
        let floors = floors.filter_map(|(key, commits)| Some((key.clone(), commits.floor?)));
        let asked =
            Asked { generation: self.newest(), floors: floors.collect(), commit: BTreeMap::new() };
        self.asked.insert(process, asked);
    }

    /// The generation was not older than one that was complete before.
    fn not_back(&self, process: u64, generation: i32) -> Option<Anomaly> {
        let known = self.asked.get(&process)?.generation;
        (generation < known).then(|| Anomaly::GenerationBack {
            group: self.name.clone(),
            known,
            told: generation,
        })
    }

    fn on_joined(
        &mut self,
        process: u64,
        generation: i32,
        member: &str,
        members: Option<&BTreeSet<String>>,
    ) -> Option<Anomaly> {
        let complete = self.asked.get(&process)?.generation == generation;
        match members {
            Some(members) => self.led.insert(process, (generation, members.clone())),
            None => self.led.remove(&process),
        };
        let fixed = self.generations.get(&generation).filter(|_| complete);
        let fixed = fixed.and_then(|generation| generation.members.as_ref());
        let differs = |fixed: &BTreeSet<String>| match members {
            Some(members) => members != fixed,
            None => !fixed.contains(member),
        };
        match fixed.is_some_and(differs) {
            true => Some(self.given_twice(generation, member)),
            false => self.not_back(process, generation),
        }
    }

    fn given_twice(&self, generation: i32, member: &str) -> Anomaly {
        let (group, member) = (self.name.clone(), member.to_owned());
        Anomaly::GenerationTwice { group, generation, member }
    }

    fn on_synced(
        &mut self,
        process: u64,
        generation: i32,
        member: &str,
        owned: &[Key],
    ) -> Option<Anomaly> {
        // An answer from before everything was forgotten says nothing.
        self.asked.get(&process)?;
        let led = self.led.get(&process).filter(|(led, _)| *led == generation);
        let led = led.map(|(_, members)| members.clone());
        let complete = self.generations.entry(generation).or_default();
        complete.synced.insert(member.to_owned());
        let differs = matches!((&led, &complete.members), (Some(a), Some(b)) if a != b);
        complete.members = complete.members.take().or(led);
        let strange = |members: &BTreeSet<String>| !complete.synced.is_subset(members);
        if differs || complete.members.as_ref().is_some_and(strange) {
            return Some(self.given_twice(generation, member));
        }
        for key in owned {
            let owner = complete.owners.entry(key.clone()).or_insert_with(|| member.to_owned());
            if owner != member {
                return Some(Anomaly::SharedPartition {
                    group: self.name.clone(),
                    generation,
                    key: key.clone(),
                    first: owner.clone(),
                    second: member.to_owned(),
                });
            }
        }
        self.not_back(process, generation)
    }

    fn on_commit(&mut self, process: u64, generation: i32, offsets: &[(Key, i64)]) {
        for (key, offset) in offsets {
            let commits = self.keys.entry(key.clone()).or_default();
            let last = commits.sent.last_key_value().map_or(i64::MIN, |(last, _)| *last);
            assert!(*offset > last, "offsets rise: {offset} of {key} after {last}");
            commits.sent.insert(*offset, Sent { generation, fate: Fate::Open });
        }
        if let Some(asked) = self.asked.get_mut(&process) {
            asked.commit = offsets.iter().cloned().collect();
        }
    }

    fn on_end(&mut self, process: u64, key: &Key, accepted: bool) -> Option<Anomaly> {
        let asked = self.asked.get(&process)?;
        let (offset, known) = (*asked.commit.get(key)?, asked.generation);
        let commits = self.keys.get_mut(key)?;
        let sent = commits.sent.get_mut(&offset)?;
        if !accepted {
            sent.fate = Fate::Refused;
            return None;
        }
        sent.fate = Fate::Past;
        let generation = sent.generation;
        commits.floor = commits.floor.max(Some(offset));
        (generation < known).then(|| Anomaly::StaleCommit {
            group: self.name.clone(),
            key: key.clone(),
            offset,
            generation,
            known,
        })
    }

    fn on_fetched(&mut self, process: u64, key: &Key, told: Option<i64>) -> Option<Anomaly> {
        let floor = self.asked.get(&process)?.floors.get(key).copied();
        let commits = self.keys.entry(key.clone()).or_default();
        let sent = told.and_then(|told| commits.sent.get(&told)).copied();
        let (group, key) = (self.name.clone(), key.clone());
        if let Some(offset) = told
            && sent.is_none_or(|sent| sent.fate == Fate::Refused)
        {
            return Some(Anomaly::PhantomCommit { group, key, offset });
        }
        let floor_sent = floor.and_then(|floor| commits.sent.get(&floor));
        let late = match (sent, floor_sent) {
            (Some(sent), Some(floor)) => {
                sent.fate == Fate::Open && sent.generation == floor.generation
            }
            _ => false,
        };
        if told >= floor || late {
            // Who was told a committed offset will not be told an earlier one.
            commits.floor = commits.floor.max(told);
            return None;
        }
        let committed = floor.unwrap_or_default();
        Some(Anomaly::LostCommit { group, key, committed, told })
    }

    fn forget(&mut self) {
        self.generations.clear();
        self.led.clear();
        self.asked.clear();
        for commits in self.keys.values_mut() {
            commits.floor = None;
            let open = commits.sent.values_mut().filter(|sent| sent.fate == Fate::Open);
            open.for_each(|sent| sent.fate = Fate::Past);
        }
    }
}

#[cfg(test)]
mod tests;
