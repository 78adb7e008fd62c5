//! How findings are printed: rows of named values, as text or as one JSON object a line.

use std::io::{self, Write};

use serde_json::{Map, Value, json};

/// Named values in their order.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Row(Vec<(&'static str, Value)>);

impl Row {
    pub(super) fn new() -> Self {
        Self::default()
    }

    /// The same row with one more value.
    #[must_use]
    pub(super) fn with(mut self, name: &'static str, value: impl Into<Value>) -> Self {
        self.0.push((name, value.into()));
        self
    }

    /// The same row with one more value, if there is one.
    #[must_use]
    pub(super) fn maybe(self, name: &'static str, value: Option<impl Into<Value>>) -> Self {
        match value {
            Some(value) => self.with(name, value),
            None => self,
        }
    }

    fn text(&self) -> String {
        let parts = self.0.iter().map(|(name, value)| format!("{name}: {}", plain(value)));
        parts.collect::<Vec<_>>().join(" ")
    }

    fn object(&self) -> Value {
        let map: Map<_, _> =
            self.0.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect();
        Value::Object(map)
    }
}

fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// Where the findings about files go.
pub(super) struct Out<W> {
    to: W,
    json: bool,
    file: String,
    damages: u64,
}

impl<W: Write> Out<W> {
    pub(super) const fn new(to: W, json: bool) -> Self {
        Self { to, json, file: String::new(), damages: 0 }
    }

    /// How many damages were reported.
    pub(super) const fn damages(&self) -> u64 {
        self.damages
    }

    /// What follows is about `file`.
    pub(super) fn file(&mut self, file: &str) -> io::Result<()> {
        file.clone_into(&mut self.file);
        if self.json { Ok(()) } else { writeln!(self.to, "{file}") }
    }

    /// Prints a finding of a kind.
    pub(super) fn row(&mut self, kind: &str, depth: usize, row: &Row) -> io::Result<()> {
        if self.json {
            let mut object = row.object();
            if let Value::Object(map) = &mut object {
                map.insert("file".to_owned(), json!(self.file));
                map.insert("kind".to_owned(), json!(kind));
            }
            return writeln!(self.to, "{object}");
        }
        writeln!(self.to, "{:indent$}{}", "", row.text(), indent = 2 * (depth + 1))
    }

    /// Prints a damage: what was expected and found, and where.
    pub(super) fn damage(&mut self, position: u64, problem: &str) -> io::Result<()> {
        self.damages += 1;
        if self.json {
            let row = Row::new().with("position", position).with("problem", problem);
            return self.row("damage", 0, &row);
        }
        writeln!(self.to, "  DAMAGE at byte {position}: {problem}")
    }

    pub(super) fn flush(&mut self) -> io::Result<()> {
        self.to.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn printed(json: bool) -> String {
        let mut bytes = Vec::new();
        let mut out = Out::new(&mut bytes, json);
        out.file("a.log").unwrap();
        out.row("batch", 0, &Row::new().with("offset", 3).with("key", "k")).unwrap();
        out.damage(61, "cut off").unwrap();
        assert_eq!(out.damages(), 1);
        String::from_utf8(bytes).unwrap()
    }

    #[test]
    fn text_is_indented_below_its_file() {
        assert_eq!(printed(false), "a.log\n  offset: 3 key: k\n  DAMAGE at byte 61: cut off\n");
    }

    #[test]
    fn json_is_one_object_a_line_with_its_file() {
        let text = printed(true);
        let rows: Vec<Value> =
            text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let batch = json!({"file": "a.log", "kind": "batch", "offset": 3, "key": "k"});
        let damage =
            json!({"file": "a.log", "kind": "damage", "position": 61, "problem": "cut off"});
        assert_eq!(rows, [batch, damage]);
    }
}
