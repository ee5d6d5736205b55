//! The columns of `events/NAME`.

use crate::table::ColumnSpec;
use weir_proto::event::Event;
use weir_proto::time::Instant;

/// A column of [`EVENT`].
pub type FlowEvent = ColumnSpec<FlowEventRow>;

/// An event at an end of a flow that is not a state of its controller.
#[derive(Clone, Copy, Debug)]
pub struct FlowEventRow {
    at: Instant,
    place: &'static str,
    event: &'static str,
    detail: &'static str,
    backoff: Option<u32>,
}

/// `events/NAME`: a row for each event at an end of the flow that is not a state of its controller.
pub const EVENT: &[FlowEvent] = &[
    FlowEvent::number(
        "time_s",
        "s",
        "virtual time since the start of the run",
        &|row| row.at.as_secs_f64(),
    ),
    FlowEvent::word("place", "sender or receiver", &|row| row.place),
    FlowEvent::word(
        "event",
        "state: the connection entered a state; timeout: a timer expired that waits for \
         acknowledgements or feedback; window_probe: the peer's window is closed, and a probe asks \
         for it; spurious: a reduction of the window was taken back; feedback: TFRC's receiver \
         decided otherwise than before",
        &|row| row.event,
    ),
    FlowEvent::word(
        "detail",
        "the state in the words of its RFC, or whether feedback is sent or suppressed, and why",
        &|row| row.detail,
    ),
    FlowEvent::number(
        "backoff",
        "",
        "of a timeout or a probe, those in a row before it",
        &|row| row.backoff.map_or(f64::NAN, f64::from),
    ),
];

impl FlowEventRow {
    /// The row of an event at a `sender` or a `receiver`; `None` if it belongs to another table.
    pub(in crate::run) fn new(at: Instant, place: &'static str, event: &Event) -> Option<Self> {
        let (event, detail, backoff) = match *event {
            Event::State(name) => ("state", name, None),
            Event::Timeout { backoff } => ("timeout", "", Some(backoff)),
            Event::WindowProbe { backoff } => ("window_probe", "", Some(backoff)),
            Event::Spurious => ("spurious", "", None),
            Event::Feedback(decision) => ("feedback", decision.name(), None),
            _ => return None,
        };
        Some(Self {
            at,
            place,
            event,
            detail,
            backoff,
        })
    }
}
