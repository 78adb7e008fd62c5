//! How facts change a consumer group, when they are decided and when they are read back.

use std::collections::BTreeSet;
use std::sync::Arc;

use dohle_wire::id::Timestamp;

use super::*;
use crate::group::record::Current;

impl ConsumerGroup {
    /// Takes in a fact. A later one on the same subject replaces it.
    pub(in crate::group) fn apply(&mut self, fact: Fact) {
        match fact {
            Fact::Epoch(value) => self.epoch = value.unwrap_or(EpochValue { epoch: 0, hash: 0 }),
            Fact::Member(id, Some(about)) => self.members.set_about(&id, about),
            Fact::Member(id, None) => self.forget(&id),
            Fact::TargetEpoch(value) => {
                (self.target_epoch, self.target_made) = value.unwrap_or((0, Timestamp(0)));
            }
            Fact::Target(id, Some(parts)) => drop(self.targets.insert(id, parts)),
            Fact::Target(id, None) => drop(self.targets.remove(&id)),
            Fact::Current(id, Some(current)) => self.move_member(&id, current),
            Fact::Current(id, None) => self.move_back(&id),
            Fact::Pattern(pattern, Some(value)) => drop(self.patterns.insert(pattern, value)),
            Fact::Pattern(pattern, None) => drop(self.patterns.remove(&pattern)),
        }
    }

    fn forget(&mut self, id: &MemberId) {
        self.move_back(id);
        self.members.take(id);
        self.soft.clocks.remove(id);
    }

    /// A member that is known owns nothing any more.
    fn move_back(&mut self, id: &MemberId) {
        if self.members.get(id).is_some() {
            self.move_member(id, Current::default());
        }
    }

    fn move_member(&mut self, id: &MemberId, current: Current) {
        let parts = |current: &Current| -> BTreeSet<Part> {
            current.assigned.keys().chain(current.revoking.keys()).copied().collect()
        };
        let owned = parts(&current);
        let was = self.members.set_current(id, current);
        for part in parts(&was).difference(&owned) {
            if self.owners.get(part) == Some(id) {
                self.owners.remove(part);
            }
        }
        for part in owned {
            match self.owners.get(&part) {
                Some(owner) if owner == id => {}
                Some(owner) => self.take_away(&Arc::clone(owner), part, id),
                None => drop(self.owners.insert(part, Arc::clone(id))),
            }
        }
    }

    /// What is read back has two owners for a partition: the later one has it.
    fn take_away(&mut self, from: &MemberId, part: Part, to: &MemberId) {
        self.owners.insert(part, Arc::clone(to));
        let Some(member) = self.members.get(from) else { return };
        let mut current = member.current.clone();
        current.assigned.remove(&part);
        current.revoking.remove(&part);
        self.members.set_current(from, current);
    }

    /// All that there is to remember of the group, in the order in which Kafka writes it.
    pub(in crate::group) fn facts(&self) -> Vec<Fact> {
        let mut facts = Vec::new();
        let members = || self.members.iter();
        facts.extend(members().map(|(id, m)| Fact::Member(Arc::clone(id), Some(m.about.clone()))));
        let patterns = self.patterns.iter();
        facts.extend(patterns.map(|(name, v)| Fact::Pattern(Arc::clone(name), Some(v.clone()))));
        facts.push(Fact::Epoch(Some(self.epoch)));
        let targets = self.targets.iter();
        facts.extend(targets.map(|(id, parts)| Fact::Target(Arc::clone(id), Some(parts.clone()))));
        facts.push(Fact::TargetEpoch(Some((self.target_epoch, self.target_made))));
        facts.extend(
            members().map(|(id, m)| Fact::Current(Arc::clone(id), Some(m.current.clone()))),
        );
        facts
    }

    /// The records that nothing of the group holds any longer, in the order in which Kafka writes
    /// them.
    pub(in crate::group) fn end(&self) -> Vec<Record> {
        let ids = || self.members.iter().map(|(id, _)| Arc::clone(id));
        let mut facts = Vec::new();
        facts.extend(ids().map(|id| Fact::Current(id, None)));
        facts.extend(self.targets.keys().map(|id| Fact::Target(Arc::clone(id), None)));
        facts.push(Fact::TargetEpoch(None));
        facts.extend(ids().map(|id| Fact::Member(id, None)));
        facts.extend(self.patterns.keys().map(|name| Fact::Pattern(Arc::clone(name), None)));
        facts.push(Fact::Epoch(None));
        let group = &self.name;
        facts.into_iter().map(|fact| Record::Consumer { group: Arc::clone(group), fact }).collect()
    }
}
