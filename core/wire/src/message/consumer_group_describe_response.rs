// Generated from the schema table. Do not edit: change the table in the `schema` folder of this
// crate and run `cargo run -p dohle-wire-gen`.

//! The groups and their members.

use crate::codec::{DecodeError, EncodeError, Reader, Writer};
use crate::id::Uuid;
use crate::message::traits::{Message, readable, writable};

/// The groups and their members.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct ConsumerGroupDescribeResponse {
    /// Milliseconds for which the client was slowed down because of a quota.
    pub throttle_time_ms: i32,
    /// Groups asked for.
    pub groups: Vec<DescribedGroup>,
}

impl ConsumerGroupDescribeResponse {
    fn read(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        let out = Self {
            throttle_time_ms: r.i32()?,
            groups: r.array(true, 20, |r| DescribedGroup::read(r, version))?,
        };
        r.skip_tagged_fields()?;
        Ok(out)
    }

    fn write(&self, w: &mut Writer, version: i16) -> Result<(), EncodeError> {
        w.i32(self.throttle_time_ms);
        w.array(true, &self.groups, |w, item| item.write(w, version))?;
        w.uvarint(0);
        Ok(())
    }
}

/// One of `ConsumerGroupDescribeResponse::groups`: groups asked for.
#[derive(Clone, PartialEq, Debug)]
pub struct DescribedGroup {
    /// Error code; 0 for success.
    pub error_code: i16,
    /// Explanation of the error; null if there is none.
    pub error_message: Option<String>,
    /// Id of the group.
    pub group_id: String,
    /// Name of the group's state; empty if unknown.
    pub group_state: String,
    /// Epoch of the group.
    pub group_epoch: i32,
    /// Epoch of the group for which the assignment was computed.
    pub assignment_epoch: i32,
    /// Assignor that computed it.
    pub assignor_name: String,
    /// Members of the group.
    pub members: Vec<Member>,
    /// Bit set of what the client may do to the group; -2147483648 if not asked for.
    pub authorized_operations: i32,
}

impl Default for DescribedGroup {
    fn default() -> Self {
        Self {
            error_code: 0,
            error_message: None,
            group_id: String::new(),
            group_state: String::new(),
            group_epoch: 0,
            assignment_epoch: 0,
            assignor_name: String::new(),
            members: Vec::new(),
            authorized_operations: i32::MIN,
        }
    }
}

impl DescribedGroup {
    fn read(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        let out = Self {
            error_code: r.i16()?,
            error_message: r.nullable_string(true)?,
            group_id: r.string(true)?,
            group_state: r.string(true)?,
            group_epoch: r.i32()?,
            assignment_epoch: r.i32()?,
            assignor_name: r.string(true)?,
            members: r.array(true, 16, |r| Member::read(r, version))?,
            authorized_operations: r.i32()?,
        };
        r.skip_tagged_fields()?;
        Ok(out)
    }

    fn write(&self, w: &mut Writer, version: i16) -> Result<(), EncodeError> {
        w.i16(self.error_code);
        w.nullable_string(true, self.error_message.as_deref())?;
        w.string(true, &self.group_id)?;
        w.string(true, &self.group_state)?;
        w.i32(self.group_epoch);
        w.i32(self.assignment_epoch);
        w.string(true, &self.assignor_name)?;
        w.array(true, &self.members, |w, item| item.write(w, version))?;
        w.i32(self.authorized_operations);
        w.uvarint(0);
        Ok(())
    }
}

/// One of `DescribedGroup::members`: members of the group.
#[derive(Clone, PartialEq, Debug)]
pub struct Member {
    /// Id of the member.
    pub member_id: String,
    /// Id that the user gave to a static member; null for a dynamic one.
    pub instance_id: Option<String>,
    /// Rack of the member; null if unknown.
    pub rack_id: Option<String>,
    /// Epoch of the member.
    pub member_epoch: i32,
    /// Client id of the member.
    pub client_id: String,
    /// Address of the member.
    pub client_host: String,
    /// Names of the topics that the member wants to read.
    pub subscribed_topic_names: Vec<String>,
    /// Regular expression for names of topics that the member wants to read; null if there is none.
    pub subscribed_topic_regex: Option<String>,
    /// What the member may read.
    pub assignment: Assignment,
    /// What the member is meant to read.
    pub target_assignment: Assignment,
    /// Protocol of the member: 0 classic, 1 consumer, -1 unknown.
    ///
    /// Since version 1; dropped otherwise.
    pub member_type: i8,
}

impl Default for Member {
    fn default() -> Self {
        Self {
            member_id: String::new(),
            instance_id: None,
            rack_id: None,
            member_epoch: 0,
            client_id: String::new(),
            client_host: String::new(),
            subscribed_topic_names: Vec::new(),
            subscribed_topic_regex: None,
            assignment: Assignment::default(),
            target_assignment: Assignment::default(),
            member_type: -1,
        }
    }
}

impl Member {
    fn read(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        let out = Self {
            member_id: r.string(true)?,
            instance_id: r.nullable_string(true)?,
            rack_id: r.nullable_string(true)?,
            member_epoch: r.i32()?,
            client_id: r.string(true)?,
            client_host: r.string(true)?,
            subscribed_topic_names: r.array(true, 1, |r| r.string(true))?,
            subscribed_topic_regex: r.nullable_string(true)?,
            assignment: Assignment::read(r, version)?,
            target_assignment: Assignment::read(r, version)?,
            member_type: if version >= 1 { r.i8()? } else { -1 },
        };
        r.skip_tagged_fields()?;
        Ok(out)
    }

    fn write(&self, w: &mut Writer, version: i16) -> Result<(), EncodeError> {
        w.string(true, &self.member_id)?;
        w.nullable_string(true, self.instance_id.as_deref())?;
        w.nullable_string(true, self.rack_id.as_deref())?;
        w.i32(self.member_epoch);
        w.string(true, &self.client_id)?;
        w.string(true, &self.client_host)?;
        w.array(true, &self.subscribed_topic_names, |w, item| w.string(true, item))?;
        w.nullable_string(true, self.subscribed_topic_regex.as_deref())?;
        self.assignment.write(w, version)?;
        self.target_assignment.write(w, version)?;
        if version >= 1 {
            w.i8(self.member_type);
        }
        w.uvarint(0);
        Ok(())
    }
}

/// The `Member::assignment`: what the member may read.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Assignment {
    /// Partitions by topic.
    pub topic_partitions: Vec<TopicPartitions>,
}

impl Assignment {
    fn read(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        let out =
            Self { topic_partitions: r.array(true, 19, |r| TopicPartitions::read(r, version))? };
        r.skip_tagged_fields()?;
        Ok(out)
    }

    fn write(&self, w: &mut Writer, version: i16) -> Result<(), EncodeError> {
        w.array(true, &self.topic_partitions, |w, item| item.write(w, version))?;
        w.uvarint(0);
        Ok(())
    }
}

/// One of `Assignment::topic_partitions`: partitions by topic.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct TopicPartitions {
    /// Id of the topic.
    pub topic_id: Uuid,
    /// Name of the topic.
    pub topic_name: String,
    /// Numbers of the partitions.
    pub partitions: Vec<i32>,
}

impl TopicPartitions {
    fn read(r: &mut Reader, _version: i16) -> Result<Self, DecodeError> {
        let out = Self {
            topic_id: r.uuid()?,
            topic_name: r.string(true)?,
            partitions: r.array(true, 4, Reader::i32)?,
        };
        r.skip_tagged_fields()?;
        Ok(out)
    }

    fn write(&self, w: &mut Writer, _version: i16) -> Result<(), EncodeError> {
        w.uuid(self.topic_id);
        w.string(true, &self.topic_name)?;
        w.array(true, &self.partitions, |w, item| {
            w.i32(*item);
            Ok(())
        })?;
        w.uvarint(0);
        Ok(())
    }
}

impl Message for ConsumerGroupDescribeResponse {
    const NAME: &'static str = "ConsumerGroupDescribeResponse";
    const VERSIONS: (i16, i16) = (0, 1);
    const FLEXIBLE_FROM: Option<i16> = Some(0);

    fn decode(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        readable::<Self>(version)?;
        Self::read(r, version)
    }

    fn encode(&self, w: &mut Writer, version: i16) -> Result<(), EncodeError> {
        writable::<Self>(version)?;
        self.write(w, version)
    }
}
