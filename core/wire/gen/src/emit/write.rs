//! The function that writes a struct.

use super::condition::Condition;
use super::names::mentions;
use super::read::{declare_flexible, flexible_argument, has_len, method};
use super::types;
use crate::schema::{Element, Field, Message, Range, Struct};

/// Source of `write`, which assumes that the version is one of the message.
pub(crate) fn function(message: &Message, each: &Struct) -> String {
    let flexible = Condition::flexible(message, each.versions);
    let mut lines = String::new();
    for field in &each.fields {
        lines += &field_lines(message, each, field);
    }
    lines += &tagged(message, each, &flexible);
    lines += "Ok(())\n";
    let lines = declare_flexible(&flexible, lines);
    let version = if mentions(&lines, "version") { "version" } else { "_version" };
    let writer = if mentions(&lines, "w") { "w" } else { "_w" };
    format!(
        "fn write(&self, {writer}: &mut Writer, {version}: i16) -> Result<(), EncodeError> {{\n{lines}}}\n"
    )
}

fn field_lines(message: &Message, each: &Struct, field: &Field) -> String {
    let condition = Condition::within(field.versions, each.versions);
    let refused = refused(message, each, field, "not_in_version");
    if field.tag.is_some() {
        return match condition.negated() {
            Condition::If(test) if !field.ignorable => {
                format!("if {test} && {} {{ {refused} }}\n", types::is_set(field))
            }
            _ => String::new(),
        };
    }
    let flexible = Condition::flexible(message, each.versions);
    let written = written(message, each, field, flexible_argument(&flexible));
    match condition {
        Condition::If(test) if field.ignorable => format!("if {test} {{ {written} }}\n"),
        Condition::If(test) => {
            format!("if {test} {{ {written} }} else if {} {{ {refused} }}\n", types::is_set(field))
        }
        _ => written + "\n",
    }
}

fn refused(message: &Message, each: &Struct, field: &Field, error: &str) -> String {
    let owner = if each == message.body() { String::new() } else { format!("{}.", each.name) };
    format!("return Err({error}(\"{}\", \"{owner}{}\", version));", message.name(), field.name)
}

/// Statements that write the field to `w` in a version that has it.
fn written(message: &Message, each: &Struct, field: &Field, flexible: &str) -> String {
    let required = required(message, each, field);
    let name = &field.name;
    let nullable = if field.nullable.is_some() { "nullable_" } else { "" };
    let place = place(field);
    if field.is_array {
        let item = item(&field.element, flexible);
        return format!("{required}w.{nullable}array({flexible}, {place}, |w, item| {item})?;");
    }
    match &field.element {
        Element::Struct(_) if field.nullable.is_some() => {
            format!("{required}w.nullable_struct({place}, |w, item| item.write(w, version))?;")
        }
        Element::Struct(_) => format!("self.{name}.write(w, version)?;"),
        element if has_len(element) => {
            format!("{required}w.{nullable}{}({flexible}, {place})?;", method(element))
        }
        element => format!("w.{}(self.{name});", method(element)),
    }
}

/// The field as an argument.
fn place(field: &Field) -> String {
    let name = &field.name;
    let derefs = field.is_array || field.element == Element::String;
    match (field.nullable.is_some(), derefs) {
        (true, true) => format!("self.{name}.as_deref()"),
        (true, false) => format!("self.{name}.as_ref()"),
        (false, _) => format!("&self.{name}"),
    }
}

/// Expression that writes one element of an array.
fn item(element: &Element, flexible: &str) -> String {
    match element {
        Element::Struct(_) => "item.write(w, version)".to_owned(),
        element if has_len(element) => format!("w.{}({flexible}, item)", method(element)),
        element => format!("{{ w.{}(*item); Ok(()) }}", method(element)),
    }
}

/// Statement that refuses null in the versions that have the field but no null for it.
fn required(message: &Message, each: &Struct, field: &Field) -> String {
    let Some(nullable) = field.nullable else { return String::new() };
    let Condition::If(test) = Condition::within(nullable, field.versions).negated() else {
        return String::new();
    };
    let refused = refused(message, each, field, "unexpected_null");
    format!("if {test} && self.{}.is_none() {{ {refused} }}\n", field.name)
}

fn tagged(message: &Message, each: &Struct, flexible: &Condition) -> String {
    let mut fields: Vec<_> = each.fields.iter().filter(|field| field.tag.is_some()).collect();
    fields.sort_by_key(|field| field.tag);
    let section = if fields.is_empty() {
        "w.uvarint(0);".to_owned()
    } else {
        let pushes: String = fields.iter().map(|field| add(message, each, field)).collect();
        format!("let mut tagged = TaggedFields::new();\n{pushes}tagged.write(w)?;")
    };
    match flexible {
        Condition::Always => format!("{section}\n"),
        Condition::Never => String::new(),
        Condition::If(_) => format!("if flexible {{ {section} }}\n"),
    }
}

/// Statement that adds a tagged field to the section, if it is set.
fn add(message: &Message, each: &Struct, field: &Field) -> String {
    let first = message.flexible_from.unwrap_or(i16::MAX).max(each.versions.first);
    let outer = Range { first, last: each.versions.last };
    let in_version = match Condition::within(field.versions, outer) {
        Condition::If(test) => format!("{test} && "),
        _ => String::new(),
    };
    let (is_set, tag) = (types::is_set(field), field.tag.unwrap_or_default());
    let written = written(message, each, field, "true");
    format!("if {in_version}{is_set} {{ tagged.add({tag}, |w| {{ {written} Ok(()) }})?; }}\n")
}
