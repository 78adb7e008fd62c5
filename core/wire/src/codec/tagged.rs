//! Writing tagged fields, each of which is preceded by its size.

use super::{EncodeError, Writer};

/// Collects the tagged fields of one struct.
#[derive(Clone, Debug, Default)]
pub struct TaggedFields {
    fields: Vec<(u32, Writer)>,
}

impl TaggedFields {
    /// A section without fields.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a field, whose value `body` writes. Tags must be added in ascending order.
    pub fn add(
        &mut self,
        tag: u32,
        body: impl FnOnce(&mut Writer) -> Result<(), EncodeError>,
    ) -> Result<(), EncodeError> {
        let mut value = Writer::new();
        body(&mut value)?;
        self.fields.push((tag, value));
        Ok(())
    }

    /// Writes the section: the number of fields, then tag, size and value of each.
    pub fn write(self, w: &mut Writer) -> Result<(), EncodeError> {
        w.uvarint(len_field(self.fields.len())?);
        for (tag, value) in self.fields {
            w.uvarint(tag);
            w.uvarint(len_field(value.len())?);
            w.append(value);
        }
        Ok(())
    }
}

fn len_field(len: usize) -> Result<u32, EncodeError> {
    u32::try_from(len).map_err(|_| EncodeError::TooLong(len))
}
