//! The measures of a summary that tables show and by which runs are compared.

use Better::{Higher, Lower, Neither};

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
    /// Its JSON pointer below a flow, a link or another part of the summary, without the first
    /// slash.
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

/// The measures of flows, transfers, groups, all flows together and links, in the order in which
/// they are shown, in comparisons and in the tables of several seeds. A summary has those that
/// apply.
pub const HEADLINE: &[Headline] = &[
    measure("goodput_bps", "goodput", "bit/s", Higher),
    measure("goodput_bps/mean", "goodput, mean", "bit/s", Higher),
    measure("throughput_bps", "throughput", "bit/s", Neither),
    measure("throughput_bps/mean", "throughput, mean", "bit/s", Neither),
    measure("jain_index", "Jain's index", "", Higher),
    measure("transfers", "begun", "", Neither),
    measure("completed", "completed", "", Higher),
    measure("completion_time_s", "completed in", "s", Lower),
    measure("completion_time_s/mean", "completed in, mean", "s", Lower),
    measure("completion_time_s/p50", "completed in, median", "s", Lower),
    measure("completion_time_s/p99", "completed in, 99 %", "s", Lower),
    measure("startup_s", "first 65,536 bytes in", "s", Lower),
    measure("recovery_s", "recovered after", "s", Lower),
    measure("packets_sent", "packets sent", "", Neither),
    measure("packets_lost", "packets lost", "", Lower),
    measure("retransmissions", "retransmitted", "", Lower),
    measure("retransmissions/packets", "retransmitted", "", Lower),
    measure("timeouts", "timeouts", "", Lower),
    measure("retransmissions/timeouts", "timeouts", "", Lower),
    measure("loss_event_rate", "loss events per packet", "", Neither),
    measure("rtt_s/mean", "round trip, mean", "s", Lower),
    measure("rtt_s/p95", "round trip, 95 %", "s", Lower),
    measure("one_way_delay_s/mean", "one-way delay, mean", "s", Lower),
    measure("one_way_delay_s/p95", "one-way delay, 95 %", "s", Lower),
    measure("queueing_delay_s/mean", "in queues, mean", "s", Lower),
    measure("jitter_s/mean", "jitter, mean", "s", Lower),
    measure("goodput_cov/1", "variation over 1 s", "", Lower),
    measure("audio/silence_s", "silence", "s", Lower),
    measure(
        "requests/completion_time_s/p50",
        "request, median",
        "s",
        Lower,
    ),
    measure(
        "requests/completion_time_s/p95",
        "request, 95 %",
        "s",
        Lower,
    ),
    measure("video/encoder_rate_bps", "video rate", "bit/s", Higher),
    measure("video/frame_delay_s/p95", "frame delay, 95 %", "s", Lower),
    measure("video/lost", "frames lost", "", Lower),
    measure("video/frozen_s", "frozen", "s", Lower),
    measure("utilisation", "utilisation", "", Higher),
    measure("drops", "drops", "", Lower),
    measure("queue_drops", "queue drops", "", Lower),
    measure("wire_losses", "wire losses", "", Lower),
    measure("marks", "marks", "", Neither),
    measure("queue_bytes/mean", "queue, mean", "bytes", Lower),
];
