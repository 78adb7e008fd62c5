//! Sending the open items of the calls, and giving up on them.

use std::collections::BTreeMap;

use dohle_wire::id::NodeId;
use dohle_wire::{ApiKey, ErrorCode};

use super::group::{self, GroupCall};
use super::route::{self, Route};
use super::write::{self, Out};
use super::{Admin, AdminError, Call, ItemError, Progress, Tag, read};
use crate::machine::Now;
use crate::machine::cluster::{Peer, SendError};

/// Whom to ask: a certain broker or any; and whether by the older request.
type Target = (Option<NodeId>, bool);

impl Admin {
    /// Sends the open items of every call to whom they belong.
    pub(super) fn advance(&mut self, now: Now) {
        self.coordinators.want_anew();
        let calls: Vec<u64> = self.calls.keys().copied().collect();
        for call in calls {
            let pending = &self.calls[&call];
            if pending.expires <= now.mono {
                self.time_out(call);
            } else if pending.not_before <= now.mono {
                self.advance_call(now, call);
                self.finish_if_done(call);
            }
        }
        self.coordinators.told();
        self.look_up(now);
        if self.coordinators.has_news() {
            self.advance(now);
        }
    }

    /// The time of a call is over. Items that are done stay so; a call of which nothing is known
    /// fails as a whole.
    fn time_out(&mut self, call: u64) {
        let pending = self.calls.get_mut(&call).expect("a call under way");
        let nothing = pending.refused.is_empty() && !pending.items.contains(&Progress::Done);
        if nothing {
            let error = AdminError::TimedOut(pending.waits_for);
            return self.finish(call, Err(error));
        }
        for item in (0..pending.items.len()).filter(|item| pending.items[*item] != Progress::Done) {
            let code = pending.refused.get(&item).copied().unwrap_or(ErrorCode::RequestTimedOut);
            let message = Some("until default.api.timeout.ms was over".to_owned());
            let error = ItemError { code, message };
            let (of, plan) = (&pending.call, &pending.plan);
            if let Err(error) = read::fail_item(of, item, plan, error, &mut pending.reply) {
                return self.finish(call, Err(error.into()));
            }
        }
        let reply = pending.reply.clone();
        self.finish(call, Ok(reply));
    }

    fn advance_call(&mut self, now: Now, call: u64) {
        let mut by_target: BTreeMap<Target, Vec<usize>> = BTreeMap::new();
        let Self { calls, cluster, coordinators, .. } = self;
        let pending = calls.get_mut(&call).expect("a call under way");
        for item in 0..pending.items.len() {
            if pending.items[item] != Progress::Open {
                continue;
            }
            let older = pending.plan.classic.contains(&item);
            let (of, plan) = (&pending.call, &pending.plan);
            match route::route(of, item, cluster.view(), plan, coordinators) {
                Route::Any => by_target.entry((None, older)).or_default().push(item),
                Route::Node(node) => by_target.entry((Some(node), older)).or_default().push(item),
                Route::Unknown(why) => {
                    pending.waits_for = why;
                    cluster.want_metadata();
                }
                Route::Coordinator(group) => {
                    pending.waits_for = "the coordinator of a group";
                    let trouble = coordinators.trouble(&group);
                    pending.refused.extend(trouble.map(|code| (item, code)));
                    coordinators.want(&group);
                }
                Route::Fails(error) => {
                    pending.items[item] = Progress::Done;
                    read::fail_item(of, item, plan, error, &mut pending.reply)
                        .expect("only items of a list can have no broker");
                }
            }
        }
        for ((target, _), items) in by_target {
            let peer = match target {
                None => self.cluster.any_ready(now),
                Some(node) => self.ready_node(now, node, call, &items),
            };
            if let Some(peer) = peer {
                self.ask(now, peer, call, &items);
            }
        }
    }

    fn ready_node(&mut self, now: Now, node: NodeId, call: u64, items: &[usize]) -> Option<Peer> {
        let peer = Peer::Node(node);
        if self.cluster.is_ready(now, peer) {
            return Some(peer);
        }
        if self.cluster.is_out_of_reach(now, peer) {
            items.iter().for_each(|item| self.forget_coordinator(call, *item));
            self.want_coordinators(call, items);
            // Once nobody names it any more it is no broker of the cluster.
            self.cluster.want_metadata();
        }
        self.cluster.connect(now, peer);
        None
    }

    fn want_coordinators(&mut self, call: u64, items: &[usize]) {
        let Call::Group(call) = &self.calls[&call].call else { return };
        for group in items.iter().filter_map(|item| group::group_of(call, *item)) {
            self.coordinators.want(group);
        }
    }

    fn ask(&mut self, now: Now, peer: Peer, call: u64, items: &[usize]) {
        let Self { calls, cluster, .. } = self;
        let Some(pending) = calls.get_mut(&call) else { return };
        let version = |key| cluster.version(peer, key, i16::MAX);
        let mut at_once = usize::MAX;
        if let Call::Group(call) = &pending.call {
            at_once = group::per_request(call, version);
            // A broker without the newer protocol has only groups of the older.
            let newer = version(ApiKey::ConsumerGroupDescribe).is_some();
            if matches!(call, GroupCall::Describe(_)) && !newer {
                pending.plan.classic.extend(items);
            }
        }
        for items in items.chunks(at_once) {
            if !self.ask_at_once(now, peer, call, items) {
                return;
            }
        }
    }

    /// Sends one request; gives whether the call goes on.
    fn ask_at_once(&mut self, now: Now, peer: Peer, call: u64, items: &[usize]) -> bool {
        let Some(pending) = self.calls.get_mut(&call) else { return false };
        let tag = Tag::Items { call, items: items.to_vec() };
        let timeout = self.config.connection.request_timeout;
        let mut out = Out { cluster: &mut self.cluster, now, peer, tag };
        let sent = write::write(&mut out, &pending.call, items, &pending.plan, timeout);
        pending.waits_for = "an answer";
        let failure = match sent {
            Ok(()) => {
                items.iter().for_each(|item| pending.items[*item] = Progress::Asked);
                return true;
            }
            Err(SendError::NotReady) => return false,
            Err(SendError::Unsupported) => AdminError::Unsupported(write::name(&pending.call)),
            Err(SendError::Encode(error)) => AdminError::Unencodable(error.to_string()),
        };
        self.finish(call, Err(failure));
        false
    }

    /// Asks for the coordinators that calls wait for.
    fn look_up(&mut self, now: Now) {
        if self.coordinators.deadline().is_none_or(|at| at > now.mono) {
            return;
        }
        let Some(peer) = self.cluster.any_ready(now) else { return };
        let version = self.cluster.version(peer, ApiKey::FindCoordinator, i16::MAX);
        let many = version.is_none_or(|version| version >= group::FIND_MANY);
        let groups = self.coordinators.take_wanted(now);
        for groups in groups.chunks(if many { LOOKUP_MAX } else { 1 }) {
            let tag = Tag::Lookup(groups.to_vec());
            let mut out = Out { cluster: &mut self.cluster, now, peer, tag };
            match group::lookup(&mut out, groups) {
                Ok(()) => self.coordinators.ask(groups.to_vec()),
                Err(_) => self.coordinators.refuse(groups, ErrorCode::UnsupportedVersion),
            }
        }
    }
}

/// Most groups that one request asks the coordinators of.
const LOOKUP_MAX: usize = 1000;
