//! The first reading of a capture: its connections, how much data each has in which direction, and
//! near which of its ends it was captured.
//!
//! The place follows from response times. Near an end, what the peer sends is answered at once, and
//! what the end sends is answered after a round trip: SYN and SYN/ACK against SYN/ACK and ACK;
//! without a handshake the echoes of timestamps, or data and its acknowledgement against an
//! acknowledgement and the data that it releases. Unless one of them is ten times the other, the
//! place is not known.

use super::super::captures::{MAX_CONNECTIONS, Surveyed, near_end};
use super::segment::{ACK, Options, SYN, Segment};
use std::collections::BTreeMap;
use std::net::SocketAddr;
use weir_proto::time::{Duration, Instant};

/// The least number of response times without a handshake.
const MIN_RESPONSES: u32 = 3;

/// Finds the connection of a segment. A connection at another interface is another one, and so is
/// one with another initial sequence number.
#[derive(Debug, Default)]
pub(super) struct Connections {
    current: BTreeMap<(u32, [SocketAddr; 2]), Current>,
    count: usize,
    /// Segments of connections beyond the limit.
    pub(super) ignored: u64,
}

#[derive(Clone, Copy, Debug)]
struct Current {
    index: usize,
    /// The connections of these ends before.
    instance: u32,
    initial: [Option<u32>; 2],
    has_data: bool,
}

/// The connection of a segment.
#[derive(Clone, Copy, Debug)]
pub(super) struct Found {
    pub(super) index: usize,
    /// The end that sent the segment.
    pub(super) side: usize,
    pub(super) instance: u32,
}

impl Connections {
    /// The connection of a segment at this interface; `None` beyond the limit.
    pub(super) fn find(&mut self, interface: u32, segment: &Segment) -> Option<Found> {
        let ends = ends(segment);
        let side = usize::from(segment.source != ends[0]);
        let count = &mut self.count;
        let has_room = *count < MAX_CONNECTIONS;
        let new = |count: &mut usize, instance| {
            *count += 1;
            Current {
                index: *count - 1,
                instance,
                initial: [None; 2],
                has_data: false,
            }
        };
        let current = match self.current.entry((interface, ends)) {
            std::collections::btree_map::Entry::Occupied(entry) => entry.into_mut(),
            std::collections::btree_map::Entry::Vacant(entry) if has_room => {
                entry.insert(new(count, 0))
            }
            std::collections::btree_map::Entry::Vacant(_) => {
                self.ignored += 1;
                return None;
            }
        };
        if segment.has(SYN) {
            let initial = current.initial.get(side).copied().flatten();
            let is_other = initial.map_or(current.has_data, |before| before != segment.seq);
            if is_other && !segment.has(ACK) && has_room {
                *current = new(count, current.instance + 1);
            }
            if let Some(initial) = current.initial.get_mut(side) {
                *initial = Some(segment.seq);
            }
        }
        current.has_data |= segment.payload > 0;
        Some(Found {
            index: current.index,
            side,
            instance: current.instance,
        })
    }
}

/// The two ends of a segment's connection in their order.
fn ends(segment: &Segment) -> [SocketAddr; 2] {
    let (a, b) = (segment.source, segment.destination);
    [a.min(b), a.max(b)]
}

/// What is known of a connection at an interface.
#[derive(Clone, Debug)]
pub(super) struct Survey {
    ends: [SocketAddr; 2],
    instance: u32,
    segments: u64,
    /// Octets of data that each end sent.
    payload: [u64; 2],
    /// The options of each end's SYN.
    syn: [Option<Options>; 2],
    /// The largest segment of each end that is no larger than an Ethernet frame, in octets of data.
    largest: [u32; 2],
    /// The end that opened it.
    client: Option<usize>,
    syn_at: [Option<Instant>; 2],
    /// SYN to SYN/ACK, SYN/ACK to ACK.
    handshake: [Option<Duration>; 2],
    /// Of timestamps, of data to its acknowledgement, of an acknowledgement to new data.
    echoes: [ResponseTime; 2],
    data: [ResponseTime; 2],
    acks: [ResponseTime; 2],
    retried: bool,
}

/// The smallest time until something is answered.
#[derive(Clone, Copy, Debug, Default)]
struct ResponseTime {
    pending: Option<(u32, Instant)>,
    last: Option<u32>,
    least: Option<Duration>,
    count: u32,
}

impl ResponseTime {
    /// `value` is sent; values that are not later than one before are no measurement.
    fn begin(&mut self, value: u32, now: Instant) {
        let is_later = self
            .last
            .is_none_or(|last| value.wrapping_sub(last) as i32 > 0);
        if is_later {
            self.last = Some(value);
            self.pending = self.pending.or(Some((value, now)));
        }
    }

    /// The answer to everything up to `value`.
    fn end(&mut self, value: u32, now: Instant) {
        if let Some((wanted, since)) = self.pending
            && value.wrapping_sub(wanted) as i32 >= 0
        {
            let passed = now.since(since);
            self.least = Some(self.least.map_or(passed, |least| least.min(passed)));
            (self.pending, self.count) = (None, self.count + 1);
        }
    }

    fn known(&self) -> Option<Duration> {
        self.least.filter(|_| self.count >= MIN_RESPONSES)
    }
}

impl Survey {
    pub(super) fn new(segment: &Segment, instance: u32) -> Self {
        Self {
            ends: ends(segment),
            instance,
            segments: 0,
            payload: [0; 2],
            syn: [None; 2],
            largest: [0; 2],
            client: None,
            syn_at: [None; 2],
            handshake: [None; 2],
            echoes: [ResponseTime::default(); 2],
            data: [ResponseTime::default(); 2],
            acks: [ResponseTime::default(); 2],
            retried: false,
        }
    }

    /// Takes a segment that the end `side`, 0 or 1, sent.
    pub(super) fn on_segment(&mut self, now: Instant, side: usize, segment: &Segment) {
        let side = side & 1;
        let peer = 1 - side;
        self.segments += 1;
        if segment.has(SYN) {
            self.on_syn(now, side, segment);
            return;
        }
        self.payload[side] += u64::from(segment.payload);
        // RFC 894: 1500 octets of IP are the largest that a wire usually carries.
        if segment.payload <= 1460 {
            self.largest[side] = self.largest[side].max(segment.payload);
        }
        if self.client == Some(side) && self.handshake[1].is_none() && segment.has(ACK) {
            self.handshake[1] = self.syn_at[peer].map(|since| now.since(since));
        }
        if let Some((value, echo)) = segment.options.timestamps {
            self.echoes[side].begin(value, now);
            if segment.has(ACK) {
                self.echoes[peer].end(echo, now);
            }
        }
        if segment.payload > 0 {
            let end = segment.seq.wrapping_add(segment.payload);
            // Data that an acknowledgement releases has a number of at least the acknowledged.
            self.acks[peer].end(segment.seq, now);
            self.data[side].begin(end, now);
        } else if segment.has(ACK) {
            self.data[peer].end(segment.ack, now);
            self.acks[side].begin(segment.ack, now);
        }
    }

    fn on_syn(&mut self, now: Instant, side: usize, segment: &Segment) {
        let peer = 1 - side;
        if !segment.options.cut {
            self.syn[side] = Some(segment.options);
        }
        if segment.has(ACK) {
            self.client = Some(peer);
            // One that answers one of several SYNs, or is sent again, is no measurement.
            if self.syn_at[side].is_none() && !self.retried {
                self.handshake[0] = self.syn_at[peer].map(|since| now.since(since));
            }
        } else {
            self.client = Some(side);
            self.retried |= self.syn_at[side].is_some();
        }
        self.syn_at[side] = Some(now);
    }

    /// What decides whether the connection is followed.
    pub(super) fn surveyed(&self) -> Surveyed {
        Surveyed {
            ends: self.ends,
            instance: self.instance,
            payload: self.payload,
            packets: self.segments,
            near: self.near(),
        }
    }

    /// The end near which the capture was made, if that can be told.
    fn near(&self) -> Option<usize> {
        match (self.client, self.handshake) {
            (Some(client), [Some(first), Some(second)]) => near_end(client, [first, second]),
            _ => near_end(0, self.response_times()?),
        }
    }

    /// The times until what each end sends is answered.
    fn response_times(&self) -> Option<[Duration; 2]> {
        let of = |[a, b]: [&ResponseTime; 2]| Some([a.known()?, b.known()?]);
        let released = if self.payload[0] >= self.payload[1] {
            [&self.data[0], &self.acks[1]]
        } else {
            [&self.acks[0], &self.data[1]]
        };
        of([&self.echoes[0], &self.echoes[1]]).or_else(|| of(released))
    }

    /// The round trip of the handshake from the place of the capture to the end `side` and back.
    pub(super) fn handshake_to(&self, side: usize) -> Option<Duration> {
        self.handshake[usize::from(side == self.client?)]
    }

    /// The shift of the windows that the end `side` advertises; `None` if its SYN is missing.
    pub(super) fn window_scale(&self, side: usize) -> Option<u8> {
        // RFC 7323 §2.2: windows are scaled only if both ends sent the option.
        let [a, b] = [side & 1, 1 - (side & 1)].map(|side| self.syn[side]);
        match (a?.window_scale, b.map(|options| options.window_scale)) {
            (Some(own), Some(Some(_)) | None) => Some(own),
            _ => Some(0),
        }
    }

    /// The largest segment that the end `side` sends on the wire, in octets of data.
    pub(super) fn segment_octets(&self, side: usize) -> u32 {
        let side = side & 1;
        // RFC 6691 §2: the option does not count TCP options; timestamps take 12 octets.
        let mss = self.syn[1 - side].and_then(|options| options.mss);
        let largest = self.largest[side];
        match mss {
            Some(mss) if largest == 0 || u32::from(mss) < largest => u32::from(mss),
            _ => largest.max(1),
        }
    }

    /// True if SACK can be used, as far as the capture shows.
    pub(super) fn uses_sack(&self) -> bool {
        let syns = self.syn.iter().flatten();
        syns.into_iter().all(|options| options.sack_permitted)
    }
}
