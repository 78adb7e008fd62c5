//! The reference: a log as a plain list of batches, with marks up to where they are written and
//! durable, and everything that follows from it, folded in the simplest way there is.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use dohle_core::log::Log;
use dohle_core::log::producer::ProducerEntry;
use dohle_wire::record::BatchHeader;

/// What a truncation under way shall come to.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) enum Cut {
    /// The log ends there, or at the batch that holds it.
    End(i64),
    /// The log is empty and starts there.
    Empty(i64),
}

/// The log as it has to be.
#[derive(Clone, Debug, Default)]
pub(super) struct Model {
    /// Where this history of the log began.
    origin: i64,
    /// All its batches, also those below the log start.
    pub(super) batches: Vec<BatchHeader>,
    pub(super) start: i64,
    /// A crash may set the log start back to this.
    pub(super) start_floor: i64,
    /// Epochs and where they began.
    epochs: Vec<(i32, i64)>,
    /// Those that an empty log forgot; records that were deleted may come back with a crash.
    forgotten: Vec<(i32, i64)>,
    /// Markers that abort.
    aborts: BTreeSet<i64>,
    /// What survives the end of the process.
    pub(super) written: i64,
    /// What survives a loss of power.
    pub(super) durable: i64,
    pub(super) cut: Option<Cut>,
    /// Where the table of producers may have begun: bases of segments.
    bases: BTreeSet<i64>,
    /// Where it did begin.
    known_from: i64,
}

impl Model {
    pub(super) fn end(&self) -> i64 {
        let last = self.batches.last().map_or(self.origin, |header| header.next_offset().0);
        last.max(self.start)
    }

    /// A batch is in the log; `aborts` if it is a marker that does.
    pub(super) fn append(&mut self, header: BatchHeader, aborts: bool) {
        if aborts {
            self.aborts.insert(header.base_offset.0);
        }
        self.begin_epoch(header.partition_leader_epoch.0, header.base_offset.0);
        self.batches.push(header);
    }

    /// A leader of `epoch` writes from `at` on.
    pub(super) fn begin_epoch(&mut self, epoch: i32, at: i64) {
        if self.epochs.last().is_some_and(|(last, _)| *last >= epoch) {
            return;
        }
        self.epochs.retain(|(_, start)| *start < at);
        self.epochs.push((epoch, at));
    }

    pub(super) fn last_batch_epoch(&self) -> i32 {
        self.batches.last().map_or(0, |header| header.partition_leader_epoch.0)
    }

    /// Batches with a record at or past the log start.
    pub(super) fn live(&self) -> impl Iterator<Item = &BatchHeader> {
        self.batches.iter().filter(|header| header.next_offset().0 > self.start)
    }

    /// Where the first record is at or past the log start: without one before it, a log may as well
    /// start there.
    fn first_record(&self) -> i64 {
        self.live().next().map_or(self.start, |header| header.base_offset.0.max(self.start))
    }

    /// The log ends at `end` now.
    pub(super) fn cut_end(&mut self, end: i64) {
        self.batches.retain(|header| header.next_offset().0 <= end);
        self.epochs.retain(|(_, start)| *start < end);
        self.forgotten.retain(|(_, start)| *start < end);
        self.aborts.retain(|marker| *marker < end);
        (self.written, self.durable) = (self.written.min(end), self.durable.min(end));
    }

    /// The log is empty and starts at `start`.
    pub(super) fn empty(&mut self, start: i64) {
        *self = Self { origin: start, ..Self::default() };
        (self.start, self.start_floor, self.known_from) = (start, start, start);
        (self.written, self.durable) = (start, start);
    }

    /// What has to be there after a truncation that came to its end.
    pub(super) fn finish_cut(&mut self, cut: Cut) {
        self.cut = None;
        match self.emptied(cut) {
            Some(start) => self.empty(start),
            None => self.cut_end(self.kept(cut)),
        }
        // If nothing is left, nobody is known.
        self.bases.insert(self.end());
    }

    /// Takes over what a recovery found, if that is a log that a crash may leave.
    pub(super) fn recover(&mut self, log: &Log, floor: i64) -> Result<(), String> {
        let (start, end) = (log.log_start().0, log.end().0);
        if let Some(cut) = self.cut.take()
            && self.emptied(cut) == Some(start)
            && end == start
            && log.segments().is_empty()
        {
            self.empty(start);
            return Ok(());
        }
        let (low, high) = (self.start_floor, self.first_record());
        if !(low..=high).contains(&start) {
            return Err(format!("starts at {start}, expected {low} to {high}"));
        }
        if end < floor || end > self.end() {
            return Err(format!("ends at {end}, expected {floor} to {}", self.end()));
        }
        let boundary = end == start || self.batches.iter().any(|b| b.next_offset().0 == end);
        if !boundary {
            return Err(format!("ends at {end}, in the middle of a batch"));
        }
        if start < self.start {
            let first = self.epochs.first().map_or(i32::MAX, |(epoch, _)| *epoch);
            let mut back = std::mem::take(&mut self.forgotten);
            back.retain(|(epoch, _)| *epoch < first);
            back.append(&mut self.epochs);
            self.epochs = back;
        }
        // Records that are not there may be skipped, and the next time not.
        self.start_floor = start.min(self.start);
        self.start = start;
        self.cut_end(end);
        self.bases.insert(end);
        self.written = end;
        Ok(())
    }

    /// Where the log starts anew when it is emptied by that truncation.
    pub(super) fn emptied(&self, cut: Cut) -> Option<i64> {
        match cut {
            Cut::Empty(to) => Some(to),
            Cut::End(to) => (to < self.start).then_some(to),
        }
    }

    /// Takes a log for right whatever it is, where nobody looks inside.
    pub(super) fn adopt(&mut self, start: i64, end: i64) {
        self.cut = None;
        if end > self.end() || end < start {
            self.empty(end.max(start));
        }
        (self.start, self.start_floor) = (start, start);
        self.cut_end(end);
    }

    /// What may be gone after a crash of that kind, at most.
    pub(super) fn floor(&self, power: bool) -> i64 {
        let kept = if power { self.durable } else { self.written };
        match self.cut {
            None => kept,
            Some(cut) if self.emptied(cut).is_some() => i64::MIN,
            Some(cut) => kept.min(self.kept(cut)),
        }
    }

    /// Where the batch ends that comes before `offset`: a gap may lie in between.
    pub(super) fn end_before(&self, offset: i64) -> i64 {
        let before = self.batches.iter().rfind(|header| header.base_offset.0 < offset);
        before.map_or(self.origin, |header| header.next_offset().0.min(offset))
    }

    /// What a truncation leaves ends there.
    fn kept(&self, cut: Cut) -> i64 {
        let to = match cut {
            Cut::End(to) | Cut::Empty(to) => to,
        };
        let ends = self.batches.iter().map(|header| header.next_offset().0);
        ends.take_while(|end| *end <= to).last().unwrap_or(self.origin).max(self.start)
    }

    /// L3: the epoch cache is a fold over the log. After a crash the last epoch may be forgotten
    /// if nothing was written in it.
    pub(super) fn epochs(&mut self, log: &Log, crashed: bool) -> Result<(), String> {
        let (start, end) = (self.start, self.end());
        let cached: Vec<(i32, i64)> =
            log.epochs().entries().iter().map(|(e, at)| (e.0, at.0)).collect();
        let held = from_start(&cached, start);
        let expected = from_start(&self.epochs, start);
        let (a, b) = (self.written_in(&expected, end), self.written_in(&held, end));
        // An empty log may know which epoch was the last.
        let exact = !crashed && start < end;
        if a != b || (exact && !alike(&held, &expected)) {
            return Err(format!("epochs {cached:?}, expected {expected:?}"));
        }
        if start == end || crashed {
            self.adopt_epochs(held);
        }
        Ok(())
    }

    /// The log may have forgotten epochs in which nothing was written. A crash may take its start
    /// back, and then those count that came before.
    fn adopt_epochs(&mut self, mut held: Vec<(i32, i64)>) {
        if let Some((epoch, at)) = held.first_mut() {
            let known = self.epochs.iter().find(|(known, _)| known == epoch);
            // Before it there is nothing, or the log does not know whose that is.
            *at = known.map_or(*at, |(_, from)| (*at).min(*from)).min(self.start);
            self.epochs.retain(|(known, _)| known < epoch);
            self.epochs.append(&mut held);
        } else {
            self.forgotten = std::mem::take(&mut self.epochs);
        }
    }

    /// Epochs and the first batch at or past where each began: between the two there is nothing.
    fn written_in(&self, epochs: &[(i32, i64)], end: i64) -> Vec<(i32, i64)> {
        let first = |at: i64| self.batches.partition_point(|header| header.next_offset().0 <= at);
        let base = |at: i64| self.batches.get(first(at)).map_or(at, |h| h.base_offset.0.max(at));
        let before = epochs.iter().filter(|(_, at)| *at < end);
        let mut found: Vec<(i32, i64)> = before.map(|(epoch, at)| (*epoch, base(*at))).collect();
        // Of several that begin in one gap the last one wrote.
        found.reverse();
        found.dedup_by_key(|(_, at)| *at);
        found.reverse();
        found
    }

    /// P4, T4: the table of producers is a fold over the log, from the segment on from which it
    /// was last known.
    pub(super) fn producers(&mut self, log: &Log, opened: bool) -> Result<(), String> {
        let held: BTreeMap<i64, Known> =
            log.producers().iter().map(|(id, entry)| (id.0, Known::of(entry))).collect();
        let expected = self.fold(self.known_from);
        if held == expected {
            return Ok(());
        }
        let first = log.segments().first().map_or(self.end(), |segment| segment.base.0);
        let froms = self.bases.iter().copied().chain([self.origin]).filter(|from| *from <= first);
        let found = froms.filter(|_| opened).find(|from| self.fold(*from) == held);
        match found {
            Some(from) => self.known_from = from,
            // What is deleted need not be sound, and then its batches are not known.
            None if since(&held, self.start) == since(&expected, self.start) => {}
            None => return Err(difference(&held, &expected)),
        }
        Ok(())
    }

    /// T3: which transactions were aborted is a fold over the log. Those that began before the log
    /// start need not be known, nor what lay below it of the others.
    pub(super) fn aborted(&self, log: &Log) -> Result<(), String> {
        let mut open: BTreeMap<i64, i64> = BTreeMap::new();
        let mut all: BTreeMap<i64, (i64, i64)> = BTreeMap::new();
        for header in &self.batches {
            let (producer, base) = (header.producer_id.0, header.base_offset.0);
            if header.is_control() {
                let first = open.remove(&producer).filter(|_| self.aborts.contains(&base));
                all.extend(first.map(|first| (base, (producer, first))));
            } else if header.is_transactional() {
                open.entry(producer).or_insert(base);
            }
        }
        let held: BTreeMap<i64, (i64, i64)> =
            log.aborted().iter().map(|a| (a.marker.0, (a.producer.0, a.first.0))).collect();
        let missing = all.iter().find(|(marker, (_, first))| {
            *first >= self.start && held.get(marker) != all.get(marker)
        });
        let wrong = held.iter().find(|(marker, (producer, first))| {
            all.get(marker).is_none_or(|(other, from)| other != producer || from > first)
        });
        match missing.or(wrong) {
            None => Ok(()),
            Some((marker, found)) => {
                let (held, expected) = (held.get(marker), all.get(marker));
                Err(format!("{found:?} by {marker}: {held:?}, expected {expected:?}"))
            }
        }
    }

    fn fold(&self, from: i64) -> BTreeMap<i64, Known> {
        let mut table = BTreeMap::new();
        for header in self.batches.iter().filter(|header| header.base_offset.0 >= from) {
            if header.producer_id.0 >= 0 {
                let entry: &mut Known = table.entry(header.producer_id.0).or_default();
                entry.note(header);
            }
        }
        table
    }

    /// Segments begin there.
    pub(super) fn note_bases(&mut self, log: &Log) {
        self.bases.extend(log.segments().iter().map(|segment| segment.base.0));
    }
}

/// Epochs of a log that starts at `start`: the one that holds it begins there.
fn from_start(epochs: &[(i32, i64)], start: i64) -> Vec<(i32, i64)> {
    let first = epochs.iter().rposition(|(_, at)| *at <= start).unwrap_or(0);
    epochs[first..].iter().map(|(epoch, at)| (*epoch, start.max(*at))).collect()
}

/// Whether epochs are the same. An empty log may have forgotten when its first one began.
fn alike(held: &[(i32, i64)], expected: &[(i32, i64)]) -> bool {
    let first = |epochs: &[(i32, i64)]| epochs.first().map(|(epoch, _)| *epoch);
    first(held) == first(expected) && held.get(1..) == expected.get(1..)
}

/// What is known of batches with a record at or past `start`.
fn since(table: &BTreeMap<i64, Known>, start: i64) -> BTreeMap<i64, Known> {
    let mut table = table.clone();
    for known in table.values_mut() {
        known.batches.retain(|(_, last, ..)| *last >= start);
    }
    table.retain(|_, known| !known.batches.is_empty());
    table
}

fn difference(held: &BTreeMap<i64, Known>, expected: &BTreeMap<i64, Known>) -> String {
    let ids: BTreeSet<i64> = held.keys().chain(expected.keys()).copied().collect();
    let first = ids.into_iter().find(|id| held.get(id) != expected.get(id)).unwrap_or(-1);
    format!("producer {first} is {:?}, expected {:?}", held.get(&first), expected.get(&first))
}

/// How many batches of a producer are remembered.
const REMEMBERED: usize = 5;

/// What is known of a producer.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Known {
    epoch: i16,
    open: Option<i64>,
    /// Last sequence, last offset, records less one, time.
    batches: VecDeque<(i32, i64, i32, i64)>,
}

impl Default for Known {
    fn default() -> Self {
        Self { epoch: -1, open: None, batches: VecDeque::new() }
    }
}

impl Known {
    fn of(entry: &ProducerEntry) -> Self {
        let batches = entry.batches.iter().map(|batch| {
            (batch.last_sequence.0, batch.last_offset.0, batch.offset_delta, batch.timestamp.0)
        });
        Self {
            epoch: entry.epoch.0,
            open: entry.open_transaction.map(|at| at.0),
            batches: batches.collect(),
        }
    }

    fn note(&mut self, header: &BatchHeader) {
        if header.producer_epoch.0 != self.epoch {
            self.epoch = header.producer_epoch.0;
            self.batches.clear();
        }
        if header.is_control() {
            self.open = None;
            return;
        }
        if header.is_transactional() && self.open.is_none() {
            self.open = Some(header.base_offset.0);
        }
        self.batches.push_back((
            header.last_sequence().0,
            header.last_offset().0,
            header.last_offset_delta,
            header.max_timestamp.0,
        ));
        if self.batches.len() > REMEMBERED {
            self.batches.pop_front();
        }
    }
}
