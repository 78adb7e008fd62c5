//! ListOffsets, OffsetForLeaderEpoch, DeleteRecords.

use dohle_wire::message::{
    DeleteRecordsPartition, DeleteRecordsRequest, DeleteRecordsTopic, ListOffsetsPartition,
    ListOffsetsRequest, ListOffsetsTopic, OffsetForLeaderEpochRequest, OffsetForLeaderPartition,
    OffsetForLeaderTopic,
};

use super::*;
use crate::image::resource;
use crate::mail::{EpochEnd, EpochQuery, FoundOffset, Isolation, OffsetQuery, OffsetSpec};

fn list(timestamps: &[(i32, i64)]) -> ListOffsetsRequest {
    let partitions = timestamps.iter().map(|&(partition_index, timestamp)| ListOffsetsPartition {
        partition_index,
        timestamp,
        ..Default::default()
    });
    let topic = ListOffsetsTopic { name: "t".into(), partitions: partitions.collect() };
    ListOffsetsRequest { replica_id: -1, topics: vec![topic], ..Default::default() }
}

/// Look-ups sent to shards since the last look.
fn queries(world: &mut World) -> Vec<(ReplyTo, OffsetQuery)> {
    let mail = std::mem::take(&mut world.shard).into_iter();
    let queries = mail.map(|(_, mail)| match mail {
        ToShard::ListOffset { reply, query, .. } => (reply, query),
        other => panic!("{other:?}"),
    });
    queries.collect()
}

#[test]
fn offsets_are_looked_up_by_the_shards() {
    for version in 1..=11 {
        let mut world = World::new();
        let request = ListOffsetsRequest {
            isolation_level: if version >= 2 { 1 } else { 0 },
            ..list(&[(0, -1), (1, -2), (2, 777)])
        };
        let asked = world.ask(version, &request);
        let queries = queries(&mut world);
        let specs: Vec<_> = queries.iter().map(|(_, query)| query.spec).collect();
        let at = OffsetSpec::At(Timestamp(777));
        assert_eq!(specs, [OffsetSpec::Latest, OffsetSpec::Earliest, at]);
        let committed = queries[0].1.isolation == Isolation::ReadCommitted;
        assert_eq!(committed, version >= 2);
        let (timestamp, epoch) = (Timestamp(800), LeaderEpoch(3));
        let found = FoundOffset { offset: Offset(5), timestamp, epoch };
        world.answer(queries[0].0, Answer::Offset(Ok(Some(found))));
        world.answer(queries[2].0, Answer::Offset(Ok(None)));
        world.answer(queries[1].0, Answer::Offset(Err(ErrorCode::OffsetNotAvailable)));
        let response = world.response::<ListOffsetsRequest>(asked);
        let told: Vec<_> = response.topics[0]
            .partitions
            .iter()
            .map(|p| (ErrorCode::from(p.error_code), p.offset, p.timestamp, p.leader_epoch))
            .collect();
        let epoch = if version >= 4 { 3 } else { -1 };
        let expected = [
            (ErrorCode::None, 5, 800, epoch),
            (ErrorCode::OffsetNotAvailable, -1, -1, -1),
            (ErrorCode::None, -1, -1, -1),
        ];
        assert_eq!(told, expected, "v{version}");
    }
}

#[test]
fn some_offsets_need_no_look_up() {
    let check = |version: i16, timestamps: &[(i32, i64)], expected: &[ErrorCode]| {
        let response = World::new().call(version, &list(timestamps));
        let partitions = &response.topics[0].partitions;
        let told: Vec<_> = partitions.iter().map(|p| ErrorCode::from(p.error_code)).collect();
        assert_eq!(told, expected);
        assert!(partitions.iter().all(|p| p.offset == -1));
    };
    check(9, &[(0, -5)], &[ErrorCode::None]);
    check(8, &[(0, -5)], &[ErrorCode::UnsupportedVersion]);
    check(11, &[(0, -99)], &[ErrorCode::UnsupportedVersion]);
    check(5, &[(9, -1)], &[ErrorCode::UnknownTopicOrPartition]);
    check(5, &[(0, -1), (0, -2)], &[ErrorCode::InvalidRequest; 2]);
}

#[test]
fn look_ups_time_out() {
    let mut world = World::new();
    let asked = world.ask(10, &ListOffsetsRequest { timeout_ms: 2_000, ..list(&[(0, -1)]) });
    world.wait_ms(2_000);
    let response = world.response::<ListOffsetsRequest>(asked);
    let error = ErrorCode::from(response.topics[0].partitions[0].error_code);
    assert_eq!(error, ErrorCode::RequestTimedOut);
}

#[test]
fn ends_of_epochs() {
    for version in 2..=4 {
        let mut world = World::new();
        let partition = |partition, leader_epoch| OffsetForLeaderPartition {
            partition,
            current_leader_epoch: 3,
            leader_epoch,
        };
        let partitions = vec![partition(0, 2), partition(9, 2), partition(1, 7)];
        let topics = vec![OffsetForLeaderTopic { topic: "t".into(), partitions }];
        let asked = world.ask(version, &OffsetForLeaderEpochRequest { replica_id: -1, topics });
        let mail = std::mem::take(&mut world.shard);
        let replies: Vec<_> = mail
            .into_iter()
            .map(|(_, mail)| match mail {
                ToShard::EpochEnd { reply, query, .. } => (reply, query),
                other => panic!("{other:?}"),
            })
            .collect();
        let query = EpochQuery { epoch: LeaderEpoch(2), current: Some(LeaderEpoch(3)) };
        assert_eq!(replies[0].1, query);
        let end = EpochEnd { epoch: LeaderEpoch(1), end: Offset(44) };
        world.answer(replies[0].0, Answer::EpochEnd(Ok(Some(end))));
        world.answer(replies[1].0, Answer::EpochEnd(Ok(None)));
        let response = world.response::<OffsetForLeaderEpochRequest>(asked);
        let told: Vec<_> = response.topics[0]
            .partitions
            .iter()
            .map(|p| (p.partition, ErrorCode::from(p.error_code), p.leader_epoch, p.end_offset))
            .collect();
        let expected = [
            (0, ErrorCode::None, 1, 44),
            (9, ErrorCode::UnknownTopicOrPartition, -1, -1),
            (1, ErrorCode::None, -1, -1),
        ];
        assert_eq!(told, expected);
    }
}

fn delete(offsets: &[(i32, i64)]) -> DeleteRecordsRequest {
    let partitions = offsets
        .iter()
        .map(|&(partition_index, offset)| DeleteRecordsPartition { partition_index, offset });
    let topic = DeleteRecordsTopic { name: "t".into(), partitions: partitions.collect() };
    DeleteRecordsRequest { topics: vec![topic], timeout_ms: 5_000 }
}

#[test]
fn records_are_deleted_up_to_an_offset() {
    for version in 0..=2 {
        let mut world = World::new();
        let asked = world.ask(version, &delete(&[(0, 7), (1, -1), (2, -2), (9, 1)]));
        let mail = std::mem::take(&mut world.shard);
        let asked_of: Vec<_> = mail
            .into_iter()
            .map(|(_, mail)| match mail {
                ToShard::DeleteRecords { reply, before, .. } => (reply, before),
                other => panic!("{other:?}"),
            })
            .collect();
        assert_eq!(asked_of[0].1, Some(Offset(7)));
        assert_eq!(asked_of[1].1, None, "up to the high watermark");
        world.answer(asked_of[0].0, Answer::Deleted(Ok(Offset(7))));
        let refusal = ErrorCode::OffsetOutOfRange.into();
        world.answer(asked_of[1].0, Answer::Deleted(Err(refusal)));
        let response = world.response::<DeleteRecordsRequest>(asked);
        let told: Vec<_> = response.topics[0]
            .partitions
            .iter()
            .map(|p| (ErrorCode::from(p.error_code), p.low_watermark))
            .collect();
        let expected = [
            (ErrorCode::None, 7),
            (ErrorCode::OffsetOutOfRange, -1),
            (ErrorCode::OffsetOutOfRange, -1),
            (ErrorCode::UnknownTopicOrPartition, -1),
        ];
        assert_eq!(told, expected);
    }
}

#[test]
fn compacted_topics_keep_their_records() {
    let check = |policy: &str, refused: bool| {
        let mut world = World::new();
        let policy = BTreeMap::from([("cleanup.policy".to_owned(), policy.to_owned())]);
        world.image.configs.insert_mut((resource::TOPIC, "t".into()), Arc::new(policy));
        world.add_topic("t", topic_id(), 1);
        world.publish();
        world.ask(2, &delete(&[(0, 7)]));
        assert_eq!(world.shard.is_empty(), refused);
    };
    check("compact", true);
    check("compact,delete", false);
    check("delete", false);
}
