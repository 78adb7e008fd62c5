//! What a shard holds in one of its slots.

use std::sync::Arc;

use dohle_wire::error::ErrorCode;

use crate::config::topic::TopicConfig;
use crate::image::PartitionImage;
use crate::log::recover::Recovery;
use crate::mail::PartitionId;
use crate::partition::Partition;

/// A partition at some stage of its life.
#[derive(Clone, Debug)]
pub(super) enum Slot {
    /// Its log is being opened.
    Opening(Box<Opening>),
    /// It serves.
    Open(Box<Partition>),
    /// Its log cannot be opened while the disk is full.
    Starved(Box<Opening>),
    /// Its disk or its log is broken.
    Failed(Gone),
    /// Its topic was deleted; the folder is on its way out.
    Deleting(Gone),
}

/// A partition whose log is being opened, with what it will be opened for.
#[derive(Clone, Debug)]
pub(super) struct Opening {
    pub(super) id: PartitionId,
    pub(super) recovery: Recovery,
    pub(super) config: Arc<TopicConfig>,
    pub(super) state: Arc<PartitionImage>,
    /// The folder of the log whose place it takes; it goes when this one is open.
    pub(super) leaves: Option<crate::disk::FilePath>,
}

/// What is left of a partition that does not serve.
#[derive(Clone, Debug)]
pub(super) struct Gone {
    /// Where its folder is now, and the data directory it is in.
    pub(super) folder: crate::disk::FilePath,
}

impl Slot {
    pub(super) fn open(&self) -> Option<&Partition> {
        match self {
            Self::Open(partition) => Some(partition),
            Self::Opening(_) | Self::Starved(_) | Self::Failed(_) | Self::Deleting(_) => None,
        }
    }

    pub(super) fn open_mut(&mut self) -> Option<&mut Partition> {
        match self {
            Self::Open(partition) => Some(partition),
            Self::Opening(_) | Self::Starved(_) | Self::Failed(_) | Self::Deleting(_) => None,
        }
    }

    pub(super) fn is_opening(&self) -> bool {
        matches!(self, Self::Opening(_))
    }

    /// Whether nothing is left to be closed.
    pub(super) fn is_settled(&self) -> bool {
        match self {
            Self::Open(partition) => partition.is_closed(),
            Self::Opening(_) => false,
            Self::Starved(_) | Self::Failed(_) | Self::Deleting(_) => true,
        }
    }

    /// The partition, if it serves.
    ///
    /// # Errors
    /// KAFKA_STORAGE_ERROR when its disk failed or is full, LEADER_NOT_AVAILABLE while it is being opened.
    pub(super) fn partition(&self) -> Result<&Partition, ErrorCode> {
        self.open().ok_or_else(|| self.refusal())
    }

    pub(super) fn partition_mut(&mut self) -> Result<&mut Partition, ErrorCode> {
        let refusal = self.refusal();
        self.open_mut().ok_or(refusal)
    }

    fn refusal(&self) -> ErrorCode {
        match self {
            Self::Starved(_) | Self::Failed(_) => ErrorCode::KafkaStorageError,
            Self::Deleting(_) => ErrorCode::UnknownTopicOrPartition,
            Self::Opening(_) | Self::Open(_) => ErrorCode::LeaderNotAvailable,
        }
    }
}
