//! Rust types of fields, their defaults and their sizes.

use crate::schema::{Element, Field, Message, Range, Struct};

/// Rust type of an array element or of a field that is neither array nor nullable.
pub(crate) fn element(element: &Element) -> &str {
    match element {
        Element::Bool => "bool",
        Element::I8 => "i8",
        Element::I16 => "i16",
        Element::I32 => "i32",
        Element::I64 => "i64",
        Element::U16 => "u16",
        Element::F64 => "f64",
        Element::Uuid => "Uuid",
        Element::String => "String",
        Element::Bytes => "Bytes",
        Element::Records => "Records",
        Element::Struct(name) => name,
    }
}

/// Rust type of a field.
pub(crate) fn field(field: &Field) -> String {
    let inner = element(&field.element);
    let inner = if field.is_array { format!("Vec<{inner}>") } else { inner.to_owned() };
    if field.nullable.is_some() { format!("Option<{inner}>") } else { inner }
}

/// Whether the default of the field is the one that Rust would derive.
pub(crate) fn has_derived_default(field: &Field) -> bool {
    field.default.is_none() && (field.nullable.is_none() || field.defaults_to_null())
}

/// The default of a field as an expression.
pub(crate) fn default(field: &Field) -> String {
    if let Some(value) = &field.default {
        return number(value);
    }
    if field.defaults_to_null() {
        return "None".to_owned();
    }
    let inner = if field.is_array { "Vec::new()" } else { plain_default(&field.element) };
    let inner = match &field.element {
        Element::Struct(name) if !field.is_array => format!("{name}::default()"),
        _ => inner.to_owned(),
    };
    if field.nullable.is_some() { format!("Some({inner})") } else { inner }
}

/// A literal, by its name if it is the end of a range.
fn number(literal: &str) -> String {
    let named = match literal {
        "2147483647" => "i32::MAX",
        "-2147483648" => "i32::MIN",
        "9223372036854775807" => "i64::MAX",
        other => other,
    };
    named.to_owned()
}

fn plain_default(element: &Element) -> &'static str {
    match element {
        Element::Bool => "false",
        Element::F64 => "0.0",
        Element::Uuid => "Uuid::ZERO",
        Element::String => "String::new()",
        Element::Bytes => "Bytes::new()",
        Element::Records | Element::Struct(_) => "Default::default()",
        Element::I8 | Element::I16 | Element::I32 | Element::I64 | Element::U16 => "0",
    }
}

/// An expression that tells whether `self`'s field differs from its default.
pub(crate) fn is_set(field: &Field) -> String {
    let place = format!("self.{}", field.name);
    if field.defaults_to_null() {
        return format!("{place}.is_some()");
    }
    if field.nullable.is_some() {
        return format!("{place}.as_ref().is_none_or(|value| !value.is_empty())");
    }
    let is_collection =
        matches!(field.element, Element::String | Element::Bytes | Element::Records);
    if field.is_array || is_collection {
        return format!("!{place}.is_empty()");
    }
    match (&field.element, default(field).as_str()) {
        (Element::Bool, "false") => place,
        (Element::Bool, _) => format!("!{place}"),
        (_, value) => format!("{place} != {value}"),
    }
}

/// Least number of bytes that one element takes in any version of `range`; at least 1.
pub(crate) fn min_len(message: &Message, element: &Element, range: Range) -> usize {
    let sizes = range.versions().map(|version| element_len(message, element, version));
    sizes.min().unwrap_or(1).max(1)
}

fn element_len(message: &Message, element: &Element, version: i16) -> usize {
    match element {
        Element::Bool | Element::I8 => 1,
        Element::I16 | Element::U16 => 2,
        Element::I32 => 4,
        Element::I64 | Element::F64 => 8,
        Element::Uuid => 16,
        Element::String if message.is_flexible(version) => 1,
        Element::String => 2,
        Element::Bytes | Element::Records => other_len(message, version),
        Element::Struct(name) => {
            message.find(name).map_or(0, |each| struct_len(message, each, version))
        }
    }
}

fn other_len(message: &Message, version: i16) -> usize {
    if message.is_flexible(version) { 1 } else { 4 }
}

fn struct_len(message: &Message, each: &Struct, version: i16) -> usize {
    let fields = each.fields.iter();
    let present = fields.filter(|field| field.versions.contains(version) && field.tag.is_none());
    let len: usize = present.map(|field| field_len(message, field, version)).sum();
    len + usize::from(message.is_flexible(version))
}

fn field_len(message: &Message, field: &Field, version: i16) -> usize {
    if field.is_array {
        return other_len(message, version);
    }
    match field.element {
        Element::Struct(_) if field.nullable.is_some() => 1,
        _ => element_len(message, &field.element, version),
    }
}
