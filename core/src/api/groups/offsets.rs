//! Committed offsets: OffsetCommit, OffsetFetch, OffsetDelete.

use std::collections::BTreeMap;
use std::sync::Arc;

use dohle_wire::codec::{DecodeError, Reader};
use dohle_wire::error::ErrorCode;
use dohle_wire::id::{LeaderEpoch, Offset, PartitionIndex, Timestamp, TopicId, Uuid};
use dohle_wire::message::{
    OffsetCommitRequest, OffsetCommitResponse, OffsetCommitResponsePartition,
    OffsetCommitResponseTopic, OffsetDeleteRequest, OffsetDeleteResponse,
    OffsetDeleteResponsePartition, OffsetDeleteResponseTopic, OffsetFetchRequest,
    OffsetFetchRequestGroup, OffsetFetchRequestTopics, OffsetFetchResponse,
    OffsetFetchResponseGroup, OffsetFetchResponsePartition, OffsetFetchResponsePartitions,
    OffsetFetchResponseTopic, OffsetFetchResponseTopics,
};

use super::{Form, GroupAnswer, GroupCall, GroupRequest, ODD, shared};
use crate::api::lookup::TopicKey;
use crate::api::{Begun, Ctx, Outcome, reply};
use crate::group::request::{Caller, Commit, CommitPart, Committed, DeleteOffsets, Fetch, Found};
use crate::image::TopicImage;

/// First version of OffsetCommit and OffsetFetch that names topics by id.
const IDS_FROM: i16 = 10;

/// First version of OffsetCommit whose clients know of the epochs of members (KIP-848).
const EPOCHS_FROM: i16 = 9;

/// First version of OffsetFetch that asks for several groups.
const GROUPS_FROM: i16 = 8;

/// First version of OffsetFetch whose answer has a code of its own.
const TOP_ERROR_FROM: i16 = 2;

/// Topics with their partitions, and a code for those that no coordinator is asked about.
type Named = Vec<(TopicKey, Vec<(i32, Option<ErrorCode>)>)>;

/// What was to be committed.
#[derive(Clone, Debug)]
pub(super) struct Commits(Named);

/// The topic, if it has the partition.
fn has(topic: &TopicImage, index: i32) -> Result<&TopicImage, ErrorCode> {
    let found = topic.partition(PartitionIndex(index));
    found.map(|_| topic).ok_or(ErrorCode::UnknownTopicOrPartition)
}

pub(in crate::api) fn begin_commit(
    ctx: &mut Ctx<'_>,
    body: &mut Reader,
) -> Result<Begun, DecodeError> {
    let request: OffsetCommitRequest = ctx.decode(body)?;
    let by_id = ctx.version() >= IDS_FROM;
    let now = ctx.now.wall;
    let expires = (request.retention_time_ms >= 0)
        .then(|| Timestamp(now.0.saturating_add(request.retention_time_ms)));
    let (mut named, mut offsets) = (Named::new(), Vec::new());
    for topic in request.topics {
        let key = TopicKey::of(by_id, topic.name, topic.topic_id);
        let found = key.find(ctx.image).cloned();
        let mut partitions = Vec::with_capacity(topic.partitions.len());
        for part in topic.partitions {
            let found = found.as_ref().map_err(|code| *code);
            let found = found.and_then(|topic| has(topic, part.partition_index));
            partitions.push((part.partition_index, found.err()));
            let Ok(TopicImage { name: topic, id, .. }) = found else { continue };
            let value = Committed {
                offset: Offset(part.committed_offset),
                leader_epoch: LeaderEpoch(part.committed_leader_epoch),
                metadata: shared(part.committed_metadata.unwrap_or_default()),
                at: now,
                expires,
                topic_id: Some(*id),
            };
            let partition = PartitionIndex(part.partition_index);
            offsets.push(CommitPart {
                topic: Arc::clone(topic),
                topic_id: Some(*id),
                partition,
                value,
            });
        }
        named.push((key, partitions));
    }
    let caller = Caller {
        group: shared(request.group_id),
        member: shared(request.member_id),
        instance: request.group_instance_id.map(shared),
        generation: request.generation_id_or_member_epoch,
    };
    let mut call = GroupCall::new(ctx, Form::Commit(Commits(named)));
    if !offsets.is_empty() {
        let group = caller.group.clone();
        let knows_epochs = ctx.version() >= EPOCHS_FROM;
        call.ask(ctx, &group, GroupRequest::Commit(Commit { caller, knows_epochs, offsets }));
    }
    Ok(call.begun(ctx))
}

/// The code of each partition: what is known, or else the next of the coordinator's.
fn codes(answer: Option<Result<Vec<ErrorCode>, ErrorCode>>) -> impl FnMut() -> ErrorCode {
    let (whole, each) = match answer {
        Some(Ok(codes)) => (ODD, codes),
        Some(Err(code)) => (code, Vec::new()),
        None => (ODD, Vec::new()),
    };
    let mut each = each.into_iter();
    move || each.next().unwrap_or(whole)
}

impl Commits {
    pub(super) fn finish(self, ctx: &Ctx<'_>, answer: Option<GroupAnswer>) -> Outcome {
        let mut next = codes(match answer {
            Some(GroupAnswer::Committed(codes)) => Some(codes),
            _ => None,
        });
        let topics = self.0.into_iter().map(|(key, partitions)| {
            let partitions = partitions.into_iter().map(|(partition_index, known)| {
                let error_code = known.unwrap_or_else(&mut next).code();
                OffsetCommitResponsePartition { partition_index, error_code }
            });
            let partitions = partitions.collect();
            OffsetCommitResponseTopic { name: key.name(), topic_id: key.id(), partitions }
        });
        let response = OffsetCommitResponse { topics: topics.collect(), ..Default::default() };
        reply::answer(ctx, &response)
    }
}

/// The groups whose offsets are asked for.
#[derive(Clone, Debug)]
pub(super) struct Fetches(Vec<(String, Wanted)>);

/// Topics with the partitions asked for; none for all that have a committed offset.
type Wanted = Option<Vec<(TopicKey, Vec<i32>)>>;

pub(in crate::api) fn begin_fetch(
    ctx: &mut Ctx<'_>,
    body: &mut Reader,
) -> Result<Begun, DecodeError> {
    let request: OffsetFetchRequest = ctx.decode(body)?;
    let groups = if ctx.version() >= GROUPS_FROM { request.groups } else { vec![only(request)] };
    let by_id = ctx.version() >= IDS_FROM;
    let wanted = |topics: Vec<OffsetFetchRequestTopics>| {
        let topics = topics.into_iter();
        topics
            .map(|t| (TopicKey::of(by_id, t.name, t.topic_id), t.partition_indexes))
            .collect::<Vec<_>>()
    };
    let mut asked = Vec::with_capacity(groups.len());
    let mut fetches = Vec::with_capacity(groups.len());
    for group in groups {
        let wanted = group.topics.map(wanted);
        let partitions = wanted.as_ref().map(|wanted| partitions(ctx, wanted));
        let member = match (group.member_id, group.member_epoch) {
            (None, ..0) => None,
            (id, epoch) => Some((shared(id.unwrap_or_default()), epoch)),
        };
        fetches.push(Fetch { group: shared(group.group_id.clone()), member, partitions });
        asked.push((group.group_id, wanted));
    }
    let mut call = GroupCall::new(ctx, Form::Fetch(Fetches(asked)));
    for fetch in fetches {
        let group = fetch.group.clone();
        call.ask(ctx, &group, GroupRequest::Fetch(fetch));
    }
    Ok(call.begun(ctx))
}

/// What older versions ask, in the form of newer ones.
fn only(request: OffsetFetchRequest) -> OffsetFetchRequestGroup {
    let topics = request.topics.map(|topics| {
        let topics = topics.into_iter().map(|topic| OffsetFetchRequestTopics {
            name: topic.name,
            topic_id: Uuid::ZERO,
            partition_indexes: topic.partition_indexes,
        });
        topics.collect()
    });
    OffsetFetchRequestGroup { group_id: request.group_id, topics, ..Default::default() }
}

/// The partitions of topics that are known; committed offsets go by name, and may be there for
/// topics that are not.
fn partitions(ctx: &Ctx<'_>, wanted: &[(TopicKey, Vec<i32>)]) -> Vec<(Arc<str>, PartitionIndex)> {
    let mut partitions = Vec::new();
    for (key, indexes) in wanted {
        let Some(name) = name_of(ctx, key) else { continue };
        partitions.extend(indexes.iter().map(|index| (Arc::clone(&name), PartitionIndex(*index))));
    }
    partitions
}

fn name_of(ctx: &Ctx<'_>, key: &TopicKey) -> Option<Arc<str>> {
    match key {
        TopicKey::Name(name) => Some(Arc::clone(name)),
        TopicKey::Id(_) => key.find(ctx.image).ok().map(|topic| Arc::clone(&topic.name)),
    }
}

impl Fetches {
    pub(super) fn finish(
        self,
        ctx: &Ctx<'_>,
        answers: impl Iterator<Item = GroupAnswer>,
    ) -> Outcome {
        let groups = self.0.into_iter().zip(answers).map(|((group_id, wanted), answer)| {
            let found = match answer {
                GroupAnswer::Fetched(found) => found,
                _ => Err(ODD),
            };
            group(ctx, group_id, wanted, found)
        });
        let mut groups: Vec<OffsetFetchResponseGroup> = groups.collect();
        if ctx.version() >= GROUPS_FROM {
            return reply::answer(ctx, &OffsetFetchResponse { groups, ..Default::default() });
        }
        let only = groups.pop().unwrap_or_default();
        reply::answer(ctx, &older(ctx, only))
    }
}

fn group(
    ctx: &Ctx<'_>,
    group_id: String,
    wanted: Wanted,
    found: Result<Found, ErrorCode>,
) -> OffsetFetchResponseGroup {
    let (found, error) = match found {
        Ok(found) => (found, ErrorCode::None),
        Err(code) => (Vec::new(), code),
    };
    let topics = match wanted {
        Some(wanted) if error == ErrorCode::None => asked_for(ctx, wanted, found),
        // Old versions have nowhere else to say what is wrong.
        Some(wanted) if ctx.version() < TOP_ERROR_FROM => refused(wanted, error),
        Some(_) => Vec::new(),
        None => all(ctx, found),
    };
    OffsetFetchResponseGroup { group_id, topics, error_code: error.code() }
}

/// An answer for each partition asked for, in the order of the request.
fn asked_for(
    ctx: &Ctx<'_>,
    wanted: Vec<(TopicKey, Vec<i32>)>,
    found: Found,
) -> Vec<OffsetFetchResponseTopics> {
    let found: BTreeMap<(Arc<str>, i32), Option<Committed>> =
        found.into_iter().map(|(topic, index, value)| ((topic, index.0), value)).collect();
    let topics = wanted.into_iter().map(|(key, indexes)| {
        let known = name_of(ctx, &key);
        let partitions = indexes.into_iter().map(|index| match &known {
            Some(name) => {
                let value = found.get(&(Arc::clone(name), index)).cloned().flatten();
                position(index, value)
            }
            None => nothing(index, ErrorCode::UnknownTopicId),
        });
        let partitions = partitions.collect();
        OffsetFetchResponseTopics { name: key.name(), topic_id: key.id(), partitions }
    });
    topics.collect()
}

fn refused(wanted: Vec<(TopicKey, Vec<i32>)>, error: ErrorCode) -> Vec<OffsetFetchResponseTopics> {
    let topics = wanted.into_iter().map(|(key, indexes)| {
        let partitions = indexes.into_iter().map(|index| nothing(index, error)).collect();
        OffsetFetchResponseTopics { name: key.name(), topic_id: key.id(), partitions }
    });
    topics.collect()
}

/// Everything that was found, by topic. Topics without an id cannot be named where ids are
/// wanted.
fn all(ctx: &Ctx<'_>, found: Found) -> Vec<OffsetFetchResponseTopics> {
    let mut topics: BTreeMap<Arc<str>, Vec<OffsetFetchResponsePartitions>> = BTreeMap::new();
    for (topic, index, value) in found.into_iter().filter(|(_, _, value)| value.is_some()) {
        topics.entry(topic).or_default().push(position(index.0, value));
    }
    let by_id = ctx.version() >= IDS_FROM;
    let topics = topics.into_iter().filter_map(|(name, partitions)| {
        let id = ctx.image.topic(&name).map(|topic| topic.id);
        let (name, topic_id) = match (by_id, id) {
            (true, Some(TopicId(id))) => (String::new(), id),
            (true, None) => return None,
            (false, _) => (name.to_string(), Uuid::ZERO),
        };
        Some(OffsetFetchResponseTopics { name, topic_id, partitions })
    });
    topics.collect()
}

fn position(partition_index: i32, value: Option<Committed>) -> OffsetFetchResponsePartitions {
    match value {
        Some(value) => OffsetFetchResponsePartitions {
            partition_index,
            committed_offset: value.offset.0,
            committed_leader_epoch: value.leader_epoch.0,
            metadata: Some(value.metadata.to_string()),
            error_code: ErrorCode::None.code(),
        },
        None => nothing(partition_index, ErrorCode::None),
    }
}

fn nothing(partition_index: i32, error: ErrorCode) -> OffsetFetchResponsePartitions {
    OffsetFetchResponsePartitions {
        partition_index,
        committed_offset: -1,
        committed_leader_epoch: -1,
        metadata: Some(String::new()),
        error_code: error.code(),
    }
}

/// The answer for one group in the form of older versions.
fn older(ctx: &Ctx<'_>, only: OffsetFetchResponseGroup) -> OffsetFetchResponse {
    let topics = only.topics.into_iter().map(|topic| OffsetFetchResponseTopic {
        name: topic.name,
        partitions: topic
            .partitions
            .into_iter()
            .map(|part| OffsetFetchResponsePartition {
                partition_index: part.partition_index,
                committed_offset: part.committed_offset,
                committed_leader_epoch: part.committed_leader_epoch,
                metadata: part.metadata,
                error_code: part.error_code,
            })
            .collect(),
    });
    let error_code = if ctx.version() >= TOP_ERROR_FROM { only.error_code } else { 0 };
    OffsetFetchResponse { topics: topics.collect(), error_code, ..Default::default() }
}

/// What was to be forgotten.
#[derive(Clone, Debug)]
pub(super) struct Deletions(Named);

pub(in crate::api) fn begin_delete_offsets(
    ctx: &mut Ctx<'_>,
    body: &mut Reader,
) -> Result<Begun, DecodeError> {
    let request: OffsetDeleteRequest = ctx.decode(body)?;
    let (mut named, mut partitions) = (Named::new(), Vec::new());
    for topic in request.topics {
        let found = ctx.image.topic(&topic.name).ok_or(ErrorCode::UnknownTopicOrPartition);
        let name = shared(topic.name);
        let mut indexes = Vec::with_capacity(topic.partitions.len());
        for index in topic.partitions.iter().map(|part| part.partition_index) {
            let unknown = found.and_then(|topic| has(topic, index)).err();
            indexes.push((index, unknown));
            if unknown.is_none() {
                partitions.push((Arc::clone(&name), PartitionIndex(index)));
            }
        }
        named.push((TopicKey::Name(name), indexes));
    }
    let group = shared(request.group_id);
    let mut call = GroupCall::new(ctx, Form::DeleteOffsets(Deletions(named)));
    let delete = DeleteOffsets { group: Arc::clone(&group), partitions };
    call.ask(ctx, &group, GroupRequest::DeleteOffsets(delete));
    Ok(call.begun(ctx))
}

impl Deletions {
    pub(super) fn finish(self, ctx: &Ctx<'_>, answer: Option<GroupAnswer>) -> Outcome {
        let codes = match answer {
            Some(GroupAnswer::OffsetsDeleted(codes)) => codes,
            _ => Err(ODD),
        };
        let mut each = match codes {
            Ok(codes) => codes.into_iter(),
            Err(error) => {
                let error_code = error.code();
                let response = OffsetDeleteResponse { error_code, ..Default::default() };
                return reply::answer(ctx, &response);
            }
        };
        let topics = self.0.into_iter().map(|(key, partitions)| {
            let partitions = partitions.into_iter().map(|(partition_index, known)| {
                let code = known.or_else(|| each.next()).unwrap_or(ODD);
                OffsetDeleteResponsePartition { partition_index, error_code: code.code() }
            });
            OffsetDeleteResponseTopic { name: key.name(), partitions: partitions.collect() }
        });
        let response = OffsetDeleteResponse { topics: topics.collect(), ..Default::default() };
        reply::answer(ctx, &response)
    }
}
