//! What becomes of batches that were sent.

use std::sync::Arc;

use dohle_wire::ErrorCode;
use dohle_wire::id::TopicId;
use dohle_wire::message::{PartitionProduceResponse, ProduceRequest, ProduceResponse};

use super::batch::Batch;
use super::queue::Renewal;
use super::{Key, ProduceError, Producer, Tag};
use crate::machine::Now;
use crate::machine::cluster::Answer;

impl Producer {
    pub(super) fn on_produced(&mut self, now: Now, answer: &Answer<Tag>) {
        let Tag::Produce(batches) = &answer.tag else {
            unreachable!("the tag of a produce request")
        };
        let Ok(mut response) = answer.decode::<ProduceRequest>() else {
            self.cluster.distrust(now, answer.peer);
            return self.on_lost(now, batches);
        };
        self.cluster.throttle(now, answer.peer, response.throttle_time_ms);
        for (key, number) in batches {
            let part = self.part_of(&mut response, *key);
            let Some(batch) = self.queue(*key).outcome(*number) else { continue };
            match part {
                Some(part) => {
                    self.follow_hint(*key, &part, &response);
                    self.on_outcome(now, *key, batch, part);
                }
                // A broker that does not answer for a partition has not said what it did.
                None => self.try_again(now, *key, batch, &ProduceError::Lost, true),
            }
            self.rest_if_empty(*key);
        }
    }

    /// Nobody knows what became of the batches of a request.
    pub(super) fn on_lost(&mut self, now: Now, batches: &[(Key, u64)]) {
        self.cluster.want_metadata();
        for (key, number) in batches {
            if let Some(batch) = self.queue(*key).outcome(*number) {
                self.try_again(now, *key, batch, &ProduceError::Lost, true);
            }
            self.rest_if_empty(*key);
        }
    }

    fn part_of(
        &self,
        response: &mut ProduceResponse,
        key: Key,
    ) -> Option<PartitionProduceResponse> {
        let topic = &self.topics[key.0];
        let id = topic.id.unwrap_or_default();
        let named = |name: &str, topic_id| {
            if name.is_empty() {
                id != TopicId::default() && TopicId(topic_id) == id
            } else {
                *name == *topic.name
            }
        };
        let parts = response.responses.iter_mut().find(|each| named(&each.name, each.topic_id))?;
        let at = parts.partition_responses.iter().position(|part| part.index == key.1)?;
        Some(parts.partition_responses.swap_remove(at))
    }

    /// A broker that does not lead may say who does (KIP-951).
    fn follow_hint(&mut self, key: Key, part: &PartitionProduceResponse, all: &ProduceResponse) {
        let leader = &part.current_leader;
        let endpoint = all.node_endpoints.iter().find(|node| node.node_id == leader.leader_id);
        let endpoint = endpoint.map(|node| (node.host.as_str(), node.port));
        let name = Arc::clone(&self.topics[key.0].name);
        self.cluster.hint_leader((&name, key.1), (leader.leader_id, leader.leader_epoch), endpoint);
    }

    fn on_outcome(&mut self, now: Now, key: Key, mut batch: Batch, part: PartitionProduceResponse) {
        let code = ErrorCode::from(part.error_code);
        match code {
            ErrorCode::None | ErrorCode::DuplicateSequenceNumber => {
                self.queue(key).acknowledged(&batch);
                self.acknowledge(key, batch, part.base_offset, part.log_append_time_ms);
            }
            ErrorCode::MessageTooLarge if batch.records.len() > 1 && !batch.in_doubt => {
                self.split(key, batch);
            }
            ErrorCode::OutOfOrderSequenceNumber
            | ErrorCode::UnknownProducerId
            | ErrorCode::InvalidProducerEpoch
                if batch.stamp.is_some() =>
            {
                self.on_sequence_error(now, key, batch, code);
            }
            _ if code.is_retriable() => {
                if code.refreshes_metadata() {
                    self.cluster.want_metadata();
                }
                let error = refused(code, &part, batch.in_doubt);
                self.try_again(now, key, batch, &error, may_be_written(code));
            }
            _ => {
                batch.in_doubt |= may_be_written(code);
                let error = refused(code, &part, batch.in_doubt);
                self.give_up(key, batch, &error);
            }
        }
    }

    /// The broker and this producer disagree about the stream. See [`super::queue`].
    fn on_sequence_error(&mut self, now: Now, key: Key, batch: Batch, code: ErrorCode) {
        let queue = self.queue(key);
        let error = ProduceError::Refused { code, message: None, in_doubt: batch.in_doubt };
        if code == ErrorCode::OutOfOrderSequenceNumber && !queue.is_first(&batch) {
            // It arrived before one that has to be repeated first.
            return self.try_again(now, key, batch, &error, false);
        }
        queue.renew(match code {
            ErrorCode::InvalidProducerEpoch => Renewal::Id,
            _ => Renewal::Epoch,
        });
        if batch.in_doubt {
            self.give_up(key, batch, &error);
        } else {
            self.try_again(now, key, batch, &error, false);
        }
    }

    /// Puts a batch back to be sent again, unless it had its chances. `unknown` says that the last
    /// attempt may have been written.
    fn try_again(
        &mut self,
        now: Now,
        key: Key,
        mut batch: Batch,
        error: &ProduceError,
        unknown: bool,
    ) {
        batch.in_doubt |= unknown;
        batch.refused = match error {
            ProduceError::Refused { code, .. } => Some(*code),
            _ => None,
        };
        if batch.is_given_up() || batch.attempts > self.config.retries {
            return self.give_up(key, batch, error);
        }
        if batch.expires <= now.mono {
            let error = self.timed_out(key, batch.refused, batch.in_doubt);
            return self.give_up(key, batch, &error);
        }
        let (first, max) =
            (self.config.connection.retry_backoff, self.config.connection.retry_backoff_max);
        let wait = self.cluster.rng().backoff(first, max, batch.attempts.saturating_sub(1));
        batch.not_before = now.mono.saturating_add(wait);
        self.queue(key).put_back(batch);
    }

    /// The broker takes smaller batches only.
    fn split(&mut self, key: Key, batch: Batch) {
        let number = self.next_batch;
        self.next_batch += 1;
        let whole = batch.clone();
        match batch.split(number, &*self.codecs) {
            Ok((first, second)) => {
                let queue = self.queue(key);
                queue.put_back(second);
                queue.put_back(first);
            }
            Err(problem) => self.give_up(key, whole, &ProduceError::Unencodable(problem)),
        }
    }
}

fn refused(code: ErrorCode, part: &PartitionProduceResponse, in_doubt: bool) -> ProduceError {
    let of_record = || {
        let first = part.record_errors.first()?;
        first.batch_index_error_message.clone()
    };
    let message = part.error_message.clone().or_else(of_record).map(Arc::from);
    ProduceError::Refused { code, message, in_doubt }
}

/// Whether a batch that is answered with this error may be in the log, now or after an election.
///
/// Only errors that are found before anything is appended are sure.
const fn may_be_written(code: ErrorCode) -> bool {
    !matches!(
        code,
        ErrorCode::CorruptMessage
            | ErrorCode::InvalidTopicException
            | ErrorCode::RecordListTooLarge
            | ErrorCode::MessageTooLarge
            | ErrorCode::NotEnoughReplicas
            | ErrorCode::InvalidRequiredAcks
            | ErrorCode::TopicAuthorizationFailed
            | ErrorCode::ClusterAuthorizationFailed
            | ErrorCode::TransactionalIdAuthorizationFailed
            | ErrorCode::InvalidTimestamp
            | ErrorCode::UnsupportedVersion
            | ErrorCode::UnsupportedForMessageFormat
            | ErrorCode::PolicyViolation
            | ErrorCode::UnsupportedCompressionType
            | ErrorCode::UnknownTopicId
            | ErrorCode::InconsistentTopicId
            | ErrorCode::InvalidRecord
            | ErrorCode::InvalidTxnState
            | ErrorCode::ThrottlingQuotaExceeded
    )
}
