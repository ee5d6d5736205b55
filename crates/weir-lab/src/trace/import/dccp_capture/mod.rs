//! DCCP connections of a capture as the flows of a run.
//!
//! As for [TCP](super::tcp_capture) the file is read twice: to find the connections and the place
//! of the capture, then to follow the largest. Feedback of CCID 3 and 4 gives the receive rate, the
//! loss event rate and, beside the sender, the round trip (RFC 4342 §8, RFC 5348 §4.3); Ack Vectors
//! of CCID 2 what arrived and what was lost (RFC 4340 §11.4, RFC 4341 §5). Beside the receiver gaps
//! of sequence numbers are losses.
//!
//! Does not model: the allowed rate, which no packet carries; features, mobility, checksums.

mod flow;
#[cfg(test)]
mod tests;

use super::tables::Packets;
use super::{ImportError, Imported, ImportedFlow, Vantage};
use crate::run::FlowTrace;
use crate::trace::capture::{Capture, CaptureError, DecodedPacket, Timestamp};
use flow::Flow;
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::Path;
use weir_proto::dccp::wire::PacketType;
use weir_proto::time::{Duration, Instant};

/// The number of connections whose tables are kept: the largest by octets of data.
const MAX_FOLLOWED: usize = 16;
/// The number of connections, each at each interface, that are told apart.
const MAX_CONNECTIONS: usize = 1 << 16;
/// A direction with less than this part of a connection's data is no flow.
const LEAST_PART: u64 = 20;
/// The least ratio of the two gaps of a handshake at a known place.
const CLEAR_RATIO: u64 = 10;

/// An interface and the two ends.
type Key = (u32, [SocketAddr; 2]);

/// Reads the DCCP connections of a capture, pcap or pcapng, also packed with gzip.
///
/// # Errors
/// If the file cannot be read, is no capture or is damaged, with the frame and the octet, or has no
/// DCCP connection with data.
pub fn read_dccp_capture(path: &Path) -> Result<Imported, ImportError> {
    read_dccp_twice(&mut || Capture::open(path))
}

/// Reads the capture that `open` opens, twice.
///
/// # Errors
/// As [`read_dccp_capture`].
pub fn read_dccp_twice(
    open: &mut dyn FnMut() -> Result<Capture, CaptureError>,
) -> Result<Imported, ImportError> {
    let mut surveys: BTreeMap<Key, Survey> = BTreeMap::new();
    let mut beyond = 0_u64;
    let read = each_packet(open, |now, key, side, packet| {
        if surveys.len() < MAX_CONNECTIONS || surveys.contains_key(&key) {
            surveys.entry(key).or_default().on_packet(now, side, packet);
        } else {
            beyond += 1;
        }
    })?;
    let mut remarks = read.remarks();
    if beyond > 0 {
        remarks.push(format!(
            "{beyond} packets are of connections beyond the first {MAX_CONNECTIONS}"
        ));
    }
    let chosen = choose(&surveys, &mut remarks);
    if chosen.is_empty() {
        let message = format!("{} DCCP packets, none with data", read.packets);
        return Err(ImportError::NoFlow(message));
    }
    let of = |chosen: &Chosen| Flow::new(&chosen.name, chosen.side, chosen.vantage, read.duration);
    let mut flows: Vec<Flow> = chosen.iter().map(of).collect();
    each_packet(open, |now, key, side, packet| {
        for (flow, chosen) in flows.iter_mut().zip(&chosen) {
            if chosen.key == key {
                flow.on_packet(now, side, packet);
            }
        }
    })?;
    let mut imported = Imported {
        format: "capture, DCCP".to_owned(),
        duration_s: read.duration.as_secs_f64(),
        remarks,
        ..Imported::default()
    };
    let mut packets = Packets::default();
    for (flow, chosen) in flows.into_iter().zip(&chosen) {
        imported
            .flows
            .push(imported_flow(flow, chosen, &mut packets));
    }
    imported.packets = packets.finish();
    Ok(imported)
}

fn imported_flow(flow: Flow, chosen: &Chosen, packets: &mut Packets) -> ImportedFlow {
    let done = flow.finish(packets);
    ImportedFlow {
        trace: FlowTrace {
            name: chosen.name.clone(),
            table: done.table,
            events: done.events,
            writes: None,
            gaps: None,
            frames: None,
            requests: None,
            intervals: done.intervals,
        },
        transport: "dccp",
        controller: done.controller.map(str::to_owned),
        vantage: chosen.vantage,
        delivered_bytes: done.delivered.map(|octets| octets as f64),
    }
}

/// What is known of a connection at an interface.
#[derive(Clone, Copy, Debug, Default)]
struct Survey {
    payload: [u64; 2],
    packets: u64,
    client: Option<usize>,
    request_at: Option<Instant>,
    response_at: Option<Instant>,
    /// Request to Response, Response to what the client answers.
    gaps: [Option<Duration>; 2],
}

impl Survey {
    fn on_packet(&mut self, now: Instant, side: usize, packet: &DecodedPacket<'_>) {
        let packet = &packet.decoded.packet;
        self.packets += 1;
        if let Some(payload) = self.payload.get_mut(side)
            && packet.kind.carries_data()
        {
            *payload += u64::from(packet.payload.len());
        }
        match packet.kind {
            PacketType::Request => {
                self.client = Some(side);
                // The answer to one of several says nothing.
                self.gaps[0] = self.request_at.map(|_| Duration::ZERO);
                self.request_at = Some(now);
            }
            PacketType::Response => {
                self.client = Some(1 - side);
                let gap = self.request_at.map(|since| now.since(since));
                self.gaps[0] = self.gaps[0].xor(gap);
                self.response_at = Some(now);
            }
            _ if self.client == Some(side) && self.gaps[1].is_none() => {
                self.gaps[1] = self.response_at.map(|since| now.since(since));
            }
            _ => {}
        }
    }

    /// The end near which the capture was made: what it sends is answered after a round trip.
    fn near(&self) -> Option<usize> {
        let (Some(client), [Some(first), Some(second)]) = (self.client, self.gaps) else {
            return None;
        };
        if second * CLEAR_RATIO < first {
            Some(client)
        } else if first * CLEAR_RATIO < second {
            Some(1 - client)
        } else {
            None
        }
    }

    fn is_flow(&self, side: usize) -> bool {
        let own = self.payload.get(side).copied().unwrap_or(0);
        own > 0 && own.saturating_mul(LEAST_PART) >= self.payload.iter().sum()
    }
}

/// A flow that is followed.
struct Chosen {
    name: String,
    key: Key,
    side: usize,
    vantage: Vantage,
}

/// The flows of the largest connections, each at the interface that is nearest to its sender.
fn choose(surveys: &BTreeMap<Key, Survey>, remarks: &mut Vec<String>) -> Vec<Chosen> {
    let mut connections: BTreeMap<[SocketAddr; 2], Vec<(u32, &Survey)>> = BTreeMap::new();
    for ((interface, ends), survey) in surveys {
        connections
            .entry(*ends)
            .or_default()
            .push((*interface, survey));
    }
    let octets = |places: &[(u32, &Survey)]| {
        let of = |(_, survey): &(u32, &Survey)| survey.payload.iter().sum();
        places.iter().map(of).max().unwrap_or(0_u64)
    };
    let mut connections: Vec<_> = connections.into_iter().collect();
    connections.retain(|(_, places)| octets(places) > 0);
    connections.sort_by_key(|(ends, places)| (Reverse(octets(places)), *ends));
    if let Some(left) = connections
        .get(MAX_FOLLOWED..)
        .filter(|left| !left.is_empty())
    {
        remarks.push(format!(
            "{} smaller connections are left out: the {MAX_FOLLOWED} largest are read",
            left.len()
        ));
    }
    let mut chosen = Vec::new();
    for (number, (ends, places)) in connections.iter().take(MAX_FOLLOWED).enumerate() {
        let sent = |side: usize| {
            places
                .iter()
                .map(move |(_, survey)| survey.payload[side])
                .max()
        };
        let sides = if sent(1) > sent(0) { [1, 0] } else { [0, 1] };
        let mut name = format!("dccp-{}", number + 1);
        for side in sides {
            let known = places.iter().filter(|(_, survey)| survey.is_flow(side));
            let ranked = known.map(|(interface, survey)| match survey.near() {
                Some(near) if near == side => (2, Vantage::Sender, *interface),
                Some(_) => (1, Vantage::Receiver, *interface),
                None => (0, Vantage::Network, *interface),
            });
            let best = ranked.max_by_key(|(rank, _, interface)| (*rank, Reverse(*interface)));
            let Some((_, vantage, interface)) = best else {
                continue;
            };
            remarks.push(describe(&name, [ends[side], ends[1 - side]], vantage));
            let backward = format!("{name}.backward");
            chosen.push(Chosen {
                name: std::mem::replace(&mut name, backward),
                key: (interface, *ends),
                side,
                vantage,
            });
        }
    }
    chosen
}

fn describe(name: &str, [from, to]: [SocketAddr; 2], vantage: Vantage) -> String {
    let place = match vantage {
        Vantage::Sender => "captured at the sender",
        Vantage::Receiver => "captured at the receiver",
        Vantage::Network => {
            "the place of the capture cannot be told: round trips are between it and the receiver"
        }
    };
    format!("{name} is {from} to {to}: {place}")
}

/// The counts of a reading.
#[derive(Debug, Default)]
struct Read {
    packets: u64,
    malformed: u64,
    first_malformed: Option<(u64, String)>,
    timeless: u64,
    duration: Duration,
}

impl Read {
    fn remarks(&self) -> Vec<String> {
        let mut remarks = Vec::new();
        if let Some((frame, reason)) = &self.first_malformed {
            remarks.push(format!(
                "{} DCCP packets cannot be read, the first in frame {frame}: {reason}",
                self.malformed
            ));
        }
        if self.timeless > 0 {
            remarks.push(format!(
                "{} frames have no time and are left out",
                self.timeless
            ));
        }
        remarks
    }
}

/// Reads a capture to its end.
fn each_packet(
    open: &mut dyn FnMut() -> Result<Capture, CaptureError>,
    mut on_packet: impl FnMut(Instant, Key, usize, &DecodedPacket<'_>),
) -> Result<Read, ImportError> {
    let mut capture = open()?;
    let mut read = Read::default();
    let mut start: Option<Timestamp> = None;
    let mut now = Instant::ZERO;
    while let Some(row) = capture.next_row()? {
        let packet = match &row.content {
            Ok(packet) => packet,
            Err(reason) => {
                read.malformed += 1;
                let first = &mut read.first_malformed;
                first.get_or_insert_with(|| (row.frame, reason.clone()));
                continue;
            }
        };
        let Some(time) = row.time else {
            read.timeless += 1;
            continue;
        };
        let since = time.nanos_since(*start.get_or_insert(time));
        now = now.max(Instant::from_nanos(u64::try_from(since).unwrap_or(0)));
        read.packets += 1;
        let [source, destination] = packet.addresses();
        let ends = [source.min(destination), source.max(destination)];
        let side = usize::from(source != ends[0]);
        on_packet(now, (row.interface, ends), side, packet);
    }
    read.duration = now.since(Instant::ZERO);
    Ok(read)
}
