//! `weir theory LAW --PARAMETER VALUE …`: evaluates a law.

use crate::arguments::JsonOutput;
use crate::exit::Failure;
use crate::terminal;
use crate::text_table::text_table;
use clap::Args;
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;
use weir_lab::json::versioned;
use weir_lab::theory::{self, LAWS, Law, Line, Parameter};

/// The arguments of the command.
#[derive(Debug, Args)]
#[command(disable_help_flag = true)]
pub struct Arguments {
    /// The law; without one, all laws are listed
    law: Option<String>,
    #[command(flatten)]
    output: JsonOutput,
    /// List the laws, or say what a law needs
    #[arg(long, short)]
    help: bool,
    /// The law's parameters: --s 1400 --rtt 400ms --p 0.002
    #[arg(
        trailing_var_arg = true,
        allow_hyphen_values = true,
        value_name = "--PARAMETER VALUE"
    )]
    parameters: Vec<String>,
}

/// Evaluates the law, or lists the laws.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let usage = |error: theory::TheoryError| Failure::Usage(error.to_string());
    let parameters: Vec<_> = arguments
        .parameters
        .iter()
        .filter(|word| !matches!(word.as_str(), "--json"))
        .collect();
    let json = arguments.output.json || parameters.len() < arguments.parameters.len();
    let help = |word: &str| matches!(word, "--help" | "-h" | "help");
    let Some(name) = arguments.law.as_deref().filter(|name| !help(name)) else {
        return Ok(terminal::print(&overview(json))?);
    };
    let law = theory::law(name).map_err(usage)?;
    if arguments.help || parameters.iter().any(|word| help(word)) {
        let text = if json {
            versioned(&TheoryDocument::Law(description(law)))
        } else {
            described(law)
        };
        return Ok(terminal::print(&text)?);
    }
    let pairs = pairs(&parameters)?;
    let lines = law.evaluate(&pairs).map_err(usage)?;
    let text = if json {
        document(law, &pairs, &lines)
    } else {
        table(&lines) + &validity(law)
    };
    Ok(terminal::print(&text)?)
}

/// `--rtt 400ms` and `--rtt=400ms` as name and value.
fn pairs<'a>(words: &[&'a String]) -> Result<Vec<(&'a str, &'a str)>, Failure> {
    let mut pairs = Vec::new();
    let mut words = words.iter();
    while let Some(word) = words.next() {
        let Some(name) = word.strip_prefix("--") else {
            return Err(Failure::Usage(format!(
                "\"{word}\" is not a parameter; write --NAME VALUE"
            )));
        };
        let pair = match name.split_once('=') {
            Some(pair) => pair,
            None => match words.next() {
                Some(value) => (name, value.as_str()),
                None => return Err(Failure::Usage(format!("--{name} needs a value"))),
            },
        };
        if pairs.iter().any(|(known, _)| *known == pair.0) {
            let message = format!("--{} is there twice, expected it once", pair.0);
            return Err(Failure::Usage(message));
        }
        pairs.push(pair);
    }
    Ok(pairs)
}

/// Where the law holds, below its results; empty if that was not measured.
fn validity(law: &Law) -> String {
    match law.valid {
        "" => String::new(),
        valid => format!("\n{valid}\n"),
    }
}

fn table(lines: &[Line]) -> String {
    let rows = lines.iter().map(|line| vec![&*line.text, line.describe]);
    text_table(&rows.collect::<Vec<_>>(), "><")
}

/// What `weir theory --json` prints.
#[derive(Serialize, JsonSchema)]
#[serde(untagged)]
pub enum TheoryDocument<'a> {
    /// A law for some parameters.
    Results(ResultsDocument<'a>),
    /// What a law is.
    Law(LawDocument),
    /// All laws.
    Laws { laws: Vec<LawDocument> },
}

/// A law for some parameters.
#[derive(Serialize, JsonSchema)]
pub struct ResultsDocument<'a> {
    law: &'static str,
    equation: &'static str,
    source: &'static str,
    /// Where it holds.
    valid: &'static str,
    parameters: BTreeMap<&'a str, &'a str>,
    /// The results, in the unit that their name ends with; null for infinity.
    results: BTreeMap<&'a str, Option<f64>>,
}

/// What a law is.
#[derive(Serialize, JsonSchema)]
pub struct LawDocument {
    law: &'static str,
    describe: &'static str,
    equation: &'static str,
    source: &'static str,
    /// Where it holds.
    valid: &'static str,
    parameters: Vec<ParameterDocument>,
}

/// A parameter of a law.
#[derive(Serialize, JsonSchema)]
struct ParameterDocument {
    name: &'static str,
    describe: &'static str,
    /// Its value where it is not given; null if it must be given.
    default: Option<&'static str>,
}

fn document(law: &Law, parameters: &[(&str, &str)], lines: &[Line]) -> String {
    let result = |line: &Line| {
        (
            line.name,
            Some(line.value).filter(|value| value.is_finite()),
        )
    };
    versioned(&TheoryDocument::Results(ResultsDocument {
        law: law.name,
        equation: law.equation,
        source: law.source,
        valid: law.valid,
        parameters: parameters.iter().copied().collect(),
        results: lines.iter().map(result).collect(),
    }))
}

fn described(law: &Law) -> String {
    let Law {
        name,
        describe,
        equation,
        source,
        parameters,
        ..
    } = law;
    let valid = validity(law);
    let text = format!("{describe}\n\n    {equation}\n\n{source}\n{valid}\nweir theory {name}\n");
    let row = |parameter: &Parameter| {
        let default = match parameter.default {
            None => " (required)".to_owned(),
            Some("") => String::new(),
            Some(default) => format!(" [{default}]"),
        };
        let describe = format!("{}{default}", parameter.describe);
        vec![String::new(), format!("--{}", parameter.name), describe]
    };
    text + &text_table(&parameters.iter().map(row).collect::<Vec<_>>(), "<")
}

/// The description of a law as data.
fn description(law: &Law) -> LawDocument {
    let parameters = law.parameters.iter().map(|parameter| ParameterDocument {
        name: parameter.name,
        describe: parameter.describe,
        default: parameter.default,
    });
    LawDocument {
        law: law.name,
        describe: law.describe,
        equation: law.equation,
        source: law.source,
        valid: law.valid,
        parameters: parameters.collect(),
    }
}

fn overview(json: bool) -> String {
    if json {
        return versioned(&TheoryDocument::Laws {
            laws: LAWS.iter().map(description).collect(),
        });
    }
    let text = "weir theory LAW --PARAMETER VALUE …; weir theory LAW --help says more\n\n";
    let rows = LAWS.iter().map(|law| vec!["", law.name, law.describe]);
    text.to_owned() + &text_table(&rows.collect::<Vec<_>>(), "<")
}
