//! The measurements of a test, and the reason if it did not run as requested.

use super::report::extend;
use crate::arguments::JsonOutput;
use crate::exit::Failure;
use crate::terminal;
use serde_json::{Value, json};

/// A measurement, which is kept after a lost peer, Ctrl-C or a full disk.
pub struct Measured<T> {
    /// The result.
    pub result: T,
    /// The reason why the test is incomplete or could not be written to a file.
    pub failure: Option<Failure>,
}

impl<T> Measured<T> {
    /// Adds the result of another step: the first failure is kept, and the others are printed.
    pub fn and(mut self, step: Result<(), Failure>) -> Self {
        match (&self.failure, step) {
            (Some(_), Err(also)) => terminal::notice(&also.message()),
            (None, Err(failure)) => self.failure = Some(failure),
            (_, Ok(())) => {}
        }
        self
    }

    /// The failure of a command that has printed the result.
    pub fn printed(self) -> Result<(), Failure> {
        match self.failure {
            Some(failure) => Err(Failure::WithResult(Box::new(failure))),
            None => Ok(()),
        }
    }
}

impl Measured<Value> {
    /// The result, including the failure.
    pub fn document(&self) -> Value {
        let mut document = self.result.clone();
        if let Some(failure) = &self.failure {
            extend(&mut document, json!({ "error": failure.document() }));
        }
        document
    }

    /// Prints the document, if requested, and ends the command.
    pub fn print(self, output: JsonOutput) -> Result<(), Failure> {
        output.print(&self.document())?;
        self.printed()
    }
}
