//! Each disk operation on real files, and the order of them.

use std::collections::BTreeMap;
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use dohle_core::disk::{DiskOp, FileId, FilePath, IoDone, IoError, IoId, IoOk, What};

use super::*;
use crate::clock::Clock;
use crate::testing::{Dice, Folder};

struct Bench {
    folder: Folder,
    files: Arc<Files>,
    pool: Arc<Pool>,
    disk: UnitDisk,
    finished: Receiver<Finished>,
    under_way: usize,
    tokens: i64,
}

impl Bench {
    fn new() -> Self {
        Self::at(Folder::new(), 100)
    }

    fn at(folder: Folder, open_max: usize) -> Self {
        let files = Arc::new(Files::new(vec![folder.path().to_owned()], open_max));
        let pool = Arc::new(Pool::new("test-disk", 3));
        let (sender, finished) = channel();
        let sender = Mutex::new(sender);
        let tell = move |finished| {
            // The test may have ended.
            let _ = sender.lock().expect("no panic").send(finished);
        };
        let disk =
            UnitDisk::new(Arc::clone(&files), Arc::clone(&pool), Clock::start(), Arc::new(tell));
        Self { folder, files, pool, disk, finished, under_way: 0, tokens: 0 }
    }

    fn id(&mut self) -> IoId {
        self.tokens += 1;
        IoId { owner: 0, generation: 0, what: What::Side, end: self.tokens }
    }

    /// Submits an operation; the completions that are there at once.
    fn submit(&mut self, op: DiskOp) -> Vec<IoDone> {
        self.under_way += usize::from(op.id().is_some());
        let mut done = Vec::new();
        self.disk.submit(op, &mut |one| done.push(one));
        self.under_way -= done.len();
        done
    }

    /// Waits until all is done; completions in the order in which they came.
    fn settle(&mut self) -> Vec<IoDone> {
        let mut done = Vec::new();
        while self.under_way > 0 {
            let limit = Duration::from_secs(20);
            let finished = self.finished.recv_timeout(limit).expect("an operation ends");
            let before = done.len();
            self.disk.on_finished(finished, &mut |one| done.push(one));
            self.under_way -= done.len() - before;
        }
        done
    }

    /// Submits one operation and waits for its result.
    fn run(&mut self, op: DiskOp) -> Result<IoOk, IoError> {
        let id = op.id();
        let mut done = self.submit(op);
        done.extend(self.settle());
        let one = done.into_iter().find(|one| Some(one.id) == id).expect("its completion");
        one.result
    }

    fn open(&mut self, file: u64, path: &str) -> FileId {
        let file = FileId(file);
        assert!(self.submit(DiskOp::Open { file, path: at(path) }).is_empty());
        file
    }

    fn write(&mut self, file: FileId, position: u64, data: &str) -> DiskOp {
        let data = data.split_inclusive(' ').map(|part| Bytes::copy_from_slice(part.as_bytes()));
        DiskOp::Write { id: self.id(), file, position, data: data.collect() }
    }

    fn read(&mut self, file: FileId, position: u64, len: u32) -> Result<IoOk, IoError> {
        let id = self.id();
        self.run(DiskOp::Read { id, file, position, len })
    }

    fn get(&mut self, path: &str) -> Option<Bytes> {
        let id = self.id();
        match self.run(DiskOp::Get { id, path: at(path) }) {
            Ok(IoOk::Content(content)) => content,
            other => panic!("{other:?}"),
        }
    }
}

fn at(path: &str) -> FilePath {
    FilePath::new(0, path)
}

fn bytes(text: &'static str) -> Bytes {
    Bytes::from_static(text.as_bytes())
}

#[test]
fn write_read_sync_truncate() {
    let mut bench = Bench::new();
    let file = bench.open(1, "t-0/0.log");
    assert!(bench.read(file, 0, 10).is_err(), "nothing is made by opening");
    assert!(!bench.folder.path().join("t-0").exists());
    let id = bench.id();
    assert_eq!(bench.run(DiskOp::Sync { id, file }), Ok(IoOk::Done), "nothing to sync");

    let write = bench.write(file, 0, "one two three ");
    assert_eq!(bench.submit(write).len(), 1, "a write completes inline");
    let write = bench.write(file, 14, "four");
    assert_eq!(bench.run(write), Ok(IoOk::Done));
    assert_eq!(bench.read(file, 4, 3), Ok(IoOk::Read(bytes("two"))));
    assert_eq!(bench.read(file, 14, 100), Ok(IoOk::Read(bytes("four"))), "less at the end");
    assert_eq!(bench.read(file, 100, 100), Ok(IoOk::Read(Bytes::new())));

    let sync = DiskOp::Sync { id: bench.id(), file };
    assert!(bench.submit(sync).is_empty(), "a sync is never inline");
    bench.settle();

    let id = bench.id();
    assert_eq!(bench.run(DiskOp::Truncate { id, file, len: 7 }), Ok(IoOk::Done));
    assert_eq!(bench.read(file, 0, 100), Ok(IoOk::Read(bytes("one two"))));
    let id = bench.id();
    assert_eq!(bench.run(DiskOp::Truncate { id, file, len: 1000 }), Ok(IoOk::Done));
    assert_eq!(bench.read(file, 0, 100), Ok(IoOk::Read(bytes("one two"))), "never longer");
}

#[test]
fn a_write_of_many_parts() {
    let mut bench = Bench::new();
    let file = bench.open(1, "parts");
    let data: Vec<Bytes> =
        (0..500u32).map(|at| vec![at.to_be_bytes()[3]; at as usize % 7].into()).collect();
    let all = data.concat();
    let id = bench.id();
    assert_eq!(bench.run(DiskOp::Write { id, file, position: 3, data }), Ok(IoOk::Done));
    let expected = [&[0; 3], all.as_slice()].concat();
    assert_eq!(bench.read(file, 0, 10_000), Ok(IoOk::Read(expected.into())));
}

#[test]
fn small_files_are_put_as_a_whole() {
    let mut bench = Bench::new();
    assert_eq!(bench.get("a/b/meta"), None);
    for durable in [false, true] {
        for data in ["first", "second and longer", "3"] {
            let put =
                DiskOp::Put { id: bench.id(), path: at("a/b/meta"), data: bytes(data), durable };
            let inline = bench.submit(put);
            assert_eq!(inline.is_empty(), durable, "what is durable waits for the device");
            bench.settle();
            assert_eq!(bench.get("a/b/meta"), Some(bytes(data)));
        }
    }
    let names = std::fs::read_dir(bench.folder.path().join("a/b")).expect("there").count();
    assert_eq!(names, 1, "no temporary file is left");
}

#[test]
fn folders_are_listed_in_order_renamed_and_removed() {
    let mut bench = Bench::new();
    let list = |bench: &mut Bench, path: &str| {
        let id = bench.id();
        match bench.run(DiskOp::List { id, path: at(path) }) {
            Ok(IoOk::Listing(entries)) => entries.map(|entries| {
                let names =
                    entries.into_iter().map(|e| (e.name, e.is_dir, e.len, e.modified.0 > 0));
                names.collect::<Vec<_>>()
            }),
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(list(&mut bench, "t-0"), None);
    for (file, name) in ["t-0/9.log", "t-0/10.log", "t-0/x/y"].into_iter().enumerate() {
        let file = bench.open(file as u64, name);
        let write = bench.write(file, 0, "12345");
        bench.run(write).expect("written");
    }
    let expected = [("10.log", false, 5), ("9.log", false, 5), ("x", true, 0)];
    let expected = expected.map(|(name, dir, len)| (name.to_owned(), dir, len, true)).to_vec();
    assert_eq!(list(&mut bench, "t-0"), Some(expected.clone()));

    let rename = DiskOp::Rename { id: bench.id(), from: at("t-0"), to: at("t-0.x-delete") };
    assert_eq!(bench.run(rename), Ok(IoOk::Done));
    assert_eq!(list(&mut bench, "t-0"), None);
    assert_eq!(list(&mut bench, "t-0.x-delete"), Some(expected));
    let file = FileId(0);
    assert_eq!(bench.read(file, 0, 9), Ok(IoOk::Read(bytes("12345"))), "an open file moves along");

    for _ in 0..2 {
        let remove = DiskOp::Remove { id: bench.id(), path: at("t-0.x-delete") };
        assert_eq!(bench.run(remove), Ok(IoOk::Done), "also when nothing is there");
    }
    assert_eq!(list(&mut bench, "t-0.x-delete"), None);
    let rename = DiskOp::Rename { id: bench.id(), from: at("never"), to: at("ever") };
    assert_eq!(bench.run(rename), Ok(IoOk::Done), "a log without records has no folder");
}

#[test]
fn a_file_is_known_by_its_state() {
    let mut bench = Bench::new();
    let stamps = |bench: &mut Bench| -> Vec<_> {
        let names = ["a.log", "none", "b.log"].map(str::to_owned).to_vec();
        let id = IoId { what: What::Scrub, ..bench.id() };
        match bench.run(DiskOp::Stat { id, folder: at("t-0"), names }) {
            Ok(IoOk::Listing(Some(found))) => {
                found.into_iter().map(|e| (e.name, e.len, e.stamp)).collect()
            }
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(stamps(&mut bench), []);
    for (file, name) in ["t-0/a.log", "t-0/b.log"].into_iter().enumerate() {
        let file = bench.open(file as u64, name);
        let write = bench.write(file, 0, "12345");
        bench.run(write).expect("written");
    }
    let before = stamps(&mut bench);
    let names: Vec<_> = before.iter().map(|(name, len, _)| (name.as_str(), *len)).collect();
    assert_eq!(names, [("a.log", 5), ("b.log", 5)]);
    assert!(before.iter().all(|(_, _, stamp)| stamp.is_still(*stamp)));
    // Neither reading nor syncing is a change, nor what happens to other files.
    bench.read(FileId(0), 0, 5).expect("read");
    let sync = DiskOp::Sync { id: bench.id(), file: FileId(0) };
    bench.run(sync).expect("synced");
    let put =
        DiskOp::Put { id: bench.id(), path: at("t-0/a.sum"), data: bytes("x"), durable: true };
    bench.run(put).expect("written");
    assert_eq!(stamps(&mut bench), before);
    // Another file of the same name and size, with the times that the old one had.
    let path = bench.folder.path().join("t-0/a.log");
    let modified = std::fs::metadata(&path).and_then(|meta| meta.modified()).expect("there");
    std::fs::write(path.with_extension("new"), "54321").expect("written");
    std::fs::rename(path.with_extension("new"), &path).expect("renamed");
    let file = std::fs::File::options().write(true).open(&path).expect("opened");
    file.set_modified(modified).expect("set");
    let after = stamps(&mut bench);
    assert!(!after[0].2.is_still(before[0].2));
    assert_eq!(after[1], before[1]);
    // The same one, written to.
    std::thread::sleep(Duration::from_millis(20));
    let write = bench.write(FileId(1), 0, "12345");
    bench.run(write).expect("written");
    assert!(!stamps(&mut bench)[1].2.is_still(before[1].2));
}

#[test]
fn what_the_search_for_damage_reads_is_read_elsewhere() {
    let mut bench = Bench::new();
    let file = bench.open(0, "t-0/a.log");
    let write = bench.write(file, 0, "12345");
    bench.run(write).expect("written");
    let id = IoId { what: What::Scrub, ..bench.id() };
    assert_eq!(bench.submit(DiskOp::Read { id, file, position: 0, len: 9 }), []);
    let done = bench.settle();
    assert_eq!(done[0].result, Ok(IoOk::Read(bytes("12345"))));
}

/// Which folders need no more syncs is forgotten when they go.
#[test]
fn folders_are_synced_up_to_the_data_directory_once() {
    let mut bench = Bench::new();
    let linked =
        |bench: &Bench| ["a", "a/b", "a/b/c"].map(|folder| bench.files.folder_is_linked(0, folder));
    for (round, gone) in ["a/b", "a"].into_iter().enumerate() {
        let file = bench.open(round as u64, "a/b/c/file");
        let write = bench.write(file, 0, "data");
        bench.run(write).expect("written");
        assert_eq!(linked(&bench), [round > 0, false, false], "written is not durable");
        let id = bench.id();
        bench.run(DiskOp::Sync { id, file }).expect("synced");
        assert_eq!(linked(&bench), [true; 3]);
        let id = bench.id();
        let op = match round {
            0 => DiskOp::Remove { id, path: at(gone) },
            _ => DiskOp::Rename { id, from: at(gone), to: at("elsewhere") },
        };
        bench.submit(DiskOp::Close { file });
        bench.run(op).expect("gone");
        assert_eq!(linked(&bench), [round == 0, false, false]);
    }
}

/// A closed file's range is readable for a while even though its name is gone.
#[test]
fn a_range_outlives_its_file() {
    let mut bench = Bench::new();
    let file = bench.open(1, "t-0/0.log");
    let write = bench.write(file, 0, "payload");
    bench.run(write).expect("written");
    bench.submit(DiskOp::Close { file });
    let remove = DiskOp::Remove { id: bench.id(), path: at("t-0") };
    bench.run(remove).expect("removed");
    let mut buffer = [0; 7];
    let handed = bench.files.handed_out(file).and_then(|handed| handed.file());
    let handed = handed.expect("it lingers");
    std::os::unix::fs::FileExt::read_exact_at(&*handed, &mut buffer, 0).expect("readable");
    assert_eq!(&buffer, b"payload");
    let expiry = bench.disk.deadline().expect("it does not linger for ever");
    bench.disk.tick(expiry);
    assert!(bench.files.handed_out(file).is_err());
    assert_eq!(bench.disk.deadline(), None);
}

#[test]
fn descriptors_are_bounded() {
    let mut bench = Bench::at(Folder::new(), 10);
    for at in 0..200 {
        let file = bench.open(at, &format!("t-{at}/0.log"));
        let write = bench.write(file, 0, &format!("log {at}"));
        bench.run(write).expect("written");
        assert!(bench.files.open_count() <= 11, "{} files are open", bench.files.open_count());
    }
    for at in 0..200 {
        let text = format!("log {at}");
        assert_eq!(bench.read(FileId(at), 0, 100), Ok(IoOk::Read(text.into_bytes().into())));
    }
    assert!(bench.files.open_count() <= 11);
}

/// What senders have open counts, and they get no more than that at once.
#[test]
fn descriptors_of_senders_are_bounded() {
    let mut bench = Bench::at(Folder::new(), 10);
    for at in 0..30 {
        let file = bench.open(at, &format!("t-{at}/0.log"));
        let write = bench.write(file, 0, &format!("log {at}"));
        bench.run(write).expect("written");
    }
    let hand_out = |at| bench.files.handed_out(FileId(at)).expect("it is there");
    let handed: Vec<_> = (0..30).map(hand_out).collect();
    assert!(bench.files.open_count() <= 11, "{} files are open", bench.files.open_count());
    for (at, handed) in handed.iter().enumerate() {
        let mut buffer = [0; 4];
        let file = handed.file().expect("it opens");
        std::os::unix::fs::FileExt::read_exact_at(&*file, &mut buffer, 0).expect("readable");
        assert_eq!(&buffer, b"log ", "{at}");
    }
    assert!(bench.files.open_count() <= 11);
    for at in 0..30 {
        bench.submit(DiskOp::Close { file: FileId(at) });
    }
    let expiry = bench.disk.deadline().expect("they do not linger for ever");
    bench.disk.tick(expiry.plus(Duration::from_secs(60)));
    assert!(handed[0].file().is_ok(), "it was open");
    assert!(handed[29].file().is_err(), "its name may mean another file by now");
}

#[test]
fn errors_name_the_file_and_a_full_disk_is_told_apart() {
    let mut bench = Bench::new();
    let file = bench.open(1, "full");
    std::os::unix::fs::symlink("/dev/full", bench.folder.path().join("full")).expect("a link");
    let write = bench.write(file, 0, "data");
    match bench.run(write) {
        Err(IoError::NoSpace(text)) => assert!(text.starts_with("full: "), "{text}"),
        other => panic!("{other:?}"),
    }
    std::fs::create_dir(bench.folder.path().join("folder")).expect("made");
    let file = bench.open(2, "folder");
    let write = bench.write(file, 0, "data");
    match bench.run(write) {
        Err(IoError::Failed(text)) => assert!(text.starts_with("folder: "), "{text}"),
        other => panic!("{other:?}"),
    }
    let write = bench.write(FileId(99), 0, "data");
    assert!(matches!(bench.run(write), Err(IoError::Failed(_))), "never opened");
}

/// What one file's operations do is what they would do one after the other.
#[test]
fn operations_on_a_path_keep_their_order() {
    for seed in 0..60 {
        let mut dice = Dice::seeded(seed);
        let mut bench = Bench::new();
        let mut next = 1;
        let mut file = bench.open(1, "t-0/log");
        // Path to content, as if everything happened at once.
        let mut model: BTreeMap<&str, Vec<u8>> = BTreeMap::new();
        let mut expected = Vec::new();
        let mut done = Vec::new();
        for _ in 0..60 {
            let id = bench.id();
            let op = match dice.below(8) {
                0 | 1 => {
                    let content = model.entry("t-0/log").or_default();
                    let (position, byte) =
                        (content.len(), u8::try_from(dice.below(256)).expect("a byte"));
                    content.extend([byte; 10]);
                    let data = vec![Bytes::from(vec![byte; 10])];
                    DiskOp::Write { id, file, position: position as u64, data }
                }
                2 | 3 => DiskOp::Sync { id, file },
                4 => {
                    let content = model.get_mut("t-0/log");
                    let len = content.as_ref().map_or(0, |content| content.len() / 2);
                    if let Some(content) = content {
                        content.truncate(len);
                    }
                    DiskOp::Truncate { id, file, len: len as u64 }
                }
                5 => {
                    if let Some(content) = model.get("t-0/log") {
                        expected.push((id, IoOk::Read(content.clone().into())));
                        DiskOp::Read { id, file, position: 0, len: 10_000 }
                    } else {
                        DiskOp::Sync { id, file }
                    }
                }
                6 => {
                    expected
                        .push((id, IoOk::Content(model.get("t-0/log").cloned().map(Bytes::from))));
                    DiskOp::Get { id, path: at("t-0/log") }
                }
                _ => {
                    // The folder goes out of the way, and the same name begins anew.
                    if let Some(content) = model.remove("t-0/log") {
                        model.insert("t-0-old/log", content);
                    }
                    bench.submit(DiskOp::Close { file });
                    let remove = DiskOp::Remove { id: bench.id(), path: at("t-0-old") };
                    done.extend(bench.submit(remove));
                    let rename = DiskOp::Rename { id, from: at("t-0"), to: at("t-0-old") };
                    done.extend(bench.submit(rename));
                    next += 1;
                    file = bench.open(next, "t-0/log");
                    continue;
                }
            };
            done.extend(bench.submit(op));
        }
        done.extend(bench.settle());
        let results: BTreeMap<IoId, _> = done.into_iter().map(|one| (one.id, one.result)).collect();
        for (id, ok) in expected {
            assert_eq!(results.get(&id), Some(&Ok(ok)), "seed {seed}, {id:?}");
        }
        assert!(results.values().all(Result::is_ok), "seed {seed}: {results:?}");
        assert_eq!(bench.get("t-0/log").as_deref(), model.get("t-0/log").map(Vec::as_slice));
        bench.pool.close();
    }
}

/// A write may pass a sync of its file that is under way; a removal may not.
#[test]
fn only_content_passes_a_sync() {
    let mut bench = Bench::new();
    let file = bench.open(1, "t-0/0.log");
    let write = bench.write(file, 0, "a");
    bench.submit(write);
    // The pool is kept busy, so that the sync stays under way.
    let (go, wait) = channel::<()>();
    let wait = Arc::new(Mutex::new(wait));
    for _ in 0..3 {
        let wait = Arc::clone(&wait);
        bench.pool.run(move || {
            // It ends when the test drops the other end.
            let _ = wait.lock().expect("no panic").recv();
        });
    }
    let sync = DiskOp::Sync { id: bench.id(), file };
    let remove = DiskOp::Remove { id: bench.id(), path: at("t-0") };
    assert!(bench.submit(sync).is_empty());
    let write = bench.write(file, 1, "b");
    assert_eq!(bench.submit(write).len(), 1, "inline, although a sync is under way");
    assert!(bench.submit(remove).is_empty());
    let get = DiskOp::Get { id: bench.id(), path: at("t-0/0.log") };
    assert!(bench.submit(get).is_empty(), "it waits for the removal");
    drop(go);
    let done = bench.settle();
    assert_eq!(done.last().map(|one| one.result.clone()), Some(Ok(IoOk::Content(None))));
}

#[test]
fn a_data_directory_is_used_once() {
    let folder = Folder::new();
    let dir = folder.path().join("deep/data");
    let lock = lock_dir(&dir).expect("made and locked");
    match lock_dir(&dir) {
        Err(why @ LockError::Held { .. }) => {
            let text = why.to_string();
            assert!(text.contains(&dir.display().to_string()), "{text}");
            assert!(text.contains("--data"), "{text}");
        }
        other => panic!("{other:?}"),
    }
    drop(lock);
    lock_dir(&dir).expect("free again");
    std::fs::write(folder.path().join("file"), "").expect("written");
    let below_a_file = lock_dir(&folder.path().join("file/data"));
    assert!(matches!(below_a_file, Err(LockError::Unusable { .. })), "{below_a_file:?}");
    let link = folder.path().join("link");
    std::os::unix::fs::symlink("nowhere", &link).expect("a link");
    for taken in [folder.path().join("file"), link] {
        let text = lock_dir(&taken).map(drop).expect_err("no directory").to_string();
        assert!(text.contains("is not a directory"), "{text}");
    }
}

/// A segment is searched by its index files.
#[test]
fn a_position_is_found_by_the_indexes() {
    use dohle_core::log::index::{Indexes, OffsetEntry, TimeEntry};
    use dohle_core::log::locate::{LocatePlan, Target};
    use dohle_wire::id::{Offset, Timestamp};
    use dohle_wire::record::{BatchBuilder, NoCodecs};

    let mut bench = Bench::new();
    let file = bench.open(1, "t-0/0.log");
    let mut indexes = Indexes::default();
    let mut log = Vec::new();
    for n in 0..3_000_u32 {
        let mut builder = BatchBuilder::new(Offset(n.into()));
        builder.push(Timestamp(n.into()), None, Some(b"value"), &[]).expect("it fits");
        if n > 0 {
            let position = u32::try_from(log.len()).expect("small");
            indexes.offsets.push(OffsetEntry { relative: n, position });
            indexes.push_time(TimeEntry { timestamp: Timestamp(n.into()), relative: n });
        }
        log.extend(builder.build(&NoCodecs).expect("it fits"));
    }
    let size = log.len() as u64;
    let id = bench.id();
    let data = vec![Bytes::from(log)];
    bench.run(DiskOp::Write { id, file, position: 0, data }).expect("written");
    for (path, data) in
        [("t-0/0.index", indexes.encode_offsets()), ("t-0/0.timeindex", indexes.encode_times())]
    {
        let id = bench.id();
        bench.run(DiskOp::Put { id, path: at(path), data, durable: false }).expect("put");
    }
    let by_offset = |n| Target::Offset(Offset(n));
    let by_time = |n| Target::Timestamp(Timestamp(n));
    for n in [0, 1, 2, 511, 512, 1_700, 2_999] {
        for target in [by_offset(n), by_time(n)] {
            let plan = LocatePlan {
                file,
                base: Offset(0),
                index: Some(at("t-0/0.index")),
                times: Some(at("t-0/0.timeindex")),
                from: 0,
                older: None,
                size,
                target,
                lower: Offset(0),
                upper: Offset(3_000),
                next: Offset(3_000),
            };
            let id = bench.id();
            match bench.run(DiskOp::Locate { id, plan }) {
                Ok(IoOk::Located(Some(found))) => assert_eq!(found.base, Offset(n), "{target:?}"),
                other => panic!("{target:?}: {other:?}"),
            }
        }
    }
}

#[test]
fn reserved_space_is_no_content_and_goes_when_the_file_is_cut() {
    use std::os::unix::fs::MetadataExt;
    let mut bench = Bench::new();
    let file = bench.open(1, "t-0/0.log");
    let absent = DiskOp::Reserve { id: bench.id(), file, len: 1 << 20 };
    assert_eq!(bench.run(absent), Ok(IoOk::Done), "there is nothing to reserve it for");
    let write = bench.write(file, 0, "abc");
    bench.run(write).expect("written");
    let path = bench.folder.path().join("t-0/0.log");
    let size = || {
        let metadata = std::fs::metadata(&path).expect("it is there");
        (metadata.len(), metadata.blocks() * 512)
    };
    for (len, reserved) in [(1 << 20, 1 << 20), (1 << 60, 1 << 20)] {
        let reserve = DiskOp::Reserve { id: bench.id(), file, len };
        assert_eq!(bench.run(reserve), Ok(IoOk::Done), "what is not to be had is done without");
        assert!(size().0 == 3 && size().1 >= reserved, "{:?}", size());
    }
    let truncate = DiskOp::Truncate { id: bench.id(), file, len: 3 };
    bench.run(truncate).expect("cut");
    assert!(size().0 == 3 && size().1 < 1 << 16, "{:?}", size());
}

#[test]
fn a_directory_that_has_the_name_of_another_is_not_taken_for_it() {
    let mut bench = Bench::new();
    let open = bench.open(1, "t-0/0.log");
    let write = bench.write(open, 0, "abc");
    assert_eq!(bench.run(write), Ok(IoOk::Done));
    let place = bench.folder.path().to_owned();
    let away = place.with_extension("away");
    std::fs::rename(&place, &away).expect("moved");
    for there in [false, true] {
        if there {
            std::fs::create_dir(&place).expect("made");
        }
        let write = bench.write(open, 3, "def");
        assert_eq!(bench.run(write), Ok(IoOk::Done), "what is open is what it was");
        let fresh = bench.open(2, "t-0/3.log");
        let ops = [
            bench.write(fresh, 0, "x"),
            DiskOp::Sync { id: bench.id(), file: fresh },
            DiskOp::Get { id: bench.id(), path: at("t-0/log-start") },
            DiskOp::Put { id: bench.id(), path: at("x"), data: bytes("x"), durable: true },
            DiskOp::Remove { id: bench.id(), path: at("t-0") },
            DiskOp::Rename { id: bench.id(), from: at("t-0"), to: at("t-0-delete") },
            DiskOp::List { id: bench.id(), path: at("t-0") },
        ];
        for op in ops {
            let shown = format!("{op:?}");
            match bench.run(op) {
                Err(IoError::Failed(why)) => assert!(why.contains("no longer there"), "{why}"),
                other => panic!("{shown}: {other:?}"),
            }
        }
    }
    assert_eq!(std::fs::read_dir(&place).expect("there").count(), 0, "nothing was made in it");
    std::fs::remove_dir_all(away).expect("removed");
}
