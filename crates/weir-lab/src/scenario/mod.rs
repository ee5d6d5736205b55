//! Scenario files: TOML with units, and errors that show the place.
//!
//! [`parse`] reads a file into a checked [`Scenario`] in which every default is filled in;
//! [`Scenario::resolved_toml`] writes it as a file that gives the same run; [`schema`] describes
//! the format. All three go through one description of the keys (`model`, `network`, `loss`,
//! `flow`, `transport`), so they cannot differ. Values of the command line come in through
//! [`overrides`].
//!
//! No input makes the reader panic; what is wrong is a [`ScenarioError`] with file, line, column,
//! what was expected and what to write.

mod check;
mod document;
mod error;
mod flow;
mod link_units;
mod link_words;
mod loss;
mod model;
mod netem;
mod network;
pub mod overrides;
mod profile;
mod queue;
mod quinn;
mod reader;
mod schema;
mod send_ahead;
mod tcp;
mod transport;
mod value;
mod visit;
mod wifi;
mod window_rules;
mod wireless;
mod writer;

pub use check::MAX_FLOWS;
pub use document::MAX_OCTETS;
pub use error::ScenarioError;
pub use link_words::{LinkWordsError, link_scenario};
pub use model::{Direction, Flow, Host, Link, Mtu, RateTrace, Run, Scenario};
pub use overrides::{Override, parse_with};
pub use quinn::Quinn;
pub use schema::schema;
pub use tcp::Tcp;
pub use transport::{Dccp, Quic, Transport, Udp};
pub use wifi::{Station, Wifi};

use document::Document;

/// Reads and checks a scenario. `file_name` is only used in errors.
///
/// # Errors
/// The first thing that is wrong, with its place.
pub fn parse(text: &str, file_name: &str) -> Result<Scenario, ScenarioError> {
    scenario_of(&Document::parse(text, file_name)?)
}

fn scenario_of(document: &Document) -> Result<Scenario, ScenarioError> {
    if document.root.entries.is_empty() {
        let help = "a scenario has [run], [[link]] and [[flow]]; `weir schema` describes them";
        let place = document::Place::default();
        let message = "the scenario is empty".to_owned();
        return Err(document.error(&place, message, Some(help.to_owned())));
    }
    let mut scenario = Scenario::default();
    reader::read(document, &mut scenario)?;
    check::Check {
        document,
        scenario: &mut scenario,
    }
    .all()?;
    Ok(scenario)
}

impl Scenario {
    /// The scenario as a file with every default filled in: it gives the same run, and the same
    /// scenario gives the same bytes.
    pub fn resolved_toml(&self) -> String {
        writer::write(&mut self.clone())
    }

    /// BLAKE3 of [`resolved_toml`](Self::resolved_toml) in hexadecimal: names the run by content.
    pub fn content_hash(&self) -> String {
        blake3::hash(self.resolved_toml().as_bytes())
            .to_hex()
            .to_string()
    }
}

#[cfg(test)]
mod tests;
