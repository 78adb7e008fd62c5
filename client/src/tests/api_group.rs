//! The async interface of a member of a group.

use std::collections::BTreeMap;
use std::future::Future as _;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use dohle_wire::id::{Offset, Timestamp};
use dohle_wire::{ApiKey, ErrorCode};

use super::api::{Desk, SERVER};
use super::broker::Broker;
use super::consumer::batch;
use super::group::BOTH;
use super::producer::Turning;
use crate::api::{Consumer, ConsumerHandle, Listening, RebalanceListener, Runtime};
use crate::config::{ConsumerConfig, GroupProtocol};
use crate::machine::TopicPartition;
use crate::machine::consumer::Start;
use crate::machine::group::{GroupError, OffsetAndMetadata, Pattern};

const WAIT: Duration = Duration::from_secs(1);

fn desk() -> Desk {
    let mut broker = Broker::new(1);
    broker.create("t", 2);
    for partition in 0..2 {
        let log = broker.log("t", partition);
        log.append(&batch(&["a", "b", "c"], |builder| builder)).expect("appended");
    }
    Desk::new(broker)
}

fn consumer(desk: &Desk, protocol: GroupProtocol) -> Consumer<Desk> {
    let mut config = ConsumerConfig::to(SERVER).expect("an address");
    config.set("group.id", "g").expect("a name");
    config.set("auto.offset.reset", "earliest").expect("a policy");
    config.group.protocol = protocol;
    Consumer::new(desk.clone(), config, Arc::new(Turning)).expect("valid settings")
}

fn at(partition: i32) -> TopicPartition {
    TopicPartition::new("t", partition)
}

async fn read(consumer: &mut Consumer<Desk>, count: usize) {
    let mut seen = 0;
    for _ in 0..20 {
        let polled = consumer.poll(WAIT).await;
        assert_eq!(polled.group, None);
        seen += polled.records.iter().map(|(_, records)| records.len()).sum::<usize>();
        if seen >= count {
            break;
        }
    }
    assert_eq!(seen, count);
}

fn committed(desk: &Desk) -> Vec<i64> {
    desk.with(|broker| broker.groups.offsets.values().map(|(offset, ..)| *offset).collect())
}

/// Writes down what it hears, and commits what is revoked.
#[derive(Clone, Default)]
struct Journal(Arc<Mutex<Vec<String>>>);

impl Journal {
    fn note(&self, what: &str, partitions: &[TopicPartition]) {
        self.0.lock().expect("alone").push(format!("{what} {}", partitions.len()));
    }
}

impl<R: Runtime> RebalanceListener<R> for Journal {
    fn assigned<'a>(
        &'a mut self,
        consumer: &'a ConsumerHandle<R>,
        partitions: &'a [TopicPartition],
    ) -> Listening<'a> {
        Box::pin(async move {
            self.note("assigned", partitions);
            for at in partitions {
                consumer.seek(at.clone(), Start::Offset(Offset(1)));
            }
        })
    }

    fn revoked<'a>(
        &'a mut self,
        consumer: &'a ConsumerHandle<R>,
        partitions: &'a [TopicPartition],
    ) -> Listening<'a> {
        Box::pin(async move {
            let offset = OffsetAndMetadata::at(Offset(2));
            let offsets = partitions.iter().map(|at| (at.clone(), offset.clone()));
            match consumer.commit_offsets(offsets).await {
                Ok(()) => self.note("revoked", partitions),
                Err(error) => self.note(&format!("{error:?}"), partitions),
            }
        })
    }
}

#[test]
fn a_consumer_subscribes_reads_commits_and_closes() {
    for protocol in BOTH {
        let desk = desk();
        desk.run(async {
            let mut consumer = consumer(&desk, protocol);
            consumer.subscribe(["t"]).expect("a group");
            read(&mut consumer, 6).await;
            consumer.commit().await.expect("committed");
            assert_eq!(committed(&desk), [3, 3]);
            let one = OffsetAndMetadata::at(Offset(1));
            let explicit = consumer.commit_offsets([(at(0), one.clone())]);
            explicit.await.expect("committed");
            let found = consumer.committed([at(0)]).await.expect("an answer");
            assert_eq!(found, BTreeMap::from([(at(0), one)]));
            let times = [(at(1), Timestamp(0))];
            let found = consumer.offsets_for_times(times).await.expect("an answer");
            assert_eq!(found[&at(1)].offset, Offset(0));
            let handle = consumer.handle();
            let ends = handle.end_offsets([at(0)]).await.expect("an answer");
            assert_eq!(ends[&at(0)], Offset(3));
            let ends = handle.beginning_offsets([at(0)]).await.expect("an answer");
            assert_eq!((ends[&at(0)], handle.lag(&at(0))), (Offset(0), Some(0)));
            assert!(handle.membership().is_some());
            assert_eq!(handle.assignment().len(), 2);
            consumer.close(Duration::from_secs(9)).await.expect("in time");
            assert_eq!(committed(&desk), [3, 3], "what was given out is committed");
            assert_eq!(desk.with(|broker| broker.groups.size()), 0);
            assert_eq!(handle.commit().await, Err(GroupError::Closed));
        });
    }
}

#[test]
fn a_listener_can_seek_and_commit() {
    for protocol in BOTH {
        let desk = desk();
        desk.run(async {
            let journal = Journal::default();
            let mut consumer = consumer(&desk, protocol);
            consumer.listen(journal.clone());
            consumer.subscribe_pattern(Pattern::new("t+").expect("a pattern")).expect("a group");
            read(&mut consumer, 4).await;
            consumer.unsubscribe().await;
            assert_eq!(committed(&desk), [2, 2]);
            assert_eq!(*journal.0.lock().expect("alone"), ["assigned 2", "revoked 2"]);
            assert_eq!(desk.with(|broker| broker.groups.size()), 0);
        });
    }
}

/// The others of the group would wait for as long as it is tried again.
#[test]
fn a_listener_does_not_wait_for_a_topic_that_is_gone() {
    for protocol in BOTH {
        let desk = desk();
        desk.run(async {
            let journal = Journal::default();
            let mut consumer = consumer(&desk, protocol);
            consumer.listen(journal.clone());
            consumer.subscribe(["t"]).expect("a group");
            read(&mut consumer, 4).await;
            let gone = (ApiKey::OffsetCommit, ErrorCode::UnknownTopicOrPartition);
            // One for the client's own commit, one for the listener's.
            desk.with(|broker| broker.groups.faults.extend([gone, gone]));
            consumer.unsubscribe().await;
            let told = ["assigned 2", "Refused(UnknownTopicOrPartition) 2"];
            assert_eq!(*journal.0.lock().expect("alone"), told);
        });
    }
}

#[test]
fn dropping_a_member_leaves_the_group() {
    for protocol in BOTH {
        let desk = desk();
        desk.run(async {
            let mut consumer = consumer(&desk, protocol);
            consumer.subscribe(["t"]).expect("a group");
            read(&mut consumer, 6).await;
            drop(consumer);
            desk.sleep(WAIT).await;
            assert_eq!(desk.with(|broker| broker.groups.size()), 0);
            assert_eq!(desk.open(), 0);
        });
    }
}

#[test]
fn closing_ends_in_time_even_if_nobody_answers() {
    let desk = desk();
    desk.run(async {
        let mut consumer = consumer(&desk, GroupProtocol::Classic);
        consumer.subscribe(["t"]).expect("a group");
        read(&mut consumer, 6).await;
        desk.with(|broker| broker.groups.node = 0);
        let start = desk.now().mono;
        let closed = consumer.close(Duration::from_secs(3)).await;
        assert_eq!(closed, Err(GroupError::TimedOut));
        assert!(desk.now().mono - start <= Duration::from_secs(4));
    });
}

#[test]
fn errors_of_a_membership_come_out_of_a_poll() {
    let desk = desk();
    let code = ErrorCode::GroupAuthorizationFailed;
    desk.run(async {
        let config = ConsumerConfig::to(SERVER).expect("an address");
        let mut alone = Consumer::new(desk.clone(), config, Arc::new(Turning)).expect("valid");
        assert_eq!(alone.subscribe(["t"]), Err(GroupError::NoGroup));
        assert_eq!(alone.commit().await, Err(GroupError::NoGroup));
        desk.with(|broker| {
            broker.groups.faults.push_back((ApiKey::JoinGroup, code));
        });
        let mut consumer = consumer(&desk, GroupProtocol::Classic);
        consumer.subscribe(["t"]).expect("a group");
        assert_eq!(consumer.poll(WAIT).await.group, Some(GroupError::Refused(code)));
        read(&mut consumer, 6).await;
    });
}

#[test]
fn a_poll_that_is_given_up_no_longer_counts_as_polling() {
    let desk = desk();
    desk.run(async {
        let mut consumer = consumer(&desk, GroupProtocol::Classic);
        consumer.subscribe(["t"]).expect("a group");
        read(&mut consumer, 6).await;
        {
            let mut poll = std::pin::pin!(consumer.poll(Duration::from_secs(3600)));
            let once = std::future::poll_fn(|cx| {
                assert!(poll.as_mut().poll(cx).is_pending());
                std::task::Poll::Ready(())
            });
            once.await;
        }
        desk.sleep(Duration::from_secs(301)).await;
        assert_eq!(desk.with(|broker| broker.groups.size()), 0);
    });
}

#[test]
fn a_consumer_can_move_between_threads_and_be_looked_at_from_several() {
    fn check<T: Send + Sync>(_: &T) {}
    let desk = desk();
    let mut consumer = consumer(&desk, GroupProtocol::Classic);
    check(&consumer);
    check(&consumer.handle());
    fn check_future<T: Send>(_: &T) {}
    check_future(&consumer.poll(WAIT));
    check_future(&consumer.close(WAIT));
}
