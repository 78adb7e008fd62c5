//! The control unit: identity of the node, metadata quorum, controller and broker lifecycle.
//!
//! A start: all small files are read at once ([`boot`]); the marks of a clean stop go, durably;
//! the identity of new directories and the next epoch of the quorum are written side by side; the
//! first records (features, registration, unfencing) go into one sync. On an empty directory that
//! is two syncs one after the other. With their commit the shards get checkpoints and image, and
//! when each of them has opened its logs the node is ready.
//!
//! From then on requests are decided by the controller, appended by the quorum, and answered when
//! committed; each commit gives shards and sessions a new image. Checkpoints are written at
//! intervals. A stop closes the shards, the metadata log, writes the last checkpoints and only
//! then the mark of a clean stop.
//!
//! Invariants:
//! * Nothing uncommitted leaves the unit: neither image nor reply (C3).
//! * Nothing is written before the marks of a clean stop are gone (L7).
//! * The mark is written after everything else is durable.
//! * A request before the node is ready or while it stops is refused, retriably.
//!
//! A data directory that cannot be used, at the start or later, goes offline alone ([`offline`]).
//! A disk that fails under the metadata ends the node, with one exception: a full one leaves
//! what is committed readable, while changes are refused until there is space ([`resume`]). A little
//! is kept in reserve for that, so that the node can be stopped, started and asked to delete
//! ([`reserve`]).
//!
//! Must never know: sockets, threads, how partitions keep their records.

mod boot;
pub mod checkpoint_file;
mod checkpoints;
mod clean_stop;
mod identity;
mod io;
mod node;
mod offline;
mod reserve;
mod resume;
mod start;
mod stop;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::sync::Arc;

use dohle_wire::error::ErrorCode;
use dohle_wire::id::Uuid;

use self::boot::Boot;
use self::node::Node;
use crate::config::broker::BrokerConfig;
use crate::disk::{DiskOp, IoDone};
use crate::fx::Fx;
use crate::image::Image;
use crate::mail::{
    AdminReply, AdminRequest, Answer, Refusal, ReplyTo, SessionId, ShardId, ToControl, ToSession,
    ToShard,
};
use crate::shard::{Level, Note};
use crate::time::{Deadline, Now};

pub(crate) use self::clean_stop::check as check_clean_stop;
pub(crate) use self::identity::check as check_identity;
pub(crate) use self::reserve::FILE as RESERVE;

/// What control reacts to.
#[derive(Clone, Debug)]
pub enum Input {
    /// Begin: the data directories are locked and can be read.
    Boot,
    /// From a session or a shard.
    Mail(ToControl),
    /// A disk operation ended.
    Io(IoDone),
    /// Stop cleanly.
    Shutdown,
    /// The deadline passed.
    Tick,
}

/// What control wants done.
#[derive(Clone, Debug)]
pub enum Effect {
    /// Do something on a disk.
    Disk(DiskOp),
    /// Mail to a session; a session that is gone is no error.
    Session(SessionId, ToSession),
    /// Mail to a shard.
    Shard(ShardId, ToShard),
    /// The metadata changed: what sessions shall be given from now on.
    Publish(Arc<Image>),
    /// The broker serves clients from now on: accept connections.
    Ready,
    /// Everything is closed: end the process with success.
    Stopped,
    /// The node cannot go on: end the process with this error.
    Fatal(String),
    /// Tell the operator.
    Note(Note),
}

/// Random ids for a node that may have none yet.
#[derive(Clone, Debug)]
pub struct FreshIds {
    /// For a new cluster.
    pub cluster: Uuid,
    /// For new data directories, one for each of `log.dirs`.
    pub directories: Vec<Uuid>,
    /// This run of the process; always used.
    pub incarnation: Uuid,
}

/// What a control unit is made of.
#[derive(Clone, Debug)]
pub struct ControlSettings {
    /// The node's configuration.
    pub config: Arc<BrokerConfig>,
    /// How many shards it has.
    pub shards: u16,
    /// Ids it may need.
    pub fresh: FreshIds,
    /// Of its random numbers (topic ids).
    pub seed: u64,
    /// Data directories that the driver cannot use, and why.
    pub unusable: BTreeMap<u16, String>,
}

/// How far the unit has come.
#[derive(Clone, Debug)]
enum State {
    /// Nothing was asked of it yet.
    Idle,
    /// It reads what the data directories say of themselves.
    Booting(Box<Boot>),
    /// It opens, serves or closes the metadata.
    Node(Box<Node>),
    /// It has stopped or failed.
    Over,
}

/// The control unit of a node.
#[derive(Clone, Debug)]
pub struct Control {
    settings: Arc<ControlSettings>,
    state: State,
}

impl Control {
    /// A unit that waits for [`Input::Boot`].
    #[must_use]
    pub fn new(settings: ControlSettings) -> Self {
        assert!(settings.shards > 0, "a node has at least one shard");
        Self { settings: Arc::new(settings), state: State::Idle }
    }

    /// The metadata as committed, once there is some.
    #[must_use]
    pub fn committed(&self) -> Option<&Arc<Image>> {
        match &self.state {
            State::Node(node) => Some(node.committed()),
            State::Idle | State::Booting(_) | State::Over => None,
        }
    }

    /// When it wants [`Input::Tick`].
    #[must_use]
    pub fn deadline(&self) -> Deadline {
        match &self.state {
            State::Node(node) => node.deadline(),
            State::Idle | State::Booting(_) | State::Over => None,
        }
    }

    /// Takes in one input.
    pub fn step(&mut self, now: Now, input: Input, fx: &mut Fx<Effect>) {
        let outcome = match input {
            Input::Boot => self.on_boot(fx),
            Input::Mail(mail) => self.on_mail(now, mail, fx),
            Input::Io(done) => self.on_io(now, done, fx),
            Input::Shutdown => self.on_shutdown(fx),
            Input::Tick => self.on_tick(now, fx),
        };
        match outcome {
            Ok(()) => {}
            Err(why) => {
                self.state = State::Over;
                fx.push(Effect::Fatal(why));
            }
        }
        if matches!(&self.state, State::Node(node) if node.is_over()) {
            self.state = State::Over;
        }
        self.invariants();
    }

    fn on_boot(&mut self, fx: &mut Fx<Effect>) -> Result<(), String> {
        if matches!(self.state, State::Idle) {
            self.state = State::Booting(Box::new(Boot::begin(&self.settings, fx)?));
        }
        Ok(())
    }

    fn on_io(&mut self, now: Now, done: IoDone, fx: &mut Fx<Effect>) -> Result<(), String> {
        match &mut self.state {
            State::Booting(boot) => {
                if let Some(node) = boot.on_io(now, done, &self.settings, fx)? {
                    self.state = State::Node(node);
                }
                Ok(())
            }
            State::Node(node) => node.on_io(now, done, fx),
            State::Idle | State::Over => Ok(()),
        }
    }

    fn on_mail(&mut self, now: Now, mail: ToControl, fx: &mut Fx<Effect>) -> Result<(), String> {
        match &mut self.state {
            State::Node(node) => node.on_mail(now, mail, fx),
            State::Idle | State::Booting(_) | State::Over => {
                if let ToControl::Admin { reply, request } = mail {
                    answer(reply, not_now(&request), fx);
                }
                Ok(())
            }
        }
    }

    fn on_shutdown(&mut self, fx: &mut Fx<Effect>) -> Result<(), String> {
        match &mut self.state {
            State::Node(node) => node.on_shutdown(fx),
            State::Idle | State::Booting(_) => {
                self.state = State::Over;
                fx.push(Effect::Stopped);
                Ok(())
            }
            State::Over => Ok(()),
        }
    }

    fn on_tick(&mut self, now: Now, fx: &mut Fx<Effect>) -> Result<(), String> {
        match &mut self.state {
            State::Node(node) => node.on_tick(now, fx),
            State::Idle | State::Booting(_) | State::Over => Ok(()),
        }
    }

    /// Asserts what must always hold.
    pub fn invariants(&self) {
        if let State::Node(node) = &self.state {
            node.invariants();
        }
    }
}

/// Answers a request.
fn answer(reply: ReplyTo, what: AdminReply, fx: &mut Fx<Effect>) {
    let answer = Answer::Admin(what);
    fx.push(Effect::Session(reply.session, ToSession::Answer { reply, answer }));
}

/// The refusal of a request that comes too early or too late: clients try again.
fn not_now(request: &AdminRequest) -> AdminReply {
    let code = match request {
        AdminRequest::InitProducerId { .. } => ErrorCode::CoordinatorNotAvailable,
        AdminRequest::DescribeQuorum => ErrorCode::NotLeaderOrFollower,
        _ => ErrorCode::NotController,
    };
    AdminReply::Refused(Refusal::new(code, "the controller of this node is not active"))
}

/// Tells the operator of something worth a look.
fn warn(text: String, fx: &mut Fx<Effect>) {
    note(Level::Warn, text, fx);
}

fn note(level: Level, text: String, fx: &mut Fx<Effect>) {
    fx.push(Effect::Note(Note { level, text: text.into() }));
}
