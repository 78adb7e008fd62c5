//! Fetch: waiting, limits, sessions.

use super::*;
use crate::mail::{EpochEnd, Isolation};

/// A fetch of some partitions that is answered in one round.
fn check_fetch(request: &FetchRequest, found: Vec<ReadOutcome>, expected: &[(i32, usize)]) {
    let mut world = World::new();
    let asked = world.ask(11, request);
    let read = world.read();
    world.answer(read.reply, Answer::Read(found));
    let told: Vec<_> = told(&world.response::<FetchRequest>(asked))
        .into_iter()
        .map(|(index, _, bytes)| (index, bytes))
        .collect();
    assert_eq!(told, expected);
}

#[test]
fn all_versions_carry_records_and_bounds() {
    for version in 4..=18 {
        let mut world = World::new();
        let request = FetchRequest { isolation_level: 1, ..fetch(version, 1, &[2]) };
        let asked = world.ask(version, &request);
        let read = world.read();
        assert_eq!(read.isolation, Isolation::ReadCommitted);
        world.answer(read.reply, Answer::Read(vec![readable(0, 700)]));
        let response = world.response::<FetchRequest>(asked);
        assert_eq!(told(&response), [(2, ErrorCode::None, 700)], "v{version}");
        let partition = &response.responses[0].partitions[0];
        assert_eq!((partition.high_watermark, partition.last_stable_offset), (10, 9));
        assert_eq!(partition.log_start_offset, if version >= 5 { 2 } else { -1 });
        assert_eq!(partition.aborted_transactions, Some(Vec::new()));
        assert_eq!(response.session_id, 0);
    }
}

#[test]
fn records_leave_as_ranges_of_files() {
    let mut world = World::new();
    world.ask(11, &fetch(11, 1, &[0]));
    let read = world.read();
    world.answer(read.reply, Answer::Read(vec![readable(0, 700)]));
    let hole = Part::Hole(Hole { file: 1, position: 0, len: 700 });
    assert!(world.sent[0].contains(&hole), "{:?}", world.sent);
}

#[test]
fn too_few_bytes_are_waited_for() {
    let mut world = World::new();
    let asked = world.ask(11, &fetch(11, 500, &[0]));
    let read = world.read();
    assert_eq!(read.watch, Some(500));
    world.answer(read.reply, Answer::Read(vec![readable(0, 0)]));
    assert!(world.sent.is_empty());
    world.step(Input::Mail(ToSession::Wake { request: read.reply.request }));
    let again = world.read();
    assert_ne!(again.reply.part, read.reply.part, "rounds are told apart");
    world.answer(read.reply, Answer::Read(vec![readable(0, 999)]));
    assert!(world.sent.is_empty(), "an answer of an earlier round means nothing");
    world.answer(again.reply, Answer::Read(vec![readable(0, 600)]));
    assert_eq!(told(&world.response::<FetchRequest>(asked)), [(0, ErrorCode::None, 600)]);
    assert!(world.shard.is_empty(), "no watch is left to take back");
}

#[test]
fn patience_ends() {
    let mut world = World::new();
    let asked = world.ask(11, &fetch(11, 1, &[0]));
    let read = world.read();
    world.answer(read.reply, Answer::Read(vec![readable(0, 0)]));
    let (at, _) = world.session.deadline().unwrap();
    assert_eq!(at, Instant(0).plus_ms(500));
    world.wait_ms(500);
    let response = world.response::<FetchRequest>(asked);
    assert_eq!(told(&response), [(0, ErrorCode::None, 0)]);
    assert_eq!(response.responses[0].partitions[0].records, Some(Records::default()));
    assert!(matches!(world.shard[..], [(_, ToShard::Unwatch { .. })]), "{:?}", world.shard);
}

#[test]
fn at_the_end_of_patience_there_is_a_last_look() {
    let mut world = World::new();
    let asked = world.ask(11, &fetch(11, 500, &[0]));
    let read = world.read();
    world.answer(read.reply, Answer::Read(vec![readable(0, 100)]));
    assert!(world.shard.is_empty() && world.sent.is_empty());
    world.wait_ms(500);
    let last = world.read();
    assert_eq!(last.watch, None);
    world.answer(last.reply, Answer::Read(vec![readable(0, 300)]));
    assert_eq!(told(&world.response::<FetchRequest>(asked)), [(0, ErrorCode::None, 300)]);
}

#[test]
fn a_shard_that_does_not_answer_is_an_error_in_the_end() {
    let mut world = World::new();
    let asked = world.ask(11, &fetch(11, 1, &[0]));
    world.wait_ms(500);
    assert!(world.sent.is_empty(), "the first answer is still wanted");
    world.wait_ms(30_000);
    let response = world.response::<FetchRequest>(asked);
    assert_eq!(told(&response), [(0, ErrorCode::KafkaStorageError, 0)]);
}

#[test]
fn several_shards_share_the_minimum() {
    let mut world = World::with(&[], 8);
    let asked = world.ask(11, &fetch(11, 1_000, &[0, 1, 2, 3]));
    let reads = world.reads();
    let shards = u64::try_from(reads.len()).unwrap();
    assert!(shards > 1, "partitions are spread");
    assert_eq!(reads.iter().map(|(_, read)| read.parts.len()).sum::<usize>(), 4);
    let share = 1_000_u64.div_ceil(shards);
    for (_, read) in &reads {
        assert_eq!(read.watch, Some(share), "when enough came in all, one of them notices");
        let none = read.parts.iter().map(|part| readable(part.slot, 0)).collect();
        world.answer(read.reply, Answer::Read(none));
    }
    assert!(world.sent.is_empty() && world.shard.is_empty());
    world.step(Input::Mail(ToSession::Wake { request: 0 }));
    for (_, read) in world.reads() {
        let some = read.parts.iter().map(|part| readable(part.slot, 300)).collect();
        world.answer(read.reply, Answer::Read(some));
    }
    let response = world.response::<FetchRequest>(asked);
    assert_eq!(told(&response).iter().map(|(_, _, bytes)| bytes).sum::<usize>(), 1_200);
}

#[test]
fn budgets_of_partition_and_response_hold() {
    let request = FetchRequest { max_bytes: 900, ..fetch(11, 1, &[0, 1]) };
    check_fetch(&request, vec![readable(0, 800), readable(1, 800)], &[(0, 800), (1, 0)]);
    check_fetch(&request, vec![readable(0, 0), readable(1, 2_000)], &[(0, 0), (1, 900)]);
    check_fetch(&request, vec![readable(0, 400), readable(1, 400)], &[(0, 400), (1, 400)]);
    // The first batch passes whole, whatever the limits say; but only the first.
    let tiny = FetchRequest { max_bytes: 10, ..fetch(11, 1, &[0, 1]) };
    check_fetch(&tiny, vec![readable(0, 0), readable(1, 2_000)], &[(0, 0), (1, 800)]);
    check_fetch(&tiny, vec![readable(0, 90), readable(1, 90)], &[(0, 90), (1, 0)]);
    let mut own = fetch(11, 1, &[0, 1]);
    own.topics[0].partitions[0].partition_max_bytes = 50;
    own.topics[0].partitions[1].partition_max_bytes = 50;
    check_fetch(&own, vec![readable(0, 90), readable(1, 90)], &[(0, 90), (1, 0)]);
}

#[test]
fn the_broker_limits_a_response_too() {
    let mut world = World::with(&[("fetch.max.bytes", "1024")], 1);
    world.ask(11, &FetchRequest { max_bytes: i32::MAX, ..fetch(11, 1_000_000, &[0]) });
    let read = world.read();
    assert_eq!(read.watch, Some(1_024), "a minimum beyond the limit is the limit");
}

#[test]
fn errors_and_divergence_are_told_at_once() {
    let mut world = World::new();
    let asked = world.ask(12, &fetch(12, 1_000, &[0, 1]));
    let read = world.read();
    let found = vec![readable(0, 0), failed(1, ErrorCode::OffsetOutOfRange)];
    world.answer(read.reply, Answer::Read(found));
    let response = world.response::<FetchRequest>(asked);
    let expected = [(0, ErrorCode::None, 0), (1, ErrorCode::OffsetOutOfRange, 0)];
    assert_eq!(told(&response), expected);
    assert_eq!(response.responses[0].partitions[1].high_watermark, -1);

    let asked = world.ask(12, &fetch(12, 1_000, &[0]));
    let read = world.read();
    let mut outcome = readable(0, 0);
    let end = EpochEnd { epoch: LeaderEpoch(2), end: Offset(7) };
    outcome.result.as_mut().unwrap().diverging = Some(end);
    world.answer(read.reply, Answer::Read(vec![outcome]));
    let response = world.response::<FetchRequest>(asked);
    let diverging = &response.responses[0].partitions[0].diverging_epoch;
    assert_eq!((diverging.epoch, diverging.end_offset), (2, 7));
}

#[test]
fn a_reader_far_behind_does_not_wait() {
    let mut world = World::new();
    let asked = world.ask(11, &fetch(11, 1_000, &[0, 1]));
    let read = world.read();
    let mut behind = readable(1, 100);
    behind.result.as_mut().unwrap().more = true;
    world.answer(read.reply, Answer::Read(vec![readable(0, 0), behind]));
    let expected = [(0, ErrorCode::None, 0), (1, ErrorCode::None, 100)];
    assert_eq!(told(&world.response::<FetchRequest>(asked)), expected);
}

#[test]
fn unknown_partitions_are_told() {
    let mut world = World::new();
    let response = world.call(11, &fetch(11, 1, &[9]));
    assert_eq!(told(&response), [(9, ErrorCode::UnknownTopicOrPartition, 0)]);
    let mut request = fetch(13, 1, &[0]);
    request.topics[0].topic_id = Uuid::from_u128(12345 << 64);
    let response = world.call(13, &request);
    assert_eq!(told(&response), [(0, ErrorCode::UnknownTopicId, 0)]);
    assert_eq!(response.responses[0].topic_id, Uuid::from_u128(12345 << 64));
}

#[test]
fn replicas_are_told_that_they_are_none() {
    let mut request = FetchRequest { replica_id: 5, ..fetch(11, 1, &[0]) };
    let response = World::new().call(11, &request);
    assert_eq!(told(&response), [(0, ErrorCode::NotLeaderOrFollower, 0)]);
    request.topics[0].partitions[0].current_leader_epoch = 3;
    let response = World::new().call(11, &request);
    assert_eq!(told(&response), [(0, ErrorCode::UnknownLeaderEpoch, 0)]);
}

fn in_session(request: FetchRequest, session_id: i32, session_epoch: i32) -> FetchRequest {
    FetchRequest { session_id, session_epoch, ..request }
}

/// Opens a session over partitions 0 and 1, which have nothing to read.
fn opened(world: &mut World, version: i16) -> i32 {
    let asked = world.ask(version, &in_session(fetch(version, 0, &[0, 1]), 0, 0));
    let read = world.read();
    assert_eq!(read.watch, None, "a minimum of nothing waits for nothing");
    world.answer(read.reply, Answer::Read(vec![readable(0, 0), readable(1, 0)]));
    let response = world.response::<FetchRequest>(asked);
    assert_ne!(response.session_id, 0);
    assert_eq!(told(&response).len(), 2, "a full answer has everything");
    response.session_id
}

#[test]
fn a_session_tells_only_what_is_new() {
    for version in [7, 11, 12, 13, 18] {
        let mut world = World::new();
        let id = opened(&mut world, version);
        let asked = world.ask(version, &in_session(fetch(version, 0, &[]), id, 1));
        let read = world.read();
        assert_eq!(read.parts.len(), 2, "the session knows what is read");
        world.answer(read.reply, Answer::Read(vec![readable(0, 0), readable(1, 300)]));
        let response = world.response::<FetchRequest>(asked);
        assert_eq!(response.session_id, id);
        assert_eq!(told(&response), [(1, ErrorCode::None, 300)]);
    }
}

#[test]
fn partitions_of_a_session_take_turns() {
    let mut world = World::new();
    let id = opened(&mut world, 11);
    let mut firsts = Vec::new();
    for epoch in 1..=4 {
        let request = FetchRequest { max_bytes: 800, ..fetch(11, 1, &[]) };
        let asked = world.ask(11, &in_session(request, id, epoch));
        let read = world.read();
        let both = read.parts.iter().map(|part| readable(part.slot, 800)).collect();
        world.answer(read.reply, Answer::Read(both));
        let response = world.response::<FetchRequest>(asked);
        firsts.extend(told(&response).into_iter().filter(|t| t.2 > 0).map(|t| t.0));
    }
    assert_eq!(firsts, [0, 1, 0, 1]);
}

#[test]
fn requests_that_do_not_fit_the_session_are_refused() {
    let check = |version: i16, id_offset: i32, epoch: i32, expected: ErrorCode| {
        let mut world = World::new();
        let id = opened(&mut world, 12);
        let request = in_session(fetch(version, 0, &[]), id ^ id_offset, epoch);
        let response = world.call(version, &request);
        assert_eq!(ErrorCode::from(response.error_code), expected);
        assert!(response.responses.is_empty());
    };
    check(12, 0, 9, ErrorCode::InvalidFetchSessionEpoch);
    check(12, 1, 1, ErrorCode::FetchSessionIdNotFound);
    check(13, 0, 1, ErrorCode::FetchSessionTopicIdError);
}

#[test]
fn changed_and_forgotten_partitions() {
    use dohle_wire::message::fetch_request::ForgottenTopic;
    let mut world = World::new();
    let id = opened(&mut world, 11);
    let mut request = in_session(fetch(11, 0, &[1, 3]), id, 1);
    request.topics[0].partitions[0].fetch_offset = 77;
    let forgotten = ForgottenTopic { topic: "t".into(), partitions: vec![0], ..Default::default() };
    request.forgotten_topics_data = vec![forgotten];
    world.ask(11, &request);
    let read = world.read();
    let parts: Vec<_> = read.parts.iter().map(|p| (p.partition.index.0, p.offset.0)).collect();
    assert_eq!(parts, [(1, 77), (3, 0)]);
}

#[test]
fn a_session_sees_a_topic_go() {
    let mut world = World::new();
    let id = opened(&mut world, 13);
    world.image.topics.remove_mut("t");
    world.image.topic_names.remove_mut(&topic_id());
    world.publish();
    let response = world.call(13, &in_session(fetch(13, 1, &[]), id, 1));
    let gone = ErrorCode::UnknownTopicId;
    assert_eq!(told(&response), [(0, gone, 0), (1, gone, 0)]);
}

#[test]
fn what_is_read_again_and_sent_once_is_counted_once() {
    let mut world = World::new();
    let asked = world.ask(11, &fetch(11, 500, &[0]));
    let read = world.read();
    world.answer(read.reply, Answer::Read(vec![readable(0, 300)]));
    world.step(Input::Mail(ToSession::Wake { request: read.reply.request }));
    let again = world.read();
    world.answer(again.reply, Answer::Read(vec![readable(0, 600)]));
    assert_eq!(told(&world.response::<FetchRequest>(asked)), [(0, ErrorCode::None, 600)]);
    assert_eq!(world.counts[0], Count::Read { topic: topic_id(), bytes: 600 });
    assert!(matches!(world.counts[1..], [Count::Request(_)]), "{:?}", world.counts);
}
