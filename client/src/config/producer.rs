//! Settings of producers.

use std::time::Duration;

use dohle_wire::record::Compression;

use super::{ConfigError, ConnectionConfig, value};

/// Who must have a batch before the broker acknowledges it.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Default)]
pub enum Acks {
    /// Nobody: there is no answer, and no way to know.
    None,
    /// The leader.
    Leader,
    /// All in-sync replicas.
    #[default]
    All,
}

impl Acks {
    /// The number in requests.
    pub const fn code(self) -> i16 {
        match self {
            Self::None => 0,
            Self::Leader => 1,
            Self::All => -1,
        }
    }
}

/// Settings of a producer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProducerConfig {
    /// How to reach the cluster.
    pub connection: ConnectionConfig,
    /// `acks`.
    pub acks: Acks,
    /// `batch.size`: bytes of records per batch, before compression.
    pub batch_size: usize,
    /// `buffer.memory`: bytes of records that wait or are under way.
    pub buffer_memory: usize,
    /// `compression.type`.
    pub compression: Compression,
    /// `compression.<type>.level`; `None` is the codec's default.
    pub compression_level: Option<i32>,
    /// `delivery.timeout.ms`: from the call of send to success or failure.
    pub delivery_timeout: Duration,
    /// `enable.idempotence`: brokers drop repetitions, and order is kept.
    pub enable_idempotence: bool,
    /// `linger.ms`: wait for more records before a batch is sent.
    pub linger: Duration,
    /// `max.block.ms`: wait for metadata of a topic, and of the async API for memory.
    pub max_block: Duration,
    /// `max.in.flight.requests.per.connection`.
    pub max_in_flight: u32,
    /// `max.request.size`: bytes of one record, and of the batches of one request.
    pub max_request_size: usize,
    /// `metadata.max.idle.ms`: a topic that is not written to is forgotten after this.
    pub metadata_max_idle: Duration,
    /// `partitioner.adaptive.partitioning.enable`: prefer partitions with shorter queues.
    pub adaptive_partitioning: bool,
    /// `partitioner.availability.timeout.ms`: a broker that takes no batches for so long gets no
    /// records without key, if there is another; 0 for never.
    pub availability_timeout: Duration,
    /// `partitioner.rack.aware`: prefer partitions with a leader in `client.rack`.
    pub rack_aware: bool,
    /// `client.rack`: where this producer is.
    pub client_rack: String,
    /// `partitioner.ignore.keys`: spread records with keys like those without.
    pub ignore_keys: bool,
    /// `retries`: most repetitions of one batch.
    pub retries: u32,
}

impl Default for ProducerConfig {
    fn default() -> Self {
        Self {
            connection: ConnectionConfig::default(),
            acks: Acks::All,
            batch_size: 16_384,
            buffer_memory: 33_554_432,
            compression: Compression::None,
            compression_level: None,
            delivery_timeout: Duration::from_millis(120_000),
            enable_idempotence: true,
            linger: Duration::from_millis(5),
            max_block: Duration::from_millis(60_000),
            max_in_flight: 5,
            max_request_size: 1_048_576,
            metadata_max_idle: Duration::from_millis(300_000),
            adaptive_partitioning: true,
            availability_timeout: Duration::ZERO,
            rack_aware: false,
            client_rack: String::new(),
            ignore_keys: false,
            retries: i32::MAX as u32,
        }
    }
}

impl ProducerConfig {
    /// The defaults, for the cluster at `servers` (`host:port`, separated by commas).
    pub fn to(servers: &str) -> Result<Self, ConfigError> {
        Ok(Self { connection: ConnectionConfig::to(servers)?, ..Self::default() })
    }

    /// Changes one setting by its Kafka name.
    pub fn set(&mut self, key: &str, text: &str) -> Result<(), ConfigError> {
        match key {
            "acks" => {
                let choices =
                    [("0", Acks::None), ("1", Acks::Leader), ("all", Acks::All), ("-1", Acks::All)];
                self.acks = value::choice("acks", "0, 1 or all", text, &choices)?;
            }
            "batch.size" => self.batch_size = value::bytes("batch.size", text)?,
            "buffer.memory" => self.buffer_memory = value::memory("buffer.memory", text)?,
            "compression.type" => {
                let choices = Compression::ALL.map(|kind| (kind.name(), kind));
                let expected = "none, gzip, snappy, lz4 or zstd";
                self.compression = value::choice("compression.type", expected, text, &choices)?;
            }
            "compression.gzip.level" | "compression.lz4.level" | "compression.zstd.level" => {
                self.set_level(key, text)?;
            }
            "delivery.timeout.ms" => {
                self.delivery_timeout = value::millis("delivery.timeout.ms", text)?;
            }
            "enable.idempotence" => {
                self.enable_idempotence = value::flag("enable.idempotence", text)?;
            }
            "linger.ms" => self.linger = value::millis("linger.ms", text)?,
            "max.block.ms" => self.max_block = value::millis("max.block.ms", text)?,
            "max.in.flight.requests.per.connection" => {
                self.max_in_flight = value::count("max.in.flight.requests.per.connection", text)?;
            }
            "max.request.size" => self.max_request_size = value::bytes("max.request.size", text)?,
            "metadata.max.idle.ms" => {
                self.metadata_max_idle = value::millis("metadata.max.idle.ms", text)?;
            }
            "partitioner.adaptive.partitioning.enable" => {
                self.adaptive_partitioning =
                    value::flag("partitioner.adaptive.partitioning.enable", text)?;
            }
            "partitioner.availability.timeout.ms" => {
                self.availability_timeout =
                    value::millis("partitioner.availability.timeout.ms", text)?;
            }
            "partitioner.rack.aware" => {
                self.rack_aware = value::flag("partitioner.rack.aware", text)?;
            }
            "client.rack" => text.clone_into(&mut self.client_rack),
            "partitioner.ignore.keys" => {
                self.ignore_keys = value::flag("partitioner.ignore.keys", text)?;
            }
            "retries" => self.retries = value::bytes("retries", text)? as u32,
            _ => return self.connection.set(key, text),
        }
        Ok(())
    }

    fn set_level(&mut self, key: &str, text: &str) -> Result<(), ConfigError> {
        let level = text.trim().parse().map_err(|_| ConfigError::BadValue {
            key: "compression.<type>.level",
            expected: "a whole number",
            found: text.to_owned(),
        })?;
        let of = key.split('.').nth(1).and_then(Compression::from_name);
        // The level of a codec that is not in use has no effect, as in Kafka.
        if of == Some(self.compression) {
            self.compression_level = Some(level);
        }
        Ok(())
    }

    /// Checks what several settings must have in common.
    pub fn validate(&self) -> Result<(), ConfigError> {
        self.connection.validate()?;
        let conflict = |key, found: String, rule| Err(ConfigError::Conflict { key, found, rule });
        let least = self.linger.saturating_add(self.connection.request_timeout);
        if self.delivery_timeout < least {
            return conflict(
                "delivery.timeout.ms",
                self.delivery_timeout.as_millis().to_string(),
                "it must not be less than linger.ms + request.timeout.ms",
            );
        }
        if !self.enable_idempotence {
            return Ok(());
        }
        if self.acks != Acks::All {
            let rule = "enable.idempotence needs acks=all";
            return conflict("acks", self.acks.code().to_string(), rule);
        }
        if self.max_in_flight > 5 {
            let rule = "enable.idempotence allows at most 5";
            let found = self.max_in_flight.to_string();
            return conflict("max.in.flight.requests.per.connection", found, rule);
        }
        if self.retries == 0 {
            return conflict("retries", "0".to_owned(), "enable.idempotence needs retries");
        }
        Ok(())
    }
}
