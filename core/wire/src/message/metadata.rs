// Generated from the schema table. Do not edit: change the table in the `schema` folder of this
// crate and run `cargo run -p dohle-wire-gen`.

//! All records of the metadata log, and the frame they are stored in.

use crate::codec::{DecodeError, EncodeError, Reader, Writer};
use crate::message::traits::{Message, read_frame, write_frame};

use super::abort_transaction_record::AbortTransactionRecord;
use super::access_control_entry_record::AccessControlEntryRecord;
use super::begin_transaction_record::BeginTransactionRecord;
use super::broker_registration_change_record::BrokerRegistrationChangeRecord;
use super::clear_elr_record::ClearElrRecord;
use super::client_quota_record::ClientQuotaRecord;
use super::config_record::ConfigRecord;
use super::delegation_token_record::DelegationTokenRecord;
use super::end_transaction_record::EndTransactionRecord;
use super::feature_level_record::FeatureLevelRecord;
use super::fence_broker_record::FenceBrokerRecord;
use super::no_op_record::NoOpRecord;
use super::partition_change_record::PartitionChangeRecord;
use super::partition_record::PartitionRecord;
use super::producer_ids_record::ProducerIdsRecord;
use super::register_broker_record::RegisterBrokerRecord;
use super::register_controller_record::RegisterControllerRecord;
use super::remove_access_control_entry_record::RemoveAccessControlEntryRecord;
use super::remove_delegation_token_record::RemoveDelegationTokenRecord;
use super::remove_topic_record::RemoveTopicRecord;
use super::remove_user_scram_credential_record::RemoveUserScramCredentialRecord;
use super::topic_record::TopicRecord;
use super::unfence_broker_record::UnfenceBrokerRecord;
use super::unregister_broker_record::UnregisterBrokerRecord;
use super::unregister_controller_record::UnregisterControllerRecord;
use super::user_scram_credential_record::UserScramCredentialRecord;
use super::zk_migration_state_record::ZkMigrationStateRecord;

/// A record of the metadata log.
#[derive(Clone, PartialEq, Debug)]
pub enum MetadataRecord {
    /// A broker registered; its epoch is the offset of this record.
    RegisterBroker(RegisterBrokerRecord),
    /// The registration of a broker was removed.
    UnregisterBroker(UnregisterBrokerRecord),
    /// A topic was created.
    Topic(TopicRecord),
    /// A partition exists, with this whole state.
    Partition(PartitionRecord),
    /// One setting of one resource was set or removed.
    Config(ConfigRecord),
    /// Parts of a partition's state changed; what is absent stays as it was.
    PartitionChange(PartitionChangeRecord),
    /// A broker lost its leases; older form of BrokerRegistrationChangeRecord.
    FenceBroker(FenceBrokerRecord),
    /// A broker may serve clients; older form of BrokerRegistrationChangeRecord.
    UnfenceBroker(UnfenceBrokerRecord),
    /// A topic was deleted with all its partitions.
    RemoveTopic(RemoveTopicRecord),
    /// A delegation token was created or renewed.
    DelegationToken(DelegationTokenRecord),
    /// A user's password verifier was set.
    UserScramCredential(UserScramCredentialRecord),
    /// The finalized level of a feature was set.
    FeatureLevel(FeatureLevelRecord),
    /// A quota was set or removed.
    ClientQuota(ClientQuotaRecord),
    /// A block of producer ids was handed to a broker.
    ProducerIds(ProducerIdsRecord),
    /// Parts of a broker's registration changed; what is absent stays as it was.
    BrokerRegistrationChange(BrokerRegistrationChangeRecord),
    /// An access rule was added.
    AccessControlEntry(AccessControlEntryRecord),
    /// An access rule was removed.
    RemoveAccessControlEntry(RemoveAccessControlEntryRecord),
    /// Nothing changed; shows that the controller is alive.
    NoOp(NoOpRecord),
    /// How far the migration from ZooKeeper has come.
    ZkMigrationState(ZkMigrationStateRecord),
    /// A user's password verifier was removed.
    RemoveUserScramCredential(RemoveUserScramCredentialRecord),
    /// The records up to the next end or abort belong together.
    BeginTransaction(BeginTransactionRecord),
    /// The records since the last begin take effect.
    EndTransaction(EndTransactionRecord),
    /// The records since the last begin are void.
    AbortTransaction(AbortTransactionRecord),
    /// A delegation token was removed.
    RemoveDelegationToken(RemoveDelegationTokenRecord),
    /// A controller registered.
    RegisterController(RegisterControllerRecord),
    /// The eligible leader replicas of a topic were forgotten.
    ClearElr(ClearElrRecord),
    /// The registration of a controller was removed.
    UnregisterController(UnregisterControllerRecord),
}

impl MetadataRecord {
    /// Number of the record's type in the frame.
    pub const fn key(&self) -> u32 {
        match self {
            Self::RegisterBroker(_) => 0,
            Self::UnregisterBroker(_) => 1,
            Self::Topic(_) => 2,
            Self::Partition(_) => 3,
            Self::Config(_) => 4,
            Self::PartitionChange(_) => 5,
            Self::FenceBroker(_) => 7,
            Self::UnfenceBroker(_) => 8,
            Self::RemoveTopic(_) => 9,
            Self::DelegationToken(_) => 10,
            Self::UserScramCredential(_) => 11,
            Self::FeatureLevel(_) => 12,
            Self::ClientQuota(_) => 14,
            Self::ProducerIds(_) => 15,
            Self::BrokerRegistrationChange(_) => 17,
            Self::AccessControlEntry(_) => 18,
            Self::RemoveAccessControlEntry(_) => 19,
            Self::NoOp(_) => 20,
            Self::ZkMigrationState(_) => 21,
            Self::RemoveUserScramCredential(_) => 22,
            Self::BeginTransaction(_) => 23,
            Self::EndTransaction(_) => 24,
            Self::AbortTransaction(_) => 25,
            Self::RemoveDelegationToken(_) => 26,
            Self::RegisterController(_) => 27,
            Self::ClearElr(_) => 28,
            Self::UnregisterController(_) => 29,
        }
    }

    /// The protocol's name of the record's type.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::RegisterBroker(_) => RegisterBrokerRecord::NAME,
            Self::UnregisterBroker(_) => UnregisterBrokerRecord::NAME,
            Self::Topic(_) => TopicRecord::NAME,
            Self::Partition(_) => PartitionRecord::NAME,
            Self::Config(_) => ConfigRecord::NAME,
            Self::PartitionChange(_) => PartitionChangeRecord::NAME,
            Self::FenceBroker(_) => FenceBrokerRecord::NAME,
            Self::UnfenceBroker(_) => UnfenceBrokerRecord::NAME,
            Self::RemoveTopic(_) => RemoveTopicRecord::NAME,
            Self::DelegationToken(_) => DelegationTokenRecord::NAME,
            Self::UserScramCredential(_) => UserScramCredentialRecord::NAME,
            Self::FeatureLevel(_) => FeatureLevelRecord::NAME,
            Self::ClientQuota(_) => ClientQuotaRecord::NAME,
            Self::ProducerIds(_) => ProducerIdsRecord::NAME,
            Self::BrokerRegistrationChange(_) => BrokerRegistrationChangeRecord::NAME,
            Self::AccessControlEntry(_) => AccessControlEntryRecord::NAME,
            Self::RemoveAccessControlEntry(_) => RemoveAccessControlEntryRecord::NAME,
            Self::NoOp(_) => NoOpRecord::NAME,
            Self::ZkMigrationState(_) => ZkMigrationStateRecord::NAME,
            Self::RemoveUserScramCredential(_) => RemoveUserScramCredentialRecord::NAME,
            Self::BeginTransaction(_) => BeginTransactionRecord::NAME,
            Self::EndTransaction(_) => EndTransactionRecord::NAME,
            Self::AbortTransaction(_) => AbortTransactionRecord::NAME,
            Self::RemoveDelegationToken(_) => RemoveDelegationTokenRecord::NAME,
            Self::RegisterController(_) => RegisterControllerRecord::NAME,
            Self::ClearElr(_) => ClearElrRecord::NAME,
            Self::UnregisterController(_) => UnregisterControllerRecord::NAME,
        }
    }

    /// Oldest and newest version of the record's type.
    pub const fn versions(&self) -> (i16, i16) {
        match self {
            Self::RegisterBroker(_) => RegisterBrokerRecord::VERSIONS,
            Self::UnregisterBroker(_) => UnregisterBrokerRecord::VERSIONS,
            Self::Topic(_) => TopicRecord::VERSIONS,
            Self::Partition(_) => PartitionRecord::VERSIONS,
            Self::Config(_) => ConfigRecord::VERSIONS,
            Self::PartitionChange(_) => PartitionChangeRecord::VERSIONS,
            Self::FenceBroker(_) => FenceBrokerRecord::VERSIONS,
            Self::UnfenceBroker(_) => UnfenceBrokerRecord::VERSIONS,
            Self::RemoveTopic(_) => RemoveTopicRecord::VERSIONS,
            Self::DelegationToken(_) => DelegationTokenRecord::VERSIONS,
            Self::UserScramCredential(_) => UserScramCredentialRecord::VERSIONS,
            Self::FeatureLevel(_) => FeatureLevelRecord::VERSIONS,
            Self::ClientQuota(_) => ClientQuotaRecord::VERSIONS,
            Self::ProducerIds(_) => ProducerIdsRecord::VERSIONS,
            Self::BrokerRegistrationChange(_) => BrokerRegistrationChangeRecord::VERSIONS,
            Self::AccessControlEntry(_) => AccessControlEntryRecord::VERSIONS,
            Self::RemoveAccessControlEntry(_) => RemoveAccessControlEntryRecord::VERSIONS,
            Self::NoOp(_) => NoOpRecord::VERSIONS,
            Self::ZkMigrationState(_) => ZkMigrationStateRecord::VERSIONS,
            Self::RemoveUserScramCredential(_) => RemoveUserScramCredentialRecord::VERSIONS,
            Self::BeginTransaction(_) => BeginTransactionRecord::VERSIONS,
            Self::EndTransaction(_) => EndTransactionRecord::VERSIONS,
            Self::AbortTransaction(_) => AbortTransactionRecord::VERSIONS,
            Self::RemoveDelegationToken(_) => RemoveDelegationTokenRecord::VERSIONS,
            Self::RegisterController(_) => RegisterControllerRecord::VERSIONS,
            Self::ClearElr(_) => ClearElrRecord::VERSIONS,
            Self::UnregisterController(_) => UnregisterControllerRecord::VERSIONS,
        }
    }

    /// Writes the value of a log record: the frame, and in it this record in `version`.
    pub fn encode(&self, w: &mut Writer, version: i16) -> Result<(), EncodeError> {
        write_frame(w, self.key(), version);
        match self {
            Self::RegisterBroker(record) => record.encode(w, version),
            Self::UnregisterBroker(record) => record.encode(w, version),
            Self::Topic(record) => record.encode(w, version),
            Self::Partition(record) => record.encode(w, version),
            Self::Config(record) => record.encode(w, version),
            Self::PartitionChange(record) => record.encode(w, version),
            Self::FenceBroker(record) => record.encode(w, version),
            Self::UnfenceBroker(record) => record.encode(w, version),
            Self::RemoveTopic(record) => record.encode(w, version),
            Self::DelegationToken(record) => record.encode(w, version),
            Self::UserScramCredential(record) => record.encode(w, version),
            Self::FeatureLevel(record) => record.encode(w, version),
            Self::ClientQuota(record) => record.encode(w, version),
            Self::ProducerIds(record) => record.encode(w, version),
            Self::BrokerRegistrationChange(record) => record.encode(w, version),
            Self::AccessControlEntry(record) => record.encode(w, version),
            Self::RemoveAccessControlEntry(record) => record.encode(w, version),
            Self::NoOp(record) => record.encode(w, version),
            Self::ZkMigrationState(record) => record.encode(w, version),
            Self::RemoveUserScramCredential(record) => record.encode(w, version),
            Self::BeginTransaction(record) => record.encode(w, version),
            Self::EndTransaction(record) => record.encode(w, version),
            Self::AbortTransaction(record) => record.encode(w, version),
            Self::RemoveDelegationToken(record) => record.encode(w, version),
            Self::RegisterController(record) => record.encode(w, version),
            Self::ClearElr(record) => record.encode(w, version),
            Self::UnregisterController(record) => record.encode(w, version),
        }
    }

    /// Reads the value of a log record to its end; gives the record and its version.
    pub fn decode(r: &mut Reader) -> Result<(Self, i16), DecodeError> {
        let (key, version) = read_frame(r)?;
        let record = match key {
            0 => RegisterBrokerRecord::decode(r, version).map(Self::from),
            1 => UnregisterBrokerRecord::decode(r, version).map(Self::from),
            2 => TopicRecord::decode(r, version).map(Self::from),
            3 => PartitionRecord::decode(r, version).map(Self::from),
            4 => ConfigRecord::decode(r, version).map(Self::from),
            5 => PartitionChangeRecord::decode(r, version).map(Self::from),
            7 => FenceBrokerRecord::decode(r, version).map(Self::from),
            8 => UnfenceBrokerRecord::decode(r, version).map(Self::from),
            9 => RemoveTopicRecord::decode(r, version).map(Self::from),
            10 => DelegationTokenRecord::decode(r, version).map(Self::from),
            11 => UserScramCredentialRecord::decode(r, version).map(Self::from),
            12 => FeatureLevelRecord::decode(r, version).map(Self::from),
            14 => ClientQuotaRecord::decode(r, version).map(Self::from),
            15 => ProducerIdsRecord::decode(r, version).map(Self::from),
            17 => BrokerRegistrationChangeRecord::decode(r, version).map(Self::from),
            18 => AccessControlEntryRecord::decode(r, version).map(Self::from),
            19 => RemoveAccessControlEntryRecord::decode(r, version).map(Self::from),
            20 => NoOpRecord::decode(r, version).map(Self::from),
            21 => ZkMigrationStateRecord::decode(r, version).map(Self::from),
            22 => RemoveUserScramCredentialRecord::decode(r, version).map(Self::from),
            23 => BeginTransactionRecord::decode(r, version).map(Self::from),
            24 => EndTransactionRecord::decode(r, version).map(Self::from),
            25 => AbortTransactionRecord::decode(r, version).map(Self::from),
            26 => RemoveDelegationTokenRecord::decode(r, version).map(Self::from),
            27 => RegisterControllerRecord::decode(r, version).map(Self::from),
            28 => ClearElrRecord::decode(r, version).map(Self::from),
            29 => UnregisterControllerRecord::decode(r, version).map(Self::from),
            _ => Err(DecodeError::UnknownRecordKey(key)),
        }?;
        r.expect_end()?;
        Ok((record, version))
    }
}

impl From<RegisterBrokerRecord> for MetadataRecord {
    fn from(record: RegisterBrokerRecord) -> Self {
        Self::RegisterBroker(record)
    }
}

impl From<UnregisterBrokerRecord> for MetadataRecord {
    fn from(record: UnregisterBrokerRecord) -> Self {
        Self::UnregisterBroker(record)
    }
}

impl From<TopicRecord> for MetadataRecord {
    fn from(record: TopicRecord) -> Self {
        Self::Topic(record)
    }
}

impl From<PartitionRecord> for MetadataRecord {
    fn from(record: PartitionRecord) -> Self {
        Self::Partition(record)
    }
}

impl From<ConfigRecord> for MetadataRecord {
    fn from(record: ConfigRecord) -> Self {
        Self::Config(record)
    }
}

impl From<PartitionChangeRecord> for MetadataRecord {
    fn from(record: PartitionChangeRecord) -> Self {
        Self::PartitionChange(record)
    }
}

impl From<FenceBrokerRecord> for MetadataRecord {
    fn from(record: FenceBrokerRecord) -> Self {
        Self::FenceBroker(record)
    }
}

impl From<UnfenceBrokerRecord> for MetadataRecord {
    fn from(record: UnfenceBrokerRecord) -> Self {
        Self::UnfenceBroker(record)
    }
}

impl From<RemoveTopicRecord> for MetadataRecord {
    fn from(record: RemoveTopicRecord) -> Self {
        Self::RemoveTopic(record)
    }
}

impl From<DelegationTokenRecord> for MetadataRecord {
    fn from(record: DelegationTokenRecord) -> Self {
        Self::DelegationToken(record)
    }
}

impl From<UserScramCredentialRecord> for MetadataRecord {
    fn from(record: UserScramCredentialRecord) -> Self {
        Self::UserScramCredential(record)
    }
}

impl From<FeatureLevelRecord> for MetadataRecord {
    fn from(record: FeatureLevelRecord) -> Self {
        Self::FeatureLevel(record)
    }
}

impl From<ClientQuotaRecord> for MetadataRecord {
    fn from(record: ClientQuotaRecord) -> Self {
        Self::ClientQuota(record)
    }
}

impl From<ProducerIdsRecord> for MetadataRecord {
    fn from(record: ProducerIdsRecord) -> Self {
        Self::ProducerIds(record)
    }
}

impl From<BrokerRegistrationChangeRecord> for MetadataRecord {
    fn from(record: BrokerRegistrationChangeRecord) -> Self {
        Self::BrokerRegistrationChange(record)
    }
}

impl From<AccessControlEntryRecord> for MetadataRecord {
    fn from(record: AccessControlEntryRecord) -> Self {
        Self::AccessControlEntry(record)
    }
}

impl From<RemoveAccessControlEntryRecord> for MetadataRecord {
    fn from(record: RemoveAccessControlEntryRecord) -> Self {
        Self::RemoveAccessControlEntry(record)
    }
}

impl From<NoOpRecord> for MetadataRecord {
    fn from(record: NoOpRecord) -> Self {
        Self::NoOp(record)
    }
}

impl From<ZkMigrationStateRecord> for MetadataRecord {
    fn from(record: ZkMigrationStateRecord) -> Self {
        Self::ZkMigrationState(record)
    }
}

impl From<RemoveUserScramCredentialRecord> for MetadataRecord {
    fn from(record: RemoveUserScramCredentialRecord) -> Self {
        Self::RemoveUserScramCredential(record)
    }
}

impl From<BeginTransactionRecord> for MetadataRecord {
    fn from(record: BeginTransactionRecord) -> Self {
        Self::BeginTransaction(record)
    }
}

impl From<EndTransactionRecord> for MetadataRecord {
    fn from(record: EndTransactionRecord) -> Self {
        Self::EndTransaction(record)
    }
}

impl From<AbortTransactionRecord> for MetadataRecord {
    fn from(record: AbortTransactionRecord) -> Self {
        Self::AbortTransaction(record)
    }
}

impl From<RemoveDelegationTokenRecord> for MetadataRecord {
    fn from(record: RemoveDelegationTokenRecord) -> Self {
        Self::RemoveDelegationToken(record)
    }
}

impl From<RegisterControllerRecord> for MetadataRecord {
    fn from(record: RegisterControllerRecord) -> Self {
        Self::RegisterController(record)
    }
}

impl From<ClearElrRecord> for MetadataRecord {
    fn from(record: ClearElrRecord) -> Self {
        Self::ClearElr(record)
    }
}

impl From<UnregisterControllerRecord> for MetadataRecord {
    fn from(record: UnregisterControllerRecord) -> Self {
        Self::UnregisterController(record)
    }
}
