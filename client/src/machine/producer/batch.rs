//! One batch on its way from records to an acknowledgement.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use dohle_wire::ErrorCode;
use dohle_wire::id::{Offset, ProducerEpoch, ProducerId, Sequence, Timestamp};
use dohle_wire::record::{
    BATCH_HEADER_LEN, BatchBuilder, Codecs, Compression, Header, RawBatch, RecordIter,
};

use super::ProducerRecord;
use crate::machine::Token;

/// Producer id and epoch.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) struct Identity {
    pub(super) id: ProducerId,
    pub(super) epoch: ProducerEpoch,
}

/// What makes a batch known to the broker again.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) struct Stamp {
    pub(super) identity: Identity,
    pub(super) sequence: Sequence,
}

/// A record in a batch, as far as its sender is concerned.
#[derive(Copy, Clone, Debug)]
pub(super) struct Waiting {
    pub(super) token: Token,
    /// Number of flushes asked for before the record was sent.
    pub(super) flush: u64,
    pub(super) timestamp: Timestamp,
    /// Bytes of `buffer.memory` the record takes.
    pub(super) size: usize,
}

/// The records themselves.
#[derive(Clone, Debug)]
enum Content {
    /// More may come.
    Open(BatchBuilder),
    /// As they are sent, with this stamp.
    Sealed(Bytes, Option<Stamp>),
}

/// One batch.
#[derive(Clone, Debug)]
pub(super) struct Batch {
    /// Unique in its producer; later batches have larger ones.
    pub(super) number: u64,
    pub(super) records: Vec<Waiting>,
    pub(super) created: Duration,
    /// When `delivery.timeout.ms` has passed for its first record.
    pub(super) expires: Duration,
    /// Its place in the stream of the partition, once it was taken to be sent.
    pub(super) stamp: Option<Stamp>,
    pub(super) attempts: u32,
    /// It waits until then after a failed attempt.
    pub(super) not_before: Duration,
    /// Some attempt may have been written although it was not acknowledged.
    pub(super) in_doubt: bool,
    /// Why the broker did not take the last attempt, if it said so.
    pub(super) refused: Option<ErrorCode>,
    content: Content,
}

impl Batch {
    pub(super) const fn new(number: u64, created: Duration, expires: Duration) -> Self {
        Self {
            number,
            records: Vec::new(),
            created,
            expires,
            stamp: None,
            attempts: 0,
            not_before: Duration::ZERO,
            in_doubt: false,
            refused: None,
            content: Content::Open(BatchBuilder::new(Offset(0))),
        }
    }

    pub(super) fn count(&self) -> i32 {
        self.records.len() as i32
    }

    /// Whether its records were given up on: only its effect on sequences still matters.
    pub(super) const fn is_given_up(&self) -> bool {
        self.records.is_empty()
    }

    /// Whether a record of `size` bytes can join. An empty batch takes any; one that was sent takes
    /// none, because the next batches have the sequences after it.
    pub(super) fn has_room(&self, size: usize, batch_size: usize) -> bool {
        match &self.content {
            Content::Open(_) if self.attempts > 0 => false,
            Content::Open(builder) => {
                builder.is_empty() || builder.uncompressed_len() + size <= batch_size
            }
            Content::Sealed(..) => false,
        }
    }

    /// Whether waiting for more records is of no use.
    pub(super) const fn is_full(&self, batch_size: usize) -> bool {
        match &self.content {
            Content::Open(builder) => builder.uncompressed_len() >= batch_size,
            Content::Sealed(..) => true,
        }
    }

    /// Adds a record to a batch that has room.
    pub(super) fn push(
        &mut self,
        record: &ProducerRecord,
        waiting: Waiting,
    ) -> Result<(), Arc<str>> {
        let Content::Open(builder) = &mut self.content else {
            unreachable!("a sealed batch has no room")
        };
        let headers: Vec<Header<'_>> = record
            .headers
            .iter()
            .map(|header| Header { key: header.key.as_bytes(), value: header.value.as_deref() })
            .collect();
        builder
            .push(waiting.timestamp, record.key.as_deref(), record.value.as_deref(), &headers)
            .map_err(|error| Arc::from(error.to_string()))?;
        self.records.push(waiting);
        Ok(())
    }

    /// The bytes to send, with the stamp that the batch has now.
    pub(super) fn seal(
        &mut self,
        codecs: &dyn Codecs,
        compression: (Compression, Option<i32>),
    ) -> Result<Bytes, Arc<str>> {
        let stamp = self.stamp;
        let builder = match &mut self.content {
            Content::Sealed(bytes, as_stamped) if *as_stamped == stamp => return Ok(bytes.clone()),
            Content::Sealed(bytes, _) => reopen(bytes, codecs, 0, usize::MAX)?,
            Content::Open(builder) => std::mem::replace(builder, BatchBuilder::new(Offset(0))),
        };
        let builder = builder.compression(compression.0, compression.1);
        let builder = match stamp {
            Some(Stamp { identity, sequence }) => {
                builder.producer(identity.id, identity.epoch, sequence)
            }
            None => builder,
        };
        let bytes = builder.build(codecs).map_err(|error| Arc::from(error.to_string()))?;
        self.content = Content::Sealed(bytes.clone(), stamp);
        Ok(bytes)
    }

    /// Cuts a sealed batch of several records in two. Both halves keep their place in the stream;
    /// the second gets `number`.
    pub(super) fn split(
        mut self,
        number: u64,
        codecs: &dyn Codecs,
    ) -> Result<(Self, Self), Arc<str>> {
        let Content::Sealed(bytes, _) = &self.content else {
            unreachable!("only a batch that was sent can be too large for the broker")
        };
        let half = self.records.len() / 2;
        let first = reopen(bytes, codecs, 0, half)?;
        let second = reopen(bytes, codecs, half, usize::MAX)?;
        let mut later = self.clone();
        later.number = number;
        later.records = self.records.split_off(half);
        later.content = Content::Open(second);
        later.stamp =
            self.stamp.map(|stamp| Stamp { sequence: stamp.sequence.plus(half as i32), ..stamp });
        self.content = Content::Open(first);
        Ok((self, later))
    }
}

/// Whether `a` comes before `b` in the stream of a partition. Sequences wrap; batches that can be
/// compared are far closer to each other than half the range.
pub(super) const fn is_before(a: Sequence, b: Sequence) -> bool {
    let distance = b.0.wrapping_sub(a.0) & i32::MAX;
    distance != 0 && distance < i32::MAX / 2
}

/// The records from `from` to before `upto` of a batch of our own, to be sealed anew.
fn reopen(
    bytes: &Bytes,
    codecs: &dyn Codecs,
    from: usize,
    upto: usize,
) -> Result<BatchBuilder, Arc<str>> {
    let reread = || -> Result<BatchBuilder, Box<dyn std::error::Error>> {
        let batch = RawBatch::parse(bytes.clone())?;
        let records = batch.records(codecs, i32::MAX as usize)?;
        let mut builder = BatchBuilder::new(Offset(0));
        let all = RecordIter::new(&records, batch.header.records_count);
        for record in all.take(upto).skip(from) {
            let record = record?;
            let headers: Vec<Header<'_>> = record.headers.collect();
            let timestamp = record.timestamp(&batch.header);
            builder.push(timestamp, record.key, record.value, &headers)?;
        }
        Ok(builder)
    };
    reread().map_err(|error| Arc::from(error.to_string()))
}

/// Bytes of a batch besides its records.
pub(super) const OVERHEAD: usize = BATCH_HEADER_LEN;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn order_survives_the_wrap_of_sequences() {
        assert!(is_before(Sequence(0), Sequence(1)));
        assert!(!is_before(Sequence(1), Sequence(0)));
        assert!(!is_before(Sequence(5), Sequence(5)));
        assert!(is_before(Sequence(i32::MAX), Sequence(0)));
        assert!(is_before(Sequence(i32::MAX - 3), Sequence(40)));
        assert!(!is_before(Sequence(40), Sequence(i32::MAX - 3)));
    }
}
