//! SIGINT and SIGTERM.

use std::io;
use std::time::Duration;

use crate::rt;

/// A signal that comes sooner after the first is its echo: `timeout`, for one, signals its child
/// and then the group that the child is in.
const ECHO: Duration = Duration::from_secs(1);

/// A signal that ends a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ending {
    Interrupt,
    Terminate,
}

impl Ending {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Interrupt => "SIGINT",
            Self::Terminate => "SIGTERM",
        }
    }

    /// The code of a process that it ended, as shells tell it.
    pub(crate) const fn exit_code(self) -> i32 {
        match self {
            Self::Interrupt => 128 + 2,
            Self::Terminate => 128 + 15,
        }
    }
}

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

    /// The next signal.
    pub(crate) async fn next(&mut self) -> Ending {
        rt::select! {
            _ = self.interrupt.recv() => Ending::Interrupt,
            _ = self.terminate.recv() => Ending::Terminate,
        }
    }

    /// The next signal that somebody means, after one that came just now.
    pub(crate) async fn second(&mut self) -> Ending {
        let first = rt::Instant::now();
        loop {
            let signal = self.next().await;
            if first.elapsed() >= ECHO {
                return signal;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use rustix::process::{Signal, getpid, kill_process};

    use super::*;

    #[test]
    fn an_echo_is_no_second_signal() {
        let runtime = rt::Builder::new_current_thread().enable_all().build().expect("a runtime");
        let send = |signal| kill_process(getpid(), signal).expect("sent");
        runtime.block_on(async {
            let mut signals = Signals::listen().expect("it listens");
            send(Signal::TERM);
            assert_eq!(signals.next().await, Ending::Terminate);
            let from = rt::Instant::now();
            let echoes = async {
                for _ in 0..4 {
                    send(Signal::TERM);
                    rt::sleep(ECHO / 5).await;
                }
                rt::sleep(ECHO).await;
                send(Signal::INT);
                std::future::pending::<()>().await;
            };
            let second = rt::select! {
                second = signals.second() => second,
                () = echoes => unreachable!("it never ends"),
            };
            assert_eq!(second, Ending::Interrupt);
            assert!(from.elapsed() >= ECHO);
        });
        assert_eq!((Ending::Interrupt.exit_code(), Ending::Terminate.exit_code()), (130, 143));
    }
}
