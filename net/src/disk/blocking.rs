//! A few threads for what may wait for a device.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::JoinHandle;

use crate::unit::AbortOnPanic;

type Job = Box<dyn FnOnce() + Send>;

/// Stack of a pool thread: its jobs are shallow.
const STACK_BYTES: usize = 256 * 1024;

/// Threads that are started as they are needed, wait without doing anything, and end with the
/// pool. Jobs start in the order in which they came.
pub struct Pool {
    name: &'static str,
    threads_max: usize,
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    queue: Mutex<Queue>,
    changed: Condvar,
}

#[derive(Default)]
struct Queue {
    jobs: VecDeque<Job>,
    idle: usize,
    closed: bool,
    threads: Vec<JoinHandle<()>>,
}

impl Pool {
    /// A pool of at most `threads_max` threads, none of which runs yet.
    #[must_use]
    pub fn new(name: &'static str, threads_max: usize) -> Self {
        assert!(threads_max > 0, "a pool needs a thread");
        Self { name, threads_max, shared: Arc::default() }
    }

    /// Runs `job` on one of the threads.
    ///
    /// # Panics
    /// When the operating system refuses the very first thread: nothing can be done then.
    pub fn run(&self, job: impl FnOnce() + Send + 'static) {
        let mut queue = self.shared.lock();
        queue.jobs.push_back(Box::new(job));
        if queue.jobs.len() > queue.idle && queue.threads.len() < self.threads_max {
            let shared = Arc::clone(&self.shared);
            let thread = std::thread::Builder::new()
                .name(self.name.to_owned())
                .stack_size(STACK_BYTES)
                .spawn(move || shared.work());
            match thread {
                Ok(thread) => queue.threads.push(thread),
                Err(why) => assert!(!queue.threads.is_empty(), "no thread for the disk: {why}"),
            }
        }
        drop(queue);
        self.shared.changed.notify_one();
    }

    /// Ends the threads when all jobs are done, and waits for that.
    pub fn close(&self) {
        let threads = {
            let mut queue = self.shared.lock();
            queue.closed = true;
            std::mem::take(&mut queue.threads)
        };
        self.shared.changed.notify_all();
        let me = std::thread::current().id();
        for thread in threads.into_iter().filter(|thread| thread.thread().id() != me) {
            // A job that panicked has ended the process already.
            let _ = thread.join();
        }
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        self.close();
    }
}

impl Shared {
    fn lock(&self) -> std::sync::MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn work(&self) {
        let _guard = AbortOnPanic;
        let mut queue = self.lock();
        loop {
            if let Some(job) = queue.jobs.pop_front() {
                drop(queue);
                job();
                queue = self.lock();
            } else if queue.closed {
                return;
            } else {
                queue.idle += 1;
                queue = self.changed.wait(queue).unwrap_or_else(PoisonError::into_inner);
                queue.idle -= 1;
            }
        }
    }
}
