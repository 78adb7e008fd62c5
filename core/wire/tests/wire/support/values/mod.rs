// Generated from the schema table. Do not edit: change the table in the `schema` folder of this
// crate and run `cargo run -p dohle-wire-gen`.

//! Arbitrary values of every message, and lists of all messages.

mod abort_transaction_record;
mod access_control_entry_record;
mod alter_configs_request;
mod alter_configs_response;
mod alter_replica_log_dirs_request;
mod alter_replica_log_dirs_response;
mod api_versions_request;
mod api_versions_response;
mod begin_transaction_record;
mod broker_registration_change_record;
mod clear_elr_record;
mod client_quota_record;
mod config_record;
mod consumer_group_current_member_assignment_key;
mod consumer_group_current_member_assignment_value;
mod consumer_group_describe_request;
mod consumer_group_describe_response;
mod consumer_group_heartbeat_request;
mod consumer_group_heartbeat_response;
mod consumer_group_member_metadata_key;
mod consumer_group_member_metadata_value;
mod consumer_group_metadata_key;
mod consumer_group_metadata_value;
mod consumer_group_partition_metadata_key;
mod consumer_group_partition_metadata_value;
mod consumer_group_regular_expression_key;
mod consumer_group_regular_expression_value;
mod consumer_group_target_assignment_member_key;
mod consumer_group_target_assignment_member_value;
mod consumer_group_target_assignment_metadata_key;
mod consumer_group_target_assignment_metadata_value;
mod consumer_protocol_assignment;
mod consumer_protocol_subscription;
mod create_partitions_request;
mod create_partitions_response;
mod create_topics_request;
mod create_topics_response;
mod delegation_token_record;
mod delete_groups_request;
mod delete_groups_response;
mod delete_records_request;
mod delete_records_response;
mod delete_topics_request;
mod delete_topics_response;
mod describe_cluster_request;
mod describe_cluster_response;
mod describe_configs_request;
mod describe_configs_response;
mod describe_groups_request;
mod describe_groups_response;
mod describe_log_dirs_request;
mod describe_log_dirs_response;
mod describe_quorum_request;
mod describe_quorum_response;
mod describe_topic_partitions_request;
mod describe_topic_partitions_response;
mod end_transaction_record;
mod feature_level_record;
mod fence_broker_record;
mod fetch_request;
mod fetch_response;
mod find_coordinator_request;
mod find_coordinator_response;
mod group_metadata_key;
mod group_metadata_value;
mod heartbeat_request;
mod heartbeat_response;
mod incremental_alter_configs_request;
mod incremental_alter_configs_response;
mod init_producer_id_request;
mod init_producer_id_response;
mod join_group_request;
mod join_group_response;
mod kraft_version_record;
mod leader_change_message;
mod leave_group_request;
mod leave_group_response;
mod legacy_offset_commit_key;
mod legacy_offset_commit_value;
mod list_groups_request;
mod list_groups_response;
mod list_offsets_request;
mod list_offsets_response;
mod metadata_request;
mod metadata_response;
mod no_op_record;
mod offset_commit_key;
mod offset_commit_request;
mod offset_commit_response;
mod offset_commit_value;
mod offset_delete_request;
mod offset_delete_response;
mod offset_fetch_request;
mod offset_fetch_response;
mod offset_for_leader_epoch_request;
mod offset_for_leader_epoch_response;
mod partition_change_record;
mod partition_record;
mod produce_request;
mod produce_response;
mod producer_ids_record;
mod register_broker_record;
mod register_controller_record;
mod remove_access_control_entry_record;
mod remove_delegation_token_record;
mod remove_topic_record;
mod remove_user_scram_credential_record;
mod snapshot_footer_record;
mod snapshot_header_record;
mod sync_group_request;
mod sync_group_response;
mod topic_record;
mod unfence_broker_record;
mod unregister_broker_record;
mod unregister_controller_record;
mod user_scram_credential_record;
mod voters_record;
mod zk_migration_state_record;

/// Calls `$check::<M>($arg…)` for every message `M`.
macro_rules! for_each_message {
    ($check:ident($($arg:expr),*)) => {
        $check::<dohle_wire::message::AlterConfigsRequest>($($arg),*);
        $check::<dohle_wire::message::AlterConfigsResponse>($($arg),*);
        $check::<dohle_wire::message::AlterReplicaLogDirsRequest>($($arg),*);
        $check::<dohle_wire::message::AlterReplicaLogDirsResponse>($($arg),*);
        $check::<dohle_wire::message::ApiVersionsRequest>($($arg),*);
        $check::<dohle_wire::message::ApiVersionsResponse>($($arg),*);
        $check::<dohle_wire::message::ConsumerGroupDescribeRequest>($($arg),*);
        $check::<dohle_wire::message::ConsumerGroupDescribeResponse>($($arg),*);
        $check::<dohle_wire::message::ConsumerGroupHeartbeatRequest>($($arg),*);
        $check::<dohle_wire::message::ConsumerGroupHeartbeatResponse>($($arg),*);
        $check::<dohle_wire::message::ConsumerProtocolSubscription>($($arg),*);
        $check::<dohle_wire::message::ConsumerProtocolAssignment>($($arg),*);
        $check::<dohle_wire::message::LeaderChangeMessage>($($arg),*);
        $check::<dohle_wire::message::SnapshotHeaderRecord>($($arg),*);
        $check::<dohle_wire::message::SnapshotFooterRecord>($($arg),*);
        $check::<dohle_wire::message::KRaftVersionRecord>($($arg),*);
        $check::<dohle_wire::message::VotersRecord>($($arg),*);
        $check::<dohle_wire::message::CreatePartitionsRequest>($($arg),*);
        $check::<dohle_wire::message::CreatePartitionsResponse>($($arg),*);
        $check::<dohle_wire::message::CreateTopicsRequest>($($arg),*);
        $check::<dohle_wire::message::CreateTopicsResponse>($($arg),*);
        $check::<dohle_wire::message::DeleteGroupsRequest>($($arg),*);
        $check::<dohle_wire::message::DeleteGroupsResponse>($($arg),*);
        $check::<dohle_wire::message::DeleteRecordsRequest>($($arg),*);
        $check::<dohle_wire::message::DeleteRecordsResponse>($($arg),*);
        $check::<dohle_wire::message::DeleteTopicsRequest>($($arg),*);
        $check::<dohle_wire::message::DeleteTopicsResponse>($($arg),*);
        $check::<dohle_wire::message::DescribeClusterRequest>($($arg),*);
        $check::<dohle_wire::message::DescribeClusterResponse>($($arg),*);
        $check::<dohle_wire::message::DescribeConfigsRequest>($($arg),*);
        $check::<dohle_wire::message::DescribeConfigsResponse>($($arg),*);
        $check::<dohle_wire::message::DescribeGroupsRequest>($($arg),*);
        $check::<dohle_wire::message::DescribeGroupsResponse>($($arg),*);
        $check::<dohle_wire::message::DescribeLogDirsRequest>($($arg),*);
        $check::<dohle_wire::message::DescribeLogDirsResponse>($($arg),*);
        $check::<dohle_wire::message::DescribeQuorumRequest>($($arg),*);
        $check::<dohle_wire::message::DescribeQuorumResponse>($($arg),*);
        $check::<dohle_wire::message::DescribeTopicPartitionsRequest>($($arg),*);
        $check::<dohle_wire::message::DescribeTopicPartitionsResponse>($($arg),*);
        $check::<dohle_wire::message::FetchRequest>($($arg),*);
        $check::<dohle_wire::message::FetchResponse>($($arg),*);
        $check::<dohle_wire::message::FindCoordinatorRequest>($($arg),*);
        $check::<dohle_wire::message::FindCoordinatorResponse>($($arg),*);
        $check::<dohle_wire::message::LegacyOffsetCommitKey>($($arg),*);
        $check::<dohle_wire::message::LegacyOffsetCommitValue>($($arg),*);
        $check::<dohle_wire::message::OffsetCommitKey>($($arg),*);
        $check::<dohle_wire::message::OffsetCommitValue>($($arg),*);
        $check::<dohle_wire::message::GroupMetadataKey>($($arg),*);
        $check::<dohle_wire::message::GroupMetadataValue>($($arg),*);
        $check::<dohle_wire::message::ConsumerGroupMetadataKey>($($arg),*);
        $check::<dohle_wire::message::ConsumerGroupMetadataValue>($($arg),*);
        $check::<dohle_wire::message::ConsumerGroupPartitionMetadataKey>($($arg),*);
        $check::<dohle_wire::message::ConsumerGroupPartitionMetadataValue>($($arg),*);
        $check::<dohle_wire::message::ConsumerGroupMemberMetadataKey>($($arg),*);
        $check::<dohle_wire::message::ConsumerGroupMemberMetadataValue>($($arg),*);
        $check::<dohle_wire::message::ConsumerGroupTargetAssignmentMetadataKey>($($arg),*);
        $check::<dohle_wire::message::ConsumerGroupTargetAssignmentMetadataValue>($($arg),*);
        $check::<dohle_wire::message::ConsumerGroupTargetAssignmentMemberKey>($($arg),*);
        $check::<dohle_wire::message::ConsumerGroupTargetAssignmentMemberValue>($($arg),*);
        $check::<dohle_wire::message::ConsumerGroupCurrentMemberAssignmentKey>($($arg),*);
        $check::<dohle_wire::message::ConsumerGroupCurrentMemberAssignmentValue>($($arg),*);
        $check::<dohle_wire::message::ConsumerGroupRegularExpressionKey>($($arg),*);
        $check::<dohle_wire::message::ConsumerGroupRegularExpressionValue>($($arg),*);
        $check::<dohle_wire::message::HeartbeatRequest>($($arg),*);
        $check::<dohle_wire::message::HeartbeatResponse>($($arg),*);
        $check::<dohle_wire::message::IncrementalAlterConfigsRequest>($($arg),*);
        $check::<dohle_wire::message::IncrementalAlterConfigsResponse>($($arg),*);
        $check::<dohle_wire::message::InitProducerIdRequest>($($arg),*);
        $check::<dohle_wire::message::InitProducerIdResponse>($($arg),*);
        $check::<dohle_wire::message::JoinGroupRequest>($($arg),*);
        $check::<dohle_wire::message::JoinGroupResponse>($($arg),*);
        $check::<dohle_wire::message::LeaveGroupRequest>($($arg),*);
        $check::<dohle_wire::message::LeaveGroupResponse>($($arg),*);
        $check::<dohle_wire::message::ListGroupsRequest>($($arg),*);
        $check::<dohle_wire::message::ListGroupsResponse>($($arg),*);
        $check::<dohle_wire::message::ListOffsetsRequest>($($arg),*);
        $check::<dohle_wire::message::ListOffsetsResponse>($($arg),*);
        $check::<dohle_wire::message::MetadataRequest>($($arg),*);
        $check::<dohle_wire::message::MetadataResponse>($($arg),*);
        $check::<dohle_wire::message::RegisterBrokerRecord>($($arg),*);
        $check::<dohle_wire::message::UnregisterBrokerRecord>($($arg),*);
        $check::<dohle_wire::message::TopicRecord>($($arg),*);
        $check::<dohle_wire::message::PartitionRecord>($($arg),*);
        $check::<dohle_wire::message::ConfigRecord>($($arg),*);
        $check::<dohle_wire::message::PartitionChangeRecord>($($arg),*);
        $check::<dohle_wire::message::FenceBrokerRecord>($($arg),*);
        $check::<dohle_wire::message::UnfenceBrokerRecord>($($arg),*);
        $check::<dohle_wire::message::RemoveTopicRecord>($($arg),*);
        $check::<dohle_wire::message::DelegationTokenRecord>($($arg),*);
        $check::<dohle_wire::message::UserScramCredentialRecord>($($arg),*);
        $check::<dohle_wire::message::FeatureLevelRecord>($($arg),*);
        $check::<dohle_wire::message::ClientQuotaRecord>($($arg),*);
        $check::<dohle_wire::message::ProducerIdsRecord>($($arg),*);
        $check::<dohle_wire::message::BrokerRegistrationChangeRecord>($($arg),*);
        $check::<dohle_wire::message::AccessControlEntryRecord>($($arg),*);
        $check::<dohle_wire::message::RemoveAccessControlEntryRecord>($($arg),*);
        $check::<dohle_wire::message::NoOpRecord>($($arg),*);
        $check::<dohle_wire::message::ZkMigrationStateRecord>($($arg),*);
        $check::<dohle_wire::message::RemoveUserScramCredentialRecord>($($arg),*);
        $check::<dohle_wire::message::BeginTransactionRecord>($($arg),*);
        $check::<dohle_wire::message::EndTransactionRecord>($($arg),*);
        $check::<dohle_wire::message::AbortTransactionRecord>($($arg),*);
        $check::<dohle_wire::message::RemoveDelegationTokenRecord>($($arg),*);
        $check::<dohle_wire::message::RegisterControllerRecord>($($arg),*);
        $check::<dohle_wire::message::ClearElrRecord>($($arg),*);
        $check::<dohle_wire::message::UnregisterControllerRecord>($($arg),*);
        $check::<dohle_wire::message::OffsetCommitRequest>($($arg),*);
        $check::<dohle_wire::message::OffsetCommitResponse>($($arg),*);
        $check::<dohle_wire::message::OffsetDeleteRequest>($($arg),*);
        $check::<dohle_wire::message::OffsetDeleteResponse>($($arg),*);
        $check::<dohle_wire::message::OffsetFetchRequest>($($arg),*);
        $check::<dohle_wire::message::OffsetFetchResponse>($($arg),*);
        $check::<dohle_wire::message::OffsetForLeaderEpochRequest>($($arg),*);
        $check::<dohle_wire::message::OffsetForLeaderEpochResponse>($($arg),*);
        $check::<dohle_wire::message::ProduceRequest>($($arg),*);
        $check::<dohle_wire::message::ProduceResponse>($($arg),*);
        $check::<dohle_wire::message::SyncGroupRequest>($($arg),*);
        $check::<dohle_wire::message::SyncGroupResponse>($($arg),*);
    };
}
pub(crate) use for_each_message;

/// Calls `$check::<M>($arg…)` for every request `M`.
macro_rules! for_each_request {
    ($check:ident($($arg:expr),*)) => {
        $check::<dohle_wire::message::AlterConfigsRequest>($($arg),*);
        $check::<dohle_wire::message::AlterReplicaLogDirsRequest>($($arg),*);
        $check::<dohle_wire::message::ApiVersionsRequest>($($arg),*);
        $check::<dohle_wire::message::ConsumerGroupDescribeRequest>($($arg),*);
        $check::<dohle_wire::message::ConsumerGroupHeartbeatRequest>($($arg),*);
        $check::<dohle_wire::message::CreatePartitionsRequest>($($arg),*);
        $check::<dohle_wire::message::CreateTopicsRequest>($($arg),*);
        $check::<dohle_wire::message::DeleteGroupsRequest>($($arg),*);
        $check::<dohle_wire::message::DeleteRecordsRequest>($($arg),*);
        $check::<dohle_wire::message::DeleteTopicsRequest>($($arg),*);
        $check::<dohle_wire::message::DescribeClusterRequest>($($arg),*);
        $check::<dohle_wire::message::DescribeConfigsRequest>($($arg),*);
        $check::<dohle_wire::message::DescribeGroupsRequest>($($arg),*);
        $check::<dohle_wire::message::DescribeLogDirsRequest>($($arg),*);
        $check::<dohle_wire::message::DescribeQuorumRequest>($($arg),*);
        $check::<dohle_wire::message::DescribeTopicPartitionsRequest>($($arg),*);
        $check::<dohle_wire::message::FetchRequest>($($arg),*);
        $check::<dohle_wire::message::FindCoordinatorRequest>($($arg),*);
        $check::<dohle_wire::message::HeartbeatRequest>($($arg),*);
        $check::<dohle_wire::message::IncrementalAlterConfigsRequest>($($arg),*);
        $check::<dohle_wire::message::InitProducerIdRequest>($($arg),*);
        $check::<dohle_wire::message::JoinGroupRequest>($($arg),*);
        $check::<dohle_wire::message::LeaveGroupRequest>($($arg),*);
        $check::<dohle_wire::message::ListGroupsRequest>($($arg),*);
        $check::<dohle_wire::message::ListOffsetsRequest>($($arg),*);
        $check::<dohle_wire::message::MetadataRequest>($($arg),*);
        $check::<dohle_wire::message::OffsetCommitRequest>($($arg),*);
        $check::<dohle_wire::message::OffsetDeleteRequest>($($arg),*);
        $check::<dohle_wire::message::OffsetFetchRequest>($($arg),*);
        $check::<dohle_wire::message::OffsetForLeaderEpochRequest>($($arg),*);
        $check::<dohle_wire::message::ProduceRequest>($($arg),*);
        $check::<dohle_wire::message::SyncGroupRequest>($($arg),*);
    };
}
pub(crate) use for_each_request;

/// Calls `$check::<M>($arg…)` for every record of the metadata log `M`.
macro_rules! for_each_metadata_record {
    ($check:ident($($arg:expr),*)) => {
        $check::<dohle_wire::message::RegisterBrokerRecord>($($arg),*);
        $check::<dohle_wire::message::UnregisterBrokerRecord>($($arg),*);
        $check::<dohle_wire::message::TopicRecord>($($arg),*);
        $check::<dohle_wire::message::PartitionRecord>($($arg),*);
        $check::<dohle_wire::message::ConfigRecord>($($arg),*);
        $check::<dohle_wire::message::PartitionChangeRecord>($($arg),*);
        $check::<dohle_wire::message::FenceBrokerRecord>($($arg),*);
        $check::<dohle_wire::message::UnfenceBrokerRecord>($($arg),*);
        $check::<dohle_wire::message::RemoveTopicRecord>($($arg),*);
        $check::<dohle_wire::message::DelegationTokenRecord>($($arg),*);
        $check::<dohle_wire::message::UserScramCredentialRecord>($($arg),*);
        $check::<dohle_wire::message::FeatureLevelRecord>($($arg),*);
        $check::<dohle_wire::message::ClientQuotaRecord>($($arg),*);
        $check::<dohle_wire::message::ProducerIdsRecord>($($arg),*);
        $check::<dohle_wire::message::BrokerRegistrationChangeRecord>($($arg),*);
        $check::<dohle_wire::message::AccessControlEntryRecord>($($arg),*);
        $check::<dohle_wire::message::RemoveAccessControlEntryRecord>($($arg),*);
        $check::<dohle_wire::message::NoOpRecord>($($arg),*);
        $check::<dohle_wire::message::ZkMigrationStateRecord>($($arg),*);
        $check::<dohle_wire::message::RemoveUserScramCredentialRecord>($($arg),*);
        $check::<dohle_wire::message::BeginTransactionRecord>($($arg),*);
        $check::<dohle_wire::message::EndTransactionRecord>($($arg),*);
        $check::<dohle_wire::message::AbortTransactionRecord>($($arg),*);
        $check::<dohle_wire::message::RemoveDelegationTokenRecord>($($arg),*);
        $check::<dohle_wire::message::RegisterControllerRecord>($($arg),*);
        $check::<dohle_wire::message::ClearElrRecord>($($arg),*);
        $check::<dohle_wire::message::UnregisterControllerRecord>($($arg),*);
    };
}
pub(crate) use for_each_metadata_record;

/// Calls `$check::<K, V>(of, $arg…)` for every record of groups with a key `K` and a value `V`, where
/// `of` makes the record of both.
macro_rules! for_each_group_record {
    ($check:ident($($arg:expr),*)) => {
        $check::<dohle_wire::message::LegacyOffsetCommitKey, dohle_wire::message::LegacyOffsetCommitValue>(
            dohle_wire::message::GroupRecord::LegacyOffsetCommit, $($arg),*
        );
        $check::<dohle_wire::message::OffsetCommitKey, dohle_wire::message::OffsetCommitValue>(
            dohle_wire::message::GroupRecord::OffsetCommit, $($arg),*
        );
        $check::<dohle_wire::message::GroupMetadataKey, dohle_wire::message::GroupMetadataValue>(
            dohle_wire::message::GroupRecord::GroupMetadata, $($arg),*
        );
        $check::<dohle_wire::message::ConsumerGroupMetadataKey, dohle_wire::message::ConsumerGroupMetadataValue>(
            dohle_wire::message::GroupRecord::ConsumerGroupMetadata, $($arg),*
        );
        $check::<dohle_wire::message::ConsumerGroupPartitionMetadataKey, dohle_wire::message::ConsumerGroupPartitionMetadataValue>(
            dohle_wire::message::GroupRecord::ConsumerGroupPartitionMetadata, $($arg),*
        );
        $check::<dohle_wire::message::ConsumerGroupMemberMetadataKey, dohle_wire::message::ConsumerGroupMemberMetadataValue>(
            dohle_wire::message::GroupRecord::ConsumerGroupMemberMetadata, $($arg),*
        );
        $check::<dohle_wire::message::ConsumerGroupTargetAssignmentMetadataKey, dohle_wire::message::ConsumerGroupTargetAssignmentMetadataValue>(
            dohle_wire::message::GroupRecord::ConsumerGroupTargetAssignmentMetadata, $($arg),*
        );
        $check::<dohle_wire::message::ConsumerGroupTargetAssignmentMemberKey, dohle_wire::message::ConsumerGroupTargetAssignmentMemberValue>(
            dohle_wire::message::GroupRecord::ConsumerGroupTargetAssignmentMember, $($arg),*
        );
        $check::<dohle_wire::message::ConsumerGroupCurrentMemberAssignmentKey, dohle_wire::message::ConsumerGroupCurrentMemberAssignmentValue>(
            dohle_wire::message::GroupRecord::ConsumerGroupCurrentMemberAssignment, $($arg),*
        );
        $check::<dohle_wire::message::ConsumerGroupRegularExpressionKey, dohle_wire::message::ConsumerGroupRegularExpressionValue>(
            dohle_wire::message::GroupRecord::ConsumerGroupRegularExpression, $($arg),*
        );
    };
}
pub(crate) use for_each_group_record;
