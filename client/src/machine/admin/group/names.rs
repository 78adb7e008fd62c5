//! Names of the states and types of groups.

use std::fmt;
use std::str::FromStr;

macro_rules! names {
    ($(#[$attr:meta])* $kind:ident: $($(#[$doc:meta])* $variant:ident = $name:literal,)*) => {
        $(#[$attr])*
        #[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum $kind {
            $($(#[$doc])* $variant,)*
            /// Not told, or a name that this client does not know.
            Unknown,
        }

        impl $kind {
            /// Every one that has a name of its own.
            pub const ALL: &'static [Self] = &[$(Self::$variant),*];

            /// Kafka's name.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)*
                    Self::Unknown => "Unknown",
                }
            }

            /// By what a broker says; anything else is [`Self::Unknown`].
            pub(crate) fn told(name: &str) -> Self {
                name.parse().unwrap_or(Self::Unknown)
            }
        }

        impl FromStr for $kind {
            type Err = String;

            /// By Kafka's name, in capitals or not.
            fn from_str(text: &str) -> Result<Self, String> {
                let named = |kind: &&Self| kind.name().eq_ignore_ascii_case(text.trim());
                Self::ALL.iter().find(named).copied().ok_or_else(|| {
                    let names: Vec<&str> = Self::ALL.iter().map(|kind| kind.name()).collect();
                    format!("expected one of {}, found `{text}`", names.join(", "))
                })
            }
        }

        impl fmt::Display for $kind {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(self.name())
            }
        }
    };
}

names! {
    /// What a group is doing.
    GroupState:
    /// It has no members.
    Empty = "Empty",
    /// It is gone.
    Dead = "Dead",
    /// Every member has its assignment.
    Stable = "Stable",
    /// Classic: members are joining.
    PreparingRebalance = "PreparingRebalance",
    /// Classic: the members wait for their assignments.
    CompletingRebalance = "CompletingRebalance",
    /// Consumer: the broker computes assignments.
    Assigning = "Assigning",
    /// Consumer: members give up partitions and take new ones.
    Reconciling = "Reconciling",
    /// Streams: topics that the topology needs are missing.
    NotReady = "NotReady",
}

names! {
    /// Which protocol a group speaks.
    GroupType:
    /// The members agree among themselves (JoinGroup, SyncGroup).
    Classic = "Classic",
    /// The broker assigns (KIP-848).
    Consumer = "Consumer",
    /// Partitions are shared (KIP-932).
    Share = "Share",
    /// Kafka Streams (KIP-1071).
    Streams = "Streams",
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_in_any_case() {
        assert_eq!("stable".parse(), Ok(GroupState::Stable));
        assert_eq!("PREPARINGREBALANCE".parse(), Ok(GroupState::PreparingRebalance));
        assert_eq!(GroupType::told("consumer"), GroupType::Consumer);
        assert_eq!(GroupType::told(""), GroupType::Unknown);
        let refused = "busy".parse::<GroupState>().unwrap_err();
        assert!(refused.contains("Reconciling"), "{refused}");
    }
}
