//! Where records without key go: KIP-794's uniform sticky partitioning; or where somebody else's rule
//! sends them.
//!
//! One partition takes all records until a batch's worth of bytes went there, then another is drawn:
//! so batches are full, and in the long run every partition gets the same.

use std::fmt::Debug;

use crate::machine::rng::Rng;

/// A rule that chooses the partitions of records that name none themselves.
///
/// It depends on its arguments only, so that equal records go to equal partitions in every producer.
///
/// ```
/// use dohle_client::machine::producer::{Partitioner, partition_of_key};
///
/// /// Keys of the form `customer/order` go where their customer goes.
/// #[derive(Debug)]
/// struct ByCustomer;
///
/// impl Partitioner for ByCustomer {
///     fn partition(&self, _topic: &str, key: Option<&[u8]>, partitions: i32) -> Option<i32> {
///         let customer = key?.split(|byte| *byte == b'/').next()?;
///         Some(partition_of_key(customer, partitions))
///     }
/// }
///
/// let of = |key: &str| ByCustomer.partition("orders", Some(key.as_bytes()), 12);
/// assert_eq!(of("ann/1"), of("ann/2"));
/// ```
pub trait Partitioner: Debug + Send + Sync {
    /// The partition of a record with this key in a topic of `partitions` partitions, or `None` to
    /// leave the choice to the built-in rule. A number that the topic does not have fails the record.
    fn partition(&self, topic: &str, key: Option<&[u8]>, partitions: i32) -> Option<i32>;
}

/// A partition that can be drawn.
#[derive(Copy, Clone, Debug)]
pub(super) struct Candidate {
    pub(super) partition: i32,
    /// Only the candidates of the lowest rank are drawn from.
    pub(super) rank: Rank,
    /// Batches that wait for the partition.
    pub(super) queued: usize,
}

/// How good a candidate is, the best first.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Rank {
    /// Nothing speaks against it.
    Good,
    /// Its leader is in another rack (KIP-1123).
    Far,
    /// Its leader takes no batches (`partitioner.availability.timeout.ms`).
    Late,
    /// It has no leader.
    Leaderless,
}

/// The partition that records without key go to now.
#[derive(Clone, Debug, Default)]
pub(super) struct Sticky {
    current: Option<i32>,
    bytes: usize,
}

impl Sticky {
    /// Whether the next record draws a new partition.
    pub(super) const fn is_due(&self, batch_size: usize) -> bool {
        self.current.is_none() || self.bytes >= batch_size
    }

    /// The partition for a record of `size` bytes. `candidates` is asked for when a new one is to be
    /// drawn, and is not empty.
    pub(super) fn place(
        &mut self,
        size: usize,
        batch_size: usize,
        rng: &mut Rng,
        candidates: impl FnOnce() -> Vec<Candidate>,
    ) -> i32 {
        let current = match self.current {
            Some(current) if !self.is_due(batch_size) => current,
            _ => {
                self.bytes = 0;
                draw(&candidates(), rng)
            }
        };
        self.current = Some(current);
        self.bytes += size;
        current
    }

    /// Draw anew for the next record, for example because the partition has no leader.
    pub(super) const fn leave(&mut self) {
        self.current = None;
    }
}

/// Draws one of the best candidates, those with short queues more often.
fn draw(candidates: &[Candidate], rng: &mut Rng) -> i32 {
    let best = candidates.iter().map(|candidate| candidate.rank).min();
    let usable = || candidates.iter().filter(move |candidate| Some(candidate.rank) == best);
    let longest = usable().map(|c| c.queued).max().unwrap_or(0);
    let weight = |c: &Candidate| (longest - c.queued) as u64 + 1;
    let mut at = rng.below(usable().map(weight).sum::<u64>().max(1));
    for candidate in usable() {
        match at.checked_sub(weight(candidate)) {
            None => return candidate.partition,
            Some(rest) => at = rest,
        }
    }
    unreachable!("a number below the sum of the weights falls into one of them")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(queues: &[usize]) -> Vec<Candidate> {
        let made = queues.iter().zip(0..).map(|(queued, partition)| Candidate {
            partition,
            rank: Rank::Good,
            queued: *queued,
        });
        made.collect()
    }

    #[test]
    fn sticks_until_a_batch_is_full() {
        let (mut sticky, mut rng) = (Sticky::default(), Rng::new(1));
        let first = sticky.place(60, 100, &mut rng, || of(&[0; 50]));
        assert_eq!(sticky.place(60, 100, &mut rng, || unreachable!("not full yet")), first);
        let mut asked = false;
        sticky.place(60, 100, &mut rng, || {
            asked = true;
            of(&[0; 50])
        });
        assert!(asked);
    }

    #[test]
    fn every_partition_gets_its_share_and_a_long_queue_less() {
        let (mut rng, mut counts) = (Rng::new(7), [0u32; 3]);
        for _ in 0..3000 {
            counts[draw(&of(&[0, 0, 9]), &mut rng) as usize] += 1;
        }
        assert!(counts[0] > 1200 && counts[1] > 1200, "{counts:?}");
        assert!(counts[2] > 50 && counts[2] < 300, "{counts:?}");
    }

    #[test]
    fn worse_partitions_are_avoided() {
        let mut rng = Rng::new(3);
        let mut candidates = of(&[0, 0]);
        for rank in [Rank::Far, Rank::Late, Rank::Leaderless] {
            candidates[0].rank = rank;
            candidates[1].rank = Rank::Good;
            assert!((0..100).all(|_| draw(&candidates, &mut rng) == 1), "{rank:?}");
            candidates[1].rank = rank;
            assert!((0..100).any(|_| draw(&candidates, &mut rng) == 0), "{rank:?}");
        }
    }
}
