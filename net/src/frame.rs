//! Frames: a four-byte length and so many bytes, out of a stream.
//!
//! A connection that is silent holds no buffer. A frame that is small is cut out of what one
//! read brought; for a larger one a buffer grows as its bytes arrive, to the exact size: a length
//! that is only announced costs nothing.

use std::sync::Arc;
use std::task::Waker;

use bytes::Bytes;
use bytes::buf::{BufMut, Limit};

use crate::budget::{Account, Budget, Lease, UNCOUNTED};

/// A frame larger than this gets a buffer of its own at once.
const OWN_BUFFER: usize = 16 * 1024;
/// First size of such a buffer. Requests up to this size never wait for memory.
const FIRST_SIZE: usize = 64 * 1024;
/// Growth of such a buffer while its frame arrives.
const GROWTH: usize = 4;
/// No request is shorter than its header's fixed fields.
const FRAME_MIN: usize = 8;
/// Bytes of the length.
const PREFIX: usize = 4;

/// Why a stream holds no frames.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// A TLS client.
    #[error("a TLS handshake on a plaintext port: the client wants SSL, this listener has none")]
    Tls,
    /// An HTTP client.
    #[error("an HTTP request ({0}) on a port that speaks the Kafka protocol")]
    Http(String),
    /// Longer than allowed.
    #[error("a request of {size} bytes, more than socket.request.max.bytes ({max}) allows")]
    TooLarge {
        /// As announced.
        size: u32,
        /// As configured.
        max: usize,
    },
    /// Shorter than any request, or negative.
    #[error("a request of {0} bytes, which no Kafka client sends")]
    TooSmall(i32),
}

/// Cuts a stream into frames.
pub struct Framer {
    max: usize,
    account: Account,
    /// Nothing has been cut yet: the client may speak something else.
    fresh: bool,
    /// Read and not cut: the head of a frame, or frames that nobody wanted yet.
    kept: Vec<u8>,
    kept_lease: Option<Lease>,
    body: Option<Body>,
}

/// A large frame that is under way.
struct Body {
    data: Vec<u8>,
    want: usize,
    lease: Lease,
}

/// A whole large frame and the memory it takes.
struct Held {
    data: Vec<u8>,
    _lease: Lease,
}

impl AsRef<[u8]> for Held {
    fn as_ref(&self) -> &[u8] {
        &self.data
    }
}

impl Framer {
    /// Frames of at most `max` bytes.
    #[must_use]
    pub fn new(max: usize, budget: &Arc<Budget>) -> Self {
        let account = budget.account();
        Self { max, account, fresh: true, kept: Vec::new(), kept_lease: None, body: None }
    }

    /// Whether a frame may be cut without reading on.
    #[must_use]
    pub fn has_kept(&self) -> bool {
        !self.kept.is_empty() && self.body.is_none()
    }

    /// Whether part of a frame has come that takes memory.
    #[must_use]
    pub fn is_amid(&self) -> bool {
        self.body.is_some()
    }

    /// Whether there is memory to read on; if not, the task is woken when it may ask again.
    pub fn has_room(&mut self, waker: &Waker) -> bool {
        match &mut self.body {
            Some(body) => body.make_room(&self.account, waker),
            None => self.account.admits(self.kept_lease.as_ref().map_or(0, Lease::bytes), waker),
        }
    }

    /// Bytes of memory that the frame under way has.
    #[must_use]
    pub fn body_bytes(&self) -> usize {
        self.body.as_ref().map_or(0, |body| body.lease.bytes())
    }

    /// Where the bytes of a large frame shall be read to, once it [has room](Self::has_room).
    pub fn body(&mut self) -> Option<Limit<&mut Vec<u8>>> {
        let body = self.body.as_mut()?;
        let room = body.data.capacity().min(body.want) - body.data.len();
        Some((&mut body.data).limit(room))
    }

    /// The large frame, if it is whole.
    pub fn finished_body(&mut self) -> Option<Bytes> {
        let body = self.body.take_if(|body| body.data.len() == body.want)?;
        Some(Bytes::from_owner(Held { data: body.data, _lease: body.lease }))
    }

    /// Cuts frames off `data`, which follows what was kept, until `sink` says false; keeps the
    /// rest.
    ///
    /// # Errors
    /// What is wrong with the stream; it cannot go on.
    pub fn cut(&mut self, data: &[u8], sink: &mut impl FnMut(Bytes) -> bool) -> Result<(), Fault> {
        if self.kept.is_empty() {
            let used = self.cut_from(data, sink)?;
            self.keep(&data[used..]);
            return Ok(());
        }
        self.kept.extend_from_slice(data);
        let kept = std::mem::take(&mut self.kept);
        self.kept_lease = None;
        let used = self.cut_from(&kept, sink)?;
        self.keep(&kept[used..]);
        Ok(())
    }

    fn cut_from(
        &mut self,
        data: &[u8],
        sink: &mut impl FnMut(Bytes) -> bool,
    ) -> Result<usize, Fault> {
        let mut used = 0;
        loop {
            let rest = &data[used..];
            let Some(size) = self.size(rest)? else { return Ok(used) };
            if let Some(frame) = rest.get(PREFIX..PREFIX + size) {
                used += PREFIX + size;
                if !sink(self.small(frame)) {
                    return Ok(used);
                }
            } else if size > OWN_BUFFER {
                self.begin_body(size, &rest[PREFIX..]);
                return Ok(data.len());
            } else {
                return Ok(used);
            }
        }
    }

    /// The size of the frame at the start of `rest`, none until its length has come.
    fn size(&mut self, rest: &[u8]) -> Result<Option<usize>, Fault> {
        if self.fresh {
            foreign(rest)?;
        }
        let Some(prefix) = rest.first_chunk::<PREFIX>() else { return Ok(None) };
        self.fresh = false;
        let size = i32::from_be_bytes(*prefix);
        let valid = usize::try_from(size).ok().filter(|size| *size >= FRAME_MIN);
        let size = valid.ok_or(Fault::TooSmall(size))?;
        if size > self.max {
            let size = u32::from_be_bytes(*prefix);
            return Err(Fault::TooLarge { size, max: self.max });
        }
        Ok(Some(size))
    }

    fn small(&self, frame: &[u8]) -> Bytes {
        if frame.len() < UNCOUNTED {
            return Bytes::copy_from_slice(frame);
        }
        let mut lease = self.account.lease();
        lease.add(frame.len());
        Bytes::from_owner(Held { data: frame.to_vec(), _lease: lease })
    }

    fn begin_body(&mut self, want: usize, start: &[u8]) {
        let mut lease = self.account.lease();
        let size = want.min(FIRST_SIZE.max(start.len()));
        lease.add(size);
        let mut data = Vec::with_capacity(size);
        data.extend_from_slice(start);
        self.body = Some(Body { data, want, lease });
    }

    fn keep(&mut self, rest: &[u8]) {
        self.kept = rest.to_vec();
        self.kept_lease = (rest.len() >= UNCOUNTED).then(|| {
            let mut lease = self.account.lease();
            lease.add(rest.len());
            lease
        });
    }
}

impl Body {
    fn make_room(&mut self, account: &Account, waker: &Waker) -> bool {
        if self.data.len() < self.data.capacity() {
            return true;
        }
        let more = self.want.min(self.data.len() * GROWTH) - self.data.len();
        let granted = account.grow(&mut self.lease, more, waker);
        if granted {
            self.data.reserve_exact(more);
        }
        granted
    }
}

/// Recognises protocols that people point at the wrong port, by their first bytes.
fn foreign(start: &[u8]) -> Result<(), Fault> {
    const VERBS: [&str; 9] =
        ["GET ", "POST", "HEAD", "PUT ", "DELE", "OPTI", "PATC", "CONN", "PRI "];
    // A handshake record (22) of SSL 3.0 or TLS: as a length it would be 352 MiB and more.
    if let [0x16, 0x03, 0..=4, _, ..] = start {
        return Err(Fault::Tls);
    }
    let Some(first) = start.get(..4) else { return Ok(()) };
    if VERBS.iter().any(|verb| verb.as_bytes() == first) {
        let line = start.split(|byte| matches!(byte, b'\r' | b'\n')).next().unwrap_or(first);
        let line = &line[..line.len().min(60)];
        return Err(Fault::Http(line.escape_ascii().to_string()));
    }
    Ok(())
}

#[cfg(test)]
mod tests;
