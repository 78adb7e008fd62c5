//! The search for damage raises no false alarm: nothing that happens here lets a closed segment
//! decay.

use super::{Oracles, Violation};
use crate::node::Node;

impl Oracles {
    /// Looks at what a node's search has found so far.
    ///
    /// # Errors
    /// That it found something.
    pub fn searched(&mut self, node: &Node) -> Result<(), Violation> {
        for shard in node.shards() {
            let found = shard.scrubbed();
            self.armed.searched = self.armed.searched.max(found.segments);
            self.armed.sealed = self.armed.sealed.max(found.sealed);
            if found.damages + found.bad_sums > 0 {
                return Err(Violation::new("false-alarm", format!("{found:?}")));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use dohle_core::disk::FilePath;
    use dohle_core::log::names::FileKind;
    use dohle_core::mutant::Mutants;

    use crate::choice::Choices;
    use crate::clock::SEC;
    use crate::scenario::populate;
    use crate::swarm::Swarm;
    use crate::world::{Halt, World};

    /// The time index of a closed segment that has sums.
    fn sealed(world: &World) -> Option<FilePath> {
        let node = &world.nodes[0];
        let logs = node.shards().flat_map(|shard| shard.partitions()).map(|open| open.log());
        let has = |path: &FilePath| node.disk.tree().content(path).is_some_and(|c| !c.is_empty());
        logs.flat_map(|log| log.settled().iter().map(move |segment| (log, segment.base)))
            .map(|(log, base)| [FileKind::Sums, FileKind::TimeIndex].map(|kind| (log, kind, base)))
            .map(|files| files.map(|(log, kind, base)| log.folder().join(&kind.name(base))))
            .find(|files| files.iter().all(has))
            .map(|[_, times]| times)
    }

    #[test]
    fn a_byte_that_decays_is_found_while_the_broker_runs() {
        let mut found = 0;
        for seed in 1..=8 {
            let mut choices = Choices::new(seed);
            let swarm = Swarm { length: 40 * SEC, ..Swarm::single(&mut choices) };
            let mut world = populate(choices, &swarm, Mutants::default());
            let ready = |world: &World| world.nodes[0].is_ready() && sealed(world).is_some();
            if !world.run(40 * SEC, ready).expect("no violation") {
                continue;
            }
            world.heal();
            let path = sealed(&world).expect("it was there");
            let last = world.nodes[0].disk.tree().content(&path).expect("there").len() as u64 - 1;
            world.nodes[0].disk.rot(&path, last, 1);
            let limit = world.kernel.time + 30 * SEC;
            match world.run(limit, |_| false) {
                Err(Halt::Violation(violation)) if violation.oracle == "false-alarm" => found += 1,
                other => panic!("seed {seed}: {} decayed: {other:?}", path.path),
            }
        }
        assert!(found > 0, "no run had closed segments");
    }
}
