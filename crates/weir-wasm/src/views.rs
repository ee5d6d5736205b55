//! Tables whose columns JavaScript reads in the module's memory.

use crate::problem::json;
use serde::Serialize;
use weir_lab::table::{ColumnTarget, Dictionary, RowBatch, Table, Values};

/// A column that stays where it is.
enum View {
    /// Numbers and counts, as `Float64Array` has them.
    Numbers(Vec<f64>),
    /// Words as numbers in a list.
    Words(Dictionary, Vec<u32>),
}

/// The tables of a run.
pub(crate) struct Views(Vec<TableView>);

struct TableView {
    name: String,
    rows: usize,
    columns: Vec<(String, View)>,
}

/// The place of a column: the address of its first value, and for words the list of them.
#[derive(Serialize)]
struct ColumnPlace<'a> {
    name: &'a str,
    at: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    words: Option<Vec<&'a str>>,
}

#[derive(Serialize)]
struct TablePlace<'a> {
    name: &'a str,
    rows: usize,
    columns: Vec<ColumnPlace<'a>>,
}

impl Views {
    /// Takes the tables over. Counts become numbers: they are below 2^53.
    pub(crate) fn new(tables: Vec<(String, Table)>) -> Self {
        Self(tables.into_iter().map(TableView::new).collect())
    }

    /// Where the columns are, as JSON.
    pub(crate) fn places(&self) -> String {
        let tables = self.0.iter().map(|table| TablePlace {
            name: &table.name,
            rows: table.rows,
            columns: (table.columns.iter())
                .map(|(name, view)| view.place(name))
                .collect(),
        });
        json(&tables.collect::<Vec<_>>())
    }
}

impl TableView {
    fn new((name, table): (String, Table)) -> Self {
        let rows = table.rows();
        let mut columns = Vec::with_capacity(table.columns.len());
        for place in 0..table.columns.len() {
            let view = match table.columns[place].values {
                Values::Text(_) => {
                    let (mut words, mut codes) = (Dictionary::default(), Vec::new());
                    let target = ColumnTarget::Words(&mut words, &mut codes);
                    table.append_to(place, 0..rows, target);
                    View::Words(words, codes)
                }
                _ => View::Numbers(Vec::new()),
            };
            columns.push((table.columns[place].name.clone(), view));
        }
        for (column, (_, view)) in table.columns.into_iter().zip(&mut columns) {
            match (column.values, view) {
                (Values::F64(values), View::Numbers(numbers)) => *numbers = values,
                (Values::U64(values), View::Numbers(numbers)) => {
                    numbers.extend(values.into_iter().map(|value| value as f64));
                }
                _ => {}
            }
        }
        Self {
            name,
            rows,
            columns,
        }
    }
}

impl View {
    fn place<'a>(&'a self, name: &'a str) -> ColumnPlace<'a> {
        match self {
            Self::Numbers(values) => ColumnPlace {
                name,
                at: values.as_ptr() as usize,
                words: None,
            },
            Self::Words(words, codes) => ColumnPlace {
                name,
                at: codes.as_ptr() as usize,
                words: Some(words.words().iter().map(|word| &**word).collect()),
            },
        }
    }
}
