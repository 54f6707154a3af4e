//! Aligned columns, with wide characters counted as the two columns they take.

use unicode_width::{UnicodeWidthChar as _, UnicodeWidthStr as _};

use crate::plain::plain_line;

/// Rows under a head. Cells are made harmless and put on one line.
pub(crate) struct Table {
    rows: Vec<Vec<String>>,
}

impl Table {
    pub(crate) fn new(head: &[&str]) -> Self {
        Self { rows: vec![head.iter().map(|cell| (*cell).to_owned()).collect()] }
    }

    pub(crate) fn row(&mut self, cells: &[&str]) {
        self.rows.push(cells.iter().map(|cell| plain_line(cell)).collect());
    }

    /// The table, or `nothing` where it has no rows.
    pub(crate) fn or(&self, nothing: &str) -> String {
        if self.rows.len() > 1 { self.to_text() } else { format!("{nothing}\n") }
    }

    fn to_text(&self) -> String {
        let columns = self.rows.iter().map(Vec::len).max().unwrap_or_default();
        let widths: Vec<usize> = (0..columns)
            .map(|column| {
                let cells = self.rows.iter().filter_map(|row| row.get(column));
                cells.map(|cell| cell.width()).max().unwrap_or_default()
            })
            .collect();
        let mut text = String::new();
        for row in &self.rows {
            let mut line = String::new();
            for (cell, width) in row.iter().zip(&widths) {
                line.push_str(cell);
                line.extend(std::iter::repeat_n(' ', width - cell.width() + 2));
            }
            text.push_str(line.trim_end());
            text.push('\n');
        }
        text
    }
}

/// The beginning of a text, at most `width` columns of it.
pub(crate) fn cut(text: &str, width: usize) -> String {
    let text = plain_line(text);
    if text.width() <= width {
        return text;
    }
    let mut taken = 0;
    let fits = |c: &char| {
        taken += c.width().unwrap_or_default();
        taken < width
    };
    let mut cut: String = text.chars().take_while(fits).collect();
    cut.push('…');
    cut
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wide_characters_take_two_columns() {
        let mut table = Table::new(&["NAME", "WHAT"]);
        table.row(&["天气", "says the weather"]);
        table.row(&["calc", "reckons\u{1b}[2J"]);
        assert_eq!(table.or("none"), "NAME  WHAT\n天气  says the weather\ncalc  reckons␛[2J\n");
        assert_eq!(Table::new(&["NAME"]).or("none"), "none\n");
    }

    #[test]
    fn texts_are_cut_at_a_column_and_not_within_a_character() {
        assert_eq!(cut("今天天气", 8), "今天天气");
        assert_eq!(cut("今天天气", 7), "今天天…");
        assert_eq!(cut("今天天气", 6), "今天…");
        assert_eq!(cut("abc", 3), "abc");
    }
}
