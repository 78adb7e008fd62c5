//! Finds anomalies in a history, as it happens.
//!
//! Per key the checker keeps what is known of the log (from acknowledgements and polls), what
//! became of each send, and how far each process has read. Most anomalies show at once; what
//! needs the whole history ([`Checker::finish`]) is a small check over what was kept.

use std::collections::{BTreeMap, BTreeSet};

use crate::groups::{Group, GroupAction};
use crate::op::{Action, End, Key, Op, Polled};

/// Something that no broker may do.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Anomaly {
    /// An acknowledged record was not read by anyone, though somebody read past it.
    #[error("lost-write: {key} value {value} was acknowledged at offset {offset}, nobody saw it")]
    LostWrite {
        /// The partition.
        key: Key,
        /// The record.
        value: u64,
        /// Where it was acknowledged.
        offset: i64,
    },
    /// An acknowledged record was never read, and nobody read past it either.
    #[error("unseen: {key} value {value} was acknowledged at offset {offset}, reads end before")]
    Unseen {
        /// The partition.
        key: Key,
        /// The record.
        value: u64,
        /// Where it was acknowledged.
        offset: i64,
    },
    /// A record of an idempotent producer is in the log twice.
    #[error("duplicate: {key} value {value} at offsets {first} and {second}")]
    Duplicate {
        /// The partition.
        key: Key,
        /// The record.
        value: u64,
        /// Where it was first seen.
        first: i64,
        /// Where it was seen too.
        second: i64,
    },
    /// One offset held different records.
    #[error("inconsistent-offsets: {key} offset {offset} holds {first} and {second}")]
    InconsistentOffsets {
        /// The partition.
        key: Key,
        /// The offset.
        offset: i64,
        /// What was seen there first.
        first: u64,
        /// What was seen there too.
        second: u64,
    },
    /// A process read past a record without being given it.
    #[error("poll-skip: process {process} went from {key} offset {from} to {to}, past {skipped}")]
    PollSkip {
        /// The reader.
        process: u64,
        /// The partition.
        key: Key,
        /// What it had read.
        from: i64,
        /// What it read next.
        to: i64,
        /// The first offset in between that holds a record.
        skipped: i64,
    },
    /// A process read a record again, or one before it.
    #[error("nonmonotonic-poll: process {process} went from {key} offset {from} back to {to}")]
    NonmonotonicPoll {
        /// The reader.
        process: u64,
        /// The partition.
        key: Key,
        /// What it had read.
        from: i64,
        /// What it read next.
        to: i64,
    },
    /// Records of an idempotent producer are in the log in another order than sent.
    #[error("nonmonotonic-send: process {process} sent {earlier} before {later} to {key}")]
    NonmonotonicSend {
        /// The producer.
        process: u64,
        /// The partition.
        key: Key,
        /// Sent first, in the log after the other.
        earlier: u64,
        /// Sent second.
        later: u64,
    },
    /// A record was read that its producer was told had not been written.
    #[error("refused-read: {key} value {value} was refused and is at offset {offset}")]
    RefusedRead {
        /// The partition.
        key: Key,
        /// The record.
        value: u64,
        /// Where it was read.
        offset: i64,
    },
    /// A record was read that nobody ever sent there.
    #[error("phantom: {key} offset {offset} holds {value}, which nobody sent there")]
    Phantom {
        /// The partition.
        key: Key,
        /// The record.
        value: u64,
        /// Where it was read.
        offset: i64,
    },
    /// A group was told an offset from before one whose commit was acknowledged.
    #[error("lost-commit: {group} committed {committed} of {key}, was told {told:?}")]
    LostCommit {
        /// The group.
        group: String,
        /// The partition.
        key: Key,
        /// The last offset that was known to be committed.
        committed: i64,
        /// What the coordinator said afterwards.
        told: Option<i64>,
    },
    /// A group was told an offset that nobody committed, or whose commit was refused.
    #[error("phantom-commit: {group} was told {offset} of {key}, which nobody committed")]
    PhantomCommit {
        /// The group.
        group: String,
        /// The partition.
        key: Key,
        /// What the coordinator said.
        offset: i64,
    },
    /// A commit of a generation was accepted after a later one was complete.
    #[error(
        "stale-commit: {group} accepted {offset} of {key} from generation {generation}, after {known}"
    )]
    StaleCommit {
        /// The group.
        group: String,
        /// The partition.
        key: Key,
        /// What was committed.
        offset: i64,
        /// By a member of this generation.
        generation: i32,
        /// The generation that was complete.
        known: i32,
    },
    /// The generation of a group went back.
    #[error("generation-back: {group} went from generation {known} to {told}")]
    GenerationBack {
        /// The group.
        group: String,
        /// The generation that was complete.
        known: i32,
        /// What a member was told afterwards.
        told: i32,
    },
    /// A generation was complete with some members and then had others.
    #[error(
        "generation-twice: {group} had generation {generation} without {member}, or with others"
    )]
    GenerationTwice {
        /// The group.
        group: String,
        /// The generation.
        generation: i32,
        /// Who was told of other members.
        member: String,
    },
    /// Two processes were told that they are the same member.
    #[error("member-twice: {first} and {second} are told that they are {member} of {group}")]
    MemberTwice {
        /// The group.
        group: String,
        /// The member's id.
        member: String,
        /// Who was told first.
        first: u64,
        /// Who was told too.
        second: u64,
    },
    /// Two members of a generation stand for the same instance.
    #[error("instance-twice: two members stand for {instance} in {generation} of {group}")]
    InstanceTwice {
        /// The group.
        group: String,
        /// The generation.
        generation: i32,
        /// The instance.
        instance: String,
    },
    /// A group waits for a member for longer than it may.
    #[error("overstays: process {process} still is in {group}, which waits for it in vain")]
    Overstays {
        /// The group.
        group: String,
        /// The process that is the member.
        process: u64,
    },
    /// A group that was deleted is there, and nobody made it anew.
    #[error("undeleted: {group} was deleted and is back")]
    Undeleted {
        /// The group.
        group: String,
    },
    /// Two members own a partition in the same generation.
    #[error("shared-partition: {key} is owned by {first} and {second} in {generation} of {group}")]
    SharedPartition {
        /// The group.
        group: String,
        /// The generation.
        generation: i32,
        /// The partition.
        key: Key,
        /// Who was given it first.
        first: String,
        /// Who was given it too.
        second: String,
    },
}

/// How much was checked.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Records handed to producers.
    pub sends: u64,
    /// Records acknowledged with an offset.
    pub acknowledged: u64,
    /// Records returned by consumers.
    pub polled: u64,
    /// Acknowledged records that were allowed to be lost.
    pub forgotten: u64,
    /// Offsets of groups whose commit was acknowledged.
    pub commits: u64,
    /// Committed offsets that were fetched.
    pub commits_fetched: u64,
    /// Generations of groups that were complete.
    pub generations: u64,
}

/// The outcome of a whole history.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// What should not have happened.
    pub anomalies: Vec<Anomaly>,
    /// How much was checked.
    pub counts: Counts,
}

/// Takes a history in and finds its anomalies.
#[derive(Clone, Debug, Default)]
pub struct Checker {
    keys: BTreeMap<Key, Partition>,
    groups: BTreeMap<String, Group>,
    hindered: bool,
    report: Report,
    sends: u64,
}

/// What became of a send so far.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
enum Fate {
    Open,
    Acknowledged(i64),
    Refused,
    Other,
}

#[derive(Copy, Clone, Debug)]
struct Sending {
    process: u64,
    order: u64,
    idempotent: bool,
    fate: Fate,
}

/// A jump over offsets in what a process read.
#[derive(Copy, Clone, Debug)]
struct Gap {
    process: u64,
    from: i64,
    to: i64,
}

/// What is known of one key.
#[derive(Clone, Debug, Default)]
struct Partition {
    sends: BTreeMap<u64, Sending>,
    log: BTreeMap<i64, u64>,
    places: BTreeMap<u64, i64>,
    read: BTreeSet<u64>,
    positions: BTreeMap<u64, i64>,
    gaps: Vec<Gap>,
    stale: BTreeSet<(i64, u64)>,
    /// Who read at which offset what was lost from there: it may be there again, as before.
    doubtful: BTreeSet<(u64, i64, u64)>,
    start: i64,
}

impl Checker {
    /// A checker that has seen nothing.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes in what happened next.
    pub fn observe(&mut self, op: &Op) {
        match &op.action {
            Action::Send { key, value, idempotent } => {
                self.on_send(op.process, key, *value, *idempotent);
            }
            Action::Sent { key, value, end } => self.on_sent(key, *value, *end),
            Action::Poll(records) => records.iter().for_each(|r| self.on_poll(op.process, r)),
            Action::Assign(keys) => {
                for key in keys {
                    self.partition(key).positions.remove(&op.process);
                }
            }
            Action::Forgotten { key, from } => {
                let lost = self.partition(key).forget(*from);
                self.report.counts.forgotten += lost;
            }
            Action::Deleted { key, before } => {
                let partition = self.partition(key);
                partition.start = partition.start.max(*before);
            }
            Action::Hindered(hindered) => {
                self.hindered = *hindered;
                self.groups.values_mut().for_each(Group::excuse);
            }
            Action::Group { action: GroupAction::Stalls { .. }, .. } if self.hindered => {}
            Action::Group { group: name, action } => {
                if !self.groups.contains_key(name) {
                    self.groups.insert(name.clone(), Group::new(name));
                }
                let group = self.groups.get_mut(name).expect("just inserted");
                let Report { anomalies, counts } = &mut self.report;
                group.observe((op.process, op.time), action, counts, anomalies);
            }
        }
    }

    /// What was found so far; [`Self::finish`] may find more.
    #[must_use]
    pub fn anomalies(&self) -> &[Anomaly] {
        &self.report.anomalies
    }

    /// How much was checked so far.
    #[must_use]
    pub fn counts(&self) -> Counts {
        self.report.counts
    }

    /// The history is over, and every partition was read to its end.
    #[must_use]
    pub fn finish(mut self) -> Report {
        for (key, partition) in &self.keys {
            let found = &mut self.report.anomalies;
            partition.find_unread(key, found);
            partition.find_skips(key, found);
            partition.find_disorder(key, found);
        }
        self.report
    }

    fn partition(&mut self, key: &Key) -> &mut Partition {
        if !self.keys.contains_key(key) {
            self.keys.insert(key.clone(), Partition::default());
        }
        self.keys.get_mut(key).expect("just inserted")
    }

    fn on_send(&mut self, process: u64, key: &Key, value: u64, idempotent: bool) {
        self.sends += 1;
        self.report.counts.sends += 1;
        let sending = Sending { process, order: self.sends, idempotent, fate: Fate::Open };
        let before = self.partition(key).sends.insert(value, sending);
        assert!(before.is_none(), "values are unique: {value} sent twice to {key}");
    }

    fn on_sent(&mut self, key: &Key, value: u64, end: End) {
        let partition = self.partition(key);
        let fate = match end {
            End::Acknowledged(offset) => Fate::Acknowledged(offset),
            End::Refused => Fate::Refused,
            End::Unasked | End::Unknown => Fate::Other,
        };
        if let Some(sending) = partition.sends.get_mut(&value) {
            sending.fate = fate;
        }
        match end {
            End::Acknowledged(offset) => {
                partition.stale.remove(&(offset, value));
                self.report.counts.acknowledged += 1;
                self.place(key, offset, value);
            }
            End::Refused => {
                if let Some(offset) = partition.places.get(&value).copied() {
                    let key = key.clone();
                    self.report.anomalies.push(Anomaly::RefusedRead { key, value, offset });
                }
            }
            End::Unasked | End::Unknown => {}
        }
    }

    fn on_poll(&mut self, process: u64, polled: &Polled) {
        let Polled { key, offset, value } = polled;
        self.report.counts.polled += 1;
        let partition = self.partition(key);
        if partition.stale.contains(&(*offset, *value)) {
            partition.doubtful.insert((process, *offset, *value));
            return;
        }
        partition.read.insert(*value);
        let before = partition.positions.insert(process, *offset);
        let fate = partition.sends.get(value).map(|sending| sending.fate);
        if let Some(from) = before {
            let (key, to) = (key.clone(), *offset);
            if to <= from {
                self.report.anomalies.push(Anomaly::NonmonotonicPoll { process, key, from, to });
            } else if to > from + 1 {
                partition.gaps.push(Gap { process, from, to });
            }
        }
        let (key, value, offset) = (key.clone(), *value, *offset);
        self.place(&key, offset, value);
        match fate {
            None => self.report.anomalies.push(Anomaly::Phantom { key, value, offset }),
            Some(Fate::Refused) => {
                self.report.anomalies.push(Anomaly::RefusedRead { key, value, offset });
            }
            Some(Fate::Open | Fate::Acknowledged(_) | Fate::Other) => {}
        }
    }

    /// Takes note that `value` lies at `offset`.
    fn place(&mut self, key: &Key, offset: i64, value: u64) {
        let partition = self.partition(key);
        let idempotent = partition.sends.get(&value).is_some_and(|sending| sending.idempotent);
        let there = *partition.log.entry(offset).or_insert(value);
        let first = *partition.places.entry(value).or_insert(offset);
        if there != value {
            self.report.anomalies.push(Anomaly::InconsistentOffsets {
                key: key.clone(),
                offset,
                first: there,
                second: value,
            });
        } else if first != offset && idempotent {
            let (key, second) = (key.clone(), offset);
            self.report.anomalies.push(Anomaly::Duplicate { key, value, first, second });
        }
    }
}

impl Partition {
    /// Drops everything known at or past `from`. Returns how many acknowledged records that was.
    fn forget(&mut self, from: i64) -> u64 {
        let gone = self.log.split_off(&from);
        self.places.retain(|_, offset| *offset < from);
        for (offset, value) in gone {
            self.read.remove(&value);
            self.stale.insert((offset, value));
        }
        self.positions.retain(|_, offset| *offset < from);
        self.gaps.retain(|gap| gap.to < from);
        let mut lost = 0;
        for sending in self.sends.values_mut() {
            if matches!(sending.fate, Fate::Acknowledged(offset) if offset >= from) {
                sending.fate = Fate::Other;
                lost += 1;
            }
        }
        lost
    }

    fn find_unread(&self, key: &Key, found: &mut Vec<Anomaly>) {
        let end = self.read.iter().filter_map(|value| self.places.get(value)).max();
        for (value, sending) in &self.sends {
            let Fate::Acknowledged(offset) = sending.fate else { continue };
            if offset < self.start || self.read.contains(value) {
                continue;
            }
            let (key, value) = (key.clone(), *value);
            found.push(match end.is_some_and(|end| *end > offset) {
                true => Anomaly::LostWrite { key, value, offset },
                false => Anomaly::Unseen { key, value, offset },
            });
        }
    }

    fn find_skips(&self, key: &Key, found: &mut Vec<Anomaly>) {
        for Gap { process, from, to } in self.gaps.iter().copied() {
            let visible = self.start.max(from + 1);
            if visible >= to {
                continue;
            }
            let unseen =
                |(at, value): &(&i64, &u64)| !self.doubtful.contains(&(process, **at, **value));
            if let Some((&skipped, _)) = self.log.range(visible..to).find(unseen) {
                let key = key.clone();
                found.push(Anomaly::PollSkip { process, key, from, to, skipped });
            }
        }
    }

    fn find_disorder(&self, key: &Key, found: &mut Vec<Anomaly>) {
        let mut sent: Vec<(u64, &Sending, u64)> = self
            .sends
            .iter()
            .filter(|(_, sending)| sending.idempotent)
            .map(|(value, sending)| (sending.order, sending, *value))
            .collect();
        sent.sort_unstable_by_key(|(order, _, _)| *order);
        let mut last: BTreeMap<u64, (i64, u64)> = BTreeMap::new();
        for (_, sending, value) in sent {
            let Some(offset) = self.places.get(&value).copied() else { continue };
            let before = last.insert(sending.process, (offset, value));
            if let Some((earlier_offset, earlier)) = before
                && earlier_offset > offset
            {
                let (key, process) = (key.clone(), sending.process);
                found.push(Anomaly::NonmonotonicSend { process, key, earlier, later: value });
            }
        }
    }
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
