//! The scenarios of `examples/`: each is short, runs, and meets its expectations.

use std::fs;
use std::path::Path;
use weir_lab::run::{RunOptions, judge, run};
use weir_lab::scenario;

#[test]
fn every_example_is_as_it_expects() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    let readme = fs::read_to_string(folder.join("README.md")).unwrap();
    let files = fs::read_dir(&folder).unwrap();
    let paths = files.map(|file| file.unwrap().path());
    let mut paths: Vec<_> = paths
        .filter(|p| p.extension().is_some_and(|e| e == "toml"))
        .collect();
    paths.sort();
    assert!(paths.len() >= 5);
    for path in paths {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        assert!(readme.contains(&name), "{name} is missing in README.md");
        let text = fs::read_to_string(&path).unwrap();
        assert!(text.starts_with("# "), "{name} begins with its question");
        let lines = text
            .lines()
            .filter(|line| !line.trim().is_empty() && !line.starts_with('#'));
        assert!(lines.count() <= 28, "{name} is long");
        let scenario = scenario::parse(&text, &path.display().to_string()).unwrap();
        assert!(!scenario.expect.0.is_empty(), "{name} expects nothing");
        let output = run(&scenario, &RunOptions::default()).unwrap();
        for judgement in judge(&scenario, &output.summary) {
            assert!(judgement.holds(), "{name}: {judgement:?}");
        }
    }
}
