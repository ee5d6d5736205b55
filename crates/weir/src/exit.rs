//! The exit statuses of the command: 0 success; 1 the run failed, also for lack of memory; 2
//! invalid usage or scenario; 3 it ran, but an expectation did not hold; 4 a privilege or kernel
//! feature is missing; 128 plus the number of the signal that ended it: 130 Ctrl-C, 143 SIGTERM. A
//! closed pipe is not an error.

use crate::interrupt;
use crate::terminal;
use annotate_snippets::renderer::DecorStyle;
use annotate_snippets::{AnnotationKind, Level, Renderer, Snippet};
use schemars::JsonSchema;
use serde::Serialize;
use std::ffi::OsString;
use std::io::{ErrorKind, IsTerminal};
use tokio::task::JoinError;
use weir_lab::fault::Fault;
use weir_lab::json::versioned;
use weir_lab::scenario::ScenarioError;
use weir_lab::trace::FolderError;

/// Why a command failed.
#[derive(Debug)]
pub enum Failure {
    /// Status 1: the command failed.
    Failed(String),
    /// Status 2: the request is not valid.
    Usage(String),
    /// Status 2: the scenario is not valid; shown with its place.
    Scenario(Box<ScenarioError>),
    /// Status 3: it ran, and an expectation does not hold.
    ExpectationFailed(String),
    /// Status 4: a privilege, program or kernel feature is missing; the message has an alternative.
    Unavailable(String),
    /// The exit status of a program that was run, which has printed its own messages.
    Program(u8),
    /// The status of the failure; the document on stdout already contains the result and this
    /// failure.
    WithResult(Box<Failure>),
    /// A signal: 130 Ctrl-C, 143 SIGTERM, 129 SIGHUP.
    Interrupted,
    /// Status 0: the reader of the output has closed the pipe.
    ClosedPipe,
}

impl Failure {
    fn status(&self) -> u8 {
        match self {
            Self::WithResult(failure) => failure.status(),
            Self::ClosedPipe => 0,
            Self::Failed(_) => 1,
            Self::Usage(_) | Self::Scenario(_) => 2,
            Self::ExpectationFailed(_) => 3,
            Self::Unavailable(_) => 4,
            Self::Program(status) => *status,
            Self::Interrupted => interrupt::status(),
        }
    }

    /// The error message, in one line.
    pub fn message(&self) -> String {
        self.document().message
    }

    /// Prints the error, on stderr or as one JSON document on stdout; returns the status.
    pub fn report(&self, json: bool) -> u8 {
        let status = self.status();
        match self {
            Self::ClosedPipe | Self::Program(_) => {}
            // The command's document already contains the result.
            Self::ExpectationFailed(message) => terminal::notice(message),
            Self::WithResult(failure) => {
                failure.report(false);
            }
            _ if json => {
                let error = self.document();
                let printed = terminal::print(&versioned(&ErrorDocument { error }));
                // A closed pipe is ignored; on a full disk the message goes to stderr.
                if printed.is_err_and(|error| error.kind() != ErrorKind::BrokenPipe) {
                    self.report(false);
                }
            }
            Self::Scenario(error) => terminal::notice(&drawn(error)),
            Self::Interrupted => terminal::notice("interrupted"),
            Self::Failed(message) | Self::Usage(message) | Self::Unavailable(message) => {
                terminal::notice(&format!("weir: {message}"));
            }
        }
        status
    }

    /// The value of `error` in a JSON document.
    pub fn document(&self) -> ErrorBody {
        let body = |message: &str| ErrorBody {
            status: self.status(),
            message: message.to_owned(),
            place: None,
        };
        match self {
            Self::WithResult(failure) => failure.document(),
            Self::Scenario(error) => ErrorBody {
                place: Some(ErrorPlace {
                    file: error.file.clone(),
                    line: error.line,
                    column: error.column,
                    help: error.help.clone(),
                }),
                ..body(&error.message)
            },
            Self::Failed(message)
            | Self::Usage(message)
            | Self::Unavailable(message)
            | Self::ExpectationFailed(message) => body(message),
            Self::Interrupted | Self::ClosedPipe | Self::Program(_) => body("interrupted"),
        }
    }
}

/// What every command prints with `--json` if it fails without a result.
#[derive(Serialize, JsonSchema)]
pub struct ErrorDocument {
    error: ErrorBody,
}

/// An error.
#[derive(Serialize, JsonSchema)]
pub struct ErrorBody {
    /// The exit status.
    status: u8,
    /// What was found and what was expected.
    message: String,
    #[serde(flatten)]
    place: Option<ErrorPlace>,
}

/// The place of an error in a scenario.
#[derive(Serialize, JsonSchema)]
struct ErrorPlace {
    file: String,
    /// From 1.
    line: usize,
    /// In characters, from 1.
    column: usize,
    /// What to write instead.
    help: Option<String>,
}

/// Handles a command line that is not a command: prints requested help on stdout, and errors on
/// stderr or, with `--json`, as one JSON document.
pub fn unparsed(error: &clap::Error, words: &[OsString]) -> u8 {
    let words = words.get(1..).unwrap_or_default();
    // `decode` prints one line for each packet, and an error document would break this format.
    let lines = words.first().is_some_and(|command| command == "decode");
    if error.use_stderr() && !lines && words.iter().any(|word| word == "--json") {
        return Failure::Usage(mistake(&error.render().to_string())).report(true);
    }
    // If the pipe is closed, only the status is returned.
    let _ = error.print();
    u8::try_from(error.exit_code()).unwrap_or(2)
}

/// The parser's error and suggestion, without the usage below it.
fn mistake(rendered: &str) -> String {
    let parts = rendered.split("\n\n").map(str::trim);
    let parts = parts.take_while(|part| !part.starts_with("Usage:"));
    let parts: Vec<&str> = parts
        .filter(|part| !part.starts_with("For more information"))
        .map(|part| part.trim_start_matches("error: "))
        .collect();
    parts.join("; ")
}

/// The error with the line to which it refers; in one line if stderr is not a terminal.
fn drawn(error: &ScenarioError) -> String {
    if !std::io::stderr().is_terminal() {
        return error.to_string();
    }
    let end = error.span.end.min(error.source.len());
    let span = error.span.start.min(end)..end;
    let snippet = Snippet::source(&*error.source).path(&error.file);
    let mut group = Level::ERROR
        .primary_title(&error.message)
        .element(snippet.annotation(AnnotationKind::Primary.span(span).label("here")));
    if let Some(help) = &error.help {
        group = group.element(Level::HELP.message(help));
    }
    let renderer = Renderer::styled().decor_style(DecorStyle::Unicode);
    renderer.render(&[group])
}

impl From<ScenarioError> for Failure {
    fn from(error: ScenarioError) -> Self {
        Self::Scenario(Box::new(error))
    }
}

impl From<Fault> for Failure {
    fn from(fault: Fault) -> Self {
        Self::Failed(fault.to_string())
    }
}

impl From<JoinError> for Failure {
    fn from(error: JoinError) -> Self {
        match error.try_into_panic() {
            Ok(panic) => Fault::of_panic(panic).into(),
            Err(ended) => Self::Failed(ended.to_string()),
        }
    }
}

impl From<FolderError> for Failure {
    fn from(error: FolderError) -> Self {
        match error {
            FolderError::NotARun(..) | FolderError::Occupied(_) => Self::Usage(error.to_string()),
            _ => Self::Failed(error.to_string()),
        }
    }
}

impl From<std::io::Error> for Failure {
    fn from(error: std::io::Error) -> Self {
        match error.kind() {
            ErrorKind::BrokenPipe => Self::ClosedPipe,
            _ => Self::Failed(error.to_string()),
        }
    }
}
