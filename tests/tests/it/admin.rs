//! The admin port: what it says of a broker that is used, and what it does with odd visitors.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::time::{Duration, Instant};

use dohle_client::api::{Admin, Consumer, Producer};
use dohle_client::config::{AdminConfig, ConsumerConfig, ProducerConfig};
use dohle_client::machine::TopicPartition;
use dohle_client::machine::admin::NewTopic;
use dohle_client::machine::consumer::Start;
use dohle_client::machine::producer::ProducerRecord;
use dohle_codec::NativeCodecs;
use dohle_net::client::Tokio;

use crate::broker::Broker;

const PATIENCE: Duration = Duration::from_secs(20);

/// Sends bytes and gives all that comes back.
fn talk(address: SocketAddr, request: &str) -> String {
    let mut stream = TcpStream::connect(address).expect("it listens");
    stream.set_read_timeout(Some(PATIENCE)).expect("a timeout");
    stream.write_all(request.as_bytes()).expect("sent");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("text, and an end");
    answer
}

/// Status and body of a page.
fn get(address: SocketAddr, path: &str) -> (u16, String) {
    let answer = talk(address, &format!("GET {path} HTTP/1.1\r\nhost: x\r\n\r\n"));
    let (head, body) = answer.split_once("\r\n\r\n").expect("a head");
    let status = head.split(' ').nth(1).expect("a status").parse().expect("a number");
    (status, body.to_owned())
}

/// The value of a metric with these labels.
fn value(page: &str, metric: &str) -> Option<f64> {
    let line = page.lines().find_map(|line| line.strip_prefix(metric)?.strip_prefix(' '))?;
    line.trim().parse().ok()
}

/// Writes ten records of a hundred bytes and reads them again.
async fn use_topic(servers: &str) {
    let config = AdminConfig::to(servers).expect("an address");
    let admin = Admin::new(Tokio::new(), config).expect("valid");
    admin.create_topics(vec![NewTopic::new("watched", 2)]).await.expect("answered");
    let codecs = Arc::new(NativeCodecs);
    let config = ProducerConfig::to(servers).expect("an address");
    let producer = Producer::new(Tokio::new(), config, codecs.clone()).expect("valid");
    for _ in 0..10 {
        let record = ProducerRecord::new("watched", vec![7; 100]).with_partition(1);
        producer.send(record).await.expect("acknowledged");
    }
    let config = ConsumerConfig::to(servers).expect("an address");
    let mut consumer = Consumer::new(Tokio::new(), config, codecs).expect("valid");
    consumer.assign([(TopicPartition::new("watched", 1), Start::Earliest)]);
    let mut read = 0;
    while read < 10 {
        let polled = consumer.poll(PATIENCE).await;
        read += polled.records.iter().map(|(_, records)| records.len()).sum::<usize>();
    }
}

#[test]
fn metrics_say_what_a_broker_does() {
    let broker = Broker::start("metrics");
    assert_eq!(get(broker.admin(), "/health/live"), (200, "live\n".to_owned()));
    assert_eq!(get(broker.admin(), "/health/ready"), (200, "ready\n".to_owned()));
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    runtime.block_on(use_topic(&broker.servers()));
    let (status, page) = get(broker.admin(), "/metrics");
    assert_eq!(status, 200);
    assert!(page.ends_with("# EOF\n"), "{page}");
    let at = |metric: &str| value(&page, metric).unwrap_or_else(|| panic!("{metric} in {page}"));
    let traffic = "kafka_server_brokertopicmetrics";
    assert_eq!(at(&format!("{traffic}_messagesin_total{{topic=\"watched\"}}")), 10.0);
    let bytes = at(&format!("{traffic}_bytesin_total{{topic=\"watched\"}}"));
    assert!(bytes > 1_000.0);
    assert_eq!(at(&format!("{traffic}_failedproducerequests_total{{topic=\"watched\"}}")), 0.0);
    assert!(at(&format!("{traffic}_bytesout_total{{topic=\"watched\"}}")) >= bytes);
    let log =
        |name: &str| at(&format!("kafka_log_log_{name}{{topic=\"watched\",partition=\"1\"}}"));
    assert_eq!((log("logstartoffset"), log("logendoffset"), log("size")), (0.0, 10.0, bytes));
    let produced = at("kafka_network_requestmetrics_totaltimems_count{request=\"Produce\"}");
    assert!((1.0..=10.0).contains(&produced));
    assert_eq!(
        at("kafka_network_requestmetrics_totaltimems_bucket{le=\"+Inf\",request=\"Produce\"}"),
        produced
    );
    assert_eq!(at("kafka_controller_kafkacontroller_globalpartitioncount"), 2.0);
    assert_eq!(at("kafka_controller_kafkacontroller_activecontrollercount"), 1.0);
    assert_eq!(at("kafka_server_replicamanager_underreplicatedpartitions"), 0.0);
    assert_eq!(at("dohle_scrape_silent_shards"), 0.0);
    assert!(at("process_resident_memory_bytes") > 1e6);
}

#[test]
fn odd_visitors_get_an_answer_and_are_not_waited_for() {
    let broker = Broker::start("visitors");
    let admin = broker.admin();
    assert_eq!(get(admin, "/nothing").0, 404);
    assert_eq!(get(admin, "/").0, 200);
    let post = talk(admin, "POST /metrics HTTP/1.1\r\nhost: x\r\ncontent-length: 0\r\n\r\n");
    assert!(post.starts_with("HTTP/1.1 405 ") && post.contains("allow: GET, HEAD"), "{post}");
    assert!(talk(admin, "GET\r\n\r\n").starts_with("HTTP/1.1 400 "));
    assert!(
        talk(admin, &format!("GET /{} HTTP/1.1\r\n\r\n", "x".repeat(1 << 20)))
            .starts_with("HTTP/1.1 4")
    );
}

/// A probe that is answered late has a broker restarted that is well.
#[test]
fn those_who_come_to_no_end_make_room() {
    let broker = Broker::start("seats");
    let admin = broker.admin();
    // Three times as many as there are seats.
    for half in ["", "GET /health/live HTTP/1.1\r\nhost:"] {
        let idle: Vec<_> = (0..100)
            .map(|_| {
                let mut stream = TcpStream::connect(admin).expect("it listens");
                stream.write_all(half.as_bytes()).expect("sent");
                stream
            })
            .collect();
        let began = Instant::now();
        assert_eq!(get(admin, "/health/live").0, 200);
        assert!(began.elapsed() < Duration::from_secs(1), "{:?} {half:?}", began.elapsed());
        drop(idle);
    }
}
