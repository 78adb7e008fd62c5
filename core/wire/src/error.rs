//! The error codes of the protocol, as of Kafka 4.4.

use std::fmt;

/// What a client does about an error, by the class of the exception it maps to.
#[derive(Copy, Clone, PartialEq, Eq)]
enum Remedy {
    /// Give up or handle specially.
    Final,
    /// Send again.
    Retry,
    /// Fetch metadata, then send again.
    Metadata,
    /// Look the coordinator up, then send again.
    Coordinator,
}

macro_rules! codes {
    ($($(#[$attr:meta])* $variant:ident = $code:literal, $name:literal, $remedy:ident;)*) => {
        /// Outcome of a request or of one item of it; the number on the wire is [`Self::code`].
        ///
        /// Variants are named after the protocol's own upper-case names, see [`Self::name`].
        #[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
        #[repr(i16)]
        pub enum ErrorCode {
            $(
                $(#[$attr])*
                #[doc = concat!("`", $name, "` (", $code, ")")]
                $variant = $code,
            )*
        }

        /// Every error code, in the order of their numbers.
        #[cfg(test)]
        const ALL: &[ErrorCode] = &[$(ErrorCode::$variant),*];

        impl From<i16> for ErrorCode {
            /// A number that this version does not know becomes [`ErrorCode::UnknownServerError`].
            fn from(code: i16) -> Self {
                match code {
                    $($code => Self::$variant,)*
                    _ => Self::UnknownServerError,
                }
            }
        }

        impl ErrorCode {
            /// The protocol's name, in upper case with underscores.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)*
                }
            }

            const fn remedy(self) -> Remedy {
                match self {
                    $(Self::$variant => Remedy::$remedy,)*
                }
            }
        }
    };
}

codes! {
    UnknownServerError = -1, "UNKNOWN_SERVER_ERROR", Final;
    #[default]
    None = 0, "NONE", Final;
    OffsetOutOfRange = 1, "OFFSET_OUT_OF_RANGE", Final;
    CorruptMessage = 2, "CORRUPT_MESSAGE", Retry;
    UnknownTopicOrPartition = 3, "UNKNOWN_TOPIC_OR_PARTITION", Metadata;
    InvalidFetchSize = 4, "INVALID_FETCH_SIZE", Final;
    LeaderNotAvailable = 5, "LEADER_NOT_AVAILABLE", Metadata;
    NotLeaderOrFollower = 6, "NOT_LEADER_OR_FOLLOWER", Metadata;
    RequestTimedOut = 7, "REQUEST_TIMED_OUT", Retry;
    BrokerNotAvailable = 8, "BROKER_NOT_AVAILABLE", Final;
    ReplicaNotAvailable = 9, "REPLICA_NOT_AVAILABLE", Metadata;
    MessageTooLarge = 10, "MESSAGE_TOO_LARGE", Final;
    StaleControllerEpoch = 11, "STALE_CONTROLLER_EPOCH", Final;
    OffsetMetadataTooLarge = 12, "OFFSET_METADATA_TOO_LARGE", Final;
    NetworkException = 13, "NETWORK_EXCEPTION", Metadata;
    CoordinatorLoadInProgress = 14, "COORDINATOR_LOAD_IN_PROGRESS", Retry;
    CoordinatorNotAvailable = 15, "COORDINATOR_NOT_AVAILABLE", Coordinator;
    NotCoordinator = 16, "NOT_COORDINATOR", Coordinator;
    InvalidTopicException = 17, "INVALID_TOPIC_EXCEPTION", Final;
    RecordListTooLarge = 18, "RECORD_LIST_TOO_LARGE", Final;
    NotEnoughReplicas = 19, "NOT_ENOUGH_REPLICAS", Retry;
    NotEnoughReplicasAfterAppend = 20, "NOT_ENOUGH_REPLICAS_AFTER_APPEND", Retry;
    InvalidRequiredAcks = 21, "INVALID_REQUIRED_ACKS", Final;
    IllegalGeneration = 22, "ILLEGAL_GENERATION", Final;
    InconsistentGroupProtocol = 23, "INCONSISTENT_GROUP_PROTOCOL", Final;
    InvalidGroupId = 24, "INVALID_GROUP_ID", Final;
    UnknownMemberId = 25, "UNKNOWN_MEMBER_ID", Final;
    InvalidSessionTimeout = 26, "INVALID_SESSION_TIMEOUT", Final;
    RebalanceInProgress = 27, "REBALANCE_IN_PROGRESS", Final;
    InvalidCommitOffsetSize = 28, "INVALID_COMMIT_OFFSET_SIZE", Final;
    TopicAuthorizationFailed = 29, "TOPIC_AUTHORIZATION_FAILED", Final;
    GroupAuthorizationFailed = 30, "GROUP_AUTHORIZATION_FAILED", Final;
    ClusterAuthorizationFailed = 31, "CLUSTER_AUTHORIZATION_FAILED", Final;
    InvalidTimestamp = 32, "INVALID_TIMESTAMP", Final;
    UnsupportedSaslMechanism = 33, "UNSUPPORTED_SASL_MECHANISM", Final;
    IllegalSaslState = 34, "ILLEGAL_SASL_STATE", Final;
    UnsupportedVersion = 35, "UNSUPPORTED_VERSION", Final;
    TopicAlreadyExists = 36, "TOPIC_ALREADY_EXISTS", Final;
    InvalidPartitions = 37, "INVALID_PARTITIONS", Final;
    InvalidReplicationFactor = 38, "INVALID_REPLICATION_FACTOR", Final;
    InvalidReplicaAssignment = 39, "INVALID_REPLICA_ASSIGNMENT", Final;
    InvalidConfig = 40, "INVALID_CONFIG", Final;
    NotController = 41, "NOT_CONTROLLER", Retry;
    InvalidRequest = 42, "INVALID_REQUEST", Final;
    UnsupportedForMessageFormat = 43, "UNSUPPORTED_FOR_MESSAGE_FORMAT", Final;
    PolicyViolation = 44, "POLICY_VIOLATION", Final;
    OutOfOrderSequenceNumber = 45, "OUT_OF_ORDER_SEQUENCE_NUMBER", Final;
    DuplicateSequenceNumber = 46, "DUPLICATE_SEQUENCE_NUMBER", Final;
    InvalidProducerEpoch = 47, "INVALID_PRODUCER_EPOCH", Final;
    InvalidTxnState = 48, "INVALID_TXN_STATE", Final;
    InvalidProducerIdMapping = 49, "INVALID_PRODUCER_ID_MAPPING", Final;
    InvalidTransactionTimeout = 50, "INVALID_TRANSACTION_TIMEOUT", Final;
    ConcurrentTransactions = 51, "CONCURRENT_TRANSACTIONS", Retry;
    TransactionCoordinatorFenced = 52, "TRANSACTION_COORDINATOR_FENCED", Final;
    TransactionalIdAuthorizationFailed = 53, "TRANSACTIONAL_ID_AUTHORIZATION_FAILED", Final;
    SecurityDisabled = 54, "SECURITY_DISABLED", Final;
    OperationNotAttempted = 55, "OPERATION_NOT_ATTEMPTED", Final;
    KafkaStorageError = 56, "KAFKA_STORAGE_ERROR", Metadata;
    LogDirNotFound = 57, "LOG_DIR_NOT_FOUND", Final;
    SaslAuthenticationFailed = 58, "SASL_AUTHENTICATION_FAILED", Final;
    UnknownProducerId = 59, "UNKNOWN_PRODUCER_ID", Final;
    ReassignmentInProgress = 60, "REASSIGNMENT_IN_PROGRESS", Final;
    DelegationTokenAuthDisabled = 61, "DELEGATION_TOKEN_AUTH_DISABLED", Final;
    DelegationTokenNotFound = 62, "DELEGATION_TOKEN_NOT_FOUND", Final;
    DelegationTokenOwnerMismatch = 63, "DELEGATION_TOKEN_OWNER_MISMATCH", Final;
    DelegationTokenRequestNotAllowed = 64, "DELEGATION_TOKEN_REQUEST_NOT_ALLOWED", Final;
    DelegationTokenAuthorizationFailed = 65, "DELEGATION_TOKEN_AUTHORIZATION_FAILED", Final;
    DelegationTokenExpired = 66, "DELEGATION_TOKEN_EXPIRED", Final;
    InvalidPrincipalType = 67, "INVALID_PRINCIPAL_TYPE", Final;
    NonEmptyGroup = 68, "NON_EMPTY_GROUP", Final;
    GroupIdNotFound = 69, "GROUP_ID_NOT_FOUND", Final;
    FetchSessionIdNotFound = 70, "FETCH_SESSION_ID_NOT_FOUND", Retry;
    InvalidFetchSessionEpoch = 71, "INVALID_FETCH_SESSION_EPOCH", Retry;
    ListenerNotFound = 72, "LISTENER_NOT_FOUND", Metadata;
    TopicDeletionDisabled = 73, "TOPIC_DELETION_DISABLED", Final;
    FencedLeaderEpoch = 74, "FENCED_LEADER_EPOCH", Metadata;
    UnknownLeaderEpoch = 75, "UNKNOWN_LEADER_EPOCH", Retry;
    UnsupportedCompressionType = 76, "UNSUPPORTED_COMPRESSION_TYPE", Final;
    StaleBrokerEpoch = 77, "STALE_BROKER_EPOCH", Final;
    OffsetNotAvailable = 78, "OFFSET_NOT_AVAILABLE", Retry;
    MemberIdRequired = 79, "MEMBER_ID_REQUIRED", Final;
    PreferredLeaderNotAvailable = 80, "PREFERRED_LEADER_NOT_AVAILABLE", Metadata;
    GroupMaxSizeReached = 81, "GROUP_MAX_SIZE_REACHED", Final;
    FencedInstanceId = 82, "FENCED_INSTANCE_ID", Final;
    EligibleLeadersNotAvailable = 83, "ELIGIBLE_LEADERS_NOT_AVAILABLE", Metadata;
    ElectionNotNeeded = 84, "ELECTION_NOT_NEEDED", Metadata;
    NoReassignmentInProgress = 85, "NO_REASSIGNMENT_IN_PROGRESS", Final;
    GroupSubscribedToTopic = 86, "GROUP_SUBSCRIBED_TO_TOPIC", Final;
    InvalidRecord = 87, "INVALID_RECORD", Final;
    UnstableOffsetCommit = 88, "UNSTABLE_OFFSET_COMMIT", Retry;
    ThrottlingQuotaExceeded = 89, "THROTTLING_QUOTA_EXCEEDED", Retry;
    ProducerFenced = 90, "PRODUCER_FENCED", Final;
    ResourceNotFound = 91, "RESOURCE_NOT_FOUND", Final;
    DuplicateResource = 92, "DUPLICATE_RESOURCE", Final;
    UnacceptableCredential = 93, "UNACCEPTABLE_CREDENTIAL", Final;
    InconsistentVoterSet = 94, "INCONSISTENT_VOTER_SET", Final;
    InvalidUpdateVersion = 95, "INVALID_UPDATE_VERSION", Final;
    FeatureUpdateFailed = 96, "FEATURE_UPDATE_FAILED", Final;
    PrincipalDeserializationFailure = 97, "PRINCIPAL_DESERIALIZATION_FAILURE", Final;
    SnapshotNotFound = 98, "SNAPSHOT_NOT_FOUND", Final;
    PositionOutOfRange = 99, "POSITION_OUT_OF_RANGE", Final;
    UnknownTopicId = 100, "UNKNOWN_TOPIC_ID", Metadata;
    DuplicateBrokerRegistration = 101, "DUPLICATE_BROKER_REGISTRATION", Final;
    BrokerIdNotRegistered = 102, "BROKER_ID_NOT_REGISTERED", Final;
    InconsistentTopicId = 103, "INCONSISTENT_TOPIC_ID", Metadata;
    InconsistentClusterId = 104, "INCONSISTENT_CLUSTER_ID", Final;
    TransactionalIdNotFound = 105, "TRANSACTIONAL_ID_NOT_FOUND", Final;
    FetchSessionTopicIdError = 106, "FETCH_SESSION_TOPIC_ID_ERROR", Retry;
    IneligibleReplica = 107, "INELIGIBLE_REPLICA", Final;
    NewLeaderElected = 108, "NEW_LEADER_ELECTED", Final;
    OffsetMovedToTieredStorage = 109, "OFFSET_MOVED_TO_TIERED_STORAGE", Final;
    FencedMemberEpoch = 110, "FENCED_MEMBER_EPOCH", Final;
    UnreleasedInstanceId = 111, "UNRELEASED_INSTANCE_ID", Final;
    UnsupportedAssignor = 112, "UNSUPPORTED_ASSIGNOR", Final;
    StaleMemberEpoch = 113, "STALE_MEMBER_EPOCH", Final;
    MismatchedEndpointType = 114, "MISMATCHED_ENDPOINT_TYPE", Final;
    UnsupportedEndpointType = 115, "UNSUPPORTED_ENDPOINT_TYPE", Final;
    UnknownControllerId = 116, "UNKNOWN_CONTROLLER_ID", Final;
    UnknownSubscriptionId = 117, "UNKNOWN_SUBSCRIPTION_ID", Final;
    TelemetryTooLarge = 118, "TELEMETRY_TOO_LARGE", Final;
    InvalidRegistration = 119, "INVALID_REGISTRATION", Final;
    TransactionAbortable = 120, "TRANSACTION_ABORTABLE", Final;
    InvalidRecordState = 121, "INVALID_RECORD_STATE", Final;
    ShareSessionNotFound = 122, "SHARE_SESSION_NOT_FOUND", Retry;
    InvalidShareSessionEpoch = 123, "INVALID_SHARE_SESSION_EPOCH", Retry;
    FencedStateEpoch = 124, "FENCED_STATE_EPOCH", Final;
    InvalidVoterKey = 125, "INVALID_VOTER_KEY", Final;
    DuplicateVoter = 126, "DUPLICATE_VOTER", Final;
    VoterNotFound = 127, "VOTER_NOT_FOUND", Final;
    InvalidRegularExpression = 128, "INVALID_REGULAR_EXPRESSION", Final;
    RebootstrapRequired = 129, "REBOOTSTRAP_REQUIRED", Final;
    StreamsInvalidTopology = 130, "STREAMS_INVALID_TOPOLOGY", Final;
    StreamsInvalidTopologyEpoch = 131, "STREAMS_INVALID_TOPOLOGY_EPOCH", Final;
    StreamsTopologyFenced = 132, "STREAMS_TOPOLOGY_FENCED", Final;
    ShareSessionLimitReached = 133, "SHARE_SESSION_LIMIT_REACHED", Retry;
    GroupDeletionFailed = 134, "GROUP_DELETION_FAILED", Final;
    StreamsTopologyDescriptionUpdateFailed = 135, "STREAMS_TOPOLOGY_DESCRIPTION_UPDATE_FAILED", Final;
    ControllerIdNotRegistered = 136, "CONTROLLER_ID_NOT_REGISTERED", Final;
}

impl ErrorCode {
    /// The number on the wire.
    pub const fn code(self) -> i16 {
        self as i16
    }

    /// Whether a client may send the same request again and hope for another outcome.
    pub const fn is_retriable(self) -> bool {
        !matches!(self.remedy(), Remedy::Final)
    }

    /// Whether a client refreshes its metadata before it tries again.
    pub const fn refreshes_metadata(self) -> bool {
        matches!(self.remedy(), Remedy::Metadata)
    }

    /// Whether a client looks up its coordinator before it tries again.
    pub const fn refreshes_coordinator(self) -> bool {
        matches!(self.remedy(), Remedy::Coordinator)
    }
}

impl From<ErrorCode> for i16 {
    fn from(error: ErrorCode) -> Self {
        error.code()
    }
}

impl fmt::Display for ErrorCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(error: ErrorCode, code: i16, name: &str, retriable: bool, metadata: bool) {
        assert_eq!(error.code(), code);
        assert_eq!(error.to_string(), name);
        assert_eq!(error.is_retriable(), retriable, "{error}");
        assert_eq!(error.refreshes_metadata(), metadata, "{error}");
    }

    #[test]
    fn codes_are_contiguous_and_read_back() {
        for (error, code) in ALL.iter().zip(-1i16..) {
            assert_eq!(error.code(), code);
            assert_eq!(ErrorCode::from(code), *error);
        }
        assert_eq!(ALL.len(), 138);
    }

    #[test]
    fn unknown_codes_are_server_errors() {
        assert_eq!(ErrorCode::from(137), ErrorCode::UnknownServerError);
        assert_eq!(ErrorCode::from(i16::MIN), ErrorCode::UnknownServerError);
    }

    #[test]
    fn names_and_remedies() {
        use ErrorCode as E;
        check(E::None, 0, "NONE", false, false);
        check(E::NotLeaderOrFollower, 6, "NOT_LEADER_OR_FOLLOWER", true, true);
        check(E::UnknownLeaderEpoch, 75, "UNKNOWN_LEADER_EPOCH", true, false);
        check(E::OutOfOrderSequenceNumber, 45, "OUT_OF_ORDER_SEQUENCE_NUMBER", false, false);
        check(E::NotCoordinator, 16, "NOT_COORDINATOR", true, false);
        assert!(E::NotCoordinator.refreshes_coordinator());
        assert!(!E::NotLeaderOrFollower.refreshes_coordinator());
    }
}
