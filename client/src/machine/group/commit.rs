//! Commits: one after the other, repeated as long as it may help.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use dohle_wire::id::TopicId;
use dohle_wire::message::offset_commit_request::{
    OffsetCommitRequestPartition, OffsetCommitRequestTopic,
};
use dohle_wire::message::{OffsetCommitRequest, OffsetCommitResponse};
use dohle_wire::{ApiKey, ErrorCode};

use super::io::{GroupEffect, GroupError, OffsetAndMetadata, Reply};
use super::{Ask, Group, Tags};
use crate::machine::cluster::{Answer, Cluster, ClusterView, Peer};
use crate::machine::time::Earliest;
use crate::machine::{Now, Token, TopicPartition};

/// Most commits that wait.
const WAITING_MAX: usize = 1000;

/// Last version that names topics by name.
const BY_NAME: i16 = 9;

type Offsets = BTreeMap<TopicPartition, OffsetAndMetadata>;

#[derive(Clone, Debug)]
struct Commit {
    token: Option<Token>,
    offsets: Offsets,
    /// The topics that the offsets are about, as far as their ids were known when it was asked for:
    /// a topic that has been created anew since is another one.
    topics: BTreeMap<Arc<str>, TopicId>,
    until: Duration,
}

/// The commits that wait, the first of them perhaps under way.
#[derive(Clone, Debug, Default)]
pub(super) struct Commits {
    queue: VecDeque<Commit>,
    asked: bool,
    /// Number of the request under way, or of the last one.
    number: u64,
    failures: u32,
    not_before: Duration,
}

impl Commits {
    pub(super) fn is_idle(&self) -> bool {
        self.queue.is_empty()
    }

    /// Whether the first commit is one that nobody asked for.
    fn is_own(&self) -> bool {
        self.queue.front().is_some_and(|commit| commit.token.is_none())
    }

    pub(super) fn push(
        &mut self,
        (token, offsets, until): (Option<Token>, Offsets, Duration),
        view: &ClusterView,
        effects: &mut Vec<GroupEffect>,
    ) {
        if self.queue.len() < WAITING_MAX {
            let id_of = |name: &Arc<str>| view.topic(name).map(|topic| topic.id);
            let known = |name: &Arc<str>| id_of(name).filter(|id| *id != TopicId::default());
            let names = offsets.keys().map(|at| &at.topic);
            let topics = names.filter_map(|name| Some((Arc::clone(name), known(name)?))).collect();
            return self.queue.push_back(Commit { token, offsets, topics, until });
        }
        if let Some(token) = token {
            effects.push(GroupEffect::Done { token, result: Err(GroupError::Busy) });
        }
    }

    /// The first commit is over.
    fn end(&mut self, result: Result<(), GroupError>, effects: &mut Vec<GroupEffect>) {
        self.asked = false;
        self.failures = 0;
        let commit = self.queue.pop_front().expect("one that was under way");
        if let Some(token) = commit.token {
            effects.push(GroupEffect::Done { token, result: result.map(|()| Reply::Committing) });
        }
    }

    /// All commits fail.
    pub(super) fn fail(&mut self, error: GroupError, effects: &mut Vec<GroupEffect>) {
        while !self.queue.is_empty() {
            self.end(Err(error.clone()), effects);
        }
    }

    /// A request will never be answered.
    pub(super) fn lost<T: Tags>(&mut self, now: Now, cluster: &mut Cluster<T>, number: u64) {
        if self.asked && self.number == number {
            self.rest(now, cluster);
        }
    }

    /// The first commit has to be tried again.
    pub(super) fn rest<T: Tags>(&mut self, now: Now, cluster: &mut Cluster<T>) {
        self.asked = false;
        let wait = cluster.retry_wait(self.failures);
        self.failures = self.failures.saturating_add(1);
        self.not_before = now.mono.saturating_add(wait);
    }

    pub(super) fn waits(&self, earliest: &mut Earliest) {
        if let Some(first) = self.queue.front() {
            earliest.at(self.not_before, "commit back-off");
            earliest.at(first.until, "commit timeout");
        }
    }
}

impl Group {
    /// Under which generation and member id offsets can be committed now.
    pub(super) fn standing(&self) -> Result<(i32, String), GroupError> {
        let outside = self.subscription.is_none() && self.leaving.is_none();
        match self.identity() {
            None if outside => Ok((-1, String::new())),
            None => Err(GroupError::CommitFailed),
            Some(_) if self.is_classic() && self.classic.is_joining() => {
                Err(GroupError::RebalanceInProgress)
            }
            Some((member, generation)) => Ok((generation, member.to_owned())),
        }
    }

    pub(super) fn drive_commits<T: Tags>(&mut self, now: Now, cluster: &mut Cluster<T>) {
        while !self.commits.asked {
            let Some(first) = self.commits.queue.front() else { return };
            let over = match self.standing() {
                _ if first.offsets.is_empty() => Ok(()),
                _ if first.until <= now.mono => Err(GroupError::TimedOut),
                Err(error) => Err(error),
                Ok(_) if self.commits.not_before > now.mono => return,
                Ok(standing) => {
                    let Some(peer) = self.coordinator.ready(now, cluster, &self.id) else { return };
                    match self.send_commit(now, cluster, peer, standing) {
                        Ok(()) => return,
                        Err(error) => Err(error),
                    }
                }
            };
            self.commits.end(over, &mut self.effects);
        }
    }

    fn send_commit<T: Tags>(
        &mut self,
        now: Now,
        cluster: &mut Cluster<T>,
        peer: Peer,
        (generation, member_id): (i32, String),
    ) -> Result<(), GroupError> {
        let first = self.commits.queue.front().expect("the caller has looked");
        let have_ids = first.offsets.keys().all(|at| first.topics.contains_key(&at.topic));
        let cap = if have_ids { i16::MAX } else { BY_NAME };
        let version = cluster.version(peer, ApiKey::OffsetCommit, cap);
        let version = version.ok_or(GroupError::Unsupported)?;
        let is_member = generation >= 0;
        let mut topics: Vec<OffsetCommitRequestTopic> = Vec::new();
        for (at, committed) in &first.offsets {
            let partition = OffsetCommitRequestPartition {
                partition_index: at.partition,
                committed_offset: committed.offset.0,
                committed_leader_epoch: committed.leader_epoch.map_or(-1, |epoch| epoch.0),
                committed_metadata: Some(committed.metadata.clone()),
            };
            match topics.last_mut().filter(|topic| *topic.name == *at.topic) {
                Some(topic) => topic.partitions.push(partition),
                None => topics.push(OffsetCommitRequestTopic {
                    name: at.topic.to_string(),
                    topic_id: first.topics.get(&at.topic).copied().unwrap_or_default().0,
                    partitions: vec![partition],
                }),
            }
        }
        let request = OffsetCommitRequest {
            group_id: self.id.clone(),
            generation_id_or_member_epoch: generation,
            member_id,
            group_instance_id: self.instance_id(version >= 7 && is_member),
            topics,
            ..OffsetCommitRequest::default()
        };
        self.commits.number += 1;
        let tag = Ask::Commit(self.attempt, self.commits.number).into();
        let sent = cluster.send(now, peer, version, &request, tag);
        sent.map_err(|_| GroupError::Refused(ErrorCode::InvalidRequest))?;
        self.commits.asked = true;
        Ok(())
    }

    pub(super) fn on_committed<T: Tags>(
        &mut self,
        now: Now,
        cluster: &mut Cluster<T>,
        (attempt, number): (u64, u64),
        answer: &Answer<T>,
    ) {
        if !self.commits.asked || self.commits.number != number {
            return;
        }
        let Ok(response) = answer.decode::<OffsetCommitRequest>() else {
            cluster.distrust(now, answer.peer);
            return self.commits.rest(now, cluster);
        };
        cluster.throttle(now, answer.peer, response.throttle_time_ms);
        let code = worst(&response);
        let current = attempt == self.attempt;
        let over = match code {
            ErrorCode::None => Ok(()),
            code if self.mends(code) => return self.commits.rest(now, cluster),
            ErrorCode::RequestTimedOut => {
                self.coordinator.lost();
                return self.commits.rest(now, cluster);
            }
            // The next heartbeat brings the epoch that the coordinator has.
            ErrorCode::StaleMemberEpoch => return self.commits.rest(now, cluster),
            // Nobody waits for the offset of a topic that is gone, and the others are committed.
            code if is_gone(code) && self.commits.is_own() => Ok(()),
            // The group waits for what the application does when it loses partitions.
            code if is_gone(code) && self.handover.is_told() => Err(GroupError::Refused(code)),
            code if code.is_retriable() => return self.commits.rest(now, cluster),
            ErrorCode::FencedInstanceId => {
                if current {
                    return self.die(GroupError::Fenced);
                }
                Err(GroupError::Fenced)
            }
            ErrorCode::RebalanceInProgress => {
                if current && self.is_classic() {
                    self.rejoin();
                }
                Err(GroupError::RebalanceInProgress)
            }
            // From version 9 on a coordinator says of a group that it has forgotten that there is none.
            ErrorCode::UnknownMemberId
            | ErrorCode::IllegalGeneration
            | ErrorCode::GroupIdNotFound => {
                if current && self.is_classic() && self.is_member() && self.leaving.is_none() {
                    self.reset(code == ErrorCode::IllegalGeneration);
                }
                Err(GroupError::CommitFailed)
            }
            ErrorCode::FencedMemberEpoch => Err(GroupError::CommitFailed),
            code => Err(GroupError::Refused(code)),
        };
        self.commits.end(over, &mut self.effects);
    }

    /// The instance id for a request that can carry it.
    pub(super) fn instance_id(&self, fits: bool) -> Option<String> {
        self.settings().instance_id.clone().filter(|_| fits)
    }
}

/// Whether a topic is not there, or is not the one that was meant.
const fn is_gone(code: ErrorCode) -> bool {
    matches!(code, ErrorCode::UnknownTopicOrPartition | ErrorCode::UnknownTopicId)
}

/// The code that decides about a whole commit: one that ends it counts more than one that passes.
fn worst(response: &OffsetCommitResponse) -> ErrorCode {
    let parts = response.topics.iter().flat_map(|topic| &topic.partitions);
    let codes = parts.map(|part| ErrorCode::from(part.error_code));
    let bad = codes.filter(|code| *code != ErrorCode::None);
    bad.min_by_key(|code| code.is_retriable()).unwrap_or(ErrorCode::None)
}
