//! One connection: frames into a session of the core, the session's frames out.
//!
//! One task does all of it, so that a session needs no lock: it reads, gives frames to the
//! session, drives the shards that the session wrote to, gives their answers to the session, and
//! sends. It sleeps on its socket, its mailbox and one timer.
//!
//! Bounds: no reading while the session pauses, while too much waits to be sent, or while the
//! node's budget for requests has nothing for it. A silent connection holds no buffer.
//!
//! Must never know: what a request means.

use std::cell::Cell;
use std::collections::VecDeque;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use dohle_core::mail::ToSession;
use dohle_core::session::{CloseReason, Effect, Input};
use dohle_core::time::Instant;

use crate::budget::Budget;
use crate::clock::Clock;
use crate::desk::{Desk, Switch};
use crate::frame::{Fault, Framer};
use crate::mailbox::Mailbox;
use crate::rt;
use crate::send::Outgoing;
use crate::transport::Transport;
use crate::unit::{AbortOnPanic, Machine};

/// What one read takes from a socket at most, into a buffer that all connections of a thread
/// share.
const SCRATCH: usize = 64 * 1024;
/// More than this in memory, or so many pieces, to be sent: no reading.
const OUT_BYTES_MAX: usize = 1024 * 1024;
const OUT_PIECES_MAX: usize = 4096;
/// What a connection does before others get a turn.
const TURNS: usize = 16;
/// Rounds of mail between the session and its shards in one turn.
const MAIL_ROUNDS: usize = 16;
/// How long a closed connection may take to receive what was sent before.
const CLOSE_LIMIT: Duration = Duration::from_secs(10);
/// How long it may take to say that it saw the end: closing a socket with unread bytes would
/// take the last answer from the peer's hands.
const DRAIN_LIMIT: Duration = Duration::from_millis(500);
/// While others wait for memory, a half-read request must bring one in [`PACE_PART`] bytes of what
/// it has taken in so much time.
const PACE_TIME: Duration = Duration::from_secs(2);
const PACE_PART: usize = 16;

thread_local! {
    static BUFFER: Cell<Option<Box<[u8]>>> = const { Cell::new(None) };
}

/// Why a connection ended.
#[derive(Debug)]
pub enum End {
    /// The peer closed it.
    Peer,
    /// The network broke it.
    Broken(std::io::Error),
    /// The session closed it.
    Session(CloseReason),
    /// The stream holds no Kafka requests.
    Fault(Fault),
    /// A request came too slowly while others waited for memory.
    Slow,
    /// A range of a file that shall be sent cannot be read.
    File(std::io::Error),
    /// A letter was lost: the session had far more under way than it may.
    Mail,
}

/// What a connection is made of.
pub struct Parts<T, M, S> {
    /// The stream.
    pub transport: T,
    /// The session.
    pub session: M,
    /// The way to shards, control and files.
    pub switch: S,
    /// The session's mailbox.
    pub mailbox: Arc<Mailbox>,
    /// The node's clock.
    pub clock: Clock,
    /// Memory for requests.
    pub budget: Arc<Budget>,
    /// Longest request.
    pub frame_max: usize,
}

/// A connection as a future: it ends when the connection does.
pub struct Connection<T, M, S> {
    transport: T,
    desk: Desk<M, S>,
    mailbox: Arc<Mailbox>,
    letters: VecDeque<ToSession>,
    clock: Clock,
    budget: Arc<Budget>,
    framer: Framer,
    /// Frames were left uncut because the session wanted no more.
    uncut: bool,
    stage: Stage,
    timer: Option<(Instant, Pin<Box<rt::Sleep>>)>,
    /// How fast a large frame comes, while there is memory to read it to.
    pace: Option<Pace>,
    warming: Option<Warming>,
}

enum Stage {
    Open,
    /// Sends what is left, until then.
    Closing(End, Instant),
    /// All is sent and the peer knows; waits for its end of the stream, until then.
    Draining(End, Instant),
}

struct Pace {
    since: Instant,
    bytes: usize,
}

/// A range that a thread of the pool brings into memory.
struct Warming {
    state: Arc<std::sync::Mutex<WarmState>>,
    len: u64,
}

#[derive(Default)]
struct WarmState {
    done: bool,
    waker: Option<std::task::Waker>,
}

impl<T, M, S> Connection<T, M, S>
where
    T: Transport,
    M: Machine<Input = Input, Effect = Effect>,
    S: Switch,
{
    /// A connection that has just been accepted.
    pub fn new(parts: Parts<T, M, S>) -> Self {
        let framer = Framer::new(parts.frame_max, &parts.budget);
        Self {
            transport: parts.transport,
            desk: Desk::new(parts.session, parts.switch, parts.clock),
            mailbox: parts.mailbox,
            letters: VecDeque::new(),
            clock: parts.clock,
            budget: parts.budget,
            framer,
            uncut: false,
            stage: Stage::Open,
            timer: None,
            pace: None,
            warming: None,
        }
    }

    /// One pass over everything that may go on. Whether anything did.
    fn turn(&mut self, cx: &mut Context<'_>) -> Result<bool, End> {
        let mut moved = self.exchange()?;
        moved |= self.receive(cx)?;
        moved |= self.exchange()?;
        moved |= self.send(cx)?;
        moved |= self.look_at_time(cx)?;
        Ok(moved)
    }

    /// Mail between the session and its shards, until there is none.
    fn exchange(&mut self) -> Result<bool, End> {
        let mut moved = false;
        for _ in 0..MAIL_ROUNDS {
            self.desk.drive();
            if !self.mailbox.take_into(&mut self.letters) {
                return Err(End::Mail);
            }
            if self.letters.is_empty() {
                break;
            }
            moved = true;
            for letter in self.letters.drain(..) {
                self.desk.on_mail(letter);
            }
            self.after_steps();
        }
        Ok(moved)
    }

    /// The session may have closed the connection.
    fn after_steps(&mut self) {
        if let Some(end) = self.desk.end.take()
            && matches!(self.stage, Stage::Open)
        {
            self.close(end);
        }
    }

    fn close(&mut self, end: End) {
        self.stage = Stage::Closing(end, self.clock.mono().plus(CLOSE_LIMIT));
    }

    fn receive(&mut self, cx: &mut Context<'_>) -> Result<bool, End> {
        match self.stage {
            Stage::Open => {}
            Stage::Closing(..) => return Ok(false),
            Stage::Draining(..) => return self.drain(cx),
        }
        if !self.desk.wants_frames() {
            return Ok(false);
        }
        if std::mem::take(&mut self.uncut) {
            self.cut(&[]);
            return Ok(true);
        }
        if !self.framer.has_room(cx.waker()) {
            self.pace = None;
            return Ok(false);
        }
        if !self.framer.is_amid() {
            return self.receive_some(cx);
        }
        if self.pace.is_none() {
            self.begin_pace(self.clock.mono());
        }
        self.receive_body(cx)
    }

    fn begin_pace(&mut self, since: Instant) {
        self.pace = Some(Pace { since, bytes: 0 });
    }

    /// Reads whatever has come.
    fn receive_some(&mut self, cx: &mut Context<'_>) -> Result<bool, End> {
        let mut buffer = BUFFER.take().unwrap_or_else(|| vec![0; SCRATCH].into_boxed_slice());
        let read = self.transport.poll_read(cx, &mut &mut buffer[..]);
        let moved = self.on_read(read, |this, count| this.cut(&buffer[..count]));
        BUFFER.set(Some(buffer));
        moved
    }

    /// Reads on in a large frame.
    fn receive_body(&mut self, cx: &mut Context<'_>) -> Result<bool, End> {
        let Some(mut body) = self.framer.body() else { return Ok(false) };
        let read = self.transport.poll_read(cx, &mut body);
        self.on_read(read, |this, count| {
            if let Some(pace) = &mut this.pace {
                pace.bytes += count;
            }
            if let Some(frame) = this.framer.finished_body() {
                this.pace = None;
                this.desk.on_frame(frame);
                this.after_steps();
            }
        })
    }

    fn on_read(
        &mut self,
        read: Poll<std::io::Result<usize>>,
        use_it: impl FnOnce(&mut Self, usize),
    ) -> Result<bool, End> {
        match read {
            Poll::Pending => return Ok(false),
            Poll::Ready(Err(why)) => return Err(End::Broken(why)),
            Poll::Ready(Ok(0)) if self.desk.out.is_empty() => return Err(End::Peer),
            Poll::Ready(Ok(0)) => self.close(End::Peer),
            Poll::Ready(Ok(count)) => use_it(self, count),
        }
        Ok(true)
    }

    /// Gives the session the frames in what was kept and in `data`.
    fn cut(&mut self, data: &[u8]) {
        let Self { framer, desk, uncut, .. } = self;
        let cut = framer.cut(data, &mut |frame: Bytes| {
            let more = desk.on_frame(frame);
            *uncut = !more;
            more
        });
        if self.framer.is_amid() {
            self.begin_pace(self.clock.mono());
        }
        match cut {
            Ok(()) => self.after_steps(),
            Err(fault) => {
                if matches!(fault, Fault::Http(_)) {
                    self.desk.out.push_bytes(Bytes::from_static(HTTP_HINT));
                }
                self.close(End::Fault(fault));
            }
        }
    }

    fn send(&mut self, cx: &mut Context<'_>) -> Result<bool, End> {
        let mut moved = false;
        while !self.desk.out.is_empty() {
            if !self.is_warm(cx)? {
                return Ok(moved);
            }
            match self.transport.poll_send(cx, &mut self.desk.out) {
                Poll::Pending => return Ok(moved),
                Poll::Ready(Err(why)) => return Err(End::Broken(why)),
                Poll::Ready(Ok(())) => moved = true,
            }
        }
        if let Stage::Closing(..) = self.stage {
            self.finish()?;
            moved = true;
        }
        Ok(moved)
    }

    /// All is sent: tells the peer, and waits for it a moment.
    fn finish(&mut self) -> Result<(), End> {
        let stage = std::mem::replace(&mut self.stage, Stage::Open);
        let Stage::Closing(end, _) = stage else { unreachable!("only a closing connection ends") };
        if matches!(end, End::Peer) || self.transport.shutdown().is_err() {
            return Err(end);
        }
        self.stage = Stage::Draining(end, self.clock.mono().plus(DRAIN_LIMIT));
        Ok(())
    }

    /// Reads and forgets.
    fn drain(&mut self, cx: &mut Context<'_>) -> Result<bool, End> {
        let mut buffer = [0; 4096];
        match self.transport.poll_read(cx, &mut &mut buffer[..]) {
            Poll::Pending => Ok(false),
            Poll::Ready(Ok(count)) if count > 0 => Ok(true),
            Poll::Ready(_) => Err(self.stage_end()),
        }
    }

    fn stage_end(&mut self) -> End {
        match std::mem::replace(&mut self.stage, Stage::Open) {
            Stage::Open => End::Peer,
            Stage::Closing(end, _) | Stage::Draining(end, _) => end,
        }
    }

    /// Whether what comes first may be sent without waiting for a disk.
    fn is_warm(&mut self, cx: &mut Context<'_>) -> Result<bool, End> {
        if let Some(warming) = &self.warming {
            let mut state = warming.state.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
            if !state.done {
                state.waker = Some(cx.waker().clone());
                return Ok(false);
            }
            drop(state);
            let len = warming.len;
            self.warming = None;
            self.desk.out.warmed(len);
            return Ok(true);
        }
        let Some(cold) = self.desk.out.cold().map_err(End::File)? else { return Ok(true) };
        let state = Arc::new(std::sync::Mutex::new(WarmState {
            done: false,
            waker: Some(cx.waker().clone()),
        }));
        self.warming = Some(Warming { state: Arc::clone(&state), len: cold.len });
        self.desk.switch.offload(Box::new(move || {
            cold.warm();
            let mut state = state.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
            state.done = true;
            let waker = state.waker.take();
            drop(state);
            if let Some(waker) = waker {
                waker.wake();
            }
        }));
        Ok(false)
    }

    /// Does what is due, and sets the timer for what is next.
    fn look_at_time(&mut self, cx: &mut Context<'_>) -> Result<bool, End> {
        let Some(next) = self.next_deadline() else { return Ok(false) };
        let armed = self.timer.as_ref().map(|(at, _)| *at);
        if armed.is_none_or(|at| next < at) {
            self.set_timer(next);
        }
        let Some((at, sleep)) = &mut self.timer else { return Ok(false) };
        if sleep.as_mut().poll(cx).is_pending() {
            return Ok(false);
        }
        // The timer counts whole milliseconds and may be a little early.
        let now = self.clock.mono().max(*at);
        self.timer = None;
        self.on_time(now)?;
        Ok(true)
    }

    fn set_timer(&mut self, at: Instant) {
        let Some(when) = self.clock.timer(at) else { return };
        match &mut self.timer {
            Some((armed, sleep)) => {
                *armed = at;
                sleep.as_mut().reset(when);
            }
            none => *none = Some((at, Box::pin(rt::sleep_until(when)))),
        }
    }

    fn next_deadline(&self) -> Option<Instant> {
        match &self.stage {
            Stage::Closing(_, until) | Stage::Draining(_, until) => return Some(*until),
            Stage::Open => {}
        }
        let session = self.desk.session.deadline().map(|(at, _)| at);
        let pace = self.pace.as_ref().map(|pace| pace.since.plus(PACE_TIME));
        match (session, pace) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        }
    }

    fn on_time(&mut self, now: Instant) -> Result<(), End> {
        match &self.stage {
            Stage::Closing(_, until) | Stage::Draining(_, until) => {
                return if *until <= now { Err(self.stage_end()) } else { Ok(()) };
            }
            Stage::Open => {}
        }
        if let Some(pace) = &self.pace
            && pace.since.plus(PACE_TIME) <= now
        {
            if self.is_slow(pace) && self.budget.pressed() {
                return Err(End::Slow);
            }
            self.begin_pace(now);
        }
        if self.desk.session.deadline().is_some_and(|(at, _)| at <= now) {
            self.desk.step(Input::Tick);
            self.after_steps();
        }
        Ok(())
    }

    /// Whether the peer is at fault that a large frame does not come to its end.
    fn is_slow(&self, pace: &Pace) -> bool {
        !self.desk.is_paused() && pace.bytes < self.framer.body_bytes() / PACE_PART
    }
}

impl<T, M, S> Future for Connection<T, M, S>
where
    T: Transport + Unpin,
    M: Machine<Input = Input, Effect = Effect> + Unpin,
    S: Switch + Unpin,
{
    type Output = End;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<End> {
        let _guard = AbortOnPanic;
        let this = self.get_mut();
        this.mailbox.awake();
        for _ in 0..TURNS {
            match this.turn(cx) {
                Err(end) => {
                    this.desk.on_gone();
                    return Poll::Ready(end);
                }
                Ok(true) => {}
                Ok(false) if this.mailbox.sleep(cx.waker()) => return Poll::Pending,
                Ok(false) => {}
            }
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    }
}

/// Whether a connection with so much to send still reads.
pub(crate) fn may_read(out: &Outgoing) -> bool {
    out.bytes() < OUT_BYTES_MAX && out.pieces() < OUT_PIECES_MAX
}

/// The answer to an HTTP request.
const HTTP_HINT: &[u8] = b"HTTP/1.1 400 Bad Request\r\n\
    content-type: text/plain\r\n\
    content-length: 113\r\n\
    connection: close\r\n\
    \r\n\
    This is a Kafka broker and no web server.\n\
    Give this address to a Kafka client, as one of its bootstrap.servers.\n\n";

#[cfg(test)]
mod tests;
