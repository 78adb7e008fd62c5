//! The driver of one machine: connections, timer, tasks.
//!
//! Whoever has an input takes the lock and steps the machine: there is no hop from a caller to a
//! task and back. Frames go into the outboxes of their connections under the same lock, so that they
//! leave in the order in which the machine emitted them. One task waits for deadlines; two serve
//! each connection.

use std::collections::BTreeMap;
use std::future::poll_fn;
use std::sync::{Arc, Mutex, MutexGuard};
use std::task::{Poll, Waker};
use std::time::Duration;

use dohle_wire::id::Timestamp;

use super::calls::{Call, Calls};
use super::outbox::Outbox;
use super::race::{First, race};
use super::runtime::{Disconnected, FrameRead, FrameWrite, Runtime};
use crate::machine::{ConnId, Fx, Machine, NetEffect, NetInput, Now};

/// Timers of a runtime are as coarse as this, and rather late: a deadline that is not further away is
/// reached.
const COARSE: Duration = Duration::from_millis(1);

/// How long the other side of a connection that is closed may take to close it, too.
const LINGER: Duration = Duration::from_secs(5);

/// How long the wall clock is not read again.
const WALL_FOR: Duration = Duration::from_millis(10);

/// A machine with somebody who waits for its effects.
pub(super) trait Client: Machine<Effect: Send, Input: Send> + Send + 'static {
    /// Who waits for what.
    type Book: Default + Send;
    /// How code of the application is called.
    type Call: Call;

    /// Takes an effect that is not about connections to whom it is for.
    fn settle(
        book: &mut Self::Book,
        effect: Self::Effect,
        wake: &mut Wakers<Self::Call>,
    ) -> Option<NetEffect>;

    /// After each step: tells those who wait for a state of the machine.
    fn stepped(&self, book: &mut Self::Book, wake: &mut Wakers<Self::Call>);

    /// The input that ends everything.
    fn close() -> Self::Input;
}

/// Tasks to be woken, and code of the application to be called, once the lock is free.
pub(super) struct Wakers<C> {
    tasks: Vec<Waker>,
    calls: Vec<C>,
}

impl<C> Default for Wakers<C> {
    fn default() -> Self {
        Self { tasks: Vec::new(), calls: Vec::new() }
    }
}

impl<C> Wakers<C> {
    pub(super) fn add(&mut self, wakers: impl IntoIterator<Item = Waker>) {
        self.tasks.extend(wakers);
    }

    pub(super) fn call(&mut self, call: C) {
        self.calls.push(call);
    }
}

/// What the lock guards.
pub(super) struct State<M: Client> {
    pub(super) machine: M,
    pub(super) book: M::Book,
    fx: Fx<M::Effect>,
    /// When the machine was last stepped.
    last_step: Duration,
    /// Both clocks, read together.
    read: Now,
    outboxes: BTreeMap<ConnId, Outbox>,
    /// Connections whose tasks have not ended.
    served: usize,
    /// Who waits until there is none.
    for_rest: Vec<Waker>,
    /// What the timer task waits for now, and how to make it look again.
    armed: Option<Duration>,
    timer: Option<Waker>,
    rearm: bool,
    closed: bool,
    last_error: Option<Arc<str>>,
}

/// See the module.
pub(super) struct Shell<R: Runtime, M: Client> {
    pub(super) runtime: R,
    state: Mutex<State<M>>,
    calls: Calls<M::Call>,
}

/// A connection to be opened.
struct Opening {
    conn: ConnId,
    host: Arc<str>,
    port: u16,
    outbox: Outbox,
}

impl<R: Runtime, M: Client> Shell<R, M> {
    /// Starts to drive a machine.
    pub(super) fn start(runtime: R, machine: M) -> Arc<Self> {
        let state = State {
            machine,
            book: M::Book::default(),
            fx: Fx::new(),
            last_step: Duration::ZERO,
            read: runtime.now(),
            outboxes: BTreeMap::new(),
            served: 0,
            for_rest: Vec::new(),
            armed: None,
            timer: None,
            rearm: false,
            closed: false,
            last_error: None,
        };
        let shell = Arc::new(Self { runtime, state: Mutex::new(state), calls: Calls::default() });
        shell.runtime.spawn(Arc::clone(&shell).run_timer());
        shell
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, State<M>> {
        self.state.lock().expect("a machine never panics")
    }

    /// Why the last connection could not be made, or ended.
    pub(super) fn last_error(&self) -> Option<Arc<str>> {
        self.lock().last_error.clone()
    }

    /// Steps the machine with one input.
    pub(super) fn input(self: &Arc<Self>, input: M::Input) {
        let state = self.lock();
        self.input_locked(state, input);
    }

    /// Steps the machine of a caller that has the lock, for example to look before it steps.
    pub(super) fn input_locked(
        self: &Arc<Self>,
        mut state: MutexGuard<'_, State<M>>,
        input: M::Input,
    ) {
        let now = state.now(&self.runtime);
        self.step(state, now, input);
    }

    fn step(self: &Arc<Self>, mut state: MutexGuard<'_, State<M>>, now: Now, input: M::Input) {
        let mut wake = Wakers::default();
        let opening = state.step(now, input, &mut wake);
        let calls = !wake.calls.is_empty();
        // Before anybody else steps the machine, so that calls are made in the order of its steps.
        self.calls.add(wake.calls);
        drop(state);
        if calls {
            self.calls.run();
        }
        wake.tasks.into_iter().for_each(Waker::wake);
        for opening in opening {
            self.runtime.spawn(Arc::clone(self).serve_connection(opening));
        }
    }

    /// Ends the machine, and with it all tasks.
    pub(super) fn close(self: &Arc<Self>) {
        let mut state = self.lock();
        state.closed = true;
        state.rearm = true;
        let timer = state.timer.take();
        self.input_locked(state, M::close());
        timer.into_iter().for_each(Waker::wake);
    }

    /// Waits until all connections have ended; after [`Self::close`] they do.
    pub(super) async fn rested(&self) {
        poll_fn(|cx| {
            let mut state = self.lock();
            if state.served == 0 {
                return Poll::Ready(());
            }
            state.for_rest.push(cx.waker().clone());
            Poll::Pending
        })
        .await;
    }

    async fn run_timer(self: Arc<Self>) {
        loop {
            let deadline = {
                let mut state = self.lock();
                state.rearm = false;
                state.armed = state.machine.deadline().map(|(at, _)| at);
                // A machine may have something to say before it is at rest.
                if state.closed && state.armed.is_none() {
                    return;
                }
                state.armed
            };
            match deadline {
                None => self.rearmed().await,
                Some(at) => {
                    let wait = at.saturating_sub(self.runtime.now().mono + COARSE);
                    if let First::Left(()) = race(self.runtime.sleep(wait), self.rearmed()).await {
                        self.tick_if_due();
                    }
                }
            }
        }
    }

    fn tick_if_due(self: &Arc<Self>) {
        let mut state = self.lock();
        let now = state.now(&self.runtime);
        let due = state.machine.deadline().map(|(at, _)| at);
        if let Some(at) = due.filter(|at| *at <= now.mono + COARSE) {
            self.step(state, Now { mono: now.mono.max(at), ..now }, M::tick());
        }
    }

    /// Waits until the timer task has to look again.
    async fn rearmed(&self) {
        poll_fn(|cx| {
            let mut state = self.lock();
            if state.rearm {
                return Poll::Ready(());
            }
            state.timer = Some(cx.waker().clone());
            Poll::Pending
        })
        .await;
    }

    async fn serve_connection(self: Arc<Self>, opening: Opening) {
        self.run_connection(opening).await;
        let mut state = self.lock();
        state.served -= 1;
        let wakers = if state.served == 0 { std::mem::take(&mut state.for_rest) } else { vec![] };
        drop(state);
        wakers.into_iter().for_each(Waker::wake);
    }

    async fn run_connection(self: &Arc<Self>, opening: Opening) {
        let Opening { conn, host, port, outbox } = opening;
        let place = format!("{host}:{port}");
        let connect = self.runtime.connect(host, port);
        let (mut read, write) = match race(outbox.closed(), connect).await {
            First::Left(()) => return,
            First::Right(Err(error)) => return self.down(conn, &place, &error),
            First::Right(Ok(halves)) => halves,
        };
        self.input(NetInput::Up { conn }.into());
        let writing = Arc::clone(self).run_writer(conn, place.clone(), write, outbox.clone());
        self.runtime.spawn(writing);
        loop {
            match race(outbox.closed(), read.read()).await {
                First::Left(()) => return self.drain(read).await,
                First::Right(Ok(bytes)) => self.input(NetInput::Frame { conn, bytes }.into()),
                First::Right(Err(error)) => return self.down(conn, &place, &error),
            }
        }
    }

    /// Reads what still comes, until the other side has read everything and closes. If this side
    /// closed with something unread or still to come, TCP would reset the connection, and what was
    /// sent and not taken yet would be lost.
    async fn drain(&self, mut read: R::Read) {
        let ended = async { while read.read().await.is_ok() {} };
        race(self.runtime.sleep(LINGER), ended).await;
    }

    async fn run_writer(
        self: Arc<Self>,
        conn: ConnId,
        place: String,
        mut write: R::Write,
        outbox: Outbox,
    ) {
        while let Some((frame, told)) = outbox.next().await {
            match race(outbox.closed_for_writer(), write.write(frame)).await {
                First::Left(()) => return,
                First::Right(Ok(())) if told => self.input(NetInput::Sent { conn }.into()),
                First::Right(Ok(())) => {}
                First::Right(Err(error)) => return self.down(conn, &place, &error),
            }
        }
    }

    fn down(self: &Arc<Self>, conn: ConnId, place: &str, error: &Disconnected) {
        let mut state = self.lock();
        state.last_error = Some(format!("{place}: {error}").into());
        let mut wakers = Vec::new();
        if let Some(outbox) = state.outboxes.remove(&conn) {
            wakers.extend(outbox.close().into_iter().flatten());
        }
        self.input_locked(state, NetInput::Down { conn }.into());
        wakers.into_iter().for_each(Waker::wake);
    }
}

impl<M: Client> State<M> {
    /// Both clocks. The wall clock, which is needed for every record, goes on from where it was read
    /// at most [`WALL_FOR`] ago.
    fn now(&mut self, runtime: &impl Runtime) -> Now {
        let mono = runtime.mono();
        let since = mono.saturating_sub(self.read.mono);
        if since >= WALL_FOR {
            self.read = runtime.now();
            return self.read;
        }
        let passed = i64::try_from(since.as_millis()).unwrap_or(0);
        Now { mono, wall: Timestamp(self.read.wall.0.saturating_add(passed)) }
    }

    fn step(&mut self, now: Now, input: M::Input, wake: &mut Wakers<M::Call>) -> Vec<Opening> {
        let mut opening = Vec::new();
        // A tick may have been ahead of the clock: for a machine, time does not go back.
        self.last_step = self.last_step.max(now.mono);
        self.machine.step(Now { mono: self.last_step, ..now }, input, &mut self.fx);
        let Self { fx, book, outboxes, served, .. } = self;
        for effect in fx.drain() {
            match M::settle(book, effect, wake) {
                None => {}
                Some(NetEffect::Connect { conn, host, port }) => {
                    let outbox = Outbox::default();
                    outboxes.insert(conn, outbox.clone());
                    *served += 1;
                    opening.push(Opening { conn, host, port, outbox });
                }
                Some(NetEffect::Transmit { conn, frame, told }) => {
                    if let Some(outbox) = outboxes.get(&conn) {
                        wake.add(outbox.push(frame, told));
                    }
                }
                Some(NetEffect::Disconnect { conn }) => {
                    if let Some(outbox) = outboxes.remove(&conn) {
                        wake.add(outbox.close().into_iter().flatten());
                    }
                }
            }
        }
        self.machine.stepped(&mut self.book, wake);
        let deadline = self.machine.deadline().map(|(at, _)| at);
        // A timer that fires too early looks again by itself.
        if deadline.is_some_and(|at| self.armed.is_none_or(|armed| at < armed)) && !self.rearm {
            self.rearm = true;
            wake.add(self.timer.take());
        }
        opening
    }
}
