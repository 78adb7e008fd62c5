//! Any interleaving of losses, late arrivals, errors and moved leaders: an idempotent producer never
//! reorders, repeats or silently drops a record.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use dohle_wire::ErrorCode;
use proptest::prelude::*;

use super::broker::{Broker, Fault, values};
use super::producer::Turning;
use super::world::World;
use crate::config::ProducerConfig;
use crate::machine::Producer;
use crate::machine::producer::{Effect, Input, ProduceError, ProducerRecord, Receipt};

const PARTITIONS: usize = 2;

/// What happens next. Connections are counted off among those on which something can happen.
#[derive(Clone, Debug)]
enum Event {
    Send { partition: usize },
    Serve { conn: usize },
    Hear { conn: usize },
    Cut { conn: usize, requests_arrive: bool },
    Wait,
    Fault(Fault),
    Move { partition: usize, node: i32 },
    Dark { node: i32, dark: bool },
}

fn fault() -> impl Strategy<Value = Fault> {
    let before = prop_oneof![
        Just(ErrorCode::NotEnoughReplicas),
        Just(ErrorCode::MessageTooLarge),
        Just(ErrorCode::InvalidRecord),
        Just(ErrorCode::UnknownTopicOrPartition),
    ];
    let after = prop_oneof![
        Just(ErrorCode::RequestTimedOut),
        Just(ErrorCode::NotEnoughReplicasAfterAppend),
        Just(ErrorCode::KafkaStorageError),
        Just(ErrorCode::NotLeaderOrFollower),
        Just(ErrorCode::UnknownServerError),
    ];
    prop_oneof![before.prop_map(Fault::Before), after.prop_map(Fault::After)]
}

fn event() -> impl Strategy<Value = Event> {
    prop_oneof![
        8 => (0..PARTITIONS).prop_map(|partition| Event::Send { partition }),
        10 => (0usize..8).prop_map(|conn| Event::Serve { conn }),
        10 => (0usize..8).prop_map(|conn| Event::Hear { conn }),
        1 => (0usize..8, any::<bool>())
            .prop_map(|(conn, requests_arrive)| Event::Cut { conn, requests_arrive }),
        4 => Just(Event::Wait),
        2 => fault().prop_map(Event::Fault),
        1 => (0..PARTITIONS, 1i32..=2).prop_map(|(partition, node)| Event::Move { partition, node }),
        1 => (1i32..=2, any::<bool>()).prop_map(|(node, dark)| Event::Dark { node, dark }),
    ]
}

fn config(linger_ms: u64) -> ProducerConfig {
    let mut config = ProducerConfig::to("node:9001,node:9002").expect("addresses");
    config.linger = Duration::from_millis(linger_ms);
    config.batch_size = 90;
    config.delivery_timeout = Duration::from_secs(4);
    config.connection.request_timeout = Duration::from_secs(1);
    config.connection.setup_timeout = Duration::from_secs(1);
    config
}

struct Run {
    world: World<Producer>,
    sent: Vec<usize>,
}

impl Run {
    fn new(linger_ms: u64, seed: u64) -> Self {
        let mut broker = Broker::new(2);
        broker.create("t", PARTITIONS);
        let machine = Producer::new(config(linger_ms), Arc::new(Turning), seed).expect("valid");
        Self { world: World::new(machine, broker), sent: Vec::new() }
    }

    fn apply(&mut self, event: &Event) {
        let world = &mut self.world;
        let pick = |list: Vec<_>, at: usize| (!list.is_empty()).then(|| list[at % list.len()]);
        match event {
            Event::Send { partition } => {
                let token = self.sent.len() as u64;
                self.sent.push(*partition);
                let record = ProducerRecord::new("t", token.to_string());
                world.input(Input::send(token, record.with_partition(*partition as i32)));
            }
            Event::Serve { conn } => drop(pick(world.busy(), *conn).map(|id| world.serve(id))),
            Event::Hear { conn } => drop(pick(world.busy(), *conn).map(|id| world.hear(id))),
            Event::Cut { conn, requests_arrive } => {
                if let Some(id) = pick(world.open(), *conn) {
                    world.cut(id, *requests_arrive);
                }
            }
            Event::Wait => drop(world.wait()),
            Event::Fault(fault) => world.broker.faults.push_back(*fault),
            Event::Move { partition, node } => {
                let log = world.broker.log("t", *partition);
                if log.leader != *node {
                    log.leader = *node;
                    log.epoch += 1;
                }
            }
            Event::Dark { node, dark } => {
                world.dark.retain(|other| other != node);
                world.dark.extend(dark.then_some(*node));
            }
        }
    }

    /// Everything is well again: the producer comes to an end.
    fn heal(&mut self) {
        self.world.broker.faults.clear();
        self.world.dark.clear();
        self.world.pass(Duration::from_secs(100));
    }

    fn outcomes(&self) -> BTreeMap<u64, Result<Receipt, ProduceError>> {
        let mut outcomes = BTreeMap::new();
        for effect in &self.world.out {
            let Effect::Delivered { token, result } = effect else { panic!("{effect:?}") };
            assert!(outcomes.insert(token.0, result.clone()).is_none(), "one outcome for each");
        }
        outcomes
    }

    fn check(&mut self) {
        let outcomes = self.outcomes();
        assert_eq!(outcomes.len(), self.sent.len(), "every record has an outcome");
        for partition in 0..PARTITIONS {
            let log: Vec<u64> = values(self.world.broker.log("t", partition))
                .iter()
                .map(|value| value.parse().expect("a token"))
                .collect();
            assert!(log.is_sorted_by(|a, b| a < b), "in the order sent, each once: {log:?}");
            for (token, result) in &outcomes {
                if self.sent[*token as usize] != partition {
                    continue;
                }
                let at = log.iter().position(|written| written == token);
                match result {
                    Ok(receipt) => {
                        assert_eq!(
                            at.map(|at| at as i64),
                            Some(receipt.offset.0),
                            "record {token}"
                        );
                    }
                    Err(error) if !error.is_in_doubt() => {
                        assert_eq!(at, None, "record {token}: {error}");
                    }
                    Err(_) => {}
                }
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn an_idempotent_producer_keeps_order_and_never_repeats(
        events in proptest::collection::vec(event(), 0..400),
        linger_ms in prop_oneof![Just(0u64), Just(5)],
        seed in any::<u64>(),
    ) {
        let mut run = Run::new(linger_ms, seed);
        events.iter().for_each(|event| run.apply(event));
        run.heal();
        run.check();
    }

    #[test]
    fn equal_inputs_give_equal_effects(
        events in proptest::collection::vec(event(), 0..120),
        seed in any::<u64>(),
    ) {
        let runs = [(); 2].map(|()| {
            let mut run = Run::new(5, seed);
            events.iter().for_each(|event| run.apply(event));
            run.heal();
            (run.world.out.clone(), run.world.broker.asked.clone(), run.world.now)
        });
        prop_assert_eq!(&runs[0], &runs[1]);
    }
}

/// The test above is of no use if nothing ever goes wrong, or nothing ever succeeds.
#[test]
fn random_runs_see_success_failure_and_doubt() {
    use proptest::strategy::ValueTree as _;
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let strategy = proptest::collection::vec(event(), 200..400);
    let (mut acknowledged, mut refused, mut in_doubt, mut epochs) = (0, 0, 0, 0);
    for seed in 0..60 {
        let events = strategy.new_tree(&mut runner).expect("events").current();
        let mut run = Run::new(0, seed);
        events.iter().for_each(|event| run.apply(event));
        run.heal();
        for result in run.outcomes().into_values() {
            match result {
                Ok(_) => acknowledged += 1,
                Err(error) if error.is_in_doubt() => in_doubt += 1,
                Err(_) => refused += 1,
            }
        }
        let batches = (0..PARTITIONS).flat_map(|at| run.world.broker.log("t", at).batches.clone());
        epochs += i32::from(batches.into_iter().any(|batch| batch.header.producer_epoch.0 > 0));
    }
    assert!(
        acknowledged > 1000 && refused > 50 && in_doubt > 5 && epochs > 10,
        "{acknowledged} acknowledged, {refused} refused, {in_doubt} in doubt, {epochs} new epochs"
    );
}
