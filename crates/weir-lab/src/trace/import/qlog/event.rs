//! An event of any version of qlog as a record.
//!
//! The namespace of a name is ignored, because it has changed with the drafts while the last part
//! stayed: `transport:packet_sent` of qlog 0.3 is `quic:packet_sent` since
//! draft-ietf-quic-qlog-quic-events-09. Events of draft-01 are arrays, whose members `event_fields`
//! names.

use super::fields::{first, flag, number, whole, word};
use super::frames::frames_of;
use super::record::{
    APPLICATION, Acked, CongestionState, HANDSHAKE, INITIAL, Loss, Metrics, Packet, Record, SPACES,
    Space,
};
use crate::table::interned;
use serde_json::{Map, Value};
use std::collections::BTreeSet;
use std::sync::Arc;

/// Most packets of one event of a loss that has a count instead of numbers.
const MOST_LOST: u64 = 10_000;

/// An event whose members have been found, whatever their order.
pub(super) struct Event<'a> {
    /// The name without its namespace, in lower case.
    pub(super) name: String,
    pub(super) time: Option<f64>,
    /// The name of the member that has the time.
    pub(super) is_delta: bool,
    pub(super) group: Option<String>,
    path: Space,
    trigger: Option<&'a Value>,
    data: Option<&'a Map<String, Value>>,
}

impl<'a> Event<'a> {
    /// The members of an event; `None` if it has no name.
    pub(super) fn new(event: &'a Value, fields: &[String]) -> Option<Self> {
        match event {
            Value::Object(object) => Self::of_object(object),
            Value::Array(items) => Self::of_array(items, fields),
            _ => None,
        }
    }

    fn of_object(object: &'a Map<String, Value>) -> Option<Self> {
        let name = first(object, &["name", "event", "event_type"])?.as_str()?;
        let time = first(object, &["time", "relative_time", "delta_time"]);
        Some(Self {
            name: base_name(name),
            time: time.and_then(number),
            is_delta: object.contains_key("delta_time"),
            group: object.get("group_id").and_then(word),
            path: path_of(first(object, &["path_id", "path"])),
            trigger: object.get("trigger"),
            data: object.get("data").and_then(Value::as_object),
        })
    }

    /// Without names of the members: a time, a category, an event, perhaps a trigger, the data.
    fn of_array(items: &'a [Value], fields: &[String]) -> Option<Self> {
        const USUAL: [&str; 4] = ["relative_time", "category", "event", "data"];
        const WITH_TRIGGER: [&str; 5] = ["relative_time", "category", "event", "trigger", "data"];
        const WITH_PATH: [&str; 5] = ["relative_time", "path_id", "category", "event", "data"];
        let usual: &[&str] = match items {
            [_, Value::Number(_), _, _, _] => &WITH_PATH,
            [_, _, _, _, _] => &WITH_TRIGGER,
            _ => &USUAL,
        };
        let of = |names: &[&str]| {
            let is_one = |field: &str| names.contains(&field);
            let at = if fields.is_empty() {
                usual.iter().position(|field| is_one(field))
            } else {
                fields.iter().position(|field| is_one(field))
            };
            items.get(at?)
        };
        Some(Self {
            name: base_name(of(&["event", "event_type", "name"])?.as_str()?),
            time: of(&["relative_time", "time", "delta_time"]).and_then(number),
            is_delta: false,
            group: of(&["group_id"]).and_then(word),
            path: path_of(of(&["path_id"])),
            trigger: of(&["trigger"]),
            data: of(&["data"]).and_then(Value::as_object),
        })
    }

    /// What is kept of the event; `None` if it is none of those that are read.
    pub(super) fn record(&self, words: &mut BTreeSet<Arc<str>>) -> Option<Record> {
        let data = self.data?;
        match self.name.as_str() {
            "metrics_updated"
            | "recovery_metrics_updated"
            | "metric_update"
            | "congestion_metric_update" => self.metrics(data, words),
            "congestion_state_updated" => self.congestion(data, words),
            "packet_sent" => Some(Record::Sent(Box::new(self.packet(data)))),
            "packet_received" => Some(Record::Received(Box::new(self.packet(data)))),
            "packet_lost" | "packets_lost" => Some(Record::Lost(Box::new(self.loss(data, words)))),
            "packets_acked" => self.acked(data),
            "loss_timer_updated" | "timer_updated" | "loss_alarm" => expiry(data),
            "connection_state_updated" => {
                let new = word(first(data, &["new", "state"])?)?;
                Some(Record::Connection(interned(words, &new)))
            }
            "spurious_loss" | "spurious_lost" | "packet_spurious_lost" => Some(Record::Spurious),
            "app_limited_update" => {
                let limited = first(data, &["app_limited", "limited"])?;
                Some(Record::AppLimited(is_limited(limited)))
            }
            "connection_data_blocked_updated" | "stream_data_blocked_updated" => {
                Some(Record::Blocked(data.get("new")?.as_str()? == "blocked"))
            }
            _ => None,
        }
    }

    fn metrics(&self, data: &Map<String, Value>, words: &mut BTreeSet<Arc<str>>) -> Option<Record> {
        let value = |names: &[&str]| first(data, names).and_then(number);
        let metrics = Metrics {
            latest_rtt: value(&["latest_rtt"]),
            smoothed_rtt: value(&["smoothed_rtt"]),
            min_rtt: value(&["min_rtt"]),
            congestion_window: value(&["congestion_window", "cwnd", "current_cwnd"]),
            bytes_in_flight: value(&["bytes_in_flight"]),
            ssthresh: value(&["ssthresh"]),
            pacing_rate: value(&["pacing_rate"]),
            pto_count: first(data, &["pto_count"])
                .and_then(whole)
                .map(|count| u32::try_from(count).unwrap_or(u32::MAX)),
            app_limited: data.get("app_limited").map(flag),
        };
        // Today's mvfst gives this event the contents of a state.
        let is_state = data.contains_key("new") && metrics.congestion_window.is_none();
        if is_state {
            return self.congestion(data, words);
        }
        Some(Record::Metrics(Box::new(metrics)))
    }

    fn congestion(
        &self,
        data: &Map<String, Value>,
        words: &mut BTreeSet<Arc<str>>,
    ) -> Option<Record> {
        // mvfst gives the event of this name that contents when the application falls behind.
        if let Some(limited) = data.get("app_limited") {
            return Some(Record::AppLimited(is_limited(limited)));
        }
        let new = word(data.get("new")?)?;
        // Our export has the controller's rule, which is no trigger of the draft.
        let rule = data.get("limit").and_then(Value::as_str);
        let trigger = rule.map_or_else(|| self.trigger_of(data), str::to_owned);
        Some(Record::Congestion(Box::new(CongestionState {
            new: interned(words, &new),
            trigger: interned(words, &trigger),
        })))
    }

    /// The trigger of the data, or of the event in draft-01; empty without one.
    fn trigger_of(&self, data: &Map<String, Value>) -> String {
        let trigger = data.get("trigger").or(self.trigger);
        let trigger = trigger.and_then(Value::as_str).unwrap_or_default();
        // Writers of draft-01 fill the place of a trigger that they do not have.
        if matches!(trigger, "default" | "DEFAULT" | "line") {
            return String::new();
        }
        trigger.to_ascii_lowercase()
    }

    fn packet(&self, data: &Map<String, Value>) -> Packet {
        let (space, packet_type) = self.space_of(data);
        let size = size_of(data).map(|size| u32::try_from(size).unwrap_or(u32::MAX));
        Packet {
            number: number_of(data),
            space,
            type_name: packet_type,
            size,
            frames: data.get("frames").and_then(|list| frames_of(list, space)),
            is_probe: self.trigger_of(data) == "pto_probe",
        }
    }

    fn loss(&self, data: &Map<String, Value>, words: &mut BTreeSet<Arc<str>>) -> Loss {
        let (space, packet_type) = self.space_of(data);
        let number = number_of(data);
        let count = first(data, &["lost_packets"]).and_then(whole);
        let count = count.filter(|_| number.is_none()).unwrap_or(1);
        Loss {
            number,
            space,
            packet_type,
            packets: count.min(MOST_LOST) as u32,
            trigger: interned(words, &self.trigger_of(data)),
        }
    }

    fn acked(&self, data: &Map<String, Value>) -> Option<Record> {
        let (space, _) = self.space_of(data);
        let numbers = data.get("packet_numbers")?.as_array()?;
        let numbers = numbers.iter().filter_map(whole).collect();
        Some(Record::Acked(Box::new(Acked { space, numbers })))
    }

    /// The space and the type of a packet. Without a type it is taken for one of 1-RTT, which
    /// carry the data.
    fn space_of(&self, data: &Map<String, Value>) -> (Space, &'static str) {
        const NAMES: [&str; 3] = ["packet_type", "type", "packet_number_space"];
        let header = data.get("header").and_then(Value::as_object);
        let of_header = header.and_then(|header| first(header, &NAMES));
        let name = of_header.or_else(|| first(data, &NAMES));
        let (space, packet_type) = match name.and_then(Value::as_str) {
            Some(name) => packet_type_of(name),
            None => (APPLICATION, ""),
        };
        (space + SPACES * self.path, packet_type)
    }
}

/// True for `app_limited` of mvfst, whose other word is `app_unlimited`, or a flag.
fn is_limited(value: &Value) -> bool {
    value.as_str() == Some("app_limited") || flag(value)
}

/// The last part of a name, in lower case.
fn base_name(name: &str) -> String {
    let base = name.rsplit(':').next().unwrap_or(name);
    base.to_ascii_lowercase()
}

/// The number of a path; beyond a thousand it is not one.
fn path_of(value: Option<&Value>) -> Space {
    let path = value.and_then(whole).filter(|path| *path < 1000);
    path.unwrap_or_default()
}

/// The packet number space of a type, and its name in a run's table.
fn packet_type_of(name: &str) -> (Space, &'static str) {
    let mut plain = name.to_ascii_lowercase();
    plain.retain(|letter| letter.is_ascii_alphanumeric());
    match plain.as_str() {
        "initial" => (INITIAL, "initial"),
        "handshake" => (HANDSHAKE, "handshake"),
        "0rtt" | "zerortt" | "0rttprotected" => (APPLICATION, "0RTT"),
        "1rtt" | "onertt" | "short" | "shortheader" | "1rttprotected" | "applicationdata"
        | "appdata" | "application" => (APPLICATION, "1RTT"),
        "retry" => (INITIAL, "retry"),
        "versionnegotiation" => (INITIAL, "version_negotiation"),
        "statelessreset" => (APPLICATION, "stateless_reset"),
        _ => (APPLICATION, "unknown"),
    }
}

/// The number of a packet, in its header or, of aioquic and mvfst, beside it.
fn number_of(data: &Map<String, Value>) -> Option<u64> {
    let header = data.get("header").and_then(Value::as_object);
    let of_header = header.and_then(|header| header.get("packet_number"));
    let number = of_header.or_else(|| first(data, &["packet_number", "packet_num"]));
    number.and_then(whole)
}

/// The octets of a packet: `raw.length` since draft-02, `packet_size` before, of quinn
/// `header.length`. A length of the
/// payload alone is better than none: it is short by the header and the 16 octets of the tag.
fn size_of(data: &Map<String, Value>) -> Option<u64> {
    let raw = data.get("raw").and_then(Value::as_object);
    let header = data.get("header").and_then(Value::as_object);
    let raw_length = raw.and_then(|raw| raw.get("length"));
    let of_header = header.and_then(|header| first(header, &["packet_size", "length"]));
    let size = raw_length
        .or(of_header)
        .or_else(|| data.get("packet_size"))
        .or_else(|| raw.and_then(|raw| raw.get("payload_length")))
        .or_else(|| header.and_then(|header| header.get("payload_length")));
    size.and_then(whole)
}

/// The expiry of a timer that probes: of type `pto`, or without a type. One of type `loss_timeout`
/// may also be that of the time threshold (RFC 9002 §6.1.2).
fn expiry(data: &Map<String, Value>) -> Option<Record> {
    let kind = first(data, &["event_type", "type"])?.as_str()?;
    let timer = data.get("timer_type").and_then(Value::as_str);
    let probes = timer.is_none_or(|timer| timer == "pto");
    (kind == "expired" && probes).then_some(Record::TimerExpired)
}
