//! What the readers of captures have in common: frames with their times, and the flows that are
//! read.

use super::{ImportError, Vantage};
use crate::trace::capture::{Capture, CaptureError, Frame, Timestamp, is_known};
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::net::SocketAddr;
use weir_proto::time::{Duration, Instant};

/// The number of connections, each at each interface, that are told apart.
pub(super) const MAX_CONNECTIONS: usize = 1 << 16;
/// The number of connections whose tables are kept: the largest by octets of data.
const MAX_FOLLOWED: usize = 16;
/// A direction with less than this part of a connection's data is no flow.
const LEAST_PART: u64 = 20;
/// The least ratio of the response times of the two ends at a known place.
const CLEAR_RATIO: u64 = 10;

/// Opens the capture, once for each reading.
pub(super) type OpenCapture<'a> = dyn FnMut() -> Result<Capture, CaptureError> + 'a;

/// The frames of a reading of a capture, and what is unusual about them.
#[derive(Debug, Default)]
pub(super) struct Frames {
    /// The time of the last frame since the first.
    pub(super) duration: Duration,
    /// A link type whose frames are not read.
    pub(super) unknown_link: Option<u16>,
    backwards: u64,
    timeless: u64,
    damaged: u64,
    first_damaged: Option<(u64, String)>,
}

/// Reads a capture to its end. `on_frame` takes each frame with its time since the first one, and
/// returns why its packet cannot be read.
pub(super) fn each_frame(
    open: &mut OpenCapture<'_>,
    mut on_frame: impl FnMut(Instant, &Frame<'_>) -> Result<(), String>,
) -> Result<Frames, ImportError> {
    let mut capture = open()?;
    let mut frames = Frames::default();
    let mut start: Option<Timestamp> = None;
    let mut now = Instant::ZERO;
    while let Some(frame) = capture.next_frame()? {
        if !is_known(frame.link) {
            frames.unknown_link = Some(frame.link);
        }
        let Some(time) = frame.time else {
            frames.timeless += 1;
            continue;
        };
        let since = time.nanos_since(*start.get_or_insert(time));
        let at = Instant::from_nanos(u64::try_from(since).unwrap_or(0));
        frames.backwards += u64::from(at < now);
        now = now.max(at);
        if let Err(reason) = on_frame(now, &frame) {
            frames.damaged += 1;
            frames.first_damaged.get_or_insert((frame.number, reason));
        }
    }
    frames.duration = now.since(Instant::ZERO);
    Ok(frames)
}

impl Frames {
    /// A sentence for each oddity; `packets` are what is read, such as `TCP segments`.
    pub(super) fn remarks(&self, packets: &str) -> Vec<String> {
        let mut remarks = Vec::new();
        if let Some(link) = self.unknown_link {
            remarks.push(format!("frames of link type {link} are not read"));
        }
        if self.backwards > 0 {
            let count = self.backwards;
            remarks.push(format!(
                "{count} frames are earlier than the one before; they count as at its time"
            ));
        }
        if self.timeless > 0 {
            let count = self.timeless;
            remarks.push(format!("{count} frames have no time and are left out"));
        }
        if let Some((frame, reason)) = &self.first_damaged {
            let count = self.damaged;
            remarks.push(format!(
                "{count} {packets} cannot be read, the first in frame {frame}: {reason}"
            ));
        }
        remarks
    }
}

/// A connection as one interface shows it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Surveyed {
    pub(super) ends: [SocketAddr; 2],
    /// The connections of these ends before.
    pub(super) instance: u32,
    /// Octets of data that each end sent.
    pub(super) payload: [u64; 2],
    pub(super) packets: u64,
    /// The end near which the capture was made, if that can be told.
    pub(super) near: Option<usize>,
}

impl Surveyed {
    /// True if the data of this end is a flow.
    pub(super) fn is_flow(&self, side: usize) -> bool {
        let own = self.payload.get(side).copied().unwrap_or(0);
        own > 0 && own.saturating_mul(LEAST_PART) >= self.octets()
    }

    fn octets(&self) -> u64 {
        self.payload.iter().sum()
    }
}

/// The end near which the capture was made, from the times until what the end `side` sends and what
/// the other one sends is answered: near an end, its own answers come at once, and those of its
/// peer after a round trip.
pub(super) fn near_end(side: usize, [own, other]: [Duration; 2]) -> Option<usize> {
    if other * CLEAR_RATIO < own {
        Some(side)
    } else if own * CLEAR_RATIO < other {
        Some(1 - side)
    } else {
        None
    }
}

/// A flow that is followed.
#[derive(Clone, Debug)]
pub(super) struct Selected {
    pub(super) name: String,
    /// The connection at the interface that shows it best, as an index of the survey.
    pub(super) index: usize,
    /// The end that sends the data.
    pub(super) side: usize,
    pub(super) vantage: Vantage,
}

/// The flows of the largest connections, each at the interface that is nearest to its sender.
pub(super) fn select_flows(
    transport: &str,
    surveyed: &[Surveyed],
    remarks: &mut Vec<String>,
) -> Vec<Selected> {
    let mut connections: BTreeMap<_, Vec<(usize, &Surveyed)>> = BTreeMap::new();
    for (index, one) in surveyed.iter().enumerate() {
        let same = connections.entry((one.ends, one.instance));
        same.or_default().push((index, one));
    }
    let octets = |places: &[(usize, &Surveyed)]| {
        let of = places.iter().map(|(_, one)| one.octets());
        of.max().unwrap_or(0)
    };
    let mut connections: Vec<_> = connections.into_values().collect();
    connections.retain(|places| octets(places) > 0);
    // Of equal ones the first in the file.
    let first = |places: &[(usize, &Surveyed)]| places.first().map(|(index, _)| *index);
    connections.sort_by_key(|places| (Reverse(octets(places)), first(places)));
    let left = connections.get(MAX_FOLLOWED..).unwrap_or_default();
    if !left.is_empty() {
        let total: u64 = left.iter().map(|places| octets(places)).sum();
        remarks.push(format!(
            "{} smaller connections with {total} octets of data are left out: the {MAX_FOLLOWED} \
             largest are read",
            left.len()
        ));
    }
    let mut selected = Vec::new();
    for (number, places) in connections.iter().take(MAX_FOLLOWED).enumerate() {
        let mut name = format!("{transport}-{}", number + 1);
        for side in main_side_first(places) {
            let Some((vantage, index, one)) = best_place(places, side) else {
                continue;
            };
            remarks.push(describe(&name, one, side, vantage, places.len()));
            let backward = format!("{name}.backward");
            selected.push(Selected {
                name: std::mem::replace(&mut name, backward),
                index,
                side,
                vantage,
            });
        }
    }
    selected
}

/// The ends of a connection, the one that sends most data first.
fn main_side_first(places: &[(usize, &Surveyed)]) -> [usize; 2] {
    let sent = |side: usize| places.iter().map(|(_, one)| one.payload[side]).max();
    if sent(1) > sent(0) { [1, 0] } else { [0, 1] }
}

/// The place that shows the data of this end best: beside it, else beside its receiver.
fn best_place<'a>(
    places: &[(usize, &'a Surveyed)],
    side: usize,
) -> Option<(Vantage, usize, &'a Surveyed)> {
    let known = places.iter().filter(|(_, one)| one.is_flow(side));
    let ranked = known.map(|(index, one)| {
        let (rank, vantage) = match one.near {
            Some(near) if near == side => (2, Vantage::Sender),
            Some(_) => (1, Vantage::Receiver),
            None => (0, Vantage::Network),
        };
        ((rank, one.packets), vantage, *index, *one)
    });
    let best = ranked.max_by_key(|(rank, _, index, _)| (*rank, Reverse(*index)));
    best.map(|(_, vantage, index, one)| (vantage, index, one))
}

fn describe(name: &str, one: &Surveyed, side: usize, vantage: Vantage, places: usize) -> String {
    let side = side & 1;
    let (from, to) = (one.ends[side], one.ends[1 - side]);
    let place = match vantage {
        Vantage::Sender => "captured at the sender",
        Vantage::Receiver => "captured at the receiver",
        Vantage::Network => {
            "the place of the capture cannot be told: round trips and octets in flight are between \
             it and the receiver"
        }
    };
    let again = match one.instance {
        0 => String::new(),
        count => format!(", connection {} of these ports", count + 1),
    };
    let others = match places {
        0 | 1 => String::new(),
        count => format!(", at {count} interfaces, of which the best is used"),
    };
    format!("{name} is {from} to {to}{again}: {place}{others}")
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
