//! The simulated disk against the contract that the core relies on.

use dohle_core::disk::{FileIds, IoId, What};

use dohle_wire::id::{Offset, Timestamp};
use dohle_wire::record::{BatchBuilder, NoCodecs};

use super::*;

const SLOW: DiskSpeed =
    DiskSpeed { inline: false, cached: 10_000, medium: 1_000_000, sync: 1_000_000, stalls: 0 };

struct Bench {
    disk: SimDisk,
    choices: Choices,
    ids: FileIds,
    time: u64,
}

fn id() -> IoId {
    IoId { owner: 0, generation: 0, what: What::Append, end: 0 }
}

fn path(name: &str) -> FilePath {
    FilePath::new(0, name)
}

impl Bench {
    fn new(seed: u64) -> Self {
        Self {
            disk: SimDisk::new(SLOW),
            choices: Choices::new(seed),
            ids: FileIds::of_unit(1),
            time: 0,
        }
    }

    fn open(&mut self, name: &str) -> FileId {
        let file = self.ids.fresh();
        self.submit(DiskOp::Open { file, path: path(name) });
        file
    }

    fn submit(&mut self, op: DiskOp) -> Option<(u64, u64)> {
        self.disk.submit(1, op, self.time, &mut self.choices)
    }

    fn run(&mut self, op: DiskOp) -> Result<IoOk, IoError> {
        let (ticket, due) = self.submit(op).expect("completes");
        let (done, told) = self.disk.effect(ticket, Timestamp(0)).expect("not lost");
        assert!(told >= due);
        self.time = told;
        done.result
    }

    fn write(&mut self, file: FileId, position: u64, text: &str) {
        let data = vec![Bytes::copy_from_slice(text.as_bytes())];
        self.run(DiskOp::Write { id: id(), file, position, data }).expect("written");
    }

    fn crash(&mut self, crash: Crash) {
        self.disk.crash(crash, &mut self.choices, Timestamp(0));
    }

    fn content(&self, name: &str) -> Option<&[u8]> {
        self.disk.tree().content(&path(name))
    }
}

#[test]
fn written_data_survives_a_kill() {
    for seed in 0..50 {
        let mut bench = Bench::new(seed);
        let file = bench.open("t-0/a.log");
        bench.write(file, 0, "one");
        bench.write(file, 3, "two");
        bench.crash(Crash::Kill);
        assert_eq!(bench.content("t-0/a.log"), Some(&b"onetwo"[..]));
    }
}

#[test]
fn synced_data_and_its_name_survive_a_loss_of_power() {
    for seed in 0..50 {
        let mut bench = Bench::new(seed);
        let file = bench.open("t-0/a.log");
        bench.write(file, 0, "one");
        bench.run(DiskOp::Sync { id: id(), file }).expect("synced");
        bench.write(file, 3, "two");
        bench.crash(Crash::Power);
        assert!(bench.content("t-0/a.log").expect("kept").starts_with(b"one"));
    }
}

#[test]
fn everything_that_can_become_of_an_unsynced_file_does() {
    let (mut gone, mut empty, mut torn, mut whole, mut zeros) = (0, 0, 0, 0, 0);
    for seed in 0..300 {
        let mut bench = Bench::new(seed);
        let file = bench.open("t-0/a.log");
        bench.write(file, 0, "0123456789");
        bench.crash(Crash::Power);
        match bench.content("t-0/a.log") {
            None => gone += 1,
            Some(b"") => empty += 1,
            Some(b"0123456789") => whole += 1,
            Some(b"\0\0\0\0\0\0\0\0\0\0") => zeros += 1,
            Some(_) => torn += 1,
        }
    }
    for count in [gone, empty, torn, whole, zeros] {
        assert!(count > 0, "gone {gone} empty {empty} torn {torn} whole {whole} zeros {zeros}");
    }
}

#[test]
fn a_durable_put_leaves_the_old_content_or_the_new() {
    let mut seen = std::collections::BTreeSet::new();
    for seed in 0..100 {
        let mut bench = Bench::new(seed);
        let put = |data: &'static [u8]| DiskOp::Put {
            id: id(),
            path: path("checkpoint"),
            data: Bytes::from_static(data),
            durable: true,
        };
        bench.run(put(b"old")).expect("put");
        bench.submit(put(b"new"));
        bench.crash(Crash::Power);
        seen.insert(bench.content("checkpoint").expect("there").to_vec());
    }
    assert_eq!(seen.into_iter().collect::<Vec<_>>(), [b"new".to_vec(), b"old".to_vec()]);
}

#[test]
fn a_removed_file_may_come_back_and_a_renamed_one_may_not() {
    let mut back = 0;
    for seed in 0..50 {
        let mut bench = Bench::new(seed);
        for name in ["t-0/a", "t-0/b"] {
            let file = bench.open(name);
            bench.write(file, 0, "x");
            bench.run(DiskOp::Sync { id: id(), file }).expect("synced");
        }
        bench.run(DiskOp::Remove { id: id(), path: path("t-0/a") }).expect("removed");
        bench
            .run(DiskOp::Rename { id: id(), from: path("t-0"), to: path("u-0") })
            .expect("renamed");
        bench.crash(Crash::Power);
        assert_eq!(bench.content("t-0/b"), None);
        assert_eq!(bench.content("u-0/b"), Some(&b"x"[..]));
        back += usize::from(bench.content("u-0/a").is_some());
    }
    assert!((1..50).contains(&back), "came back {back} times");
}

#[test]
fn operations_on_one_file_or_its_folder_keep_their_order() {
    for seed in 0..50 {
        let mut bench = Bench::new(seed);
        let file = bench.open("t-0/a");
        let data = vec![Bytes::from_static(b"x")];
        let ops = [
            DiskOp::Write { id: id(), file, position: 0, data },
            DiskOp::Sync { id: id(), file },
            DiskOp::List { id: id(), path: path("t-0") },
            DiskOp::Remove { id: id(), path: path("t-0") },
            DiskOp::Get { id: id(), path: path("t-0/a") },
        ];
        let dues: Vec<u64> =
            ops.into_iter().map(|op| bench.submit(op).expect("completes").1).collect();
        assert!(dues.is_sorted(), "{dues:?}");
    }
}

#[test]
fn operations_on_other_files_overtake() {
    let overtaken = (0..50).filter(|seed| {
        let mut bench = Bench::new(*seed);
        let (a, b) = (bench.open("t-0/a"), bench.open("t-0/b"));
        let slow = bench.submit(DiskOp::Sync { id: id(), file: a }).expect("completes").1;
        slow > bench.submit(DiskOp::Sync { id: id(), file: b }).expect("completes").1
    });
    assert!(overtaken.count() > 5);
}

#[test]
fn an_interrupted_write_leaves_a_beginning() {
    let mut lengths = std::collections::BTreeSet::new();
    for seed in 0..200 {
        let mut bench = Bench::new(seed);
        let file = bench.open("a");
        let data = vec![Bytes::from_static(b"01"), Bytes::from_static(b"23")];
        bench.submit(DiskOp::Write { id: id(), file, position: 0, data });
        bench.crash(Crash::Kill);
        let left = bench.content("a").unwrap_or_default();
        assert!(b"0123".starts_with(left));
        lengths.insert(left.len());
    }
    assert_eq!(lengths.into_iter().collect::<Vec<_>>(), [0, 1, 2, 3, 4]);
}

#[test]
fn listing_shows_names_kinds_and_lengths() {
    let mut bench = Bench::new(1);
    let file = bench.open("t-0/a.log");
    bench.write(file, 2, "x");
    let root = bench.disk.tree().list(&path("")).expect("root");
    assert_eq!(root.len(), 1);
    assert!(root[0].is_dir && root[0].name == "t-0");
    let inside = bench.disk.tree().list(&path("t-0")).expect("folder");
    assert!(!inside[0].is_dir && inside[0].name == "a.log" && inside[0].len == 3);
    assert_eq!(bench.disk.tree().list(&path("u-0")), None);
}

#[test]
fn ranges_of_a_removed_file_stay_readable() {
    let mut bench = Bench::new(1);
    let file = bench.open("a");
    bench.write(file, 0, "0123");
    bench.run(DiskOp::Remove { id: id(), path: path("a") }).expect("removed");
    let hole = Hole { file: file.0, position: 1, len: 2 };
    assert_eq!(bench.disk.hole(&hole), Some(Bytes::from_static(b"12")));
    assert_eq!(bench.disk.hole(&Hole { len: 4, ..hole }), None);
}

#[test]
#[should_panic(expected = "asked for after it was closed")]
fn a_closed_file_must_not_be_asked_for() {
    let mut bench = Bench::new(1);
    let file = bench.open("a");
    bench.submit(DiskOp::Close { file });
    bench.submit(DiskOp::Sync { id: id(), file });
}

#[test]
fn a_file_that_is_about_to_be_removed_is_not_the_one_that_is_opened() {
    let mut bench = Bench::new(1);
    let old = bench.open("t-0/a.log");
    bench.write(old, 0, "old");
    let (ticket, due) =
        bench.submit(DiskOp::Remove { id: id(), path: path("t-0") }).expect("completes");
    let new = bench.open("t-0/a.log");
    let data = vec![Bytes::from_static(b"new")];
    let write = DiskOp::Write { id: id(), file: new, position: 0, data };
    let (write, later) = bench.submit(write).expect("completes");
    assert!(due <= later, "in the order emitted");
    for ticket in [ticket, write] {
        bench.disk.effect(ticket, Timestamp(0)).expect("not lost").0.result.expect("done");
    }
    assert_eq!(bench.content("t-0/a.log"), Some(&b"new"[..]));
}

#[test]
fn an_operation_that_fails_does_so_once_and_may_have_done_a_part() {
    let (mut parts, mut lost) = (std::collections::BTreeSet::new(), 0);
    for salt in 0..20 {
        let mut bench = Bench::new(salt);
        let file = bench.open("a");
        bench.disk.sicken(Sickness { ailment: Ailment::Write, salt });
        let write = |data: &'static [u8]| DiskOp::Write {
            id: id(),
            file,
            position: 0,
            data: vec![Bytes::from_static(data)],
        };
        assert!(bench.run(write(b"0123")).is_err());
        parts.insert(bench.content("a").unwrap_or_default().len());
        assert!(bench.run(write(b"0123")).is_ok());
        bench.disk.sicken(Sickness { ailment: Ailment::Sync, salt });
        assert!(bench.run(DiskOp::Sync { id: id(), file }).is_err());
        assert_eq!(bench.disk.failed(), Some(Ailment::Sync));
        lost += usize::from(bench.content("a") != Some(b"0123"));
    }
    assert!(parts.len() == 5 && lost > 0, "{parts:?}, lost {lost}");
}

/// Batches of one record each.
fn batches(count: i64) -> Vec<Bytes> {
    let batch = |base: i64| {
        let mut builder = BatchBuilder::new(Offset(base));
        builder.push(Timestamp(base), None, Some(b"some value or other"), &[]).expect("small");
        builder.build(&NoCodecs).expect("not empty")
    };
    (0..count).map(batch).collect()
}

const RECORDS: &str = "t-0/00000000000000000000.log";

/// A file of records, synced after each batch, while a flaw waits from the fourth on.
fn flawed(flaw: Flaw, salt: u64) -> (Bench, FileId, Vec<u8>) {
    let mut bench = Bench::new(salt);
    let file = bench.open(RECORDS);
    let mut whole = Vec::new();
    for (at, batch) in batches(8).into_iter().enumerate() {
        if at == 4 {
            assert!(bench.disk.arm(flaw, salt));
        }
        let position = whole.len() as u64;
        whole.extend_from_slice(&batch);
        bench.run(DiskOp::Write { id: id(), file, position, data: vec![batch] }).expect("written");
        bench.run(DiskOp::Sync { id: id(), file }).expect("synced");
    }
    (bench, file, whole)
}

#[test]
fn a_write_that_goes_wrong_says_nothing_and_can_be_healed() {
    for flaw in [Flaw::CorruptWrite, Flaw::LostWrite, Flaw::MisdirectedWrite] {
        for salt in (0..20).map(|n: u64| n.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 8) {
            let (mut bench, _, whole) = flawed(flaw, salt);
            assert_eq!(bench.disk.flaws().happened[flaw as usize], 1, "{flaw:?}");
            let wrong = |bench: &Bench| bench.content(RECORDS).expect("there") != whole;
            assert!(wrong(&bench), "{flaw:?}");
            bench.crash(Crash::Power);
            assert!(wrong(&bench), "{flaw:?} after a loss of power");
            let sound = bench.disk.tree().sound_content(&path(RECORDS), true);
            assert_eq!(sound.as_ref(), Some(&whole), "{flaw:?}");
            bench.disk.heal_scars(&path("t-0"));
            assert!(!wrong(&bench), "{flaw:?}");
        }
    }
}

#[test]
fn a_read_that_goes_wrong_does_so_once() {
    for flaw in [Flaw::CorruptRead, Flaw::MisdirectedRead, Flaw::ShortRead] {
        for salt in (0..20).map(|n: u64| n.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 8) {
            let (mut bench, file, whole) = flawed(flaw, salt);
            let len = u32::try_from(whole.len()).expect("short");
            let mut read = || match bench.run(DiskOp::Read { id: id(), file, position: 0, len }) {
                Ok(IoOk::Read(bytes)) => bytes,
                other => panic!("{other:?}"),
            };
            let (first, second) = (read(), read());
            assert!(first != whole && second == whole, "{flaw:?}");
            let short = flaw == Flaw::ShortRead;
            assert_eq!(!first.is_empty() && whole.starts_with(&first), short, "{flaw:?}");
            assert_eq!(bench.disk.take_misread(), !short, "{flaw:?}");
        }
    }
}

#[test]
fn a_scar_goes_with_what_is_cut_off() {
    let mut bench = Bench::new(1);
    let file = bench.open("t-0/a");
    bench.write(file, 0, "0123456789");
    bench.run(DiskOp::Sync { id: id(), file }).expect("synced");
    bench.disk.rot(&path("t-0/a"), 3, 1);
    bench.disk.rot(&path("t-0/a"), 7, 1);
    assert_eq!(bench.content("t-0/a"), Some(&b"0122456689"[..]));
    bench.run(DiskOp::Truncate { id: id(), file, len: 5 }).expect("cut");
    assert_eq!(bench.disk.tree().scars(&path("t-0/a")).len(), 1);
    bench.disk.heal_scars(&path("t-0"));
    assert_eq!(bench.content("t-0/a"), Some(&b"01234"[..]));
}
