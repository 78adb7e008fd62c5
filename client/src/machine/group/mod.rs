//! Membership of a group, as a part of the consumer.
//!
//! State: who coordinates, what is subscribed to, the identity (member id and generation), where the
//! protocol stands, partitions on their way in and out, commits and questions that wait.
//!
//! Inputs: the consumer's polls, subscriptions and calls, answers of brokers, time. Effects: requests,
//! [`Reading`]s for the reading side, [`GroupEffect`]s for the application.
//!
//! Invariants: a partition is read only between its assignment and its revocation or loss; offsets are
//! committed under the identity that the partitions were assigned to; commits are carried out one
//! after the other, in the order in which they were asked for; heartbeats depend on time alone, not on
//! polls.
//!
//! Must never know: how records are fetched, who calls and why.

pub(crate) mod assign;
mod classic;
mod commit;
mod committed;
mod coordinator;
mod handover;
mod heartbeat;
mod io;
mod lead;
mod leave;
mod modern;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use dohle_wire::ErrorCode;

use self::classic::Classic;
use self::commit::Commits;
pub(in crate::machine) use self::committed::Found;
use self::committed::Reads;
use self::coordinator::Coordinator;
pub(in crate::machine) use self::handover::Reading;
use self::handover::{Circumstances, Handover};
pub use self::io::{
    Call, GroupEffect, GroupError, OffsetAndMetadata, OffsetAndTimestamp, Pattern, PatternError,
    Rebalance, Reply, Subscription,
};
use self::leave::Leaving;
use self::modern::Modern;
use super::cluster::{Answer, Cluster, ClusterView};
use super::time::Earliest;
use super::{Now, Token, TopicPartition};
use crate::config::{ConsumerConfig, GroupConfig, GroupProtocol};

/// What a request of the group was for. A number tells which attempt at membership it belongs to.
#[derive(Clone, Debug)]
pub(crate) enum Ask {
    Find,
    Join(u64),
    Sync(u64),
    Heartbeat(u64),
    Leave(u64),
    /// A heartbeat of the consumer protocol.
    Beat(u64),
    /// A commit, with its number too.
    Commit(u64, u64),
    /// A question for committed offsets, with its number.
    Read(u64),
}

/// Tags that requests of a group can have.
pub(crate) trait Tags: Clone + From<Ask> {}

impl<T: Clone + From<Ask>> Tags for T {}

/// Partitions by topic.
pub(crate) fn by_topic<'a>(
    parts: impl IntoIterator<Item = &'a TopicPartition>,
) -> BTreeMap<&'a Arc<str>, Vec<i32>> {
    let mut topics: BTreeMap<&Arc<str>, Vec<i32>> = BTreeMap::new();
    for at in parts {
        topics.entry(&at.topic).or_default().push(at.partition);
    }
    topics
}

/// See the module.
#[derive(Clone, Debug)]
pub(crate) struct Group {
    config: Arc<ConsumerConfig>,
    id: String,
    coordinator: Coordinator,
    subscription: Option<Subscription>,
    /// The topics that are subscribed to, by name or because they match.
    topics: BTreeSet<Arc<str>>,
    /// Empty for none.
    member_id: String,
    /// Generation or member epoch; -1 for none.
    generation: i32,
    /// Changes with the identity, so that answers to older requests are recognised.
    attempt: u64,
    classic: Classic,
    modern: Modern,
    handover: Handover,
    commits: Commits,
    reads: Reads,
    leaving: Option<Leaving>,
    /// The application is inside a poll.
    polling: bool,
    /// The application has polled since there was a reason to join.
    invited: bool,
    last_poll: Duration,
    next_auto_commit: Duration,
    /// What is wrong, for the next poll.
    failed: VecDeque<GroupError>,
    /// Membership is over until the next subscription.
    dead: bool,
    readings: VecDeque<Reading>,
    effects: Vec<GroupEffect>,
    closing: bool,
    /// Other topics may be of interest than before.
    curious: bool,
    /// What an assignment was made from may have changed.
    unsure: bool,
}

impl Group {
    /// The group that the settings name, without any membership yet. `draw` are random bits.
    pub(crate) fn new(config: Arc<ConsumerConfig>, draw: u128) -> Option<Self> {
        let id = config.group.id.clone()?;
        Some(Self {
            id,
            coordinator: Coordinator::default(),
            subscription: None,
            topics: BTreeSet::new(),
            member_id: String::new(),
            generation: -1,
            attempt: 0,
            classic: Classic::default(),
            modern: Modern::new(draw),
            handover: Handover::default(),
            commits: Commits::default(),
            reads: Reads::default(),
            leaving: None,
            polling: false,
            invited: false,
            last_poll: Duration::ZERO,
            next_auto_commit: Duration::ZERO,
            failed: VecDeque::new(),
            dead: false,
            readings: VecDeque::new(),
            effects: Vec::new(),
            closing: false,
            curious: false,
            unsure: false,
            config,
        })
    }

    fn settings(&self) -> &GroupConfig {
        &self.config.group
    }

    fn is_classic(&self) -> bool {
        matches!(self.config.group.protocol, GroupProtocol::Classic)
    }

    /// What is subscribed to.
    pub(crate) const fn subscription(&self) -> Option<&Subscription> {
        self.subscription.as_ref()
    }

    /// Member id and generation or epoch, while there is a membership.
    pub(crate) fn identity(&self) -> Option<(&str, i32)> {
        (self.generation >= 0).then_some((self.member_id.as_str(), self.generation))
    }

    /// Whether a poll has something to give out that is not a record.
    pub(crate) fn has_news(&self) -> bool {
        self.handover.has_news() || !self.failed.is_empty()
    }

    /// Whether the application is being told something, so that records wait.
    pub(crate) fn is_told(&self) -> bool {
        self.handover.is_told()
    }

    /// Whether there is no membership, and none is being left.
    pub(crate) const fn is_out(&self) -> bool {
        self.subscription.is_none() && self.leaving.is_none()
    }

    /// Whether all topics of the cluster are of interest.
    pub(crate) const fn wants_all(&self) -> bool {
        matches!(self.subscription, Some(Subscription::Pattern(_)))
    }

    /// Topics that are of interest besides those that are read.
    pub(crate) fn interest(&self) -> impl Iterator<Item = &Arc<str>> {
        let named = match &self.subscription {
            Some(Subscription::Topics(topics)) => Some(topics.iter()),
            Some(Subscription::Pattern(_)) | None => None,
        };
        named.into_iter().flatten().chain(self.classic.interest())
    }

    /// Whether other topics may be of interest than at the last call.
    pub(crate) const fn is_curious(&mut self) -> bool {
        std::mem::replace(&mut self.curious, false)
    }

    /// Wants to read these topics from now on.
    pub(crate) fn subscribe<T: Tags>(&mut self, subscription: Subscription, cluster: &Cluster<T>) {
        self.subscription = Some(subscription);
        self.dead = false;
        self.failed.clear();
        self.look(cluster);
        match self.settings().protocol {
            GroupProtocol::Classic => self.rejoin(),
            GroupProtocol::Consumer => self.modern.resubscribed(),
        }
    }

    /// The application enters a poll, or leaves it.
    pub(crate) const fn on_poll(&mut self, now: Now, polling: bool) {
        self.polling = polling;
        self.invited |= polling;
        self.last_poll = now.mono;
    }

    /// The application has heard what it was told.
    pub(crate) fn acknowledge(&mut self) {
        self.handover.acknowledge(&mut self.readings);
    }

    /// What a poll gives out that is not a record.
    pub(crate) fn tell(&mut self) -> Option<GroupEffect> {
        if let Some(error) = self.failed.pop_front() {
            return Some(GroupEffect::Failed(error));
        }
        self.handover.tell().map(GroupEffect::Rebalance)
    }

    /// What the reading side has to do next.
    pub(in crate::machine) fn next_reading(&mut self) -> Option<Reading> {
        self.readings.pop_front()
    }

    /// What the application has to hear.
    pub(crate) fn take_effects(&mut self) -> std::vec::Drain<'_, GroupEffect> {
        self.effects.drain(..)
    }

    /// Goes on as far as it can.
    pub(crate) fn drive<T: Tags>(&mut self, now: Now, cluster: &mut Cluster<T>) {
        self.check_poll_interval(now, cluster);
        let wants_commit = self.settings().commits_itself() && self.standing().is_ok();
        let of = Circumstances {
            now: now.mono,
            polling: self.polling || self.closing,
            committed: self.commits.is_idle() && self.readings.is_empty(),
            patience: wants_commit.then_some(self.patience()),
        };
        self.handover.advance(&of, &mut self.readings);
        self.commit_by_and_by(now);
        if let Some(code) = self.coordinator.take_refusal() {
            self.fail(GroupError::Refused(code));
            self.commits.fail(GroupError::Refused(code), &mut self.effects);
            self.reads.fail(GroupError::Refused(code), &mut self.effects);
        }
        self.drive_commits(now, cluster);
        self.drive_reads(now, cluster);
        if self.leaving.is_some() {
            self.drive_leaving(now, cluster);
        } else if self.subscription.is_some() && !self.dead {
            match self.settings().protocol {
                GroupProtocol::Classic => self.drive_classic(now, cluster),
                GroupProtocol::Consumer => self.drive_modern(now, cluster),
            }
        }
    }

    /// How long a revocation may wait for its commit.
    fn patience(&self) -> Duration {
        self.config.api_timeout.min(self.settings().max_poll_interval)
    }

    fn commit_by_and_by(&mut self, now: Now) {
        let idle = self.commits.is_idle() && self.handover.is_idle();
        let due = self.polling && self.next_auto_commit <= now.mono && idle;
        if !due || !self.settings().commits_itself() || self.standing().is_err() {
            return;
        }
        self.next_auto_commit = now.mono.saturating_add(self.settings().auto_commit_interval);
        self.readings.push_back(Reading::Commit);
    }

    /// A member that does not poll leaves: it holds partitions that others could read.
    fn check_poll_interval<T: Tags>(&mut self, now: Now, cluster: &mut Cluster<T>) {
        let late = !self.polling && self.poll_ends() <= now.mono;
        if late && self.is_member() && self.leaving.is_none() {
            self.send_leave(now, cluster, "the application did not poll in time");
            self.reset(false);
        }
    }

    fn poll_ends(&self) -> Duration {
        self.last_poll.saturating_add(self.settings().max_poll_interval)
    }

    const fn is_member(&self) -> bool {
        self.generation >= 0
    }

    /// The membership is over without the member's doing, and so is what was assigned.
    fn reset(&mut self, keep_id: bool) {
        self.attempt += 1;
        self.generation = -1;
        if self.is_classic() && !keep_id {
            self.member_id.clear();
        }
        self.handover.lose(&mut self.readings);
        self.invited = self.polling;
        self.classic.reset();
        self.modern.reset();
        self.curious = true;
    }

    /// Membership cannot go on, unless somebody subscribes again.
    fn die(&mut self, error: GroupError) {
        self.reset(false);
        self.dead = true;
        self.commits.fail(error.clone(), &mut self.effects);
        self.fail(error);
    }

    fn fail(&mut self, error: GroupError) {
        if !self.failed.contains(&error) {
            self.failed.push_back(error);
        }
    }

    /// There is newer metadata: looks which topics are subscribed to.
    pub(crate) fn look<T: Tags>(&mut self, cluster: &Cluster<T>) {
        self.unsure = true;
        let view = cluster.view();
        let exclude = self.settings().exclude_internal_topics;
        self.topics = match &self.subscription {
            None => BTreeSet::new(),
            Some(Subscription::Topics(topics)) => topics.clone(),
            Some(Subscription::Pattern(pattern)) => view
                .topics
                .iter()
                .filter(|(_, topic)| !topic.partitions.is_empty())
                .filter(|(_, topic)| !topic.internal || !exclude)
                .filter(|(name, _)| pattern.matches(name))
                .map(|(name, _)| Arc::clone(name))
                .collect(),
        };
    }

    /// A broker answered.
    pub(crate) fn on_answer<T: Tags>(
        &mut self,
        now: Now,
        cluster: &mut Cluster<T>,
        ask: &Ask,
        answer: &Answer<T>,
    ) {
        match ask {
            Ask::Find => self.coordinator.on_found(now, cluster, answer),
            Ask::Join(attempt) => self.on_joined(now, cluster, *attempt, answer),
            Ask::Sync(attempt) => self.on_synced(now, cluster, *attempt, answer),
            Ask::Heartbeat(attempt) => self.on_heartbeat(now, cluster, *attempt, answer),
            Ask::Leave(attempt) => self.on_left(*attempt),
            Ask::Beat(attempt) => self.on_beat(now, cluster, *attempt, answer),
            Ask::Commit(attempt, number) => {
                self.on_committed(now, cluster, (*attempt, *number), answer);
            }
            Ask::Read(number) => self.on_read(now, cluster, *number, answer),
        }
    }

    /// A request will never be answered.
    pub(crate) fn on_lost<T: Tags>(&mut self, now: Now, cluster: &mut Cluster<T>, ask: &Ask) {
        if !matches!(ask, Ask::Find) {
            self.coordinator.lost();
        }
        match ask {
            Ask::Find => self.coordinator.on_lost(now, cluster),
            Ask::Join(attempt) | Ask::Sync(attempt) => self.on_join_lost(now, cluster, *attempt),
            Ask::Heartbeat(_) => self.classic.heartbeat_lost(now),
            Ask::Leave(attempt) => self.on_left(*attempt),
            Ask::Beat(attempt) => self.on_beat_lost(now, cluster, *attempt),
            Ask::Commit(_, number) => self.commits.lost(now, cluster, *number),
            Ask::Read(number) => self.reads.lost(now, cluster, *number),
        }
    }

    /// Takes a code that is about the coordinator rather than the request; gives whether it was one.
    fn mends(&mut self, code: ErrorCode) -> bool {
        if code.refreshes_coordinator() {
            self.coordinator.lost();
        }
        code.refreshes_coordinator() || code == ErrorCode::CoordinatorLoadInProgress
    }

    /// When [`Self::drive`] next has something to do.
    pub(crate) fn waits(&self, earliest: &mut Earliest) {
        self.coordinator.waits(earliest);
        self.commits.waits(earliest);
        self.reads.waits(earliest);
        self.classic.waits(earliest);
        self.modern.waits(earliest);
        if let Some(until) = self.handover.until() {
            earliest.at(until, "commit before a revocation");
        }
        if let Some(leaving) = &self.leaving {
            earliest.at(leaving.until, "leaving a group");
        }
        if self.is_member() && !self.polling {
            earliest.at(self.poll_ends(), "max.poll.interval.ms");
        }
        if self.polling && self.settings().commits_itself() {
            earliest.at(self.next_auto_commit, "auto.commit.interval.ms");
        }
    }

    /// Asks for a commit of what was given out, without anybody who waits for it.
    pub(crate) fn commit_given(
        &mut self,
        now: Now,
        mut offsets: BTreeMap<TopicPartition, OffsetAndMetadata>,
        view: &ClusterView,
    ) {
        if self.subscription.is_some() || self.leaving.is_some() {
            offsets.retain(|at, _| self.handover.owned().contains(at));
        }
        if !offsets.is_empty() {
            let until = now.mono.saturating_add(self.patience());
            self.commits.push((None, offsets, until), view, &mut self.effects);
        }
    }

    /// Asks for a commit.
    pub(crate) fn commit(
        &mut self,
        now: Now,
        token: Token,
        offsets: BTreeMap<TopicPartition, OffsetAndMetadata>,
        view: &ClusterView,
    ) {
        let until = now.mono.saturating_add(self.config.api_timeout);
        self.commits.push((Some(token), offsets, until), view, &mut self.effects);
    }

    /// Asks for committed offsets.
    pub(crate) fn read(&mut self, now: Now, token: Token, parts: Vec<TopicPartition>) {
        let until = now.mono.saturating_add(self.config.api_timeout);
        self.reads.push(token, parts, until, &mut self.effects);
    }
}
