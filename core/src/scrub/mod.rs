//! The search for damage in closed segments, before a copy of them is needed.
//!
//! [`job`] goes through one segment, [`walk`] through the batches in it, [`damage`] is what they
//! find. Which segment is next, and how fast all that goes, is a shard's affair (`shard::scrub`).
//!
//! Must never know: partitions, clients, what becomes of damage.

pub mod damage;
pub mod job;
pub mod walk;
