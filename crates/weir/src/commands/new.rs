//! `weir new [NAME] [--from EXAMPLE]`: a commented scenario to begin with, from a gallery.

use crate::arguments::JsonOutput;
use crate::exit::Failure;
use crate::files::write_file;
use crate::terminal;
use crate::text_table::text_table;
use clap::Args;
use schemars::JsonSchema;
use serde::Serialize;
use std::path::{Path, PathBuf};

/// The arguments of the command.
#[derive(Debug, Args)]
pub struct Arguments {
    /// The file to write, NAME.toml; without it the gallery is listed
    name: Option<PathBuf>,
    /// The scenario of the gallery; by default the one called NAME, or the first
    #[arg(long, value_name = "EXAMPLE")]
    from: Option<String>,
    #[command(flatten)]
    output: JsonOutput,
}

/// A scenario of the gallery, a file of `examples`.
struct Example {
    name: &'static str,
    text: &'static str,
}

macro_rules! gallery {
    ($($name:literal),+ $(,)?) => {
        &[$(Example {
            name: $name,
            text: include_str!(concat!("../../gallery/", $name, ".toml")),
        }),+]
    };
}

const GALLERY: &[Example] = gallery![
    "cubic-bbr",
    "cubic-newreno",
    "lossy-link",
    "dccp-loopback",
    "video-wifi",
    "incast",
    "lte-upload",
    "requests",
];

impl Example {
    /// The question at its head.
    fn question(&self) -> String {
        let lines = self.text.lines().map_while(|line| line.strip_prefix("# "));
        let comment = lines.collect::<Vec<_>>().join(" ");
        let end = comment.find('?').map_or(comment.len(), |at| at + 1);
        comment[..end].to_owned()
    }
}

/// What `weir new --json` prints.
#[derive(Serialize, JsonSchema)]
#[serde(untagged)]
pub enum NewDocument {
    /// The file that was written.
    Written {
        file: String,
        /// The scenario of the gallery.
        from: &'static str,
        /// What it answers.
        question: String,
    },
    /// The gallery.
    Gallery { gallery: Vec<ExampleDocument> },
}

/// A scenario of the gallery.
#[derive(Serialize, JsonSchema)]
pub struct ExampleDocument {
    name: &'static str,
    /// What it answers.
    question: String,
}

/// Writes the scenario, or lists the gallery.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let Some(name) = arguments.name.as_deref().or(named(arguments)) else {
        return list(arguments.output);
    };
    let stem = name.file_stem().unwrap_or_default().to_string_lossy();
    let example = match &arguments.from {
        Some(from) => find(from).ok_or_else(|| unknown(from))?,
        None => match find(&stem) {
            Some(example) => example,
            None if similar(&stem).is_some() => return Err(unknown(&stem)),
            None => &GALLERY[0],
        },
    };
    let file = if name
        .extension()
        .is_some_and(|extension| extension == "toml")
    {
        name.to_owned()
    } else {
        let mut file = name.as_os_str().to_owned();
        file.push(".toml");
        PathBuf::from(file)
    };
    let shown = file.display();
    if file.symlink_metadata().is_ok() {
        let message = format!("{shown} is there already, expected a new name");
        return Err(Failure::Usage(message));
    }
    write_file(&file, example.text.as_bytes())?;
    if arguments.output.json {
        return arguments.output.print(&NewDocument::Written {
            file: shown.to_string(),
            from: example.name,
            question: example.question(),
        });
    }
    terminal::print(&format!(
        "{shown}: {}\nRun it: weir run {shown}\n",
        example.question()
    ))?;
    Ok(())
}

/// The file is called like the example if only that is given.
fn named(arguments: &Arguments) -> Option<&Path> {
    arguments.from.as_deref().map(Path::new)
}

fn find(name: &str) -> Option<&'static Example> {
    GALLERY.iter().find(|example| example.name == name)
}

fn similar(name: &str) -> Option<&'static str> {
    let names = GALLERY.iter().map(|example| example.name);
    let scored = names.map(|known| (strsim::jaro_winkler(name, known), known));
    let best = scored.max_by(|a, b| a.0.total_cmp(&b.0));
    best.filter(|(score, _)| *score > 0.8)
        .map(|(_, known)| known)
}

fn unknown(name: &str) -> Failure {
    let meant = similar(name).map(|near| format!("did you mean \"{near}\"? "));
    let names: Vec<&str> = GALLERY.iter().map(|example| example.name).collect();
    Failure::Usage(format!(
        "there is no example \"{name}\"; {}the gallery has {}",
        meant.unwrap_or_default(),
        names.join(", ")
    ))
}

fn list(output: JsonOutput) -> Result<(), Failure> {
    if output.json {
        let gallery = GALLERY.iter().map(|example| ExampleDocument {
            name: example.name,
            question: example.question(),
        });
        return output.print(&NewDocument::Gallery {
            gallery: gallery.collect(),
        });
    }
    let rows = GALLERY
        .iter()
        .map(|example| vec![example.name.to_owned(), example.question()]);
    let mut text = text_table(&rows.collect::<Vec<_>>(), "<");
    text.push_str("\nWrite one: weir new incast, or weir new path --from incast\n");
    terminal::print(&text)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use weir_lab::lint::{Purpose, lint_for};
    use weir_lab::scenario::parse;

    #[test]
    fn every_scenario_of_the_gallery_is_commented_asks_something_and_is_clean() {
        assert_eq!(GALLERY.len(), 8);
        for example in GALLERY {
            let question = example.question();
            assert!(question.ends_with('?'), "{}: {question}", example.name);
            assert!(question.len() <= 160, "{}: {question}", example.name);
            let inside = example
                .text
                .lines()
                .skip_while(|line| line.starts_with('#'));
            let comments = inside.filter(|line| line.starts_with('#')).count();
            assert!(comments > 0, "{} explains nothing", example.name);
            let file = format!("{}.toml", example.name);
            let scenario = parse(example.text, &file).expect("a scenario");
            let findings = lint_for(&scenario, Purpose::OneRun);
            assert!(findings.is_empty(), "{}: {findings:?}", example.name);
        }
    }
}
