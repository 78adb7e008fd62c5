//! One run: a seed, or a stored schedule, played to its end or to an event.

use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Once;

use dohle_core::mutant::Mutants;
use serde::{Deserialize, Serialize};

use crate::choice::{Choice, Choices, Script};
use crate::oracle::Violation;
use crate::scenario::{Gates, Scenario};
use crate::stage::{Drawn, Stage};
use crate::world::Halt;

/// What to run, and how closely to watch.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The scenario.
    pub scenario: Scenario,
    /// The seed.
    pub seed: u64,
    /// How long faults go on, in nanoseconds, if not as drawn.
    pub length: Option<u64>,
    /// Choices to be made instead of those of the seed.
    pub script: Option<Script>,
    /// The last event to handle.
    pub until: Option<u64>,
    /// Keep a line for each thing that happens.
    pub trace: bool,
    /// Keep all choices.
    pub keep_choices: bool,
    /// Check everything at each event.
    pub paranoid: bool,
    /// Planted bugs.
    pub mutants: Mutants,
    /// Whether the broker's own assertions count. Only in a build with mutants can they be
    /// switched off.
    pub assertions: bool,
    /// Whether only what can be known from outside is checked (scenario `log`).
    pub black_box: bool,
}

impl Plan {
    /// That seed, from the beginning to the end.
    #[must_use]
    pub fn new(scenario: Scenario, seed: u64) -> Self {
        Self {
            scenario,
            seed,
            length: None,
            script: None,
            until: None,
            trace: false,
            keep_choices: false,
            paranoid: false,
            mutants: Mutants::default(),
            assertions: true,
            black_box: false,
        }
    }

    fn choices(&self) -> Choices {
        let mut choices = Choices::new(self.seed);
        if let Some(script) = self.script.clone() {
            choices = choices.scripted(script);
        }
        if self.keep_choices { choices.logged() } else { choices }
    }

    /// Whether less happens than the seed stands for.
    fn leaves_out(&self) -> bool {
        self.script.as_ref().is_some_and(Script::is_limited)
    }

    /// The configuration that the run will have.
    #[must_use]
    pub fn swarm(&self) -> Drawn {
        Drawn::new(self.scenario, &mut self.choices(), self.length)
    }
}

/// A violation and the event at which it was found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    /// The number of the event.
    pub event: u64,
    /// True time, in nanoseconds.
    pub time: u64,
    /// What did not hold.
    #[serde(flatten)]
    pub violation: Violation,
}

/// What came of a run.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// The seed.
    pub seed: u64,
    /// The configuration that was drawn.
    pub swarm: Drawn,
    /// What did not hold.
    pub failure: Option<Failure>,
    /// Over everything that happened.
    pub digest: u64,
    /// How many events there were.
    pub events: u64,
    /// How much time passed in the world, in nanoseconds.
    pub simulated: u64,
    /// How many records were acknowledged.
    pub committed: u64,
    /// Acknowledged batches that a loss of power was allowed to take.
    pub allowed_losses: u64,
    /// What the run had to do at least, and did.
    pub gates: Gates,
    /// The trace, if asked for.
    pub lines: Vec<String>,
    /// The choices, if asked for.
    pub choices: Vec<Choice>,
    /// The world at the end.
    pub state: String,
}

thread_local! {
    /// Where and why the current run panicked.
    static PANIC: RefCell<Option<String>> = const { RefCell::new(None) };
    /// Whether a panic is a finding here, and not to be printed.
    static LISTENING: RefCell<bool> = const { RefCell::new(false) };
}

/// A panic in a run is a finding: it is kept, not printed. Others are left to whom they belong.
fn listen() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let others = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            if LISTENING.with_borrow(|listening| *listening) {
                PANIC.set(Some(info.to_string().replace('\n', " ")));
            } else {
                others(info);
            }
        }));
    });
}

/// Plays a run.
#[must_use]
pub fn run(plan: &Plan) -> Outcome {
    listen();
    let mut choices = plan.choices();
    let swarm = Drawn::new(plan.scenario, &mut choices, plan.length);
    let mut stage = Stage::new(swarm.clone(), choices, plan.mutants, plan.black_box);
    if plan.trace {
        stage.trace();
    }
    if let Some(until) = plan.until {
        stage.stop_at(until);
    }
    if plan.paranoid {
        stage.be_paranoid();
    }
    #[cfg(feature = "mutants")]
    dohle_core::mutant::assert_rules(plan.assertions);
    LISTENING.set(true);
    let played = catch_unwind(AssertUnwindSafe(|| stage.play()));
    LISTENING.set(false);
    let gates = stage.gates();
    let violation = match played {
        Ok(Ok(())) if plan.length.is_none() && !plan.leaves_out() => gates.missed(),
        Ok(Ok(()) | Err(Halt::Until)) => None,
        Ok(Err(Halt::Violation(violation))) => Some(violation),
        Err(_) => {
            let text = PANIC.take().unwrap_or_else(|| "panic".to_owned());
            Some(Violation::new("assertion", text))
        }
    };
    outcome(plan, &stage, swarm, gates, violation)
}

fn outcome(
    plan: &Plan,
    stage: &Stage,
    swarm: Drawn,
    gates: Gates,
    violation: Option<Violation>,
) -> Outcome {
    let facts = stage.facts();
    let failure =
        violation.map(|violation| Failure { event: facts.event, time: facts.time, violation });
    Outcome {
        seed: plan.seed,
        swarm,
        failure,
        digest: facts.digest,
        events: facts.event,
        simulated: facts.time,
        committed: stage.acknowledged(),
        allowed_losses: stage.allowed_losses(),
        gates,
        lines: facts.lines,
        choices: facts.choices,
        state: stage.state(),
    }
}
