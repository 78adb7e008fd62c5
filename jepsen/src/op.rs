//! The shape of a history.

use serde::{Deserialize, Serialize};

use crate::groups::GroupAction;

/// One partition of one topic.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Key {
    /// The topic's name.
    pub topic: String,
    /// The partition's number.
    pub partition: i32,
}

impl Key {
    /// That partition.
    #[must_use]
    pub fn new(topic: impl Into<String>, partition: i32) -> Self {
        Self { topic: topic.into(), partition }
    }
}

impl std::fmt::Display for Key {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}-{}", self.topic, self.partition)
    }
}

/// Something that a process did, or that happened.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Op {
    /// Which instance of a client; never used again after that instance ended.
    pub process: u64,
    /// Nanoseconds since the start of the run.
    pub time: u64,
    /// What.
    pub action: Action,
}

/// The kinds of things that happen.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Action {
    /// A record is handed to a producer.
    Send {
        /// Where it shall go.
        key: Key,
        /// What it is.
        value: u64,
        /// The producer promises that it is written at most once and in order.
        idempotent: bool,
    },
    /// What became of a record.
    Sent {
        /// Where it should go.
        key: Key,
        /// What it is.
        value: u64,
        /// How it ended.
        end: End,
    },
    /// Records that a consumer returned, in its order.
    Poll(Vec<Polled>),
    /// The process's positions in these partitions are new: what it reads next need not follow
    /// what it read before.
    Assign(Vec<Key>),
    /// Records of a partition at or past this offset may be gone: the promise that covered them
    /// does not hold for what happened.
    Forgotten {
        /// The partition.
        key: Key,
        /// The first offset that may be gone.
        from: i64,
    },
    /// Records of a partition before this offset were deleted on purpose.
    Deleted {
        /// The partition.
        key: Key,
        /// The first offset that is still there.
        before: i64,
    },
    /// The cluster may put off what has a time limit, from now on or until now: its disk is full.
    Hindered(bool),
    /// Something about a consumer group.
    Group {
        /// Its name.
        group: String,
        /// What.
        action: GroupAction,
    },
}

/// How a send ended.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum End {
    /// The broker promised to keep the record at this offset.
    Acknowledged(i64),
    /// It was sent without asking for an acknowledgement.
    Unasked,
    /// It is certain that the record was not written.
    Refused,
    /// Nobody knows.
    Unknown,
}

/// A record that a consumer returned.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Polled {
    /// Where it lies.
    pub key: Key,
    /// Its offset.
    pub offset: i64,
    /// What it is.
    pub value: u64,
}
