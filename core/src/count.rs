//! What a session tells the node's books of. Nothing in the core depends on it.
//!
//! Records are counted where their requests are answered, as Kafka's BrokerTopicMetrics does: what
//! was read twice and sent once counts once.

use std::time::Duration;

use dohle_wire::api_key::ApiKey;
use dohle_wire::id::TopicId;

/// Something that happened, and how much of it.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Count {
    /// A request is over.
    Request(Receipt),
    /// A producer's batch is in a log.
    Appended {
        /// Of this topic.
        topic: TopicId,
        /// Records in it.
        records: u64,
        /// Bytes as they were sent.
        bytes: u64,
    },
    /// A producer's batch was refused; none for a topic that there is not.
    Refused(Option<TopicId>),
    /// Records of a topic are in an answer.
    Read {
        /// Of this topic.
        topic: TopicId,
        /// Bytes of its batches.
        bytes: u64,
    },
    /// A partition could not be read; none for a topic that there is not.
    Unread(Option<TopicId>),
}

/// A request that is over: answered, or silent if it wanted no answer.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Receipt {
    /// Which request.
    pub key: ApiKey,
    /// In which version.
    pub version: i16,
    /// From its last byte until its answer could leave.
    pub took: Duration,
    /// Bytes of the request, without its length prefix.
    pub request: u64,
    /// Bytes of the answer, with its length prefix.
    pub answer: u64,
}
