//! Inputs and effects of a consumer.

use bytes::Bytes;
use dohle_wire::ErrorCode;
use dohle_wire::id::{LeaderEpoch, Offset, Timestamp};
use dohle_wire::record::TimestampType;
use thiserror::Error;

use crate::machine::group::{Call, GroupEffect, Subscription};
use crate::machine::{NetEffect, NetInput, Token, TopicPartition};

/// Where to start reading a partition.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Start {
    /// At the first record there is.
    Earliest,
    /// After the last record there is (and, when reading committed records only, before the first
    /// undecided transaction).
    Latest,
    /// At this offset, or at the next record after it.
    Offset(Offset),
    /// At the first record of this time or later; after the last record if there is none.
    Timestamp(Timestamp),
    /// As `auto.offset.reset` says.
    Reset,
    /// At the offset that the group has committed; without one, as `auto.offset.reset` says.
    Committed,
}

/// What a consumer reacts to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Input {
    /// Something happened to a connection.
    Net(NetInput),
    /// Read exactly these partitions. A partition that is read already keeps its position, unless
    /// its start is not [`Start::Reset`]. A group is left at once, without a commit.
    Assign(Vec<(TopicPartition, Start)>),
    /// Read a partition from elsewhere. What was fetched of it is dropped.
    Seek(TopicPartition, Start),
    /// Do not give out records of a partition, or do so again.
    Pause(TopicPartition, bool),
    /// Read, as a member of the group, what is subscribed to. What was assigned by hand is dropped.
    Subscribe(Subscription),
    /// Give up what was subscribed to, and leave the group.
    Unsubscribe,
    /// The application begins to wait for records, so it is done with all it has got before; or it
    /// ends to wait without taking any. [`Self::Poll`] implies both.
    Wait(bool),
    /// The application has heard of the last rebalance. A poll implies it.
    Acknowledge,
    /// Ask the group, or the leaders; ends with [`GroupEffect::Done`].
    Call {
        /// Comes back with the result.
        token: Token,
        /// The question.
        call: Call,
    },
    /// Give out up to this many records. Without any at hand nothing is given out: poll again when
    /// [`super::Consumer::has_records`].
    Poll {
        /// Most records.
        max_records: usize,
    },
    /// Leave the group at once, without a commit, and close all connections. The group hears of it
    /// as long as the driver goes on for a moment.
    Close,
    /// The deadline passed.
    Tick,
}

impl From<NetInput> for Input {
    fn from(input: NetInput) -> Self {
        Self::Net(input)
    }
}

/// What a consumer wants done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Something about connections.
    Net(NetEffect),
    /// Something about the group.
    Group(GroupEffect),
    /// Records of one partition, in the order of their offsets.
    Records {
        /// The partition.
        partition: TopicPartition,
        /// The records.
        records: Vec<ConsumedRecord>,
    },
    /// A partition cannot be read on; it rests until it is sought to another place, or assigned
    /// again. Given out once, in answer to a poll, after all good records before it.
    Failed {
        /// The partition.
        partition: TopicPartition,
        /// What is wrong.
        error: ConsumeError,
    },
}

impl From<NetEffect> for Effect {
    fn from(effect: NetEffect) -> Self {
        Self::Net(effect)
    }
}

/// A record that was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConsumedRecord {
    /// Offset in the partition.
    pub offset: Offset,
    /// Timestamp, in milliseconds since 1970; -1 for none.
    pub timestamp: Timestamp,
    /// What the timestamp means.
    pub timestamp_type: TimestampType,
    /// The key.
    pub key: Option<Bytes>,
    /// The value.
    pub value: Option<Bytes>,
    /// The headers, in order: key and value.
    pub headers: Vec<(Bytes, Option<Bytes>)>,
    /// Epoch of the leader that appended the record.
    pub leader_epoch: LeaderEpoch,
}

/// Why a partition cannot be read on.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ConsumeError {
    /// The position is not in the log and `auto.offset.reset` is `none`.
    #[error("offset {0} is not in the log, and auto.offset.reset is none")]
    OffsetOutOfRange(
        /// The position.
        Offset,
    ),
    /// There is no position and `auto.offset.reset` is `none`.
    #[error("there is no position, and auto.offset.reset is none")]
    NoPosition,
    /// The broker refuses for good.
    #[error("{0}")]
    Refused(
        /// The broker's error code.
        ErrorCode,
    ),
    /// The bytes of a batch are not a batch, its checksum is wrong, or it cannot be decompressed.
    #[error("bad batch at offset {offset}: {problem}")]
    Corrupt {
        /// The position at which reading stopped.
        offset: Offset,
        /// What is wrong.
        problem: String,
    },
}
