//! A stream in memory, seeded: reads and writes are cut at random places, answers are not ready
//! at random moments, and either end can vanish.

use std::collections::VecDeque;
use std::io;
use std::os::unix::fs::FileExt;
use std::sync::{Arc, Mutex, MutexGuard};
use std::task::{Context, Poll, Waker};

use bytes::buf::BufMut;

use super::Dice;
use crate::send::{Outgoing, Piece};
use crate::transport::Transport;

/// The broker's end.
pub(crate) struct Near(Arc<Mutex<Wire>>);

/// The test's end.
pub(crate) struct Far(Arc<Mutex<Wire>>);

struct Wire {
    dice: Dice,
    /// Longest piece that one read or write moves; 0 for any.
    cut: usize,
    /// In percent, how often the broker's end is told to come back later.
    stalls: usize,
    to_near: VecDeque<u8>,
    from_near: Vec<u8>,
    /// How many bytes the far end has room for.
    room: usize,
    far_closed: bool,
    near_closed: bool,
    reset: bool,
    reader: Option<Waker>,
    writer: Option<Waker>,
}

/// A stream and both its ends.
pub(crate) fn pair(seed: u64, cut: usize, stalls: usize) -> (Near, Far) {
    let wire = Wire {
        dice: Dice::seeded(seed),
        cut,
        stalls,
        to_near: VecDeque::new(),
        from_near: Vec::new(),
        room: usize::MAX,
        far_closed: false,
        near_closed: false,
        reset: false,
        reader: None,
        writer: None,
    };
    let wire = Arc::new(Mutex::new(wire));
    (Near(Arc::clone(&wire)), Far(wire))
}

impl Far {
    pub(crate) fn send(&self, bytes: &[u8]) {
        let mut wire = self.lock();
        wire.to_near.extend(bytes);
        wake(&mut wire.reader);
    }

    /// Takes what has arrived.
    pub(crate) fn take(&self) -> Vec<u8> {
        std::mem::take(&mut self.lock().from_near)
    }

    pub(crate) fn unread(&self) -> usize {
        self.lock().to_near.len()
    }

    /// From now on there is room for so many bytes in all.
    pub(crate) fn make_room(&self, bytes: usize) {
        let mut wire = self.lock();
        wire.room = bytes;
        wake(&mut wire.writer);
    }

    /// An orderly end.
    pub(crate) fn close(&self) {
        let mut wire = self.lock();
        wire.far_closed = true;
        wake(&mut wire.reader);
    }

    /// An abrupt end.
    pub(crate) fn reset(&self) {
        let mut wire = self.lock();
        wire.reset = true;
        wake(&mut wire.reader);
        wake(&mut wire.writer);
    }

    pub(crate) fn near_is_closed(&self) -> bool {
        self.lock().near_closed
    }

    fn lock(&self) -> MutexGuard<'_, Wire> {
        self.0.lock().expect("no panic under the lock")
    }
}

impl Wire {
    /// Whether the end is told to come back later; it is woken at once.
    fn stalls(&mut self, cx: &Context<'_>) -> bool {
        let stalls = self.dice.below(100) < self.stalls;
        if stalls {
            cx.waker().wake_by_ref();
        }
        stalls
    }

    fn some(&mut self, of: usize) -> usize {
        match self.cut {
            0 => of,
            cut => of.min(1 + self.dice.below(cut)),
        }
    }
}

impl Transport for Near {
    fn poll_read<B: BufMut>(
        &mut self,
        cx: &mut Context<'_>,
        to: &mut B,
    ) -> Poll<io::Result<usize>> {
        let mut wire = self.0.lock().expect("no panic under the lock");
        if wire.reset {
            return Poll::Ready(Err(io::ErrorKind::ConnectionReset.into()));
        }
        if wire.to_near.is_empty() {
            if wire.far_closed {
                return Poll::Ready(Ok(0));
            }
            wire.reader = Some(cx.waker().clone());
            return Poll::Pending;
        }
        if wire.stalls(cx) {
            return Poll::Pending;
        }
        let most = wire.to_near.len().min(to.remaining_mut());
        let count = wire.some(most);
        for byte in wire.to_near.drain(..count) {
            to.put_u8(byte);
        }
        Poll::Ready(Ok(count))
    }

    fn poll_send(&mut self, cx: &mut Context<'_>, out: &mut Outgoing) -> Poll<io::Result<()>> {
        let mut wire = self.0.lock().expect("no panic under the lock");
        if wire.reset {
            return Poll::Ready(Err(io::ErrorKind::BrokenPipe.into()));
        }
        if wire.room == 0 {
            wire.writer = Some(cx.waker().clone());
            return Poll::Pending;
        }
        if wire.stalls(cx) {
            return Poll::Pending;
        }
        let bytes = match out.first() {
            None => return Poll::Ready(Ok(())),
            Some(Piece::Bytes(bytes)) => bytes.clone(),
            Some(Piece::Range(range)) => {
                let len = usize::try_from(out.warm_len()).expect("short");
                assert!(len > 0, "a range is warmed before it is sent");
                let mut bytes = vec![0; len];
                range.file()?.read_exact_at(&mut bytes, range.position)?;
                bytes.into()
            }
        };
        let most = bytes.len().min(wire.room);
        let count = wire.some(most);
        wire.from_near.extend(&bytes[..count]);
        wire.room -= count;
        out.sent(count as u64);
        Poll::Ready(Ok(()))
    }

    fn shutdown(&mut self) -> io::Result<()> {
        self.0.lock().expect("no panic under the lock").near_closed = true;
        Ok(())
    }
}

fn wake(waker: &mut Option<Waker>) {
    if let Some(waker) = waker.take() {
        waker.wake();
    }
}
