//! A coordinator on a partition: it learns what the log says, then decides and appends.
//!
//! State: the coordinator, how far it has read the log (while it begins), answers that wait until
//! the records they depend on are committed, in log order.
//!
//! Invariants: nothing is decided before the whole log was read; an answer leaves only when the
//! high watermark has reached what was appended before it.

use std::collections::VecDeque;
use std::sync::Arc;

use bytes::Bytes;
use dohle_wire::id::Offset;
use dohle_wire::record::control::ControlRecord;
use dohle_wire::record::{
    BatchBuilder, Codecs, NoCodecs, RawBatch, Record, RecordIter, split_batches,
};

use crate::batch::CheckedBatch;
use crate::disk::{DiskOp, FileId, IoDone, IoId, IoOk, Part, What, WholeRead};
use crate::fx::Fx;
use crate::group::record::Record as Fact;
use crate::group::request::Answer;
use crate::group::{GroupCoordinator, GroupSettings, codec};
use crate::log::Reading;
use crate::log::locate::LocatePlan;
use crate::log::tail::Span;
use crate::log::txn;
use crate::mail::ReplyTo;
use crate::mutant::{Mutant, Mutants};
use crate::partition::Partition;
use crate::time::Now;

use super::undecided::{Found, Undecided};

/// No batch decompresses to more than this.
const BATCH_MOST: usize = 1 << 30;

/// A coordinator and what waits for its records.
#[derive(Clone, Debug)]
pub(super) struct Ledger {
    slot: u32,
    /// Counts the coordinators of the shard; ends of reads of an earlier one mean nothing.
    generation: u32,
    pub(super) coordinator: GroupCoordinator,
    loading: Option<Loading>,
    /// Topics that were deleted while the log was being read.
    pub(super) gone: Vec<Arc<str>>,
    waiting: VecDeque<(Offset, ReplyTo, Answer)>,
    load_buffer_size: u32,
    mutants: Mutants,
}

/// The log is being read.
#[derive(Clone, Debug)]
struct Loading {
    next: Offset,
    upto: Offset,
    looking: Option<LocatePlan>,
    reading: Option<WholeRead>,
    undecided: Undecided,
}

/// What became of a step of loading.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Loaded {
    /// It goes on.
    Working,
    /// Everything is known.
    Done,
    /// The log cannot be read; the reason is for the operator.
    Failed(String),
}

impl Ledger {
    /// A coordinator that begins to read the log of `partition`.
    pub(super) fn begin<E: From<DiskOp>>(
        slot: u32,
        generation: u32,
        settings: &Arc<GroupSettings>,
        seed: u64,
        partition: &Partition,
        fx: &mut Fx<E>,
    ) -> (Self, Loaded) {
        let (next, upto) = (partition.log().log_start(), partition.log().end());
        let mut ledger = Self {
            slot,
            generation,
            coordinator: GroupCoordinator::new(Arc::clone(settings), seed),
            loading: Some(Loading {
                next,
                upto,
                looking: None,
                reading: None,
                undecided: Undecided::default(),
            }),
            gone: Vec::new(),
            waiting: VecDeque::new(),
            load_buffer_size: settings.load_buffer_size,
            mutants: settings.mutants,
        };
        let loaded = ledger.read_on(partition, fx);
        (ledger, loaded)
    }

    /// Whether the log is still being read.
    pub(super) fn is_loading(&self) -> bool {
        self.loading.is_some()
    }

    /// How much is read at a time.
    fn piece(&self) -> (u32, Mutants) {
        (self.load_buffer_size, self.mutants)
    }

    fn id(&self) -> IoId {
        IoId { owner: self.slot, generation: self.generation, what: What::Load, end: 0 }
    }

    /// Asks for what comes next.
    fn read_on<E: From<DiskOp>>(&mut self, partition: &Partition, fx: &mut Fx<E>) -> Loaded {
        let (id, piece) = (self.id(), self.piece());
        let Some(loading) = &mut self.loading else { return Loaded::Done };
        match partition.log().read(loading.next, loading.upto) {
            Reading::Empty => {
                self.loading = None;
                return Loaded::Done;
            }
            Reading::At(span) => loading.read(id, &span, piece, fx),
            Reading::Locate(plan) => {
                loading.looking = Some(plan.clone());
                fx.push(E::from(DiskOp::Locate { id, plan }));
            }
        }
        Loaded::Working
    }

    /// One of its reads or look-ups ended.
    pub(super) fn on_io<E: From<DiskOp>>(
        &mut self,
        done: IoDone,
        partition: &Partition,
        codecs: &dyn Codecs,
        fx: &mut Fx<E>,
    ) -> Loaded {
        if done.id.generation != self.generation {
            return Loaded::Working;
        }
        let (id, piece) = (self.id(), self.piece());
        let Some(loading) = &mut self.loading else { return Loaded::Working };
        match (done.result, loading.looking.take()) {
            (Ok(IoOk::Located(Some(found))), Some(plan)) => {
                loading.read(id, &Span::located(&plan, &found), piece, fx);
                Loaded::Working
            }
            (Ok(IoOk::Located(None)), Some(plan)) => {
                match partition.log().read_further(&plan, loading.upto) {
                    Some(plan) => {
                        loading.looking = Some(plan.clone());
                        fx.push(E::from(DiskOp::Locate { id, plan }));
                        Loaded::Working
                    }
                    None => Loaded::Failed("a batch is not where it should be".to_owned()),
                }
            }
            (Ok(IoOk::Read(bytes)), None) => match loading.on_part(id, bytes, fx) {
                None => Loaded::Working,
                Some(bytes) => match self.take(bytes, codecs) {
                    Ok(()) => self.read_on(partition, fx),
                    Err(why) => Loaded::Failed(why),
                },
            },
            (Ok(_), _) => Loaded::Failed("a read answered with something else".to_owned()),
            (Err(error), _) => Loaded::Failed(error.to_string()),
        }
    }

    /// Learns the records of a piece of the log, whose last batch may be cut off.
    fn take(&mut self, bytes: Bytes, codecs: &dyn Codecs) -> Result<(), String> {
        let Some(loading) = &mut self.loading else { return Ok(()) };
        let before = loading.next;
        for batch in split_batches(bytes).map_while(Result::ok) {
            if batch.header.next_offset() <= loading.next {
                continue;
            }
            loading.next = batch.header.next_offset();
            let last = loading.next >= loading.upto;
            let forgets = last && self.mutants.has(Mutant::LastGroupRecordForgotten);
            let records = settled(&batch, usize::from(forgets), &mut loading.undecided, codecs)?;
            for record in records {
                loading.undecided.overtake(&record);
                learn(record, &mut self.coordinator)?;
            }
        }
        if loading.next > before { Ok(()) } else { Err(format!("no batch at offset {before}")) }
    }

    /// Keeps answers until the log is committed up to `upto`.
    pub(super) fn wait(&mut self, upto: Offset, answers: Vec<(ReplyTo, Answer)>) {
        let answers = answers.into_iter().map(|(reply, answer)| (upto, reply, answer));
        self.waiting.extend(answers);
        assert!(self.waiting.iter().is_sorted_by_key(|(upto, ..)| *upto), "answers in log order");
    }

    /// The next answer that may leave.
    pub(super) fn next_settled(&mut self, high_watermark: Offset) -> Option<(ReplyTo, Answer)> {
        let settled = self.waiting.pop_front_if(|(upto, ..)| *upto <= high_watermark);
        settled.map(|(_, reply, answer)| (reply, answer))
    }

    /// Takes out all answers that wait: what they say will not come true here.
    pub(super) fn drain(&mut self) -> impl Iterator<Item = (ReplyTo, Answer)> + '_ {
        self.waiting.drain(..).map(|(_, reply, answer)| (reply, answer))
    }
}

impl Loading {
    fn read<E: From<DiskOp>>(
        &mut self,
        id: IoId,
        span: &Span,
        (most, mutants): (u32, Mutants),
        fx: &mut Fx<E>,
    ) {
        let hole = span.hole(most);
        let cut = mutants.has(Mutant::LoadStopsAtLargeBatch);
        let len = if cut { hole.len.min(most) } else { hole.len };
        let read = WholeRead::new(FileId(hole.file), hole.position, len);
        fx.push(E::from(read.op(id)));
        self.reading = Some(read);
    }

    /// All the bytes that were to be read, once they are there.
    fn on_part<E: From<DiskOp>>(
        &mut self,
        id: IoId,
        bytes: Bytes,
        fx: &mut Fx<E>,
    ) -> Option<Bytes> {
        let Some(mut read) = self.reading.take() else { return Some(bytes) };
        match read.take(bytes) {
            Part::Whole(bytes) | Part::Ends(bytes) => Some(bytes),
            Part::More => {
                fx.push(E::from(read.op(id)));
                self.reading = Some(read);
                None
            }
        }
    }
}

/// The records that take effect with a batch: its own, except so many at its end, or those of the
/// transaction that it commits.
fn settled(
    batch: &RawBatch,
    except: usize,
    undecided: &mut Undecided,
    codecs: &dyn Codecs,
) -> Result<Vec<Found>, String> {
    let producer = batch.header.producer_id;
    if batch.header.is_control() {
        let commits = matches!(txn::marker(batch), Some(ControlRecord::Commit(_)));
        return Ok(undecided.end(producer, commits));
    }
    let records = records(batch, except, codecs)?;
    if !batch.header.is_transactional() {
        return Ok(records);
    }
    undecided.hold(producer, records);
    Ok(Vec::new())
}

/// The records of a batch, except so many at its end.
fn records(batch: &RawBatch, except: usize, codecs: &dyn Codecs) -> Result<Vec<Found>, String> {
    let base = batch.header.base_offset;
    let bytes = batch
        .records(codecs, BATCH_MOST)
        .map_err(|error| format!("the batch at offset {base} cannot be decompressed: {error}"))?;
    let count = usize::try_from(batch.header.records_count).unwrap_or(0);
    let records = RecordIter::new(&bytes, batch.header.records_count);
    let found = |record: Record<'_>| Found {
        offset: base.plus(i64::from(record.offset_delta)),
        key: record.key.map(Bytes::copy_from_slice).unwrap_or_default(),
        value: record.value.map(Bytes::copy_from_slice),
    };
    let records = records.take(count.saturating_sub(except)).map(|record| record.map(found));
    let records: Result<_, _> = records.collect();
    records.map_err(|error| format!("a record of the batch at {base}: {error}"))
}

fn learn(record: Found, coordinator: &mut GroupCoordinator) -> Result<(), String> {
    let offset = record.offset;
    let decoded = codec::decode(record.key, record.value)
        .map_err(|error| format!("the record at {offset}: {error}"))?;
    if let Some(fact) = decoded {
        coordinator.replay(fact);
    }
    Ok(())
}

/// Records as batches of about `most` bytes; a single record may be larger.
///
/// # Errors
/// A record cannot be encoded, or is larger than any batch.
pub(super) fn batches(
    now: Now,
    records: &[Fact],
    most: usize,
) -> Result<Vec<CheckedBatch>, String> {
    let mut batches = Vec::new();
    let (mut builder, mut bytes) = (BatchBuilder::new(Offset(0)), 0);
    for record in records {
        let (key, value) = codec::encode(record).map_err(|error| error.to_string())?;
        let len = key.len() + value.as_ref().map_or(0, Bytes::len);
        if bytes > 0 && bytes + len > most {
            batches.push(built(std::mem::replace(&mut builder, BatchBuilder::new(Offset(0))))?);
            bytes = 0;
        }
        let pushed = builder.push(now.wall, Some(&key), value.as_deref(), &[]);
        pushed.map_err(|error| error.to_string())?;
        bytes += len;
    }
    if bytes > 0 {
        batches.push(built(builder)?);
    }
    Ok(batches)
}

fn built(builder: BatchBuilder) -> Result<CheckedBatch, String> {
    let bytes = builder.build(&NoCodecs).map_err(|error| error.to_string())?;
    let raw = RawBatch::parse(bytes).expect("a batch that was just built is whole");
    Ok(CheckedBatch::trusted(raw.header, raw.bytes, None))
}
