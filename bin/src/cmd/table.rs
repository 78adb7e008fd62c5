//! Tables for a person, and names that somebody else chose.

use std::io::{self, Write};

/// No cell is longer, so that one name does not make every line of a table long. The longest name
/// of a topic is shorter.
const CELL_MAX: usize = 256;

/// A text that does nothing to a terminal: characters that control it or turn the direction of
/// what follows are escaped.
pub(crate) fn harmless(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            c if c.is_control() => out.push_str(&format!("\\x{:02x}", u32::from(c))),
            '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => out.extend(c.escape_unicode()),
            c => out.push(c),
        }
    }
    out
}

/// A name as a person sees it: harmless, and cut if it is very long.
pub(crate) fn shown(text: &str) -> String {
    let text = harmless(text);
    match text.char_indices().nth(CELL_MAX - 1) {
        Some((at, last)) if at + last.len_utf8() < text.len() => format!("{}…", &text[..at]),
        _ => text,
    }
}

/// Rows under headings, in columns that are as wide as they must be.
pub(crate) struct Table {
    rows: Vec<Vec<String>>,
}

impl Table {
    pub(crate) fn new(headings: &[&str]) -> Self {
        Self { rows: vec![headings.iter().map(|heading| (*heading).to_owned()).collect()] }
    }

    pub(crate) fn row(&mut self, cells: impl IntoIterator<Item = String>) {
        self.rows.push(cells.into_iter().map(|cell| shown(&cell)).collect());
    }

    /// A row that ends with a list, which is never cut.
    pub(crate) fn row_with_list(&mut self, cells: impl IntoIterator<Item = String>, list: &str) {
        let cells = cells.into_iter().map(|cell| shown(&cell));
        self.rows.push(cells.chain([harmless(list)]).collect());
    }

    pub(crate) fn print(&self, out: &mut impl Write) -> io::Result<()> {
        let columns = self.rows.iter().map(Vec::len).max().unwrap_or(0);
        let width = |column: usize| {
            let cells = self.rows.iter().filter_map(|row| row.get(column));
            cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
        };
        let widths: Vec<usize> = (0..columns).map(width).collect();
        for row in &self.rows {
            let cells = row.iter().zip(&widths).map(|(cell, width)| format!("{cell:width$}"));
            let line = cells.collect::<Vec<_>>().join("  ");
            writeln!(out, "{}", line.trim_end())?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_as_wide_as_their_widest_cell() {
        let mut table = Table::new(&["A", "LONG"]);
        table.row(["wide".to_owned(), "1".to_owned()]);
        let mut out = Vec::new();
        table.print(&mut out).unwrap();
        assert_eq!(String::from_utf8(out).unwrap(), "A     LONG\nwide  1\n");
    }

    #[test]
    fn names_do_nothing_to_the_terminal() {
        let check = |text: &str, expected: &str| assert_eq!(shown(text), expected, "{text:?}");
        check("größe-1", "größe-1");
        check("a\x1b[31m\nb\u{9b}\x7f", "a\\x1b[31m\\x0ab\\x9b\\x7f");
        check("a\u{202e}b", "a\\u{202e}b");
        check(&"ü".repeat(256), &"ü".repeat(256));
        check(&"ü".repeat(257), &format!("{}…", "ü".repeat(255)));
    }

    #[test]
    fn a_long_name_is_cut_and_a_long_list_is_not() {
        let mut table = Table::new(&["A", "LIST"]);
        table.row_with_list(["x".repeat(5000)], &"t:0,\n".repeat(1000));
        let mut out = Vec::new();
        table.print(&mut out).unwrap();
        let out = String::from_utf8(out).unwrap();
        assert_eq!(out.lines().map(|line| line.chars().count()).collect::<Vec<_>>(), [262, 8258]);
    }
}
