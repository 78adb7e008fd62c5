//! Listeners: `name://host:port`, each with a security protocol.

use std::collections::{BTreeMap, BTreeSet};

use super::broker::value;
use super::def::{host_port, split_list};
use super::error::ConfigError;

/// How a connection is protected. The discriminants are Kafka's ids.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(i16)]
pub enum SecurityProtocol {
    /// Neither TLS nor SASL.
    Plaintext = 0,
    /// TLS.
    Ssl = 1,
    /// SASL without TLS.
    SaslPlaintext = 2,
    /// SASL over TLS.
    SaslSsl = 3,
}

impl SecurityProtocol {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Plaintext, Self::Ssl, Self::SaslPlaintext, Self::SaslSsl];

    /// The name used in configs.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Plaintext => "PLAINTEXT",
            Self::Ssl => "SSL",
            Self::SaslPlaintext => "SASL_PLAINTEXT",
            Self::SaslSsl => "SASL_SSL",
        }
    }

    /// The id in metadata records.
    pub const fn id(self) -> i16 {
        self as i16
    }

    /// The protocol of that name, in any case.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|protocol| protocol.name().eq_ignore_ascii_case(name))
    }

    /// Whether connections are encrypted.
    pub const fn tls(self) -> bool {
        matches!(self, Self::Ssl | Self::SaslSsl)
    }

    /// Whether connections authenticate by SASL.
    pub const fn sasl(self) -> bool {
        matches!(self, Self::SaslPlaintext | Self::SaslSsl)
    }
}

/// An address to listen on, or one to advertise.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listener {
    /// The name, in upper case.
    pub name: String,
    /// The host, without brackets. Empty to listen on every address; empty in an advertised
    /// listener to name the address the client dialled.
    pub host: String,
    /// The port; 0 to listen on any free one.
    pub port: u16,
    /// How its connections are protected.
    pub protocol: SecurityProtocol,
}

impl Listener {
    /// Whether the host stands for every address of the machine.
    pub fn any_host(&self) -> bool {
        matches!(self.host.as_str(), "" | "0.0.0.0" | "::" | "0:0:0:0:0:0:0:0")
    }
}

/// Reads `listener.security.protocol.map`.
fn protocol_map(raw: &str) -> Result<BTreeMap<String, SecurityProtocol>, ConfigError> {
    const KEY: &str = "listener.security.protocol.map";
    let entry = |text: &str| {
        let (name, protocol) = text.rsplit_once(':')?;
        Some((name.trim().to_ascii_uppercase(), SecurityProtocol::from_name(protocol.trim())?))
    };
    split_list(raw)
        .map(|text| {
            entry(text).ok_or_else(|| {
                let expected = "{listener}:{protocol}, the protocol one of PLAINTEXT, SSL, \
                                SASL_PLAINTEXT, SASL_SSL";
                ConfigError::bad(KEY, expected, text)
            })
        })
        .collect()
}

/// Reads `listeners` or `advertised.listeners`: names must differ, and ports must too
/// where `distinct_ports` says so, but for the two IP versions of one port.
fn read_listeners(
    key: &str,
    raw: &str,
    protocols: &BTreeMap<String, SecurityProtocol>,
    distinct_ports: bool,
) -> Result<Vec<Listener>, ConfigError> {
    let mut found: Vec<Listener> = Vec::new();
    for text in split_list(raw) {
        let listener = read_listener(key, text, protocols)?;
        for other in &found {
            if other.name == listener.name {
                let message = format!("{key}: two listeners are called {}", other.name);
                return Err(ConfigError::Conflict(message));
            }
            let two_versions = other.host.contains(':') != listener.host.contains(':')
                && !other.host.is_empty()
                && !listener.host.is_empty();
            if distinct_ports && other.port == listener.port && other.port != 0 && !two_versions {
                let message = format!(
                    "{key}: {} and {} share port {}",
                    other.name, listener.name, other.port
                );
                return Err(ConfigError::Conflict(message));
            }
        }
        found.push(listener);
    }
    Ok(found)
}

fn read_listener(
    key: &str,
    text: &str,
    protocols: &BTreeMap<String, SecurityProtocol>,
) -> Result<Listener, ConfigError> {
    let expected = "listeners as {name}://{host}:{port}";
    let bad = || ConfigError::bad(key, expected, text);
    let (name, address) = text.split_once("://").ok_or_else(bad)?;
    let (host, port) = host_port(address).ok_or_else(bad)?;
    let name = name.to_ascii_uppercase();
    let protocol = *protocols.get(&name).ok_or_else(|| {
        let message = format!(
            "{key}: no security protocol defined for listener {name}; \
             name it in listener.security.protocol.map"
        );
        ConfigError::Conflict(message)
    })?;
    Ok(Listener { name, host: host.to_owned(), port, protocol })
}

/// The protocols by listener name: those of the map, or if none was given each protocol by its
/// own name, and controllers' listeners in plain text unless some listener is protected.
fn protocols(
    explicit_map: Option<&str>,
    listeners: &str,
    controllers: &[String],
) -> Result<BTreeMap<String, SecurityProtocol>, ConfigError> {
    if let Some(raw) = explicit_map {
        return protocol_map(raw);
    }
    let mut map: BTreeMap<String, SecurityProtocol> =
        SecurityProtocol::ALL.into_iter().map(|p| (p.name().to_owned(), p)).collect();
    let names: BTreeSet<String> = split_list(listeners)
        .filter_map(|text| Some(text.split_once("://")?.0.to_ascii_uppercase()))
        .collect();
    let is_protected = |name: &String| map.get(name).is_some_and(|p| p.tls() || p.sasl());
    if !names.iter().any(is_protected) {
        for name in controllers {
            map.entry(name.clone()).or_insert(SecurityProtocol::Plaintext);
        }
    }
    Ok(map)
}

/// What a node listens on and what it tells others of it.
pub(super) struct Endpoints {
    pub(super) listeners: Vec<Listener>,
    pub(super) advertised: Option<Vec<Listener>>,
    /// The name of the listener between brokers.
    pub(super) between: String,
}

/// Reads everything that says where a node listens.
pub(super) fn endpoints(
    explicit: &BTreeMap<String, String>,
    controllers: &[String],
) -> Result<Endpoints, ConfigError> {
    let raw = value(explicit, "listeners").unwrap_or_default();
    let map = explicit.get("listener.security.protocol.map").map(String::as_str);
    let protocols = protocols(map, raw, controllers)?;
    let listeners = read_listeners("listeners", raw, &protocols, true)?;
    let advertised = match explicit.get("advertised.listeners") {
        Some(raw) => {
            let advertised = read_listeners("advertised.listeners", raw, &protocols, false)?;
            if let Some(any) = advertised.iter().find(|l| l.host == "0.0.0.0") {
                return Err(ConfigError::Conflict(format!(
                    "advertised.listeners: clients cannot connect to {}; give an address they can \
                     reach, or none for the one they dialled",
                    any.host
                )));
            }
            let for_clients = |l: &Listener| !controllers.contains(&l.name);
            Some(advertised.into_iter().filter(for_clients).collect())
        }
        None => None,
    };
    let between = match explicit.get("inter.broker.listener.name") {
        Some(_) if explicit.contains_key("security.inter.broker.protocol") => {
            return Err(ConfigError::Conflict(
                "only one of inter.broker.listener.name and security.inter.broker.protocol may be \
                 set"
                .into(),
            ));
        }
        Some(name) => {
            let name = name.trim().to_ascii_uppercase();
            if !protocols.contains_key(&name) {
                return Err(ConfigError::Conflict(format!(
                    "inter.broker.listener.name: {name} is not in listener.security.protocol.map"
                )));
            }
            name
        }
        None => value(explicit, "security.inter.broker.protocol").unwrap_or_default().trim().into(),
    };
    Ok(Endpoints { listeners, advertised, between })
}
