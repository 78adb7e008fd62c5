//! The order of requests, limits, idleness, closing.

use dohle_wire::message::{
    ApiVersionsRequest, DescribeClusterRequest, FetchRequest, MetadataRequest, ProduceRequest,
};

use super::*;

#[test]
fn produce_requests_are_worked_on_at_once_and_answered_in_order() {
    for version in [3, 8, 9, 12, 13] {
        let mut world = World::new();
        let first = world.ask(version, &produce(-1, version, batch()));
        let second = world.ask(version, &produce(-1, version, batch()));
        let metadata = world.ask(4, &MetadataRequest::default());
        let mail = world.produces();
        assert_eq!(mail.len(), 2);
        world.answer(mail[1].reply, appended(7));
        assert!(world.sent.is_empty(), "the first one is not answered yet");
        world.answer(mail[0].reply, appended(6));
        for (asked, base) in [(first, 6), (second, 7)] {
            let response = world.response::<ProduceRequest>(asked);
            assert_eq!(outcomes(&response), [(ErrorCode::None, base)]);
        }
        world.response::<MetadataRequest>(metadata);
    }
}

#[test]
fn other_requests_wait_for_those_before_them() {
    let mut world = World::new();
    let fetch = world.ask(11, &fetch(11, 1, &[0]));
    let produce = world.ask(9, &produce(1, 9, batch()));
    let cluster = world.ask(0, &DescribeClusterRequest::default());
    let read = world.read();
    assert!(world.sent.is_empty() && world.produces().is_empty(), "a fetch is under way");
    world.answer(read.reply, Answer::Read(vec![readable(0, 10)]));
    world.response::<FetchRequest>(fetch);
    let batch = world.produces().remove(0);
    assert!(world.sent.is_empty(), "a produce request is under way");
    world.answer(batch.reply, appended(0));
    world.response::<ProduceRequest>(produce);
    world.response::<DescribeClusterRequest>(cluster);
}

#[test]
fn an_answer_counts_once_and_late_ones_not_at_all() {
    let mut world = World::new();
    let asked = world.ask(9, &produce(-1, 9, batch()));
    let reply = world.produces()[0].reply;
    world.answer(ReplyTo { part: 9, ..reply }, appended(1));
    world.answer(ReplyTo { request: 77, ..reply }, appended(2));
    world.answer(reply, Answer::Sizes(Vec::new()));
    assert!(world.sent.is_empty());
    world.answer(reply, appended(3));
    assert_eq!(outcomes(&world.response::<ProduceRequest>(asked)), [(ErrorCode::None, 3)]);
    world.answer(reply, appended(4));
    world.step(Input::Mail(ToSession::Wake { request: reply.request }));
    assert!(world.sent.is_empty() && world.closed.is_none());
}

#[test]
fn reading_pauses_under_load_and_goes_on_at_half_of_it() {
    let mut world = World::new();
    for _ in 0..64 {
        assert!(!world.paused);
        world.ask(9, &produce(-1, 9, batch()));
    }
    assert!(world.paused, "64 requests are under way");
    let mail = world.produces();
    for produce in &mail[..32] {
        world.answer(produce.reply, appended(0));
    }
    assert!(world.paused, "32 are");
    world.answer(mail[32].reply, appended(0));
    assert!(!world.paused, "31 are");
}

#[test]
fn many_bytes_pause_reading_too() {
    let mut world = World::with(&[("message.max.bytes", "20000000")], 1);
    let mut builder = BatchBuilder::new(Offset(0));
    builder.push(Timestamp(1_000), None, Some(&vec![0; 9 << 20]), &[]).unwrap();
    let large = builder.build(&NoCodecs).unwrap();
    world.ask(9, &produce(-1, 9, large.clone()));
    assert!(!world.paused, "9 MiB are under way");
    world.ask(9, &produce(-1, 9, large));
    assert!(world.paused, "18 MiB are");
    for produce in world.produces() {
        world.answer(produce.reply, appended(0));
    }
    assert!(!world.paused);
}

#[test]
fn an_idle_connection_is_closed_but_not_a_waiting_one() {
    let mut world = World::with(&[("connections.max.idle.ms", "1000")], 1);
    let asked = world.ask(11, &FetchRequest { max_wait_ms: 5_000, ..fetch(11, 1, &[0]) });
    let read = world.read();
    world.answer(read.reply, Answer::Read(vec![readable(0, 0)]));
    world.wait_ms(4_000);
    assert_eq!(world.closed, None);
    world.wait_ms(1_000);
    world.response::<FetchRequest>(asked);
    assert_eq!(world.closed, None, "an answer is activity");
    let (at, _) = world.session.deadline().expect("idle time is bounded");
    assert_eq!(at, world.mono.plus_ms(1_000));
    world.wait_ms(1_000);
    assert_eq!(world.closed, Some(CloseReason::Idle));
    assert_eq!(world.session.deadline(), None);
}

#[test]
fn without_a_limit_an_idle_connection_stays() {
    let world = World::with(&[("connections.max.idle.ms", "-1")], 1);
    assert_eq!(world.session.deadline(), None);
}

#[test]
fn a_bad_frame_closes_in_its_turn() {
    let mut world = World::new();
    let asked = world.ask(9, &produce(-1, 9, batch()));
    let mail = world.produces();
    world.step(Input::Frame(Bytes::from_static(&[0, 0, 0, 9, 0, 0, 0, 1, 255, 255, 0, 77])));
    world.ask(9, &produce(-1, 9, batch()));
    assert!(world.closed.is_none(), "the first request is not answered yet");
    assert!(world.produces().is_empty(), "what comes after a bad frame means nothing");
    world.answer(mail[0].reply, appended(0));
    world.response::<ProduceRequest>(asked);
    assert!(world.why_closed().contains("Produce v9"), "{:?}", world.closed);
}

fn check_refused(frame: &[u8], texts: &[&str]) {
    let mut world = World::new();
    world.step(Input::Frame(Bytes::copy_from_slice(frame)));
    let why = world.why_closed();
    assert!(texts.iter().all(|text| why.contains(text)), "{why}");
}

#[test]
fn what_is_not_served_is_named() {
    let header = |key: u8, version: u8| [0, key, 0, version, 0, 0, 0, 1, 0, 2, b'm', b'e'];
    check_refused(&header(3, 99), &["\"me\"", "Metadata", "key 3", "v99", "v0 to v13"]);
    check_refused(&header(0, 2), &["\"me\"", "Produce", "v2", "v3 to v13"]);
    check_refused(&header(22, 6), &["InitProducerId", "v6", "v0 to v5"]);
    check_refused(&header(24, 1), &["\"me\"", "AddPartitionsToTxn", "not supported"]);
    check_refused(&header(4, 1), &["LeaderAndIsr", "not supported"]);
    check_refused(&header(200, 1), &["unknown request (key 200)"]);
    check_refused(&[0, 3], &["2 bytes without a request header"]);
    check_refused(&[], &["0 bytes without a request header"]);
    let long = [&header(3, 99)[..8], &[0x7f, 0xff], &[b'x'; 0x7fff][..]].concat();
    check_refused(&long, &["xxx"]);
}

#[test]
fn other_protocols_are_recognised() {
    let check = |start: &[u8], protocol: Option<&str>| {
        let found = negotiate::foreign_protocol(start);
        assert_eq!(found.map(|text| text.split(' ').next().unwrap()), protocol, "{start:?}");
    };
    check(&[0x16, 0x03, 0x01, 0x02, 0x00], Some("TLS"));
    check(b"GET / HTTP/1.1\r\n", Some("HTTP"));
    check(b"POST", Some("HTTP"));
    check(b"PRI * HTTP/2.0", Some("HTTP"));
    check(b"SSH-2.0-x", Some("SSH"));
    check(&[0, 0, 0, 0x20, 0, 18], None);
    check(&[], None);
    check_refused(b"GET / HTTP/1.1\r\n", &["HTTP"]);
    check_refused(&[0x16, 0x03, 0x01, 0x02], &["TLS"]);
}

#[test]
fn nothing_begins_before_the_first_metadata() {
    let world = World::new();
    let settings = world.session.settings().clone();
    let mut early =
        World { session: Session::new(SessionId(2), settings, now(Instant(0))), ..world };
    let asked = early.ask(0, &ApiVersionsRequest::default());
    assert!(early.sent.is_empty());
    early.publish();
    early.response::<ApiVersionsRequest>(asked);
}

#[test]
fn older_metadata_does_not_replace_newer() {
    let mut world = World::new();
    let old = Arc::new(world.image.clone());
    world.add_topic("newer", TopicId(Uuid::from_u128(1000)), 1);
    world.publish();
    world.step(Input::Image(old));
    let response = world.call(1, &MetadataRequest { topics: None, ..Default::default() });
    assert_eq!(response.topics.len(), 2);
}

#[test]
fn a_connection_that_is_gone_leaves_no_watch_behind() {
    let mut world = World::new();
    world.ask(11, &fetch(11, 1, &[0]));
    let read = world.read();
    world.answer(read.reply, Answer::Read(vec![readable(0, 0)]));
    world.step(Input::Closed);
    let unwatched = |mail: &ToShard| matches!(mail, ToShard::Unwatch { request: 0, .. });
    assert!(world.shard.iter().any(|(_, mail)| unwatched(mail)), "{:?}", world.shard);
    assert_eq!(world.session.deadline(), None);
}
