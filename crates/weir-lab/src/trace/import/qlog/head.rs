//! What a qlog file says of itself and of each trace.

use super::fields::{member, number, word};
use crate::trace::import::Vantage;
use serde_json::Value;

/// The members of the file around its traces.
#[derive(Clone, Debug, Default)]
pub(super) struct FileHead {
    pub(super) version: Option<String>,
    pub(super) schema: Option<String>,
    pub(super) serialization: Option<String>,
    pub(super) title: Option<String>,
}

impl FileHead {
    /// Takes a member of the file; false if it is none of the head.
    pub(super) fn take(&mut self, name: &str, value: &Value) -> bool {
        let place = match name {
            "qlog_version" => &mut self.version,
            "file_schema" => &mut self.schema,
            "qlog_format" | "serialization_format" => &mut self.serialization,
            "title" => &mut self.title,
            _ => return false,
        };
        *place = word(value);
        true
    }

    /// The format in words, such as `qlog 0.3`.
    pub(super) fn format(&self) -> String {
        let version = self.version.as_deref().or(self.schema.as_deref());
        version.map_or_else(|| "qlog".to_owned(), |version| format!("qlog {version}"))
    }
}

/// The meaning of the time of an event.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum TimeFormat {
    /// Since an epoch or a reference.
    #[default]
    Absolute,
    /// Since the event before.
    Delta,
}

/// The members of a trace other than its events.
#[derive(Clone, Debug, Default)]
pub(super) struct TraceHead {
    pub(super) title: Option<String>,
    /// The name and the type of the vantage point: client, server or network.
    pub(super) vantage_name: Option<String>,
    pub(super) vantage_type: Option<String>,
    /// Of a trace in the network, the side whose packets are sent.
    pub(super) sending_side: Option<String>,
    pub(super) time_format: TimeFormat,
    /// What the times count from, in the unit of the times, if they do and it is known.
    pub(super) reference: Option<f64>,
    /// Times are in microseconds instead of milliseconds.
    pub(super) microseconds: bool,
    /// The identifier of the connection.
    pub(super) group: Option<String>,
    /// The names of the members of events that are arrays.
    pub(super) event_fields: Vec<String>,
}

impl TraceHead {
    /// Takes a member of the trace.
    pub(super) fn take(&mut self, name: &str, value: &Value) {
        match name {
            "title" => self.title = word(value),
            "vantage_point" => self.take_vantage(value),
            "configuration" => self.take_units(value),
            "common_fields" => self.take_common(value),
            "event_fields" => {
                let names = value.as_array().map(Vec::as_slice).unwrap_or_default();
                let names = names.iter().filter_map(word);
                self.event_fields = names.map(|name| name.to_ascii_lowercase()).collect();
                self.take_time_name();
            }
            _ => {}
        }
    }

    /// Takes the name of the member that is an event's time, which says the format in draft-01.
    pub(super) fn take_time_name(&mut self) {
        if self.event_fields.iter().any(|name| name == "delta_time") {
            self.time_format = TimeFormat::Delta;
        }
    }

    fn take_vantage(&mut self, value: &Value) {
        let text = |name| member(value, name).and_then(word);
        self.vantage_name = text("name");
        self.vantage_type = text("type").map(|kind| kind.to_ascii_lowercase());
        self.sending_side = text("flow");
    }

    fn take_units(&mut self, value: &Value) {
        if let Some(unit) = member(value, "time_units").and_then(word) {
            self.microseconds = unit == "us";
        }
    }

    fn take_common(&mut self, value: &Value) {
        self.take_units(value);
        match member(value, "time_format").and_then(Value::as_str) {
            Some("delta" | "relative_to_previous_event") => self.time_format = TimeFormat::Delta,
            Some(_) => self.time_format = TimeFormat::Absolute,
            None => {}
        }
        // Until draft-ietf-quic-qlog-main-schema-09 a number, then an object, whose epoch is a date
        // or unknown. Dates are not read: only traces of one file are compared, which are of one
        // program.
        self.reference = member(value, "reference_time").and_then(number);
        let groups = ["group_id", "group_ids", "ODCID", "odcid"];
        let mut found = groups.iter().filter_map(|name| member(value, name));
        if let Some(group) = found.find_map(word) {
            self.group = Some(group);
        }
    }

    /// Seconds in a unit of the file's times.
    pub(super) const fn unit_s(&self) -> f64 {
        if self.microseconds { 1e-6 } else { 1e-3 }
    }

    /// The place of the trace, if the traced end sends the data or receives it.
    pub(super) fn vantage(&self, sends: bool) -> Vantage {
        // quinn writes `unknown` for the end at which it is.
        match self.vantage_type.as_deref() {
            Some("network") => Vantage::Network,
            _ if sends => Vantage::Sender,
            _ => Vantage::Receiver,
        }
    }
}
