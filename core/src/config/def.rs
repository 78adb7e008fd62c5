//! What a config is: its type, default, permitted values, and where it may be set.
//!
//! The tables hold every config of Apache Kafka 4.4 by its own name, also those that nothing reads
//! yet: a properties file written for Kafka is accepted and described in full.

use super::broker_table::BROKER;
use super::duration::is_duration;
use super::error::{ConfigError, nearest};
use super::group_table::GROUP;
use super::number::{java_double, millionths, trim};
use super::topic_table::TOPIC;

/// The type of a config. The discriminants are DescribeConfigs' codes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(i8)]
pub enum Kind {
    /// `true` or `false`, in any case.
    Boolean = 1,
    /// Text.
    String = 2,
    /// 32 bits, signed.
    Int = 3,
    /// 16 bits, signed.
    Short = 4,
    /// 64 bits, signed.
    Long = 5,
    /// A decimal number.
    Double = 6,
    /// Comma-separated texts.
    List = 7,
    /// The name of a Java class.
    Class = 8,
    /// Text never shown.
    Password = 9,
}

impl Kind {
    /// The code in DescribeConfigs responses.
    pub const fn code(self) -> i8 {
        self as i8
    }

    /// The name Kafka uses in documents.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Boolean => "BOOLEAN",
            Self::String => "STRING",
            Self::Int => "INT",
            Self::Short => "SHORT",
            Self::Long => "LONG",
            Self::Double => "DOUBLE",
            Self::List => "LIST",
            Self::Class => "CLASS",
            Self::Password => "PASSWORD",
        }
    }
}

/// Where a broker config may be changed while the broker runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Scope {
    /// Nowhere.
    ReadOnly,
    /// On one broker.
    PerBroker,
    /// On one broker, or for all as the cluster's default.
    ClusterWide,
}

/// What a value must be, beyond its type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Check {
    /// Anything of the type.
    Any,
    /// An integer of at least this.
    AtLeast(i64),
    /// An integer from the first to the second.
    Between(i64, i64),
    /// A decimal from the first to the second, in millionths.
    Ratio(i64, i64),
    /// 1 to 9, or -1.
    GzipLevel,
    /// One of these, to the letter.
    OneOf(&'static [&'static str]),
    /// One of these, in any case.
    OneOfNoCase(&'static [&'static str]),
    /// Text that is not empty.
    NonEmpty,
    /// A list of these (no names: of anything) without empty entries; repetitions are dropped.
    List(&'static [&'static str]),
    /// The same, with at least one entry.
    NonEmptyList(&'static [&'static str]),
    /// `*`, or a list of `partition:broker`.
    ThrottledReplicas,
    /// A list of `id@host:port`.
    QuorumVoters,
    /// A list of `host:port`.
    HostPorts,
    /// `earliest`, `latest`, or `by_duration:` and a duration of ISO 8601 that is not negative.
    OffsetReset,
}

/// The unit of a synonym, as against that of the config it stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// No conversion.
    Same,
    /// Minutes for milliseconds.
    Minutes,
    /// Hours for milliseconds.
    Hours,
    /// A list, the first entry of which counts.
    First,
}

impl Unit {
    /// How many of the config's unit one of this is.
    pub const fn factor(self) -> i64 {
        match self {
            Self::Same | Self::First => 1,
            Self::Minutes => 60_000,
            Self::Hours => 3_600_000,
        }
    }
}

/// A broker config that one of a topic or a group falls back to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Synonym {
    /// The broker config's name.
    pub name: &'static str,
    /// Its unit.
    pub unit: Unit,
}

/// The definition of one config.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ConfigDef {
    /// The name, with dots.
    pub name: &'static str,
    /// The type.
    pub kind: Kind,
    /// Kafka's default. None where Kafka's is null or where Kafka demands a value.
    pub default: Option<&'static str>,
    /// What a value must be.
    pub check: Check,
    /// One line for people, with the unit.
    pub doc: &'static str,
    /// Configs of topics and groups: the broker configs it falls back to, the strongest first.
    pub server_synonyms: &'static [Synonym],
    /// Broker configs: where it may be changed while the broker runs. All others always may be.
    pub dynamic: Scope,
    /// Not described unless set.
    pub internal: bool,
}

impl ConfigDef {
    /// Whether the value must never be shown.
    pub const fn sensitive(&self) -> bool {
        matches!(self.kind, Kind::Password)
    }

    /// Checks a value as written in a file or a request.
    pub fn validate(&self, raw: &str) -> Result<(), ConfigError> {
        self.canonical(raw).map(drop)
    }

    /// Checks a value and returns it in the form Kafka shows it: trimmed, numbers and booleans
    /// normalised, lists joined by bare commas.
    pub fn canonical(&self, raw: &str) -> Result<String, ConfigError> {
        let text = trim(raw);
        let parsed = match self.kind {
            Kind::Boolean => canonical_boolean(text),
            Kind::Int => self.canonical_integer(text, i32::MIN.into(), i32::MAX.into()),
            Kind::Short => self.canonical_integer(text, i16::MIN.into(), i16::MAX.into()),
            Kind::Long => self.canonical_integer(text, i64::MIN, i64::MAX),
            Kind::Double => self.canonical_double(text),
            Kind::List => self.canonical_list(text),
            Kind::String => self.check_text(text).then(|| text.to_owned()),
            Kind::Class => (!text.is_empty()).then(|| text.to_owned()),
            Kind::Password => Some(text.to_owned()),
        };
        parsed.ok_or_else(|| ConfigError::bad(self.name, self.expected(), text))
    }

    /// The entries of a list value; none for text that is blank.
    pub fn list(&self, raw: &str) -> Vec<String> {
        let mut entries = Vec::new();
        for entry in split_list(raw) {
            let repeated = entries.iter().any(|e| e == entry);
            if !repeated || !matches!(self.check, Check::List(_) | Check::NonEmptyList(_)) {
                entries.push(entry.to_owned());
            }
        }
        entries
    }

    /// What a value of this config looks like, in words.
    pub fn expected(&self) -> String {
        let number = match self.kind {
            Kind::Int => "a 32-bit integer",
            Kind::Short => "a 16-bit integer",
            _ => "a 64-bit integer",
        };
        match self.check {
            Check::Any => match self.kind {
                Kind::Boolean => "true or false".into(),
                Kind::Double => "a decimal number".into(),
                Kind::Class => "the name of a class".into(),
                Kind::List => "a comma-separated list".into(),
                Kind::String | Kind::Password => "text".into(),
                Kind::Int | Kind::Short | Kind::Long => number.into(),
            },
            Check::AtLeast(min) => format!("{number} of at least {min}"),
            Check::Between(min, max) => format!("{number} from {min} to {max}"),
            Check::Ratio(min, max) => {
                format!("a decimal number from {} to {}", decimal(min), decimal(max))
            }
            Check::GzipLevel => "an integer from 1 to 9, or -1".into(),
            Check::OneOf(names) => format!("one of {}", names.join(", ")),
            Check::OneOfNoCase(names) => format!("one of {} (in any case)", names.join(", ")),
            Check::NonEmpty => "text that is not empty".into(),
            Check::List([]) => "a comma-separated list without empty entries".into(),
            Check::NonEmptyList([]) => {
                "a comma-separated list of at least one entry, none of them empty".into()
            }
            Check::List(names) => format!("a comma-separated list out of {}", names.join(", ")),
            Check::NonEmptyList(names) => {
                format!("at least one, comma-separated, of {}", names.join(", "))
            }
            Check::ThrottledReplicas => {
                "* or a comma-separated list of [partition]:[broker]".into()
            }
            Check::QuorumVoters => "a comma-separated list of {id}@{host}:{port}".into(),
            Check::HostPorts => "a comma-separated list of {host}:{port}".into(),
            Check::OffsetReset => "earliest, latest or by_duration:<PnDTnHnMn.nS>".into(),
        }
    }

    fn canonical_integer(&self, text: &str, min: i64, max: i64) -> Option<String> {
        let value: i64 = text.parse().ok()?;
        let fits = (min..=max).contains(&value);
        let allowed = match self.check {
            Check::AtLeast(min) => value >= min,
            Check::Between(min, max) => (min..=max).contains(&value),
            Check::GzipLevel => value == -1 || (1..=9).contains(&value),
            _ => true,
        };
        (fits && allowed).then(|| value.to_string())
    }

    fn canonical_double(&self, text: &str) -> Option<String> {
        let value = millionths(text)?;
        match self.check {
            Check::Ratio(min, max) if !value.within(min, max) => None,
            _ => java_double(text),
        }
    }

    fn canonical_list(&self, text: &str) -> Option<String> {
        let entries = self.list(text);
        let known = |names: &[&str]| {
            entries.iter().all(|entry| {
                !entry.is_empty() && (names.is_empty() || names.contains(&entry.as_str()))
            })
        };
        let allowed = match self.check {
            Check::List(names) => known(names),
            Check::NonEmptyList(names) => !entries.is_empty() && known(names),
            Check::ThrottledReplicas => {
                entries.first().is_some_and(|entry| entry == "*")
                    || entries.iter().all(|entry| entry.is_empty() || is_replica(entry))
            }
            Check::QuorumVoters => entries.iter().all(|entry| voter(entry).is_some()),
            Check::HostPorts => entries.iter().all(|entry| host_port(entry).is_some()),
            _ => true,
        };
        allowed.then(|| entries.join(","))
    }

    fn check_text(&self, text: &str) -> bool {
        match self.check {
            Check::OneOf(names) => names.contains(&text),
            Check::OneOfNoCase(names) => names.iter().any(|n| n.eq_ignore_ascii_case(text)),
            Check::NonEmpty => !text.is_empty(),
            Check::OffsetReset => is_offset_reset(text),
            _ => true,
        }
    }
}

/// All broker configs of Kafka, sorted by name.
pub fn broker_defs() -> &'static [ConfigDef] {
    &BROKER
}

/// All topic configs of Kafka, sorted by name.
pub fn topic_defs() -> &'static [ConfigDef] {
    &TOPIC
}

/// All group configs of Kafka, sorted by name.
pub fn group_defs() -> &'static [ConfigDef] {
    &GROUP
}

/// The configs that only Dohle has, sorted by name.
pub fn dohle_defs() -> &'static [ConfigDef] {
    &DOHLE
}

/// Broker configs that exist only as dynamic ones, sorted by name.
pub fn dynamic_only_defs() -> &'static [ConfigDef] {
    &DYNAMIC_ONLY
}

/// The topic config of that name.
pub fn topic_def(name: &str) -> Option<&'static ConfigDef> {
    find(&TOPIC, name)
}

/// The group config of that name.
pub fn group_def(name: &str) -> Option<&'static ConfigDef> {
    find(&GROUP, name)
}

/// The broker config of that name: Kafka's, Dohle's own, or a dynamic-only one.
///
/// A config for one listener, `listener.name.<listener>.<config>`, is found by its own config.
pub fn broker_def(name: &str) -> Option<&'static ConfigDef> {
    exact_broker_def(name).or_else(|| exact_broker_def(listener_base(name)?))
}

/// The broker config of exactly that name.
pub(super) fn exact_broker_def(name: &str) -> Option<&'static ConfigDef> {
    find(&BROKER, name).or_else(|| find(&DOHLE, name)).or_else(|| find(&DYNAMIC_ONLY, name))
}

/// For `listener.name.<listener>.<config>`, that config, also if a SASL mechanism stands before it.
pub fn listener_base(name: &str) -> Option<&str> {
    let (_, base) = name.strip_prefix("listener.name.")?.split_once('.')?;
    let mechanism = MECHANISM_CONFIGS.iter().find(|config| base.ends_with(**config));
    Some(mechanism.copied().unwrap_or(base))
}

/// The known broker config whose name is nearly this one.
pub(super) fn near_broker_name(name: &str) -> Option<&'static str> {
    nearest(name, BROKER.iter().chain(&DOHLE).filter(|d| !d.internal).map(|d| d.name))
}

/// The known topic config whose name is nearly this one.
pub(super) fn near_topic_name(name: &str) -> Option<&'static str> {
    nearest(name, TOPIC.iter().filter(|d| !d.internal).map(|d| d.name))
}

/// The known group config whose name is nearly this one.
pub(super) fn near_group_name(name: &str) -> Option<&'static str> {
    nearest(name, GROUP.iter().filter(|d| !d.internal).map(|d| d.name))
}

/// The entries of comma-separated text, trimmed; none if it is blank.
pub(super) fn split_list(raw: &str) -> impl Iterator<Item = &str> {
    let text = trim(raw);
    text.split(',').map(trim).filter(move |_| !text.is_empty())
}

/// Splits `host:port`; the host may be empty or an IPv6 address in brackets, which are dropped.
pub fn host_port(text: &str) -> Option<(&str, u16)> {
    let (host, port) = text.rsplit_once(':')?;
    let host = match host.strip_prefix('[') {
        Some(inner) => inner.strip_suffix(']')?,
        None => host,
    };
    let plain = |b: u8| b.is_ascii_alphanumeric() || b"-_.%:".contains(&b);
    let port_is_plain = port.bytes().all(|b| b.is_ascii_digit());
    (host.bytes().all(plain) && port_is_plain).then_some((host, port.parse().ok()?))
}

/// Splits `id@host:port`.
pub(super) fn voter(text: &str) -> Option<(i32, &str, u16)> {
    let (id, address) = text.split_once('@')?;
    let id = id.parse().ok().filter(|id| *id >= 0)?;
    let (host, port) = host_port(address)?;
    (!host.is_empty()).then_some((id, host, port))
}

fn find(table: &'static [ConfigDef], name: &str) -> Option<&'static ConfigDef> {
    table.binary_search_by(|def| def.name.cmp(name)).ok().map(|index| &table[index])
}

fn canonical_boolean(text: &str) -> Option<String> {
    [true, false].map(|b| b.to_string()).into_iter().find(|b| b.eq_ignore_ascii_case(text))
}

fn is_offset_reset(text: &str) -> bool {
    matches!(text, "earliest" | "latest")
        || text.strip_prefix("by_duration:").is_some_and(is_duration)
}

/// Whether `text` is `partition:broker`.
fn is_replica(text: &str) -> bool {
    let number = |t: &str| !t.is_empty() && t.bytes().all(|b| b.is_ascii_digit());
    text.split_once(':').is_some_and(|(partition, broker)| number(partition) && number(broker))
}

fn decimal(millionths: i64) -> String {
    let text = format!("{}.{:06}", millionths / 1_000_000, millionths % 1_000_000);
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// Configs that `listener.name.<listener>.<mechanism>.` may stand before.
const MECHANISM_CONFIGS: [&str; 5] = [
    "sasl.jaas.config",
    "sasl.login.callback.handler.class",
    "sasl.login.class",
    "sasl.server.callback.handler.class",
    "connections.max.reauth.ms",
];

/// The codecs a topic may ask for.
pub(super) const COMPRESSION: &[&str] =
    &["uncompressed", "zstd", "lz4", "snappy", "gzip", "producer"];

const fn own(
    name: &'static str,
    kind: Kind,
    check: Check,
    default: &'static str,
    doc: &'static str,
) -> ConfigDef {
    ConfigDef {
        name,
        kind,
        default: Some(default),
        check,
        doc,
        server_synonyms: &[],
        dynamic: Scope::ReadOnly,
        internal: false,
    }
}

static DOHLE: [ConfigDef; 5] = [
    own(
        "dohle.admin.listeners",
        Kind::List,
        Check::HostPorts,
        "",
        "Where /metrics and /health are served over HTTP (host:port); empty: nowhere.",
    ),
    own(
        "dohle.scrub.interval.ms",
        Kind::Long,
        Check::AtLeast(1),
        "604800000",
        "Pause between two searches for damage through all closed segments (ms).",
    ),
    own(
        "dohle.scrub.max.bytes.per.second",
        Kind::Long,
        Check::AtLeast(0),
        "10485760",
        "Most bytes of a data directory the search for damage reads (bytes/s); 0: no search.",
    ),
    own(
        "dohle.shards",
        Kind::Int,
        Check::AtLeast(0),
        "0",
        "Shards that hold partitions; 0: one per core.",
    ),
    own(
        "dohle.unflushed.bytes",
        Kind::Int,
        Check::AtLeast(0),
        "67108864",
        "Bytes of a data directory that may wait for a sync; with more, producers and moves do. 0: any number, as in Kafka.",
    ),
];

const fn rate(name: &'static str, doc: &'static str) -> ConfigDef {
    ConfigDef {
        name,
        kind: Kind::Long,
        default: None,
        check: Check::AtLeast(0),
        doc,
        server_synonyms: &[],
        dynamic: Scope::ClusterWide,
        internal: false,
    }
}

static DYNAMIC_ONLY: [ConfigDef; 3] = [
    rate("follower.replication.throttled.rate", "Limit of throttled follower traffic (bytes/s)."),
    rate("leader.replication.throttled.rate", "Limit of throttled leader traffic (bytes/s)."),
    rate(
        "replica.alter.log.dirs.io.max.bytes.per.second",
        "Limit of moves between log dirs (bytes/s).",
    ),
];

/// Writes a default: `null` or a literal.
macro_rules! default_of {
    (null) => {
        None
    };
    ($text:literal) => {
        Some($text)
    };
}

/// Whether a row ends in the word `internal`.
macro_rules! is_internal {
    () => {
        false
    };
    (internal) => {
        true
    };
}

/// Writes the table of broker configs.
macro_rules! broker_rows {
    ($($name:literal, $kind:ident, $default:tt, $check:ident $(($($arg:expr),*))?,
        $scope:ident $($internal:ident)?, $doc:literal;)*) => {
        pub(super) static BROKER: [ConfigDef; [$($name),*].len()] = [$(ConfigDef {
            name: $name,
            kind: Kind::$kind,
            default: default_of!($default),
            check: Check::$check $(($($arg),*))?,
            doc: $doc,
            server_synonyms: &[],
            dynamic: Scope::$scope,
            internal: is_internal!($($internal)?),
        }),*];
    };
}

/// Writes a table of configs that fall back to broker configs.
macro_rules! layered_rows {
    ($table:ident: $($name:literal, $kind:ident, $default:tt, $check:ident $(($($arg:expr),*))?,
        [$($unit:ident $synonym:literal),*] $($internal:ident)?, $doc:literal;)*) => {
        pub(super) static $table: [ConfigDef; [$($name),*].len()] = [$(ConfigDef {
            name: $name,
            kind: Kind::$kind,
            default: default_of!($default),
            check: Check::$check $(($($arg),*))?,
            doc: $doc,
            server_synonyms: &[$(Synonym { name: $synonym, unit: Unit::$unit }),*],
            dynamic: Scope::ClusterWide,
            internal: is_internal!($($internal)?),
        }),*];
    };
}

pub(super) use {broker_rows, default_of, is_internal, layered_rows};

#[cfg(test)]
mod tests;
