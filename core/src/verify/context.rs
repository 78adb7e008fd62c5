//! What the data directory around a partition says of it.

use dohle_wire::id::Offset;

use super::finding::Problems;
use super::text::{self, Key, Offsets};
use super::{Entry, Files, Survey};

/// The checkpoints of a data directory.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) enum Checkpoint {
    Recovery,
    LogStarts,
    HighWatermarks,
    Cleaned,
    /// Recovery points by topic id.
    Durable,
}

impl Checkpoint {
    pub(super) const ALL: [Self; 5] =
        [Self::Recovery, Self::LogStarts, Self::HighWatermarks, Self::Cleaned, Self::Durable];

    pub(super) const fn file(self) -> &'static str {
        match self {
            Self::Recovery => "recovery-point-offset-checkpoint",
            Self::LogStarts => "log-start-offset-checkpoint",
            Self::HighWatermarks => "replication-offset-checkpoint",
            Self::Cleaned => "cleaner-offset-checkpoint",
            Self::Durable => "dohle-recovery-point-checkpoint",
        }
    }
}

pub(super) const IDENTITY: &str = "meta.properties";
pub(super) const CLEAN_STOP: &str = ".kafka_cleanshutdown";

/// Topics that every broker compacts.
const COMPACTED: [&str; 4] =
    ["__consumer_offsets", "__transaction_state", "__share_group_state", "__remote_log_metadata"];

/// What is known of a data directory.
#[derive(Clone, Debug, Default)]
pub(super) struct Context {
    /// There is a data directory.
    pub(super) known: bool,
    /// The broker stopped cleanly.
    pub(super) clean: bool,
    /// In the order of [`Checkpoint::ALL`]; none of a file that is not there.
    checkpoints: [Option<Offsets>; 5],
}

impl Context {
    /// The entries of a checkpoint.
    pub(super) fn entries(&self, which: Checkpoint) -> Option<&Offsets> {
        let at = Checkpoint::ALL.iter().position(|each| *each == which)?;
        self.checkpoints.get(at)?.as_ref()
    }

    /// What a checkpoint says of a partition.
    pub(super) fn get(&self, which: Checkpoint, key: Option<&Key>) -> Option<Offset> {
        self.entries(which)?.get(key?).map(|(_, offset)| *offset)
    }

    /// Whether every offset of a partition has to be there. Where no cleaner has ever been,
    /// nothing was compacted.
    pub(super) fn is_dense(&self, key: Option<&Key>) -> bool {
        let Some((topic, _)) = key.filter(|_| self.known) else { return false };
        match self.entries(Checkpoint::Cleaned) {
            None => true,
            Some(cleaned) => {
                let compacted = COMPACTED.contains(&topic.as_str());
                !compacted && !cleaned.keys().any(|(cleaned, _)| cleaned == topic)
            }
        }
    }
}

impl<F: Files> Survey<'_, F> {
    /// Reads what the files of the data directory say, and whether they say it well.
    pub(super) fn context(&mut self, root: &[Entry]) -> Result<Context, F::Error> {
        let mut context = Context::default();
        for entry in root.iter().filter(|entry| !entry.is_dir) {
            let name = entry.name.as_str();
            let checkpoint = Checkpoint::ALL.iter().position(|each| each.file() == name);
            if checkpoint.is_none() && name != IDENTITY && name != CLEAN_STOP {
                continue;
            }
            let Some(bytes) = self.whole(name, entry.len)? else { continue };
            let mut problems = Problems::default();
            match checkpoint {
                Some(at) => {
                    context.checkpoints[at] = Some(text::offsets(&bytes, &mut problems));
                }
                None if name == IDENTITY => text::identity(&bytes, &mut problems),
                None => context.clean = text::clean_stop(&bytes, &mut problems),
            }
            context.known = true;
            self.tell(name, problems);
        }
        Ok(context)
    }
}
