//! Searches in indexes, in memory and in files, against going through all entries; and files that
//! say anything at all.

use proptest::collection::vec;
use proptest::prelude::*;

use super::super::*;
use crate::log::index::{OffsetEntry, TimeEntry, parse_offsets, parse_times, search, search_times};
use crate::tests::props;

const BASE: i64 = 1_000;

fn indexes() -> impl Strategy<Value = Indexes> {
    let steps = vec((1..40u32, 1..9_000u32, 0..30i64), 0..900);
    (0..40u32, 0..3u32, 0..1_000i64, steps).prop_map(|(relative, position, time, steps)| {
        let (mut relative, mut position, mut time) = (relative, position, time);
        let mut indexes = Indexes::default();
        for (records, bytes, later) in steps {
            indexes.offsets.push(OffsetEntry { relative, position });
            indexes.push_time(TimeEntry { timestamp: Timestamp(time), relative });
            relative += records;
            position += bytes;
            time += later;
        }
        indexes
    })
}

/// Reads a file in pieces, of which there must not be many.
fn reader(file: &[u8]) -> impl FnMut(u64, u32) -> Result<Bytes, ()> {
    let mut reads = 0;
    move |position, len| {
        reads += 1;
        assert!(reads < 40, "a search has an end");
        let from = file.len().min(usize::try_from(position).unwrap());
        let upto = file.len().min(from + len as usize);
        Ok(Bytes::copy_from_slice(&file[from..upto]))
    }
}

proptest! {
    #![proptest_config(props(100))]

    #[test]
    fn a_search_finds_what_going_through_finds(
        indexes in indexes(),
        targets in vec((0..40_000u32, -1..15_000i64), 20),
        zeros in 0..300usize,
    ) {
        let (mut offsets, mut times) =
            (indexes.encode_offsets().to_vec(), indexes.encode_times().to_vec());
        prop_assert_eq!(parse_offsets(&offsets, u64::MAX), Some(indexes.offsets.clone()));
        prop_assert_eq!(parse_times(&times), Some(indexes.times.clone()));
        offsets.resize(offsets.len() + zeros * 8, 0);
        times.resize(times.len() + zeros * 12, 0);
        for (relative, time) in targets {
            let below = indexes.offsets.iter().rfind(|entry| entry.relative <= relative);
            let position = below.map_or(0, |entry| entry.position);
            prop_assert_eq!(indexes.position_for(relative), position);
            let target = Offset(BASE + i64::from(relative));
            let found = search(offsets.len() as u64, Offset(BASE), target, reader(&offsets));
            prop_assert_eq!(found, Ok(position.into()));
            let older = indexes.times.iter().rfind(|entry| entry.timestamp.0 < time).copied();
            prop_assert_eq!(indexes.last_older(Timestamp(time)), older);
            if indexes.times.is_empty() {
                continue;
            }
            let found = search_times(times.len() as u64, Timestamp(time), reader(&times));
            prop_assert_eq!(found, Ok(older));
        }
    }

    #[test]
    fn whatever_a_file_says_it_is_read_or_refused(
        indexes in indexes(),
        damage in vec((any::<prop::sample::Index>(), any::<u8>()), 0..6),
        cut in any::<prop::sample::Index>(),
        size in 0..100_000u64,
        target in any::<i64>(),
    ) {
        let files = [indexes.encode_offsets(), indexes.encode_times()];
        for file in files.iter().filter(|file| !file.is_empty()) {
            let mut file = file.to_vec();
            for (at, byte) in &damage {
                *at.get_mut(&mut file) = *byte;
            }
            file.truncate(cut.index(file.len() + 1));
            for size_said in [file.len() as u64, size] {
                let found = search(size_said, Offset(BASE), Offset(target), reader(&file)).unwrap();
                prop_assert!(found <= u64::from(u32::MAX));
                let _ = search_times(size_said, Timestamp(target), reader(&file)).unwrap();
            }
            if let Some(entries) = parse_offsets(&file, size) {
                let rising = |pair: &[OffsetEntry]| pair[0].relative < pair[1].relative;
                prop_assert!(entries.windows(2).all(rising));
                prop_assert!(entries.iter().all(|entry| u64::from(entry.position) < size));
            }
            if let Some(entries) = parse_times(&file) {
                let rising = |pair: &[TimeEntry]| pair[0].timestamp <= pair[1].timestamp;
                prop_assert!(entries.windows(2).all(rising));
            }
        }
    }
}
