//! Who is attended to on the admin port.
//!
//! Invariant: no more than [`SEATS`] at once. Someone who has asked keeps the seat until the answer
//! is out; someone who has not gives it to the next who comes, after a moment.
//!
//! Must never know: what is asked, what is answered.

use std::collections::VecDeque;
use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::rt;

/// Connections at once.
const SEATS: usize = 32;
/// A request that is on its way has come after that.
const MOMENT: Duration = Duration::from_millis(10);

/// Whether someone has asked.
#[derive(Clone, Default)]
pub(super) struct Guest(Arc<AtomicBool>);

impl Guest {
    /// The whole request is there.
    pub(super) fn has_asked(&self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

pub(super) struct Seats {
    free: Arc<rt::Semaphore>,
    /// Those that came first, first; some of them may have left.
    taken: VecDeque<Taken>,
}

struct Taken {
    guest: Guest,
    since: rt::Instant,
    task: rt::AbortHandle,
}

impl Taken {
    fn is_silent(&self) -> bool {
        !self.guest.0.load(Ordering::Relaxed)
    }
}

impl Seats {
    pub(super) fn new() -> Self {
        Self { free: Arc::new(rt::Semaphore::new(SEATS)), taken: VecDeque::with_capacity(SEATS) }
    }

    /// Has someone attended to, as soon as there is a seat.
    pub(super) async fn take<F>(&mut self, attend: impl FnOnce(Guest) -> F)
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let seat = self.seat().await;
        let (guest, since) = (Guest::default(), rt::Instant::now());
        let attended = attend(guest.clone());
        let task = rt::spawn(async move {
            attended.await;
            drop(seat);
        });
        self.taken.push_back(Taken { guest, since, task: task.abort_handle() });
    }

    async fn seat(&mut self) -> rt::OwnedSemaphorePermit {
        loop {
            self.taken.retain(|taken| !taken.task.is_finished());
            let silent = self.taken.iter().position(Taken::is_silent);
            // Those who have asked leave by themselves.
            let since = silent.map_or_else(rt::Instant::now, |at| self.taken[at].since);
            let free = Arc::clone(&self.free).acquire_owned();
            match rt::timeout(MOMENT.saturating_sub(since.elapsed()), free).await {
                Ok(seat) => return seat.expect("nobody closes it"),
                Err(_) => self.evict(silent),
            }
        }
    }

    /// Whoever has asked meanwhile may stay.
    fn evict(&mut self, silent: Option<usize>) {
        let left = silent.filter(|at| self.taken.get(*at).is_some_and(Taken::is_silent));
        if let Some(taken) = left.and_then(|at| self.taken.remove(at)) {
            taken.task.abort();
        }
    }
}
