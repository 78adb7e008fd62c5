//! Batches of the metadata log: what is written into them and what is read out.

use bytes::Bytes;
use dohle_wire::codec::Writer;
use dohle_wire::id::{LeaderEpoch, NodeId, Offset, Timestamp};
use dohle_wire::message::leader_change_message::Voter;
use dohle_wire::message::{LeaderChangeMessage, MetadataRecord};
use dohle_wire::record::control::ControlRecord;
use dohle_wire::record::{BatchBuilder, BatchHeader, NoCodecs, RawBatch, RecordIter};

use crate::batch::CheckedBatch;

/// A metadata record and the version it is written in.
pub type Versioned = (MetadataRecord, i16);

/// Bytes that a batch of the metadata log has at most (KafkaRaftClient's MAX_BATCH_SIZE_BYTES).
pub const BATCH_BYTES_MAX: usize = 8 * 1024 * 1024;

/// One record of the metadata log.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// Where it lies.
    pub offset: Offset,
    /// The epoch it was written in.
    pub epoch: LeaderEpoch,
    /// What it says.
    pub what: EntryKind,
}

/// What a record of the metadata log says.
#[derive(Clone, Debug, PartialEq)]
pub enum EntryKind {
    /// A leader began its epoch.
    Leader(NodeId),
    /// The voters changed to these (`kraft.version` 1).
    Voters(Vec<NodeId>),
    /// The metadata changed.
    Metadata(MetadataRecord),
    /// Nothing that concerns the metadata.
    Other,
}

/// A data batch of `records`, none of which may be missing its version.
///
/// # Errors
/// Records that do not fit one batch; the text is for whoever asked for them.
pub fn data_batch(now: Timestamp, records: &[Versioned]) -> Result<CheckedBatch, String> {
    let mut builder = BatchBuilder::new(Offset(0));
    for (record, version) in records {
        let value = encode(record, *version)?;
        builder.push(now, None, Some(&value), &[]).map_err(|error| error.to_string())?;
        if builder.uncompressed_len() > BATCH_BYTES_MAX {
            return Err(format!("the records need more than {BATCH_BYTES_MAX} bytes"));
        }
    }
    finish(builder.build(&NoCodecs).map_err(|error| error.to_string())?)
}

fn encode(record: &MetadataRecord, version: i16) -> Result<Bytes, String> {
    let mut writer = Writer::new();
    let encoded = record.encode(&mut writer, version).and_then(|()| writer.into_bytes());
    encoded.map_err(|error| error.to_string())
}

/// The control batch with which `leader` begins its epoch. Kafka writes version 0 of the message
/// also where version 1 exists.
#[must_use]
pub fn leader_change_batch(now: Timestamp, leader: NodeId, voters: &[NodeId]) -> CheckedBatch {
    let voter = |id: &NodeId| Voter { voter_id: id.0, ..Voter::default() };
    let record = ControlRecord::LeaderChange(LeaderChangeMessage {
        version: 0,
        leader_id: leader.0,
        voters: voters.iter().map(voter).collect(),
        granting_voters: vec![voter(&leader)],
    });
    let value = record.value().expect("a leader change in version 0 can be written");
    let mut builder = BatchBuilder::new(Offset(0)).control();
    builder.push(now, Some(&record.key()), Some(&value), &[]).expect("one small record fits");
    let bytes = builder.build(&NoCodecs).expect("one small record makes a batch");
    finish(bytes).expect("a batch just built can be read")
}

fn finish(bytes: Bytes) -> Result<CheckedBatch, String> {
    let header = BatchHeader::parse(&bytes).map_err(|error| error.to_string())?;
    Ok(CheckedBatch::trusted(header, bytes, None))
}

/// The records of a batch of the metadata log.
///
/// # Errors
/// What cannot be read and where, for the operator.
pub fn read(batch: &RawBatch) -> Result<Vec<Entry>, String> {
    let header = &batch.header;
    let payload = batch.records(&NoCodecs, BATCH_BYTES_MAX).map_err(|error| error.to_string())?;
    let mut entries = Vec::new();
    for record in RecordIter::new(&payload, header.records_count) {
        let record = record.map_err(|error| format!("batch at {}: {error}", header.base_offset))?;
        let offset = record.offset(header);
        let what = if header.is_control() {
            control(record.key.unwrap_or_default(), record.value.unwrap_or_default())
        } else {
            metadata(record.value.unwrap_or_default())
        };
        let what = what.map_err(|error| format!("record at offset {offset}: {error}"))?;
        entries.push(Entry { offset, epoch: header.partition_leader_epoch, what });
    }
    Ok(entries)
}

fn metadata(value: &[u8]) -> Result<EntryKind, String> {
    let mut reader = dohle_wire::codec::Reader::new(Bytes::copy_from_slice(value));
    let (record, _) = MetadataRecord::decode(&mut reader).map_err(|error| error.to_string())?;
    Ok(EntryKind::Metadata(record))
}

fn control(key: &[u8], value: &[u8]) -> Result<EntryKind, String> {
    match ControlRecord::decode(key, value).map_err(|error| error.to_string())? {
        Some(ControlRecord::LeaderChange(change)) => {
            Ok(EntryKind::Leader(NodeId(change.leader_id)))
        }
        Some(ControlRecord::KRaftVoters(set)) => {
            Ok(EntryKind::Voters(set.voters.iter().map(|voter| NodeId(voter.voter_id)).collect()))
        }
        _ => Ok(EntryKind::Other),
    }
}

#[cfg(test)]
mod tests {
    use dohle_wire::message::{FeatureLevelRecord, NoOpRecord};

    use super::*;

    fn raw(batch: &CheckedBatch) -> RawBatch {
        RawBatch::parse(batch.bytes().clone()).unwrap()
    }

    #[test]
    fn data_batches_come_back_as_they_went() {
        let feature = MetadataRecord::from(FeatureLevelRecord {
            name: "metadata.version".into(),
            feature_level: 33,
        });
        let records = [(feature.clone(), 0), (MetadataRecord::from(NoOpRecord {}), 0)];
        let batch = raw(&data_batch(Timestamp(5), &records).unwrap());
        // What Apache Kafka 4.4.0 writes for this record has 23 bytes.
        let first =
            RecordIter::new(&batch.payload(), 2).next().unwrap().unwrap().value.unwrap().len();
        assert_eq!(first, 23);
        let entries = read(&batch).unwrap();
        assert_eq!(entries.len(), 2);
        assert_eq!(entries[0].what, EntryKind::Metadata(feature));
        assert_eq!(entries[1].offset, Offset(1));
    }

    #[test]
    fn a_leader_change_is_kafkas_to_the_byte_count() {
        let batch = raw(&leader_change_batch(Timestamp(5), NodeId(1), &[NodeId(1)]));
        // Apache Kafka 4.4.0: the batch has 91 bytes, its key 4 and its value 19.
        assert_eq!(batch.bytes.len(), 91);
        assert!(batch.header.is_control());
        assert_eq!(read(&batch).unwrap()[0].what, EntryKind::Leader(NodeId(1)));
    }

    #[test]
    fn too_much_for_one_batch_is_refused() {
        let long =
            MetadataRecord::from(FeatureLevelRecord { name: "x".repeat(30_000), feature_level: 1 });
        let records = vec![(long, 0); 300];
        assert!(data_batch(Timestamp(5), &records).unwrap_err().contains("8388608 bytes"));
    }

    #[test]
    fn a_record_that_cannot_be_read_names_its_offset() {
        let mut builder = BatchBuilder::new(Offset(7));
        builder.push(Timestamp(0), None, Some(&[1, 99, 0]), &[]).unwrap();
        let batch = RawBatch::parse(builder.build(&NoCodecs).unwrap()).unwrap();
        assert!(read(&batch).unwrap_err().starts_with("record at offset 7"));
    }
}
