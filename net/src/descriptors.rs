//! How a node divides the descriptors that its process may have.
//!
//! Some are set aside for what a node cannot do without: what is open already, the runtime,
//! listeners, and what its threads open for a moment. The rest is for files that are kept open and
//! for connections, each of which has a socket and may have one file that it sends from.

use dohle_core::config::BrokerConfig;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Descriptors of the runtime: polling, waking, signals.
const RUNTIME: usize = 8;
/// Descriptors that a thread has open for a moment: a file that replaces another and its folder.
const FOR_THREAD: usize = 2;
/// A listener has its socket and a connection that it turns away.
const FOR_LISTENER: usize = 2;
/// A connection has its socket and the file that it sends from.
const FOR_CONNECTION: usize = 2;
/// Less than this for files and connections is no broker.
const SPARE_MIN: usize = 16;
/// One in so many is for files.
const FILES_PART: usize = 4;
const FILES_MIN: usize = 8;
const FILES_MAX: usize = 16 * 1024;
/// A node that may have fewer connections than this says so.
const PLENTY: usize = 4096;
/// What is open when nobody can tell.
const OPEN_GUESS: usize = 16;

/// Who may have how many.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Shares {
    /// Files that are kept open.
    pub(crate) files: usize,
    /// Connections.
    pub(crate) connections: usize,
}

/// There are too few.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "this process may have {limit} files open, a broker with these settings needs {needed}: raise \
     the limit (ulimit -n, or LimitNOFILE= of its systemd unit), 100000 is plenty"
)]
pub struct TooFew {
    limit: usize,
    needed: usize,
}

impl Shares {
    /// Divides `limit` descriptors, `taken` of which are not to be had.
    pub(crate) fn of(limit: usize, taken: usize) -> Result<Self, TooFew> {
        let needed = taken + SPARE_MIN;
        if limit < needed {
            return Err(TooFew { limit, needed });
        }
        let spare = limit - taken;
        let files = (spare / FILES_PART).clamp(FILES_MIN, FILES_MAX);
        Ok(Self { files, connections: (spare - files) / FOR_CONNECTION })
    }

    /// Divides what this process has, as far as the system lets it.
    pub(crate) fn of_process(config: &BrokerConfig, threads: usize) -> Result<Self, TooFew> {
        let listeners = config.listeners.len() * FOR_LISTENER;
        let taken = open_now() + RUNTIME + listeners + threads * FOR_THREAD;
        let limit = raise_limit();
        let shares = Self::of(limit, taken)?;
        let wanted = usize::try_from(config.max_connections).unwrap_or(0);
        if shares.connections < wanted.min(PLENTY) {
            tracing::warn!(
                "this process may have {limit} files open: no more than {} connections are \
                 accepted at a time (max.connections), and {} files are kept open; raise the limit \
                 (ulimit -n, or LimitNOFILE= of its systemd unit), 100000 is plenty",
                shares.connections,
                shares.files
            );
        }
        Ok(shares)
    }
}

/// Lets this process have as many descriptors as the system allows; how many that is.
fn raise_limit() -> usize {
    let limit = getrlimit(Resource::Nofile);
    if limit.current != limit.maximum {
        let raised = Rlimit { current: limit.maximum, maximum: limit.maximum };
        if let Err(why) = setrlimit(Resource::Nofile, raised) {
            tracing::warn!("the number of open files stays limited to {:?}: {why}", limit.current);
        }
    }
    let now = getrlimit(Resource::Nofile).current;
    now.map_or(usize::MAX, |count| usize::try_from(count).unwrap_or(usize::MAX))
}

/// Descriptors that are open already.
fn open_now() -> usize {
    std::fs::read_dir("/proc/self/fd").map_or(OPEN_GUESS, Iterator::count)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_there_is_is_divided() {
        let check = |limit, files, connections| {
            let shares = Shares::of(limit, 32).expect("enough");
            assert_eq!(shares, Shares { files, connections }, "of {limit}");
            assert!(32 + files + FOR_CONNECTION * connections <= limit);
        };
        check(48, 8, 4);
        check(64, 8, 12);
        check(256, 56, 84);
        check(1024, 248, 372);
        check(1_048_576, 16 * 1024, 516_080);
        assert_eq!(Shares::of(47, 32), Err(TooFew { limit: 47, needed: 48 }));
        assert!(Shares::of(usize::MAX, 32).is_ok(), "no limit");
    }
}
