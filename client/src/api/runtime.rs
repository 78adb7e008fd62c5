//! What the clients need of a runtime.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use thiserror::Error;

use crate::machine::{Frame, Now};

/// A connection could not be made, or it ended.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{0}")]
pub struct Disconnected(
    /// Why, for a person.
    pub String,
);

/// Clock, timers, tasks, connections and a seed.
///
/// Cloning is cheap: every client has its own clone.
pub trait Runtime: Clone + Send + Sync + 'static {
    /// The receiving half of a connection.
    type Read: FrameRead;
    /// The sending half of a connection.
    type Write: FrameWrite;

    /// Opens a connection. `host` is a name or an address, without brackets. Dropping the future
    /// ends the attempt.
    fn connect(
        &self,
        host: Arc<str>,
        port: u16,
    ) -> impl Future<Output = Result<(Self::Read, Self::Write), Disconnected>> + Send;

    /// Waits.
    fn sleep(&self, wait: Duration) -> impl Future<Output = ()> + Send;

    /// Runs a task in the background until it ends by itself.
    fn spawn(&self, task: impl Future<Output = ()> + Send + 'static);

    /// Both clocks.
    fn now(&self) -> Now;

    /// The monotonic clock alone.
    fn mono(&self) -> Duration {
        self.now().mono
    }

    /// A number that no other client of the runtime gets, unless the runtime repeats a run.
    fn seed(&self) -> u64;
}

/// The receiving half of a connection.
pub trait FrameRead: Send + 'static {
    /// The next whole frame, without its length prefix.
    fn read(&mut self) -> impl Future<Output = Result<Bytes, Disconnected>> + Send;
}

/// The sending half of a connection. Dropping it tells the other side that nothing more comes after
/// what was sent; dropping the other half, too, closes the connection.
pub trait FrameWrite: Send + 'static {
    /// Sends a whole frame: ends once the operating system has all of it.
    fn write(&mut self, frame: Frame) -> impl Future<Output = Result<(), Disconnected>> + Send;
}
