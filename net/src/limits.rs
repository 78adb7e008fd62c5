//! How many connections a node has, and from where.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use dohle_core::config::BrokerConfig;

use crate::rt;

/// Counts connections against `max.connections` and `max.connections.per.ip`.
pub struct Limits {
    max: usize,
    per_ip: usize,
    overrides: BTreeMap<IpAddr, usize>,
    counts: Mutex<Counts>,
    freed: rt::Notify,
}

#[derive(Default)]
struct Counts {
    total: usize,
    by_ip: BTreeMap<IpAddr, usize>,
}

/// A connection that counts; it does no longer when this is dropped.
pub struct Seat {
    limits: Arc<Limits>,
    ip: IpAddr,
}

impl Limits {
    /// The limits of a configuration; `names` gives the addresses of a host name.
    #[must_use]
    pub fn new(config: &BrokerConfig, names: impl Fn(&str) -> Vec<IpAddr>) -> Arc<Self> {
        let count = |value: i32| usize::try_from(value).unwrap_or(0);
        let overrides = config.max_connections_per_ip_overrides.iter();
        let overrides = overrides
            .flat_map(|(host, max)| names(host).into_iter().map(|ip| (ip, count(*max))))
            .collect();
        Arc::new(Self {
            max: count(config.max_connections).max(1),
            per_ip: count(config.max_connections_per_ip),
            overrides,
            counts: Mutex::default(),
            freed: rt::Notify::new(),
        })
    }

    /// Waits until there is room for one more: until then new connections wait in the kernel's
    /// queue, as with Kafka.
    pub async fn room(&self) {
        while self.lock().total >= self.max {
            self.freed.notified().await;
        }
    }

    /// A seat for a connection from `ip`, none when it has its share.
    pub fn seat(self: &Arc<Self>, ip: IpAddr) -> Option<Seat> {
        let ip = ip.to_canonical();
        let max = self.overrides.get(&ip).copied().unwrap_or(self.per_ip);
        let mut counts = self.lock();
        let have = counts.by_ip.get(&ip).copied().unwrap_or(0);
        if have >= max {
            return None;
        }
        counts.total += 1;
        counts.by_ip.insert(ip, have + 1);
        Some(Seat { limits: Arc::clone(self), ip })
    }

    fn lock(&self) -> MutexGuard<'_, Counts> {
        self.counts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        let mut counts = self.limits.lock();
        counts.total -= 1;
        if let Some(have) = counts.by_ip.get_mut(&self.ip) {
            *have -= 1;
            if *have == 0 {
                counts.by_ip.remove(&self.ip);
            }
        }
        drop(counts);
        self.limits.freed.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limits(properties: &[(&str, &str)]) -> Arc<Limits> {
        let properties = properties.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned()));
        let (config, _) = BrokerConfig::from_properties(&properties.collect()).expect("valid");
        Limits::new(&config, |host| host.parse().into_iter().collect())
    }

    #[test]
    fn each_address_has_its_share() {
        let limits = limits(&[
            ("max.connections.per.ip", "2"),
            ("max.connections.per.ip.overrides", "10.0.0.7:1"),
        ]);
        let one: IpAddr = "10.0.0.1".parse().expect("an address");
        let mapped: IpAddr = "::ffff:10.0.0.1".parse().expect("an address");
        let special: IpAddr = "10.0.0.7".parse().expect("an address");
        let first = limits.seat(one);
        let second = limits.seat(mapped);
        assert!(first.is_some() && second.is_some());
        assert!(limits.seat(one).is_none(), "its share is used up");
        let third = limits.seat(special);
        assert!(third.is_some() && limits.seat(special).is_none(), "an override");
        drop(first);
        assert!(limits.seat(one).is_some(), "a seat was given back");
    }
}
