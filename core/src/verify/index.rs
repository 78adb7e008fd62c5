//! Indexes beside a segment: their own order, and their entries against the batches.
//!
//! An index of a segment in use ends in zeros. Its entries are held against the batches as these
//! pass, in the order of both.

use std::collections::VecDeque;

use dohle_wire::id::{Offset, ProducerId, Timestamp};
use dohle_wire::record::BatchHeader;

use super::finding::{Problem, Problems};
use crate::log::index::{OFFSET_ENTRY, TIME_ENTRY, time_entry};

/// Bytes of an entry of an index of aborted transactions.
const TXN_ENTRY: usize = 34;

/// An offset and where its batch is said to start.
#[derive(Copy, Clone, Debug)]
struct Place {
    at: u64,
    offset: Offset,
    position: u64,
}

/// A time and the batch that is said to have it.
#[derive(Copy, Clone, Debug)]
struct Time {
    at: u64,
    timestamp: Timestamp,
    offset: Offset,
}

/// A transaction that was aborted, by the marker at `marker`.
#[derive(Copy, Clone, Debug)]
struct Aborted {
    at: u64,
    producer: ProducerId,
    marker: Offset,
}

/// The entries of a segment's indexes that are still to be held against batches.
#[derive(Clone, Debug, Default)]
pub(super) struct Merge {
    places: VecDeque<Place>,
    /// An entry whose batch was found and whose offset comes later: older brokers made one entry
    /// for all batches of an append.
    awaited: Option<Place>,
    times: VecDeque<Time>,
    aborted: VecDeque<Aborted>,
    holes: bool,
    /// What is wrong with each of the files.
    pub(super) of_offsets: Problems,
    pub(super) of_times: Problems,
    pub(super) of_aborted: Problems,
}

impl Merge {
    /// Takes an offset index of a segment based at `base`.
    pub(super) fn add_offsets(&mut self, bytes: &[u8], base: Offset) {
        let mut last: Option<Place> = None;
        for (at, raw) in entries(bytes, OFFSET_ENTRY, &mut self.of_offsets) {
            let (relative, position) = (u32_at(raw, 0), u32_at(raw, 4));
            let offset = base.plus(i64::from(relative));
            let place = Place { at, offset, position: u64::from(position) };
            let rises =
                last.is_none_or(|last| last.offset < offset && last.position < place.position);
            if !rises || i32::try_from(relative).is_err() || i32::try_from(position).is_err() {
                let expected = "an offset and a position above those before".to_owned();
                let found = format!("offset {offset} at position {position}");
                self.of_offsets.push(Problem::new("order", expected, found).at(at).about(offset));
                continue;
            }
            last = Some(place);
            self.places.push_back(place);
        }
    }

    /// Takes a time index.
    pub(super) fn add_times(&mut self, bytes: &[u8], base: Offset) {
        let mut last: Option<Time> = None;
        for (at, raw) in entries(bytes, TIME_ENTRY, &mut self.of_times) {
            let Some(entry) = time_entry(raw) else { continue };
            let offset = base.plus(i64::from(entry.relative));
            let time = Time { at, timestamp: entry.timestamp, offset };
            let rises =
                last.is_none_or(|last| last.timestamp < time.timestamp && last.offset <= offset);
            if !rises || i32::try_from(entry.relative).is_err() {
                let expected = "a time and an offset above those before".to_owned();
                let found = format!("{} at offset {offset}", entry.timestamp);
                self.of_times.push(Problem::new("order", expected, found).at(at).about(offset));
                continue;
            }
            last = Some(time);
            self.times.push_back(time);
        }
    }

    /// Takes an index of aborted transactions.
    pub(super) fn add_aborted(&mut self, bytes: &[u8]) {
        let mut last = Offset(-1);
        let (chunks, rest) = bytes.as_chunks::<TXN_ENTRY>();
        check_size(bytes.len(), rest.len(), TXN_ENTRY, &mut self.of_aborted);
        for (at, raw) in (0..).step_by(TXN_ENTRY).zip(chunks) {
            let version = i16::from_be_bytes([raw[0], raw[1]]);
            let (producer, first) = (i64_at(raw, 2), i64_at(raw, 10));
            let (marker, stable) = (Offset(i64_at(raw, 18)), i64_at(raw, 26));
            let mut wrong = |check, expected: &str, found: String| {
                self.of_aborted.push(Problem::new(check, expected, found).at(at).about(marker));
            };
            if version != 0 {
                wrong("version", "0", version.to_string());
            } else if producer < 0 || first < 0 || first > marker.0 || stable < 0 {
                let found = format!(
                    "producer {producer}, offsets {first} to {marker}, last stable offset {stable}"
                );
                wrong("value", "a transaction of a producer", found);
            } else if marker <= last {
                wrong("order", &format!("an end above {last}"), marker.to_string());
            } else {
                last = marker;
                self.aborted.push_back(Aborted { at, producer: ProducerId(producer), marker });
            }
        }
    }

    /// A sound batch lies at `position`.
    pub(super) fn on_batch(&mut self, position: u64, header: &BatchHeader) {
        self.places_on(position, header);
        self.times_on(header);
        self.aborted_on(header);
    }

    fn places_on(&mut self, position: u64, header: &BatchHeader) {
        while let Some(place) = self.places.front().copied() {
            if place.position > position {
                break;
            }
            self.places.pop_front();
            if let Some(unmet) = self.awaited.take() {
                self.no_offset(unmet, header);
            }
            if place.position < position {
                self.no_batch(place);
            } else {
                self.awaited = Some(place);
            }
        }
        let Some(place) = self.awaited else { return };
        let last = header.last_offset();
        if place.offset > last {
            return;
        }
        self.awaited = None;
        if place.offset != last {
            self.no_offset(place, header);
        }
    }

    fn no_offset(&mut self, place: Place, header: &BatchHeader) {
        let (base, last) = (header.base_offset, header.last_offset());
        let expected = format!("the last offset of a batch from position {} on", place.position);
        let found = format!("offset {}, and a batch with {base} to {last}", place.offset);
        let problem = Problem::new("entry", expected, found).at(place.at).about(place.offset);
        self.of_offsets.push(problem);
    }

    fn no_batch(&mut self, place: Place) {
        let expected = "the position of a batch".to_owned();
        let found = format!("position {}, where none starts", place.position);
        let problem = Problem::new("entry", expected, found).at(place.at).about(place.offset);
        self.of_offsets.push(problem);
    }

    fn times_on(&mut self, header: &BatchHeader) {
        while let Some(time) = self.times.front().copied() {
            if time.offset > header.last_offset() {
                break;
            }
            self.times.pop_front();
            let inside = time.offset >= header.base_offset;
            if inside && time.timestamp == header.max_timestamp || !inside && self.holes {
                continue;
            }
            let expected = match inside {
                true => format!("{}, the greatest time of its batch", header.max_timestamp),
                false => "the offset of a batch".to_owned(),
            };
            let found = format!("{} at offset {}", time.timestamp, time.offset);
            let problem = Problem::new("entry", expected, found).at(time.at).about(time.offset);
            self.of_times.push(problem);
        }
    }

    fn aborted_on(&mut self, header: &BatchHeader) {
        while let Some(aborted) = self.aborted.front().copied() {
            if aborted.marker > header.last_offset() {
                break;
            }
            self.aborted.pop_front();
            // Compaction may have taken the marker away.
            let inside = aborted.marker >= header.base_offset;
            let ends = header.is_control() && header.producer_id == aborted.producer;
            if inside && !ends {
                let expected = format!("a marker of producer {}", aborted.producer);
                let found = format!("the batch at offset {}", header.base_offset);
                let problem = Problem::new("entry", expected, found).at(aborted.at);
                self.of_aborted.push(problem.about(aborted.marker));
            }
        }
    }

    /// Between these positions there are no sound batches.
    pub(super) fn hole(&mut self, from: u64, upto: u64) {
        self.holes = true;
        self.awaited = None;
        while let Some(place) = self.places.front().copied() {
            if place.position >= upto {
                break;
            }
            self.places.pop_front();
            if place.position < from {
                self.no_batch(place);
            }
        }
    }

    /// The segment ends after `size` bytes.
    pub(super) fn end(&mut self, size: u64) {
        for place in std::mem::take(&mut self.places) {
            let expected = format!("a position in the segment of {size} bytes");
            let problem = Problem::new("entry", expected, place.position.to_string());
            self.of_offsets.push(problem.at(place.at).about(place.offset));
        }
        let beyond = |at: u64, offset: Offset| {
            let found = format!("offset {offset}");
            Problem::new("entry", "an offset in the segment", found).at(at).about(offset)
        };
        let awaited = self.awaited.take();
        awaited.into_iter().for_each(|each| self.of_offsets.push(beyond(each.at, each.offset)));
        let times = std::mem::take(&mut self.times).into_iter().filter(|_| !self.holes);
        times.for_each(|each| self.of_times.push(beyond(each.at, each.offset)));
        let aborted = std::mem::take(&mut self.aborted).into_iter().filter(|_| !self.holes);
        aborted.for_each(|each| self.of_aborted.push(beyond(each.at, each.marker)));
    }
}

/// The entries of an index with their positions, up to the zeros that fill it up.
fn entries<'a>(
    bytes: &'a [u8],
    len: usize,
    problems: &mut Problems,
) -> impl Iterator<Item = (u64, &'a [u8])> + use<'a> {
    check_size(bytes.len(), bytes.len() % len, len, problems);
    let used = bytes.iter().rposition(|byte| *byte != 0).map_or(0, |last| last / len + 1);
    (0..).step_by(len).zip(bytes.chunks_exact(len).take(used))
}

fn check_size(size: usize, rest: usize, entry: usize, problems: &mut Problems) {
    if rest > 0 {
        let expected = format!("entries of {entry} bytes");
        let found = format!("{rest} bytes behind the last");
        problems.push(Problem::new("size", expected, found).at((size - rest) as u64));
    }
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    bytes.get(at..).and_then(|rest| rest.first_chunk()).map_or(0, |raw| u32::from_be_bytes(*raw))
}

fn i64_at(bytes: &[u8], at: usize) -> i64 {
    bytes.get(at..).and_then(|rest| rest.first_chunk()).map_or(0, |raw| i64::from_be_bytes(*raw))
}
