//! What is in the data directories, for DescribeLogDirs.
//!
//! State: descriptions for which the space on the disks is being looked up; the first shard does
//! that for all of them.

use super::*;
use crate::disk::IoOk;
use crate::mail::{DirSizes, LogSize};

/// Generation of look-ups of space among the unit's own operations.
const LOOK: u32 = 2;

/// Descriptions that wait.
#[derive(Clone, Debug, Default)]
pub(super) struct Sizes {
    next: i64,
    waiting: BTreeMap<i64, Waiting>,
}

#[derive(Clone, Debug)]
struct Waiting {
    reply: ReplyTo,
    dirs: BTreeMap<u16, DirSizes>,
    missing: usize,
}

/// Whether an operation of the unit was a look-up of space.
pub(super) fn is_look(done: &IoDone) -> bool {
    done.id.generation == LOOK
}

impl Shard {
    pub(super) fn on_log_sizes(&mut self, reply: ReplyTo, fx: &mut Fx<Effect>) {
        let dirs = self.log_sizes();
        if self.id != ShardId(0) {
            return answer_to(reply, Answer::Sizes(dirs.into_values().collect()), fx);
        }
        let count = u16::try_from(self.config.log_dirs.len()).unwrap_or(u16::MAX);
        let usable: Vec<u16> = (0..count).filter(|dir| !self.failed_dirs.contains(dir)).collect();
        self.sizes.next += 1;
        let token = self.sizes.next;
        for dir in &usable {
            let end = token << 16 | i64::from(*dir);
            let id = IoId { owner: IoId::UNIT, generation: LOOK, what: What::Meta, end };
            fx.push(Effect::Disk(DiskOp::Space { id, dir: *dir }));
        }
        let missing = usable.len();
        self.sizes.waiting.insert(token, Waiting { reply, dirs, missing });
        self.finish_sizes(token, fx);
    }

    /// A look-up ended. What cannot be looked up is not told.
    pub(super) fn on_space(&mut self, done: &IoDone, fx: &mut Fx<Effect>) {
        let (token, dir) = (done.id.end >> 16, u16::try_from(done.id.end & 0xffff).unwrap_or(0));
        let Some(waiting) = self.sizes.waiting.get_mut(&token) else { return };
        waiting.missing -= 1;
        if let Ok(IoOk::Space(space)) = done.result {
            dir_sizes(&mut waiting.dirs, dir).space = Some(space);
        }
        self.finish_sizes(token, fx);
    }

    fn finish_sizes(&mut self, token: i64, fx: &mut Fx<Effect>) {
        let complete = self.sizes.waiting.get(&token).is_some_and(|waiting| waiting.missing == 0);
        if !complete {
            return;
        }
        if let Some(waiting) = self.sizes.waiting.remove(&token) {
            let dirs = waiting.dirs.into_values().collect();
            answer_to(waiting.reply, Answer::Sizes(dirs), fx);
        }
    }

    fn log_sizes(&self) -> BTreeMap<u16, DirSizes> {
        let mut dirs = BTreeMap::new();
        for dir in &self.failed_dirs {
            dir_sizes(&mut dirs, *dir).failed = true;
        }
        for partition in self.partitions() {
            let log = partition.log();
            let size = LogSize { partition: partition.id(), bytes: log.size(), future: None };
            dir_sizes(&mut dirs, log.folder().dir).logs.push(size);
        }
        for shown in self.moves.shown() {
            let Some(current) = self.slots.get(shown.slot).and_then(Slot::open) else { continue };
            let future = Some(current.log().end().minus(shown.end));
            let size = LogSize { partition: current.id(), bytes: shown.bytes, future };
            dir_sizes(&mut dirs, shown.dir).logs.push(size);
        }
        for sizes in dirs.values_mut() {
            sizes.logs.sort_by_key(|log| (log.partition.topic, log.partition.index));
        }
        dirs
    }
}

fn dir_sizes(dirs: &mut BTreeMap<u16, DirSizes>, dir: u16) -> &mut DirSizes {
    dirs.entry(dir).or_insert_with(|| DirSizes { dir, ..DirSizes::default() })
}
