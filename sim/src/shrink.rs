//! Makes a failing run smaller: faults and operations of the workload are left out as long as what
//! is left still breaks the same rule.
//!
//! Halves first, then ever smaller parts, from the end on; then all of it once more, until nothing
//! can be left out. What is left keeps the values that it drew in the first run
//! ([`crate::choice::Script`]); whatever else is drawn may come out differently, so each attempt is
//! a whole run. Behind the last operation that is left a run ends.
//!
//! The result is a function of the plan and the number of attempts.

use crate::choice::{Choice, Part, Script, parts};
use crate::run::{Outcome, Plan, run};
use serde::Serialize;

/// An attempt may have so many times the events of the first run, and [`EVENTS_MORE`].
const EVENTS_TIMES: u64 = 2;
const EVENTS_MORE: u64 = 100_000;

/// How many are left of how many.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Left {
    /// Left.
    pub left: usize,
    /// There were, up to the violation.
    pub of: usize,
}

/// How far it has come.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Progress {
    /// Runs so far, without the first.
    pub attempts: u64,
    /// Faults that were to happen.
    pub faults: Left,
    /// Operations of the workload.
    pub operations: Left,
}

/// A run that is smaller and still fails.
#[derive(Clone, Debug)]
pub struct Shrunk {
    /// Its outcome, with its choices: the script of these, limited, is that run.
    pub outcome: Outcome,
    /// What was left out.
    pub progress: Progress,
    /// Nothing more can be left out alone.
    pub finished: bool,
}

/// Why a run is not made smaller.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ShrinkError {
    /// Nothing is wrong with it.
    #[error("seed {0} does not fail: there is nothing to shrink")]
    Passes(
        /// The seed.
        u64,
    ),
    /// It fails by doing too little; less would not be better.
    #[error("the run did too little ({0}): there is nothing to shrink")]
    TooLittle(
        /// What was missing.
        String,
    ),
    /// It has no failure without what comes behind its last operation.
    #[error("the run does not fail any more when it ends behind its last operation: {0}")]
    Elsewhere(
        /// What failed in the first run.
        String,
    ),
}

/// Makes the run of `plan` smaller. `goes_on` is told after each attempt how far it is, and says
/// whether there may be another.
///
/// # Errors
/// The run does not fail, or not of what can be left out.
pub fn shrink(
    plan: &Plan,
    goes_on: &mut dyn FnMut(&Progress) -> bool,
) -> Result<Shrunk, ShrinkError> {
    let first = run(&Plan { keep_choices: true, ..plan.clone() });
    let Some(failure) = first.failure else { return Err(ShrinkError::Passes(plan.seed)) };
    if failure.violation.oracle == "gate" {
        return Err(ShrinkError::TooLittle(failure.violation.to_string()));
    }
    let mut kept: Vec<Part> = parts(&first.choices).filter_map(|(part, _)| part).collect();
    kept.sort_unstable();
    kept.dedup();
    let mut search = Search {
        plan: plan.clone(),
        choices: first.choices,
        oracle: failure.violation.oracle.clone(),
        events_max: EVENTS_TIMES * first.events + EVENTS_MORE,
        whole: (count(&kept, is_fault), count(&kept, is_operation)),
        attempts: 0,
        goes_on,
        stopped: false,
    };
    if !search.fails(&kept) {
        return Err(ShrinkError::Elsewhere(failure.violation.to_string()));
    }
    let kept = search.all(kept);
    Ok(search.result(&kept))
}

fn is_fault(part: &Part) -> bool {
    matches!(part, Part::Fault(_))
}

fn is_operation(part: &Part) -> bool {
    matches!(part, Part::Operation(_))
}

fn count(parts: &[Part], which: fn(&Part) -> bool) -> usize {
    parts.iter().filter(|part| which(part)).count()
}

struct Search<'a> {
    plan: Plan,
    /// Those of the first run.
    choices: Vec<Choice>,
    oracle: String,
    events_max: u64,
    whole: (usize, usize),
    attempts: u64,
    goes_on: &'a mut dyn FnMut(&Progress) -> bool,
    stopped: bool,
}

impl Search<'_> {
    fn all(&mut self, mut kept: Vec<Part>) -> Vec<Part> {
        loop {
            let before = kept.len();
            for which in [is_fault, is_operation] {
                let (part, rest): (Vec<_>, Vec<_>) = kept.into_iter().partition(which);
                kept = self.fewer(part, rest);
            }
            if self.stopped || kept.len() == before {
                return kept;
            }
        }
    }

    /// Leaves out what can be of `some`, beside the `rest`; what is left of both.
    fn fewer(&mut self, mut some: Vec<Part>, rest: Vec<Part>) -> Vec<Part> {
        let with = |some: &[Part]| [some, &rest].concat();
        let mut len = some.len();
        while len > 0 {
            let mut upto = some.len();
            while upto > 0 && !self.stopped {
                let from = upto.saturating_sub(len);
                let less = [&some[..from], &some[upto..]].concat();
                if self.fails(&with(&less)) {
                    some = less;
                }
                self.tell(&with(&some));
                upto = from;
            }
            len /= 2;
        }
        with(&some)
    }

    fn tell(&mut self, kept: &[Part]) {
        let progress = self.progress(kept);
        self.stopped |= !(self.goes_on)(&progress);
    }

    fn progress(&self, kept: &[Part]) -> Progress {
        Progress {
            attempts: self.attempts,
            faults: Left { left: count(kept, is_fault), of: self.whole.0 },
            operations: Left { left: count(kept, is_operation), of: self.whole.1 },
        }
    }

    /// Whether a run with nothing but these breaks the same rule.
    fn fails(&mut self, kept: &[Part]) -> bool {
        self.attempts += 1;
        let outcome = run(&self.plan_of(kept));
        outcome.failure.is_some_and(|failure| failure.violation.oracle == self.oracle)
    }

    fn plan_of(&self, kept: &[Part]) -> Plan {
        let mut kept = kept.to_vec();
        kept.sort_unstable();
        let wanted =
            |part: &Option<Part>| part.is_none_or(|part| kept.binary_search(&part).is_ok());
        let choices = parts(&self.choices).filter(|(part, _)| wanted(part));
        let script = Script::new(choices.map(|(_, choice)| choice.clone())).limited();
        let until = self.plan.until.unwrap_or(u64::MAX).min(self.events_max);
        Plan { script: Some(script), until: Some(until), ..self.plan.clone() }
    }

    fn result(self, kept: &[Part]) -> Shrunk {
        let outcome = run(&Plan { keep_choices: true, ..self.plan_of(kept) });
        // What failed once fails again: a run is a function of its choices.
        assert!(outcome.failure.as_ref().is_some_and(|f| f.violation.oracle == self.oracle));
        Shrunk { progress: self.progress(kept), outcome, finished: !self.stopped }
    }
}
