//! Code of the application that is called back: in the order of what it is told, one at a time, and
//! with no lock of the client held.
//!
//! Whoever finds calls to make makes all there are, also those that others add meanwhile. So a call
//! that was added later never overtakes an earlier one, whichever threads they come from.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// One call.
pub(super) type Call = Box<dyn FnOnce() + Send>;

/// Calls that wait.
#[derive(Default)]
pub(super) struct Calls(Mutex<Queue>);

#[derive(Default)]
struct Queue {
    waiting: VecDeque<Call>,
    /// Somebody makes them.
    running: bool,
}

/// Ends the turn of whoever makes calls, also when one of them panics.
struct Turn<'a>(&'a Calls);

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        self.0.lock().running = false;
    }
}

impl Calls {
    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn add(&self, calls: Vec<Call>) {
        if !calls.is_empty() {
            self.lock().waiting.extend(calls);
        }
    }

    /// Makes all calls, unless somebody is at it: then that one does.
    pub(super) fn run(&self) {
        loop {
            {
                let mut queue = self.lock();
                if queue.running || queue.waiting.is_empty() {
                    return;
                }
                queue.running = true;
            }
            let turn = Turn(self);
            while let Some(call) = self.next() {
                call();
            }
            drop(turn);
        }
    }

    fn next(&self) -> Option<Call> {
        self.lock().waiting.pop_front()
    }
}

#[cfg(test)]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::sync::Arc;

    use super::*;

    #[test]
    fn calls_are_made_in_order_also_those_that_calls_add() {
        let (calls, made) = (Arc::new(Calls::default()), Arc::new(Mutex::new(Vec::new())));
        let note = |number: i32| -> Call {
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
        let (calls, made) = (Calls::default(), Arc::new(Mutex::new(0)));
        let count = Arc::clone(&made);
        calls.add(vec![
            Box::new(|| panic!("of the application")),
            Box::new(move || *count.lock().unwrap() += 1),
        ]);
        assert!(catch_unwind(AssertUnwindSafe(|| calls.run())).is_err());
        calls.run();
        assert_eq!(*made.lock().unwrap(), 1);
    }
}
