//! Which operations of a unit may not overtake which.
//!
//! Operations on paths where one contains the other, or that are equal, happen in the order
//! emitted. A sync in flight lets the file's later writes and reads pass: it makes durable what
//! was emitted before it, and they were not.

use std::collections::BTreeMap;
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

/// The paths that operations in flight, or waiting, touch.
#[derive(Default)]
pub(super) struct Busy {
    alone: Paths,
    content: Paths,
    syncs: Paths,
}

/// Counted paths by directory.
#[derive(Default)]
struct Paths {
    dirs: Vec<BTreeMap<Arc<str>, usize>>,
}

impl Busy {
    /// Whether an operation with this footprint must wait for one of these.
    pub(super) fn blocks(&self, print: &Footprint) -> bool {
        let hit = |busy: &Paths| print.each().any(|path| busy.touch(print.dir, path));
        match print.manner {
            Manner::Content => hit(&self.alone) || hit(&self.content),
            Manner::Sync => hit(&self.alone) || hit(&self.content),
            Manner::Alone => hit(&self.alone) || hit(&self.content) || hit(&self.syncs),
        }
    }

    pub(super) fn add(&mut self, print: &Footprint) {
        let paths = self.of(print.manner);
        for path in print.each() {
            paths.add(print.dir, path);
        }
    }

    pub(super) fn remove(&mut self, print: &Footprint) {
        let paths = self.of(print.manner);
        for path in print.each() {
            paths.remove(print.dir, path);
        }
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
    fn add(&mut self, dir: u16, path: &Arc<str>) {
        let dir = usize::from(dir);
        if self.dirs.len() <= dir {
            self.dirs.resize_with(dir + 1, BTreeMap::new);
        }
        *self.dirs[dir].entry(Arc::clone(path)).or_default() += 1;
    }

    fn remove(&mut self, dir: u16, path: &Arc<str>) {
        let paths = &mut self.dirs[usize::from(dir)];
        let count = paths.get_mut(path).expect("what is removed was added");
        *count -= 1;
        if *count == 0 {
            paths.remove(path);
        }
    }

    /// Whether `path`, a folder above it, or anything in it is among these.
    fn touch(&self, dir: u16, path: &str) -> bool {
        let Some(paths) = self.dirs.get(usize::from(dir)).filter(|paths| !paths.is_empty()) else {
            return false;
        };
        if path.is_empty() || paths.contains_key("") || paths.contains_key(path) {
            return true;
        }
        let mut above = path.rmatch_indices('/').map(|(at, _)| &path[..at]);
        if above.any(|folder| paths.contains_key(folder)) {
            return true;
        }
        let inside = format!("{path}/");
        let from = (Bound::Included(inside.as_str()), Bound::Unbounded);
        paths.range::<str, _>(from).next().is_some_and(|(next, _)| next.starts_with(&inside))
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
        busy.add(&first);
        assert_eq!(busy.blocks(&second), blocks, "{first:?} then {second:?}");
        busy.remove(&first);
        assert!(!busy.blocks(&second), "nothing is busy any more");
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
