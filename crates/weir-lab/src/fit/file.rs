//! The fitted path as a scenario file: a comment for each parameter, then the tables.

use super::Subject;
use super::application::Application;
use super::loss::Loss;
use super::parameter::Parameter;
use super::path::{Discipline, Path};
use super::transport::{table, text};
use super::way_back::WayBack;
use crate::scenario::toml_text;
use std::fmt::Write as _;
use weir_proto::settings::{Form as _, Raw, Table, Value as _, bit_rate};
use weir_proto::time::Duration;

/// The first line of a fitted path.
pub const HEAD: &str = "# A path fitted to a trace by `weir fit`.";

/// A name of a scenario: letters, digits, `-` and `_`, of which the first is a letter or a digit.
pub(super) fn flow_name(name: &str) -> String {
    let known = |c: char| {
        if c.is_ascii_alphanumeric() || c == '-' {
            c
        } else {
            '_'
        }
    };
    let name: String = name.chars().map(known).take(60).collect();
    let starts = name.starts_with(|c: char| c.is_ascii_alphanumeric());
    if starts { name } else { format!("f{name}") }
}

/// Four digits of a number: no trace tells more.
fn rounded(number: f64) -> f64 {
    if number.is_finite() {
        format!("{number:.3e}").parse().unwrap_or(number)
    } else {
        0.0
    }
}

fn rate(bps: f64) -> Raw {
    bit_rate().write(&(rounded(bps).round().max(1.0) as u64))
}

/// A time, to the microsecond.
fn time(seconds: f64) -> Raw {
    Duration::from_nanos((seconds * 1e6).round().max(0.0) as u64 * 1000).write()
}

fn packets(number: f64) -> Raw {
    Raw::Integer(number.max(1.0) as i64)
}

fn queue(discipline: Discipline) -> Raw {
    match discipline {
        Discipline::DropTail(limit) => {
            table(&[("kind", text("droptail")), ("limit", packets(limit))])
        }
        Discipline::CoDel(target_s, limit) => table(&[
            ("kind", text("codel")),
            ("target", time(rounded(target_s))),
            ("limit", packets(limit)),
        ]),
    }
}

fn loss(loss: &Loss) -> Option<Raw> {
    let share = |share: f64| Raw::Float(rounded(share));
    match loss {
        Loss::None => None,
        Loss::Random(rate) => Some(table(&[("kind", text("random")), ("rate", share(*rate))])),
        Loss::Numbers(numbers) => {
            let numbers = numbers
                .iter()
                .map(|number| Raw::Integer(*number as i64).into());
            let drops = Raw::Array(numbers.collect());
            Some(table(&[("kind", text("trace")), ("drops", drops)]))
        }
        Loss::Bursts { to_bad, to_good } => Some(table(&[
            ("kind", text("gilbert")),
            ("to_bad", share(*to_bad)),
            ("to_good", share(*to_good)),
        ])),
    }
}

/// The scenario with its comments.
pub(super) fn written(path: &Path, subject: &Subject<'_>) -> String {
    let mut text = format!("{HEAD}\n#\n");
    // Writing to a string cannot fail.
    for Parameter { name, value, how } in parameters(path) {
        let _ = writeln!(text, "# {name} = {value}: {how}");
    }
    for remark in &path.remarks {
        let _ = writeln!(text, "# Note: {remark}");
    }
    text.push('\n');
    text + &toml_text(&document(path, subject))
}

fn document(path: &Path, subject: &Subject<'_>) -> Table {
    let mut forward = Table::default();
    let first = path
        .rate
        .steps
        .first()
        .map_or(path.rate.mean_bps, |step| step.1);
    forward.put("rate", rate(first));
    forward.put("queue", queue(path.discipline));
    if let Some(raw) = loss(&path.loss) {
        forward.put("loss", raw);
    }
    let steps = path.rate.steps.iter().skip(1);
    let steps = steps.filter(|(at_s, _)| *at_s > 0.0);
    let changes = steps.map(|(at_s, bps)| {
        let mut step = Table::default();
        step.put("at", time(*at_s));
        step.put("rate", rate(*bps));
        step
    });
    let changes: Vec<Table> = changes.collect();
    if !changes.is_empty() {
        forward.put("change", Raw::Tables(changes));
    }
    let mut link = Table::default();
    link.put("name", text("path"));
    let hosts = ["sender", "receiver"].map(|host| text(host).into());
    link.put("between", Raw::Array(hosts.to_vec()));
    link.put("delay", time(rounded(path.delay_s)));
    link.put("mtu", packets(path.mtu));
    link.put("forward", Raw::Table(forward));
    if let Some(back) = path.back.filter(|back| back.loss > 0.0) {
        let mut backward = Table::default();
        if let Some(raw) = loss(&Loss::Random(back.loss)) {
            backward.put("loss", raw);
        }
        link.put("backward", Raw::Table(backward));
    }
    let mut flow = Table::default();
    flow.put("name", text(flow_name(subject.flow)));
    flow.put("from", text("sender"));
    flow.put("to", text("receiver"));
    flow.put("transport", transport(path));
    flow.put("app", application(path));
    let mut root = Table::default();
    root.put("run", table(&[("duration", time(path.length_s))]));
    root.put("link", Raw::Tables(vec![link]));
    root.put("flow", Raw::Tables(vec![flow]));
    root
}

/// The transport with what the trace tells of the receiver.
fn transport(path: &Path) -> Raw {
    let mut raw = path.transport.clone();
    let Raw::Table(keys) = &mut raw else {
        return raw;
    };
    let kind = keys.get("kind").and_then(|entry| entry.value.raw.as_text());
    let kind = kind.unwrap_or_default().to_owned();
    if path.is_declared || kind == "dccp" {
        return raw;
    }
    if let Some(back) = path.back {
        keys.put("ack_every", Raw::Integer(back.ack_every.into()));
    }
    if let Some(octets) = path.receive_window {
        let octets = Raw::Integer(octets.max(1.0) as i64);
        if kind == "tcp" {
            keys.put("receive_buffer", octets);
        } else {
            keys.put("initial_max_data", octets.clone());
            keys.put("initial_max_stream_data", octets);
        }
    }
    raw
}

fn application(path: &Path) -> Raw {
    match path.application {
        Application::Bulk => {
            let kind = path
                .transport
                .as_table()
                .and_then(|table| table.get("kind"));
            let is_dccp = kind.is_some_and(|entry| entry.value.raw.as_text() == Some("dccp"));
            if is_dccp {
                let packet = packets(path.data);
                return table(&[("kind", text("bulk")), ("packet", packet)]);
            }
            table(&[("kind", text("bulk"))])
        }
        Application::Constant(bps) => table(&[
            ("kind", text("cbr")),
            ("rate", rate(bps)),
            ("when_blocked", text("catch_up")),
        ]),
        Application::OnOff {
            rate_bps,
            on_s,
            off_s,
        } => table(&[
            ("kind", text("on_off")),
            ("rate", rate(rate_bps)),
            ("on", time(rounded(on_s))),
            ("off", time(rounded(off_s))),
            ("lengths", text("constant")),
        ]),
    }
}

/// A value in the words of a file.
fn word(raw: &Raw) -> String {
    crate::scenario::inline(raw).trim_matches('"').to_owned()
}

/// A table in the words of a file.
fn words(raw: &Raw) -> String {
    let entries = raw
        .as_table()
        .map(|table| table.entries.as_slice())
        .unwrap_or_default();
    let keys = entries.iter().map(|entry| match entry.key.as_str() {
        "kind" => word(&entry.value.raw),
        key => format!("{key} {}", word(&entry.value.raw)),
    });
    keys.collect::<Vec<_>>().join(", ")
}

/// The parameters of a path, and how each was found.
pub(super) fn parameters(path: &Path) -> Vec<Parameter> {
    let mut all = path.parameters.clone();
    all.push(rate_parameter(path));
    let base = 1e3 * path.base_s;
    let how = format!("half of the smallest round trip, {base:.3} ms, less a packet");
    let delay = word(&time(rounded(path.delay_s)));
    all.push(Parameter::new("link.path.delay", delay, how));
    let octets = path.queue.most_octets / path.mtu;
    let how = match (path.discipline, path.queue.limit_octets) {
        (Discipline::CoDel(..), _) => {
            "losses come after waiting, and before the queue is full".to_owned()
        }
        (_, Some(_)) => format!("what waited at {} losses", path.queue.top_losses),
        (_, None) => format!("no full queue was seen; at most {octets:.0} packets waited"),
    };
    let queue = words(&queue(path.discipline));
    all.push(Parameter::new("link.path.forward.queue", queue, how));
    let found = path.queue.other_losses;
    let how = format!("{found} losses that are not those of a full queue");
    let value = loss(&path.loss).map_or_else(|| "none".to_owned(), |raw| words(&raw));
    all.push(Parameter::new("link.path.forward.loss", value, how));
    all.extend(path.back.map(back_parameter));
    let how = match path.application {
        Application::Bulk => "the sender had data throughout",
        _ => "the application held the sender",
    };
    let app = words(&application(path));
    all.push(Parameter::new("flow.app", app, how));
    if let Some(octets) = path.receive_window.filter(|_| !path.is_declared) {
        let how = "the receiver's window held the sender";
        let name = "flow.transport.receive_buffer";
        all.push(Parameter::new(name, format!("{octets:.0}"), how));
    }
    all
}

fn rate_parameter(path: &Path) -> Parameter {
    let share = 100.0 * path.rate.busy_share;
    let mut how = format!("what arrived while packets waited, {share:.1} % of the time");
    let rates = path.rate.steps.iter().map(|step| step.1);
    let mut value = word(&rate(path.rate.mean_bps));
    if path.rate.varies() {
        let least = word(&rate(rates.clone().fold(f64::INFINITY, f64::min)));
        value = format!("{least} to {}", word(&rate(rates.fold(0.0, f64::max))));
        how = format!("{how}: {} steps", path.rate.steps.len());
    } else if !path.rate.is_filled {
        how = "at least: that of the fastest trains of packets, as packets hardly waited".into();
    }
    Parameter::new("link.path.forward.rate", value, how)
}

fn back_parameter(back: WayBack) -> Parameter {
    let (value, how) = if back.loss > 0.0 {
        let value = loss(&Loss::Random(back.loss)).map_or_else(String::new, |raw| words(&raw));
        (value, "acknowledgements are missing")
    } else {
        let how = "no acknowledgement is missing; ample rate, the delay above";
        ("none".to_owned(), how)
    };
    let how = format!("{how}; one comes for each {} packets", back.ack_every);
    Parameter::new("link.path.backward.loss", value, how)
}
