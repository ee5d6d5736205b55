//! The scenario files of published experiments are valid.

use std::fs;
use std::path::Path;
use weir_lab::scenario;

#[test]
fn every_scenario_of_an_experiment_is_accepted_and_resolves_to_itself() {
    let experiments = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../experiments");
    let mut seen = 0;
    for folder in fs::read_dir(experiments).unwrap() {
        let folder = folder.unwrap().path();
        for file in fs::read_dir(&folder).into_iter().flatten() {
            let path = file.unwrap().path();
            let toml = path
                .extension()
                .is_some_and(|extension| extension == "toml");
            if !toml || path.ends_with("published.toml") {
                continue;
            }
            let text = fs::read_to_string(&path).unwrap();
            let scenario = match scenario::parse(&text, &path.display().to_string()) {
                Ok(scenario) => scenario,
                Err(error) => panic!("{error}"),
            };
            let resolved = scenario.resolved_toml();
            assert_eq!(scenario::parse(&resolved, "resolved").unwrap(), scenario);
            seen += 1;
        }
    }
    assert!(seen > 0);
}
