//! A unit driven by whoever brings it work.
//!
//! A unit is a machine of the core with its host, which carries out the machine's effects. Tasks
//! and threads leave inputs and then [`Unit::drive`]: see [`crate::handover`]. A hold is bounded,
//! so that nobody works for others for long; a helper (a task or a thread of the unit's own)
//! finishes what a caller left, and wakes the machine at its deadline.
//!
//! Invariants: one thread at a time steps a machine. A host never drives another unit: it leaves
//! mail in the other's inbox, which keeps the order for each pair, and wakes somebody once its
//! own unit is unlocked. A panic inside a unit is a broken rule of ours and ends the process.

use std::collections::VecDeque;
use std::sync::Arc;
use std::task::Waker;
use std::time::Duration;

use dohle_core::fx::Fx;
use dohle_core::time::{Deadline, Instant, Now};

use crate::alarm::{Alarm, NEVER};
use crate::clock::Clock;
use crate::handover::{Driven, HandOver, Hold, Inbox};

/// Inputs worked off in one hold at most.
const HOLD_INPUTS: usize = 64;
/// How long one hold lasts, give or take one input.
const HOLD_TIME: Duration = Duration::from_micros(200);
/// The clock is looked at once in so many inputs.
const INPUTS_PER_LOOK: usize = 8;
/// Holds in a row by one caller; then the helper goes on.
const ROUNDS: usize = 4;
/// A machine that wants a tick right after a tick gets it this much later: no spinning.
const TICK_GAP: Duration = Duration::from_millis(1);
/// Items that the queues of a unit at rest keep room for.
const KEPT: usize = 256;

/// A machine of the core, as far as a driver must know it.
pub trait Machine: Send + 'static {
    /// What it reacts to.
    type Input: Send;
    /// What it wants done.
    type Effect: Send;

    /// The input that says that the deadline passed.
    fn tick() -> Self::Input;
    /// Reacts to one input.
    fn step(&mut self, now: Now, input: Self::Input, fx: &mut Fx<Self::Effect>);
    /// When it next wants a tick.
    fn deadline(&self) -> Deadline;
}

/// Carries out the effects of a machine.
pub trait Host<M: Machine>: Send + 'static {
    /// What reaches the host rather than the machine: completions of its own work elsewhere.
    type Event: Send;

    /// Carries out one effect.
    fn act(&mut self, effect: M::Effect, turn: &mut Turn<M::Input>);
    /// Reacts to one event.
    fn on_event(&mut self, event: Self::Event, turn: &mut Turn<M::Input>);
    /// When the host itself wants [`Host::tick`].
    fn deadline(&self) -> Option<Instant>;
    /// The deadline of machine or host passed.
    fn tick(&mut self, now: Instant);
}

/// What a host hands back while it acts.
pub struct Turn<I> {
    /// When the input that is worked off came in.
    pub now: Now,
    /// Inputs for the own machine, worked off before anything else.
    pub back: VecDeque<I>,
    wakes: Vec<Wake>,
}

impl<I> Turn<I> {
    /// Wakes a task once the unit is unlocked.
    pub fn wake(&mut self, waker: Option<Waker>) {
        self.wakes.extend(waker.map(Wake::Task));
    }

    /// Pokes another unit's helper once the unit is unlocked.
    pub fn poke(&mut self, helper: Arc<dyn Poke>) {
        self.wakes.push(Wake::Helper(helper));
    }
}

enum Wake {
    Task(Waker),
    Helper(Arc<dyn Poke>),
}

/// Wakes a unit's helper.
pub trait Poke: Send + Sync {
    /// The helper shall drive the unit, soon, at least once more.
    fn poke(&self);
}

/// A machine with its host and its inbox.
pub struct Unit<M: Machine, H: Host<M>> {
    clock: Clock,
    work: HandOver<Item<M::Input, H::Event>, Desk<M, H>>,
    alarm: Alarm,
    helper: Arc<dyn Poke>,
}

enum Item<I, E> {
    Input(I),
    Event(E),
    Tick,
}

/// What lies under the lock.
struct Desk<M: Machine, H: Host<M>> {
    machine: M,
    host: H,
    fx: Fx<M::Effect>,
    turn: Turn<M::Input>,
    /// Taken from the inbox and not worked off yet.
    todo: VecDeque<Item<M::Input, H::Event>>,
}

impl<M: Machine, H: Host<M>> Unit<M, H> {
    /// A unit whose helper, which the caller starts, is poked through `helper`.
    pub fn new(machine: M, host: H, clock: Clock, helper: Arc<dyn Poke>) -> Self {
        let turn = Turn { now: clock.now(), back: VecDeque::new(), wakes: Vec::new() };
        let desk = Desk { machine, host, fx: Fx::new(), turn, todo: VecDeque::new() };
        Self { clock, work: HandOver::new(desk), alarm: Alarm::new(), helper }
    }

    /// Leaves an input. The caller drives the unit, or pokes its helper, afterwards.
    pub fn push(&self, input: M::Input) {
        self.work.push(Item::Input(input));
    }

    /// Leaves an event for the host; as [`Unit::push`].
    pub fn push_event(&self, event: H::Event) {
        self.work.push(Item::Event(event));
    }

    /// Works off what the unit was left, if nobody else is at it.
    pub fn drive(&self) {
        let mut hold = |desk: &mut Desk<M, H>, inbox: &Inbox<_>| self.hold(desk, inbox);
        let driven = self.work.drive(ROUNDS, &mut hold, fire);
        if driven == Driven::More {
            self.helper.poke();
        }
    }

    /// The helper that drives this unit in the background.
    pub fn helper(&self) -> Arc<dyn Poke> {
        Arc::clone(&self.helper)
    }

    /// For the helper: it goes to sleep until the instant returned, or until it is poked.
    pub(crate) fn sleep(&self) -> Instant {
        Instant(self.alarm.sleep())
    }

    /// For the helper: it woke up. Does what there is to do.
    pub(crate) fn awake(&self) {
        if self.alarm.awake(self.clock.mono().0) {
            self.work.push(Item::Tick);
        }
        self.drive();
    }

    fn hold(
        &self,
        desk: &mut Desk<M, H>,
        inbox: &Inbox<Item<M::Input, H::Event>>,
    ) -> (Hold, Vec<Wake>) {
        let _guard = AbortOnPanic;
        let held = desk.work(&self.clock, inbox);
        if self.alarm.want(desk.deadline()) {
            self.helper.poke();
        }
        (held, std::mem::take(&mut desk.turn.wakes))
    }
}

impl<M: Machine, H: Host<M>> Desk<M, H> {
    fn work(&mut self, clock: &Clock, inbox: &Inbox<Item<M::Input, H::Event>>) -> Hold {
        let began = clock.mono();
        for count in 1..=HOLD_INPUTS {
            let Some(item) = self.next(inbox) else {
                self.shrink();
                return Hold::Rested;
            };
            self.turn.now = clock.now();
            self.on_item(item);
            let look = count % INPUTS_PER_LOOK == 0;
            if look && clock.mono().since(began) > HOLD_TIME {
                break;
            }
        }
        if self.turn.back.is_empty() && self.todo.is_empty() {
            Hold::Rested
        } else {
            Hold::Interrupted
        }
    }

    fn next(
        &mut self,
        inbox: &Inbox<Item<M::Input, H::Event>>,
    ) -> Option<Item<M::Input, H::Event>> {
        if let Some(input) = self.turn.back.pop_front() {
            return Some(Item::Input(input));
        }
        if self.todo.is_empty() {
            inbox.take_into(&mut self.todo);
        }
        self.todo.pop_front()
    }

    /// Queues grow with the partitions of a start; a broker at rest does not need them.
    fn shrink(&mut self) {
        self.todo.shrink_to(KEPT);
        self.turn.back.shrink_to(KEPT);
        self.fx.shrink_to(KEPT);
    }

    fn on_item(&mut self, item: Item<M::Input, H::Event>) {
        match item {
            Item::Input(input) => self.on_input(input),
            Item::Event(event) => self.host.on_event(event, &mut self.turn),
            Item::Tick => self.on_tick(),
        }
    }

    fn on_input(&mut self, input: M::Input) {
        self.machine.step(self.turn.now, input, &mut self.fx);
        for effect in self.fx.drain() {
            self.host.act(effect, &mut self.turn);
        }
    }

    fn on_tick(&mut self) {
        self.host.tick(self.turn.now.mono);
        if self.machine.deadline().is_some_and(|(at, _)| at <= self.turn.now.mono) {
            self.on_input(M::tick());
        }
    }

    fn deadline(&self) -> u64 {
        let machine = self.machine.deadline().map_or(NEVER, |(at, _)| at.0);
        let host = self.host.deadline().map_or(NEVER, |at| at.0);
        let wanted = machine.min(host);
        // A deadline that a step left behind its own time would make the helper spin.
        if wanted <= self.turn.now.mono.0 {
            return self.turn.now.mono.plus(TICK_GAP).0;
        }
        wanted
    }
}

fn fire(wakes: Vec<Wake>) {
    for wake in wakes {
        match wake {
            Wake::Task(waker) => waker.wake(),
            Wake::Helper(helper) => helper.poke(),
        }
    }
}

/// Ends the process when a unit panics: its state can no longer be trusted, and everything that
/// was acknowledged is on disk.
pub(crate) struct AbortOnPanic;

impl Drop for AbortOnPanic {
    fn drop(&mut self) {
        if std::thread::panicking() {
            tracing::error!(
                "a broken invariant ends this node; the message before this one says which"
            );
            std::process::abort();
        }
    }
}

#[cfg(test)]
mod tests;
