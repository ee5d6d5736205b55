//! TCP connections of a capture as the flows of a run, as tcptrace and tshark's analysis compute
//! them.
//!
//! The file is read twice: first to find the connections, their sizes and the place of the capture
//! ([`survey`]), then to follow the largest ([`sender`], [`receiver`]). Memory grows with the
//! segments of these. A direction is a flow if it has at least a twentieth of the connection's
//! data.
//!
//! Beside the sender, round trips, losses, timeouts and the octets in flight are those of the
//! sender; beside the receiver, round trips come from echoed timestamps, and a loss is seen when
//! its retransmission arrives. A place that is not known counts as the sender's, with a remark.
//!
//! Does not model: the congestion window, which no capture shows; IP fragments; segments that the
//! capture lost on both directions.
//!
//! Sources: RFC 9293, RFC 7323, RFC 2018, RFC 2883, RFC 6298, RFC 8985, RFC 3168.

mod flight;
mod flow;
mod receiver;
mod records;
mod segment;
mod sender;
mod states;
mod survey;
#[cfg(test)]
mod tests;
mod turns;

use super::captures::{
    Frames, MAX_CONNECTIONS, OpenCapture, Selected, Surveyed, each_frame, select_flows,
};
use super::tables::Packets;
use super::{ImportError, Imported, Vantage};
use crate::trace::capture::{Capture, CaptureError};
use flow::Flow;
use records::FlowSetup;
use segment::{COPY_SPAN, Segment};
use std::collections::BTreeMap;
use std::path::Path;
use survey::{Connections, Found, Survey};
use weir_proto::time::Instant;

/// The number of packets among which copies are looked for.
const COPIES_AMONG: usize = 16;

/// Reads the TCP connections of a capture, pcap or pcapng, also packed with gzip.
///
/// # Errors
/// If the file cannot be read, is no capture or is damaged, with the frame and the octet, or has no
/// TCP connection with data.
pub fn read_tcp_capture(path: &Path) -> Result<Imported, ImportError> {
    read_tcp_capture_from(&mut || Capture::open(path))
}

/// Reads the capture that `open` opens, twice.
///
/// # Errors
/// As [`read_tcp_capture`].
pub fn read_tcp_capture_from(
    open: &mut dyn FnMut() -> Result<Capture, CaptureError>,
) -> Result<Imported, ImportError> {
    let mut surveys: Vec<Survey> = Vec::new();
    let read = each_segment(open, |now, found, segment| {
        if found.index == surveys.len() {
            surveys.push(Survey::new(segment, found.instance));
        }
        if let Some(survey) = surveys.get_mut(found.index) {
            survey.on_segment(now, found.side, segment);
        }
    })?;
    let mut remarks = read.remarks();
    let surveyed: Vec<Surveyed> = surveys.iter().map(Survey::surveyed).collect();
    let selected = select_flows("tcp", &surveyed, &mut remarks);
    if selected.is_empty() {
        let message = match (read.segments, read.frames.unknown_link) {
            (0, None) => "no TCP segment in the capture".to_owned(),
            (0, Some(link)) => format!("no TCP segment, and link type {link} is not read"),
            (count, _) => format!("{count} TCP segments, none with data"),
        };
        return Err(ImportError::NoFlow(message));
    }
    let duration = read.frames.duration;
    let with_survey = selected
        .iter()
        .filter_map(|one| Some((one, surveys.get(one.index)?)));
    let mut flows: Vec<(usize, Flow)> = with_survey
        .map(|(one, survey)| (one.index, Flow::new(setup(one, survey), duration)))
        .collect();
    each_segment(open, |now, found, segment| {
        for (_, flow) in flows.iter_mut().filter(|(index, _)| *index == found.index) {
            flow.on_segment(now, found.side, segment);
        }
    })?;
    let mut packets = Packets::default();
    let mut imported = Imported {
        format: "capture, TCP".to_owned(),
        duration_s: duration.as_secs_f64(),
        remarks,
        ..Imported::default()
    };
    for (_, flow) in flows {
        imported.remarks.extend(flow.remarks());
        imported.flows.push(flow.finish(&mut packets));
    }
    imported.packets = packets.finish();
    Ok(imported)
}

fn setup(selected: &Selected, survey: &Survey) -> FlowSetup {
    let (side, peer) = (selected.side, 1 - (selected.side & 1));
    FlowSetup {
        name: selected.name.clone(),
        side,
        vantage: selected.vantage,
        window_scale: survey.window_scale(peer),
        segment_octets: survey.segment_octets(side),
        uses_sack: survey.uses_sack(),
        handshake: match selected.vantage {
            Vantage::Receiver => survey.handshake_to(side),
            _ => survey.handshake_to(peer),
        },
        // What the other direction carries belongs to a flow of its own.
        is_alone: !survey.surveyed().is_flow(peer),
    }
}

/// A reading of a capture.
#[derive(Debug, Default)]
struct Reading {
    frames: Frames,
    segments: u64,
    copies: u64,
    /// Segments of connections beyond the limit.
    beyond: u64,
}

impl Reading {
    fn remarks(&self) -> Vec<String> {
        let mut remarks = self.frames.remarks("TCP segments");
        if self.copies > 0 {
            let copies = self.copies;
            remarks.push(format!(
                "{copies} packets were captured twice; the copies are left out"
            ));
        }
        if self.beyond > 0 {
            let beyond = self.beyond;
            remarks.push(format!(
                "{beyond} segments are of connections beyond the first {MAX_CONNECTIONS}"
            ));
        }
        remarks
    }
}

/// Reads a capture to its end.
fn each_segment(
    open: &mut OpenCapture<'_>,
    mut on_segment: impl FnMut(Instant, Found, &Segment),
) -> Result<Reading, ImportError> {
    let mut connections = Connections::default();
    let mut recent: BTreeMap<u32, Vec<(Instant, Segment)>> = BTreeMap::new();
    let (mut segments, mut copies) = (0, 0);
    let frames = each_frame(open, |now, frame| {
        let Some(segment) = Segment::of_frame(frame)? else {
            return Ok(());
        };
        segments += 1;
        let recent = recent.entry(frame.interface).or_default();
        recent.retain(|(at, _)| now.since(*at) <= COPY_SPAN);
        let is_copy =
            |(at, before): &(Instant, Segment)| segment.is_copy_of(before, now.since(*at));
        if recent.iter().any(is_copy) {
            copies += 1;
            return Ok(());
        }
        if recent.len() >= COPIES_AMONG {
            recent.remove(0);
        }
        recent.push((now, segment));
        if let Some(found) = connections.find(frame.interface, &segment) {
            on_segment(now, found, &segment);
        }
        Ok(())
    })?;
    Ok(Reading {
        frames,
        segments,
        copies,
        beyond: connections.ignored,
    })
}
