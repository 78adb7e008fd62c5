//! Finding positions in a segment: pure functions over bytes that a driver reads.
//!
//! The hot tail of a log is known to the core; anything older is asked for as a
//! [`LocatePlan`], which both drivers answer through [`locate`].

use bytes::Bytes;
use dohle_wire::id::{Offset, Timestamp};
use dohle_wire::record::{BATCH_HEADER_LEN, BatchHeader};

use crate::disk::{FileId, FilePath, IoError};

/// What to look for in one segment.
#[derive(Clone, Debug, PartialEq)]
pub struct LocatePlan {
    /// The segment's records.
    pub file: FileId,
    /// Base offset of the segment, to which index entries are relative.
    pub base: Offset,
    /// The offset index to search first (closed segments); missing files only cost time.
    pub index: Option<FilePath>,
    /// The time index to search before that, when a time is wanted in a closed segment.
    pub times: Option<FilePath>,
    /// Where a batch starts from which to scan when there is no index.
    pub from: u64,
    /// Bytes of the segment that may be looked at.
    pub size: u64,
    /// What is wanted.
    pub target: Target,
    /// Batches that end before this offset are deleted: no time is found in them.
    pub lower: Offset,
    /// Batches that reach past this offset are out of bounds.
    pub upper: Offset,
    /// Where the segment ends: every batch in it does so at or before this offset.
    pub next: Offset,
}

/// What a plan looks for.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// The first batch that ends past this offset.
    Offset(Offset),
    /// The first batch with a record at or after this time; see [`Located::batches`].
    Timestamp(Timestamp),
}

/// A batch found.
#[derive(Clone, Debug, PartialEq)]
pub struct Located {
    /// Where it starts.
    pub position: u64,
    /// Its size in bytes.
    pub batch_len: u32,
    /// Its first offset.
    pub base: Offset,
    /// Where readable bytes end: the first batch at or past `upper`, or the segment's size.
    pub end: u64,
    /// Batches below `upper` follow after `end`, in this segment or a later one.
    pub more: bool,
    /// When a time was looked for, the batches that may hold its first record: the one found and,
    /// where that reaches below `lower`, the next one, since the record may be a deleted one.
    pub batches: Vec<Bytes>,
}

/// How [`locate`] reads.
pub trait ReadAt {
    /// Up to `len` bytes of the segment at `position`; fewer only at its end.
    ///
    /// # Errors
    /// What the disk said.
    fn read(&mut self, position: u64, len: u32) -> Result<Bytes, IoError>;

    /// The whole of a small file, none when it is not there.
    ///
    /// # Errors
    /// What the disk said.
    fn get(&mut self, path: &FilePath) -> Result<Option<Bytes>, IoError>;
}

/// Carries out a plan. `None` when the target lies at or past `upper` or the end of the segment.
///
/// # Errors
/// What the disk said, or that the segment does not hold batches where it should.
pub fn locate(plan: &LocatePlan, read: &mut dyn ReadAt) -> Result<Option<Located>, IoError> {
    let hinted = start(plan, read)?;
    match walk(plan, hinted, read)? {
        // An index that points past its target is damaged: the segment itself is right.
        Walk::TooFar if hinted > 0 => walk(plan, 0, read).map(Walk::found),
        walk => Ok(walk.found()),
    }
}

enum Walk {
    Found(Located),
    Nothing,
    TooFar,
}

impl Walk {
    fn found(self) -> Option<Located> {
        match self {
            Self::Found(located) => Some(located),
            Self::Nothing | Self::TooFar => None,
        }
    }
}

fn start(plan: &LocatePlan, read: &mut dyn ReadAt) -> Result<u64, IoError> {
    let Some(path) = &plan.index else {
        return Ok(plan.from);
    };
    let target = match plan.target {
        Target::Offset(target) => target,
        Target::Timestamp(time) => before_time(plan, time, read)?.max(plan.lower),
    };
    let index = read.get(path)?.unwrap_or_default();
    let position = super::index::search(&index, plan.base, target);
    Ok(if position < plan.size { position } else { 0 })
}

/// An offset of the segment before which everything is older than `time`.
fn before_time(
    plan: &LocatePlan,
    time: Timestamp,
    read: &mut dyn ReadAt,
) -> Result<Offset, IoError> {
    let file = match &plan.times {
        Some(path) => read.get(path)?.unwrap_or_default(),
        None => Bytes::new(),
    };
    let times = super::index::parse_times(&file).unwrap_or_default();
    let after = times.partition_point(|entry| entry.timestamp < time);
    let relative = after.checked_sub(1).map_or(0, |at| times[at].relative);
    Ok(plan.base.plus(i64::from(relative)))
}

/// Headers are read ahead in pieces of this size: an index interval and then some.
const AHEAD: u32 = 8 * 1024;

/// Reads batch headers one after the other, a piece of the file at a time.
struct Headers<'a> {
    read: &'a mut dyn ReadAt,
    size: u64,
    piece: Bytes,
    at: u64,
}

impl Headers<'_> {
    fn header(&mut self, position: u64) -> Result<Option<BatchHeader>, IoError> {
        let wanted = BATCH_HEADER_LEN as u64;
        if position + wanted > self.size {
            return Ok(None);
        }
        let inside = position >= self.at && position + wanted <= self.at + self.piece.len() as u64;
        if !inside {
            let len = u64::from(AHEAD).min(self.size - position);
            self.piece = self.read.read(position, u32::try_from(len).unwrap_or(AHEAD))?;
            self.at = position;
        }
        let from = usize::try_from(position - self.at).unwrap_or(usize::MAX);
        Ok(self.piece.get(from..).and_then(|bytes| BatchHeader::parse(bytes).ok()))
    }
}

fn walk(plan: &LocatePlan, from: u64, read: &mut dyn ReadAt) -> Result<Walk, IoError> {
    let mut headers = Headers { read, size: plan.size, piece: Bytes::new(), at: 0 };
    let hinted = from > 0;
    match headers.header(from)? {
        Some(first) if hinted && is_past(plan.target, &first) => return Ok(Walk::TooFar),
        // A hint into the middle of a batch finds no header.
        None if hinted => return Ok(Walk::TooFar),
        _ => {}
    }
    match seek(plan, from, &mut headers)? {
        Some((position, header)) => finish(plan, position, &header, &mut headers).map(Walk::Found),
        None => Ok(Walk::Nothing),
    }
}

fn is_past(target: Target, header: &BatchHeader) -> bool {
    matches!(target, Target::Offset(offset) if header.base_offset > offset)
}

/// The first batch at or after `position` that matches.
fn seek(
    plan: &LocatePlan,
    mut position: u64,
    headers: &mut Headers<'_>,
) -> Result<Option<(u64, BatchHeader)>, IoError> {
    while let Some(header) = headers.header(position)? {
        if header.next_offset() > plan.upper {
            break;
        }
        if matches(plan, &header) {
            return Ok(Some((position, header)));
        }
        position += header.total_len() as u64;
    }
    Ok(None)
}

fn matches(plan: &LocatePlan, header: &BatchHeader) -> bool {
    let last = header.last_offset();
    match plan.target {
        Target::Offset(offset) => last >= offset,
        Target::Timestamp(time) => {
            header.max_timestamp >= time && last >= plan.lower && !header.is_control()
        }
    }
}

fn finish(
    plan: &LocatePlan,
    position: u64,
    header: &BatchHeader,
    headers: &mut Headers<'_>,
) -> Result<Located, IoError> {
    let batches = match plan.target {
        Target::Offset(_) => Vec::new(),
        Target::Timestamp(_) => candidates(plan, position, header, headers)?,
    };
    let (end, more) = visible_end(plan, position, header, headers)?;
    let batch_len = batch_len(header);
    Ok(Located { position, batch_len, base: header.base_offset, end, more, batches })
}

fn candidates(
    plan: &LocatePlan,
    position: u64,
    header: &BatchHeader,
    headers: &mut Headers<'_>,
) -> Result<Vec<Bytes>, IoError> {
    let mut batches = vec![headers.read.read(position, batch_len(header))?];
    if header.base_offset < plan.lower {
        let after = position + header.total_len() as u64;
        if let Some((position, header)) = seek(plan, after, headers)? {
            batches.push(headers.read.read(position, batch_len(&header))?);
        }
    }
    Ok(batches)
}

fn batch_len(header: &BatchHeader) -> u32 {
    u32::try_from(header.total_len()).unwrap_or(u32::MAX)
}

/// Readable bytes end with the segment, unless that reaches past `upper`. Also whether more is
/// below `upper`.
fn visible_end(
    plan: &LocatePlan,
    position: u64,
    header: &BatchHeader,
    headers: &mut Headers<'_>,
) -> Result<(u64, bool), IoError> {
    if plan.next <= plan.upper {
        return Ok((plan.size, plan.next < plan.upper));
    }
    let mut end = position + header.total_len() as u64;
    while let Some(next) = headers.header(end)? {
        if next.next_offset() > plan.upper {
            break;
        }
        if end - position > MAX_WALK {
            return Ok((end, true));
        }
        end += next.total_len() as u64;
    }
    Ok((end, false))
}

/// How far behind a batch a bound is looked for; for most reads that is all they want.
const MAX_WALK: u64 = 1 << 20;
