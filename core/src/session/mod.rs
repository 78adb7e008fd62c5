//! One client connection: frames in, frames out.
//!
//! State: requests under way in the order they came, the fetch session, what the client said of
//! itself. Inputs: frames, answers of shards and control, newer images, ticks. Effects: frames to
//! send, mail to shards and control, closing.
//!
//! A frame that cannot be answered closes the connection, but only in its turn: requests before
//! it are answered first.
//!
//! Invariants: answers leave in the order of the requests; a request is answered at most once;
//! work under way and its bytes are bounded ([`Effect::Pause`]).
//!
//! Must never know: sockets, threads, files.

pub(crate) mod fetch_session;
mod negotiate;
mod queue;
#[cfg(test)]
mod tests;

use std::fmt;
use std::sync::Arc;

use bytes::Bytes;
use dohle_wire::api_key::ApiKey;
use dohle_wire::codec::Part;
use dohle_wire::id::NodeId;
use dohle_wire::record::Codecs;

use self::fetch_session::FetchSessions;
use self::negotiate::Opened;
use self::queue::{Came, Queue, State};
use crate::api::{self, Begun, Call, Ctx, Outcome, Progress, Work};
use crate::config::broker::BrokerConfig;
use crate::count::{Count, Receipt};
use crate::fx::Fx;
use crate::image::Image;
use crate::mail::{Answer, ReplyTo, SessionId, ShardId, ToControl, ToSession, ToShard};
use crate::time::{Deadline, Instant, Now, earlier};

/// So many requests under way, and a connection is read no further.
const REQUESTS_MAX: usize = 64;

/// So many bytes of requests under way, and a connection is read no further. A single larger
/// request is worked on all the same.
const BYTES_MAX: usize = 16 << 20;

/// Reading goes on when both are below this part of their limits.
const RESUME_DIVISOR: usize = 2;

/// What a session reacts to.
#[derive(Clone, Debug)]
pub enum Input {
    /// A request without its length prefix.
    Frame(Bytes),
    /// An answer or a wake-up.
    Mail(ToSession),
    /// Newer metadata. Drivers give it before the first frame, and when a newer one has been
    /// published before a later frame and before an answer of control (a client that makes a
    /// topic by asking for it is told at once where it is). Nothing is begun before the first.
    Image(Arc<Image>),
    /// The deadline passed.
    Tick,
    /// The connection is gone: what others keep for it is taken back. The last input.
    Closed,
}

/// What a session wants done.
#[derive(Clone, Debug)]
pub enum Effect {
    /// Send one whole frame, its length prefix included.
    Send(Vec<Part>),
    /// Stop reading frames until [`Effect::Resume`]: enough is under way.
    Pause,
    /// Read frames again.
    Resume,
    /// Close the connection once everything sent before has left.
    Close(CloseReason),
    /// Mail to a shard.
    Shard(ShardId, ToShard),
    /// Mail to control.
    Control(ToControl),
    /// For the node's books.
    Count(Count),
}

/// Why a session ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CloseReason {
    /// Bytes that cannot be answered; the text is for the log.
    BadRequest(String),
    /// A produce request without acknowledgement failed: closing is the only answer it has.
    UnacknowledgedError,
    /// Nothing was heard for `connections.max.idle.ms`.
    Idle,
}

/// What a session is made with.
#[derive(Clone)]
pub struct SessionSettings {
    /// How many shards the node has.
    pub shards: u16,
    /// Compression libraries.
    pub codecs: Arc<dyn Codecs>,
    /// The node's own configuration.
    pub config: Arc<BrokerConfig>,
    /// The client's address.
    pub peer: Arc<str>,
    /// Host and port that the client dialled.
    pub local: (Arc<str>, u16),
    /// Name of the listener that the client came in by.
    pub listener: Arc<str>,
    /// Where random numbers come from.
    pub seed: u64,
}

impl SessionSettings {
    /// The id of this node.
    pub(crate) fn node(&self) -> NodeId {
        NodeId(self.config.node_id)
    }
}

impl fmt::Debug for SessionSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "session of {} on {}", self.peer, self.listener)
    }
}

/// What a client said of itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Client {
    /// Name and version of its library.
    pub software: Option<(String, String)>,
}

/// Everything that requests work with, apart from the requests.
#[derive(Clone, Debug)]
struct Common {
    id: SessionId,
    settings: SessionSettings,
    /// The metadata, once the driver has given it.
    image: Option<Arc<Image>>,
    client: Client,
    fetches: FetchSessions,
}

impl Common {
    fn ctx<'a>(&'a mut self, now: Now, call: &'a Call, fx: &'a mut Fx<Effect>) -> Ctx<'a> {
        Ctx {
            now,
            session: self.id,
            settings: &self.settings,
            image: self.image.as_ref().expect("nothing is begun before the first image"),
            client: &mut self.client,
            fetches: &mut self.fetches,
            call,
            fx,
        }
    }
}

/// One client connection.
#[derive(Clone, Debug)]
pub struct Session {
    common: Common,
    queue: Queue,
    /// When the last frame came or left.
    last_active: Instant,
    /// Whether the driver was told to stop reading.
    paused: bool,
    /// Whether a frame came that ends the connection: later ones are not looked at.
    deaf: bool,
    closed: bool,
}

impl Session {
    /// A connection that was just accepted.
    #[must_use]
    pub fn new(id: SessionId, settings: SessionSettings, now: Now) -> Self {
        let (fetches, client) = (FetchSessions::new(settings.seed), Client::default());
        Self {
            common: Common { id, settings, image: None, client, fetches },
            queue: Queue::default(),
            last_active: now.mono,
            paused: false,
            deaf: false,
            closed: false,
        }
    }

    /// Takes one input.
    pub fn step(&mut self, now: Now, input: Input, fx: &mut Fx<Effect>) {
        if self.closed {
            return;
        }
        match input {
            Input::Frame(frame) => self.on_frame(now, frame),
            Input::Mail(ToSession::Answer { reply, answer }) => {
                self.on_answer(now, reply, answer, fx);
            }
            Input::Mail(ToSession::Wake { request }) => self.on_wake(now, request, fx),
            Input::Image(image) => self.on_image(now, image, fx),
            Input::Tick => self.on_tick(now, fx),
            Input::Closed => self.on_closed(now, fx),
        }
        self.pump(now, fx);
        self.invariants();
    }

    /// When the next tick is wanted.
    #[must_use]
    pub fn deadline(&self) -> Deadline {
        if self.closed { None } else { earlier(self.queue.deadline(), self.idle_deadline()) }
    }

    /// What the client said of itself.
    #[must_use]
    pub fn client(&self) -> &Client {
        &self.common.client
    }

    /// What the session was made with.
    #[must_use]
    pub fn settings(&self) -> &SessionSettings {
        &self.common.settings
    }

    /// Requests that are not answered.
    #[must_use]
    pub fn in_flight(&self) -> usize {
        self.queue.len()
    }

    /// Checks what always holds.
    pub fn invariants(&self) {
        if self.closed {
            return;
        }
        self.queue.invariants();
        self.common.fetches.invariants();
        let full = self.queue.len() >= REQUESTS_MAX || self.queue.bytes() >= BYTES_MAX;
        assert!(self.paused || !full, "a full session is still read");
    }

    /// A connection is idle while it has no request under way.
    fn idle_deadline(&self) -> Deadline {
        let idle_ms = self.common.settings.config.connections_max_idle_ms?;
        let idle = self.queue.len() == 0;
        idle.then(|| (self.last_active.plus_ms(idle_ms), "idle connection"))
    }

    fn on_frame(&mut self, now: Now, frame: Bytes) {
        self.last_active = now.mono;
        if self.deaf {
            return;
        }
        let mut came = Came { at: now.mono, bytes: frame.len(), call: None };
        let state = match negotiate::open(frame, self.queue.next_number()) {
            Opened::Call(call, body) => {
                came.call = Some((call.key, call.version));
                State::Queued(call, body)
            }
            Opened::Over(outcome) => {
                self.deaf = matches!(outcome, Outcome::Close(_));
                State::Over(outcome, false)
            }
        };
        self.queue.push(came, state);
    }

    fn on_answer(&mut self, now: Now, reply: ReplyTo, answer: Answer, fx: &mut Fx<Effect>) {
        self.drive(now, reply.request, fx, |work, ctx| work.on_answer(ctx, reply.part, answer));
    }

    fn on_wake(&mut self, now: Now, request: u64, fx: &mut Fx<Effect>) {
        self.drive(now, request, fx, |work, ctx| work.on_wake(ctx));
    }

    fn on_image(&mut self, now: Now, image: Arc<Image>, fx: &mut Fx<Effect>) {
        if self.common.image.as_ref().is_some_and(|known| image.offset < known.offset) {
            return;
        }
        self.common.image = Some(image);
        for number in self.queue.working() {
            self.drive(now, number, fx, |work, ctx| work.on_image(ctx));
        }
    }

    fn on_tick(&mut self, now: Now, fx: &mut Fx<Effect>) {
        if self.idle_deadline().is_some_and(|(at, _)| at <= now.mono) {
            return self.close(CloseReason::Idle, fx);
        }
        for number in self.queue.working() {
            self.drive(now, number, fx, |work, ctx| {
                if work.deadline() <= now.mono { work.on_deadline(ctx) } else { Progress::Waiting }
            });
        }
    }

    fn on_closed(&mut self, now: Now, fx: &mut Fx<Effect>) {
        for number in self.queue.working() {
            self.drive(now, number, fx, |work, ctx| {
                work.on_closed(ctx);
                Progress::Waiting
            });
        }
        self.closed = true;
    }

    /// Lets a request that waits do something, and finishes it when it says so.
    fn drive(
        &mut self,
        now: Now,
        number: u64,
        fx: &mut Fx<Effect>,
        act: impl FnOnce(&mut api::Pending, &mut Ctx<'_>) -> Progress,
    ) {
        let Some(slot) = self.queue.get_mut(number) else { return };
        let State::Working(call, work) = &mut slot.state else { return };
        let mut ctx = self.common.ctx(now, call, fx);
        if act(work, &mut ctx) == Progress::Waiting {
            return;
        }
        let over = State::Over(Outcome::Silent, call.key == ApiKey::Produce);
        if let State::Working(call, work) = std::mem::replace(&mut slot.state, over) {
            let outcome = work.finish(&mut self.common.ctx(now, &call, fx));
            slot.state = State::Over(outcome, call.key == ApiKey::Produce);
        }
    }

    /// Sends what is ready and begins what may begin.
    fn pump(&mut self, now: Now, fx: &mut Fx<Effect>) {
        while !self.closed {
            if let Some((outcome, came)) = self.queue.pop_over() {
                self.leave(now, outcome, &came, fx);
            } else if !self.begin_next(now, fx) {
                break;
            }
        }
        if !self.closed {
            self.limit(fx);
        }
    }

    /// Carries out the outcome of the first request.
    fn leave(&mut self, now: Now, outcome: Outcome, came: &Came, fx: &mut Fx<Effect>) {
        match outcome {
            Outcome::Answer(parts) => {
                self.last_active = now.mono;
                count(now, came, parts.iter().map(Part::len).sum(), fx);
                fx.push(Effect::Send(parts));
            }
            Outcome::Silent => count(now, came, 0, fx),
            Outcome::Close(reason) => self.close(reason, fx),
        }
    }

    fn close(&mut self, reason: CloseReason, fx: &mut Fx<Effect>) {
        self.closed = true;
        fx.push(Effect::Close(reason));
    }

    /// Begins the next request if it is its turn; whether it was.
    fn begin_next(&mut self, now: Now, fx: &mut Fx<Effect>) -> bool {
        if self.common.image.is_none() {
            return false;
        }
        let (common, deaf) = (&mut self.common, &mut self.deaf);
        self.queue.begin_next(|call, mut body| {
            let produce = call.key == ApiKey::Produce;
            match api::begin(&mut common.ctx(now, &call, fx), &mut body) {
                Ok(Begun::Waiting(work)) => State::Working(call, Box::new(work)),
                Ok(Begun::Done(outcome)) => State::Over(outcome, produce),
                Err(error) => {
                    *deaf = true;
                    State::Over(Outcome::Close(negotiate::malformed(&call, error)), false)
                }
            }
        })
    }

    /// Stops and resumes reading.
    fn limit(&mut self, fx: &mut Fx<Effect>) {
        let (requests, bytes) = (self.queue.len(), self.queue.bytes());
        let below = |part: usize| requests < REQUESTS_MAX / part && bytes < BYTES_MAX / part;
        if !self.paused && !below(1) {
            self.paused = true;
            fx.push(Effect::Pause);
        } else if self.paused && below(RESUME_DIVISOR) {
            self.paused = false;
            fx.push(Effect::Resume);
        }
    }
}

/// Enters a request that is over in the books.
fn count(now: Now, came: &Came, answer: usize, fx: &mut Fx<Effect>) {
    let Some((key, version)) = came.call else { return };
    fx.push(Effect::Count(Count::Request(Receipt {
        key,
        version,
        took: now.mono.since(came.at),
        request: came.bytes as u64,
        answer: answer as u64,
    })));
}
