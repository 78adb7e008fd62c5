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
        /// Who it is: the instance that it stands for, or else its id.
        member: String,
        /// The id that it was given.
        id: String,
        /// All members by id, each with the instance that it stands for: told to the leader alone.
        members: Option<BTreeMap<String, Option<String>>>,
    },
    /// A member was given its assignment: its generation is complete.
    Synced {
        /// Which.
        generation: i32,
        /// Who it is, as when it joined.
        member: String,
        /// Its partitions.
        owned: Vec<Key>,
    },
    /// A member whose partitions the coordinator assigns was told what it has now.
    Assigned {
        /// The epoch of the member.
        epoch: i32,
        /// Who it is: the instance that it stands for, or else its id.
        member: String,
        /// Its id.
        id: String,
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
    /// The coordinator said that the process is a member as before.
    Alive,
    /// The process will not do what its group waits for (sync, give partitions up) though it says
    /// that it is there.
    Stalls {
        /// How long the group waits for that, in milliseconds.
        limit_ms: u64,
    },
    /// The process was told to join again. Where generations may begin anew it is not certain to be
    /// a member until it has: one that takes long is out without hearing of it.
    Rejoins,
    /// The process is in the group no more, or cannot know.
    Out,
    /// Offsets of the group may expire from now on while it has no members.
    Expires,
    /// Generations or epochs of the group may begin anew from now on whenever it has no members:
    /// they do when its next members speak the other protocol.
    Restarts,
    /// The group was deleted; nobody comes back to it before somebody joins or commits.
    Deleted,
    /// Whether the coordinator knows of the group.
    Described {
        /// It does.
        exists: bool,
    },
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
    /// Which process was told that it is which member.
    told: BTreeMap<String, u64>,
    /// Since when processes are members without a break.
    within: BTreeMap<u64, Within>,
    /// Members of what the coordinator has forgotten. It may know some of them from long ago, and
    /// what it says to them then does not tell what they have.
    estranged: BTreeSet<u64>,
    /// In which epoch partitions were given to those who have them, as far as it is told.
    terms: BTreeMap<Key, i32>,
    /// The processes that do not do what the group waits for.
    stalls: BTreeMap<u64, Stall>,
    /// Which generation each process joined last, as which member.
    joined: BTreeMap<u64, (i32, String)>,
    /// Those who were told of it before: nobody waits for them to do more than they did then. (A
    /// coordinator that reads a generation back takes all for settled, as Kafka's does.)
    rejoined: BTreeSet<u64>,
    /// Counts what was observed.
    clock: u64,
    /// Its coordinator assigns.
    coordinated: bool,
    expires: bool,
    restarts: bool,
    deleted: bool,
}

/// A process that is a member.
#[derive(Clone, Debug)]
struct Within {
    member: String,
    since: u64,
    /// Its epoch, and in which it was given each of its partitions.
    epoch: i32,
    terms: BTreeMap<Key, i32>,
    /// What is wrong unless the process turns out to be out.
    suspicion: Option<Anomaly>,
}

/// A process that does not do what its group waits for.
#[derive(Copy, Clone, Debug)]
struct Stall {
    /// It should be out by then, in nanoseconds.
    until: u64,
    /// It asked later than that.
    late: bool,
    /// How often it was told all the same that it is a member.
    told: u32,
}

/// How much later than its limits say a group may act, in nanoseconds.
const SLACK: u64 = 1_000_000_000;

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
    at: u64,
    /// The newest generation that was complete.
    generation: i32,
    /// The last offset of each partition that was known to be committed, and since when.
    floors: BTreeMap<Key, (i64, u64)>,
    /// In which epoch each partition had been given away last.
    terms: BTreeMap<Key, i32>,
    /// The commit, if the request is one.
    commit: BTreeMap<Key, i64>,
}

/// Offsets committed for one partition.
#[derive(Clone, Debug, Default)]
struct Commits {
    sent: BTreeMap<i64, Sent>,
    /// The last that is known to be committed.
    floor: Option<i64>,
    /// When somebody asked who was told so.
    known_at: u64,
}

#[derive(Copy, Clone, Debug)]
struct Sent {
    generation: i32,
    /// That is the epoch in which the partition became the sender's.
    term: bool,
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
        (process, time): (u64, u64),
        action: &GroupAction,
        counts: &mut Counts,
        found: &mut Vec<Anomaly>,
    ) {
        self.clock += 1;
        match action {
            GroupAction::Asked => self.on_asked(process, time),
            GroupAction::Stalls { limit_ms } => self.on_stalls(process, time, *limit_ms),
            GroupAction::Joined { generation, member, id, members } => {
                self.deleted = false;
                self.estranged.remove(&process);
                self.on_told(process, *generation, id);
                found.extend(self.on_member(process, id));
                found.extend(members.as_ref().and_then(|members| self.twice(*generation, members)));
                let members = members.as_ref().map(who);
                found.extend(self.on_joined(process, *generation, member, members.as_ref()));
            }
            GroupAction::Synced { generation, member, owned } => {
                found.extend(self.on_alive(process));
                counts.generations += u64::from(!self.generations.contains_key(generation));
                found.extend(self.on_synced(process, *generation, member, owned));
            }
            GroupAction::Assigned { epoch, member, id, owned } => {
                (self.deleted, self.coordinated) = (false, true);
                self.rejoined.remove(&process);
                counts.generations += u64::from(!self.generations.contains_key(epoch));
                found.extend(self.on_member(process, id));
                found.extend(self.on_alive(process));
                found.extend(self.on_assigned(process, *epoch, member, owned));
            }
            GroupAction::Commit { generation, offsets } => {
                self.on_commit(process, *generation, offsets);
            }
            GroupAction::Committed { keys, accepted } => {
                if *accepted {
                    self.deleted = false;
                    counts.commits += keys.len() as u64;
                    found.extend(self.on_alive(process));
                }
                found.extend(keys.iter().filter_map(|key| self.on_end(process, key, *accepted)));
            }
            GroupAction::Fetched(offsets) => {
                counts.commits_fetched +=
                    offsets.iter().filter(|(_, at)| at.is_some()).count() as u64;
                let offsets = offsets.iter();
                found.extend(offsets.filter_map(|(key, at)| self.on_fetched(process, key, *at)));
            }
            GroupAction::Alive => {
                found.extend(self.overstays(process));
                found.extend(self.on_alive(process));
            }
            GroupAction::Rejoins | GroupAction::Out => {
                self.estranged.remove(&process);
                if self.restarts || matches!(action, GroupAction::Out) {
                    self.within.remove(&process);
                    self.stalls.remove(&process);
                }
            }
            GroupAction::Expires => self.expires = true,
            GroupAction::Restarts => self.restarts = true,
            GroupAction::Deleted => {
                self.forget();
                self.deleted = true;
            }
            GroupAction::Described { exists } => {
                let group = self.name.clone();
                found.extend((*exists && self.deleted).then_some(Anomaly::Undeleted { group }));
            }
            GroupAction::Forgotten => self.forget(),
        }
    }

    fn on_told(&mut self, process: u64, generation: i32, member: &str) {
        let told = (generation, member.to_owned());
        match self.joined.get(&process) == Some(&told) {
            true => self.rejoined.insert(process),
            false => self.rejoined.remove(&process),
        };
        self.joined.insert(process, told);
    }

    /// The group waits once for the process, and perhaps once more for it to join again.
    fn on_stalls(&mut self, process: u64, time: u64, limit_ms: u64) {
        if self.rejoined.contains(&process) {
            return;
        }
        let until = time + 2 * limit_ms * 1_000_000 + SLACK;
        self.stalls.insert(process, Stall { until, late: false, told: 0 });
    }

    /// What has a time limit may take longer.
    pub(crate) fn excuse(&mut self) {
        self.stalls.clear();
    }

    /// A process is told that it is a member; a group waits for nobody for ever (G10).
    fn overstays(&mut self, process: u64) -> Option<Anomaly> {
        let stall = self.stalls.get_mut(&process).filter(|stall| stall.late)?;
        stall.told += 1;
        // The first may have been under way when the coordinator came to itself again.
        (stall.told == 2).then(|| Anomaly::Overstays { group: self.name.clone(), process })
    }

    /// A process is told which member it is: nobody else ever was (G7).
    fn on_member(&mut self, process: u64, member: &str) -> Option<Anomaly> {
        self.stalls.remove(&process);
        let first = *self.told.entry(member.to_owned()).or_insert(process);
        let within = self.within.get(&process).filter(|within| within.member == member);
        if within.is_none() {
            let (member, since) = (member.to_owned(), self.clock);
            let within =
                Within { member, since, epoch: 0, terms: BTreeMap::new(), suspicion: None };
            self.within.insert(process, within);
        }
        (first != process).then(|| Anomaly::MemberTwice {
            group: self.name.clone(),
            member: member.to_owned(),
            first,
            second: process,
        })
    }

    /// No two members stand for the same instance (G7).
    fn twice(
        &self,
        generation: i32,
        members: &BTreeMap<String, Option<String>>,
    ) -> Option<Anomaly> {
        let mut seen = BTreeSet::new();
        let instance = members.values().flatten().find(|instance| !seen.insert(*instance))?;
        let (group, instance) = (self.name.clone(), instance.clone());
        Some(Anomaly::InstanceTwice { group, generation, instance })
    }

    /// A process still is the member that it was: what could only be right otherwise is wrong.
    fn on_alive(&mut self, process: u64) -> Option<Anomaly> {
        self.within.get_mut(&process)?.suspicion.take()
    }

    fn newest(&self) -> i32 {
        self.generations.last_key_value().map_or(-1, |(generation, _)| *generation)
    }

    fn on_asked(&mut self, process: u64, time: u64) {
        if let Some(stall) = self.stalls.get_mut(&process) {
            stall.late = time > stall.until;
        }
        let floors = self.keys.iter();
        let floors = floors
            .filter_map(|(key, commits)| Some((key.clone(), (commits.floor?, commits.known_at))));
        let asked = Asked {
            at: self.clock,
            generation: self.newest(),
            floors: floors.collect(),
            terms: self.terms.clone(),
            commit: BTreeMap::new(),
        };
        self.asked.insert(process, asked);
    }

    /// The generation was not older than one that was complete before.
    fn not_back(&mut self, process: u64, generation: i32) -> Option<Anomaly> {
        let known = self.asked.get(&process)?.generation;
        if generation >= known {
            return None;
        }
        if !self.lasts(process) {
            self.begin_again();
            return None;
        }
        Some(Anomaly::GenerationBack { group: self.name.clone(), known, told: generation })
    }

    /// Whether the group is certain to be the one that it was: one without members and offsets
    /// is forgotten, and its generations begin anew when somebody comes.
    fn lasts(&self, process: u64) -> bool {
        let within = self.within.get(&process);
        let member = within.is_some_and(|within| within.since < self.clock);
        let begins = self.expires || self.restarts;
        member || !begins && self.keys.values().any(|commits| commits.floor.is_some())
    }

    /// What was known of generations says nothing of those to come.
    fn begin_again(&mut self) {
        self.generations.clear();
        self.terms.clear();
        self.led.clear();
        self.asked.clear();
    }

    fn on_joined(
        &mut self,
        process: u64,
        generation: i32,
        member: &str,
        members: Option<&BTreeSet<String>>,
    ) -> Option<Anomaly> {
        let complete = self.asked.get(&process)?.generation == generation;
        let known = self.generations.get(&generation).filter(|_| complete);
        let differs = known.is_some_and(|known| known.differs(member, members));
        let stranger = known.is_some_and(|known| !known.synced.contains(member));
        if (differs || stranger) && !self.lasts(process) {
            self.begin_again();
        } else if differs {
            return Some(self.given_twice(generation, member));
        }
        let back = self.not_back(process, generation);
        match members {
            Some(members) => self.led.insert(process, (generation, members.clone())),
            None => self.led.remove(&process),
        };
        back
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

    /// What a member has by the coordinator's word: in no epoch has anybody else had it (G1).
    fn on_assigned(
        &mut self,
        process: u64,
        epoch: i32,
        member: &str,
        owned: &[Key],
    ) -> Option<Anomaly> {
        self.asked.get(&process)?;
        let known = self.within.get(&process).map_or(0, |within| within.epoch);
        if epoch < known {
            let group = self.name.clone();
            return Some(Anomaly::GenerationBack { group, known, told: epoch });
        }
        if self.estranged.contains(&process) {
            return None;
        }
        let owners = self.generations.get(&epoch).map(|generation| &generation.owners);
        let other = |key: &&Key| owners?.get(*key).filter(|owner| *owner != member).cloned();
        let shared = owned.iter().find_map(|key| Some((key.clone(), other(&key)?)));
        match shared {
            Some((key, first)) if self.lasts(process) => {
                let (group, second) = (self.name.clone(), member.to_owned());
                return Some(Anomaly::SharedPartition {
                    group,
                    generation: epoch,
                    key,
                    first,
                    second,
                });
            }
            Some(_) => self.begin_again(),
            // Others of its group would be in earlier epochs, if any.
            None if epoch < self.newest() && !self.lasts(process) => self.begin_again(),
            None => {}
        }
        self.own(process, epoch, member, owned);
        None
    }

    fn own(&mut self, process: u64, epoch: i32, member: &str, owned: &[Key]) {
        let owners = &mut self.generations.entry(epoch).or_default().owners;
        owners.extend(owned.iter().map(|key| (key.clone(), member.to_owned())));
        let Some(within) = self.within.get_mut(&process) else { return };
        within.epoch = epoch;
        let had = std::mem::take(&mut within.terms);
        for key in owned {
            // What somebody else has had since then is given anew.
            let latest = self.terms.get(key).copied().unwrap_or(i32::MIN);
            let term = had.get(key).copied().filter(|term| *term >= latest).unwrap_or(epoch);
            within.terms.insert(key.clone(), term);
            let newest = self.terms.entry(key.clone()).or_insert(term);
            *newest = (*newest).max(term);
        }
    }

    fn on_commit(&mut self, process: u64, generation: i32, offsets: &[(Key, i64)]) {
        let within = self.within.get(&process);
        for (key, offset) in offsets {
            // Members may be in different epochs: what counts is since when the partition is theirs.
            let term = within.and_then(|within| within.terms.get(key)).copied();
            let (term, generation) = match self.coordinated {
                // Of what is not known it cannot be told that it is over.
                true => (true, term.unwrap_or(i32::MAX)),
                false => (false, generation),
            };
            let commits = self.keys.entry(key.clone()).or_default();
            let last = commits.sent.last_key_value().map_or(i64::MIN, |(last, _)| *last);
            assert!(*offset > last, "offsets rise: {offset} of {key} after {last}");
            commits.sent.insert(*offset, Sent { generation, term, fate: Fate::Open });
        }
        if let Some(asked) = self.asked.get_mut(&process) {
            asked.commit = offsets.iter().cloned().collect();
        }
    }

    fn on_end(&mut self, process: u64, key: &Key, accepted: bool) -> Option<Anomaly> {
        let asked = self.asked.get(&process)?;
        let (offset, at) = (*asked.commit.get(key)?, asked.at);
        let (newest, generation) = (asked.terms.get(key).copied(), asked.generation);
        let commits = self.keys.get_mut(key)?;
        let sent = commits.sent.get_mut(&offset)?;
        if !accepted {
            sent.fate = Fate::Refused;
            return None;
        }
        sent.fate = Fate::Past;
        let known = if sent.term { newest.unwrap_or(i32::MIN) } else { generation };
        let generation = sent.generation;
        commits.rise(Some(offset), at);
        (generation < known).then(|| Anomaly::StaleCommit {
            group: self.name.clone(),
            key: key.clone(),
            offset,
            generation,
            known,
        })
    }

    fn on_fetched(&mut self, process: u64, key: &Key, told: Option<i64>) -> Option<Anomaly> {
        let asked = self.asked.get(&process)?;
        let (at, known) = (asked.at, asked.floors.get(key).copied());
        let floor = known.map(|(floor, _)| floor);
        if self.deleted && told.is_some() {
            return Some(Anomaly::Undeleted { group: self.name.clone() });
        }
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
            commits.rise(told, at);
            return None;
        }
        let (committed, known_at) = known.unwrap_or_default();
        let lost = Anomaly::LostCommit { group, key: key.clone(), committed, told };
        if !(self.expires && told.is_none()) {
            return Some(lost);
        }
        // It may have expired, unless the group has had a member ever since it was committed.
        if let Some(within) = self.within.get_mut(&process).filter(|it| it.since < known_at) {
            within.suspicion = Some(lost);
        } else if let Some(commits) = self.keys.get_mut(&key) {
            commits.expire();
        }
        None
    }

    fn forget(&mut self) {
        self.begin_again();
        self.estranged.extend(std::mem::take(&mut self.within).into_keys());
        for commits in self.keys.values_mut() {
            commits.expire();
            let open = commits.sent.values_mut().filter(|sent| sent.fate == Fate::Open);
            open.for_each(|sent| sent.fate = Fate::Past);
        }
    }
}

impl Generation {
    /// Whether it was complete with other members than those that one of them now tells of.
    fn differs(&self, member: &str, members: Option<&BTreeSet<String>>) -> bool {
        self.members.as_ref().is_some_and(|fixed| match members {
            Some(members) => members != fixed,
            None => !fixed.contains(member),
        })
    }
}

/// What members of a generation are called.
fn who(members: &BTreeMap<String, Option<String>>) -> BTreeSet<String> {
    let who = members.iter().map(|(id, instance)| instance.as_ref().unwrap_or(id));
    who.cloned().collect()
}

impl Commits {
    /// At least that was committed when somebody asked.
    fn rise(&mut self, offset: Option<i64>, asked_at: u64) {
        if self.floor < offset {
            (self.floor, self.known_at) = (offset, asked_at);
        } else if self.floor == offset {
            self.known_at = self.known_at.max(asked_at);
        }
    }

    /// Perhaps nothing is committed any more.
    fn expire(&mut self) {
        self.floor = None;
    }
}

#[cfg(test)]
mod tests;
