//! Disk operations of the core, carried out on files.
//!
//! Each unit has its own [`UnitDisk`], which keeps the contract of [`dohle_core::disk`]: page-cache
//! writes, reads and look-ups happen inline unless a directory is slow ([`pace`]); what may wait
//! for a device goes to a small pool of threads, and whatever must not overtake it waits for it
//! ([`order`], [`waiting`]). All units and all senders share one table of files ([`files`]).
//!
//! Must never know: what a log, a topic or a request is.

mod blocking;
mod files;
mod lock;
mod ops;
mod order;
mod pace;
mod unit_disk;
mod waiting;

pub use blocking::Pool;
pub use files::{Files, Handed};
pub use lock::{DirLock, LockError, lock_dir};
pub use ops::stamp;
pub use unit_disk::{Finished, UnitDisk};

#[cfg(test)]
mod tests;
