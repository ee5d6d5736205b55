//! Trace events: what endpoints, links and queues can report about themselves.
//!
//! A component owns an [`Events`] queue. The driver sets its mask and drains it into a [`Probe`].
//! Events outside the mask are never built, so a run without a trace pays one test of a bit.
//!
//! [`RateState`] and [`WindowState`] hold the values of a controller's trace columns: a new column
//! is a field here and a line in the laboratory's table of columns.

use crate::bound::BoundChanges;
use crate::flow_id::FlowId;
use crate::named::named;
use crate::time::{Duration, Instant};
use crate::units::Rate;

pub use crate::bound::{Hold, RateLimit, SndLim};

named! {
    /// Which rule bound an allowed rate or window when it last changed.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub enum Limit {
        /// No rule has bound it yet.
        #[default]
        None => "none",
        /// TFRC: the throughput equation (RFC 5348 §3.1).
        Equation => "equation",
        /// TFRC: twice the receive rate that the receiver reported (RFC 5348 §4.3).
        TwiceReceiveRate => "twice_receive_rate",
        /// TFRC: the initial window per round-trip time (RFC 5348 §4.2).
        InitialWindow => "initial_window",
        /// TFRC: one packet per round-trip time, the floor of slow start (RFC 3448 §4.3).
        OnePacketPerRtt => "one_packet_per_rtt",
        /// TFRC: the nofeedback timer expired (RFC 5348 §4.4). Media: feedback is missing (RFC 8888
        /// §5).
        NofeedbackHalving => "nofeedback_halving",
        /// TFRC: one packet in 64 seconds (RFC 5348 §4.3).
        MinimumRate => "minimum_rate",
        /// TFRC: the round-trip time increased, and with it the time between packets (RFC 5348
        /// §4.5).
        OscillationReduction => "oscillation_reduction",
        /// TFRC: losses in a data-limited interval (RFC 5348 §4.3).
        DataLimited => "data_limited",
        /// Slow start: the rate or window doubles once a round-trip time.
        SlowStart => "slow_start",
        /// Congestion avoidance: additive increase or the controller's equivalent.
        CongestionAvoidance => "congestion_avoidance",
        /// Recovery: reduced after a loss or an ECN mark.
        Recovery => "recovery",
        /// Persistent congestion: the window starts again from its minimum (RFC 9002 §7.6).
        PersistentCongestion => "persistent_congestion",
        /// A retransmission timeout.
        Timeout => "timeout",
        /// The minimum window (RFC 9002 §7.2).
        MinimumWindow => "minimum_window",
        /// The application had no data to send.
        ApplicationLimited => "application_limited",
        /// BBR: the volume that the model of the path needs in flight (draft-bbr §5.6.4.2).
        MaxInflight => "max_inflight",
        /// BBR: the volume at which a probe for bandwidth lost too much (draft-bbr §2.9.2).
        InflightLongterm => "inflight_longterm",
        /// BBR: the volume that losses since the last probe allow (draft-bbr §2.9.2).
        InflightShortterm => "inflight_shortterm",
        /// BBR: little is in flight, so that the round-trip time can be measured (draft-bbr
        /// §5.3.4).
        ProbeRtt => "probe_rtt",
        /// The receiver's flow control.
        FlowControl => "flow_control",
        /// NADA: the rate ramps up from the received rate, without losses and queueing delay (RFC
        /// 8698 §4.3).
        AcceleratedRampUp => "accelerated_ramp_up",
        /// NADA: the rate follows the congestion signal (RFC 8698 §4.3).
        GradualUpdate => "gradual_update",
        /// Media: the least rate of the encoder, RMIN of NADA (RFC 8698 §4.3).
        MinimumMediaRate => "minimum_media_rate",
        /// Media: the greatest rate of the encoder, RMAX of NADA (RFC 8698 §4.3).
        MaximumMediaRate => "maximum_media_rate",
        /// TFRC-SP: the least time between two packets, ten milliseconds, which is longer than the
        /// s/X of the allowed rate (RFC 4828 §3, RFC 5622 §5).
        MinimumInterval => "minimum_interval",
        /// Media: the rate or window grows by a share of itself.
        MultiplicativeIncrease => "multiplicative_increase",
        /// Media: the rate or window grows by a constant step.
        AdditiveIncrease => "additive_increase",
        /// Media: reduced because the queueing delay grew or was above its target.
        DelayReduction => "delay_reduction",
        /// Media: held until the queue has drained.
        DelayHold => "delay_hold",
        /// Media: reduced because packets were lost, or held down by an estimate that losses set.
        LossReduction => "loss_reduction",
        /// Media: reduced because packets were marked.
        MarkReduction => "mark_reduction",
        /// Media: no growth beyond a multiple of what arrives or is in flight.
        ReceivedMedia => "received_media",
        /// Careful Resume: the window that an earlier connection had on the path, until it is
        /// validated (RFC 9959 §3.3).
        CarefulResume => "careful_resume",
        /// Careful Resume: reduced to half of what the path is known to carry (RFC 9959 §3.5).
        SafeRetreat => "safe_retreat",
        /// Rapid Start: reduced by what is acknowledged and lost in the first recovery period
        /// (draft-kazuho-ccwg-rapid-start §3.3).
        RapidStart => "rapid_start",
        /// A new path: its window begins anew (RFC 9000 §9.4).
        PathChange => "path_change",
    }
}

/// The state of a rate controller (TFRC, or one of media) after a change.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RateState {
    /// X: the allowed sending rate; r_ref of NADA, the target rate of other media.
    pub allowed_rate: Rate,
    /// X_calc: the rate of the throughput equation; `None` before the first loss.
    pub equation_rate: Option<Rate>,
    /// X_recv: the receive rate in the last feedback.
    pub receive_rate: Rate,
    /// p: the loss event rate in [0, 1]; for media the share of lost packets.
    pub loss_event_rate: f64,
    /// The last round-trip time sample; zero before the first.
    pub rtt: Duration,
    /// R: the smoothed round-trip time; zero before the first sample.
    pub smoothed_rtt: Duration,
    /// t_ipi: the time between two packets.
    pub inter_packet_interval: Duration,
    /// s: the segment size in octets.
    pub segment_size: u32,
    /// `no_feedback_yet`, `no_feedback`, `slow_start` or `congestion_avoidance`, or a state of a
    /// controller for media.
    pub state: &'static str,
    /// The rule that bound the allowed rate.
    pub limit: Limit,
    /// The further state of a controller for media.
    pub media: Option<MediaState>,
}

/// The state of a controller for media.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct MediaState {
    /// The rate requested from the encoder: r_vin of NADA (RFC 8698 §5.2.2).
    pub target_rate: Rate,
    /// The rate at which packets leave: r_send of NADA (RFC 8698 §5.2.2).
    pub send_rate: Rate,
    /// The queueing delay that it measures.
    pub queue_delay: Duration,
    /// What it compares with its threshold: x_curr of NADA, delay, loss and marks as one delay.
    pub congestion_signal: Duration,
    /// The smoothed share of marked packets, in [0, 1].
    pub marking_ratio: f64,
    /// Octets of media that wait to be sent.
    pub buffered_bytes: u64,
}

/// The model that a controller has of the path (draft-ietf-ccwg-bbr §2.9 and §2.13).
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ModelState {
    /// BBR.max_bw: the largest sample of the delivery rate.
    pub max_bw: Rate,
    /// BBR.bw_shortterm; `None` while no loss bounds the rate.
    pub bw_shortterm: Option<Rate>,
    /// BBR.inflight_shortterm in octets; `None` while no loss bounds the window.
    pub inflight_shortterm: Option<u64>,
    /// BBR.inflight_longterm in octets; `None` before a probe has lost too much.
    pub inflight_longterm: Option<u64>,
    /// BBR.extra_acked: octets that the window has for aggregation.
    pub extra_acked: u64,
    /// BBR.full_bw_count: rounds without growth.
    pub full_bw_count: u32,
}

/// The state of a window controller after a change.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct WindowState {
    /// Congestion window in octets.
    pub cwnd: u64,
    /// Octets sent and neither acknowledged nor declared lost.
    pub bytes_in_flight: u64,
    /// Octets acknowledged towards the next increase.
    pub partial_bytes_acked: u64,
    /// Octets that acknowledgements have reported as arrived, each once; `None` if the transport
    /// does not count them.
    pub delivered: Option<u64>,
    /// Octets beyond those acknowledged in order that the receiver allows the sender to send:
    /// SND.WND of TCP (RFC 9293 §3.3.1), the smaller credit of connection and stream in QUIC (RFC
    /// 9000 §4.1); `None` without flow control.
    pub receive_window: Option<u64>,
    /// Slow-start threshold in octets; `None` while there is none.
    pub ssthresh: Option<u64>,
    /// The pacing rate; `None` for a controller without one.
    pub pacing_rate: Option<Rate>,
    /// The limit of the sample of the delivery rate behind the current estimate; for a controller
    /// that paces without such an estimate, the limit of the sender within the last round trip.
    /// `None` for a controller that does not pace.
    pub rate_limited_by: Option<RateLimit>,
    /// The last round-trip time sample; zero before the first.
    pub rtt: Duration,
    /// The smoothed round-trip time; zero before the first sample.
    pub smoothed_rtt: Duration,
    /// `slow_start`, `recovery` or `congestion_avoidance`, or a state of the controller's own.
    pub state: &'static str,
    /// The rule that bound the window.
    pub limit: Limit,
    /// What it knows of the path; `None` for a controller that reports no model.
    pub model: Option<ModelState>,
}

named! {
    /// Why the network dropped a packet.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum DropReason {
        /// The queue had no room.
        QueueFull => "queue_full",
        /// The active queue management dropped it although the queue had room.
        Aqm => "aqm",
        /// It exceeded the rate of the link's policer.
        Policed => "policed",
        /// An acknowledgement that the link dropped to reduce their number.
        Thinned => "thinned",
        /// The loss model of the link or socket dropped it.
        LossModel => "loss_model",
        /// The link carried no packets at that time.
        Outage => "outage",
        /// The link drops packets whose ECN field is not Not-ECT.
        EcnBlackHole => "ecn_black_hole",
        /// It was not acknowledged on the air after its last retry (IEEE 802.11).
        RetryLimit => "retry_limit",
        /// It is larger than the link's MTU.
        TooLarge => "too_large",
        /// Its IP header was damaged.
        Damaged => "damaged",
        /// There is no route to its destination, or its hop limit is zero.
        Unreachable => "unreachable",
    }
}

named! {
    /// What made an endpoint declare a packet lost, as `trigger` in qlog's `packet_lost`.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum LossTrigger {
        /// Enough later packets were acknowledged: duplicate acknowledgements (RFC 6675), NUMDUPACK
        /// (RFC 4341 §5), kPacketThreshold (RFC 9002 §6.1.1); or have arrived, where the receiver
        /// detects losses: NDUPACK of TFRC (RFC 5348 §5.1), one datagram of UDP.
        PacketThreshold => "packet_threshold",
        /// A later packet was acknowledged long enough ago (RFC 9002 §6.1.2).
        TimeThreshold => "time_threshold",
        /// The retransmission timer expired, and all packets in flight count as lost (RFC 4341 §5,
        /// RFC 6675 §5.1). TCP presumes them lost until an acknowledgement shows the contrary.
        Timeout => "timeout",
        /// The receiver reported it as not received (RFC 8888 §3.1).
        Reported => "reported",
    }
}

named! {
    /// What a packet of a transport carries.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum PacketContent {
        /// Application data; for a packet that is sent, data that was not sent before.
        Data => "data",
        /// Data that was sent before.
        Retransmission => "retransmission",
        /// An acknowledgement and no data.
        Acknowledgement => "acknowledgement",
        /// Neither: a packet of the handshake or the close, a probe, flow control.
        Control => "control",
    }
}

named! {
    /// The type of a QUIC packet (RFC 9000 §17.2, §17.3), as `packet_type` in qlog. The packets of
    /// each type have a sequence of numbers of their own (RFC 9000 §12.3).
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum PacketType {
        /// The type for a transport whose packets have one sequence of numbers.
        None => "",
        /// Initial: the first messages of the handshake.
        Initial => "initial",
        /// Handshake: its other messages.
        Handshake => "handshake",
        /// 1-RTT: everything after the handshake.
        OneRtt => "1RTT",
    }
}

named! {
    /// The decision of TFRC's receiver about feedback (RFC 5348 §6.1, RFC 4342 §10.3).
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum FeedbackDecision {
        /// Sent: the first data packet has arrived.
        FirstPacket => "sent: first_packet",
        /// Sent: the window counter has advanced by four, which takes a round-trip time.
        Periodic => "sent: periodic",
        /// Sent: a loss event was found.
        LossEvent => "sent: loss_event",
        /// Suppressed: the window counter has not advanced by four since the last feedback.
        CounterBehind => "suppressed: window_counter",
        /// Suppressed: a packet is missing, and whether it is lost is not decided yet (Linux).
        LossPending => "suppressed: loss_pending",
    }
}

/// An event in a component.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Event {
    /// A rate controller changed.
    Rate(RateState),
    /// A window controller changed.
    Window(WindowState),
    /// A round-trip time sample was taken.
    Rtt(Duration),
    /// The application wrote this many octets, which the controller has not processed yet. Linux's
    /// dccp_probe prints its line at this time.
    Write(u32),
    /// A packet was handed over; its size without IP and UDP headers.
    Sent {
        /// Sequence or packet number; for TCP the offset of the first octet, or in an
        /// acknowledgement without data the offset of the first missing octet.
        number: u64,
        /// Octets.
        size: u32,
        /// What it carries.
        content: PacketContent,
        /// The sequence of numbers that its number belongs to.
        packet_type: PacketType,
    },
    /// A packet arrived and was accepted.
    Received {
        /// Sequence or packet number, as in [`Event::Sent`].
        number: u64,
        /// Octets.
        size: u32,
        /// What it carries; whether its data was sent before is not known here.
        content: PacketContent,
        /// As in [`Event::Sent`].
        packet_type: PacketType,
    },
    /// A packet was declared lost: by its sender, or by the receiver where that detects losses
    /// (TFRC, UDP).
    Lost {
        /// Sequence or packet number, as in [`Event::Sent`].
        number: u64,
        /// Octets; zero if a receiver declares it lost, which does not know its size.
        size: u32,
        /// What made the sender, or the receiver, declare it lost.
        trigger: LossTrigger,
        /// As in [`Event::Sent`].
        packet_type: PacketType,
    },
    /// A transport that does not identify the packet declared one lost.
    LostUnnamed {
        /// Octets; zero if they are not known.
        size: u32,
    },
    /// This bound limits the sender from now on.
    Blocked(SndLim),
    /// A timer expired that waits for acknowledgements or feedback: the retransmission timer of TCP
    /// and CCID 2, the probe timeout of QUIC, the nofeedback timer of TFRC.
    Timeout {
        /// Expiries in a row before this one.
        backoff: u32,
    },
    /// A probe leaves because the peer's window is closed and the segment that reopened it may have
    /// been lost: TCP's persist timer has expired (RFC 9293 §3.8.6.1).
    WindowProbe {
        /// Probes before this one since the window was last open.
        backoff: u32,
    },
    /// The losses behind the last reduction of the window were spurious, and the reduction is
    /// undone.
    Spurious,
    /// The receiver of TFRC has changed its decision about feedback.
    Feedback(FeedbackDecision),
    /// The receiver of TFRC estimates this round-trip time, over which it measures X_recv.
    ReceiverRtt(Duration),
    /// The connection entered the state of this name in its RFC.
    State(&'static str),
    /// The length of a queue changed to this value.
    Queue {
        /// Packets.
        packets: u32,
        /// Octets.
        bytes: u64,
    },
    /// A station of an 802.11 medium sends a frame at another rate than its frame before.
    FrameRate {
        /// The rate in kbit/s.
        kbps: u32,
    },
    /// A link, queue or loss model dropped a packet.
    Drop {
        /// The flow that it belongs to.
        flow: FlowId,
        /// The number that its sender gave it; `None` if it came from outside.
        number: Option<u64>,
        /// Octets.
        size: u32,
        /// Why it was dropped.
        reason: DropReason,
    },
    /// A queue set Congestion Experienced in a packet's IP header (RFC 3168 §5).
    EcnMark {
        /// The flow that the packet belongs to.
        flow: FlowId,
        /// The number that its sender gave it; `None` if it came from outside.
        number: Option<u64>,
        /// Octets.
        size: u32,
    },
    /// A packet entered a link or a station: its queue, unless the link is idle.
    Entered(PacketInNetwork),
    /// A link or a station carries a packet, or has carried it. A link says so when it knows, which
    /// may be before.
    Carried {
        /// The packet.
        packet: PacketInNetwork,
        /// When its transmission starts.
        started: Instant,
        /// When its transmission ends.
        left: Instant,
        /// When it arrives; `None` for a frame on the air that was not acknowledged.
        arrives: Option<Instant>,
    },
    /// A link or a station dropped this packet; [`Event::Drop`] says the same.
    DroppedOnWay {
        /// The packet.
        packet: PacketInNetwork,
        /// Why it was dropped.
        reason: DropReason,
    },
}

/// A packet in the network, as the events of its stages identify it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PacketInNetwork {
    /// Where the network keeps it: no other packet has this place at the same time.
    pub slot: u32,
    /// When its endpoint handed it over; in the far future if that was outside the simulation.
    pub sent_at: Instant,
    /// The flow that it belongs to.
    pub flow: FlowId,
    /// The index of the host that sent it.
    pub source: u32,
    /// The number that its sender gave it; `None` if it came from outside.
    pub number: Option<u64>,
    /// Octets from the IP header on.
    pub size: u32,
}

/// A set of kinds of events.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EventMask(u16);

impl EventMask {
    /// No event.
    pub const NONE: Self = Self(0);
    /// Every event.
    pub const ALL: Self = Self(u16::MAX);
    /// [`Event::Rate`] and [`Event::Window`].
    pub const CONTROLLER: Self = Self(1);
    /// [`Event::Rtt`].
    pub const RTT: Self = Self(1 << 1);
    /// [`Event::Write`].
    pub const WRITE: Self = Self(1 << 2);
    /// [`Event::Sent`], [`Event::Received`] and [`Event::Lost`].
    pub const PACKET: Self = Self(1 << 3);
    /// [`Event::State`].
    pub const STATE: Self = Self(1 << 4);
    /// [`Event::Queue`] and [`Event::FrameRate`].
    pub const QUEUE: Self = Self(1 << 5);
    /// [`Event::Drop`] and [`Event::EcnMark`].
    pub const DROP: Self = Self(1 << 6);
    /// [`Event::Blocked`].
    pub const BOUND: Self = Self(1 << 7);
    /// [`Event::Timeout`], [`Event::WindowProbe`] and [`Event::Spurious`].
    pub const TIMEOUT: Self = Self(1 << 8);
    /// [`Event::Feedback`] and [`Event::ReceiverRtt`].
    pub const FEEDBACK: Self = Self(1 << 9);
    /// [`Event::Entered`], [`Event::Carried`] and [`Event::DroppedOnWay`].
    pub const STAGE: Self = Self(1 << 10);
    /// The events that an endpoint reports when no further packet leaves now.
    pub const WHEN_QUIET: Self = Self::CONTROLLER.union(Self::BOUND);

    /// The union of both sets.
    pub const fn union(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// True if the sets have a kind in common.
    pub const fn intersects(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }
}

/// The most events of missing packets from one packet, because a peer may skip any range of
/// numbers.
pub const MAX_MISSING: usize = 1 << 20;

/// The events that a component has queued for its driver.
#[derive(Clone, Debug, Default)]
pub struct Events {
    mask: EventMask,
    queue: Vec<(Instant, Event)>,
    bounds: BoundChanges,
}

impl Events {
    /// Selects the kinds of events to queue.
    pub fn set_mask(&mut self, mask: EventMask) {
        self.mask = mask;
    }

    /// True if events of this kind are selected.
    #[inline]
    pub const fn wants(&self, kind: EventMask) -> bool {
        self.mask.intersects(kind)
    }

    /// Queues the event that `make` builds, if its `kind` is selected.
    #[inline]
    pub fn push(&mut self, at: Instant, kind: EventMask, make: impl FnOnce() -> Event) {
        if self.wants(kind) {
            self.queue_event(at, make);
        }
    }

    /// Builds the event here, so that the caller reserves no stack space for an event that is
    /// rarely wanted.
    #[cold]
    #[inline(never)]
    fn queue_event(&mut self, at: Instant, make: impl FnOnce() -> Event) {
        let event = make();
        if self.bounds.is_pending() {
            let change = self.bounds.settle(at);
            self.queue_change(change);
        }
        self.queue.push((at, event));
    }

    /// Queues [`Event::Lost`] for packets that a receiver misses, at most for
    /// [`MAX_MISSING`] of them.
    #[cold]
    pub fn push_missing(&mut self, at: Instant, numbers: impl Iterator<Item = u64>) {
        if !self.wants(EventMask::PACKET) {
            return;
        }
        for number in numbers.take(MAX_MISSING) {
            self.push(at, EventMask::PACKET, || Event::Lost {
                number,
                size: 0,
                trigger: LossTrigger::PacketThreshold,
                packet_type: PacketType::None,
            });
        }
    }

    /// Records the bound that limits the sender from now on. A change becomes an event, after the
    /// other events of this instant.
    pub fn block(&mut self, now: Instant, bound: SndLim) {
        if self.wants(EventMask::BOUND) {
            let change = self.bounds.set(now, bound);
            self.queue_change(change);
        }
    }

    /// True if the bound changed at this instant. The window is reported before the change becomes
    /// an event, so that each bound follows the window to which it belongs.
    #[inline]
    pub const fn bound_has_changed(&self) -> bool {
        self.bounds.is_pending()
    }

    fn queue_change(&mut self, change: Option<(Instant, SndLim)>) {
        if let Some((at, bound)) = change {
            self.queue.push((at, Event::Blocked(bound)));
        }
    }

    /// True if no event is queued.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.queue.is_empty() && !self.bounds.is_pending()
    }

    /// Removes all events, oldest first, after passing them to `take` as a slice; keeps the
    /// capacity.
    pub fn take_all(&mut self, take: impl FnOnce(&[(Instant, Event)])) {
        let change = self.bounds.take();
        self.queue_change(change);
        take(&self.queue);
        self.queue.clear();
    }

    /// Removes all events, oldest first; keeps the capacity.
    pub fn drain(&mut self) -> impl Iterator<Item = (Instant, Event)> + '_ {
        let change = self.bounds.take();
        self.queue_change(change);
        self.queue.drain(..)
    }
}

/// The component that an event comes from: the number that the driver gave it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EventSource(pub u32);

/// A change of a queue's length: an [`Event::Queue`] with its time, small because drivers keep
/// many.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueueChange {
    /// When it changed.
    pub at: Instant,
    /// Packets from then on.
    pub packets: u32,
    /// Octets from then on.
    pub bytes: u64,
}

impl QueueChange {
    /// The event.
    pub const fn event(self) -> Event {
        Event::Queue {
            packets: self.packets,
            bytes: self.bytes,
        }
    }
}

/// A receiver of trace events.
pub trait Probe {
    /// Takes the next event; times of one source never decrease. An event of another source may be
    /// earlier, because the changes of a plain link's queue arrive many at once.
    fn record(&mut self, at: Instant, source: EventSource, event: &Event);

    /// Takes the next events of one source, with their times.
    fn record_all(&mut self, source: EventSource, events: &[(Instant, Event)]) {
        for (at, event) in events {
            self.record(*at, source, event);
        }
    }

    /// Takes the next changes of one queue.
    fn record_queue(&mut self, source: EventSource, changes: &[QueueChange]) {
        for change in changes {
            self.record(change.at, source, &change.event());
        }
    }
}

impl Probe for () {
    fn record(&mut self, _: Instant, _: EventSource, _: &Event) {}
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Default)]
    struct Seen(Vec<(u64, EventSource, Event)>);

    impl Probe for Seen {
        fn record(&mut self, at: Instant, source: EventSource, event: &Event) {
            self.0.push((at.as_nanos(), source, *event));
        }
    }

    #[test]
    fn changes_of_a_queue_are_events_to_a_probe_that_takes_no_changes() {
        let changes = [(5, 2, 3000), (9, 1, 1500)].map(|(nanos, packets, bytes)| QueueChange {
            at: Instant::from_nanos(nanos),
            packets,
            bytes,
        });
        let mut seen = Seen::default();
        seen.record_queue(EventSource(3), &changes);
        let length = |packets, bytes| Event::Queue { packets, bytes };
        let expected = [
            (5, EventSource(3), length(2, 3000)),
            (9, EventSource(3), length(1, 1500)),
        ];
        assert_eq!(seen.0, expected);
    }
}
