//! `dohle log verify` and `describe` over what a broker wrote, and over that with damage.

use std::collections::BTreeMap;
use std::convert::Infallible;

use bytes::Bytes;
use dohle_codec::NativeCodecs;
use dohle_core::disk::Stamp;
use dohle_core::verify::{Entry, Files, Finding, Survey};
use std::path::Path;

use super::*;

/// Damaged bytes that are tried.
const FLIPS: u64 = 4000;

/// The files of a data directory in memory.
#[derive(Clone, Default)]
struct Loaded(BTreeMap<String, Vec<u8>>);

impl Loaded {
    fn of(root: &Path) -> Self {
        let mut copy = Self::default();
        copy.add(root, "");
        copy
    }

    fn add(&mut self, folder: &Path, below: &str) {
        for entry in fs::read_dir(folder).unwrap() {
            let entry = entry.unwrap();
            let path = format!("{below}{}", entry.file_name().to_str().unwrap());
            match entry.file_type().unwrap().is_dir() {
                true => self.add(&entry.path(), &format!("{path}/")),
                false => drop(self.0.insert(path, fs::read(entry.path()).unwrap())),
            }
        }
    }

    fn findings(&mut self) -> Vec<Finding> {
        let mut findings = Vec::new();
        let mut on_finding = |finding| findings.push(finding);
        let Ok(_) = Survey::new(self, &NativeCodecs, true, &mut on_finding).directory();
        findings
    }
}

impl Files for Loaded {
    type Error = Infallible;

    fn list(&mut self, folder: &str) -> Result<Vec<Entry>, Infallible> {
        let below = if folder.is_empty() { String::new() } else { format!("{folder}/") };
        let mut entries = BTreeMap::new();
        for (path, bytes) in &self.0 {
            let Some(rest) = path.strip_prefix(&below) else { continue };
            let (name, is_dir) = rest.split_once('/').map_or((rest, false), |(dir, _)| (dir, true));
            let entry = Entry {
                name: name.to_owned(),
                is_dir,
                len: bytes.len() as u64,
                stamp: Stamp::default(),
            };
            entries.insert(name.to_owned(), entry);
        }
        Ok(entries.into_values().collect())
    }

    fn read(&mut self, path: &str, position: u64, len: u32) -> Result<Bytes, Infallible> {
        let content = self.0.get(path).map_or(&[][..], Vec::as_slice);
        let from = content.len().min(usize::try_from(position).unwrap());
        let upto = content.len().min(from + len as usize);
        Ok(Bytes::copy_from_slice(&content[from..upto]))
    }
}

fn filled(name: &str) -> Broker {
    let broker = Broker::start(name);
    broker.ok(&["topic", "create", "t", "--config", "index.interval.bytes=100"], "");
    let lines: String = (0..40).map(|number| format!("{number}\n")).collect();
    for codec in ["none", "gzip", "lz4", "snappy", "zstd"] {
        broker.ok(&["produce", "t", "-z", codec], &lines);
    }
    broker
}

/// Stops the broker as an operator does.
fn stop(broker: &mut Broker) {
    let pid = broker.process.id().to_string();
    assert!(Command::new("kill").args(["-TERM", &pid]).status().unwrap().success());
    assert!(broker.process.wait().unwrap().success());
}

fn log(command: &str, paths: &[&Path]) -> (Option<i32>, Vec<Value>) {
    let output = Command::new(DOHLE).args(["log", command, "--json"]).args(paths).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let rows = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    (output.status.code(), rows)
}

#[test]
fn what_a_broker_left_is_sound_and_damage_is_named() {
    let mut broker = filled("verify");
    let data = broker.folder.join("data");
    broker.process.kill().unwrap();
    broker.process.wait().unwrap();
    let (code, rows) = log("verify", &[&data]);
    assert_eq!((code, rows.len()), (Some(0), 1), "{rows:#?}");
    assert!(rows[0]["records"].as_u64().unwrap() >= 200, "{rows:?}");
    let (code, rows) = log("describe", &[&data.join("t-0")]);
    assert_eq!((code, rows.len()), (Some(0), 1));
    assert_eq!((&rows[0]["end"], &rows[0]["records"]), (&json!(200), &json!(200)), "{rows:?}");
    assert_eq!(rows[0]["topic"], "t");
    let segment = data.join("t-0/00000000000000000000.log");
    let sound = fs::read(&segment).unwrap();
    fs::write(&segment, &sound[..sound.len() - 1]).unwrap();
    let (code, rows) = log("verify", &[&segment]);
    assert_eq!((code, &rows[0]["kind"]), (Some(0), &json!("torn")), "{rows:?}");
    let mut damaged = sound;
    damaged[70] ^= 1;
    fs::write(&segment, damaged).unwrap();
    for path in [&segment, &data.join("t-0"), &data] {
        let (code, rows) = log("verify", &[path]);
        assert_eq!((code, rows.len()), (Some(1), 2), "{rows:?}");
        let place = (&rows[0]["kind"], &rows[0]["position"], &rows[0]["offset"]);
        assert_eq!(place, (&json!("damage"), &json!(0), &json!(0)));
        assert_eq!(rows[0]["file"], segment.to_str().unwrap());
    }
    assert_eq!(log("verify", &[&data.join("missing")]).0, Some(2));
    assert_eq!(log("verify", &[&broker.folder.join("stderr")]).0, Some(2));
    assert_eq!(log("verify", &[&broker.folder]).0, Some(2));
}

#[test]
fn flipped_bytes_are_found() {
    let mut broker = filled("flips");
    stop(&mut broker);
    let mut copy = Loaded::of(&broker.folder.join("data"));
    assert_eq!(copy.findings(), []);
    let ends = [".log", ".snapshot", "index"];
    let paths: Vec<String> =
        copy.0.keys().filter(|path| ends.iter().any(|end| path.ends_with(end))).cloned().collect();
    let sizes: Vec<u64> = paths.iter().map(|path| copy.0[path].len() as u64).collect();
    let (all, mut random) = (sizes.iter().sum::<u64>(), 42u64);
    let (mut flips, mut missed) = (0, Vec::new());
    for _ in 0..FLIPS {
        random =
            random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let (mut at, mut file) = ((random >> 33) % all, 0);
        while at >= sizes[file] {
            at -= sizes[file];
            file += 1;
        }
        let path = &paths[file];
        let (at, bit) = (usize::try_from(at).unwrap(), 1 << (random >> 30 & 7));
        copy.0.get_mut(path).unwrap()[at] ^= bit;
        flips += 1;
        if copy.findings().is_empty() {
            missed.push((path, at, bit));
        }
        copy.0.get_mut(path).unwrap()[at] ^= bit;
    }
    println!("{flips} flips, {} missed", missed.len());
    // An index has no checksum: an entry may lead to what fits as well.
    let fits = |path: &str, at: usize| match path.rsplit_once('.') {
        Some((_, "index")) => true,
        Some((_, "timeindex")) => at % 12 >= 8,
        _ => false,
    };
    let (fitting, others): (Vec<_>, Vec<_>) =
        missed.into_iter().partition(|(path, at, _)| fits(path, *at));
    assert_eq!(others, []);
    assert!(fitting.len() < flips / 20, "{fitting:?}");
}
