//! The members of a consumer group, by id and by instance, and what they read all together.
//!
//! Invariants: an instance stands for at most one member, which names it (G7); a topic or pattern
//! counts once for each member that reads it.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::group::record::{AboutMember, Current, MemberState};
use crate::group::request::MemberId;
use crate::mail::Refusal;
use dohle_wire::error::ErrorCode;

/// A member of a consumer group.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Member {
    /// What it said.
    pub about: AboutMember,
    /// Where it is.
    pub current: Current,
}

impl Member {
    /// Whether it follows the target assignment of an epoch in full.
    #[must_use]
    pub fn is_reconciled_to(&self, epoch: i32) -> bool {
        self.current.state == MemberState::Stable && self.current.epoch == epoch
    }

    fn owned(&self) -> usize {
        self.current.assigned.len() + self.current.revoking.len()
    }
}

/// How many members do something.
type Counts = BTreeMap<Arc<str>, usize>;

/// All members of a group.
#[derive(Clone, Debug, Default)]
pub(super) struct Members {
    by_id: BTreeMap<MemberId, Member>,
    by_instance: BTreeMap<Arc<str>, MemberId>,
    topics: Counts,
    patterns: Counts,
    protocols: Counts,
    classic: usize,
    owned: usize,
}

impl Members {
    pub(super) fn len(&self) -> usize {
        self.by_id.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.by_id.is_empty()
    }

    pub(super) fn get(&self, id: &str) -> Option<&Member> {
        self.by_id.get(id)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (&MemberId, &Member)> {
        self.by_id.iter()
    }

    /// Who stands for an instance.
    pub(super) fn of_instance(&self, instance: &str) -> Option<&MemberId> {
        self.by_instance.get(instance)
    }

    /// The topics that members name.
    pub(super) fn topics(&self) -> impl Iterator<Item = &Arc<str>> {
        self.topics.keys()
    }

    /// Whether a member names a topic.
    pub(super) fn names(&self, topic: &str) -> bool {
        self.topics.contains_key(topic)
    }

    /// The patterns that members have.
    pub(super) fn patterns(&self) -> Vec<Arc<str>> {
        self.patterns.keys().cloned().collect()
    }

    /// Whether a member has a pattern.
    pub(super) fn has_pattern(&self, pattern: &str) -> bool {
        self.patterns.contains_key(pattern)
    }

    /// How many use the classic protocol.
    pub(super) fn classic(&self) -> usize {
        self.classic
    }

    /// Whether all who use the classic protocol can do it in this way.
    pub(super) fn agree_on(&self, protocol: &str) -> bool {
        self.protocols.get(protocol).copied().unwrap_or(0) == self.classic
    }

    /// How many partitions they own.
    pub(super) fn owned(&self) -> usize {
        self.owned
    }

    /// The member of an id, which stands for the instance that it names.
    ///
    /// # Errors
    /// UNKNOWN_MEMBER_ID, or FENCED_INSTANCE_ID when another member stands for the instance.
    pub(super) fn find(&self, id: &str, instance: Option<&str>) -> Result<&Member, Refusal> {
        if let Some(instance) = instance {
            let stands = self.of_instance(instance).ok_or(ErrorCode::UnknownMemberId)?;
            if &**stands != id {
                let text = format!("Another member stands for the instance {instance:?}.");
                return Err(Refusal::new(ErrorCode::FencedInstanceId, text));
            }
        }
        self.get(id).ok_or_else(|| ErrorCode::UnknownMemberId.into())
    }

    /// A member said something. It may be new.
    pub(super) fn set_about(&mut self, id: &MemberId, about: AboutMember) {
        let was = self.take(id).unwrap_or_default();
        self.put(id, Member { about, current: was.current });
    }

    /// A member is somewhere else. Where compaction has swapped records, it is not known yet what it
    /// said. Gives where it was.
    pub(super) fn set_current(&mut self, id: &MemberId, current: Current) -> Current {
        let was = self.take(id).unwrap_or_default();
        self.put(id, Member { about: was.about, current });
        was.current
    }

    fn put(&mut self, id: &MemberId, member: Member) {
        let about = &member.about;
        if let Some(instance) = &about.instance {
            self.by_instance.insert(Arc::clone(instance), Arc::clone(id));
        }
        about.topics.iter().for_each(|topic| count(&mut self.topics, topic));
        about.pattern.iter().for_each(|pattern| count(&mut self.patterns, pattern));
        if let Some(classic) = &about.classic {
            self.classic += 1;
            classic.protocols.iter().for_each(|(name, _)| count(&mut self.protocols, name));
        }
        self.owned += member.owned();
        self.by_id.insert(Arc::clone(id), member);
    }

    /// Takes a member out.
    pub(super) fn take(&mut self, id: &str) -> Option<Member> {
        let member = self.by_id.remove(id)?;
        let about = &member.about;
        if let Some(instance) = &about.instance
            && self.by_instance.get(instance).is_some_and(|stands| &**stands == id)
        {
            self.by_instance.remove(instance);
        }
        about.topics.iter().for_each(|topic| discount(&mut self.topics, topic));
        about.pattern.iter().for_each(|pattern| discount(&mut self.patterns, pattern));
        if let Some(classic) = &about.classic {
            self.classic -= 1;
            classic.protocols.iter().for_each(|(name, _)| discount(&mut self.protocols, name));
        }
        self.owned -= member.owned();
        Some(member)
    }

    pub(super) fn invariants(&self) {
        let (members, instances) = (self.by_id.len(), self.by_instance.len());
        assert!(instances <= members, "G7: {instances} instances of {members} members");
        assert!(self.classic <= members, "{} of {members} members are classic", self.classic);
    }

    /// As [`Self::invariants`], but looks at every member.
    #[cfg(test)]
    pub(super) fn audit(&self) {
        let statics = self.by_id.values().filter(|member| member.about.instance.is_some()).count();
        assert_eq!(statics, self.by_instance.len(), "G7: each instance stands for one member");
        for (instance, id) in &self.by_instance {
            assert_eq!(self.by_id[id].about.instance.as_ref(), Some(instance), "G7: who it is");
        }
        let named: usize = self.by_id.values().map(|member| member.about.topics.len()).sum();
        assert_eq!(named, self.topics.values().sum::<usize>(), "each topic of each member counts");
    }
}

fn count(counts: &mut Counts, what: &Arc<str>) {
    *counts.entry(Arc::clone(what)).or_default() += 1;
}

fn discount(counts: &mut Counts, what: &str) {
    if let Some(count) = counts.get_mut(what) {
        *count -= 1;
        if *count == 0 {
            counts.remove(what);
        }
    }
}
