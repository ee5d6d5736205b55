//! Pages, as a newcomer follows them: their files are written and their commands run, in their
//! order, in a folder that has the scenario of README and the plan of the page on sweeps.
//! `commands/examples.rs` parses the commands of all pages.

use crate::common::weir;
use std::path::Path;
use std::process::Command;

const README: &str = include_str!("../../../../README.md");

/// Commands that other tests run, because they need root, a compiler or minutes.
const ELSEWHERE: [&str; 8] = [
    "cargo ",
    "sudo ",
    "./test.sh",
    "weir evaluate quic:prague",
    "weir reproduce lossy-link",
    "pip ",
    "duckdb ",
    "SCENARIOS=",
];

/// The pages whose commands name no file but those that README or they themselves have.
const PAGES: [(&str, &str); 3] = [
    ("README", README),
    ("compare", include_str!("../../../../docs/compare.md")),
    ("sweeps", include_str!("../../../../docs/sweeps.md")),
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

/// The lines of commands of a page: a backslash joins lines, and a comment is none.
fn commands(page: &str) -> Vec<String> {
    let shells = blocks(page).filter(|(fence, _)| *fence == "sh");
    let texts = shells.map(|(_, block)| block.replace("\\\n", " "));
    let lines: Vec<String> = texts
        .flat_map(|text| text.lines().map(str::to_owned).collect::<Vec<_>>())
        .collect();
    let own = |line: &String| {
        !line.starts_with(' ') && !ELSEWHERE.iter().any(|other| line.starts_with(other))
    };
    lines.into_iter().filter(own).collect()
}

fn write_files(page: &str, folder: &Path) {
    for (fence, block) in blocks(page) {
        if let Some(name) = title(fence) {
            std::fs::write(folder.join(name), block).expect("written");
        }
    }
}

#[test]
fn files_and_commands_of_pages_do_what_they_say() {
    for (name, page) in PAGES {
        let folder = tempfile::tempdir().expect("a folder");
        let folder = folder.path();
        // A page may use the scenario of README, and the plan of the page on sweeps.
        for (_, other) in PAGES {
            write_files(other, folder);
        }
        let commands = commands(page);
        let least = if name == "sweeps" { 1 } else { 5 };
        assert!(
            commands.len() >= least,
            "{name}: {} commands",
            commands.len()
        );
        for line in commands {
            // Twenty seeds show as much as two where only the words are tried.
            shell(folder, &line.replace("1..20", "1..2"));
        }
        if name == "README" {
            let mut runs = crate::common::runs_below(&folder.join("results")).into_iter();
            assert!(runs.any(|run| run.join("plots/goodput.svg").is_file()));
        }
    }
}

#[test]
fn it_has_one_screen_a_topic() {
    assert!(README.lines().count() <= 120);
}
