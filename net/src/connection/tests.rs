//! Connections over a stream in memory, with a session that does as it is told.

use std::fs::File;
use std::io::{self, Write};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use dohle_core::config::BrokerConfig;
use dohle_core::count::Count;
use dohle_core::disk::FileId;
use dohle_core::fx::Fx;
use dohle_core::image::Image;
use dohle_core::mail::{ShardId, ToControl, ToShard};
use dohle_core::time::{Deadline, Now};
use dohle_wire::codec::{Hole, Part};

use super::*;
use crate::disk::Handed;
use crate::testing::stream::{Far, Near, pair};
use crate::testing::{Dice, Folder};

const FRAME_MAX: usize = 1024 * 1024;

/// Does what the first byte of a frame says.
#[derive(Default)]
struct Toy {
    has_image: bool,
    /// Frames that wait for a letter before they are echoed, in order.
    waiting: Vec<Bytes>,
    deadline: Option<Instant>,
}

impl Toy {
    fn on_frame(&mut self, now: Now, frame: Bytes, fx: &mut Fx<Effect>) {
        assert!(self.has_image, "metadata comes before the first frame");
        match frame[0] {
            b'e' => fx.push(echo(&frame)),
            b's' => {
                self.waiting.push(frame);
                fx.push(Effect::Shard(ShardId(0), ToShard::Checkpoint));
            }
            b'p' => {
                self.waiting.push(frame);
                fx.push(Effect::Pause);
            }
            b'h' => fx.push(with_holes(&frame)),
            b'c' => fx.push(Effect::Close(CloseReason::BadRequest("as asked".to_owned()))),
            b't' => self.deadline = Some(now.mono.plus(Duration::from_millis(30))),
            other => panic!("no such command: {other}"),
        }
    }
}

impl Machine for Toy {
    type Input = Input;
    type Effect = Effect;

    fn tick() -> Input {
        Input::Tick
    }

    fn step(&mut self, now: Now, input: Input, fx: &mut Fx<Effect>) {
        match input {
            Input::Frame(frame) => self.on_frame(now, frame, fx),
            Input::Image(_) => self.has_image = true,
            Input::Closed => {}
            Input::Mail(_) => {
                let frame = self.waiting.remove(0);
                fx.push(echo(&frame));
                if frame[0] == b'p' {
                    fx.push(Effect::Resume);
                }
            }
            Input::Tick => {
                assert!(self.deadline.take().is_some_and(|at| at <= now.mono), "not before time");
                fx.push(echo(b"tick....".as_slice()));
            }
        }
    }

    fn deadline(&self) -> Deadline {
        self.deadline.map(|at| (at, "asked"))
    }
}

fn prefixed(bytes: &[u8]) -> Vec<u8> {
    let mut framed = u32::try_from(bytes.len()).expect("short").to_be_bytes().to_vec();
    framed.extend_from_slice(bytes);
    framed
}

fn echo(frame: &[u8]) -> Effect {
    let framed = Bytes::from(prefixed(frame));
    // In parts, as the core sends.
    Effect::Send(vec![Part::Bytes(framed.slice(..6)), Part::Bytes(framed.slice(6..))])
}

/// The whole of the test's file between two marks.
fn with_holes(frame: &[u8]) -> Effect {
    let len = u32::from_be_bytes(frame[4..8].try_into().expect("four bytes"));
    Effect::Send(vec![
        Part::Bytes(Bytes::copy_from_slice(&(len + 2).to_be_bytes())),
        Part::Bytes(Bytes::from_static(b"<")),
        Part::Hole(Hole { file: 1, position: 0, len: len / 2 }),
        Part::Hole(Hole { file: 1, position: u64::from(len / 2), len: len - len / 2 }),
        Part::Bytes(Bytes::from_static(b">")),
    ])
}

#[derive(Default)]
struct ToySwitch {
    image: Option<Arc<Image>>,
    mailbox: Mutex<Option<Arc<Mailbox>>>,
    letters: AtomicUsize,
    drives: AtomicUsize,
    file: Option<Arc<File>>,
}

impl Switch for Arc<ToySwitch> {
    fn image(&self, seen: &mut u64) -> Option<Arc<Image>> {
        (std::mem::replace(seen, 1) == 0).then(|| self.image.clone()).flatten()
    }

    fn to_shard(&self, _shard: ShardId, _mail: ToShard) {
        self.letters.fetch_add(1, Ordering::SeqCst);
    }

    fn drive(&self, _shard: ShardId) {
        self.drives.fetch_add(1, Ordering::SeqCst);
        for _ in 0..self.letters.swap(0, Ordering::SeqCst) {
            self.answer();
        }
    }

    fn to_control(&self, _mail: ToControl) {}

    fn file(&self, id: FileId) -> io::Result<Handed> {
        let file = self.file.clone().filter(|_| id == FileId(1));
        file.map(Handed::from).ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    fn count(&self, _count: &Count) {}

    fn offload(&self, job: Box<dyn FnOnce() + Send>) {
        std::thread::spawn(job);
    }
}

impl ToySwitch {
    fn answer(&self) {
        let mailbox = self.mailbox.lock().expect("no panic").clone().expect("a mailbox");
        let waker = mailbox.push(ToSession::Wake { request: 0 });
        if let Some(waker) = waker {
            waker.wake();
        }
    }
}

struct Bench {
    runtime: rt::Runtime,
    far: Far,
    switch: Arc<ToySwitch>,
    budget: Arc<Budget>,
    task: Option<tokio::task::JoinHandle<End>>,
    received: Vec<u8>,
}

impl Bench {
    fn new(seed: u64, cut: usize, stalls: usize) -> Self {
        Self::with(pair(seed, cut, stalls), Budget::new(usize::MAX), None)
    }

    fn with((near, far): (Near, Far), budget: Arc<Budget>, file: Option<File>) -> Self {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build();
        let runtime = runtime.expect("a runtime");
        let mailbox = Arc::<Mailbox>::default();
        let config = Arc::new(BrokerConfig::default());
        let switch = Arc::new(ToySwitch {
            image: Some(Arc::new(Image::empty("cluster".into(), config))),
            mailbox: Mutex::new(Some(Arc::clone(&mailbox))),
            file: file.map(Arc::new),
            ..ToySwitch::default()
        });
        let connection = Connection::new(Parts {
            transport: near,
            session: Toy::default(),
            switch: Arc::clone(&switch),
            mailbox,
            clock: Clock::start(),
            budget: Arc::clone(&budget),
            frame_max: FRAME_MAX,
        });
        let task = Some(runtime.spawn(connection));
        Self { runtime, far, switch, budget, task, received: Vec::new() }
    }

    /// Lets the connection run until `done`.
    fn until(&mut self, what: &str, mut done: impl FnMut(&mut Self) -> bool) {
        let from = std::time::Instant::now();
        while !done(self) {
            assert!(from.elapsed() < Duration::from_secs(20), "stuck: {what}");
            self.run(Duration::from_micros(100));
        }
    }

    fn run(&self, time: Duration) {
        self.runtime.block_on(async { rt::sleep(time).await });
    }

    fn expect(&mut self, bytes: &[u8]) {
        self.until("an answer", |this| {
            this.received.extend(this.far.take());
            this.received.len() >= bytes.len()
        });
        assert!(self.received == bytes, "{} bytes, other ones than sent", bytes.len());
        self.received.clear();
    }

    fn end(&mut self) -> End {
        let task = self.task.take().expect("it ends once");
        let limit = Duration::from_secs(20);
        let ended = self.runtime.block_on(async { tokio::time::timeout(limit, task).await });
        ended.expect("it ends").expect("no panic")
    }
}

fn frames(dice: &mut Dice, commands: &[u8]) -> Vec<Vec<u8>> {
    (0..12)
        .map(|at| {
            let size = [8, 50, 5_000, 40_000, 200_000][dice.below(5)];
            let mut frame = vec![at; size];
            frame[0] = commands[dice.below(commands.len())];
            frame
        })
        .collect()
}

/// However the stream is cut, and whichever way the answers come, they are whole and in order.
#[test]
fn answers_come_whole_and_in_order() {
    for seed in 0..30 {
        let mut dice = Dice::seeded(seed);
        let commands: &[u8] = if seed % 2 == 0 { b"e" } else { b"s" };
        let sent: Vec<_> = frames(&mut dice, commands).iter().map(|f| prefixed(f)).collect();
        let cut = [0, 1000, 30_000][dice.below(3)];
        let mut bench = Bench::new(seed, cut, dice.below(40));
        bench.far.send(&sent.concat());
        bench.expect(&sent.concat());
        bench.far.close();
        assert!(matches!(bench.end(), End::Peer));
        assert_eq!(bench.budget.used(), 0, "all memory went back");
    }
}

#[test]
fn one_byte_at_a_time() {
    let mut bench = Bench::new(3, 1, 0);
    let sent = [prefixed(b"e1234567"), prefixed(b"s1234567"), prefixed(b"e7654321")].concat();
    for byte in &sent {
        bench.far.send(&[*byte]);
        bench.run(Duration::ZERO);
    }
    // The shard answers after both echoes are out or before: by its own time.
    bench.until("all answers", |this| {
        this.received.extend(this.far.take());
        this.received.len() == sent.len()
    });
    assert!(bench.received.windows(8).any(|bytes| bytes == b"s1234567"));
}

/// A pipelined burst is given to the shard in one go.
#[test]
fn a_burst_is_one_drive() {
    let mut bench = Bench::new(1, 0, 0);
    let sent = prefixed(b"s1234567").repeat(100);
    bench.far.send(&sent);
    bench.expect(&sent);
    assert_eq!(bench.switch.drives.load(Ordering::SeqCst), 1);
}

#[test]
fn nothing_is_read_while_the_session_pauses() {
    let mut bench = Bench::new(1, 0, 0);
    let first = [prefixed(b"p1234567"), prefixed(b"e1111111")].concat();
    bench.far.send(&first);
    bench.run(Duration::from_millis(5));
    bench.far.send(&prefixed(b"e2222222"));
    bench.run(Duration::from_millis(5));
    assert_eq!(bench.far.unread(), 12, "what came later is left in the socket");
    assert!(bench.far.take().is_empty());
    bench.switch.answer();
    bench.expect(&[first, prefixed(b"e2222222")].concat());
}

/// A peer that does not read its answers is not read from, and memory stays bounded.
#[test]
fn a_slow_reader_is_left_alone() {
    let mut bench = Bench::new(1, 0, 0);
    bench.far.make_room(0);
    let frame = prefixed(&[b"e".as_slice(), &[0; 100_000]].concat());
    for _ in 0..100 {
        bench.far.send(&frame);
    }
    bench.run(Duration::from_millis(50));
    let read = 100 * frame.len() - bench.far.unread();
    assert!(read < 2 * OUT_BYTES_MAX, "{read} bytes were read for a peer that reads nothing");
    bench.far.make_room(usize::MAX);
    bench.expect(&frame.repeat(100));
}

#[test]
fn ranges_of_files_are_sent() {
    let folder = Folder::new();
    for len in [10, 16 * 1024, 700_000] {
        let path = folder.path().join("segment");
        let content: Vec<u8> = (0..len).map(|at| u8::try_from(at % 251).expect("a byte")).collect();
        File::create(&path).and_then(|mut file| file.write_all(&content)).expect("written");
        let file = File::open(&path).expect("there");
        let budget = Budget::new(usize::MAX);
        let mut bench = Bench::with(pair(len, 5000, 10), budget, Some(file));
        let size = u32::try_from(len).expect("short");
        bench.far.send(&prefixed(&[b"h...".as_slice(), &size.to_be_bytes()].concat()));
        let body = [b"<".as_slice(), &content, b">"].concat();
        bench.expect(&prefixed(&body));
    }
}

#[test]
fn a_range_that_is_gone_ends_the_connection() {
    let mut bench = Bench::new(1, 0, 0);
    bench.far.send(&prefixed(b"h...\0\0\0\x08"));
    bench.until("the end", |this| this.far.near_is_closed());
    bench.far.close();
    assert!(matches!(bench.end(), End::File(_)));
}

#[test]
fn what_was_sent_before_a_close_arrives() {
    let mut bench = Bench::new(1, 3, 20);
    let last = prefixed(b"e1234567");
    bench.far.send(&[last.clone(), prefixed(b"c1234567"), prefixed(b"e-never--")].concat());
    bench.until("the end of the stream", |this| this.far.near_is_closed());
    bench.expect(&last);
    bench.far.close();
    assert!(matches!(bench.end(), End::Session(CloseReason::BadRequest(_))));
    assert!(bench.far.take().is_empty(), "nothing follows the end");
}

#[test]
fn strangers_are_recognised() {
    let mut bench = Bench::new(1, 0, 0);
    bench.far.send(b"GET / HTTP/1.1\r\n\r\n");
    bench.until("the end of the stream", |this| this.far.near_is_closed());
    let answer = String::from_utf8(bench.far.take()).expect("text");
    let (head, body) = answer.split_once("\r\n\r\n").expect("a head and a body");
    assert!(head.starts_with("HTTP/1.1 400 "), "{head}");
    assert!(head.contains(&format!("content-length: {}", body.len())), "{head}: {}", body.len());
    bench.far.close();
    assert!(matches!(bench.end(), End::Fault(Fault::Http(_))));

    let mut bench = Bench::new(1, 0, 0);
    bench.far.send(&[0x16, 3, 1, 2, 0, 1, 0, 1, 0xfc, 3, 3]);
    bench.until("the end of the stream", |this| this.far.near_is_closed());
    bench.far.close();
    assert!(matches!(bench.end(), End::Fault(Fault::Tls)));
}

#[test]
fn a_request_that_is_too_large_ends_the_connection() {
    let mut bench = Bench::new(1, 0, 0);
    bench.far.send(&u32::try_from(FRAME_MAX + 1).expect("short").to_be_bytes());
    assert!(matches!(bench.end(), End::Fault(Fault::TooLarge { .. })));
}

#[test]
fn a_broken_stream_ends_the_connection() {
    let mut bench = Bench::new(1, 0, 0);
    bench.far.send(&prefixed(b"e1234567")[..5]);
    bench.run(Duration::from_millis(2));
    bench.far.reset();
    assert!(matches!(bench.end(), End::Broken(_)));
}

#[test]
fn a_session_is_woken_at_its_deadline() {
    let mut bench = Bench::new(1, 0, 0);
    let from = std::time::Instant::now();
    bench.far.send(&prefixed(b"t1234567"));
    bench.expect(&prefixed(b"tick...."));
    assert!(from.elapsed() >= Duration::from_millis(29));
}

/// A request of a size that waits for memory when there is none.
fn large(size: usize) -> Vec<u8> {
    prefixed(&[b"e".as_slice(), &vec![0; size]].concat())
}

/// While memory is used up a large request waits until memory is given back; small ones do not.
#[test]
fn a_used_up_budget_stops_large_requests_alone() {
    let budget = Budget::new(100_000);
    let (others, one) = (budget.account(), budget.account());
    let (mut used, mut beyond) = (others.lease(), one.lease());
    used.add(100_000);
    assert!(one.grow(&mut beyond, 1, std::task::Waker::noop()), "the one that goes on");
    let mut bench = Bench::with(pair(1, 0, 0), Arc::clone(&budget), None);
    for _ in 0..3 {
        let small = prefixed(&[b"e".as_slice(), &[0; 60_000]].concat());
        bench.far.send(&small);
        bench.expect(&small);
    }
    let large = large(300_000);
    bench.far.send(&large);
    bench.run(Duration::from_millis(10));
    assert!(bench.far.unread() > 200_000, "it waits");
    assert!(budget.pressed());
    drop((used, beyond));
    bench.expect(&large);
}

/// Who brings a large request too slowly has to go when others wait for memory, and not before.
#[test]
fn a_slow_request_ends_when_others_wait() {
    let budget = Budget::new(100_000);
    let mut slow = Bench::with(pair(1, 0, 0), Arc::clone(&budget), None);
    slow.far.send(&large(900_000)[..100_000]);
    slow.run(PACE_TIME.mul_f32(1.2));
    slow.far.send(&[0; 100]);
    let waiting = budget.account();
    let mut lease = waiting.lease();
    let mut waits = || !waiting.grow(&mut lease, 50_000, std::task::Waker::noop());
    assert!(waits(), "nothing is left");
    assert!(matches!(slow.end(), End::Slow));
    assert!(!waits());
}

/// Whose request waits for memory is not slow.
#[test]
fn who_waits_for_memory_may_do_so() {
    let budget = Budget::new(100_000);
    let first = budget.account();
    let mut lease = first.lease();
    assert!(first.grow(&mut lease, 90_000, std::task::Waker::noop()));
    let mut bench = Bench::with(pair(1, 0, 0), Arc::clone(&budget), None);
    let large = large(300_000);
    bench.far.send(&large);
    bench.run(PACE_TIME.mul_f32(2.2));
    assert!(budget.pressed());
    drop(lease);
    bench.expect(&large);
}
