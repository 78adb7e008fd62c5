// Generated from the schema table. Do not edit: change the table in the `schema` folder of this
// crate and run `cargo run -p dohle-wire-gen`.

//! Arbitrary values of every message, and lists of all messages.

mod abort_transaction_record;
mod access_control_entry_record;
mod alter_configs_request;
mod alter_configs_response;
mod api_versions_request;
mod api_versions_response;
mod begin_transaction_record;
mod broker_registration_change_record;
mod clear_elr_record;
mod client_quota_record;
mod config_record;
mod create_partitions_request;
mod create_partitions_response;
mod create_topics_request;
mod create_topics_response;
mod delegation_token_record;
mod delete_records_request;
mod delete_records_response;
mod delete_topics_request;
mod delete_topics_response;
mod describe_cluster_request;
mod describe_cluster_response;
mod describe_configs_request;
mod describe_configs_response;
mod describe_log_dirs_request;
mod describe_log_dirs_response;
mod describe_topic_partitions_request;
mod describe_topic_partitions_response;
mod end_transaction_record;
mod feature_level_record;
mod fence_broker_record;
mod fetch_request;
mod fetch_response;
mod incremental_alter_configs_request;
mod incremental_alter_configs_response;
mod init_producer_id_request;
mod init_producer_id_response;
mod kraft_version_record;
mod leader_change_message;
mod list_offsets_request;
mod list_offsets_response;
mod metadata_request;
mod metadata_response;
mod no_op_record;
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
        $check::<dohle_wire::message::ApiVersionsRequest>($($arg),*);
        $check::<dohle_wire::message::ApiVersionsResponse>($($arg),*);
        $check::<dohle_wire::message::LeaderChangeMessage>($($arg),*);
        $check::<dohle_wire::message::SnapshotHeaderRecord>($($arg),*);
        $check::<dohle_wire::message::SnapshotFooterRecord>($($arg),*);
        $check::<dohle_wire::message::KRaftVersionRecord>($($arg),*);
        $check::<dohle_wire::message::VotersRecord>($($arg),*);
        $check::<dohle_wire::message::CreatePartitionsRequest>($($arg),*);
        $check::<dohle_wire::message::CreatePartitionsResponse>($($arg),*);
        $check::<dohle_wire::message::CreateTopicsRequest>($($arg),*);
        $check::<dohle_wire::message::CreateTopicsResponse>($($arg),*);
        $check::<dohle_wire::message::DeleteRecordsRequest>($($arg),*);
        $check::<dohle_wire::message::DeleteRecordsResponse>($($arg),*);
        $check::<dohle_wire::message::DeleteTopicsRequest>($($arg),*);
        $check::<dohle_wire::message::DeleteTopicsResponse>($($arg),*);
        $check::<dohle_wire::message::DescribeClusterRequest>($($arg),*);
        $check::<dohle_wire::message::DescribeClusterResponse>($($arg),*);
        $check::<dohle_wire::message::DescribeConfigsRequest>($($arg),*);
        $check::<dohle_wire::message::DescribeConfigsResponse>($($arg),*);
        $check::<dohle_wire::message::DescribeLogDirsRequest>($($arg),*);
        $check::<dohle_wire::message::DescribeLogDirsResponse>($($arg),*);
        $check::<dohle_wire::message::DescribeTopicPartitionsRequest>($($arg),*);
        $check::<dohle_wire::message::DescribeTopicPartitionsResponse>($($arg),*);
        $check::<dohle_wire::message::FetchRequest>($($arg),*);
        $check::<dohle_wire::message::FetchResponse>($($arg),*);
        $check::<dohle_wire::message::IncrementalAlterConfigsRequest>($($arg),*);
        $check::<dohle_wire::message::IncrementalAlterConfigsResponse>($($arg),*);
        $check::<dohle_wire::message::InitProducerIdRequest>($($arg),*);
        $check::<dohle_wire::message::InitProducerIdResponse>($($arg),*);
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
        $check::<dohle_wire::message::OffsetForLeaderEpochRequest>($($arg),*);
        $check::<dohle_wire::message::OffsetForLeaderEpochResponse>($($arg),*);
        $check::<dohle_wire::message::ProduceRequest>($($arg),*);
        $check::<dohle_wire::message::ProduceResponse>($($arg),*);
    };
}
pub(crate) use for_each_message;

/// Calls `$check::<M>($arg…)` for every request `M`.
macro_rules! for_each_request {
    ($check:ident($($arg:expr),*)) => {
        $check::<dohle_wire::message::AlterConfigsRequest>($($arg),*);
        $check::<dohle_wire::message::ApiVersionsRequest>($($arg),*);
        $check::<dohle_wire::message::CreatePartitionsRequest>($($arg),*);
        $check::<dohle_wire::message::CreateTopicsRequest>($($arg),*);
        $check::<dohle_wire::message::DeleteRecordsRequest>($($arg),*);
        $check::<dohle_wire::message::DeleteTopicsRequest>($($arg),*);
        $check::<dohle_wire::message::DescribeClusterRequest>($($arg),*);
        $check::<dohle_wire::message::DescribeConfigsRequest>($($arg),*);
        $check::<dohle_wire::message::DescribeLogDirsRequest>($($arg),*);
        $check::<dohle_wire::message::DescribeTopicPartitionsRequest>($($arg),*);
        $check::<dohle_wire::message::FetchRequest>($($arg),*);
        $check::<dohle_wire::message::IncrementalAlterConfigsRequest>($($arg),*);
        $check::<dohle_wire::message::InitProducerIdRequest>($($arg),*);
        $check::<dohle_wire::message::ListOffsetsRequest>($($arg),*);
        $check::<dohle_wire::message::MetadataRequest>($($arg),*);
        $check::<dohle_wire::message::OffsetForLeaderEpochRequest>($($arg),*);
        $check::<dohle_wire::message::ProduceRequest>($($arg),*);
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
