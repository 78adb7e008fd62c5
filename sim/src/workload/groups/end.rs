//! Who comes when the members of a group are gone: deletes it, or looks at what is left.

use dohle_core::time::{Deadline, Instant, Now, earlier};
use dohle_jepsen::{Action, GroupAction};
use dohle_wire::ErrorCode;
use dohle_wire::message::{
    DeleteGroupsRequest, DescribeGroupsRequest, FindCoordinatorRequest, OffsetFetchRequest,
};

use super::line::{Heard, Line, answer};
use super::wire::{self, Identity};
use super::{Errand, Plan};
use crate::actor::{ActorEffect, ActorInput};
use crate::clock::MS;
use crate::workload::did;

/// Time between two attempts.
const PAUSE: u64 = 300 * MS;

/// What it does next.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
enum Step {
    Find,
    Delete,
    Fetch,
    Describe,
    Done,
}

/// See the module.
pub(super) struct Undertaker {
    process: u64,
    line: Line,
    me: Identity,
    errand: Errand,
    step: Step,
    next: Option<Instant>,
}

impl Undertaker {
    pub(super) fn new(group: &str, process: u64, index: u64, errand: Errand) -> Self {
        Self {
            process,
            line: Line::new(format!("undertaker{process}"), index << 32),
            me: Identity::new(group, None),
            errand,
            step: Step::Find,
            next: Some(Instant(0)),
        }
    }

    /// To be told of everything once no member has anything left to do.
    pub(super) fn on(
        &mut self,
        now: Now,
        input: &ActorInput,
        plan: &Plan,
        fx: &mut Vec<ActorEffect>,
    ) {
        match self.line.hear(now, input, fx) {
            Heard::Nothing => {}
            Heard::Up => (self.step, self.next) = (Step::Find, Some(now.mono)),
            Heard::Down => self.next = Some(Instant(now.mono.0 + PAUSE)),
            Heard::Answer(reader) => {
                self.step = self.on_answer(reader, fx);
                self.next = Some(Instant(now.mono.0 + PAUSE));
            }
        }
        if self.next.is_some_and(|at| at <= now.mono) {
            self.next = None;
            self.act(now, plan, fx);
        }
    }

    fn act(&mut self, now: Now, plan: &Plan, fx: &mut Vec<ActorEffect>) {
        if self.line.is_down() && self.step != Step::Done {
            return self.line.dial(now, fx);
        }
        if !self.line.is_idle() || self.step == Step::Done {
            return;
        }
        self.did(GroupAction::Asked, fx);
        let (line, me) = (&mut self.line, &self.me);
        match self.step {
            Step::Find => line.ask(now, wire::FIND_VERSION, &me.find(), fx),
            Step::Delete => line.ask(now, wire::DELETE_VERSION, &me.delete(), fx),
            Step::Fetch => line.ask(now, wire::FETCH_VERSION, &me.fetch(&plan.keys), fx),
            Step::Describe => line.ask(now, wire::DESCRIBE_VERSION, &me.describe(), fx),
            Step::Done => {}
        }
    }

    /// Takes an answer in, and says what comes next.
    fn on_answer(&mut self, reader: dohle_wire::codec::Reader, fx: &mut Vec<ActorEffect>) -> Step {
        match self.step {
            Step::Find => {
                let found = answer::<FindCoordinatorRequest>(reader, wire::FIND_VERSION);
                match (found.coordinators.iter().all(|it| it.error_code == 0), self.errand) {
                    (false, _) => Step::Find,
                    (true, Errand::Commit) => Step::Delete,
                    (true, Errand::Read) => Step::Fetch,
                }
            }
            Step::Delete => {
                let deleted = answer::<DeleteGroupsRequest>(reader, wire::DELETE_VERSION);
                let code = deleted.results.first().map_or(0, |result| result.error_code);
                match ErrorCode::from(code) {
                    ErrorCode::None | ErrorCode::GroupIdNotFound => {
                        self.did(GroupAction::Deleted, fx);
                        Step::Done
                    }
                    // Members that are gone without a word are waited for.
                    ErrorCode::NonEmptyGroup => Step::Delete,
                    _ => Step::Find,
                }
            }
            Step::Fetch => {
                let fetched = answer::<OffsetFetchRequest>(reader, wire::FETCH_VERSION);
                let Ok(offsets) = wire::fetched(fetched) else { return Step::Find };
                self.did(GroupAction::Fetched(offsets), fx);
                Step::Describe
            }
            Step::Describe => {
                let described = answer::<DescribeGroupsRequest>(reader, wire::DESCRIBE_VERSION);
                let Some(group) = described.groups.first() else { return Step::Find };
                match ErrorCode::from(group.error_code) {
                    ErrorCode::None | ErrorCode::GroupIdNotFound => {
                        let exists = group.error_code == 0 && group.group_state != "Dead";
                        self.did(GroupAction::Described { exists }, fx);
                        Step::Done
                    }
                    _ => Step::Find,
                }
            }
            Step::Done => Step::Done,
        }
    }

    fn did(&self, action: GroupAction, fx: &mut Vec<ActorEffect>) {
        did(self.process, Action::Group { group: self.me.group.clone(), action }, fx);
    }

    pub(super) fn deadline(&self) -> Deadline {
        let next = self.next.filter(|_| !self.is_done());
        earlier(self.line.deadline(), next.map(|at| (at, "the next request")))
    }

    pub(super) fn is_done(&self) -> bool {
        self.step == Step::Done
    }

    pub(super) fn status(&self) -> String {
        format!("undertaker{} at {:?}", self.process, self.step)
    }
}
