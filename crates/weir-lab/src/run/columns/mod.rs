//! The columns of a run's tables. Each is declared here once; recorder, files, exports and plots
//! use its declaration.

pub(super) mod delay;
mod event;
pub(super) mod frame;
mod interval;
mod packet;
pub(super) mod request;
mod stage;
pub(super) mod tables;
mod transfer;

use crate::table::{ColumnSpec, PlotLabel, RowKind};
use weir_proto::event::{
    Event, Limit, MediaState, ModelState, RateLimit, RateState, SndLim, WindowState,
};
use weir_proto::time::{Duration, Instant};
use weir_proto::units::Rate;

pub use delay::{DELAY, Delay, DelayRow};
pub use event::{EVENT, FlowEvent, FlowEventRow};
pub use frame::{FRAME, Frame, FrameRow};
pub use interval::{INTERVAL, Interval, IntervalRow};
pub use packet::{PACKET, Packet, PacketRow};
pub use request::{REQUEST, RequestColumn};
pub use stage::{STAGE, Stage, StageRow};
pub use transfer::{TRANSFER, TransferColumn, TransferRow};

/// A column of [`FLOW`] or [`writes`].
pub type Flow = ColumnSpec<FlowRow>;
/// A column of [`LINK`].
pub type Link = ColumnSpec<LinkRow>;
/// A column of [`GAP`].
pub type Gap = ColumnSpec<GapRow>;

/// The state of a flow's sender at a moment.
#[derive(Clone, Copy, Debug, Default)]
pub struct FlowRow {
    pub(in crate::run) at: Instant,
    /// The cause of the row.
    pub(in crate::run) event: &'static str,
    /// [`Event::Rate`] or [`Event::Window`]; `None` before the controller has reported.
    pub(in crate::run) state: Option<Event>,
    /// The bound on the sender; `None` before the first report.
    pub(in crate::run) bound: Option<SndLim>,
    /// The smallest sample of the round-trip time; `None` before the first.
    pub(in crate::run) min_rtt: Option<Duration>,
    /// R of TFRC's receiver; `None` before it has one.
    pub(in crate::run) receiver_rtt: Option<Duration>,
    /// The delivery rate of a window controller; `None` before it is known.
    pub(in crate::run) delivery_rate_bps: Option<f64>,
    /// Octets that the application writes at this moment; only in the table of writes.
    pub(in crate::run) write_bytes: u32,
}

/// The queue of a direction of a link at a moment; drops and marks since the start of the run.
#[derive(Clone, Copy, Debug, Default)]
pub struct LinkRow {
    pub(in crate::run) at: Instant,
    pub(in crate::run) queue_packets: u32,
    pub(in crate::run) queue_bytes: u64,
    pub(in crate::run) drops: u64,
    pub(in crate::run) marks: u64,
    /// The rate of the latest frame of a station; zero on a wire and before the first.
    pub(in crate::run) frame_rate_kbps: u32,
}

/// A gap in the audio, and the total length of gaps so far.
#[derive(Clone, Copy, Debug)]
pub struct GapRow {
    pub(in crate::run) at: Instant,
    pub(in crate::run) length: Duration,
    pub(in crate::run) silence: Duration,
}

/// The `event` of rows caused by a change of the controller.
pub const CONTROLLER_ROW: &str = "controller";
/// The `event` of rows caused by a change of the bound.
pub const BOUND_ROW: &str = "bound";
/// The `event` of rows caused by a timeout.
pub const TIMEOUT_ROW: &str = "timeout";

/// The columns of a controller's model of the path that are bounds: without a value while nothing
/// sets them.
pub const MODEL_BOUNDS: [&str; 3] = [
    "bw_shortterm_bps",
    "inflight_shortterm_bytes",
    "inflight_longterm_bytes",
];

static RATE_ROWS: RowKind<FlowRow> = RowKind::new(|rows| rows.iter().any(FlowRow::has_rate));
static MEDIA_ROWS: RowKind<FlowRow> = RowKind::new(|rows| rows.iter().any(FlowRow::has_media));
static WINDOW_ROWS: RowKind<FlowRow> = RowKind::new(|rows| rows.iter().any(FlowRow::has_window));
static FRAME_ROWS: RowKind<LinkRow> =
    RowKind::new(|rows| rows.iter().any(|row| row.frame_rate_kbps > 0));
static MODEL_ROWS: RowKind<FlowRow> = RowKind::new(|rows| rows.iter().any(FlowRow::has_model));

/// True if the column shows a controller's model of the path; a table has it if any row has one.
pub fn is_of_model(column: &str) -> bool {
    let mut of_model = FLOW.iter().filter(|spec| spec.is_only_in(&MODEL_ROWS));
    of_model.any(|spec| spec.name == column)
}

/// `flows/NAME`: a row for each change of the sender's controller and of the bound on it. The
/// effects of an acknowledgement and of the packets that it releases are one change; a loss
/// detected by it is another.
pub const FLOW: &[Flow] = &[
    Flow::number(
        "time_s",
        "s",
        "virtual time since the start of the run",
        &|row| row.at.as_secs_f64(),
    ),
    Flow::number(
        "allowed_rate_bps",
        "bit/s",
        "X: the rate that TFRC allows; r_ref of NADA, the target rate of other media",
        &|row| row.rate(|state| state.allowed_rate.as_bps()),
    )
    .plotted("allowed rate X, bit/s", "X")
    .only_in(&RATE_ROWS),
    Flow::number(
        "equation_rate_bps",
        "bit/s",
        "X_calc: the rate of the throughput equation; none before the first loss",
        &|row| row.rate(|state| state.equation_rate.map_or(f64::NAN, Rate::as_bps)),
    )
    .plotted("rate of the equation X_calc, bit/s", "X_calc")
    .only_in(&RATE_ROWS),
    Flow::number(
        "receive_rate_bps",
        "bit/s",
        "X_recv: the rate that the receiver last reported",
        &|row| row.rate(|state| state.receive_rate.as_bps()),
    )
    .plotted("receive rate X_recv, bit/s", "X_recv")
    .only_in(&RATE_ROWS),
    Flow::number(
        "loss_event_rate",
        "",
        "p: the loss event rate, from 0 to 1; of media the share of lost packets",
        &|row| row.rate(|state| state.loss_event_rate),
    )
    .plotted_in("%", 100.0, ["loss event rate p, %", "p"])
    .only_in(&RATE_ROWS),
    Flow::number(
        "rtt_s",
        "s",
        "the last sample of the round-trip time",
        &|row| row.either(|state| known(state.rtt), |state| known(state.rtt)),
    )
    .plotted("round-trip time, sample, s", "sample"),
    Flow::number(
        "smoothed_rtt_s",
        "s",
        "R: the smoothed round-trip time",
        &|row| {
            row.either(
                |state| known(state.smoothed_rtt),
                |state| known(state.smoothed_rtt),
            )
        },
    )
    .plotted("round-trip time R, s", "R"),
    Flow::number(
        "receiver_rtt_s",
        "s",
        "R of TFRC's receiver, over which it measures X_recv: its estimate from window counters, \
         or what the sender tells it",
        &|row| row.receiver_rtt.map_or(f64::NAN, Duration::as_secs_f64),
    )
    .plotted("round-trip time of the receiver, s", "receiver")
    .only_in(&RATE_ROWS),
    // Zero is a valid value: kernels truncate t_ipi to whole microseconds.
    Flow::number(
        "ipi_s",
        "s",
        "t_ipi: the time between two packets",
        &|row| row.rate(|state| state.inter_packet_interval.as_secs_f64()),
    )
    .plotted("time between two packets t_ipi, s", "ipi_s")
    .only_in(&RATE_ROWS),
    Flow::number("cwnd_bytes", "bytes", "the congestion window", &|row| {
        row.window(|state| state.cwnd as f64)
    })
    .plotted("congestion window, bytes", "cwnd_bytes")
    .only_in(&WINDOW_ROWS),
    Flow::number(
        "bytes_in_flight",
        "bytes",
        "octets sent and neither acknowledged nor declared lost",
        &|row| row.window(|state| state.bytes_in_flight as f64),
    )
    .only_in(&WINDOW_ROWS),
    Flow::number(
        "partial_bytes_acked",
        "bytes",
        "octets acknowledged towards the next increase of the window",
        &|row| row.window(|state| state.partial_bytes_acked as f64),
    )
    .only_in(&WINDOW_ROWS),
    Flow::number(
        "ssthresh_bytes",
        "bytes",
        "the slow-start threshold; none before the first reduction",
        &|row| row.window(|state| state.ssthresh.map_or(f64::NAN, |bytes| bytes as f64)),
    )
    .only_in(&WINDOW_ROWS),
    Flow::number(
        "pacing_rate_bps",
        "bit/s",
        "the pacing rate of a window controller that has one; the rate at which media leave",
        &|row| {
            row.either(
                |state| {
                    state
                        .media
                        .map_or(f64::NAN, |media| media.send_rate.as_bps())
                },
                |state| state.pacing_rate.map_or(f64::NAN, Rate::as_bps),
            )
        },
    ),
    Flow::number(
        "segment_bytes",
        "bytes",
        "s: the segment size of TFRC",
        &|row| row.rate(|state| f64::from(state.segment_size)),
    )
    .only_in(&RATE_ROWS),
    Flow::word(
        "state",
        "the controller's state, in the words of its RFC",
        &|row| match &row.state {
            Some(Event::Rate(state)) => state.state,
            Some(Event::Window(state)) => state.state,
            _ => "",
        },
    ),
    Flow::word(
        "limit",
        "the rule that bound the rate or window",
        &|row| match &row.state {
            Some(
                Event::Rate(RateState { limit, .. }) | Event::Window(WindowState { limit, .. }),
            ) => limit.name(),
            _ => Limit::None.name(),
        },
    ),
    Flow::word(
        "bound",
        "what holds the sender back from here on: application, send_buffer, window, rate, \
         minimum_interval, pacer, receiver_credit, anti_amplification or nothing",
        &|row| row.bound.map_or("", SndLim::name),
    ),
    Flow::word(
        "rate_limited_by",
        "what limited the sample that the estimate of the delivery rate in use came from, or, of a \
         pacer without such an estimate, held the sender within the last round trip: path, \
         application, send_buffer or receiver_credit",
        &|row| match &row.state {
            Some(Event::Window(state)) => state.rate_limited_by.map_or("", RateLimit::name),
            _ => "",
        },
    )
    .only_in(&WINDOW_ROWS),
    Flow::number(
        "receive_window_bytes",
        "bytes",
        "octets beyond those acknowledged in order that the receiver lets the sender send",
        &|row| row.window(|state| octets(state.receive_window)),
    )
    .only_in(&WINDOW_ROWS),
    Flow::number(
        "min_rtt_s",
        "s",
        "the smallest sample of the round-trip time so far",
        &|row| row.min_rtt.map_or(f64::NAN, Duration::as_secs_f64),
    ),
    Flow::number(
        "delivered_bytes",
        "bytes",
        "octets that acknowledgements have reported as arrived; TFRC does not count them",
        &|row| row.window(|state| octets(state.delivered)),
    )
    .only_in(&WINDOW_ROWS),
    Flow::number(
        "delivery_rate_bps",
        "bit/s",
        "octets reported as arrived in the last smoothed round-trip time; of TFRC X_recv",
        &|row| {
            row.either(
                |state| state.receive_rate.as_bps(),
                |_| row.delivery_rate_bps.unwrap_or(f64::NAN),
            )
        },
    ),
    Flow::word(
        "event",
        "why there is a row: controller or bound, which has changed, or timeout, before what it \
         changes",
        &|row| row.event,
    ),
    Flow::number(
        "target_rate_bps",
        "bit/s",
        "r_vin: the rate that a controller for media asks of the encoder",
        &|row| row.media(|media| media.target_rate.as_bps()),
    )
    .plotted("target rate of the encoder, bit/s", "target")
    .only_in(&MEDIA_ROWS),
    Flow::number(
        "queue_delay_s",
        "s",
        "d_queue: the queueing delay that a controller for media measures",
        &|row| row.media(|media| media.queue_delay.as_secs_f64()),
    )
    .plotted("queueing delay as measured, s", "queueing delay")
    .only_in(&MEDIA_ROWS),
    Flow::number(
        "congestion_signal_s",
        "s",
        "what media compare with a threshold: x_curr of NADA",
        &|row| row.media(|media| media.congestion_signal.as_secs_f64()),
    )
    .plotted("congestion signal, s", "signal")
    .only_in(&MEDIA_ROWS),
    Flow::number(
        "marking_ratio",
        "",
        "the smoothed share of marked packets of media, from 0 to 1",
        &|row| row.media(|media| media.marking_ratio),
    )
    .only_in(&MEDIA_ROWS),
    Flow::number(
        "buffered_bytes",
        "bytes",
        "octets of media that wait in the sender",
        &|row| row.media(|media| media.buffered_bytes as f64),
    )
    .only_in(&MEDIA_ROWS),
    Flow::number(
        "max_bw_bps",
        "bit/s",
        "BBR.max_bw: the largest sample of the delivery rate in the filter",
        &|row| row.model(|model| model.max_bw.as_bps()),
    )
    .only_in(&MODEL_ROWS),
    Flow::number(
        "bw_shortterm_bps",
        "bit/s",
        "BBR.bw_shortterm; none while no loss bounds the rate",
        &|row| row.model(|model| model.bw_shortterm.map_or(f64::NAN, Rate::as_bps)),
    )
    .only_in(&MODEL_ROWS),
    Flow::number(
        "inflight_shortterm_bytes",
        "bytes",
        "BBR.inflight_shortterm; none while no loss bounds the window",
        &|row| row.model(|model| octets(model.inflight_shortterm)),
    )
    .only_in(&MODEL_ROWS),
    Flow::number(
        "inflight_longterm_bytes",
        "bytes",
        "BBR.inflight_longterm; none before a probe has lost too much",
        &|row| row.model(|model| octets(model.inflight_longterm)),
    )
    .only_in(&MODEL_ROWS),
    Flow::number(
        "extra_acked_bytes",
        "bytes",
        "BBR.extra_acked: what the window has for aggregation",
        &|row| row.model(|model| model.extra_acked as f64),
    )
    .only_in(&MODEL_ROWS),
    Flow::number(
        "full_bw_count",
        "",
        "BBR.full_bw_count: rounds without growth",
        &|row| row.model(|model| f64::from(model.full_bw_count)),
    )
    .only_in(&MODEL_ROWS),
];

/// The columns of [`FLOW`] that `writes/NAME` has too: those in a line of dccp_probe.
const PER_WRITE: [&str; 8] = [
    "time_s",
    "allowed_rate_bps",
    "equation_rate_bps",
    "receive_rate_bps",
    "loss_event_rate",
    "smoothed_rtt_s",
    "ipi_s",
    "segment_bytes",
];

const WRITE_BYTES: Flow = Flow::count(
    "write_bytes",
    "bytes",
    "octets that the application wrote",
    &|row| u64::from(row.write_bytes),
);

/// `writes/NAME`: a row for each write of the application, with the state of a rate controller
/// before the write.
pub fn writes() -> impl Iterator<Item = &'static Flow> {
    let of_flow = FLOW
        .iter()
        .filter(|column| PER_WRITE.contains(&column.name));
    of_flow.chain([&WRITE_BYTES])
}

/// `links/NAME`: a row for each time at which the queue changed or packets were dropped or marked,
/// with the state after it.
pub const LINK: &[Link] = &[
    Link::number(
        "time_s",
        "s",
        "virtual time since the start of the run",
        &|row| row.at.as_secs_f64(),
    ),
    Link::count("queue_packets", "packets", "packets in the queue", &|row| {
        u64::from(row.queue_packets)
    }),
    Link::count("queue_bytes", "bytes", "octets in the queue", &|row| {
        row.queue_bytes
    }),
    Link::count(
        "drops",
        "packets",
        "packets dropped since the start",
        &|row| row.drops,
    ),
    Link::count(
        "marks",
        "packets",
        "packets marked since the start",
        &|row| row.marks,
    ),
    Link::number(
        "frame_rate_bps",
        "bit/s",
        "the rate at which an 802.11 station sends its frames; none before the first, and on a wire",
        &|row| match row.frame_rate_kbps {
            0 => f64::NAN,
            kbps => f64::from(kbps) * 1e3,
        },
    )
    .only_in(&FRAME_ROWS),
];

/// `gaps/NAME`: a row for each gap in the audio.
pub const GAP: &[Gap] = &[
    Gap::number("time_s", "s", "when the gap began", &|row| {
        row.at.as_secs_f64()
    }),
    Gap::number("gap_s", "s", "length of the gap", &|row| {
        row.length.as_secs_f64()
    }),
    Gap::number("silence_s", "s", "length of all gaps so far", &|row| {
        row.silence.as_secs_f64()
    })
    .plotted("audio that was not heard so far, s", "silence_s"),
];

/// The columns that plots show as a series.
pub fn plotted_columns() -> impl Iterator<Item = (&'static str, PlotLabel)> {
    let flow = FLOW.iter().map(|column| (column.name, column.plot));
    let gap = GAP.iter().map(|column| (column.name, column.plot));
    let interval = INTERVAL.iter().map(|column| (column.name, column.plot));
    let frame = FRAME.iter().map(|column| (column.name, column.plot));
    flow.chain(gap)
        .chain(frame)
        .chain(interval)
        .filter_map(|(name, plot)| Some((name, plot?)))
}

/// The label of this column in plots; `None` if they do not show it.
pub fn plot_label(column: &str) -> Option<PlotLabel> {
    let found = plotted_columns().find(|(name, _)| *name == column);
    found.map(|(_, plot)| plot)
}

/// A time in seconds; NaN for zero, which means that it has not been measured.
#[inline]
fn known(span: Duration) -> f64 {
    if span.is_zero() {
        f64::NAN
    } else {
        span.as_secs_f64()
    }
}

/// A count of octets; NaN if it is not known.
#[inline]
fn octets(count: Option<u64>) -> f64 {
    count.map_or(f64::NAN, |octets| octets as f64)
}

impl FlowRow {
    const fn has_rate(&self) -> bool {
        matches!(self.state, Some(Event::Rate(_)))
    }

    const fn has_media(&self) -> bool {
        matches!(&self.state, Some(Event::Rate(state)) if state.media.is_some())
    }

    const fn has_window(&self) -> bool {
        matches!(self.state, Some(Event::Window(_)))
    }

    const fn has_model(&self) -> bool {
        matches!(
            &self.state,
            Some(Event::Window(WindowState { model: Some(_), .. }))
        )
    }

    #[inline]
    fn either(
        &self,
        of_rate: impl Fn(&RateState) -> f64,
        of_window: impl Fn(&WindowState) -> f64,
    ) -> f64 {
        match &self.state {
            Some(Event::Rate(state)) => of_rate(state),
            Some(Event::Window(state)) => of_window(state),
            _ => f64::NAN,
        }
    }

    #[inline]
    fn rate(&self, value: impl Fn(&RateState) -> f64) -> f64 {
        self.either(value, |_| f64::NAN)
    }

    #[inline]
    fn media(&self, value: impl Fn(&MediaState) -> f64) -> f64 {
        self.rate(|state| state.media.as_ref().map_or(f64::NAN, &value))
    }

    #[inline]
    fn window(&self, value: impl Fn(&WindowState) -> f64) -> f64 {
        self.either(|_| f64::NAN, value)
    }

    fn model(&self, value: impl Fn(&ModelState) -> f64) -> f64 {
        self.window(|state| state.model.as_ref().map_or(f64::NAN, &value))
    }
}
