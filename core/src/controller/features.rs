//! Feature levels: what a new cluster begins with and in which version records are written.

use dohle_wire::message::{FeatureLevelRecord, MetadataRecord};

use crate::image::Image;

/// The feature that decides in which versions metadata records are written.
pub const METADATA_VERSION: &str = "metadata.version";

/// `metadata.version` of a new cluster: 4.4-IV2, the one that Apache Kafka 4.4.0 formats with.
pub const LATEST: i16 = 33;

/// The oldest `metadata.version` a cluster may have: 3.3-IV3, as in Apache Kafka 4.
pub const OLDEST: i16 = 7;

/// From this `metadata.version` on (3.7-IV0) controllers register.
pub const CONTROLLERS_REGISTER: i16 = 15;

/// From this `metadata.version` on (3.7-IV2) records name data directories.
pub const DIRECTORIES: i16 = 17;

/// The feature that says which protocols groups may use.
pub const GROUP_VERSION: &str = "group.version";

/// From this `group.version` on there are groups of the consumer protocol (KIP-848).
pub const CONSUMER_GROUPS: i16 = 1;

/// What this node can do, by feature: (name, lowest level, highest level).
///
/// Features whose protocol is not served are not among them, so that nobody finalizes them.
pub const SUPPORTED: [(&str, i16, i16); 3] = [
    (GROUP_VERSION, 0, CONSUMER_GROUPS),
    ("kraft.version", 0, 0),
    (METADATA_VERSION, OLDEST, LATEST),
];

/// The records that finalize the features of a new cluster; none for one that has them.
#[must_use]
pub fn bootstrap(image: &Image) -> Vec<MetadataRecord> {
    if image.features.contains_key(METADATA_VERSION) {
        return Vec::new();
    }
    let levels = [(METADATA_VERSION, LATEST), (GROUP_VERSION, CONSUMER_GROUPS)];
    let records =
        levels.map(|(name, feature_level)| FeatureLevelRecord { name: name.into(), feature_level });
    records.map(MetadataRecord::from).into()
}

/// Checks that this node can act on the finalized features.
///
/// # Errors
/// Which one it cannot, for the operator.
pub fn check(image: &Image) -> Result<(), String> {
    match level(image) {
        OLDEST..=LATEST => Ok(()),
        other => Err(format!(
            "the cluster has metadata.version {other}, this program knows {OLDEST} to {LATEST}; \
             start it with a version that knows {other}"
        )),
    }
}

/// Finalized features that this node does not serve, as texts. A cluster made by Apache Kafka has
/// some: nothing breaks, but what they promise is not there.
#[must_use]
pub fn unserved(image: &Image) -> Vec<String> {
    let serves = |name: &str, level: i16| {
        SUPPORTED.iter().any(|(own, min, max)| *own == name && (*min..=*max).contains(&level))
    };
    let unserved = image.features.iter().filter(|(name, level)| !serves(name, **level));
    unserved.map(|(name, level)| format!("{name}={level}")).collect()
}

/// The finalized `metadata.version`; that of a new cluster while there is none.
#[must_use]
pub fn level(image: &Image) -> i16 {
    image.features.get(METADATA_VERSION).copied().unwrap_or(LATEST)
}

/// The version in which a record is written at a `metadata.version` (MetadataVersion).
#[must_use]
pub fn record_version(record: &MetadataRecord, level: i16) -> i16 {
    match record {
        MetadataRecord::RegisterBroker(_) => match level {
            30.. => 4,
            DIRECTORIES.. => 3,
            8.. => 2,
            _ => 1,
        },
        MetadataRecord::Partition(_) | MetadataRecord::PartitionChange(_) => match level {
            23.. => 2,
            DIRECTORIES.. => 1,
            _ => 0,
        },
        // Kafka writes the lowest version that has the fields in use.
        MetadataRecord::BrokerRegistrationChange(change) => {
            if change.cordoned_log_dirs.is_some() {
                3
            } else if !change.log_dirs.is_empty() {
                2
            } else {
                i16::from(change.in_controlled_shutdown != 0)
            }
        }
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use dohle_wire::message::{
        BrokerRegistrationChangeRecord, PartitionRecord, RegisterBrokerRecord,
    };

    use super::*;

    fn check_version(record: impl Into<MetadataRecord>, level: i16, version: i16) {
        assert_eq!(record_version(&record.into(), level), version);
    }

    #[test]
    fn versions_are_those_that_apache_kafka_writes() {
        let change = BrokerRegistrationChangeRecord::default;
        check_version(RegisterBrokerRecord::default(), LATEST, 4);
        check_version(RegisterBrokerRecord::default(), 29, 3);
        check_version(RegisterBrokerRecord::default(), OLDEST, 1);
        check_version(PartitionRecord::default(), LATEST, 2);
        check_version(PartitionRecord::default(), 22, 1);
        check_version(PartitionRecord::default(), 16, 0);
        check_version(BrokerRegistrationChangeRecord { fenced: -1, ..change() }, LATEST, 0);
        check_version(
            BrokerRegistrationChangeRecord { in_controlled_shutdown: 1, ..change() },
            LATEST,
            1,
        );
    }
}
