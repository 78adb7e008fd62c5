//! A file of batches, read from its start to its end.
//!
//! Behind what is no sound batch the walk looks for the next one. If there is none, the end of
//! the file is torn.

use std::collections::BTreeMap;

use bytes::{Buf, Bytes, BytesMut};
use dohle_wire::id::{LeaderEpoch, Offset, Timestamp};
use dohle_wire::record::{BATCH_HEADER_LEN, BatchHeader, Codecs, RawBatch};

use super::batch;
use super::finding::{Problem, Problems, Severity};
use super::index::Merge;
use crate::log::epoch::EpochCache;

/// Most bytes of a batch.
const BATCH_MAX: usize = 512 << 20;
/// Bytes that are asked for at a time.
const PIECE: u64 = 1 << 20;

/// What is expected of a file of batches.
#[derive(Clone, Debug)]
pub(super) struct Plan<'a> {
    /// Nothing in it lies below.
    pub(super) base: Offset,
    /// Bytes of the file.
    pub(super) size: u64,
    /// From this offset on the end may be torn.
    pub(super) torn_from: Option<Offset>,
    /// No offset is missing.
    pub(super) dense: bool,
    /// The leader epoch of the batch before it.
    pub(super) epoch: LeaderEpoch,
    /// Where leader epochs begin, and up to where that is known.
    pub(super) epochs: (&'a EpochCache, Offset),
    /// Read the records, check the sums.
    pub(super) deep: bool,
}

/// What is in a file of batches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Content {
    pub(super) batches: u64,
    pub(super) records: u64,
    /// Offset after the last sound batch.
    pub(super) end: Offset,
    /// The leader epoch of that batch.
    pub(super) epoch: LeaderEpoch,
    pub(super) codecs: BTreeMap<&'static str, u64>,
    pub(super) first_timestamp: Option<Timestamp>,
    pub(super) last_timestamp: Option<Timestamp>,
    /// Something in it is no sound batch.
    pub(super) broken: bool,
}

/// Walks through a file, of which `read` gives pieces. Tells `merge` of each batch.
pub(super) fn check<E>(
    plan: &Plan<'_>,
    codecs: &dyn Codecs,
    read: impl FnMut(u64, u32) -> Result<Bytes, E>,
    merge: &mut Merge,
    problems: &mut Problems,
) -> Result<Content, E> {
    let window = Window { read, buffer: BytesMut::new(), position: 0, size: plan.size };
    let content = Content {
        batches: 0,
        records: 0,
        end: plan.base,
        epoch: plan.epoch,
        codecs: BTreeMap::new(),
        first_timestamp: None,
        last_timestamp: None,
        broken: false,
    };
    let mut walk = Walk {
        plan,
        codecs,
        window,
        merge,
        problems,
        content,
        broken: Vec::new(),
        after_hole: false,
    };
    while walk.window.left() > 0 {
        match walk.here()? {
            Ok(batch) => walk.sound(&batch),
            Err((problem, len)) => walk.skip_broken(problem, len)?,
        }
    }
    walk.end();
    Ok(walk.content)
}

struct Walk<'a, R> {
    plan: &'a Plan<'a>,
    codecs: &'a dyn Codecs,
    window: Window<R>,
    merge: &'a mut Merge,
    problems: &'a mut Problems,
    content: Content,
    /// Problems that are a torn end, should no sound batch follow.
    broken: Vec<Problem>,
    /// Where the next batch begins is not known.
    after_hole: bool,
}

/// What is no batch, and how long it is by its header if the rest of that can be trusted.
type Broken = (Problem, Option<usize>);

impl<E, R: FnMut(u64, u32) -> Result<Bytes, E>> Walk<'_, R> {
    /// The batch that begins here.
    fn here(&mut self) -> Result<Result<RawBatch, Broken>, E> {
        let (position, left, end) = (self.window.position, self.window.left(), self.content.end);
        let wrong = |check, expected: String, found: String| {
            Problem::new(check, expected, found).at(position).about(end)
        };
        if !self.window.hold(BATCH_HEADER_LEN as u64)? {
            let expected = format!("a batch header of {BATCH_HEADER_LEN} bytes");
            let found = format!("{left} bytes to the end of the file");
            return Ok(Err((wrong("framing", expected, found), None)));
        }
        let header = match BatchHeader::parse(&self.window.buffer) {
            Ok(header) => header,
            Err(error) => {
                let zeros = self.window.buffer[..BATCH_HEADER_LEN].iter().all(|byte| *byte == 0);
                let found = if zeros { "zeros".to_owned() } else { error.to_string() };
                return Ok(Err((wrong("framing", "a batch".to_owned(), found), None)));
            }
        };
        let len = header.total_len();
        if len > BATCH_MAX || len as u64 > left {
            let expected = format!("a batch of {len} bytes");
            let found = format!("{left} bytes to the end of the file");
            return Ok(Err((wrong("framing", expected, found), None)));
        }
        if !self.window.hold(len as u64)? {
            let found = format!("{} bytes, the file became shorter", self.window.left());
            return Ok(Err((wrong("framing", format!("a batch of {len} bytes"), found), None)));
        }
        let bytes = Bytes::copy_from_slice(&self.window.buffer[..len]);
        let batch = RawBatch { header, bytes };
        if self.plan.deep && !batch.crc_ok() {
            let expected = format!("content with the checksum {:#010x}", header.crc);
            let problem = wrong("checksum", expected, "content that has another one".to_owned());
            return Ok(Err((problem.about(header.base_offset), Some(len))));
        }
        Ok(Ok(batch))
    }

    /// Goes on to the next sound batch.
    fn skip_broken(&mut self, problem: Problem, len: Option<usize>) -> Result<(), E> {
        let from = self.window.position;
        self.broken.push(problem);
        self.content.broken = true;
        self.after_hole = true;
        let follows = match len {
            Some(len) => self.is_batch_at(len)?,
            None => false,
        };
        match len.filter(|_| follows) {
            Some(len) => self.window.skip(len),
            None => self.seek()?,
        }
        self.merge.hole(from, self.window.position);
        if let (Some(problem), true) = (self.broken.last_mut(), self.window.left() > 0) {
            let next = self.window.position;
            problem.found.push_str(&format!("; batches go on at byte {next}"));
        }
        Ok(())
    }

    /// Whether a header that can be right, or the end of the file, is so many bytes from here.
    fn is_batch_at(&mut self, len: usize) -> Result<bool, E> {
        if len as u64 == self.window.left() {
            return Ok(true);
        }
        let whole = self.window.hold((len + BATCH_HEADER_LEN) as u64)?;
        Ok(whole && self.plausible(&self.window.buffer[len..]))
    }

    fn plausible(&self, bytes: &[u8]) -> bool {
        BatchHeader::parse(bytes).is_ok_and(|header| {
            let from = self.content.end.0;
            let upto = self.plan.base.0.saturating_add(i64::from(i32::MAX));
            (from..=upto).contains(&header.base_offset.0) && header.total_len() <= BATCH_MAX
        })
    }

    /// Goes to the next byte at which a batch begins whose checksum is right, or to the end.
    fn seek(&mut self) -> Result<(), E> {
        self.window.skip(1);
        while self.window.hold(BATCH_HEADER_LEN as u64)? {
            let last = self.window.buffer.len() - BATCH_HEADER_LEN;
            let found = (0..=last).find(|at| self.plausible(&self.window.buffer[*at..]));
            self.window.skip(found.unwrap_or(last + 1));
            if found.is_none() {
                continue;
            }
            if self.is_sound()? {
                return Ok(());
            }
            self.window.skip(1);
        }
        self.window.skip(self.window.buffer.len());
        Ok(())
    }

    fn is_sound(&mut self) -> Result<bool, E> {
        let Ok(header) = BatchHeader::parse(&self.window.buffer) else { return Ok(false) };
        let len = header.total_len();
        if len as u64 > self.window.left() || !self.window.hold(len as u64)? {
            return Ok(false);
        }
        let bytes = Bytes::copy_from_slice(&self.window.buffer[..len]);
        Ok(RawBatch { header, bytes }.crc_ok())
    }

    fn sound(&mut self, batch: &RawBatch) {
        for problem in std::mem::take(&mut self.broken) {
            self.problems.push(problem);
        }
        let header = &batch.header;
        self.check_place(header);
        if self.plan.deep
            && let Err(problem) = batch::check(batch, self.plan.dense, self.codecs)
        {
            self.problem(header, problem);
        }
        self.merge.on_batch(self.window.position, header);
        self.note(header);
        self.after_hole = false;
        self.window.skip(header.total_len());
    }

    fn problem(&mut self, header: &BatchHeader, problem: Problem) {
        self.problems.push(problem.at(self.window.position).about(header.base_offset));
    }

    /// The offsets and the epoch follow on those of the batch before.
    fn check_place(&mut self, header: &BatchHeader) {
        let (found, next) = (header.base_offset, self.content.end);
        let fits = i32::try_from(header.last_offset().minus(self.plan.base)).is_ok();
        if found < next || !fits {
            let (base, most) = (self.plan.base, i32::MAX);
            let expected = format!("an offset from {next} on, at most {most} above {base}");
            self.problem(header, Problem::new("order", expected, found.to_string()));
        } else if found > next && self.plan.dense && !self.after_hole {
            let problem = Problem::new("gap", format!("offset {next}"), found.to_string());
            self.problem(header, problem);
        }
        let (epoch, before) = (header.partition_leader_epoch, self.content.epoch);
        if epoch < before {
            let expected = format!("leader epoch {before} or above");
            self.problem(header, Problem::new("epoch", expected, epoch.to_string()));
        } else if let Some(known) = self.known_epoch(found).filter(|known| *known != epoch) {
            let expected = format!("leader epoch {known}, which wrote offset {found}");
            self.problem(header, Problem::new("epoch", expected, epoch.to_string()));
        }
    }

    fn known_epoch(&self, offset: Offset) -> Option<LeaderEpoch> {
        let (epochs, upto) = self.plan.epochs;
        epochs.epoch_at(offset).filter(|_| offset < upto)
    }

    fn note(&mut self, header: &BatchHeader) {
        let content = &mut self.content;
        content.batches += 1;
        content.records += u64::from(header.records_count.unsigned_abs());
        content.end = header.next_offset();
        content.epoch = header.partition_leader_epoch;
        *content.codecs.entry(header.compression().name()).or_default() += 1;
        let (first, last) = (header.base_timestamp, header.max_timestamp);
        let first = if header.has_delete_horizon() { last } else { first };
        if last.0 >= 0 {
            content.first_timestamp.get_or_insert(first);
            content.last_timestamp = content.last_timestamp.max(Some(last));
        }
    }

    fn end(&mut self) {
        let torn = self.plan.torn_from.is_some_and(|from| self.content.end >= from);
        let severity = if torn { Severity::Torn } else { Severity::Damage };
        for problem in std::mem::take(&mut self.broken) {
            self.problems.push(problem.is(severity));
        }
        self.merge.end(self.window.position);
    }
}

/// The part of a file that is in memory, from the place on where the walk is.
struct Window<R> {
    read: R,
    buffer: BytesMut,
    position: u64,
    size: u64,
}

impl<R> Window<R> {
    fn left(&self) -> u64 {
        self.size.saturating_sub(self.position)
    }

    fn skip(&mut self, len: usize) {
        self.buffer.advance(len);
        self.position += len as u64;
    }

    /// Reads until so many bytes are in memory; gives whether the file has them.
    fn hold<E>(&mut self, len: u64) -> Result<bool, E>
    where
        R: FnMut(u64, u32) -> Result<Bytes, E>,
    {
        while (self.buffer.len() as u64) < len {
            let at = self.position + self.buffer.len() as u64;
            let wanted = self.size.saturating_sub(at).min(PIECE);
            if wanted == 0 {
                return Ok(false);
            }
            let bytes = (self.read)(at, u32::try_from(wanted).unwrap_or(u32::MAX))?;
            if bytes.is_empty() {
                self.size = at;
                return Ok(false);
            }
            self.buffer.extend_from_slice(&bytes);
        }
        Ok(true)
    }
}
