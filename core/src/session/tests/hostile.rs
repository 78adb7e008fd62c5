//! Frames that nobody in their right mind sends: an answer or a close, never a panic, and nothing
//! that waits for ever.

use dohle_wire::message::{
    ApiVersionsRequest, CreateTopicsRequest, DeleteRecordsRequest, DescribeConfigsRequest,
    DescribeTopicPartitionsRequest, ListOffsetsRequest, MetadataRequest,
};

use super::*;

/// A small generator of numbers (the constants are Knuth's).
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695);
        usize::try_from(self.0 >> 33).unwrap() % sides
    }

    fn byte(&mut self) -> u8 {
        u8::try_from(self.roll(256)).unwrap()
    }
}

/// Sends frames to one session, with random answers to some of what it asks, and sees that in the
/// end nothing is left.
fn survive(dice: &mut Dice, frames: &[Bytes]) {
    let mut world = World::with(&[], 2);
    for bytes in frames {
        world.step(Input::Frame(bytes.clone()));
        for (_, mail) in std::mem::take(&mut world.shard) {
            match mail {
                ToShard::Read(read) if dice.roll(2) == 0 => {
                    let outcome = |slot| readable(slot, u32::try_from(dice.roll(3_000)).unwrap());
                    let outcomes = read.parts.iter().map(|part| part.slot).map(outcome).collect();
                    world.answer(read.reply, Answer::Read(outcomes));
                }
                ToShard::Produce(produce) if dice.roll(2) == 0 => {
                    world.answer(produce.reply, appended(5));
                }
                _ => {}
            }
        }
        if world.closed.is_some() {
            return;
        }
    }
    for _ in 0..frames.len() + 2 {
        // Further than any wait that 32 bits of milliseconds can ask for.
        world.wait_ms(1 << 32);
    }
    assert_eq!(world.session.in_flight(), 0, "{:?}", world.session);
}

fn valid() -> Vec<Bytes> {
    let mut frames = Vec::new();
    for version in [3, 9, 12, 13] {
        frames.push(frame(version, 1, &produce(-1, version, batch())));
    }
    for version in [4, 11, 12, 13, 18] {
        frames.push(frame(version, 2, &fetch(version, 1, &[0, 1])));
    }
    for version in [7, 12, 15] {
        let request = FetchRequest { session_epoch: 0, ..fetch(version, 0, &[0, 1, 2]) };
        frames.push(frame(version, 3, &request));
    }
    frames.push(frame(9, 4, &MetadataRequest::default()));
    frames.push(frame(0, 5, &ApiVersionsRequest::default()));
    frames.push(frame(5, 6, &CreateTopicsRequest::default()));
    frames.push(frame(2, 7, &DeleteRecordsRequest::default()));
    frames.push(frame(4, 8, &DescribeConfigsRequest::default()));
    frames.push(frame(0, 9, &DescribeTopicPartitionsRequest::default()));
    frames.push(frame(11, 10, &ListOffsetsRequest::default()));
    frames
}

#[test]
fn mutated_frames() {
    let (frames, mut dice) = (valid(), Dice(1));
    for round in 0..30_000 {
        let mut bytes = frames[round % frames.len()].to_vec();
        for _ in 0..=dice.roll(4) {
            let at = dice.roll(bytes.len());
            bytes[at] = dice.byte();
        }
        if dice.roll(4) == 0 {
            bytes.truncate(dice.roll(bytes.len()));
        }
        let other = frames[dice.roll(frames.len())].clone();
        let all = match dice.roll(3) {
            0 => vec![bytes.into()],
            1 => vec![bytes.into(), other],
            _ => vec![other, bytes.into()],
        };
        survive(&mut dice, &all);
    }
}

#[test]
fn random_bytes_behind_every_header() {
    let mut dice = Dice(2);
    for round in 0..20_000 {
        let served = api::SERVED[round % api::SERVED.len()];
        let versions = usize::try_from(served.max - served.min + 1).unwrap();
        let version = served.min + i16::try_from(dice.roll(versions)).unwrap();
        let mut bytes = Vec::new();
        bytes.extend(served.key.code().to_be_bytes());
        bytes.extend(version.to_be_bytes());
        bytes.extend([0, 0, 0, 7, 255, 255, 0]);
        let len = dice.roll(60);
        // Mostly small numbers: large ones fail at the first length.
        bytes.extend(
            (0..len).map(|_| if dice.roll(3) == 0 { dice.byte() } else { dice.byte() & 3 }),
        );
        survive(&mut dice, &[bytes.into()]);
    }
}

#[test]
fn a_short_produce_request_that_announces_two_thousand_million_topics() {
    let header = [0, 0, 0, 3, 0, 0, 0, 1, 255, 255];
    let body = [255, 255, 0, 1, 0, 0, 0, 0, 0x7f, 0xff, 0xff, 0xff];
    let mut world = World::new();
    world.step(Input::Frame([&header[..], &body[..]].concat().into()));
    assert!(world.why_closed().contains("Produce v3"), "{}", world.why_closed());
}

#[test]
fn bytes_behind_a_request_are_ignored() {
    let request = MetadataRequest { topics: None, ..Default::default() };
    let mut bytes = frame(13, 1, &request).to_vec();
    bytes.extend([0, 0, 0]);
    let mut world = World::new();
    world.step(Input::Frame(bytes.into()));
    let response = world.response::<MetadataRequest>(Asked { version: 13, correlation: 1 });
    assert_eq!(response.topics.len(), 1);
}
