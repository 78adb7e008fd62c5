//! The core's units in this driver: shards and control with their hosts, and sessions.
//!
//! A shard is driven by whoever brings it work. Control is driven by its own thread alone, and
//! its disk operations have a thread of their own, so that it never waits for a data disk.

use std::sync::Arc;

use dohle_core::control::{self, Control};
use dohle_core::disk::DiskOp;
use dohle_core::fx::Fx;
use dohle_core::image::Image;
use dohle_core::mail::{SessionId, ShardId, ToControl, ToSession, ToShard};
use dohle_core::session::{self, Session};
use dohle_core::shard::{self, Shard};
use dohle_core::time::{Deadline, Instant, Now};

use crate::disk::{Finished, UnitDisk};
use crate::note;
use crate::post::{Phase, Post};
use crate::unit::{Host, Machine, Turn, Unit};

/// A shard with its host.
pub type ShardUnit = Unit<Shard, ShardHost>;
/// Control with its host.
pub type ControlUnit = Unit<Control, ControlHost>;

macro_rules! machine {
    ($machine:ty, $module:ident) => {
        impl Machine for $machine {
            type Input = $module::Input;
            type Effect = $module::Effect;

            fn tick() -> Self::Input {
                $module::Input::Tick
            }

            fn step(&mut self, now: Now, input: Self::Input, fx: &mut Fx<Self::Effect>) {
                <$machine>::step(self, now, input, fx);
            }

            fn deadline(&self) -> Deadline {
                <$machine>::deadline(self)
            }
        }
    };
}

machine!(Shard, shard);
machine!(Control, control);
machine!(Session, session);

/// Carries out what a shard wants.
pub struct ShardHost {
    post: Arc<Post>,
    disk: UnitDisk,
}

impl ShardHost {
    /// A host whose disk tells it what ended through the shard's inbox.
    pub fn new(post: Arc<Post>, disk: UnitDisk) -> Self {
        Self { post, disk }
    }
}

impl Host<Shard> for ShardHost {
    type Event = Finished;

    fn act(&mut self, effect: shard::Effect, turn: &mut Turn<shard::Input>) {
        match effect {
            shard::Effect::Disk(op) => self.on_disk(op, turn),
            shard::Effect::Session(to, mail) => turn.wake(self.post.sessions.post(to, mail)),
            shard::Effect::Control(mail) => to_control(&self.post, mail, turn),
            shard::Effect::Note(note) => note::log(&note),
        }
    }

    fn on_event(&mut self, finished: Finished, turn: &mut Turn<shard::Input>) {
        self.disk.on_finished(finished, &mut |done| turn.back.push_back(shard::Input::Io(done)));
    }

    fn deadline(&self) -> Option<Instant> {
        self.disk.deadline()
    }

    fn tick(&mut self, now: Instant) {
        self.disk.tick(now);
    }
}

impl ShardHost {
    fn on_disk(&mut self, op: DiskOp, turn: &mut Turn<shard::Input>) {
        self.disk.submit(op, &mut |done| turn.back.push_back(shard::Input::Io(done)));
    }
}

/// Carries out what control wants.
pub struct ControlHost {
    post: Arc<Post>,
    disk: UnitDisk,
}

impl ControlHost {
    /// A host whose disk tells it what ended through control's inbox.
    pub fn new(post: Arc<Post>, disk: UnitDisk) -> Self {
        Self { post, disk }
    }

    fn on_disk(&mut self, op: DiskOp, turn: &mut Turn<control::Input>) {
        self.disk.submit(op, &mut |done| turn.back.push_back(control::Input::Io(done)));
    }

    /// Leaves the shard its mail; the shard's helper works it off.
    fn on_shard(&self, shard: ShardId, mail: ToShard, turn: &mut Turn<control::Input>) {
        if let Some(unit) = self.post.to_shard(shard, mail) {
            turn.poke(unit.helper());
        }
    }

    fn publish(&self, image: Arc<Image>) {
        self.post.limits.follow(&image);
        self.post.image.publish(image);
    }

    fn on_session(&self, to: SessionId, mail: ToSession, turn: &mut Turn<control::Input>) {
        turn.wake(self.post.sessions.post(to, mail));
    }
}

impl Host<Control> for ControlHost {
    type Event = Finished;

    fn act(&mut self, effect: control::Effect, turn: &mut Turn<control::Input>) {
        match effect {
            control::Effect::Disk(op) => self.on_disk(op, turn),
            control::Effect::Session(to, mail) => self.on_session(to, mail, turn),
            control::Effect::Shard(shard, mail) => self.on_shard(shard, mail, turn),
            control::Effect::Publish(image) => self.publish(image),
            control::Effect::Ready => self.post.life.enter(Phase::Running),
            control::Effect::Stopped => self.post.life.enter(Phase::Stopped),
            control::Effect::Fatal(why) => self.post.life.enter(Phase::Failed(why)),
            control::Effect::Note(note) => note::log(&note),
        }
    }

    fn on_event(&mut self, finished: Finished, turn: &mut Turn<control::Input>) {
        self.disk.on_finished(finished, &mut |done| turn.back.push_back(control::Input::Io(done)));
    }

    fn deadline(&self) -> Option<Instant> {
        // Files that linger are the shards' affair.
        None
    }

    fn tick(&mut self, _now: Instant) {}
}

fn to_control<I>(post: &Post, mail: ToControl, turn: &mut Turn<I>) {
    if let Some(unit) = post.to_control(mail) {
        turn.poke(unit.helper());
    }
}
