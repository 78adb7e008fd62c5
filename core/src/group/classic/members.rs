//! The members of a group, by id and by instance, and what they can do together.
//!
//! Invariants: an instance stands for at most one member, which names it (G7); a protocol counts
//! once for each member that can do it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use bytes::Bytes;
use dohle_wire::error::ErrorCode;

use crate::group::record::{ClassicPart, MemberValue};
use crate::group::request::{Join, JoinedMember, MemberId};
use crate::mail::ReplyTo;
use crate::time::Instant;

/// Protocols by name, best first, each with what the member says about it.
pub(super) type Protocols = Vec<(Arc<str>, Bytes)>;

/// A member of a classic group.
#[derive(Clone, Debug)]
pub struct Member {
    instance: Option<Arc<str>>,
    protocols: Protocols,
    client_id: Arc<str>,
    client_host: Arc<str>,
    pub(super) rebalance_timeout_ms: i32,
    pub(super) session_timeout_ms: i32,
    pub(super) assignment: Bytes,
    /// Without a sign of life until then, it is out.
    pub(super) expires: Instant,
    /// Whether it has not been told yet that it is a member.
    pub(super) new: bool,
    /// Its join, while it waits for the others.
    pub(super) joining: Option<ReplyTo>,
    /// Its sync, while it waits for the leader.
    pub(super) syncing: Option<ReplyTo>,
}

impl Member {
    /// A member that waits in a join.
    pub(super) fn joining(reply: ReplyTo, join: &Join, expires: Instant) -> Self {
        Self {
            instance: join.instance.clone(),
            protocols: distinct(&join.protocols),
            client_id: Arc::clone(&join.client_id),
            client_host: Arc::clone(&join.client_host),
            rebalance_timeout_ms: join.rebalance_timeout_ms,
            session_timeout_ms: join.session_timeout_ms,
            assignment: Bytes::new(),
            expires,
            new: true,
            joining: Some(reply),
            syncing: None,
        }
    }

    /// A member that is remembered.
    pub(super) fn remembered(value: MemberValue, protocol: &Arc<str>) -> Self {
        Self {
            instance: value.instance,
            protocols: vec![(Arc::clone(protocol), value.subscription)],
            client_id: value.client_id,
            client_host: value.client_host,
            rebalance_timeout_ms: value.rebalance_timeout_ms,
            session_timeout_ms: value.session_timeout_ms,
            assignment: value.assignment,
            expires: Instant::default(),
            new: false,
            joining: None,
            syncing: None,
        }
    }

    /// The member as it shall be remembered in a generation of `protocol`.
    pub(super) fn value(&self, id: &MemberId, protocol: &str) -> MemberValue {
        MemberValue {
            member: Arc::clone(id),
            instance: self.instance.clone(),
            client_id: Arc::clone(&self.client_id),
            client_host: Arc::clone(&self.client_host),
            rebalance_timeout_ms: self.rebalance_timeout_ms,
            session_timeout_ms: self.session_timeout_ms,
            subscription: self.metadata(protocol),
            assignment: self.assignment.clone(),
        }
    }

    /// The instance that it stands for, of a static member.
    #[must_use]
    pub fn instance(&self) -> Option<&Arc<str>> {
        self.instance.as_ref()
    }

    /// What its client calls itself.
    #[must_use]
    pub fn client_id(&self) -> &Arc<str> {
        &self.client_id
    }

    /// Its client's address.
    #[must_use]
    pub fn client_host(&self) -> &Arc<str> {
        &self.client_host
    }

    /// What its leader gave it last.
    #[must_use]
    pub fn assignment(&self) -> &Bytes {
        &self.assignment
    }

    /// Milliseconds that it may take to join again.
    pub(in crate::group) fn rebalance_timeout_ms(&self) -> i32 {
        self.rebalance_timeout_ms
    }

    /// What a consumer group knows of it besides.
    pub(in crate::group) fn part(&self) -> ClassicPart {
        let session_timeout_ms = self.session_timeout_ms;
        ClassicPart { session_timeout_ms, protocols: self.protocols.clone() }
    }

    /// What it says about a protocol.
    #[must_use]
    pub fn metadata(&self, protocol: &str) -> Bytes {
        let said = self.protocols.iter().find(|(name, _)| &**name == protocol);
        said.map(|(_, metadata)| metadata.clone()).unwrap_or_default()
    }

    /// Whether it has said the very same before.
    pub(super) fn matches(&self, protocols: &[(Arc<str>, Bytes)]) -> bool {
        self.protocols == distinct(protocols)
    }

    /// The member in the place of another one, with its assignment.
    pub(super) fn in_place_of(self, was: &Self) -> Self {
        Self { assignment: was.assignment.clone(), new: false, ..self }
    }

    /// Whether it waits for an answer: its client cannot send heartbeats meanwhile.
    pub(super) fn waits(&self) -> bool {
        self.joining.is_some() || self.syncing.is_some()
    }
}

/// The first of each name.
fn distinct(protocols: &[(Arc<str>, Bytes)]) -> Protocols {
    let mut seen = BTreeSet::new();
    protocols.iter().filter(|(name, _)| seen.insert(Arc::clone(name))).cloned().collect()
}

/// All members of a group.
#[derive(Clone, Debug, Default)]
pub(super) struct Members {
    by_id: BTreeMap<MemberId, Member>,
    by_instance: BTreeMap<Arc<str>, MemberId>,
    /// How many members can do each protocol.
    able: BTreeMap<Arc<str>, usize>,
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

    pub(super) fn get_mut(&mut self, id: &str) -> Option<&mut Member> {
        self.by_id.get_mut(id)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (&MemberId, &Member)> {
        self.by_id.iter()
    }

    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = (&MemberId, &mut Member)> {
        self.by_id.iter_mut()
    }

    /// Who stands for an instance.
    pub(super) fn of_instance(&self, instance: &str) -> Option<&MemberId> {
        self.by_instance.get(instance)
    }

    /// Whether a member with this id is in, and is the one that stands for the instance it names.
    ///
    /// # Errors
    /// UNKNOWN_MEMBER_ID, or FENCED_INSTANCE_ID when another member stands for the instance.
    pub(super) fn check(&self, id: &str, instance: Option<&str>) -> Result<(), ErrorCode> {
        if let Some(instance) = instance {
            let stands = self.of_instance(instance).ok_or(ErrorCode::UnknownMemberId)?;
            if &**stands != id {
                return Err(ErrorCode::FencedInstanceId);
            }
        }
        self.by_id.contains_key(id).then_some(()).ok_or(ErrorCode::UnknownMemberId)
    }

    /// Takes a member in. Whoever had its id or stood for its instance is out.
    pub(super) fn insert(&mut self, id: MemberId, member: Member) {
        self.remove(&id);
        if let Some(instance) = &member.instance {
            if let Some(old) = self.by_instance.get(instance).cloned() {
                self.remove(&old);
            }
            self.by_instance.insert(Arc::clone(instance), Arc::clone(&id));
        }
        for (name, _) in &member.protocols {
            *self.able.entry(Arc::clone(name)).or_default() += 1;
        }
        self.by_id.insert(id, member);
    }

    /// Nobody stands for an instance any more (a planted bug: whoever did stays in).
    pub(super) fn forget_instance(&mut self, instance: &str) {
        self.by_instance.remove(instance);
    }

    pub(super) fn remove(&mut self, id: &str) -> Option<Member> {
        let member = self.by_id.remove(id)?;
        if let Some(instance) = &member.instance {
            self.by_instance.remove(instance);
        }
        for (name, _) in &member.protocols {
            if let Some(count) = self.able.get_mut(name) {
                *count -= 1;
                if *count == 0 {
                    self.able.remove(name);
                }
            }
        }
        Some(member)
    }

    /// A member joins again, perhaps with other protocols. Gives the join of it that still
    /// waited.
    pub(super) fn rejoin(&mut self, reply: ReplyTo, join: &Join) -> Option<ReplyTo> {
        let was = self.remove(&join.member)?;
        let member = Member {
            protocols: distinct(&join.protocols),
            rebalance_timeout_ms: join.rebalance_timeout_ms,
            session_timeout_ms: join.session_timeout_ms,
            joining: Some(reply),
            ..was
        };
        self.insert(Arc::clone(&join.member), member);
        was.joining
    }

    /// Whether everyone can do a protocol.
    pub(super) fn agree_on(&self, protocol: &str) -> bool {
        self.able.get(protocol).copied().unwrap_or(0) == self.len()
    }

    /// The protocol that most members like best among those that all can do; none without members.
    pub(super) fn choose_protocol(&self) -> Option<Arc<str>> {
        let mut votes: BTreeMap<&Arc<str>, usize> = BTreeMap::new();
        for member in self.by_id.values() {
            let mut names = member.protocols.iter().map(|(name, _)| name);
            if let Some(choice) = names.find(|name| self.agree_on(name)) {
                *votes.entry(choice).or_default() += 1;
            }
        }
        // The last of the greatest wins: the other way round, so that a tie goes by name.
        let winner = votes.into_iter().rev().max_by_key(|(_, votes)| *votes);
        winner.map(|(name, _)| Arc::clone(name))
    }

    /// The longest time that one of them may take to join again.
    pub(super) fn rebalance_timeout_ms(&self) -> i64 {
        let longest = self.by_id.values().map(|member| member.rebalance_timeout_ms).max();
        i64::from(longest.unwrap_or(0))
    }

    /// Who does not wait in a join.
    pub(super) fn absent(&self) -> Vec<MemberId> {
        let absent = self.by_id.iter().filter(|(_, member)| member.joining.is_none());
        absent.map(|(id, _)| Arc::clone(id)).collect()
    }

    pub(super) fn all_wait_in_join(&self) -> bool {
        self.by_id.values().all(|member| member.joining.is_some())
    }

    /// All of them, as a leader sees them.
    pub(super) fn listed(&self, protocol: &str) -> Vec<JoinedMember> {
        let listed = self.by_id.iter().map(|(id, member)| JoinedMember {
            member: Arc::clone(id),
            instance: member.instance.clone(),
            metadata: member.metadata(protocol),
        });
        listed.collect()
    }

    pub(super) fn invariants(&self) {
        let (members, instances) = (self.by_id.len(), self.by_instance.len());
        assert!(instances <= members, "G7: {instances} instances of {members} members");
    }

    /// As [`Self::invariants`], but looks at every member.
    #[cfg(test)]
    pub(super) fn audit(&self) {
        let statics = self.by_id.values().filter(|member| member.instance.is_some()).count();
        assert_eq!(statics, self.by_instance.len(), "G7: each instance stands for one member");
        for (instance, id) in &self.by_instance {
            assert_eq!(self.by_id[id].instance.as_ref(), Some(instance), "G7: who stands for it");
        }
        let named: usize = self.by_id.values().map(|member| member.protocols.len()).sum();
        assert_eq!(named, self.able.values().sum::<usize>(), "each protocol of each member counts");
        let common = self.able.keys().any(|name| self.agree_on(name));
        assert!(common || self.is_empty(), "members without a protocol that all can do");
    }
}
