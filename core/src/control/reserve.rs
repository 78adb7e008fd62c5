//! A file that keeps some space for the metadata, in their directory: it is given up when a disk is
//! full, so that topics can still be deleted, and the node stopped and started.
//!
//! State: how large the file is, if there is one; the write under way. Invariant: at most one write
//! or removal of it is under way.
//!
//! Must never know: what the space is used for.

use super::Effect;
use super::io::{Token, id};
use crate::disk::{DiskOp, FilePath, IoDone, IoError, ballast};
use crate::fx::Fx;

/// Name of the file.
pub(crate) const FILE: &str = "dohle-reserve";

/// Its size where there is enough space; less than what shards want to see before they write.
const BYTES: usize = 1 << 20;

/// A start on a full disk takes this much about; less is no reserve.
const BYTES_MIN: usize = 64 << 10;

/// What is reserved.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
enum State {
    Nothing,
    Writing { bytes: usize, wanted: bool },
    Kept { bytes: usize },
    Removing { again: bool },
}

/// The reserve of a node.
#[derive(Clone, Debug)]
pub(super) struct Reserve {
    path: FilePath,
    state: State,
}

impl Reserve {
    /// Nothing is reserved; the start has given up what was.
    pub(super) fn new(metadata_dir: u16) -> Self {
        Self { path: FilePath::new(metadata_dir, FILE), state: State::Nothing }
    }

    /// Reserves as much as can be had.
    pub(super) fn keep(&mut self, fx: &mut Fx<Effect>) {
        match &mut self.state {
            State::Nothing => self.write(BYTES, fx),
            State::Kept { bytes } if *bytes < BYTES => self.write(BYTES, fx),
            State::Kept { .. } => {}
            State::Writing { wanted, .. } => *wanted = true,
            State::Removing { again } => *again = true,
        }
    }

    /// Gives the space up.
    pub(super) fn release(&mut self, fx: &mut Fx<Effect>) {
        match &mut self.state {
            State::Kept { .. } => self.remove(fx),
            State::Writing { wanted, .. } => *wanted = false,
            State::Removing { again } => *again = false,
            State::Nothing => {}
        }
    }

    fn write(&mut self, bytes: usize, fx: &mut Fx<Effect>) {
        self.state = State::Writing { bytes, wanted: true };
        let (id, path) = (id(Token::Reserve, self.path.dir), self.path.clone());
        let data = ballast(bytes);
        // What a loss of power takes is made again.
        fx.push(Effect::Disk(DiskOp::Put { id, path, data, durable: false }));
    }

    fn remove(&mut self, fx: &mut Fx<Effect>) {
        self.state = State::Removing { again: false };
        let (id, path) = (id(Token::Reserve, self.path.dir), self.path.clone());
        fx.push(Effect::Disk(DiskOp::Remove { id, path }));
    }

    /// A write or removal ended.
    pub(super) fn on_io(&mut self, done: &IoDone, fx: &mut Fx<Effect>) {
        match (self.state, &done.result) {
            (State::Writing { bytes, wanted: true }, Ok(_)) => self.state = State::Kept { bytes },
            (State::Writing { wanted: false, .. }, Ok(_)) => self.remove(fx),
            (State::Writing { bytes, wanted: true }, Err(IoError::NoSpace(_)))
                if bytes / 2 >= BYTES_MIN =>
            {
                self.write(bytes / 2, fx);
            }
            (State::Removing { again: true }, _) => self.write(BYTES, fx),
            _ => self.state = State::Nothing,
        }
    }
}

/// The operation with which a start gives up what was reserved.
pub(super) fn give_up(metadata_dir: u16) -> DiskOp {
    let path = FilePath::new(metadata_dir, FILE);
    DiskOp::Remove { id: id(Token::Reserve, metadata_dir), path }
}
