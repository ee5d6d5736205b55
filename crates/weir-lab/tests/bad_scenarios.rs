//! Every file in `bad-scenarios/` has one error; the text beside it is the expected message.
//! `WEIR_BLESS=1` writes the texts anew: read them before you commit them.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use weir_lab::scenario;

fn told(path: &Path) -> String {
    let text = fs::read_to_string(path).unwrap();
    let name = path.file_name().unwrap().to_string_lossy().into_owned();
    let Err(error) = scenario::parse(&text, &name) else {
        return format!("{name}: accepted\n");
    };
    let mut told = format!(
        "{}:{}:{}: {}\n",
        error.file, error.line, error.column, error.message
    );
    if let Some(help) = &error.help {
        let _ = writeln!(told, "help: {help}");
    }
    let line = text.lines().nth(error.line - 1).unwrap_or("");
    let shown: String = line.chars().take(100).collect();
    let mark = text[error.span.clone()]
        .chars()
        .take(100 - error.column.min(99));
    let width = mark.take_while(|c| *c != '\n').count().max(1);
    let _ = writeln!(told, "  {shown}");
    let _ = writeln!(
        told,
        "  {}{}",
        " ".repeat(error.column - 1),
        "^".repeat(width)
    );
    told
}

#[test]
fn bad_files_get_good_messages() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/bad-scenarios");
    let mut files: Vec<_> = fs::read_dir(&folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|e| e == "toml"))
        .collect();
    files.sort();
    assert!(files.len() >= 20);
    let bless = std::env::var_os("WEIR_BLESS").is_some();
    let mut differences = String::new();
    for path in files {
        let told = told(&path);
        assert!(!told.contains(": accepted"), "{told}");
        let beside = path.with_extension("txt");
        if bless {
            fs::write(&beside, &told).unwrap();
        }
        let expected = fs::read_to_string(&beside).unwrap_or_default();
        if told != expected {
            let _ = writeln!(differences, "expected:\n{expected}told:\n{told}");
        }
    }
    assert!(differences.is_empty(), "{differences}");
}
