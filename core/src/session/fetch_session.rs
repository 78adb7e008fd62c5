//! Incremental fetch sessions (KIP-227), one at most for each connection.
//!
//! A session remembers which partitions a client reads and from where, so that a request names
//! only what changed, and what the client was told last, so that an answer has only what is new.
//! Partitions that gave records move to the end of the order, so that all get their turn when an
//! answer has no room for everything.
//!
//! Kafka keeps sessions for the whole broker; here a session ends with its connection. A client
//! that brings the id of another connection is told that there is no such session and sends a full
//! request, which is what it does anyway after it reconnects.
//!
//! Invariants: both maps name the same partitions; no more than [`PARTITIONS_MAX`] of them.

use std::collections::BTreeMap;

use dohle_wire::error::ErrorCode;

use crate::api::TopicKey;

/// More partitions than this are served, but not remembered.
pub(crate) const PARTITIONS_MAX: usize = 100_000;

/// The epoch of a request that opens a session.
const OPEN: i32 = 0;

/// The epoch of a request outside sessions, which closes the one it names.
const CLOSE: i32 = -1;

/// The id of no session.
const NO_SESSION: i32 = 0;

/// One partition that a client reads.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct PartitionKey {
    /// Its topic, as the client names it.
    pub(crate) topic: TopicKey,
    /// Its number.
    pub(crate) index: i32,
}

/// What the client wants of a partition.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) struct Wanted {
    /// From where.
    pub(crate) offset: i64,
    /// How much at most.
    pub(crate) max_bytes: i32,
    /// The leader epoch the client believes in; -1 for none.
    pub(crate) leader_epoch: i32,
    /// The epoch of the last record it has; -1 for none.
    pub(crate) last_fetched_epoch: i32,
}

/// What an answer says of a partition, as far as it decides whether to say it.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) struct Told {
    /// The high watermark, -1 with an error.
    pub(crate) high_watermark: i64,
    /// The log start, -1 with an error.
    pub(crate) log_start: i64,
    /// Whether records come along.
    pub(crate) records: bool,
    /// Whether it is an error or a divergence: always said, and forgotten, so that the next
    /// answer says what holds then.
    pub(crate) always: bool,
}

#[derive(Clone, Debug)]
struct Cached {
    key: PartitionKey,
    wanted: Wanted,
    high_watermark: i64,
    log_start: i64,
}

/// A request's relation to the session.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum Context {
    /// None: everything asked for is answered.
    Sessionless,
    /// Everything asked for is answered, and a session opened.
    Opening,
    /// Only what is new is answered.
    Incremental(i32),
}

/// What a fetch request says about sessions.
#[derive(Clone, Debug)]
pub(crate) struct Request {
    /// Which session.
    pub(crate) id: i32,
    /// Which request of it.
    pub(crate) epoch: i32,
    /// Whether topics are named by id.
    pub(crate) by_id: bool,
    /// Partitions to read, or to read differently.
    pub(crate) partitions: Vec<(PartitionKey, Wanted)>,
    /// Partitions to read no more.
    pub(crate) forgotten: Vec<PartitionKey>,
}

#[derive(Clone, Debug)]
struct FetchSession {
    id: i32,
    /// The epoch that the next request must have.
    epoch: i32,
    by_id: bool,
    /// Partitions in the order in which they are served.
    order: BTreeMap<u64, Cached>,
    /// Where each of them is in it.
    places: BTreeMap<PartitionKey, u64>,
    next_place: u64,
}

/// The fetch session of a connection, if it has one.
#[derive(Clone, Debug)]
pub(crate) struct FetchSessions {
    current: Option<FetchSession>,
    /// State of the generator of ids.
    seed: u64,
}

impl FetchSessions {
    /// No session; ids come from `seed`.
    pub(crate) fn new(seed: u64) -> Self {
        Self { current: None, seed }
    }

    /// Takes a request in: gives its context and all partitions to read, in their order.
    ///
    /// # Errors
    /// The request does not fit the session; the whole of it is refused.
    pub(crate) fn begin(
        &mut self,
        request: Request,
    ) -> Result<(Context, Vec<(PartitionKey, Wanted)>), ErrorCode> {
        if matches!(request.epoch, OPEN | CLOSE) {
            // Naming a session in a full request closes it; opening one replaces the only one.
            if request.epoch == OPEN || self.is_current(request.id) {
                self.current = None;
            }
            let open = request.epoch == OPEN && request.partitions.len() <= PARTITIONS_MAX;
            let context = if open { Context::Opening } else { Context::Sessionless };
            return Ok((context, request.partitions));
        }
        self.begin_incremental(request)
    }

    fn is_current(&self, id: i32) -> bool {
        id != NO_SESSION && self.current.as_ref().is_some_and(|session| session.id == id)
    }

    fn begin_incremental(
        &mut self,
        request: Request,
    ) -> Result<(Context, Vec<(PartitionKey, Wanted)>), ErrorCode> {
        let session = self.current.as_mut().filter(|session| session.id == request.id);
        let session = session.ok_or(ErrorCode::FetchSessionIdNotFound)?;
        if session.epoch != request.epoch {
            return Err(ErrorCode::InvalidFetchSessionEpoch);
        }
        if session.by_id != request.by_id {
            return Err(ErrorCode::FetchSessionTopicIdError);
        }
        let id = session.id;
        session.update(request);
        session.epoch = next_epoch(session.epoch);
        if session.order.len() > PARTITIONS_MAX {
            self.current = None;
            return Err(ErrorCode::FetchSessionIdNotFound);
        }
        let partitions = session.order.values().map(|c| (c.key.clone(), c.wanted));
        let partitions: Vec<_> = partitions.collect();
        if partitions.is_empty() {
            self.current = None;
            return Ok((Context::Sessionless, partitions));
        }
        Ok((Context::Incremental(id), partitions))
    }

    /// Opens a session over what a full request read and was told; gives its id.
    pub(crate) fn open(
        &mut self,
        by_id: bool,
        partitions: impl Iterator<Item = (PartitionKey, Wanted, Told)>,
    ) -> i32 {
        let mut session = FetchSession {
            id: self.fresh_id(),
            epoch: next_epoch(OPEN),
            by_id,
            order: BTreeMap::new(),
            places: BTreeMap::new(),
            next_place: 0,
        };
        for (key, wanted, told) in partitions {
            session.add(key.clone(), wanted);
            session.tell(&key, told);
        }
        let id = session.id;
        self.current = Some(session);
        id
    }

    /// Whether the answer to an incremental request has to say `told` about a partition. Takes
    /// note that it does.
    pub(crate) fn tell(&mut self, key: &PartitionKey, told: Told) -> bool {
        self.current.as_mut().is_none_or(|session| session.tell(key, told))
    }

    /// An id in 1 to 2^31 - 1 (a step of the splitmix64 generator).
    fn fresh_id(&mut self) -> i32 {
        self.seed = self.seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.seed;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        let id = i32::try_from(mixed >> 33).expect("31 bits");
        id.max(1)
    }

    /// Checks that both maps agree.
    pub(crate) fn invariants(&self) {
        if let Some(session) = &self.current {
            assert_eq!(session.order.len(), session.places.len(), "fetch session maps differ");
            assert!(session.order.len() <= PARTITIONS_MAX, "fetch session beyond its limit");
            assert!(session.epoch > 0, "fetch session at epoch {}", session.epoch);
        }
    }
}

impl FetchSession {
    fn update(&mut self, request: Request) {
        for (key, wanted) in request.partitions {
            match self.places.get(&key).and_then(|place| self.order.get_mut(place)) {
                Some(cached) => cached.wanted = wanted,
                None => self.add(key, wanted),
            }
        }
        for key in request.forgotten {
            if let Some(place) = self.places.remove(&key) {
                self.order.remove(&place);
            }
        }
    }

    fn add(&mut self, key: PartitionKey, wanted: Wanted) {
        let place = self.next_place;
        self.next_place += 1;
        // A partition named twice counts as named last.
        if let Some(earlier) = self.places.insert(key.clone(), place) {
            self.order.remove(&earlier);
        }
        self.order.insert(place, Cached { key, wanted, high_watermark: -1, log_start: -1 });
    }

    fn tell(&mut self, key: &PartitionKey, told: Told) -> bool {
        let Some(place) = self.places.get_mut(key) else { return false };
        let cached = self.order.get_mut(place).expect("places and order agree");
        let news =
            (told.high_watermark, told.log_start) != (cached.high_watermark, cached.log_start);
        cached.high_watermark = if told.always { -1 } else { told.high_watermark };
        cached.log_start = told.log_start;
        if told.records {
            let moved = self.order.remove(place).expect("found above");
            *place = self.next_place;
            self.order.insert(self.next_place, moved);
            self.next_place += 1;
        }
        told.records || told.always || news
    }
}

/// The epoch after `epoch`: 1 follows the largest one.
fn next_epoch(epoch: i32) -> i32 {
    if epoch == i32::MAX { 1 } else { epoch + 1 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(index: i32) -> PartitionKey {
        PartitionKey { topic: TopicKey::Name("t".into()), index }
    }

    fn wanted(offset: i64) -> Wanted {
        Wanted { offset, max_bytes: 100, leader_epoch: -1, last_fetched_epoch: -1 }
    }

    fn told(high_watermark: i64, records: bool) -> Told {
        Told { high_watermark, log_start: 0, records, always: false }
    }

    fn request(id: i32, epoch: i32, indexes: &[i32]) -> Request {
        let partitions = indexes.iter().map(|index| (key(*index), wanted(0))).collect();
        Request { id, epoch, by_id: false, partitions, forgotten: Vec::new() }
    }

    /// A session over partitions 0, 1 and 2, all told a high watermark of 0.
    fn opened() -> (FetchSessions, i32) {
        let mut sessions = FetchSessions::new(7);
        let (context, partitions) = sessions.begin(request(0, 0, &[0, 1, 2])).unwrap();
        assert_eq!(context, Context::Opening);
        let id = sessions.open(false, partitions.into_iter().map(|(k, w)| (k, w, told(0, false))));
        (sessions, id)
    }

    fn check_order(sessions: &mut FetchSessions, request: Request, expected: &[i32]) {
        let (_, partitions) = sessions.begin(request).unwrap();
        let indexes: Vec<i32> = partitions.iter().map(|(key, _)| key.index).collect();
        assert_eq!(indexes, expected);
        sessions.invariants();
    }

    fn check_refused(sessions: &mut FetchSessions, request: Request, expected: ErrorCode) {
        assert_eq!(sessions.begin(request).unwrap_err(), expected);
        sessions.invariants();
    }

    #[test]
    fn epochs_count_and_wrap() {
        let (mut sessions, id) = opened();
        check_order(&mut sessions, request(id, 1, &[]), &[0, 1, 2]);
        check_refused(&mut sessions, request(id, 1, &[]), ErrorCode::InvalidFetchSessionEpoch);
        check_order(&mut sessions, request(id, 2, &[]), &[0, 1, 2]);
        sessions.current.as_mut().unwrap().epoch = i32::MAX;
        check_order(&mut sessions, request(id, i32::MAX, &[]), &[0, 1, 2]);
        check_order(&mut sessions, request(id, 1, &[]), &[0, 1, 2]);
    }

    #[test]
    fn unknown_ids_and_mixed_naming_are_refused() {
        let (mut sessions, id) = opened();
        let other = id ^ 1;
        check_refused(&mut sessions, request(other, 1, &[]), ErrorCode::FetchSessionIdNotFound);
        let by_id = Request { by_id: true, ..request(id, 1, &[]) };
        check_refused(&mut sessions, by_id, ErrorCode::FetchSessionTopicIdError);
        check_order(&mut sessions, request(id, 1, &[]), &[0, 1, 2]);
    }

    #[test]
    fn partitions_are_added_changed_and_forgotten() {
        let (mut sessions, id) = opened();
        check_order(&mut sessions, request(id, 1, &[1, 5]), &[0, 1, 2, 5]);
        let forgotten = Request { forgotten: vec![key(0), key(9)], ..request(id, 2, &[]) };
        check_order(&mut sessions, forgotten, &[1, 2, 5]);
        let all = Request { forgotten: vec![key(1), key(2), key(5)], ..request(id, 3, &[]) };
        assert_eq!(sessions.begin(all).unwrap(), (Context::Sessionless, Vec::new()));
        check_refused(&mut sessions, request(id, 4, &[]), ErrorCode::FetchSessionIdNotFound);
    }

    #[test]
    fn only_news_is_told_and_errors_are_forgotten() {
        let (mut sessions, _) = opened();
        assert!(!sessions.tell(&key(0), told(0, false)));
        assert!(sessions.tell(&key(0), told(5, false)));
        assert!(!sessions.tell(&key(0), told(5, false)));
        assert!(sessions.tell(&key(0), told(5, true)));
        let error = Told { high_watermark: -1, log_start: -1, records: false, always: true };
        assert!(sessions.tell(&key(0), error));
        assert!(sessions.tell(&key(0), error));
        assert!(sessions.tell(&key(0), told(5, false)));
    }

    #[test]
    fn partitions_with_records_go_to_the_end() {
        let (mut sessions, id) = opened();
        sessions.tell(&key(0), told(5, true));
        check_order(&mut sessions, request(id, 1, &[]), &[1, 2, 0]);
        sessions.tell(&key(2), told(5, true));
        check_order(&mut sessions, request(id, 2, &[]), &[1, 0, 2]);
    }

    #[test]
    fn a_full_request_closes_the_session_it_names() {
        let (mut sessions, id) = opened();
        let (context, _) = sessions.begin(request(id ^ 1, -1, &[0])).unwrap();
        assert_eq!(context, Context::Sessionless);
        check_order(&mut sessions, request(id, 1, &[]), &[0, 1, 2]);
        sessions.begin(request(id, -1, &[0])).unwrap();
        check_refused(&mut sessions, request(id, 2, &[]), ErrorCode::FetchSessionIdNotFound);
    }

    #[test]
    fn a_partition_named_twice_counts_once() {
        let mut sessions = FetchSessions::new(7);
        let twice = [key(0), key(1), key(0)];
        let id = sessions.open(false, twice.map(|k| (k, wanted(0), told(0, false))).into_iter());
        check_order(&mut sessions, request(id, 1, &[]), &[1, 0]);
    }
}
