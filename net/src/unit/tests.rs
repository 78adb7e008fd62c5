//! Units under many threads, with a machine that counts.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use super::*;
use crate::helper::ThreadPoke;

/// Counts what each pusher sent, in order; asks the host for an echo of every fourth number.
#[derive(Default)]
struct Toy {
    last: BTreeMap<usize, u64>,
    seen: u64,
    echoes: u64,
    events: u64,
    alarm: Option<Instant>,
    ticks: Vec<Instant>,
}

enum ToyInput {
    Number { pusher: usize, number: u64 },
    Echo,
    Event,
    Alarm(Instant),
    Tick,
}

enum ToyEffect {
    Echo,
    Elsewhere,
    Report(u64),
}

impl Machine for Toy {
    type Input = ToyInput;
    type Effect = ToyEffect;

    fn tick() -> ToyInput {
        ToyInput::Tick
    }

    fn step(&mut self, now: Now, input: ToyInput, fx: &mut Fx<ToyEffect>) {
        match input {
            ToyInput::Number { pusher, number } => {
                let last = self.last.insert(pusher, number);
                assert_eq!(last.map_or(0, |last| last + 1), number, "pusher {pusher}");
                self.seen += 1;
                if number % 4 == 0 {
                    fx.push(ToyEffect::Echo);
                }
                if number % 64 == 0 {
                    fx.push(ToyEffect::Elsewhere);
                }
            }
            ToyInput::Echo => self.echoes += 1,
            ToyInput::Event => self.events += 1,
            ToyInput::Alarm(at) => self.alarm = Some(at),
            ToyInput::Tick => {
                self.alarm = None;
                self.ticks.push(now.mono);
            }
        }
        fx.push(ToyEffect::Report(self.seen + self.echoes + self.events + self.ticks.len() as u64));
    }

    fn deadline(&self) -> Deadline {
        self.alarm.map(|at| (at, "alarm"))
    }
}

struct ToyHost {
    inside: Arc<AtomicBool>,
    done: Arc<AtomicU64>,
    elsewhere: Arc<Mutex<Vec<()>>>,
}

impl Host<Toy> for ToyHost {
    type Event = ();

    fn act(&mut self, effect: ToyEffect, turn: &mut Turn<ToyInput>) {
        assert!(!self.inside.swap(true, Ordering::SeqCst), "two threads in one unit");
        match effect {
            ToyEffect::Echo => turn.back.push_back(ToyInput::Echo),
            ToyEffect::Elsewhere => self.elsewhere.lock().expect("no panic").push(()),
            ToyEffect::Report(done) => self.done.store(done, Ordering::SeqCst),
        }
        self.inside.store(false, Ordering::SeqCst);
    }

    fn on_event(&mut self, (): (), turn: &mut Turn<ToyInput>) {
        turn.back.push_back(ToyInput::Event);
    }

    fn deadline(&self) -> Option<Instant> {
        None
    }

    fn tick(&mut self, _now: Instant) {}
}

struct Bench {
    unit: Arc<Unit<Toy, ToyHost>>,
    poke: Arc<ThreadPoke>,
    helper: Option<std::thread::JoinHandle<()>>,
    done: Arc<AtomicU64>,
    elsewhere: Arc<Mutex<Vec<()>>>,
    clock: Clock,
}

impl Bench {
    fn new() -> Self {
        let clock = Clock::start();
        let done = Arc::<AtomicU64>::default();
        let elsewhere = Arc::<Mutex<Vec<()>>>::default();
        let host = ToyHost {
            inside: Arc::default(),
            done: Arc::clone(&done),
            elsewhere: Arc::clone(&elsewhere),
        };
        let poke = Arc::<ThreadPoke>::default();
        let helper: Arc<dyn Poke> = Arc::clone(&poke) as Arc<dyn Poke>;
        let unit = Arc::new(Unit::new(Toy::default(), host, clock, helper));
        let thread = {
            let (unit, poke) = (Arc::clone(&unit), Arc::clone(&poke));
            std::thread::spawn(move || poke.attend(&unit, clock))
        };
        Self { unit, poke, helper: Some(thread), done, elsewhere, clock }
    }

    fn wait_for(&self, done: u64) {
        let from = std::time::Instant::now();
        while self.done.load(Ordering::SeqCst) != done {
            let now = self.done.load(Ordering::SeqCst);
            assert!(from.elapsed() < Duration::from_secs(20), "stuck at {now} of {done}");
            std::thread::yield_now();
        }
    }
}

impl Drop for Bench {
    fn drop(&mut self) {
        self.poke.stop();
        if let Some(helper) = self.helper.take() {
            helper.join().expect("the helper ends");
        }
    }
}

/// Nothing pushed is left behind, whoever holds the unit when it is pushed.
#[test]
fn no_wakeup_is_lost() {
    const PUSHERS: usize = 8;
    const EACH: u64 = 4_000;
    for _ in 0..5 {
        let bench = Bench::new();
        let stop = AtomicBool::new(false);
        std::thread::scope(|scope| {
            // Completions of work done elsewhere come from a thread of their own.
            scope.spawn(|| {
                let mut brought = 0;
                while !stop.load(Ordering::SeqCst) || brought < PUSHERS as u64 * EACH.div_ceil(64) {
                    let taken = std::mem::take(&mut *bench.elsewhere.lock().expect("no panic"));
                    for () in taken {
                        brought += 1;
                        bench.unit.push_event(());
                        bench.unit.drive();
                    }
                    std::thread::yield_now();
                }
            });
            let pushers: Vec<_> = (0..PUSHERS)
                .map(|pusher| {
                    let unit = &bench.unit;
                    scope.spawn(move || {
                        for number in 0..EACH {
                            unit.push(ToyInput::Number { pusher, number });
                            // Some push several before they drive.
                            if pusher % 2 == 0 || number % 7 == 0 || number + 1 == EACH {
                                unit.drive();
                            }
                        }
                    })
                })
                .collect();
            for pusher in pushers {
                pusher.join().expect("a pusher ends");
            }
            stop.store(true, Ordering::SeqCst);
        });
        let numbers = PUSHERS as u64 * EACH;
        let (echoes, events) = (numbers / 4, PUSHERS as u64 * EACH.div_ceil(64));
        bench.wait_for(numbers + echoes + events);
    }
}

/// The machine is woken at its deadline, and soon when a new one is earlier than the last.
#[test]
fn deadlines_are_kept() {
    let bench = Bench::new();
    let now = bench.clock.mono();
    bench.unit.push(ToyInput::Alarm(now.plus(Duration::from_secs(3600))));
    bench.unit.drive();
    std::thread::sleep(Duration::from_millis(20));
    assert_eq!(bench.done.load(Ordering::SeqCst), 0, "not before time");
    let began = std::time::Instant::now();
    bench.unit.push(ToyInput::Alarm(bench.clock.mono().plus(Duration::from_millis(30))));
    bench.unit.drive();
    bench.wait_for(1);
    assert!(began.elapsed() >= Duration::from_millis(29), "not before time");
    for count in 2..=50 {
        bench.unit.push(ToyInput::Alarm(bench.clock.mono()));
        bench.unit.drive();
        bench.wait_for(count);
    }
}

/// One caller works for others only for a while; the helper does the rest.
#[test]
fn a_flood_ends_at_the_helper() {
    let bench = Bench::new();
    for number in 0..10_000 {
        bench.unit.push(ToyInput::Number { pusher: 0, number });
    }
    bench.unit.drive();
    bench.wait_for(10_000 + 2_500);
}
