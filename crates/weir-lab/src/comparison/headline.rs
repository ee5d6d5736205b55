//! The measures of a summary by which runs are compared.

/// Which direction of a measure users want.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Better {
    /// More is better.
    Higher,
    /// Less is better.
    Lower,
    /// It depends on the question.
    Neither,
}

/// A measure that comparisons show and judge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Headline {
    /// Its JSON pointer below a flow or a link of the summary, without the first slash.
    pub pointer: &'static str,
    /// Its name for people.
    pub label: &'static str,
    /// Its unit; empty for counts and shares.
    pub unit: &'static str,
    /// Which direction users want.
    pub better: Better,
}

const fn measure(
    pointer: &'static str,
    label: &'static str,
    unit: &'static str,
    better: Better,
) -> Headline {
    Headline {
        pointer,
        label,
        unit,
        better,
    }
}

/// The measures of flows and links, in the order in which they are shown. A summary has those that
/// apply.
pub const HEADLINE: &[Headline] = &[
    measure("goodput_bps", "goodput", "bit/s", Better::Higher),
    measure("throughput_bps", "throughput", "bit/s", Better::Neither),
    measure("completion_time_s", "completion time", "s", Better::Lower),
    measure("packets_sent", "packets sent", "", Better::Neither),
    measure("packets_lost", "packets lost", "", Better::Lower),
    measure(
        "retransmissions/packets",
        "packets retransmitted",
        "",
        Better::Lower,
    ),
    measure("retransmissions/timeouts", "timeouts", "", Better::Lower),
    measure(
        "loss_event_rate",
        "loss events per packet",
        "",
        Better::Neither,
    ),
    measure("rtt_s/mean", "round-trip time, mean", "s", Better::Lower),
    measure("rtt_s/p95", "round-trip time, p95", "s", Better::Lower),
    measure(
        "one_way_delay_s/p95",
        "one-way delay, p95",
        "s",
        Better::Lower,
    ),
    measure("jitter_s", "jitter", "s", Better::Lower),
    measure(
        "goodput_cov/1",
        "variation of goodput over 1 s",
        "",
        Better::Lower,
    ),
    measure("audio/silence_s", "silence", "s", Better::Lower),
    measure("utilisation", "utilisation", "", Better::Higher),
    measure("drops", "drops", "", Better::Lower),
    measure("marks", "marks", "", Better::Neither),
    measure("queue_bytes/mean", "queue, mean", "bytes", Better::Lower),
];
