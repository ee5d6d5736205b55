//! Tables of text: columns as wide as their widest cell, two spaces apart.

/// The rows as lines. `align` has a character for each column, `<` for words on the left and `>`
/// for numbers on the right; its last one applies to all further columns.
pub fn text_table<C: AsRef<str>>(rows: &[Vec<C>], align: &str) -> String {
    let width_of = |cell: &C| cell.as_ref().chars().count();
    let mut widths: Vec<usize> = Vec::new();
    for row in rows {
        widths.resize(widths.len().max(row.len()), 0);
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = width_of(cell).max(*width);
        }
    }
    let mut text = String::new();
    for row in rows {
        let mut aligned = align.chars();
        let mut right = false;
        let mut line = String::new();
        for (cell, width) in row.iter().zip(&widths) {
            right = aligned.next().map_or(right, |sign| sign == '>');
            let space = " ".repeat(width - width_of(cell));
            let (before, after) = if right { (&*space, "") } else { ("", &*space) };
            line.extend([before, cell.as_ref(), after, "  "]);
        }
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

/// As [`text_table`], within this width: a wider table becomes several, which repeat the first
/// column. `align` has a character for the first column and one for all others.
pub fn text_table_within<C: AsRef<str>>(rows: &[Vec<C>], align: &str, width: usize) -> String {
    let columns = rows.iter().map(Vec::len).max().unwrap_or_default();
    let width_of = |column: usize| {
        let cells = rows.iter().filter_map(|row| row.get(column));
        let widths = cells.map(|cell| cell.as_ref().chars().count());
        widths.max().unwrap_or_default()
    };
    let (mut parts, mut used) = (vec![Vec::new()], width_of(0));
    for column in 1..columns {
        let needed = 2 + width_of(column);
        let is_first = parts.last().is_some_and(Vec::is_empty);
        if used + needed > width && !is_first {
            parts.push(Vec::new());
            used = width_of(0);
        }
        used += needed;
        if let Some(part) = parts.last_mut() {
            part.push(column);
        }
    }
    let table = |part: &Vec<usize>| {
        let row = |row: &Vec<C>| {
            let places = std::iter::once(&0).chain(part);
            let cells = places.filter_map(|&place| row.get(place));
            cells.map(|cell| cell.as_ref().to_owned()).collect()
        };
        text_table(&rows.iter().map(row).collect::<Vec<Vec<String>>>(), align)
    };
    parts.iter().map(table).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_that_is_too_wide_becomes_several() {
        let rows = [
            vec!["flow", "goodput", "alive", "lost"],
            vec!["f", "1 Mbit/s", "10 s", "3"],
        ];
        let whole = text_table(&rows, "<>");
        assert_eq!(text_table_within(&rows, "<>", 80), whole);
        let narrow = "flow   goodput  alive\nf     1 Mbit/s   10 s\nflow  lost\nf        3\n";
        assert_eq!(text_table_within(&rows, "<>", 22), narrow);
        // A column wider than the terminal stands alone.
        assert_eq!(text_table_within(&rows, "<>", 1).lines().count(), 6);
    }

    #[test]
    fn columns_are_as_wide_as_their_widest_cell() {
        let rows = [
            vec!["", "name", "µs", "n"],
            vec!["é", "a", "10", "1000"],
            vec!["bb", "long"],
        ];
        let expected = "    name  µs     n\né   a     10  1000\nbb  long\n";
        assert_eq!(text_table(&rows, "<<>"), expected);
        assert_eq!(text_table::<&str>(&[], "<"), "");
    }
}
