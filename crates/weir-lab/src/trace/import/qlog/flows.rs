//! The flows of a file from its connections.

use super::clock;
use super::connections::{Collector, Connection, Oddities};
use super::head::{FileHead, TraceHead};
use super::rows::packet_table;
use super::stacks::Stack;
use super::traits::Traits;
use super::walk::{Walk, Walked};
use crate::run::FlowTrace;
use crate::trace::import::{ImportError, Imported, ImportedFlow, Vantage};
use std::sync::Arc;

/// Letters of a connection's identifier that its flow's name has.
const ID_LETTERS: usize = 8;

/// A connection whose events have been read.
struct Read {
    head: TraceHead,
    traits: Traits,
    walked: Walked,
    last_s: f64,
}

/// The flows of all connections.
pub(super) fn imported(mut collector: Collector) -> Result<Imported, ImportError> {
    let mut connections = collector.finish();
    let has_clock = clock::set_to_zero(&mut connections);
    let mut remarks = remarks_of(&collector.oddities);
    if !has_clock {
        let text =
            "the traces have no clock in common: the times of each count from its first event";
        remarks.push(text.to_owned());
    }
    let head = &collector.head;
    let read = connections
        .into_iter()
        .filter_map(|connection| read(connection, head));
    let read: Vec<Read> = read.collect();
    if read.is_empty() {
        let events = collector.read();
        let text =
            format!("none of its {events} events is of packets or congestion control of QUIC");
        return Err(ImportError::NoFlow(text));
    }
    let duration_s = read.iter().map(|one| one.last_s).fold(0.0, f64::max);
    for one in &read {
        remark_on(one, head, &mut remarks);
    }
    let producer = producer_of(head, read.first().map(|one| &one.head));
    let (mut flows, mut ends, mut names) = (Vec::new(), Vec::new(), Vec::new());
    for pair in paired(read) {
        let name = unused(name_of(&pair.first.head), &mut names);
        let shared: Arc<str> = name.as_str().into();
        let mut first = pair.first;
        let packets = std::mem::take(&mut first.walked.packets);
        ends.push((
            [Arc::clone(&first.walked.place), Arc::clone(&shared)],
            packets,
        ));
        if let Some(other) = pair.other {
            ends.push(([other.walked.place, shared], other.walked.packets));
        }
        flows.push(flow_of(name, first, duration_s));
    }
    remarks.dedup();
    Ok(Imported {
        format: head.format(),
        producer,
        flows,
        packets: packet_table(ends),
        duration_s,
        remarks,
    })
}

/// Reads the events of a connection; `None` if nothing in it is of packets or congestion control.
fn read(connection: Connection, file: &FileHead) -> Option<Read> {
    let traits = Traits::of(&connection);
    if !traits.packets && !traits.controller {
        return None;
    }
    let last_s = connection.records.last().map_or(0.0, |record| record.0);
    let stack = Stack::of(file, &connection.head);
    let walk = Walk::new(&connection, &traits, stack);
    let walked = walk.run(connection.records);
    Some(Read {
        head: connection.head,
        traits,
        walked,
        last_s,
    })
}

/// One flow: its sender or the only end, and its receiver if that was traced too.
struct Pair {
    first: Read,
    other: Option<Read>,
}

/// Puts the two ends of each connection together. The ends of a connection have the same
/// identifier; two ends without one that are the only ones of the file are of one connection.
fn paired(all: Vec<Read>) -> Vec<Pair> {
    let only_two = all.len() == 2;
    let mut pairs: Vec<Pair> = Vec::new();
    for one in all {
        let is_other_end = |pair: &Pair| {
            let (a, b) = (&pair.first.head, &one.head);
            let same = match (&a.group, &b.group) {
                (Some(a), Some(b)) => a == b,
                (None, None) => only_two,
                _ => false,
            };
            let ends = [&a.vantage_type, &b.vantage_type].map(|end| end.as_deref());
            let both = matches!(
                ends,
                [Some("client"), Some("server")] | [Some("server"), Some("client")]
            );
            pair.other.is_none() && same && both && pair.first.traits.sends != one.traits.sends
        };
        match pairs
            .iter()
            .position(is_other_end)
            .and_then(|at| pairs.get_mut(at))
        {
            Some(pair) if one.traits.sends => {
                pair.other = Some(std::mem::replace(&mut pair.first, one));
            }
            Some(pair) => pair.other = Some(one),
            None => pairs.push(Pair {
                first: one,
                other: None,
            }),
        }
    }
    pairs
}

fn flow_of(name: String, one: Read, duration_s: f64) -> ImportedFlow {
    let vantage = one.head.vantage(one.traits.sends);
    let walked = one.walked;
    let intervals = one.traits.packets.then(|| {
        let has_data = walked.data.is_some();
        walked.happened.table(duration_s, has_data)
    });
    ImportedFlow {
        trace: FlowTrace {
            name,
            table: walked.flow.table(),
            events: walked.events.table(),
            writes: None,
            gaps: None,
            frames: None,
            requests: None,
            intervals: intervals.flatten(),
        },
        transport: "quic",
        controller: None,
        vantage,
        delivered_bytes: walked.data.map(|octets| octets as f64),
    }
}

/// The end of the connection, and the first letters of its identifier: `server-b0bf29d0`.
fn name_of(head: &TraceHead) -> String {
    let end = head.vantage_type.as_deref().filter(|end| *end != "unknown");
    let end: String = plain(end.unwrap_or("quic")).collect();
    let id = head.group.as_deref().unwrap_or_default();
    let id: String = plain(id).take(ID_LETTERS).collect();
    match (end.is_empty(), id.is_empty()) {
        (false, false) => format!("{end}-{id}"),
        (false, true) => end,
        _ => "quic".to_owned(),
    }
}

/// The characters that names of flows may have.
fn plain(text: &str) -> impl Iterator<Item = char> + '_ {
    text.chars().filter(char::is_ascii_alphanumeric)
}

/// The name, with a number if it is not the first of that name.
fn unused(name: String, names: &mut Vec<String>) -> String {
    let mut unused = name.clone();
    let mut number = 2;
    while names.contains(&unused) {
        unused = format!("{name}-{number}");
        number += 1;
    }
    names.push(unused.clone());
    unused
}

/// The program that wrote the file, in its own words.
fn producer_of(file: &FileHead, trace: Option<&TraceHead>) -> String {
    let vantage = trace.and_then(|trace| trace.vantage_name.clone());
    let title = trace.and_then(|trace| trace.title.clone());
    let said = [file.title.clone(), title, vantage];
    let mut said = said.into_iter().flatten();
    said.find(|text| !text.trim().is_empty())
        .unwrap_or_default()
}

fn remarks_of(oddities: &Oddities) -> Vec<String> {
    let mut remarks = Vec::new();
    if oddities.truncated {
        remarks.push(
            "the file ends within an event: its program was stopped, or still ran".to_owned(),
        );
    }
    let counted = [
        (
            oddities.not_understood,
            "events have no name and were passed over",
        ),
        (
            oddities.without_time,
            "events have no time and were given that of the event before",
        ),
        (
            oddities.out_of_order,
            "events are older than the one before and were sorted",
        ),
    ];
    let counted = counted.into_iter().filter(|(count, _)| *count > 0);
    remarks.extend(counted.map(|(count, text)| format!("{count} {text}")));
    remarks
}

/// What the events of a connection do not say.
fn remark_on(one: &Read, file: &FileHead, remarks: &mut Vec<String>) {
    let (traits, mut add) = (&one.traits, |text: &str| remarks.push(text.to_owned()));
    if traits.rtt_in_seconds {
        add("the round-trip times are in seconds, as quinn writes them");
    }
    let stack = Stack::of(file, &one.head);
    if stack.paces_in_octets() {
        add("the pacing rate is taken as octets per second, which quiche writes");
    }
    if stack.has_raw_ack_delay() && !traits.latest_rtt {
        add("the delays of acknowledgements are numbers without a unit, and not subtracted");
    }
    if traits.paths {
        add("the packets of several paths are put together");
    }
    if one.head.vantage(true) == Vantage::Network {
        add("the trace was taken in the network: what it computes is not what the sender knew");
    }
    if !traits.packets {
        add("the file has no packets: which octets arrived is not known");
    } else if traits.sends && !traits.acknowledgements {
        add("the file has no acknowledgements: which octets arrived is not known");
    } else if traits.sends && !traits.sent_frames {
        add("the file has no frames of the packets that were sent: the goodput is not known");
    }
    if !traits.sends && traits.controller {
        add("the metrics of the receiving end are not read: they are of the other direction");
    }
}
