//! Test support: arbitrary values of every message, and lists of all messages.

use std::fmt::Write;

use super::condition::Condition;
use super::group;
use super::names::{self, mentions};
use super::read::method;
use super::types;
use crate::schema::{Element, Field, Kind, Message, Struct};

/// Source of the module that makes arbitrary values of `message`.
pub(crate) fn module(message: &Message) -> String {
    let body: String = message.structs.iter().map(implementation).collect();
    let names: Vec<_> = message.structs.iter().map(|each| each.name.as_str()).collect();
    let module = names::module(message.name());
    let mut out = format!("use dohle_wire::message::{module}::{{{}}};\n", names.join(", "));
    if mentions(&body, "Uuid") {
        out += "use dohle_wire::id::Uuid;\n";
    }
    out + "\nuse crate::support::generator::{Arbitrary, Generator};\n" + &body
}

fn implementation(each: &Struct) -> String {
    let members: String = each.fields.iter().map(|field| member(each, field)).collect();
    let version = if mentions(&members, "version") { "version" } else { "_version" };
    let generator = if mentions(&members, "g") { "g" } else { "_g" };
    format!(
        "\nimpl Arbitrary for {} {{\nfn arbitrary({generator}: &mut Generator, {version}: i16) -> Self \
         {{\nSelf {{ {members} }}\n}}\n}}\n",
        each.name
    )
}

fn member(each: &Struct, field: &Field) -> String {
    let (name, default) = (&field.name, types::default(field));
    let value = value(field);
    match Condition::within(field.versions, each.versions) {
        Condition::If(test) => format!("{name}: if {test} {{ {value} }} else {{ {default} }},\n"),
        _ => format!("{name}: {value},\n"),
    }
}

fn value(field: &Field) -> String {
    let present = present(field);
    let Some(nullable) = field.nullable else { return present };
    match Condition::within(nullable, field.versions) {
        Condition::If(test) => {
            format!("if {test} {{ g.option(|g| {present}) }} else {{ Some({present}) }}")
        }
        _ => format!("g.option(|g| {present})"),
    }
}

fn present(field: &Field) -> String {
    let plain = match &field.element {
        Element::Struct(name) => format!("{name}::arbitrary(g, version)"),
        element => format!("g.{}()", method(element)),
    };
    if field.is_array { format!("g.vec(|g| {plain})") } else { plain }
}

/// Source of the module that lists all messages.
pub(crate) fn index(messages: &[Message]) -> String {
    let mut out =
        "//! Arbitrary values of every message, and lists of all messages.\n\n".to_owned();
    let mut modules: Vec<_> = messages.iter().map(|each| names::module(each.name())).collect();
    modules.sort();
    for module in modules {
        let _ = writeln!(out, "mod {module};");
    }
    out += &list("message", "message", messages, |_| true);
    out += &list("request", "request", messages, |kind| matches!(kind, Kind::Request { .. }));
    out += &list("metadata_record", "record of the metadata log", messages, |kind| {
        matches!(kind, Kind::Metadata { .. })
    });
    out + &group_records(messages)
}

/// A macro that calls a generic function for every record of groups.
fn group_records(messages: &[Message]) -> String {
    let mut out = "\n/// Calls `$check::<K, V>(of, $arg…)` for every record of groups with a key `K` and a \
        value `V`, where\n/// `of` makes the record of both.\nmacro_rules! for_each_group_record {\n    \
        ($check:ident($($arg:expr),*)) => {\n"
        .to_owned();
    for (_, key, value) in group::records(messages) {
        let (key, value) = (key.name(), value.name());
        let _ = writeln!(
            out,
            "        $check::<dohle_wire::message::{key}, dohle_wire::message::{value}>(\n            \
             dohle_wire::message::GroupRecord::{}, $($arg),*\n        );",
            names::variant(key)
        );
    }
    out + "    };\n}\npub(crate) use for_each_group_record;\n"
}

/// A macro that calls a generic function for every message of some kind.
fn list(name: &str, noun: &str, messages: &[Message], is_listed: fn(Kind) -> bool) -> String {
    let mut out = format!(
        "\n/// Calls `$check::<M>($arg…)` for every {noun} `M`.\nmacro_rules! for_each_{name} {{\n    \
         ($check:ident($($arg:expr),*)) => {{\n"
    );
    for message in messages.iter().filter(|message| is_listed(message.kind)) {
        let _ =
            writeln!(out, "        $check::<dohle_wire::message::{}>($($arg),*);", message.name());
    }
    out + &format!("    }};\n}}\npub(crate) use for_each_{name};\n")
}
