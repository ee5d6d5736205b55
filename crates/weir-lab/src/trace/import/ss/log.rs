//! The tables of a socket from its samples.

use super::super::rows::{Cell, Rows};
use super::super::{ImportedFlow, Vantage};
use super::sample::Sample;

/// The samples of a socket.
#[derive(Debug, Default)]
pub(super) struct SocketLog {
    pub(super) controller: Option<String>,
    pub(super) samples: Vec<Sample>,
}

/// The share of a receive buffer above which it is full: Linux counts whole buffers of the driver,
/// of which the next one no longer fits.
const FULL: f64 = 0.9;

impl SocketLog {
    pub(super) fn last(&self, name: &str) -> f64 {
        self.samples.last().map_or(0.0, |sample| sample.count(name))
    }

    /// True if it sends at least a twentieth of what it receives: the other end of what only
    /// receives is the flow.
    pub(super) fn sends(&self) -> bool {
        self.last("bytes_acked") * 20.0 >= self.last("bytes_received")
    }

    /// True if what has arrived waits in it, in order or not.
    pub(super) fn holds_data(&self) -> bool {
        let limit = self.last("receive memory limit");
        let is_full = limit > 0.0 && self.last("receive memory") >= FULL * limit;
        self.last("Recv-Q") > 0.0 || is_full
    }

    /// The flow to the other end; of a socket that only receives, the flow from there.
    pub(super) fn finish(self, name: String, is_timed: bool) -> ImportedFlow {
        let vantage = if self.sends() {
            Vantage::Sender
        } else {
            Vantage::Receiver
        };
        let (mut rows, mut counters) = (Rows::default(), Rows::default());
        let mut intervals = Rows::default();
        for (index, sample) in self.samples.iter().enumerate() {
            push_counters(&mut counters, sample);
            if vantage == Vantage::Receiver {
                rows.push(&[("time_s", Cell::Number(sample.at))]);
                continue;
            }
            let next = self.samples.get(index + 1);
            let bound = next.map_or("", |next| sample.bound_until(next, is_timed));
            push_sample(&mut rows, sample, bound);
            if let Some(next) = next.filter(|next| is_timed && next.at > sample.at) {
                push_interval(&mut intervals, sample, next);
            }
        }
        let delivered = match vantage {
            Vantage::Receiver => self.last("bytes_received"),
            Vantage::Sender | Vantage::Network => self.last("bytes_acked"),
        };
        let mut flow = ImportedFlow::new((name, "tcp"), vantage, rows.finish());
        flow.controller = self.controller;
        flow.trace.intervals = intervals.finish_some();
        flow.counters = counters.finish_some();
        flow.delivered_bytes = Some(delivered);
        flow
    }
}

fn push_sample(rows: &mut Rows, sample: &Sample, bound: &str) {
    let number = |name| Cell::Number(sample.get(name));
    let millis = |name| Cell::Number(sample.get(name) / 1e3);
    let mss = sample.get("mss");
    let segments = |count: f64| Cell::Number(count * mss);
    let flight = sample.count("unacked") - sample.count("sacked") - sample.count("lost")
        + sample.count("retrans");
    rows.push(&[
        ("time_s", Cell::Number(sample.at)),
        ("smoothed_rtt_s", millis("rtt")),
        ("cwnd_bytes", segments(sample.get("cwnd"))),
        ("bytes_in_flight", segments(flight.max(0.0))),
        ("ssthresh_bytes", segments(sample.get("ssthresh"))),
        ("pacing_rate_bps", number("pacing_rate")),
        ("bound", Cell::Word(bound)),
        ("receive_window_bytes", number("snd_wnd")),
        ("min_rtt_s", millis("minrtt")),
        ("delivered_bytes", number("bytes_acked")),
        ("delivery_rate_bps", number("delivery_rate")),
        ("event", Cell::Word("controller")),
        ("max_bw_bps", number("bw")),
    ]);
}

fn push_interval(intervals: &mut Rows, sample: &Sample, next: &Sample) {
    let more = |name: &str| (next.count(name) - sample.count(name)).max(0.0);
    let goodput = more("bytes_acked") * 8.0 / (next.at - sample.at);
    intervals.push(&[
        ("time_s", Cell::Number(next.at)),
        ("goodput_bps", Cell::Number(goodput)),
        ("packets_lost", Cell::Count(more("retrans second") as u64)),
    ]);
}

/// The counters over the life of the socket, and what waits in it.
fn push_counters(rows: &mut Rows, sample: &Sample) {
    let number = |name| Cell::Number(sample.get(name));
    let millis = |name| Cell::Number(sample.get(name) / 1e3);
    // `ss` leaves out what is zero: it is known where the counter that it is a part of is there.
    let part = |name: &str, whole: &str| {
        let is_known = sample.numbers.contains_key(whole);
        Cell::optional(is_known.then(|| sample.count(name)))
    };
    let in_a_row = sample.count("backoff").max(sample.count("timer repeated"));
    rows.push(&[
        ("time_s", Cell::Number(sample.at)),
        ("busy_s", number("busy")),
        ("receiver_limited_s", part("rwnd_limited", "busy")),
        ("send_buffer_limited_s", part("sndbuf_limited", "busy")),
        ("sent_bytes", number("bytes_sent")),
        ("retransmitted_bytes", part("bytes_retrans", "bytes_sent")),
        ("sent_packets", number("data_segs_out")),
        (
            "retransmitted_packets",
            part("retrans second", "data_segs_out"),
        ),
        (
            "unacknowledged_bytes",
            Cell::Number(sample.count("unacked") * sample.get("mss")),
        ),
        ("unsent_bytes", Cell::Number(sample.count("notsent"))),
        ("unread_bytes", number("Recv-Q")),
        ("receive_memory_bytes", number("receive memory")),
        ("receive_memory_limit_bytes", number("receive memory limit")),
        ("out_of_order_packets", number("rcv_ooopack")),
        ("since_sent_s", millis("lastsnd")),
        ("since_received_s", millis("lastrcv")),
        ("since_heard_s", millis("lastack")),
        ("rto_s", millis("rto")),
        ("timeouts_in_a_row", Cell::Number(in_a_row)),
        ("timer", Cell::Word(&sample.timer)),
    ]);
}
