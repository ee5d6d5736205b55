//! Files and folders of another kind than a command takes, and the command that takes them.

use std::path::Path;
use weir_lab::experiment::ExperimentFiles;
use weir_lab::scenario::files::read_input;
use weir_lab::suite::Suite;

/// What this is if it is no scenario, and which command takes it; `text` is that of a file.
pub fn for_a_scenario(path: &Path, text: &str) -> Option<String> {
    let shown = path.display();
    if path.is_dir() {
        let has_scenario = path.join("scenario.toml").is_file();
        return Some(if has_scenario {
            format!("it is the folder of a run; its scenario is {shown}/scenario.toml")
        } else {
            "it is a folder, expected a scenario (.toml)".to_owned()
        });
    }
    if has_table(text, "[[parameter]]") {
        return Some(format!(
            "it is the plan of a sweep, not a scenario: weir sweep {shown}"
        ));
    }
    let is_published = has_table(text, "[document]");
    let folder = path.parent().unwrap_or(path).display();
    is_published.then(|| format!("it is an experiment, not a scenario: weir reproduce ./{folder}"))
}

/// What this text is if it is no plan of a sweep, and which command takes it.
pub fn for_a_plan(path: &Path, text: &str) -> Option<String> {
    let is_scenario = has_table(text, "[[flow]]");
    is_scenario.then(|| {
        let shown = path.display();
        format!("it is a scenario, not the plan of a sweep: weir run {shown}")
    })
}

/// What this is if it is no experiment, and which command takes it.
pub fn for_an_experiment(name: &str) -> Option<String> {
    if Suite::NAMES.contains(&name) {
        return Some(format!("it is a suite of test cases: weir suite {name}"));
    }
    if name == "rfc9743" {
        return Some("it is the evaluation of a controller: weir evaluate quic:cubic".to_owned());
    }
    scenario_file(name)
}

/// What this is if it is no suite, and which command takes it.
pub fn for_a_suite(name: &str) -> Option<String> {
    if ExperimentFiles::names().contains(&name) {
        return Some(format!("it is an experiment: weir reproduce {name}"));
    }
    scenario_file(name)
}

/// The command for the file of a scenario, or of the plan of a sweep.
fn scenario_file(name: &str) -> Option<String> {
    let path = Path::new(name);
    let is_file = path.is_file();
    let text = is_file.then(|| read_input(path).ok()).flatten()?;
    if let Some(other) = for_a_plan(path, &text) {
        return Some(other.replace(", not the plan of a sweep", ""));
    }
    has_table(&text, "[[parameter]]")
        .then(|| format!("it is the plan of a sweep: weir sweep {name}"))
}

fn has_table(text: &str, header: &str) -> bool {
    text.lines().any(|line| line.trim() == header)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_of_another_kind_has_its_command() {
        let path = Path::new("x/file.toml");
        let plan = "scenario = \"path.toml\"\n[[parameter]]\npath = \"run.seed\"\n";
        let scenario = "[run]\nduration = \"1s\"\n  [[flow]]\nname = \"f\"\n";
        let said = for_a_scenario(path, plan).expect("a plan");
        assert!(said.contains("weir sweep x/file.toml"), "{said}");
        assert_eq!(for_a_scenario(path, scenario), None);
        let said = for_a_plan(path, scenario).expect("a scenario");
        assert!(said.contains("weir run x/file.toml"), "{said}");
        assert_eq!(for_a_plan(path, plan), None);
        let said = for_an_experiment("bbr").expect("a suite");
        assert!(said.contains("weir suite bbr"), "{said}");
        let said = for_a_suite("lossy-link").expect("an experiment");
        assert!(said.contains("weir reproduce lossy-link"), "{said}");
        assert_eq!(for_a_suite("bbr").or(for_an_experiment("loopback")), None);
        let said = for_a_scenario(path, "[document]\ntitle = \"t\"\n").expect("an experiment");
        assert!(said.contains("weir reproduce ./x"), "{said}");
    }
}
