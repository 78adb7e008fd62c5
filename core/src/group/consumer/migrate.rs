//! Groups that change their protocol while they work (KIP-848's online migration): a classic group
//! becomes a consumer group when the first member comes that speaks its protocol, and a consumer
//! group a classic one when the last such member is gone.

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;
use dohle_wire::consumer_protocol::{
    PROTOCOL_TYPE, decode_assignment, decode_subscription, encode_assignment,
};
use dohle_wire::error::ErrorCode;
use dohle_wire::id::PartitionIndex;
use dohle_wire::message::ConsumerProtocolAssignment;
use dohle_wire::message::consumer_protocol_assignment::TopicPartition;

use super::*;
use crate::group::classic::{self, ClassicGroup, ClassicState};
use crate::group::record::{
    AboutMember, ClassicPart, Current, GroupValue, MemberState, MemberValue, Owned,
};
use crate::group::{Group, Kind};
use crate::mail::Refusal;

/// Which groups may change their protocol (`group.consumer.migration.policy`).
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Migration {
    /// Classic ones.
    pub upgrades: bool,
    /// Consumer groups.
    pub downgrades: bool,
}

impl Migration {
    /// The policy of a name, in any case.
    #[must_use]
    pub fn named(name: &str) -> Self {
        let is = |other: &str| name.eq_ignore_ascii_case(other);
        Self {
            upgrades: is("upgrade") || is("bidirectional"),
            downgrades: is("downgrade") || is("bidirectional"),
        }
    }
}

impl Group {
    /// The group goes on as a consumer group.
    pub(super) fn upgrade(
        &mut self,
        mut group: ConsumerGroup,
        out: &mut Vec<Record>,
        ctx: &mut Ctx<'_>,
    ) {
        let Kind::Classic(classic) = &mut self.kind else { return };
        // Whoever waits comes again, and is then answered by the new group.
        classic.abandon(ErrorCode::RebalanceInProgress, ctx.fx);
        let name = &group.name;
        if classic.is_recorded() {
            out.push(Record::Group { group: Arc::clone(name), value: None });
        }
        if !group.members.is_empty() {
            let facts = group.facts().into_iter();
            out.extend(facts.map(|fact| Record::Consumer { group: Arc::clone(name), fact }));
            group.begin(ctx.now, ctx.settings.consumer_session_timeout_ms);
            group.tell("was a classic group: a member uses the consumer protocol", ctx);
        }
        self.kind = Kind::Consumer(group);
    }

    /// The group goes on as a classic one if nobody in it speaks anything else.
    pub(in crate::group) fn maybe_downgrade(&mut self, out: &mut Vec<Record>, ctx: &mut Ctx<'_>) {
        let Kind::Consumer(group) = &self.kind else { return };
        let (members, classic) = (group.members.len(), group.members.classic());
        let settings = ctx.settings;
        if members == 0 || classic < members || members > settings.max_size {
            return;
        }
        if settings.migration.downgrades {
            self.downgrade(out, ctx);
        }
    }

    fn downgrade(&mut self, out: &mut Vec<Record>, ctx: &mut Ctx<'_>) {
        let Kind::Consumer(group) = &self.kind else { return };
        let Some(value) = group.as_classic(ctx) else { return };
        out.extend(group.end());
        group.tell("is a classic group now: no member uses the consumer protocol", ctx);
        let name = Arc::clone(&group.name);
        out.push(Record::Group { group: Arc::clone(&name), value: Some(value.clone()) });
        let mut classic = ClassicGroup::remembered(name, value);
        classic.begin(ctx.now, ctx.settings.max_size);
        classic.begin_anew("it was a consumer group", ctx);
        self.kind = Kind::Classic(classic);
    }
}

impl ConsumerGroup {
    /// A consumer group in the place of a classic one, with its members and what they were
    /// assigned.
    ///
    /// # Errors
    /// GROUP_ID_NOT_FOUND if it cannot be: for the client, there is no such consumer group.
    pub(super) fn of_classic(classic: &ClassicGroup, ctx: &Ctx<'_>) -> Result<Self, Refusal> {
        let name = Arc::clone(classic.name());
        if classic.state() == ClassicState::Empty {
            return Ok(Self::new(name));
        }
        let refuse = |why: &str| {
            let text =
                format!("Cannot upgrade classic group {name} to consumer group because {why}.");
            Refusal::new(ErrorCode::GroupIdNotFound, text)
        };
        if !ctx.settings.migration.upgrades {
            return Err(refuse("online upgrade is disabled"));
        }
        if !classic.is_consumer() {
            return Err(refuse("the group does not use the consumer embedded protocol"));
        }
        if classic.members().count() > ctx.settings.consumer_max_size {
            return Err(refuse("the group size exceeds the consumer group maximum size"));
        }
        let epoch = classic.generation();
        let mut group = Self::new(Arc::clone(&name));
        group.apply(Fact::Epoch(Some(EpochValue { epoch, hash: 0 })));
        group.apply(Fact::TargetEpoch(Some((epoch, Timestamp(0)))));
        for (id, member) in classic.members() {
            let about = about(member).map_err(refuse)?;
            let parts = assigned(member, ctx.topics).map_err(refuse)?;
            // A leader may have given a partition to two members: the first has it.
            let free = parts.into_iter().filter(|part| !group.owners.contains_key(part));
            let assigned: Owned = free.map(|part| (part, epoch)).collect();
            let target = assigned.keys().copied().collect();
            let current = Current {
                epoch,
                previous_epoch: epoch,
                state: MemberState::Stable,
                assigned,
                revoking: Owned::new(),
            };
            group.apply(Fact::Member(Arc::clone(id), Some(about)));
            group.apply(Fact::Target(Arc::clone(id), Some(target)));
            group.apply(Fact::Current(Arc::clone(id), Some(current)));
        }
        Ok(group)
    }

    /// The group as a classic one would be remembered; none if its members have no protocol in
    /// common, which they were taken in with.
    fn as_classic(&self, ctx: &Ctx<'_>) -> Option<GroupValue> {
        let parts = || self.members.iter().filter_map(|(_, member)| member.about.classic.as_ref());
        let names = parts().flat_map(|part| part.protocols.iter().map(|(name, _)| name));
        let protocol = names.into_iter().find(|name| self.members.agree_on(name))?;
        let members = self.members.iter().filter_map(|(id, member)| {
            let (about, classic) = (&member.about, member.about.classic.as_ref()?);
            Some(MemberValue {
                member: Arc::clone(id),
                instance: about.instance.clone(),
                client_id: Arc::clone(&about.client_id),
                client_host: Arc::clone(&about.client_host),
                rebalance_timeout_ms: about.rebalance_timeout_ms,
                session_timeout_ms: classic.session_timeout_ms,
                subscription: metadata_of(classic, protocol),
                assignment: assignment(member, protocol, ctx.topics),
            })
        });
        Some(GroupValue {
            protocol_type: PROTOCOL_TYPE.into(),
            generation: self.epoch.epoch,
            protocol: Some(Arc::clone(protocol)),
            leader: self.members.iter().next().map(|(id, _)| Arc::clone(id)),
            since: ctx.now.wall,
            members: members.collect(),
        })
    }
}

/// What a classic member says, as a consumer group knows it.
fn about(member: &classic::Member) -> Result<AboutMember, &'static str> {
    let part = member.part();
    let said = part.protocols.first().map(|(_, metadata)| metadata.clone()).unwrap_or_default();
    let malformed = |_| "the embedded consumer protocol is malformed";
    let (subscription, _) = decode_subscription(said).map_err(malformed)?;
    Ok(AboutMember {
        instance: member.instance().cloned(),
        rack: subscription.rack_id.map(Arc::from),
        client_id: Arc::clone(member.client_id()),
        client_host: Arc::clone(member.client_host()),
        topics: subscription.topics.into_iter().map(Arc::from).collect(),
        pattern: None,
        rebalance_timeout_ms: member.rebalance_timeout_ms(),
        assignor: None,
        classic: Some(part),
    })
}

/// What a classic member was given by its leader.
fn assigned(member: &classic::Member, topics: &Topics) -> Result<BTreeSet<Part>, &'static str> {
    if member.assignment().is_empty() {
        return Ok(BTreeSet::new());
    }
    let malformed = |_| "the embedded consumer protocol is malformed";
    let (assignment, _) = decode_assignment(member.assignment().clone()).map_err(malformed)?;
    if assignment.user_data.is_some_and(|data| !data.is_empty()) {
        return Err("an unsupported custom assignor is in use");
    }
    let parts = assignment.assigned_partitions.into_iter();
    Ok(parts.flat_map(|of| parts_of(topics, &of.topic, &of.partitions)).collect())
}

/// Partitions of a topic by its name; none of one that is not there.
pub(super) fn parts_of(topics: &Topics, name: &str, indexes: &[i32]) -> Vec<Part> {
    let Some(topic) = topics.get(name) else { return Vec::new() };
    indexes.iter().map(|index| (topic.id, PartitionIndex(*index))).collect()
}

fn metadata_of(classic: &ClassicPart, protocol: &str) -> Bytes {
    let said = classic.protocols.iter().find(|(name, _)| &**name == protocol);
    said.map(|(_, metadata)| metadata.clone()).unwrap_or_default()
}

/// What a member owns, in the form in which a leader would give it, and in the version that the
/// member announces.
pub(super) fn assignment(member: &Member, protocol: &str, topics: &Topics) -> Bytes {
    let Some(classic) = &member.about.classic else { return Bytes::new() };
    let announced = decode_subscription(metadata_of(classic, protocol));
    let version = announced.map_or(0, |(_, version)| version);
    let mut by_topic: BTreeMap<&Arc<str>, Vec<i32>> = BTreeMap::new();
    for (topic, index) in member.current.assigned.keys() {
        let Some(topic) = topics.by_id(*topic) else { continue };
        by_topic.entry(&topic.name).or_default().push(index.0);
    }
    let assigned = by_topic
        .into_iter()
        .map(|(topic, partitions)| TopicPartition { topic: topic.to_string(), partitions });
    let assignment =
        ConsumerProtocolAssignment { assigned_partitions: assigned.collect(), user_data: None };
    encode_assignment(&assignment, version).unwrap_or_default()
}
