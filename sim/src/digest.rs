//! The digest of a run: a hash over everything that happened, the same on every machine.
//!
//! Its function is fixed here for good, so that two builds can be compared; it needs to be fast
//! and to spread well, not to withstand an enemy.

/// Collects 64-bit words and bytes into one number.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Digest(u64);

const MULTIPLIER: u64 = 0x9e37_79b9_7f4a_7c15;

impl Default for Digest {
    fn default() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }
}

impl Digest {
    /// Takes in one word.
    pub fn word(&mut self, word: u64) {
        self.0 = (self.0 ^ word).wrapping_mul(MULTIPLIER).rotate_left(29);
    }

    /// Takes in bytes and their number.
    pub fn bytes(&mut self, bytes: &[u8]) {
        self.word(bytes.len() as u64);
        let (words, rest) = bytes.as_chunks::<8>();
        for word in words {
            self.word(u64::from_le_bytes(*word));
        }
        let mut last = [0; 8];
        last[..rest.len()].copy_from_slice(rest);
        self.word(u64::from_le_bytes(last));
    }

    /// The number so far.
    #[must_use]
    pub fn value(self) -> u64 {
        let mixed = (self.0 ^ (self.0 >> 32)).wrapping_mul(MULTIPLIER);
        mixed ^ (mixed >> 29)
    }

    /// The digest of some bytes alone.
    #[must_use]
    pub fn of(bytes: &[u8]) -> u64 {
        let mut digest = Self::default();
        digest.bytes(bytes);
        digest.value()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_function_is_pinned() {
        assert_eq!(Digest::of(b""), 6_998_925_940_725_944_771);
        assert_eq!(Digest::of(b"jackdaw in a log"), 1_382_121_397_989_019_919);
    }

    #[test]
    fn length_and_order_count() {
        assert_ne!(Digest::of(b"\0"), Digest::of(b"\0\0"));
        assert_ne!(Digest::of(b"ab"), Digest::of(b"ba"));
    }
}
