//! Audits what coordinators write about the members that they assign partitions to.
//!
//! Records are looked at in the order in which they are written. At any time a partition has one
//! owner in a group, and in each epoch of members only one (G1); to own is to have it assigned or
//! still to have to give it up. What an earlier process wrote, and may have lost, is forgotten, and
//! so is all when a write found no space: part of it was never there.

use std::collections::{BTreeMap, BTreeSet};

use bytes::Bytes;
use dohle_codec::NativeCodecs;
use dohle_wire::id::Uuid;
use dohle_wire::message::GroupRecord;
use dohle_wire::message::consumer_group_current_member_assignment_value::TopicPartitions;
use dohle_wire::record::{RecordIter, split_batches};

use super::Violation;

/// No batch of the simulation holds more.
const BATCH_MOST: usize = 1 << 24;

type Part = (Uuid, i32);

/// What was written of one group.
#[derive(Clone, Debug, Default)]
struct Group {
    owned: BTreeMap<String, BTreeSet<Part>>,
    owners: BTreeMap<Part, String>,
    /// Who owned what in which epoch: instances, or else members.
    by_epoch: BTreeMap<(i32, Part), String>,
}

/// See the module.
#[derive(Clone, Debug, Default)]
pub struct Owners {
    groups: BTreeMap<String, Group>,
    /// The instances of static members, of all that there ever were.
    instances: BTreeMap<String, String>,
    /// How many times a member was given something.
    pub looked_at: u64,
}

impl Owners {
    /// Another process writes from now on, or what was written is not there.
    pub fn restart(&mut self) {
        self.groups.clear();
    }

    /// Batches are written to a partition of `__consumer_offsets`.
    ///
    /// # Errors
    /// G1.
    pub fn on_written(&mut self, bytes: Bytes) -> Result<(), Violation> {
        for batch in split_batches(bytes).map_while(Result::ok) {
            let Ok(bytes) = batch.records(&NativeCodecs, BATCH_MOST) else { continue };
            let records = RecordIter::new(&bytes, batch.header.records_count);
            for record in records.map_while(Result::ok) {
                let copied = |part: Option<&[u8]>| part.map(Bytes::copy_from_slice);
                let key = copied(record.key).unwrap_or_default();
                if let Ok((record, _)) = GroupRecord::decode(key, copied(record.value)) {
                    self.on_record(record)?;
                }
            }
        }
        Ok(())
    }

    fn on_record(&mut self, record: GroupRecord) -> Result<(), Violation> {
        match record {
            GroupRecord::ConsumerGroupMetadata(key, None) => {
                self.groups.remove(&key.group_id);
            }
            GroupRecord::ConsumerGroupMemberMetadata(key, value) => {
                let instance = value.and_then(|value| value.instance_id);
                self.instances.extend(instance.map(|instance| (key.member_id, instance)));
            }
            GroupRecord::ConsumerGroupCurrentMemberAssignment(key, value) => {
                let group = self.groups.entry(key.group_id.clone()).or_default();
                group.release(&key.member_id);
                if let Some(value) = value {
                    self.looked_at += 1;
                    let parts = parts(&value.assigned_partitions)
                        .chain(parts(&value.partitions_pending_revocation));
                    let parts: BTreeSet<Part> = parts.collect();
                    let who = self.instances.get(&key.member_id).unwrap_or(&key.member_id);
                    let owned = group.own((&key.member_id, who), value.member_epoch, parts);
                    owned
                        .map_err(|why| Violation::new("G1", format!("{}: {why}", key.group_id)))?;
                }
            }
            _ => {}
        }
        Ok(())
    }
}

fn parts(topics: &[TopicPartitions]) -> impl Iterator<Item = Part> + '_ {
    topics.iter().flat_map(|topic| topic.partitions.iter().map(|index| (topic.topic_id, *index)))
}

impl Group {
    fn release(&mut self, member: &str) {
        for part in self.owned.remove(member).unwrap_or_default() {
            self.owners.remove(&part);
        }
    }

    /// A member, which may stand for an instance, owns these.
    fn own(
        &mut self,
        (member, who): (&str, &str),
        epoch: i32,
        parts: BTreeSet<Part>,
    ) -> Result<(), String> {
        for part @ (topic, index) in &parts {
            if let Some(other) = self.owners.insert(*part, member.to_owned()) {
                return Err(format!("{topic}-{index} is owned by {other} and by {member}"));
            }
            // A member that left for a while keeps what it owned, in no epoch.
            let first = self.by_epoch.entry((epoch, *part)).or_insert_with(|| who.to_owned());
            if epoch > 0 && *first != who {
                return Err(format!(
                    "{topic}-{index} is owned by {first} and by {who} in epoch {epoch}"
                ));
            }
        }
        self.owned.insert(member.to_owned(), parts);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn owns(group: &mut Group, member: &str, epoch: i32, parts: &[i32]) -> bool {
        group.release(member);
        let parts = parts.iter().map(|index| (Uuid::ZERO, *index)).collect();
        group.own((member, &member[..1]), epoch, parts).is_ok()
    }

    #[test]
    fn a_partition_has_one_owner() {
        let group = &mut Group::default();
        assert!(owns(group, "a", 1, &[0, 1]) && owns(group, "b", 2, &[]));
        assert!(!owns(&mut group.clone(), "b", 2, &[1]), "a has not released it");
        assert!(owns(group, "a", 2, &[0]) && owns(group, "b", 2, &[1]));
    }

    #[test]
    fn a_partition_has_one_owner_in_an_epoch() {
        let group = &mut Group::default();
        assert!(owns(group, "a", 2, &[0, 1]) && owns(group, "a", 3, &[0]));
        assert!(!owns(&mut group.clone(), "b", 2, &[1]), "a had it in this epoch");
        assert!(owns(group, "b", 3, &[1]));
        group.release("a");
        assert!(owns(group, "a2", 3, &[0]), "it is the same instance");
    }
}
