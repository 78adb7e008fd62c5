//! Planted bugs: a rule switched off on purpose, to measure whether the simulator notices.
//!
//! Only a build with the feature `mutants` can plant one; elsewhere [`Mutants`] is empty and
//! every question to it is answered `false` at compile time.
//!
//! What the broker's own assertions find, an oracle outside may never see. To measure the oracles
//! alone, a build with mutants can switch the assertions of this crate off, for a thread.

/// A planted bug, named after the rule it breaks.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Mutant {
    /// Recovery takes whatever lies at the end of a segment as a batch (breaks L7).
    NoTornTailCheck,
    /// A producer's batch is appended whatever its sequence (breaks P1, P2).
    NoSequenceCheck,
    /// A produce request is answered before its write completed (breaks the promise of acks).
    AckBeforeCompletion,
    /// A commit of offsets is answered before its record is committed.
    CommitBeforeCompletion,
    /// A coordinator does not learn the last record of its log.
    LastGroupRecordForgotten,
    /// A coordinator reads no batch that is larger than its buffer (KAFKA-9065; breaks LV2).
    LoadStopsAtLargeBatch,
    /// A coordinator believes in groups that were deleted (Redpanda 4900; breaks G8).
    GroupTombstoneIgnored,
    /// Commits are accepted from members of any generation (breaks G3).
    NoGenerationCheck,
    /// A static member started anew takes the place of the old one in a stable group only
    /// (KAFKA-8500; breaks G7).
    InstanceReplacedWhenStable,
    /// Ids of members come out of the time of their group's last change (KAFKA-8715; breaks G7).
    MemberIdFromTime,
    /// Members may take for ever to sync (KAFKA-12890; breaks G10).
    NoSyncTimeout,
    /// Members that do not join are waited for all the same (KAFKA-9752; breaks G10).
    NoJoinTimeout,
    /// Offsets expire while members are between two generations (KAFKA-13636; breaks G9).
    OffsetsExpireInRebalance,
    /// Offsets whose records name no time of expiry expired long ago (KAFKA-8069; breaks G4).
    MissingExpiryIsPast,
    /// A member takes on an epoch before it has given up its partitions (KAFKA-19974; breaks G1).
    EpochBeforeRevocation,
    /// A partition is given away that somebody still owns (breaks G1).
    OwnedPartitionGiven,
    /// Members may take for ever to give up partitions (breaks G10).
    NoRevocationTimeout,
    /// A log that is cut at or past its end keeps the epoch that its leader never wrote in
    /// (KAFKA-10706; breaks L3).
    EpochsOutliveTruncation,
    /// A log that is emptied begins anew in memory only (as KAFKA-9491; breaks L2, L8).
    EmptiedLogForgetsStart,
    /// A bound for readers that lies where a segment begins is taken for the end of the log
    /// (KAFKA-9196; breaks R14).
    BoundLostAtRoll,
    /// The first records of a later segment count as written before they are (KAFKA-698; breaks
    /// R14, L7).
    WrittenAtAppend,
    /// The active segment keeps its index when the log is cut, and rolls when that is full, though
    /// it holds nothing (KAFKA-6492; breaks L6).
    IndexOutlivesTruncation,
    /// Producers are not loaded anew when the log is cut (KAFKA-12153; breaks P4, T4).
    ProducersOutliveTruncation,
    /// Recovery builds on a snapshot of producers past what it scans (as KAFKA-5249; breaks P4).
    SnapshotBeyondScan,
    /// A log counts as stopped cleanly as soon as it is written (as KAFKA-15375; breaks L7).
    ClosedBeforeSealed,
    /// The file of leader epochs is replaced without a sync, and believed as it is found
    /// (KAFKA-16541; breaks L3, L7).
    EpochsNotSynced,
    /// Segments are removed by where they stand in a list that has changed (KAFKA-12955; breaks
    /// L7).
    WrongSegmentsRemoved,
    /// Recovery need not look where epochs began that are not on disk yet, and believes those that
    /// are (breaks L3, L10).
    EpochsNotAwaited,
    /// Recovery rebuilds indexes from the recovery point on only (breaks L6).
    MissingIndexIgnored,
    /// Recovery builds on a snapshot of producers whose following records are deleted (breaks P4).
    SnapshotBelowStart,
    /// Records count as durably deleted before the new log start is durable (breaks L10).
    DeletedAtOnce,
    /// Recovery takes damage in deleted records for damage of the log (breaks L7).
    DeletedHasToBeSound,
    /// Recovery believes an epoch on disk that the log contradicts (breaks L3).
    EpochsNotCorrected,
    /// Recovery takes a read that brought fewer bytes than were asked for for the end of the file
    /// (breaks L7).
    ShortReadIsEnd,
    /// Recovery cuts a log at bytes that came wrong once (breaks L7).
    DamageCutOnSight,
    /// Recovery takes any sound batch, whatever its offsets are (breaks L1, L7).
    OffsetsNotChecked,
    /// Recovery cuts a log also where it was known to be durable (breaks L7).
    DamageCutAnywhere,
    /// A file with an offset is believed whatever its checksum says (breaks L2, L8).
    StartBelieved,
    /// A snapshot of producers is believed whatever its checksum says (breaks P4).
    SnapshotBelieved,
    /// Recovery does not learn from the records which transactions were aborted (breaks T3).
    AbortedNotReplayed,
    /// Aborted transactions that were cut off stay known (breaks T3).
    AbortedOutliveTruncation,
    /// What a compaction has not yet given its names is swept away (breaks L9).
    SwapThrownAway,
    /// A compaction that has not got that far is finished all the same (breaks L9).
    SwapNotComplete,
    /// The search for damage goes through segments whose files are still being written (breaks its
    /// promise to tell damage only).
    SettledTooSoon,
    /// A damaged file of aborted transactions is taken for an empty one (breaks T3).
    AbortedFileIgnored,
    /// What sums say of the file of aborted transactions is not looked at (breaks T3).
    AbortedFileBelieved,
    /// A log under a full disk is opened anew as if all that was appended were there (breaks L7).
    ReopenedAsWritten,
    /// A log that could not be opened while the disk was full never is (breaks LV1).
    StarvedForgotten,
    /// Recovery keeps a batch that lies where it does not belong, and cuts off what does (breaks L7).
    MisplacedBatchKept,
    /// Recovery goes on behind records that are missing (breaks L1, L7).
    GapBelieved,
    /// A log that moves to another directory leaves the old one before it has its new name there
    /// (breaks L7).
    CurrentRemovedFirst,
    /// A copy takes the place of its log before it is durable (breaks L7).
    FutureNotSealed,
    /// Records are appended to a log that its copy is about to replace (breaks L7).
    WritesDuringSwap,
    /// Whoever coordinates groups on a log that moves begins anew (breaks G10).
    CoordinatorEndsInMove,
    /// Folders that are set aside one after the other get the same name.
    StrayNamedTwice,
    /// A checkpoint says of a segment that goes on that it ended there, closed (breaks T3).
    RollBelieved,
    /// A log that lost its last segment forgets the producers of what was deleted before (breaks P4).
    EmptyForgetsProducers,
    /// A clean stop does not wait for segments that are being deleted (breaks L7).
    ClosedBeforeDeleted,
    /// What Kafka's cleaner did not finish is removed in any order (breaks L7).
    SwapMarkFirst,
    /// A log begins its second segment before it is on disk where it starts (breaks L7).
    RollBeforeStart,
    /// Recovery writes indexes and files of aborted transactions at once (breaks T3).
    SealedAtOnce,
    /// Records are written before the folder says whose they are (breaks C5).
    RecordsBeforeOwner,
    /// Bytes count as synced once their sync is asked for (breaks L11).
    SyncedWhenAsked,
    /// What a copy of a log has not synced is not counted (breaks L11).
    CopiesNotCounted,
    /// Recovery cuts later segments off, whatever is known to be in them (breaks L7).
    LaterSegmentsCut,
}

impl Mutant {
    /// Every planted bug there is.
    pub const ALL: [Self; 65] = [
        Self::NoTornTailCheck,
        Self::NoSequenceCheck,
        Self::AckBeforeCompletion,
        Self::CommitBeforeCompletion,
        Self::LastGroupRecordForgotten,
        Self::LoadStopsAtLargeBatch,
        Self::GroupTombstoneIgnored,
        Self::NoGenerationCheck,
        Self::InstanceReplacedWhenStable,
        Self::MemberIdFromTime,
        Self::NoSyncTimeout,
        Self::NoJoinTimeout,
        Self::OffsetsExpireInRebalance,
        Self::MissingExpiryIsPast,
        Self::EpochBeforeRevocation,
        Self::OwnedPartitionGiven,
        Self::NoRevocationTimeout,
        Self::EpochsOutliveTruncation,
        Self::EmptiedLogForgetsStart,
        Self::BoundLostAtRoll,
        Self::WrittenAtAppend,
        Self::IndexOutlivesTruncation,
        Self::ProducersOutliveTruncation,
        Self::SnapshotBeyondScan,
        Self::ClosedBeforeSealed,
        Self::EpochsNotSynced,
        Self::WrongSegmentsRemoved,
        Self::EpochsNotAwaited,
        Self::MissingIndexIgnored,
        Self::SnapshotBelowStart,
        Self::DeletedAtOnce,
        Self::DeletedHasToBeSound,
        Self::EpochsNotCorrected,
        Self::ShortReadIsEnd,
        Self::DamageCutOnSight,
        Self::OffsetsNotChecked,
        Self::DamageCutAnywhere,
        Self::StartBelieved,
        Self::SnapshotBelieved,
        Self::AbortedNotReplayed,
        Self::AbortedOutliveTruncation,
        Self::SwapThrownAway,
        Self::SwapNotComplete,
        Self::SettledTooSoon,
        Self::AbortedFileIgnored,
        Self::AbortedFileBelieved,
        Self::ReopenedAsWritten,
        Self::StarvedForgotten,
        Self::MisplacedBatchKept,
        Self::GapBelieved,
        Self::CurrentRemovedFirst,
        Self::FutureNotSealed,
        Self::WritesDuringSwap,
        Self::CoordinatorEndsInMove,
        Self::StrayNamedTwice,
        Self::RollBelieved,
        Self::EmptyForgetsProducers,
        Self::ClosedBeforeDeleted,
        Self::SwapMarkFirst,
        Self::RollBeforeStart,
        Self::SealedAtOnce,
        Self::RecordsBeforeOwner,
        Self::SyncedWhenAsked,
        Self::CopiesNotCounted,
        Self::LaterSegmentsCut,
    ];

    /// The bug of that name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|mutant| mutant.name() == name)
    }

    /// Its name on the command line.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::NoTornTailCheck => "no-torn-tail-check",
            Self::NoSequenceCheck => "no-sequence-check",
            Self::AckBeforeCompletion => "ack-before-completion",
            Self::CommitBeforeCompletion => "commit-before-completion",
            Self::LastGroupRecordForgotten => "last-group-record-forgotten",
            Self::LoadStopsAtLargeBatch => "load-stops-at-large-batch",
            Self::GroupTombstoneIgnored => "group-tombstone-ignored",
            Self::NoGenerationCheck => "no-generation-check",
            Self::InstanceReplacedWhenStable => "instance-replaced-when-stable",
            Self::MemberIdFromTime => "member-id-from-time",
            Self::NoSyncTimeout => "no-sync-timeout",
            Self::NoJoinTimeout => "no-join-timeout",
            Self::OffsetsExpireInRebalance => "offsets-expire-in-rebalance",
            Self::MissingExpiryIsPast => "missing-expiry-is-past",
            Self::EpochBeforeRevocation => "epoch-before-revocation",
            Self::OwnedPartitionGiven => "owned-partition-given",
            Self::NoRevocationTimeout => "no-revocation-timeout",
            Self::EpochsOutliveTruncation => "epochs-outlive-truncation",
            Self::EmptiedLogForgetsStart => "emptied-log-forgets-start",
            Self::BoundLostAtRoll => "bound-lost-at-roll",
            Self::WrittenAtAppend => "written-at-append",
            Self::IndexOutlivesTruncation => "index-outlives-truncation",
            Self::ProducersOutliveTruncation => "producers-outlive-truncation",
            Self::SnapshotBeyondScan => "snapshot-beyond-scan",
            Self::ClosedBeforeSealed => "closed-before-sealed",
            Self::EpochsNotSynced => "epochs-not-synced",
            Self::WrongSegmentsRemoved => "wrong-segments-removed",
            Self::EpochsNotAwaited => "epochs-not-awaited",
            Self::MissingIndexIgnored => "missing-index-ignored",
            Self::SnapshotBelowStart => "snapshot-below-start",
            Self::DeletedAtOnce => "deleted-at-once",
            Self::DeletedHasToBeSound => "deleted-has-to-be-sound",
            Self::EpochsNotCorrected => "epochs-not-corrected",
            Self::ShortReadIsEnd => "short-read-is-end",
            Self::DamageCutOnSight => "damage-cut-on-sight",
            Self::OffsetsNotChecked => "offsets-not-checked",
            Self::DamageCutAnywhere => "damage-cut-anywhere",
            Self::StartBelieved => "start-believed",
            Self::SnapshotBelieved => "snapshot-believed",
            Self::AbortedNotReplayed => "aborted-not-replayed",
            Self::AbortedOutliveTruncation => "aborted-outlive-truncation",
            Self::SwapThrownAway => "swap-thrown-away",
            Self::SwapNotComplete => "swap-not-complete",
            Self::SettledTooSoon => "settled-too-soon",
            Self::AbortedFileIgnored => "aborted-file-ignored",
            Self::AbortedFileBelieved => "aborted-file-believed",
            Self::ReopenedAsWritten => "reopened-as-written",
            Self::StarvedForgotten => "starved-forgotten",
            Self::MisplacedBatchKept => "misplaced-batch-kept",
            Self::GapBelieved => "gap-believed",
            Self::CurrentRemovedFirst => "current-removed-first",
            Self::FutureNotSealed => "future-not-sealed",
            Self::WritesDuringSwap => "writes-during-swap",
            Self::CoordinatorEndsInMove => "coordinator-ends-in-move",
            Self::StrayNamedTwice => "stray-named-twice",
            Self::RollBelieved => "roll-believed",
            Self::EmptyForgetsProducers => "empty-forgets-producers",
            Self::ClosedBeforeDeleted => "closed-before-deleted",
            Self::SwapMarkFirst => "swap-mark-first",
            Self::RollBeforeStart => "roll-before-start",
            Self::SealedAtOnce => "sealed-at-once",
            Self::RecordsBeforeOwner => "records-before-owner",
            Self::SyncedWhenAsked => "synced-when-asked",
            Self::CopiesNotCounted => "copies-not-counted",
            Self::LaterSegmentsCut => "later-segments-cut",
        }
    }
}

/// The bugs planted in a unit: none, outside a mutant build.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub struct Mutants {
    #[cfg(feature = "mutants")]
    planted: Option<Mutant>,
}

impl Mutants {
    /// Plants one bug.
    #[cfg(feature = "mutants")]
    #[must_use]
    pub fn only(mutant: Mutant) -> Self {
        Self { planted: Some(mutant) }
    }

    /// Whether `mutant` is planted.
    #[cfg(feature = "mutants")]
    #[must_use]
    pub fn has(self, mutant: Mutant) -> bool {
        self.planted == Some(mutant)
    }

    /// Whether `mutant` is planted: never, in this build.
    #[cfg(not(feature = "mutants"))]
    #[must_use]
    pub const fn has(self, _mutant: Mutant) -> bool {
        false
    }
}

#[cfg(feature = "mutants")]
thread_local! {
    static ASSERTING: std::cell::Cell<bool> = const { std::cell::Cell::new(true) };
}

/// Switches the assertions of this crate on or off for what the current thread does.
#[cfg(feature = "mutants")]
pub fn assert_rules(on: bool) {
    ASSERTING.set(on);
}

/// Whether assertions of this crate count in the current thread.
#[cfg(feature = "mutants")]
#[doc(hidden)]
#[must_use]
pub fn asserts_rules() -> bool {
    ASSERTING.get()
}
