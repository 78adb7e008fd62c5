//! Planted bugs: a rule switched off on purpose, to measure whether the simulator notices.
//!
//! Only a build with the feature `mutants` can plant one; elsewhere [`Mutants`] is empty and
//! every question to it is answered `false` at compile time.

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
}

impl Mutant {
    /// Every planted bug there is.
    pub const ALL: [Self; 5] = [
        Self::NoTornTailCheck,
        Self::NoSequenceCheck,
        Self::AckBeforeCompletion,
        Self::CommitBeforeCompletion,
        Self::LastGroupRecordForgotten,
    ];

    /// Its name on the command line.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::NoTornTailCheck => "no-torn-tail-check",
            Self::NoSequenceCheck => "no-sequence-check",
            Self::AckBeforeCompletion => "ack-before-completion",
            Self::CommitBeforeCompletion => "commit-before-completion",
            Self::LastGroupRecordForgotten => "last-group-record-forgotten",
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
