//! Reading committed offsets: to know where to start, and for those who ask.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use dohle_wire::id::{LeaderEpoch, Offset, TopicId};
use dohle_wire::message::offset_fetch_request::{
    OffsetFetchRequestGroup, OffsetFetchRequestTopic, OffsetFetchRequestTopics,
};
use dohle_wire::message::{OffsetFetchRequest, OffsetFetchResponse};
use dohle_wire::{ApiKey, ErrorCode};

use super::io::{GroupEffect, GroupError, OffsetAndMetadata, Reply};
use super::{Ask, Group, Tags, by_topic};
use crate::machine::cluster::{Answer, Cluster, Peer};
use crate::machine::time::Earliest;
use crate::machine::{Now, Token, TopicPartition};

/// Most questions that wait.
const WAITING_MAX: usize = 1000;

/// Last version that names topics by name.
const BY_NAME: i16 = 9;

/// First version that asks about several groups.
const BATCHED: i16 = 8;

type Offsets = BTreeMap<TopicPartition, Result<Option<OffsetAndMetadata>, ErrorCode>>;

/// Whose question it is.
#[derive(Clone, Debug)]
enum For {
    /// The reading side's, with what it needs to recognise the answer.
    Start(Vec<(TopicPartition, u64)>),
    Call(Token, Vec<TopicPartition>, Duration),
}

impl For {
    fn parts(&self) -> Vec<&TopicPartition> {
        match self {
            Self::Start(parts) => parts.iter().map(|(at, _)| at).collect(),
            Self::Call(_, parts, _) => parts.iter().collect(),
        }
    }
}

/// The committed offset of a partition that is to be read: `None` if there is none; an error says
/// that the reading side has to ask again, or to give up if it does not pass.
#[derive(Clone, Debug)]
pub(in crate::machine) struct Found {
    pub(in crate::machine) at: TopicPartition,
    pub(in crate::machine) generation: u64,
    pub(in crate::machine) outcome: Result<Option<OffsetAndMetadata>, ErrorCode>,
}

/// The questions that wait, the first of them perhaps asked.
#[derive(Clone, Debug, Default)]
pub(super) struct Reads {
    queue: VecDeque<For>,
    asked: bool,
    /// Number of the request under way, or of the last one.
    number: u64,
    /// The topics of that request, if it named them by id.
    topics: BTreeMap<TopicId, Arc<str>>,
    failures: u32,
    not_before: Duration,
    found: VecDeque<Found>,
}

impl Reads {
    pub(super) fn push(
        &mut self,
        token: Token,
        parts: Vec<TopicPartition>,
        until: Duration,
        effects: &mut Vec<GroupEffect>,
    ) {
        if self.queue.len() < WAITING_MAX {
            return self.queue.push_back(For::Call(token, parts, until));
        }
        effects.push(GroupEffect::Done { token, result: Err(GroupError::Busy) });
    }

    /// A request will never be answered.
    pub(super) fn lost<T: Tags>(&mut self, now: Now, cluster: &mut Cluster<T>, number: u64) {
        if self.asked && self.number == number {
            self.rest(now, cluster);
        }
    }

    fn rest<T: Tags>(&mut self, now: Now, cluster: &mut Cluster<T>) {
        self.asked = false;
        let wait = cluster.retry_wait(self.failures);
        self.failures = self.failures.saturating_add(1);
        self.not_before = now.mono.saturating_add(wait);
    }

    /// All questions fail.
    pub(super) fn fail(&mut self, error: GroupError, effects: &mut Vec<GroupEffect>) {
        self.asked = false;
        let code = match error {
            GroupError::Refused(code) => code,
            _ => ErrorCode::UnknownServerError,
        };
        for each in std::mem::take(&mut self.queue) {
            match each {
                For::Start(parts) => {
                    self.found.extend(parts.into_iter().map(|(at, generation)| Found {
                        at,
                        generation,
                        outcome: Err(code),
                    }));
                }
                For::Call(token, ..) => {
                    effects.push(GroupEffect::Done { token, result: Err(error.clone()) });
                }
            }
        }
    }

    pub(super) fn waits(&self, earliest: &mut Earliest) {
        if let Some(first) = self.queue.front() {
            earliest.at(self.not_before, "offset fetch back-off");
            if let For::Call(.., until) = first {
                earliest.at(*until, "default.api.timeout.ms");
            }
        }
    }
}

impl Group {
    /// Where to start reading these; the answers come from [`Self::next_found`].
    pub(crate) fn find_starts(&mut self, parts: Vec<(TopicPartition, u64)>) {
        self.reads.queue.push_back(For::Start(parts));
    }

    pub(in crate::machine) fn next_found(&mut self) -> Option<Found> {
        self.reads.found.pop_front()
    }

    pub(super) fn drive_reads<T: Tags>(&mut self, now: Now, cluster: &mut Cluster<T>) {
        while !self.reads.asked {
            let Some(first) = self.reads.queue.front() else { return };
            if let For::Call(token, _, until) = first
                && *until <= now.mono
            {
                let (token, result) = (*token, Err(GroupError::TimedOut));
                self.effects.push(GroupEffect::Done { token, result });
                self.reads.queue.pop_front();
                continue;
            }
            // Behind a join that the coordinator holds back, the question would time out.
            let held_back = self.is_classic() && self.classic.is_joining();
            if held_back || self.reads.not_before > now.mono {
                return;
            }
            let Some(peer) = self.coordinator.ready(now, cluster, &self.id) else { return };
            return self.send_read(now, cluster, peer);
        }
    }

    fn send_read<T: Tags>(&mut self, now: Now, cluster: &mut Cluster<T>, peer: Peer) {
        let first = self.reads.queue.front().expect("the caller has looked");
        let view = cluster.view();
        // Of a topic that is gone only its name is worth asking for.
        let id_of = |name: &Arc<str>| {
            let topic = view.topic(name).filter(|topic| topic.error == ErrorCode::None);
            topic.map(|topic| topic.id).filter(|id| *id != TopicId::default())
        };
        let ids: Option<BTreeMap<&Arc<str>, TopicId>> =
            first.parts().into_iter().map(|at| Some((&at.topic, id_of(&at.topic)?))).collect();
        let cap = if ids.is_some() { i16::MAX } else { BY_NAME };
        let Some(version) = cluster.version(peer, ApiKey::OffsetFetch, cap) else {
            return self.reads.fail(GroupError::Unsupported, &mut self.effects);
        };
        let ids = ids.unwrap_or_default();
        let mut request =
            OffsetFetchRequest { require_stable: version >= 7, ..OffsetFetchRequest::default() };
        let parts = first.parts();
        let topics = by_topic(parts);
        if version >= BATCHED {
            let topics = topics.into_iter().map(|(name, partition_indexes)| {
                let topic_id = ids.get(name).copied().unwrap_or_default().0;
                OffsetFetchRequestTopics { name: name.to_string(), topic_id, partition_indexes }
            });
            let member = self.identity().filter(|_| !self.is_classic() && version >= 9);
            request.groups = vec![OffsetFetchRequestGroup {
                group_id: self.id.clone(),
                member_id: member.map(|(id, _)| id.to_owned()),
                member_epoch: member.map_or(-1, |(_, epoch)| epoch),
                topics: Some(topics.collect()),
            }];
        } else {
            let topics = topics.into_iter().map(|(name, partition_indexes)| {
                OffsetFetchRequestTopic { name: name.to_string(), partition_indexes }
            });
            request.group_id.clone_from(&self.id);
            request.topics = Some(topics.collect());
        }
        self.reads.topics = ids.into_iter().map(|(name, id)| (id, Arc::clone(name))).collect();
        self.reads.number += 1;
        let tag = Ask::Read(self.reads.number).into();
        match cluster.send(now, peer, version, &request, tag) {
            Ok(()) => self.reads.asked = true,
            Err(_) => self.reads.fail(GroupError::Unsupported, &mut self.effects),
        }
    }

    pub(super) fn on_read<T: Tags>(
        &mut self,
        now: Now,
        cluster: &mut Cluster<T>,
        number: u64,
        answer: &Answer<T>,
    ) {
        if !self.reads.asked || self.reads.number != number {
            return;
        }
        let Ok(response) = answer.decode::<OffsetFetchRequest>() else {
            cluster.distrust(now, answer.peer);
            return self.reads.rest(now, cluster);
        };
        cluster.throttle(now, answer.peer, response.throttle_time_ms);
        let (code, offsets) = read(response, &self.reads.topics);
        match code {
            ErrorCode::None => {}
            code if self.mends(code) || code.is_retriable() => {
                return self.reads.rest(now, cluster);
            }
            // The membership has changed since; the next answer is about the new one.
            ErrorCode::UnknownMemberId | ErrorCode::StaleMemberEpoch => {
                return self.reads.rest(now, cluster);
            }
            code => return self.reads.fail(GroupError::Refused(code), &mut self.effects),
        }
        // A transaction is about to change an offset.
        if offsets.values().any(|each| each.as_ref().is_err_and(|code| code.is_retriable())) {
            if offsets.values().any(|each| *each == Err(ErrorCode::UnknownTopicId)) {
                cluster.want_metadata();
            }
            return self.reads.rest(now, cluster);
        }
        self.reads.asked = false;
        self.reads.failures = 0;
        match self.reads.queue.pop_front().expect("one that was asked") {
            For::Start(parts) => {
                self.reads.found.extend(parts.into_iter().map(|(at, generation)| {
                    let outcome = offsets.get(&at).cloned();
                    let outcome = outcome.unwrap_or(Err(ErrorCode::UnknownServerError));
                    Found { at, generation, outcome }
                }));
            }
            For::Call(token, ..) => {
                let each = offsets.into_iter().filter_map(|(at, one)| match one {
                    Ok(committed) => Some(Ok((at, committed?))),
                    Err(code) => Some(Err(GroupError::Refused(code))),
                });
                let result = each.collect::<Result<_, _>>().map(Reply::Committed);
                self.effects.push(GroupEffect::Done { token, result });
            }
        }
    }
}

fn read(
    response: OffsetFetchResponse,
    topics: &BTreeMap<TopicId, Arc<str>>,
) -> (ErrorCode, Offsets) {
    let mut offsets = Offsets::new();
    let mut add = |topic: &str, index: i32, code: i16, (offset, epoch): (i64, i32), note| {
        let outcome = match ErrorCode::from(code) {
            ErrorCode::None if offset < 0 => Ok(None),
            ErrorCode::None => Ok(Some(OffsetAndMetadata {
                offset: Offset(offset),
                leader_epoch: (epoch >= 0).then_some(LeaderEpoch(epoch)),
                metadata: note,
            })),
            code => Err(code),
        };
        offsets.insert(TopicPartition::new(topic, index), outcome);
    };
    let mut code = ErrorCode::from(response.error_code);
    for topic in response.topics {
        for part in topic.partitions {
            let place = (part.committed_offset, part.committed_leader_epoch);
            let note = part.metadata.unwrap_or_default();
            add(&topic.name, part.partition_index, part.error_code, place, note);
        }
    }
    for group in response.groups {
        code = group.error_code.into();
        for topic in group.topics {
            let named = topics.get(&TopicId(topic.topic_id)).filter(|_| topic.name.is_empty());
            let name = named.map_or(topic.name.as_str(), |name| name);
            for part in topic.partitions {
                let place = (part.committed_offset, part.committed_leader_epoch);
                let note = part.metadata.unwrap_or_default();
                add(name, part.partition_index, part.error_code, place, note);
            }
        }
    }
    (code, offsets)
}
