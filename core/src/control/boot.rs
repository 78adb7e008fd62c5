//! The first steps of a start: what the data directories say of themselves.
//!
//! Everything is read at once. Then the marks of a clean stop are taken away, durably, before
//! anything else is written: a crash from here on is never taken for a clean stop.

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;

use super::checkpoint_file::key;
use super::checkpoints::Keeper;
use super::identity::{self, Found, Identity};
use super::io::{CheckpointKind, Token, id, token};
use super::node::Node;
use super::reserve;
use super::{ControlSettings, Effect, clean_stop, warn};
use crate::config::broker::BrokerConfig;
use crate::disk::{DirEntry, DiskOp, FilePath, IoDone, IoOk};
use crate::fx::Fx;
use crate::time::Now;

/// A start that has not got to the metadata yet.
#[derive(Clone, Debug)]
pub(super) struct Boot {
    metadata_dir: u16,
    /// Operations under way.
    pending: usize,
    dirs: Vec<Dir>,
    /// What the directories came to, once all of them were read.
    judged: Option<Judged>,
    /// Nothing is reserved any more.
    released: bool,
}

/// What was read of one data directory.
#[derive(Clone, Debug, Default)]
struct Dir {
    identity: Option<Bytes>,
    clean_stop: Option<Bytes>,
    checkpoints: BTreeMap<CheckpointKind, Bytes>,
    folders: Vec<String>,
}

/// What all of that comes to.
#[derive(Clone, Debug)]
pub(super) struct Judged {
    pub(super) metadata_dir: u16,
    pub(super) identity: Identity,
    /// Whether every directory was left by a clean stop.
    pub(super) clean: bool,
    /// Broker epochs in the marks of a clean stop.
    pub(super) clean_epochs: Vec<i64>,
    pub(super) keeper: Keeper,
    /// Data directory of each partition's folder.
    pub(super) folders: BTreeMap<String, u16>,
    /// Directories in which a used mark of a clean stop is left.
    pub(super) marks: Vec<u16>,
}

impl Boot {
    /// Asks for everything.
    ///
    /// # Errors
    /// That the configuration names no directory for the metadata.
    pub(super) fn begin(settings: &ControlSettings, fx: &mut Fx<Effect>) -> Result<Self, String> {
        let config = &settings.config;
        let metadata_dir = metadata_dir(config)?;
        let count = u16::try_from(config.log_dirs.len())
            .map_err(|_| format!("log.dirs names more than {} directories", u16::MAX))?;
        let mut boot = Self {
            metadata_dir,
            pending: 0,
            dirs: vec![Dir::default(); config.log_dirs.len()],
            judged: None,
            released: false,
        };
        for dir in 0..count {
            let get = |token, name: &str| DiskOp::Get {
                id: id(token, dir),
                path: FilePath::new(dir, name),
            };
            boot.ask(get(Token::Identity, identity::FILE), fx);
            boot.ask(get(Token::CleanStop, clean_stop::FILE), fx);
            for kind in CheckpointKind::ALL {
                boot.ask(get(Token::Checkpoint(kind), kind.file()), fx);
            }
            let path = FilePath::new(dir, "");
            boot.ask(DiskOp::List { id: id(Token::Listing, dir), path }, fx);
        }
        Ok(boot)
    }

    fn ask(&mut self, op: DiskOp, fx: &mut Fx<Effect>) {
        self.pending += 1;
        fx.push(Effect::Disk(op));
    }

    /// Takes in the end of an operation. Gives the node once its metadata can be opened.
    ///
    /// # Errors
    /// Why the node cannot start.
    pub(super) fn on_io(
        &mut self,
        now: Now,
        done: IoDone,
        settings: &Arc<ControlSettings>,
        fx: &mut Fx<Effect>,
    ) -> Result<Option<Box<Node>>, String> {
        self.pending -= 1;
        let (token, dir) = token(done.id);
        let path = &settings.config.log_dirs[usize::from(dir)];
        let answer = done.result.map_err(|error| {
            format!(
                "the data directory {path} cannot be used: {error}; see to the disk and start again"
            )
        })?;
        if self.judged.is_none() {
            self.note(dir, token, answer);
        }
        if self.pending > 0 {
            return Ok(None);
        }
        if self.judged.is_none() {
            let judged = self.judge(settings, fx)?;
            self.claim(&judged.marks, fx);
            self.judged = Some(judged);
            if self.pending > 0 {
                return Ok(None);
            }
        }
        // Room for what is to be written, should there be no other.
        if !std::mem::replace(&mut self.released, true) {
            self.ask(reserve::give_up(self.metadata_dir), fx);
            return Ok(None);
        }
        let judged = self.judged.take().expect("judged before");
        Ok(Some(Node::open(now, settings, judged, fx)?))
    }

    fn note(&mut self, dir: u16, token: Token, answer: IoOk) {
        let dir = &mut self.dirs[usize::from(dir)];
        match (token, answer) {
            (Token::Identity, IoOk::Content(file)) => dir.identity = file,
            (Token::CleanStop, IoOk::Content(file)) => dir.clean_stop = file,
            (Token::Checkpoint(kind), IoOk::Content(Some(file))) => {
                dir.checkpoints.insert(kind, file);
            }
            (Token::Listing, IoOk::Listing(Some(entries))) => dir.folders = folders(&entries),
            _ => {}
        }
    }

    fn judge(&self, settings: &ControlSettings, fx: &mut Fx<Effect>) -> Result<Judged, String> {
        let config = &settings.config;
        let found = config.log_dirs.iter().zip(&self.dirs).map(|(path, dir)| Found {
            path,
            file: dir.identity.as_deref(),
            has_logs: dir.folders.iter().any(|name| !name.starts_with("__cluster_metadata-")),
        });
        let found: Vec<_> = found.collect();
        let identity = identity::judge(config.node_id, &found, &settings.fresh)?;
        let (clean, clean_epochs) = self.clean_stops(config, fx);
        Ok(Judged {
            metadata_dir: self.metadata_dir,
            identity,
            clean,
            clean_epochs,
            keeper: self.keeper(config, fx),
            folders: self.all_folders(),
            marks: self.marks(),
        })
    }

    /// A stop was clean when it was in every directory that this node had then.
    fn clean_stops(&self, config: &BrokerConfig, fx: &mut Fx<Effect>) -> (bool, Vec<i64>) {
        let known =
            self.dirs.iter().zip(&config.log_dirs).filter(|(dir, _)| dir.identity.is_some());
        let mut epochs = Vec::new();
        let mut clean = true;
        for (dir, path) in known {
            match dir.clean_stop.as_deref().map(clean_stop::parse) {
                Some(Ok(epoch)) => epochs.extend(epoch),
                Some(Err(why)) => {
                    let name = clean_stop::FILE;
                    warn(format!("{path}/{name} is damaged ({why}): logs are recovered"), fx);
                    clean = false;
                }
                None => clean = false,
            }
        }
        (clean, epochs)
    }

    fn keeper(&self, config: &BrokerConfig, fx: &mut Fx<Effect>) -> Keeper {
        let count = u16::try_from(self.dirs.len()).unwrap_or(u16::MAX);
        let mut keeper = Keeper::new(self.metadata_dir, count);
        for (dir, found) in (0u16..).zip(&self.dirs) {
            for (kind, content) in &found.checkpoints {
                if let Err(why) = keeper.load(dir, *kind, content) {
                    let path = &config.log_dirs[usize::from(dir)];
                    let name = kind.file();
                    warn(format!("{path}/{name} is damaged ({why}) and is not used"), fx);
                }
            }
        }
        keeper
    }

    fn all_folders(&self) -> BTreeMap<String, u16> {
        let dirs = (0u16..).zip(&self.dirs);
        dirs.flat_map(|(at, dir)| dir.folders.iter().map(move |name| (name.clone(), at))).collect()
    }

    fn marks(&self) -> Vec<u16> {
        let dirs = (0u16..).zip(&self.dirs);
        dirs.filter(|(_, dir)| dir.clean_stop.is_some()).map(|(at, _)| at).collect()
    }

    /// Takes the marks of a clean stop away.
    fn claim(&mut self, marks: &[u16], fx: &mut Fx<Effect>) {
        for dir in marks.iter().copied() {
            let from = FilePath::new(dir, clean_stop::FILE);
            let to = FilePath::new(dir, clean_stop::USED);
            self.ask(DiskOp::Rename { id: id(Token::CleanStop, dir), from, to }, fx);
        }
    }
}

/// Which of the data directories holds the metadata log.
fn metadata_dir(config: &BrokerConfig) -> Result<u16, String> {
    let at = config.log_dirs.iter().position(|dir| *dir == config.metadata_log_dir);
    at.and_then(|at| u16::try_from(at).ok()).ok_or_else(|| {
        format!(
            "metadata.log.dir is {}, which is not one of log.dirs ({}); name it there too",
            config.metadata_log_dir,
            config.log_dirs.join(",")
        )
    })
}

fn folders(entries: &[DirEntry]) -> Vec<String> {
    let folders = entries.iter().filter(|entry| entry.is_dir && key(&entry.name).is_some());
    folders.map(|entry| entry.name.clone()).collect()
}
