//! Applications in the simulation: anything async that is written against
//! [`dohle_client::api::Runtime`] runs here with the brokers, in one seeded thread.
//!
//! An [`App`] is an actor whose tasks are polled by a small executor. Which of several ready tasks
//! goes first is drawn from the seed; time stands still while a task runs.
//!
//! ```
//! use std::sync::Arc;
//!
//! use dohle_client::api::{Admin, Producer, Runtime};
//! use dohle_client::config::{AdminConfig, ProducerConfig};
//! use dohle_client::machine::admin::NewTopic;
//! use dohle_client::machine::producer::ProducerRecord;
//! use dohle_sim::exec::{Weather, block_on};
//!
//! async fn greet<R: Runtime>(runtime: R, servers: &'static str) -> i64 {
//!     let config = AdminConfig::to(servers).expect("an address");
//!     let admin = Admin::new(runtime.clone(), config).expect("valid settings");
//!     admin.create_topics(vec![NewTopic::new("greetings", 1)]).await.expect("made");
//!     let config = ProducerConfig::to(servers).expect("an address");
//!     let codecs = Arc::new(dohle_wire::record::NoCodecs);
//!     let producer = Producer::new(runtime, config, codecs).expect("valid settings");
//!     producer.send(ProducerRecord::new("greetings", "hello")).await.expect("sent").offset.0
//! }
//!
//! // A node that is killed and loses power meanwhile is part of the seed.
//! let offset = block_on(7, Weather::Stormy, |runtime| greet(runtime, "node0:9092"));
//! assert_eq!(offset.expect("no violation"), 0);
//! ```

use std::collections::{BTreeMap, VecDeque};
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

use bytes::Bytes;
use dohle_client::api::{Disconnected, FrameRead, FrameWrite, Runtime};
use dohle_client::machine::{Frame, Now as ClientNow};
use dohle_core::mutant::Mutants;
use dohle_core::time::{Deadline, Instant, Now};
use dohle_wire::id::Timestamp;

use crate::actor::{Actor, ActorEffect, ActorInput};
use crate::choice::{Choices, Stream};
use crate::clock::{Clock, MS, SEC};
use crate::oracle::Violation;
use crate::scenario;
use crate::swarm::Swarm;
use crate::world::Halt;

type Task = Pin<Box<dyn Future<Output = ()> + Send>>;

/// What befalls the node that an application talks to.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Weather {
    /// Nothing, and the network is reliable.
    Calm,
    /// Whatever the seed holds: crashes, lost connections, clogged links, wrong clocks.
    Stormy,
}

/// An application runs for this much simulated time at most.
const APPLICATION_LIMIT: u64 = 3_600 * SEC;

/// Runs an application against one node (`node0:9092`) until its future ends.
///
/// # Errors
/// What an oracle found, or that the application did not end within an hour of simulated time.
pub fn block_on<T, F>(
    seed: u64,
    weather: Weather,
    application: impl FnOnce(SimRuntime) -> F,
) -> Result<T, Violation>
where
    T: Send + 'static,
    F: Future<Output = T> + Send + 'static,
{
    let mut choices = Choices::new(seed);
    let mut swarm = Swarm::single(&mut choices);
    if weather == Weather::Calm {
        swarm = swarm.calm();
    }
    let mut world = scenario::node_world(choices, &swarm, Mutants::default());
    scenario::add_faults(&mut world, &swarm);
    let result = Arc::new(Mutex::new(None));
    let runtime = SimRuntime::new(world.kernel.choices.below(Stream::Ids, "app-seed", u64::MAX));
    let app = App::new("app", runtime.clone(), keep(application(runtime), Arc::clone(&result)));
    world.add_actor(Box::new(app), Clock::exact(), MS);
    match world.run(APPLICATION_LIMIT, |world| world.is_idle()) {
        Ok(true) | Err(Halt::Until) => {}
        Ok(false) => return Err(Violation::new("liveness", "the application did not end")),
        Err(Halt::Violation(violation)) => return Err(violation),
    }
    let result = result.lock().expect("no task panicked").take();
    Ok(result.expect("the application has ended"))
}

async fn keep<T>(application: impl Future<Output = T>, result: Arc<Mutex<Option<T>>>) {
    let value = application.await;
    *result.lock().expect("no task panicked") = Some(value);
}

/// A connection of an application.
#[derive(Default)]
struct Link {
    up: bool,
    over: bool,
    inbox: VecDeque<Bytes>,
    waiting: Option<Waker>,
    halves: u8,
}

/// What tasks and the executor share.
struct Shared {
    now: ClientNow,
    timers: BTreeMap<(Duration, u64), Waker>,
    next_timer: u64,
    links: BTreeMap<u64, Link>,
    next_link: u64,
    spawned: Vec<Task>,
    ready: Vec<u64>,
    seed: u64,
    effects: Vec<ActorEffect>,
}

/// The runtime of an application in the simulation.
#[derive(Clone)]
pub struct SimRuntime(Arc<Mutex<Shared>>);

impl SimRuntime {
    fn new(seed: u64) -> Self {
        Self(Arc::new(Mutex::new(Shared {
            now: ClientNow { mono: Duration::ZERO, wall: Timestamp(0) },
            timers: BTreeMap::new(),
            next_timer: 0,
            links: BTreeMap::new(),
            next_link: 0,
            spawned: Vec::new(),
            ready: Vec::new(),
            seed,
            effects: Vec::new(),
        })))
    }

    fn lock(&self) -> MutexGuard<'_, Shared> {
        self.0.lock().expect("no task panicked")
    }

    fn link<T>(&self, token: u64, with: impl FnOnce(&mut Link) -> T) -> Option<T> {
        self.lock().links.get_mut(&token).map(with)
    }

    /// Nothing more is sent: the other side closes the connection.
    fn hang_up(&self, token: u64) {
        let mut shared = self.lock();
        let Some(link) = shared.links.get_mut(&token).filter(|link| !link.over) else { return };
        let waiting = link.end();
        shared.effects.push(ActorEffect::Close(token));
        drop(shared);
        waiting.into_iter().for_each(Waker::wake);
    }

    /// Gives up one hold on a connection; the last one closes it.
    fn release(&self, token: u64) {
        let mut shared = self.lock();
        let Some(link) = shared.links.get_mut(&token) else { return };
        link.halves = link.halves.saturating_sub(1);
        if link.halves == 0 {
            let over = link.over;
            shared.links.remove(&token);
            if !over {
                shared.effects.push(ActorEffect::Close(token));
            }
        }
    }
}

impl Runtime for SimRuntime {
    type Read = Half;
    type Write = Half;

    async fn connect(&self, host: Arc<str>, port: u16) -> Result<(Half, Half), Disconnected> {
        let token = {
            let mut shared = self.lock();
            shared.next_link += 1;
            let token = shared.next_link;
            shared.links.insert(token, Link { halves: 1, ..Link::default() });
            let host = host.to_string();
            shared.effects.push(ActorEffect::Open { token, host, port });
            token
        };
        let read = Half { runtime: self.clone(), token, writes: false };
        poll_fn(|cx| match self.link(token, |link| opened(link, cx)) {
            Some(poll) => poll,
            None => Poll::Ready(Err(gone())),
        })
        .await?;
        self.link(token, |link| link.halves += 1);
        Ok((read, Half { runtime: self.clone(), token, writes: true }))
    }

    async fn sleep(&self, wait: Duration) {
        let mut timer = Timer { runtime: self.clone(), key: None, until: None };
        poll_fn(|cx| timer.poll(wait, cx)).await;
    }

    fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        self.lock().spawned.push(Box::pin(task));
    }

    fn now(&self) -> ClientNow {
        self.lock().now
    }

    fn seed(&self) -> u64 {
        let mut shared = self.lock();
        shared.seed = shared.seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        shared.seed
    }
}

fn gone() -> Disconnected {
    Disconnected("connection reset".to_owned())
}

fn opened(link: &mut Link, cx: &Context<'_>) -> Poll<Result<(), Disconnected>> {
    if link.over {
        return Poll::Ready(Err(Disconnected("connection refused".to_owned())));
    }
    if link.up {
        return Poll::Ready(Ok(()));
    }
    link.waiting = Some(cx.waker().clone());
    Poll::Pending
}

/// A wait that takes its timer along when it is dropped.
struct Timer {
    runtime: SimRuntime,
    key: Option<(Duration, u64)>,
    until: Option<Duration>,
}

impl Timer {
    fn poll(&mut self, wait: Duration, cx: &Context<'_>) -> Poll<()> {
        let mut shared = self.runtime.lock();
        let until = *self.until.get_or_insert(shared.now.mono + wait);
        if let Some(key) = self.key.take() {
            shared.timers.remove(&key);
        }
        if shared.now.mono >= until {
            return Poll::Ready(());
        }
        shared.next_timer += 1;
        let key = (until, shared.next_timer);
        shared.timers.insert(key, cx.waker().clone());
        drop(shared);
        self.key = Some(key);
        Poll::Pending
    }
}

impl Drop for Timer {
    fn drop(&mut self) {
        if let Some(key) = self.key {
            self.runtime.lock().timers.remove(&key);
        }
    }
}

/// One half of a connection.
pub struct Half {
    runtime: SimRuntime,
    token: u64,
    writes: bool,
}

impl Drop for Half {
    fn drop(&mut self) {
        if self.writes {
            self.runtime.hang_up(self.token);
        }
        self.runtime.release(self.token);
    }
}

impl FrameRead for Half {
    async fn read(&mut self) -> Result<Bytes, Disconnected> {
        poll_fn(|cx| {
            let frame = self.runtime.link(self.token, |link| match link.inbox.pop_front() {
                Some(frame) => Poll::Ready(Ok(frame)),
                None if link.over => Poll::Ready(Err(gone())),
                None => {
                    link.waiting = Some(cx.waker().clone());
                    Poll::Pending
                }
            });
            frame.unwrap_or_else(|| Poll::Ready(Err(gone())))
        })
        .await
    }
}

impl FrameWrite for Half {
    async fn write(&mut self, frame: Frame) -> Result<(), Disconnected> {
        let mut shared = self.runtime.lock();
        if shared.links.get(&self.token).is_none_or(|link| link.over) {
            return Err(gone());
        }
        shared.effects.push(ActorEffect::Send(self.token, frame.content()));
        Ok(())
    }
}

/// Puts its task among the ready ones.
struct TaskWaker {
    task: u64,
    runtime: SimRuntime,
}

impl Wake for TaskWaker {
    fn wake(self: Arc<Self>) {
        let mut shared = self.runtime.lock();
        if !shared.ready.contains(&self.task) {
            shared.ready.push(self.task);
        }
    }
}

/// An application as an inhabitant of the world.
pub struct App {
    name: String,
    runtime: SimRuntime,
    tasks: BTreeMap<u64, Task>,
    next_task: u64,
}

/// The task whose end is the application's end.
const MAIN: u64 = 0;

impl App {
    /// An application that runs `main` and whatever that spawns.
    pub fn new(
        name: impl Into<String>,
        runtime: SimRuntime,
        main: impl Future<Output = ()> + Send + 'static,
    ) -> Self {
        let main: Task = Box::pin(main);
        runtime.lock().ready.push(MAIN);
        let tasks = BTreeMap::from([(MAIN, main)]);
        Self { name: name.into(), runtime, tasks, next_task: MAIN + 1 }
    }

    fn take_in(&self, input: ActorInput) {
        let (token, waker) = match input {
            ActorInput::Opened(token) => (token, self.runtime.link(token, Link::open)),
            ActorInput::Closed(token) => (token, self.runtime.link(token, Link::end)),
            ActorInput::Frame(token, frame) => {
                (token, self.runtime.link(token, |link| link.receive(frame)))
            }
            ActorInput::Start | ActorInput::Tick | ActorInput::Finish | ActorInput::Lost(_) => {
                return;
            }
        };
        match waker {
            Some(Some(waker)) => waker.wake(),
            Some(None) => {}
            None => self.runtime.lock().effects.push(ActorEffect::Close(token)),
        }
    }

    fn fire_timers(&self) {
        loop {
            let due = {
                let mut shared = self.runtime.lock();
                let now = shared.now.mono;
                shared.timers.first_entry().filter(|e| e.key().0 <= now).map(|e| e.remove())
            };
            match due {
                Some(waker) => waker.wake(),
                None => return,
            }
        }
    }

    fn run(&mut self, choices: &mut Choices) {
        loop {
            let spawned = std::mem::take(&mut self.runtime.lock().spawned);
            for task in spawned {
                self.tasks.insert(self.next_task, task);
                self.runtime.lock().ready.push(self.next_task);
                self.next_task += 1;
            }
            let mut shared = self.runtime.lock();
            let Some(count) = std::num::NonZero::new(shared.ready.len()) else { return };
            let at = match count.get() {
                1 => 0,
                many => choices.below(Stream::Schedule, "task", many as u64) as usize,
            };
            let id = shared.ready.remove(at);
            drop(shared);
            self.poll(id);
        }
    }

    fn poll(&mut self, id: u64) {
        let Some(task) = self.tasks.get_mut(&id) else { return };
        let waker = Waker::from(Arc::new(TaskWaker { task: id, runtime: self.runtime.clone() }));
        if task.as_mut().poll(&mut Context::from_waker(&waker)).is_ready() {
            self.tasks.remove(&id);
        }
    }
}

impl Link {
    fn open(&mut self) -> Option<Waker> {
        self.up = true;
        self.waiting.take()
    }

    fn end(&mut self) -> Option<Waker> {
        self.over = true;
        self.waiting.take()
    }

    fn receive(&mut self, frame: Bytes) -> Option<Waker> {
        self.inbox.push_back(frame);
        self.waiting.take()
    }
}

impl Actor for App {
    fn name(&self) -> String {
        self.name.clone()
    }

    fn on(
        &mut self,
        now: Now,
        input: ActorInput,
        choices: &mut Choices,
        fx: &mut Vec<ActorEffect>,
    ) {
        self.runtime.lock().now =
            ClientNow { mono: Duration::from_nanos(now.mono.0), wall: now.wall };
        self.take_in(input);
        self.fire_timers();
        self.run(choices);
        fx.append(&mut self.runtime.lock().effects);
    }

    fn deadline(&self) -> Deadline {
        let at = self.runtime.lock().timers.first_key_value()?.0.0;
        let nanos = u64::try_from(at.as_nanos()).unwrap_or(u64::MAX);
        Some((Instant(nanos), "a task sleeps"))
    }

    fn is_done(&self) -> bool {
        !self.tasks.contains_key(&MAIN)
    }

    fn status(&self) -> String {
        format!("{} tasks", self.tasks.len())
    }
}
