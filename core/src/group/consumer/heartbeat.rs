//! ConsumerGroupHeartbeat of members that join or go on.
//!
//! Everything that may be refused is looked at before anything changes.

use std::collections::BTreeSet;
use std::sync::Arc;

use dohle_wire::error::ErrorCode;
use dohle_wire::id::TopicId;

use super::assignor::Assignor;
use super::reconcile::{Goal, next};
use super::request::{ConsumerBeat, ConsumerHeartbeat};
use super::*;
use crate::group::notes::named;
use crate::group::record::{AboutMember, Current, MemberState, Owned};
use crate::group::{Ctx, Group, Kind};
use crate::mail::{Refusal, ReplyTo};
use crate::mutant::Mutant;

use crate::group::request::Answer;

/// A member is remembered with no more bytes than this: the record has to fit a batch.
const ABOUT_MAX_BYTES: usize = 256 * 1024;

/// Texts that are part of a record's key are no longer than this.
const KEY_MAX_BYTES: usize = 8 * 1024;

/// A group that changed a moment ago is likely to change again, and somebody in it to wait for
/// somebody else: members are asked to come again after as long as it has been quiet. Not before
/// this, so that a large group does not keep its coordinator busy.
fn soon_ms(members: usize) -> i64 {
    i64::try_from(members / 4).map_or(SOON_MAX_MS, |ms| ms.clamp(SOON_MIN_MS, SOON_MAX_MS))
}
const SOON_MIN_MS: i64 = 50;
const SOON_MAX_MS: i64 = 500;

impl Group {
    /// ConsumerGroupHeartbeat.
    pub(in crate::group) fn on_consumer_heartbeat(
        &mut self,
        reply: ReplyTo,
        beat: &ConsumerHeartbeat,
        ctx: &mut Ctx<'_>,
    ) {
        let mut records = Vec::new();
        match self.consumer_heartbeat(beat, &mut records, ctx) {
            Ok(told) => ctx.append(records, vec![(reply, Answer::ConsumerBeaten(Ok(told)))]),
            Err(refusal) => {
                assert!(records.is_empty(), "{}: refused after a decision", self.name());
                ctx.answer(reply, Answer::ConsumerBeaten(Err(refusal)));
            }
        }
    }

    fn consumer_heartbeat(
        &mut self,
        beat: &ConsumerHeartbeat,
        out: &mut Vec<Record>,
        ctx: &mut Ctx<'_>,
    ) -> Result<ConsumerBeat, Refusal> {
        check(beat, &ctx.settings.assignors)?;
        let leaves = matches!(beat.epoch, LEAVE_EPOCH | LEAVE_STATIC_EPOCH);
        if beat.epoch == JOIN_EPOCH {
            self.become_consumer(beat, out, ctx)?;
        }
        let name = Arc::clone(self.name());
        let Kind::Consumer(group) = &mut self.kind else { return Err(not_found(&name)) };
        if !group.is_recorded() && beat.epoch != JOIN_EPOCH {
            return Err(not_found(&name));
        }
        if leaves {
            let told = group.on_leave_beat(beat, out, ctx)?;
            self.maybe_downgrade(out, ctx);
            return Ok(told);
        }
        if beat.epoch != JOIN_EPOCH {
            group.check_member(beat)?;
        }
        Ok(group.on_beat(beat, out, ctx))
    }

    /// The group a member joins: a new one, or one that was classic.
    fn become_consumer(
        &mut self,
        beat: &ConsumerHeartbeat,
        out: &mut Vec<Record>,
        ctx: &mut Ctx<'_>,
    ) -> Result<(), Refusal> {
        let classic = match &mut self.kind {
            Kind::Consumer(group) => return group.check_join(beat, ctx.settings.consumer_max_size),
            Kind::Classic(classic) => classic,
        };
        let group = ConsumerGroup::of_classic(classic, ctx)?;
        group.check_join(beat, ctx.settings.consumer_max_size)?;
        self.upgrade(group, out, ctx);
        Ok(())
    }
}

fn not_found(name: &str) -> Refusal {
    Refusal::new(ErrorCode::GroupIdNotFound, format!("Consumer group {name} not found."))
}

/// What can be said of a heartbeat without the group (Kafka's
/// `throwIfConsumerGroupHeartbeatRequestIsInvalid`).
fn check(beat: &ConsumerHeartbeat, assignors: &[Assignor]) -> Result<(), Refusal> {
    let invalid = |text: &str| Err(Refusal::new(ErrorCode::InvalidRequest, text));
    let is_empty = |text: &Option<Arc<str>>| text.as_ref().is_some_and(|text| text.is_empty());
    let needs_id = beat.chooses_id || beat.epoch > JOIN_EPOCH || beat.epoch == LEAVE_EPOCH;
    match beat.epoch {
        _ if needs_id && beat.member.is_empty() => return invalid("MemberId can't be empty."),
        _ if beat.group.is_empty() => return invalid("GroupId can't be empty."),
        _ if is_empty(&beat.instance) => return invalid("InstanceId can't be empty."),
        _ if is_empty(&beat.rack) => return invalid("RackId can't be empty."),
        ..LEAVE_STATIC_EPOCH => return invalid("MemberEpoch is invalid."),
        LEAVE_STATIC_EPOCH if beat.instance.is_none() => {
            return invalid("InstanceId can't be null.");
        }
        JOIN_EPOCH => check_first(beat)?,
        _ => {}
    }
    let name = beat.assignor.as_deref();
    if name.is_some_and(|name| !assignors.iter().any(|known| known.name() == name)) {
        let names: Vec<_> = assignors.iter().map(|known| known.name()).collect();
        let text = format!(
            "ServerAssignor {} is not supported. Supported assignors: {}.",
            name.unwrap_or_default(),
            names.join(", ")
        );
        return Err(Refusal::new(ErrorCode::UnsupportedAssignor, text));
    }
    if beat.member.len() > KEY_MAX_BYTES || bytes_of(beat) > ABOUT_MAX_BYTES {
        return invalid("The member says more than can be remembered.");
    }
    match beat.pattern.as_deref() {
        Some(pattern) if !pattern.is_empty() => pattern::check(pattern),
        _ => Ok(()),
    }
}

/// What a heartbeat that joins has to say.
fn check_first(beat: &ConsumerHeartbeat) -> Result<(), Refusal> {
    let invalid = |text: &str| Err(Refusal::new(ErrorCode::InvalidRequest, text));
    if beat.rebalance_timeout_ms.is_none() {
        return invalid("RebalanceTimeoutMs must be provided in first request.");
    }
    if beat.owned.as_ref().is_none_or(|owned| !owned.is_empty()) {
        return invalid("TopicPartitions must be empty when (re-)joining.");
    }
    // Nothing may well be what it reads: a client that matches names itself waits for the first.
    if beat.topics.is_none() && beat.pattern.is_none() {
        return invalid(
            "Either SubscribedTopicNames or SubscribedTopicRegex must be non-null when (re-)joining.",
        );
    }
    Ok(())
}

fn bytes_of(beat: &ConsumerHeartbeat) -> usize {
    let texts = [&beat.instance, &beat.rack, &beat.assignor].into_iter().flatten();
    let topics = beat.topics.iter().flatten();
    let all = texts.chain(topics).chain([&beat.client_id, &beat.client_host]);
    all.map(|text| text.len() + 8).sum()
}

impl ConsumerGroup {
    /// Whether a member may join.
    fn check_join(&self, beat: &ConsumerHeartbeat, max_size: usize) -> Result<(), Refusal> {
        let stands = beat.instance.as_ref().and_then(|name| self.members.of_instance(name));
        let known = stands.is_some() || self.members.get(&beat.member).is_some();
        if !known && self.members.len() >= max_size {
            let text = format!(
                "The consumer group has reached its maximum capacity of {max_size} members."
            );
            return Err(Refusal::new(ErrorCode::GroupMaxSizeReached, text));
        }
        let Some((id, member)) = stands.and_then(|id| Some((id, self.members.get(id)?))) else {
            return Ok(());
        };
        let released = member.current.epoch == LEAVE_STATIC_EPOCH || member.about.classic.is_some();
        if *id == beat.member || released {
            return Ok(());
        }
        let instance = beat.instance.as_deref().unwrap_or_default();
        let text = format!("The instance id {instance:?} is still used by another member.");
        Err(Refusal::new(ErrorCode::UnreleasedInstanceId, text))
    }

    /// Whether a member may go on.
    fn check_member(&self, beat: &ConsumerHeartbeat) -> Result<(), Refusal> {
        let member = self.members.find(&beat.member, beat.instance.as_deref())?;
        let current = &member.current;
        let fenced = |than: &str| {
            let text = format!(
                "The consumer group member has a {than} member epoch ({}) than the one known by \
                 the group coordinator ({}). The member must abandon all its partitions and rejoin.",
                beat.epoch, current.epoch
            );
            Err(Refusal::new(ErrorCode::FencedMemberEpoch, text))
        };
        let owned = beat.owned.as_ref();
        // It missed the answer that gave it its epoch, and asks once more.
        let missed = beat.epoch == current.previous_epoch
            && owned.is_some_and(|owned| owned.iter().all(|p| current.assigned.contains_key(p)));
        let lost = matches!(current.state, MemberState::Unknown(_));
        match () {
            () if beat.epoch > current.epoch => fenced("greater"),
            () if beat.epoch < current.epoch && !missed => fenced("smaller"),
            () if lost && owned.is_none_or(|owned| !owned.is_empty()) => fenced("different"),
            () => Ok(()),
        }
    }

    /// A member joins or goes on.
    fn on_beat(
        &mut self,
        beat: &ConsumerHeartbeat,
        out: &mut Vec<Record>,
        ctx: &mut Ctx<'_>,
    ) -> ConsumerBeat {
        let id = match beat.member.is_empty() {
            true => ctx.ids.fresh(&beat.client_id, |id| self.members.get(id).is_some()),
            false => Arc::clone(&beat.member),
        };
        self.replace_static(&id, beat.instance.as_ref(), out);
        let about = self.said(&id, beat);
        let news = self.follow(&id, about, beat.owned.as_ref(), out, ctx);
        self.hear(&id, ctx.now, ctx.settings.consumer_session_timeout_ms);
        let whole = beat.rebalance_timeout_ms.is_some()
            && (beat.topics.is_some() || beat.pattern.is_some())
            && beat.owned.is_some();
        let member = self.members.get(&id).expect("it was just taken in");
        let told = news || whole || beat.epoch == JOIN_EPOCH;
        ConsumerBeat {
            epoch: member.current.epoch,
            interval_ms: self.interval_ms(ctx),
            assigned: told.then(|| member.current.assigned.keys().copied().collect()),
            member: id,
        }
    }

    /// What is known of a member once it has said something.
    fn said(&self, id: &MemberId, beat: &ConsumerHeartbeat) -> AboutMember {
        let was = self.members.get(id).map(|member| &member.about).cloned().unwrap_or_default();
        AboutMember {
            instance: beat.instance.clone().or(was.instance),
            rack: beat.rack.clone().or(was.rack),
            client_id: Arc::clone(&beat.client_id),
            client_host: Arc::clone(&beat.client_host),
            topics: beat.topics.clone().unwrap_or(was.topics),
            pattern: match &beat.pattern {
                Some(pattern) => Some(Arc::clone(pattern)).filter(|text| !text.is_empty()),
                None => was.pattern,
            },
            rebalance_timeout_ms: beat.rebalance_timeout_ms.unwrap_or(was.rebalance_timeout_ms),
            assignor: beat.assignor.clone().or(was.assignor),
            classic: None,
        }
    }

    /// A member takes the place of the one that stood for its instance, with all that it owned and
    /// shall own.
    pub(super) fn replace_static(
        &mut self,
        id: &MemberId,
        instance: Option<&Arc<str>>,
        out: &mut Vec<Record>,
    ) {
        let stands = instance.and_then(|name| self.members.of_instance(name)).cloned();
        let Some(old) = stands.filter(|old| old != id) else { return };
        let was = self.members.get(&old).cloned().unwrap_or_default();
        let target = self.targets.get(&old).cloned().unwrap_or_default();
        self.write(Fact::Current(Arc::clone(&old), None), out);
        self.write(Fact::Target(Arc::clone(&old), None), out);
        self.write(Fact::Member(old, None), out);
        self.write(Fact::Member(Arc::clone(id), Some(was.about)), out);
        self.write(Fact::Target(Arc::clone(id), Some(target)), out);
        let current = Current { epoch: JOIN_EPOCH, previous_epoch: JOIN_EPOCH, ..was.current };
        self.write(Fact::Current(Arc::clone(id), Some(current)), out);
    }

    /// A member said something: the group follows, and the member goes on towards what it shall
    /// own. Gives whether what it may read has changed.
    pub(super) fn follow(
        &mut self,
        id: &MemberId,
        about: AboutMember,
        owned: Option<&BTreeSet<Part>>,
        out: &mut Vec<Record>,
        ctx: &mut Ctx<'_>,
    ) -> bool {
        let was = self.members.get(id).map(|member| &member.about);
        let new = was.is_none();
        let topics = was.is_none_or(|was| was.topics != about.topics);
        let pattern = was.is_some_and(|was| was.pattern != about.pattern);
        if was != Some(&about) {
            self.write(Fact::Member(Arc::clone(id), Some(about)), out);
        }
        let did = if new { "joined" } else { "changed its subscription" };
        let why = (topics || pattern).then(|| format!("{} {did}", named(&[Arc::clone(id)])));
        let changed = why.is_some();
        self.refresh(why, out, ctx);
        self.assign_in_time(out, ctx);
        self.reconcile(id, changed, owned, out, ctx)
    }

    /// Looks at the topics again if they are others, or it is time, or a member reads other ones.
    pub(super) fn refresh(
        &mut self,
        why: Option<String>,
        out: &mut Vec<Record>,
        ctx: &mut Ctx<'_>,
    ) {
        let seen = self.soft.seen.as_ref().is_some_and(|seen| Arc::ptr_eq(seen, ctx.topics));
        let stale = !seen || self.soft.refresh_at <= ctx.now.mono;
        if why.is_none() && !stale {
            return;
        }
        let matched = self.resolve_patterns(stale, out, ctx);
        let why = why.or_else(|| matched.then(|| "topics match its patterns or do not".to_owned()));
        let hash = hash_of(self.topics(ctx.topics));
        let changed = (hash != self.epoch.hash).then(|| "its topics changed".to_owned());
        if let Some(why) = why.or(changed) {
            self.bump(&why, out, ctx);
        }
        self.soft.seen = Some(Arc::clone(ctx.topics));
        self.soft.refresh_at = ctx.now.mono.plus_ms(ctx.settings.pattern_refresh_interval_ms);
    }

    /// Finds the topics of patterns that are new, or of all. Gives whether a pattern that was known
    /// stands for other topics now.
    fn resolve_patterns(&mut self, all: bool, out: &mut Vec<Record>, ctx: &Ctx<'_>) -> bool {
        self.drop_patterns(out);
        let mut changed = false;
        for pattern in self.members.patterns() {
            let known = self.patterns.get(&pattern);
            if known.is_some() && !all {
                continue;
            }
            let topics = pattern::resolve(&pattern, ctx.topics);
            if known.is_some_and(|known| known.topics == topics) {
                continue;
            }
            changed |= known.is_some();
            let version = ctx.topics.version();
            let value = PatternValue { topics, version, at: ctx.now.wall };
            self.write(Fact::Pattern(pattern, Some(value)), out);
        }
        changed
    }

    /// Forgets patterns that nobody has any more.
    pub(super) fn drop_patterns(&mut self, out: &mut Vec<Record>) {
        let known = self.patterns.keys();
        let unused = known.filter(|pattern| !self.members.has_pattern(pattern));
        let unused: Vec<_> = unused.cloned().collect();
        for pattern in unused {
            self.write(Fact::Pattern(pattern, None), out);
        }
    }

    /// The topics that a member reads, those alone that there are.
    pub(super) fn reads(&self, about: &AboutMember, topics: &Topics) -> BTreeSet<TopicId> {
        let pattern = about.pattern.as_ref().and_then(|pattern| self.patterns.get(pattern));
        let names = about.topics.iter().chain(pattern.into_iter().flat_map(|p| &p.topics));
        names.filter_map(|name| topics.get(name)).map(|topic| topic.id).collect()
    }

    /// A member takes a step. Gives whether what it may read has changed.
    fn reconcile(
        &mut self,
        id: &MemberId,
        changed: bool,
        owned: Option<&BTreeSet<Part>>,
        out: &mut Vec<Record>,
        ctx: &Ctx<'_>,
    ) -> bool {
        let Some(member) = self.members.get(id) else { return false };
        if !changed && member.is_reconciled_to(self.target_epoch) {
            return false;
        }
        let none = BTreeSet::new();
        let subscribed = self.reads(&member.about, ctx.topics);
        let target = self.targets.get(id).unwrap_or(&none);
        let epoch = self.target_epoch;
        let mutants = ctx.settings.mutants;
        let goal = Goal { epoch, target, subscribed: &subscribed, changed, owned, mutants };
        let was = &member.current;
        let blind = mutants.has(Mutant::OwnedPartitionGiven);
        let is = next(was, &goal, |part| !blind && self.owners.contains_key(part));
        if *was == is {
            return false;
        }
        let news = !same_parts(&was.assigned, &is.assigned);
        self.write(Fact::Current(Arc::clone(id), Some(is)), out);
        if !mutants.has(Mutant::NoRevocationTimeout) {
            self.limit_revocation(id, ctx.now);
        }
        news
    }

    /// When a member shall be heard of again.
    fn interval_ms(&self, ctx: &Ctx<'_>) -> i32 {
        let most = ctx.settings.consumer_heartbeat_interval_ms;
        let Some(changed) = self.soft.changed else { return most };
        let quiet_ms = i64::try_from(ctx.now.mono.since(changed).as_millis()).unwrap_or(i64::MAX);
        let after_ms = quiet_ms.max(soon_ms(self.members.len()));
        i32::try_from(after_ms).unwrap_or(most).min(most)
    }
}

fn same_parts(one: &Owned, other: &Owned) -> bool {
    one.len() == other.len() && one.keys().eq(other.keys())
}
