//! The turns of a connection's ends: who sends, and how long the other one waits for it.
//!
//! A turn is data of one end without data of the other between. What passes from the end of a turn
//! to the first octet of the next is split: what the path takes, which is the time to the first
//! acknowledgement of the turn or the shortest such time so far, and what the end takes that
//! sends next. Delayed acknowledgements are no part of the path because the shortest time counts.
//!
//! Does not model: several requests on the way at once.

use super::super::rows::{Cell, Rows};
use super::segment::{ACK, RST, SYN, Segment};
use crate::table::Table;
use weir_proto::time::{Duration, Instant};

/// Data of one end.
#[derive(Clone, Copy, Debug)]
struct Turn {
    side: usize,
    start: Instant,
    /// When its last octet was seen, and the number after it.
    end: Instant,
    next: u32,
    octets: u64,
    /// When the other end acknowledged all of it; not of what was sent again (Karn).
    acknowledged: Option<Instant>,
    is_again: bool,
    /// What passed before it on the path, and at its end; `None` if nothing is known.
    path: Option<Duration>,
    own: Option<Duration>,
}

/// The turns of a connection.
#[derive(Debug, Default)]
pub(super) struct Turns {
    client: Option<usize>,
    /// The first SYN, the last one, and the answer to it.
    syn: Option<[Instant; 2]>,
    answer: Option<Instant>,
    /// The end of the handshake.
    open: Option<Instant>,
    current: Option<Turn>,
    /// The shortest time from the place of the capture to each end and back.
    least: [Option<Duration>; 2],
    /// The number after the highest octet of each end.
    highest: [Option<u32>; 2],
    rows: Rows,
}

impl Turns {
    /// Takes a segment that the end `side`, 0 or 1, sent.
    pub(super) fn on_segment(&mut self, now: Instant, side: usize, segment: &Segment) {
        let side = side & 1;
        if segment.has(RST) {
            return;
        }
        if segment.has(SYN) {
            self.on_syn(now, side, segment.has(ACK));
            return;
        }
        if segment.has(ACK) {
            self.on_ack(now, side, segment.ack);
        }
        if segment.payload > 0 {
            // Without a handshake a server has the lower port (RFC 6335 §6).
            let is_client = segment.source.port() >= segment.destination.port();
            let client = if is_client { side } else { 1 - side };
            self.client.get_or_insert(client);
            let next = segment.seq.wrapping_add(segment.payload);
            self.on_data(now, side, (next, u64::from(segment.payload)));
        }
    }

    fn on_syn(&mut self, now: Instant, side: usize, is_answer: bool) {
        if !is_answer {
            self.client = Some(side);
            let first = self.syn.map_or(now, |[first, _]| first);
            self.syn = Some([first, now]);
        } else if let (Some([_, last]), None, None) = (self.syn, self.answer, &self.current) {
            self.answer = Some(now);
            self.shorten(side, now.since(last));
            self.push_handshake(now, side, now.since(last));
        }
    }

    fn on_ack(&mut self, now: Instant, side: usize, ack: u32) {
        let is_opening = self.open.is_none() && self.current.is_none();
        if let (Some(answer), Some(client)) = (self.answer, self.client)
            && is_opening
            && side == client
        {
            self.open = Some(now);
            self.shorten(side, now.since(answer));
            self.push_handshake(now, side, now.since(answer));
        }
        let Some(turn) = self.current.as_mut().filter(|turn| turn.side != side) else {
            return;
        };
        if turn.acknowledged.is_none() && !turn.is_again && ack.wrapping_sub(turn.next) as i32 >= 0
        {
            turn.acknowledged = Some(now);
            let passed = now.since(turn.end);
            self.shorten(side, passed);
        }
    }

    fn shorten(&mut self, side: usize, time: Duration) {
        let least = &mut self.least[side];
        *least = Some(least.map_or(time, |least| least.min(time)));
    }

    fn on_data(&mut self, now: Instant, side: usize, (next, octets): (u32, u64)) {
        let highest = self.highest[side];
        let is_new = highest.is_none_or(|highest| next.wrapping_sub(highest) as i32 > 0);
        let current = self.current.as_mut().filter(|turn| turn.side == side);
        if !is_new {
            // What was lost has to arrive before it can be answered.
            if let Some(turn) = current.filter(|turn| turn.acknowledged.is_none()) {
                (turn.end, turn.is_again) = (now, true);
            }
            return;
        }
        self.highest[side] = Some(next);
        if let Some(turn) = current {
            (turn.end, turn.next, turn.acknowledged) = (now, next, None);
            turn.octets += octets;
            return;
        }
        let before = self.current.take();
        let since = before.map(|turn| turn.end).or(self.open);
        let passed = since.map(|since| now.since(since));
        let path = passed.map(|passed| {
            let answered = before.and_then(|turn| Some(turn.acknowledged?.since(turn.end)));
            let least = self.least[side].unwrap_or(passed);
            passed.min(least).min(answered.unwrap_or(passed))
        });
        self.push_turn(before);
        self.current = Some(Turn {
            side,
            start: now,
            end: now,
            next,
            octets,
            acknowledged: None,
            is_again: false,
            path,
            own: passed.zip(path).map(|(passed, path)| passed - path),
        });
    }

    fn push_turn(&mut self, turn: Option<Turn>) {
        if let Some(turn) = turn {
            let own = turn.own.map(Duration::as_secs_f64);
            self.push(
                turn.side,
                [turn.start, turn.end],
                turn.octets,
                [turn.path.map(Duration::as_secs_f64), own],
            );
        }
    }

    fn push_handshake(&mut self, now: Instant, side: usize, path: Duration) {
        self.push(side, [now, now], 0, [Some(path.as_secs_f64()), None]);
    }

    fn push(
        &mut self,
        side: usize,
        [start, end]: [Instant; 2],
        octets: u64,
        [path, own]: [Option<f64>; 2],
    ) {
        let is_client = self.client == Some(side);
        let of = |is_its: bool| Cell::optional(own.filter(|_| is_its));
        self.rows.push(&[
            ("time_s", Cell::Number(start.as_secs_f64())),
            ("end_s", Cell::Number(end.as_secs_f64())),
            (
                "side",
                Cell::Word(if is_client { "client" } else { "server" }),
            ),
            ("data_bytes", Cell::Count(octets)),
            ("path_s", Cell::optional(path)),
            ("client_s", of(is_client)),
            ("server_s", of(!is_client)),
        ]);
    }

    /// The table, if a turn has begun.
    pub(super) fn finish(mut self) -> Option<Table> {
        let last = self.current.take()?;
        self.push_turn(Some(last));
        self.rows.finish_some()
    }
}
