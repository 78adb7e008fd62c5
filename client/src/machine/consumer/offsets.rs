//! Finding positions.

use std::collections::BTreeMap;

use dohle_wire::id::{NodeId, Offset, Timestamp};
use dohle_wire::message::{ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic};
use dohle_wire::{ApiKey, ErrorCode};

use super::{ConsumeError, Consumer, Position, Start, Tag};
use crate::machine::cluster::{Answer, Peer};
use crate::machine::{Now, TopicPartition};

/// Sentinels of ListOffsets.
pub(super) const LATEST: i64 = -1;
pub(super) const EARLIEST: i64 = -2;

impl Consumer {
    /// Asks the leaders for the positions that are to be found out.
    pub(super) fn find_positions(&mut self, now: Now) {
        let mut by_leader: BTreeMap<NodeId, Vec<(TopicPartition, ListOffsetsPartition)>> =
            BTreeMap::new();
        let open: Vec<(TopicPartition, i64)> = self
            .parts
            .iter()
            .filter(|(_, part)| !part.asking && part.not_before <= now.mono)
            .filter_map(|(at, part)| Some((at.clone(), wanted_time(&part.position)?)))
            .collect();
        for (at, timestamp) in open {
            let Some((leader, epoch)) = self.known(&at) else { continue };
            let ask = ListOffsetsPartition {
                partition_index: at.partition,
                current_leader_epoch: epoch.0,
                timestamp,
            };
            by_leader.entry(leader).or_default().push((at, ask));
        }
        for (leader, asks) in by_leader {
            self.ask_offsets(now, leader, asks);
        }
    }

    fn ask_offsets(
        &mut self,
        now: Now,
        leader: NodeId,
        asks: Vec<(TopicPartition, ListOffsetsPartition)>,
    ) {
        let peer = Peer::Node(leader);
        if !self.cluster.is_ready(now, peer) {
            return self.cluster.connect(now, peer);
        }
        let mut request = ListOffsetsRequest {
            replica_id: -1,
            isolation_level: self.config.isolation.code(),
            ..ListOffsetsRequest::default()
        };
        let mut asked = Vec::new();
        for (at, ask) in asks {
            match request.topics.last_mut().filter(|topic| *topic.name == *at.topic) {
                Some(topic) => topic.partitions.push(ask),
                None => request
                    .topics
                    .push(ListOffsetsTopic { name: at.topic.to_string(), partitions: vec![ask] }),
            }
            let part = self.parts.get_mut(&at).expect("an assigned partition");
            part.asking = true;
            asked.push((at, part.generation));
        }
        let tag = Tag::Offsets(asked);
        let sent = self
            .cluster
            .version(peer, ApiKey::ListOffsets, i16::MAX)
            .map(|version| self.cluster.send(now, peer, version, &request, tag.clone()));
        if !matches!(sent, Some(Ok(()))) {
            self.refuse(&tag, ErrorCode::UnsupportedVersion);
        }
    }

    /// A broker cannot be asked at all.
    pub(super) fn refuse(&mut self, tag: &Tag, code: ErrorCode) {
        let asked: Vec<(TopicPartition, u64)> = match tag {
            Tag::Offsets(asked) => asked.clone(),
            Tag::Fetch(_, asked) => asked.clone().into_iter().collect(),
            Tag::Lookup(..) | Tag::Group(_) => Vec::new(),
        };
        for (at, generation) in asked {
            if let Some(part) = self.current(&at, generation) {
                part.asking = false;
                part.fail(ConsumeError::Refused(code));
            }
        }
    }

    pub(super) fn on_offsets(&mut self, now: Now, answer: &Answer<Tag>) {
        let Tag::Offsets(asked) = &answer.tag else { unreachable!("the tag of an offset request") };
        let Ok(response) = answer.decode::<ListOffsetsRequest>() else {
            self.cluster.distrust(now, answer.peer);
            return self.on_lost(now, &answer.tag);
        };
        self.cluster.throttle(now, answer.peer, response.throttle_time_ms);
        for (at, generation) in asked {
            let topic = response.topics.iter().find(|topic| *topic.name == *at.topic);
            let found = topic.and_then(|topic| {
                topic.partitions.iter().find(|part| part.partition_index == at.partition)
            });
            let (code, offset) = match found {
                Some(found) => (ErrorCode::from(found.error_code), found.offset),
                None => (ErrorCode::UnknownServerError, -1),
            };
            self.on_offset(now, at, *generation, code, offset);
        }
    }

    fn on_offset(
        &mut self,
        now: Now,
        at: &TopicPartition,
        generation: u64,
        code: ErrorCode,
        offset: i64,
    ) {
        let Some(part) = self.current(at, generation) else { return };
        part.asking = false;
        match code {
            ErrorCode::None if offset >= 0 => {
                part.failures = 0;
                part.trouble = None;
                part.position = Position::At(Offset(offset));
            }
            // No record is that young: go on with what is to come.
            ErrorCode::None if matches!(part.position, Position::Start(Start::Timestamp(_))) => {
                part.position = Position::Start(Start::Latest);
            }
            ErrorCode::None => self.rest(now, at, generation),
            code if code.is_retriable() || code == ErrorCode::UnknownServerError => {
                self.not_now(now, at, generation, code);
            }
            code => part.fail(ConsumeError::Refused(code)),
        }
    }
}

/// The timestamp or sentinel by which a position is found out.
const fn wanted_time(position: &Position) -> Option<i64> {
    match position {
        Position::Start(Start::Earliest) => Some(EARLIEST),
        Position::Start(Start::Latest) => Some(LATEST),
        Position::Start(Start::Timestamp(Timestamp(ms))) => Some(*ms),
        Position::Start(Start::Offset(_) | Start::Reset | Start::Committed)
        | Position::At(_)
        | Position::Failed => None,
    }
}
