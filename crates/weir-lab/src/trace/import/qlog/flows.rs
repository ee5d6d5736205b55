//! The flows of a file from its connections.

use super::clock::{instant, set_to_zero};
use super::connections::{Collector, Connection, Oddities};
use super::contents::Contents;
use super::flow_builder::{BuiltFlow, FlowBuilder};
use super::head::{FileHead, TraceHead};
use super::stacks::Stack;
use crate::trace::import::tables::Packets;
use crate::trace::import::{ImportError, Imported, ImportedFlow, Vantage};
use weir_proto::time::{Duration, Instant};

/// Letters of a connection's identifier that its flow's name has.
const ID_LETTERS: usize = 8;

/// A connection at one end, and the tables of its events.
struct ReadEnd {
    head: TraceHead,
    contents: Contents,
    built: BuiltFlow,
}

/// The flows of all connections.
pub(super) fn imported(mut collector: Collector) -> Result<Imported, ImportError> {
    let mut connections = collector.finish();
    let has_clock = set_to_zero(&mut connections);
    let mut remarks = remarks_of(&collector.oddities);
    if !has_clock {
        let text =
            "the traces have no clock in common: the times of each count from its first event";
        remarks.push(text.to_owned());
    }
    let head = &collector.head;
    let known = connections.into_iter().map(|connection| {
        let contents = Contents::of(&connection);
        (connection, contents)
    });
    let known: Vec<_> = known
        .filter(|(_, contents)| contents.packets || contents.controller)
        .collect();
    if known.is_empty() {
        let events = collector.read();
        let text =
            format!("none of its {events} events is of packets or congestion control of QUIC");
        return Err(ImportError::NoFlow(text));
    }
    let last = known.iter().filter_map(|(one, _)| one.records.last());
    let end = last.map(|(seconds, _)| instant(*seconds)).max();
    let duration = end.unwrap_or_default().since(Instant::ZERO);
    let read = known
        .into_iter()
        .map(|(connection, contents)| read(connection, contents, head, duration));
    let read: Vec<ReadEnd> = read.collect();
    for one in &read {
        remark_on(one, head, &mut remarks);
    }
    let producer = producer_of(head, read.first().map(|one| &one.head));
    let (mut flows, mut packets, mut names) = (Vec::new(), Packets::default(), Vec::new());
    for mut pair in paired(read) {
        let name = unused(name_of(&pair.first.head), &mut names);
        packets.add(&name, std::mem::take(&mut pair.first.built.packets));
        if let Some(other) = pair.other {
            packets.add(&name, other.built.packets);
        }
        flows.push(flow_of(name, pair.first));
    }
    remarks.dedup();
    Ok(Imported {
        format: head.format(),
        producer,
        flows,
        packets: packets.finish(),
        duration_s: duration.as_secs_f64(),
        remarks,
    })
}

fn read(
    connection: Connection,
    contents: Contents,
    file: &FileHead,
    duration: Duration,
) -> ReadEnd {
    let stack = Stack::of(file, &connection.head);
    let builder = FlowBuilder::new(&connection, &contents, stack, duration);
    let built = builder.build(connection.records);
    ReadEnd {
        head: connection.head,
        contents,
        built,
    }
}

/// One flow: its sender or the only end, and its receiver if that was traced too.
struct Pair {
    first: ReadEnd,
    other: Option<ReadEnd>,
}

/// Puts the two ends of each connection together. The ends of a connection have the same
/// identifier; two ends without one that are the only ones of the file are of one connection.
fn paired(all: Vec<ReadEnd>) -> Vec<Pair> {
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
            pair.other.is_none() && same && both && pair.first.contents.sends != one.contents.sends
        };
        match pairs
            .iter()
            .position(is_other_end)
            .and_then(|at| pairs.get_mut(at))
        {
            Some(pair) if one.contents.sends => {
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

fn flow_of(name: String, one: ReadEnd) -> ImportedFlow {
    let vantage = one.head.vantage(one.contents.sends);
    let built = one.built;
    let mut flow = ImportedFlow::new((name, "quic"), vantage, built.table);
    flow.trace.events = built.events;
    flow.trace.intervals = built.intervals;
    flow.delivered_bytes = built.data.map(|octets| octets as f64);
    flow
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
fn remark_on(one: &ReadEnd, file: &FileHead, remarks: &mut Vec<String>) {
    let (contents, mut add) = (&one.contents, |text: &str| remarks.push(text.to_owned()));
    if contents.rtt_in_seconds {
        add("the round-trip times are in seconds, as quinn writes them");
    }
    let stack = Stack::of(file, &one.head);
    if stack.paces_in_octets() {
        add("the pacing rate is taken as octets per second, which quiche writes");
    }
    if stack.has_raw_ack_delay() && !contents.latest_rtt {
        add("the delays of acknowledgements are numbers without a unit, and not subtracted");
    }
    if contents.paths {
        add("the packets of several paths are put together");
    }
    if one.head.vantage(true) == Vantage::Network {
        add("the trace was taken in the network: what it computes is not what the sender knew");
    }
    if !contents.packets {
        add("the file has no packets: which octets arrived is not known");
    } else if contents.sends && !contents.acknowledgements {
        add("the file has no acknowledgements: which octets arrived is not known");
    } else if contents.sends && !contents.sent_frames {
        add("the file has no frames of the packets that were sent: the goodput is not known");
    }
    if !contents.sends && contents.controller {
        add("the metrics of the receiving end are not read: they are of the other direction");
    }
}
