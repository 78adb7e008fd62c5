//! Batches that may be appended: checked once, where they come in.
//!
//! [`check`] looks inside a producer's batch as far as Kafka's broker does (LogValidator) and
//! makes a [`CheckedBatch`], the only type that a log appends. What the log itself decides
//! (offsets, leader epoch, sequences) is not looked at here.

use bytes::Bytes;
use dohle_wire::error::ErrorCode;
use dohle_wire::id::{Offset, Timestamp};
use dohle_wire::record::{
    BatchBuilder, BatchError, BatchHeader, BuildError, CodecError, Codecs, Compression, Header,
    RawBatch, RecordIter, TimestampType, set_max_timestamp, skim,
};

use crate::config::topic::TopicConfig;

/// A whole v2 batch that passed all checks which do not need the log.
#[derive(Clone, Debug, PartialEq)]
pub struct CheckedBatch {
    header: BatchHeader,
    bytes: Bytes,
    append_time: Option<Timestamp>,
}

/// Why a batch is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BatchRefusal {
    /// Kafka's error code for the partition.
    pub code: ErrorCode,
    /// For a person.
    pub message: String,
    /// The records at fault: (index in the batch, message), when single ones are.
    pub records: Vec<(i32, String)>,
}

impl CheckedBatch {
    /// Takes a batch as checked. For batches that this node made itself (control records,
    /// metadata) and for [`check`].
    #[must_use]
    pub fn trusted(header: BatchHeader, bytes: Bytes, append_time: Option<Timestamp>) -> Self {
        debug_assert_eq!(header.total_len(), bytes.len());
        Self { header, bytes, append_time }
    }

    /// The parsed header; base offset and leader epoch are not final.
    #[must_use]
    pub fn header(&self) -> &BatchHeader {
        &self.header
    }

    /// The whole batch, header included.
    #[must_use]
    pub fn bytes(&self) -> &Bytes {
        &self.bytes
    }

    /// When the broker stamped it, for topics with LogAppendTime.
    #[must_use]
    pub fn append_time(&self) -> Option<Timestamp> {
        self.append_time
    }
}

/// How much larger than `max.message.bytes` a batch may become when it is decompressed, unless
/// `max.decompressed.message.bytes` says less.
///
/// A producer counts compressed bytes, so a full batch of well compressible records is legitimately
/// many times its own size. One that goes beyond is refused like one that is too large, at which
/// the Java client splits the batch and sends the halves.
const DECOMPRESSED_PER_BYTE: usize = 64;

/// Any batch may decompress to this many bytes, however small `max.message.bytes` is.
const DECOMPRESSED_LEAST: usize = 32 << 20;

/// No batch may decompress to more than this many bytes.
const DECOMPRESSED_MOST: usize = 1 << 30;

/// All batches of a request together may decompress to so many bytes for each byte that a request
/// may have (`socket.request.max.bytes`), and always to as many as one batch may.
///
/// Batches are checked one after the other by whoever reads the connection, for as long as that
/// takes. What is beyond is refused like a batch that is too large.
const DECOMPRESSED_PER_REQUEST_BYTE: usize = 16;

/// So many records at fault are named; a batch can hold some hundred thousand of them.
const RECORD_ERRORS_MAX: usize = 1_000;

/// First version of Produce that may bring zstd.
const ZSTD_FROM: i16 = 7;

/// Bytes that the batches of one request may still decompress to.
#[derive(Clone, Debug)]
pub struct Budget {
    whole: usize,
    left: usize,
}

impl Budget {
    /// The budget of a request where requests have `request_bytes_max` bytes at most.
    #[must_use]
    pub fn new(request_bytes_max: i32) -> Self {
        let bytes = usize::try_from(request_bytes_max).unwrap_or(0);
        let whole = bytes.saturating_mul(DECOMPRESSED_PER_REQUEST_BYTE).max(DECOMPRESSED_MOST);
        Self { whole, left: whole }
    }

    /// Decompresses records to `limit` bytes at most. One that fails may have cost as much.
    fn records(
        &mut self,
        batch: &RawBatch,
        codecs: &dyn Codecs,
        limit: usize,
    ) -> Result<Bytes, CodecError> {
        let records = batch.records(codecs, limit);
        let cost = match &records {
            _ if batch.header.compression() == Compression::None => 0,
            Ok(records) => records.len(),
            Err(CodecError::Unsupported(_)) => 0,
            Err(CodecError::TooLarge { .. } | CodecError::Corrupt { .. }) => limit,
        };
        self.left = self.left.saturating_sub(cost);
        records
    }

    fn spent(&self) -> BatchRefusal {
        let message =
            format!("the batches of the request decompress to more than {} bytes", self.whole);
        BatchRefusal::new(ErrorCode::MessageTooLarge, message)
    }
}

impl BatchRefusal {
    fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), records: Vec::new() }
    }
}

/// Checks what a client sent for one partition in a Produce request of `version`, and makes it
/// what the topic wants stored (Kafka's `ProduceRequest.validateRecords`, the part of
/// `UnifiedLog.append` that looks at nothing but the batch, and `LogValidator`).
///
/// The bytes are copied only if something in them changes: the time of the append is stamped, the
/// largest timestamp was not what the header says, the codec is not the topic's, or the offsets of
/// the records are not consecutive.
///
/// # Errors
/// The batch breaks a rule; nothing of it may be appended.
pub fn check(
    bytes: Bytes,
    topic: &TopicConfig,
    now: Timestamp,
    version: i16,
    codecs: &dyn Codecs,
    budget: &mut Budget,
) -> Result<CheckedBatch, BatchRefusal> {
    let batch = one_batch(bytes, version)?;
    check_envelope(&batch, topic)?;
    check_origin(&batch.header)?;
    let source = batch.header.compression();
    let target = topic.compression_type.target(source);
    let records = decompressed(&batch, topic, codecs, budget)?;
    let seen = check_records(&batch.header, &records, topic, now)?;
    let stored = if source == target && seen.consecutive {
        stamped(batch, topic, seen.max_timestamp, now)
    } else {
        rebuilt(&batch.header, &records, topic, now, target, codecs)?
    };
    check_size(stored.bytes.len(), topic)?;
    check_segment(stored.bytes.len(), topic)?;
    let append_time = appends_stamp(topic).then_some(now);
    Ok(CheckedBatch::trusted(stored.header, stored.bytes, append_time))
}

fn appends_stamp(topic: &TopicConfig) -> bool {
    topic.timestamp_type == TimestampType::LogAppendTime
}

/// The single batch of format 2 that `bytes` has to be.
fn one_batch(bytes: Bytes, version: i16) -> Result<RawBatch, BatchRefusal> {
    let batch = RawBatch::parse(bytes).map_err(|error| malformed(error, version))?;
    if batch.header.compression() == Compression::Zstd && version < ZSTD_FROM {
        let message = format!("Produce requests with version {version} must not use zstd");
        return Err(BatchRefusal::new(ErrorCode::UnsupportedCompressionType, message));
    }
    Ok(batch)
}

fn malformed(error: BatchError, version: i16) -> BatchRefusal {
    let code = match error {
        BatchError::Length(_) => ErrorCode::CorruptMessage,
        BatchError::Compression(_) => ErrorCode::UnsupportedCompressionType,
        BatchError::Truncated { .. }
        | BatchError::Trailing(_)
        | BatchError::Magic(_)
        | BatchError::Count(_)
        | BatchError::LastOffsetDelta(_) => ErrorCode::InvalidRecord,
    };
    let message = format!(
        "Produce requests with version {version} must have exactly one record batch of format 2 \
         per partition: {error}"
    );
    BatchRefusal::new(code, message)
}

/// What holds for the batch as a whole, whoever made it.
fn check_envelope(batch: &RawBatch, topic: &TopicConfig) -> Result<(), BatchRefusal> {
    if batch.header.base_offset.0 != 0 {
        let message = format!("the base offset must be 0, but it is {}", batch.header.base_offset);
        return Err(BatchRefusal::new(ErrorCode::InvalidRecord, message));
    }
    check_size(batch.bytes.len(), topic)?;
    if !batch.crc_ok() {
        let message = format!("the checksum is not the {:#010x} stored", batch.header.crc);
        return Err(BatchRefusal::new(ErrorCode::CorruptMessage, message));
    }
    Ok(())
}

fn check_size(len: usize, topic: &TopicConfig) -> Result<(), BatchRefusal> {
    let max = max_message_bytes(topic);
    if len > max {
        let message =
            format!("the record batch has {len} bytes, max.message.bytes of the topic is {max}");
        return Err(BatchRefusal::new(ErrorCode::MessageTooLarge, message));
    }
    Ok(())
}

fn check_segment(len: usize, topic: &TopicConfig) -> Result<(), BatchRefusal> {
    let max = usize::try_from(topic.segment_bytes).unwrap_or(0);
    if len > max {
        let message = format!("a batch of {len} bytes does not fit a segment of {max} bytes");
        return Err(BatchRefusal::new(ErrorCode::RecordListTooLarge, message));
    }
    Ok(())
}

fn max_message_bytes(topic: &TopicConfig) -> usize {
    usize::try_from(topic.max_message_bytes).unwrap_or(0)
}

/// What holds for batches that clients make (LogValidator.validateBatch).
fn check_origin(header: &BatchHeader) -> Result<(), BatchRefusal> {
    let invalid = |message: String| Err(BatchRefusal::new(ErrorCode::InvalidRecord, message));
    let (delta, count) = (header.last_offset_delta, header.records_count);
    if count < 1 || i64::from(delta) + 1 != i64::from(count) {
        return invalid(format!("{count} records cannot span offsets 0 to {delta}"));
    }
    if header.is_control() {
        return invalid("clients must not write control records".into());
    }
    if header.has_producer_id() && header.base_sequence.0 < 0 {
        let (sequence, producer) = (header.base_sequence, header.producer_id);
        return invalid(format!("sequence {sequence} with producer id {producer}"));
    }
    Ok(())
}

fn decompressed(
    batch: &RawBatch,
    topic: &TopicConfig,
    codecs: &dyn Codecs,
    budget: &mut Budget,
) -> Result<Bytes, BatchRefusal> {
    let limit = max_message_bytes(topic).saturating_mul(DECOMPRESSED_PER_BYTE);
    let configured = usize::try_from(topic.max_decompressed_message_bytes).unwrap_or(0);
    let limit = limit.clamp(DECOMPRESSED_LEAST, DECOMPRESSED_MOST).min(configured);
    let granted = limit.min(budget.left);
    if granted == 0 && batch.header.compression() != Compression::None {
        return Err(budget.spent());
    }
    budget.records(batch, codecs, granted).map_err(|error| {
        let code = match error {
            CodecError::TooLarge { .. } if granted < limit => return budget.spent(),
            CodecError::Unsupported(_) => ErrorCode::UnsupportedCompressionType,
            CodecError::TooLarge { .. } => ErrorCode::MessageTooLarge,
            CodecError::Corrupt { .. } => ErrorCode::InvalidRecord,
        };
        BatchRefusal::new(code, format!("the records cannot be decompressed: {error}"))
    })
}

/// What reading all records shows.
struct Seen {
    /// The largest timestamp, -1 when no record has one.
    max_timestamp: Timestamp,
    /// Whether the offset deltas are 0, 1, 2, …
    consecutive: bool,
}

/// Reads every record to its last byte and applies the rules for single records.
fn check_records(
    header: &BatchHeader,
    records: &[u8],
    topic: &TopicConfig,
    now: Timestamp,
) -> Result<Seen, BatchRefusal> {
    if let Some(seen) = skimmed(header, records, topic, now) {
        return Ok(seen);
    }
    let mut seen = Seen { max_timestamp: Timestamp(-1), consecutive: true };
    let mut faults = Faults::default();
    for (record, index) in RecordIter::new(records, header.records_count).zip(0i32..) {
        let record = record.map_err(|error| {
            let message = format!("record {index} of {}: {error}", header.records_count);
            BatchRefusal::new(ErrorCode::InvalidRecord, message)
        })?;
        // A time of append that is claimed goes, and the records' own times are left.
        let timestamp = record.create_time(header);
        seen.max_timestamp = seen.max_timestamp.max(timestamp);
        seen.consecutive &= record.offset_delta == index;
        if topic.cleanup_policy.compact && record.key.is_none() {
            let message = "a compacted topic takes no record without a key";
            faults.add(ErrorCode::InvalidRecord, index, || message.into());
        } else if header.base_timestamp.0.checked_add(record.timestamp_delta).is_none() {
            let message = "the timestamp is beyond any time";
            faults.add(ErrorCode::InvalidTimestamp, index, || message.into());
        } else if let Some(message) = bad_timestamp(header, timestamp, topic, now) {
            faults.add(ErrorCode::InvalidTimestamp, index, || message);
        }
    }
    faults.into_result().map(|()| seen)
}

/// What reading all records shows if each of them keeps to the rules, as nearly all do: times that
/// are right lie between two that are.
fn skimmed(
    header: &BatchHeader,
    records: &[u8],
    topic: &TopicConfig,
    now: Timestamp,
) -> Option<Seen> {
    let seen = skim(records, header.records_count)?;
    let (least, most) = (seen.least_timestamp_delta, seen.most_timestamp_delta);
    let least = Timestamp(header.base_timestamp.0.checked_add(least)?);
    let most = Timestamp(header.base_timestamp.0.checked_add(most)?);
    let bad =
        [least, most].iter().any(|at| at.0 < 0 || bad_timestamp(header, *at, topic, now).is_some());
    let keyed = seen.all_keyed || !topic.cleanup_policy.compact;
    (keyed && !bad).then_some(Seen { max_timestamp: most, consecutive: seen.consecutive })
}

/// What is wrong with the timestamp of a record, if anything (LogValidator.validateTimestamp).
fn bad_timestamp(
    header: &BatchHeader,
    timestamp: Timestamp,
    topic: &TopicConfig,
    now: Timestamp,
) -> Option<String> {
    let claimed = header.timestamp_type() == TimestampType::LogAppendTime;
    if claimed && (appends_stamp(topic) || header.max_timestamp.0 == -1) {
        return Some("a producer must not set the timestamp type to LogAppendTime".into());
    }
    if appends_stamp(topic) || timestamp.0 == -1 {
        return None;
    }
    let age = now.0.saturating_sub(timestamp.0);
    let (before, after) = (topic.timestamp_before_max_ms, topic.timestamp_after_max_ms);
    let out_of_range = age > before || age.saturating_neg() > after;
    out_of_range.then(|| {
        let (least, most) = (now.0.saturating_sub(before), now.0.saturating_add(after));
        format!("timestamp {timestamp} is not within {least} to {most}")
    })
}

/// Records that break a rule.
#[derive(Default)]
struct Faults {
    count: usize,
    timestamps: bool,
    named: Vec<(i32, String)>,
}

impl Faults {
    fn add(&mut self, code: ErrorCode, index: i32, message: impl FnOnce() -> String) {
        self.count += 1;
        self.timestamps |= code == ErrorCode::InvalidTimestamp;
        if self.named.len() < RECORD_ERRORS_MAX {
            self.named.push((index, message()));
        }
    }

    /// One bad record refuses the whole batch; a bad timestamp decides the code.
    fn into_result(self) -> Result<(), BatchRefusal> {
        let Some((index, first)) = self.named.first() else { return Ok(()) };
        let code =
            if self.timestamps { ErrorCode::InvalidTimestamp } else { ErrorCode::InvalidRecord };
        let message = format!("{} invalid records, the first at {index}: {first}", self.count);
        Err(BatchRefusal { code, message, records: self.named })
    }
}

/// The batch as it came, with the timestamp that the topic wants in its header.
fn stamped(batch: RawBatch, topic: &TopicConfig, max: Timestamp, now: Timestamp) -> RawBatch {
    let max = if appends_stamp(topic) { now } else { max };
    let kept = batch.header.timestamp_type() == topic.timestamp_type;
    if kept && batch.header.max_timestamp == max {
        return batch;
    }
    let mut bytes = batch.bytes.to_vec();
    set_max_timestamp(&mut bytes, topic.timestamp_type, max).expect("a parsed batch has a header");
    reparsed(bytes.into())
}

fn reparsed(bytes: Bytes) -> RawBatch {
    RawBatch::parse(bytes).expect("a batch that this node wrote itself")
}

/// The level at which the broker compresses; none where the codec's own default is meant.
fn level(topic: &TopicConfig, codec: Compression) -> Option<i32> {
    let meant = topic.compression_level(codec)?;
    (codec != Compression::Gzip || meant != GZIP_DEFAULT).then_some(meant)
}

/// What `compression.gzip.level` has for the codec's own default.
const GZIP_DEFAULT: i32 = -1;

/// The records again, with consecutive offsets and the topic's codec.
fn rebuilt(
    header: &BatchHeader,
    records: &[u8],
    topic: &TopicConfig,
    now: Timestamp,
    target: Compression,
    codecs: &dyn Codecs,
) -> Result<RawBatch, BatchRefusal> {
    let stamp = appends_stamp(topic).then_some(now);
    let mut builder = BatchBuilder::new(Offset(0))
        .leader_epoch(header.partition_leader_epoch)
        .producer(header.producer_id, header.producer_epoch, header.base_sequence)
        .compression(target, level(topic, target));
    if header.is_transactional() {
        builder = builder.transactional();
    }
    if let Some(now) = stamp {
        builder = builder.append_time(now);
    }
    for record in RecordIter::new(records, header.records_count) {
        let record = record.expect("every record has been read before");
        let timestamp = stamp.unwrap_or_else(|| record.timestamp(header));
        let headers: Vec<Header<'_>> = record.headers.collect();
        builder.push(timestamp, record.key, record.value, &headers).map_err(unbuilt)?;
    }
    builder.build(codecs).map(reparsed).map_err(unbuilt)
}

fn unbuilt(error: BuildError) -> BatchRefusal {
    let code = match error {
        BuildError::TooLarge => ErrorCode::MessageTooLarge,
        BuildError::Codec(CodecError::Unsupported(_)) => ErrorCode::UnsupportedCompressionType,
        BuildError::Empty | BuildError::Offset(_) | BuildError::Codec(_) => {
            ErrorCode::UnknownServerError
        }
    };
    BatchRefusal::new(code, format!("the batch cannot be written anew: {error}"))
}

#[cfg(test)]
mod tests;
