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
