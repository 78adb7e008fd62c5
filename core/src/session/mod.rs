//! One client connection: frames in, frames out.
//!
//! State: requests under way in the order they came, frames that have to wait for them, the fetch
//! session, what the client said of itself. Inputs: frames, answers of shards and control, newer
//! images, ticks. Effects: frames to send, mail to shards and control, closing.
//!
//! Kafka works on one request of a connection at a time. So do we, except that Produce requests
//! that follow one another are worked on at once: an idempotent producer keeps five in flight.
//!
//! Invariants: answers leave in the order of the requests; a request is answered at most once;
//! work under way and its bytes are bounded ([`Effect::Pause`]).
//!
//! Must never know: sockets, threads, files.

pub(crate) mod fetch_session;
mod queue;
#[cfg(test)]
mod tests;

use std::fmt;
use std::sync::Arc;

use bytes::Bytes;
use dohle_wire::api_key::ApiKey;
use dohle_wire::codec::{Part, Reader};
use dohle_wire::header::RequestHeader;
use dohle_wire::record::Codecs;

use self::fetch_session::FetchSessions;
use self::queue::{Entry, Queue};
use crate::api::{self, Begun, Call, Ctx, Outcome, Progress, Served, Work};
use crate::config::broker::BrokerConfig;
use crate::fx::Fx;
use crate::image::Image;
use crate::mail::{Answer, ReplyTo, SessionId, ShardId, ToControl, ToSession, ToShard};
use crate::time::{Deadline, Instant, Now, earlier};

/// What a session reacts to.
#[derive(Clone, Debug)]
pub enum Input {
    /// A request without its length prefix.
    Frame(Bytes),
    /// An answer or a wake-up.
    Mail(ToSession),
    /// Newer metadata. Drivers give it before the first frame, and before a later frame when a
    /// newer one has been published.
    Image(Arc<Image>),
    /// The deadline passed.
    Tick,
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
}

/// Why a session ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CloseReason {
    /// Bytes that no client sends; the text is for the log.
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
    /// Compression.
    pub codecs: Arc<dyn Codecs>,
    /// The node's settings.
    pub config: Arc<BrokerConfig>,
    /// Who connected, for texts.
    pub peer: Arc<str>,
    /// The address that the client dialled.
    pub local: (Arc<str>, u16),
    /// The listener that took the connection.
    pub listener: Arc<str>,
    /// Where ids of fetch sessions come from; differs between connections.
    pub seed: u64,
}

impl fmt::Debug for SessionSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "session of {} on {}", self.peer, self.listener)
    }
}

/// What a client said of itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Client {
    /// Its software's name and version (KIP-511).
    pub software: Option<(String, String)>,
}

/// One client connection.
#[derive(Clone, Debug)]
pub struct Session {
    id: SessionId,
    settings: SessionSettings,
    image: Option<Arc<Image>>,
    client: Client,
    fetches: FetchSessions,
    queue: Queue,
    next_request: u64,
    last_heard: Instant,
    closed: bool,
}

impl Session {
    /// A connection that was just accepted.
    #[must_use]
    pub fn new(id: SessionId, settings: SessionSettings, now: Now) -> Self {
        Self {
            id,
            fetches: FetchSessions::new(settings.seed),
            settings,
            image: None,
            client: Client::default(),
            queue: Queue::default(),
            next_request: 0,
            last_heard: now.mono,
            closed: false,
        }
    }

    /// What the client said of itself.
    #[must_use]
    pub fn client(&self) -> &Client {
        &self.client
    }

    /// Takes in one input. After [`Effect::Close`] nothing happens any more.
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
        }
        self.settle(now, fx);
        self.invariants();
    }

    /// When the session next wants a tick.
    #[must_use]
    pub fn deadline(&self) -> Deadline {
        if self.closed {
            return None;
        }
        let work = self.queue.deadline().map(|at| (at, "a request's time limit"));
        earlier(work, self.idle_at().map(|at| (at, "connections.max.idle.ms")))
    }

    /// Asserts what must always hold.
    pub fn invariants(&self) {
        self.queue.invariants();
        self.fetches.invariants();
    }

    fn idle_at(&self) -> Option<Instant> {
        let limit = self.settings.config.connections_max_idle_ms?;
        self.queue.is_empty().then(|| self.last_heard.plus_ms(limit))
    }

    fn on_frame(&mut self, now: Now, frame: Bytes) {
        self.last_heard = now.mono;
        self.queue.push_frame(frame);
    }

    fn on_answer(&mut self, now: Now, reply: ReplyTo, answer: Answer, fx: &mut Fx<Effect>) {
        self.work_on(now, reply.request, fx, |work, ctx| work.on_answer(ctx, reply.part, answer));
    }

    fn on_wake(&mut self, now: Now, request: u64, fx: &mut Fx<Effect>) {
        self.work_on(now, request, fx, |work, ctx| work.on_wake(ctx));
    }

    fn on_image(&mut self, now: Now, image: Arc<Image>, fx: &mut Fx<Effect>) {
        self.image = Some(image);
        for request in self.queue.waiting() {
            self.work_on(now, request, fx, |work, ctx| work.on_image(ctx));
        }
    }

    fn on_tick(&mut self, now: Now, fx: &mut Fx<Effect>) {
        for request in self.queue.due(now.mono) {
            self.work_on(now, request, fx, |work, ctx| work.on_deadline(ctx));
        }
        if self.idle_at().is_some_and(|at| at <= now.mono) {
            self.close(CloseReason::Idle, fx);
        }
    }

    /// Lets one request that waits go on. Answers to requests that are over mean nothing.
    fn work_on(
        &mut self,
        now: Now,
        request: u64,
        fx: &mut Fx<Effect>,
        go_on: impl FnOnce(&mut api::Pending, &mut Ctx<'_>) -> Progress,
    ) {
        let Some(Entry { call, work: Some(mut work), .. }) = self.queue.take(request) else {
            return;
        };
        let mut after = None;
        self.with_ctx(now, &call, fx, |ctx| {
            after = Some(match go_on(&mut work, ctx) {
                Progress::Waiting => Err(work),
                Progress::Complete => Ok(work.finish(ctx)),
            });
        });
        match after {
            Some(Err(work)) => self.queue.put_back(request, call, work),
            Some(Ok(outcome)) => self.queue.finish(request, outcome),
            None => {}
        }
    }

    fn with_ctx(
        &mut self,
        now: Now,
        call: &Call,
        fx: &mut Fx<Effect>,
        work: impl FnOnce(&mut Ctx<'_>),
    ) {
        let Some(image) = &self.image else { return };
        work(&mut Ctx {
            now,
            session: self.id,
            settings: &self.settings,
            image,
            client: &mut self.client,
            fetches: &mut self.fetches,
            call,
            fx,
        });
    }

    /// Begins what may begin and sends what is over, until neither is left.
    fn settle(&mut self, now: Now, fx: &mut Fx<Effect>) {
        loop {
            while let Some(outcome) = self.queue.pop_finished() {
                match outcome {
                    Outcome::Answer(frame) => fx.push(Effect::Send(frame)),
                    Outcome::Silent => {}
                    Outcome::Close(reason) => return self.close(reason, fx),
                }
            }
            if self.image.is_none() {
                break;
            }
            let Some(frame) = self.queue.next_frame() else { break };
            if let Err(reason) = self.begin(now, frame, fx) {
                // What was asked before still gets its answers; nothing comes after.
                self.queue.close_after(reason);
            }
        }
        match self.queue.pressure() {
            Some(true) => fx.push(Effect::Pause),
            Some(false) => fx.push(Effect::Resume),
            None => {}
        }
    }

    fn begin(&mut self, now: Now, frame: Bytes, fx: &mut Fx<Effect>) -> Result<(), CloseReason> {
        let len = frame.len();
        let number = self.next_request;
        self.next_request += 1;
        let mut body = Reader::new(frame);
        let call = match read_call(&mut body, number)? {
            Read::Call(call) => call,
            Read::UnknownApiVersions(call) => {
                let answer = api::unsupported_api_versions(&call);
                self.queue.push_finished(call, len, Outcome::Answer(answer));
                return Ok(());
            }
        };
        let mut begun = None;
        self.with_ctx(now, &call, fx, |ctx| begun = Some(api::begin(ctx, &mut body)));
        match begun {
            Some(Ok(Begun::Done(outcome))) => self.queue.push_finished(call, len, outcome),
            Some(Ok(Begun::Waiting(work))) => self.queue.push_waiting(call, len, work),
            Some(Err(error)) => return Err(malformed(&call, &error.to_string())),
            None => {}
        }
        Ok(())
    }

    fn close(&mut self, reason: CloseReason, fx: &mut Fx<Effect>) {
        self.closed = true;
        for request in self.queue.waiting() {
            // Watches of a session that is gone would only cost.
            for shard in 0..self.settings.shards {
                let unwatch = ToShard::Unwatch { session: self.id, request };
                fx.push(Effect::Shard(ShardId(shard), unwatch));
            }
        }
        fx.push(Effect::Close(reason));
    }
}

/// What a header says.
enum Read {
    Call(Call),
    UnknownApiVersions(Call),
}

/// Reads a request's header.
///
/// # Errors
/// It is not one, or of a request or version that is not served.
fn read_call(body: &mut Reader, number: u64) -> Result<Read, CloseReason> {
    let bad = |text: String| CloseReason::BadRequest(text);
    let (code, version) = RequestHeader::peek(body).map_err(|error| bad(error.to_string()))?;
    let served = ApiKey::from_code(code).and_then(|key| Served::find(key).map(|s| (key, s)));
    let Some((key, served)) = served else {
        return Err(bad(format!("request key {code} (version {version}) is not served")));
    };
    if key == ApiKey::ApiVersions && !served.has(version) {
        let correlation_id = skip_to_correlation(body).map_err(bad)?;
        let call = Call { key, version: 0, correlation_id, client_id: None, number };
        return Ok(Read::UnknownApiVersions(call));
    }
    if !served.has(version) {
        let (min, max) = (served.min, served.max);
        return Err(bad(format!("{key} version {version} is not served, {min} to {max} are")));
    }
    let header = RequestHeader::decode(body).map_err(|error| bad(format!("{key}: {error}")))?;
    let (correlation_id, client_id) = (header.correlation_id, header.client_id);
    Ok(Read::Call(Call { key, version, correlation_id, client_id, number }))
}

fn skip_to_correlation(body: &mut Reader) -> Result<i32, String> {
    let read = |body: &mut Reader| {
        body.i32()?;
        body.i32()
    };
    read(body).map_err(|error| error.to_string())
}

fn malformed(call: &Call, error: &str) -> CloseReason {
    let client = call.client_id.as_deref().unwrap_or("without an id");
    let (key, version) = (call.key, call.version);
    CloseReason::BadRequest(format!("{key} version {version} of client {client}: {error}"))
}
