//! One connection: versions, correlation of answers, time limits.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use bytes::Bytes;
use dohle_wire::header::decode_response_header;
use dohle_wire::message::{ApiVersion, Request};
use dohle_wire::{ApiKey, EncodeError, Message, Reader, RequestHeader, Writer};

use super::Peer;
use crate::machine::Frame;

/// The versions of each request that both sides speak.
#[derive(Clone, Debug, Default)]
pub(super) struct Versions(BTreeMap<ApiKey, (i16, i16)>);

impl Versions {
    /// What the broker announced, as far as this client goes along.
    pub(super) fn common(announced: &[ApiVersion]) -> Self {
        let common = announced.iter().filter_map(|theirs| {
            let key = ApiKey::from_code(theirs.api_key)?;
            let (oldest, newest) = key.versions()?;
            let newest = newest - i16::from(key.has_unstable_version());
            let range = (oldest.max(theirs.min_version), newest.min(theirs.max_version));
            (range.0 <= range.1).then_some((key, range))
        });
        Self(common.collect())
    }

    /// The newest common version that is not above `cap`.
    pub(super) fn best(&self, key: ApiKey, cap: i16) -> Option<i16> {
        let (oldest, newest) = self.0.get(&key)?;
        Some((*newest).min(cap)).filter(|version| version >= oldest)
    }
}

/// What an answer is for.
#[derive(Clone, Debug)]
pub(super) enum Purpose<T> {
    /// The versions of the connection itself.
    Versions,
    /// The metadata of the cluster.
    Metadata,
    /// A request of the machine.
    Machine(T),
}

/// A request that waits for its answer.
#[derive(Clone, Debug)]
pub(super) struct Sent<T> {
    correlation: i32,
    pub(super) key: ApiKey,
    pub(super) version: i16,
    pub(super) purpose: Purpose<T>,
    pub(super) deadline: Duration,
}

/// A request that nobody answers, until all of it was sent.
#[derive(Clone, Debug)]
pub(super) struct Leaving<T> {
    pub(super) tag: T,
    deadline: Duration,
}

/// What ends a request.
#[derive(Clone, Debug)]
pub(super) enum Until<T> {
    /// Its answer.
    Answered(Purpose<T>),
    /// That all of it was sent; there is no answer.
    Sent(T),
}

/// How far a connection is.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    /// The driver connects, until this time.
    Connecting(Duration),
    /// The versions were asked for.
    Negotiating,
    /// Requests can be sent.
    Ready,
}

/// One connection.
#[derive(Clone, Debug)]
pub(super) struct Conn<T> {
    pub(super) peer: Peer,
    pub(super) stage: Stage,
    pub(super) versions: Versions,
    pub(super) sent: VecDeque<Sent<T>>,
    pub(super) leaving: VecDeque<Leaving<T>>,
    pub(super) last_used: Duration,
    next_correlation: i32,
}

impl<T> Conn<T> {
    pub(super) fn new(peer: Peer, now: Duration, patience: Duration) -> Self {
        Self {
            peer,
            stage: Stage::Connecting(now.saturating_add(patience)),
            versions: Versions::default(),
            sent: VecDeque::new(),
            leaving: VecDeque::new(),
            last_used: now,
            next_correlation: 0,
        }
    }

    /// Requests that have not ended.
    pub(super) fn in_flight(&self) -> usize {
        self.sent.len() + self.leaving.len()
    }

    /// The frame of a request, which is under way until then or until the deadline.
    pub(super) fn request<R: Request>(
        &mut self,
        now: Duration,
        client_id: &str,
        (version, request): (i16, &R),
        (until, deadline): (Until<T>, Duration),
    ) -> Result<Frame, EncodeError> {
        let correlation = self.next_correlation;
        let header = RequestHeader {
            api_key: R::KEY.code(),
            api_version: version,
            correlation_id: correlation,
            client_id: Some(client_id.to_owned()),
        };
        let mut writer = Writer::new();
        header.encode(&mut writer)?;
        Message::encode(request, &mut writer, version)?;
        self.next_correlation = correlation.wrapping_add(1) & i32::MAX;
        self.last_used = now;
        match until {
            Until::Answered(purpose) => {
                self.sent.push_back(Sent { correlation, key: R::KEY, version, purpose, deadline });
            }
            Until::Sent(tag) => self.leaving.push_back(Leaving { tag, deadline }),
        }
        Ok(Frame::new(writer.finish()))
    }

    /// The request that a frame answers, and the body of the answer. `None` if the frame answers
    /// nothing: then the connection is out of step and of no more use.
    pub(super) fn answer(&mut self, now: Duration, frame: Bytes) -> Option<(Sent<T>, Reader)> {
        let sent = self.sent.pop_front()?;
        let mut reader = Reader::new(frame);
        let correlation = decode_response_header(&mut reader, sent.key, sent.version).ok();
        self.last_used = now;
        if correlation == Some(sent.correlation) {
            return Some((sent, reader));
        }
        // Its owner still has to hear that it is lost.
        self.sent.push_front(sent);
        None
    }

    /// When the oldest request has waited too long.
    pub(super) fn patience_ends(&self) -> Option<(Duration, &'static str)> {
        match self.stage {
            Stage::Connecting(until) => Some((until, "connection setup timeout")),
            Stage::Negotiating | Stage::Ready => {
                let leaving = self.leaving.iter().map(|leaving| leaving.deadline);
                let all = self.sent.iter().map(|sent| sent.deadline).chain(leaving);
                all.min().map(|at| (at, "request timeout"))
            }
        }
    }
}
