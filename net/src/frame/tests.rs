//! Framing, however a stream is cut.

use bytes::BufMut;

use super::*;
use crate::testing::Dice;

const MAX: usize = 1024 * 1024;

fn framer(max: usize) -> (Framer, Arc<Budget>) {
    let budget = Budget::new(usize::MAX);
    (Framer::new(max, &budget), budget)
}

fn stream(frames: &[Vec<u8>]) -> Vec<u8> {
    let mut stream = Vec::new();
    for frame in frames {
        stream.put_i32(i32::try_from(frame.len()).expect("short"));
        stream.extend_from_slice(frame);
    }
    stream
}

/// Feeds `stream` in pieces of at most `piece` bytes, as a connection does.
fn cut_all(framer: &mut Framer, stream: &[u8], mut piece: impl FnMut() -> usize) -> Vec<Bytes> {
    let mut frames = Vec::new();
    let mut rest = stream;
    while !rest.is_empty() {
        let want = piece().min(rest.len());
        assert!(framer.has_room(Waker::noop()));
        if let Some(mut body) = framer.body() {
            let count = want.min(body.remaining_mut());
            assert!(count > 0, "a body that is not whole has room");
            body.put_slice(&rest[..count]);
            rest = &rest[count..];
            frames.extend(framer.finished_body());
        } else {
            let cut = framer.cut(&rest[..want], &mut |frame| {
                frames.push(frame);
                true
            });
            cut.expect("a valid stream");
            rest = &rest[want..];
        }
    }
    frames
}

fn some_frames(dice: &mut Dice) -> Vec<Vec<u8>> {
    let sizes = [8, 9, 100, 4 * 1024, 16 * 1024, 16 * 1024 + 1, 70_000, 300_000];
    (0..8)
        .map(|at| {
            let size = sizes[dice.below(sizes.len())];
            (0..size).map(|i| u8::try_from((i * 7 + at) % 251).expect("a byte")).collect()
        })
        .collect()
}

#[test]
fn any_cutting_of_a_stream_gives_the_same_frames() {
    for seed in 0..40 {
        let mut dice = Dice::seeded(seed);
        let frames = some_frames(&mut dice);
        let (mut framer, budget) = framer(MAX);
        let most = [1, 2, 3, 5, 1000, 64 * 1024][dice.below(6)];
        let found = cut_all(&mut framer, &stream(&frames), || 1 + dice.below(most));
        assert_eq!(found, frames, "seed {seed}, pieces of up to {most}");
        assert!(!framer.has_kept() && !framer.is_amid(), "nothing is left over");
        drop(found);
        assert_eq!(budget.used(), 0, "all memory went back");
    }
}

#[test]
fn one_byte_at_a_time() {
    let frames = some_frames(&mut Dice::seeded(1));
    let (mut framer, _) = framer(MAX);
    assert_eq!(cut_all(&mut framer, &stream(&frames), || 1), frames);
}

#[test]
fn an_announced_length_costs_nothing() {
    let (mut framer, budget) = framer(200 * 1024 * 1024);
    let announced = 100 * 1024 * 1024i32;
    let cut = framer.cut(&announced.to_be_bytes(), &mut |_| true);
    assert_eq!(cut, Ok(()));
    assert!(budget.used() <= FIRST_SIZE, "{} bytes for four", budget.used());
    let mut come = 0;
    for _ in 0..200 {
        assert!(framer.has_room(Waker::noop()));
        let mut body = framer.body().expect("a large frame is under way");
        let count = body.remaining_mut().min(1000);
        body.put_bytes(0, count);
        come += count;
        assert!(budget.used() <= FIRST_SIZE.max(GROWTH * come), "memory follows what came");
    }
}

#[test]
fn a_large_frame_ends_in_a_buffer_of_its_size() {
    let frame = vec![7; 300_001];
    let (mut framer, budget) = framer(MAX);
    let found = cut_all(&mut framer, &stream(std::slice::from_ref(&frame)), || 50_000);
    assert_eq!(found, [frame]);
    assert_eq!(budget.used(), 300_001);
}

#[test]
fn frames_that_nobody_wants_yet_are_kept() {
    let frames = vec![vec![1; 10], vec![2; 20_000], vec![3; 30]];
    let (mut framer, budget) = framer(MAX);
    let mut found = Vec::new();
    let bytes = stream(&frames);
    framer
        .cut(&bytes, &mut |frame| {
            found.push(frame);
            false
        })
        .expect("valid");
    assert_eq!(found, frames[..1]);
    assert!(budget.used() >= 20_000, "what is kept counts");
    for want in 2..=3 {
        assert!(framer.has_kept());
        framer
            .cut(&[], &mut |frame| {
                found.push(frame);
                false
            })
            .expect("valid");
        assert_eq!(found, frames[..want]);
    }
    assert!(!framer.has_kept());
}

fn check_refused(bytes: &[u8], fault: &Fault) {
    for piece in [1, bytes.len()] {
        let (mut framer, _) = framer(MAX);
        let mut result = Ok(());
        for part in bytes.chunks(piece) {
            result = framer.cut(part, &mut |_| panic!("no frame"));
            if result.is_err() {
                break;
            }
        }
        assert_eq!(result.as_ref(), Err(fault), "{}", bytes.escape_ascii());
    }
}

#[test]
fn what_is_no_frame_is_refused() {
    let max = MAX;
    check_refused(&[0x7f, 0xff, 0xff, 0xff], &Fault::TooLarge { size: i32::MAX as u32, max });
    check_refused(&[0, 0x10, 0, 1], &Fault::TooLarge { size: 1024 * 1024 + 1, max });
    check_refused(&[0xff; 4], &Fault::TooSmall(-1));
    check_refused(&[0x80, 0, 0, 0], &Fault::TooSmall(i32::MIN));
    check_refused(&[0; 4], &Fault::TooSmall(0));
    check_refused(&[0x16, 3, 1, 2], &Fault::Tls);
    check_refused(&[0x16, 3, 3, 0], &Fault::Tls);
    check_refused(b"GET ", &Fault::Http("GET ".to_owned()));
}

#[test]
fn an_http_request_is_named() {
    let (mut framer, _) = framer(MAX);
    let cut = framer.cut(b"GET /health HTTP/1.1\r\nhost: x\r\n\r\n", &mut |_| true);
    assert_eq!(cut, Err(Fault::Http("GET /health HTTP/1.1".to_owned())));
}

#[test]
fn only_the_first_bytes_can_be_foreign() {
    let verb = u32::from_be_bytes(*b"GET ") as usize;
    let (mut framer, _) = framer(verb);
    let mut bytes = stream(&[vec![0; 8]]);
    bytes.extend_from_slice(b"GET ");
    let mut count = 0;
    let cut = framer.cut(&bytes, &mut |_| {
        count += 1;
        true
    });
    assert_eq!((cut, count), (Ok(()), 1));
    assert!(framer.is_amid(), "a frame of that many bytes has begun");
}
