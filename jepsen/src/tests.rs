use super::*;

fn key() -> Key {
    Key::new("t", 0)
}

struct History(Checker);

impl History {
    fn new() -> Self {
        Self(Checker::new())
    }

    fn did(mut self, process: u64, action: Action) -> Self {
        self.0.observe(&Op { process, time: 0, action });
        self
    }

    fn send(self, process: u64, value: u64) -> Self {
        self.did(process, Action::Send { key: key(), value, idempotent: true })
    }

    fn sent(self, value: u64, end: End) -> Self {
        self.did(0, Action::Sent { key: key(), value, end })
    }

    /// Sends and acknowledges.
    fn wrote(self, value: u64, offset: i64) -> Self {
        self.send(1, value).sent(value, End::Acknowledged(offset))
    }

    fn read(self, process: u64, records: &[(i64, u64)]) -> Self {
        let polled =
            |(offset, value): &(i64, u64)| Polled { key: key(), offset: *offset, value: *value };
        self.did(process, Action::Poll(records.iter().map(polled).collect()))
    }

    fn finds(self, anomalies: &[Anomaly]) {
        assert_eq!(self.0.finish().anomalies, anomalies);
    }
}

#[test]
fn a_good_history_has_no_anomaly() {
    History::new()
        .wrote(10, 0)
        .wrote(11, 1)
        .read(2, &[(0, 10)])
        .read(2, &[(1, 11)])
        .read(3, &[(0, 10), (1, 11)])
        .finds(&[]);
}

#[test]
fn an_acknowledged_record_that_readers_pass_is_lost() {
    let lost = Anomaly::LostWrite { key: key(), value: 10, offset: 0 };
    History::new().wrote(10, 0).wrote(11, 1).read(2, &[(1, 11)]).finds(&[lost]);
}

#[test]
fn an_acknowledged_record_past_the_end_is_unseen() {
    let unseen = Anomaly::Unseen { key: key(), value: 11, offset: 1 };
    History::new().wrote(10, 0).wrote(11, 1).read(2, &[(0, 10)]).finds(&[unseen]);
}

#[test]
fn an_unknown_send_need_not_be_there() {
    History::new().send(1, 10).sent(10, End::Unknown).wrote(11, 0).read(2, &[(0, 11)]).finds(&[]);
}

#[test]
fn an_idempotent_record_is_there_once() {
    let duplicate = Anomaly::Duplicate { key: key(), value: 10, first: 0, second: 1 };
    History::new().wrote(10, 0).read(2, &[(0, 10), (1, 10)]).finds(&[duplicate]);
}

#[test]
fn a_plain_record_may_be_there_twice() {
    History::new()
        .did(1, Action::Send { key: key(), value: 10, idempotent: false })
        .sent(10, End::Acknowledged(0))
        .read(2, &[(0, 10), (1, 10)])
        .finds(&[]);
}

#[test]
fn an_offset_holds_one_record() {
    let anomaly = Anomaly::InconsistentOffsets { key: key(), offset: 0, first: 10, second: 11 };
    History::new()
        .wrote(10, 0)
        .send(1, 11)
        .sent(11, End::Unknown)
        .read(2, &[(0, 10)])
        .read(3, &[(0, 11)])
        .finds(&[anomaly]);
}

#[test]
fn a_reader_is_given_every_record_in_order() {
    let skip = Anomaly::PollSkip { process: 2, key: key(), from: 0, to: 2, skipped: 1 };
    let back = Anomaly::NonmonotonicPoll { process: 3, key: key(), from: 1, to: 1 };
    History::new()
        .wrote(10, 0)
        .wrote(11, 1)
        .wrote(12, 2)
        .read(2, &[(0, 10), (2, 12)])
        .read(3, &[(0, 10), (1, 11)])
        .read(3, &[(1, 11), (2, 12)])
        .finds(&[back, skip]);
}

#[test]
fn a_new_assignment_begins_anywhere() {
    History::new()
        .wrote(10, 0)
        .wrote(11, 1)
        .read(2, &[(0, 10), (1, 11)])
        .did(2, Action::Assign(vec![key()]))
        .read(2, &[(0, 10)])
        .finds(&[]);
}

#[test]
fn records_keep_the_order_of_their_producer() {
    let disorder = Anomaly::NonmonotonicSend { process: 1, key: key(), earlier: 10, later: 11 };
    History::new()
        .send(1, 10)
        .send(1, 11)
        .sent(11, End::Acknowledged(0))
        .sent(10, End::Acknowledged(1))
        .read(2, &[(0, 11), (1, 10)])
        .finds(&[disorder]);
}

#[test]
fn a_refused_record_is_not_there() {
    let refused = Anomaly::RefusedRead { key: key(), value: 10, offset: 0 };
    History::new()
        .send(1, 10)
        .sent(10, End::Refused)
        .read(2, &[(0, 10)])
        .finds(std::slice::from_ref(&refused));
    History::new().send(1, 10).read(2, &[(0, 10)]).sent(10, End::Refused).finds(&[refused]);
}

#[test]
fn a_record_that_nobody_sent_is_a_phantom() {
    let phantom = Anomaly::Phantom { key: key(), value: 10, offset: 0 };
    History::new().read(2, &[(0, 10)]).finds(&[phantom]);
}

#[test]
fn what_may_be_lost_may_be_replaced() {
    History::new()
        .wrote(10, 0)
        .wrote(11, 1)
        .read(2, &[(0, 10), (1, 11)])
        .did(0, Action::Forgotten { key: key(), from: 1 })
        .wrote(12, 1)
        .read(2, &[(1, 12)])
        .read(3, &[(0, 10), (1, 12)])
        .finds(&[]);
}

#[test]
fn what_lies_before_a_loss_may_not_be_lost() {
    let lost = Anomaly::LostWrite { key: key(), value: 10, offset: 0 };
    History::new()
        .wrote(10, 0)
        .wrote(11, 1)
        .did(0, Action::Forgotten { key: key(), from: 1 })
        .wrote(12, 1)
        .read(3, &[(1, 12)])
        .finds(&[lost]);
}

#[test]
fn what_a_reader_still_held_of_the_lost_is_no_anomaly() {
    History::new()
        .wrote(10, 0)
        .did(0, Action::Forgotten { key: key(), from: 0 })
        .wrote(12, 0)
        .read(2, &[(0, 10)])
        .read(3, &[(0, 12)])
        .finds(&[]);
}

#[test]
fn what_was_lost_may_be_written_again_at_its_place() {
    let skip = Anomaly::PollSkip { process: 3, key: key(), from: 0, to: 2, skipped: 1 };
    History::new()
        .wrote(10, 0)
        .send(1, 11)
        .read(1, &[(0, 10), (1, 11)])
        .read(2, &[(0, 10)])
        .read(3, &[(0, 10)])
        .did(0, Action::Forgotten { key: key(), from: 1 })
        .wrote(12, 2)
        .read(2, &[(1, 11), (2, 12)])
        .sent(11, End::Acknowledged(1))
        .read(3, &[(2, 12)])
        .read(4, &[(0, 10), (1, 11), (2, 12)])
        .finds(&[skip]);
}

#[test]
fn what_was_lost_excuses_no_other_record_at_its_place() {
    let skip = Anomaly::PollSkip { process: 2, key: key(), from: 0, to: 2, skipped: 1 };
    History::new()
        .wrote(10, 0)
        .send(1, 11)
        .read(1, &[(0, 10), (1, 11)])
        .read(2, &[(0, 10)])
        .did(0, Action::Forgotten { key: key(), from: 1 })
        .wrote(13, 1)
        .wrote(12, 2)
        .read(2, &[(1, 11), (2, 12)])
        .read(4, &[(0, 10), (1, 13), (2, 12)])
        .finds(&[skip]);
}

#[test]
fn deleted_records_need_not_be_read() {
    History::new()
        .wrote(10, 0)
        .wrote(11, 1)
        .did(0, Action::Deleted { key: key(), before: 1 })
        .read(2, &[(1, 11)])
        .finds(&[]);
}
