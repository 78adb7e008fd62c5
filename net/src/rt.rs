//! The runtime: everything of tokio that this crate uses comes through here, so that a build for
//! a simulated network swaps one module.

pub(crate) use tokio::io::{AsyncReadExt, Interest};
pub(crate) use tokio::net::{TcpListener, TcpStream};
pub(crate) use tokio::runtime::{Builder, Runtime};
pub(crate) use tokio::select;
pub(crate) use tokio::signal::unix::{Signal, SignalKind, signal};
pub(crate) use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore};
pub(crate) use tokio::task::{AbortHandle, spawn, yield_now};
pub(crate) use tokio::time::{Instant, Sleep, sleep, sleep_until, timeout};
