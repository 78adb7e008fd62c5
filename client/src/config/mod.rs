//! Settings of clients, under Kafka's names and with Kafka's defaults.
//!
//! Every setting is a field in a Rust type and, through `set`, a name with a text value as in a
//! properties file. Values are checked where they come in: a configuration that exists is valid
//! field by field, and `validate` checks what several settings must have in common.

mod admin;
mod connection;
mod consumer;
mod group;
mod producer;
mod value;

pub use admin::AdminConfig;
pub use connection::ConnectionConfig;
pub use consumer::{AutoOffsetReset, ConsumerConfig, IsolationLevel};
pub use group::{GroupConfig, GroupProtocol, Strategy};
pub use producer::{Acks, ProducerConfig};

use thiserror::Error;

/// A setting that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ConfigError {
    /// No setting has this name.
    #[error("there is no setting `{key}`")]
    UnknownKey {
        /// The name.
        key: String,
    },
    /// In Kafka's clients the setting names a Java class.
    #[error("`{key}` names a class in Kafka's clients; here {instead}")]
    InCode {
        /// The setting.
        key: String,
        /// What to do.
        instead: &'static str,
    },
    /// A value is not what the setting takes.
    #[error("`{key}` must be {expected}, but is `{found}`")]
    BadValue {
        /// The setting.
        key: &'static str,
        /// What the setting takes.
        expected: &'static str,
        /// The refused value.
        found: String,
    },
    /// Settings that are valid alone contradict each other.
    #[error("`{key}` is `{found}`, but {rule}")]
    Conflict {
        /// The setting to change.
        key: &'static str,
        /// Its value.
        found: String,
        /// What must hold.
        rule: &'static str,
    },
}
