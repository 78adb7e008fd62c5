//! Bytes that no honest peer sends give errors, never panics or large allocations.

use crate::support::generator::{Arbitrary, Generator};
use crate::support::values::{for_each_group_record, for_each_message, for_each_metadata_record};
use crate::support::{decode, encode, versions};
use bytes::{Bytes, BytesMut};
use dohle_wire::id::Uuid;
use dohle_wire::message::fetch_request::{FetchPartition, FetchTopic};
use dohle_wire::message::fetch_response::PartitionData;
use dohle_wire::message::{
    ApiVersionsRequest, FetchRequest, FetchResponse, FetchableTopicResponse, GroupRecord,
    MetadataRecord, MetadataRequest, MetadataRequestTopic, PartitionProduceData, ProduceRequest,
    TopicProduceData,
};
use dohle_wire::records::Records;
use dohle_wire::{ApiKey, DecodeError, Message, Reader, RequestHeader, Writer, consumer_protocol};

fn check<M: Message>(bytes: &[u8], version: i16, expected: DecodeError) {
    assert_eq!(decode::<M>(Bytes::copy_from_slice(bytes), version), Err(expected));
}

const MAX: u64 = i32::MAX as u64;

#[test]
fn produce_v3_of_12_bytes_announcing_2_to_31_topics_is_refused_before_allocation() {
    let frame = [0xff, 0xff, 0, 1, 0, 0, 0, 9, 0x7f, 0xff, 0xff, 0xff];
    // Each topic would take at least 3 bytes.
    check::<ProduceRequest>(&frame, 3, DecodeError::Short { needed: 3 * MAX, left: 0 });
}

#[test]
fn compact_array_announcing_2_to_32_elements_is_refused_before_allocation() {
    let frame = [0xff, 0xff, 0xff, 0xff, 0x0f];
    let needed = 2 * (u64::from(u32::MAX) - 1);
    check::<MetadataRequest>(&frame, 9, DecodeError::Short { needed, left: 0 });
}

#[test]
fn names_of_two_bytes_do_not_become_many_times_as_many_in_memory() {
    let count = 5_000_000_u32;
    let frame = [&count.to_be_bytes()[..], &vec![0; 2 * count as usize]].concat();
    let error = decode::<MetadataRequest>(frame.into(), 1).unwrap_err();
    assert!(matches!(error, DecodeError::Memory { .. }), "{error:?}");
}

fn check_large<M: Message + PartialEq + std::fmt::Debug>(message: &M, version: i16) {
    let decoded = decode::<M>(encode(message, version), version);
    assert!(decoded.is_ok_and(|decoded| decoded == *message), "v{version}");
}

#[test]
fn large_messages_of_honest_peers_are_read() {
    let topic = |number: u32| MetadataRequestTopic {
        name: Some(format!("{number:08x}")),
        topic_id: Uuid::ZERO,
    };
    let topics = Some((0..200_000).map(topic).collect());
    let metadata = MetadataRequest { topics, ..Default::default() };
    let batch = || Some(Records::Bytes(Bytes::from_static(&[1; 70])));
    let data = |index| PartitionProduceData { index, records: batch() };
    let topic_data = TopicProduceData {
        name: "t".into(),
        partition_data: (0..100_000).map(data).collect(),
        ..Default::default()
    };
    let produce = ProduceRequest { topic_data: vec![topic_data], ..Default::default() };
    let empty = |partition_index| PartitionData {
        partition_index,
        records: Some(Records::default()),
        ..Default::default()
    };
    let of_topic = FetchableTopicResponse {
        topic: "t".into(),
        partitions: (0..200_000).map(empty).collect(),
        ..Default::default()
    };
    let fetch = FetchResponse { responses: vec![of_topic], ..Default::default() };
    let wanted = |partition| FetchPartition { partition, ..Default::default() };
    let topic = FetchTopic {
        topic: "t".into(),
        partitions: (0..200_000).map(wanted).collect(),
        ..Default::default()
    };
    let wants = FetchRequest { topics: vec![topic], ..Default::default() };
    for version in [4, 12] {
        check_large(&metadata, version.min(9));
        check_large(&produce, version);
        check_large(&fetch, version);
        check_large(&wants, version);
    }
}

#[test]
fn string_longer_than_the_frame_is_refused() {
    let frame = [0, 0, 0, 1, 0x7f, 0xff, b'x'];
    check::<MetadataRequest>(&frame, 1, DecodeError::Short { needed: 0x7fff, left: 1 });
    let flexible = [0xff, 0xff, 0xff, 0xff, 0x0f, b'x'];
    let needed = u64::from(u32::MAX) - 1;
    check::<ApiVersionsRequest>(&flexible, 3, DecodeError::Short { needed, left: 1 });
}

#[test]
fn negative_lengths_other_than_null_are_refused() {
    check::<MetadataRequest>(&[0x80, 0, 0, 0], 1, DecodeError::NegativeLength(i32::MIN));
    check::<MetadataRequest>(&[0, 0, 0, 1, 0xff, 0xfe], 1, DecodeError::NegativeLength(-2));
}

#[test]
fn null_where_none_is_allowed_is_refused() {
    check::<MetadataRequest>(&[0xff; 4], 0, DecodeError::Null);
    check::<MetadataRequest>(&[0, 0, 0, 1, 0xff, 0xff], 1, DecodeError::Null);
    check::<ApiVersionsRequest>(&[0], 3, DecodeError::Null);
}

#[test]
fn string_that_is_not_utf_8_is_refused() {
    check::<MetadataRequest>(&[0, 0, 0, 1, 0, 1, 0xff], 1, DecodeError::NotUtf8);
}

#[test]
fn varint_that_does_not_fit_32_bits_is_refused() {
    check::<MetadataRequest>(&[0xff, 0xff, 0xff, 0xff, 0x1f], 9, DecodeError::VarintTooLong);
    check::<MetadataRequest>(&[0x80; 6], 9, DecodeError::VarintTooLong);
}

#[test]
fn tagged_fields_beyond_the_frame_are_refused() {
    let max = [0xff, 0xff, 0xff, 0xff, 0x0f];
    let count = [&[2, b'a', 2, b'b'], &max[..]].concat();
    check::<ApiVersionsRequest>(&count, 3, DecodeError::Short { needed: 1, left: 0 });
    let size = [&[2, b'a', 2, b'b', 1, 9], &max[..]].concat();
    let needed = u64::from(u32::MAX);
    check::<ApiVersionsRequest>(&size, 3, DecodeError::Short { needed, left: 0 });
}

#[test]
fn known_tagged_field_of_the_wrong_size_is_refused() {
    let honest = encode(&FetchResponse::default(), 16);
    let (body, _) = honest.split_at(honest.len() - 1);
    // Tag 0 of a fetch response is an array; this one is empty but two bytes long.
    let frame = [body, &[1, 0, 2, 1, 0]].concat();
    check::<FetchResponse>(&frame, 16, DecodeError::Trailing(1));
}

#[test]
fn unknown_api_key_is_told_from_a_broken_header() {
    let mut unknown = Reader::new(Bytes::from_static(&[0, 95, 0, 7, 0, 0]));
    assert_eq!(RequestHeader::peek(&unknown), Ok((95, 7)));
    assert_eq!(RequestHeader::decode(&mut unknown), Err(DecodeError::UnknownApiKey(95)));
    let short = Reader::new(Bytes::from_static(&[0, 0, 0]));
    assert_eq!(RequestHeader::peek(&short), Err(DecodeError::Short { needed: 2, left: 1 }));
}

#[test]
fn metadata_records_in_unknown_frames_are_refused() {
    let check = |bytes: &'static [u8], expected| {
        let read = MetadataRecord::decode(&mut Reader::new(Bytes::from_static(bytes)));
        assert_eq!(read, Err(expected));
    };
    check(&[2, 20, 0, 0], DecodeError::FrameVersion(2));
    check(&[1, 6, 0, 0], DecodeError::UnknownRecordKey(6));
    check(&[1, 20, 1, 0], DecodeError::NoVersion { message: "NoOpRecord", version: 1 });
    check(&[1, 20, 0, 0, 0], DecodeError::Trailing(1));
}

fn check_every_truncation<M: Message + Arbitrary>() {
    for version in versions::<M>() {
        let frame = encode(&M::arbitrary(&mut Generator::new(3), version), version);
        for len in 0..frame.len() {
            let read = decode::<M>(frame.slice(..len), version);
            assert!(read.is_err(), "{} {version} cut to {len}", M::NAME);
        }
    }
}

#[test]
fn every_frame_cut_at_any_byte_is_refused() {
    for_each_message!(check_every_truncation());
}

/// Decodes mutated frames, and writes and reads again what comes out.
fn check_mutants<M: Message + Arbitrary>(count: u64) {
    for seed in 0..count {
        let mut g = Generator::new(seed);
        let version = M::VERSIONS.0 + g.below((M::VERSIONS.1 - M::VERSIONS.0 + 1) as usize) as i16;
        let frame = encode(&M::arbitrary(&mut g, version), version);
        let mutant = g.mutate(&frame);
        let Ok(message) = M::decode(&mut Reader::new(mutant), version) else { continue };
        let again = encode(&message, version);
        assert_eq!(encode(&decode::<M>(again.clone(), version).unwrap(), version), again);
    }
}

#[test]
fn a_hundred_thousand_mutated_frames_do_not_panic() {
    // 114 messages in all.
    for_each_message!(check_mutants(900));
}

fn check_framed_mutants<M: Message + Arbitrary + Into<MetadataRecord>>() {
    for seed in 0..500 {
        let mut g = Generator::new(seed);
        let mut w = Writer::new();
        let record: MetadataRecord = M::arbitrary(&mut g, M::VERSIONS.1).into();
        record.encode(&mut w, M::VERSIONS.1).unwrap();
        let mutant = g.mutate(&w.into_bytes().unwrap());
        let _ = MetadataRecord::decode(&mut Reader::new(mutant));
    }
}

#[test]
fn mutated_metadata_records_do_not_panic() {
    for_each_metadata_record!(check_framed_mutants());
}

#[test]
fn records_of_groups_that_cannot_be_read_are_refused() {
    let check = |key: &'static [u8], value: &'static [u8], expected| {
        let value = Some(Bytes::from_static(value));
        assert_eq!(GroupRecord::decode(Bytes::from_static(key), value), Err(expected));
    };
    check(&[], &[], DecodeError::Short { needed: 2, left: 0 });
    check(&[0, 2, 0x7f, 0xff], &[], DecodeError::Short { needed: 0x7fff, left: 0 });
    let key = &[0, 2, 0, 1, b'g'];
    check(key, &[0], DecodeError::Short { needed: 2, left: 1 });
    check(key, &[0, 5, 0], DecodeError::NoVersion { message: "GroupMetadataValue", version: 5 });
    // A group of no protocol in generation 1, without protocol and leader, in a state since 0.
    let head = [0, 3, 0, 0, 0, 0, 0, 1, 0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0, 0, 0, 0, 0];
    let value = [&head[..], &[0x7f, 0xff, 0xff, 0xff]].concat();
    // Each member would take at least 15 bytes, in whatever version that is.
    let needed = 15 * MAX;
    let read = GroupRecord::decode(Bytes::from_static(key), Some(Bytes::from(value)));
    assert_eq!(read, Err(DecodeError::Short { needed, left: 0 }));
}

#[test]
fn bytes_behind_the_fields_of_a_record_of_groups_are_skipped() {
    let record = GroupRecord::GroupMetadata(Default::default(), Some(Default::default()));
    let longer = |bytes: Bytes| Bytes::from([&bytes[..], b"more"].concat());
    let (key, value) = record.encode().unwrap();
    let read = GroupRecord::decode(longer(key), value.map(longer));
    assert_eq!(read, Ok((record, Some(3))));
}

fn check_group_mutants<K: Message + Arbitrary, V: Message + Arbitrary>(
    of: fn(K, Option<V>) -> GroupRecord,
) {
    for seed in 0..1_000 {
        let mut g = Generator::new(seed);
        let version = V::VERSIONS.0 + g.below((V::VERSIONS.1 - V::VERSIONS.0 + 1) as usize) as i16;
        let record = of(K::arbitrary(&mut g, 0), Some(V::arbitrary(&mut g, version)));
        let (key, value) = (record.key().unwrap(), record.value(version).unwrap().unwrap());
        let (key, value) = match g.below(3) {
            0 => (g.mutate(&key), value),
            1 => (key, g.mutate(&value)),
            _ => (g.mutate(&key), g.mutate(&value)),
        };
        let Ok((read, version)) = GroupRecord::decode(key.clone(), Some(value.clone())) else {
            continue;
        };
        let again = (read.key().unwrap(), read.value(version.unwrap_or(0)).unwrap());
        assert_eq!(GroupRecord::decode(again.0.clone(), again.1.clone()), Ok((read, version)));
        if version.is_none() {
            assert_eq!(again, (key, Some(value)), "what is not known stays as it is");
        }
    }
}

#[test]
fn mutated_records_of_groups_do_not_panic() {
    for_each_group_record!(check_group_mutants());
}

#[test]
fn mutated_words_of_consumers_do_not_panic() {
    for seed in 0..5_000 {
        let mut g = Generator::new(seed);
        let version = g.below(4) as i16;
        let said =
            consumer_protocol::encode_subscription(&Arbitrary::arbitrary(&mut g, version), version);
        let mutant = g.mutate(&said.unwrap());
        let _ = consumer_protocol::decode_subscription(mutant.clone());
        let _ = consumer_protocol::decode_assignment(mutant.clone());
        let _ = consumer_protocol::subscribed_topics(mutant);
    }
}

#[test]
fn mutated_headers_do_not_panic() {
    for seed in 0..20_000 {
        let mut g = Generator::new(seed);
        let key = ApiKey::ALL[g.below(ApiKey::ALL.len())];
        let header = RequestHeader {
            api_key: key.code(),
            api_version: g.i16(),
            correlation_id: g.i32(),
            client_id: g.option(Generator::string),
        };
        let mut w = Writer::new();
        header.encode(&mut w).unwrap();
        let frame = w.into_bytes().unwrap();
        assert_eq!(RequestHeader::decode(&mut Reader::new(frame.clone())), Ok(header));
        let _ = RequestHeader::decode(&mut Reader::new(g.mutate(&frame)));
    }
}

#[test]
fn noise_does_not_panic() {
    fn check_noise<M: Message>(noise: &Bytes) {
        for version in versions::<M>() {
            let _ = M::decode(&mut Reader::new(noise.clone()), version);
        }
    }
    for seed in 0..500 {
        let mut g = Generator::new(seed);
        let noise: BytesMut = (0..g.below(200)).map(|_| g.u64() as u8).collect();
        for_each_message!(check_noise(&noise.clone().freeze()));
    }
}
