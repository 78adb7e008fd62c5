//! Every random decision of a run, drawn from one seed, labelled, and open to editing.
//!
//! Each consumer draws from a stream of its own, so that one more draw of the workload does not
//! move the network's delays. A run can keep a log of its choices; a stored log, edited or not,
//! can be played back as a [`Script`]: as long as the labels of a stream fit, its values are taken
//! from there, and from the seed after that.
//!
//! The log has marks where an operation of the workload begins and where a fault is to happen, so
//! that some of them can be left out ([`Script::limited`]).
//!
//! Invariant: a choice depends on nothing but the seed, the script and the earlier choices of the
//! same stream.

mod script;

use std::collections::BTreeMap;

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

pub use self::script::{Operation, Part, Script, parts};

/// Who draws.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stream {
    /// The configuration of the run.
    Swarm,
    /// Delays, losses and duplicates between clients and nodes.
    Network,
    /// Latencies of disks and what a loss of power leaves.
    Disk,
    /// Skew, drift and jumps of clocks.
    Clock,
    /// When which fault happens.
    Faults,
    /// What clients do.
    Workload,
    /// Delays of mail between the units of a node.
    Schedule,
    /// Identities and seeds handed to machines.
    Ids,
}

impl Stream {
    /// All streams, in the order of their numbers.
    pub const ALL: [Self; 8] = [
        Self::Swarm,
        Self::Network,
        Self::Disk,
        Self::Clock,
        Self::Faults,
        Self::Workload,
        Self::Schedule,
        Self::Ids,
    ];

    /// Its name in stored logs.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Swarm => "swarm",
            Self::Network => "network",
            Self::Disk => "disk",
            Self::Clock => "clock",
            Self::Faults => "faults",
            Self::Workload => "workload",
            Self::Schedule => "schedule",
            Self::Ids => "ids",
        }
    }

    /// The stream of that name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|stream| stream.name() == name)
    }
}

/// One decision.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Choice {
    /// Who drew.
    pub stream: Stream,
    /// For what.
    pub label: String,
    /// What came out; always below the bound that was asked for.
    pub value: u64,
}

/// The source of all choices of a run.
#[derive(Clone, Debug)]
pub struct Choices {
    streams: [ChaCha8Rng; 8],
    script: Option<Script>,
    log: Option<Vec<(Stream, &'static str, u64)>>,
    drawn: u64,
    /// Whose turn it is, and whose it was when a choice of the workload was last logged.
    actor: u64,
    logged_actor: u64,
    /// Operations that each actor has come to.
    operations: BTreeMap<u64, u64>,
    faults: u64,
}

impl Choices {
    /// The choices that `seed` stands for.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        let streams = Stream::ALL.map(|stream| {
            let mut rng = ChaCha8Rng::seed_from_u64(seed);
            rng.set_stream(stream as u64);
            rng
        });
        Self {
            streams,
            script: None,
            log: None,
            drawn: 0,
            actor: 0,
            logged_actor: 0,
            operations: BTreeMap::new(),
            faults: 0,
        }
    }

    /// Takes choices from `script` while it fits.
    #[must_use]
    pub fn scripted(mut self, script: Script) -> Self {
        self.script = Some(script);
        self
    }

    /// Keeps a log of all choices from now on.
    #[must_use]
    pub fn logged(mut self) -> Self {
        self.log = Some(Vec::new());
        self
    }

    /// The log, empty when none is kept.
    #[must_use]
    pub fn log(&self) -> Vec<Choice> {
        let log = self.log.as_deref().unwrap_or_default();
        log.iter()
            .map(|(stream, label, value)| Choice {
                stream: *stream,
                label: (*label).to_owned(),
                value: *value,
            })
            .collect()
    }

    /// How many choices were made.
    #[must_use]
    pub fn drawn(&self) -> u64 {
        self.drawn
    }

    /// Draws of the workload are that actor's from now on.
    pub fn turn(&mut self, actor: u64) {
        self.actor = actor;
    }

    /// The actor whose turn it is comes to its next operation. Returns whether that happens.
    pub fn operation(&mut self) -> bool {
        let actor = self.actor;
        let next = self.operations.entry(actor).or_insert(0);
        let operation = Operation { actor, number: *next };
        *next += 1;
        let happens = self.script.as_mut().is_none_or(|script| script.begin(operation));
        if happens {
            self.keep(Stream::Workload, script::OPERATION, operation.number);
        }
        happens
    }

    /// The next fault comes. Returns whether it happens.
    pub fn fault(&mut self) -> bool {
        let number = self.faults;
        self.faults += 1;
        let happens = self.script.as_ref().is_none_or(|script| script.has_fault(number));
        if happens {
            self.keep(Stream::Faults, script::FAULT, number);
        }
        happens
    }

    /// Whether only what a script has happens.
    #[must_use]
    pub fn is_limited(&self) -> bool {
        self.script.as_ref().is_some_and(Script::is_limited)
    }

    /// Whether all operations have begun that shall happen.
    #[must_use]
    pub fn is_spent(&self) -> bool {
        self.script.as_ref().is_some_and(|script| script.is_limited() && script.is_spent())
    }

    fn keep(&mut self, stream: Stream, label: &'static str, value: u64) {
        let Some(log) = &mut self.log else { return };
        if stream == Stream::Workload && self.actor != self.logged_actor {
            self.logged_actor = self.actor;
            log.push((stream, script::ACTOR, self.actor));
        }
        log.push((stream, label, value));
    }

    /// A number below `bound`, which is at least 1; all are equally likely.
    pub fn below(&mut self, stream: Stream, label: &'static str, bound: u64) -> u64 {
        assert!(bound > 0, "a choice needs at least one outcome: {label}");
        let raw = self.streams[stream as usize].next_u64();
        let mut value = ((u128::from(raw) * u128::from(bound)) >> 64) as u64;
        if let Some(script) = &mut self.script {
            value = script.next(stream, self.actor, label, bound).unwrap_or(value);
        }
        self.drawn += 1;
        self.keep(stream, label, value);
        value
    }

    /// A number from `low` to `high`, both included.
    pub fn range(&mut self, stream: Stream, label: &'static str, low: u64, high: u64) -> u64 {
        assert!(low <= high, "an empty range for {label}");
        low + self.below(stream, label, high - low + 1)
    }

    /// True in `per_million` of a million cases. Nothing is drawn where it cannot be true.
    pub fn chance(&mut self, stream: Stream, label: &'static str, per_million: u32) -> bool {
        per_million > 0 && self.below(stream, label, 1_000_000) < u64::from(per_million)
    }

    /// One of `items`, which is not empty.
    pub fn pick<T: Copy>(&mut self, stream: Stream, label: &'static str, items: &[T]) -> T {
        items[self.below(stream, label, items.len() as u64) as usize]
    }

    /// A length of time around `typical` with a heavy tail: half to one and a half times that
    /// in three of four cases, and each doubling is four times rarer, up to 256 times.
    pub fn heavy(&mut self, stream: Stream, label: &'static str, typical: u64) -> u64 {
        if typical == 0 {
            return 0;
        }
        // The top 16 bits decide the doublings, the rest the place within them.
        let raw = self.below(stream, label, 1 << 48);
        let doublings = ((raw >> 32) as u16).trailing_ones() / 2;
        let fraction = raw & 0xffff_ffff;
        let base = typical / 2 + ((u128::from(typical) * u128::from(fraction)) >> 32) as u64;
        base << doublings
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn draws(choices: &mut Choices, stream: Stream) -> Vec<u64> {
        (0..20).map(|_| choices.below(stream, "x", 1000)).collect()
    }

    #[test]
    fn streams_do_not_disturb_each_other() {
        let mut alone = Choices::new(7);
        let mut mixed = Choices::new(7);
        draws(&mut mixed, Stream::Workload);
        assert_eq!(draws(&mut alone, Stream::Network), draws(&mut mixed, Stream::Network));
    }

    #[test]
    fn seeds_differ() {
        assert_ne!(
            draws(&mut Choices::new(1), Stream::Disk),
            draws(&mut Choices::new(2), Stream::Disk)
        );
    }

    #[test]
    fn a_log_played_back_gives_the_same_choices_whatever_the_seed() {
        let mut first = Choices::new(1).logged();
        let values = draws(&mut first, Stream::Faults);
        let mut second = Choices::new(2).scripted(Script::new(first.log()));
        assert_eq!(draws(&mut second, Stream::Faults), values);
    }

    #[test]
    fn an_edited_choice_is_taken_and_clamped() {
        let mut first = Choices::new(1).logged();
        draws(&mut first, Stream::Faults);
        let mut log = first.log();
        log[3].value = 5_000;
        let mut second = Choices::new(1).scripted(Script::new(log));
        assert_eq!(draws(&mut second, Stream::Faults)[3], 999);
    }

    #[test]
    fn a_stream_that_leaves_the_script_follows_the_seed() {
        let mut script = vec![Choice { stream: Stream::Disk, label: "y".into(), value: 1 }];
        script.push(Choice { stream: Stream::Disk, label: "x".into(), value: 1 });
        let mut scripted = Choices::new(3).scripted(Script::new(script));
        assert_eq!(draws(&mut scripted, Stream::Disk), draws(&mut Choices::new(3), Stream::Disk));
    }

    #[test]
    fn heavy_delays_are_mostly_typical_and_sometimes_long() {
        let mut choices = Choices::new(5);
        let mut drawn: Vec<u64> =
            (0..10_000).map(|_| choices.heavy(Stream::Network, "delay", 1000)).collect();
        drawn.sort_unstable();
        assert!(drawn[0] >= 500);
        assert!((800..1600).contains(&drawn[5000]), "median {}", drawn[5000]);
        assert!(drawn[9999] > 16_000, "longest {}", drawn[9999]);
    }

    /// Three operations of one actor and one of another in between, with what they draw.
    fn operations(choices: &mut Choices) -> Vec<Option<u64>> {
        let mut drawn = Vec::new();
        for actor in [1, 1, 2, 1] {
            choices.turn(actor);
            let happens = choices.operation();
            drawn.push(happens.then(|| choices.below(Stream::Workload, "size", 1_000_000)));
        }
        drawn
    }

    #[test]
    fn what_is_left_out_changes_nothing_of_the_rest() {
        let mut first = Choices::new(1).logged();
        let all = operations(&mut first);
        let log = first.log();
        let first_of_all = log.iter().position(|choice| choice.label == "operation").unwrap();
        let left = [&log[..first_of_all], &log[first_of_all + 2..]].concat();
        let mut second = Choices::new(2).scripted(Script::new(left).limited()).logged();
        let some = operations(&mut second);
        assert_eq!(some, [None, all[1], all[2], all[3]]);
        assert!(second.is_spent() && !first.is_spent());
        let again = Script::new(second.log()).limited();
        assert_eq!(operations(&mut Choices::new(3).scripted(again)), some);
    }

    #[test]
    fn only_faults_in_a_limited_script_happen() {
        let mut first = Choices::new(1).logged();
        assert!(first.fault() && first.fault());
        let log = first.log().split_off(1);
        let mut second = Choices::new(1).scripted(Script::new(log.clone()).limited());
        assert_eq!([second.fault(), second.fault(), second.fault()], [false, true, false]);
        let mut third = Choices::new(1).scripted(Script::new(log));
        assert!(third.fault(), "another script says nothing of what it does not have");
    }
}
