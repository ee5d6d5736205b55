//! What a test has measured, and why it did not go as it was asked for.

use super::report::extend;
use crate::arguments::JsonOutput;
use crate::exit::Failure;
use crate::terminal;
use serde_json::{Value, json};

/// What was measured. A lost peer, Ctrl-C or a full disk does not take it away.
pub struct Measured<T> {
    /// The result.
    pub result: T,
    /// Why it is not the whole test, or could not be kept in a file.
    pub failure: Option<Failure>,
}

impl<T> Measured<T> {
    /// Takes another step: of several failures the first counts, and the others are stated.
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
    /// The result, with the failure in it.
    pub fn document(&self) -> Value {
        let mut document = self.result.clone();
        if let Some(failure) = &self.failure {
            extend(&mut document, json!({ "error": failure.document() }));
        }
        document
    }

    /// Prints the document, if it is wanted, and ends the command.
    pub fn print(self, output: JsonOutput) -> Result<(), Failure> {
        output.print(&self.document())?;
        self.printed()
    }
}
