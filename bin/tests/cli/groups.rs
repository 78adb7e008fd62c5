//! `dohle group` against a broker, with a member that is made by hand.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::process::Command;

use bytes::Bytes;
use dohle_wire::header::decode_response_header;
use dohle_wire::message::consumer_protocol_assignment::TopicPartition;
use dohle_wire::message::{
    ConsumerProtocolAssignment, ConsumerProtocolSubscription, JoinGroupRequest,
    JoinGroupRequestProtocol, Request, SyncGroupRequest, SyncGroupRequestAssignment,
};
use dohle_wire::{ErrorCode, Message, Reader, RequestHeader, Writer};
use serde_json::{Value, json};

use super::{Broker, DOHLE};

/// A broker on which a group starts at once.
fn broker(name: &str) -> Broker {
    let mut command = Command::new(DOHLE);
    command.env("KAFKA_GROUP_INITIAL_REBALANCE_DELAY_MS", "0");
    Broker::start_with(name, command)
}

/// A member of a group, as long as its connection.
struct Member(TcpStream);

impl Member {
    fn ask<R: Request>(&mut self, version: i16, request: &R) -> R::Response {
        let mut writer = Writer::new();
        let header = RequestHeader {
            api_key: R::KEY.code(),
            api_version: version,
            correlation_id: 1,
            client_id: Some("by-hand".to_owned()),
        };
        header.encode(&mut writer).unwrap();
        request.encode(&mut writer, version).unwrap();
        let bytes = writer.into_bytes().unwrap();
        let length = i32::try_from(bytes.len()).unwrap();
        self.0.write_all(&length.to_be_bytes()).unwrap();
        self.0.write_all(&bytes).unwrap();
        let mut length = [0; 4];
        self.0.read_exact(&mut length).unwrap();
        let mut frame = vec![0; usize::try_from(i32::from_be_bytes(length)).unwrap()];
        self.0.read_exact(&mut frame).unwrap();
        let mut reader = Reader::new(Bytes::from(frame));
        decode_response_header(&mut reader, R::KEY, version).unwrap();
        R::Response::decode(&mut reader, version).unwrap()
    }

    /// Joins group `g`, and reads partition 0 of `t`.
    fn join(broker: &Broker) -> Self {
        let mut member = Self(TcpStream::connect(&broker.address).unwrap());
        let subscription =
            ConsumerProtocolSubscription { topics: vec!["t".to_owned()], ..Default::default() };
        let mut join = JoinGroupRequest {
            group_id: "g".to_owned(),
            session_timeout_ms: 30_000,
            rebalance_timeout_ms: 30_000,
            protocol_type: "consumer".to_owned(),
            protocols: vec![JoinGroupRequestProtocol {
                name: "range".to_owned(),
                metadata: versioned(&subscription),
            }],
            ..Default::default()
        };
        let refused = member.ask(5, &join);
        assert_eq!(ErrorCode::from(refused.error_code), ErrorCode::MemberIdRequired);
        join.member_id = refused.member_id;
        let joined = member.ask(5, &join);
        assert_eq!(ErrorCode::from(joined.error_code), ErrorCode::None);
        let assignment = ConsumerProtocolAssignment {
            assigned_partitions: vec![TopicPartition {
                topic: "t".to_owned(),
                partitions: vec![0],
            }],
            user_data: None,
        };
        let synced = member.ask(
            3,
            &SyncGroupRequest {
                group_id: "g".to_owned(),
                generation_id: joined.generation_id,
                member_id: joined.member_id.clone(),
                assignments: vec![SyncGroupRequestAssignment {
                    member_id: joined.member_id,
                    assignment: versioned(&assignment),
                }],
                ..Default::default()
            },
        );
        assert_eq!(ErrorCode::from(synced.error_code), ErrorCode::None);
        member
    }
}

/// A message of the consumers' own protocol: its version, then itself.
fn versioned<M: Message>(message: &M) -> Bytes {
    let mut writer = Writer::new();
    writer.i16(0);
    message.encode(&mut writer, 0).unwrap();
    writer.into_bytes().unwrap()
}

const RESET: [&str; 4] = ["group", "reset-offsets", "--group", "g"];

fn reset<'a>(more: &[&'a str]) -> Vec<&'a str> {
    [&RESET[..], more].concat()
}

/// From and to of each partition of a plan.
fn moves(plan: &Value) -> Vec<(Option<i64>, i64)> {
    let each = plan["partitions"].as_array().unwrap().iter();
    each.map(|row| (row["from"].as_i64(), row["to"].as_i64().unwrap())).collect()
}

#[test]
fn offsets_are_reset_in_every_way() {
    let broker = broker("reset");
    broker.ok(&["topic", "create", "t", "--partitions", "2"], "");
    broker.ok(&["produce", "t", "-p", "0"], "a\nb\nc\nd\n");
    broker.ok(&["produce", "t", "-p", "1"], "e\n");
    let plan = broker.ok(&reset(&["--topic", "t", "--to-latest", "--dry-run"]), "");
    assert!(plan.contains("DRY RUN") && plan.contains("nothing is changed"), "{plan}");
    assert!(broker.fails(&["group", "describe", "g"], 1).contains("there is no group g"));
    let done = broker.ok(&reset(&["--topic", "t", "--to-latest"]), "");
    assert!(done.contains("FROM") && done.contains("goes on at these offsets"), "{done}");
    let check = |args: &[&str], expected: &[(Option<i64>, i64)]| {
        let plan = &broker.json(&[&reset(args)[..], &["--json"]].concat())[0];
        assert_eq!(moves(plan), expected, "{args:?}");
    };
    check(&["--topic", "t", "--to-earliest", "--dry-run"], &[(Some(4), 0), (Some(1), 0)]);
    check(&["--topic", "t:0", "--to-offset", "3"], &[(Some(4), 3)]);
    check(&["--topic", "t:0", "--shift-by", "-1"], &[(Some(3), 2)]);
    check(&["--topic", "t:0", "--shift-by", "100", "--dry-run"], &[(Some(2), 4)]);
    check(&["--all-topics", "--to-current"], &[(Some(2), 2), (Some(1), 1)]);
    check(&["--all-topics", "--by-duration", "1h"], &[(Some(2), 0), (Some(1), 0)]);
    check(&["--all-topics", "--to-datetime", "2999-01-01"], &[(Some(0), 4), (Some(0), 1)]);
    check(&["--topic", "t:1", "--topic", "t:0", "--to-earliest"], &[(Some(4), 0), (Some(1), 0)]);
    let note = broker.ok(&reset(&["--topic", "t:0", "--to-offset", "9", "--dry-run"]), "");
    assert!(note.contains("9 is outside of the log, which ends at 4"), "{note}");
}

#[test]
fn a_reset_that_cannot_be_says_why() {
    let broker = broker("reset-refused");
    broker.ok(&["topic", "create", "t"], "");
    broker.fails(&reset(&["--topic", "t"]), 2);
    broker.fails(&reset(&["--to-latest"]), 2);
    broker.fails(&reset(&["--topic", "t", "--to-latest", "--to-earliest"]), 2);
    broker.fails(&reset(&["--topic", "t", "--all-topics", "--to-latest"]), 2);
    broker.fails(&reset(&["--topic", "t", "--to-latest", "--dry-run", "--execute"]), 2);
    let usage = |args: &[&str], part: &str| {
        let text = broker.fails(&reset(args), 2);
        assert!(text.contains(part), "{args:?}: {text}");
    };
    usage(&["--topic", "t", "--to-datetime", "soon"], "UTC if it has no zone");
    usage(&["--topic", "t", "--to-datetime", "2026-02-30"], "there is no such day");
    usage(&["--topic", "t", "--to-offset", "-5"], "-5 is not in 0..");
    broker.fails(&["group", "reset-offsets", "--topic", "t", "--to-latest"], 2);
    let fails = |args: &[&str], part: &str| {
        let text = broker.fails(&reset(args), 1);
        assert!(text.contains(part), "{args:?}: {text}");
    };
    fails(&["--topic", "none", "--to-latest"], "there is no topic none");
    fails(&["--topic", "t:1", "--to-latest"], "t has 1 partitions");
    fails(&["--all-topics", "--to-latest"], "has committed no offsets");
    fails(&["--topic", "t", "--shift-by", "1"], "nothing to shift");
}

#[test]
fn a_group_is_described_with_its_lag_and_its_members() {
    let broker = broker("groups");
    broker.ok(&["topic", "create", "t", "--partitions", "2"], "");
    assert_eq!(broker.json(&["group", "list", "--json"]), [json!([])]);
    broker.ok(&["produce", "t", "-p", "0"], "a\nb\nc\n");
    broker.ok(&["produce", "t", "-p", "1"], "d\n");
    broker.ok(&reset(&["--topic", "t", "--to-latest"]), "");
    broker.ok(&reset(&["--topic", "t:0", "--to-offset", "1"]), "");
    let member = Member::join(&broker);
    let listed = &broker.json(&["group", "list", "--json", "--state", "stable"])[0][0];
    assert_eq!((&listed["group"], &listed["type"]), (&json!("g"), &json!("Classic")));
    let described = &broker.json(&["group", "describe", "g", "--json"])[0];
    assert_eq!(described["state"], "Stable");
    assert_eq!(described["lag"], 2);
    let parts = described["partitions"].as_array().unwrap();
    assert_eq!((&parts[0]["committed"], &parts[0]["end"]), (&json!(1), &json!(3)));
    assert_eq!(parts[0]["client_id"], "by-hand");
    // The second record was written just now, and the machine's clock goes on.
    let behind = parts[0]["behind_ms"].as_i64().expect("the record can be read");
    assert!((0..600_000).contains(&behind), "{behind}");
    assert_eq!((&parts[1]["behind_ms"], &parts[1]["member"]), (&json!(0), &Value::Null));
    let table = broker.ok(&["group", "describe", "--all"], "");
    assert!(table.contains("BEHIND") && table.contains("by-hand"), "{table}");
    let members = broker.ok(&["group", "describe", "g", "--members"], "");
    assert!(members.contains("t:0") && !members.contains("BEHIND"), "{members}");
    let state = broker.ok(&["group", "describe", "g", "--state"], "");
    assert_eq!(state.lines().count(), 1, "{state}");
    assert!(state.contains("Classic, Stable, 1 member, assignor range"), "{state}");
    let busy = broker.fails(&reset(&["--topic", "t", "--to-latest"]), 1);
    assert!(busy.contains("is Stable with 1 member;"), "{busy}");
    assert!(broker.fails(&["group", "delete", "g"], 1).contains("has members; stop them first"));
    let delete = ["group", "delete-offsets", "g", "--topic", "t"];
    assert!(broker.fails(&delete, 1).contains("subscribe to t; stop them first"));
    drop(member);
}

#[test]
fn groups_and_offsets_are_deleted() {
    let broker = broker("group-delete");
    broker.ok(&["topic", "create", "t", "--partitions", "2"], "");
    broker.ok(&reset(&["--topic", "t", "--to-latest"]), "");
    let gone = broker.json(&["group", "delete-offsets", "g", "--topic", "t:1", "--json"]);
    assert_eq!(gone, [json!({"group": "g", "topic": "t", "partition": 1})]);
    let described = &broker.json(&["group", "describe", "g", "--json"])[0];
    assert_eq!(described["partitions"].as_array().unwrap().len(), 1);
    assert!(broker.fails(&["group", "delete", "none"], 1).contains("dohle group list"));
    assert!(broker.fails(&["group", "delete", "a\x1b[2J"], 1).contains("group a\\x1b[2J;"));
    broker.ok(&["group", "delete", "g"], "");
    assert_eq!(broker.json(&["group", "list", "--json"]), [json!([])]);
    assert!(broker.fails(&["group", "delete"], 2).contains("expected the id of a group"));
}
