//! The uniform assignor where members read different topics: everyone keeps what it has, what
//! nobody has goes to the reader with the fewest partitions, and then each topic moves partitions
//! from its richest owner to its poorest reader until no topic can make the two more equal.
//!
//! Every move makes the sum of the squares of the counts smaller, so that there is an end.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap};

use dohle_wire::id::TopicId;

use super::Spec;
use crate::group::topics::Part;

/// Rounds over all topics. A few are enough where there is no chain of topics through which
/// partitions would have to wander.
const ROUNDS_MAX: u32 = 32;

/// Members, by their place among the subscribers.
type Readers = BTreeMap<TopicId, Vec<usize>>;

pub(super) fn assign(spec: &Spec<'_>) -> Vec<BTreeSet<Part>> {
    let readers = readers(spec);
    let mut dealt = Dealt::kept(spec);
    // Topics with few readers have the least choice.
    let mut order: Vec<_> = readers.iter().collect();
    order.sort_by_key(|(_, readers)| readers.len());
    for (topic, readers) in order {
        dealt.deal(spec, *topic, readers);
    }
    for _ in 0..ROUNDS_MAX {
        let moved: usize = readers.iter().map(|(topic, at)| dealt.level(*topic, at)).sum();
        if moved == 0 {
            break;
        }
    }
    dealt.parts
}

fn readers(spec: &Spec<'_>) -> Readers {
    let mut readers = Readers::new();
    for (at, subscriber) in spec.subscribers.iter().enumerate() {
        for topic in &*subscriber.topics {
            readers.entry(*topic).or_default().push(at);
        }
    }
    readers
}

/// Who has what.
struct Dealt {
    parts: Vec<BTreeSet<Part>>,
    taken: BTreeSet<Part>,
}

impl Dealt {
    /// Everyone has what it had.
    fn kept(spec: &Spec<'_>) -> Self {
        let mut dealt =
            Self { parts: vec![BTreeSet::new(); spec.subscribers.len()], taken: BTreeSet::new() };
        for at in 0..spec.subscribers.len() {
            let kept: BTreeSet<Part> = spec.keepable(at, &dealt.taken).collect();
            dealt.taken.extend(&kept);
            dealt.parts[at] = kept;
        }
        dealt
    }

    /// Gives out what nobody has of a topic.
    fn deal(&mut self, spec: &Spec<'_>, topic: TopicId, readers: &[usize]) {
        let Some(topic) = spec.topics.get(&topic) else { return };
        let free: Vec<Part> = topic.parts().filter(|part| !self.taken.contains(part)).collect();
        if free.is_empty() {
            return;
        }
        let mut poorest: BinaryHeap<_> =
            readers.iter().map(|at| Reverse((self.parts[*at].len(), *at))).collect();
        for part in free {
            let Some(Reverse((count, at))) = poorest.pop() else { return };
            self.parts[at].insert(part);
            poorest.push(Reverse((count + 1, at)));
        }
    }

    /// Moves partitions of a topic from the richest of its owners to the poorest of its readers.
    /// Gives how many.
    fn level(&mut self, topic: TopicId, readers: &[usize]) -> usize {
        let least = readers.iter().map(|at| self.parts[*at].len()).min().unwrap_or(0);
        let rich = readers.iter().filter(|at| self.parts[**at].len() > least + 1);
        let mut richest: BinaryHeap<(usize, usize)> =
            rich.map(|at| (self.parts[*at].len(), *at)).collect();
        if richest.is_empty() {
            return 0;
        }
        let mut poorest: BinaryHeap<_> =
            readers.iter().map(|at| Reverse((self.parts[*at].len(), *at))).collect();
        let mut moved = 0;
        while let (Some((count, from)), Some(Reverse((fewer, to)))) =
            (richest.pop(), poorest.peek().copied())
        {
            if count <= fewer + 1 {
                break;
            }
            let Some(part) = self.one_of(from, topic) else { continue };
            poorest.pop();
            self.parts[from].remove(&part);
            self.parts[to].insert(part);
            richest.push((count - 1, from));
            poorest.push(Reverse((fewer + 1, to)));
            moved += 1;
        }
        moved
    }

    /// The last of a member's partitions of a topic.
    fn one_of(&self, at: usize, topic: TopicId) -> Option<Part> {
        let bound = |index| (topic, dohle_wire::id::PartitionIndex(index));
        self.parts[at].range(bound(0)..=bound(i32::MAX)).next_back().copied()
    }
}
