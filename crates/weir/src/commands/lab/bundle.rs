//! A run as one answer for the page: a JSON header and the columns of its tables as they are in
//! memory, so that the page reads arrays and no text.
//!
//! Layout, little endian: the word `WEIRRUN1`; the length of the header as a u64; the header,
//! filled with spaces to a multiple of eight octets; then the columns in the order of the header.
//! Numbers and counts are f64, NaN where there is no value. A column of words is u32 indices into
//! the `words` of its entry, filled with zeros to a multiple of eight octets.

use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use weir_lab::diagnosis::{Trace, explain, explanation_json};
use weir_lab::table::{RowThinning, Table, Values};
use weir_lab::trace::{FolderError, RunFolder, TablePart};

/// The first octets of a bundle.
const MAGIC: &[u8; 8] = b"WEIRRUN1";
/// Tables with more rows are thinned to about as many slices as this, each with its extremes.
const MAX_ROWS: u64 = 200_000;
const SLICES: f64 = 20_000.0;

/// The bundle of the run in this folder.
///
/// # Errors
/// If it is no run, is damaged or cannot be read.
pub fn bundle(path: &Path) -> Result<Vec<u8>, FolderError> {
    let folder = RunFolder::open(path)?;
    let explanation = explain(&Trace::of_folder(&folder)?);
    let duration = folder.scenario().run.duration.as_secs_f64();
    let thinning = RowThinning {
        from_rows: MAX_ROWS,
        span_s: (0.0, duration),
        inside_s: (duration / SLICES).max(1e-9),
        outside_s: duration.max(1e-9),
    };
    let part = TablePart {
        columns: &|_| true,
        thinning: Some(&thinning),
    };
    let (mut tables, mut columns) = (Vec::new(), Vec::new());
    for name in folder.table_names()? {
        if let Some(read) = folder.part_of_table(&name, &part)? {
            tables.push(add(&name, &read.table, &mut columns));
        }
    }
    let header = json!({
        "summaryJson": folder.summary().to_json(),
        "resolvedToml": folder.scenario().resolved_toml(),
        "explanationJson": explanation_json(&explanation, None),
        "tables": tables,
    });
    Ok(assembled(&header, &columns))
}

fn assembled(header: &Value, columns: &[u8]) -> Vec<u8> {
    let mut header = header.to_string().into_bytes();
    header.resize(header.len().next_multiple_of(8), b' ');
    let length = (header.len() as u64).to_le_bytes();
    [MAGIC.as_slice(), &length, &header, columns].concat()
}

/// Appends the columns of a table; returns its entry in the header.
fn add(name: &str, table: &Table, octets: &mut Vec<u8>) -> Value {
    let columns = table.columns.iter().map(|column| {
        let mut entry = Map::new();
        entry.insert("name".to_owned(), column.name.clone().into());
        match &column.values {
            Values::F64(values) => octets.extend(values.iter().flat_map(|v| v.to_le_bytes())),
            Values::U64(values) => {
                octets.extend(
                    values
                        .iter()
                        .flat_map(|value| (*value as f64).to_le_bytes()),
                );
            }
            Values::Text(words) => {
                let all = numbered(words, octets);
                entry.insert("words".to_owned(), all.into());
            }
        }
        octets.resize(octets.len().next_multiple_of(8), 0);
        Value::Object(entry)
    });
    let columns: Vec<Value> = columns.collect();
    json!({ "name": name, "rows": table.rows(), "columns": columns })
}

/// Appends the index of each word; returns the words in the order of their first use.
fn numbered(words: &[Arc<str>], octets: &mut Vec<u8>) -> Vec<String> {
    let (mut known, mut all) = (BTreeMap::new(), Vec::new());
    for word in words {
        let number = *known.entry(word.clone()).or_insert_with(|| {
            all.push(word.to_string());
            all.len() as u32 - 1
        });
        octets.extend(number.to_le_bytes());
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use weir_lab::table::Column;

    fn column(name: &str, values: Values) -> Column {
        Column {
            name: name.to_owned(),
            values,
        }
    }

    #[test]
    fn columns_follow_the_header_at_multiples_of_eight_octets() {
        let words = ["a", "b", "a"].map(Arc::from).to_vec();
        let table = Table {
            columns: vec![
                column("time_s", Values::F64(vec![0.5, f64::NAN, 2.0])),
                column("state", Values::Text(words)),
                column("drops", Values::U64(vec![1, 2, 1 << 40])),
            ],
        };
        let mut columns = Vec::new();
        let entry = add("flows/</script>", &table, &mut columns);
        let bundle = assembled(&json!({ "tables": [entry] }), &columns);
        assert_eq!(&bundle[..8], MAGIC);
        let length = u64::from_le_bytes(bundle[8..16].try_into().unwrap()) as usize;
        let header: Value = serde_json::from_slice(&bundle[16..16 + length]).unwrap();
        assert_eq!(header["tables"][0]["rows"], 3);
        assert_eq!(
            header["tables"][0]["columns"][1]["words"],
            json!(["a", "b"])
        );
        let body = &bundle[16 + length..];
        let number = |at: usize| f64::from_le_bytes(body[at..at + 8].try_into().unwrap());
        assert_eq!((number(0), number(16)), (0.5, 2.0));
        assert!(number(8).is_nan());
        // Three indices of four octets and four of filling.
        assert_eq!(
            body[24..40],
            [0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]
        );
        assert_eq!(number(40 + 16), (1_u64 << 40) as f64);
        assert_eq!(body.len(), 64);
    }
}
