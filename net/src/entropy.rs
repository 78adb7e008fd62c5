//! Randomness from the operating system, for seeds and ids.

use dohle_wire::id::Uuid;
use rustix::rand::{GetRandomFlags, getrandom};

/// Fresh random bytes.
///
/// # Panics
/// When the operating system has none to give, which Linux never lets happen to so few bytes.
fn bytes<const N: usize>() -> [u8; N] {
    let mut bytes = [0; N];
    let mut filled = 0;
    while filled < N {
        match getrandom(&mut bytes[filled..], GetRandomFlags::empty()) {
            Ok(count) => filled += count,
            Err(rustix::io::Errno::INTR) => {}
            Err(why) => panic!("the operating system gives no random bytes: {why}"),
        }
    }
    bytes
}

/// A random seed.
pub(crate) fn seed() -> u64 {
    u64::from_ne_bytes(bytes())
}

/// A random id: version 4, not one of the reserved ones, and not beginning with a dash, which
/// command lines would take for an option (Kafka's `Uuid.randomUuid`).
pub(crate) fn uuid() -> Uuid {
    loop {
        let mut raw: [u8; 16] = bytes();
        raw[6] = raw[6] & 0x0f | 0x40;
        raw[8] = raw[8] & 0x3f | 0x80;
        let id = Uuid(raw);
        if !id.is_reserved() && !id.to_string().starts_with('-') {
            return id;
        }
    }
}
