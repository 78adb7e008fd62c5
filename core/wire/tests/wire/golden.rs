//! Whole frames, written out by hand from the protocol's description.

use bytes::Bytes;
use dohle_wire::id::Uuid;
use dohle_wire::message::metadata_response::MetadataResponse;
use dohle_wire::message::produce_request::{
    PartitionProduceData, ProduceRequest, TopicProduceData,
};
use dohle_wire::message::{
    ApiVersionsRequest, ApiVersionsResponse, FetchResponse, GroupMetadataKey, GroupMetadataValue,
    GroupRecord, MemberMetadata, MetadataRecord, OffsetCommitKey, OffsetCommitRequest,
    OffsetCommitValue, OffsetFetchResponse, PartitionChangeRecord, api_versions_response,
    fetch_response, offset_commit_request, offset_fetch_response,
};
use dohle_wire::{ApiKey, Hole, Message, Part, Reader, Records, RequestHeader, Writer, header};

fn check_request<M: Message>(header: &RequestHeader, body: &M, pieces: &[&[u8]]) {
    let frame = Bytes::from(pieces.concat());
    let mut w = Writer::new();
    header.encode(&mut w).unwrap();
    body.encode(&mut w, header.api_version).unwrap();
    assert_eq!(w.into_bytes().unwrap(), frame);
    let mut r = Reader::new(frame);
    assert_eq!(RequestHeader::decode(&mut r).as_ref(), Ok(header));
    assert_eq!(M::decode(&mut r, header.api_version).as_ref(), Ok(body));
    assert_eq!(r.expect_end(), Ok(()));
}

fn check_response<M: Message>(key: ApiKey, version: i16, body: &M, pieces: &[&[u8]]) {
    let frame = Bytes::from(pieces.concat());
    let mut w = Writer::new();
    header::encode_response_header(&mut w, key, version, 5);
    body.encode(&mut w, version).unwrap();
    assert_eq!(w.into_bytes().unwrap(), frame);
    let mut r = Reader::new(frame);
    assert_eq!(header::decode_response_header(&mut r, key, version), Ok(5));
    assert_eq!(M::decode(&mut r, version).as_ref(), Ok(body));
    assert_eq!(r.expect_end(), Ok(()));
}

fn request_header(key: ApiKey, version: i16) -> RequestHeader {
    RequestHeader {
        api_key: key.code(),
        api_version: version,
        correlation_id: 5,
        client_id: Some("me".to_owned()),
    }
}

#[test]
fn api_versions_request_v0() {
    let header = request_header(ApiKey::ApiVersions, 0);
    let pieces: [&[u8]; 1] = [b"\0\x12\0\0\0\0\0\x05\0\x02me"];
    check_request(&header, &ApiVersionsRequest::default(), &pieces);
}

#[test]
fn api_versions_request_v3() {
    let header = request_header(ApiKey::ApiVersions, 3);
    let body = ApiVersionsRequest {
        client_software_name: "lib".to_owned(),
        client_software_version: "1".to_owned(),
        ..Default::default()
    };
    let pieces: [&[u8]; 3] = [
        // The client id keeps its two-byte length; then no tagged fields.
        b"\0\x12\0\x03\0\0\0\x05\0\x02me\0",
        // Compact strings: length plus one.
        b"\x04lib\x021",
        b"\0",
    ];
    check_request(&header, &body, &pieces);
}

#[test]
fn api_versions_response_v3() {
    let produce = api_versions_response::ApiVersion { api_key: 0, min_version: 3, max_version: 13 };
    let body = ApiVersionsResponse {
        api_keys: vec![produce],
        finalized_features_epoch: 9,
        ..Default::default()
    };
    let pieces: [&[u8]; 6] = [
        // Header without tagged fields even in a flexible version.
        b"\0\0\0\x05",
        b"\0\0",
        b"\x02\0\0\0\x03\0\x0d\0",
        b"\0\0\0\0",
        // One tagged field: number 1, eight bytes.
        b"\x01\x01\x08",
        b"\0\0\0\0\0\0\0\x09",
    ];
    check_response(ApiKey::ApiVersions, 3, &body, &pieces);
}

#[test]
fn produce_request_v3() {
    let partition =
        PartitionProduceData { index: 1, records: Some(Bytes::from_static(b"xyz").into()) };
    let topic = TopicProduceData {
        name: "t".to_owned(),
        partition_data: vec![partition],
        ..Default::default()
    };
    let body =
        ProduceRequest { acks: -1, timeout_ms: 256, topic_data: vec![topic], ..Default::default() };
    let pieces: [&[u8]; 5] = [
        b"\0\0\0\x03\0\0\0\x05\0\x02me",
        // No transactional id, all replicas, timeout.
        b"\xff\xff\xff\xff\0\0\x01\0",
        b"\0\0\0\x01\0\x01t",
        b"\0\0\0\x01\0\0\0\x01",
        b"\0\0\0\x03xyz",
    ];
    check_request(&request_header(ApiKey::Produce, 3), &body, &pieces);
}

#[test]
fn metadata_response_v12_without_anything() {
    let body = MetadataResponse { cluster_id: Some("c".to_owned()), ..Default::default() };
    let pieces: [&[u8]; 6] = [
        b"\0\0\0\x05\0",
        b"\0\0\0\0",
        b"\x01",
        // Cluster id, and no controller.
        b"\x02c\xff\xff\xff\xff",
        b"\x01",
        b"\0",
    ];
    check_response(ApiKey::Metadata, 12, &body, &pieces);
}

#[test]
fn partition_change_record_in_its_frame() {
    let record = MetadataRecord::from(PartitionChangeRecord {
        partition_id: 2,
        topic_id: Uuid::METADATA_TOPIC,
        isr: Some(vec![1]),
        leader: 3,
        ..Default::default()
    });
    let pieces: [&[u8]; 5] = [
        // Frame version 1, key 5, version 0.
        b"\x01\x05\0",
        b"\0\0\0\x02",
        b"\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x01",
        // Two tagged fields: the in-sync replicas and the leader.
        b"\x02\0\x05\x02\0\0\0\x01",
        b"\x01\x04\0\0\0\x03",
    ];
    let mut w = Writer::new();
    record.encode(&mut w, 0).unwrap();
    let bytes = Bytes::from(pieces.concat());
    assert_eq!(w.into_bytes().unwrap(), bytes);
    assert_eq!(MetadataRecord::decode(&mut Reader::new(bytes)), Ok((record, 0)));
}

#[test]
fn fetch_response_v12_with_holes_keeps_them_out_of_memory() {
    let hole = Hole { file: 7, position: 4096, len: 1000 };
    let partition = fetch_response::PartitionData {
        partition_index: 1,
        records: Some(Records::Holes(vec![hole])),
        ..Default::default()
    };
    let topic = fetch_response::FetchableTopicResponse {
        topic: "t".to_owned(),
        partitions: vec![partition],
        ..Default::default()
    };
    let body = FetchResponse { responses: vec![topic], ..Default::default() };
    let mut w = Writer::new();
    body.encode(&mut w, 12).unwrap();
    let len = w.len();
    let parts = w.finish();
    let [Part::Bytes(before), Part::Hole(found), Part::Bytes(after)] = &parts[..] else {
        panic!("{parts:?}");
    };
    assert_eq!(*found, hole);
    // 1001 as a varint ends the part before the hole; three empty tag sections follow it.
    assert!(before.ends_with(&[0xe9, 0x07]));
    assert_eq!(after[..], [0, 0, 0]);
    assert_eq!(len, before.len() + 1000 + after.len());
}

#[test]
fn offset_commit_request_v10_names_topics_by_id() {
    let partition = offset_commit_request::OffsetCommitRequestPartition {
        partition_index: 1,
        committed_offset: 300,
        committed_leader_epoch: 2,
        committed_metadata: Some("m".to_owned()),
    };
    let topic = offset_commit_request::OffsetCommitRequestTopic {
        topic_id: Uuid::METADATA_TOPIC,
        partitions: vec![partition],
        ..Default::default()
    };
    let body = OffsetCommitRequest {
        group_id: "g".to_owned(),
        generation_id_or_member_epoch: 4,
        topics: vec![topic],
        ..Default::default()
    };
    let pieces: [&[u8]; 5] = [
        b"\0\x08\0\x0a\0\0\0\x05\0\x02me\0",
        // Group, generation, no member id and no instance id.
        b"\x02g\0\0\0\x04\x01\0",
        b"\x02\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x01",
        b"\x02\0\0\0\x01\0\0\0\0\0\0\x01\x2c\0\0\0\x02\x02m",
        b"\0\0\0",
    ];
    check_request(&request_header(ApiKey::OffsetCommit, 10), &body, &pieces);
}

#[test]
fn offset_fetch_response_v10_of_a_group() {
    let partition = offset_fetch_response::OffsetFetchResponsePartitions {
        partition_index: 1,
        committed_offset: 300,
        ..Default::default()
    };
    let topic = offset_fetch_response::OffsetFetchResponseTopics {
        topic_id: Uuid::METADATA_TOPIC,
        partitions: vec![partition],
        ..Default::default()
    };
    let group = offset_fetch_response::OffsetFetchResponseGroup {
        group_id: "g".to_owned(),
        topics: vec![topic],
        error_code: 0,
    };
    let body = OffsetFetchResponse { groups: vec![group], ..Default::default() };
    let pieces: [&[u8]; 5] = [
        b"\0\0\0\x05\0\0\0\0\0",
        b"\x02\x02g",
        b"\x02\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x01",
        // No leader epoch, no note.
        b"\x02\0\0\0\x01\0\0\0\0\0\0\x01\x2c\xff\xff\xff\xff\0\0\0\0",
        b"\0\0\0\0\0",
    ];
    check_response(ApiKey::OffsetFetch, 10, &body, &pieces);
}

fn check_group_record(record: GroupRecord, key: &[&[u8]], value: &[&[u8]]) {
    let (key, value) = (Bytes::from(key.concat()), Bytes::from(value.concat()));
    assert_eq!(record.encode(), Ok((key.clone(), Some(value.clone()))));
    let version = record.written_version();
    assert_eq!(GroupRecord::decode(key, Some(value)), Ok((record, Some(version))));
}

#[test]
fn offset_commit_as_it_is_stored() {
    let key = OffsetCommitKey { group: "g".to_owned(), topic: "t".to_owned(), partition: 1 };
    let value = OffsetCommitValue {
        offset: 300,
        leader_epoch: 2,
        metadata: "m".to_owned(),
        commit_timestamp: 256,
        topic_id: Uuid::METADATA_TOPIC,
        ..Default::default()
    };
    let key_pieces: [&[u8]; 2] = [b"\0\x01", b"\0\x01g\0\x01t\0\0\0\x01"];
    let value_pieces: [&[u8]; 3] = [
        b"\0\x04",
        b"\0\0\0\0\0\0\x01\x2c\0\0\0\x02\x02m\0\0\0\0\0\0\x01\0",
        // One tagged field: the topic id.
        b"\x01\0\x10\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x01",
    ];
    check_group_record(GroupRecord::OffsetCommit(key, Some(value)), &key_pieces, &value_pieces);
}

#[test]
fn group_metadata_as_it_is_stored() {
    let member = MemberMetadata {
        member_id: "m".to_owned(),
        client_id: "c".to_owned(),
        client_host: "h".to_owned(),
        rebalance_timeout: 2,
        session_timeout: 3,
        subscription: Bytes::from_static(b"s"),
        assignment: Bytes::from_static(b"a"),
        ..Default::default()
    };
    let value = GroupMetadataValue {
        protocol_type: "consumer".to_owned(),
        generation: 1,
        protocol: Some("range".to_owned()),
        leader: Some("m".to_owned()),
        current_state_timestamp: 256,
        members: vec![member],
    };
    let key_pieces: [&[u8]; 2] = [b"\0\x02", b"\0\x01g"];
    let value_pieces: [&[u8]; 6] = [
        b"\0\x03",
        b"\0\x08consumer\0\0\0\x01",
        b"\0\x05range\0\x01m\0\0\0\0\0\0\x01\0",
        // One member, no static one.
        b"\0\0\0\x01\0\x01m\xff\xff\0\x01c\0\x01h",
        b"\0\0\0\x02\0\0\0\x03",
        b"\0\0\0\x01s\0\0\0\x01a",
    ];
    let key = GroupMetadataKey { group: "g".to_owned() };
    check_group_record(GroupRecord::GroupMetadata(key, Some(value)), &key_pieces, &value_pieces);
}
