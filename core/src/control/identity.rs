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
    /// Ids of the data directories, in their order.
    pub(super) directories: Vec<Uuid>,
    /// Directories whose file has to be written, and its content.
    pub(super) to_write: BTreeMap<u16, String>,
    /// Directories that had no file.
    pub(super) fresh: BTreeSet<u16>,
}

/// The content of one file.
struct MetaProperties {
    cluster_id: String,
    node_id: i32,
    directory_id: Option<Uuid>,
}

/// Judges all data directories together.
///
/// # Errors
/// What is wrong, what was expected and what to do, for the operator.
pub(super) fn judge(
    node_id: i32,
    dirs: &[Found<'_>],
    fresh: &FreshIds,
) -> Result<Identity, String> {
    let mut read = Vec::new();
    for dir in dirs {
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
        read.push(meta);
    }
    let cluster_id = cluster_id(dirs, &read, fresh)?;
    let directories = directory_ids(dirs, &read, fresh)?;
    let mut identity = Identity {
        cluster_id: cluster_id.clone(),
        directories,
        to_write: BTreeMap::new(),
        fresh: BTreeSet::new(),
    };
    for (dir, meta) in (0u16..).zip(&read) {
        if meta.is_none() {
            identity.fresh.insert(dir);
        }
        if meta.as_ref().is_none_or(|meta| meta.directory_id.is_none()) {
            let id = identity.directories[usize::from(dir)];
            identity.to_write.insert(dir, write(&cluster_id, node_id, id));
        }
    }
    Ok(identity)
}

/// The cluster id that all directories agree on, or a new one when none has any.
fn cluster_id(
    dirs: &[Found<'_>],
    read: &[Option<MetaProperties>],
    fresh: &FreshIds,
) -> Result<Arc<str>, String> {
    let mut known: Option<(&str, &str)> = None;
    for (dir, meta) in dirs.iter().zip(read) {
        let Some(meta) = meta else { continue };
        match known {
            None => known = Some((dir.path, &meta.cluster_id)),
            Some((_, id)) if id == meta.cluster_id => {}
            Some((first, id)) => {
                return Err(format!(
                    "{first}/{FILE} says cluster.id {id}, but {}/{FILE} says {}. All data \
                     directories of a node must belong to one cluster; take the wrong one out of \
                     log.dirs.",
                    dir.path, meta.cluster_id
                ));
            }
        }
    }
    Ok(known.map_or_else(|| fresh.cluster.to_string().into(), |(_, id)| id.into()))
}

fn directory_ids(
    dirs: &[Found<'_>],
    read: &[Option<MetaProperties>],
    fresh: &FreshIds,
) -> Result<Vec<Uuid>, String> {
    let mut ids: Vec<Uuid> = Vec::new();
    for (at, meta) in read.iter().enumerate() {
        let stored = meta.as_ref().and_then(|meta| meta.directory_id);
        let id = stored.or(fresh.directories.get(at).copied()).unwrap_or(Uuid::ZERO);
        assert!(!id.is_reserved(), "the driver gave the reserved id {id} for a data directory");
        if let Some(other) = ids.iter().position(|other| *other == id) {
            return Err(format!(
                "{} and {} have the same directory.id {id}: one is a copy of the other. Take the \
                 copy out of log.dirs.",
                dirs[other].path, dirs[at].path
            ));
        }
        ids.push(id);
    }
    Ok(ids)
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

    fn check_refused(dirs: &[Found<'_>], parts: &[&str]) {
        let error = judge(1, dirs, &fresh()).unwrap_err();
        parts.iter().for_each(|part| assert!(error.contains(part), "{part:?} not in {error}"));
    }

    #[test]
    fn an_empty_directory_gets_an_identity_that_is_read_back() {
        let identity = judge(1, &[found("d", None)], &fresh()).unwrap();
        assert_eq!(identity.directories, [Uuid::from_u128(1 << 101)]);
        let written = &identity.to_write[&0];
        assert_eq!(written.lines().filter(|line| !line.starts_with('#')).count(), 4);
        let again = judge(1, &[found("d", Some(written))], &fresh()).unwrap();
        assert_eq!(again.cluster_id, identity.cluster_id);
        assert_eq!(again.directories, identity.directories);
        assert!(again.to_write.is_empty() && again.fresh.is_empty());
    }

    #[test]
    fn kafkas_file_is_kept_and_a_new_directory_joins_its_cluster() {
        let identity = judge(1, &[found("a", Some(KAFKAS)), found("b", None)], &fresh()).unwrap();
        assert_eq!(&*identity.cluster_id, "4L6g3nShT-eMCtK--X86sw");
        assert_eq!(identity.directories[0].to_string(), "cZzEj9P9IHY8qzntIAUXiQ");
        assert_eq!(identity.fresh, BTreeSet::from([1]));
        assert!(identity.to_write[&1].contains("cluster.id=4L6g3nShT-eMCtK--X86sw"));
    }

    #[test]
    fn a_file_from_before_directory_ids_gets_one() {
        let old = "version=1\ncluster.id=c\nnode.id=1\n";
        let identity = judge(1, &[found("a", Some(old))], &fresh()).unwrap();
        assert!(identity.to_write.contains_key(&0) && identity.fresh.is_empty());
    }

    #[test]
    fn refusals_say_what_was_found_what_was_expected_and_what_to_do() {
        let other_node = KAFKAS.replace("node.id=1", "node.id=7");
        check_refused(&[found("d", Some(&other_node))], &["d/meta", "node.id 7", "node.id=7"]);
        let other_cluster = KAFKAS.replace("4L6", "5L6").replace("cZz", "dZz");
        check_refused(
            &[found("a", Some(KAFKAS)), found("b", Some(&other_cluster))],
            &["a/meta", "b/meta", "4L6g3nShT", "5L6g3nShT", "log.dirs"],
        );
        check_refused(
            &[found("a", Some(KAFKAS)), found("b", Some(KAFKAS))],
            &["a and b", "directory.id cZz", "copy"],
        );
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
    }
}
