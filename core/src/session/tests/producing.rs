//! Produce.

use std::sync::Mutex;

use dohle_wire::id::{PartitionIndex, ProducerEpoch, ProducerId, Sequence};

use dohle_wire::record::{CodecError, Compression, RawBatch};

use super::*;
use crate::image::resource;
use crate::mail::{Acks, PartitionId};

/// What a request that no shard gets to see is answered.
fn check_refused(world: &mut World, version: i16, request: &ProduceRequest, error: ErrorCode) {
    let response = world.call(version, request);
    assert_eq!(outcomes(&response), [(error, -1)], "v{version}");
    assert!(world.produces().is_empty());
}

#[test]
fn batches_are_checked_before_they_go_on() {
    let mut flipped = batch().to_vec();
    flipped[65] ^= 1;
    let mut offset = batch().to_vec();
    offset[7] = 1;
    let mut old_format = batch().to_vec();
    old_format[16] = 1;
    let check = |records: Bytes, error: ErrorCode| {
        check_refused(&mut World::new(), 9, &produce(1, 9, records), error);
    };
    check(flipped.into(), ErrorCode::CorruptMessage);
    check([batch(), batch()].concat().into(), ErrorCode::InvalidRecord);
    check(Bytes::new(), ErrorCode::InvalidRecord);
    check(offset.into(), ErrorCode::InvalidRecord);
    check(old_format.into(), ErrorCode::InvalidRecord);
}

#[test]
fn absent_records_are_refused() {
    let mut request = produce(1, 9, batch());
    request.topic_data[0].partition_data[0].records = None;
    check_refused(&mut World::new(), 9, &request, ErrorCode::InvalidRecord);
}

#[test]
fn acks_must_be_known() {
    for acks in [2, -2, i16::MAX] {
        let request = produce(acks, 9, batch());
        check_refused(&mut World::new(), 9, &request, ErrorCode::InvalidRequiredAcks);
    }
    for (acks, expected) in [(1, Acks::Leader), (-1, Acks::All), (0, Acks::None)] {
        let mut world = World::new();
        world.ask(9, &produce(acks, 9, batch()));
        assert_eq!(world.produces()[0].acks, expected);
    }
}

#[test]
fn partitions_are_found_by_name_or_id() {
    let mut world = World::new();
    for version in [12, 13] {
        world.ask(version, &produce(-1, version, batch()));
        let expected = PartitionId { topic: topic_id(), index: PartitionIndex(0) };
        assert_eq!(world.produces()[0].partition, expected);
    }
    let mut unknown = produce(-1, 13, batch());
    unknown.topic_data[0].topic_id = Uuid::from_u128(1234 << 64);
    check_refused(&mut World::new(), 13, &unknown, ErrorCode::UnknownTopicId);
    let mut unknown = produce(-1, 12, batch());
    unknown.topic_data[0].name = "u".into();
    check_refused(&mut World::new(), 12, &unknown, ErrorCode::UnknownTopicOrPartition);
    let mut unknown = produce(-1, 12, batch());
    for index in [4, -1, i32::MAX] {
        unknown.topic_data[0].partition_data[0].index = index;
        check_refused(&mut World::new(), 12, &unknown, ErrorCode::UnknownTopicOrPartition);
    }
}

#[test]
fn each_partition_gets_its_own_outcome() {
    let mut world = World::with(&[], 3);
    let data = |index| PartitionProduceData { index, records: Some(Records::Bytes(batch())) };
    let mut request = produce(-1, 9, batch());
    request.topic_data[0].partition_data = vec![data(3), data(9), data(1)];
    let asked = world.ask(9, &request);
    let mail = world.produces();
    let indexes: Vec<_> = mail.iter().map(|produce| produce.partition.index.0).collect();
    assert_eq!(indexes, [3, 1]);
    let refusal = Refusal::new(ErrorCode::OutOfOrderSequenceNumber, "sequence 7 after 3");
    world.answer(mail[1].reply, Answer::Produced(Err(refusal)));
    assert!(world.sent.is_empty(), "one shard has not answered");
    world.answer(mail[0].reply, appended(5));
    let response = world.response::<ProduceRequest>(asked);
    let expected = [
        (ErrorCode::None, 5),
        (ErrorCode::UnknownTopicOrPartition, -1),
        (ErrorCode::OutOfOrderSequenceNumber, -1),
    ];
    assert_eq!(outcomes(&response), expected);
    let last = &response.responses[0].partition_responses[2];
    assert_eq!(last.error_message.as_deref(), Some("sequence 7 after 3"));
}

#[test]
fn parts_without_an_answer_time_out() {
    let mut world = World::new();
    let data = |index| PartitionProduceData { index, records: Some(Records::Bytes(batch())) };
    let mut request = produce(-1, 9, batch());
    request.topic_data[0].partition_data = vec![data(0), data(1)];
    let asked = world.ask(9, &request);
    let mail = world.produces();
    world.answer(mail[1].reply, appended(5));
    world.wait_ms(4_999);
    assert!(world.sent.is_empty());
    world.wait_ms(1);
    let response = world.response::<ProduceRequest>(asked);
    assert_eq!(outcomes(&response), [(ErrorCode::RequestTimedOut, -1), (ErrorCode::None, 5)]);
}

#[test]
fn without_acknowledgement_an_error_closes() {
    let mut world = World::new();
    world.ask(9, &produce(0, 9, batch()));
    let mail = world.produces();
    world.answer(mail[0].reply, appended(0));
    assert!(world.sent.is_empty() && world.closed.is_none());
    world.ask(9, &produce(0, 9, batch()));
    let mail = world.produces();
    world.wait_ms(60_000);
    assert!(world.sent.is_empty() && world.closed.is_none(), "a late shard is no error");
    world.answer(mail[0].reply, Answer::Produced(Err(ErrorCode::InvalidRecord.into())));
    world.ask(9, &produce(0, 9, batch()));
    let mail = world.produces();
    world.answer(mail[0].reply, Answer::Produced(Err(ErrorCode::InvalidRecord.into())));
    assert_eq!(world.closed, Some(CloseReason::UnacknowledgedError));
    let mut world = World::new();
    world.ask(9, &produce(0, 9, Bytes::new()));
    assert_eq!(world.closed, Some(CloseReason::UnacknowledgedError));
}

#[test]
fn who_is_not_the_leader_says_who_is() {
    for version in [9, 10, 13] {
        let mut world = World::new();
        let other = broker(2, "two.example");
        world.image.brokers.insert_mut(other.id, Arc::new(other));
        let mut topic = (**world.image.topic("t").unwrap()).clone();
        let mut partition = (*topic.partitions[0]).clone();
        (partition.leader, partition.leader_epoch) = (Some(NodeId(2)), LeaderEpoch(8));
        topic.partitions[0] = Arc::new(partition);
        world.image.topics.insert_mut("t".into(), Arc::new(topic));
        world.publish();
        let asked = world.ask(version, &produce(-1, version, batch()));
        let reply = world.produces()[0].reply;
        let refusal = ErrorCode::NotLeaderOrFollower.into();
        world.answer(reply, Answer::Produced(Err(refusal)));
        let response = world.response::<ProduceRequest>(asked);
        let partition = &response.responses[0].partition_responses[0];
        let hint = (partition.current_leader.leader_id, partition.current_leader.leader_epoch);
        assert_eq!(hint, if version >= 10 { (2, 8) } else { (-1, -1) });
        let hosts: Vec<_> = response.node_endpoints.iter().map(|node| &*node.host).collect();
        assert_eq!(hosts, if version >= 10 { vec!["two.example"] } else { vec![] });
    }
}

#[test]
fn compacted_topics_name_the_records_without_keys() {
    let mut world = World::new();
    let compact = BTreeMap::from([("cleanup.policy".to_owned(), "compact".to_owned())]);
    world.image.configs.insert_mut((resource::TOPIC, "t".into()), Arc::new(compact));
    world.add_topic("t", topic_id(), 1);
    world.publish();
    let mut builder = BatchBuilder::new(Offset(0));
    for key in [Some(&b"k"[..]), None, Some(b"l"), None] {
        builder.push(Timestamp(1_000), key, None, &[]).unwrap();
    }
    let records = builder.build(&NoCodecs).unwrap();
    for version in [7, 8] {
        let response = world.call(version, &produce(1, version, records.clone()));
        assert_eq!(outcomes(&response), [(ErrorCode::InvalidRecord, -1)]);
        let errors = &response.responses[0].partition_responses[0].record_errors;
        let indexes: Vec<_> = errors.iter().map(|error| error.batch_index).collect();
        assert_eq!(indexes, if version >= 8 { vec![1, 3] } else { vec![] });
    }
}

#[test]
fn internal_topics_are_for_the_admin_client() {
    let mut world = World::new();
    world.add_topic("__consumer_offsets", TopicId(Uuid::from_u128(77 << 64)), 1);
    world.publish();
    let mut request = produce(1, 9, batch());
    request.topic_data[0].name = "__consumer_offsets".into();
    check_refused(&mut world, 9, &request, ErrorCode::InvalidTopicException);
    world.step(Input::Frame(frame_of("__admin_client", 9, 5, &request)));
    assert_eq!(world.produces().len(), 1);
}

#[test]
fn transactions_are_refused() {
    let mut builder = BatchBuilder::new(Offset(0))
        .producer(ProducerId(5), ProducerEpoch(0), Sequence(0))
        .transactional();
    builder.push(Timestamp(1_000), None, None, &[]).unwrap();
    let records = builder.build(&NoCodecs).unwrap();
    check_refused(&mut World::new(), 9, &produce(-1, 9, records), ErrorCode::InvalidTxnState);
}

#[test]
fn an_empty_request_is_answered() {
    let mut world = World::new();
    let response = world.call(9, &ProduceRequest { acks: 1, ..Default::default() });
    assert!(response.responses.is_empty());
    world.ask(9, &ProduceRequest { acks: 0, ..Default::default() });
    assert!(world.sent.is_empty() && world.closed.is_none());
}

#[test]
fn payloads_are_not_copied() {
    let mut builder = BatchBuilder::new(Offset(0));
    builder.push(Timestamp(1_000), None, Some(&[7; 5_000]), &[]).unwrap();
    let records = builder.build(&NoCodecs).unwrap();
    let mut world = World::new();
    let bytes = frame(9, 1, &produce(1, 9, records));
    world.step(Input::Frame(bytes.clone()));
    let stored = world.produces()[0].batch.bytes().clone();
    assert!(bytes.as_ptr_range().contains(&stored.as_ptr()), "a slice of the frame");
}

#[test]
fn a_partition_named_twice_is_refused() {
    let data = |index| PartitionProduceData { index, records: Some(Records::Bytes(batch())) };
    let mut request = produce(-1, 9, batch());
    request.topic_data[0].partition_data = vec![data(0), data(1), data(0)];
    let again = request.topic_data[0].clone();
    request.topic_data.push(TopicProduceData { partition_data: vec![data(2), data(0)], ..again });
    let mut world = World::new();
    let asked = world.ask(9, &request);
    let produces = world.produces();
    let indexes: Vec<_> = produces.iter().map(|produce| produce.partition.index.0).collect();
    assert_eq!(indexes, [1, 2]);
    for (base, produce) in (10..).zip(produces) {
        world.answer(produce.reply, appended(base));
    }
    let refused = (ErrorCode::InvalidRequest, -1);
    let expected = [refused, (ErrorCode::None, 10), refused, (ErrorCode::None, 11), refused];
    assert_eq!(outcomes(&world.response::<ProduceRequest>(asked)), expected);
}

/// Never done, however many bytes it may give; counts them.
#[derive(Default)]
struct Bombs(Mutex<usize>);

impl Codecs for Bombs {
    fn compress(
        &self,
        _compression: Compression,
        _level: Option<i32>,
        src: &[u8],
        dst: &mut Vec<u8>,
    ) -> Result<(), CodecError> {
        dst.extend_from_slice(src);
        Ok(())
    }

    fn decompress(
        &self,
        _compression: Compression,
        _src: &[u8],
        limit: usize,
    ) -> Result<Vec<u8>, CodecError> {
        *self.0.lock().unwrap() += limit;
        Err(CodecError::TooLarge { limit })
    }
}

#[test]
fn a_request_decompresses_to_bounded_bytes() {
    let codecs = Arc::new(Bombs::default());
    let max = [("socket.request.max.bytes", "104857600")];
    let mut world = World::with_codecs(&max, 1, Arc::clone(&codecs) as Arc<dyn Codecs>);
    world.add_topic("t", topic_id(), 1_000);
    world.publish();
    let mut builder = BatchBuilder::new(Offset(0)).compression(Compression::Gzip, None);
    builder.push(Timestamp(1_000), Some(b"k"), Some(b"v"), &[]).unwrap();
    let bomb = builder.build(&*codecs).unwrap();
    let data = |index| PartitionProduceData { index, records: Some(Records::Bytes(bomb.clone())) };
    let mut request = produce(-1, 9, batch());
    request.topic_data[0].partition_data = (0..1_000).map(data).collect();
    let response = world.call(9, &request);
    let refused = outcomes(&response);
    assert_eq!(refused, [(ErrorCode::MessageTooLarge, -1)].repeat(1_000));
    assert_eq!(*codecs.0.lock().unwrap(), 16 * 104_857_600);
    let last = &response.responses[0].partition_responses[999];
    assert!(last.error_message.as_ref().unwrap().contains("1677721600"));
}

#[test]
fn what_is_appended_and_what_is_refused_is_counted() {
    let mut world = World::new();
    let asked = world.ask(9, &produce(1, 9, batch()));
    let reply = world.produces()[0].reply;
    world.mono = world.mono.plus_ms(7);
    world.answer(reply, Answer::Produced(Ok(appended_at(0))));
    let answer = world.sent[0].iter().map(Part::len).sum::<usize>() as u64;
    world.response::<ProduceRequest>(asked);
    let header = RawBatch::parse(batch()).unwrap().header;
    let records = u64::try_from(header.records_count).unwrap();
    let bytes = batch().len() as u64;
    let [came, Count::Request(receipt)] = &world.counts[..] else { panic!("{:?}", world.counts) };
    assert_eq!(*came, Count::Appended { topic: topic_id(), records, bytes });
    assert_eq!((receipt.key, receipt.version), (ApiKey::Produce, 9));
    assert_eq!((receipt.took.as_millis(), receipt.answer), (7, answer));
    assert!(receipt.request > bytes);
    world.counts.clear();
    let mut unknown = produce(1, 9, batch());
    unknown.topic_data[0].name = "u".into();
    world.call(9, &unknown);
    assert_eq!(world.counts[0], Count::Refused(None));
    world.counts.clear();
    world.ask(9, &produce(0, 9, batch()));
    let reply = world.produces()[0].reply;
    world.answer(reply, Answer::Produced(Ok(appended_at(1))));
    assert_eq!(world.counts[0], Count::Appended { topic: topic_id(), records, bytes });
    assert!(matches!(world.counts[1], Count::Request(Receipt { answer: 0, .. })));
}

fn appended_at(base: i64) -> Appended {
    Appended { base: Offset(base), log_append_time: None, log_start: Offset(0) }
}
