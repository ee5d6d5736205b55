//! `tfrc = { … }`: every rule of a TFRC profile by its own key.
//!
//! The defaults are those of the flow's `profile`, so that a single rule can be changed and its
//! effect studied alone.

use super::send_ahead::Ahead;
use super::value::{Choice, Count, Fraction, OrWord};
use super::visit::{Need, Section, Visitor};
use weir_proto::cc::tfrc::{
    Arithmetic, BeforeFeedback, CounterGuard, CounterOnAck, DataLength, Discounting, EquationForm,
    FeedbackOptions, FirstFeedback, FirstInterval, FirstPacketLoss, FirstRtt, HalvingWithoutLoss,
    HandshakeRtt, IdleRule, InitialWindow, LossEventRule, NofeedbackExemption, Oscillation,
    OscillationInSlowStart, Profile, RateAfterExpiry, ReceiveRateRule, ReceiverRttRule, RtoRate,
    RttOption, SegmentSizeRule, SendCredit, SlowStartFloor, TimerTick, WindowBase, ZeroRtt,
};

/// A key whose value is one of a few words.
fn choice<T: Clone + PartialEq>(
    v: &mut dyn Visitor,
    (key, doc): (&'static str, &'static str),
    slot: &mut T,
    words: &[(&'static str, T)],
) {
    v.value(key, doc, Need::Optional, &mut Choice { slot, words });
}

impl Section for Profile {
    fn visit(&mut self, v: &mut dyn Visitor) {
        visit_numbers(self, v);
        visit_rtt(self, v);
        visit_rate(self, v);
        visit_nofeedback(self, v);
        visit_sending(self, v);
        visit_receiver(self, v);
        let doc = "Rules that were proposed for wireless links; none by default.";
        v.section("wireless", doc, &mut self.wireless);
    }
}

fn visit_numbers(profile: &mut Profile, v: &mut dyn Visitor) {
    choice(
        v,
        (
            "arithmetic",
            "How numbers are kept: floating point, or Linux's integers.",
        ),
        &mut profile.arithmetic,
        &[
            ("float", Arithmetic::Float),
            ("kernel-integers", Arithmetic::KernelIntegers),
        ],
    );
    choice(
        v,
        (
            "equation",
            "How the throughput equation is computed: formula, or Linux's table.",
        ),
        &mut profile.equation,
        &[
            ("formula", EquationForm::Formula),
            ("kernel-table", EquationForm::KernelTable),
        ],
    );
    v.value(
        "loss_event_rate_floor",
        "The least p above zero; 0 for none.",
        Need::Optional,
        &mut Fraction(&mut profile.loss_event_rate_floor),
    );
}

fn visit_rtt(profile: &mut Profile, v: &mut dyn Visitor) {
    let optional = Need::Optional;
    choice(
        v,
        (
            "handshake_rtt",
            "Whether the handshake gives the first round-trip time.",
        ),
        &mut profile.handshake_rtt,
        &[("ignore", HandshakeRtt::Ignore), ("use", HandshakeRtt::Use)],
    );
    let initial_rtt = &mut OrWord {
        slot: &mut profile.initial_rtt,
        word: "undefined",
        inner: |slot| Box::new(slot),
    };
    let doc = "R before any sample, a duration; \"undefined\" for none.";
    v.value("initial_rtt", doc, optional, initial_rtt);
    choice(
        v,
        (
            "first_rtt",
            "Whether the first feedback's sample replaces R or is filtered into it.",
        ),
        &mut profile.first_rtt,
        &[("replace", FirstRtt::Replace), ("filter", FirstRtt::Filter)],
    );
    let doc = "q, the weight of the old R in R = q R + (1 - q) R_sample.";
    v.value(
        "rtt_filter",
        doc,
        optional,
        &mut Fraction(&mut profile.rtt_filter),
    );
    let doc = "Samples below this duration are raised to it.";
    v.value("rtt_min", doc, optional, &mut profile.rtt_min);
    let doc = "Samples above this duration are cut to it; \"unlimited\" cuts none.";
    let value = &mut OrWord {
        slot: &mut profile.rtt_max,
        word: "unlimited",
        inner: |slot| Box::new(slot),
    };
    v.value("rtt_max", doc, optional, value);
    let doc = "The duration that replaces a sample that is not positive.";
    v.value("unusable_rtt", doc, optional, &mut profile.unusable_rtt);
    choice(
        v,
        ("zero_rtt", "What a sample of exactly zero does."),
        &mut profile.zero_rtt,
        &[
            ("replace", ZeroRtt::Replace),
            ("drop-feedback", ZeroRtt::DropFeedback),
        ],
    );
}

fn visit_rate(profile: &mut Profile, v: &mut dyn Visitor) {
    choice(
        v,
        (
            "segment_size",
            "What s is: the average or largest payload, or MSS.",
        ),
        &mut profile.segment_size,
        &[
            ("average", SegmentSizeRule::Average),
            ("largest", SegmentSizeRule::Largest),
            ("mss", SegmentSizeRule::MaximumSegmentSize),
        ],
    );
    choice(
        v,
        (
            "initial_window",
            "W_init: one segment, or that of RFC 3390.",
        ),
        &mut profile.initial_window,
        &[
            ("one-segment", InitialWindow::OneSegment),
            ("rfc3390", InitialWindow::Rfc3390),
        ],
    );
    choice(
        v,
        (
            "initial_window_base",
            "What W_init is computed from: s, or MSS.",
        ),
        &mut profile.initial_window_base,
        &[
            ("segment-size", WindowBase::SegmentSize),
            ("mss", WindowBase::MaximumSegmentSize),
        ],
    );
    choice(
        v,
        (
            "first_feedback",
            "What the first feedback does to X: as any, or X = W_init/R.",
        ),
        &mut profile.first_feedback,
        &[
            ("ordinary", FirstFeedback::Ordinary),
            ("initial-rate", FirstFeedback::InitialRate),
        ],
    );
    choice(
        v,
        (
            "rate_after_expiry",
            "What the first feedback after a nofeedback expiry does to X while p = 0.",
        ),
        &mut profile.rate_after_expiry,
        &[
            ("ordinary", RateAfterExpiry::Ordinary),
            ("keep", RateAfterExpiry::Keep),
        ],
    );
    visit_idle(profile, v);
    choice(
        v,
        (
            "slow_start_floor",
            "The least X of slow start: s/R, or W_init/R.",
        ),
        &mut profile.slow_start_floor,
        &[
            ("segment-per-rtt", SlowStartFloor::SegmentPerRtt),
            ("initial-rate", SlowStartFloor::InitialRate),
        ],
    );
}

fn visit_idle(profile: &mut Profile, v: &mut dyn Visitor) {
    let count = &mut Count {
        slot: &mut profile.idle_round_trips,
        min: 0,
        max: 1_000_000,
        unit: "round trips",
    };
    let doc = "Round trips of silence after which \"window-counter\" says idle.";
    v.value("idle_round_trips", doc, Need::Optional, count);
    let rule = &mut profile.idle_rule;
    choice(
        v,
        (
            "idle_rule",
            "When the sender counts as idle or data-limited.",
        ),
        rule,
        &[
            ("never", IdleRule::Never),
            ("nothing-sent", IdleRule::NothingSentSince),
            ("window-counter", IdleRule::WindowCounter),
            ("data-limited", IdleRule::DataLimitedIntervals),
        ],
    );
    if profile.idle_rule != IdleRule::WindowCounter {
        profile.idle_round_trips = 2;
    }
}

fn visit_nofeedback(profile: &mut Profile, v: &mut dyn Visitor) {
    choice(
        v,
        (
            "halving_without_loss",
            "How X is halved on expiry while p = 0.",
        ),
        &mut profile.halving_without_loss,
        &[
            ("direct", HalvingWithoutLoss::Direct),
            ("via-receive-rate", HalvingWithoutLoss::ViaReceiveRate),
        ],
    );
    choice(
        v,
        (
            "nofeedback_exemption",
            "When an expiry does not reduce the rate of an idle sender.",
        ),
        &mut profile.nofeedback_exemption,
        &[
            ("none", NofeedbackExemption::None),
            (
                "four-packets-per-rtt",
                NofeedbackExemption::FourPacketsPerRtt,
            ),
            ("recover-rate", NofeedbackExemption::RecoverRate),
        ],
    );
    v.value(
        "nofeedback_min",
        "The least interval of the nofeedback timer, a duration.",
        Need::Optional,
        &mut profile.nofeedback_min,
    );
    choice(
        v,
        (
            "nofeedback_before_feedback",
            "The timer's interval while no feedback has come.",
        ),
        &mut profile.nofeedback_before_feedback,
        &[
            ("two-seconds", BeforeFeedback::TwoSeconds),
            ("two-intervals", BeforeFeedback::TwoIntervals),
        ],
    );
    choice(
        v,
        (
            "nofeedback_rate",
            "Which X the timer's interval takes: before or after the update.",
        ),
        &mut profile.nofeedback_rate,
        &[
            ("previous", RtoRate::Previous),
            ("updated", RtoRate::Updated),
        ],
    );
    let mut hz = match profile.timer_tick {
        TimerTick::Ideal => None,
        TimerTick::Hz(hz) => Some(hz),
    };
    let doc = "Ticks a second of the CCID's timers, in hertz; \"ideal\" is exact.";
    let value = &mut OrWord {
        slot: &mut hz,
        word: "ideal",
        inner: |slot| {
            let (min, max, unit) = (1, 1_000_000_000, "hertz");
            Box::new(Count {
                slot,
                min,
                max,
                unit,
            })
        },
    };
    v.value("timer_tick", doc, Need::Optional, value);
    profile.timer_tick = hz.map_or(TimerTick::Ideal, TimerTick::Hz);
}

fn visit_sending(profile: &mut Profile, v: &mut dyn Visitor) {
    choice(
        v,
        (
            "counter_guard",
            "What happens to the window counter when R is very small.",
        ),
        &mut profile.counter_guard,
        &[
            ("none", CounterGuard::None),
            ("freeze-below-4us", CounterGuard::FreezeBelow4Micros),
            ("raise-rtt", CounterGuard::RaiseRtt),
        ],
    );
    choice(
        v,
        (
            "counter_on_ack",
            "Whether an acknowledgement moves the window counter.",
        ),
        &mut profile.counter_on_ack,
        &[
            ("ignore", CounterOnAck::Ignore),
            ("at-least-four-more", CounterOnAck::AtLeastFourMore),
        ],
    );
    choice(
        v,
        (
            "send_credit",
            "How much unused sending time may be used later.",
        ),
        &mut profile.send_credit,
        &[
            ("unlimited", SendCredit::Unlimited),
            ("one-round-trip", SendCredit::OneRoundTrip),
        ],
    );
    let doc = "t_delta, how long before its time a packet may leave: a rule, or a duration.";
    v.value(
        "send_ahead",
        doc,
        Need::Optional,
        &mut Ahead(&mut profile.send_ahead),
    );
    choice(
        v,
        ("oscillation", "Oscillation reduction (RFC 5348 §4.5)."),
        &mut profile.oscillation,
        &[
            ("off", Oscillation::Off),
            ("full", Oscillation::Full),
            ("increase-only", Oscillation::IncreaseOnly),
        ],
    );
    choice(
        v,
        (
            "oscillation_in_slow_start",
            "Whether oscillation reduction applies while p = 0.",
        ),
        &mut profile.oscillation_in_slow_start,
        &[
            ("applied", OscillationInSlowStart::Applied),
            ("exempt", OscillationInSlowStart::Exempt),
        ],
    );
    choice(
        v,
        (
            "rtt_option",
            "Whether the sender tells its R in an option (RFC 6323).",
        ),
        &mut profile.rtt_option,
        &[("off", RttOption::Off), ("send", RttOption::Send)],
    );
}

fn visit_receiver(profile: &mut Profile, v: &mut dyn Visitor) {
    choice(
        v,
        (
            "receiver_rtt",
            "When the receiver samples the round-trip time.",
        ),
        &mut profile.receiver_rtt,
        &[
            ("always", ReceiverRttRule::Always),
            ("before-first-loss", ReceiverRttRule::BeforeFirstLoss),
        ],
    );
    choice(
        v,
        (
            "receive_rate",
            "Over which time the receiver measures X_recv.",
        ),
        &mut profile.receive_rate,
        &[
            ("since-feedback", ReceiveRateRule::SinceFeedback),
            ("at-least-round-trip", ReceiveRateRule::AtLeastRoundTrip),
        ],
    );
    choice(
        v,
        (
            "feedback_options",
            "Which options feedback carries besides Receive Rate.",
        ),
        &mut profile.feedback_options,
        &[
            ("loss-event-rate", FeedbackOptions::LossEventRate),
            ("loss-intervals", FeedbackOptions::LossIntervals),
            ("both", FeedbackOptions::Both),
        ],
    );
    let mut threshold = match profile.discounting {
        Discounting::Off => None,
        Discounting::Threshold(threshold) => Some(threshold),
    };
    let doc = "History discounting: the least discount factor in 0..1, or \"off\".";
    let value = &mut OrWord {
        slot: &mut threshold,
        word: "off",
        inner: |slot| Box::new(Fraction(slot)),
    };
    v.value("discounting", doc, Need::Optional, value);
    profile.discounting = threshold.map_or(Discounting::Off, Discounting::Threshold);
    choice(
        v,
        (
            "first_interval",
            "From which rate the interval before the first loss is made.",
        ),
        &mut profile.first_interval,
        &[
            ("since-feedback", FirstInterval::SinceFeedback),
            ("last-receive-rate", FirstInterval::LastReceiveRate),
            ("greatest-receive-rate", FirstInterval::GreatestReceiveRate),
        ],
    );
    choice(
        v,
        (
            "first_packet_loss",
            "Whether a loss of the first data packets is seen.",
        ),
        &mut profile.first_packet_loss,
        &[
            ("unseen", FirstPacketLoss::Unseen),
            ("counted", FirstPacketLoss::Counted),
        ],
    );
    choice(
        v,
        (
            "loss_event_rule",
            "What separates loss events: window counters, or times of arrival.",
        ),
        &mut profile.loss_event_rule,
        &[
            ("window-counter", LossEventRule::WindowCounter),
            ("arrival-time", LossEventRule::ArrivalTime),
        ],
    );
    choice(
        v,
        (
            "data_length",
            "Which packets count in the length of a loss interval.",
        ),
        &mut profile.data_length,
        &[
            ("without-non-data", DataLength::WithoutNonData),
            ("all-packets", DataLength::AllPackets),
        ],
    );
}
