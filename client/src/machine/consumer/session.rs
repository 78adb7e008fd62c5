//! Fetch sessions (KIP-227): a broker remembers what a consumer reads, so that requests and answers
//! only carry changes.

use std::collections::BTreeMap;

use dohle_wire::ErrorCode;
use dohle_wire::id::{LeaderEpoch, Offset, TopicId};
use dohle_wire::message::{FetchPartition, FetchRequest, FetchTopic, ForgottenTopic};

use crate::machine::TopicPartition;

/// What is wanted of one partition.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) struct Wanted {
    pub(super) topic_id: TopicId,
    pub(super) offset: Offset,
    pub(super) leader_epoch: LeaderEpoch,
}

/// The session with one broker.
#[derive(Clone, Debug, Default)]
pub(super) struct Session {
    /// 0 while there is none.
    id: i32,
    /// Number of the next request in the session; 0 opens one.
    epoch: i32,
    /// What the broker remembers.
    known: BTreeMap<TopicPartition, Wanted>,
    by_id: bool,
}

impl Session {
    /// Writes into `request` what the broker has to be told to serve `wanted`.
    pub(super) fn next(
        &mut self,
        wanted: BTreeMap<TopicPartition, Wanted>,
        by_id: bool,
        max_bytes: i32,
        request: &mut FetchRequest,
    ) {
        if by_id != self.by_id {
            self.restart();
            self.by_id = by_id;
        }
        if self.epoch == 0 {
            self.known.clear();
        }
        let changed = wanted.iter().filter(|(at, wanted)| self.known.get(at) != Some(wanted));
        for (at, wanted) in changed {
            let partition = FetchPartition {
                partition: at.partition,
                current_leader_epoch: wanted.leader_epoch.0,
                fetch_offset: wanted.offset.0,
                partition_max_bytes: max_bytes,
                ..FetchPartition::default()
            };
            match request.topics.last_mut().filter(|topic| *topic.topic == *at.topic) {
                Some(topic) => topic.partitions.push(partition),
                None => request.topics.push(FetchTopic {
                    topic: at.topic.to_string(),
                    topic_id: wanted.topic_id.0,
                    partitions: vec![partition],
                }),
            }
        }
        let stays = |at, known: &Wanted| {
            wanted.get(at).is_some_and(|wanted| !by_id || wanted.topic_id == known.topic_id)
        };
        let forgotten = self.known.iter().filter(|(at, known)| !stays(*at, known));
        for (at, known) in forgotten {
            match request.forgotten_topics_data.last_mut().filter(|topic| *topic.topic == *at.topic)
            {
                Some(topic) => topic.partitions.push(at.partition),
                None => request.forgotten_topics_data.push(ForgottenTopic {
                    topic: at.topic.to_string(),
                    topic_id: known.topic_id.0,
                    partitions: vec![at.partition],
                }),
            }
        }
        request.session_id = self.id;
        request.session_epoch = self.epoch;
        self.known = wanted;
    }

    /// The name of a topic in an answer.
    pub(super) fn name_of(&self, id: TopicId) -> Option<&TopicPartition> {
        self.known.iter().find(|(_, wanted)| wanted.topic_id == id).map(|(at, _)| at)
    }

    /// The broker answered. Gives whether the answer is of use.
    pub(super) const fn answered(&mut self, error: ErrorCode, id: i32) -> bool {
        if !matches!(error, ErrorCode::None) {
            if matches!(error, ErrorCode::FetchSessionIdNotFound) {
                self.id = 0;
            }
            self.restart();
            return false;
        }
        if self.epoch == 0 {
            self.id = id;
        }
        // A broker without room gives no session: then every request opens one anew.
        self.epoch = match (self.id, self.epoch) {
            (0, _) => 0,
            (_, i32::MAX) => 1,
            (_, epoch) => epoch + 1,
        };
        true
    }

    /// Opens a new session with the next request, which closes the old one.
    pub(super) const fn restart(&mut self) {
        self.epoch = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn want(list: &[(i32, i64)]) -> BTreeMap<TopicPartition, Wanted> {
        let of = |(partition, offset): &(i32, i64)| {
            let wanted = Wanted {
                topic_id: TopicId::default(),
                offset: Offset(*offset),
                leader_epoch: LeaderEpoch(3),
            };
            (TopicPartition::new("t", *partition), wanted)
        };
        list.iter().map(of).collect()
    }

    fn next(session: &mut Session, list: &[(i32, i64)]) -> (i32, Vec<(i32, i64)>, Vec<i32>) {
        let mut request = FetchRequest::default();
        session.next(want(list), false, 10, &mut request);
        let asked = request.topics.iter().flat_map(|topic| &topic.partitions);
        let asked = asked.map(|each| (each.partition, each.fetch_offset)).collect();
        let forgotten = request.forgotten_topics_data.iter().flat_map(|topic| &topic.partitions);
        (request.session_epoch, asked, forgotten.copied().collect())
    }

    #[test]
    fn only_changes_are_sent() {
        let mut session = Session::default();
        assert_eq!(next(&mut session, &[(0, 5), (1, 5)]), (0, vec![(0, 5), (1, 5)], vec![]));
        assert!(session.answered(ErrorCode::None, 77));
        assert_eq!(next(&mut session, &[(0, 5), (1, 8)]), (1, vec![(1, 8)], vec![]));
        assert!(session.answered(ErrorCode::None, 77));
        assert_eq!(next(&mut session, &[(1, 8), (2, 0)]), (2, vec![(2, 0)], vec![0]));
    }

    #[test]
    fn a_lost_session_is_opened_anew_in_full() {
        let mut session = Session::default();
        next(&mut session, &[(0, 5)]);
        assert!(session.answered(ErrorCode::None, 77));
        next(&mut session, &[(0, 5)]);
        assert!(!session.answered(ErrorCode::FetchSessionIdNotFound, 0));
        assert_eq!(next(&mut session, &[(0, 5)]), (0, vec![(0, 5)], vec![]));
    }

    #[test]
    fn without_a_session_every_request_is_full() {
        let mut session = Session::default();
        next(&mut session, &[(0, 5)]);
        assert!(session.answered(ErrorCode::None, 0));
        assert_eq!(next(&mut session, &[(0, 5)]), (0, vec![(0, 5)], vec![]));
    }
}
