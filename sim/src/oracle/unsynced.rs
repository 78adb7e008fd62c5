//! How much a loss of power could take: never more in a data directory than is allowed, and for each
//! shard one batch of a producer (L11).
//!
//! It is read off the disks. What coordinators write does not count, as they are not held back; nor
//! does what was there before, as from an earlier process, as long as it does not grow.

use std::collections::BTreeMap;

use bytes::Bytes;
use dohle_core::disk::FilePath;
use dohle_core::group::place::OFFSETS_TOPIC;
use dohle_core::log::names::FileKind;
use dohle_wire::record::split_batches;

use super::{Oracles, Violation};
use crate::disk::Tree;
use crate::node::Node;

/// What is not on the disk of a data directory.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Unsynced {
    bytes: u64,
    /// The largest batch in it.
    batch: u64,
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
        let before = std::mem::replace(&mut self.unsynced, by_dir(node));
        for (dir, now) in &self.unsynced {
            let most = allowed.max(shards) + shards * now.batch;
            let grew = before.get(dir).is_some_and(|before| now.bytes > before.bytes);
            if now.bytes > most && grew {
                let text = format!("{} bytes in directory {dir}, {most} allowed", now.bytes);
                return Err(Violation::new("L11", text));
            }
        }
        Ok(())
    }
}

fn by_dir(node: &Node) -> BTreeMap<u16, Unsynced> {
    let mut dirs: BTreeMap<u16, Unsynced> = BTreeMap::new();
    let partitions = node.shards().flat_map(|shard| shard.partitions());
    for folder in partitions.map(|partition| partition.log().folder()) {
        if folder.path.rsplit_once('-').is_some_and(|(name, _)| name == OFFSETS_TOPIC) {
            continue;
        }
        let all = dirs.entry(folder.dir).or_default();
        for len in batches(node.disk.tree(), folder) {
            (all.bytes, all.batch) = (all.bytes + len, all.batch.max(len));
        }
    }
    dirs
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
