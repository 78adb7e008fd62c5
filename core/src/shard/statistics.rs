//! What a shard's logs amount to, for those who watch the node.

use super::*;
use crate::mail::{LogStatistics, ShardStatistics};
use crate::partition::Partition;

impl Shard {
    pub(super) fn on_statistics(&self, reply: ReplyTo, fx: &mut Fx<Effect>) {
        answer_to(reply, Answer::Statistics(Box::new(self.statistics())), fx);
    }

    fn statistics(&self) -> ShardStatistics {
        let mut all = ShardStatistics {
            unflushed: self.slots.unflushed.by_dir().collect(),
            failed_dirs: self.failed_dirs.clone(),
            ..ShardStatistics::default()
        };
        for slot in self.by_id.values().filter_map(|slot| self.slots.get(*slot)) {
            match slot {
                Slot::Open(partition) => all.logs.push(log_statistics(partition)),
                Slot::Opening(_) => all.opening += 1,
                Slot::Starved(_) | Slot::Failed(_) => all.offline += 1,
                Slot::Deleting(_) => {}
            }
        }
        all
    }
}

fn log_statistics(partition: &Partition) -> LogStatistics {
    let log = partition.log();
    LogStatistics {
        partition: partition.id(),
        start: log.log_start(),
        end: log.end(),
        high_watermark: partition.high_watermark(),
        bytes: log.size(),
        segments: log.segments().len(),
    }
}
