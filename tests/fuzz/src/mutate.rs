//! Makes inputs of inputs: a few small changes each, that know what files look like.

use dohle_wire::record::{BATCH_HEADER_LEN, BatchHeader};

use super::Target;
use super::folder::Folder;

/// No input becomes larger.
const LEN_MAX: usize = 8 << 10;

/// A small generator.
#[derive(Clone, Debug)]
pub struct Dice(u64);

impl Dice {
    /// One for that seed.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    /// A number below `sides`, 0 if there is none.
    pub fn roll(&mut self, sides: usize) -> usize {
        match sides as u64 {
            0 => 0,
            sides => usize::try_from((self.next() >> 11) % sides).unwrap_or(0),
        }
    }

    fn byte(&mut self) -> u8 {
        self.next().to_le_bytes()[7]
    }

    fn one_in(&mut self, sides: usize) -> bool {
        self.roll(sides) == 0
    }
}

/// Numbers at which something ends.
const EDGES: [i64; 16] = [
    0,
    1,
    -1,
    2,
    60,
    61,
    127,
    128,
    255,
    65_535,
    i32::MAX as i64,
    i32::MIN as i64,
    u32::MAX as i64,
    i64::MAX,
    i64::MIN,
    i64::MAX - 1,
];

/// Where the fields of a batch begin, and how many bytes they have.
const FIELDS: [(usize, usize); 12] = [
    (0, 8),
    (8, 4),
    (12, 4),
    (17, 4),
    (21, 2),
    (23, 4),
    (27, 8),
    (35, 8),
    (43, 8),
    (51, 2),
    (53, 4),
    (57, 4),
];

/// A new input for `target`, made of one of its corpus.
#[must_use]
pub fn mutate(target: &Target, corpus: &[Vec<u8>], dice: &mut Dice) -> Vec<u8> {
    let mut bytes = corpus[dice.roll(corpus.len())].clone();
    let other = &corpus[dice.roll(corpus.len())];
    let is_folder = ["locate", "recovery", "verify"].contains(&target.name);
    let changes = 1 + dice.roll(6) * dice.roll(2);
    for _ in 0..changes {
        match is_folder && !dice.one_in(4) {
            true => change_folder(&mut bytes, other, dice),
            false => change(&mut bytes, other, dice),
        }
    }
    bytes.truncate(LEN_MAX);
    if !dice.one_in(4) {
        (target.repair)(&mut bytes);
    }
    bytes
}

fn change(bytes: &mut Vec<u8>, other: &[u8], dice: &mut Dice) {
    match dice.roll(11) {
        0 => flip(bytes, dice),
        1 => set(bytes, dice),
        2 | 3 => set_number(bytes, dice),
        4 => bytes.truncate(dice.roll(bytes.len() + 1)),
        5 => remove(bytes, dice),
        6 => repeat(bytes, dice),
        7 => splice(bytes, other, dice),
        8 => grow(bytes, dice),
        9 => set_decimal(bytes, dice),
        _ => set_field(bytes, dice),
    }
}

fn change_folder(bytes: &mut Vec<u8>, other: &[u8], dice: &mut Dice) {
    let (mut folder, other) = (Folder::read(bytes), Folder::read(other));
    let at = dice.roll(folder.files.len());
    match (dice.roll(12), folder.files.get_mut(at)) {
        (0, _) => folder.flags = dice.byte(),
        (1, _) => folder.recovery_point = offset(dice),
        (2, _) => (folder.durable, folder.log_start) = (offset(dice), offset(dice)),
        (3, Some(_)) => drop(folder.files.remove(at)),
        (4, Some(file)) => file.kind = dice.byte() % 20,
        (5, Some(file)) => file.base = offset(dice),
        (6, _) if !other.files.is_empty() => {
            folder.files.push(other.files[dice.roll(other.files.len())].clone());
        }
        (7, Some(file)) => {
            let again = file.clone();
            folder.files.push(again);
        }
        (_, Some(file)) => {
            let of = other.files.get(dice.roll(other.files.len()));
            change(&mut file.content, of.map_or(&[], |of| &of.content), dice);
        }
        _ => {}
    }
    *bytes = folder.write();
}

/// Mostly one that there may be something at.
fn offset(dice: &mut Dice) -> u16 {
    match dice.roll(4) {
        0 => u16::MAX,
        _ => u16::try_from(dice.roll(40)).unwrap_or(0),
    }
}

fn flip(bytes: &mut [u8], dice: &mut Dice) {
    let at = dice.roll(bytes.len());
    if let Some(byte) = bytes.get_mut(at) {
        *byte ^= 1 << dice.roll(8);
    }
}

fn set(bytes: &mut [u8], dice: &mut Dice) {
    let at = dice.roll(bytes.len());
    let value = [0, 1, 0x7f, 0x80, 0xff, dice.byte()][dice.roll(6)];
    if let Some(byte) = bytes.get_mut(at) {
        *byte = value;
    }
}

/// Puts an edge, or a number near the one that is there, anywhere.
fn set_number(bytes: &mut [u8], dice: &mut Dice) {
    let len = [2, 4, 8][dice.roll(3)];
    let at = dice.roll(bytes.len().saturating_sub(len) + 1);
    put(bytes, at, len, dice);
}

fn put(bytes: &mut [u8], at: usize, len: usize, dice: &mut Dice) {
    let Some(place) = bytes.get_mut(at..at + len) else { return };
    let mut old = [0; 8];
    old[8 - len..].copy_from_slice(place);
    let near = i64::from_be_bytes(old).wrapping_add(dice.roll(9) as i64 - 4);
    let edge = EDGES[dice.roll(EDGES.len())];
    let new = [near, edge, dice.roll(100) as i64][dice.roll(3)].to_be_bytes();
    place.copy_from_slice(&new[8 - len..]);
}

fn remove(bytes: &mut Vec<u8>, dice: &mut Dice) {
    let (at, len) = stretch(bytes, dice);
    bytes.drain(at..at + len);
}

fn repeat(bytes: &mut Vec<u8>, dice: &mut Dice) {
    let (at, len) = stretch(bytes, dice);
    let again = bytes[at..at + len].to_vec();
    let to = dice.roll(bytes.len() + 1);
    bytes.splice(to..to, again);
}

fn splice(bytes: &mut Vec<u8>, other: &[u8], dice: &mut Dice) {
    let (at, len) = stretch(other, dice);
    let to = dice.roll(bytes.len() + 1);
    let over = if dice.one_in(2) { len.min(bytes.len() - to) } else { 0 };
    bytes.splice(to..to + over, other[at..at + len].iter().copied());
}

fn grow(bytes: &mut Vec<u8>, dice: &mut Dice) {
    let to = dice.roll(bytes.len() + 1);
    let (count, fill) = (dice.roll(70), [0, 0xff, dice.byte()][dice.roll(3)]);
    bytes.splice(to..to, std::iter::repeat_n(fill, count));
}

fn stretch(bytes: &[u8], dice: &mut Dice) -> (usize, usize) {
    let at = dice.roll(bytes.len() + 1);
    let most = bytes.len() - at;
    let len = if dice.one_in(2) { dice.roll(most.min(16) + 1) } else { dice.roll(most + 1) };
    (at, len)
}

/// Another number in a text.
fn set_decimal(bytes: &mut Vec<u8>, dice: &mut Dice) {
    let digits: Vec<usize> = (0..bytes.len()).filter(|at| bytes[*at].is_ascii_digit()).collect();
    let Some(first) = digits.get(dice.roll(digits.len())).copied() else { return };
    let len = bytes[first..].iter().take_while(|byte| byte.is_ascii_digit()).count();
    let edge = EDGES[dice.roll(EDGES.len())];
    let number = [edge, dice.roll(40) as i64][dice.roll(2)].to_string();
    bytes.splice(first..first + len, number.into_bytes());
}

/// Another value in the header of a batch.
fn set_field(bytes: &mut [u8], dice: &mut Dice) {
    let (mut at, mut starts) = (0, Vec::new());
    while let Some(rest) = bytes.get(at..).filter(|rest| rest.len() >= BATCH_HEADER_LEN) {
        starts.push(at);
        let Ok(header) = BatchHeader::parse(rest) else { break };
        at = at.saturating_add(header.total_len());
    }
    let Some(start) = starts.get(dice.roll(starts.len())) else { return };
    let (field, len) = FIELDS[dice.roll(FIELDS.len())];
    put(bytes, start + field, len, dice);
}
