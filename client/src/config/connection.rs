//! Settings that all clients share: how to reach a cluster and how patient to be.

use std::time::Duration;

use super::{ConfigError, value};

/// How a client reaches the cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConnectionConfig {
    /// `bootstrap.servers`: hosts and ports to ask first.
    pub bootstrap_servers: Vec<(String, u16)>,
    /// `client.id`: name that brokers log and account by.
    pub client_id: String,
    /// `request.timeout.ms`: wait for one answer; the connection is closed after it.
    pub request_timeout: Duration,
    /// `retry.backoff.ms`: wait before the first repetition; doubles with each.
    pub retry_backoff: Duration,
    /// `retry.backoff.max.ms`: longest wait before a repetition.
    pub retry_backoff_max: Duration,
    /// `reconnect.backoff.ms`: wait before connecting again; doubles with each failure.
    pub reconnect_backoff: Duration,
    /// `reconnect.backoff.max.ms`: longest wait before connecting again.
    pub reconnect_backoff_max: Duration,
    /// `socket.connection.setup.timeout.ms`: wait for a connection; doubles with each failure.
    pub setup_timeout: Duration,
    /// `socket.connection.setup.timeout.max.ms`: longest wait for a connection.
    pub setup_timeout_max: Duration,
    /// `connections.max.idle.ms`: an unused connection is closed after this.
    pub max_idle: Duration,
    /// `metadata.max.age.ms`: metadata is fetched again after this even if nothing failed.
    pub metadata_max_age: Duration,
}

impl Default for ConnectionConfig {
    fn default() -> Self {
        Self {
            bootstrap_servers: Vec::new(),
            client_id: String::new(),
            request_timeout: Duration::from_millis(30_000),
            retry_backoff: Duration::from_millis(100),
            retry_backoff_max: Duration::from_millis(1_000),
            reconnect_backoff: Duration::from_millis(50),
            reconnect_backoff_max: Duration::from_millis(1_000),
            setup_timeout: Duration::from_millis(10_000),
            setup_timeout_max: Duration::from_millis(30_000),
            max_idle: Duration::from_millis(540_000),
            metadata_max_age: Duration::from_millis(300_000),
        }
    }
}

impl ConnectionConfig {
    /// The defaults, for the cluster at `servers` (`host:port`, separated by commas).
    pub fn to(servers: &str) -> Result<Self, ConfigError> {
        let bootstrap_servers = value::addresses("bootstrap.servers", servers)?;
        Ok(Self { bootstrap_servers, ..Self::default() })
    }

    /// Changes one setting by its Kafka name.
    pub fn set(&mut self, key: &str, text: &str) -> Result<(), ConfigError> {
        match key {
            "bootstrap.servers" => {
                self.bootstrap_servers = value::addresses("bootstrap.servers", text)?;
            }
            "client.id" => text.clone_into(&mut self.client_id),
            "request.timeout.ms" => {
                self.request_timeout = value::millis("request.timeout.ms", text)?;
            }
            "retry.backoff.ms" => self.retry_backoff = value::millis("retry.backoff.ms", text)?,
            "retry.backoff.max.ms" => {
                self.retry_backoff_max = value::millis("retry.backoff.max.ms", text)?;
            }
            "reconnect.backoff.ms" => {
                self.reconnect_backoff = value::millis("reconnect.backoff.ms", text)?;
            }
            "reconnect.backoff.max.ms" => {
                self.reconnect_backoff_max = value::millis("reconnect.backoff.max.ms", text)?;
            }
            "socket.connection.setup.timeout.ms" => {
                self.setup_timeout = value::millis("socket.connection.setup.timeout.ms", text)?;
            }
            "socket.connection.setup.timeout.max.ms" => {
                self.setup_timeout_max =
                    value::millis("socket.connection.setup.timeout.max.ms", text)?;
            }
            "connections.max.idle.ms" => {
                self.max_idle = value::millis("connections.max.idle.ms", text)?;
            }
            "metadata.max.age.ms" => {
                self.metadata_max_age = value::millis("metadata.max.age.ms", text)?;
            }
            _ => return Err(value::unknown(key)),
        }
        Ok(())
    }

    /// Checks that the cluster can be reached at all.
    pub fn validate(&self) -> Result<(), ConfigError> {
        let conflict = |key, rule| Err(ConfigError::Conflict { key, found: String::new(), rule });
        if self.bootstrap_servers.is_empty() {
            return conflict("bootstrap.servers", "at least one host:port is needed");
        }
        if i16::try_from(self.client_id.len()).is_err() {
            return conflict("client.id", "at most 32767 bytes fit into a request");
        }
        Ok(())
    }
}
