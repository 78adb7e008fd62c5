//! The operations of a unit that run elsewhere, and those that wait for them.
//!
//! When one ends, only operations on its paths are looked at again. On one path each of them either
//! starts, or whatever follows on that path waits for it, so that the look ends: however long the
//! queue is, each operation is looked at about twice.
//!
//! Invariant: each that waits is blocked by one that runs, or by one emitted before it that waits.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use super::order::{Busy, Footprint, Manner};

/// Something that touches paths; which ones may change while it waits.
pub(super) trait Touches {
    /// What it touches, by the names of this moment.
    fn footprint(&self) -> Footprint;
}

/// An operation that may start.
pub(super) struct Ready<J> {
    pub(super) job: J,
    pub(super) print: Footprint,
    /// When it was emitted, among all.
    pub(super) ticket: u64,
}

/// Operations under way.
pub(super) struct Waiting<J> {
    tickets: u64,
    running: BTreeMap<u64, Footprint>,
    busy: Busy,
    waiting: BTreeMap<u64, (J, Footprint)>,
    /// What the waiting operations touch.
    queued: Busy,
    /// Looks at what waits that are still to be taken.
    looks: VecDeque<Look>,
}

/// A look at the operations that may have waited for one that ended.
enum Look {
    /// Those on a path and the folders above it, from a ticket on.
    Path { dir: u16, path: Arc<str>, from: u64 },
    /// These.
    Each(VecDeque<u64>),
}

impl<J> Default for Waiting<J> {
    fn default() -> Self {
        Self {
            tickets: 0,
            running: BTreeMap::new(),
            busy: Busy::default(),
            waiting: BTreeMap::new(),
            queued: Busy::default(),
            looks: VecDeque::new(),
        }
    }
}

impl<J: Touches> Waiting<J> {
    /// Takes on an operation: gives it back if it may start, keeps it otherwise.
    pub(super) fn admit(&mut self, job: J) -> Option<Ready<J>> {
        self.tickets += 1;
        let ticket = self.tickets;
        let print = job.footprint();
        if self.is_settled(&print) {
            return Some(Ready { job, print, ticket });
        }
        self.queued.add(ticket, &print);
        self.waiting.insert(ticket, (job, print));
        None
    }

    /// Whether nothing that runs or waits stands in the way.
    pub(super) fn is_settled(&self, print: &Footprint) -> bool {
        self.is_free(print, u64::MAX)
    }

    /// Whether nothing that runs, or waits and was emitted before `ticket`, stands in the way.
    fn is_free(&self, print: &Footprint, ticket: u64) -> bool {
        !self.busy.blocks(print, u64::MAX) && !self.queued.blocks(print, ticket)
    }

    /// An operation that was ready runs elsewhere.
    pub(super) fn begins(&mut self, ticket: u64, print: Footprint) {
        self.busy.add(ticket, &print);
        self.running.insert(ticket, print);
    }

    /// It ended there; see [`Waiting::next`].
    pub(super) fn ends(&mut self, ticket: u64) {
        let print = self.running.remove(&ticket);
        let Some(print) = print else { unreachable!("an operation ends once") };
        self.busy.remove(ticket, &print);
        self.passed(&print);
    }

    /// An operation that has waited no longer stands in the way: what waited for it is looked at
    /// by [`Waiting::next`].
    pub(super) fn passed(&mut self, print: &Footprint) {
        if self.waiting.is_empty() {
            return;
        }
        let look = match &print.paths {
            [Some(path), None] if !self.queued.is_below(print.dir, path) => {
                Look::Path { dir: print.dir, path: Arc::clone(path), from: 0 }
            }
            // Names may have changed, or what is in a folder goes on side by side.
            _ => Look::Each(self.queued.touching(print).into_iter().collect()),
        };
        self.looks.push_back(look);
    }

    /// The next operation that may start after others ended.
    pub(super) fn next(&mut self) -> Option<Ready<J>> {
        while let Some(ticket) = self.look() {
            let Some((job, old)) = self.waiting.remove(&ticket) else { continue };
            self.queued.remove(ticket, &old);
            let print = job.footprint();
            if self.is_free(&print, ticket) {
                return Some(Ready { job, print, ticket });
            }
            self.blocked(&print);
            self.queued.add(ticket, &print);
            self.waiting.insert(ticket, (job, print));
        }
        None
    }

    /// The next ticket to look at.
    fn look(&mut self) -> Option<u64> {
        while let Some(look) = self.looks.front_mut() {
            let next = match look {
                Look::Each(tickets) => tickets.pop_front(),
                Look::Path { dir, path, from } => {
                    let next = self.queued.first_at(*dir, path, *from);
                    *from = next.map_or(*from, |ticket| ticket + 1);
                    next
                }
            };
            if next.is_some() {
                return next;
            }
            self.looks.pop_front();
        }
        None
    }

    /// What was looked at goes on waiting. All that follows on its path waits for it, but for
    /// what may pass a sync of another path.
    fn blocked(&mut self, print: &Footprint) {
        if let Some(Look::Path { path, .. }) = self.looks.front()
            && (print.manner != Manner::Sync || print.paths[0].as_ref() == Some(path))
        {
            self.looks.pop_front();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::cell::{Cell, RefCell};
    use std::rc::Rc;

    use super::*;
    use crate::testing::Dice;

    /// Where the files are at this moment.
    type Names = Rc<RefCell<Vec<String>>>;

    #[derive(Clone)]
    enum Op {
        File(usize, Manner),
        Path(&'static str),
        Rename(&'static str, &'static str),
    }

    struct Probe {
        op: Op,
        names: Names,
        looks: Rc<Cell<usize>>,
    }

    impl Touches for Probe {
        fn footprint(&self) -> Footprint {
            self.looks.set(self.looks.get() + 1);
            let (manner, paths) = match &self.op {
                Op::File(file, manner) => {
                    (*manner, [Some(Arc::from(&*self.names.borrow()[*file])), None])
                }
                Op::Path(path) => (Manner::Alone, [Some(Arc::from(*path)), None]),
                Op::Rename(from, to) => {
                    (Manner::Alone, [from, to].map(|path| Some(Arc::from(*path))))
                }
            };
            Footprint { manner, dir: 0, paths }
        }
    }

    #[derive(Default)]
    struct World {
        waiting: Waiting<Probe>,
        names: Names,
        looks: Rc<Cell<usize>>,
        running: Vec<u64>,
        started: Vec<u64>,
    }

    impl World {
        fn admit(&mut self, op: Op) {
            let (names, looks) = (Rc::clone(&self.names), Rc::clone(&self.looks));
            if let Some(ready) = self.waiting.admit(Probe { op, names, looks }) {
                self.start(ready, false);
            }
        }

        /// Starts an operation; `here`: it ends at once.
        fn start(&mut self, ready: Ready<Probe>, here: bool) {
            self.started.push(ready.ticket);
            if let Op::Rename(from, to) = ready.job.op {
                for name in self.names.borrow_mut().iter_mut() {
                    if let Some(rest) = name.strip_prefix(from) {
                        *name = format!("{to}{rest}");
                    }
                }
            }
            if here {
                self.waiting.passed(&ready.print);
            } else {
                self.waiting.begins(ready.ticket, ready.print);
                self.running.push(ready.ticket);
            }
        }

        fn end(&mut self, at: usize, mut here: impl FnMut() -> bool) {
            let ticket = self.running.swap_remove(at);
            self.waiting.ends(ticket);
            while let Some(ready) = self.waiting.next() {
                self.start(ready, here());
            }
        }

        /// Each that waits has something to wait for, by the names of this moment.
        fn check(&self, seed: u64) {
            let mut before = Busy::default();
            for (ticket, print) in &self.waiting.running {
                before.add(*ticket, print);
            }
            for (ticket, (job, _)) in &self.waiting.waiting {
                let print = job.footprint();
                assert!(before.blocks(&print, u64::MAX), "seed {seed}: {print:?} is forgotten");
                before.add(*ticket, &print);
            }
        }
    }

    #[test]
    fn nothing_is_forgotten() {
        for seed in 0..300 {
            let mut dice = Dice::seeded(seed);
            let mut world = World::default();
            let names = ["a/0", "a/1", "a/1/x", "b/0", "c"];
            *world.names.borrow_mut() = names.map(str::to_owned).to_vec();
            for _ in 0..300 {
                if dice.below(2) == 0 && !world.running.is_empty() {
                    let at = dice.below(world.running.len());
                    world.end(at, || dice.below(3) == 0);
                } else {
                    world.admit(any_op(&mut dice));
                }
                world.check(seed);
            }
            while !world.running.is_empty() {
                world.end(0, || false);
                world.check(seed);
            }
            assert!(world.waiting.waiting.is_empty() && world.waiting.looks.is_empty());
        }
    }

    fn any_op(dice: &mut Dice) -> Op {
        let file = dice.below(5);
        match dice.below(12) {
            0..=4 => Op::File(file, Manner::Content),
            5..=7 => Op::File(file, Manner::Sync),
            8 => Op::File(file, Manner::Alone),
            9 => Op::Path(["a", "b", "a/1", "c", ""][file]),
            10 => Op::Path(["a/0", "b/0", "b/9", "c", "d"][file]),
            _ => {
                let (from, to) =
                    [("a", "b"), ("b", "a"), ("b", "d/e"), ("d", "a"), ("c", "a/c")][file];
                Op::Rename(from, to)
            }
        }
    }

    #[test]
    fn a_long_queue_is_looked_at_a_few_times() {
        for files in [1, 40] {
            let mut world = World::default();
            *world.names.borrow_mut() = (0..files).map(|file| format!("t-{file}/0.log")).collect();
            for n in 0..4_000 {
                let manner = if n % 10 == 9 { Manner::Sync } else { Manner::Content };
                world.admit(Op::File(n % files, manner));
            }
            world.admit(Op::Path("t-0"));
            while !world.running.is_empty() {
                world.end(0, || false);
            }
            assert_eq!(world.started.len(), 4_001);
            assert!(world.looks.get() < 4 * 4_001, "{} looks", world.looks.get());
            let of = |file| world.started.iter().filter(move |at| (*at - 1) % files as u64 == file);
            assert!(
                (0..files as u64).all(|file| of(file).is_sorted()),
                "each file keeps its order"
            );
        }
    }
}
