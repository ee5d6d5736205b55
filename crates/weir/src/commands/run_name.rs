//! The names of run folders: `path/controller=cubic,seed=3-1f0c9a2b`, the scenario's file, the
//! overrides, and the first digits of the resolved scenario's hash, which distinguishes scenarios
//! with the same words. A scenario that has a folder keeps it, even if it is written with other
//! overrides.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use weir_lab::scenario::Override;

/// Digits of the hash.
const DIGITS: usize = 8;
/// The maximum length of the overrides in octets; the hash distinguishes longer ones.
const MAX_SETTINGS: usize = 120;

/// The names of the runs of a scenario's file, new ones and those in a folder of results.
pub struct RunNames {
    stem: String,
    /// The existing names, by the hashes at their ends.
    known: BTreeMap<String, String>,
}

impl RunNames {
    /// Reads the names of the file's runs in the folder.
    pub fn of(file: &Path, results: &Path) -> Self {
        let stem = file.file_stem().unwrap_or_default().to_string_lossy();
        let stem = match &*plain(&stem) {
            // A scenario read from stdin has no name.
            "" | "-" => "stdin".to_owned(),
            stem => stem.trim_start_matches('-').to_owned(),
        };
        let entries = fs::read_dir(results.join(&stem)).into_iter().flatten();
        let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
        let mut names: Vec<String> = names.filter(|name| !name.starts_with('.')).collect();
        names.sort();
        let mut known = BTreeMap::new();
        for name in names {
            if let Some((_, hash)) = name.rsplit_once('-') {
                known.entry(hash.to_owned()).or_insert(name);
            }
        }
        Self { stem, known }
    }

    /// The path of a run's folder relative to the folder of all results, by the content hash of its
    /// scenario.
    pub fn name(&self, overrides: &[Override], scenario_hash: &str) -> String {
        let hash = scenario_hash.get(..DIGITS).unwrap_or(scenario_hash);
        let stem = &self.stem;
        if let Some(known) = self.known.get(hash) {
            return format!("{stem}/{known}");
        }
        let mut settings = plain(&settings_text(overrides));
        settings.truncate(MAX_SETTINGS);
        if settings.is_empty() {
            settings.push_str("base");
        }
        format!("{stem}/{settings}-{hash}")
    }
}

/// The overrides, with each path shortened as far as it is unambiguous.
fn settings_text(overrides: &[Override]) -> String {
    let shorter = |own: &Override| {
        let steps: Vec<&str> = own.path.split('.').collect();
        let ending = |kept: usize| steps[steps.len() - kept..].join(".");
        let is_clear = |kept: &usize| {
            let ending = ending(*kept);
            let mut others = overrides.iter().filter(|other| other.path != own.path);
            !others.any(|other| other.path.ends_with(&format!(".{ending}")) || other.path == ending)
        };
        let kept = (1..=steps.len()).find(is_clear).unwrap_or(steps.len());
        format!("{}={}", ending(kept), own.value)
    };
    let settings: Vec<String> = overrides.iter().map(shorter).collect();
    settings.join(",")
}

/// The text with only characters that have no special meaning in shells and file systems.
fn plain(text: &str) -> String {
    let plain = |c: char| match c {
        c if c.is_ascii_alphanumeric() => c,
        '.' | ',' | '=' | '-' | '_' | '+' | '%' => c,
        _ => '_',
    };
    let text: String = text.chars().filter(|c| *c != '"').map(plain).collect();
    // Neither a hidden file nor the parent folder.
    text.trim_start_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use weir_lab::scenario::overrides;

    fn set(path: &str, value: &str) -> Override {
        Override {
            path: path.to_owned(),
            value: value.to_owned(),
        }
    }

    #[test]
    fn settings_are_short_while_they_are_clear() {
        for (overrides, expected) in [
            (&[][..], ""),
            (
                &[
                    set("flow.stream.transport.controller", "cubic"),
                    set("run.seed", "3"),
                ],
                "controller=cubic,seed=3",
            ),
            (
                &[set("flow.a.start", "1s"), set("flow.b.start", "2s")],
                "a.start=1s,b.start=2s",
            ),
            (
                &[set("flow.a.seed", "1"), set("seed", "2")],
                "a.seed=1,seed=2",
            ),
        ] {
            assert_eq!(settings_text(overrides), expected);
        }
    }

    /// `--set run.seed=1` does not change a scenario with seed 1.
    #[test]
    fn a_scenario_keeps_its_folder_whichever_words_make_it() {
        let results = tempfile::tempdir().unwrap();
        let text = r#"
            run = { duration = "1s", seed = 1 }
            link = [{ name = "l", between = ["a", "b"], rate = "1Mbit", delay = "1ms" }]
            flow = [{ name = "f", from = "a", to = "b", transport = { kind = "tcp" } }]"#;
        let seed = |seed| [set("run.seed", seed)];
        let name = |overrides: &[Override]| {
            let scenario = overrides::parse_with(text, "path.toml", overrides).unwrap();
            let names = RunNames::of(Path::new("path.toml"), results.path());
            names.name(overrides, &scenario.content_hash())
        };
        let base = name(&[]);
        assert!(base.starts_with("path/base-"), "{base}");
        assert!(name(&seed("1")).starts_with("path/seed=1-"));
        fs::create_dir_all(results.path().join(&base)).unwrap();
        assert_eq!(name(&seed("1")), base);
        assert!(name(&seed("2")).starts_with("path/seed=2-"));
    }

    #[test]
    fn no_value_leaves_its_folder() {
        assert_eq!(plain("../../x y\"z\"/[1, 2]"), "_.._x_yz__1,_2_");
        assert_eq!(plain("80%"), "80%");
        for name in ["..", "...", ".hidden"] {
            assert!(!plain(name).starts_with('.'), "{name}");
        }
    }
}
