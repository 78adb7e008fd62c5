//! The locks and atomics of the hand-over protocol, named once: the model check in `tests`
//! compiles the same sources against a checker's versions of them.

pub(crate) use std::sync::atomic::{AtomicU64, Ordering, fence};
pub(crate) use std::sync::{Mutex, MutexGuard, PoisonError, TryLockError};
