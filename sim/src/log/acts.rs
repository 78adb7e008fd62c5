//! What the workload does next.

use dohle_core::fx::Fx;

use super::{LogEvent, LogWorld, PAUSE_MIN, Phase};
use crate::choice::Stream;
use crate::oracle::Violation;

/// How often something is appended, beside the other things that a mix has.
const APPENDS: u64 = 100;

/// A crash strikes within so many disk operations.
const STRIKES_WITHIN: u64 = 60;

/// Everything is looked at every so many acts.
const LOOK_EVERY: u64 = 20;

impl LogWorld {
    pub(super) fn on_act(&mut self) -> Result<(), Violation> {
        if self.nemesis.is_over() {
            return Ok(());
        }
        let serving = matches!(self.phase, Phase::Serving(_));
        let happens = serving && self.kernel.choices.operation();
        let pause = self.kernel.choices.heavy(Stream::Workload, "pause", self.swarm.pause);
        self.kernel.after(pause.max(PAUSE_MIN), LogEvent::Act(self.life));
        if !serving {
            return Ok(());
        }
        self.acts += 1;
        self.strike();
        self.tick();
        if happens {
            self.act()?;
        } else {
            self.left_out += 1;
        }
        if self.acts.is_multiple_of(LOOK_EVERY) {
            self.look()?;
        }
        Ok(())
    }

    /// Lets what is due befall the log.
    fn strike(&mut self) {
        if self.sicknesses.front().is_some_and(|(at, _)| *at <= self.acts)
            && let Some((_, sickness)) = self.sicknesses.pop_front()
        {
            self.disk.sicken(sickness);
        }
        self.strike_flaws();
        // Where nothing is synced, no sync fails.
        if self.acts.is_multiple_of(500) {
            self.disk.worsen();
        }
        let Some((_, fault)) = self.faults.front().copied().filter(|(at, _)| *at <= self.acts)
        else {
            return;
        };
        let struck = match fault.crash() {
            Some(_) => self.nemesis.arm(&mut self.kernel.choices, fault, STRIKES_WITHIN),
            None => {
                self.stop();
                true
            }
        };
        if struck {
            self.faults.pop_front();
        }
    }

    fn tick(&mut self) {
        let (now, mut fx) = (self.now(), Fx::new());
        if let Phase::Serving(log) = &mut self.phase {
            log.tick(now, &mut fx);
        }
        self.submit(&mut fx);
    }

    fn act(&mut self) -> Result<(), Violation> {
        self.raise_watermark();
        let mix = self.swarm.mix;
        let weights = [
            APPENDS,
            mix.reads,
            mix.flushes,
            mix.checkpoints,
            mix.epochs,
            mix.cuts,
            mix.empties,
            mix.starts,
            mix.searches,
        ];
        let mut at = self.draw("act", weights.iter().sum());
        let which = weights.iter().position(|weight| match at.checked_sub(*weight) {
            Some(rest) => {
                at = rest;
                false
            }
            None => true,
        });
        match which {
            Some(1) => self.read(),
            Some(2) => {
                self.flush();
                Ok(())
            }
            Some(3) => {
                self.checkpoint();
                Ok(())
            }
            Some(4) => self.change_leader(),
            Some(5) => self.cut_somewhere(),
            Some(6) => self.empty_somewhere(),
            Some(7) => {
                self.move_start();
                Ok(())
            }
            Some(8) => {
                self.begin_search();
                Ok(())
            }
            _ => self.append(),
        }
    }

    pub(super) fn flush(&mut self) {
        let mut fx = Fx::new();
        if let Phase::Serving(log) = &mut self.phase {
            log.flush(&mut fx);
        }
        self.submit(&mut fx);
    }

    fn change_leader(&mut self) -> Result<(), Violation> {
        let later = 1 + self.draw("epoch-later", 3) as i32;
        match self.draw("role", 2) {
            0 => self.follow(),
            _ => {
                self.lead(later);
                Ok(())
            }
        }
    }

    /// Readers see more of what is acknowledged, mostly all of it.
    fn raise_watermark(&mut self) {
        let level = self.acked.min(self.model.end());
        if level <= self.watermark {
            return;
        }
        if self.draw("watermark", 4) > 0 {
            self.watermark = level;
            return;
        }
        // A follower learns of it by and by.
        let low = self.watermark;
        let ends = self.model.batches.iter().rev().map(|header| header.next_offset().0);
        let ends: Vec<i64> = ends.take_while(|end| *end > low).filter(|e| *e <= level).collect();
        if !ends.is_empty() {
            self.watermark = ends[self.draw("watermark-at", ends.len() as u64) as usize];
        }
    }
}
