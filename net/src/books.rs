//! The node's books: what sessions say they did, added up without a lock for each request.
//!
//! Must never know: what a request means, who reads the books.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock, PoisonError, RwLock};

use dohle_core::count::{Count, Receipt};
use dohle_wire::api_key::ApiKey;
use dohle_wire::id::TopicId;

use crate::times::Times;

/// Codes of requests are below this.
const KEYS: usize = 128;
/// Versions of requests are below this.
const VERSIONS: usize = 32;

/// What a node did since it started.
pub struct Books {
    requests: [OnceLock<Box<Requests>>; KEYS],
    topics: RwLock<BTreeMap<TopicId, Arc<Traffic>>>,
    /// Of topics that there are not.
    pub(crate) nowhere: Traffic,
    /// Connections that were accepted.
    pub(crate) accepted: AtomicU64,
}

/// All requests of one kind.
#[derive(Default)]
pub(crate) struct Requests {
    /// How many came in each version.
    pub(crate) versions: [AtomicU64; VERSIONS],
    pub(crate) request_bytes: AtomicU64,
    pub(crate) answer_bytes: AtomicU64,
    pub(crate) times: Times,
}

/// What went in and out of a topic.
#[derive(Debug, Default)]
pub(crate) struct Traffic {
    pub(crate) records_in: AtomicU64,
    pub(crate) bytes_in: AtomicU64,
    pub(crate) bytes_out: AtomicU64,
    pub(crate) appends: AtomicU64,
    pub(crate) refused: AtomicU64,
    pub(crate) reads: AtomicU64,
    pub(crate) unread: AtomicU64,
}

impl Default for Books {
    fn default() -> Self {
        Self {
            requests: [const { OnceLock::new() }; KEYS],
            topics: RwLock::default(),
            nowhere: Traffic::default(),
            accepted: AtomicU64::new(0),
        }
    }
}

impl Books {
    /// Enters what a session says.
    pub fn enter(&self, count: &Count) {
        match *count {
            Count::Request(receipt) => self.on_request(&receipt),
            Count::Appended { topic, records, bytes } => self.traffic(topic, |traffic| {
                add(&traffic.appends, 1);
                add(&traffic.records_in, records);
                add(&traffic.bytes_in, bytes);
            }),
            Count::Read { topic, bytes } => self.traffic(topic, |traffic| {
                add(&traffic.reads, 1);
                add(&traffic.bytes_out, bytes);
            }),
            Count::Refused(Some(topic)) => self.traffic(topic, |traffic| add(&traffic.refused, 1)),
            Count::Unread(Some(topic)) => self.traffic(topic, |traffic| add(&traffic.unread, 1)),
            Count::Refused(None) => add(&self.nowhere.refused, 1),
            Count::Unread(None) => add(&self.nowhere.unread, 1),
        }
    }

    fn on_request(&self, receipt: &Receipt) {
        let key = usize::try_from(receipt.key.code()).unwrap_or(KEYS);
        let Some(requests) = self.requests.get(key) else { return };
        let requests = requests.get_or_init(Box::default);
        let version = usize::try_from(receipt.version).unwrap_or(0).min(VERSIONS - 1);
        add(&requests.versions[version], 1);
        add(&requests.request_bytes, receipt.request);
        add(&requests.answer_bytes, receipt.answer);
        requests.times.note(receipt.took);
    }

    fn traffic(&self, topic: TopicId, change: impl Fn(&Traffic)) {
        let topics = self.topics.read().unwrap_or_else(PoisonError::into_inner);
        if let Some(traffic) = topics.get(&topic) {
            return change(traffic);
        }
        drop(topics);
        let mut topics = self.topics.write().unwrap_or_else(PoisonError::into_inner);
        change(topics.entry(topic).or_default());
    }

    /// Requests by kind, those that came.
    pub(crate) fn requests(&self) -> impl Iterator<Item = (ApiKey, &Requests)> {
        self.requests.iter().zip(0..).filter_map(|(requests, code)| {
            Some((ApiKey::from_code(code)?, requests.get()?.as_ref()))
        })
    }

    /// Topics with what went in and out; those that `keep` refuses are forgotten.
    pub(crate) fn topics(&self, keep: impl Fn(TopicId) -> bool) -> Vec<(TopicId, Arc<Traffic>)> {
        let mut topics = self.topics.write().unwrap_or_else(PoisonError::into_inner);
        topics.retain(|topic, _| keep(*topic));
        topics.iter().map(|(topic, traffic)| (*topic, Arc::clone(traffic))).collect()
    }
}

fn add(counter: &AtomicU64, more: u64) {
    counter.fetch_add(more, Ordering::Relaxed);
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use dohle_wire::id::Uuid;

    use super::*;

    #[test]
    fn what_sessions_say_is_added_up() {
        let books = Books::default();
        let took = Duration::from_millis(1);
        let receipt =
            Receipt { key: ApiKey::Produce, version: 13, took, request: 1000, answer: 50 };
        let topics = [1, 2].map(|n| TopicId(Uuid::from_u128(n)));
        for topic in [topics[0], topics[0], topics[1]] {
            books.enter(&Count::Request(receipt));
            books.enter(&Count::Appended { topic, records: 10, bytes: 900 });
            books.enter(&Count::Read { topic, bytes: 300 });
        }
        books.enter(&Count::Refused(None));
        let requests: Vec<_> = books.requests().collect();
        let get = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        assert_eq!(requests.len(), 1);
        assert_eq!(requests[0].0, ApiKey::Produce);
        assert_eq!(get(&requests[0].1.versions[13]), 3);
        assert_eq!(get(&requests[0].1.request_bytes), 3000);
        assert_eq!(requests[0].1.times.seen().count, 3);
        let kept = books.topics(|topic| topic == topics[0]);
        assert_eq!(kept.len(), 1, "the other topic is gone");
        assert_eq!((get(&kept[0].1.records_in), get(&kept[0].1.bytes_out)), (20, 600));
        assert_eq!(get(&books.nowhere.refused), 1);
    }
}
