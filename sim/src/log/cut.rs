//! Truncations and moves of the log start.

use dohle_core::fx::Fx;
use dohle_core::log::Log;
use dohle_core::log::truncate::Truncating;
use dohle_wire::id::Offset;

use super::model::Cut;
use super::{LogWorld, Phase, Role};
use crate::oracle::Violation;

impl LogWorld {
    /// Another broker leads from now on, with another history behind some offset.
    pub(super) fn follow(&mut self) -> Result<(), Violation> {
        self.epoch += 1;
        self.role = Role::Follower;
        let end = self.model.end();
        self.cut(Cut::End(end))
    }

    pub(super) fn cut_somewhere(&mut self) -> Result<(), Violation> {
        // On a slow disk no search would ever come to its end.
        if self.search.is_some() && self.draw("cut-searched", 8) > 0 {
            return self.append();
        }
        if self.role == Role::Leader {
            self.epoch += 1;
            self.role = Role::Follower;
        }
        let (end, start) = (self.model.end(), self.model.start);
        let visible = self.watermark.clamp(start, end);
        let to = match self.draw("cut-where", 20) {
            0..7 => visible + self.draw("cut-at", (end - visible) as u64 + 1) as i64,
            7..12 => self.some_base().unwrap_or(end).max(visible),
            12..14 => end + self.draw("cut-beyond", 5) as i64,
            // Elected uncleanly.
            _ => (start - 3).max(0) + self.draw("cut-deep", (end - start) as u64 + 4) as i64,
        };
        self.cut(Cut::End(to))
    }

    pub(super) fn empty_somewhere(&mut self) -> Result<(), Violation> {
        // On a slow disk nothing would ever be acknowledged.
        let fresh = self.acked <= self.model.start || self.search.is_some();
        if fresh && self.draw("empty-fresh", 8) > 0 {
            return self.append();
        }
        self.epoch += 1;
        self.role = Role::Follower;
        let end = self.model.end();
        let to = match self.draw("empty-where", 2) {
            0 => end + self.draw("empty-beyond", 500) as i64,
            _ => self.draw("empty-at", end as u64 + 1) as i64,
        };
        self.cut(Cut::Empty(to))
    }

    /// Where one of the segments begins.
    fn some_base(&mut self) -> Option<i64> {
        let Phase::Serving(log) = &self.phase else { return None };
        let bases: Vec<i64> = log.segments().iter().map(|segment| segment.base.0).collect();
        let at = self.draw("base", bases.len().max(1) as u64) as usize;
        bases.get(at).copied()
    }

    fn cut(&mut self, cut: Cut) -> Result<(), Violation> {
        let log = match std::mem::replace(&mut self.phase, Phase::Down) {
            Phase::Serving(log) => log,
            phase => {
                self.phase = phase;
                return Ok(());
            }
        };
        self.kernel.note(|| "workload".to_owned(), || format!("cut {cut:?}"));
        // What a truncation does by a header that is wrong nobody could tell.
        if !self.wounds().is_empty() {
            self.heal();
        }
        for (flaw, salt) in self.disk.spare() {
            self.flaws.push_back((self.acts + 20, flaw, salt));
        }
        self.generation += 1;
        self.reads.clear();
        let (generation, mut fx) = (self.generation, Fx::new());
        let begun = match cut {
            Cut::End(to) => log.truncate_to(Offset(to), generation, &mut fx),
            Cut::Empty(to) => log.truncate_fully_and_start_at(Offset(to), generation, &mut fx),
        };
        self.model.cut = Some(cut);
        self.forget(cut);
        let done = match begun {
            Truncating::Done(log) => Some(log),
            Truncating::Working(truncation) => {
                self.phase = Phase::Cutting(truncation);
                self.drop_search();
                None
            }
        };
        self.submit(&mut fx);
        done.map_or(Ok(()), |log| self.cut_done(log))
    }

    /// What is cut is not promised any more.
    fn forget(&mut self, cut: Cut) {
        match (self.model.emptied(cut), cut) {
            (None, Cut::End(to)) => self.black_box.ends(to),
            _ => self.black_box.ends(i64::MIN),
        }
    }

    pub(super) fn cut_done(&mut self, log: Box<Log>) -> Result<(), Violation> {
        let Some(cut) = self.model.cut else { return Ok(()) };
        let (before, emptied) = (self.model.end(), self.model.emptied(cut));
        self.model.finish_cut(cut);
        let (start, end) = (log.log_start().0, log.end().0);
        self.kernel.note(|| "log".to_owned(), || format!("cut: {start} to {end}"));
        match cut {
            Cut::Empty(_) => self.tally.empties += 1,
            Cut::End(_) => self.tally.cuts += u64::from(end < before),
        }
        if let Some(start) = emptied {
            self.black_box.empties(start);
        }
        let expected = (self.model.start, self.model.end());
        let found = match expected == (start, end) {
            true => Ok(()),
            false => Err(format!("cut to {cut:?}: {start} to {end}, expected {expected:?}")),
        };
        if self.blind && found.is_err() {
            self.model.adopt(start, end);
        }
        self.inside("L8", found)?;
        (self.watermark, self.acked) = (self.watermark.clamp(start, end), self.acked.min(end));
        self.acked = self.acked.max(start);
        self.phase = Phase::Serving(log);
        self.derived(true, false)?;
        self.acknowledge()
    }

    pub(super) fn move_start(&mut self) {
        let (start, most) = (self.model.start, self.watermark);
        if most <= start {
            return;
        }
        let to = match self.draw("start-where", 3) {
            0 => self.some_base().unwrap_or(start).clamp(start, most),
            // Much of the log is better kept.
            1 => start + self.draw("start-near", (most - start) as u64 / 3 + 1) as i64,
            _ => start + self.draw("start-at", (most - start) as u64 + 1) as i64,
        };
        let mut fx = Fx::new();
        let Phase::Serving(log) = &mut self.phase else { return };
        log.advance_start(Offset(to), &mut fx);
        self.submit(&mut fx);
        self.kernel.note(|| "workload".to_owned(), || format!("starts at {to}"));
        self.tally.starts += u64::from(to > start);
        self.model.start = to;
        self.black_box.starts(to);
    }
}
