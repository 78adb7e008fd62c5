//! Record batches: any records come back, and broken batches do not panic.

use bytes::Bytes;
use dohle_wire::id::{Offset, Timestamp};
use dohle_wire::record::control::ControlRecord;
use dohle_wire::record::{
    BatchBuilder, Header, NoCodecs, RawBatch, RecordIter, check_records, split_batches,
};

use crate::support::generator::Generator;

/// A record as the generator gives it.
struct Sample {
    timestamp: i64,
    key: Option<Bytes>,
    value: Option<Bytes>,
    headers: Vec<(String, Option<Bytes>)>,
}

impl Sample {
    fn arbitrary(g: &mut Generator) -> Self {
        Self {
            timestamp: g.i64(),
            key: g.option(Generator::bytes),
            value: g.option(Generator::bytes),
            headers: g.vec(|g| (g.string(), g.option(Generator::bytes))),
        }
    }

    fn headers(&self) -> Vec<Header<'_>> {
        let pairs = self.headers.iter();
        pairs.map(|(key, value)| Header { key: key.as_bytes(), value: value.as_deref() }).collect()
    }

    fn push(&self, builder: &mut BatchBuilder) {
        let (key, value) = (self.key.as_deref(), self.value.as_deref());
        builder.push(Timestamp(self.timestamp), key, value, &self.headers()).unwrap();
    }
}

fn samples(g: &mut Generator) -> Vec<Sample> {
    (0..=g.below(5)).map(|_| Sample::arbitrary(g)).collect()
}

fn batch(samples: &[Sample]) -> Bytes {
    let mut builder = BatchBuilder::new(Offset(40));
    samples.iter().for_each(|sample| sample.push(&mut builder));
    builder.build(&NoCodecs).unwrap()
}

fn check_come_back(samples: &[Sample]) {
    let batch = RawBatch::parse(batch(samples)).unwrap();
    assert!(batch.crc_ok());
    let payload = batch.payload();
    let records = RecordIter::new(&payload, batch.header.records_count);
    let records: Vec<_> = records.collect::<Result<_, _>>().unwrap();
    assert_eq!(records.len(), samples.len());
    for ((record, sample), offset) in records.iter().zip(samples).zip(40..) {
        assert_eq!(record.offset(&batch.header), Offset(offset));
        assert_eq!(record.timestamp(&batch.header), Timestamp(sample.timestamp));
        assert_eq!((record.key, record.value), (sample.key.as_deref(), sample.value.as_deref()));
        assert_eq!(record.headers.collect::<Vec<_>>(), sample.headers());
    }
}

#[test]
fn any_records_come_back() {
    for seed in 0..2_000 {
        check_come_back(&samples(&mut Generator::new(seed)));
    }
}

/// Reads everything that there is to read in `bytes`.
fn read_all(bytes: Bytes) {
    for batch in split_batches(bytes).map_while(Result::ok) {
        let header = &batch.header;
        assert!(header.next_offset() >= header.base_offset || header.base_offset.0 < 0);
        let payload = batch.payload();
        let _ = check_records(&payload, header.records_count);
        for record in RecordIter::new(&payload, header.records_count).map_while(Result::ok) {
            let _ = (record.timestamp(header), record.headers.count());
            let _ = ControlRecord::decode(
                record.key.unwrap_or_default(),
                record.value.unwrap_or_default(),
            );
        }
    }
}

#[test]
fn mutated_batches_do_not_panic() {
    for seed in 0..30_000 {
        let mut g = Generator::new(seed);
        let one = batch(&samples(&mut g));
        read_all(g.mutate(&[one.clone(), one].concat()));
    }
}
