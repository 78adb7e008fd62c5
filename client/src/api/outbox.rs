//! Frames that wait to be sent over one connection.

use std::collections::VecDeque;
use std::future::poll_fn;
use std::sync::{Arc, Mutex, MutexGuard};
use std::task::{Poll, Waker};

use crate::machine::Frame;

#[derive(Debug, Default)]
struct State {
    /// Each with whether the machine is to be told that it was sent.
    frames: VecDeque<(Frame, bool)>,
    closed: bool,
    /// The tasks of the connection: one writes, one connects and then reads.
    writer: Option<Waker>,
    reader: Option<Waker>,
}

/// The frames of one connection, and whether it is to be closed.
#[derive(Clone, Debug, Default)]
pub(super) struct Outbox(Arc<Mutex<State>>);

impl Outbox {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().expect("nobody panics with the lock")
    }

    /// Adds a frame; gives whom to wake.
    #[must_use]
    pub(super) fn push(&self, frame: Frame, told: bool) -> Option<Waker> {
        let mut state = self.lock();
        if !state.closed {
            state.frames.push_back((frame, told));
        }
        state.writer.take()
    }

    /// Ends the connection; gives whom to wake.
    #[must_use]
    pub(super) fn close(&self) -> [Option<Waker>; 2] {
        let mut state = self.lock();
        state.closed = true;
        state.frames.clear();
        [state.writer.take(), state.reader.take()]
    }

    /// The next frame to send; `None` once the connection is to be closed.
    pub(super) async fn next(&self) -> Option<(Frame, bool)> {
        poll_fn(|cx| {
            let mut state = self.lock();
            if state.closed {
                return Poll::Ready(None);
            }
            if let Some(frame) = state.frames.pop_front() {
                return Poll::Ready(Some(frame));
            }
            state.writer = Some(cx.waker().clone());
            Poll::Pending
        })
        .await
    }

    /// Waits until the connection is to be closed. For the task that reads.
    pub(super) async fn closed(&self) {
        self.closed_for(|state| &mut state.reader).await;
    }

    /// Waits until the connection is to be closed. For the task that writes, while it writes.
    pub(super) async fn closed_for_writer(&self) {
        self.closed_for(|state| &mut state.writer).await;
    }

    async fn closed_for(&self, task: impl Fn(&mut State) -> &mut Option<Waker>) {
        poll_fn(|cx| {
            let mut state = self.lock();
            if state.closed {
                return Poll::Ready(());
            }
            *task(&mut state) = Some(cx.waker().clone());
            Poll::Pending
        })
        .await;
    }
}
