//! How many connections a node has, and from where.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use dohle_core::config::BrokerConfig;
use dohle_core::config::alter::{Dynamic, effective};
use dohle_core::image::{Image, Overrides};

use crate::note::{More, Seldom};
use crate::rt;

static SELDOM_FULL: Seldom = Seldom::new(Duration::from_secs(60));

/// Counts connections against `max.connections` and `max.connections.per.ip`.
pub struct Limits {
    names: Names,
    /// Connections that there are descriptors for.
    possible: usize,
    state: Mutex<State>,
    freed: rt::Notify,
}

/// Gives the addresses of a host name.
type Names = fn(&str) -> Vec<IpAddr>;

struct State {
    most: Most,
    total: usize,
    by_ip: BTreeMap<IpAddr, usize>,
    /// Dynamic configs that are in force, those of this broker and those of all.
    dynamic: (Overrides, Overrides),
}

/// How many connections there may be.
struct Most {
    total: usize,
    per_ip: usize,
    overrides: BTreeMap<IpAddr, usize>,
}

impl Most {
    fn new(config: &BrokerConfig, names: Names) -> Self {
        let count = |value: i32| usize::try_from(value).unwrap_or(0);
        let overrides = config.max_connections_per_ip_overrides.iter();
        let overrides = overrides
            .flat_map(|(host, max)| names(host).into_iter().map(|ip| (ip, count(*max))))
            .collect();
        Self {
            total: count(config.max_connections).max(1),
            per_ip: count(config.max_connections_per_ip),
            overrides,
        }
    }
}

/// A connection that counts; it does no longer when this is dropped.
pub struct Seat {
    limits: Arc<Limits>,
    ip: IpAddr,
}

impl Limits {
    /// The limits of a configuration, on a machine where so many connections are possible.
    #[must_use]
    pub fn new(config: &BrokerConfig, names: Names, possible: usize) -> Arc<Self> {
        let state = State {
            most: Most::new(config, names),
            total: 0,
            by_ip: BTreeMap::new(),
            dynamic: Default::default(),
        };
        Arc::new(Self { names, possible, state: Mutex::new(state), freed: rt::Notify::new() })
    }

    /// Takes in the dynamic configs of new metadata. Connections there are stay.
    pub fn follow(&self, image: &Image) {
        let dynamic = image.broker_overrides();
        if self.lock().dynamic == dynamic {
            return;
        }
        let (broker, default) = (&*dynamic.0, &*dynamic.1);
        match effective(&image.local, Dynamic { broker, default }) {
            Ok(config) => {
                let most = Most::new(&config, self.names);
                self.lock().most = most;
            }
            Err(why) => tracing::warn!("limits of connections stay what they were: {why}"),
        }
        self.lock().dynamic = dynamic;
        self.freed.notify_waiters();
    }

    /// Waits until there is room for one more: until then new connections wait in the kernel's
    /// queue, as with Kafka.
    pub async fn room(&self) {
        loop {
            // From before the look on, so that no news is missed.
            let freed = self.freed.notified();
            if self.has_room() {
                return;
            }
            freed.await;
        }
    }

    fn has_room(&self) -> bool {
        let state = self.lock();
        let most = state.most.total.min(self.possible);
        if state.total < most {
            return true;
        }
        if let Some(left_out) = SELDOM_FULL.now() {
            tracing::warn!(
                "there are {most} connections, as many as max.connections or the limit on open \
                 files allow: new ones wait{}",
                More(left_out)
            );
        }
        false
    }

    /// How many connections there are.
    #[must_use]
    pub fn connections(&self) -> usize {
        self.lock().total
    }

    /// A seat for a connection from `ip`, none when it has its share.
    pub fn seat(self: &Arc<Self>, ip: IpAddr) -> Option<Seat> {
        let ip = ip.to_canonical();
        let mut state = self.lock();
        let max = state.most.overrides.get(&ip).copied().unwrap_or(state.most.per_ip);
        let have = state.by_ip.get(&ip).copied().unwrap_or(0);
        if have >= max {
            return None;
        }
        state.total += 1;
        state.by_ip.insert(ip, have + 1);
        Some(Seat { limits: Arc::clone(self), ip })
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        let mut state = self.limits.lock();
        state.total -= 1;
        if let Some(have) = state.by_ip.get_mut(&self.ip) {
            *have -= 1;
            if *have == 0 {
                state.by_ip.remove(&self.ip);
            }
        }
        drop(state);
        self.limits.freed.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use std::future::Future;

    use dohle_core::image::resource;

    use super::*;

    fn config(properties: &[(&str, &str)]) -> BrokerConfig {
        let properties = properties.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned()));
        BrokerConfig::from_properties(&properties.collect()).expect("valid").0
    }

    fn limits(properties: &[(&str, &str)]) -> Arc<Limits> {
        limits_of(properties, usize::MAX)
    }

    fn limits_of(properties: &[(&str, &str)], possible: usize) -> Arc<Limits> {
        Limits::new(&config(properties), |host| host.parse().into_iter().collect(), possible)
    }

    /// Metadata with dynamic configs of one broker resource.
    fn image(resource: &str, configs: &[(&str, &str)]) -> Image {
        let mut image = Image::empty("cluster".into(), Arc::new(config(&[])));
        let configs = configs.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
        image.configs.insert_mut((resource::BROKER, resource.into()), Arc::new(configs));
        image
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

    #[test]
    fn limits_follow_dynamic_configs() {
        let limits = limits(&[("max.connections.per.ip", "1")]);
        let one: IpAddr = "10.0.0.1".parse().expect("an address");
        let special: IpAddr = "10.0.0.7".parse().expect("an address");
        let first = limits.seat(one);
        assert!(first.is_some() && limits.seat(one).is_none());
        let per_ip = ("max.connections.per.ip", "2");
        limits.follow(&image("", &[per_ip, ("max.connections.per.ip.overrides", "10.0.0.7:0")]));
        let second = limits.seat(one);
        assert!(second.is_some() && limits.seat(one).is_none());
        assert!(limits.seat(special).is_none(), "an override");
        limits.follow(&image("1", &[("max.connections.per.ip", "x")]));
        assert!(limits.seat(one).is_none(), "what cannot be is not in force");
        limits.follow(&image("1", &[("max.connections.per.ip", "3")]));
        assert!(limits.seat(one).is_some() && limits.seat(special).is_some());
    }

    #[test]
    fn who_waits_for_room_gets_it_when_there_may_be_more_connections() {
        let limits = limits(&[("max.connections", "1")]);
        let seat = limits.seat("10.0.0.1".parse().expect("an address"));
        let mut waiting = Box::pin(limits.room());
        let mut context = std::task::Context::from_waker(std::task::Waker::noop());
        let mut poll = || waiting.as_mut().poll(&mut context);
        assert!(poll().is_pending());
        limits.follow(&image("1", &[("max.connections", "2")]));
        assert!(poll().is_ready());
        drop(seat);
    }

    #[test]
    fn there_is_no_room_for_more_connections_than_are_possible() {
        let limits = limits_of(&[("max.connections", "10")], 2);
        let one = "10.0.0.1".parse().expect("an address");
        let _first = limits.seat(one);
        assert!(limits.has_room());
        let second = limits.seat(one);
        assert!(!limits.has_room());
        limits.follow(&image("1", &[("max.connections", "20")]));
        assert!(!limits.has_room());
        drop(second);
        assert!(limits.has_room());
    }
}
