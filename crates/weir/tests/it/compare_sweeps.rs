//! `weir compare` of two datasets of `weir sweep`.

use crate::common::{SCENARIO, folder_with, outcome, parse};
use serde_json::Value;
use std::path::Path;

const DELAYS: &str =
    "[[parameter]]\npath = \"link.bottleneck.delay\"\nvalues = [\"5ms\", \"20ms\"]\n";
const BETA: &str = "set = [[\"flow.stream.transport.cubic.beta\", \"0.5\"]]\n";
const WINDOW: &str = "set = [[\"flow.stream.transport.initial_window\", \"2800b\"]]\n";

/// A folder with a lossy path and CUBIC.
fn folder() -> tempfile::TempDir {
    let cubic = SCENARIO.replace(
        "transport = { kind = \"dccp\", ccid = 3, profile = \"rfc5348\" }",
        "transport = { kind = \"quic\", controller = \"cubic\" }",
    );
    let lossy = "rate = \"20Mbit\"\nloss = { kind = \"random\", rate = 0.005 }";
    folder_with(&cubic.replace("rate = \"1Mbit\"", lossy))
}

/// Runs the sweep with this name.
fn sweep(folder: &Path, name: &str, plan: &str) {
    let plan = format!("scenario = \"path.toml\"\n{plan}");
    std::fs::write(folder.join("plan.toml"), plan).expect("written");
    let (status, _, err) = outcome(folder, &["sweep", "plan.toml", "--out", name]);
    assert_eq!(status, Some(0), "{err}");
}

/// The effects on this measure in the document: setting and verdict.
fn verdicts<'a>(document: &'a Value, measure: &str) -> Vec<(&'a str, &'a str)> {
    let effects = document["effects"].as_array().expect("effects").iter();
    let effects = effects.filter(|effect| effect["measure"] == measure && effect["kind"] == "flow");
    let word = |effect: &'a Value, key: &str| effect[key].as_str().expect("a word");
    let of = effects.map(|effect| (word(effect, "setting"), word(effect, "verdict")));
    of.collect()
}

#[test]
fn equal_sweeps_raise_no_alarm() {
    let folder = folder();
    for name in ["before", "after"] {
        sweep(folder.path(), name, &format!("seeds = 3\n{DELAYS}"));
    }
    // The dataset itself may be given in place of the sweep.
    for after in ["after", "after/runs"] {
        let words = ["compare", "before", after, "--threshold", "0%"];
        let (status, text, err) = outcome(folder.path(), &words);
        assert_eq!((status, err.as_str()), (Some(0), ""), "{text}");
        for line in [
            "6 pairs of equal seeds",
            "2 settings",
            "measures are equal in all pairs",
            ": 0 differ, 0 within chance",
        ] {
            assert!(text.contains(line), "{line}: {text}");
        }
    }
}

#[test]
fn planted_regressions_are_found_over_20_seeds() {
    let folder = folder();
    let compare = |after: &str, more: &[&str]| {
        let words = ["compare", "before", after, "--threshold", "1%"];
        outcome(folder.path(), &[&words[..], more].concat())
    };
    sweep(folder.path(), "before", &format!("seeds = 20\n{DELAYS}"));
    sweep(
        folder.path(),
        "beta",
        &format!("seeds = 20\n{BETA}{DELAYS}"),
    );
    sweep(
        folder.path(),
        "window",
        &format!("seeds = 20\n{WINDOW}{DELAYS}"),
    );
    let (status, text, err) = compare("beta", &["--format", "markdown"]);
    assert_eq!(status, Some(3), "{text}");
    assert!(err.contains("differ by more than 1 %"), "{err}");
    for line in [
        "- flow.stream.transport.cubic.beta: 0.7 in A, 0.5 in B\n",
        "- 40 pairs of equal seeds\n",
        "\n#### delay=5ms\n\n| flow stream | A | B | B − A |",
        "\n#### delay=20ms\n\n| flow stream | A | B | B − A |",
    ] {
        assert!(text.contains(line), "{line}: {text}");
    }
    for (after, measure) in [("beta", "goodput_bps"), ("window", "startup_s")] {
        let (status, text, _) = compare(after, &["--json"]);
        assert_eq!(status, Some(3), "{after}: {text}");
        let document = parse(&text);
        let found = verdicts(&document, measure);
        assert!(
            found.contains(&("delay=20ms", "differs")),
            "{after}: {found:?}"
        );
    }
}

#[test]
fn two_controllers_of_one_sweep_are_compared() {
    let folder = folder();
    let controllers = "[[parameter]]\npath = \"flow.*.transport.controller\"\n\
                       values = [\"cubic\", \"newreno\"]\n";
    sweep(
        folder.path(),
        "swept",
        &format!("seeds = 2\n{controllers}{DELAYS}"),
    );
    let path = "flow.stream.transport.controller";
    let (a, b) = (format!("{path}=cubic"), format!("{path}=newreno"));
    let words = ["compare", "swept", "swept", "--a", &a, "--b", &b];
    let (status, text, err) = outcome(folder.path(), &words);
    assert_eq!((status, err.as_str()), (Some(0), ""), "{text}");
    for line in [
        "A: swept, 4 runs of 8\n",
        "flow.stream.transport.controller: cubic in A, newreno in B\n",
        "\ndelay=5ms\n\nflow stream",
        "\ndelay=20ms\n\nflow stream",
    ] {
        assert!(text.contains(line), "{line}: {text}");
    }
}

#[test]
fn sweeps_that_cannot_be_compared_get_one_message() {
    let folder = folder();
    sweep(folder.path(), "swept", "seeds = 2\n");
    sweep(folder.path(), "seeds", "seeds = \"3..4\"\n");
    sweep(folder.path(), "delays", &format!("seeds = 2\n{DELAYS}"));
    let path = folder.path().join("path.toml");
    let text = std::fs::read_to_string(&path).expect("read");
    let renamed = text
        .replace("\"stream\"", "\"other\"")
        .replace("\"bottleneck\"", "\"path\"");
    std::fs::write(&path, renamed).expect("written");
    sweep(folder.path(), "renamed", "seeds = 2\n");
    for (b, more, message) in [
        (
            "seeds",
            &[][..],
            "no seed of A (1 to 2) is a seed of B (3 to 4)",
        ),
        ("delays", &[], "A has runs of 1 settings and B of 2"),
        ("renamed", &[], "A and B have no measure in common"),
        ("path.toml", &[], "A is the dataset of a sweep"),
        (
            "swept",
            &["--b", "run.duration=1s"],
            "none of the 2 runs of \"swept\" has run.duration=1s",
        ),
    ] {
        let words = [&["compare", "swept", b][..], more].concat();
        let (status, text, err) = outcome(folder.path(), &words);
        assert_eq!((status, text.as_str()), (Some(2), ""), "{b}: {err}");
        assert!(
            err.contains(message) && err.lines().count() == 1,
            "{b}: {err}"
        );
    }
}
