//! The settings of all groups, as brokers' dynamic configs have them, and of those that have configs
//! of their own (`consumer.session.timeout.ms` and the like), at one offset of the metadata,
//! immutable.

use std::sync::Arc;

use rpds::RedBlackTreeMapSync;

use super::GroupSettings;
use crate::config::alter::{Dynamic, effective};
use crate::config::group::GroupConfig;
use crate::image::{Image, Overrides, resource};

impl GroupSettings {
    /// These settings with what is configured for brokers in `new`, if that makes them others. What
    /// cannot be (a broker started again with other limits) leaves them as they are.
    #[must_use]
    pub fn follow(&self, old: Option<&Image>, new: &Image) -> Option<Self> {
        let dynamic = new.broker_overrides();
        if old.is_some_and(|old| old.broker_overrides() == dynamic) {
            return None;
        }
        let (broker, default) = (&*dynamic.0, &*dynamic.1);
        let config = effective(&new.local, Dynamic { broker, default }).ok()?;
        let consumer_assignment_interval_ms =
            config.integer("group.consumer.assignment.interval.ms")?;
        let next = Self { consumer_assignment_interval_ms, ..self.clone() };
        (next != *self).then_some(next)
    }
}

/// Settings by group.
#[derive(Clone, Debug)]
pub struct OwnSettings {
    by_group: RedBlackTreeMapSync<Arc<str>, Arc<GroupSettings>>,
}

impl Default for OwnSettings {
    fn default() -> Self {
        Self { by_group: RedBlackTreeMapSync::new_sync() }
    }
}

impl OwnSettings {
    /// The settings of groups in `new`, if they are others than these, which are those of `old`.
    /// What a group does not set is as in `general`.
    #[must_use]
    pub fn follow(
        &self,
        old: Option<&Image>,
        new: &Image,
        general: &GroupSettings,
    ) -> Option<Self> {
        let mut next = self.clone();
        let mut changed = false;
        for (key, _) in old.into_iter().flat_map(configured) {
            if !new.configs.contains_key(key) {
                next.by_group.remove_mut(&key.1);
                changed = true;
            }
        }
        for (key, overrides) in configured(new) {
            let same = old.and_then(|old| old.configs.get(key));
            if same.is_some_and(|same| Arc::ptr_eq(same, overrides)) {
                continue;
            }
            next.insert(&key.1, general.with(&GroupConfig::resolve(overrides, &new.local)));
            changed = true;
        }
        changed.then_some(next)
    }

    /// A group has settings of its own from now on.
    pub fn insert(&mut self, group: &Arc<str>, settings: GroupSettings) {
        self.by_group.insert_mut(Arc::clone(group), Arc::new(settings));
    }

    /// The settings of a group: its own, or else those of all.
    #[must_use]
    pub fn of<'a>(&'a self, group: &str, general: &'a GroupSettings) -> &'a GroupSettings {
        self.by_group.get(group).map_or(general, |own| own)
    }
}

/// The groups that have configs of their own.
fn configured(image: &Image) -> impl Iterator<Item = (&(i8, Arc<str>), &Overrides)> {
    let first = (resource::GROUP, Arc::from(""));
    image.configs.range(first..).take_while(|((kind, _), _)| *kind == resource::GROUP)
}
