//! The request types of the protocol, as of Kafka 4.4.

use std::fmt;

macro_rules! keys {
    ($($name:ident = $code:literal, $versions:expr, $flexible:expr;)*) => {
        /// Type of a request; the number on the wire is [`Self::code`].
        ///
        /// Keys 4 to 7 are reserved numbers of requests that no longer exist.
        #[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        #[repr(i16)]
        pub enum ApiKey {
            $(
                #[doc = concat!("`", stringify!($name), "` (", $code, ")")]
                $name = $code,
            )*
        }

        impl ApiKey {
            /// Every key, in the order of their numbers.
            pub const ALL: &'static [Self] = &[$(Self::$name),*];

            /// The key with this number, if there is one.
            pub const fn from_code(code: i16) -> Option<Self> {
                match code {
                    $($code => Some(Self::$name),)*
                    _ => None,
                }
            }

            /// The protocol's name of the request.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$name => stringify!($name),)*
                }
            }

            /// Oldest and newest version that Kafka 4.4 has a schema for; `None` for a removed
            /// request. See [`Self::has_unstable_version`] about the newest.
            pub const fn versions(self) -> Option<(i16, i16)> {
                match self {
                    $(Self::$name => $versions,)*
                }
            }

            /// First version with compact lengths and tagged fields; `None` when there is none.
            pub const fn flexible_from(self) -> Option<i16> {
                match self {
                    $(Self::$name => $flexible,)*
                }
            }
        }
    };
}

keys! {
    Produce = 0, Some((3, 13)), Some(9);
    Fetch = 1, Some((4, 18)), Some(12);
    ListOffsets = 2, Some((1, 11)), Some(6);
    Metadata = 3, Some((0, 13)), Some(9);
    LeaderAndIsr = 4, None, None;
    StopReplica = 5, None, None;
    UpdateMetadata = 6, None, None;
    ControlledShutdown = 7, None, None;
    OffsetCommit = 8, Some((2, 10)), Some(8);
    OffsetFetch = 9, Some((1, 10)), Some(6);
    FindCoordinator = 10, Some((0, 6)), Some(3);
    JoinGroup = 11, Some((0, 9)), Some(6);
    Heartbeat = 12, Some((0, 4)), Some(4);
    LeaveGroup = 13, Some((0, 5)), Some(4);
    SyncGroup = 14, Some((0, 5)), Some(4);
    DescribeGroups = 15, Some((0, 6)), Some(5);
    ListGroups = 16, Some((0, 5)), Some(3);
    SaslHandshake = 17, Some((0, 1)), None;
    ApiVersions = 18, Some((0, 5)), Some(3);
    CreateTopics = 19, Some((2, 7)), Some(5);
    DeleteTopics = 20, Some((1, 6)), Some(4);
    DeleteRecords = 21, Some((0, 2)), Some(2);
    InitProducerId = 22, Some((0, 6)), Some(2);
    OffsetForLeaderEpoch = 23, Some((2, 4)), Some(4);
    AddPartitionsToTxn = 24, Some((0, 5)), Some(3);
    AddOffsetsToTxn = 25, Some((0, 4)), Some(3);
    EndTxn = 26, Some((0, 5)), Some(3);
    WriteTxnMarkers = 27, Some((1, 2)), Some(1);
    TxnOffsetCommit = 28, Some((0, 6)), Some(3);
    DescribeAcls = 29, Some((1, 3)), Some(2);
    CreateAcls = 30, Some((1, 3)), Some(2);
    DeleteAcls = 31, Some((1, 3)), Some(2);
    DescribeConfigs = 32, Some((1, 4)), Some(4);
    AlterConfigs = 33, Some((0, 2)), Some(2);
    AlterReplicaLogDirs = 34, Some((1, 2)), Some(2);
    DescribeLogDirs = 35, Some((1, 5)), Some(2);
    SaslAuthenticate = 36, Some((0, 2)), Some(2);
    CreatePartitions = 37, Some((0, 3)), Some(2);
    CreateDelegationToken = 38, Some((1, 3)), Some(2);
    RenewDelegationToken = 39, Some((1, 2)), Some(2);
    ExpireDelegationToken = 40, Some((1, 2)), Some(2);
    DescribeDelegationToken = 41, Some((1, 3)), Some(2);
    DeleteGroups = 42, Some((0, 3)), Some(2);
    ElectLeaders = 43, Some((0, 2)), Some(2);
    IncrementalAlterConfigs = 44, Some((0, 1)), Some(1);
    AlterPartitionReassignments = 45, Some((0, 1)), Some(0);
    ListPartitionReassignments = 46, Some((0, 0)), Some(0);
    OffsetDelete = 47, Some((0, 0)), None;
    DescribeClientQuotas = 48, Some((0, 1)), Some(1);
    AlterClientQuotas = 49, Some((0, 1)), Some(1);
    DescribeUserScramCredentials = 50, Some((0, 0)), Some(0);
    AlterUserScramCredentials = 51, Some((0, 0)), Some(0);
    Vote = 52, Some((0, 2)), Some(0);
    BeginQuorumEpoch = 53, Some((0, 1)), Some(1);
    EndQuorumEpoch = 54, Some((0, 1)), Some(1);
    DescribeQuorum = 55, Some((0, 2)), Some(0);
    AlterPartition = 56, Some((2, 3)), Some(0);
    UpdateFeatures = 57, Some((0, 2)), Some(0);
    Envelope = 58, Some((0, 0)), Some(0);
    FetchSnapshot = 59, Some((0, 1)), Some(0);
    DescribeCluster = 60, Some((0, 2)), Some(0);
    DescribeProducers = 61, Some((0, 0)), Some(0);
    BrokerRegistration = 62, Some((0, 4)), Some(0);
    BrokerHeartbeat = 63, Some((0, 2)), Some(0);
    UnregisterBroker = 64, Some((0, 0)), Some(0);
    DescribeTransactions = 65, Some((0, 0)), Some(0);
    ListTransactions = 66, Some((0, 2)), Some(0);
    AllocateProducerIds = 67, Some((0, 0)), Some(0);
    ConsumerGroupHeartbeat = 68, Some((0, 1)), Some(0);
    ConsumerGroupDescribe = 69, Some((0, 1)), Some(0);
    ControllerRegistration = 70, Some((0, 0)), Some(0);
    GetTelemetrySubscriptions = 71, Some((0, 0)), Some(0);
    PushTelemetry = 72, Some((0, 0)), Some(0);
    AssignReplicasToDirs = 73, Some((0, 0)), Some(0);
    ListConfigResources = 74, Some((0, 1)), Some(0);
    DescribeTopicPartitions = 75, Some((0, 0)), Some(0);
    ShareGroupHeartbeat = 76, Some((1, 1)), Some(0);
    ShareGroupDescribe = 77, Some((1, 1)), Some(0);
    ShareFetch = 78, Some((1, 2)), Some(0);
    ShareAcknowledge = 79, Some((1, 2)), Some(0);
    AddRaftVoter = 80, Some((0, 1)), Some(0);
    RemoveRaftVoter = 81, Some((0, 0)), Some(0);
    UpdateRaftVoter = 82, Some((0, 0)), Some(0);
    InitializeShareGroupState = 83, Some((0, 0)), Some(0);
    ReadShareGroupState = 84, Some((0, 0)), Some(0);
    WriteShareGroupState = 85, Some((0, 1)), Some(0);
    DeleteShareGroupState = 86, Some((0, 0)), Some(0);
    ReadShareGroupStateSummary = 87, Some((0, 1)), Some(0);
    StreamsGroupHeartbeat = 88, Some((0, 1)), Some(0);
    StreamsGroupDescribe = 89, Some((0, 1)), Some(0);
    DescribeShareGroupOffsets = 90, Some((0, 1)), Some(0);
    AlterShareGroupOffsets = 91, Some((0, 0)), Some(0);
    DeleteShareGroupOffsets = 92, Some((0, 0)), Some(0);
    StreamsGroupTopologyDescriptionUpdate = 93, Some((0, 0)), Some(0);
    UnregisterController = 94, Some((0, 0)), Some(0);
}

impl ApiKey {
    /// The number on the wire.
    pub const fn code(self) -> i16 {
        self as i16
    }

    /// Whether the newest version is still unstable: its schema exists, but a broker does not
    /// advertise it.
    pub const fn has_unstable_version(self) -> bool {
        matches!(self, Self::InitProducerId)
    }

    /// Whether this version of the request uses compact lengths and tagged fields.
    pub const fn is_flexible(self, version: i16) -> bool {
        match self.flexible_from() {
            Some(first) => version >= first,
            None => false,
        }
    }
}

impl fmt::Display for ApiKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(key: ApiKey, code: i16, versions: Option<(i16, i16)>, flexible: Option<i16>) {
        assert_eq!(key.code(), code);
        assert_eq!(key.versions(), versions, "{key}");
        assert_eq!(key.flexible_from(), flexible, "{key}");
    }

    #[test]
    fn numbers_are_contiguous_and_read_back() {
        for (key, code) in ApiKey::ALL.iter().zip(0i16..) {
            assert_eq!(key.code(), code);
            assert_eq!(ApiKey::from_code(code), Some(*key));
        }
        assert_eq!(ApiKey::ALL.len(), 95);
        assert_eq!(ApiKey::from_code(95), None);
        assert_eq!(ApiKey::from_code(-1), None);
    }

    #[test]
    fn version_ranges_are_ordered() {
        for key in ApiKey::ALL {
            let (oldest, newest) = key.versions().unwrap_or((0, 0));
            assert!(0 <= oldest && oldest <= newest, "{key}");
        }
    }

    #[test]
    fn ranges_of_some_keys() {
        check(ApiKey::Produce, 0, Some((3, 13)), Some(9));
        check(ApiKey::UpdateMetadata, 6, None, None);
        check(ApiKey::SaslHandshake, 17, Some((0, 1)), None);
        check(ApiKey::UnregisterController, 94, Some((0, 0)), Some(0));
        assert!(ApiKey::Produce.is_flexible(9) && !ApiKey::Produce.is_flexible(8));
        assert!(!ApiKey::SaslHandshake.is_flexible(1));
    }
}
