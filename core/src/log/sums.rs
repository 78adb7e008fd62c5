//! Sums over the files of a closed segment: what they held when all of it was known to be sound.
//!
//! Layout, big endian: magic u32, version i16, topic id, partition i32, base offset i64, count of
//! files u8; for each file its kind u8, size u64, [`Stamp`] u64 and a hash u64 of each
//! [`BLOCK`] bytes of it, the last ones perhaps fewer; at the end a hash u64 of all that comes
//! before. Hashes are XXH3.
//!
//! Sums are held to say something about a file only while that is of the topic, partition and
//! offset they name, as large as it was, and has not been changed through the file system since
//! ([`Stamp`]): what another broker compacted or cut is not what they were made of. A file that was
//! only copied has another stamp too: then they are made anew.

use std::fmt;

use bytes::{Buf, BufMut, Bytes, BytesMut};
use dohle_wire::id::{Offset, PartitionIndex, TopicId, Uuid};
use xxhash_rust::xxh3::{Xxh3, xxh3_64};

use super::names::FileKind;
use super::{Log, Segment};
use crate::disk::Stamp;
use crate::mutant::Mutant;

/// Bytes under one hash.
pub const BLOCK: u32 = 64 * 1024;

const MAGIC: u32 = 0x646f_5375;
const VERSION: i16 = 1;
const HEAD: usize = 4 + 2 + 16 + 4 + 8 + 1;
const FILE_HEAD: usize = 1 + 8 + 8;
const HASH: usize = 8;

/// The files that have sums, in their order.
pub const SUMMED: [FileKind; 4] =
    [FileKind::Log, FileKind::Index, FileKind::TimeIndex, FileKind::TxnIndex];

/// Whose segment it is.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Owner {
    /// The topic.
    pub topic: TopicId,
    /// Its partition.
    pub partition: PartitionIndex,
    /// The segment's base offset.
    pub base: Offset,
}

/// The sums of one segment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sums {
    /// Whose it is.
    pub owner: Owner,
    /// Its files, in the order of [`SUMMED`].
    pub files: Vec<FileSums>,
}

/// The sums of one file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileSums {
    /// Which.
    pub kind: FileKind,
    /// Its size in bytes.
    pub size: u64,
    /// Its state.
    pub stamp: Stamp,
    /// A hash for each block.
    pub blocks: Vec<u64>,
}

/// Why a file holds no sums.
#[derive(Copy, Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SumsError {
    /// It ends too early.
    #[error("{0} bytes, more are announced")]
    Short(
        /// Bytes of the file.
        usize,
    ),
    /// Its last bytes are not the hash of what comes before.
    #[error("content whose checksum is {found:#018x}, not {expected:#018x}")]
    #[allow(missing_docs, reason = "the text names them")]
    Checksum { expected: u64, found: u64 },
    /// It is something else, or of a later version.
    #[error("no sums of version {VERSION}")]
    Version,
    /// A file of a kind that is not known, or in another order.
    #[error("files that are not those of a segment")]
    Files,
}

/// How many blocks a file has.
#[must_use]
pub fn blocks(size: u64) -> u64 {
    size.div_ceil(u64::from(BLOCK))
}

/// The hash of a block.
#[must_use]
pub fn hash(block: &[u8]) -> u64 {
    xxh3_64(block)
}

/// How large the sums of files of these sizes are at most.
#[must_use]
pub fn len_max(sizes: impl Iterator<Item = u64>) -> u64 {
    let files = sizes.map(|size| FILE_HEAD as u64 + blocks(size) * HASH as u64);
    (HEAD + HASH) as u64 + files.sum::<u64>()
}

impl Sums {
    /// The file that holds them.
    #[must_use]
    pub fn encode(&self) -> Bytes {
        let mut out = BytesMut::new();
        out.put_u32(MAGIC);
        out.put_i16(VERSION);
        out.put_slice(&self.owner.topic.0.0);
        out.put_i32(self.owner.partition.0);
        out.put_i64(self.owner.base.0);
        out.put_u8(u8::try_from(self.files.len()).expect("a segment has four files at most"));
        for file in &self.files {
            out.put_u8(code(file.kind));
            out.put_u64(file.size);
            out.put_u64(file.stamp.0);
            file.blocks.iter().for_each(|hash| out.put_u64(*hash));
        }
        let sum = hash(&out);
        out.put_u64(sum);
        out.freeze()
    }

    /// Reads a file.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn parse(file: &[u8]) -> Result<Self, SumsError> {
        let short = SumsError::Short(file.len());
        let (content, end) = file.split_last_chunk::<HASH>().ok_or(short)?;
        let (expected, found) = (u64::from_be_bytes(*end), hash(content));
        if expected != found {
            return Err(SumsError::Checksum { expected, found });
        }
        let mut rest = content;
        if rest.len() < HEAD {
            return Err(short);
        }
        if rest.get_u32() != MAGIC || rest.get_i16() != VERSION {
            return Err(SumsError::Version);
        }
        let mut topic = [0; 16];
        rest.copy_to_slice(&mut topic);
        let owner = Owner {
            topic: TopicId(Uuid(topic)),
            partition: PartitionIndex(rest.get_i32()),
            base: Offset(rest.get_i64()),
        };
        let mut files: Vec<FileSums> = Vec::new();
        for _ in 0..rest.get_u8() {
            let file = file_sums(&mut rest, short)?;
            if files.last().is_some_and(|last| last.kind >= file.kind) {
                return Err(SumsError::Files);
            }
            files.push(file);
        }
        if rest.is_empty() { Ok(Self { owner, files }) } else { Err(SumsError::Files) }
    }

    /// What they say of a file of that size, whatever its state.
    #[must_use]
    pub fn of(&self, kind: FileKind, size: u64) -> Option<&FileSums> {
        self.files.iter().find(|file| file.kind == kind && file.size == size)
    }
}

fn file_sums(rest: &mut &[u8], short: SumsError) -> Result<FileSums, SumsError> {
    if rest.len() < FILE_HEAD {
        return Err(short);
    }
    let kind = kind(rest.get_u8()).ok_or(SumsError::Files)?;
    let (size, stamp) = (rest.get_u64(), Stamp(rest.get_u64()));
    let count = usize::try_from(blocks(size)).unwrap_or(usize::MAX);
    // Nothing is made room for that is not there.
    if rest.len() / HASH < count {
        return Err(short);
    }
    let blocks = (0..count).map(|_| rest.get_u64()).collect();
    Ok(FileSums { kind, size, stamp, blocks })
}

fn code(kind: FileKind) -> u8 {
    let at = SUMMED.iter().position(|summed| *summed == kind);
    at.and_then(|at| u8::try_from(at).ok()).expect("only some kinds of files have sums")
}

fn kind(code: u8) -> Option<FileKind> {
    SUMMED.get(usize::from(code)).copied()
}

/// Hashes of a file that comes in pieces of any length.
#[derive(Clone)]
pub struct Hasher {
    state: Xxh3,
    filled: usize,
    blocks: Vec<u64>,
}

impl fmt::Debug for Hasher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Hasher({} blocks, {} bytes)", self.blocks.len(), self.filled)
    }
}

impl Default for Hasher {
    fn default() -> Self {
        Self { state: Xxh3::new(), filled: 0, blocks: Vec::new() }
    }
}

impl Hasher {
    /// The hashes of all blocks of `bytes`.
    #[must_use]
    pub fn of(bytes: &[u8]) -> Vec<u64> {
        let mut hasher = Self::default();
        hasher.feed(bytes);
        hasher.finish()
    }

    /// Takes the next bytes.
    pub fn feed(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            let (now, later) = bytes.split_at(bytes.len().min(BLOCK as usize - self.filled));
            self.state.update(now);
            self.filled += now.len();
            bytes = later;
            if self.filled == BLOCK as usize {
                self.end_block();
            }
        }
    }

    fn end_block(&mut self) {
        self.blocks.push(self.state.digest());
        self.state.reset();
        self.filled = 0;
    }

    /// The hashes of all blocks.
    #[must_use]
    pub fn finish(mut self) -> Vec<u64> {
        if self.filled > 0 {
            self.end_block();
        }
        self.blocks
    }
}

impl Log {
    /// Its closed segments that are on the disk with all their files, oldest first: nothing of
    /// them changes any more, unless the log is cut.
    #[must_use]
    pub fn settled(&self) -> &[Segment] {
        let closed = self.segments.len().saturating_sub(1);
        let hasty = self.settings.mutants.has(Mutant::SettledTooSoon);
        let settled = |at: &usize| {
            hasty || self.segments[*at].unsealed == 0 && self.segments[at + 1].base <= self.durable
        };
        &self.segments[..(0..closed).take_while(settled).count()]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> Sums {
        let file = |kind, size: u64| FileSums {
            kind,
            size,
            stamp: Stamp(size + 7),
            blocks: (0..blocks(size)).map(|at| hash(&at.to_be_bytes())).collect(),
        };
        let owner = Owner {
            topic: TopicId(Uuid::from_u128(9 << 90)),
            partition: PartitionIndex(3),
            base: Offset(4711),
        };
        let files = vec![file(FileKind::Log, 200_000), file(FileKind::TimeIndex, 12)];
        Sums { owner, files }
    }

    #[test]
    fn what_is_written_is_read() {
        let file = sample().encode();
        assert_eq!(Sums::parse(&file), Ok(sample()));
        assert_eq!(file.len() as u64, len_max([200_000, 12].into_iter()));
        let none = Sums { files: Vec::new(), ..sample() };
        assert_eq!(Sums::parse(&none.encode()), Ok(none));
    }

    #[test]
    fn every_cut_and_flip_is_told() {
        let file = sample().encode();
        for len in 0..file.len() {
            assert!(Sums::parse(&file[..len]).is_err(), "cut at {len}");
        }
        for at in 0..file.len() {
            for bit in 0..8 {
                let mut bad = file.to_vec();
                bad[at] ^= 1 << bit;
                assert!(Sums::parse(&bad).is_err(), "flip at {at}");
            }
        }
    }

    #[test]
    fn a_size_that_is_not_there_is_refused() {
        let mut file = sample().encode().to_vec();
        file.truncate(file.len() - HASH);
        file[HEAD + 1..HEAD + 9].copy_from_slice(&u64::MAX.to_be_bytes());
        let sum = hash(&file);
        file.extend(sum.to_be_bytes());
        assert_eq!(Sums::parse(&file), Err(SumsError::Short(file.len())));
    }

    #[test]
    fn pieces_of_any_length_make_the_same_hashes() {
        let bytes: Vec<u8> = (0..150_000u32).map(|at| ((at * 7) >> 3) as u8).collect();
        let whole: Vec<u64> = bytes.chunks(BLOCK as usize).map(hash).collect();
        for piece in [1_000, 65_536, 70_001, 150_000] {
            let mut hasher = Hasher::default();
            bytes.chunks(piece).for_each(|piece| hasher.feed(piece));
            assert_eq!(hasher.finish(), whole, "in pieces of {piece}");
        }
        assert_eq!(Hasher::default().finish(), [0; 0]);
    }

    #[test]
    fn only_a_state_that_is_known_is_still_the_same() {
        let stamp = Stamp::of(1, 2, 3);
        assert!(stamp.is_still(stamp) && !stamp.is_still(Stamp::of(1, 2, 4)));
        assert!(!Stamp::default().is_still(Stamp::default()));
    }
}
