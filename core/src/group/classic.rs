//! Groups of the classic protocol: members join, one of them assigns, all fetch what they got.

/// How far a group has come (Kafka's `ClassicGroupState`).
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum ClassicState {
    /// Members are joining.
    PreparingRebalance,
    /// All have joined; the leader has not assigned yet.
    CompletingRebalance,
    /// Everyone has a part.
    Stable,
    /// It has no members, perhaps offsets.
    Empty,
    /// It is no more.
    Dead,
}

impl ClassicState {
    /// Its name in DescribeGroups and ListGroups.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::PreparingRebalance => "PreparingRebalance",
            Self::CompletingRebalance => "CompletingRebalance",
            Self::Stable => "Stable",
            Self::Empty => "Empty",
            Self::Dead => "Dead",
        }
    }
}
