//! The tables of a run, with descriptions of their rows and columns.
//!
//! Files and `docs/columns.md` take the units and descriptions of columns from here.

use crate::run::columns;
use crate::summary::{DICTIONARY, endings_of_distributions};
use crate::table::{ColumnInfo, ColumnNote, ColumnSpec, ValueKind};
use std::fmt::Write;

/// A kind of table of a run.
#[derive(Clone, Debug)]
pub struct TableKind {
    /// The path of a table of this kind: `flows/NAME`, where `NAME` is that of a flow or a link.
    /// The folder of a run has all of them in one file, `flows.parquet`.
    pub path: &'static str,
    /// The first column of that file, which has `NAME`; absent if there is one table of this kind.
    pub named: Option<ColumnInfo>,
    /// The description of a row.
    pub rows: &'static str,
    /// Its columns in the order of the file.
    pub columns: Vec<ColumnInfo>,
}

fn infos<Row: 'static>(
    columns: impl IntoIterator<Item = &'static ColumnSpec<Row>>,
) -> Vec<ColumnInfo> {
    columns.into_iter().map(ColumnSpec::info).collect()
}

/// The column with the names of the tables of this kind in their file; `None` if the kind has a
/// single table.
pub fn name_column(kind: &str) -> Option<ColumnInfo> {
    let (name, doc) = match kind {
        "delays" | "packets" => return None,
        "links" => ("link", "the link and its direction"),
        _ => ("flow", "the flow"),
    };
    Some(ColumnInfo {
        name,
        unit: "",
        doc,
        kind: ValueKind::Word,
    })
}

/// All kinds of tables, in the order of the documentation.
pub fn table_kinds() -> Vec<TableKind> {
    let kind = |path: &'static str, rows, columns| TableKind {
        path,
        named: name_column(path.split('/').next().unwrap_or(path)),
        rows,
        columns,
    };
    vec![
        kind(
            "flows/NAME",
            "a change of the sender's controller or of what holds it back, or a timeout; an \
             acknowledgement and what it lets out are one change",
            infos(columns::FLOW),
        ),
        kind(
            "events/NAME",
            "an event at an end of the flow that is no state of its controller",
            infos(columns::EVENT),
        ),
        kind(
            "writes/NAME",
            "a write of the application, with the state of the rate controller before it; DCCP",
            infos(columns::writes()),
        ),
        kind(
            "gaps/NAME",
            "a gap in the audio; flows whose application is audio",
            infos(columns::GAP),
        ),
        kind(
            "frames/NAME",
            "a frame of video; flows whose application is video",
            infos(columns::FRAME),
        ),
        kind(
            "requests/NAME",
            "a request and its response; flows whose application is request",
            infos(columns::REQUEST),
        ),
        kind(
            "intervals/NAME",
            "an interval of the run (`[run] interval`); of a flow with arrivals all its connections \
             together",
            infos(columns::INTERVAL),
        ),
        kind(
            "transfers/NAME",
            "a transfer of a flow with arrivals",
            infos(columns::TRANSFER),
        ),
        kind(
            "links/NAME",
            "a time at which the queue of one direction of a link changed, or packets were dropped or \
             marked: the state after it",
            infos(columns::LINK),
        ),
        kind(
            "delays",
            "packets of a flow that took about as long: the distribution of its one-way delays from \
             the end of the warm-up on",
            infos(columns::DELAY),
        ),
        kind(
            "packets",
            "a packet sent, received or lost at an endpoint, dropped or marked on a link; with \
             `--packets`",
            infos(columns::PACKET),
        ),
    ]
}

/// The kind of the table with this path, such as `flows/stream`.
pub fn table_kind(path: &str) -> Option<TableKind> {
    let folder = |path: &str| path.split('/').next().map(str::to_owned);
    let wanted = folder(path);
    table_kinds()
        .into_iter()
        .find(|kind| folder(kind.path) == wanted)
}

/// `docs/columns.md`: every column of every table with its unit and its meaning.
pub fn column_dictionary() -> String {
    let mut text = String::from(
        "# Columns\n\n\
         Every table of a run, column by column. A folder of a run has a Parquet file for each kind: \
         `flows.parquet` has\nthe tables of all flows, one after the other, and its first column \
         their names, for which `NAME` stands here.\nThe test `column_dictionary` writes this page \
         from the declarations (`WEIR_BLESS=1`).\n\nEach file carries the same words: a column's \
         field has the metadata `unit` and `description`; the file has the key-value\nmetadata \
         `weir.format`, `weir.table`, `weir.seed`, `weir.scenario` (the BLAKE3 of the resolved \
         scenario), if something was set\n`weir.settings` (a line PATH=VALUE for each, without the \
         seed), and `weir.empty` with the names of tables without rows.\nA number may be null where \
         there is no value; words are dictionary-encoded.\n",
    );
    for kind in table_kinds() {
        // Writing to a string cannot fail.
        let _ = write!(
            text,
            "\n## {}\nA row is {}.\n\n| column | type | unit | what it is |\n|---|---|---|---|\n",
            kind.path, kind.rows
        );
        for column in kind.named.iter().chain(&kind.columns) {
            let values = match column.kind {
                ValueKind::Number => "double",
                ValueKind::Count => "uint64",
                ValueKind::Word => "string",
            };
            let unit = if column.unit.is_empty() {
                "–"
            } else {
                column.unit
            };
            let _ = writeln!(
                text,
                "| `{}` | {values} | {unit} | {} |",
                column.name, column.doc
            );
        }
    }
    text + &columns_of_runs()
}

/// The columns of tables of runs, as a chapter of the dictionary.
fn columns_of_runs() -> String {
    let mut text = String::from(
        "\n## runs.parquet\nA row is a flow, all transfers of a flow with arrivals, a group or a \
         direction of a link of a run; `runs/*/*.parquet`\nof a sweep is of the same kind, with \
         the columns of the headline measures alone and a row `total`. The file has the key-value\n\
         metadata `weir.format` and `weir.table`. A setting is a column of its path, or of its \
         end in a sweep. A distribution has\na column for each of its numbers: ",
    );
    let endings = endings_of_distributions();
    let endings = endings.map(|(ending, which)| format!("`NAME{ending}` ({which})"));
    text += &endings.collect::<Vec<_>>().join(", ");
    text += ".\n\n| column | unit | what it is |\n|---|---|---|\n";
    for ColumnNote { name, unit, doc } in DICTIONARY.iter() {
        let unit = if unit.is_empty() { "–" } else { unit };
        // Writing to a string cannot fail.
        let _ = writeln!(text, "| `{name}` | {unit} | {doc} |");
    }
    text
}
