//! Offset checkpoint files (CheckpointFile, OffsetCheckpointFile): a version, a count, then
//! `topic partition offset` on each line.

use std::collections::BTreeMap;

use dohle_wire::id::{Offset, PartitionIndex};

/// A partition by name, as checkpoints know it.
pub type Key = (String, PartitionIndex);

/// The file's content.
#[must_use]
pub fn encode(entries: &BTreeMap<Key, Offset>) -> String {
    let mut text = format!("0\n{}\n", entries.len());
    for ((topic, partition), offset) in entries {
        text.push_str(&format!("{topic} {partition} {offset}\n"));
    }
    text
}

/// Reads a file. An empty one has no entries, as Kafka makes them at first.
///
/// # Errors
/// Where it is damaged: then none of it is believed.
pub fn parse(bytes: &[u8]) -> Result<BTreeMap<Key, Offset>, String> {
    let text = std::str::from_utf8(bytes).map_err(|_| "not text".to_owned())?;
    let mut lines = text.lines();
    match lines.next() {
        None => return Ok(BTreeMap::new()),
        Some("0") => {}
        Some(other) => return Err(format!("version {other:?} in line 1, version 0 is known")),
    }
    let count = lines.next().and_then(|line| line.parse::<usize>().ok());
    let count = count.ok_or_else(|| "no number of entries in line 2".to_owned())?;
    let mut entries = BTreeMap::new();
    for (line, number) in lines.zip(3..) {
        let (key, offset) = entry(line).ok_or_else(|| format!("line {number} is {line:?}"))?;
        if entries.insert(key, offset).is_some() {
            return Err(format!("line {number} names a partition again: {line:?}"));
        }
    }
    match entries.len() == count {
        true => Ok(entries),
        false => Err(format!("{} entries where {count} are announced", entries.len())),
    }
}

fn entry(line: &str) -> Option<(Key, Offset)> {
    let mut words = line.split_ascii_whitespace();
    let topic = words.next()?.to_owned();
    let partition = words.next()?.parse().ok().filter(|partition| *partition >= 0)?;
    let offset = words.next()?.parse().ok().filter(|offset| *offset >= 0)?;
    words.next().is_none().then_some(((topic, PartitionIndex(partition)), Offset(offset)))
}

/// The key of a log by the name of its folder.
#[must_use]
pub fn key(name: &str) -> Option<Key> {
    let (topic, partition) = name.rsplit_once('-')?;
    let partition = partition.parse().ok().filter(|partition| *partition >= 0)?;
    Some((topic.to_owned(), PartitionIndex(partition)))
}

#[cfg(test)]
mod tests {
    use proptest::collection::btree_map;
    use proptest::prelude::*;
    use proptest::sample::Index;

    use super::*;
    use crate::tests::props;

    fn check_damaged(text: &str, why: &str) {
        let error = parse(text.as_bytes()).unwrap_err();
        assert!(error.contains(why), "{text:?}: {error}");
    }

    #[test]
    fn the_format_is_kafkas_to_the_byte() {
        let entries = [("a.b-0", 0), ("orders-10", 5), ("orders-2", i64::MAX)];
        let entries: BTreeMap<_, _> =
            entries.iter().map(|(name, at)| (key(name).unwrap(), Offset(*at))).collect();
        let text = "0\n3\na.b 0 0\norders 2 9223372036854775807\norders 10 5\n";
        assert_eq!(encode(&entries), text);
        assert_eq!(parse(text.as_bytes()), Ok(entries));
        assert_eq!(encode(&BTreeMap::new()), "0\n0\n");
        assert_eq!(parse(b""), Ok(BTreeMap::new()));
        assert_eq!(parse(b"0\n0\n"), Ok(BTreeMap::new()));
    }

    #[test]
    fn a_damaged_file_is_not_believed_in_part() {
        check_damaged("1\n0\n", "version");
        check_damaged("0\n", "line 2");
        check_damaged("0\nx\n", "line 2");
        check_damaged("0\n2\na 0 0\n", "1 entries where 2");
        check_damaged("0\n1\na 0\n", "line 3");
        check_damaged("0\n1\na 0 0 0\n", "line 3");
        check_damaged("0\n1\na -1 0\n", "line 3");
        check_damaged("0\n1\na 0 -5\n", "line 3");
        check_damaged("0\n2\na 0 5\na 0 6\n", "again");
        assert!(parse(&[0xc3, 0x28]).is_err());
    }

    fn entries() -> impl Strategy<Value = BTreeMap<Key, Offset>> {
        let key = ("[a-z0-9._-]{1,12}", 0..300i32).prop_map(|(t, p)| (t, PartitionIndex(p)));
        btree_map(key, (0..=i64::MAX).prop_map(Offset), 0..8)
    }

    proptest! {
        #![proptest_config(props(200))]

        #[test]
        fn what_is_written_is_read(entries in entries()) {
            prop_assert_eq!(parse(encode(&entries).as_bytes()), Ok(entries));
        }

        #[test]
        fn lines_that_are_missing_are_missed(entries in entries(), lines in any::<Index>()) {
            let file = encode(&entries);
            let kept = lines.index(entries.len() + 2);
            let cut: String = file.lines().take(kept).map(|line| format!("{line}\n")).collect();
            prop_assert_eq!(parse(cut.as_bytes()).is_ok(), kept == 0);
        }

        #[test]
        fn a_damaged_byte_is_told_or_makes_another_whole_file(
            entries in entries(),
            at in any::<Index>(),
            byte in any::<u8>(),
        ) {
            let mut file = encode(&entries).into_bytes();
            let at = at.index(file.len());
            file[at] = byte;
            if let Ok(found) = parse(&file) {
                prop_assert!(found.values().all(|offset| offset.0 >= 0));
                prop_assert_eq!(parse(encode(&found).as_bytes()), Ok(found));
            }
        }
    }
}
