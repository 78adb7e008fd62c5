//! One binary for all targets: `DOHLE_FUZZ_TARGET` says which.
#![no_main]

use std::sync::LazyLock;

use dohle_fuzz::{Target, target};
use libfuzzer_sys::fuzz_target;

static TARGET: LazyLock<Target> = LazyLock::new(|| {
    target(&std::env::var("DOHLE_FUZZ_TARGET").expect("DOHLE_FUZZ_TARGET names a target"))
});

fuzz_target!(|bytes: &[u8]| (TARGET.run)(bytes));
