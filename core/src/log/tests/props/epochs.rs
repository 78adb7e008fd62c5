//! The cache of leader epochs against a plain list: the epoch of each offset.

use proptest::collection::vec;
use proptest::prelude::*;

use super::super::*;
use crate::tests::props;

/// Offsets that the list has; past the last one all is as there.
const OFFSETS: usize = 40;

#[derive(Clone, Debug)]
enum Change {
    Begin(i32, usize),
    /// A batch of that epoch, from there on, of so many offsets.
    Correct(i32, usize, usize),
    CutEnd(usize),
    CutStart(usize),
}

fn change() -> impl Strategy<Value = Change> {
    prop_oneof![
        6 => (0..12i32, 0..OFFSETS).prop_map(|(epoch, at)| Change::Begin(epoch, at)),
        2 => (0..12i32, 0..OFFSETS - 5, 1..5usize)
            .prop_map(|(epoch, at, len)| Change::Correct(epoch, at, len)),
        1 => (0..OFFSETS).prop_map(Change::CutEnd),
        1 => (0..OFFSETS).prop_map(Change::CutStart),
    ]
}

/// The epoch in which each offset was or will be written.
#[derive(Clone, Debug)]
struct Naive([Option<i32>; OFFSETS]);

impl Naive {
    fn latest(&self) -> Option<i32> {
        self.0[OFFSETS - 1]
    }

    fn apply(&mut self, change: &Change) {
        match *change {
            Change::Begin(epoch, start) if self.latest() < Some(epoch) => {
                self.0[start..].fill(Some(epoch));
            }
            Change::Begin(..) => {}
            Change::Correct(epoch, base, len) => {
                let of_it = self.0[base..base + len].iter().all(|known| *known == Some(epoch));
                if !of_it {
                    let later = self.0.iter().position(|known| *known > Some(epoch));
                    self.forget_from((base + 1).min(later.unwrap_or(OFFSETS)));
                }
                self.apply(&Change::Begin(epoch, base));
            }
            Change::CutEnd(end) => self.forget_from(end),
            Change::CutStart(start) if self.0[start].is_some() => self.0[..start].fill(None),
            Change::CutStart(_) => {}
        }
    }

    fn forget_from(&mut self, from: usize) {
        let before = from.checked_sub(1).and_then(|before| self.0[before]);
        self.0[from..].fill(before);
    }

    /// Greatest epoch not above `epoch`, and where it ends.
    fn end_of(&self, epoch: i32, end: i64) -> Option<(i32, i64)> {
        let latest = self.latest().filter(|latest| epoch >= 0 && epoch <= *latest)?;
        if epoch == latest {
            return Some((epoch, end));
        }
        let floor = self.0.iter().flatten().rfind(|known| **known <= epoch);
        let above = self.0.iter().position(|known| *known > Some(epoch))?;
        Some((*floor.unwrap_or(&epoch), above as i64))
    }
}

fn apply(cache: &mut EpochCache, change: &Change) {
    let at = |at: usize| Offset(at as i64);
    match *change {
        Change::Begin(epoch, start) => drop(cache.begin(LeaderEpoch(epoch), at(start))),
        Change::Correct(epoch, base, len) => {
            cache.correct(LeaderEpoch(epoch), at(base), at(base + len));
        }
        Change::CutEnd(end) => cache.cut_end(at(end)),
        Change::CutStart(start) => cache.cut_start(at(start)),
    }
}

fn check(cache: &EpochCache, naive: &Naive, after: &Change) {
    cache.invariants();
    assert_eq!(cache.latest().map(|epoch| epoch.0), naive.latest(), "{after:?}");
    for at in 0..OFFSETS {
        let found = cache.epoch_at(Offset(at as i64)).map(|epoch| epoch.0);
        assert_eq!(found, naive.0[at], "epoch at {at} after {after:?}");
    }
    let first = naive.0.iter().position(Option::is_some);
    assert_eq!(cache.start(), first.map(|at| Offset(at as i64)), "{after:?}");
    for epoch in -1..13 {
        let found = cache.end_of(LeaderEpoch(epoch), Offset(99));
        let found = found.map(|end| (end.epoch.0, end.end.0));
        assert_eq!(found, naive.end_of(epoch, 99), "end of {epoch} after {after:?}");
    }
    assert_eq!(EpochCache::parse(&cache.encode()).as_ref(), Some(cache));
}

proptest! {
    #![proptest_config(props(200))]

    #[test]
    fn epochs_are_those_of_the_offsets(changes in vec(change(), 1..30)) {
        let (mut cache, mut naive) = (EpochCache::default(), Naive([None; OFFSETS]));
        for change in &changes {
            apply(&mut cache, change);
            naive.apply(change);
            check(&cache, &naive, change);
        }
    }

    #[test]
    fn a_text_is_read_as_it_stands_or_refused(
        count in 0..5usize,
        entries in vec((-2..9i32, -2..30i64), 0..5),
        version in 0..3u8,
    ) {
        let lines: String = entries.iter().map(|(epoch, start)| format!("{epoch} {start}\n")).collect();
        let text = format!("{version}\n{count}\n{lines}");
        let rising = entries.windows(2).all(|pair| pair[0].0 < pair[1].0 && pair[0].1 < pair[1].1);
        let there = entries.iter().all(|(epoch, start)| *epoch >= 0 && *start >= 0);
        let plausible = version == 0 && count == entries.len() && rising && there;
        let found = EpochCache::parse(&text);
        prop_assert_eq!(found.is_some(), plausible, "{}", text);
        prop_assert_eq!(found.map(|cache| cache.encode()), plausible.then_some(text));
    }

    #[test]
    fn no_text_is_too_odd(text in "[0-3\n \\-x]{0,30}") {
        if let Some(cache) = EpochCache::parse(&text) {
            cache.entries().windows(2).for_each(|pair| assert!(pair[0] < pair[1]));
        }
    }
}
