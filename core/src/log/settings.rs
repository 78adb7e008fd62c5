//! The settings of a topic that its logs act on.

use crate::config::topic::TopicConfig;
use crate::mutant::Mutants;

/// What a log needs to know of its topic's configs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogSettings {
    /// `segment.bytes`.
    pub segment_bytes: u64,
    /// `segment.ms`.
    pub segment_ms: i64,
    /// `segment.index.bytes`.
    pub index_bytes: usize,
    /// `index.interval.bytes`.
    pub index_interval: u64,
    /// `flush.messages`: records after which the log is synced; 1 means before each answer.
    pub flush_messages: i64,
    /// `flush.ms`: milliseconds after which the log is synced.
    pub flush_ms: i64,
    /// `preallocate`: a new segment takes the space for all its bytes at once.
    pub preallocate: bool,
    /// Compaction may have left offsets out between batches, here or where they come from.
    pub gaps: bool,
    /// Planted bugs.
    pub mutants: Mutants,
}

impl LogSettings {
    /// The part of `config` that concerns a log.
    #[must_use]
    pub fn from_topic(config: &TopicConfig, mutants: Mutants) -> Self {
        Self {
            segment_bytes: u64::try_from(config.segment_bytes).unwrap_or(1),
            segment_ms: config.max_segment_ms(),
            index_bytes: usize::try_from(config.segment_index_bytes).unwrap_or(0),
            index_interval: u64::try_from(config.index_interval_bytes).unwrap_or(0),
            flush_messages: config.flush_messages,
            flush_ms: config.flush_ms,
            preallocate: config.preallocate,
            gaps: config.cleanup_policy.compact,
            mutants,
        }
    }

    /// Whether records count only once they are durable (`flush.messages=1`).
    #[must_use]
    pub fn syncs_before_ack(&self) -> bool {
        self.flush_messages == 1
    }
}
