//! Text files of a data directory: checkpoints, properties, the state of the quorum.

use std::collections::BTreeMap;

use dohle_wire::id::{LeaderEpoch, Offset, PartitionIndex, TopicId, Uuid};

use super::finding::{Problem, Problems};
use crate::config::properties;
use crate::control;
use crate::log::epoch::EpochCache;
use crate::log::offset_file;
use crate::quorum::state_file::StoredState;

/// A partition by its name.
pub(super) type Key = (String, PartitionIndex);

/// The entries of a checkpoint with the positions of their lines.
pub(super) type Offsets = BTreeMap<Key, (u64, Offset)>;

/// A checkpoint of offsets: version 0, a count, then `topic partition offset` on each line. An
/// empty file has no entries.
pub(super) fn offsets(bytes: &[u8], problems: &mut Problems) -> Offsets {
    let mut found = Offsets::new();
    if bytes.is_empty() {
        return found;
    }
    lines_of_checkpoint(bytes, problems, "topic, partition and offset, once", |at, line| {
        let mut words = line.rsplitn(3, ' ');
        let offset = Offset(number(words.next()?)?);
        let index = i32::try_from(number(words.next()?)?).ok()?;
        let topic = words.next().filter(|topic| !topic.is_empty() && !topic.contains(' '))?;
        found
            .insert((topic.to_owned(), PartitionIndex(index)), (at, offset))
            .is_none()
            .then_some(())
    });
    found
}

/// A checkpoint of leader epochs: version 0, a count, then `epoch start` on each line.
pub(super) fn epochs(bytes: &[u8], problems: &mut Problems) -> Vec<(u64, LeaderEpoch, Offset)> {
    let mut found: Vec<(u64, LeaderEpoch, Offset)> = Vec::new();
    if bytes.is_empty() {
        return found;
    }
    lines_of_checkpoint(bytes, problems, "epoch and start, both above the last", |at, line| {
        let (epoch, start) = line.split_once(' ')?;
        let epoch = LeaderEpoch(i32::try_from(number(epoch)?).ok()?);
        let start = Offset(number(start)?);
        let rises = found.last().is_none_or(|last| last.1 < epoch && last.2 < start);
        rises.then(|| found.push((at, epoch, start)))
    });
    found
}

/// Epochs as a log has them.
pub(super) fn cache(entries: &[(u64, LeaderEpoch, Offset)]) -> EpochCache {
    let mut cache = EpochCache::default();
    for (_, epoch, start) in entries {
        cache.begin(*epoch, *start);
    }
    cache
}

/// A number as these files have it: digits and nothing else.
fn number(text: &str) -> Option<i64> {
    let plain = text == "0" || !text.starts_with('0');
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    (plain && digits).then(|| text.parse().ok()).flatten()
}

fn lines_of_checkpoint(
    bytes: &[u8],
    problems: &mut Problems,
    form: &str,
    mut take: impl FnMut(u64, &str) -> Option<()>,
) {
    let Some(text) = text(bytes, problems) else { return };
    let mut lines = numbered(text);
    let version = lines.next().map_or("", |(_, line)| line);
    if version != "0" {
        problems.push(Problem::new("version", "0", format!("{version:?}")).at(0));
        return;
    }
    let (count_at, count) = lines.next().unwrap_or((text.len() as u64, ""));
    let mut entries = 0;
    for (at, line) in lines {
        entries += 1;
        if take(at, line).is_none() {
            problems.push(Problem::new("line", form, format!("{line:?}")).at(at));
        }
    }
    if number(count) != Some(entries) {
        let expected = format!("the count {entries}, as there are lines");
        problems.push(Problem::new("count", expected, format!("{count:?}")).at(count_at));
    }
    if !text.ends_with('\n') {
        let problem = Problem::new("line", "a line break at the end", "none");
        problems.push(problem.at(text.len() as u64));
    }
}

/// `partition.metadata`: version 0 and the topic id.
pub(super) fn owner(bytes: &[u8], problems: &mut Problems) -> Option<TopicId> {
    let text = text(bytes, problems)?;
    let mut lines = numbered(text);
    let (_, version) = lines.next().unwrap_or((0, ""));
    if version != "version: 0" {
        problems.push(Problem::new("version", "version: 0", format!("{version:?}")).at(0));
    }
    let (at, line) = lines.next().unwrap_or((text.len() as u64, ""));
    let id = line.strip_prefix("topic_id: ").and_then(|id| id.parse::<Uuid>().ok());
    let id = id.filter(|id| !id.is_reserved() || *id == Uuid::METADATA_TOPIC);
    if id.is_none() {
        let problem = Problem::new("value", "topic_id: and the id of a topic", format!("{line:?}"));
        problems.push(problem.at(at));
    }
    if let Some((at, line)) = lines.find(|(_, line)| !line.is_empty()) {
        problems.push(Problem::new("line", "two lines", format!("{line:?}")).at(at));
    }
    id.map(TopicId)
}

/// `log-start` and `truncated-to`: an offset.
pub(super) fn offset(bytes: &[u8], problems: &mut Problems) -> Option<Offset> {
    let text = text(bytes, problems)?;
    let offset = offset_file::parse(bytes);
    if offset.is_none() {
        problems
            .push(Problem::new("value", "an offset and its checksum", format!("{text:?}")).at(0));
    }
    offset
}

/// `meta.properties`: which node and cluster the directory belongs to.
pub(super) fn identity(bytes: &[u8], problems: &mut Problems) {
    let Some(text) = text(bytes, problems) else { return };
    if let Err(error) = control::check_identity(bytes) {
        let expected = "version=1, cluster.id, node.id and directory.id";
        problems.push(Problem::new("value", expected, error).at(0));
        return;
    }
    let node = properties::parse(text).ok().and_then(|mut map| map.remove("node.id"));
    if node.as_deref().and_then(number).is_none() {
        let found = node.unwrap_or_default();
        problems.push(Problem::new("value", "node.id 0 or above", found).at(0));
    }
}

/// `quorum-state`.
pub(super) fn quorum_state(bytes: &[u8], problems: &mut Problems) {
    if let Err(error) = StoredState::parse(bytes) {
        problems.push(Problem::new("value", "the state of a voter in JSON", error).at(0));
    }
}

/// `.kafka_cleanshutdown`; gives whether it counts.
pub(super) fn clean_stop(bytes: &[u8], problems: &mut Problems) -> bool {
    let error = control::check_clean_stop(bytes).err();
    if let Some(error) = &error {
        problems.push(Problem::new("value", "the mark of a clean stop in JSON", error).at(0));
    }
    error.is_none()
}

fn text<'a>(bytes: &'a [u8], problems: &mut Problems) -> Option<&'a str> {
    match std::str::from_utf8(bytes) {
        Ok(text) => Some(text),
        Err(error) => {
            let problem = Problem::new("text", "UTF-8", "other bytes");
            problems.push(problem.at(error.valid_up_to() as u64));
            None
        }
    }
}

/// The lines with the byte positions at which they start.
fn numbered(text: &str) -> impl Iterator<Item = (u64, &str)> {
    let mut at = 0;
    text.split_inclusive('\n').map(move |line| {
        let start = at;
        at += line.len() as u64;
        (start, line.strip_suffix('\n').unwrap_or(line))
    })
}
