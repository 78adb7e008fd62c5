//! A session and what it wrote that has not left yet.

use std::io;
use std::sync::Arc;

use bytes::Bytes;
use dohle_core::count::Count;
use dohle_core::disk::FileId;
use dohle_core::fx::Fx;
use dohle_core::image::Image;
use dohle_core::mail::{ShardId, ToControl, ToSession, ToShard};
use dohle_core::session::{Effect, Input};
use dohle_wire::codec::Part;

use crate::clock::Clock;
use crate::connection::{End, may_read};
use crate::disk::Handed;
use crate::send::Outgoing;
use crate::unit::Machine;

/// What a connection reaches beyond its own socket.
pub trait Switch: Send + 'static {
    /// The metadata, if it is newer than `seen`, which is then brought up to date.
    fn image(&self, seen: &mut u64) -> Option<Arc<Image>>;
    /// Leaves mail for a shard, to be driven afterwards.
    fn to_shard(&self, shard: ShardId, mail: ToShard);
    /// Works off a shard's mail, if nobody else does.
    fn drive(&self, shard: ShardId);
    /// Leaves mail for control, which works it off on its own thread.
    fn to_control(&self, mail: ToControl);
    /// The file of a range that shall be sent.
    ///
    /// # Errors
    /// It is not there any more, or cannot be opened.
    fn file(&self, id: FileId) -> io::Result<Handed>;
    /// Enters something in the node's books.
    fn count(&self, count: &Count);
    /// Runs something that waits for a disk on another thread.
    fn offload(&self, job: Box<dyn FnOnce() + Send>);
}

/// A session with its surroundings.
pub(crate) struct Desk<M, S> {
    pub(crate) session: M,
    pub(crate) switch: S,
    pub(crate) out: Outgoing,
    /// Set when the session closes, or cannot go on.
    pub(crate) end: Option<End>,
    clock: Clock,
    fx: Fx<Effect>,
    paused: bool,
    image_seen: u64,
    /// Shards that were written to and not driven yet.
    touched: Vec<ShardId>,
}

impl<M: Machine<Input = Input, Effect = Effect>, S: Switch> Desk<M, S> {
    pub(crate) fn new(session: M, switch: S, clock: Clock) -> Self {
        Self {
            session,
            switch,
            out: Outgoing::default(),
            end: None,
            clock,
            fx: Fx::new(),
            paused: false,
            image_seen: 0,
            touched: Vec::new(),
        }
    }

    pub(crate) fn wants_frames(&self) -> bool {
        !self.paused && self.end.is_none() && may_read(&self.out)
    }

    /// Whether the session has enough to do.
    pub(crate) fn is_paused(&self) -> bool {
        self.paused
    }

    /// Gives the session a frame, after the metadata if there is news. Whether it wants more.
    pub(crate) fn on_frame(&mut self, frame: Bytes) -> bool {
        self.catch_up();
        self.step(Input::Frame(frame));
        self.wants_frames()
    }

    /// Gives the session an answer or a wake-up, after the metadata that control published before
    /// it answered.
    pub(crate) fn on_mail(&mut self, letter: ToSession) {
        self.catch_up();
        self.step(Input::Mail(letter));
    }

    fn catch_up(&mut self) {
        if let Some(image) = self.switch.image(&mut self.image_seen) {
            self.step(Input::Image(image));
        }
    }

    /// The connection is gone: the session takes back what shards still do for it.
    pub(crate) fn on_gone(&mut self) {
        self.end = None;
        self.step(Input::Closed);
        self.drive();
    }

    pub(crate) fn step(&mut self, input: Input) {
        if self.end.is_some() {
            return;
        }
        self.session.step(self.clock.now(), input, &mut self.fx);
        let mut fx = std::mem::take(&mut self.fx);
        for effect in fx.drain() {
            self.act(effect);
        }
        self.fx = fx;
    }

    /// Drives the shards that were written to.
    pub(crate) fn drive(&mut self) {
        for shard in self.touched.drain(..) {
            self.switch.drive(shard);
        }
    }

    fn act(&mut self, effect: Effect) {
        match effect {
            Effect::Send(parts) => self.on_send(parts),
            Effect::Pause => self.paused = true,
            Effect::Resume => self.paused = false,
            Effect::Close(reason) => self.end = self.end.take().or(Some(End::Session(reason))),
            Effect::Shard(shard, mail) => self.on_shard(shard, mail),
            Effect::Control(mail) => self.switch.to_control(mail),
            Effect::Count(count) => self.switch.count(&count),
        }
    }

    fn on_shard(&mut self, shard: ShardId, mail: ToShard) {
        self.switch.to_shard(shard, mail);
        if !self.touched.contains(&shard) {
            self.touched.push(shard);
        }
    }

    fn on_send(&mut self, parts: Vec<Part>) {
        for part in parts {
            match part {
                Part::Bytes(bytes) => self.out.push_bytes(bytes),
                Part::Hole(hole) => {
                    let pushed = self
                        .switch
                        .file(FileId(hole.file))
                        .and_then(|file| self.out.push_range(file, hole.position, hole.len.into()));
                    // The frame's length is promised: without its bytes the stream is over.
                    if let Err(why) = pushed {
                        self.end = Some(End::File(why));
                        return;
                    }
                }
            }
        }
    }
}
