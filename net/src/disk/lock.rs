//! One process for each data directory.

use std::fs::{File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, fcntl_lock, flock};

/// Name of the lock file, as Kafka has it.
const LOCK_FILE: &str = ".lock";

/// A data directory that is ours while this lives.
#[derive(Debug)]
pub struct DirLock {
    _file: File,
}

/// Why a data directory cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum LockError {
    /// Another process has it.
    #[error(
        "data directory {} is in use by another process, which holds the lock on its .lock file: \
         stop that process, or choose another directory (--data DIR, or log.dirs)", dir.display()
    )]
    Held {
        /// The directory.
        dir: PathBuf,
    },
    /// Its name is taken by something else.
    #[error(
        "data directory {} is not a directory (a file, or a link to nothing, has its name): \
         choose another one (--data DIR, or log.dirs)", dir.display()
    )]
    NotADirectory {
        /// What should be one.
        dir: PathBuf,
    },
    /// It cannot be made or written to.
    #[error("data directory {} cannot be used: {why}", dir.display())]
    Unusable {
        /// The directory.
        dir: PathBuf,
        /// What the operating system said.
        why: io::Error,
    },
}

/// Makes `dir` if it is missing and takes its lock.
///
/// Two kinds of lock are taken: `flock` excludes other nodes, also in this process; the POSIX
/// lock is the one that Apache Kafka takes on the same file.
///
/// # Errors
/// [`LockError`].
pub fn lock_dir(dir: &Path) -> Result<DirLock, LockError> {
    let unusable = |why: io::Error| LockError::Unusable { dir: dir.to_owned(), why };
    std::fs::create_dir_all(dir).map_err(|why| match why.kind() {
        io::ErrorKind::AlreadyExists => LockError::NotADirectory { dir: dir.to_owned() },
        _ => unusable(why),
    })?;
    let file = OpenOptions::new()
        .create(true)
        .truncate(false)
        .read(true)
        .write(true)
        .open(dir.join(LOCK_FILE))
        .map_err(unusable)?;
    let locked = flock(&file, FlockOperation::NonBlockingLockExclusive)
        .and_then(|()| fcntl_lock(&file, FlockOperation::NonBlockingLockExclusive));
    match locked {
        Ok(()) => Ok(DirLock { _file: file }),
        Err(rustix::io::Errno::WOULDBLOCK | rustix::io::Errno::ACCESS) => {
            Err(LockError::Held { dir: dir.to_owned() })
        }
        Err(why) => Err(unusable(why.into())),
    }
}
