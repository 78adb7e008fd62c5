//! How much a loss of power could take: never more in a data directory than is allowed, for each
//! shard one batch of a producer, and a piece of each log that is being copied there (L11).
//!
//! It is read off the disks. What coordinators write does not count, as they are not held back; nor
//! does what was there when a log was first seen, as from an earlier process or from before it was
//! opened anew, for as long as it is not synced.

use std::collections::{BTreeMap, BTreeSet};

use bytes::Bytes;
use dohle_core::disk::FilePath;
use dohle_core::group::place::OFFSETS_TOPIC;
use dohle_core::log::names::FileKind;
use dohle_wire::record::split_batches;

use super::{Oracles, Violation};
use crate::disk::Tree;
use crate::node::Node;

/// What of a log is not on the disk.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Unsynced {
    /// Which process opened it, and which of its openings it is.
    opening: (u32, u32),
    /// So many bytes were there when it was first seen, and still are.
    found: u64,
    bytes: u64,
    /// The largest batch in it.
    batch: u64,
    /// It is a copy on its way to another directory.
    copy: bool,
}

impl Oracles {
    /// What of the logs is not on the disks.
    ///
    /// # Errors
    /// L11.
    pub fn unsynced(&mut self, node: &Node) -> Result<(), Violation> {
        let config = &node.settings().config;
        let allowed = u64::try_from(config.unflushed_bytes).unwrap_or(0);
        if allowed == 0 || !node.is_ready() {
            return Ok(());
        }
        let shards = u64::from(node.settings().shards);
        self.unsynced = by_log(node, &self.unsynced);
        let dirs: BTreeSet<u16> = self.unsynced.keys().map(|folder| folder.dir).collect();
        for dir in dirs {
            let here = || self.unsynced.iter().filter(|(at, _)| at.dir == dir).map(|(_, log)| log);
            let bytes: u64 = here().map(|log| log.bytes - log.found).sum();
            let batch = here().map(|log| log.batch).max().unwrap_or(0);
            let copies = here().filter(|log| log.copy).count() as u64;
            let coming = shards * batch + copies * batch.max(allowed / shards / 4);
            let most = allowed.max(shards) + coming;
            if bytes > most {
                let text = format!("{bytes} bytes in directory {dir}, {most} allowed");
                return Err(Violation::new("L11", text));
            }
        }
        Ok(())
    }
}

fn by_log(node: &Node, before: &BTreeMap<FilePath, Unsynced>) -> BTreeMap<FilePath, Unsynced> {
    let mut logs = BTreeMap::new();
    for shard in node.shards() {
        let served = shard.partitions().map(|partition| (partition.log(), false));
        for (log, copy) in served.chain(shard.copies().map(|log| (log, true))) {
            let (folder, opening) = (log.folder(), (node.life, log.generation()));
            if is_of_coordinator(folder) {
                continue;
            }
            let sizes = batches(node.disk.tree(), folder);
            let (bytes, batch) = (sizes.iter().sum(), sizes.iter().copied().max().unwrap_or(0));
            let known = before.get(folder).filter(|known| known.opening == opening);
            let found = known.map_or(bytes, |known| known.found.min(bytes));
            logs.insert(folder.clone(), Unsynced { opening, found, bytes, batch, copy });
        }
    }
    logs
}

/// Names of copies have more behind that of their partition.
fn is_of_coordinator(folder: &FilePath) -> bool {
    folder.path.rsplit_once('-').is_some_and(|(name, _)| name == OFFSETS_TOPIC)
}

/// The sizes of a log's batches that are not on the disk.
fn batches(tree: &Tree, folder: &FilePath) -> Vec<u64> {
    let mut sizes = Vec::new();
    for name in tree.names(folder, false) {
        if FileKind::parse(&name).is_none_or(|(kind, _)| kind != FileKind::Log) {
            continue;
        }
        let path = folder.join(&name);
        let durable = tree.durable_content(&path).map_or(0, <[u8]>::len);
        let late = tree.content(&path).and_then(|live| live.get(durable..)).unwrap_or_default();
        let late = split_batches(Bytes::copy_from_slice(late)).map_while(Result::ok);
        sizes.extend(late.map(|batch| batch.bytes.len() as u64));
    }
    sizes
}
