//! wip
mod io;
pub use io::*;
