//! Starts, stops and crashes of a control unit on a disk in memory, its shards played by a few
//! lines that report whatever the image names.

mod crash;
mod lifecycle;
mod world;

use self::world::*;
