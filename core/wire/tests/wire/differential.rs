//! Agreement with `kafka-protocol`, an independent implementation generated from Kafka's schemas:
//! the same bytes, and the same values in the same fields.

use std::fmt::Debug;

use bytes::{Bytes, BytesMut};
use dohle_wire::id::Uuid;
use dohle_wire::{ApiKey, Message, Reader, RequestHeader, Writer, header, message};
use kafka_protocol::messages as other;
use kafka_protocol::protocol::{Decodable, Encodable, HeaderVersion, Message as OtherMessage};

use crate::support::generator::{Arbitrary, Generator};
use crate::support::{decode, encode, versions};

/// Values to try for each version of each message.
const VALUES: u64 = 200;

/// A message of the other implementation.
trait Other: OtherMessage + Encodable + Decodable + Debug + PartialEq + Default {}

impl<T: OtherMessage + Encodable + Decodable + Debug + PartialEq + Default> Other for T {}

fn encode_other<O: Other>(message: &O, version: i16) -> Bytes {
    let mut bytes = BytesMut::new();
    message.encode(&mut bytes, version).unwrap();
    bytes.freeze()
}

fn decode_other<O: Other>(mut bytes: Bytes, version: i16) -> O {
    let message = O::decode(&mut bytes, version).unwrap();
    assert!(bytes.is_empty(), "left over: {bytes:?}");
    message
}

/// Ours to theirs and back, and theirs to ours and back.
fn check_value<M: Message, O: Other>(ours: &M, version: i16) {
    let bytes = encode(ours, version);
    let theirs = decode_other::<O>(bytes.clone(), version);
    assert_eq!(fields(ours), fields(&theirs), "{} {version}", M::NAME);
    let answered = encode_other(&theirs, version);
    assert_eq!(answered, bytes, "{} {version}", M::NAME);
    assert_eq!(decode::<M>(answered, version).as_ref(), Ok(ours), "{} {version}", M::NAME);
}

/// The other implementation's default, to ours and back.
fn check_default<M: Message, O: Other>(version: i16) {
    let bytes = encode_other(&O::default(), version);
    let ours = decode::<M>(bytes.clone(), version).unwrap();
    assert_eq!(encode(&ours, version), bytes, "{} {version}", M::NAME);
    assert_eq!(decode_other::<O>(bytes, version), O::default(), "{} {version}", M::NAME);
}

fn check<M: Message + Arbitrary, O: Other>(adapt: fn(&mut M, i16)) {
    let known = O::VERSIONS.min..=O::VERSIONS.max;
    assert!(versions::<M>().any(|version| known.contains(&version)));
    for version in versions::<M>().filter(|version| known.contains(version)) {
        check_default::<M, O>(version);
        for seed in 0..VALUES {
            let mut ours = M::arbitrary(&mut Generator::new(seed), version);
            adapt(&mut ours, version);
            check_value::<M, O>(&ours, version);
        }
    }
}

/// The names and values of all fields, in a form that does not depend on the implementation: its
/// debug output without the names of newtypes, and with ids in one notation.
fn fields(message: &impl Debug) -> Vec<String> {
    let mut text = format!("{message:?}");
    for (spelling, common) in SPELLINGS {
        text = text.replace(spelling, common);
    }
    let is_word = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '"' | '\\' | '.');
    let words = text.split(|c: char| !is_word(c)).filter(|word| !word.is_empty());
    words.filter(|word| !NEWTYPES.contains(word)).map(one_notation).collect()
}

const NEWTYPES: [&str; 7] =
    ["Bytes", "Uuid", "BrokerId", "GroupId", "ProducerId", "TopicName", "TransactionalId"];

/// Where the two implementations differ on purpose.
const SPELLINGS: [(&str, &str); 11] = [
    // Only theirs keeps what it does not know.
    (", unknown_tagged_fields: {}", ""),
    ("unknown_tagged_fields: {}", ""),
    // Names that are cut into words differently.
    ("enable_2_pc", "enable_2pc"),
    ("k_raft_version", "kraft_version"),
    ("KRaft", "Kraft"),
    // Fields of versions that only ours has.
    (", cluster_id: None, node_id: -1 }", " }"),
    (", is_cordoned: false", ""),
    // A nullable field of another version is null in ours and empty in theirs.
    ("documentation: Some(\"\")", "documentation: None"),
    ("configs: Some([])", "configs: None"),
    ("error_message: Some(\"\")", "error_message: None"),
    // A last field of a version that only ours has.
    (", error_message: None }", " }"),
];

fn one_notation(word: &str) -> String {
    let hex = word.replace('-', "");
    match u128::from_str_radix(&hex, 16) {
        Ok(bits) if (word.len(), hex.len()) == (36, 32) => Uuid::from_u128(bits).to_string(),
        _ => word.to_owned(),
    }
}

macro_rules! differential {
    ($($test:ident: $message:ident;)*) => {
        $(
            #[test]
            fn $test() {
                check::<message::$message, other::$message>(|_, _| ());
            }
        )*
    };
}

differential! {
    produce_request: ProduceRequest;
    produce_response: ProduceResponse;
    fetch_request: FetchRequest;
    fetch_response: FetchResponse;
    list_offsets_request: ListOffsetsRequest;
    list_offsets_response: ListOffsetsResponse;
    metadata_request: MetadataRequest;
    metadata_response: MetadataResponse;
    api_versions_request: ApiVersionsRequest;
    api_versions_response: ApiVersionsResponse;
    create_topics_request: CreateTopicsRequest;
    create_topics_response: CreateTopicsResponse;
    delete_topics_request: DeleteTopicsRequest;
    delete_topics_response: DeleteTopicsResponse;
    delete_records_request: DeleteRecordsRequest;
    delete_records_response: DeleteRecordsResponse;
    init_producer_id_request: InitProducerIdRequest;
    init_producer_id_response: InitProducerIdResponse;
    create_partitions_request: CreatePartitionsRequest;
    create_partitions_response: CreatePartitionsResponse;
    describe_configs_request: DescribeConfigsRequest;
    describe_configs_response: DescribeConfigsResponse;
    alter_configs_request: AlterConfigsRequest;
    alter_configs_response: AlterConfigsResponse;
    incremental_alter_configs_request: IncrementalAlterConfigsRequest;
    incremental_alter_configs_response: IncrementalAlterConfigsResponse;
    alter_replica_log_dirs_request: AlterReplicaLogDirsRequest;
    alter_replica_log_dirs_response: AlterReplicaLogDirsResponse;
    describe_log_dirs_request: DescribeLogDirsRequest;
    describe_log_dirs_response: DescribeLogDirsResponse;
    describe_cluster_request: DescribeClusterRequest;
    describe_cluster_response: DescribeClusterResponse;
    describe_quorum_request: DescribeQuorumRequest;
    describe_quorum_response: DescribeQuorumResponse;
    describe_topic_partitions_request: DescribeTopicPartitionsRequest;
    describe_topic_partitions_response: DescribeTopicPartitionsResponse;
    offset_for_leader_epoch_request: OffsetForLeaderEpochRequest;
    offset_for_leader_epoch_response: OffsetForLeaderEpochResponse;
    find_coordinator_request: FindCoordinatorRequest;
    find_coordinator_response: FindCoordinatorResponse;
    join_group_request: JoinGroupRequest;
    join_group_response: JoinGroupResponse;
    sync_group_request: SyncGroupRequest;
    sync_group_response: SyncGroupResponse;
    heartbeat_request: HeartbeatRequest;
    heartbeat_response: HeartbeatResponse;
    leave_group_request: LeaveGroupRequest;
    leave_group_response: LeaveGroupResponse;
    offset_commit_request: OffsetCommitRequest;
    offset_commit_response: OffsetCommitResponse;
    offset_fetch_request: OffsetFetchRequest;
    offset_fetch_response: OffsetFetchResponse;
    offset_delete_request: OffsetDeleteRequest;
    offset_delete_response: OffsetDeleteResponse;
    list_groups_request: ListGroupsRequest;
    list_groups_response: ListGroupsResponse;
    describe_groups_request: DescribeGroupsRequest;
    describe_groups_response: DescribeGroupsResponse;
    delete_groups_request: DeleteGroupsRequest;
    delete_groups_response: DeleteGroupsResponse;
    consumer_group_heartbeat_request: ConsumerGroupHeartbeatRequest;
    consumer_group_heartbeat_response: ConsumerGroupHeartbeatResponse;
    consumer_group_describe_request: ConsumerGroupDescribeRequest;
    consumer_group_describe_response: ConsumerGroupDescribeResponse;
    consumer_protocol_subscription: ConsumerProtocolSubscription;
    consumer_protocol_assignment: ConsumerProtocolAssignment;
    snapshot_header_record: SnapshotHeaderRecord;
    snapshot_footer_record: SnapshotFooterRecord;
}

// The other implementation reads the structs inside these two in the version that the field
// `version` names.

#[test]
fn leader_change_message() {
    let adapt = |ours: &mut message::LeaderChangeMessage, version| ours.version = version;
    check::<_, other::LeaderChangeMessage>(adapt);
}

#[test]
fn voters_record() {
    let adapt = |ours: &mut message::VotersRecord, version| ours.version = version;
    check::<_, other::VotersRecord>(adapt);
}

fn check_header(key: other::ApiKey, version: i16) {
    let ours = RequestHeader {
        api_key: key as i16,
        api_version: version,
        correlation_id: 77,
        client_id: Some("client".to_owned()),
    };
    let mut w = Writer::new();
    ours.encode(&mut w).unwrap();
    let bytes = w.into_bytes().unwrap();
    let header_version = key.request_header_version(version);
    let theirs = other::RequestHeader::decode(&mut bytes.clone(), header_version).unwrap();
    let mut answered = BytesMut::new();
    theirs.encode(&mut answered, header_version).unwrap();
    assert_eq!(answered, bytes, "{key:?} {version}");
    assert_eq!(RequestHeader::decode(&mut Reader::new(answered.freeze())), Ok(ours));
    let our_key = ApiKey::from_code(key as i16).unwrap();
    let response = header::response_header_version(our_key, version);
    assert_eq!(response, key.response_header_version(version), "{key:?} {version}");
}

#[test]
fn headers_of_all_requests() {
    for key in other::ApiKey::iter() {
        let range = key.valid_versions();
        (range.min..=range.max).for_each(|version| check_header(key, version));
    }
}

#[test]
fn response_header_of_api_versions_is_never_flexible() {
    assert_eq!(header::response_header_version(ApiKey::ApiVersions, 5), 0);
    assert_eq!(other::ApiVersionsResponse::header_version(3), 0);
}
