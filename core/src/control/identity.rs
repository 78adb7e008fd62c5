//! `meta.properties`: which node and cluster a data directory belongs to (MetaProperties).

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use dohle_wire::id::Uuid;

use super::FreshIds;
use crate::config::properties;

/// Name of the file.
pub(super) const FILE: &str = "meta.properties";

/// What was found of one data directory.
#[derive(Clone, Debug)]
pub(super) struct Found<'a> {
    /// The directory as the operator named it.
    pub(super) path: &'a str,
    /// Its `meta.properties`.
    pub(super) file: Option<&'a [u8]>,
    /// Whether it holds folders of partitions.
    pub(super) has_logs: bool,
}

/// Who this node is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Identity {
    pub(super) cluster_id: Arc<str>,
    /// Ids of the data directories, by number.
    pub(super) directories: BTreeMap<u16, Uuid>,
    /// Directories whose file has to be written, and its content.
    pub(super) to_write: BTreeMap<u16, String>,
    /// Directories that had no file.
    pub(super) fresh: BTreeSet<u16>,
    /// Directories that are not this node's, and why.
    pub(super) refused: BTreeMap<u16, String>,
}

/// The content of one file.
struct MetaProperties {
    cluster_id: String,
    node_id: i32,
    directory_id: Option<Uuid>,
}

/// Judges all data directories together, by number. The one with the metadata says who this node
/// is; another one that does not fit it is refused alone.
///
/// # Errors
/// What is wrong with the metadata's directory, what was expected and what to do, for the operator.
pub(super) fn judge(
    node_id: i32,
    metadata_dir: u16,
    dirs: &BTreeMap<u16, Found<'_>>,
    fresh: &FreshIds,
) -> Result<Identity, String> {
    let mut judging = Judging { dirs, read: BTreeMap::new(), refused: BTreeMap::new() };
    for (dir, found) in dirs {
        match read(node_id, found) {
            Ok(Some(meta)) => {
                judging.read.insert(*dir, meta);
            }
            Ok(None) => {}
            Err(why) => {
                judging.refused.insert(*dir, why);
            }
        }
    }
    if let Some(why) = judging.refused.remove(&metadata_dir) {
        return Err(why);
    }
    let cluster_id = judging.cluster_id(metadata_dir, fresh)?;
    judging.refuse_copies(metadata_dir);
    let usable = || dirs.keys().copied().filter(|dir| !judging.refused.contains_key(dir));
    let directories: BTreeMap<u16, Uuid> =
        usable().map(|dir| (dir, judging.directory_id(dir, fresh))).collect();
    let without = |dir: &u16| judging.read.get(dir).is_none_or(|meta| meta.directory_id.is_none());
    let content = |dir: u16| (dir, write(&cluster_id, node_id, directories[&dir]));
    Ok(Identity {
        to_write: usable().filter(without).map(content).collect(),
        fresh: usable().filter(|dir| !judging.read.contains_key(dir)).collect(),
        cluster_id,
        directories,
        refused: judging.refused,
    })
}

/// What is known while directories are judged.
struct Judging<'a> {
    dirs: &'a BTreeMap<u16, Found<'a>>,
    /// The files that say something.
    read: BTreeMap<u16, MetaProperties>,
    refused: BTreeMap<u16, String>,
}

/// What a directory says of itself, taken alone.
fn read(node_id: i32, dir: &Found<'_>) -> Result<Option<MetaProperties>, String> {
    let meta = dir.file.map(|bytes| parse(bytes).map_err(|why| unreadable(dir.path, &why)));
    let meta = meta.transpose()?;
    if let Some(meta) = &meta
        && meta.node_id != node_id
    {
        return Err(format!(
            "{}/{FILE} says that the directory belongs to node.id {}, but this node is \
             {node_id}. Start with node.id={}, or with the data directory of node {node_id}.",
            dir.path, meta.node_id, meta.node_id
        ));
    }
    if meta.is_none() && dir.has_logs {
        return Err(format!(
            "{} holds partitions but no {FILE}, so nobody knows whose they are. Restore that \
             file, or start with an empty data directory.",
            dir.path
        ));
    }
    Ok(meta)
}

impl Judging<'_> {
    /// The cluster of the metadata, or a new one when no directory belongs to any. Directories of
    /// other clusters are refused.
    fn cluster_id(&mut self, metadata_dir: u16, fresh: &FreshIds) -> Result<Arc<str>, String> {
        let path = |dir: u16| self.dirs[&dir].path;
        let Some(own) = self.read.get(&metadata_dir) else {
            return match self.read.iter().next() {
                None => Ok(fresh.cluster.to_string().into()),
                Some((other, meta)) => Err(format!(
                    "{}, which is to hold the metadata, has no {FILE}, but {} belongs to cluster \
                     {}. Put the disk with the metadata back, or start with empty data \
                     directories.",
                    path(metadata_dir),
                    path(*other),
                    meta.cluster_id
                )),
            };
        };
        for (dir, meta) in &self.read {
            if meta.cluster_id != own.cluster_id {
                let why = format!(
                    "{}/{FILE} says cluster.id {}, but {}/{FILE} says {}. All data directories of \
                     a node must belong to one cluster; take the wrong one out of log.dirs.",
                    path(metadata_dir),
                    own.cluster_id,
                    path(*dir),
                    meta.cluster_id
                );
                self.refused.insert(*dir, why);
            }
        }
        Ok(own.cluster_id.as_str().into())
    }

    /// Of two directories with one id one is a copy. The one with the metadata is no copy; between
    /// others nobody can tell.
    fn refuse_copies(&mut self, metadata_dir: u16) {
        let usable = self.read.iter().filter(|(dir, _)| !self.refused.contains_key(dir));
        let known: Vec<(u16, Uuid)> =
            usable.filter_map(|(dir, meta)| Some((*dir, meta.directory_id?))).collect();
        for (dir, id) in known.iter().filter(|(dir, _)| *dir != metadata_dir) {
            let Some((other, _)) = known.iter().find(|(at, same)| at != dir && same == id) else {
                continue;
            };
            let why = format!(
                "{} and {} have the same directory.id {id}: one is a copy of the other. Take the \
                 copy out of log.dirs.",
                self.dirs[other].path, self.dirs[dir].path
            );
            self.refused.insert(*dir, why);
        }
    }

    fn directory_id(&self, dir: u16, fresh: &FreshIds) -> Uuid {
        let stored = self.read.get(&dir).and_then(|meta| meta.directory_id);
        let drawn = fresh.directories.get(usize::from(dir)).copied();
        let id = stored.or(drawn).unwrap_or(Uuid::ZERO);
        assert!(!id.is_reserved(), "the driver gave the reserved id {id} for a data directory");
        id
    }
}

fn unreadable(path: &str, why: &str) -> String {
    format!(
        "{path}/{FILE} cannot be used: {why}. Expected are the lines version=1, cluster.id, \
         node.id and directory.id; restore the file, or start with another data directory."
    )
}

fn write(cluster_id: &str, node_id: i32, directory_id: Uuid) -> String {
    let entries = [
        ("version", "1".to_owned()),
        ("cluster.id", cluster_id.to_owned()),
        ("node.id", node_id.to_string()),
        ("directory.id", directory_id.to_string()),
    ];
    let map = entries.into_iter().map(|(key, value)| (key.to_owned(), value)).collect();
    properties::write(&map)
}

/// Whether a file says whose directory it lies in.
///
/// # Errors
/// What is wrong with it.
pub(crate) fn check(bytes: &[u8]) -> Result<(), String> {
    parse(bytes).map(drop)
}

fn parse(bytes: &[u8]) -> Result<MetaProperties, String> {
    let text = std::str::from_utf8(bytes).map_err(|_| "it is not text".to_owned())?;
    let map = properties::parse(text).map_err(|error| error.to_string())?;
    let get = |key: &str| {
        let value = map.get(key).filter(|value| !value.is_empty());
        value.ok_or_else(|| format!("{key} is missing"))
    };
    match get("version")?.as_str() {
        "1" => {}
        "0" => {
            return Err("version=0 was written by a broker that used ZooKeeper, which has to be \
                        migrated with Apache Kafka 3.9 first"
                .to_owned());
        }
        other => return Err(format!("version is {other}")),
    }
    let node = get("node.id")?;
    let node_id = node.parse().map_err(|_| format!("node.id is {node:?}, not a number"))?;
    let directory_id = match map.get("directory.id") {
        None => None,
        Some(text) => Some(directory_id(text)?),
    };
    Ok(MetaProperties { cluster_id: get("cluster.id")?.clone(), node_id, directory_id })
}

fn directory_id(text: &str) -> Result<Uuid, String> {
    match text.parse::<Uuid>() {
        Ok(id) if id.is_reserved() => Err(format!("directory.id {text} is a reserved one")),
        Ok(id) => Ok(id),
        Err(error) => Err(format!("directory.id is {error}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What Apache Kafka 4.4.0 wrote.
    const KAFKAS: &str = "#\n#Sun Nov 29 18:01:07 UTC 2026\nnode.id=1\n\
        directory.id=cZzEj9P9IHY8qzntIAUXiQ\nversion=1\ncluster.id=4L6g3nShT-eMCtK--X86sw\n";

    fn fresh() -> FreshIds {
        FreshIds {
            cluster: Uuid::from_u128(1 << 100),
            directories: vec![Uuid::from_u128(1 << 101), Uuid::from_u128(1 << 102)],
            incarnation: Uuid::from_u128(1 << 103),
        }
    }

    fn found<'a>(path: &'a str, file: Option<&'a str>) -> Found<'a> {
        Found { path, file: file.map(str::as_bytes), has_logs: false }
    }

    /// Judges directories of which the first holds the metadata.
    fn judged(dirs: &[Found<'_>]) -> Result<Identity, String> {
        let dirs = (0..).zip(dirs.iter().cloned()).collect();
        judge(1, 0, &dirs, &fresh())
    }

    fn check_refused(dirs: &[Found<'_>], parts: &[&str]) {
        let error = judged(dirs).unwrap_err();
        parts.iter().for_each(|part| assert!(error.contains(part), "{part:?} not in {error}"));
    }

    /// Beside a directory of Kafka's another one is refused alone.
    fn check_alone(other: Found<'_>, parts: &[&str]) {
        let identity = judged(&[found("a", Some(KAFKAS)), other]).unwrap();
        assert_eq!(identity.directories.keys().collect::<Vec<_>>(), [&0]);
        assert!(identity.to_write.is_empty() && identity.fresh.is_empty());
        let why = &identity.refused[&1];
        parts.iter().for_each(|part| assert!(why.contains(part), "{part:?} not in {why}"));
    }

    #[test]
    fn an_empty_directory_gets_an_identity_that_is_read_back() {
        let identity = judged(&[found("d", None)]).unwrap();
        assert_eq!(identity.directories, BTreeMap::from([(0, Uuid::from_u128(1 << 101))]));
        let written = &identity.to_write[&0];
        assert_eq!(written.lines().filter(|line| !line.starts_with('#')).count(), 4);
        let again = judged(&[found("d", Some(written))]).unwrap();
        assert_eq!(again.cluster_id, identity.cluster_id);
        assert_eq!(again.directories, identity.directories);
        assert!(again.to_write.is_empty() && again.fresh.is_empty());
    }

    #[test]
    fn kafkas_file_is_kept_and_a_new_directory_joins_its_cluster() {
        let identity = judged(&[found("a", Some(KAFKAS)), found("b", None)]).unwrap();
        assert_eq!(&*identity.cluster_id, "4L6g3nShT-eMCtK--X86sw");
        assert_eq!(identity.directories[&0].to_string(), "cZzEj9P9IHY8qzntIAUXiQ");
        assert_eq!(identity.fresh, BTreeSet::from([1]));
        assert!(identity.to_write[&1].contains("cluster.id=4L6g3nShT-eMCtK--X86sw"));
    }

    #[test]
    fn a_file_from_before_directory_ids_gets_one() {
        let old = "version=1\ncluster.id=c\nnode.id=1\n";
        let identity = judged(&[found("a", Some(old))]).unwrap();
        assert!(identity.to_write.contains_key(&0) && identity.fresh.is_empty());
    }

    #[test]
    fn refusals_say_what_was_found_what_was_expected_and_what_to_do() {
        let other_node = KAFKAS.replace("node.id=1", "node.id=7");
        check_refused(&[found("d", Some(&other_node))], &["d/meta", "node.id 7", "node.id=7"]);
        check_refused(&[found("d", Some(""))], &["version is missing", "Expected"]);
        check_refused(&[found("d", Some("version=0\nbroker.id=1"))], &["ZooKeeper"]);
        check_refused(&[found("d", Some("version=2"))], &["version is 2"]);
        let bad = KAFKAS.replace("node.id=1", "node.id=one");
        check_refused(&[found("d", Some(&bad))], &["not a number"]);
        let bad = KAFKAS.replace("cZzEj9P9IHY8qzntIAUXiQ", "AAAAAAAAAAAAAAAAAAAAAQ");
        check_refused(&[found("d", Some(&bad))], &["reserved"]);
        let garbage = Found { path: "d", file: Some(&[0xff, 0xfe]), has_logs: false };
        check_refused(&[garbage], &["not text"]);
        check_refused(&[Found { path: "d", file: None, has_logs: true }], &["holds partitions"]);
        check_refused(
            &[found("a", None), found("b", Some(KAFKAS))],
            &["a, which is to hold the metadata", "b belongs to cluster 4L6g3nShT"],
        );
    }

    #[test]
    fn a_directory_that_does_not_fit_the_metadatas_is_refused_alone() {
        let other_node = KAFKAS.replace("node.id=1", "node.id=7");
        check_alone(found("b", Some(&other_node)), &["b/meta", "node.id 7"]);
        let other_cluster = KAFKAS.replace("4L6", "5L6").replace("cZz", "dZz");
        check_alone(
            found("b", Some(&other_cluster)),
            &["a/meta", "b/meta", "4L6g3nShT", "5L6g3nShT", "log.dirs"],
        );
        check_alone(found("b", Some(KAFKAS)), &["a and b", "directory.id cZz", "copy"]);
        check_alone(found("b", Some("")), &["version is missing"]);
        check_alone(Found { path: "b", file: None, has_logs: true }, &["holds partitions"]);
    }

    #[test]
    fn of_two_copies_beside_the_metadata_neither_is_used() {
        let other = KAFKAS.replace("cZz", "dZz");
        let dirs = [found("a", Some(KAFKAS)), found("b", Some(&other)), found("c", Some(&other))];
        let identity = judged(&dirs).unwrap();
        assert_eq!(identity.refused.keys().collect::<Vec<_>>(), [&1, &2]);
    }
}
