//! How much a loss of power could take: never more in a data directory than is allowed, for each
//! shard one batch of a producer, and a piece of each log that is being copied there (L11).
//!
//! It is read off the disks. What coordinators write does not count, as they are not held back; nor
//! does what was there before, as from an earlier process or in a log that was opened anew: a log
//! counts from the second time on that it is looked at, and more than is allowed is wrong when more
//! was added since than can have been on its way.

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
        let before = std::mem::replace(&mut self.unsynced, by_log(node));
        let dirs: BTreeSet<u16> = self.unsynced.keys().map(|folder| folder.dir).collect();
        for dir in dirs {
            let here = self.unsynced.iter().filter(|(folder, _)| folder.dir == dir);
            let known: Vec<(Unsynced, Unsynced)> =
                here.filter_map(|(folder, now)| Some((*before.get(folder)?, *now))).collect();
            let bytes: u64 = known.iter().map(|(_, now)| now.bytes).sum();
            let added: u64 =
                known.iter().map(|(was, now)| now.bytes.saturating_sub(was.bytes)).sum();
            let batch = known.iter().map(|(_, now)| now.batch).max().unwrap_or(0);
            let copies = known.iter().filter(|(_, now)| now.copy).count() as u64;
            let coming = shards * batch + copies * batch.max(allowed / shards / 4);
            let most = allowed.max(shards) + coming;
            if bytes > most && added > coming {
                let text = format!("{bytes} bytes in directory {dir}, {most} allowed");
                return Err(Violation::new("L11", text));
            }
        }
        Ok(())
    }
}

fn by_log(node: &Node) -> BTreeMap<FilePath, Unsynced> {
    let mut logs: BTreeMap<FilePath, Unsynced> = BTreeMap::new();
    for shard in node.shards() {
        let served = shard.partitions().map(|partition| (partition.log().folder(), false));
        for (folder, copy) in served.chain(shard.copies().map(|folder| (folder, true))) {
            if is_of_coordinator(folder) {
                continue;
            }
            let log = logs.entry(folder.clone()).or_insert(Unsynced { copy, ..Default::default() });
            for len in batches(node.disk.tree(), folder) {
                (log.bytes, log.batch) = (log.bytes + len, log.batch.max(len));
            }
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
