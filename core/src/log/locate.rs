//! Finding positions in a segment: pure functions over bytes that a driver reads.
//!
//! The hot tail of a log is known to the core; anything older is asked for as a
//! [`LocatePlan`], which both drivers answer through [`locate`].

use bytes::{Bytes, BytesMut};
use dohle_wire::id::{Offset, Timestamp};
use dohle_wire::record::{BATCH_HEADER_LEN, BatchHeader};

use super::index::{self, TimeEntry};
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
    /// In place of the time index: everything up to this entry is said to be older than the time
    /// looked for.
    pub older: Option<TimeEntry>,
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

impl LocatePlan {
    fn offset(&self, entry: TimeEntry) -> Offset {
        self.base.plus(i64::from(entry.relative))
    }

    /// Batches past the first are out of bounds; below the second there are batches.
    fn bounds(&self) -> (Offset, Offset) {
        (self.upper, self.upper.min(self.next))
    }
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
    /// Up to `len` bytes of the segment at `position`; none only at its end.
    ///
    /// # Errors
    /// What the disk said.
    fn read(&mut self, position: u64, len: u32) -> Result<Bytes, IoError>;

    /// The size of an index file, none when it is not there.
    ///
    /// # Errors
    /// What the disk said.
    fn size(&mut self, path: &FilePath) -> Result<Option<u64>, IoError>;

    /// Up to `len` bytes of an index file at `position`; none only at its end.
    ///
    /// # Errors
    /// What the disk said.
    fn piece(&mut self, path: &FilePath, position: u64, len: u32) -> Result<Bytes, IoError>;
}

/// Carries out a plan. `None` when the target lies at or past `upper` or the end of the segment.
///
/// # Errors
/// What the disk said, or that the segment does not hold batches where it should.
pub fn locate(plan: &LocatePlan, read: &mut dyn ReadAt) -> Result<Option<Located>, IoError> {
    let hint = hint(plan, read)?;
    let mut headers = Headers { read, size: plan.size, piece: Bytes::new(), at: 0 };
    let from = if holds(plan, &hint, &mut headers)? { hint.position } else { 0 };
    match seek(&mut headers, from, plan.bounds(), |header| matches(plan, header))? {
        Some((position, header)) => finish(plan, position, &header, &mut headers).map(Some),
        None => Ok(None),
    }
}

/// Where to start, by the indexes. They may be damaged: the segment itself is right.
struct Hint {
    position: u64,
    /// The batch there begins at or before this offset.
    reaches: Offset,
    /// Everything up to this entry is older than the time looked for.
    older: Option<TimeEntry>,
}

fn hint(plan: &LocatePlan, read: &mut dyn ReadAt) -> Result<Hint, IoError> {
    let Some(path) = &plan.index else { return Ok(by_memory(plan)) };
    let (reaches, older) = match plan.target {
        Target::Offset(target) => (target, None),
        Target::Timestamp(time) => match older(plan, time, read)? {
            Some(entry) if plan.offset(entry) > plan.lower => (plan.offset(entry), Some(entry)),
            _ => (plan.lower.max(plan.base), None),
        },
    };
    let position = match read.size(path)? {
        Some(size) => index::search(size, plan.base, reaches, |at, len| {
            whole(at, len, |at, len| read.piece(path, at, len))
        })?,
        None => 0,
    };
    Ok(Hint { position, reaches, older })
}

fn by_memory(plan: &LocatePlan) -> Hint {
    let reaches = match (plan.target, plan.older) {
        (Target::Offset(target), _) => target,
        (Target::Timestamp(_), Some(entry)) => plan.offset(entry).max(plan.lower),
        (Target::Timestamp(_), None) => plan.lower.max(plan.base),
    };
    Hint { position: plan.from, reaches, older: plan.older }
}

fn older(
    plan: &LocatePlan,
    time: Timestamp,
    read: &mut dyn ReadAt,
) -> Result<Option<TimeEntry>, IoError> {
    let Some(path) = &plan.times else { return Ok(None) };
    let Some(size) = read.size(path)? else { return Ok(None) };
    index::search_times(size, time, |at, len| whole(at, len, |at, len| read.piece(path, at, len)))
}

/// Reads on until all bytes are there, or the file ends.
fn whole(
    position: u64,
    len: u32,
    mut read: impl FnMut(u64, u32) -> Result<Bytes, IoError>,
) -> Result<Bytes, IoError> {
    let first = read(position, len)?;
    if first.len() >= len as usize {
        return Ok(first);
    }
    let mut bytes = BytesMut::from(&first[..]);
    loop {
        let got = u32::try_from(bytes.len()).unwrap_or(len);
        let more = match got < len {
            true => read(position + u64::from(got), len - got)?,
            false => Bytes::new(),
        };
        if more.is_empty() {
            return Ok(bytes.freeze());
        }
        bytes.extend_from_slice(&more);
    }
}

/// Whether the segment bears a hint out.
fn holds(plan: &LocatePlan, hint: &Hint, headers: &mut Headers<'_>) -> Result<bool, IoError> {
    match headers.header(hint.position)? {
        Some(first) if first.base_offset <= hint.reaches => {}
        _ => return Ok(false),
    }
    let Some(entry) = hint.older.filter(|_| hint.position > 0) else { return Ok(true) };
    let reached = |header: &BatchHeader| header.last_offset() >= plan.offset(entry);
    let bounds = (Offset(i64::MAX), Offset(0));
    let found = seek(headers, hint.position, bounds, reached)?;
    Ok(found.is_some_and(|(_, header)| header.max_timestamp == entry.timestamp))
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
    fn batch(&mut self, position: u64, header: &BatchHeader) -> Result<Bytes, IoError> {
        whole(position, batch_len(header), |at, len| self.read.read(at, len))
    }

    fn header(&mut self, position: u64) -> Result<Option<BatchHeader>, IoError> {
        let wanted = BATCH_HEADER_LEN as u64;
        if position + wanted > self.size {
            return Ok(None);
        }
        let inside = position >= self.at && position + wanted <= self.at + self.piece.len() as u64;
        if !inside {
            let len = u64::from(AHEAD).min(self.size - position);
            let len = u32::try_from(len).unwrap_or(AHEAD);
            self.piece = whole(position, len, |at, len| self.read.read(at, len))?;
            self.at = position;
        }
        let from = usize::try_from(position - self.at).unwrap_or(usize::MAX);
        Ok(self.piece.get(from..).and_then(|bytes| BatchHeader::parse(bytes).ok()))
    }
}

/// The first batch at or after `position` that `matches`, and ends at or before `upper`. Up to
/// `whole` there have to be batches: where one of them is not, the segment is damaged.
fn seek(
    headers: &mut Headers<'_>,
    mut position: u64,
    (upper, whole): (Offset, Offset),
    matches: impl Fn(&BatchHeader) -> bool,
) -> Result<Option<(u64, BatchHeader)>, IoError> {
    let mut reached = Offset(-1);
    while let Some(header) = headers.header(position)? {
        if header.next_offset() > upper {
            return Ok(None);
        }
        if header.base_offset < reached {
            break;
        }
        if matches(&header) {
            return Ok(Some((position, header)));
        }
        position += header.total_len() as u64;
        reached = header.next_offset();
    }
    if reached < whole && position < headers.size {
        return Err(IoError::Damaged(format!("no batch at position {position} of a segment")));
    }
    Ok(None)
}

fn matches(plan: &LocatePlan, header: &BatchHeader) -> bool {
    let last = header.last_offset();
    match plan.target {
        Target::Offset(offset) => last >= offset,
        // Compaction leaves the headers of batches that have no record any more.
        Target::Timestamp(time) => {
            header.max_timestamp >= time && last >= plan.lower && header.records_count > 0
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
    let mut batches = vec![headers.batch(position, header)?];
    if header.base_offset < plan.lower {
        let after = position + header.total_len() as u64;
        let matching = |header: &BatchHeader| matches(plan, header);
        if let Some((position, header)) = seek(headers, after, plan.bounds(), matching)? {
            batches.push(headers.batch(position, &header)?);
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

#[cfg(test)]
mod tests {
    use dohle_wire::record::TimestampType::CreateTime;
    use dohle_wire::record::{BatchBuilder, NoCodecs, set_max_timestamp};

    use super::index::{Indexes, OffsetEntry};
    use super::*;

    const BASE: Offset = Offset(1_000);

    /// A segment with its index files, counting what is read.
    struct Files {
        headers: Vec<BatchHeader>,
        log: Vec<u8>,
        index: Vec<u8>,
        times: Vec<u8>,
        bytes_read: usize,
    }

    impl Files {
        /// `count` batches of ten offsets; times rise, but every third batch is late.
        fn new(count: i64) -> Self {
            let (mut headers, mut log) = (Vec::new(), Vec::new());
            let mut indexes = Indexes::default();
            for n in 0..count {
                let mut builder = BatchBuilder::new(BASE.plus(n * 10));
                for _ in 0..10 {
                    builder.push(Timestamp(0), None, Some(&[7; 20]), &[]).unwrap();
                }
                let mut bytes = builder.build(&NoCodecs).unwrap().to_vec();
                let time = Timestamp(5_000 + 10 * n - if n % 3 == 0 { 500 } else { 0 });
                set_max_timestamp(&mut bytes, CreateTime, time).unwrap();
                let relative = u32::try_from(n * 10 + 9).unwrap();
                if n % 5 == 1 {
                    let position = u32::try_from(log.len()).unwrap();
                    indexes.offsets.push(OffsetEntry { relative, position });
                    indexes.push_time(TimeEntry { timestamp: time, relative });
                }
                headers.push(BatchHeader::parse(&bytes).unwrap());
                log.extend(bytes);
            }
            let (index, times) = (indexes.encode_offsets(), indexes.encode_times());
            Self { headers, log, index: index.to_vec(), times: times.to_vec(), bytes_read: 0 }
        }

        fn plan(&self, target: Target) -> LocatePlan {
            LocatePlan {
                file: FileId(1),
                base: BASE,
                index: Some(FilePath::new(0, "index")),
                times: Some(FilePath::new(0, "times")),
                from: 0,
                older: None,
                size: self.log.len() as u64,
                target,
                lower: BASE,
                upper: Offset(i64::MAX),
                next: self.headers.last().unwrap().next_offset(),
            }
        }

        /// Holds look-ups for many targets against the plain list of batches; the most bytes that
        /// one took.
        fn check(&mut self, what: &str) -> usize {
            let offsets = (0..=60).map(|n| Target::Offset(BASE.plus(n * 333)));
            let times = (0..=60).map(|n| Target::Timestamp(Timestamp(4_000 + n * 340)));
            let mut most = 0;
            for target in offsets.chain(times) {
                let plan = self.plan(target);
                let expected = self.headers.iter().find(|header| matches(&plan, header));
                let expected = expected.map(|header| header.base_offset);
                self.bytes_read = 0;
                let found = locate(&plan, self).unwrap().map(|found| found.base);
                assert_eq!(found, expected, "{target:?} with {what}");
                most = most.max(self.bytes_read);
            }
            most
        }

        fn side(&self, path: &FilePath) -> &Vec<u8> {
            if &*path.path == "index" { &self.index } else { &self.times }
        }

        fn take(&mut self, whole: &[u8], position: u64, len: u32) -> Bytes {
            let from = whole.len().min(usize::try_from(position).unwrap());
            let upto = whole.len().min(from + len as usize);
            self.bytes_read += upto - from;
            Bytes::copy_from_slice(&whole[from..upto])
        }
    }

    impl ReadAt for Files {
        fn read(&mut self, position: u64, len: u32) -> Result<Bytes, IoError> {
            let log = std::mem::take(&mut self.log);
            let bytes = self.take(&log, position, len);
            self.log = log;
            Ok(bytes)
        }

        fn size(&mut self, path: &FilePath) -> Result<Option<u64>, IoError> {
            Ok(Some(self.side(path).len() as u64).filter(|size| *size > 0))
        }

        fn piece(&mut self, path: &FilePath, position: u64, len: u32) -> Result<Bytes, IoError> {
            let side = self.side(path).clone();
            Ok(self.take(&side, position, len))
        }
    }

    #[test]
    fn a_segment_without_a_batch_where_there_has_to_be_one_is_damaged() {
        let mut files = Files::new(100);
        let all = files.plan(Target::Offset(BASE.plus(700)));
        let len = files.headers[0].total_len();
        files.index.clear();
        files.log[50 * len..51 * len].fill(0);
        assert!(matches!(locate(&all, &mut files), Err(IoError::Damaged(_))));
        let below = LocatePlan { target: Target::Offset(BASE.plus(400)), ..all.clone() };
        assert!(locate(&below, &mut files).unwrap().is_some());
        // Nothing has to be there yet where nobody is to read.
        let upper = BASE.plus(500);
        let bounded = LocatePlan { upper, ..all };
        assert_eq!(locate(&bounded, &mut files), Ok(None));
    }

    #[test]
    fn look_ups_read_little() {
        let mut files = Files::new(8_000);
        let most = files.check("whole indexes");
        assert!(most < 28_000, "{most} bytes read");
        assert!(files.index.len() > 12_000 && files.times.len() > 12_000);
    }

    #[test]
    fn damaged_indexes_only_cost_time() {
        type Harm = fn(&mut Vec<u8>);
        let harms: [(&str, Harm); 6] = [
            ("missing", Vec::clear),
            ("cut", |file| file.truncate(file.len() / 2 + 5)),
            ("all ones", |file| file.fill(0xff)),
            ("all zeros", |file| file.fill(0)),
            ("moved", |file| file.rotate_left(4)),
            ("in a wrong order", |file| file.rotate_left(1_200)),
        ];
        let mut files = Files::new(2_000);
        let (index, times) = (files.index.clone(), files.times.clone());
        for (at, what) in [(0, "offsets"), (1, "times"), (2, "both")] {
            for (how, harm) in harms {
                (files.index, files.times) = (index.clone(), times.clone());
                if at != 1 {
                    harm(&mut files.index);
                }
                if at != 0 {
                    harm(&mut files.times);
                }
                files.check(&format!("{what} {how}"));
            }
        }
    }
}
