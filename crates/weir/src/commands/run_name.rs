//! The names of runs' folders: `path/controller=cubic,seed=3-1f0c9a2b`, the scenario's file, what
//! was set, and the beginning of the resolved scenario's hash, which tells apart what the words
//! do not.

use std::path::Path;
use weir_lab::scenario::{Override, Scenario};

/// Digits of the hash.
const DIGITS: usize = 8;
/// Octets of the settings at most; the hash tells longer ones apart.
const MAX_SETTINGS: usize = 120;

/// The path of a run's folder below the folder of all results.
pub fn run_name(file: &Path, overrides: &[Override], scenario: &Scenario) -> String {
    let stem = file.file_stem().unwrap_or_default().to_string_lossy();
    let stem = match &*plain(&stem) {
        // A scenario that was read from stdin has no name.
        "" | "-" => "stdin".to_owned(),
        stem => stem.trim_start_matches('-').to_owned(),
    };
    let mut settings = plain(&settings_text(overrides));
    settings.truncate(MAX_SETTINGS);
    if settings.is_empty() {
        settings.push_str("base");
    }
    let mut hash = scenario.content_hash();
    hash.truncate(DIGITS);
    format!("{stem}/{settings}-{hash}")
}

/// What was set, each path as short as it is still clear.
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

/// The text in characters that neither shells nor file systems read as anything else.
fn plain(text: &str) -> String {
    let plain = |c: char| match c {
        c if c.is_ascii_alphanumeric() => c,
        '.' | ',' | '=' | '-' | '_' | '+' | '%' => c,
        _ => '_',
    };
    let text: String = text.chars().filter(|c| *c != '"').map(plain).collect();
    // Neither hidden nor the folder above.
    text.trim_start_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

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

    #[test]
    fn no_value_leaves_its_folder() {
        assert_eq!(plain("../../x y\"z\"/[1, 2]"), "_.._x_yz__1,_2_");
        assert_eq!(plain("80%"), "80%");
        for name in ["..", "...", ".hidden"] {
            assert!(!plain(name).starts_with('.'), "{name}");
        }
    }
}
