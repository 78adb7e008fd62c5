use std::fs;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};

use bytes::Bytes;
use dohle_codec::NativeCodecs;
use dohle_wire::Writer;
use dohle_wire::id::{LeaderEpoch, Offset, ProducerEpoch, ProducerId, Sequence, Timestamp, Uuid};
use dohle_wire::message::{
    ConsumerGroupMetadataKey, GroupMetadataKey, GroupRecord, MetadataRecord, TopicRecord,
};
use dohle_wire::record::control::{ControlRecord, EndTransaction};
use dohle_wire::record::{BatchBuilder, Compression, Header};
use serde_json::{Value, json};

use super::{DumpArgs, Failure, dump};

/// A folder that goes away with the test.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("dohle-log-dump-{}-{number}", std::process::id());
        let path = std::env::temp_dir().join(name);
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    fn with(self, name: &str, bytes: impl AsRef<[u8]>) -> Self {
        let path = self.0.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
        self
    }

    /// What is printed about `name`, an object a line, without the name of the file; and the number
    /// of damages.
    fn dump(&self, name: &str, print_data: bool) -> (Vec<Value>, u64) {
        let args = DumpArgs { paths: vec![self.0.join(name)], print_data, json: true };
        let mut text = Vec::new();
        let damages = dump(&args, &mut text).unwrap();
        let rows = String::from_utf8(text).unwrap();
        let rows = rows.lines().map(|line| {
            let mut row: Value = serde_json::from_str(line).unwrap();
            row.as_object_mut().unwrap().remove("file").unwrap();
            row
        });
        (rows.collect(), damages)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn batch(base: i64, values: &[&str]) -> Bytes {
    let mut builder = BatchBuilder::new(Offset(base))
        .leader_epoch(LeaderEpoch(2))
        .producer(ProducerId(7), ProducerEpoch(1), Sequence(10))
        .compression(Compression::Lz4, None);
    for (value, at) in values.iter().zip(100..) {
        let headers = [Header { key: b"h", value: Some(b"1") }];
        builder.push(Timestamp(at), Some(b"k"), Some(value.as_bytes()), &headers).unwrap();
    }
    builder.build(&NativeCodecs).unwrap()
}

fn kinds(rows: &[Value]) -> Vec<&str> {
    rows.iter().map(|row| row["kind"].as_str().unwrap()).collect()
}

#[test]
fn batches_and_records_of_a_segment() {
    let bytes = [batch(5, &["a", "b"]), batch(7, &["c"])].concat();
    let folder = Folder::new().with("t-0/00000000000000000005.log", &bytes);
    let (rows, damages) = folder.dump("t-0/00000000000000000005.log", true);
    assert_eq!(damages, 0);
    assert_eq!(kinds(&rows), ["batch", "record", "record", "batch", "record"]);
    assert_eq!((&rows[0]["baseOffset"], &rows[0]["lastOffset"]), (&json!(5), &json!(6)));
    assert_eq!(rows[0]["compresscodec"], "lz4");
    assert_eq!(rows[0]["isvalid"], true);
    let second = json!({
        "kind": "record", "offset": 6, "CreateTime": 101, "keySize": 1, "valueSize": 1,
        "sequence": 11, "headers": [["h", "1"]], "key": "k", "payload": "b",
    });
    assert_eq!(rows[2], second);
    let (rows, _) = folder.dump("t-0/00000000000000000005.log", false);
    assert_eq!(kinds(&rows), ["batch", "batch"]);
}

#[test]
fn every_flipped_bit_of_a_batch_is_found() {
    let good = batch(0, &["abc"]);
    // The base offset and the leader epoch are not covered by the checksum.
    for at in (8..good.len()).filter(|at| !(12..16).contains(at)) {
        let mut bytes = [good.clone(), batch(1, &["d"])].concat();
        bytes[at] ^= 4;
        let folder = Folder::new().with("x.log", bytes);
        let (rows, damages) = folder.dump("x.log", false);
        assert!(damages > 0, "byte {at}: {rows:?}");
        let damage = rows.iter().find(|row| row["kind"] == "damage").unwrap();
        assert_eq!(damage["position"], 0, "byte {at}");
    }
}

#[test]
fn a_torn_end_is_reported_where_it_begins() {
    let (first, second) = (batch(0, &["a"]), batch(1, &["b"]));
    for left in [1, 17, 60, 61, second.len() - 1] {
        let folder = Folder::new().with("x.log", [&first[..], &second[..left]].concat());
        let (rows, damages) = folder.dump("x.log", false);
        assert_eq!((kinds(&rows), damages), (vec!["batch", "damage"], 1), "{left}");
        assert_eq!(rows[1]["position"], first.len());
    }
    let folder = Folder::new().with("x.log", [&first[..], &[0; 500]].concat());
    let (rows, _) = folder.dump("x.log", false);
    assert!(rows[1]["problem"].as_str().unwrap().contains("zeros"), "{rows:?}");
}

#[test]
fn metadata_and_control_records_are_decoded() {
    let mut w = Writer::new();
    let topic = TopicRecord { name: "orders".to_owned(), topic_id: Uuid::from_u128(500) };
    MetadataRecord::from(topic).encode(&mut w, 0).unwrap();
    let value = w.into_bytes().unwrap();
    let mut builder = BatchBuilder::new(Offset(0));
    builder.push(Timestamp(1), None, Some(&value), &[]).unwrap();
    let marker = ControlRecord::Commit(EndTransaction { coordinator_epoch: 3 });
    let mut control = BatchBuilder::new(Offset(1)).control();
    let value = marker.value().unwrap();
    control.push(Timestamp(1), Some(&marker.key()), Some(&value), &[]).unwrap();
    let bytes =
        [builder.build(&NativeCodecs).unwrap(), control.build(&NativeCodecs).unwrap()].concat();
    let name = "__cluster_metadata-0/00000000000000000000.log";
    let (rows, damages) = Folder::new().with(name, bytes).dump(name, false);
    assert_eq!(damages, 0);
    assert_eq!(kinds(&rows), ["batch", "record", "batch", "record"]);
    assert_eq!((&rows[1]["type"], &rows[1]["version"]), (&json!("TopicRecord"), &json!(0)));
    let fields = json!({"name": "orders", "topicId": Uuid::from_u128(500).to_string()});
    assert_eq!(rows[1]["data"], fields);
    assert_eq!(rows[3]["control"], json!({"coordinatorEpoch": 3}));
}

#[test]
fn records_of_groups_are_decoded() {
    let key = GroupMetadataKey { group: "g".to_owned() };
    let other = ConsumerGroupMetadataKey { group_id: "g".to_owned() };
    let records = [
        GroupRecord::GroupMetadata(key, Some(Default::default())),
        GroupRecord::ConsumerGroupMetadata(other, None),
    ];
    let mut builder = BatchBuilder::new(Offset(0));
    for record in records {
        let (key, value) = record.encode().unwrap();
        builder.push(Timestamp(1), Some(&key), value.as_deref(), &[]).unwrap();
    }
    let mut unreadable = BatchBuilder::new(Offset(2));
    unreadable.push(Timestamp(1), None, Some(b"x"), &[]).unwrap();
    let bytes =
        [builder.build(&NativeCodecs).unwrap(), unreadable.build(&NativeCodecs).unwrap()].concat();
    let name = "__consumer_offsets-49/00000000000000000000.log";
    let folder = Folder::new().with(name, bytes);
    let (rows, damages) = folder.dump(name, true);
    assert_eq!(damages, 1);
    assert_eq!(kinds(&rows), ["batch", "record", "record", "batch", "damage"]);
    let first = ["type", "version", "key"].map(|name| rows[1][name].clone());
    assert_eq!(first, [json!("GroupMetadata"), json!(3), json!({"group": "g"})]);
    assert_eq!(rows[1]["data"]["generation"], 0);
    let second = ["type", "key", "data"].map(|name| rows[2][name].clone());
    assert_eq!(second, [json!("ConsumerGroupMetadata"), json!({"groupId": "g"}), json!(null)]);
    let (rows, _) = folder.dump(name, false);
    assert_eq!(kinds(&rows), ["batch", "batch", "damage"]);
}

#[test]
fn indexes_are_checked_against_the_segment() {
    let (first, second) = (batch(5, &["a", "b"]), batch(7, &["c"]));
    let position = first.len() as i32;
    let entry = |delta: i32, position: i32| [delta.to_be_bytes(), position.to_be_bytes()].concat();
    let times = [&9i64.to_be_bytes()[..], &2i32.to_be_bytes()].concat();
    let folder = Folder::new()
        .with("00000000000000000005.log", [first, second].concat())
        .with("00000000000000000005.index", [entry(2, position), vec![0; 16]].concat())
        .with("00000000000000000005.timeindex", times);
    let (rows, damages) = folder.dump("00000000000000000005.index", false);
    assert_eq!(damages, 0, "{rows:?}");
    let entry_row = json!({"kind": "offsetIndex", "offset": 7, "position": position});
    assert_eq!(rows, [entry_row, json!({"kind": "filler", "zeros": 16})]);
    let (rows, damages) = folder.dump("00000000000000000005.timeindex", false);
    assert_eq!(
        (rows, damages),
        (vec![json!({"kind": "timeIndex", "timestamp": 9, "offset": 7})], 0)
    );
    for (wrong, at) in [(entry(2, position + 1), 0), (entry(1, position), 0), (entry(9, 9000), 0)] {
        let folder = Folder::new()
            .with(
                "00000000000000000005.log",
                fs::read(folder.0.join("00000000000000000005.log")).unwrap(),
            )
            .with("00000000000000000005.index", &wrong);
        let (rows, damages) = folder.dump("00000000000000000005.index", false);
        assert_eq!(damages, 1, "{wrong:?}");
        assert_eq!(rows[1]["position"], at);
    }
}

#[test]
fn checkpoints_properties_and_votes() {
    let folder = Folder::new()
        .with("recovery-point-offset-checkpoint", "0\n2\na b 0 7\nt 3 9\n")
        .with("leader-epoch-checkpoint", "0\n2\n1 0\n3 50\n")
        .with("quorum-state", r#"{"leaderId":1,"leaderEpoch":4,"data_version":1}"#)
        .with("partition.metadata", "version: 0\ntopic_id: AAAAAAAAAAAAAAAAAAAAAQ\n");
    let (rows, _) = folder.dump("recovery-point-offset-checkpoint", false);
    let of = |topic, partition, offset| json!({"kind": "checkpoint", "topic": topic, "partition": partition, "offset": offset});
    assert_eq!(rows, [of("a b", 0, 7), of("t", 3, 9)]);
    let (rows, _) = folder.dump("leader-epoch-checkpoint", false);
    assert_eq!(rows[1], json!({"kind": "leaderEpoch", "epoch": 3, "startOffset": 50}));
    let (rows, _) = folder.dump("quorum-state", false);
    assert_eq!(rows[0]["data"]["leaderEpoch"], 4);
    let (rows, _) = folder.dump("partition.metadata", false);
    assert_eq!(rows[0], json!({"kind": "property", "name": "version", "value": "0"}));
    let (_, damages) = folder.dump(".", false);
    assert_eq!(damages, 0);
}

#[test]
fn damaged_text_files_are_reported_with_a_position() {
    let check = |name: &str, text: &str, position: u64| {
        let (rows, damages) = Folder::new().with(name, text).dump(name, false);
        assert!(damages > 0, "{name} {text:?}");
        let damage = rows.iter().find(|row| row["kind"] == "damage").unwrap();
        assert_eq!(damage["position"], position, "{name} {text:?}");
    };
    check("recovery-point-offset-checkpoint", "1\n0\n", 0);
    check("recovery-point-offset-checkpoint", "0\n1\nt 0 x\n", 4);
    check("recovery-point-offset-checkpoint", "0\n2\nt 0 1\n", 2);
    check("leader-epoch-checkpoint", "0\n2\n3 5\n2 9\n", 8);
    check("quorum-state", "{\"a\":\n1,}", 8);
    check("meta.properties", "version=1\nnonsense\n", 10);
    check("meta.properties", "", 0);
    check("meta.properties", "version=1\ncluster.id=\nnode.id=1\n", 32);
    check("partition.metadata", "", 0);
    check("partition.metadata", "version: 0\n", 11);
}

#[test]
fn snapshots_of_producers() {
    let mut entry = Vec::new();
    entry.extend(7i64.to_be_bytes());
    entry.extend(2i16.to_be_bytes());
    entry.extend(41i32.to_be_bytes());
    entry.extend(99i64.to_be_bytes());
    entry.extend(3i32.to_be_bytes());
    entry.extend(1_000i64.to_be_bytes());
    entry.extend((-1i32).to_be_bytes());
    entry.extend((-1i64).to_be_bytes());
    let mut earlier = 0x646f_4835u32.to_be_bytes().to_vec();
    earlier.extend(7i64.to_be_bytes());
    earlier.extend(37i32.to_be_bytes());
    earlier.extend([0; 20]);
    let with_head = |tail: &[u8]| {
        let tail = [&1i32.to_be_bytes()[..], &entry, tail].concat();
        let crc = crc32c::crc32c(&tail).to_be_bytes();
        [&1i16.to_be_bytes()[..], &crc, &tail].concat()
    };
    let name = "00000000000000000100.snapshot";
    let (rows, damages) = Folder::new().with(name, with_head(&[])).dump(name, false);
    assert_eq!((rows.len(), damages), (1, 0), "as Kafka writes it");
    let (rows, damages) = Folder::new().with(name, with_head(&earlier[..20])).dump(name, false);
    assert_eq!((rows.len(), damages), (2, 1), "{rows:?}");
    let bytes = with_head(&earlier);
    let (rows, damages) = Folder::new().with(name, &bytes).dump(name, false);
    assert_eq!(damages, 0);
    assert_eq!((&rows[0]["producerId"], &rows[0]["lastSequence"]), (&json!(7), &json!(41)));
    assert_eq!((&rows[1]["earlierOf"], &rows[1]["lastSequence"]), (&json!(7), &json!(37)));
    for at in 0..bytes.len() {
        let mut bytes = bytes.clone();
        bytes[at] ^= 1;
        let (_, damages) = Folder::new().with(name, &bytes).dump(name, false);
        assert!(damages > 0, "byte {at}");
    }
    let (_, damages) = Folder::new().with(name, &bytes[..30]).dump(name, false);
    assert!(damages > 0);
}

#[test]
fn segments_are_checked_against_the_one_before() {
    let check = |first: Bytes, second: i64, expected: (&[&str], u64)| {
        let folder = Folder::new()
            .with("t-0/00000000000000000005.log", first)
            .with(&format!("t-0/{second:020}.log"), batch(second, &["c"]))
            .with("t-1/00000000000000000000.log", batch(0, &["d"]));
        let (rows, damages) = folder.dump(".", false);
        assert_eq!((&kinds(&rows)[..], damages), expected, "{rows:?}");
        rows
    };
    let first = batch(5, &["a", "b"]);
    check(first.clone(), 7, (&["batch", "batch", "batch"], 0));
    let rows = check(first.clone(), 9, (&["batch", "gap", "batch", "batch"], 0));
    let gap = json!({"kind": "gap", "firstMissingOffset": 7, "lastMissingOffset": 8});
    assert_eq!(rows[1], gap);
    check(first.clone(), 6, (&["batch", "damage", "batch", "batch"], 1));
    // Where a damaged segment ends nobody knows.
    let torn = first.slice(..first.len() - 1);
    check(torn, 9, (&["damage", "batch", "batch"], 1));
}

#[test]
fn unknown_and_missing_files_are_refused() {
    let folder = Folder::new().with("notes.txt", "");
    let refused = |name: &str| {
        let paths = vec![folder.0.join(name)];
        dump(&DumpArgs { paths, print_data: false, json: false }, Vec::new()).unwrap_err()
    };
    assert!(matches!(refused("notes.txt"), Failure::Unknown(_)));
    for missing in ["missing.log", "missing"] {
        let Failure::Path(_, error) = refused(missing) else { panic!("{missing}") };
        assert_eq!(error.kind(), std::io::ErrorKind::NotFound);
    }
}

#[test]
fn what_is_too_large_to_be_one_is_not_read() {
    for name in ["00000000000000000100.snapshot", "00000000000000000100.index", "quorum-state"] {
        let folder = Folder::new().with(name, "");
        let file = fs::File::options().write(true).open(folder.0.join(name)).unwrap();
        file.set_len(1 << 40).unwrap();
        let (rows, damages) = folder.dump(name, false);
        assert_eq!(damages, 1, "{rows:?}");
        assert!(rows[0]["problem"].as_str().unwrap().contains("at most"), "{rows:?}");
    }
}
