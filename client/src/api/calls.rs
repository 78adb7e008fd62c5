//! Code of the application that is called back: in the order of what it is told, one at a time, and
//! with no lock of the client held.
//!
//! Whoever finds calls to make makes all there are, also those that others add meanwhile. So a call
//! that was added later never overtakes an earlier one, whichever threads they come from.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// One call.
pub(super) trait Call: Send + 'static {
    /// Makes it.
    fn make(self);
}

/// Of a client that calls nobody.
pub(super) enum NoCall {}

impl Call for NoCall {
    fn make(self) {
        match self {}
    }
}

/// Calls that wait.
pub(super) struct Calls<C>(Mutex<Queue<C>>);

struct Queue<C> {
    waiting: VecDeque<C>,
    /// Somebody makes them.
    running: bool,
}

impl<C> Default for Calls<C> {
    fn default() -> Self {
        Self(Mutex::new(Queue { waiting: VecDeque::new(), running: false }))
    }
}

impl<C> Calls<C> {
    fn lock(&self) -> MutexGuard<'_, Queue<C>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn add(&self, calls: Vec<C>) {
        if !calls.is_empty() {
            self.lock().waiting.extend(calls);
        }
    }

    /// The calls that wait, if there are any and nobody is at it.
    fn turn(&self) -> Option<VecDeque<C>> {
        let mut queue = self.lock();
        let free = !queue.running && !queue.waiting.is_empty();
        queue.running |= free;
        free.then(|| std::mem::take(&mut queue.waiting))
    }
}

impl<C: Call> Calls<C> {
    /// Makes all calls, unless somebody is at it: then that one does. When one panics the others are
    /// made nevertheless, and then the panic goes on.
    pub(super) fn run(&self) {
        let mut panic = None;
        while let Some(calls) = self.turn() {
            for call in calls {
                if let Err(cause) = catch_unwind(AssertUnwindSafe(|| call.make())) {
                    panic.get_or_insert(cause);
                }
            }
            self.lock().running = false;
        }
        if let Some(cause) = panic {
            resume_unwind(cause);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    type Boxed = Box<dyn FnOnce() + Send>;

    impl Call for Boxed {
        fn make(self) {
            self();
        }
    }

    #[test]
    fn calls_are_made_in_order_also_those_that_calls_add() {
        let (calls, made) = (Arc::new(Calls::default()), Arc::new(Mutex::new(Vec::new())));
        let note = |number: i32| -> Boxed {
            let made = Arc::clone(&made);
            Box::new(move || made.lock().unwrap().push(number))
        };
        let (inner, third) = (Arc::clone(&calls), note(3));
        let nested = move || {
            inner.add(vec![third]);
            // It is at it already: nothing is called inside of a call.
            inner.run();
        };
        calls.add(vec![Box::new(nested), note(1), note(2)]);
        calls.run();
        assert_eq!(*made.lock().unwrap(), [1, 2, 3]);
    }

    #[test]
    fn a_call_that_panics_stops_nobody_else() {
        let (calls, made) = (Calls::<Boxed>::default(), Arc::new(Mutex::new(0)));
        let count = Arc::clone(&made);
        calls.add(vec![
            Box::new(|| panic!("of the application")),
            Box::new(move || *count.lock().unwrap() += 1),
        ]);
        assert!(catch_unwind(AssertUnwindSafe(|| calls.run())).is_err());
        assert_eq!(*made.lock().unwrap(), 1);
    }
}
