//! Configuration: Kafka's names, types, defaults and rules, for brokers, topics and groups.
//!
//! A properties file or a container's environment becomes a map of text to text ([`properties`]),
//! which becomes a checked [`BrokerConfig`]; a topic's effective [`TopicConfig`] is resolved from
//! its overrides, the dynamic broker configs and the broker's own, what a group has of its own is a
//! [`GroupConfig`]. [`describe`] answers
//! DescribeConfigs and [`alter`] decides AlterConfigs.
//!
//! Nothing here reads a file, the environment or a clock: callers hand texts in.

pub mod alter;
pub mod broker;
mod broker_table;
pub mod def;
pub mod describe;
mod duration;
mod error;
pub mod group;
mod group_table;
pub mod listener;
mod number;
pub mod properties;
mod rules;
pub mod topic;
mod topic_table;

pub use broker::{BrokerConfig, OUR_DEFAULTS};
pub use def::{ConfigDef, Kind, Scope};
pub use error::{ConfigError, Warning};
pub use group::{GroupConfig, validate_group_overrides};
pub use listener::{Listener, SecurityProtocol};
pub use topic::{TopicConfig, validate_topic_overrides};
