//! Parts of a log, and a log as a whole, against models that are too simple to be wrong.
//!
//! `PROPTEST_CASES` sets how many cases each property has.

mod epochs;
mod indexes;
mod logs;
mod producers;
