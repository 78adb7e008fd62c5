// Generated from the schema table. Do not edit: change the table in the `schema` folder of this
// crate and run `cargo run -p dohle-wire-gen`.

//! Requests, responses and records, one module each.
//!
//! Types whose names are unique are also found right here.

pub mod abort_transaction_record;
pub mod access_control_entry_record;
pub mod alter_configs_request;
pub mod alter_configs_response;
pub mod alter_replica_log_dirs_request;
pub mod alter_replica_log_dirs_response;
pub mod api_versions_request;
pub mod api_versions_response;
pub mod begin_transaction_record;
pub mod broker_registration_change_record;
pub mod clear_elr_record;
pub mod client_quota_record;
pub mod config_record;
pub mod consumer_group_current_member_assignment_key;
pub mod consumer_group_current_member_assignment_value;
pub mod consumer_group_describe_request;
pub mod consumer_group_describe_response;
pub mod consumer_group_heartbeat_request;
pub mod consumer_group_heartbeat_response;
pub mod consumer_group_member_metadata_key;
pub mod consumer_group_member_metadata_value;
pub mod consumer_group_metadata_key;
pub mod consumer_group_metadata_value;
pub mod consumer_group_partition_metadata_key;
pub mod consumer_group_partition_metadata_value;
pub mod consumer_group_regular_expression_key;
pub mod consumer_group_regular_expression_value;
pub mod consumer_group_target_assignment_member_key;
pub mod consumer_group_target_assignment_member_value;
pub mod consumer_group_target_assignment_metadata_key;
pub mod consumer_group_target_assignment_metadata_value;
pub mod consumer_protocol_assignment;
pub mod consumer_protocol_subscription;
pub mod create_partitions_request;
pub mod create_partitions_response;
pub mod create_topics_request;
pub mod create_topics_response;
pub mod delegation_token_record;
pub mod delete_groups_request;
pub mod delete_groups_response;
pub mod delete_records_request;
pub mod delete_records_response;
pub mod delete_topics_request;
pub mod delete_topics_response;
pub mod describe_cluster_request;
pub mod describe_cluster_response;
pub mod describe_configs_request;
pub mod describe_configs_response;
pub mod describe_groups_request;
pub mod describe_groups_response;
pub mod describe_log_dirs_request;
pub mod describe_log_dirs_response;
pub mod describe_quorum_request;
pub mod describe_quorum_response;
pub mod describe_topic_partitions_request;
pub mod describe_topic_partitions_response;
pub mod end_transaction_record;
pub mod feature_level_record;
pub mod fence_broker_record;
pub mod fetch_request;
pub mod fetch_response;
pub mod find_coordinator_request;
pub mod find_coordinator_response;
pub mod group;
pub mod group_metadata_key;
pub mod group_metadata_value;
pub mod heartbeat_request;
pub mod heartbeat_response;
pub mod incremental_alter_configs_request;
pub mod incremental_alter_configs_response;
pub mod init_producer_id_request;
pub mod init_producer_id_response;
pub mod join_group_request;
pub mod join_group_response;
pub mod kraft_version_record;
pub mod leader_change_message;
pub mod leave_group_request;
pub mod leave_group_response;
pub mod legacy_offset_commit_key;
pub mod legacy_offset_commit_value;
pub mod list_groups_request;
pub mod list_groups_response;
pub mod list_offsets_request;
pub mod list_offsets_response;
pub mod metadata;
pub mod metadata_request;
pub mod metadata_response;
pub mod no_op_record;
pub mod offset_commit_key;
pub mod offset_commit_request;
pub mod offset_commit_response;
pub mod offset_commit_value;
pub mod offset_delete_request;
pub mod offset_delete_response;
pub mod offset_fetch_request;
pub mod offset_fetch_response;
pub mod offset_for_leader_epoch_request;
pub mod offset_for_leader_epoch_response;
pub mod partition_change_record;
pub mod partition_record;
pub mod produce_request;
pub mod produce_response;
pub mod producer_ids_record;
pub mod register_broker_record;
pub mod register_controller_record;
pub mod remove_access_control_entry_record;
pub mod remove_delegation_token_record;
pub mod remove_topic_record;
pub mod remove_user_scram_credential_record;
pub mod snapshot_footer_record;
pub mod snapshot_header_record;
pub mod sync_group_request;
pub mod sync_group_response;
pub mod topic_record;
mod traits;
pub mod unfence_broker_record;
pub mod unregister_broker_record;
pub mod unregister_controller_record;
pub mod user_scram_credential_record;
pub mod voters_record;
pub mod zk_migration_state_record;

pub use abort_transaction_record::AbortTransactionRecord;
pub use access_control_entry_record::AccessControlEntryRecord;
pub use alter_configs_request::AlterConfigsRequest;
pub use alter_configs_response::AlterConfigsResponse;
pub use alter_replica_log_dirs_request::{
    AlterReplicaLogDir, AlterReplicaLogDirTopic, AlterReplicaLogDirsRequest,
};
pub use alter_replica_log_dirs_response::{
    AlterReplicaLogDirPartitionResult, AlterReplicaLogDirTopicResult, AlterReplicaLogDirsResponse,
};
pub use api_versions_request::ApiVersionsRequest;
pub use api_versions_response::{
    ApiVersion, ApiVersionsResponse, FinalizedFeatureKey, SupportedFeatureKey,
};
pub use begin_transaction_record::BeginTransactionRecord;
pub use broker_registration_change_record::BrokerRegistrationChangeRecord;
pub use clear_elr_record::ClearElrRecord;
pub use client_quota_record::{ClientQuotaRecord, EntityData};
pub use config_record::ConfigRecord;
pub use consumer_group_current_member_assignment_key::ConsumerGroupCurrentMemberAssignmentKey;
pub use consumer_group_current_member_assignment_value::ConsumerGroupCurrentMemberAssignmentValue;
pub use consumer_group_describe_request::ConsumerGroupDescribeRequest;
pub use consumer_group_describe_response::{ConsumerGroupDescribeResponse, Member};
pub use consumer_group_heartbeat_request::ConsumerGroupHeartbeatRequest;
pub use consumer_group_heartbeat_response::ConsumerGroupHeartbeatResponse;
pub use consumer_group_member_metadata_key::ConsumerGroupMemberMetadataKey;
pub use consumer_group_member_metadata_value::{
    ClassicMemberMetadata, ClassicProtocol, ConsumerGroupMemberMetadataValue,
};
pub use consumer_group_metadata_key::ConsumerGroupMetadataKey;
pub use consumer_group_metadata_value::ConsumerGroupMetadataValue;
pub use consumer_group_partition_metadata_key::ConsumerGroupPartitionMetadataKey;
pub use consumer_group_partition_metadata_value::{
    ConsumerGroupPartitionMetadataValue, PartitionMetadata, TopicMetadata,
};
pub use consumer_group_regular_expression_key::ConsumerGroupRegularExpressionKey;
pub use consumer_group_regular_expression_value::ConsumerGroupRegularExpressionValue;
pub use consumer_group_target_assignment_member_key::ConsumerGroupTargetAssignmentMemberKey;
pub use consumer_group_target_assignment_member_value::ConsumerGroupTargetAssignmentMemberValue;
pub use consumer_group_target_assignment_metadata_key::ConsumerGroupTargetAssignmentMetadataKey;
pub use consumer_group_target_assignment_metadata_value::ConsumerGroupTargetAssignmentMetadataValue;
pub use consumer_protocol_assignment::ConsumerProtocolAssignment;
pub use consumer_protocol_subscription::ConsumerProtocolSubscription;
pub use create_partitions_request::{
    CreatePartitionsAssignment, CreatePartitionsRequest, CreatePartitionsTopic,
};
pub use create_partitions_response::{CreatePartitionsResponse, CreatePartitionsTopicResult};
pub use create_topics_request::{
    CreatableReplicaAssignment, CreatableTopic, CreatableTopicConfig, CreateTopicsRequest,
};
pub use create_topics_response::{
    CreatableTopicConfigs, CreatableTopicResult, CreateTopicsResponse,
};
pub use delegation_token_record::DelegationTokenRecord;
pub use delete_groups_request::DeleteGroupsRequest;
pub use delete_groups_response::{DeletableGroupResult, DeleteGroupsResponse};
pub use delete_records_request::{
    DeleteRecordsPartition, DeleteRecordsRequest, DeleteRecordsTopic,
};
pub use delete_records_response::{
    DeleteRecordsPartitionResult, DeleteRecordsResponse, DeleteRecordsTopicResult,
};
pub use delete_topics_request::{DeleteTopicState, DeleteTopicsRequest};
pub use delete_topics_response::{DeletableTopicResult, DeleteTopicsResponse};
pub use describe_cluster_request::DescribeClusterRequest;
pub use describe_cluster_response::{DescribeClusterBroker, DescribeClusterResponse};
pub use describe_configs_request::{DescribeConfigsRequest, DescribeConfigsResource};
pub use describe_configs_response::{
    DescribeConfigsResourceResult, DescribeConfigsResponse, DescribeConfigsResult,
    DescribeConfigsSynonym,
};
pub use describe_groups_request::DescribeGroupsRequest;
pub use describe_groups_response::{DescribeGroupsResponse, DescribedGroupMember};
pub use describe_log_dirs_request::{DescribableLogDirTopic, DescribeLogDirsRequest};
pub use describe_log_dirs_response::{
    DescribeLogDirsPartition, DescribeLogDirsResponse, DescribeLogDirsResult, DescribeLogDirsTopic,
};
pub use describe_quorum_request::DescribeQuorumRequest;
pub use describe_quorum_response::{DescribeQuorumResponse, Listener, Node};
pub use describe_topic_partitions_request::{DescribeTopicPartitionsRequest, TopicRequest};
pub use describe_topic_partitions_response::{
    DescribeTopicPartitionsResponse, DescribeTopicPartitionsResponsePartition,
    DescribeTopicPartitionsResponseTopic,
};
pub use end_transaction_record::EndTransactionRecord;
pub use feature_level_record::FeatureLevelRecord;
pub use fence_broker_record::FenceBrokerRecord;
pub use fetch_request::{FetchPartition, FetchRequest, FetchTopic, ForgottenTopic};
pub use fetch_response::{AbortedTransaction, FetchResponse, FetchableTopicResponse, SnapshotId};
pub use find_coordinator_request::FindCoordinatorRequest;
pub use find_coordinator_response::{Coordinator, FindCoordinatorResponse};
pub use group::GroupRecord;
pub use group_metadata_key::GroupMetadataKey;
pub use group_metadata_value::{GroupMetadataValue, MemberMetadata};
pub use heartbeat_request::HeartbeatRequest;
pub use heartbeat_response::HeartbeatResponse;
pub use incremental_alter_configs_request::IncrementalAlterConfigsRequest;
pub use incremental_alter_configs_response::IncrementalAlterConfigsResponse;
pub use init_producer_id_request::InitProducerIdRequest;
pub use init_producer_id_response::InitProducerIdResponse;
pub use join_group_request::{JoinGroupRequest, JoinGroupRequestProtocol};
pub use join_group_response::{JoinGroupResponse, JoinGroupResponseMember};
pub use kraft_version_record::KRaftVersionRecord;
pub use leader_change_message::LeaderChangeMessage;
pub use leave_group_request::{LeaveGroupRequest, MemberIdentity};
pub use leave_group_response::{LeaveGroupResponse, MemberResponse};
pub use legacy_offset_commit_key::LegacyOffsetCommitKey;
pub use legacy_offset_commit_value::LegacyOffsetCommitValue;
pub use list_groups_request::ListGroupsRequest;
pub use list_groups_response::{ListGroupsResponse, ListedGroup};
pub use list_offsets_request::{ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic};
pub use list_offsets_response::{
    ListOffsetsPartitionResponse, ListOffsetsResponse, ListOffsetsTopicResponse,
};
pub use metadata::MetadataRecord;
pub use metadata_request::{MetadataRequest, MetadataRequestTopic};
pub use metadata_response::{
    MetadataResponse, MetadataResponseBroker, MetadataResponsePartition, MetadataResponseTopic,
};
pub use no_op_record::NoOpRecord;
pub use offset_commit_key::OffsetCommitKey;
pub use offset_commit_request::{
    OffsetCommitRequest, OffsetCommitRequestPartition, OffsetCommitRequestTopic,
};
pub use offset_commit_response::{
    OffsetCommitResponse, OffsetCommitResponsePartition, OffsetCommitResponseTopic,
};
pub use offset_commit_value::OffsetCommitValue;
pub use offset_delete_request::{
    OffsetDeleteRequest, OffsetDeleteRequestPartition, OffsetDeleteRequestTopic,
};
pub use offset_delete_response::{
    OffsetDeleteResponse, OffsetDeleteResponsePartition, OffsetDeleteResponseTopic,
};
pub use offset_fetch_request::{
    OffsetFetchRequest, OffsetFetchRequestGroup, OffsetFetchRequestTopic, OffsetFetchRequestTopics,
};
pub use offset_fetch_response::{
    OffsetFetchResponse, OffsetFetchResponseGroup, OffsetFetchResponsePartition,
    OffsetFetchResponsePartitions, OffsetFetchResponseTopic, OffsetFetchResponseTopics,
};
pub use offset_for_leader_epoch_request::{
    OffsetForLeaderEpochRequest, OffsetForLeaderPartition, OffsetForLeaderTopic,
};
pub use offset_for_leader_epoch_response::{
    OffsetForLeaderEpochResponse, OffsetForLeaderTopicResult,
};
pub use partition_change_record::PartitionChangeRecord;
pub use partition_record::PartitionRecord;
pub use produce_request::{PartitionProduceData, ProduceRequest, TopicProduceData};
pub use produce_response::{
    BatchIndexAndErrorMessage, PartitionProduceResponse, ProduceResponse, TopicProduceResponse,
};
pub use producer_ids_record::ProducerIdsRecord;
pub use register_broker_record::{BrokerEndpoint, BrokerFeature, RegisterBrokerRecord};
pub use register_controller_record::{
    ControllerEndpoint, ControllerFeature, RegisterControllerRecord,
};
pub use remove_access_control_entry_record::RemoveAccessControlEntryRecord;
pub use remove_delegation_token_record::RemoveDelegationTokenRecord;
pub use remove_topic_record::RemoveTopicRecord;
pub use remove_user_scram_credential_record::RemoveUserScramCredentialRecord;
pub use snapshot_footer_record::SnapshotFooterRecord;
pub use snapshot_header_record::SnapshotHeaderRecord;
pub use sync_group_request::{SyncGroupRequest, SyncGroupRequestAssignment};
pub use sync_group_response::SyncGroupResponse;
pub use topic_record::TopicRecord;
pub use traits::{Message, Request};
pub use unfence_broker_record::UnfenceBrokerRecord;
pub use unregister_broker_record::UnregisterBrokerRecord;
pub use unregister_controller_record::UnregisterControllerRecord;
pub use user_scram_credential_record::UserScramCredentialRecord;
pub use voters_record::{Endpoint, KRaftVersionFeature, VotersRecord};
pub use zk_migration_state_record::ZkMigrationStateRecord;
