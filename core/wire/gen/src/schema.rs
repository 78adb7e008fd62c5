//! The parsed schema table.

use std::fmt;

/// A range of versions, both ends included.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) struct Range {
    pub(crate) first: i16,
    pub(crate) last: i16,
}

impl Range {
    pub(crate) const fn contains(self, version: i16) -> bool {
        self.first <= version && version <= self.last
    }

    pub(crate) const fn includes(self, other: Self) -> bool {
        self.first <= other.first && other.last <= self.last
    }

    /// The smallest range around both.
    pub(crate) fn union(self, other: Self) -> Self {
        Self { first: self.first.min(other.first), last: self.last.max(other.last) }
    }

    pub(crate) fn versions(self) -> impl Iterator<Item = i16> {
        self.first..=self.last
    }
}

impl fmt::Display for Range {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.first == self.last {
            true => write!(f, "{}", self.first),
            false => write!(f, "{} to {}", self.first, self.last),
        }
    }
}

/// What a message is for.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    Request { key: i16 },
    Response,
    Metadata { key: i16 },
    GroupKey { key: i16 },
    GroupValue { key: i16 },
    Data,
}

/// A request, response or record.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Message {
    pub(crate) kind: Kind,
    pub(crate) versions: Range,
    pub(crate) flexible_from: Option<i16>,
    /// The message's own fields come first; structs that they use follow, outer before inner.
    pub(crate) structs: Vec<Struct>,
}

impl Message {
    /// The struct that is the message itself.
    pub(crate) fn body(&self) -> &Struct {
        &self.structs[0]
    }

    pub(crate) fn name(&self) -> &str {
        &self.body().name
    }

    pub(crate) fn find(&self, name: &str) -> Option<&Struct> {
        self.structs.iter().find(|each| each.name == name)
    }

    pub(crate) fn is_flexible(&self, version: i16) -> bool {
        self.flexible_from.is_some_and(|first| version >= first)
    }
}

/// A message or a part of it that has fields.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Struct {
    pub(crate) name: String,
    pub(crate) doc: String,
    /// Versions of the message that use the struct.
    pub(crate) versions: Range,
    pub(crate) fields: Vec<Field>,
}

#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Field {
    pub(crate) name: String,
    pub(crate) doc: String,
    pub(crate) element: Element,
    pub(crate) is_array: bool,
    pub(crate) versions: Range,
    /// Versions in which the field may be null; `None` if it never may.
    pub(crate) nullable: Option<Range>,
    pub(crate) tag: Option<u32>,
    /// Default of a number or bool, as Rust source.
    pub(crate) default: Option<String>,
    /// Whether the field is silently dropped in versions that lack it.
    pub(crate) ignorable: bool,
}

impl Field {
    /// Whether the default is null: so for a field that may be null in all of its versions.
    pub(crate) fn defaults_to_null(&self) -> bool {
        self.nullable.is_some_and(|range| range.includes(self.versions))
    }
}

/// Type of a field or of the elements of an array.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Element {
    Bool,
    I8,
    I16,
    I32,
    I64,
    U16,
    F64,
    Uuid,
    String,
    Bytes,
    Records,
    Struct(String),
}
