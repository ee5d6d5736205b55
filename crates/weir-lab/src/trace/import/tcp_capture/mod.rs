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

use super::tables;
use super::{ImportError, Imported, ImportedFlow, Vantage};
use crate::run::FlowTrace;
use crate::trace::capture::{Capture, CaptureError, Timestamp, is_known};
use flow::Flow;
use records::FlowSetup;
use segment::{COPY_SPAN, Segment};
use std::collections::BTreeMap;
use std::path::Path;
use survey::{Connections, Found, Survey};
use weir_proto::time::{Duration, Instant};

/// The number of connections whose tables are kept: the largest by octets of data.
const MAX_FOLLOWED: usize = 16;
/// A direction with less than this part of a connection's data is no flow.
const LEAST_PART: u64 = 20;
/// The number of packets among which copies are looked for.
const COPIES_AMONG: usize = 16;

/// Reads the TCP connections of a capture, pcap or pcapng, also packed with gzip.
///
/// # Errors
/// If the file cannot be read, is no capture or is damaged, with the frame and the octet, or has no
/// TCP connection with data.
pub fn read_tcp_capture(path: &Path) -> Result<Imported, ImportError> {
    read_twice(&mut || Capture::open(path))
}

/// Reads the capture that `open` opens, twice.
///
/// # Errors
/// As [`read_tcp_capture`].
pub fn read_twice(
    open: &mut dyn FnMut() -> Result<Capture, CaptureError>,
) -> Result<Imported, ImportError> {
    let mut oddities = Oddities::default();
    let mut surveys: Vec<Survey> = Vec::new();
    let duration = each_segment(open, &mut oddities, |now, found, segment| {
        if found.index == surveys.len() {
            surveys.push(Survey::new(segment, found.instance));
        }
        if let Some(survey) = surveys.get_mut(found.index) {
            survey.on_segment(now, found.side, segment);
        }
    })?;
    let mut remarks = oddities.remarks();
    let chosen = choose(&surveys, &mut remarks);
    if chosen.is_empty() {
        let message = match (oddities.segments, oddities.unknown_link) {
            (0, None) => "no TCP segment in the capture".to_owned(),
            (0, Some(link)) => format!("no TCP segment, and link type {link} is not read"),
            (count, _) => format!("{count} TCP segments, none with data"),
        };
        return Err(ImportError::NoFlow(message));
    }
    let mut flows: Vec<Flow> = Vec::new();
    let mut followers: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for chosen in &chosen {
        if let Some(survey) = surveys.get(chosen.index) {
            followers.entry(chosen.index).or_default().push(flows.len());
            flows.push(Flow::new(&chosen.setup(survey), duration));
        }
    }
    each_segment(open, &mut Oddities::default(), |now, found, segment| {
        for flow in followers.get(&found.index).into_iter().flatten() {
            if let Some(flow) = flows.get_mut(*flow) {
                flow.on_segment(now, found.side, segment);
            }
        }
    })?;
    Ok(finish(flows, &chosen, duration, remarks))
}

fn finish(
    flows: Vec<Flow>,
    chosen: &[Chosen],
    duration: Duration,
    mut remarks: Vec<String>,
) -> Imported {
    let mut imported = Imported {
        format: "capture, TCP".to_owned(),
        duration_s: duration.as_secs_f64(),
        ..Imported::default()
    };
    let mut packets = tables::Packets::default();
    for (flow, chosen) in flows.into_iter().zip(chosen) {
        remarks.extend(flow.remarks());
        let done = flow.finish(&mut packets);
        imported.flows.push(ImportedFlow {
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
            transport: "tcp",
            controller: None,
            vantage: chosen.vantage,
            delivered_bytes: Some(done.delivered as f64),
        });
    }
    imported.packets = packets.finish();
    imported.remarks = remarks;
    imported
}

/// A flow that is followed.
struct Chosen {
    name: String,
    /// The connection at the interface that shows it best.
    index: usize,
    /// The end that sends the data.
    side: usize,
    vantage: Vantage,
}

impl Chosen {
    fn setup(&self, survey: &Survey) -> FlowSetup {
        let (side, peer) = (self.side, 1 - (self.side & 1));
        FlowSetup {
            name: self.name.clone(),
            side,
            vantage: self.vantage,
            window_scale: survey.window_scale(peer),
            segment_octets: survey.segment_octets(side),
            uses_sack: survey.uses_sack(),
            handshake: match self.vantage {
                Vantage::Receiver => survey.handshake_to(side),
                _ => survey.handshake_to(peer),
            },
            // What the other direction carries belongs to a flow of its own.
            is_alone: !is_flow(survey, peer),
        }
    }
}

/// True if the data of this end is a flow.
fn is_flow(survey: &Survey, side: usize) -> bool {
    let all: u64 = survey.payload.iter().sum();
    let own = survey.payload.get(side).copied().unwrap_or(0);
    own > 0 && own.saturating_mul(LEAST_PART) >= all
}

/// The flows of the largest connections, each at the interface that is nearest to its sender.
fn choose(surveys: &[Survey], remarks: &mut Vec<String>) -> Vec<Chosen> {
    let mut connections: BTreeMap<_, Vec<usize>> = BTreeMap::new();
    for (index, survey) in surveys.iter().enumerate() {
        let same = connections.entry((survey.ends, survey.instance));
        same.or_default().push(index);
    }
    let octets = |places: &[usize]| {
        let of = |index: &usize| surveys.get(*index).map_or(0, |s| s.payload.iter().sum());
        places.iter().map(of).max().unwrap_or(0_u64)
    };
    let mut connections: Vec<_> = connections.into_values().collect();
    connections.retain(|places| octets(places) > 0);
    // Of equal ones the first in the file.
    connections.sort_by_key(|places| (std::cmp::Reverse(octets(places)), places.first().copied()));
    let left = connections.get(MAX_FOLLOWED..).unwrap_or_default();
    if !left.is_empty() {
        let total: u64 = left.iter().map(|places| octets(places)).sum();
        remarks.push(format!(
            "{} smaller connections with {total} octets of data are left out: the {MAX_FOLLOWED} \
             largest are read",
            left.len()
        ));
    }
    let mut chosen = Vec::new();
    for (number, places) in connections.iter().take(MAX_FOLLOWED).enumerate() {
        let mut main = None;
        for side in main_side_first(surveys, places) {
            let Some((vantage, index)) = best_place(surveys, places, side) else {
                continue;
            };
            let name = match main.replace(side) {
                None => format!("tcp-{}", number + 1),
                Some(_) => format!("tcp-{}.backward", number + 1),
            };
            if let Some(survey) = surveys.get(index) {
                remarks.push(describe(&name, survey, side, vantage, places.len()));
            }
            chosen.push(Chosen {
                name,
                index,
                side,
                vantage,
            });
        }
    }
    chosen
}

/// The ends of a connection, the one that sends most data first.
fn main_side_first(surveys: &[Survey], places: &[usize]) -> [usize; 2] {
    let of = |side: usize| {
        let sent = places.iter().filter_map(|place| surveys.get(*place));
        sent.map(|survey| survey.payload[side]).max()
    };
    if of(1) > of(0) { [1, 0] } else { [0, 1] }
}

/// The place that shows the data of this end best: beside it, else beside its receiver.
fn best_place(surveys: &[Survey], places: &[usize], side: usize) -> Option<(Vantage, usize)> {
    let known = places.iter().filter_map(|index| {
        let survey = surveys.get(*index).filter(|survey| is_flow(survey, side))?;
        let (rank, vantage) = match survey.near() {
            Some(near) if near == side => (2, Vantage::Sender),
            Some(_) => (1, Vantage::Receiver),
            None => (0, Vantage::Network),
        };
        Some(((rank, survey.segments), vantage, *index))
    });
    let best = known.max_by_key(|(rank, _, index)| (*rank, std::cmp::Reverse(*index)));
    best.map(|(_, vantage, index)| (vantage, index))
}

fn describe(name: &str, survey: &Survey, side: usize, vantage: Vantage, places: usize) -> String {
    let side = side & 1;
    let (from, to) = (survey.ends[side], survey.ends[1 - side]);
    let place = match vantage {
        Vantage::Sender => "captured at the sender",
        Vantage::Receiver => "captured at the receiver",
        Vantage::Network => {
            "the place of the capture cannot be told: round trips and octets in flight are between \
             it and the receiver"
        }
    };
    let again = match survey.instance {
        0 => String::new(),
        count => format!(", connection {} of these ports", count + 1),
    };
    let others = match places {
        0 | 1 => String::new(),
        count => format!(", at {count} interfaces, of which the best is used"),
    };
    format!("{name} is {from} to {to}{again}: {place}{others}")
}

/// What is unusual about a file.
#[derive(Debug, Default)]
struct Oddities {
    segments: u64,
    copies: u64,
    backwards: u64,
    timeless: u64,
    damaged: u64,
    first_damaged: Option<(u64, String)>,
    beyond_limit: u64,
    /// A link type whose frames are not read.
    unknown_link: Option<u16>,
}

impl Oddities {
    fn remarks(&self) -> Vec<String> {
        let mut remarks = Vec::new();
        if let Some(link) = self.unknown_link {
            remarks.push(format!("frames of link type {link} are not read"));
        }
        let mut add = |count: u64, text: String| {
            if count > 0 {
                remarks.push(text);
            }
        };
        let Self {
            copies,
            backwards,
            timeless,
            beyond_limit,
            ..
        } = self;
        add(
            *copies,
            format!("{copies} packets were captured twice; the copies are left out"),
        );
        add(
            *backwards,
            format!(
                "{backwards} frames are earlier than the one before; they count as at its time"
            ),
        );
        add(
            *timeless,
            format!("{timeless} frames have no time and are left out"),
        );
        if let Some((frame, reason)) = &self.first_damaged {
            let damaged = self.damaged;
            add(
                damaged,
                format!(
                    "{damaged} TCP segments cannot be read, the first in frame {frame}: {reason}"
                ),
            );
        }
        add(
            *beyond_limit,
            format!("{beyond_limit} segments are of connections beyond the first 65536"),
        );
        remarks
    }
}

/// Reads a capture to its end; returns the time of its last frame since its first.
fn each_segment(
    open: &mut dyn FnMut() -> Result<Capture, CaptureError>,
    oddities: &mut Oddities,
    mut on_segment: impl FnMut(Instant, Found, &Segment),
) -> Result<Duration, ImportError> {
    let mut capture = open()?;
    let mut connections = Connections::default();
    let mut start: Option<Timestamp> = None;
    let mut now = Instant::ZERO;
    let mut recent: BTreeMap<u32, Vec<(Instant, Segment)>> = BTreeMap::new();
    while let Some(frame) = capture.next_frame()? {
        if !is_known(frame.link) {
            oddities.unknown_link = Some(frame.link);
        }
        let segment = Segment::of_frame(&frame);
        let Some(time) = frame.time else {
            oddities.timeless += 1;
            continue;
        };
        let since = time.nanos_since(*start.get_or_insert(time));
        let at = Instant::from_nanos(u64::try_from(since).unwrap_or(0));
        oddities.backwards += u64::from(at < now);
        now = now.max(at);
        let segment = match segment {
            Ok(Some(segment)) => segment,
            Ok(None) => continue,
            Err(reason) => {
                oddities.damaged += 1;
                oddities.first_damaged.get_or_insert((frame.number, reason));
                continue;
            }
        };
        oddities.segments += 1;
        let recent = recent.entry(frame.interface).or_default();
        recent.retain(|(at, _)| now.since(*at) <= COPY_SPAN);
        let is_copy =
            |(at, before): &(Instant, Segment)| segment.is_copy_of(before, now.since(*at));
        if recent.iter().any(is_copy) {
            oddities.copies += 1;
            continue;
        }
        if recent.len() >= COPIES_AMONG {
            recent.remove(0);
        }
        recent.push((now, segment));
        if let Some(found) = connections.find(frame.interface, &segment) {
            on_segment(now, found, &segment);
        }
    }
    oddities.beyond_limit = connections.ignored;
    Ok(now.since(Instant::ZERO))
}

impl From<CaptureError> for ImportError {
    fn from(error: CaptureError) -> Self {
        match error {
            CaptureError::Open(error) => Self::Read(error),
            CaptureError::NotACapture(found) => Self::Unknown(found),
            CaptureError::Read { frames, error } => Self::Damaged {
                place: format!("frame {}", frames.saturating_add(1)),
                message: error.to_string(),
            },
            CaptureError::Damaged {
                frames,
                octet,
                message,
            } => Self::Damaged {
                place: format!("frame {}, octet {octet}", frames.saturating_add(1)),
                message,
            },
            CaptureError::LinkType { frame, .. } => Self::Damaged {
                place: format!("frame {frame}"),
                message: error.to_string(),
            },
        }
    }
}
