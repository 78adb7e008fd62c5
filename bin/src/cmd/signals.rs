//! SIGINT and SIGTERM, for commands that have something to put in order before they end.

use std::io;
use std::time::{Duration, Instant};

use tokio::signal::unix::{Signal, SignalKind, signal};

/// A signal that comes sooner after another is its echo: `timeout`, for one, signals its child and
/// then the group that the child is in.
const ECHO: Duration = Duration::from_millis(100);

/// Listens for the signals that end a process.
pub(crate) struct Signals {
    interrupt: Signal,
    terminate: Signal,
}

impl Signals {
    /// From now on the signals do not end the process by themselves.
    pub(crate) fn listen() -> io::Result<Self> {
        let interrupt = signal(SignalKind::interrupt())?;
        Ok(Self { interrupt, terminate: signal(SignalKind::terminate())? })
    }

    /// Waits for the next signal. Gives the code of a process that it ended, as shells tell it.
    pub(crate) async fn next(&mut self) -> u8 {
        tokio::select! {
            _ = self.interrupt.recv() => 128 + 2,
            _ = self.terminate.recv() => 128 + 15,
        }
    }

    /// Waits for the next signal that somebody means, after one that came just now.
    pub(crate) async fn second(&mut self) -> u8 {
        let first = Instant::now();
        loop {
            let code = self.next().await;
            if first.elapsed() >= ECHO {
                return code;
            }
        }
    }
}
