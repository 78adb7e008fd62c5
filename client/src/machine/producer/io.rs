//! Inputs and effects of a producer.

use std::sync::Arc;

use bytes::Bytes;
use dohle_wire::ErrorCode;
use dohle_wire::id::{Offset, Timestamp};
use thiserror::Error;

use crate::machine::{NetEffect, NetInput, Token};

/// A header of a record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordHeader {
    /// The key.
    pub key: String,
    /// The value.
    pub value: Option<Bytes>,
}

/// A record to be written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProducerRecord {
    /// Name of the topic.
    pub topic: Arc<str>,
    /// The partition; `None` lets the key or the partitioner choose.
    pub partition: Option<i32>,
    /// The key.
    pub key: Option<Bytes>,
    /// The value; `None` is a tombstone on a compacted topic.
    pub value: Option<Bytes>,
    /// The headers, in order.
    pub headers: Vec<RecordHeader>,
    /// The timestamp; `None` takes the wall clock.
    pub timestamp: Option<Timestamp>,
}

impl ProducerRecord {
    /// A record without key for `topic`.
    pub fn new(topic: impl Into<Arc<str>>, value: impl Into<Bytes>) -> Self {
        Self {
            topic: topic.into(),
            partition: None,
            key: None,
            value: Some(value.into()),
            headers: Vec::new(),
            timestamp: None,
        }
    }

    /// The same record with this key.
    #[must_use]
    pub fn with_key(mut self, key: impl Into<Bytes>) -> Self {
        self.key = Some(key.into());
        self
    }

    /// The same record for this partition.
    #[must_use]
    pub fn with_partition(mut self, partition: i32) -> Self {
        self.partition = Some(partition);
        self
    }

    /// The same record with one more header.
    #[must_use]
    pub fn with_header(mut self, key: impl Into<String>, value: impl Into<Bytes>) -> Self {
        self.headers.push(RecordHeader { key: key.into(), value: Some(value.into()) });
        self
    }

    /// Bytes that the record is accounted with: no less than it needs in a batch.
    pub fn size(&self) -> usize {
        let data = |bytes: &Option<Bytes>| bytes.as_ref().map_or(0, Bytes::len);
        let headers = self.headers.iter().map(|h| 10 + h.key.len() + data(&h.value));
        RECORD_OVERHEAD + data(&self.key) + data(&self.value) + headers.sum::<usize>()
    }
}

/// Most bytes that a record has besides key, value and headers.
const RECORD_OVERHEAD: usize = 21 + 10;

/// What a producer reacts to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Input {
    /// Something happened to a connection.
    Net(NetInput),
    /// Write a record. Answered by one [`Effect::Delivered`].
    Send {
        /// Repeated in the answer.
        token: Token,
        /// The record.
        record: ProducerRecord,
    },
    /// Do not let records linger; answered by [`Effect::Flushed`] once all records sent before are
    /// delivered or failed.
    Flush {
        /// Repeated in the answer.
        token: Token,
    },
    /// Fail what is not delivered and close all connections. Later sends fail.
    Close,
    /// The deadline passed.
    Tick,
}

impl From<NetInput> for Input {
    fn from(input: NetInput) -> Self {
        Self::Net(input)
    }
}

/// What a producer wants done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Something about connections.
    Net(NetEffect),
    /// The fate of a record.
    Delivered {
        /// Which record.
        token: Token,
        /// Where it is, or why it is not known to be there.
        result: Result<Receipt, ProduceError>,
    },
    /// A flush is done.
    Flushed {
        /// Which flush.
        token: Token,
    },
}

impl From<NetEffect> for Effect {
    fn from(effect: NetEffect) -> Self {
        Self::Net(effect)
    }
}

/// Where an acknowledged record is.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Receipt {
    /// Number of the partition.
    pub partition: i32,
    /// Offset; -1 without acknowledgement (`acks=0`), or when the broker no longer knew it.
    pub offset: Offset,
    /// Timestamp that consumers will see.
    pub timestamp: Timestamp,
}

/// Why a record is not known to be in the log.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ProduceError {
    /// `buffer.memory` is used up: nothing was queued. Send again when records have been delivered.
    #[error("buffer.memory is used up")]
    BufferFull,
    /// The record alone is larger than `max.request.size` or `buffer.memory`.
    #[error("the record has {size} bytes, more than the limit of {limit} bytes")]
    RecordTooLarge {
        /// Bytes of the record.
        size: usize,
        /// The limit.
        limit: usize,
    },
    /// `max.block.ms` passed and the topic is still unknown.
    #[error("topic {topic} is unknown after max.block.ms ({last})")]
    NoMetadata {
        /// The topic.
        topic: Arc<str>,
        /// What the brokers last said of the topic.
        last: ErrorCode,
    },
    /// `max.block.ms` passed and the topic still does not have the partition that was asked for.
    #[error("{topic} has {count} partitions, numbered from 0; there is no partition {partition}")]
    NoPartition {
        /// The topic.
        topic: Arc<str>,
        /// The partition.
        partition: i32,
        /// How many the topic has.
        count: usize,
    },
    /// A partition number below 0, or one of a partitioner's that the topic does not have.
    #[error("partition {0} does not exist")]
    InvalidPartition(
        /// The number.
        i32,
    ),
    /// `delivery.timeout.ms` passed. If `in_doubt`, the record may be in the log nevertheless.
    #[error("not acknowledged within delivery.timeout.ms{}{}", last_said(*last), doubt(*in_doubt))]
    TimedOut {
        /// Why the record could not be written when it was last tried, if a broker said so.
        last: Option<ErrorCode>,
        /// Whether the record was sent and its fate is unknown.
        in_doubt: bool,
    },
    /// The broker refused the record, or the batch that it was in. If `in_doubt`, an earlier
    /// attempt may have written the record nevertheless.
    #[error("{code}{}{}", text(message), doubt(*in_doubt))]
    Refused {
        /// The broker's error code.
        code: ErrorCode,
        /// The broker's explanation.
        message: Option<Arc<str>>,
        /// Whether an earlier attempt may have succeeded.
        in_doubt: bool,
    },
    /// The connection was lost, or the answer did not come, after the last attempt.
    #[error("connection lost after the last attempt; the record may be in the log")]
    Lost,
    /// The batch could not be made, for example because a codec is missing.
    #[error("the batch could not be made: {0}")]
    Unencodable(
        /// What is wrong.
        Arc<str>,
    ),
    /// No producer id can be had, so that nothing can be written idempotently.
    #[error("no producer id: {0}; without idempotence set enable.idempotence=false")]
    NoProducerId(
        /// The broker's error code.
        ErrorCode,
    ),
    /// The producer was closed. If the record was on its way it may be in the log.
    #[error("the producer is closed")]
    Closed,
}

impl ProduceError {
    /// Whether the record may be in the log in spite of the error.
    pub const fn is_in_doubt(&self) -> bool {
        match self {
            Self::TimedOut { in_doubt, .. } | Self::Refused { in_doubt, .. } => *in_doubt,
            Self::Lost | Self::Closed => true,
            Self::BufferFull
            | Self::RecordTooLarge { .. }
            | Self::NoMetadata { .. }
            | Self::NoPartition { .. }
            | Self::InvalidPartition(_)
            | Self::Unencodable(_)
            | Self::NoProducerId(_) => false,
        }
    }
}

const fn doubt(in_doubt: bool) -> &'static str {
    if in_doubt { "; the record may be in the log" } else { "" }
}

fn last_said(code: Option<ErrorCode>) -> String {
    code.map_or_else(String::new, |code| format!(" (the broker last said {code})"))
}

fn text(message: &Option<Arc<str>>) -> String {
    message.as_ref().map_or_else(String::new, |text| format!(": {text}"))
}
