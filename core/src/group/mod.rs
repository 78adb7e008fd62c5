//! The coordinator of the groups whose names hash to one partition of `__consumer_offsets`: a
//! ledger on that partition.
//!
//! State: groups by name, each with its committed offsets and, when it has members, the classic
//! protocol's state (members, generation, who waits in a join or sync). Inputs: requests, the end
//! of a wait, topics that are gone, and records read back when the coordinator begins. Effects:
//! answers, and records to append with the answers that wait until they are committed.
//!
//! Durable facts change by [`GroupCoordinator::replay`] and by what is appended; sessions, joins
//! and timers are soft and begin anew with the coordinator: everyone in a remembered generation
//! gets a whole session timeout to say something (Kafka's `GroupCoordinatorShard`).
//!
//! Invariants: the generation of a group never goes back (G1); a member is in at most one
//! generation, and in a stable one has exactly the assignment that its leader gave (G2); a static
//! instance stands for at most one member (G6); a request is answered once; an offset is shown
//! only when it is committed (answers that show state leave behind what was appended before).
//!
//! Must never know: wire versions, logs, offsets of its own partition, connections.

pub mod classic;
pub(crate) mod codec;
pub mod place;
pub mod record;
pub mod request;

use crate::mail::ReplyTo;

use self::record::Record;
use self::request::Answer;

/// What a coordinator wants done.
#[derive(Clone, Debug, PartialEq)]
pub enum Effect {
    /// Answer now.
    Answer(ReplyTo, Answer),
    /// Append these records together; the answers leave once they, and everything appended
    /// before, are committed. Without records, only the latter.
    Commit(Vec<Record>, Vec<(ReplyTo, Answer)>),
    /// Something that an operator should read: why a group rebalances.
    Note(String),
}
