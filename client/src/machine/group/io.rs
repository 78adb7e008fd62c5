//! What goes in and out of a group: subscriptions, handovers, commits, errors.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use dohle_wire::ErrorCode;
use dohle_wire::id::{LeaderEpoch, Offset, Timestamp};
use regex::Regex;
use thiserror::Error;

use crate::machine::consumer::Start;
use crate::machine::{Token, TopicPartition};

/// Most bytes that the program of a pattern may have.
const PATTERN_MAX: usize = 1 << 20;

/// A text that is not a regular expression.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("bad pattern: {0}")]
pub struct PatternError(
    /// What is wrong with it.
    pub String,
);

/// A regular expression for whole names of topics.
#[derive(Clone, Debug)]
pub struct Pattern {
    text: Arc<str>,
    regex: Regex,
}

impl PartialEq for Pattern {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl Eq for Pattern {}

impl Pattern {
    /// The pattern that a text describes.
    pub fn new(text: &str) -> Result<Self, PatternError> {
        let whole = format!("^(?:{text})$");
        let regex = regex::RegexBuilder::new(&whole).size_limit(PATTERN_MAX).build();
        let regex = regex.map_err(|error| PatternError(error.to_string()))?;
        Ok(Self { text: text.into(), regex })
    }

    /// The text.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Whether a topic's whole name matches.
    pub fn matches(&self, topic: &str) -> bool {
        self.regex.is_match(topic)
    }
}

/// What a member of a group wants to read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Subscription {
    /// These topics.
    Topics(BTreeSet<Arc<str>>),
    /// The topics that match, those that come later too. With `group.protocol=consumer` the broker
    /// looks for them.
    Pattern(Pattern),
}

impl Subscription {
    /// These topics.
    pub fn to<S: Into<Arc<str>>>(topics: impl IntoIterator<Item = S>) -> Self {
        Self::Topics(topics.into_iter().map(Into::into).collect())
    }
}

/// How far a partition has been read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OffsetAndMetadata {
    /// Offset of the next record to read.
    pub offset: Offset,
    /// Epoch of the leader that appended the last record that was read, if known.
    pub leader_epoch: Option<LeaderEpoch>,
    /// A note.
    pub metadata: String,
}

impl OffsetAndMetadata {
    /// Reading goes on at this offset; without a note.
    pub const fn at(offset: Offset) -> Self {
        Self { offset, leader_epoch: None, metadata: String::new() }
    }
}

/// A change of what is read, as the group decided.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Rebalance {
    /// These partitions are read from now on.
    Assigned(BTreeSet<TopicPartition>),
    /// These partitions are given up. None of their records is given out any more; until this is
    /// acknowledged nobody else reads them, and offsets can be committed.
    Revoked(BTreeSet<TopicPartition>),
    /// These partitions are gone: others may read them already, and nothing can be committed.
    Lost(BTreeSet<TopicPartition>),
}

/// A question to the group, or to the leaders.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Call {
    /// Commit these offsets; `None` for how far polls have given out what is assigned.
    Commit(Option<BTreeMap<TopicPartition, OffsetAndMetadata>>),
    /// Which offsets of these partitions are committed?
    Committed(Vec<TopicPartition>),
    /// At which offsets are these places?
    Offsets(Vec<(TopicPartition, Start)>),
}

/// An offset that was looked up.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct OffsetAndTimestamp {
    /// The offset.
    pub offset: Offset,
    /// Timestamp of the record there; -1 if it was not looked up by time.
    pub timestamp: Timestamp,
    /// Epoch of the leader that appended the record, if known.
    pub leader_epoch: Option<LeaderEpoch>,
}

/// The answer to a [`Call`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reply {
    /// All was committed.
    Committing,
    /// The committed offset of each partition that has one.
    Committed(BTreeMap<TopicPartition, OffsetAndMetadata>),
    /// The offset of each partition that has such a place.
    Offsets(BTreeMap<TopicPartition, OffsetAndTimestamp>),
}

/// What a group wants done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GroupEffect {
    /// The application has to hear of this, and acknowledge it. Given out in answer to a poll.
    Rebalance(Rebalance),
    /// Membership failed. Given out in answer to a poll.
    Failed(GroupError),
    /// A call ended.
    Done {
        /// Whose.
        token: Token,
        /// How.
        result: Result<Reply, GroupError>,
    },
}

/// Why something about a group failed.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum GroupError {
    /// `group.id` is not set.
    #[error("group.id is not set")]
    NoGroup,
    /// Another member has the same `group.instance.id`. Final: subscribe again to go on.
    #[error("another member has the same group.instance.id")]
    Fenced,
    /// The generation in which the partitions were assigned is over: others may read them.
    #[error("the group has rebalanced without this member: what it read may be read again")]
    CommitFailed,
    /// The group rebalances. Poll, and commit again.
    #[error("the group rebalances: poll, then commit again")]
    RebalanceInProgress,
    /// There was no answer in time.
    #[error("no answer within default.api.timeout.ms")]
    TimedOut,
    /// Too many calls wait.
    #[error("too many calls wait for an answer")]
    Busy,
    /// The consumer was closed.
    #[error("the consumer is closed")]
    Closed,
    /// The broker lacks what is needed.
    #[error("the broker does not speak what group.protocol needs")]
    Unsupported,
    /// The broker refuses.
    #[error("{0}")]
    Refused(
        /// The broker's error code.
        ErrorCode,
    ),
}
