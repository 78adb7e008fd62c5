//! Settings of admin clients.

use std::time::Duration;

use super::{ConfigError, ConnectionConfig, value};

/// Settings of an admin client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AdminConfig {
    /// How to reach the cluster.
    pub connection: ConnectionConfig,
    /// `default.api.timeout.ms`: from a call to its success or failure, repetitions included.
    pub api_timeout: Duration,
}

impl Default for AdminConfig {
    fn default() -> Self {
        Self { connection: ConnectionConfig::default(), api_timeout: Duration::from_millis(60_000) }
    }
}

impl AdminConfig {
    /// The defaults, for the cluster at `servers` (`host:port`, separated by commas).
    pub fn to(servers: &str) -> Result<Self, ConfigError> {
        Ok(Self { connection: ConnectionConfig::to(servers)?, ..Self::default() })
    }

    /// Changes one setting by its Kafka name.
    pub fn set(&mut self, key: &str, text: &str) -> Result<(), ConfigError> {
        match key {
            "default.api.timeout.ms" => {
                self.api_timeout = value::millis("default.api.timeout.ms", text)?;
                Ok(())
            }
            _ => self.connection.set(key, text),
        }
    }

    /// Checks what several settings must have in common.
    pub fn validate(&self) -> Result<(), ConfigError> {
        self.connection.validate()
    }
}
