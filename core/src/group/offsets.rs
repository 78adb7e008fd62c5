//! Committed offsets of a group: OffsetCommit, OffsetFetch, OffsetDelete, and how they end.

use std::collections::BTreeMap;
use std::sync::Arc;

use dohle_wire::error::ErrorCode;
use dohle_wire::id::{PartitionIndex, Timestamp};

use super::classic::{ClassicGroup, ClassicState};
use super::record::Record;
use super::request::{Answer, Commit, Committed, DeleteOffsets, Fetch, Found, GroupId};
use super::{Ctx, Group, GroupSettings, Kind};
use crate::mail::ReplyTo;
use crate::mutant::Mutant;

/// Committed offsets by topic and partition.
pub(super) type Offsets = BTreeMap<Key, Committed>;

/// A partition, by its topic's name.
type Key = (Arc<str>, PartitionIndex);

impl Group {
    /// OffsetCommit.
    pub(super) fn on_commit(&mut self, reply: ReplyTo, commit: &Commit, ctx: &mut Ctx<'_>) {
        match self.commit(commit, ctx) {
            Ok((records, codes)) => {
                ctx.append(records, vec![(reply, Answer::Committed(Ok(codes)))]);
            }
            Err(code) => ctx.answer(reply, Answer::Committed(Err(code))),
        }
    }

    fn commit(
        &mut self,
        commit: &Commit,
        ctx: &mut Ctx<'_>,
    ) -> Result<(Vec<Record>, Vec<ErrorCode>), ErrorCode> {
        let caller = &commit.caller;
        if self.is_nothing() && caller.generation >= 0 {
            return Err(match commit.knows_epochs {
                true => ErrorCode::GroupIdNotFound,
                false => ErrorCode::IllegalGeneration,
            });
        }
        let unchecked = ctx.settings.mutants.has(Mutant::NoGenerationCheck);
        match &mut self.kind {
            Kind::Classic(_) if unchecked => {}
            Kind::Classic(group) => {
                group.check_commit(caller)?;
                group.hear(&caller.member, ctx.now);
            }
            Kind::Consumer(group) => group.check_commit(commit)?,
        }
        let (mut records, mut codes) = (Vec::new(), Vec::new());
        for part in &commit.offsets {
            if too_long(&part.value.metadata, ctx.settings.offset_metadata_max_bytes) {
                codes.push(ErrorCode::OffsetMetadataTooLarge);
                continue;
            }
            let topic_id = part.topic_id.or(part.value.topic_id);
            let value = Committed { at: ctx.now.wall, topic_id, ..part.value.clone() };
            let key = (Arc::clone(&part.topic), part.partition);
            records.push(record(self.name(), &key, Some(value.clone())));
            self.offsets.insert(key, value);
            codes.push(ErrorCode::None);
        }
        Ok((records, codes))
    }

    /// OffsetFetch. A group that nobody has heard of has no offsets.
    pub(super) fn on_fetch(&self, reply: ReplyTo, fetch: &Fetch, ctx: &mut Ctx<'_>) {
        if let Kind::Consumer(group) = &self.kind
            && let Err(code) = group.check_fetch(fetch)
        {
            return ctx.answer_committed(reply, Answer::Fetched(Err(code)));
        }
        let found: Found = match &fetch.partitions {
            None => {
                let all = self.offsets.iter();
                all.map(|((topic, index), value)| (topic.clone(), *index, Some(value.clone())))
                    .collect()
            }
            Some(asked) => {
                let found = asked.iter().map(|key| {
                    let value = self.offsets.get(key).cloned();
                    (Arc::clone(&key.0), key.1, value)
                });
                found.collect()
            }
        };
        ctx.answer_committed(reply, Answer::Fetched(Ok(found)));
    }

    /// OffsetDelete.
    pub(super) fn on_delete_offsets(
        &mut self,
        reply: ReplyTo,
        delete: &DeleteOffsets,
        ctx: &mut Ctx<'_>,
    ) {
        match self.delete_offsets(delete) {
            Ok((records, codes)) => {
                ctx.append(records, vec![(reply, Answer::OffsetsDeleted(Ok(codes)))]);
            }
            Err(code) => ctx.answer_committed(reply, Answer::OffsetsDeleted(Err(code))),
        }
    }

    fn delete_offsets(
        &mut self,
        delete: &DeleteOffsets,
    ) -> Result<(Vec<Record>, Vec<ErrorCode>), ErrorCode> {
        if delete.group.is_empty() {
            return Err(ErrorCode::InvalidGroupId);
        }
        if self.is_nothing() {
            return Err(ErrorCode::GroupIdNotFound);
        }
        if let Kind::Classic(group) = &self.kind
            && group.state() != ClassicState::Empty
            && !group.is_consumer()
        {
            return Err(ErrorCode::NonEmptyGroup);
        }
        let (mut records, mut codes) = (Vec::new(), Vec::new());
        for key in &delete.partitions {
            let subscribed = self.is_subscribed(&key.0);
            if !subscribed && self.offsets.remove(key).is_some() {
                records.push(record(self.name(), key, None));
            }
            let refused = subscribed.then_some(ErrorCode::GroupSubscribedToTopic);
            codes.push(refused.unwrap_or(ErrorCode::None));
        }
        Ok((records, codes))
    }

    fn is_subscribed(&self, topic: &str) -> bool {
        match &self.kind {
            Kind::Classic(group) => group.is_subscribed(topic),
            Kind::Consumer(group) => group.is_subscribed(topic),
        }
    }

    /// Topics are no more: nobody will read on where they ended.
    pub(super) fn forget_topics(&mut self, topics: &[Arc<str>], ctx: &mut Ctx<'_>) {
        let gone: Vec<Key> = topics.iter().flat_map(|topic| self.keys_of(topic)).collect();
        let records = gone.iter().filter_map(|key| self.forget(key)).collect();
        ctx.append(records, Vec::new());
    }

    /// Whether an offset of one of the topics is committed.
    pub(super) fn has_offsets_of(&self, topics: &[Arc<str>]) -> bool {
        topics.iter().any(|topic| self.keys_of(topic).next().is_some())
    }

    fn keys_of(&self, topic: &Arc<str>) -> impl Iterator<Item = Key> {
        let bound = |index| (Arc::clone(topic), PartitionIndex(index));
        let range = self.offsets.range(bound(i32::MIN)..=bound(i32::MAX));
        range.map(|(key, _)| key.clone())
    }

    /// Forgets what was committed long ago, and the group when that was all of it.
    pub(super) fn clean_up(&mut self, ctx: &mut Ctx<'_>) {
        let now = ctx.now.wall;
        let expired = self.offsets.iter().filter(|((topic, _), value)| {
            self.expires_at(topic, value, ctx.settings).is_some_and(|at| at <= now)
        });
        let expired: Vec<Key> = expired.map(|(key, _)| key.clone()).collect();
        let mut records: Vec<_> = expired.iter().filter_map(|key| self.forget(key)).collect();
        if self.offsets.is_empty() && self.is_deserted() {
            records.extend(self.end());
        }
        ctx.append(records, Vec::new());
    }

    /// Whether nobody is in it, nor about to be.
    fn is_deserted(&self) -> bool {
        match &self.kind {
            Kind::Classic(group) => group.is_deserted(),
            Kind::Consumer(group) => group.is_empty(),
        }
    }

    /// When an offset may be forgotten; none while someone may need it.
    fn expires_at(
        &self,
        topic: &str,
        value: &Committed,
        settings: &GroupSettings,
    ) -> Option<Timestamp> {
        let mutants = settings.mutants;
        let rests = Timestamp(value.at.0.saturating_add(settings.offsets_retention_ms));
        let unused = match &self.kind {
            Kind::Classic(group)
                if group.state() == ClassicState::PreparingRebalance
                    && mutants.has(Mutant::OffsetsExpireInRebalance) =>
            {
                return Some(rests);
            }
            Kind::Classic(group) => unused_since(group, value)?,
            Kind::Consumer(_) => value.at,
        };
        if self.is_subscribed(topic) {
            return None;
        }
        // Records of old brokers have -1 for none (KAFKA-8069): that is no time.
        let said = value.expires.filter(|at| at.0 >= 0);
        if said.is_none() && mutants.has(Mutant::MissingExpiryIsPast) {
            return Some(Timestamp(-1));
        }
        let unneeded = Timestamp(unused.0.saturating_add(settings.offsets_retention_ms));
        Some(said.unwrap_or(unneeded))
    }

    /// The record that an offset is no longer committed; none if it was not.
    fn forget(&mut self, key: &Key) -> Option<Record> {
        self.offsets.remove(key)?;
        Some(record(self.name(), key, None))
    }

    /// The records that all offsets are no longer committed.
    pub(super) fn forget_all(&mut self) -> Vec<Record> {
        let all = std::mem::take(&mut self.offsets);
        all.keys().map(|key| record(self.name(), key, None)).collect()
    }
}

/// Since when nobody can have needed an offset; none if someone may.
fn unused_since(group: &ClassicGroup, value: &Committed) -> Option<Timestamp> {
    match (group.protocol_type(), group.state()) {
        // Whoever commits here assigns by hand, and may be anywhere.
        (None, _) => Some(value.at),
        (Some(_), ClassicState::Empty) => Some(group.since().unwrap_or(value.at)),
        (Some(_), ClassicState::Stable) if group.knows_subscriptions() => Some(value.at),
        (Some(_), _) => None,
    }
}

fn record(group: &GroupId, (topic, partition): &Key, value: Option<Committed>) -> Record {
    let (group, topic) = (Arc::clone(group), Arc::clone(topic));
    Record::Offset { group, topic, partition: *partition, value }
}

/// Kafka counts characters as Java does, whatever the name of the limit says.
fn too_long(metadata: &str, max: usize) -> bool {
    metadata.len() > max && metadata.encode_utf16().count() > max
}
