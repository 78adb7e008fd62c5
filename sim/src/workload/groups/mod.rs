//! A consumer group that commits offsets, and reads them back.
//!
//! Its members speak the classic or the consumer protocol themselves, one request at a time each.
//! They find their coordinator, join, are assigned partitions, and then commit, fetch, send
//! heartbeats, subscribe to other topics, leave, fall silent for longer than their session, crash and come back under a new
//! id or as the static member that they were, or never ask for what they were assigned. In the
//! end each of them settles once more, and perhaps the group is deleted.
//!
//! Invariant: offsets that are sent for a partition rise, whichever member sends them.

mod answers;
mod end;
mod heartbeats;
mod line;
mod member;
mod wire;

use std::collections::BTreeMap;

use dohle_core::group::place::{OFFSETS_TOPIC, partition_of};
use dohle_core::time::{Deadline, Now, earlier};
use dohle_jepsen::{Action, GroupAction, Key};
use dohle_wire::id::Uuid;

use self::end::Undertaker;
use self::member::Member;
use super::did;
use crate::actor::{Actor, ActorEffect, ActorInput};
use crate::choice::Choices;
use crate::clock::SEC;
use crate::swarm::{GroupShape, Protocols, TopicShape};

/// What a group is there for.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Errand {
    /// Its members work until they are asked to finish.
    Commit,
    /// Somebody looks at it once, then ends.
    Read,
}

/// What the members of a group have in common.
struct Plan {
    group: String,
    keys: Vec<Key>,
    session_timeout_ms: i32,
    /// The next offset to commit of each partition.
    next: BTreeMap<Key, i64>,
    /// Topics by id, as far as somebody has asked.
    names: BTreeMap<Uuid, String>,
    /// Which protocols members speak.
    protocols: Protocols,
    /// The process that a member is when it comes back.
    next_process: u64,
    finishing: bool,
    /// Offsets may expire while there are no members.
    expires: bool,
    /// Members leave in the end, so that the group can be deleted.
    deleted: bool,
}

/// Where offsets expire nobody commits anything for the first partition after this time, for it
/// to become old.
const RESTS_AFTER: u64 = 8 * SEC;

impl Plan {
    fn rests(&self, now: Now, key: &Key) -> bool {
        let old = self.expires && now.mono.0 > RESTS_AFTER;
        old && self.keys.len() > 1 && self.keys.first() == Some(key)
    }
}

/// All members of a group.
pub struct Group {
    plan: Plan,
    members: Vec<Member>,
    /// Deletes the group in the end, or only looks at it.
    undertaker: Option<Undertaker>,
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
        let count = if errand == Errand::Read { 0 } else { shape.members };
        let members = (0..count).map(|index| {
            let instance = shape.statics.then(|| format!("instance{index}"));
            Member::new(&group, first + index, index, instance, shape.protocols)
        });
        let undertaker = match errand {
            Errand::Commit if !shape.deleted => None,
            _ => Some(Undertaker::new(&group, first + count, count, errand)),
        };
        Self {
            members: members.collect(),
            undertaker,
            plan: Plan {
                group,
                next: keys.iter().map(|key| (key.clone(), 1)).collect(),
                keys,
                session_timeout_ms: shape.session_timeout_ms,
                names: BTreeMap::new(),
                protocols: shape.protocols,
                next_process: first + count + 1,
                finishing: false,
                expires: shape.expiry,
                deleted: shape.deleted,
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
            self.did(GroupAction::Forgotten, fx);
        }
    }

    fn tell_rules(&self, fx: &mut Vec<ActorEffect>) {
        if self.plan.expires {
            self.did(GroupAction::Expires, fx);
        }
        if self.plan.protocols == Protocols::Mixed {
            self.did(GroupAction::Restarts, fx);
        }
    }

    fn did(&self, action: GroupAction, fx: &mut Vec<ActorEffect>) {
        did(0, Action::Group { group: self.plan.group.clone(), action }, fx);
    }

    fn members_are_done(&self) -> bool {
        self.members.iter().all(|member| member.is_done(&self.plan))
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
            ActorInput::Finish => self.plan.finishing = true,
            ActorInput::Start => self.tell_rules(fx),
            ActorInput::Tick | ActorInput::Opened(_) => {}
            ActorInput::Frame(..) | ActorInput::Closed(_) => {}
        }
        for member in &mut self.members {
            member.on(now, &input, &mut self.plan, choices, fx);
        }
        let over = self.members_are_done();
        if let Some(undertaker) = self.undertaker.as_mut().filter(|_| over) {
            undertaker.on(now, &input, &self.plan, fx);
        }
    }

    fn deadline(&self) -> Deadline {
        let members = self.members.iter().map(|member| member.deadline(&self.plan));
        let undertaker = self.undertaker.as_ref().filter(|_| self.members_are_done());
        members.fold(undertaker.and_then(Undertaker::deadline), earlier)
    }

    fn is_done(&self) -> bool {
        self.members_are_done() && self.undertaker.as_ref().is_none_or(Undertaker::is_done)
    }

    fn status(&self) -> String {
        let members = self.members.iter().map(Member::status);
        members.chain(self.undertaker.iter().map(Undertaker::status)).collect::<Vec<_>>().join(", ")
    }
}
