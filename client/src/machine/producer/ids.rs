//! The producer id: asking for it, and asking again.

use std::time::Duration;

use dohle_wire::id::{ProducerEpoch, ProducerId};
use dohle_wire::message::{InitProducerIdRequest, InitProducerIdResponse};
use dohle_wire::{ApiKey, ErrorCode};

use super::batch::Identity;
use super::{Producer, Tag};
use crate::machine::Now;
use crate::machine::cluster::Answer;

/// How far the producer is in getting an id.
#[derive(Clone, Debug)]
pub(super) struct Ids {
    given: Option<Identity>,
    asking: bool,
    failures: u32,
    pub(super) not_before: Duration,
    /// The broker refuses for good.
    pub(super) refused: Option<ErrorCode>,
}

impl Ids {
    pub(super) const fn new() -> Self {
        Self { given: None, asking: false, failures: 0, not_before: Duration::ZERO, refused: None }
    }

    pub(super) const fn given(&self) -> Option<Identity> {
        self.given
    }

    /// The id is of no more use: another one is to be asked for.
    pub(super) fn discard(&mut self, id: ProducerId) {
        self.given = self.given.filter(|given| given.id != id);
    }
}

impl Producer {
    /// Asks for a producer id if there is none.
    pub(super) fn ask_for_id(&mut self, now: Now) {
        let due = self.ids.given.is_none() && !self.ids.asking && self.ids.not_before <= now.mono;
        if !self.config.enable_idempotence || self.ids.refused.is_some() || !due {
            return;
        }
        let Some(peer) = self.cluster.any_ready(now) else { return };
        let Some(version) = self.cluster.version(peer, ApiKey::InitProducerId, i16::MAX) else {
            return self.refuse_ids(ErrorCode::UnsupportedVersion);
        };
        let request = InitProducerIdRequest {
            transactional_id: None,
            transaction_timeout_ms: i32::MAX,
            producer_id: -1,
            producer_epoch: -1,
            ..InitProducerIdRequest::default()
        };
        let sent = self.cluster.send(now, peer, version, &request, Tag::ProducerId);
        self.ids.asking = sent.is_ok();
    }

    pub(super) fn on_producer_id(&mut self, now: Now, answer: &Answer<Tag>) {
        let Ok(response) = answer.decode::<InitProducerIdRequest>() else {
            self.cluster.distrust(now, answer.peer);
            return self.no_producer_id(now);
        };
        self.cluster.throttle(now, answer.peer, response.throttle_time_ms);
        let InitProducerIdResponse { error_code, producer_id, producer_epoch, .. } = response;
        match ErrorCode::from(error_code) {
            ErrorCode::None if producer_id >= 0 && producer_epoch >= 0 => {
                self.ids = Ids {
                    given: Some(Identity {
                        id: ProducerId(producer_id),
                        epoch: ProducerEpoch(producer_epoch),
                    }),
                    ..Ids::new()
                };
            }
            ErrorCode::None => self.no_producer_id(now),
            code if code.is_retriable() => self.no_producer_id(now),
            code => self.refuse_ids(code),
        }
    }

    /// An attempt failed; there will be another.
    pub(super) fn no_producer_id(&mut self, now: Now) {
        self.ids.asking = false;
        let (first, max) =
            (self.config.connection.retry_backoff, self.config.connection.retry_backoff_max);
        let wait = self.cluster.rng().backoff(first, max, self.ids.failures);
        self.ids.failures = self.ids.failures.saturating_add(1);
        self.ids.not_before = now.mono.saturating_add(wait);
    }
}
