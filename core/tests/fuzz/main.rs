//! Bytes that may be anything, for everything that reads some: the corpus, and what a seeded
//! mutator makes of it. The functions are those that libFuzzer calls (`tests/fuzz`).
//!
//! `DOHLE_FUZZ_RUNS` sets how many inputs each target is fed (1,000,000 in the full suite),
//! `DOHLE_FUZZ_SEED` which ones. An input that breaks something is made smaller and kept in
//! `tests/fuzz/artifacts`: a fix comes with a test, and the input joins the corpus.

#[path = "../../../tests/fuzz/src/lib.rs"]
#[allow(unreachable_pub, reason = "it is a crate of its own for libFuzzer")]
mod fuzz;

use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Once;

use fuzz::mutate::{Dice, mutate};
use fuzz::{TARGETS, Target, target};

/// Memory that all of it may take in this process.
const PEAK_MAX_KIB: u64 = 256 << 10;

/// No file of the corpus is larger.
const FILE_MAX: usize = 4 << 10;

/// An input is made smaller in so many attempts at most.
const ATTEMPTS_MAX: usize = 3_000;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/fuzz")
}

/// The files of a target, in the order of their names.
fn corpus(target: &Target) -> Vec<(String, Vec<u8>)> {
    let folder = root().join("corpus").join(target.name);
    let entries = std::fs::read_dir(&folder).expect("every target has a corpus");
    let mut files: Vec<_> = entries
        .map(|entry| entry.expect("an entry"))
        .map(|entry| {
            let content = std::fs::read(entry.path()).expect("a file");
            (entry.file_name().to_string_lossy().into_owned(), content)
        })
        .collect();
    files.sort();
    assert!(files.len() >= 3, "{}: {} files", target.name, files.len());
    files
}

fn number(name: &str, otherwise: u64) -> u64 {
    std::env::var(name).map_or(otherwise, |text| text.parse().expect("a number"))
}

thread_local! {
    /// Why the last input broke something.
    static WHY: RefCell<Option<String>> = const { RefCell::new(None) };
    static LISTENING: RefCell<bool> = const { RefCell::new(false) };
}

/// Panics are findings here: they are kept and not printed.
fn listen() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let others = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| match LISTENING.with_borrow(|on| *on) {
            true => WHY.set(Some(info.to_string())),
            false => others(info),
        }));
    });
}

/// What an input breaks, if it does.
fn broken(target: &Target, input: &[u8]) -> Option<String> {
    listen();
    LISTENING.set(true);
    let done = catch_unwind(AssertUnwindSafe(|| (target.run)(input)));
    LISTENING.set(false);
    done.err().map(|_| WHY.take().unwrap_or_default())
}

/// Takes away what is not needed to break something.
fn smaller(target: &Target, mut input: Vec<u8>) -> Vec<u8> {
    let mut len = input.len() / 2;
    let mut attempts = 0;
    while len > 0 {
        let mut at = 0;
        while at < input.len() && attempts < ATTEMPTS_MAX {
            attempts += 1;
            let mut less = input.clone();
            less.drain(at..(at + len).min(input.len()));
            match broken(target, &less) {
                Some(_) => input = less,
                None => at += len,
            }
        }
        len /= 2;
    }
    input
}

fn report(target: &Target, input: Vec<u8>, why: &str) -> ! {
    let name = target.name;
    let input = smaller(target, input);
    let now = broken(target, &input).unwrap_or_default();
    let folder = root().join("artifacts").join(name);
    let path = folder.join(format!("{:08x}", crc32c::crc32c(&input)));
    std::fs::create_dir_all(&folder).expect("a folder");
    std::fs::write(&path, &input).expect("a file");
    panic!("{name}: {why}\nkept in {}, where it is: {now}", path.display());
}

/// Peak memory of this process in KiB.
fn peak_kib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|rest| rest.trim().split(' ').next()?.parse().ok()).unwrap_or(0)
}

/// Feeds a target; returns how many bytes it has seen.
fn feed(name: &str, quick: u64) -> usize {
    let target = target(name);
    let corpus: Vec<_> = corpus(&target).into_iter().map(|(_, content)| content).collect();
    let mut dice = Dice::new(number("DOHLE_FUZZ_SEED", 1));
    let mut seen = 0;
    for _ in 0..number("DOHLE_FUZZ_RUNS", quick) {
        let input = mutate(&target, &corpus, &mut dice);
        seen += input.len();
        if let Some(why) = broken(&target, &input) {
            report(&target, input, &why);
        }
    }
    let peak = peak_kib();
    assert!(peak < PEAK_MAX_KIB, "{name}: {peak} KiB");
    seen
}

#[test]
fn every_file_of_the_corpus_is_read_or_refused() {
    for target in TARGETS {
        for (file, content) in corpus(&target) {
            assert!(
                content.len() <= FILE_MAX,
                "{}/{file} has {} bytes",
                target.name,
                content.len()
            );
            if let Some(why) = broken(&target, &content) {
                panic!("{}/{file}: {why}", target.name);
            }
        }
    }
}

#[test]
fn every_folder_of_the_corpus_has_its_target() {
    let entries = std::fs::read_dir(root().join("corpus")).expect("a corpus");
    let names = entries.map(|entry| entry.expect("an entry").file_name());
    let mut names: Vec<_> = names.map(|name| name.to_string_lossy().into_owned()).collect();
    let mut known = TARGETS.map(|target| target.name.to_owned());
    (names.sort(), known.sort());
    assert_eq!(names, known);
}

#[test]
fn what_breaks_is_made_smaller() {
    fn breaks(bytes: &[u8]) {
        assert!(!bytes.windows(2).any(|pair| pair == b"!?"), "it is there");
    }
    let target = Target { name: "test", run: breaks, repair: fuzz::repair::nothing };
    let input = [&[7; 900][..], b"!?", &[8; 77]].concat();
    assert!(broken(&target, &input).is_some_and(|why| why.contains("it is there")));
    assert_eq!(smaller(&target, input), b"!?");
    assert_eq!(broken(&target, b"!"), None);
}

macro_rules! fuzzed {
    ($($test:ident: $name:literal, $quick:literal;)*) => {
        $(#[test] fn $test() { assert!(feed($name, $quick) > 0); })*

        #[test]
        fn every_target_is_fed() {
            assert_eq!([$($name),*], TARGETS.map(|target| target.name));
        }
    };
}

fuzzed! {
    fuzz_batches: "batches", 2_000;
    fuzz_produce: "produce", 1_000;
    fuzz_offset_index: "offset_index", 2_000;
    fuzz_time_index: "time_index", 2_000;
    fuzz_epochs: "epochs", 5_000;
    fuzz_checkpoint: "checkpoint", 5_000;
    fuzz_snapshot: "snapshot", 5_000;
    fuzz_sums: "sums", 5_000;
    fuzz_locate: "locate", 1_000;
    fuzz_recovery: "recovery", 1_000;
    fuzz_verify: "verify", 500;
}
