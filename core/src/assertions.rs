//! In mutant builds only: `assert!` and its kin in this crate can be switched off, see
//! [`crate::mutant::assert_rules`]. Everywhere else they are the standard library's.

macro_rules! assert {
    ($($what:tt)*) => {
        if $crate::mutant::asserts_rules() {
            ::core::assert!($($what)*);
        }
    };
}

macro_rules! assert_eq {
    ($($what:tt)*) => {
        if $crate::mutant::asserts_rules() {
            ::core::assert_eq!($($what)*);
        }
    };
}

#[allow(unused_macros, reason = "nothing says it yet, and the next one shall be silent too")]
macro_rules! assert_ne {
    ($($what:tt)*) => {
        if $crate::mutant::asserts_rules() {
            ::core::assert_ne!($($what)*);
        }
    };
}
