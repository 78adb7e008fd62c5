//! Where records without key go: KIP-794's uniform sticky partitioning.
//!
//! One partition takes all records until a batch's worth of bytes went there, then another is drawn:
//! so batches are full, and in the long run every partition gets the same.

use crate::machine::rng::Rng;

/// A partition that can be drawn.
#[derive(Copy, Clone, Debug)]
pub(super) struct Candidate {
    pub(super) partition: i32,
    pub(super) has_leader: bool,
    /// Batches that wait for the partition.
    pub(super) queued: usize,
}

/// The partition that records without key go to now.
#[derive(Clone, Debug, Default)]
pub(super) struct Sticky {
    current: Option<i32>,
    bytes: usize,
}

impl Sticky {
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
            Some(current) if self.bytes < batch_size => current,
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

/// Draws a partition, those with short queues more often; partitions without leader only if no
/// other is there.
fn draw(candidates: &[Candidate], rng: &mut Rng) -> i32 {
    let some_lead = candidates.iter().any(|candidate| candidate.has_leader);
    let usable = || candidates.iter().filter(move |c| c.has_leader || !some_lead);
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
            has_leader: true,
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
    fn partitions_without_leader_are_avoided() {
        let mut rng = Rng::new(3);
        let mut candidates = of(&[0, 0]);
        candidates[0].has_leader = false;
        assert!((0..100).all(|_| draw(&candidates, &mut rng) == 1));
        candidates[1].has_leader = false;
        assert!((0..100).any(|_| draw(&candidates, &mut rng) == 0));
    }
}
