//! The module of one message.

use std::fmt::Write;

use super::names::{self, mentions};
use super::{read, types, write};
use crate::schema::{Field, Kind, Message, Struct};

/// Source of the module of `message`; `messages` are all, to find the response of a request.
pub(crate) fn module(message: &Message, messages: &[Message]) -> String {
    let mut code: String = message.structs.iter().map(|each| definition(message, each)).collect();
    code += &message_impl(message);
    code += &request_impl(message, messages);
    format!("//! {}\n\n{}{code}", message.body().doc, imports(&code))
}

/// The `use` lines that the code of the module needs.
fn imports(code: &str) -> String {
    let is_code = |line: &&str| !line.trim_start().starts_with("///");
    let code: String = code.lines().filter(is_code).map(|line| format!("{line}\n")).collect();
    let pick = |names: &[&'static str]| -> String {
        let used: Vec<_> = names.iter().copied().filter(|name| mentions(&code, name)).collect();
        used.join(", ")
    };
    let mut out = String::new();
    let mut import = |path: &str, names: &[&'static str]| {
        let names = pick(names);
        if !names.is_empty() {
            let _ = writeln!(out, "use {path}::{{{names}}};");
        }
    };
    import("bytes", &["Bytes"]);
    import("crate::api_key", &["ApiKey"]);
    import("crate::codec", &["DecodeError", "EncodeError", "Reader", "TaggedFields", "Writer"]);
    import("crate::id", &["Uuid"]);
    let traits =
        ["Message", "Request", "not_in_version", "readable", "unexpected_null", "writable"];
    import("crate::message::traits", &traits);
    import("crate::records", &["Records"]);
    out.replacen("use crate", "\nuse crate", 1) + "\n"
}

/// The struct type with its default, reading and writing.
fn definition(message: &Message, each: &Struct) -> String {
    let derived = each.fields.iter().all(types::has_derived_default);
    let default = if derived { ", Default" } else { "" };
    let mut out = format!("/// {}\n#[derive(Clone, PartialEq, Debug{default})]\n", each.doc);
    let _ = writeln!(out, "pub struct {} {{", each.name);
    for field in &each.fields {
        out += &field_definition(each, field);
    }
    out += "}\n\n";
    if !derived {
        out += &default_impl(each);
    }
    let _ = writeln!(out, "impl {} {{", each.name);
    out += &read::function(message, each);
    out += &write::function(message, each);
    out + "}\n\n"
}

fn field_definition(each: &Struct, field: &Field) -> String {
    let mut out = format!("    /// {}\n", field.doc);
    if field.versions != each.versions {
        let _ = writeln!(out, "    ///\n    /// {}", version_note(each, field));
    }
    let _ = writeln!(out, "    pub {}: {},", field.name, types::field(field));
    out
}

/// Tells which versions have the field and what the others do with it.
fn version_note(each: &Struct, field: &Field) -> String {
    let range = field.versions;
    let versions = match (range.first == range.last, range.last == each.versions.last) {
        (_, true) => format!("Since version {}", range.first),
        (true, _) => format!("Only in version {range}"),
        (false, _) => format!("Only in versions {range}"),
    };
    if field.ignorable { format!("{versions}; dropped otherwise.") } else { format!("{versions}.") }
}

fn default_impl(each: &Struct) -> String {
    let mut out = format!("impl Default for {} {{\n    fn default() -> Self {{\n", each.name);
    out += "        Self {\n";
    for field in &each.fields {
        let _ = writeln!(out, "            {}: {},", field.name, types::default(field));
    }
    out + "        }\n    }\n}\n\n"
}

fn message_impl(message: &Message) -> String {
    let name = message.name();
    let versions = message.versions;
    let mut out = format!("impl Message for {name} {{\n");
    let _ = writeln!(out, "    const NAME: &'static str = \"{name}\";");
    let _ =
        writeln!(out, "    const VERSIONS: (i16, i16) = ({}, {});", versions.first, versions.last);
    let _ = writeln!(out, "    const FLEXIBLE_FROM: Option<i16> = {:?};\n", message.flexible_from);
    out += "    fn decode(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {\n";
    out += "        readable::<Self>(version)?;\n        Self::read(r, version)\n    }\n\n";
    out += "    fn encode(&self, w: &mut Writer, version: i16) -> Result<(), EncodeError> {\n";
    out += "        writable::<Self>(version)?;\n        self.write(w, version)\n    }\n";
    out + "}\n"
}

fn request_impl(message: &Message, messages: &[Message]) -> String {
    let Kind::Request { .. } = message.kind else { return String::new() };
    let name = message.name();
    let api = name.strip_suffix("Request").unwrap_or(name);
    let response = format!("{api}Response");
    let known = messages.iter().any(|each| each.name() == response);
    assert!(known, "{name} has no response");
    let module = names::module(&response);
    format!(
        "\nimpl Request for {name} {{\n    const KEY: ApiKey = ApiKey::{api};\n    \
         type Response = super::{module}::{response};\n}}\n"
    )
}
