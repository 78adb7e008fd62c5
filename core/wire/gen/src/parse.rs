//! Reads the schema table.

use crate::Error;
use crate::schema::{Element, Field, Kind, Message, Range, Struct};

/// Largest version a range that ends with `+` stands for, before the message's own range cuts it.
const NEWEST: i16 = i16::MAX;

/// The messages of one table file.
pub(crate) fn parse(file: &str, text: &str) -> Result<Vec<Message>, Error> {
    let mut parser = Parser::default();
    for (index, line) in text.lines().enumerate() {
        parser.line(line).map_err(|problem| Error::Table {
            file: file.to_owned(),
            line: index + 1,
            problem,
        })?;
    }
    Ok(parser.messages)
}

#[derive(Default)]
struct Parser {
    messages: Vec<Message>,
    /// Index of the struct that fields of each depth belong to.
    open: Vec<usize>,
}

impl Parser {
    fn line(&mut self, line: &str) -> Result<(), String> {
        if line.trim().is_empty() || line.starts_with('#') {
            return Ok(());
        }
        if !line.starts_with(' ') {
            self.messages.push(message(line)?);
            self.open = vec![0];
            return Ok(());
        }
        let message = self.messages.last_mut().ok_or("a field before the first message")?;
        let (depth, row) = split_depth(line)?;
        if depth > self.open.len() {
            return Err("deeper than the struct above".to_owned());
        }
        self.open.truncate(depth);
        let owner = self.open[depth - 1];
        self.open.extend(add_field(message, owner, row)?);
        Ok(())
    }
}

/// Depth of a field row, from 1, and the row without its indentation of two spaces a level.
fn split_depth(line: &str) -> Result<(usize, &str), String> {
    let row = line.trim_start_matches(' ');
    let indent = line.len() - row.len();
    if indent.is_multiple_of(2) { Ok((indent / 2, row)) } else { Err("odd indentation".to_owned()) }
}

/// Adds a field to the struct `owner`; gives the index of the field's struct type, if this row is
/// the first to name it, because the rows below then define it.
fn add_field(message: &mut Message, owner: usize, row: &str) -> Result<Option<usize>, String> {
    let outer = message.structs[owner].versions;
    let field = field(row, message.versions, outer)?;
    let mut defined = None;
    if let Element::Struct(name) = &field.element {
        match message.structs.iter_mut().find(|each| each.name == *name) {
            Some(known) => known.versions = known.versions.union(field.versions),
            None => {
                defined = Some(message.structs.len());
                message.structs.push(struct_of(&message.structs[owner].name, &field, name));
            }
        }
    }
    message.structs[owner].fields.push(field);
    Ok(defined)
}

fn struct_of(owner: &str, field: &Field, name: &str) -> Struct {
    let role = if field.is_array { "One of" } else { "The" };
    let doc = format!("{role} `{owner}::{}`: {}", field.name, lower_first(&field.doc));
    Struct { name: name.to_owned(), doc, versions: field.versions, fields: Vec::new() }
}

fn lower_first(text: &str) -> String {
    let mut characters = text.chars();
    let first = characters.next().map(|first| first.to_ascii_lowercase());
    first.into_iter().chain(characters).collect()
}

/// Parses `kind Name key=… versions=… flexible=… | meaning`.
fn message(line: &str) -> Result<Message, String> {
    let (head, doc) = line.split_once('|').ok_or("no meaning")?;
    let mut words = head.split_whitespace();
    let (kind, name) = (words.next().unwrap_or_default(), words.next().ok_or("no name")?);
    let (mut key, mut versions, mut flexible_from) = (None, None, None);
    for word in words {
        match word.split_once('=').ok_or_else(|| format!("what is {word}?"))? {
            ("key", value) => key = Some(number(value)?),
            ("versions", value) => versions = Some(range(value)?),
            ("flexible", "none") => flexible_from = None,
            ("flexible", value) => flexible_from = Some(range(value)?.first),
            _ => return Err(format!("what is {word}?")),
        }
    }
    let kind = match (kind, key) {
        ("request", Some(key)) => Kind::Request { key },
        ("response", Some(_)) => Kind::Response,
        ("metadata", Some(key)) => Kind::Metadata { key },
        ("group-key", Some(key)) => Kind::GroupKey { key },
        ("group-value", Some(key)) => Kind::GroupValue { key },
        ("data", None) => Kind::Data,
        _ => return Err("unknown kind, or a key too many or too few".to_owned()),
    };
    let versions = versions.ok_or("no versions")?;
    let (name, doc) = (name.to_owned(), doc.trim().to_owned());
    let body = Struct { name, doc, versions, fields: Vec::new() };
    Ok(Message { kind, versions, flexible_from, structs: vec![body] })
}

/// Parses `name | type | versions | attributes | meaning`.
fn field(row: &str, message: Range, outer: Range) -> Result<Field, String> {
    let cells: Vec<_> = row.splitn(5, '|').map(str::trim).collect();
    let [name, kind, versions, attributes, doc] = cells[..] else {
        return Err("not five cells".to_owned());
    };
    let (bare, is_nullable) = kind.strip_suffix('?').map_or((kind, false), |bare| (bare, true));
    let inner = bare.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
    let written = if versions == "all" { message } else { cut(range(versions)?, message)? };
    let versions = cut(written, outer)?;
    let mut field = Field {
        name: name.to_owned(),
        doc: doc.to_owned(),
        element: element(inner.unwrap_or(bare))?,
        is_array: inner.is_some(),
        versions,
        nullable: is_nullable.then_some(versions),
        tag: None,
        default: None,
        ignorable: false,
    };
    attributes.split_whitespace().try_for_each(|word| attribute(&mut field, word))?;
    Ok(field)
}

fn attribute(field: &mut Field, word: &str) -> Result<(), String> {
    match word.split_once('=') {
        None if word == "ignorable" => field.ignorable = true,
        Some(("tag", value)) => field.tag = Some(number(value)?),
        Some(("default", value)) => field.default = Some(value.to_owned()),
        Some(("null", value)) => field.nullable = Some(cut(range(value)?, field.versions)?),
        _ => return Err(format!("what is {word}?")),
    }
    Ok(())
}

fn element(name: &str) -> Result<Element, String> {
    Ok(match name {
        "bool" => Element::Bool,
        "i8" => Element::I8,
        "i16" => Element::I16,
        "i32" => Element::I32,
        "i64" => Element::I64,
        "u16" => Element::U16,
        "f64" => Element::F64,
        "uuid" => Element::Uuid,
        "string" => Element::String,
        "bytes" => Element::Bytes,
        "records" => Element::Records,
        _ if name.starts_with(|first: char| first.is_ascii_uppercase()) => {
            Element::Struct(name.to_owned())
        }
        _ => return Err(format!("unknown type {name}")),
    })
}

/// Parses `3`, `3-5` or `3+`.
fn range(text: &str) -> Result<Range, String> {
    if let Some(first) = text.strip_suffix('+') {
        return Ok(Range { first: number(first)?, last: NEWEST });
    }
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    Ok(Range { first: number(first)?, last: number(last)? })
}

fn cut(range: Range, outer: Range) -> Result<Range, String> {
    let cut = Range { first: range.first.max(outer.first), last: range.last.min(outer.last) };
    if cut.first <= cut.last { Ok(cut) } else { Err("no version has this".to_owned()) }
}

fn number<T: std::str::FromStr>(text: &str) -> Result<T, String> {
    text.parse().map_err(|_| format!("not a number: {text}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &str = "request R key=1 versions=2-5 flexible=4+ | Meaning.\n";

    fn parse_one(rows: &str) -> Message {
        let messages = parse("test", &format!("# note\n\n{HEAD}{rows}")).unwrap();
        let [message] = &messages[..] else { panic!("{messages:?}") };
        message.clone()
    }

    fn parse_field(row: &str) -> Field {
        parse_one(&format!("  {row}\n")).body().fields[0].clone()
    }

    fn check_refused(text: &str, line: usize, problem: &str) {
        match parse("test", text) {
            Err(Error::Table { line: found, problem: text, .. }) => {
                assert_eq!((found, text.as_str()), (line, problem));
            }
            other => panic!("{other:?}"),
        }
    }

    fn check_row_refused(row: &str, problem: &str) {
        check_refused(&format!("{HEAD}{row}"), 2, problem);
    }

    #[test]
    fn a_message_has_kind_versions_and_meaning() {
        let message = parse_one("");
        assert_eq!(message.kind, Kind::Request { key: 1 });
        assert_eq!(message.versions, Range { first: 2, last: 5 });
        assert_eq!(message.flexible_from, Some(4));
        assert_eq!((message.name(), message.body().doc.as_str()), ("R", "Meaning."));
    }

    #[test]
    fn keys_and_values_of_records_share_a_number() {
        let text = "group-key K key=7 versions=0 flexible=none | K.\n\
            group-value V key=7 versions=0-4 flexible=4+ | V.\n";
        let kinds: Vec<_> = parse("test", text).unwrap().iter().map(|each| each.kind).collect();
        assert_eq!(kinds, [Kind::GroupKey { key: 7 }, Kind::GroupValue { key: 7 }]);
    }

    #[test]
    fn a_field_has_type_versions_attributes_and_meaning() {
        let field = parse_field("f | [i32]? | 3+ | tag=7 ignorable | Words | more.");
        assert_eq!((field.name.as_str(), field.doc.as_str()), ("f", "Words | more."));
        assert_eq!((field.element, field.is_array), (Element::I32, true));
        assert_eq!(field.versions, Range { first: 3, last: 5 });
        assert_eq!(field.nullable, Some(field.versions));
        assert_eq!((field.tag, field.ignorable), (Some(7), true));
    }

    #[test]
    fn a_field_may_be_null_in_later_versions_only() {
        let field = parse_field("f | string | all | null=4+ | Words.");
        assert_eq!(field.nullable, Some(Range { first: 4, last: 5 }));
        assert!(!field.defaults_to_null());
    }

    #[test]
    fn indented_rows_define_the_struct_above_them() {
        let message =
            parse_one("  a | [S] | 3-4 | | As.\n    x | i8 | all | | X.\n  b | S | 5 | | B.\n");
        let names: Vec<_> = message.body().fields.iter().map(|field| &field.name).collect();
        assert_eq!(names, ["a", "b"]);
        let nested = message.find("S").unwrap();
        assert_eq!(nested.fields.len(), 1);
        assert_eq!(nested.versions, Range { first: 3, last: 5 }, "of both uses");
        assert_eq!(nested.doc, "One of `R::a`: as.");
    }

    #[test]
    fn rows_that_make_no_sense_are_refused_with_their_line() {
        check_refused("  f | i8 | all | | F.", 1, "a field before the first message");
        check_refused("request R versions=1 | R.", 1, "unknown kind, or a key too many or too few");
        check_refused("data R | R.", 1, "no versions");
        check_row_refused("  f | i8 | all", "not five cells");
        check_row_refused("  f | i9 | all | | F.", "unknown type i9");
        check_row_refused("  f | i8 | 6+ | | F.", "no version has this");
        check_row_refused("  f | i8 | x | | F.", "not a number: x");
        check_row_refused("  f | i8 | all | loud | F.", "what is loud?");
        check_row_refused("   f | i8 | all | | F.", "odd indentation");
        check_row_refused("    f | i8 | all | | F.", "deeper than the struct above");
    }
}
