//! A consumer group of the classic protocol that commits offsets, and reads them back.
//!
//! Its members speak the protocol themselves, one request at a time each. They find their
//! coordinator, join, are assigned partitions by their leader, and then commit, fetch, send
//! heartbeats, leave, and fall silent for longer than their session now and then.
//!
//! Invariant: offsets that are sent for a partition rise, whichever member sends them.

mod line;
mod member;
mod wire;

use std::collections::BTreeMap;

use dohle_core::group::place::{OFFSETS_TOPIC, partition_of};
use dohle_core::time::{Deadline, Now, earlier};
use dohle_jepsen::{Action, GroupAction, Key};

use self::member::Member;
use super::did;
use crate::actor::{Actor, ActorEffect, ActorInput};
use crate::choice::Choices;
use crate::swarm::{GroupShape, TopicShape};

/// What a group is there for.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Errand {
    /// Its members work until they are asked to finish.
    Commit,
    /// Somebody fetches all its offsets once, then ends.
    Read,
}

/// What the members of a group have in common.
struct Plan {
    group: String,
    errand: Errand,
    keys: Vec<Key>,
    session_timeout_ms: i32,
    /// The next offset to commit of each partition.
    next: BTreeMap<Key, i64>,
    finishing: bool,
}

/// All members of a group.
pub struct Group {
    plan: Plan,
    members: Vec<Member>,
    /// The partition of the topic that remembers it.
    partition: i32,
    /// A loss of power may take acknowledged commits.
    forgets: bool,
}

impl Group {
    /// Group number `number`, whose members are processes `first`, `first + 1`, ….
    pub fn new(
        number: u64,
        first: u64,
        shape: GroupShape,
        errand: Errand,
        topics: &[TopicShape],
        fsync: bool,
    ) -> Self {
        let group = format!("group{number}");
        let partition = partition_of(&group, shape.partitions).0;
        let keys: Vec<Key> = topics
            .iter()
            .flat_map(|topic| (0..topic.partitions).map(|index| Key::new(&*topic.name, index)))
            .collect();
        let count = if errand == Errand::Read { 1 } else { shape.members };
        let members = (0..count).map(|index| Member::new(&group, first + index, index));
        Self {
            members: members.collect(),
            plan: Plan {
                group,
                errand,
                next: keys.iter().map(|key| (key.clone(), 1)).collect(),
                keys,
                session_timeout_ms: shape.session_timeout_ms,
                finishing: false,
            },
            partition,
            forgets: !fsync,
        }
    }

    /// The coordinator may have lost the end of what it knew.
    fn on_lost(&mut self, lost: &[(String, i32)], fx: &mut Vec<ActorEffect>) {
        let own = |(topic, partition): &(String, i32)| {
            topic == OFFSETS_TOPIC && *partition == self.partition
        };
        if !lost.iter().any(own) {
            return;
        }
        // What is on its way may tell of what is no more.
        self.members.iter_mut().for_each(|member| member.hang_up(fx));
        if self.forgets {
            let (group, action) = (self.plan.group.clone(), GroupAction::Forgotten);
            did(0, Action::Group { group, action }, fx);
        }
    }
}

impl Actor for Group {
    fn name(&self) -> String {
        self.plan.group.clone()
    }

    fn on(
        &mut self,
        now: Now,
        input: ActorInput,
        choices: &mut Choices,
        fx: &mut Vec<ActorEffect>,
    ) {
        match &input {
            ActorInput::Lost(lost) => self.on_lost(lost, fx),
            ActorInput::Finish => self.plan.finishing = self.plan.errand == Errand::Commit,
            ActorInput::Start | ActorInput::Tick | ActorInput::Opened(_) => {}
            ActorInput::Frame(..) | ActorInput::Closed(_) => {}
        }
        for member in &mut self.members {
            member.on(now, &input, &mut self.plan, choices, fx);
        }
    }

    fn deadline(&self) -> Deadline {
        self.members.iter().map(|member| member.deadline(&self.plan)).fold(None, earlier)
    }

    fn is_done(&self) -> bool {
        self.members.iter().all(|member| member.is_done(&self.plan))
    }

    fn status(&self) -> String {
        self.members.iter().map(Member::status).collect::<Vec<_>>().join(", ")
    }
}
