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

#[cfg(test)]
mod tests {
    use super::*;

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
