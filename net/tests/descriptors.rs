//! A process without a descriptor left. Alone in its process, for the limit is the process's.

use std::fs::File;
use std::path::Path;
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use dohle_core::disk::{DiskOp, FileId, FilePath, IoDone, IoId, IoOk, What};
use dohle_net::clock::Clock;
use dohle_net::disk::{Files, Finished, Pool, UnitDisk};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

struct Bench {
    files: Arc<Files>,
    disk: UnitDisk,
    finished: Receiver<Finished>,
}

impl Bench {
    fn new(root: &Path) -> Self {
        let files = Arc::new(Files::new(vec![root.to_owned()], 100));
        let (sender, finished) = channel();
        let sender = Mutex::new(sender);
        let tell = move |finished| {
            // The test may have ended.
            let _ = sender.lock().expect("no panic").send(finished);
        };
        let pool = Arc::new(Pool::new("test-disk", 1));
        let disk = UnitDisk::new(Arc::clone(&files), pool, Clock::start(), Arc::new(tell));
        Self { files, disk, finished }
    }

    fn submit(&mut self, op: DiskOp) -> Option<IoDone> {
        let mut done = None;
        self.disk.submit(op, &mut |one| done = Some(one));
        done
    }

    /// Writes a new file.
    fn write(&mut self, file: u64) -> Option<IoDone> {
        let path = FilePath::new(0, format!("{file}.log"));
        assert!(self.submit(DiskOp::Open { file: FileId(file), path }).is_none());
        let data = vec![Bytes::from_static(b"data")];
        self.submit(DiskOp::Write { id: id(), file: FileId(file), position: 0, data })
    }

    fn wait(&mut self, limit: Duration) -> Option<IoDone> {
        let finished = self.finished.recv_timeout(limit).ok()?;
        let mut done = None;
        self.disk.on_finished(finished, &mut |one| done = Some(one));
        done
    }
}

fn id() -> IoId {
    IoId { owner: 0, generation: 0, what: What::Side, end: 0 }
}

/// Opens files until there is no descriptor left.
fn use_up() -> Vec<File> {
    std::iter::from_fn(|| File::open("/dev/null").ok()).collect()
}

#[track_caller]
fn check_done(done: Option<IoDone>) {
    assert_eq!(done.expect("it ends").result, Ok(IoOk::Done));
}

#[test]
fn a_missing_descriptor_is_no_failure_of_a_disk() {
    let root = std::env::temp_dir().join(format!("dohle-descriptors-{}", std::process::id()));
    std::fs::create_dir_all(&root).expect("a folder");
    let mut bench = Bench::new(&root);
    let maximum = getrlimit(Resource::Nofile).maximum;
    setrlimit(Resource::Nofile, Rlimit { current: Some(64), maximum }).expect("set");

    check_done(bench.write(1));
    let others = use_up();
    check_done(bench.write(2));
    let sent = bench.files.handed_out(FileId(2)).expect("it is open");
    assert!(bench.write(3).is_none(), "nothing can make room");
    assert!(bench.wait(Duration::from_millis(200)).is_none(), "it waits");
    let list = DiskOp::List { id: id(), path: FilePath::new(0, "") };
    assert!(bench.submit(list).is_none());
    drop(others);
    check_done(bench.wait(Duration::from_secs(20)));
    let listed = bench.wait(Duration::from_secs(20)).expect("it ends").result;
    assert!(matches!(listed, Ok(IoOk::Listing(Some(names))) if names.len() == 3));
    drop(sent);
    std::fs::remove_dir_all(&root).expect("removed");
}
