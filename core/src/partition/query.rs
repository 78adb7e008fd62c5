//! Reading: fetches, offsets, epochs, and moving the start of the log.

use bytes::Bytes;
use dohle_wire::error::ErrorCode;
use dohle_wire::id::{LeaderEpoch, Offset, Timestamp};
use dohle_wire::record::{Codecs, RawBatch, RecordIter, TimestampType};
use dohle_wire::records::Records;

use super::{Effect, Partition};
use crate::fx::Fx;
use crate::log::Reading;
use crate::log::locate::{LocatePlan, Located};
use crate::log::tail::Span;
use crate::mail::{
    EpochEnd, EpochQuery, FoundOffset, Isolation, OffsetQuery, OffsetSpec, ReadPart, Readable,
    Refusal,
};

/// An answer, or what has to be looked up for it.
#[derive(Clone, Debug)]
pub enum Sought<T> {
    /// Here it is.
    Known(T),
    /// A driver has to look.
    Lookup(Lookup),
}

/// A look-up for one of the partition's requests.
#[derive(Clone, Debug)]
pub struct Lookup {
    /// Where to look.
    pub plan: LocatePlan,
    /// What for.
    pub purpose: LookupFor,
}

/// What a look-up is for.
#[derive(Clone, Debug)]
pub enum LookupFor {
    /// Records from an offset on; the answer so far and the limit.
    Read {
        /// Everything but the records.
        answer: Box<Readable>,
        /// Bytes wanted.
        max_bytes: u32,
        /// How far the reader may see.
        upper: Offset,
    },
    /// The first record at or after a time.
    Time(Timestamp),
}

impl Partition {
    /// A reader's part of a fetch.
    ///
    /// # Errors
    /// Leadership errors, OFFSET_OUT_OF_RANGE.
    pub fn on_read(
        &self,
        part: &ReadPart,
        isolation: Isolation,
    ) -> Result<Sought<Readable>, ErrorCode> {
        self.check_leader(part.leader_epoch)?;
        let mut answer = self.bounds();
        if let Some(diverging) = self.diverging(part) {
            answer.diverging = Some(diverging);
            return Ok(Sought::Known(answer));
        }
        if part.offset < self.log.log_start() || part.offset > self.log.end() {
            return Err(ErrorCode::OffsetOutOfRange);
        }
        let upper = self.readable(part.offset, isolation, &mut answer);
        match self.log.read(part.offset, upper) {
            Reading::Empty => Ok(Sought::Known(answer)),
            Reading::At(span) => Ok(Sought::Known(filled(answer, &span, part.max_bytes))),
            Reading::Locate(plan) => {
                let answer = Box::new(answer);
                let purpose = LookupFor::Read { answer, max_bytes: part.max_bytes, upper };
                Ok(Sought::Lookup(Lookup { plan, purpose }))
            }
        }
    }

    fn visible(&self, isolation: Isolation) -> Offset {
        match isolation {
            Isolation::ReadUncommitted => self.high_watermark,
            Isolation::ReadCommitted => self.last_stable(),
        }
    }

    /// How far a read from `from` goes, and what is to be left out of it.
    fn readable(&self, from: Offset, isolation: Isolation, answer: &mut Readable) -> Offset {
        let upper = self.visible(isolation);
        if isolation == Isolation::ReadUncommitted {
            return upper;
        }
        let committed = self.log.committed(from, upper);
        answer.aborted = committed.aborted;
        answer.more = committed.upper < upper;
        committed.upper
    }

    fn bounds(&self) -> Readable {
        Readable {
            high_watermark: self.high_watermark,
            last_stable: self.last_stable(),
            log_start: self.log.log_start(),
            records: Records::Bytes(Bytes::new()),
            first_batch_len: 0,
            more: false,
            aborted: Vec::new(),
            diverging: None,
        }
    }

    /// KIP-595: a reader whose last record is of an epoch that ended elsewhere is told where.
    fn diverging(&self, part: &ReadPart) -> Option<EpochEnd> {
        let epoch = part.last_fetched_epoch?;
        let end = self.log.epochs().end_of(epoch, self.log.end())?;
        (end.epoch < epoch || end.end < part.offset).then_some(end)
    }

    /// A look-up of an offset.
    ///
    /// # Errors
    /// Leadership errors.
    pub fn on_list_offset(
        &self,
        query: &OffsetQuery,
    ) -> Result<Sought<Option<FoundOffset>>, ErrorCode> {
        self.check_leader(query.leader_epoch)?;
        let upper = self.visible(query.isolation);
        Ok(match query.spec {
            OffsetSpec::Earliest => Sought::Known(Some(self.untimed(self.log.log_start()))),
            OffsetSpec::Latest => Sought::Known(Some(self.untimed(upper))),
            OffsetSpec::MaxTimestamp => self.by_time(self.log.max_timestamp(), upper),
            OffsetSpec::At(time) => self.by_time(Some(time), upper),
        })
    }

    fn by_time(&self, time: Option<Timestamp>, upper: Offset) -> Sought<Option<FoundOffset>> {
        let plan = time.and_then(|time| Some((time, self.log.read_time(time, upper)?)));
        match plan {
            Some((time, plan)) => Sought::Lookup(Lookup { plan, purpose: LookupFor::Time(time) }),
            None => Sought::Known(None),
        }
    }

    fn untimed(&self, offset: Offset) -> FoundOffset {
        FoundOffset { offset, timestamp: Timestamp(-1), epoch: self.epoch_at(offset) }
    }

    fn epoch_at(&self, offset: Offset) -> LeaderEpoch {
        self.log.epochs().epoch_at(offset).unwrap_or(LeaderEpoch(-1))
    }

    /// The record that a look-up by time found: the first that is young enough and not deleted.
    #[must_use]
    pub fn timed(
        &self,
        time: Timestamp,
        located: Option<&Located>,
        codecs: &dyn Codecs,
    ) -> Option<FoundOffset> {
        located?.batches.iter().find_map(|bytes| {
            let batch = RawBatch::parse(bytes.clone()).ok()?;
            let (offset, timestamp) = first_at(&batch, time, self.log.log_start(), codecs)?;
            Some(FoundOffset { offset, timestamp, epoch: batch.header.partition_leader_epoch })
        })
    }

    /// Where an epoch ended.
    ///
    /// # Errors
    /// Leadership errors.
    pub fn on_epoch_end(&self, query: &EpochQuery) -> Result<Option<EpochEnd>, ErrorCode> {
        self.check_leader(query.current)?;
        Ok(self.log.epochs().end_of(query.epoch, self.log.end()))
    }

    /// DeleteRecords: moves the start of the log up to `before`, or to the high watermark.
    ///
    /// # Errors
    /// Leadership errors, POLICY_VIOLATION for topics that are only compacted,
    /// OFFSET_OUT_OF_RANGE past the high watermark.
    pub fn on_delete_records(
        &mut self,
        before: Option<Offset>,
        fx: &mut Fx<Effect>,
    ) -> Result<Offset, Refusal> {
        self.check_leader(None)?;
        if !self.config.cleanup_policy.delete {
            let text = "records are deleted only where cleanup.policy has delete";
            return Err(Refusal::new(ErrorCode::PolicyViolation, text));
        }
        let start = before.unwrap_or(self.high_watermark);
        if start.0 < 0 || start > self.high_watermark {
            return Err(ErrorCode::OffsetOutOfRange.into());
        }
        self.log.advance_start(start, fx);
        self.invariants();
        Ok(self.log.log_start())
    }
}

/// Puts the bytes of a span into an answer.
fn filled(mut answer: Readable, span: &Span, max_bytes: u32) -> Readable {
    answer.records = Records::Holes(vec![span.hole(max_bytes)]);
    answer.first_batch_len = span.first_batch_len;
    answer.more |= span.more;
    answer
}

/// Completes a read with what a look-up found.
#[must_use]
pub fn completed(
    answer: Readable,
    max_bytes: u32,
    plan: &LocatePlan,
    found: Option<&Located>,
) -> Readable {
    match found {
        Some(found) => filled(answer, &Span::located(plan, found), max_bytes),
        None => answer,
    }
}

fn first_at(
    batch: &RawBatch,
    time: Timestamp,
    log_start: Offset,
    codecs: &dyn Codecs,
) -> Option<(Offset, Timestamp)> {
    let header = &batch.header;
    if header.timestamp_type() == TimestampType::LogAppendTime {
        return Some((header.base_offset.max(log_start), header.max_timestamp));
    }
    let payload = batch.records(codecs, MAX_BATCH).ok()?;
    let mut records = RecordIter::new(&payload, header.records_count);
    let timed = records.by_ref().map_while(Result::ok).map(|record| {
        let offset = header.base_offset.plus(i64::from(record.offset_delta));
        (offset, Timestamp(header.base_timestamp.0.saturating_add(record.timestamp_delta)))
    });
    timed.into_iter().find(|(offset, at)| *at >= time && *offset >= log_start)
}

/// Decompressed bytes of one batch at most; what was appended stayed below it.
const MAX_BATCH: usize = 1 << 30;
