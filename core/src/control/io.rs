//! Ids of the control unit's own disk operations.

use crate::disk::{IoId, What};

/// The checkpoint files.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum CheckpointKind {
    RecoveryPoints,
    LogStarts,
    HighWatermarks,
    /// Recovery points by topic id, in Dohle's own file.
    Durable,
    /// Offsets below which Kafka has compacted; only read.
    Cleaned,
}

impl CheckpointKind {
    pub(super) const WRITTEN: [Self; 4] =
        [Self::RecoveryPoints, Self::LogStarts, Self::HighWatermarks, Self::Durable];

    pub(super) const ALL: [Self; 5] =
        [Self::RecoveryPoints, Self::LogStarts, Self::HighWatermarks, Self::Durable, Self::Cleaned];

    pub(super) const fn file(self) -> &'static str {
        match self {
            Self::RecoveryPoints => "recovery-point-offset-checkpoint",
            Self::LogStarts => "log-start-offset-checkpoint",
            Self::HighWatermarks => "replication-offset-checkpoint",
            Self::Durable => "dohle-recovery-point-checkpoint",
            Self::Cleaned => "cleaner-offset-checkpoint",
        }
    }
}

/// What an operation is about, beside the data directory.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) enum Token {
    /// `meta.properties`.
    Identity,
    /// `.kafka_cleanshutdown`.
    CleanStop,
    /// The remains of a used clean stop file are removed; nobody waits for that.
    Remains,
    /// What the directory holds.
    Listing,
    /// The file that reserves space.
    Reserve,
    /// A checkpoint file.
    Checkpoint(CheckpointKind),
}

const ALL: [Token; 10] = [
    Token::Identity,
    Token::CleanStop,
    Token::Remains,
    Token::Listing,
    Token::Reserve,
    Token::Checkpoint(CheckpointKind::RecoveryPoints),
    Token::Checkpoint(CheckpointKind::LogStarts),
    Token::Checkpoint(CheckpointKind::HighWatermarks),
    Token::Checkpoint(CheckpointKind::Durable),
    Token::Checkpoint(CheckpointKind::Cleaned),
];

/// The id of an operation about `token` in data directory `dir`.
pub(super) fn id(token: Token, dir: u16) -> IoId {
    let number = ALL.iter().position(|other| *other == token).expect("every token is listed");
    let end = i64::try_from(number).unwrap_or(0) << 16 | i64::from(dir);
    IoId { owner: IoId::UNIT, generation: 0, what: What::Meta, end }
}

/// What an id of the unit's own stands for.
pub(super) fn token(id: IoId) -> (Token, u16) {
    let number = usize::try_from(id.end >> 16).unwrap_or(usize::MAX);
    let token = ALL.get(number).copied().expect("ids come back as they were given");
    (token, u16::try_from(id.end & 0xffff).expect("16 bits fit"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_come_back() {
        for one in ALL {
            for dir in [0, 7, u16::MAX] {
                assert_eq!(token(id(one, dir)), (one, dir));
            }
        }
    }
}
