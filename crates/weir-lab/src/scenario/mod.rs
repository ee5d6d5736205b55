//! Scenario files: TOML with units, and errors that show the place.
//!
//! [`parse`] reads a file into a checked [`Scenario`] with all defaults filled in;
//! [`Scenario::resolved_toml`] writes it as a file that gives the same run; [`schema`] describes
//! the format, and [`reference`] documents it. All four are derived from the same declarations of
//! the keys (`model`, and the crates that own the settings), so they cannot differ. [`overrides`]
//! adds values from the command line.
//!
//! No input causes a panic; errors are a [`ScenarioError`] with file, line, column, the expectation
//! and the advice.

mod arrivals;
mod cake_words;
mod check;
pub(crate) mod document;
mod draws;
mod edit;
pub(crate) mod error;
mod estimate;
pub(crate) mod expectation;
pub mod files;
mod foreign;
mod htb_words;
mod link_rates;
mod link_units;
mod link_words;
mod model;
pub mod overrides;
mod paths;
mod rate_trace;
mod red_words;
mod reference;
mod resolved;
mod rules;
mod schema;
#[cfg(test)]
mod tc_words_tests;
mod templates;
mod transport;
mod wifi;
mod writer;

pub use arrivals::{Arrivals, Transfer};
pub use document::MAX_OCTETS;
pub use edit::{TextSpan, edited, is_written, place_of};
pub use error::ScenarioError;
pub use estimate::Estimate;
pub use expectation::{
    Comparison, Expectation, Expectations, ExpectedOf, Quantity, Term, measures_of,
};
pub use foreign::{Foreign, ForeignSettings, ForeignStack, Noq, Quinn};
pub use link_words::{LinkWordsError, link_scenario};
pub use model::{
    Direction, Flow, HandoverConfig, Host, Link, MAX_FLOWS, Run, Scenario, Tunnel, TunnelMode,
};
pub use overrides::{Override, parse_with, parse_with_files};
pub(crate) use paths::{Graph, Hop, HopMedium};
pub use rate_trace::{RateTrace, parse as parse_rate_trace};
pub use reference::reference;
pub use resolved::{ResolvedValue, resolved_value};
pub use schema::schema;
pub use transport::{Dccp, Quic, RFC4341, Tcp, Transport};
pub use wifi::{Station, Wifi};
pub(crate) use writer::inline;
#[cfg(feature = "files")]
pub(crate) use writer::write as toml_text;

use check::Check;
use document::Document;
use weir_net::AppConfig;
use weir_proto::settings::{Finding, Place, Raw, Variants as _, read, write};

/// Reads and checks a scenario. `file_name` is only used in errors.
///
/// # Errors
/// The first error, with its place.
pub fn parse(text: &str, file_name: &str) -> Result<Scenario, ScenarioError> {
    scenario_of(&Document::parse(text, file_name)?)
}

fn scenario_of(document: &Document) -> Result<Scenario, ScenarioError> {
    if document.root.entries.is_empty() {
        let help = "a scenario has [run], [[link]] and [[flow]]; `weir schema` describes them";
        let message = "the scenario is empty".to_owned();
        return Err(document.error(Place::default(), message, Some(help.to_owned())));
    }
    let mut scenario = read_keys(document)?;
    Check {
        document,
        scenario: &mut scenario,
        entries: Vec::new(),
    }
    .all()?;
    Ok(scenario)
}

/// Reads a scenario and checks each key by itself.
fn read_keys(document: &Document) -> Result<Scenario, ScenarioError> {
    let mut scenario = Scenario::default();
    let findings = read(&mut scenario, &document.root, "the scenario");
    first_finding(document, findings)?;
    media_has_video(document, &mut scenario);
    Ok(scenario)
}

/// A flow of media without an application is a video, because a controller of media has nothing to
/// do beside bulk data.
fn media_has_video(document: &Document, scenario: &mut Scenario) {
    let Some(Raw::Array(entries)) = document.root.get("flow").map(|entry| &entry.value.raw) else {
        return;
    };
    for (flow, entry) in scenario.flows.iter_mut().zip(entries) {
        let says_nothing = matches!(&entry.raw, Raw::Table(table) if table.get("app").is_none());
        let is_media = flow.transport.media().is_some() && flow.is_one_connection();
        if says_nothing && is_media {
            flow.app = AppConfig::of_kind("video").unwrap_or_default();
        }
    }
}

/// Returns the most useful finding as an error, if there is one.
fn first_finding(document: &Document, findings: Vec<Finding>) -> Result<(), ScenarioError> {
    // Unknown keys come before missing ones, because a misspelt key causes both; overrides come
    // first, because they were written last.
    let order = |f: &Finding| (f.missing, f.place.source == 0, f.place.start);
    match findings.into_iter().min_by_key(order) {
        Some(first) => Err(document.diagnosed(first.place, first.diagnostic)),
        None => Ok(()),
    }
}

impl Scenario {
    /// The scenario as a file with all defaults filled in: it gives the same run, and equal
    /// scenarios give the same bytes.
    pub fn resolved_toml(&self) -> String {
        writer::write(&write(self))
    }

    /// BLAKE3 of [`resolved_toml`](Self::resolved_toml) in hexadecimal: identifies the run by its
    /// content.
    pub fn content_hash(&self) -> String {
        blake3::hash(self.resolved_toml().as_bytes())
            .to_hex()
            .to_string()
    }
}

#[cfg(test)]
mod tests;
