//! Settings of consumers.

use std::time::Duration;

use super::{ConfigError, ConnectionConfig, GroupConfig, value};

/// Where to go on when a position is not in the log, or when there is none.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Default)]
pub enum AutoOffsetReset {
    /// At the first record there is.
    Earliest,
    /// After the last record there is.
    #[default]
    Latest,
    /// Nowhere: it is an error.
    None,
    /// At the first record that is younger than this.
    ByDuration(Duration),
}

/// Which records are read.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Default)]
pub enum IsolationLevel {
    /// All, those of open and aborted transactions too.
    #[default]
    ReadUncommitted,
    /// Those of committed transactions, and those outside of transactions.
    ReadCommitted,
}

impl IsolationLevel {
    /// The number in requests.
    pub const fn code(self) -> i8 {
        match self {
            Self::ReadUncommitted => 0,
            Self::ReadCommitted => 1,
        }
    }
}

/// Settings of a consumer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConsumerConfig {
    /// How to reach the cluster.
    pub connection: ConnectionConfig,
    /// What makes the consumer a member of a group.
    pub group: GroupConfig,
    /// `allow.auto.create.topics`.
    pub allow_auto_create_topics: bool,
    /// `auto.offset.reset`.
    pub auto_offset_reset: AutoOffsetReset,
    /// `check.crcs`: verify the checksum of each batch.
    pub check_crcs: bool,
    /// `client.rack`: a replica in this rack may serve reads.
    pub client_rack: String,
    /// `default.api.timeout.ms`: wait of calls of the async API that need an answer.
    pub api_timeout: Duration,
    /// `fetch.max.bytes`: bytes of one answer.
    pub fetch_max_bytes: usize,
    /// `fetch.max.wait.ms`: how long a broker waits for `fetch.min.bytes`.
    pub fetch_max_wait: Duration,
    /// `fetch.min.bytes`: bytes a broker waits for.
    pub fetch_min_bytes: usize,
    /// `isolation.level`.
    pub isolation: IsolationLevel,
    /// `max.partition.fetch.bytes`: bytes of one partition in one answer.
    pub max_partition_fetch_bytes: usize,
    /// `max.poll.records`: most records that one poll gives.
    pub max_poll_records: usize,
}

impl Default for ConsumerConfig {
    fn default() -> Self {
        Self {
            connection: ConnectionConfig::default(),
            group: GroupConfig::default(),
            allow_auto_create_topics: true,
            auto_offset_reset: AutoOffsetReset::Latest,
            check_crcs: true,
            client_rack: String::new(),
            api_timeout: Duration::from_millis(60_000),
            fetch_max_bytes: 52_428_800,
            fetch_max_wait: Duration::from_millis(500),
            fetch_min_bytes: 1,
            isolation: IsolationLevel::ReadUncommitted,
            max_partition_fetch_bytes: 1_048_576,
            max_poll_records: 500,
        }
    }
}

impl ConsumerConfig {
    /// The defaults, for the cluster at `servers` (`host:port`, separated by commas).
    pub fn to(servers: &str) -> Result<Self, ConfigError> {
        Ok(Self { connection: ConnectionConfig::to(servers)?, ..Self::default() })
    }

    /// Changes one setting by its Kafka name.
    pub fn set(&mut self, key: &str, text: &str) -> Result<(), ConfigError> {
        match key {
            "allow.auto.create.topics" => {
                self.allow_auto_create_topics = value::flag("allow.auto.create.topics", text)?;
            }
            "auto.offset.reset" => {
                let choices = [
                    ("earliest", AutoOffsetReset::Earliest),
                    ("latest", AutoOffsetReset::Latest),
                    ("none", AutoOffsetReset::None),
                ];
                let expected = "earliest, latest, none or by_duration:PnDTnHnMn.nS";
                let span = text.trim().strip_prefix("by_duration:").and_then(value::iso_duration);
                self.auto_offset_reset = match span {
                    Some(span) => AutoOffsetReset::ByDuration(span),
                    None => value::choice("auto.offset.reset", expected, text, &choices)?,
                };
            }
            "check.crcs" => self.check_crcs = value::flag("check.crcs", text)?,
            "client.rack" => text.clone_into(&mut self.client_rack),
            "default.api.timeout.ms" => {
                self.api_timeout = value::millis("default.api.timeout.ms", text)?;
            }
            "fetch.max.bytes" => self.fetch_max_bytes = value::bytes("fetch.max.bytes", text)?,
            "fetch.max.wait.ms" => self.fetch_max_wait = value::millis("fetch.max.wait.ms", text)?,
            "fetch.min.bytes" => self.fetch_min_bytes = value::bytes("fetch.min.bytes", text)?,
            "isolation.level" => {
                let choices = [
                    ("read_uncommitted", IsolationLevel::ReadUncommitted),
                    ("read_committed", IsolationLevel::ReadCommitted),
                ];
                let expected = "read_uncommitted or read_committed";
                self.isolation = value::choice("isolation.level", expected, text, &choices)?;
            }
            "max.partition.fetch.bytes" => {
                self.max_partition_fetch_bytes = value::bytes("max.partition.fetch.bytes", text)?;
            }
            "max.poll.records" => {
                self.max_poll_records = value::count("max.poll.records", text)? as usize;
            }
            _ if self.group.set(key, text)? => {}
            _ => return self.connection.set(key, text),
        }
        Ok(())
    }

    /// Checks what several settings must have in common.
    pub fn validate(&self) -> Result<(), ConfigError> {
        self.connection.validate()?;
        self.group.validate()?;
        if self.fetch_max_wait < self.connection.request_timeout {
            return Ok(());
        }
        Err(ConfigError::Conflict {
            key: "fetch.max.wait.ms",
            found: self.fetch_max_wait.as_millis().to_string(),
            rule: "it must be less than request.timeout.ms, or every fetch would time out",
        })
    }
}
