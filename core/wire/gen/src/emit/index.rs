//! The module that lists all messages.

use std::collections::BTreeMap;
use std::fmt::Write;

use super::names;
use crate::schema::Message;

/// Source of `message/mod.rs`.
pub(crate) fn module(messages: &[Message]) -> String {
    let mut out = "//! Requests, responses and records, one module each.\n//!\n\
        //! Types whose names are unique are also found right here.\n\n"
        .to_owned();
    let mut modules: Vec<_> = messages.iter().map(|each| names::module(each.name())).collect();
    modules.extend(["group".to_owned(), "metadata".to_owned()]);
    modules.sort();
    for module in modules {
        let _ = writeln!(out, "pub mod {module};");
    }
    out += "mod traits;\n\n";
    let uses = uses(messages);
    for message in messages {
        let names: Vec<_> = message.structs.iter().map(|each| each.name.as_str()).collect();
        let unique: Vec<_> = names.into_iter().filter(|name| uses[name] == 1).collect();
        let _ =
            writeln!(out, "pub use {}::{{{}}};", names::module(message.name()), unique.join(", "));
    }
    out + "pub use group::GroupRecord;\npub use metadata::MetadataRecord;\npub use traits::{Message, Request};\n"
}

/// How many messages have a struct of each name.
fn uses(messages: &[Message]) -> BTreeMap<&str, usize> {
    let mut uses = BTreeMap::new();
    for each in messages.iter().flat_map(|message| &message.structs) {
        *uses.entry(each.name.as_str()).or_default() += 1;
    }
    uses
}
