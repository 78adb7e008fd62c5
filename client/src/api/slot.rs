//! A value that one task leaves for another.

use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};

#[derive(Debug)]
struct State<T> {
    value: Option<T>,
    waker: Option<Waker>,
}

/// Where the value is left.
#[derive(Debug)]
pub(super) struct Giver<T>(Arc<Mutex<State<T>>>);

/// Where the value is waited for.
#[derive(Debug)]
pub(super) struct Taker<T>(Arc<Mutex<State<T>>>);

pub(super) fn slot<T>() -> (Giver<T>, Taker<T>) {
    let state = Arc::new(Mutex::new(State { value: None, waker: None }));
    (Giver(Arc::clone(&state)), Taker(state))
}

impl<T> Giver<T> {
    /// Leaves the value; gives whom to wake.
    #[must_use]
    pub(super) fn give(self, value: T) -> Option<Waker> {
        let mut state = self.0.lock().expect("nobody panics with the lock");
        state.value = Some(value);
        state.waker.take()
    }
}

impl<T> Future for Taker<T> {
    type Output = T;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<T> {
        let mut state = self.0.lock().expect("nobody panics with the lock");
        match state.value.take() {
            Some(value) => Poll::Ready(value),
            None => {
                state.waker = Some(cx.waker().clone());
                Poll::Pending
            }
        }
    }
}
