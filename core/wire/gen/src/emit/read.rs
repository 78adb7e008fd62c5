//! The function that reads a struct.

use super::condition::Condition;
use super::names::mentions;
use super::types;
use crate::schema::{Element, Field, Message, Range, Struct};

/// Source of `read`, which assumes that the version is one of the message.
pub(crate) fn function(message: &Message, each: &Struct) -> String {
    let flexible = Condition::flexible(message, each.versions);
    // The fields are read inside the struct expression, so that none can hide a parameter.
    let fields: String = each.fields.iter().map(|field| member(message, each, field)).collect();
    let value = format!("Self {{ {fields} }}");
    let has_tags = each.fields.iter().any(|field| field.tag.is_some());
    let lines = match tagged(message, each, &flexible) {
        None => format!("Ok({value})\n"),
        Some(section) if has_tags => format!("let mut out = {value};\n{section}\nOk(out)\n"),
        Some(section) => format!("let out = {value};\n{section}\nOk(out)\n"),
    };
    let lines = declare_flexible(&flexible, lines);
    let version = if mentions(&lines, "version") { "version" } else { "_version" };
    let reader = if mentions(&lines, "r") { "r" } else { "_r" };
    format!(
        "fn read({reader}: &mut Reader, {version}: i16) -> Result<Self, DecodeError> {{\n{lines}}}\n\n"
    )
}

/// Puts the definition of `flexible` in front if the lines use it.
pub(crate) fn declare_flexible(flexible: &Condition, lines: String) -> String {
    match flexible {
        Condition::If(test) if mentions(&lines, "flexible") => {
            format!("let flexible = {test};\n{lines}")
        }
        _ => lines,
    }
}

/// What to pass for `flexible`: a variable only if it varies.
pub(crate) fn flexible_argument(flexible: &Condition) -> &'static str {
    match flexible {
        Condition::Always => "true",
        Condition::Never => "false",
        Condition::If(_) => "flexible",
    }
}

/// Member of the struct expression: a tagged field starts as its default.
fn member(message: &Message, each: &Struct, field: &Field) -> String {
    let (name, default) = (&field.name, types::default(field));
    if field.tag.is_some() {
        return format!("{name}: {default},\n");
    }
    let flexible = Condition::flexible(message, each.versions);
    let value = value(message, field, flexible_argument(&flexible));
    match Condition::within(field.versions, each.versions) {
        Condition::If(test) => format!("{name}: if {test} {{ {value} }} else {{ {default} }},\n"),
        _ => format!("{name}: {value},\n"),
    }
}

/// Expression that reads the value of a field.
fn value(message: &Message, field: &Field, flexible: &str) -> String {
    let Some(nullable) = field.nullable else { return present(message, field, flexible) };
    // Where the field may be null only in later versions, it is read as present in earlier ones.
    match Condition::within(nullable, field.versions) {
        Condition::If(test) => format!(
            "if {test} {{ {} }} else {{ Some({}) }}",
            or_null(message, field, flexible),
            present(message, field, flexible)
        ),
        _ => or_null(message, field, flexible),
    }
}

fn present(message: &Message, field: &Field, flexible: &str) -> String {
    if field.is_array { array("array", message, field, flexible) } else { plain(field, flexible) }
}

fn or_null(message: &Message, field: &Field, flexible: &str) -> String {
    if field.is_array {
        return array("nullable_array", message, field, flexible);
    }
    match &field.element {
        Element::Struct(name) => {
            format!("r.nullable_struct(|r| {name}::read(r, version))?")
        }
        _ => format!("r.nullable_{}({flexible})?", method(&field.element)),
    }
}

fn plain(field: &Field, flexible: &str) -> String {
    match &field.element {
        Element::Struct(name) => format!("{name}::read(r, version)?"),
        element if has_len(element) => format!("r.{}({flexible})?", method(element)),
        element => format!("r.{}()?", method(element)),
    }
}

fn array(function: &str, message: &Message, field: &Field, flexible: &str) -> String {
    let min_len = types::min_len(message, &field.element, field.versions);
    let element = match &field.element {
        Element::Struct(name) => format!("|r| {name}::read(r, version)"),
        element if has_len(element) => format!("|r| r.{}({flexible})", method(element)),
        element => format!("Reader::{}", method(element)),
    };
    format!("r.{function}({flexible}, {min_len}, {element})?")
}

/// Statement that reads the section of tagged fields; `None` if no version has one.
fn tagged(message: &Message, each: &Struct, flexible: &Condition) -> Option<String> {
    let arms: String = each.fields.iter().map(|field| tagged_arm(message, each, field)).collect();
    let section = if arms.is_empty() {
        "r.skip_tagged_fields()?;".to_owned()
    } else {
        format!(
            "r.tagged_fields(|tag, r| {{ match tag {{ {arms} _ => return Ok(false), }} Ok(true) }})?;"
        )
    };
    match flexible {
        Condition::Always => Some(section),
        Condition::Never => None,
        Condition::If(_) => Some(format!("if flexible {{ {section} }}")),
    }
}

fn tagged_arm(message: &Message, each: &Struct, field: &Field) -> String {
    let Some(tag) = field.tag else { return String::new() };
    let first = message.flexible_from.unwrap_or(i16::MAX).max(each.versions.first);
    let outer = Range { first, last: each.versions.last };
    let guard = match Condition::within(field.versions, outer) {
        Condition::If(test) => format!(" if {test}"),
        _ => String::new(),
    };
    format!("{tag}{guard} => {{ out.{} = {}; }}\n", field.name, value(message, field, "true"))
}

/// Whether a value of this type begins with its length.
pub(crate) const fn has_len(element: &Element) -> bool {
    matches!(element, Element::String | Element::Bytes | Element::Records)
}

/// Method of `Reader` and `Writer` for this type, which is not a struct.
pub(crate) const fn method(element: &Element) -> &'static str {
    match element {
        Element::Bool => "bool",
        Element::I8 => "i8",
        Element::I16 => "i16",
        Element::I32 => "i32",
        Element::I64 => "i64",
        Element::U16 => "u16",
        Element::F64 => "f64",
        Element::Uuid => "uuid",
        Element::String => "string",
        Element::Bytes => "bytes",
        Element::Records => "records",
        Element::Struct(_) => "",
    }
}
