//! What reads bytes that may be anything: a function of `&[u8]` for each, that returns whatever
//! they are. A panic is a finding, so is work or memory without a bound.
//!
//! `fuzz_targets/` gives them to libFuzzer; `core/tests/fuzz` gives them the files of `corpus/`,
//! and what a seeded mutator makes of these.

pub mod folder;
pub mod mutate;
pub mod recovery;
pub mod repair;
pub mod targets;

/// Something to feed.
#[derive(Copy, Clone, Debug)]
pub struct Target {
    /// The name of its folder in the corpus.
    pub name: &'static str,
    /// Takes any bytes.
    pub run: fn(&[u8]),
    /// Makes checksums right again, so that what lies behind them is reached.
    pub repair: fn(&mut Vec<u8>),
}

/// All of them.
pub const TARGETS: [Target; 11] = [
    Target { name: "batches", run: targets::batches, repair: repair::batches },
    Target { name: "produce", run: targets::produce, repair: repair::batches },
    Target { name: "offset_index", run: targets::offset_index, repair: repair::nothing },
    Target { name: "time_index", run: targets::time_index, repair: repair::nothing },
    Target { name: "epochs", run: targets::epochs, repair: repair::nothing },
    Target { name: "checkpoint", run: targets::checkpoint, repair: repair::nothing },
    Target { name: "snapshot", run: targets::snapshot, repair: repair::snapshot },
    Target { name: "sums", run: targets::sums, repair: repair::sums },
    Target { name: "locate", run: targets::locate, repair: repair::folder },
    Target { name: "recovery", run: recovery::recovery, repair: repair::folder },
    Target { name: "verify", run: targets::verify, repair: repair::folder },
];

/// The target of that name.
#[must_use]
pub fn target(name: &str) -> Target {
    let found = TARGETS.into_iter().find(|target| target.name == name);
    found.unwrap_or_else(|| panic!("no target {name}"))
}
