//! What a client may do, as bits that stand for Kafka's `AclOperation`s. There is no authorizer:
//! everybody may do all that can be done with a resource.

const READ: i32 = 1 << 3;
const WRITE: i32 = 1 << 4;
const CREATE: i32 = 1 << 5;
const DELETE: i32 = 1 << 6;
const ALTER: i32 = 1 << 7;
const DESCRIBE: i32 = 1 << 8;
const CLUSTER_ACTION: i32 = 1 << 9;
const DESCRIBE_CONFIGS: i32 = 1 << 10;
const ALTER_CONFIGS: i32 = 1 << 11;
const IDEMPOTENT_WRITE: i32 = 1 << 12;

/// With the cluster.
pub(super) const CLUSTER: i32 = CREATE
    | ALTER
    | DESCRIBE
    | CLUSTER_ACTION
    | DESCRIBE_CONFIGS
    | ALTER_CONFIGS
    | IDEMPOTENT_WRITE;

/// With a topic.
pub(super) const TOPIC: i32 =
    READ | WRITE | CREATE | DELETE | ALTER | DESCRIBE | DESCRIBE_CONFIGS | ALTER_CONFIGS;

/// With a group.
pub(super) const GROUP: i32 = READ | DELETE | DESCRIBE | DESCRIBE_CONFIGS | ALTER_CONFIGS;

/// Nobody asked.
pub(super) const UNASKED: i32 = i32::MIN;

/// `all` for those who ask.
pub(super) fn if_asked(asked: bool, all: i32) -> i32 {
    if asked { all } else { UNASKED }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As Apache Kafka 4.4 answers without an authorizer.
    #[test]
    fn operations_are_those_of_kafka() {
        assert_eq!((TOPIC, CLUSTER, GROUP), (3576, 8096, 3400));
    }
}
