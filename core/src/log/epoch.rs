//! The leader-epoch cache: at which offset each leader epoch began (KIP-101).
//!
//! Invariant L3: epochs and start offsets both rise strictly, and the cache equals a fold over
//! the log plus the present leader's own start.

use std::fmt::Write as _;

use dohle_wire::id::{LeaderEpoch, Offset};

use crate::mail::EpochEnd;

/// Epochs with the offset each began at.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EpochCache {
    entries: Vec<(LeaderEpoch, Offset)>,
}

impl EpochCache {
    /// Notes that `epoch` writes from `start` on. Returns whether that was news.
    pub fn begin(&mut self, epoch: LeaderEpoch, start: Offset) -> bool {
        if self.entries.last().is_some_and(|&(last, _)| last >= epoch) {
            return false;
        }
        while self.entries.last().is_some_and(|&(_, at)| at >= start) {
            self.entries.pop();
        }
        self.entries.push((epoch, start));
        true
    }

    /// The log has a batch of `epoch` from `base` up to `next`: that epoch had begun there, none
    /// later, and no other begins within. A leader noted one that it never wrote in, and a crash
    /// came before that was forgotten on disk; or the file says what was never so. What was noted
    /// after it is for the rest of the log to say.
    pub fn correct(&mut self, epoch: LeaderEpoch, base: Offset, next: Offset) {
        let across = self.entries.iter().any(|&(_, start)| base < start && start < next);
        if across || self.epoch_at(base) != Some(epoch) {
            self.entries.retain(|&(known, start)| known <= epoch && start <= base);
        }
        self.begin(epoch, base);
    }

    /// Epochs with the offset each began at, the earliest first.
    #[must_use]
    pub fn entries(&self) -> &[(LeaderEpoch, Offset)] {
        &self.entries
    }

    /// The latest epoch known.
    #[must_use]
    pub fn latest(&self) -> Option<LeaderEpoch> {
        self.entries.last().map(|&(epoch, _)| epoch)
    }

    /// Where the first epoch known begins.
    #[must_use]
    pub fn start(&self) -> Option<Offset> {
        self.entries.first().map(|&(_, start)| start)
    }

    /// Where the latest epoch known began.
    #[must_use]
    pub fn latest_start(&self) -> Option<Offset> {
        self.entries.last().map(|&(_, start)| start)
    }

    /// The epoch in which `offset` was (or will be) written.
    #[must_use]
    pub fn epoch_at(&self, offset: Offset) -> Option<LeaderEpoch> {
        let after = self.entries.partition_point(|&(_, start)| start <= offset);
        after.checked_sub(1).map(|at| self.entries[at].0)
    }

    /// The greatest epoch not above `epoch` and where it ended, for a log that ends at `end`
    /// (OffsetForLeaderEpoch). `None` when `epoch` is above all that are known, or none at all.
    #[must_use]
    pub fn end_of(&self, epoch: LeaderEpoch, end: Offset) -> Option<EpochEnd> {
        let latest = self.latest()?;
        if epoch == latest {
            return Some(EpochEnd { epoch, end });
        }
        if epoch > latest || epoch.0 < 0 {
            return None;
        }
        let above = self.entries.partition_point(|&(known, _)| known <= epoch);
        let next_start = self.entries[above].1;
        let floor = above.checked_sub(1).map_or(epoch, |at| self.entries[at].0);
        Some(EpochEnd { epoch: floor, end: next_start })
    }

    /// Forgets epochs that begin at or past `end`.
    pub fn cut_end(&mut self, end: Offset) {
        self.entries.retain(|&(_, start)| start < end);
    }

    /// Forgets epochs that ended before `start`; the one that holds `start` begins there now.
    pub fn cut_start(&mut self, start: Offset) {
        let keep_from = self.entries.partition_point(|&(_, at)| at <= start);
        if keep_from > 0 {
            self.entries.drain(..keep_from - 1);
            self.entries[0].1 = self.entries[0].1.max(start);
        }
    }

    /// The file's text: version, count, then `epoch offset` lines.
    #[must_use]
    pub fn encode(&self) -> String {
        let mut text = format!("0\n{}\n", self.entries.len());
        for (epoch, start) in &self.entries {
            let _ = writeln!(text, "{epoch} {start}");
        }
        text
    }

    /// Reads a file's text; `None` if it is damaged.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let mut lines = text.lines();
        if lines.next()?.trim() != "0" {
            return None;
        }
        let count: usize = lines.next()?.trim().parse().ok()?;
        let entries = lines.map(parse_line).collect::<Option<Vec<_>>>()?;
        let rising = entries.windows(2).all(|w| w[0].0 < w[1].0 && w[0].1 < w[1].1);
        (entries.len() == count && rising).then_some(Self { entries })
    }

    /// Asserts L3's order.
    pub fn invariants(&self) {
        if let [.., a, b] = self.entries.as_slice() {
            assert!(a.0 < b.0 && a.1 < b.1, "L3: epochs {a:?} then {b:?}");
        }
    }
}

fn parse_line(line: &str) -> Option<(LeaderEpoch, Offset)> {
    let (epoch, start) = line.trim().split_once(' ')?;
    let epoch = epoch.parse().ok().filter(|epoch| *epoch >= 0)?;
    let start = start.parse().ok().filter(|start| *start >= 0)?;
    Some((LeaderEpoch(epoch), Offset(start)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cache(entries: &[(i32, i64)]) -> EpochCache {
        let mut cache = EpochCache::default();
        for &(epoch, start) in entries {
            assert!(cache.begin(LeaderEpoch(epoch), Offset(start)));
        }
        cache
    }

    fn end(cache: &EpochCache, epoch: i32) -> Option<(i32, i64)> {
        cache.end_of(LeaderEpoch(epoch), Offset(100)).map(|e| (e.epoch.0, e.end.0))
    }

    #[test]
    fn ends_of_epochs() {
        let cache = cache(&[(2, 10), (5, 40)]);
        assert_eq!(end(&cache, 5), Some((5, 100)));
        assert_eq!(end(&cache, 6), None);
        assert_eq!(end(&cache, 4), Some((2, 40)));
        assert_eq!(end(&cache, 2), Some((2, 40)));
        assert_eq!(end(&cache, 1), Some((1, 10)));
        assert_eq!(end(&cache, 0), Some((0, 10)));
        assert_eq!(end(&cache, -1), None, "this stands for no epoch");
        assert_eq!(end(&EpochCache::default(), 1), None);
    }

    #[test]
    fn an_epoch_without_records_gives_way() {
        let cache = cache(&[(1, 0), (2, 7), (3, 7)]);
        assert_eq!(cache.encode(), "0\n2\n1 0\n3 7\n");
    }

    #[test]
    fn batches_correct_what_was_noted() {
        let mut corrected = cache(&[(1, 0), (4, 10), (6, 20)]);
        corrected.correct(LeaderEpoch(4), Offset(15), Offset(20));
        assert_eq!(corrected.encode(), "0\n3\n1 0\n4 10\n6 20\n");
        corrected.correct(LeaderEpoch(3), Offset(12), Offset(13));
        assert_eq!(corrected.encode(), "0\n2\n1 0\n3 12\n");
    }

    #[test]
    fn batches_correct_what_was_noted_later_than_it_was() {
        for (entries, epoch) in [(&[(1, 0), (4, 10)], 4), (&[(1, 0), (3, 7)], 1)] {
            let mut corrected = cache(entries);
            corrected.correct(LeaderEpoch(epoch), Offset(5), Offset(8));
            let begins = if epoch == 1 { "0\n1\n1 0\n" } else { "0\n2\n1 0\n4 5\n" };
            assert_eq!(corrected.encode(), begins, "{entries:?}");
        }
        let mut corrected = cache(&[(2, 3)]);
        corrected.correct(LeaderEpoch(2), Offset(2), Offset(3));
        assert_eq!(corrected.encode(), "0\n1\n2 2\n");
    }

    #[test]
    fn cuts() {
        let mut cut = cache(&[(1, 0), (2, 10), (3, 20)]);
        cut.cut_start(Offset(15));
        assert_eq!(cut.encode(), "0\n2\n2 15\n3 20\n");
        cut.cut_end(Offset(20));
        assert_eq!(cut.encode(), "0\n1\n2 15\n");
    }

    #[test]
    fn damaged_files_are_told() {
        assert!(EpochCache::parse("0\n1\n3 20\n").is_some());
        for text in ["", "1\n0\n", "0\n2\n3 20\n", "0\n2\n3 20\n3 30\n", "0\n1\nx 20\n"] {
            assert_eq!(EpochCache::parse(text), None, "{text:?}");
        }
    }
}
