//! Choices to be made again, and what of a run is left out.
//!
//! State: values by stream, in order, those of the workload apart by who drew them; within these,
//! those of one *operation* lie together, behind the mark that it began. An operation finds its own
//! values however many before it are left out. A limited script has everything that shall happen:
//! operations and faults whose marks are not in it do not.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use super::{Choice, Stream};

/// Label of the mark that the next choices of the workload are of another actor; its number.
pub(super) const ACTOR: &str = "actor";
/// Label of the mark that an operation of that actor begins; the number that it has there.
pub(super) const OPERATION: &str = "operation";
/// Label of the mark that a fault is to happen; its number.
pub(super) const FAULT: &str = "fault";

/// An operation of the workload: whose, and which of those.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Operation {
    /// The actor, 0 for a workload without any.
    pub actor: u64,
    /// Counted from 0.
    pub number: u64,
}

/// What can be left out of a run.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Part {
    /// That fault.
    Fault(u64),
    /// That operation.
    Operation(Operation),
}

/// Each choice of a log, with the part of the run that goes with it.
pub fn parts(choices: &[Choice]) -> impl Iterator<Item = (Option<Part>, &Choice)> {
    let (mut actor, mut within) = (0, BTreeMap::new());
    choices.iter().map(move |choice| {
        let part = match (choice.stream, choice.label.as_str()) {
            (Stream::Faults, FAULT) => Some(Part::Fault(choice.value)),
            (Stream::Workload, ACTOR) => {
                actor = choice.value;
                None
            }
            (Stream::Workload, OPERATION) => {
                let operation = Operation { actor, number: choice.value };
                within.insert(actor, operation);
                Some(Part::Operation(operation))
            }
            (Stream::Workload, _) => within.get(&actor).copied().map(Part::Operation),
            _ => None,
        };
        (part, choice)
    })
}

type Values = VecDeque<(String, u64)>;

/// Choices to be made again, by stream, in order.
#[derive(Clone, Debug, Default)]
pub struct Script {
    streams: [Values; 8],
    /// What comes next of the workload, by actor.
    actors: BTreeMap<u64, Values>,
    operations: BTreeMap<Operation, Values>,
    faults: BTreeSet<u64>,
    limited: bool,
}

impl Script {
    /// The script that makes `choices` again.
    #[must_use]
    pub fn new(choices: impl IntoIterator<Item = Choice>) -> Self {
        let choices: Vec<Choice> = choices.into_iter().collect();
        let mut script = Self::default();
        let mut actor = 0;
        for (part, Choice { stream, label, value }) in parts(&choices) {
            let values = match (stream, label.as_str(), part) {
                (Stream::Workload, ACTOR, _) => {
                    actor = *value;
                    continue;
                }
                (_, FAULT, Some(Part::Fault(number))) => {
                    script.faults.insert(number);
                    continue;
                }
                (_, OPERATION, Some(Part::Operation(operation))) => {
                    script.operations.entry(operation).or_default();
                    continue;
                }
                (_, _, Some(Part::Operation(operation))) => {
                    script.operations.entry(operation).or_default()
                }
                (Stream::Workload, _, _) => script.actors.entry(actor).or_default(),
                _ => &mut script.streams[*stream as usize],
            };
            values.push_back((label.clone(), *value));
        }
        script
    }

    /// Nothing happens that is not in it.
    #[must_use]
    pub fn limited(self) -> Self {
        Self { limited: true, ..self }
    }

    /// Whether nothing happens that is not in it.
    #[must_use]
    pub fn is_limited(&self) -> bool {
        self.limited
    }

    /// Whether it has no operation left to begin.
    pub(super) fn is_spent(&self) -> bool {
        self.operations.is_empty()
    }

    /// Whether a fault happens.
    pub(super) fn has_fault(&self, number: u64) -> bool {
        !self.limited || self.faults.contains(&number)
    }

    /// An operation is about to begin. Returns whether it does.
    pub(super) fn begin(&mut self, operation: Operation) -> bool {
        let values = self.operations.remove(&operation);
        let there = values.is_some();
        if let Some(values) = values {
            self.actors.insert(operation.actor, values);
        }
        there || !self.limited
    }

    /// The next value of a stream, if the script has one under this label. A stream whose labels
    /// no longer fit has left the script for good; an actor has until its next operation.
    pub(super) fn next(
        &mut self,
        stream: Stream,
        actor: u64,
        label: &str,
        bound: u64,
    ) -> Option<u64> {
        let values = match stream {
            Stream::Workload => self.actors.get_mut(&actor)?,
            _ => &mut self.streams[stream as usize],
        };
        match values.pop_front() {
            Some((expected, value)) if expected == label => Some(value.min(bound - 1)),
            Some(_) => {
                values.clear();
                None
            }
            None => None,
        }
    }
}
