//! Arbitrary values from a seed.

use bytes::Bytes;
use dohle_wire::Records;
use dohle_wire::id::Uuid;

/// Something of which there are arbitrary values for each version of a message.
pub(crate) trait Arbitrary {
    /// A value that `version` can carry.
    fn arbitrary(g: &mut Generator, version: i16) -> Self;
}

/// Source of arbitrary primitives; the same seed gives the same ones.
pub(crate) struct Generator {
    state: u64,
}

const CHARACTERS: [char; 8] = ['a', 'b', 'Z', '0', '_', '-', 'é', '漢'];

impl Generator {
    pub(crate) fn new(seed: u64) -> Self {
        Self { state: seed }
    }

    /// Next number of the splitmix64 sequence.
    pub(crate) fn u64(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.state ^ (self.state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below `end`.
    pub(crate) fn below(&mut self, end: usize) -> usize {
        (self.u64() % end as u64) as usize
    }

    /// A number of which small ones, extremes and others are equally likely.
    pub(crate) fn i64(&mut self) -> i64 {
        match self.below(4) {
            0 => self.below(5) as i64 - 2,
            1 => i64::MAX,
            2 => i64::MIN,
            _ => self.u64().cast_signed(),
        }
    }

    // Cutting off high bits turns the extremes of one type into small numbers of another, so the
    // narrow types have their own.

    pub(crate) fn i32(&mut self) -> i32 {
        [self.i64() as i32, i32::MAX, i32::MIN, -1][self.below(4)]
    }

    pub(crate) fn i16(&mut self) -> i16 {
        [self.i64() as i16, i16::MAX, i16::MIN, -1][self.below(4)]
    }

    pub(crate) fn i8(&mut self) -> i8 {
        self.u64() as i8
    }

    pub(crate) fn u16(&mut self) -> u16 {
        self.u64() as u16
    }

    pub(crate) fn f64(&mut self) -> f64 {
        self.i64() as f64 / 8.0
    }

    pub(crate) fn bool(&mut self) -> bool {
        self.below(2) == 1
    }

    pub(crate) fn uuid(&mut self) -> Uuid {
        let bits = u128::from(self.u64()) << 64 | u128::from(self.u64());
        [Uuid::ZERO, Uuid::METADATA_TOPIC, Uuid::from_u128(bits)][self.below(3)]
    }

    pub(crate) fn string(&mut self) -> String {
        let len = [0, 1, 5, 140][self.below(4)];
        (0..len).map(|_| CHARACTERS[self.below(CHARACTERS.len())]).collect()
    }

    pub(crate) fn bytes(&mut self) -> Bytes {
        // The longest ones become parts of their own in a frame.
        let len = [0, 1, 130, 700][self.below(4)];
        (0..len).map(|_| self.u64() as u8).collect()
    }

    pub(crate) fn records(&mut self) -> Records {
        Records::Bytes(self.bytes())
    }

    pub(crate) fn option<T>(&mut self, value: impl FnOnce(&mut Self) -> T) -> Option<T> {
        self.bool().then(|| value(self))
    }

    pub(crate) fn vec<T>(&mut self, mut value: impl FnMut(&mut Self) -> T) -> Vec<T> {
        let len = [0, 1, 1, 2, 3][self.below(5)];
        (0..len).map(|_| value(self)).collect()
    }

    /// `frame` with a few bytes overwritten, removed or repeated.
    pub(crate) fn mutate(&mut self, frame: &[u8]) -> Bytes {
        let mut bytes = frame.to_vec();
        for _ in 0..=self.below(3) {
            if !bytes.is_empty() {
                self.mutate_once(&mut bytes);
            }
        }
        Bytes::from(bytes)
    }

    fn mutate_once(&mut self, bytes: &mut Vec<u8>) {
        let at = self.below(bytes.len());
        match self.below(5) {
            0 => bytes[at] = self.u64() as u8,
            1 => bytes[at] ^= 1 << self.below(8),
            2 => bytes[at..].iter_mut().take(5).for_each(|byte| *byte = 0xff),
            3 => drop(bytes.remove(at)),
            _ => bytes.insert(at, bytes[at]),
        }
    }
}
