//! What holds a client up that goes on trying.

use std::fmt;
use std::sync::Arc;

use dohle_wire::ErrorCode;

use super::TopicPartition;

/// Something that a client waits to pass.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Trouble {
    /// There is no connection to any broker.
    NoBroker,
    /// What the brokers say of a topic.
    Topic(Arc<str>, ErrorCode),
    /// What the brokers last said of a partition.
    Partition(TopicPartition, ErrorCode),
}

impl fmt::Display for Trouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (topic, code) = match self {
            Self::NoBroker => return f.write_str("no broker answers"),
            Self::Topic(topic, code) => (topic, code),
            Self::Partition(at, code) => (&at.topic, code),
        };
        match (code, self) {
            (ErrorCode::UnknownTopicOrPartition | ErrorCode::UnknownTopicId, _) => {
                write!(f, "the brokers know no topic {topic} (any more)")
            }
            (code, Self::Partition(at, _)) => write!(f, "{at}: {code}"),
            (code, _) => write!(f, "{topic}: {code}"),
        }
    }
}
