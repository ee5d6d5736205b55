//! `docs/columns.md` is generated from the declarations of columns. `WEIR_BLESS=1` rewrites it.

use std::fs;
use std::path::Path;
use weir_lab::run::{RunOptions, TraceLevel, column_dictionary, run, table_kind};
use weir_lab::scenario;

#[test]
fn the_dictionary_is_that_of_the_declarations() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/columns.md");
    let dictionary = column_dictionary();
    if std::env::var_os("WEIR_BLESS").is_some() {
        fs::write(&path, &dictionary).unwrap();
    }
    let found = fs::read_to_string(&path).unwrap_or_default();
    assert!(
        found == dictionary,
        "docs/columns.md is not that of the declarations: run this test with WEIR_BLESS=1"
    );
}

const EVERY_TABLE: &str = r#"
[run]
duration = "3s"

[[link]]
name = "wire"
between = ["a", "b"]
rate = "200kbit"
delay = "5ms"
queue = { kind = "droptail", limit = "3000b" }

[[flow]]
name = "stream"
from = "a"
to = "b"
transport = { kind = "dccp", ccid = 3 }

[[flow]]
name = "music"
from = "a"
to = "b"
transport = { kind = "dccp", ccid = 3 }
app = { kind = "audio" }

[[flow]]
name = "call"
from = "a"
to = "b"
transport = { kind = "rtp" }
app = { kind = "video" }

[[flow]]
name = "page"
from = "a"
to = "b"
transport = { kind = "tcp" }
app = { kind = "request" }

[[flow]]
name = "web"
from = "a"
to = "b"
transport = { kind = "tcp" }
arrivals = { kind = "list", transfers = [[0.5, 1000]] }
"#;

#[test]
fn every_column_of_a_run_is_declared_with_a_description() {
    let scenario = scenario::parse(EVERY_TABLE, "test.toml").unwrap();
    let options = RunOptions {
        trace: TraceLevel::Full,
        packets: true,
        ..RunOptions::default()
    };
    let output = run(&scenario, &options).unwrap();
    let mut kinds = Vec::new();
    for (path, table) in output.tables() {
        let kind = table_kind(&path).unwrap_or_else(|| panic!("{path} is of no kind"));
        let declared: Vec<_> = kind.columns.iter().map(|column| column.name).collect();
        let found: Vec<_> = table.columns.iter().map(|column| &column.name).collect();
        assert_eq!(found, declared, "{path}");
        for column in &kind.columns {
            assert!(!column.doc.is_empty(), "{path}: {}", column.name);
        }
        if !kinds.contains(&kind.path) {
            kinds.push(kind.path);
        }
    }
    let all: Vec<_> = weir_lab::run::table_kinds()
        .iter()
        .map(|kind| kind.path)
        .collect();
    kinds.sort_by_key(|path| all.iter().position(|known| known == path));
    assert_eq!(kinds, all, "a run of everything has every kind of table");
}
