//! The hot tail: where the latest batches of a log lie.
//!
//! Consumers that keep up read from here; anything older is located through an index.

use std::collections::VecDeque;

use dohle_wire::id::Offset;

use crate::disk::FileId;

/// How many batches are remembered.
const CAPACITY: usize = 512;

/// One batch and its place.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct TailBatch {
    /// Its first offset.
    pub base: Offset,
    /// One past its last.
    pub next: Offset,
    /// The segment's file.
    pub file: FileId,
    /// Where it starts.
    pub position: u64,
    /// Its size in bytes.
    pub len: u32,
}

/// The latest batches, oldest first, without gaps between them.
#[derive(Clone, Debug, Default)]
pub struct Tail {
    batches: VecDeque<TailBatch>,
}

/// Bytes of one segment that can be read.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Span {
    /// The segment's file.
    pub file: FileId,
    /// Where the first batch starts.
    pub position: u64,
    /// Bytes from there on that may be read.
    pub available: u64,
    /// Size of the first batch.
    pub first_batch_len: u32,
    /// More may be read after these bytes, but not with them: it lies in a later segment, or
    /// where they end was not looked for.
    pub more: bool,
}

impl Tail {
    /// Adds the newest batch.
    pub fn push(&mut self, batch: TailBatch) {
        if self.batches.len() == CAPACITY {
            self.batches.pop_front();
        }
        self.batches.push_back(batch);
    }

    /// Forgets batches of files that are gone, those below `start`.
    pub fn cut_start(&mut self, start: Offset) {
        while self.batches.front().is_some_and(|batch| batch.next <= start) {
            self.batches.pop_front();
        }
    }

    /// The batches from the one that holds `from` up to those that end at or before `upper`, in
    /// one file. `None` when they are too old to be remembered.
    #[must_use]
    pub fn find(&self, from: Offset, upper: Offset) -> Option<Span> {
        let first_known = self.batches.front()?.base;
        if from < first_known {
            return None;
        }
        let at = self.batches.partition_point(|batch| batch.next <= from);
        let first = self.batches.get(at).filter(|batch| batch.next <= upper)?;
        let visible = self.batches.partition_point(|batch| batch.next <= upper);
        let last = self
            .batches
            .range(at..visible)
            .rev()
            .find(|batch| batch.file == first.file)
            .unwrap_or(first);
        Some(Span {
            file: first.file,
            position: first.position,
            available: last.position + u64::from(last.len) - first.position,
            first_batch_len: first.len,
            more: self.batches[visible - 1].file != first.file,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tail() -> Tail {
        let mut tail = Tail::default();
        for n in 0..600_i64 {
            let (file, at) = if n < 590 { (1, n) } else { (2, n - 590) };
            tail.push(TailBatch {
                base: Offset(n * 10),
                next: Offset(n * 10 + 10),
                file: FileId(file),
                position: u64::try_from(at).unwrap() * 100,
                len: 100,
            });
        }
        tail
    }

    fn check(from: i64, upper: i64, expect: Option<(u64, u64, u64, bool)>) {
        let found = tail().find(Offset(from), Offset(upper));
        let found = found.map(|span| (span.file.0, span.position, span.available, span.more));
        assert_eq!(found, expect, "from {from} upto {upper}");
    }

    #[test]
    fn spans_stay_in_one_file_and_below_the_bound() {
        check(10, 6000, None);
        check(880, 6000, Some((1, 8800, 50200, true)));
        check(880, 5900, Some((1, 8800, 50200, false)));
        check(885, 900, Some((1, 8800, 200, false)));
        check(885, 889, None);
        check(5899, 6000, Some((1, 58900, 100, true)));
        check(5900, 6000, Some((2, 0, 1000, false)));
        check(6000, 6000, None);
    }
}
