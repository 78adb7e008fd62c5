//! Walking through the batches of a segment as its bytes come in.

use bytes::BytesMut;
use dohle_wire::id::Offset;
use dohle_wire::record::{BATCH_HEADER_LEN, BatchHeader, RawBatch};

/// A walk through one segment's bytes.
#[derive(Clone, Debug)]
pub struct Scan {
    buffer: BytesMut,
    position: u64,
    end: u64,
    next: Offset,
    verify: bool,
    ended: bool,
    ordered: bool,
}

/// The next thing a walk found.
#[derive(Clone, Debug)]
pub enum Scanned {
    /// A whole batch and where it starts.
    Batch(RawBatch, u64),
    /// Read on: this many bytes from that position.
    Need {
        /// Where.
        position: u64,
        /// How many.
        len: u32,
    },
    /// From this position on there is no valid batch.
    Damaged {
        /// Where valid batches end.
        position: u64,
        /// What is wrong there.
        why: String,
        /// There is a batch, with this offset, and it lies behind later ones.
        behind: Option<Offset>,
    },
    /// The segment ends here, after a whole batch.
    End,
}

/// Bytes asked for at a time.
const CHUNK: u32 = 1 << 20;

impl Scan {
    /// A walk from `position`, where a batch at or past offset `from` starts, to `end`. `verify`
    /// checks the CRC of each batch.
    #[must_use]
    pub fn new(position: u64, end: u64, from: Offset, verify: bool) -> Self {
        Self {
            buffer: BytesMut::new(),
            position,
            end,
            next: from,
            verify,
            ended: false,
            ordered: true,
        }
    }

    /// Where it ends, at the latest.
    #[must_use]
    pub fn end(&self) -> u64 {
        self.end
    }

    /// One past the last offset found, or where the walk began.
    #[must_use]
    pub fn next_offset(&self) -> Offset {
        self.next
    }

    /// Whether offsets that do not rise are damage, which they are.
    #[must_use]
    pub fn ordered(self, ordered: bool) -> Self {
        Self { ordered, ..self }
    }

    /// So many bytes more, and the walk ends.
    pub fn ends_after(&mut self, bytes: u64) {
        self.end = self.position + self.buffered() + bytes;
    }

    /// Adds bytes that were asked for, perhaps fewer; none mean that the file is shorter than was
    /// thought.
    pub fn feed(&mut self, chunk: &[u8]) {
        self.ended = chunk.is_empty();
        self.buffer.extend_from_slice(chunk);
    }

    /// The next batch, or what stands in its way.
    pub fn advance(&mut self) -> Scanned {
        let left = self.end.saturating_sub(self.position);
        if left == 0 {
            return Scanned::End;
        }
        if self.buffered() < BATCH_HEADER_LEN as u64 {
            return self.need(BATCH_HEADER_LEN as u64, "half a batch header");
        }
        let header = match BatchHeader::parse(&self.buffer) {
            Ok(header) => header,
            Err(error) => return self.damaged(error.to_string()),
        };
        if header.base_offset < self.next && self.ordered {
            let why = format!("offset {} after {}", header.base_offset, self.next);
            let behind = Some(header.base_offset);
            return Scanned::Damaged { position: self.position, why, behind };
        }
        let len = header.total_len();
        if self.buffered() < len as u64 {
            return self.need(len as u64, "half a batch");
        }
        self.take(len)
    }

    fn take(&mut self, len: usize) -> Scanned {
        let bytes = self.buffer.split_to(len).freeze();
        let batch = match RawBatch::parse(bytes) {
            Ok(batch) => batch,
            Err(error) => return self.damaged(error.to_string()),
        };
        if self.verify && !batch.crc_ok() {
            return self.damaged("checksum does not match".to_owned());
        }
        let position = self.position;
        self.position += len as u64;
        self.next = batch.header.next_offset();
        Scanned::Batch(batch, position)
    }

    fn need(&self, len: u64, what: &str) -> Scanned {
        if self.position + len > self.end {
            return self.damaged(format!("{what} at the end of the file"));
        }
        if self.ended {
            let (there, end) = (self.position + self.buffered(), self.end);
            return self.damaged(format!("the file has {there} bytes, and had {end}"));
        }
        let position = self.position + self.buffered();
        let rest = self.end - position;
        let wanted = rest.min(u64::from(CHUNK).max(len - self.buffered()));
        Scanned::Need { position, len: u32::try_from(wanted).unwrap_or(u32::MAX) }
    }

    fn damaged(&self, why: String) -> Scanned {
        Scanned::Damaged { position: self.position, why, behind: None }
    }

    fn buffered(&self) -> u64 {
        self.buffer.len() as u64
    }
}
