//! Which operations of a unit may not overtake which.
//!
//! Operations on paths where one contains the other, or that are equal, happen in the order
//! emitted. A sync in flight lets the file's later writes and reads pass: it makes durable what
//! was emitted before it, and they were not.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;
use std::sync::Arc;

/// How an operation gets along with others on its paths.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) enum Manner {
    /// A write or read of a file's content.
    Content,
    /// A sync.
    Sync,
    /// Anything else: alone.
    Alone,
}

/// What an operation touches.
#[derive(Clone, Debug)]
pub(super) struct Footprint {
    pub(super) manner: Manner,
    pub(super) dir: u16,
    pub(super) paths: [Option<Arc<str>>; 2],
}

/// The paths that operations in flight, or waiting, touch. Each operation has a ticket.
#[derive(Default)]
pub(super) struct Busy {
    alone: Paths,
    content: Paths,
    syncs: Paths,
}

/// Tickets by directory and path.
#[derive(Default)]
struct Paths {
    dirs: Vec<BTreeMap<Arc<str>, BTreeSet<u64>>>,
}

impl Busy {
    /// Whether an operation with this footprint must wait for one of these whose ticket lies
    /// before `ticket`.
    pub(super) fn blocks(&self, print: &Footprint, ticket: u64) -> bool {
        let hit = |busy: &Paths| print.each().any(|path| busy.is_touched(print.dir, path, ticket));
        match print.manner {
            Manner::Content => hit(&self.alone) || hit(&self.content),
            Manner::Sync => hit(&self.alone) || hit(&self.content),
            Manner::Alone => hit(&self.alone) || hit(&self.content) || hit(&self.syncs),
        }
    }

    pub(super) fn add(&mut self, ticket: u64, print: &Footprint) {
        let paths = self.of(print.manner);
        for path in print.each() {
            paths.add(print.dir, path, ticket);
        }
    }

    pub(super) fn remove(&mut self, ticket: u64, print: &Footprint) {
        let paths = self.of(print.manner);
        for path in print.each() {
            paths.remove(print.dir, path, ticket);
        }
    }

    /// The tickets of all that touches the same paths.
    pub(super) fn touching(&self, print: &Footprint) -> BTreeSet<u64> {
        let sets = print.each().flat_map(|path| {
            self.all().into_iter().flat_map(|paths| paths.touching(print.dir, path))
        });
        sets.flatten().copied().collect()
    }

    /// The first ticket not below `from` of what touches `path` itself or a folder above it.
    pub(super) fn first_at(&self, dir: u16, path: &str, from: u64) -> Option<u64> {
        let sets = self.all().into_iter().flat_map(|paths| paths.upwards(dir, path));
        sets.filter_map(|tickets| tickets.range(from..).next()).min().copied()
    }

    /// Whether something is about what lies in `path`.
    pub(super) fn is_below(&self, dir: u16, path: &str) -> bool {
        self.all().into_iter().any(|paths| paths.below(dir, path).next().is_some())
    }

    fn all(&self) -> [&Paths; 3] {
        [&self.alone, &self.content, &self.syncs]
    }

    fn of(&mut self, manner: Manner) -> &mut Paths {
        match manner {
            Manner::Content => &mut self.content,
            Manner::Sync => &mut self.syncs,
            Manner::Alone => &mut self.alone,
        }
    }
}

impl Footprint {
    /// That of a write or read.
    pub(super) fn of_content(dir: u16, path: Arc<str>) -> Self {
        Self { manner: Manner::Content, dir, paths: [Some(path), None] }
    }

    fn each(&self) -> impl Iterator<Item = &Arc<str>> {
        self.paths.iter().flatten()
    }
}

impl Paths {
    fn add(&mut self, dir: u16, path: &Arc<str>, ticket: u64) {
        let dir = usize::from(dir);
        if self.dirs.len() <= dir {
            self.dirs.resize_with(dir + 1, BTreeMap::new);
        }
        self.dirs[dir].entry(Arc::clone(path)).or_default().insert(ticket);
    }

    fn remove(&mut self, dir: u16, path: &Arc<str>, ticket: u64) {
        let paths = &mut self.dirs[usize::from(dir)];
        // A rename of a path to itself was added once.
        let Some(tickets) = paths.get_mut(path) else { return };
        tickets.remove(&ticket);
        if tickets.is_empty() {
            paths.remove(path);
        }
    }

    /// The paths of a directory, if there are any.
    fn of(&self, dir: u16) -> Option<&BTreeMap<Arc<str>, BTreeSet<u64>>> {
        self.dirs.get(usize::from(dir)).filter(|paths| !paths.is_empty())
    }

    /// Whether `path`, a folder above it, or anything in it is among those before `ticket`.
    fn is_touched(&self, dir: u16, path: &str, ticket: u64) -> bool {
        self.touching(dir, path).any(|tickets| tickets.first().is_some_and(|at| *at < ticket))
    }

    fn touching(&self, dir: u16, path: &str) -> impl Iterator<Item = &BTreeSet<u64>> {
        self.upwards(dir, path).chain(self.below(dir, path))
    }

    /// `path` itself and the folders above it.
    fn upwards(&self, dir: u16, path: &str) -> impl Iterator<Item = &BTreeSet<u64>> {
        let above = path.rmatch_indices('/').map(|(at, _)| &path[..at]);
        let root = (!path.is_empty()).then_some("");
        let upwards = std::iter::once(path).chain(above).chain(root);
        self.of(dir)
            .into_iter()
            .flat_map(move |paths| upwards.clone().filter_map(|folder| paths.get(folder)))
    }

    /// What lies in `path`.
    fn below(&self, dir: u16, path: &str) -> impl Iterator<Item = &BTreeSet<u64>> {
        self.of(dir).into_iter().flat_map(move |paths| {
            let inside = if path.is_empty() { String::new() } else { format!("{path}/") };
            let from = (Bound::Excluded(inside.as_str()), Bound::Unbounded);
            let below = paths.range::<str, _>(from);
            below.take_while(move |(next, _)| next.starts_with(&inside)).map(|(_, tickets)| tickets)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn print(manner: Manner, path: &str) -> Footprint {
        Footprint { manner, dir: 0, paths: [Some(Arc::from(path)), None] }
    }

    fn check(first: Footprint, second: Footprint, blocks: bool) {
        let mut busy = Busy::default();
        busy.add(7, &first);
        assert_eq!(busy.blocks(&second, u64::MAX), blocks, "{first:?} then {second:?}");
        assert!(!busy.blocks(&second, 7), "it was there first");
        let touches = !busy.touching(&second).is_empty();
        assert!(touches || !blocks);
        assert_eq!(busy.first_at(0, second.paths[0].as_deref().unwrap(), 8), None);
        busy.remove(7, &first);
        assert!(!busy.blocks(&second, u64::MAX), "nothing is busy any more");
    }

    #[test]
    fn paths_touch_when_one_holds_the_other() {
        use Manner::Alone;
        for (a, b, blocks) in [
            ("t-0/0.log", "t-0/0.log", true),
            ("t-0", "t-0/0.log", true),
            ("t-0/0.log", "t-0", true),
            ("t-0/0.log", "t-0/0.index", false),
            ("t-0-delete/0.log", "t-0", false),
            ("t-0", "t-01/0.log", false),
            ("", "t-0/0.log", true),
            ("t-0/0.log", "", true),
        ] {
            check(print(Alone, a), print(Alone, b), blocks);
        }
    }

    #[test]
    fn what_may_pass_a_sync() {
        use Manner::{Alone, Content, Sync};
        for (first, second, blocks) in [
            (Sync, Content, false),
            (Sync, Sync, false),
            (Sync, Alone, true),
            (Content, Sync, true),
            (Content, Content, true),
            (Alone, Sync, true),
            (Alone, Content, true),
        ] {
            check(print(first, "t-0/0.log"), print(second, "t-0/0.log"), blocks);
        }
    }

    #[test]
    fn a_rename_touches_both_ends() {
        let rename = Footprint {
            manner: Manner::Alone,
            dir: 0,
            paths: [Some(Arc::from("t-0")), Some(Arc::from("t-0-delete"))],
        };
        check(rename.clone(), print(Manner::Content, "t-0/0.log"), true);
        check(rename.clone(), print(Manner::Content, "t-0-delete/0.log"), true);
        check(rename, print(Manner::Content, "u-0/0.log"), false);
    }
}
