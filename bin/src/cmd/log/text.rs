//! Text files of a data directory: checkpoints, properties, the vote of the quorum.

use std::fs;
use std::io::{self, Write};
use std::path::Path;

use serde_json::Value;

use super::out::{Out, Row};

/// A line that is not what it should be: its byte position and what is wrong.
type Damage = (u64, String);

/// Prints a checkpoint of offsets of partitions: version 0, count, then `topic partition offset`.
pub(super) fn offsets<W: Write>(path: &Path, out: &mut Out<W>) -> io::Result<()> {
    checkpoint(path, out, "checkpoint", "topic partition offset", |line| {
        let mut words = line.rsplitn(3, ' ');
        let offset = words.next()?.parse::<i64>().ok()?;
        let partition = words.next()?.parse::<i32>().ok()?;
        let topic = words.next().filter(|topic| !topic.is_empty())?;
        Some(Row::new().with("topic", topic).with("partition", partition).with("offset", offset))
    })
}

/// Prints a checkpoint of leader epochs: version 0, count, then `epoch startOffset`.
pub(super) fn epochs<W: Write>(path: &Path, out: &mut Out<W>) -> io::Result<()> {
    let mut last = (-1, -1);
    checkpoint(path, out, "leaderEpoch", "epoch startOffset, both rising", |line| {
        let (epoch, start) = line.split_once(' ')?;
        let found = (epoch.parse::<i32>().ok()?, start.parse::<i64>().ok()?);
        if found.0 <= last.0 || found.1 < last.1 {
            return None;
        }
        last = found;
        Some(Row::new().with("epoch", found.0).with("startOffset", found.1))
    })
}

fn checkpoint<W: Write>(
    path: &Path,
    out: &mut Out<W>,
    kind: &str,
    form: &str,
    mut parse: impl FnMut(&str) -> Option<Row>,
) -> io::Result<()> {
    let text = match read(path)? {
        Ok(text) => text,
        Err((at, problem)) => return out.damage(at, &problem),
    };
    let mut lines = numbered(&text);
    match lines.next() {
        Some((_, "0")) => {}
        Some((at, other)) => return out.damage(at, &format!("version {other:?}, expected 0")),
        None => return out.damage(0, "an empty file, expected a version and a count"),
    }
    let Some((count_at, count)) = lines.next() else {
        return out.damage(text.len() as u64, "no count of entries in the second line");
    };
    let mut entries = 0u64;
    for (at, line) in lines {
        entries += 1;
        match parse(line) {
            Some(row) => out.row(kind, 0, &row)?,
            None => out.damage(at, &format!("{line:?}, expected {form}"))?,
        }
    }
    if count.parse() != Ok(entries) {
        out.damage(count_at, &format!("{count:?} entries announced, {entries} found"))?;
    }
    Ok(())
}

/// Prints a file of `key=value` or `key: value` lines, in which these keys are needed.
pub(super) fn properties<W: Write>(
    path: &Path,
    needed: &[&str],
    out: &mut Out<W>,
) -> io::Result<()> {
    let text = match read(path)? {
        Ok(text) => text,
        Err((at, problem)) => return out.damage(at, &problem),
    };
    let mut missing = needed.to_vec();
    for (at, line) in numbered(&text) {
        if line.trim().is_empty() || line.starts_with('#') {
            continue;
        }
        match line.split_once(['=', ':']) {
            Some((key, value)) => {
                let (key, value) = (key.trim(), value.trim());
                missing.retain(|needed| *needed != key || value.is_empty());
                out.row("property", 0, &Row::new().with("name", key).with("value", value))?;
            }
            None => out.damage(at, &format!("{line:?}, expected a name and a value"))?,
        }
    }
    if !missing.is_empty() {
        out.damage(text.len() as u64, &format!("{} missing", missing.join(", ")))?;
    }
    Ok(())
}

/// Prints a file that holds one JSON object.
pub(super) fn json<W: Write>(path: &Path, kind: &str, out: &mut Out<W>) -> io::Result<()> {
    let text = match read(path)? {
        Ok(text) => text,
        Err((at, problem)) => return out.damage(at, &problem),
    };
    match serde_json::from_str::<Value>(&text) {
        Ok(value @ Value::Object(_)) => out.row(kind, 0, &Row::new().with("data", value)),
        Ok(_) => out.damage(0, "no JSON object"),
        Err(error) => {
            let before: usize =
                text.split_inclusive('\n').take(error.line().max(1) - 1).map(str::len).sum();
            out.damage((before + error.column().max(1) - 1) as u64, &format!("no JSON: {error}"))
        }
    }
}

fn read(path: &Path) -> io::Result<Result<String, Damage>> {
    Ok(String::from_utf8(fs::read(path)?).map_err(|error| {
        (error.utf8_error().valid_up_to() as u64, "bytes that are not text".to_owned())
    }))
}

/// The lines with the byte positions at which they start.
fn numbered(text: &str) -> impl Iterator<Item = (u64, &str)> {
    let mut at = 0;
    text.split_inclusive('\n').map(move |line| {
        let start = at;
        at += line.len() as u64;
        (start, line.trim_end_matches(['\n', '\r']))
    })
}
