//! What property tests of all modules have in common.

use proptest::test_runner::{Config, FileFailurePersistence};

/// So many cases, unless `PROPTEST_CASES` says otherwise. A case that failed is kept in a file
/// beside the test, and is tried first from then on.
pub(crate) fn props(cases: u32) -> Config {
    let asked = Config::default();
    let quick = std::env::var_os("PROPTEST_CASES").is_none();
    Config {
        cases: if quick { cases } else { asked.cases },
        failure_persistence: Some(Box::new(FileFailurePersistence::WithSource("regressions"))),
        ..asked
    }
}
