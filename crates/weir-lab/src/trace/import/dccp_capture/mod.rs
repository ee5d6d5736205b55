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

use super::captures::{
    Frames, MAX_CONNECTIONS, OpenCapture, Surveyed, each_frame, near_end, select_flows,
};
use super::tables::Packets;
use super::{ImportError, Imported};
use crate::trace::capture::{Capture, CaptureError, DecodedPacket, ENCAPSULATION_PORT, ListingRow};
use flow::Flow;
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::Path;
use weir_proto::dccp::wire::PacketType;
use weir_proto::time::{Duration, Instant};

/// Reads the DCCP connections of a capture, pcap or pcapng, also packed with gzip.
///
/// # Errors
/// If the file cannot be read, is no capture or is damaged, with the frame and the octet, or has no
/// DCCP connection with data.
pub fn read_dccp_capture(path: &Path) -> Result<Imported, ImportError> {
    read_dccp_capture_from(&mut || Capture::open(path))
}

/// Reads the capture that `open` opens, twice.
///
/// # Errors
/// As [`read_dccp_capture`].
pub fn read_dccp_capture_from(
    open: &mut dyn FnMut() -> Result<Capture, CaptureError>,
) -> Result<Imported, ImportError> {
    let mut surveys: Vec<Survey> = Vec::new();
    let read = each_packet(open, |now, found, packet| {
        if found.index == surveys.len() {
            surveys.push(Survey::new(found.ends));
        }
        if let Some(survey) = surveys.get_mut(found.index) {
            survey.on_packet(now, found.side, packet);
        }
    })?;
    let mut remarks = read.frames.remarks("DCCP packets");
    if read.beyond > 0 {
        let beyond = read.beyond;
        remarks.push(format!(
            "{beyond} packets are of connections beyond the first {MAX_CONNECTIONS}"
        ));
    }
    let surveyed: Vec<Surveyed> = surveys.iter().map(Survey::surveyed).collect();
    let selected = select_flows("dccp", &surveyed, &mut remarks);
    if selected.is_empty() {
        let message = format!("{} DCCP packets, none with data", read.packets);
        return Err(ImportError::NoFlow(message));
    }
    let duration = read.frames.duration;
    let flows = selected
        .into_iter()
        .map(|one| (one.index, Flow::new(one, duration)));
    let mut flows: Vec<(usize, Flow)> = flows.collect();
    each_packet(open, |now, found, packet| {
        for (_, flow) in flows.iter_mut().filter(|(index, _)| *index == found.index) {
            flow.on_packet(now, found.side, packet);
        }
    })?;
    let mut packets = Packets::default();
    let flows = flows.into_iter().map(|(_, flow)| flow.finish(&mut packets));
    let flows = flows.collect();
    Ok(Imported {
        format: "capture, DCCP".to_owned(),
        flows,
        packets: packets.finish(),
        duration_s: duration.as_secs_f64(),
        remarks,
        ..Imported::default()
    })
}

/// What is known of a connection at an interface.
#[derive(Clone, Debug)]
struct Survey {
    ends: [SocketAddr; 2],
    payload: [u64; 2],
    packets: u64,
    client: Option<usize>,
    request_at: Option<Instant>,
    response_at: Option<Instant>,
    /// Request to Response, Response to what the client answers.
    response_times: [Option<Duration>; 2],
}

impl Survey {
    const fn new(ends: [SocketAddr; 2]) -> Self {
        Self {
            ends,
            payload: [0; 2],
            packets: 0,
            client: None,
            request_at: None,
            response_at: None,
            response_times: [None; 2],
        }
    }

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
                self.response_times[0] = self.request_at.map(|_| Duration::ZERO);
                self.request_at = Some(now);
            }
            PacketType::Response => {
                self.client = Some(1 - side);
                let passed = self.request_at.map(|since| now.since(since));
                self.response_times[0] = self.response_times[0].xor(passed);
                self.response_at = Some(now);
            }
            _ if self.client == Some(side) && self.response_times[1].is_none() => {
                self.response_times[1] = self.response_at.map(|since| now.since(since));
            }
            _ => {}
        }
    }

    /// What decides whether the connection is followed, and the end near which the capture was
    /// made, from the handshake.
    fn surveyed(&self) -> Surveyed {
        let near = match (self.client, self.response_times) {
            (Some(client), [Some(first), Some(second)]) => near_end(client, [first, second]),
            _ => None,
        };
        Surveyed {
            ends: self.ends,
            instance: 0,
            payload: self.payload,
            packets: self.packets,
            near,
        }
    }
}

/// The connection of a packet.
#[derive(Clone, Copy, Debug)]
struct Found {
    /// Its number in the order of the file.
    index: usize,
    ends: [SocketAddr; 2],
    /// The end that sent the packet.
    side: usize,
}

/// A reading of a capture.
struct Reading {
    frames: Frames,
    packets: u64,
    /// Packets of connections beyond the limit.
    beyond: u64,
}

/// Reads a capture to its end. A connection at another interface is another one.
fn each_packet(
    open: &mut OpenCapture<'_>,
    mut on_packet: impl FnMut(Instant, Found, &DecodedPacket<'_>),
) -> Result<Reading, ImportError> {
    let mut connections: BTreeMap<(u32, [SocketAddr; 2]), usize> = BTreeMap::new();
    let (mut packets, mut beyond) = (0, 0);
    let frames = each_frame(open, |now, frame| {
        let Some(row) = ListingRow::of_frame(frame, ENCAPSULATION_PORT) else {
            return Ok(());
        };
        let packet = row.content?;
        packets += 1;
        let [source, destination] = packet.addresses();
        let ends = [source.min(destination), source.max(destination)];
        let (key, next) = ((row.interface, ends), connections.len());
        if next >= MAX_CONNECTIONS && !connections.contains_key(&key) {
            beyond += 1;
            return Ok(());
        }
        let found = Found {
            index: *connections.entry(key).or_insert(next),
            ends,
            side: usize::from(source != ends[0]),
        };
        on_packet(now, found, &packet);
        Ok(())
    })?;
    Ok(Reading {
        frames,
        packets,
        beyond,
    })
}
