//! Groups of the classic protocol: members join, one of them assigns, all fetch what they got.
//!
//! A generation comes about in two rounds. Everyone joins (`PreparingRebalance`); when all have,
//! or time is up, each learns the generation and the first to have come, the leader, learns of
//! everyone. Then everyone syncs (`CompletingRebalance`): the leader brings an assignment for each,
//! which is remembered and given out (`Stable`). Whoever joins, leaves, changes what it says or
//! is not heard of begins a new round.
//!
//! Whoever waits in a join or sync is answered in every case: by the next generation, by a
//! rebalance, or when it is out. Both rounds have a time limit (G10).

mod join;
mod leave;
mod members;
mod rebalance;
mod sync;
mod timers;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use dohle_wire::error::ErrorCode;
use dohle_wire::id::Timestamp;

pub use self::members::Member;
use self::members::Members;
use super::record::{GroupValue, Record};
use super::request::{Answer, Caller, GroupId, JoinRefusal, MemberId};
use super::{Ctx, Effect, subscription};
use crate::fx::Fx;
use crate::mail::ReplyTo;
use crate::time::{Deadline, Instant, Now, earlier};

/// The protocol type whose metadata the coordinator understands.
pub(super) const CONSUMER: &str = "consumer";

/// How far a group has come (Kafka's `ClassicGroupState`).
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum ClassicState {
    /// Members are joining.
    PreparingRebalance,
    /// All have joined; the leader has not assigned yet.
    CompletingRebalance,
    /// Everyone has a part.
    Stable,
    /// It has no members, perhaps offsets.
    Empty,
    /// It is no more.
    Dead,
}

impl ClassicState {
    /// Its name in DescribeGroups and ListGroups.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::PreparingRebalance => "PreparingRebalance",
            Self::CompletingRebalance => "CompletingRebalance",
            Self::Stable => "Stable",
            Self::Empty => "Empty",
            Self::Dead => "Dead",
        }
    }
}

/// A state and what belongs to it alone.
#[derive(Clone, Debug)]
enum Stage {
    Empty,
    Joining(Joining),
    Assigning(Unsynced),
    Stable(Unsynced),
}

/// Members are joining.
#[derive(Clone, Debug)]
struct Joining {
    /// Whoever has not joined by then is out.
    until: Instant,
    /// The group was empty before.
    first: Option<FirstJoin>,
}

/// The first members of a group wait for others that start at the same time.
#[derive(Clone, Debug)]
struct FirstJoin {
    /// They wait no longer than until then.
    limit: Instant,
    /// Whether someone came since the wait was last extended.
    grew: bool,
}

/// Members that know of the generation and have not asked for their part.
#[derive(Clone, Debug)]
struct Unsynced {
    /// Whoever has not asked by then is out.
    until: Instant,
    members: BTreeSet<MemberId>,
}

impl Unsynced {
    fn nobody() -> Self {
        Self { until: Instant::default(), members: BTreeSet::new() }
    }
}

/// A group of the classic protocol.
#[derive(Clone, Debug)]
pub struct ClassicGroup {
    name: GroupId,
    generation: i32,
    /// None for a group that only has offsets.
    protocol_type: Option<Arc<str>>,
    protocol: Option<Arc<str>>,
    leader: Option<MemberId>,
    /// When it came into its state, if that is known.
    since: Option<Timestamp>,
    members: Members,
    /// The topics of all members; none when that cannot be known.
    subscribed: Option<BTreeSet<Arc<str>>>,
    /// Whether the log says anything of the group itself.
    recorded: bool,
    /// Ids that were given out, for a member to join with until then (KIP-394).
    pending: BTreeMap<MemberId, Instant>,
    stage: Stage,
    /// Nothing has to be done before; perhaps nothing then either.
    due: Deadline,
}

impl ClassicGroup {
    /// A group that nobody has heard of.
    pub(super) fn new(name: GroupId) -> Self {
        Self {
            name,
            generation: 0,
            protocol_type: None,
            protocol: None,
            leader: None,
            since: None,
            members: Members::default(),
            subscribed: None,
            recorded: false,
            pending: BTreeMap::new(),
            stage: Stage::Empty,
            due: None,
        }
    }

    /// A group that is remembered.
    pub(super) fn remembered(name: GroupId, value: GroupValue) -> Self {
        let protocol = value.protocol.clone().unwrap_or_default();
        let mut members = Members::default();
        for member in value.members {
            let id = Arc::clone(&member.member);
            members.insert(id, Member::remembered(member, &protocol));
        }
        let stage =
            if members.is_empty() { Stage::Empty } else { Stage::Stable(Unsynced::nobody()) };
        let known = value.leader.filter(|leader| members.get(leader).is_some());
        let leader = known.or_else(|| members.iter().next().map(|(id, _)| Arc::clone(id)));
        let mut group = Self {
            generation: value.generation,
            protocol_type: Some(value.protocol_type).filter(|name| !name.is_empty()),
            protocol: (!members.is_empty()).then_some(protocol),
            leader,
            // Kafka's older records do not say (KAFKA-10401): that is no time.
            since: Some(value.since).filter(|since| since.0 >= 0),
            members,
            recorded: true,
            stage,
            ..Self::new(name)
        };
        group.subscribed = group.subscriptions();
        group
    }

    /// The group as it shall be remembered.
    #[must_use]
    pub fn value(&self) -> GroupValue {
        let protocol = self.protocol.as_deref().unwrap_or_default();
        let members = self.members.iter().map(|(id, member)| member.value(id, protocol));
        GroupValue {
            protocol_type: self.protocol_type.clone().unwrap_or_default(),
            generation: self.generation,
            protocol: self.protocol.clone(),
            leader: self.leader.clone(),
            since: self.since.unwrap_or(Timestamp(-1)),
            members: members.collect(),
        }
    }

    /// The group's name.
    #[must_use]
    pub fn name(&self) -> &GroupId {
        &self.name
    }

    /// Its state.
    #[must_use]
    pub fn state(&self) -> ClassicState {
        match self.stage {
            Stage::Empty => ClassicState::Empty,
            Stage::Joining(_) => ClassicState::PreparingRebalance,
            Stage::Assigning(_) => ClassicState::CompletingRebalance,
            Stage::Stable(_) => ClassicState::Stable,
        }
    }

    /// The last generation that began.
    #[must_use]
    pub fn generation(&self) -> i32 {
        self.generation
    }

    /// `consumer`, …; none for a group that only has offsets.
    #[must_use]
    pub fn protocol_type(&self) -> Option<&Arc<str>> {
        self.protocol_type.as_ref()
    }

    /// The protocol of the generation.
    #[must_use]
    pub fn protocol(&self) -> Option<&Arc<str>> {
        self.protocol.as_ref()
    }

    /// Who assigns.
    #[must_use]
    pub fn leader(&self) -> Option<&MemberId> {
        self.leader.as_ref()
    }

    /// Everyone in it, by id.
    pub fn members(&self) -> impl Iterator<Item = (&MemberId, &Member)> {
        self.members.iter()
    }

    /// Whether the log says anything of the group itself.
    #[must_use]
    pub fn is_recorded(&self) -> bool {
        self.recorded
    }

    /// Whether nobody is in it, nor has been given an id to join with.
    pub(super) fn is_deserted(&self) -> bool {
        matches!(self.stage, Stage::Empty) && self.pending.is_empty()
    }

    /// When it came into its state.
    pub(super) fn since(&self) -> Option<Timestamp> {
        self.since
    }

    /// When it next has to be looked at.
    pub(super) fn due(&self) -> Deadline {
        self.due
    }

    /// Whether its members are consumers.
    pub(super) fn is_consumer(&self) -> bool {
        self.protocol_type.as_deref() == Some(CONSUMER)
    }

    /// Whether a member reads a topic. Of consumers that say what nobody understands it is
    /// assumed.
    pub(super) fn is_subscribed(&self, topic: &str) -> bool {
        self.subscribed.as_ref().map_or(self.is_consumer(), |topics| topics.contains(topic))
    }

    /// Whether the topics that members read are known.
    pub(super) fn knows_subscriptions(&self) -> bool {
        self.subscribed.is_some()
    }

    /// The topics of all members, where they can be known.
    fn subscriptions(&self) -> Option<BTreeSet<Arc<str>>> {
        if !self.is_consumer() {
            return None;
        }
        let protocol = self.protocol.as_deref().unwrap_or_default();
        let mut all = BTreeSet::new();
        for (_, member) in self.members.iter() {
            all.extend(subscription::topics(&member.metadata(protocol))?);
        }
        Some(all)
    }

    /// Whether someone may speak for the current generation.
    ///
    /// # Errors
    /// UNKNOWN_MEMBER_ID, FENCED_INSTANCE_ID or ILLEGAL_GENERATION.
    fn check(&self, caller: &Caller) -> Result<(), ErrorCode> {
        self.members.check(&caller.member, caller.instance.as_deref())?;
        let current = caller.generation == self.generation;
        current.then_some(()).ok_or(ErrorCode::IllegalGeneration)
    }

    /// Whether someone may commit offsets.
    ///
    /// # Errors
    /// As [`Self::check`]; REBALANCE_IN_PROGRESS while the leader assigns; UNKNOWN_MEMBER_ID for
    /// somebody outside while there are members.
    pub(super) fn check_commit(&self, caller: &Caller) -> Result<(), ErrorCode> {
        let empty = matches!(self.stage, Stage::Empty);
        if caller.generation < 0 && empty {
            return Ok(());
        }
        let member = !caller.member.is_empty() || caller.instance.is_some();
        if caller.generation >= 0 || member {
            self.check(caller)?;
        } else {
            return Err(ErrorCode::UnknownMemberId);
        }
        let assigning = matches!(self.stage, Stage::Assigning(_));
        if assigning { Err(ErrorCode::RebalanceInProgress) } else { Ok(()) }
    }

    /// Heartbeat.
    pub(super) fn on_heartbeat(&mut self, reply: ReplyTo, caller: &Caller, ctx: &mut Ctx<'_>) {
        let code = self.beat(caller, ctx.now).err().unwrap_or(ErrorCode::None);
        ctx.answer(reply, Answer::Beaten(code));
    }

    fn beat(&mut self, caller: &Caller, now: Now) -> Result<(), ErrorCode> {
        if caller.group.is_empty() {
            return Err(ErrorCode::InvalidGroupId);
        }
        self.check(caller)?;
        self.hear(&caller.member, now);
        let joining = matches!(self.stage, Stage::Joining(_));
        if joining { Err(ErrorCode::RebalanceInProgress) } else { Ok(()) }
    }

    /// A member gave a sign of life. One that does not know that it is a member cannot.
    pub(super) fn hear(&mut self, id: &str, now: Now) {
        if let Some(member) = self.members.get_mut(id).filter(|member| !member.new) {
            member.expires = now.mono.plus_ms(i64::from(member.session_timeout_ms));
            let expires = member.expires;
            self.wake(expires, "session of a member");
        }
    }

    /// The group has to be looked at then.
    fn wake(&mut self, at: Instant, why: &'static str) {
        self.due = earlier(self.due, Some((at, why)));
    }

    fn enter(&mut self, stage: Stage, now: Now) {
        match &stage {
            Stage::Joining(joining) => self.wake(joining.until, "members join"),
            Stage::Assigning(unsynced) => self.wake(unsynced.until, "members sync"),
            Stage::Empty | Stage::Stable(_) => {}
        }
        self.stage = stage;
        self.since = Some(now.wall);
    }

    /// Has the group remembered as it is; the answers leave when that is committed.
    fn remember(&mut self, answers: Vec<(ReplyTo, Answer)>, ctx: &mut Ctx<'_>) {
        self.recorded = true;
        let record = Record::Group { group: Arc::clone(&self.name), value: Some(self.value()) };
        ctx.append(vec![record], answers);
    }

    /// Takes a member out. If it waits, it is told with `code`.
    fn drop_member(&mut self, id: &MemberId, code: ErrorCode, ctx: &mut Ctx<'_>) {
        let Some(mut member) = self.members.remove(id) else { return };
        release(&mut member, &MemberId::default(), code, ctx.fx);
        if let Stage::Assigning(unsynced) | Stage::Stable(unsynced) = &mut self.stage {
            unsynced.members.remove(id);
        }
        if self.leader.as_ref() == Some(id) {
            self.leader = self.members.iter().next().map(|(id, _)| Arc::clone(id));
        }
    }

    /// Whoever waits is told with `code`: the coordinator does not go on.
    pub(super) fn abandon(&mut self, code: ErrorCode, fx: &mut Fx<Effect>) {
        for (id, member) in self.members.iter_mut() {
            release(member, id, code, fx);
        }
    }

    /// Asserts what must always hold, where that is cheap.
    pub(super) fn invariants(&self) {
        self.members.invariants();
        let name = &self.name;
        let leads = self.leader.as_ref().is_some_and(|leader| self.members.get(leader).is_some());
        assert_eq!(leads, !self.members.is_empty(), "{name}: members have one leader");
        match &self.stage {
            Stage::Empty => assert!(self.members.is_empty(), "{name}: members of an empty group"),
            Stage::Joining(_) => {}
            Stage::Assigning(unsynced) | Stage::Stable(unsynced) => {
                assert!(leads, "{name}: a generation without members");
                assert!(self.protocol.is_some(), "{name}: a generation without a protocol");
                assert!(unsynced.members.len() <= self.members.len(), "{name}: who has to sync");
            }
        }
    }

    /// As [`Self::invariants`], but looks at every member.
    #[cfg(test)]
    pub(super) fn audit(&self) {
        self.invariants();
        self.members.audit();
        let deadline = self.next_due().map(|(at, _)| at);
        let due = self.due.map(|(at, _)| at);
        assert!(
            deadline.is_none() || due.is_some_and(|due| Some(due) <= deadline),
            "LV2: overslept"
        );
        for (id, member) in self.members.iter() {
            assert!(!self.pending.contains_key(id), "G7: {id} is in and is not");
            let joins = matches!(self.stage, Stage::Joining(_));
            assert!(joins || member.joining.is_none(), "{id} waits in a join that is over");
            let assigns = matches!(self.stage, Stage::Assigning(_));
            assert!(assigns || member.syncing.is_none(), "{id} waits for what has come");
        }
        if let Stage::Assigning(unsynced) | Stage::Stable(unsynced) = &self.stage {
            for id in &unsynced.members {
                assert!(self.members.get(id).is_some(), "{id} shall sync and is not in");
            }
        }
    }
}

/// Answers a member that waits in a join or sync.
fn release(member: &mut Member, id: &MemberId, code: ErrorCode, fx: &mut Fx<Effect>) {
    if let Some(reply) = member.joining.take() {
        let refusal = JoinRefusal { code, member: Arc::clone(id) };
        fx.push(Effect::Answer(reply, Answer::Joined(Err(refusal))));
    }
    if let Some(reply) = member.syncing.take() {
        fx.push(Effect::Answer(reply, Answer::Synced(Err(code))));
    }
}
