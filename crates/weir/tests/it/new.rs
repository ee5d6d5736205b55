//! `weir new`: the gallery, and the files that it writes.

use crate::common::{folder_with, outcome, parse};

#[test]
fn each_scenario_of_the_gallery_is_written_once_and_runs() {
    let folder = folder_with("");
    let here = folder.path();
    let (status, text, err) = outcome(here, &["new"]);
    assert_eq!((status, err.as_str()), (Some(0), ""));
    let listed = text.lines().take_while(|line| !line.is_empty());
    let names: Vec<&str> = listed
        .filter_map(|line| line.split_once("  "))
        .map(|(n, _)| n)
        .collect();
    assert_eq!(names.len(), 8, "{text}");
    for name in names {
        let (status, text, err) = outcome(here, &["new", name]);
        assert_eq!(status, Some(0), "{err}");
        assert!(text.ends_with(&format!("weir run {name}.toml\n")), "{text}");
        let file = format!("{name}.toml");
        let (status, text, err) = outcome(here, &["lint", &file, "--deny"]);
        assert_eq!((status, text.as_str()), (Some(0), ""), "{name}: {err}");
        // Three seconds, so that each runs in a test; what they answer is a test of the examples.
        let short = ["--set", "run.duration=3s", "--set", "run.warmup=0s"];
        let words = [&["run", &file, "--summary-only", "--json"][..], &short].concat();
        let (status, out, err) = outcome(here, &words);
        assert!([Some(0), Some(3)].contains(&status), "{name}: {err}");
        assert_eq!(
            parse(&out)["runs"].as_array().map(Vec::len),
            Some(1),
            "{name}"
        );
    }
}

#[test]
fn a_file_is_named_as_asked_and_never_written_over() {
    let folder = folder_with("");
    let here = folder.path();
    let (status, out, _) = outcome(here, &["new", "mine", "--from", "incast", "--json"]);
    assert_eq!(status, Some(0));
    let document = parse(&out);
    assert_eq!(
        (&document["file"], &document["from"]),
        (&"mine.toml".into(), &"incast".into())
    );
    let text = std::fs::read_to_string(here.join("mine.toml")).expect("a file");
    let (status, _, err) = outcome(here, &["new", "mine.toml"]);
    assert_eq!(status, Some(2));
    assert!(err.contains("mine.toml is there already"), "{err}");
    assert_eq!(
        std::fs::read_to_string(here.join("mine.toml")).ok(),
        Some(text)
    );
    for words in [&["new", "incst"][..], &["new", "path", "--from", "incst"]] {
        let (status, _, err) = outcome(here, words);
        assert_eq!(status, Some(2), "{words:?}");
        assert!(err.contains("did you mean \"incast\"?"), "{err}");
    }
}
