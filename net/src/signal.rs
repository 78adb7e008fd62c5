//! SIGINT and SIGTERM.

use std::io;

use crate::rt;

/// Listens for the signals that end a process.
pub(crate) struct Signals {
    interrupt: rt::Signal,
    terminate: rt::Signal,
}

impl Signals {
    /// From now on the signals do not end the process by themselves. To be called on a runtime.
    pub(crate) fn listen() -> io::Result<Self> {
        let interrupt = rt::signal(rt::SignalKind::interrupt())?;
        let terminate = rt::signal(rt::SignalKind::terminate())?;
        Ok(Self { interrupt, terminate })
    }

    /// The name of the next signal.
    pub(crate) async fn next(&mut self) -> &'static str {
        rt::select! {
            _ = self.interrupt.recv() => "SIGINT",
            _ = self.terminate.recv() => "SIGTERM",
        }
    }
}
