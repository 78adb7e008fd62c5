//! The disk as the core sees it: operations are effects, completions are inputs.
//!
//! Contract with a driver:
//! * Operations of one unit (a shard or the control unit) on the same file or path take effect
//!   in the order emitted. Completions of one file's writes come in that order too; otherwise
//!   completions may come in any order.
//! * A completed [`DiskOp::Write`] is in the page cache: it survives the end of the process, not
//!   a loss of power. Parent directories are made as needed.
//! * A completed [`DiskOp::Sync`] makes every write to the file that was *emitted before it*
//!   durable, and the file's directory entries up to the data directory too.
//! * A completed durable [`DiskOp::Put`] has replaced the file as a whole (temporary file, sync,
//!   rename, sync of the directory): a reader ever sees the old content or the new.
//! * A completion may also be fed back inline, within the same turn.
//! * The core keeps at most one `Put` for a path under way.
//! * A read may give fewer bytes than were asked for. That is not the end of the file: the rest can be
//!   asked for, and only where none come the file ends ([`WholeRead`]).

use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use dohle_wire::id::{Offset, Timestamp};

use crate::log::locate::{LocatePlan, Located};

/// One open file of a unit; never used again for another file while the process lives. The
/// upper 16 bits name the unit (0 is control, n + 1 is shard n).
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FileId(pub u64);

/// Gives out the [`FileId`]s of one unit.
#[derive(Clone, Debug)]
pub struct FileIds {
    next: u64,
}

impl FileIds {
    /// Ids of unit `unit`.
    #[must_use]
    pub fn of_unit(unit: u16) -> Self {
        Self { next: u64::from(unit) << 48 }
    }

    /// An id never given before.
    pub fn fresh(&mut self) -> FileId {
        self.next += 1;
        FileId(self.next)
    }
}

/// A path relative to a data directory, with `/` between its parts.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FilePath {
    /// Which of `log.dirs`.
    pub dir: u16,
    /// For example `orders-0/00000000000000000000.log`; empty for the directory itself.
    pub path: Arc<str>,
}

impl FilePath {
    /// A path in data directory `dir`.
    #[must_use]
    pub fn new(dir: u16, path: impl Into<Arc<str>>) -> Self {
        Self { dir, path: path.into() }
    }

    /// `name` inside the folder that this path names.
    #[must_use]
    pub fn join(&self, name: &str) -> Self {
        let sep = if self.path.is_empty() { "" } else { "/" };
        Self::new(self.dir, format!("{}{sep}{name}", self.path))
    }
}

/// What an operation was for; comes back unchanged with its completion, so that one from before
/// a truncation, recovery or role change (another `generation`) is recognised and dropped.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct IoId {
    /// The unit's slot for the log that asked (or [`IoId::UNIT`] for the unit itself).
    pub owner: u32,
    /// Rises when completions under way lose their meaning.
    pub generation: u32,
    /// What kind of operation it was.
    pub what: What,
    /// Kind's argument: an end offset for appends and flushes, a token otherwise.
    pub end: i64,
}

impl IoId {
    /// The owner of operations that belong to no log.
    pub const UNIT: u32 = u32::MAX;
}

/// The kinds of operation a unit has under way.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum What {
    /// Records written; `end` is the next offset.
    Append,
    /// A segment synced; `end` is the next offset that this makes durable.
    Flush,
    /// A side file (index, snapshot, checkpoint) written or a file removed or renamed.
    Side,
    /// A read of recovery.
    Recover,
    /// A read or look-up for a coordinator that begins.
    Load,
    /// A position looked up; `end` is the caller's token.
    Locate,
    /// A step of the search for damage; `end` is its token.
    Scrub,
    /// A checkpoint or identity file of a data directory; `end` is the caller's token.
    Meta,
}

/// One operation on a disk.
#[allow(missing_docs, reason = "the text of a variant names its fields")]
#[derive(Clone, Debug, PartialEq)]
pub enum DiskOp {
    /// `file` shall mean `path`. Creates nothing; no completion.
    Open { file: FileId, path: FilePath },
    /// `file` is no longer asked for, ranges already handed out stay readable; no completion.
    Close { file: FileId },
    /// Writes `data`, one part after the other, at `position`; creates the file if needed.
    Write { id: IoId, file: FileId, position: u64, data: Vec<Bytes> },
    /// Makes the file durable. An absent file is no error.
    Sync { id: IoId, file: FileId },
    /// Takes `len` bytes of space for the file from its beginning, if they are to be had; its
    /// length stays. Where there are none it is no error.
    Reserve { id: IoId, file: FileId, len: u64 },
    /// Cuts the file to `len` bytes, durably; space reserved past them is given back.
    Truncate { id: IoId, file: FileId, len: u64 },
    /// Reads up to `len` bytes, at least one that is there. Answer: [`IoOk::Read`].
    Read { id: IoId, file: FileId, position: u64, len: u32 },
    /// Reads a small file as a whole. Answer: [`IoOk::Content`], none when there is none.
    Get { id: IoId, path: FilePath },
    /// Writes a small file as a whole; `durable` as said in the contract.
    Put { id: IoId, path: FilePath, data: Bytes, durable: bool },
    /// Removes a file, or a folder with all it holds; nothing there is no error.
    Remove { id: IoId, path: FilePath },
    /// Renames a file or folder, durably; nothing there is no error.
    Rename { id: IoId, from: FilePath, to: FilePath },
    /// Lists a folder. Answer: [`IoOk::Listing`], none when there is none.
    List { id: IoId, path: FilePath },
    /// Looks at some files of a folder; those that are not there are left out. Keeps no order with
    /// other operations. Answer: [`IoOk::Listing`], in the order of the names asked for.
    Stat { id: IoId, folder: FilePath, names: Vec<String> },
    /// Asks how much fits into a data directory. Keeps no order with other operations. Answer:
    /// [`IoOk::Space`].
    Space { id: IoId, dir: u16 },
    /// Finds a position in a segment. Answer: [`IoOk::Located`].
    Locate { id: IoId, plan: LocatePlan },
}

impl DiskOp {
    /// The id that the completion will carry.
    #[must_use]
    pub fn id(&self) -> Option<IoId> {
        match self {
            Self::Open { .. } | Self::Close { .. } => None,
            Self::Write { id, .. }
            | Self::Sync { id, .. }
            | Self::Reserve { id, .. }
            | Self::Truncate { id, .. }
            | Self::Read { id, .. }
            | Self::Get { id, .. }
            | Self::Put { id, .. }
            | Self::Remove { id, .. }
            | Self::Rename { id, .. }
            | Self::List { id, .. }
            | Self::Stat { id, .. }
            | Self::Space { id, .. }
            | Self::Locate { id, .. } => Some(*id),
        }
    }
}

/// The end of an operation.
#[derive(Clone, Debug, PartialEq)]
pub struct IoDone {
    /// The operation's own id.
    pub id: IoId,
    /// What came of it.
    pub result: Result<IoOk, IoError>,
}

/// What a successful operation answers.
#[derive(Clone, Debug, PartialEq)]
pub enum IoOk {
    /// Done, nothing to tell.
    Done,
    /// Bytes read.
    Read(Bytes),
    /// The content of a whole file.
    Content(Option<Bytes>),
    /// What a folder holds, in name order.
    Listing(Option<Vec<DirEntry>>),
    /// A position, none when the target lies past the range asked for.
    Located(Option<Located>),
    /// How much fits.
    Space(Space),
}

/// How much fits into a file system.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Space {
    /// Bytes that it has.
    pub total: u64,
    /// Bytes that can still be written.
    pub usable: u64,
}

/// One name in a folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DirEntry {
    /// Its name without a path.
    pub name: String,
    /// Whether it is a folder.
    pub is_dir: bool,
    /// Bytes, zero for a folder.
    pub len: u64,
    /// When it was last written.
    pub modified: Timestamp,
    /// Whether it is still the file that it was.
    pub stamp: Stamp,
}

/// Tells one state of a file from another: it is another value when the file was changed through
/// the file system since, by whomever, or when another file has its name. Decay of the medium
/// leaves it as it is. 0 is no state: nothing is known.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Stamp(pub u64);

impl Stamp {
    /// The state of a file by its inode and the time of its last change, which no program can set
    /// (`st_ctim`).
    #[must_use]
    pub fn of(inode: u64, changed_s: i64, changed_ns: i64) -> Self {
        let mut bytes = [0; 24];
        bytes[..8].copy_from_slice(&inode.to_be_bytes());
        bytes[8..16].copy_from_slice(&changed_s.to_be_bytes());
        bytes[16..].copy_from_slice(&changed_ns.to_be_bytes());
        Self(xxhash_rust::xxh3::xxh3_64(&bytes).max(1))
    }

    /// Whether both are known, and the same.
    #[must_use]
    pub fn is_still(self, other: Self) -> bool {
        self == other && self.0 != 0
    }
}

/// Why an operation failed. It is never tried again in place.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum IoError {
    /// The device is full (ENOSPC, EDQUOT).
    #[error("no space left: {0}")]
    NoSpace(String),
    /// The file does not hold what it should; the disk itself works.
    #[error("damaged: {0}")]
    Damaged(String),
    /// Anything else that the operating system said.
    #[error("{0}")]
    Failed(String),
}

/// A read whose bytes may come in several parts.
#[derive(Clone, Debug)]
pub struct WholeRead {
    file: FileId,
    position: u64,
    len: u32,
    got: BytesMut,
}

/// What a part of a read brought.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Part {
    /// The rest has to be asked for.
    More,
    /// All of it is there.
    Whole(Bytes),
    /// The file ends before that; these bytes it has.
    Ends(Bytes),
}

impl WholeRead {
    /// A read of `len` bytes.
    #[must_use]
    pub fn new(file: FileId, position: u64, len: u32) -> Self {
        Self { file, position, len, got: BytesMut::new() }
    }

    /// What it reads.
    #[must_use]
    pub fn file(&self) -> FileId {
        self.file
    }

    /// Asks for what is missing.
    #[must_use]
    pub fn op(&self, id: IoId) -> DiskOp {
        let got = u32::try_from(self.got.len()).unwrap_or(self.len);
        let (position, len) = (self.position + u64::from(got), self.len - got);
        DiskOp::Read { id, file: self.file, position, len }
    }

    /// The bytes that came so far, if no more are wanted.
    #[must_use]
    pub fn so_far(&mut self) -> Bytes {
        self.got.split().freeze()
    }

    /// Takes the bytes that came.
    pub fn take(&mut self, bytes: Bytes) -> Part {
        if self.got.is_empty() && bytes.len() >= self.len as usize {
            return Part::Whole(bytes);
        }
        let ends = bytes.is_empty();
        self.got.extend_from_slice(&bytes);
        let all = self.got.len() >= self.len as usize;
        match (all, ends) {
            (true, _) => Part::Whole(self.got.split().freeze()),
            (false, true) => Part::Ends(self.got.split().freeze()),
            (false, false) => Part::More,
        }
    }
}

/// Bytes that take up as much space as there are of them, however a file system compresses.
#[must_use]
pub(crate) fn ballast(len: usize) -> Bytes {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state.to_le_bytes()
    };
    let words = std::iter::repeat_with(next).take(len.div_ceil(8));
    let mut bytes: Vec<u8> = words.flatten().collect();
    bytes.truncate(len);
    bytes.into()
}

/// An offset range `[from, upto)` of a log.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct OffsetRange {
    /// First offset.
    pub from: Offset,
    /// One past the last offset.
    pub upto: Offset,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_make_a_whole_and_only_nothing_is_the_end() {
        let mut read = WholeRead::new(FileId(1), 100, 5);
        assert_eq!(read.take(Bytes::from_static(b"ab")), Part::More);
        let id = IoId { owner: 0, generation: 0, what: What::Recover, end: 0 };
        assert_eq!(read.op(id), DiskOp::Read { id, file: FileId(1), position: 102, len: 3 });
        assert_eq!(read.clone().take(Bytes::from_static(b"cde")), Part::Whole("abcde".into()));
        assert_eq!(read.take(Bytes::new()), Part::Ends("ab".into()));
        assert_eq!(WholeRead::new(FileId(1), 0, 0).take(Bytes::new()), Part::Whole(Bytes::new()));
    }
}
