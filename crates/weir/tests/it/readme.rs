//! README, as a newcomer follows it: its files are written and its commands run, in their order, in
//! an empty folder.

use crate::common::weir;
use std::path::Path;
use std::process::Command;

const README: &str = include_str!("../../../../README.md");

/// Commands that other tests run, because they need root, a compiler or minutes.
const ELSEWHERE: [&str; 6] = [
    "cargo ",
    "sudo ",
    "./test.sh",
    "weir evaluate quic:prague",
    "weir reproduce lossy-link",
    "pip ",
];

/// The fenced blocks of a page: what stands behind the fence, and the text.
fn blocks(page: &str) -> impl Iterator<Item = (&str, &str)> {
    let fenced = page.split("\n```").skip(1).step_by(2);
    fenced.filter_map(|block| block.split_once('\n'))
}

/// The title of a block, the name of the file that it is.
fn title(fence: &str) -> Option<&str> {
    let (_, rest) = fence.split_once("title=\"")?;
    rest.split('"').next()
}

/// Runs a line in a shell that finds the command.
fn shell(folder: &Path, line: &str) {
    let program = Path::new(weir(&[]).get_program()).to_owned();
    let bin = program.parent().expect("a folder");
    let path = std::env::var("PATH").unwrap_or_default();
    let ran = Command::new("sh")
        .args(["-c", line])
        .env("PATH", format!("{}:{path}", bin.display()))
        .current_dir(folder)
        .output()
        .expect("a shell");
    let stderr = String::from_utf8_lossy(&ran.stderr);
    assert!(ran.status.success(), "{line}: {stderr}");
}

#[test]
fn its_files_and_commands_do_what_they_say() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    let mut ran = 0;
    for (fence, block) in blocks(README) {
        if let Some(name) = title(fence) {
            std::fs::write(folder.join(name), block).expect("written");
        }
        let lines = block.lines().filter(|_| fence == "sh");
        let own = lines.filter(|line| !ELSEWHERE.iter().any(|other| line.starts_with(other)));
        for line in own {
            shell(folder, line);
            ran += 1;
        }
    }
    assert!(ran >= 5, "{ran} commands");
    let mut pictures = crate::common::runs_below(&folder.join("results")).into_iter();
    assert!(pictures.any(|run| run.join("plots/goodput.svg").is_file()));
}

#[test]
fn it_has_one_screen_a_topic() {
    assert!(README.lines().count() <= 120);
}
