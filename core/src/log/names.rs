//! Names of the files in a log's folder, Kafka's own (LogFileUtils).

use dohle_wire::id::Offset;

/// What a file in a log's folder is.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum FileKind {
    /// Record batches.
    Log,
    /// Offset index.
    Index,
    /// Time index.
    TimeIndex,
    /// Aborted transactions.
    TxnIndex,
    /// Producer state.
    Snapshot,
    /// Sums over the other files of a closed segment. (No other broker looks at it.)
    Sums,
}

impl FileKind {
    const ALL: [Self; 6] =
        [Self::Log, Self::Index, Self::TimeIndex, Self::TxnIndex, Self::Snapshot, Self::Sums];

    fn suffix(self) -> &'static str {
        match self {
            Self::Log => ".log",
            Self::Index => ".index",
            Self::TimeIndex => ".timeindex",
            Self::TxnIndex => ".txnindex",
            Self::Snapshot => ".snapshot",
            Self::Sums => ".sum",
        }
    }

    /// The name of the file of this kind for `base`: 20 digits and a suffix.
    #[must_use]
    pub fn name(self, base: Offset) -> String {
        format!("{:020}{}", base.0, self.suffix())
    }

    /// The kind and offset that `name` stands for, if it is a plain file of a log.
    #[must_use]
    pub fn parse(name: &str) -> Option<(Self, Offset)> {
        let (digits, rest) = name.split_at_checked(20)?;
        let kind = Self::ALL.into_iter().find(|kind| kind.suffix() == rest)?;
        if !digits.bytes().all(|b| b.is_ascii_digit()) {
            return None;
        }
        Some((kind, Offset(digits.parse().ok()?)))
    }
}

/// The file with a log's topic id.
pub const PARTITION_METADATA: &str = "partition.metadata";

/// The file with a log's leader epochs.
pub const LEADER_EPOCHS: &str = "leader-epoch-checkpoint";

/// The file that says where a log starts, before segments below that are removed. (Kafka knows
/// the start from a checkpoint of the whole directory alone, and does not look at this file.)
pub const LOG_START: &str = "log-start";

/// The file that says up to where checkpoints of the directory can be believed, if they were made
/// before the log was last truncated.
pub const TRUNCATED_TO: &str = "truncated-to";

/// The name of the partition whose log a folder will be when it has been copied
/// (`<partition>.<32 hexadecimal digits>-future`, as Kafka names them).
#[must_use]
pub fn future_of(folder: &str) -> Option<&str> {
    let (partition, id) = folder.strip_suffix("-future")?.rsplit_once('.')?;
    let unique = id.len() == 32 && id.bytes().all(|byte| byte.is_ascii_hexdigit());
    unique.then_some(partition)
}

/// Whether a file is left over from a deletion or a compaction that did not finish.
#[must_use]
pub fn is_leftover(name: &str) -> bool {
    [".deleted", ".cleaned", ".tmp"].iter().any(|end| name.ends_with(end))
        && !name.ends_with(".checkpoint.deleted")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_kafkas() {
        let name = FileKind::TimeIndex.name(Offset(4711));
        assert_eq!(name, "00000000000000004711.timeindex");
        assert_eq!(FileKind::parse(&name), Some((FileKind::TimeIndex, Offset(4711))));
        assert_eq!(FileKind::parse("0000000000000000471x.log"), None);
        assert_eq!(FileKind::parse("00000000000000004711.log.deleted"), None);
        assert!(is_leftover("00000000000000004711.log.deleted"));
        let unique = "0123456789abcdef0123456789abcdef";
        assert_eq!(future_of(&format!("a.b-3.{unique}-future")), Some("a.b-3"));
        assert_eq!(future_of(&format!("a.b-3.{unique}-delete")), None);
        assert_eq!(future_of("a.b-future"), None);
    }
}
