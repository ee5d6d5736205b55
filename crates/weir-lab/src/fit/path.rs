//! The parameters of a fitted path, each with how it was found.

use super::Subject;
use super::application::{Application, receive_window};
use super::delay;
use super::figures::Differences;
use super::level::{Level, level_at, levels};
use super::loss::{Loss, numbers, of_intervals};
use super::observed::Observed;
use super::parameter::Parameter;
use super::queue::{Managed, Queue, TOP};
use super::rate::Rate;
use super::transport::text;
use super::way_back::WayBack;
use crate::trace::import::Vantage;
use weir_proto::settings::Raw;

/// What an unlimited queue of a fitted path holds, in packets: the default of scenarios.
const USUAL_LIMIT: f64 = 1000.0;
/// A queue whose limit was not seen holds at least so often what waited.
const BEYOND_SEEN: f64 = 2.0;

/// The queue of the fitted path.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Discipline {
    /// First in, first out, of so many packets.
    DropTail(f64),
    /// `CoDel` with this target in seconds, of so many packets.
    CoDel(f64, f64),
}

/// A path.
#[derive(Clone, Debug)]
pub(super) struct Path {
    pub(super) length_s: f64,
    pub(super) mtu: f64,
    /// Octets of data in a packet.
    pub(super) data: f64,
    pub(super) rate: Rate,
    pub(super) delay_s: f64,
    pub(super) base_s: f64,
    pub(super) queue: Queue,
    pub(super) discipline: Discipline,
    pub(super) loss: Loss,
    pub(super) back: Option<WayBack>,
    pub(super) application: Application,
    pub(super) receive_window: Option<f64>,
    pub(super) transport: Raw,
    /// True if the transport is that of the trace's own scenario.
    pub(super) is_declared: bool,
    pub(super) remarks: Vec<String>,
    pub(super) parameters: Vec<Parameter>,
    levels: Vec<Level>,
}

impl Path {
    /// The path that a flow shows; without its transport.
    pub(super) fn of(observed: &Observed, subject: &Subject<'_>) -> Self {
        let base_s = delay::base_rtt(observed);
        let rate = Rate::of(observed, base_s);
        let levels = levels(observed, base_s);
        let queue = Queue::of(observed, &levels);
        let mut path = Self {
            length_s: observed.length_s,
            mtu: observed.packet.wire,
            data: observed.packet.counted,
            delay_s: delay::each_way(base_s, rate.mean_bps, observed.packet.wire),
            base_s,
            discipline: Discipline::DropTail(0.0),
            loss: Loss::None,
            back: WayBack::of(observed),
            application: Application::of(subject, observed, &rate),
            receive_window: receive_window(subject),
            transport: text(""),
            is_declared: subject.declared.is_some(),
            remarks: Vec::new(),
            parameters: Vec::new(),
            rate,
            queue,
            levels,
        };
        path.discipline = Discipline::DropTail(path.limit_packets());
        if path.queue.managed == Managed::Yes {
            path.manage();
        } else {
            path.loss = path.wire_loss(observed);
        }
        path.remark(observed, subject);
        path
    }

    /// The limit of a drop-tail queue in packets.
    fn limit_packets(&self) -> f64 {
        // The octets are those before a packet that was taken: the one in transmission included,
        // the packet itself not.
        match self.queue.limit_octets {
            Some(octets) => (octets / self.mtu).ceil().max(1.0),
            None => (BEYOND_SEEN * self.queue.most_octets / self.mtu)
                .ceil()
                .max(USUAL_LIMIT),
        }
    }

    /// Gives the queue active management in place of losses on the wire.
    fn manage(&mut self) {
        let limit = (BEYOND_SEEN * self.queue.most_octets / self.mtu)
            .ceil()
            .max(USUAL_LIMIT);
        self.discipline = Discipline::CoDel(self.queue.target_s, limit);
        self.loss = Loss::None;
    }

    /// The losses that are not the queue's.
    fn wire_loss(&self, observed: &Observed) -> Loss {
        let share = self.queue.other_losses as f64 / self.queue.packets_below.max(1.0);
        let share = share.min(1.0);
        if observed.sent.is_empty() {
            let counts = observed.lost_in_intervals.iter();
            let counts = counts.filter(|(sent_s, _)| self.is_of_wire(*sent_s));
            let counts: Vec<f64> = counts.map(|(_, count)| *count).collect();
            return of_intervals(share, &counts);
        }
        Loss::of(share, &observed.sent, |sent| self.is_of_wire(sent.at_s))
    }

    /// True for a time at which a packet that was lost was lost by the wire.
    fn is_of_wire(&self, sent_s: f64) -> bool {
        let limit = self.queue.limit_octets;
        limit.is_none_or(|limit| level_at(&self.levels, sent_s).octets < TOP * limit)
    }

    /// The path with the losses of the trace in place of a model of them; `None` without packets.
    pub(super) fn with_own_losses(&self, observed: &Observed) -> Option<Self> {
        let drops = numbers(&observed.sent, |sent| self.is_of_wire(sent.at_s));
        let is_known = self.loss != Loss::None && !observed.sent.is_empty();
        is_known.then(|| Self {
            loss: Loss::Numbers(drops),
            ..self.clone()
        })
    }

    /// Other paths that would explain the same losses.
    pub(super) fn alternatives(&self, observed: &Observed) -> Vec<Self> {
        let losses = self.queue.other_losses + self.queue.top_losses;
        if losses == 0 || self.queue.managed == Managed::No {
            return Vec::new();
        }
        let mut other = self.clone();
        if matches!(self.discipline, Discipline::CoDel(..)) {
            other.discipline = Discipline::DropTail(other.limit_packets());
            other.loss = other.wire_loss(observed);
        } else {
            other.manage();
        }
        let mut others = vec![other];
        if self.queue.limit_octets.is_none() {
            // All losses may be those of a short queue that was hardly seen.
            let mut short = self.clone();
            let packets = (self.queue.most_octets / self.mtu).ceil().max(1.0);
            short.discipline = Discipline::DropTail(packets);
            short.loss = Loss::None;
            others.push(short);
        }
        others
    }

    /// The path with a limit of the queue that is corrected by what its run shows; `None` if the
    /// limit was not seen or is right.
    pub(super) fn with_queue_as_run(&self, differences: &Differences) -> Option<Self> {
        let Discipline::DropTail(packets) = self.discipline else {
            return None;
        };
        self.queue.limit_octets?;
        let waited = |rtt_s: f64| (rtt_s - self.base_s).max(1e-6);
        let [wanted, found] = [&differences.trace, &differences.fitted];
        let factor = waited(wanted.rtt_p95_s) / waited(found.rtt_p95_s);
        let corrected = (packets * factor.clamp(0.5, 2.0)).round().max(1.0);
        let is_other = (corrected - packets).abs() >= 1.0;
        is_other.then(|| Self {
            discipline: Discipline::DropTail(corrected),
            ..self.clone()
        })
    }

    /// True if its runs differ by their seeds.
    pub(super) fn is_random(&self) -> bool {
        !matches!(self.loss, Loss::None | Loss::Numbers(_))
            || self.back.is_some_and(|back| back.loss > 0.0)
    }

    /// Says what the trace does not tell.
    fn remark(&mut self, observed: &Observed, subject: &Subject<'_>) {
        let mut say = |text: &str| self.remarks.push(text.to_owned());
        if !self.rate.is_filled {
            say(
                "packets hardly waited for each other, so that the path may be faster: the rate is \
                 the highest that was seen, at least",
            );
        }
        if self.queue.limit_octets.is_none() {
            say(
                "no full queue dropped packets, so that the limit of the queue is not known: it is \
                 at least what waited",
            );
        }
        if subject.vantage == Vantage::Receiver {
            say(
                "traced beside the receiver: what waited when a lost packet was sent is known only \
                 roughly",
            );
        }
        if subject.vantage == Vantage::Network {
            say(
                "traced within the network, or at a place that is not known: what is before that \
                 place is not in the path",
            );
        }
        if observed.is_smoothed {
            say(
                "the trace has smoothed round trips only: the smallest one is too large and the \
                 largest too small",
            );
        }
        if observed.is_coarse {
            say(
                "the trace is of samples that are further apart than a round trip: queue and losses \
                 are rough",
            );
        }
        if observed.sent.is_empty() && !observed.losses.is_empty() {
            say(
                "the trace has no packets, only how many were lost in each interval: the length of \
                 bursts is rough",
            );
        }
        if self.back.is_none() && !observed.is_coarse {
            self.remarks.push(
                "the receiver has no habit of acknowledging, so that losses on the way back are not \
                 known"
                    .to_owned(),
            );
        }
        let others = subject.trace.flows.iter();
        let others = others.filter(|flow| {
            let is_other = flow.name != subject.flow && !flow.name.starts_with(subject.flow);
            is_other && !subject.flow.starts_with(flow.name.as_str())
        });
        let count = others.count();
        if count > 0 {
            self.remarks.push(format!(
                "the trace has {count} other flows; what they took of the same path appears as a \
                 lower rate"
            ));
        }
    }
}
