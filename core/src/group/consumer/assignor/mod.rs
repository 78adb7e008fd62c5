//! Server-side assignors: who shall own what.
//!
//! Both are pure functions of the members' topics and what they shall own already; neither looks at
//! racks. Invariants: each partition of a topic that somebody reads goes to exactly one member,
//! which reads it (G5); the same question has the same answer.

mod general;
mod range;
mod uniform;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use dohle_wire::id::TopicId;

use crate::group::request::MemberId;
use crate::group::topics::{Part, Topic};

/// A way to assign.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Assignor {
    /// As many partitions for everyone as for the others, moving as few as possible.
    Uniform,
    /// Neighbouring partitions of each topic, the same of topics that are read together.
    Range,
}

impl Assignor {
    /// The assignor of a name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        [Self::Uniform, Self::Range].into_iter().find(|assignor| assignor.name() == name)
    }

    /// Its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Uniform => "uniform",
            Self::Range => "range",
        }
    }

    /// What each of the subscribers shall own, in their order.
    pub(super) fn assign(self, spec: &Spec<'_>) -> Vec<BTreeSet<Part>> {
        match self {
            Self::Uniform if spec.all_read_the_same() => uniform::assign(spec),
            Self::Uniform => general::assign(spec),
            Self::Range => range::assign(spec),
        }
    }
}

/// What an assignment is made of.
pub(super) struct Spec<'a> {
    /// Everyone in the group, by id.
    pub(super) subscribers: Vec<Subscriber<'a>>,
    /// The topics that they read.
    pub(super) topics: BTreeMap<TopicId, Arc<Topic>>,
}

/// A member, as far as an assignment goes.
pub(super) struct Subscriber<'a> {
    pub(super) member: &'a MemberId,
    pub(super) instance: Option<&'a Arc<str>>,
    /// The topics that it reads, those alone that there are.
    pub(super) topics: Arc<BTreeSet<TopicId>>,
    /// What it shall own by now.
    pub(super) held: Option<&'a BTreeSet<Part>>,
}

impl Spec<'_> {
    fn all_read_the_same(&self) -> bool {
        self.subscribers.windows(2).all(|pair| pair[0].topics == pair[1].topics)
    }

    fn parts(&self) -> impl Iterator<Item = Part> + '_ {
        self.topics.values().flat_map(|topic| topic.parts())
    }

    fn exists(&self, (topic, index): &Part) -> bool {
        self.topics.get(topic).is_some_and(|topic| (0..topic.partitions).contains(&index.0))
    }

    /// What a member has and may keep, if nobody before it has it already.
    fn keepable<'a>(
        &'a self,
        at: usize,
        taken: &'a BTreeSet<Part>,
    ) -> impl Iterator<Item = Part> + 'a {
        let subscriber = &self.subscribers[at];
        let held = subscriber.held.into_iter().flatten();
        let valid = held.filter(|part| subscriber.topics.contains(&part.0) && self.exists(part));
        valid.filter(|part| !taken.contains(part)).copied()
    }
}

#[cfg(test)]
mod tests;
