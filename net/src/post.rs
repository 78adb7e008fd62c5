//! The post: what all units and connections of a node share.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError, RwLock, Weak};
use std::time::Duration;

use dohle_core::image::Image;
use dohle_core::mail::{ShardId, ToControl, ToShard};

use crate::books::Books;
use crate::disk::Files;
use crate::hosts::{ControlUnit, ShardUnit};
use crate::limits::Limits;
use crate::mailbox::Sessions;
use crate::rt;

/// Shared by everything in a node.
pub struct Post {
    /// Mailboxes of sessions.
    pub sessions: Sessions,
    /// The metadata as last published.
    pub image: Published,
    /// Files of all units.
    pub files: Arc<Files>,
    /// How many connections.
    pub limits: Arc<Limits>,
    /// How far the node is.
    pub life: Life,
    /// What it did so far.
    pub books: Arc<Books>,
    units: OnceLock<Units>,
}

struct Units {
    shards: Vec<Weak<ShardUnit>>,
    control: Weak<ControlUnit>,
}

impl Post {
    /// The post of a node whose units are still to come.
    #[must_use]
    pub fn new(files: Arc<Files>, limits: Arc<Limits>) -> Arc<Self> {
        Arc::new(Self {
            sessions: Sessions::default(),
            image: Published::default(),
            files,
            limits,
            life: Life::default(),
            books: Arc::default(),
            units: OnceLock::new(),
        })
    }

    /// Makes the units known to each other.
    ///
    /// # Panics
    /// When it is done twice.
    pub fn connect(&self, shards: &[Arc<ShardUnit>], control: &Arc<ControlUnit>) {
        let units = Units {
            shards: shards.iter().map(Arc::downgrade).collect(),
            control: Arc::downgrade(control),
        };
        assert!(self.units.set(units).is_ok(), "a node's units are connected once");
    }

    /// A shard, none while the node ends.
    #[must_use]
    pub fn shard(&self, shard: ShardId) -> Option<Arc<ShardUnit>> {
        self.units.get()?.shards.get(usize::from(shard.0))?.upgrade()
    }

    /// Control, none while the node ends.
    #[must_use]
    pub fn control(&self) -> Option<Arc<ControlUnit>> {
        self.units.get()?.control.upgrade()
    }

    /// Leaves mail for a shard. Who does this from another unit pokes the shard's helper, which
    /// is returned.
    pub fn to_shard(&self, shard: ShardId, mail: ToShard) -> Option<Arc<ShardUnit>> {
        let unit = self.shard(shard)?;
        unit.push(dohle_core::shard::Input::Mail(mail));
        Some(unit)
    }

    /// Leaves mail for control; the unit's helper is to be poked.
    pub fn to_control(&self, mail: ToControl) -> Option<Arc<ControlUnit>> {
        let unit = self.control()?;
        unit.push(dohle_core::control::Input::Mail(mail));
        Some(unit)
    }
}

/// The newest image.
#[derive(Default)]
pub struct Published {
    version: AtomicU64,
    image: RwLock<Option<Arc<Image>>>,
}

impl Published {
    /// Replaces the image.
    pub fn publish(&self, image: Arc<Image>) {
        *self.image.write().unwrap_or_else(PoisonError::into_inner) = Some(image);
        self.version.fetch_add(1, Ordering::Release);
    }

    /// The image if it is newer than `seen`, which is brought up to date.
    pub fn newer(&self, seen: &mut u64) -> Option<Arc<Image>> {
        let version = self.version.load(Ordering::Acquire);
        if version == *seen {
            return None;
        }
        *seen = version;
        self.image.read().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// How far a node is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Phase {
    /// Not serving yet.
    Starting,
    /// Serving clients.
    Running,
    /// Stopped cleanly.
    Stopped,
    /// Cannot go on; why.
    Failed(String),
}

/// The course of a node's life, for those who wait for it.
pub struct Life {
    phase: Mutex<Phase>,
    changed: Condvar,
    ready: rt::Notify,
    leaving: AtomicBool,
}

impl Default for Life {
    fn default() -> Self {
        let (phase, changed) = (Mutex::new(Phase::Starting), Condvar::new());
        Self { phase, changed, ready: rt::Notify::new(), leaving: AtomicBool::new(false) }
    }
}

impl Life {
    /// Goes on to `phase`, unless the end was reached before.
    pub fn enter(&self, phase: Phase) {
        let mut now = self.lock();
        if matches!(*now, Phase::Starting | Phase::Running) {
            *now = phase;
        }
        drop(now);
        self.changed.notify_all();
        self.ready.notify_waiters();
    }

    /// The node was asked to stop.
    pub fn leave(&self) {
        self.leaving.store(true, Ordering::Relaxed);
    }

    /// Whether it was.
    #[must_use]
    pub fn is_leaving(&self) -> bool {
        self.leaving.load(Ordering::Relaxed)
    }

    /// The present phase.
    #[must_use]
    pub fn phase(&self) -> Phase {
        self.lock().clone()
    }

    /// Waits, `limit` long at most, until the phase is not `phase`; the phase then.
    pub fn wait_while(&self, phase: &Phase, limit: Option<Duration>) -> Phase {
        let guard = self.lock();
        let same = |now: &mut Phase| now == phase;
        let guard = match limit {
            None => self.changed.wait_while(guard, same).unwrap_or_else(PoisonError::into_inner),
            Some(limit) => {
                let waited = self.changed.wait_timeout_while(guard, limit, same);
                waited.unwrap_or_else(PoisonError::into_inner).0
            }
        };
        guard.clone()
    }

    /// Waits until clients are served. False: they never will be.
    pub async fn running(&self) -> bool {
        loop {
            let notified = self.ready.notified();
            match self.phase() {
                Phase::Starting => notified.await,
                Phase::Running => return true,
                Phase::Stopped | Phase::Failed(_) => return false,
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, Phase> {
        self.phase.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
