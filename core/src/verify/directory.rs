//! A data directory: its own files, its partitions, and whether the two agree.

use std::collections::BTreeMap;

use dohle_wire::id::{PartitionIndex, TopicId};

use super::context::{CLEAN_STOP, Checkpoint, Context, IDENTITY};
use super::finding::{Problem, Problems, Severity};
use super::partition::{Facts, is_log_file};
use super::text::Key;
use super::{Entry, Files, Survey};
use crate::control::RESERVE;
use crate::log::names::{FileKind, is_leftover};
use crate::shard::SPACE_PROBE;

/// Metadata with which Kafka formats a directory.
const BOOTSTRAP: &str = "bootstrap.checkpoint";
/// Files that say nothing.
const EMPTY: [&str; 2] = [".lock", ".kafka_cleanshutdown.used"];
/// Folders that hold no partitions.
const FOLDERS: [&str; 1] = ["remote-log-index-cache"];

/// The partition whose log a folder of this name is.
pub(super) fn key(name: &str) -> Option<Key> {
    let (topic, index) = name.rsplit_once('-')?;
    let digits = !index.is_empty() && index.bytes().all(|byte| byte.is_ascii_digit());
    let index = index.parse().ok().filter(|_| digits && !topic.is_empty())?;
    Some((topic.to_owned(), PartitionIndex(index)))
}

/// Whether a folder of this name is that of a partition.
#[must_use]
pub fn is_partition(name: &str) -> bool {
    key(name).is_some()
}

/// Whether a folder that holds this is a data directory.
#[must_use]
pub fn is_data_directory(entries: &[Entry]) -> bool {
    entries.iter().any(|entry| match entry.is_dir {
        true => is_partition(&entry.name),
        false => is_root_file(&entry.name),
    })
}

/// Whether a file of this name lies in a data directory itself.
#[must_use]
pub fn is_root_file(name: &str) -> bool {
    let checkpoint = Checkpoint::ALL.iter().any(|each| each.file() == name);
    checkpoint || [IDENTITY, CLEAN_STOP, BOOTSTRAP].contains(&name)
}

impl<F: Files> Survey<'_, F> {
    /// Goes through a data directory, the root of the files.
    ///
    /// # Errors
    /// A file that cannot be read.
    pub fn directory(&mut self) -> Result<Vec<Facts>, F::Error> {
        let mut root = self.files.list("")?;
        root.sort_by(|a, b| a.name.cmp(&b.name));
        let context = self.context(&root)?;
        if !root.iter().any(|entry| entry.name == IDENTITY) {
            self.tell("", Problem::new("missing", IDENTITY, "no such file").into());
        }
        let mut logs = Vec::new();
        for entry in &root {
            match entry.is_dir {
                true => logs.extend(self.folder_of(&entry.name, &context)?),
                false => self.file_of(entry)?,
            }
        }
        self.agree(&context, &logs);
        Ok(logs)
    }

    /// Goes through the folder of one partition.
    ///
    /// # Errors
    /// A file that cannot be read.
    pub fn folder(&mut self, folder: &str) -> Result<Facts, F::Error> {
        self.only = Some(folder.to_owned());
        let context = self.context_around()?;
        let facts = self.partition(folder, &context, None)?;
        self.agree_on(&context, &facts);
        Ok(facts)
    }

    /// Looks at one file; gives whether it is of a kind that is known.
    ///
    /// # Errors
    /// A file that cannot be read.
    pub fn file(&mut self, path: &str) -> Result<bool, F::Error> {
        self.only = Some(path.to_owned());
        let Some((folder, name)) = path.rsplit_once('/') else {
            self.deep = path == BOOTSTRAP;
            self.directory()?;
            return Ok(is_root_file(path));
        };
        let base = match FileKind::parse(name) {
            Some((FileKind::Snapshot, _)) | None => None,
            Some((_, base)) => Some(base),
        };
        self.deep &= base.is_some() || name.ends_with(".checkpoint");
        let context = self.context_around()?;
        self.partition(folder, &context, base)?;
        Ok(base.is_some() || is_log_file(name))
    }

    /// The context of a partition that is looked at alone.
    fn context_around(&mut self) -> Result<Context, F::Error> {
        // Whatever it lies in may not be ours to look at.
        let Ok(root) = self.files.list("") else { return Ok(Context::default()) };
        let before = self.tally;
        let context = self.context(&root)?;
        self.tally = before;
        Ok(context)
    }

    fn folder_of(&mut self, name: &str, context: &Context) -> Result<Option<Facts>, F::Error> {
        if is_partition(name) {
            return self.partition(name, context, None).map(Some);
        }
        if is_root_file(name) {
            let problem = Problem::new("value", "a file", "a folder");
            self.tell(name, problem.into());
            return Ok(None);
        }
        // What is moved in or waits for its removal is nobody's yet or no more.
        let passing = ["-delete", "-future"].iter().any(|end| name.ends_with(end));
        if !passing && !FOLDERS.contains(&name) {
            let problem = Problem::new("stray", "folders of partitions", "something else");
            self.tell(name, problem.is(Severity::Warning).into());
        }
        Ok(None)
    }

    fn file_of(&mut self, entry: &Entry) -> Result<(), F::Error> {
        let name = entry.name.as_str();
        if name == BOOTSTRAP {
            return self.batches(name, entry.len);
        }
        if name == RESERVE || name.starts_with(SPACE_PROBE) {
            return Ok(());
        }
        if !is_root_file(name) && !is_leftover(name) && !EMPTY.contains(&name) {
            let problem = Problem::new("stray", "files of a data directory", "something else");
            self.tell(name, problem.is(Severity::Warning).into());
        }
        Ok(())
    }

    /// Holds what the directory's checkpoints say against what is in the logs.
    fn agree(&mut self, context: &Context, logs: &[Facts]) {
        let mut by_key: BTreeMap<Key, &Facts> = BTreeMap::new();
        let mut ids: BTreeMap<&str, (TopicId, &str)> = BTreeMap::new();
        for facts in logs {
            let Some(key) = &facts.key else { continue };
            by_key.insert(key.clone(), facts);
            let Some(id) = facts.topic_id else { continue };
            by_key.insert((id.to_string(), key.1), facts);
            let (known, other) = *ids.entry(key.0.as_str()).or_insert((id, &facts.folder));
            if known != id {
                let expected = format!("the topic id {known} as in {other}");
                let file = super::join(&facts.folder, crate::log::names::PARTITION_METADATA);
                self.tell(&file, Problem::new("value", expected, id.to_string()).into());
            }
        }
        for which in Checkpoint::ALL {
            self.agree_checkpoint(which, context, &by_key);
        }
    }

    /// The same for one log alone.
    fn agree_on(&mut self, context: &Context, facts: &Facts) {
        for which in Checkpoint::ALL {
            let Some(offset) = context.get(which, facts.key.as_ref()) else { continue };
            if let Some(mut problem) = disagreement(which, offset.0, facts, context.clean) {
                problem.found.push_str(&format!(", in {}", which.file()));
                self.tell(&facts.folder, problem.into());
            }
        }
    }

    fn agree_checkpoint(
        &mut self,
        which: Checkpoint,
        context: &Context,
        logs: &BTreeMap<Key, &Facts>,
    ) {
        let mut problems = Problems::default();
        for (key, (at, offset)) in context.entries(which).into_iter().flatten() {
            match logs.get(key) {
                Some(facts) => {
                    let problem = disagreement(which, offset.0, facts, context.clean);
                    problem.into_iter().for_each(|problem| problems.push(problem.at(*at)));
                }
                // What was removed stays in the files until they are written again; a partition
                // without records needs no folder.
                None if offset.0 > 0 && (context.clean || which == Checkpoint::Durable) => {
                    let found = format!("{}-{}, which is not there", key.0, key.1);
                    let sure = context.clean && which != Checkpoint::Cleaned;
                    let severity = if sure { Severity::Damage } else { Severity::Warning };
                    problems.push(Problem::new("value", "a partition", found).at(*at).is(severity));
                }
                None => {}
            }
        }
        self.tell(which.file(), problems);
    }
}

/// What is wrong with the offset that a checkpoint gives a log.
fn disagreement(which: Checkpoint, offset: i64, facts: &Facts, clean: bool) -> Option<Problem> {
    let (start, end) = (facts.log_start, facts.end);
    let offset = match (which, facts.believed) {
        (Checkpoint::Recovery | Checkpoint::Durable, Some(believed)) => offset.min(believed.0),
        _ => offset,
    };
    let lowest = match which {
        Checkpoint::HighWatermarks if clean => start.0,
        _ => 0,
    };
    if (lowest..=end.0).contains(&offset) {
        return None;
    }
    let severity = match which {
        Checkpoint::Recovery | Checkpoint::Durable => Severity::Damage,
        Checkpoint::Cleaned => Severity::Warning,
        Checkpoint::LogStarts | Checkpoint::HighWatermarks if clean => Severity::Damage,
        Checkpoint::LogStarts | Checkpoint::HighWatermarks => Severity::Torn,
    };
    let expected = format!("an offset of {}, from {lowest} to {end}", facts.folder);
    Some(Problem::new("value", expected, offset.to_string()).is(severity))
}
