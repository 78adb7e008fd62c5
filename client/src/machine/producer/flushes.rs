//! Flushes, and the records that each of them waits for.
//!
//! A record counts under the number of flushes that were asked for before it. A flush is over when
//! no record with a lower number is undelivered.

use std::collections::VecDeque;

use crate::machine::Token;

/// See the module.
#[derive(Clone, Debug, Default)]
pub(super) struct Flushes {
    /// Flushes asked for so far.
    asked: u64,
    /// Undelivered records under `base`, `base + 1`, …; the first is never 0.
    counts: VecDeque<usize>,
    base: u64,
    /// Flushes under way, each with its number.
    waiting: VecDeque<(Token, u64)>,
}

impl Flushes {
    /// A record comes in; gives the number it counts under.
    pub(super) fn enter(&mut self) -> u64 {
        if self.counts.is_empty() {
            self.base = self.asked;
        }
        let index = usize::try_from(self.asked - self.base).expect("each flush has a token");
        if index >= self.counts.len() {
            self.counts.resize(index + 1, 0);
        }
        self.counts[index] += 1;
        self.asked
    }

    /// A record that counted under `flush` is delivered or has failed.
    pub(super) fn leave(&mut self, flush: u64) {
        let index = flush.checked_sub(self.base).and_then(|index| usize::try_from(index).ok());
        let count = index.and_then(|index| self.counts.get_mut(index));
        let count = count.filter(|count| **count > 0).expect("an undelivered record counts");
        *count -= 1;
        while self.counts.front() == Some(&0) {
            self.counts.pop_front();
            self.base += 1;
        }
    }

    /// A flush is asked for.
    pub(super) fn ask(&mut self, token: Token) {
        self.asked += 1;
        self.waiting.push_back((token, self.asked));
    }

    /// The next flush that is over.
    pub(super) fn take_done(&mut self) -> Option<Token> {
        let oldest = if self.counts.is_empty() { u64::MAX } else { self.base };
        let (token, _) = self.waiting.pop_front_if(|(_, number)| *number <= oldest)?;
        Some(token)
    }

    /// Records with a lower number do not linger.
    pub(super) fn urgent_below(&self) -> u64 {
        if self.waiting.is_empty() { 0 } else { self.asked }
    }

    /// Whether a flush is under way.
    pub(super) fn are_under_way(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// Records that are neither delivered nor failed.
    pub(super) fn undelivered(&self) -> usize {
        self.counts.iter().sum()
    }

    /// Whether there is no such record.
    pub(super) fn all_delivered(&self) -> bool {
        self.counts.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flush_waits_for_the_records_before_it_and_for_no_others() {
        let mut flushes = Flushes::default();
        flushes.ask(Token(1));
        assert_eq!(flushes.take_done(), Some(Token(1)), "there was nothing to wait for");
        let (first, second) = (flushes.enter(), flushes.enter());
        flushes.ask(Token(2));
        let third = flushes.enter();
        flushes.ask(Token(3));
        assert_eq!(flushes.undelivered(), 3);
        flushes.leave(third);
        flushes.leave(first);
        assert_eq!(flushes.take_done(), None);
        flushes.leave(second);
        assert_eq!(flushes.take_done(), Some(Token(2)));
        assert_eq!(flushes.take_done(), Some(Token(3)));
        assert_eq!(flushes.take_done(), None);
        assert!(flushes.all_delivered() && !flushes.are_under_way());
    }

    #[test]
    #[should_panic(expected = "an undelivered record counts")]
    fn a_record_leaves_once() {
        let mut flushes = Flushes::default();
        let number = flushes.enter();
        flushes.leave(number);
        flushes.leave(number);
    }
}
