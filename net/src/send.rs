//! What a connection has to send: pieces of memory and ranges of files, in order.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, IoSlice};
use std::os::unix::fs::FileExt;
use std::sync::Arc;

use bytes::{Buf, Bytes};
use rustix::io::{Errno, ReadWriteFlags, preadv2};

use crate::disk::Handed;

/// Ranges up to this size are read and sent together with what is around them: one packet and no
/// more system calls than `sendfile` would take.
const READ_BELOW: u64 = 16 * 1024;
/// ... while no more than this waits in memory.
const READ_TOTAL: usize = 256 * 1024;
/// A range is warmed and sent in steps of this size.
pub const STEP: u64 = 256 * 1024;
/// Pieces of memory in one write.
const GATHER: usize = 64;

/// One thing to send.
pub enum Piece {
    /// Memory.
    Bytes(Bytes),
    /// Part of a file.
    Range(Range),
}

/// Part of a file.
pub struct Range {
    file: Handed,
    /// Where it starts.
    pub position: u64,
    /// How long it is.
    pub len: u64,
    /// Up to here, counted from the file's start, it is known to be in memory.
    warm: u64,
}

impl Range {
    /// The file; it is open from the first look at [`Outgoing::cold`] on.
    ///
    /// # Errors
    /// It is gone, or cannot be opened.
    pub fn file(&self) -> io::Result<Arc<File>> {
        self.file.file()
    }
}

/// Everything that waits to be sent, whole frames in order.
#[derive(Default)]
pub struct Outgoing {
    pieces: VecDeque<Piece>,
    /// In memory.
    bytes: usize,
}

impl Outgoing {
    /// Appends memory.
    pub fn push_bytes(&mut self, bytes: Bytes) {
        if !bytes.is_empty() {
            self.bytes += bytes.len();
            self.pieces.push_back(Piece::Bytes(bytes));
        }
    }

    /// Appends part of a file.
    ///
    /// # Errors
    /// It is gone, or cannot be opened.
    pub fn push_range(&mut self, file: Handed, position: u64, len: u64) -> io::Result<()> {
        if len == 0 {
            return Ok(());
        }
        if len <= READ_BELOW
            && self.bytes < READ_TOTAL
            && let Some(bytes) = read_warm(&*file.file()?, position, len)
        {
            self.push_bytes(bytes);
            return Ok(());
        }
        self.pieces.push_back(Piece::Range(Range { file, position, len, warm: position }));
        Ok(())
    }

    /// Whether all is sent.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.pieces.is_empty()
    }

    /// Bytes held in memory.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Ends of frames or parts that wait.
    #[must_use]
    pub fn pieces(&self) -> usize {
        self.pieces.len()
    }

    /// What comes first.
    #[must_use]
    pub fn first(&self) -> Option<&Piece> {
        self.pieces.front()
    }

    /// The range that comes first, if it must be warmed before it is sent.
    ///
    /// # Errors
    /// Its file is gone, or cannot be opened.
    pub fn cold(&mut self) -> io::Result<Option<Cold>> {
        let Some(Piece::Range(range)) = self.pieces.front_mut() else { return Ok(None) };
        if range.warm > range.position {
            return Ok(None);
        }
        let file = range.file()?;
        range.file = Arc::clone(&file).into();
        let len = range.len.min(STEP);
        if is_warm(&file, range.position, len) {
            range.warm = range.position + len;
            return Ok(None);
        }
        Ok(Some(Cold { file, position: range.position, len }))
    }

    /// The range that comes first was warmed by [`Cold::warm`].
    pub fn warmed(&mut self, len: u64) {
        if let Some(Piece::Range(range)) = self.pieces.front_mut() {
            range.warm = range.position + len;
        }
    }

    /// How much of the first range may be sent now.
    #[must_use]
    pub fn warm_len(&self) -> u64 {
        match self.pieces.front() {
            Some(Piece::Range(range)) => range.len.min(range.warm.saturating_sub(range.position)),
            _ => 0,
        }
    }

    /// The pieces of memory that come first; the flag says that a range follows them.
    pub fn gather<'a>(&'a self, into: &mut Vec<IoSlice<'a>>) -> bool {
        for piece in self.pieces.iter().take(GATHER) {
            match piece {
                Piece::Bytes(bytes) => into.push(IoSlice::new(bytes)),
                Piece::Range(_) => return true,
            }
        }
        self.pieces.len() > GATHER
    }

    /// So many bytes were sent.
    pub fn sent(&mut self, mut count: u64) {
        while count > 0 {
            let first = self.pieces.front_mut().expect("no more is sent than was there");
            let left = match first {
                Piece::Bytes(bytes) => {
                    let part = usize::try_from(count).unwrap_or(usize::MAX).min(bytes.len());
                    bytes.advance(part);
                    self.bytes -= part;
                    count -= part as u64;
                    bytes.len() as u64
                }
                Piece::Range(range) => {
                    let part = count.min(range.len);
                    range.position += part;
                    range.len -= part;
                    count -= part;
                    range.len
                }
            };
            if left == 0 {
                self.pieces.pop_front();
            }
        }
    }
}

/// A part of a file that is not in memory.
pub struct Cold {
    file: Arc<File>,
    position: u64,
    /// How long it is.
    pub len: u64,
}

impl Cold {
    /// Brings it into the page cache; waits for the device.
    pub fn warm(&self) {
        let mut buffer = vec![0; 64 * 1024];
        let (mut at, end) = (self.position, self.position + self.len);
        while at < end {
            let part = usize::try_from(end - at).unwrap_or(usize::MAX).min(buffer.len());
            match self.file.read_at(&mut buffer[..part], at) {
                // The sender finds out what is wrong.
                Ok(0) | Err(_) => return,
                Ok(count) => at += count as u64,
            }
        }
    }
}

/// Whether first and last byte can be read without waiting. Pages are read ahead in runs, so that
/// what lies between is seldom missing when both ends are there.
fn is_warm(file: &File, position: u64, len: u64) -> bool {
    let there = |at: u64| {
        let mut byte = [0];
        let mut slices = [io::IoSliceMut::new(&mut byte)];
        // Where the flag is not supported nothing can be known; then the send may wait.
        preadv2(file, &mut slices, at, ReadWriteFlags::NOWAIT) != Err(Errno::AGAIN)
    };
    there(position) && there(position + len - 1)
}

/// The bytes of a range, if all of them can be read without waiting.
fn read_warm(file: &File, position: u64, len: u64) -> Option<Bytes> {
    let mut buffer = vec![0; usize::try_from(len).ok()?];
    let mut slices = [io::IoSliceMut::new(&mut buffer)];
    match preadv2(file, &mut slices, position, ReadWriteFlags::NOWAIT) {
        Ok(read) => (read == buffer.len()).then(|| buffer.into()),
        // A filesystem that cannot tell: then it may as well be read now.
        Err(Errno::OPNOTSUPP) => {
            file.read_exact_at(&mut buffer, position).ok().map(|()| buffer.into())
        }
        Err(_) => None,
    }
}
