use std::collections::BTreeMap;
use std::convert::Infallible;

use dohle_wire::id::{
    LeaderEpoch, Offset, ProducerEpoch, ProducerId, Sequence, Timestamp, TopicId, Uuid,
};
use dohle_wire::record::{BatchBuilder, BatchHeader, NoCodecs};

use super::*;
use crate::log::index::{Indexes, OffsetEntry, TimeEntry};
use crate::log::producer::ProducerTable;
use crate::log::snapshot;

mod sums;

/// Files in memory, and the states of those that were written to.
#[derive(Clone, Debug, Default)]
struct Tree(BTreeMap<String, Vec<u8>>, BTreeMap<String, Stamp>);

impl Files for Tree {
    type Error = Infallible;

    fn list(&mut self, folder: &str) -> Result<Vec<Entry>, Infallible> {
        let below = if folder.is_empty() { String::new() } else { format!("{folder}/") };
        let mut entries: Vec<Entry> = Vec::new();
        for (path, bytes) in &self.0 {
            let Some(rest) = path.strip_prefix(&below) else { continue };
            let (name, is_dir) = rest.split_once('/').map_or((rest, false), |(dir, _)| (dir, true));
            if entries.iter().all(|entry| entry.name != name) {
                let len = if is_dir { 0 } else { bytes.len() as u64 };
                let stamp = self.1.get(path).copied().unwrap_or(Stamp(1));
                entries.push(Entry { name: name.to_owned(), is_dir, len, stamp });
            }
        }
        Ok(entries)
    }

    fn read(&mut self, path: &str, position: u64, len: u32) -> Result<Bytes, Infallible> {
        let content = self.0.get(path).map_or(&[][..], Vec::as_slice);
        let from = content.len().min(usize::try_from(position).unwrap());
        // Little at a time: batches lie across what is read.
        let upto = content.len().min(from + len.min(100) as usize);
        Ok(Bytes::copy_from_slice(&content[from..upto]))
    }
}

const FIRST: &str = "t-0/00000000000000000010.log";
const SECOND: &str = "t-0/00000000000000000016.log";

fn id() -> TopicId {
    TopicId(Uuid::from_u128(1 << 100))
}

fn batch(base: i64, count: i64, epoch: i32) -> Vec<u8> {
    let mut builder = BatchBuilder::new(Offset(base)).leader_epoch(LeaderEpoch(epoch)).producer(
        ProducerId(7),
        ProducerEpoch(0),
        Sequence(i32::try_from(base).unwrap()),
    );
    for at in 0..count {
        builder.push(Timestamp(1000 + base + at), Some(b"k"), Some(b"value"), &[]).unwrap();
    }
    builder.build(&NoCodecs).unwrap().to_vec()
}

/// The files of a segment, with an index entry for each batch but the first.
fn segment(tree: &mut Tree, base: i64, batches: &[Vec<u8>], producers: &mut ProducerTable) {
    let (mut log, mut indexes) = (Vec::new(), Indexes::default());
    for batch in batches {
        let header = BatchHeader::parse(batch).unwrap();
        let relative = u32::try_from(header.last_offset().0 - base).unwrap();
        if !log.is_empty() {
            let position = u32::try_from(log.len()).unwrap();
            indexes.offsets.push(OffsetEntry { relative, position });
        }
        indexes.push_time(TimeEntry { timestamp: header.max_timestamp, relative });
        producers.note(&header);
        log.extend(batch);
    }
    let name = |kind: &str| format!("t-0/{base:020}.{kind}");
    tree.0.insert(name("log"), log);
    tree.0.insert(name("index"), indexes.encode_offsets().to_vec());
    tree.0.insert(name("timeindex"), indexes.encode_times().to_vec());
}

/// A directory after a clean stop: one partition with offsets 10 to 22 in two segments.
fn sound() -> Tree {
    let mut tree = Tree::default();
    let mut producers = ProducerTable::default();
    segment(&mut tree, 10, &[batch(10, 2, 1), batch(12, 3, 1), batch(15, 1, 1)], &mut producers);
    tree.0.insert(
        "t-0/00000000000000000016.snapshot".to_owned(),
        snapshot::encode(&producers).to_vec(),
    );
    segment(&mut tree, 16, &[batch(16, 1, 1), batch(17, 4, 3), batch(21, 1, 3)], &mut producers);
    tree.0.insert(
        "t-0/00000000000000000022.snapshot".to_owned(),
        snapshot::encode(&producers).to_vec(),
    );
    for (path, text) in [
        ("t-0/partition.metadata", format!("version: 0\ntopic_id: {}\n", id())),
        ("t-0/leader-epoch-checkpoint", "0\n2\n1 10\n3 17\n".to_owned()),
        ("t-0/log-start", "11\n".to_owned()),
        ("recovery-point-offset-checkpoint", "0\n1\nt 0 22\n".to_owned()),
        ("replication-offset-checkpoint", "0\n1\nt 0 22\n".to_owned()),
        ("log-start-offset-checkpoint", "0\n1\nt 0 11\n".to_owned()),
        ("dohle-recovery-point-checkpoint", format!("0\n1\n{} 0 22\n", id())),
        ("meta.properties", "version=1\ncluster.id=c\nnode.id=1\n".to_owned()),
        (".kafka_cleanshutdown", "{\"version\":0,\"brokerEpoch\":5}".to_owned()),
    ] {
        tree.0.insert(path.to_owned(), text.into_bytes());
    }
    tree
}

fn survey(tree: &Tree) -> (Vec<Finding>, Vec<Facts>, Tally) {
    let (mut findings, mut tree) = (Vec::new(), tree.clone());
    let mut on_finding = |finding| findings.push(finding);
    let mut survey = Survey::new(&mut tree, &NoCodecs, true, &mut on_finding);
    let Ok(facts) = survey.directory();
    let tally = survey.tally();
    (findings, facts, tally)
}

/// A changed directory has this one finding: severity, file, check.
fn check(change: impl FnOnce(&mut Tree), expected: &[(Severity, &str, &str)]) -> Vec<Finding> {
    let mut tree = sound();
    change(&mut tree);
    let (findings, ..) = survey(&tree);
    let found: Vec<_> = findings
        .iter()
        .map(|each| (each.problem.severity, each.file.as_str(), each.problem.check))
        .collect();
    assert_eq!(found, expected, "{findings:#?}");
    findings
}

fn unclean(tree: &mut Tree, recovery_point: i64) {
    tree.0.remove(".kafka_cleanshutdown");
    let text = format!("0\n1\nt 0 {recovery_point}\n");
    tree.0.insert("recovery-point-offset-checkpoint".to_owned(), text.into_bytes());
    tree.0.remove("dohle-recovery-point-checkpoint");
}

fn put(path: &'static str, text: &'static str) -> impl FnOnce(&mut Tree) {
    move |tree| drop(tree.0.insert(path.to_owned(), text.as_bytes().to_vec()))
}

fn file<'a>(tree: &'a mut Tree, path: &str) -> &'a mut Vec<u8> {
    tree.0.get_mut(path).unwrap()
}

use Severity::{Damage, Torn, Warning};

#[test]
fn a_sound_directory_has_no_findings_and_is_described() {
    check(|_| (), &[]);
    let (_, facts, tally) = survey(&sound());
    assert_eq!((tally.batches, tally.records, tally.files), (6, 12, 17));
    let facts = &facts[0];
    assert_eq!((facts.log_start, facts.end, facts.segments), (Offset(11), Offset(22), 2));
    assert_eq!(facts.topic_id, Some(id()));
    assert_eq!(facts.codecs, BTreeMap::from([("none", 6)]));
    let times = (facts.first_timestamp, facts.last_timestamp);
    assert_eq!(times, (Some(Timestamp(1010)), Some(Timestamp(1021))));
    assert_eq!(facts.epochs, [(LeaderEpoch(1), Offset(10)), (LeaderEpoch(3), Offset(17))]);
    assert_eq!(facts.producers.as_ref().map(|(upto, _)| *upto), Some(Offset(22)));
}

#[test]
fn every_flip_of_every_file_is_found() {
    let sound = sound();
    for (path, bytes) in &sound.0 {
        for at in 0..bytes.len() {
            for bit in [0, 3, 7] {
                let mut tree = sound.clone();
                file(&mut tree, path)[at] ^= 1 << bit;
                let (findings, ..) = survey(&tree);
                // Names and numbers that could be right.
                let free = match path.rsplit(['/', '.']).next().unwrap_or_default() {
                    "properties" | "kafka_cleanshutdown" | "log-start" => true,
                    "timeindex" => at % 12 >= 8,
                    other => other.ends_with("-checkpoint"),
                };
                assert!(free || !findings.is_empty(), "{path} at {at}, bit {bit}");
            }
        }
    }
}

#[test]
fn what_cannot_be_right_in_a_checkpoint_is_found() {
    let sound = sound();
    let (clean, _, _) = survey(&sound);
    assert!(clean.is_empty());
    for (path, bytes) in sound.0.iter().filter(|(path, _)| path.ends_with("-checkpoint")) {
        for (at, byte) in bytes.iter().enumerate() {
            for mask in 1..=u8::MAX {
                let mut tree = sound.clone();
                file(&mut tree, path)[at] ^= mask;
                // Another number may be as good as the right one.
                let number = byte.is_ascii_digit() && (byte ^ mask).is_ascii_digit();
                let (findings, ..) = survey(&tree);
                assert!(number || !findings.is_empty(), "{path} at {at}, {mask:#04x}");
            }
        }
    }
    // Unless it is beyond what there is.
    for path in sound.0.keys().filter(|path| path.ends_with("-offset-checkpoint")) {
        let more = |tree: &mut Tree| *file(tree, path).iter_mut().nth_back(2).unwrap() = b'9';
        let mut tree = sound.clone();
        more(&mut tree);
        assert!(!survey(&tree).0.is_empty(), "{path}");
    }
}

#[test]
fn a_damaged_batch_is_told_with_its_place_and_what_follows_is_checked() {
    let second = batch(10, 2, 1).len();
    let damaged = [(Damage, FIRST, "checksum")];
    let findings = check(|tree| file(tree, FIRST)[second + 70] ^= 1, &damaged);
    let problem = &findings[0].problem;
    assert_eq!((problem.position, problem.offset), (Some(second as u64), Some(Offset(12))));
    let third = second + batch(12, 3, 1).len();
    assert!(problem.found.contains(&format!("go on at byte {third}")), "{problem:?}");
    // With a length that is wrong the next batch is looked for.
    let framing = [(Damage, FIRST, "framing")];
    let findings = check(|tree| file(tree, FIRST)[second + 8] ^= 1, &framing);
    assert!(findings[0].problem.found.contains(&format!("go on at byte {third}")));
    check(|tree| file(tree, FIRST)[second + 11] ^= 4, &[(Damage, FIRST, "checksum")]);
    check(|tree| file(tree, FIRST)[second + 16] = 1, &framing);
}

#[test]
fn a_torn_tail_is_no_damage_above_the_recovery_point_of_the_last_segment() {
    let cut = |tree: &mut Tree, path: &str| {
        let len = file(tree, path).len() - 5;
        file(tree, path).truncate(len);
    };
    let snapshot = "t-0/00000000000000000022.snapshot";
    let torn = [
        (Torn, SECOND, "framing"),
        (Torn, snapshot, "name"),
        (Torn, "replication-offset-checkpoint", "value"),
    ];
    check(|tree| (unclean(tree, 21), cut(tree, SECOND)).1, &torn);
    let mut below = vec![(Damage, SECOND, "framing"), (Torn, snapshot, "name")];
    below.extend([(Damage, "recovery-point-offset-checkpoint", "value"), torn[2]]);
    check(|tree| (unclean(tree, 22), cut(tree, SECOND)).1, &below);
    check(|tree| (unclean(tree, 10), cut(tree, FIRST)).1, &[(Damage, FIRST, "framing")]);
    let zeros = |tree: &mut Tree| file(tree, SECOND).extend([0; 300]);
    check(|tree| (unclean(tree, 22), zeros(tree)).1, &[(Torn, SECOND, "framing")]);
    check(zeros, &[(Damage, SECOND, "framing")]);
    // Sound batches behind it: no crash leaves that.
    check(
        |tree| (unclean(tree, 10), file(tree, SECOND)[70] ^= 1).1,
        &[(Damage, SECOND, "checksum")],
    );
}

#[test]
fn offsets_and_epochs_rise() {
    let second = batch(10, 2, 1).len();
    let moved = |to: i64| {
        move |tree: &mut Tree| {
            file(tree, FIRST)[second..second + 8].copy_from_slice(&to.to_be_bytes());
        }
    };
    let index = "t-0/00000000000000000010.index";
    let times = "t-0/00000000000000000010.timeindex";
    let (order, gap) = ((Damage, FIRST, "order"), (Damage, FIRST, "gap"));
    let pointed = [(Damage, index, "entry"), (Damage, times, "entry")];
    check(moved(11), &[order, gap, pointed[0], pointed[1]]);
    check(moved(13), &[gap, order, pointed[0], pointed[1]]);
    let epoch = |epoch: i32| {
        move |tree: &mut Tree| {
            file(tree, FIRST)[second + 12..second + 16].copy_from_slice(&epoch.to_be_bytes());
        }
    };
    check(epoch(0), &[(Damage, FIRST, "epoch")]);
    check(epoch(2), &[(Damage, FIRST, "epoch"), (Damage, FIRST, "epoch")]);
    let last = |tree: &mut Tree| {
        *file(tree, SECOND).iter_mut().rev().nth(batch(21, 1, 3).len() - 16).unwrap() = 9;
    };
    check(last, &[(Damage, SECOND, "epoch")]);
}

#[test]
fn gaps_between_segments_are_compaction_or_damage() {
    let gap = |tree: &mut Tree| {
        for kind in ["log", "index", "timeindex"] {
            tree.0.remove(&format!("t-0/00000000000000000016.{kind}"));
        }
        segment(tree, 17, &[batch(17, 4, 3), batch(21, 1, 3)], &mut ProducerTable::default());
    };
    let file = "t-0/00000000000000000017.log";
    check(gap, &[(Damage, file, "gap")]);
    check(|tree| (gap(tree), unclean(tree, 10)).1, &[(Torn, file, "gap")]);
    let cleaned = put("cleaner-offset-checkpoint", "0\n1\nt 0 17\n");
    check(|tree| (gap(tree), cleaned(tree)).1, &[]);
    let lost = |tree: &mut Tree| {
        for kind in ["log", "index", "timeindex"] {
            tree.0.remove(&format!("t-0/00000000000000000010.{kind}"));
        }
    };
    check(lost, &[(Damage, "t-0/log-start", "gap")]);
    let moved = put("t-0/leader-epoch-checkpoint", "0\n2\n1 16\n3 17\n");
    let told = put("log-start-offset-checkpoint", "0\n1\nt 0 16\n");
    check(|tree| (lost(tree), moved(tree), told(tree)).2, &[]);
}

#[test]
fn checkpoints_from_before_a_truncation_are_believed_up_to_where_it_says() {
    let cut = |tree: &mut Tree| {
        segment(tree, 16, &[batch(16, 1, 1)], &mut ProducerTable::default());
        tree.0.remove("t-0/00000000000000000022.snapshot");
        put("t-0/leader-epoch-checkpoint", "0\n1\n1 10\n")(tree);
        put("replication-offset-checkpoint", "0\n1\nt 0 17\n")(tree);
    };
    let killed = |tree: &mut Tree| {
        cut(tree);
        tree.0.remove(".kafka_cleanshutdown");
    };
    let says = |text| put("t-0/truncated-to", text);
    let lost = [
        (Damage, "recovery-point-offset-checkpoint", "value"),
        (Damage, "dohle-recovery-point-checkpoint", "value"),
    ];
    check(killed, &lost);
    check(|tree| (killed(tree), says("18\n")(tree)).1, &lost);
    check(|tree| (killed(tree), says("17\n")(tree)).1, &[]);
    check(|tree| (killed(tree), says("16\n")(tree)).1, &[]);
    check(|tree| (cut(tree), says("17\n")(tree)).1, &lost);
    check(says("x\n"), &[(Damage, "t-0/truncated-to", "value")]);
}

#[test]
fn records_are_read_to_the_last_byte() {
    let rewritten = |change: fn(&mut Vec<u8>)| {
        move |tree: &mut Tree| {
            let bytes = file(tree, FIRST);
            let mut first = bytes[..batch(10, 2, 1).len()].to_vec();
            change(&mut first);
            let crc = crc32c::crc32c(&first[21..]);
            first[17..21].copy_from_slice(&crc.to_be_bytes());
            bytes[..first.len()].copy_from_slice(&first);
        }
    };
    let records = [(Damage, FIRST, "records")];
    check(rewritten(|first| first[60] = 3), &records);
    check(rewritten(|first| first[60] = 1), &records);
    check(rewritten(|first| first[22] = 1), &records);
    check(rewritten(|first| *first.last_mut().unwrap() = 2), &records);
    let times =
        [(Damage, FIRST, "timestamps"), (Damage, "t-0/00000000000000000010.timeindex", "entry")];
    check(rewritten(|first| first[42] ^= 1), &times);
}

#[test]
fn indexes_are_held_against_the_batches() {
    let index = "t-0/00000000000000000010.index";
    let times = "t-0/00000000000000000010.timeindex";
    let zeros = |tree: &mut Tree| {
        file(tree, index).extend([0; 80]);
        file(tree, times).extend([0; 120]);
    };
    check(zeros, &[]);
    check(|tree| file(tree, index).push(0), &[(Damage, index, "size")]);
    check(|tree| file(tree, index)[7] += 1, &[(Damage, index, "entry")]);
    check(|tree| file(tree, index)[3] -= 1, &[(Damage, index, "entry")]);
    check(|tree| file(tree, index).extend([0, 0, 0, 1, 0, 0, 9, 9]), &[(Damage, index, "order")]);
    check(|tree| file(tree, index).extend([0, 0, 0, 9, 0, 0, 9, 9]), &[(Damage, index, "entry")]);
    check(|tree| file(tree, times)[7] -= 1, &[(Damage, times, "entry")]);
    check(
        |tree| file(tree, times)[0] = 1,
        &[(Damage, times, "order"), (Damage, times, "order"), (Damage, times, "entry")],
    );
    let last = "t-0/00000000000000000016.index";
    check(|tree| (unclean(tree, 22), file(tree, last)[7] += 1).1, &[(Torn, last, "entry")]);
    check(|tree| drop(tree.0.remove(index)), &[(Warning, index, "missing")]);
    let mut entry = vec![0, 0];
    for number in [7i64, 12, 15, 12] {
        entry.extend(number.to_be_bytes());
    }
    let aborted = "t-0/00000000000000000010.txnindex";
    let add = |tree: &mut Tree| drop(tree.0.insert(aborted.to_owned(), entry.clone()));
    check(add, &[(Damage, aborted, "entry")]);
    check(|tree| (add(tree), file(tree, aborted)[1] = 1).1, &[(Damage, aborted, "version")]);
    check(|tree| (add(tree), file(tree, aborted)[17] = 99).1, &[(Damage, aborted, "value")]);
    check(
        |tree| (add(tree), file(tree, aborted).push(1)).1,
        &[(Damage, aborted, "size"), (Damage, aborted, "entry")],
    );
}

#[test]
fn text_files_are_read_to_the_letter() {
    let one = |path: &'static str, text: &'static str, check_name: &'static str, at: u64| {
        let findings = check(put(path, text), &[(Damage, path, check_name)]);
        assert_eq!(findings[0].problem.position, Some(at), "{text:?}");
    };
    let recovery = "recovery-point-offset-checkpoint";
    one(recovery, "1\n0\n", "version", 0);
    one(recovery, "0\n2\nt 0 22\n", "count", 2);
    one(recovery, "0\n1\nt 0 -1\n", "line", 4);
    one(recovery, "0\n2\nt 0 22\nt 0 22\n", "line", 11);
    one(recovery, "0\n1\nt 0 23\n", "value", 4);
    one("replication-offset-checkpoint", "0\n1\nt 0 10\n", "value", 4);
    one("log-start-offset-checkpoint", "0\n1\nt 0 23\n", "value", 4);
    one("t-0/leader-epoch-checkpoint", "0\n2\n1 11\n1 17\n", "line", 9);
    one("t-0/log-start", "x\n", "value", 0);
    one("meta.properties", "version=1\ncluster.id=c\nnode.id=-1\n", "value", 0);
    one("meta.properties", "version=1\nnode.id=1\n", "value", 0);
    one("t-0/quorum-state", "{}", "value", 0);
    let owner = check(
        put("t-0/partition.metadata", "version: 0\ntopic_id: x\n"),
        &[
            (Damage, "t-0/partition.metadata", "value"),
            (Damage, "dohle-recovery-point-checkpoint", "value"),
        ],
    );
    assert_eq!(owner[0].problem.position, Some(11));
    let end = put("t-0/leader-epoch-checkpoint", "0\n3\n1 11\n3 17\n4 23\n");
    check(end, &[(Damage, "t-0/leader-epoch-checkpoint", "value")]);
    check(
        put("cleaner-offset-checkpoint", "0\n1\nx 0 1\n"),
        &[(Warning, "cleaner-offset-checkpoint", "value")],
    );
    check(|tree| drop(tree.0.remove("meta.properties")), &[(Damage, "", "missing")]);
    let folder = put("cleaner-offset-checkpoint/x", "");
    check(folder, &[(Damage, "cleaner-offset-checkpoint", "value")]);
}

#[test]
fn snapshots_are_checked_and_so_is_what_they_say() {
    let path = "t-0/00000000000000000016.snapshot";
    let sealed = |change: fn(&mut Vec<u8>)| {
        move |tree: &mut Tree| {
            let bytes = file(tree, path);
            change(bytes);
            let crc = crc32c::crc32c(&bytes[6..]);
            bytes[2..6].copy_from_slice(&crc.to_be_bytes());
        }
    };
    check(|tree| file(tree, path)[20] ^= 1, &[(Damage, path, "checksum")]);
    check(|tree| file(tree, path)[1] = 2, &[(Damage, path, "version")]);
    check(|tree| file(tree, path).truncate(9), &[(Damage, path, "size")]);
    check(sealed(|bytes| bytes[9] = 9), &[(Damage, path, "count")]);
    check(sealed(|bytes| bytes[31] = 99), &[(Damage, path, "value")]);
    check(sealed(|bytes| bytes.push(0)), &[(Damage, path, "value")]);
}

#[test]
fn what_belongs_to_nothing_is_named() {
    check(put("notes.txt", ""), &[(Warning, "notes.txt", "stray")]);
    check(put("t-0/notes.txt", ""), &[(Warning, "t-0/notes.txt", "stray")]);
    check(put("t-0.0123-stray/x.log", ""), &[(Warning, "t-0.0123-stray", "stray")]);
    check(put("t-0.0123-delete/x.log", ""), &[]);
    check(put("t-0/00000000000000000010.log.deleted", ""), &[]);
    let orphan = "t-0/00000000000000000013.index";
    check(put(orphan, ""), &[(Warning, orphan, "stray")]);
    let other = put("t-1/partition.metadata", "version: 0\ntopic_id: AAAAAAAAAAAAAAAAAAABLA\n");
    check(other, &[(Damage, "t-1/partition.metadata", "value")]);
}

#[test]
fn a_folder_and_a_file_are_looked_at_alone() {
    let mut tree = sound();
    file(&mut tree, FIRST)[70] ^= 1;
    file(&mut tree, SECOND)[70] ^= 1;
    let index = "t-0/00000000000000000016.index";
    file(&mut tree, index)[7] += 1;
    file(&mut tree, "meta.properties").clear();
    let run = |path: &str, is_file: bool| {
        let (mut files, mut tree) = (Vec::new(), tree.clone());
        let mut on_finding = |finding: Finding| files.push(finding.file);
        let mut survey = Survey::new(&mut tree, &NoCodecs, true, &mut on_finding);
        match is_file {
            true => assert_eq!(survey.file(path), Ok(true)),
            false => drop(survey.folder(path)),
        }
        files
    };
    assert_eq!(run("t-0", false), [FIRST, SECOND, index]);
    assert_eq!(run(FIRST, true), [FIRST]);
    assert_eq!(run(index, true), [index]);
    assert_eq!(run("t-0/log-start", true), [""; 0]);
    assert_eq!(run("meta.properties", true), ["meta.properties"]);
}
