//! `kernel:FILE` as users see it: candidates, exit statuses, and results that do not depend on the
//! number of threads.

use crate::common::{Outcome, parse, run, text, weir};
use std::fs;
use std::path::Path;
use tempfile::TempDir;

/// A tree of Linux as far as modules need it, with a module that crashes at this window.
fn tree_with(largest: &str) -> TempDir {
    let tree = tempfile::tempdir().expect("a folder");
    let module = include_str!("../../src/kernel_module/tests/tcp_test.c");
    let module = module.replace("NAME", "mine").replace("LARGEST", largest);
    let cong = include_str!("../../src/kernel_module/tests/tcp_cong.c");
    for (path, text) in [
        ("Makefile", "VERSION = 6\nPATCHLEVEL = 12\n"),
        ("lib/win_minmax.c", "#include <linux/win_minmax.h>\n"),
        ("net/ipv4/tcp_cong.c", cong),
        ("net/ipv4/tcp_mine.c", &module),
    ] {
        let path = tree.path().join(path);
        fs::create_dir_all(path.parent().expect("a folder")).expect("made");
        fs::write(path, text).expect("written");
    }
    tree
}

/// Evaluates the module in its tree.
fn evaluate(tree: &Path, more: &[&str], (variable, value): (&str, &str)) -> Outcome {
    let module = "kernel:net/ipv4/tcp_mine.c";
    let words = [
        "evaluate", module, "--beside", "newreno", "--seeds", "2", "-q",
    ];
    let words = [&words[..], &["--chapter", "reordering"], more].concat();
    run(weir(&words).current_dir(tree).env(variable, value))
}

#[test]
fn a_module_is_a_candidate_and_the_number_of_threads_changes_nothing() {
    let tree = tree_with("1000000");
    let results = ["1", "5"].map(|threads| {
        let more = ["--json", "--fail-on", "nothing", "--out", threads];
        let outcome = evaluate(tree.path(), &more, ("RAYON_NUM_THREADS", threads));
        let (status, out, err) = outcome;
        assert_eq!(status, Some(0), "{err}");
        out
    });
    assert_eq!(results[0], results[1]);
    let document = parse(&results[0]);
    let candidates = serde_json::json!(["tcp:kernel-mine", "tcp:newreno"]);
    assert_eq!(document["candidates"], candidates);
}

#[test]
fn a_module_that_crashes_is_status_1_and_one_message() {
    let tree = tree_with("12");
    let (status, out, err) = evaluate(tree.path(), &[], ("RAYON_NUM_THREADS", "2"));
    assert_eq!((status, out.as_str()), (Some(1), ""), "{err}");
    let start = "weir: kernel-mine: its process has ended (signal: ";
    assert!(err.starts_with(start) && err.lines().count() == 1, "{err}");
}

#[test]
fn without_a_compiler_the_status_is_4_and_nothing_stays_in_the_temporary_folder() {
    let tree = tree_with("12");
    let (status, _, err) = evaluate(tree.path(), &[], ("CC", "/no/compiler -m64"));
    assert_eq!(status, Some(4), "{err}");
    assert!(err.contains("/no/compiler") && err.contains("CC"), "{err}");
    let temporary = tree.path().join("temporary");
    fs::create_dir(&temporary).expect("made");
    let (status, _, err) = evaluate(tree.path(), &[], ("TMPDIR", text(&temporary)));
    assert_eq!(status, Some(1), "{err}");
    assert_eq!(fs::read_dir(&temporary).expect("a folder").count(), 0);
}
