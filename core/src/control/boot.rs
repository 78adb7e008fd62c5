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
use crate::log::names::future_of;
use crate::mail::Directories;
use crate::quorum::FOLDER;
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
    /// Directories that cannot be used, and why.
    failed: BTreeMap<u16, String>,
}

/// What was read of one data directory.
#[derive(Clone, Debug, Default)]
struct Dir {
    identity: Option<Bytes>,
    clean_stop: Option<Bytes>,
    checkpoints: BTreeMap<CheckpointKind, Bytes>,
    folders: Vec<String>,
    /// Folders of logs on their way here, with the names of their partitions.
    futures: Vec<(String, String)>,
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
    /// Where logs can be, and where they are.
    pub(super) directories: Directories,
    /// Why some directories cannot be used.
    pub(super) failed: BTreeMap<u16, String>,
    /// Directories in which a used mark of a clean stop is left.
    pub(super) marks: Vec<u16>,
}

impl Boot {
    /// Asks for everything.
    ///
    /// # Errors
    /// That the configuration names no directory for the metadata, or one that cannot be used.
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
            failed: settings.unusable.clone(),
        };
        if let Some(why) = boot.failed.get(&metadata_dir) {
            return Err(unusable(config, metadata_dir, why));
        }
        for dir in (0..count).filter(|dir| !settings.unusable.contains_key(dir)) {
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
        match done.result {
            Ok(answer) if self.judged.is_none() => self.note(dir, token, answer),
            Ok(_) => {}
            Err(error) if dir == self.metadata_dir => {
                return Err(unusable(&settings.config, dir, &error.to_string()));
            }
            Err(error) => {
                self.failed.entry(dir).or_insert(error.to_string());
            }
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
        let mut judged = self.judged.take().expect("judged before");
        judged.leave_out(std::mem::take(&mut self.failed));
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
            (Token::Listing, IoOk::Listing(Some(entries))) => {
                dir.folders = folders(&entries);
                dir.futures = futures(&entries);
            }
            _ => {}
        }
    }

    fn judge(&mut self, settings: &ControlSettings, fx: &mut Fx<Effect>) -> Result<Judged, String> {
        let config = &settings.config;
        let found = self.usable().map(|(at, dir)| {
            let has_logs = dir.folders.iter().any(|name| !name.starts_with("__cluster_metadata-"));
            let path = config.log_dirs[usize::from(at)].as_str();
            (at, Found { path, file: dir.identity.as_deref(), has_logs })
        });
        let found: BTreeMap<u16, Found<'_>> = found.collect();
        let identity = identity::judge(config.node_id, self.metadata_dir, &found, &settings.fresh)?;
        self.failed.extend(identity.refused.clone());
        self.check_metadata_place(config)?;
        let (clean, clean_epochs) = self.clean_stops(config, fx);
        Ok(Judged {
            metadata_dir: self.metadata_dir,
            directories: self.directories(&identity),
            identity,
            clean,
            clean_epochs,
            keeper: self.keeper(config, fx),
            marks: self.marks(),
            failed: BTreeMap::new(),
        })
    }

    /// Without its metadata a node would be new, and set all its partitions aside. Kafka refuses
    /// metadata in another directory than the one that is configured, too.
    fn check_metadata_place(&self, config: &BrokerConfig) -> Result<(), String> {
        let path = |dir: u16| config.log_dirs[usize::from(dir)].as_str();
        let has = |dir: &Dir| dir.folders.iter().any(|name| name == FOLDER);
        let wanted = path(self.metadata_dir);
        let mut others = self.usable().filter(|(at, _)| *at != self.metadata_dir);
        if let Some((at, _)) = others.find(|(_, dir)| has(dir)) {
            return Err(format!(
                "{}/{FOLDER} is there, but the metadata shall be in {wanted}. Set \
                 metadata.log.dir={}, or name that directory first in log.dirs; if that folder is \
                 an old copy, move it away.",
                path(at),
                path(at)
            ));
        }
        let without = !has(&self.dirs[usize::from(self.metadata_dir)]);
        let logs = self.usable().find(|(_, dir)| !dir.folders.is_empty());
        match logs.filter(|_| without) {
            None => Ok(()),
            Some((at, _)) => Err(format!(
                "{} holds partitions, but {wanted} no metadata ({FOLDER}) that knows them. Put it \
                 back, or the disk that has it; or start with empty data directories.",
                path(at)
            )),
        }
    }

    /// The directories that nothing is known against.
    fn usable(&self) -> impl Iterator<Item = (u16, &Dir)> {
        (0u16..).zip(&self.dirs).filter(|(at, _)| !self.failed.contains_key(at))
    }

    /// A stop was clean when it was in every directory that this node had then.
    fn clean_stops(&self, config: &BrokerConfig, fx: &mut Fx<Effect>) -> (bool, Vec<i64>) {
        let known = self.usable().filter(|(_, dir)| dir.identity.is_some());
        let mut epochs = Vec::new();
        let mut clean = true;
        for (at, dir) in known {
            let path = &config.log_dirs[usize::from(at)];
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
        for (dir, found) in self.usable() {
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

    fn directories(&self, identity: &Identity) -> Directories {
        let mut all = Directories { ids: identity.directories.clone(), ..Directories::default() };
        for (at, dir) in self.usable() {
            for name in &dir.folders {
                all.folders.entry(name.clone()).or_default().insert(at);
            }
            for (name, folder) in &dir.futures {
                let path = FilePath::new(at, folder.as_str());
                all.futures.entry(name.clone()).or_default().push(path);
            }
        }
        all
    }

    fn marks(&self) -> Vec<u16> {
        self.usable().filter(|(_, dir)| dir.clean_stop.is_some()).map(|(at, _)| at).collect()
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

impl Judged {
    /// Some directories cannot be used after all.
    fn leave_out(&mut self, failed: BTreeMap<u16, String>) {
        let gone = |dir: &u16| failed.contains_key(dir);
        self.identity.directories.retain(|dir, _| !gone(dir));
        self.identity.to_write.retain(|dir, _| !gone(dir));
        self.identity.fresh.retain(|dir| !gone(dir));
        self.marks.retain(|dir| !gone(dir));
        self.directories.ids.retain(|dir, _| !gone(dir));
        self.directories.folders.retain(|_, dirs| {
            dirs.retain(|dir| !gone(dir));
            !dirs.is_empty()
        });
        for futures in self.directories.futures.values_mut() {
            futures.retain(|path| !gone(&path.dir));
        }
        self.directories.failed = failed.keys().copied().collect();
        self.failed = failed;
    }
}

fn unusable(config: &BrokerConfig, dir: u16, why: &str) -> String {
    let path = &config.log_dirs[usize::from(dir)];
    format!("the data directory {path} cannot be used: {why}; see to the disk and start again")
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

fn futures(entries: &[DirEntry]) -> Vec<(String, String)> {
    let folders = entries.iter().filter(|entry| entry.is_dir);
    let named = folders.filter_map(|entry| Some((future_of(&entry.name)?, &entry.name)));
    named.map(|(of, folder)| (of.to_owned(), folder.clone())).collect()
}
