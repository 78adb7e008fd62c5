//! A whole node in this process, over loopback and real files.

use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use dohle_core::config::BrokerConfig;
use dohle_net::{Node, NodeError, StartOptions};
use dohle_wire::codec::{Reader, Writer};
use dohle_wire::message::incremental_alter_configs_request::{
    AlterConfigsResource, AlterableConfig,
};
use dohle_wire::message::{
    ApiVersionsRequest, IncrementalAlterConfigsRequest, MetadataRequest, MetadataResponse, Request,
};
use dohle_wire::{Message, RequestHeader};

/// No test waits longer for an answer.
const PATIENCE: Duration = Duration::from_secs(20);

struct Folder(PathBuf);

impl Folder {
    fn new() -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("dohle-node-{}-{count}", std::process::id());
        let path = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&path).expect("a folder for temporary files");
        Self(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn options(data: &Path, more: &[(&str, &str)]) -> StartOptions {
    let data = data.display().to_string();
    let base = [("listeners", "PLAINTEXT://127.0.0.1:0"), ("log.dirs", data.as_str())];
    let all = base.iter().chain(more).map(|(key, value)| ((*key).into(), (*value).into()));
    let (config, warnings) = BrokerConfig::from_properties(&all.collect()).expect("valid");
    assert_eq!(warnings, []);
    StartOptions { config, cluster_id: None, signals: false }
}

fn start(data: &Path, more: &[(&str, &str)]) -> Node {
    Node::start(options(data, more)).expect("it starts")
}

fn connect(address: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect(address).expect("it accepts");
    stream.set_read_timeout(Some(PATIENCE)).expect("a timeout");
    stream.set_nodelay(true).expect("no delay");
    stream
}

fn request<R: Request>(version: i16, correlation_id: i32, request: &R) -> Vec<u8> {
    let header = RequestHeader {
        api_key: R::KEY.code(),
        api_version: version,
        correlation_id,
        client_id: Some("test".into()),
    };
    let mut writer = Writer::new();
    header.encode(&mut writer).expect("a header");
    request.encode(&mut writer, version).expect("a request");
    let body = writer.into_bytes().expect("no holes");
    let mut frame = u32::try_from(body.len()).expect("short").to_be_bytes().to_vec();
    frame.extend_from_slice(&body);
    frame
}

/// The next answer without its length.
fn answer(stream: &mut TcpStream) -> io::Result<Vec<u8>> {
    let mut prefix = [0; 4];
    stream.read_exact(&mut prefix)?;
    let mut frame = vec![0; u32::from_be_bytes(prefix) as usize];
    stream.read_exact(&mut frame)?;
    Ok(frame)
}

fn correlation(frame: &[u8]) -> i32 {
    i32::from_be_bytes(frame[..4].try_into().expect("four bytes"))
}

fn versions(id: i32) -> Vec<u8> {
    request(0, id, &ApiVersionsRequest::default())
}

/// Asks for metadata and returns where the broker says it is.
fn metadata(stream: &mut TcpStream) -> (String, i32) {
    stream.write_all(&request(1, 7, &MetadataRequest::default())).expect("sent");
    let frame = answer(stream).expect("an answer");
    assert_eq!(correlation(&frame), 7);
    let mut reader = Reader::new(bytes::Bytes::from(frame).slice(4..));
    let metadata = MetadataResponse::decode(&mut reader, 1).expect("valid");
    let broker = metadata.brokers.first().expect("a broker");
    (broker.host.to_string(), broker.port)
}

#[test]
fn it_starts_serves_stops_and_starts_again() {
    let folder = Folder::new();
    for round in 0..3 {
        let node = start(&folder.0, &[]);
        let address = node.address();
        let mut stream = connect(address);
        let told = metadata(&mut stream);
        assert_eq!(told, ("127.0.0.1".to_owned(), i32::from(address.port())), "as dialled");
        node.stop().expect("a clean stop");
        let mut rest = Vec::new();
        let end = stream.read_to_end(&mut rest);
        assert!(end.is_err() || rest.is_empty(), "the connection is over");
        assert!(TcpStream::connect(address).is_err(), "round {round}: nobody listens");
    }
}

#[test]
fn a_second_node_is_told_who_has_the_directory() {
    let folder = Folder::new();
    let node = start(&folder.0, &[]);
    match Node::start(options(&folder.0, &[])).map(|_| ()) {
        Err(why @ NodeError::Directory(_)) => {
            let text = why.to_string();
            assert!(text.contains(&folder.0.display().to_string()), "{text}");
        }
        other => panic!("{other:?}"),
    }
    node.stop().expect("a clean stop");
    start(&folder.0, &[]).stop().expect("a clean stop");
}

#[test]
fn a_taken_address_and_a_protected_listener_are_explained() {
    let (one, two) = (Folder::new(), Folder::new());
    let node = start(&one.0, &[]);
    let taken = format!("PLAINTEXT://{}", node.address());
    match Node::start(options(&two.0, &[("listeners", &taken)])).map(|_| ()) {
        Err(why @ NodeError::Bind { .. }) => assert!(why.to_string().contains("--listen"), "{why}"),
        other => panic!("{other:?}"),
    }
    match Node::start(options(&two.0, &[("listeners", "SSL://127.0.0.1:0")])).map(|_| ()) {
        Err(NodeError::Unsupported(why)) => {
            assert!(why.contains("SSL") && why.contains("PLAINTEXT"), "{why}");
        }
        other => panic!("{other:?}"),
    }
    node.stop().expect("a clean stop");
}

#[test]
fn answers_are_in_order_however_requests_are_cut() {
    let folder = Folder::new();
    let node = start(&folder.0, &[]);
    let mut stream = connect(node.address());
    let burst: Vec<u8> = (0..500).flat_map(versions).collect();
    for piece in burst.chunks(777) {
        stream.write_all(piece).expect("sent");
    }
    for id in 0..500 {
        assert_eq!(correlation(&answer(&mut stream).expect("an answer")), id);
    }
    for byte in versions(7) {
        stream.write_all(&[byte]).expect("sent");
    }
    assert_eq!(correlation(&answer(&mut stream).expect("an answer")), 7);
    node.stop().expect("a clean stop");
}

#[test]
fn strangers_and_oversized_requests_are_shown_the_door() {
    let folder = Folder::new();
    let node = start(&folder.0, &[("socket.request.max.bytes", "100000")]);
    let closed = |bytes: &[u8]| {
        let mut stream = connect(node.address());
        stream.write_all(bytes).expect("sent");
        let mut rest = Vec::new();
        let _ = stream.read_to_end(&mut rest);
        rest
    };
    assert!(closed(b"GET / HTTP/1.1\r\nhost: a\r\n\r\n").starts_with(b"HTTP/1.1 400 "));
    assert!(closed(&[0x16, 3, 1, 2, 0, 1, 0, 1]).is_empty());
    assert!(closed(&100_001u32.to_be_bytes()).is_empty());
    assert!(closed(&u32::MAX.to_be_bytes()).is_empty());
    metadata(&mut connect(node.address()));
    node.stop().expect("a clean stop");
}

#[test]
fn a_thousand_idle_connections_cost_little() {
    let folder = Folder::new();
    let node = start(&folder.0, &[]);
    metadata(&mut connect(node.address()));
    let before = resident_kib();
    let idle: Vec<TcpStream> = (0..1000)
        .map(|at| {
            let mut stream = connect(node.address());
            // Some have said something, some are in the middle of a request.
            match at % 3 {
                0 => drop(metadata(&mut stream)),
                1 => stream.write_all(&[0, 0, 16]).expect("sent"),
                _ => {
                    stream
                        .write_all(&[&[0, 0, 16, 0], [1; 200].as_slice()].concat())
                        .expect("sent");
                }
            }
            stream
        })
        .collect();
    let from = Instant::now();
    metadata(&mut connect(node.address()));
    assert!(from.elapsed() < Duration::from_secs(2), "{:?} among idle ones", from.elapsed());
    let each = resident_kib().saturating_sub(before) / 1000;
    assert!(each <= 12, "{each} KiB for an idle connection");
    drop(idle);
    node.stop().expect("a clean stop");
}

#[test]
fn a_slow_reader_bounds_nobody_but_itself() {
    let folder = Folder::new();
    let node = start(&folder.0, &[]);
    let mut slow = connect(node.address());
    slow.set_write_timeout(Some(Duration::from_millis(300))).expect("a timeout");
    let burst: Vec<u8> = (0..1000).flat_map(versions).collect();
    let before = resident_kib();
    let mut sent = 0;
    // Until the node reads no more.
    while sent < 64 * 1024 * 1024 && slow.write_all(&burst).is_ok() {
        sent += burst.len();
    }
    assert!(sent < 64 * 1024 * 1024, "it read {sent} bytes whose answers nobody reads");
    let grown = resident_kib().saturating_sub(before);
    assert!(grown < 16 * 1024, "{grown} KiB for one slow reader");
    metadata(&mut connect(node.address()));
    let mut answers = 0;
    slow.set_read_timeout(Some(Duration::from_secs(2))).expect("a timeout");
    while answers < 1000 {
        assert_eq!(correlation(&answer(&mut slow).expect("an answer")), answers);
        answers += 1;
    }
    slow.shutdown(Shutdown::Both).expect("shut down");
    node.stop().expect("a clean stop");
}

#[test]
fn connections_of_one_address_are_limited() {
    let folder = Folder::new();
    let node = start(&folder.0, &[("max.connections.per.ip", "2")]);
    let (mut one, mut two) = (connect(node.address()), connect(node.address()));
    metadata(&mut one);
    metadata(&mut two);
    let mut third = connect(node.address());
    assert_eq!(third.read(&mut [0; 1]).unwrap_or(0), 0, "it is closed at once");
    drop(one);
    let from = Instant::now();
    loop {
        let mut again = connect(node.address());
        again.write_all(&versions(1)).expect("sent");
        if answer(&mut again).is_ok() {
            break;
        }
        assert!(from.elapsed() < PATIENCE, "a seat that was left stays taken");
    }
    node.stop().expect("a clean stop");
}

#[test]
fn limits_of_connections_change_while_the_node_runs() {
    let folder = Folder::new();
    let node = start(&folder.0, &[("max.connections.per.ip", "1")]);
    let mut one = connect(node.address());
    metadata(&mut one);
    let mut refused = connect(node.address());
    assert_eq!(refused.read(&mut [0; 1]).unwrap_or(0), 0, "it is closed at once");
    let config = AlterableConfig {
        name: "max.connections.per.ip".into(),
        config_operation: 0,
        value: Some("2".into()),
    };
    let broker =
        AlterConfigsResource { resource_type: 4, resource_name: "1".into(), configs: vec![config] };
    let alter = IncrementalAlterConfigsRequest { resources: vec![broker], validate_only: false };
    one.write_all(&request(1, 7, &alter)).expect("sent");
    assert_eq!(correlation(&answer(&mut one).expect("an answer")), 7);
    metadata(&mut connect(node.address()));
    node.stop().expect("a clean stop");
}

/// Memory of this process in KiB.
fn resident_kib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("Linux");
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).expect("it is there");
    line.split_whitespace().nth(1).and_then(|kib| kib.parse().ok()).expect("a number")
}
