//! Waits that are none of the path: clocks, tables and delayed acknowledgements.

use super::{Detector, any, each_flow, tfrc};
use crate::diagnosis::Statistic;
use crate::diagnosis::finding::{Evidence, Finding, Pathology, RemedyPlace, Statement};
use crate::diagnosis::view::{FlowView, View};

/// A clock that is coarser than the waits that it should time.
pub(super) const TICKS: Detector = Detector {
    about: &Pathology {
        kind: "timer_granularity",
        title: "coarse timer granularity",
        definition: "The sender's timers fire at ticks, in each of which 4 packets or more are due by t_ipi or \
                     the pacing rate for half of the time, and rate or pacer holds the sender for half of \
                     the time or more.",
        citation: "RFC 5348 §4.6 and §8.3; RFC 4342 §10.2",
        needs: &["bound"],
    },
    applies: any,
    examine: |view| each_flow(view, ticks),
};

/// The least loss event rate that an equation's table knows.
pub(super) const FLOOR: Detector = Detector {
    about: &Pathology {
        kind: "equation_table_floor",
        title: "loss event rate at the least of the equation's table",
        definition: "For half of the time or more the equation holds the rate while the loss event rate is \
                     not above 0.01 %, the least value of Linux's table.",
        citation: "Linux net/dccp/ccids/lib/tfrc_equation.c, TFRC_SMALLEST_P",
        needs: &["loss_event_rate", "limit"],
    },
    applies: tfrc,
    examine: |view| each_flow(view, floor),
};

/// Acknowledgements that wait for a timer.
pub(super) const DELAYED: Detector = Detector {
    about: &Pathology {
        kind: "delayed_ack_stall",
        title: "stall by delayed acknowledgements",
        definition: "The window holds the sender for half of the time or more, the round trip exceeds the \
                     base by more than half of it and 10 ms for half of the time, the mean queues on the path \
                     account for less than a quarter of that, and the slowest link is used for less than \
                     half of the time.",
        citation: "RFC 1122 §4.2.3.2; RFC 9000 §13.2.1; RFC 2525 §2.11",
        needs: &["rtt_s", "cwnd_bytes", "bound"],
    },
    applies: any,
    examine: |view| each_flow(view, delayed),
};

/// Acknowledgements that arrive in bursts.
pub(super) const COMPRESSED: Detector = Detector {
    about: &Pathology {
        kind: "ack_compression",
        title: "ACK compression",
        definition: "More than half of all octets are acknowledged faster than twice the rate of the \
                     slowest link, in pieces of 4 packets or more that follow a pause, each by two \
                     acknowledgements or more.",
        citation: "L. Zhang, S. Shenker and D. Clark, 1991; RFC 3449 §2; RFC 8511 §1",
        needs: &["delivered_bytes"],
    },
    applies: any,
    examine: |view| each_flow(view, compressed),
};

/// Packets that are due within a tick from which on it is too coarse.
const BURST: f64 = 4.0;

fn ticks(_: &View<'_>, flow: &FlowView<'_>) -> Option<Finding> {
    let hz = flow.timer_hz?;
    let tick = 1.0 / f64::from(hz);
    let rows = flow.alive();
    let median = |column: &str| {
        flow.main
            .measure(column, rows.clone(), Statistic::Quantile(0.5))
    };
    let (word, paced, wait) = if flow.is_tfrc() {
        let interval = median("ipi_s")?;
        let wait = interval.value;
        ("rate", interval, wait)
    } else {
        let rate = median("pacing_rate_bps")?;
        let wait = 8.0 * flow.packet_bytes() / rate.value;
        ("pacer", rate, wait)
    };
    let share = flow.main.share("bound", word, rows)?;
    if BURST * wait > tick || wait <= 0.0 || share.value < 0.5 {
        return None;
    }
    let from = flow.declared?.from.clone();
    let tick = Evidence::given("scenario", format!("host.{from}.tick_s"), tick);
    let said = if flow.is_tfrc() {
        "The allowed rate held the sender for {} of the time with {} between packets, and its timers fire \
         every {}, so that packets leave in bursts."
    } else {
        "The pacer held the sender for {} of the time at {}, and its timers fire every {}, so that packets \
         leave in bursts."
    };
    let symptom = Statement::new(said, vec![share, paced, tick]);
    let finding = Finding::new(TICKS.about, flow.name, 0.6, symptom);
    let set = vec![(format!("host.{from}.timer_hz"), "ideal")];
    Some(finding.remedy(
        RemedyPlace::Sender,
        "timers with a high resolution",
        Some(set),
    ))
}

/// The least p of Linux's table of the equation.
const SMALLEST_P: f64 = 1.0e-4;

fn floor(_: &View<'_>, flow: &FlowView<'_>) -> Option<Finding> {
    let rows = flow.after_slow_start()?;
    let median = flow
        .main
        .measure("loss_event_rate", rows.clone(), Statistic::Quantile(0.5))?;
    let share = flow.main.share("limit", "equation", rows)?;
    let is_least = median.value > 0.0 && median.value <= SMALLEST_P * 1.000_001;
    if !is_least || share.value < 0.5 {
        return None;
    }
    let symptom = Statement::new(
        "The loss event rate is {} or less for half of the time, the least that the equation's table knows, \
         and the equation holds the rate for {} of it.",
        vec![median, share],
    );
    let finding = Finding::new(FLOOR.about, flow.name, 0.3, symptom);
    let rules = flow.rules_of("rfc5348");
    Some(finding.remedy(RemedyPlace::Sender, "an equation without a table", rules))
}

fn delayed(view: &View<'_>, flow: &FlowView<'_>) -> Option<Finding> {
    let base = flow.base.clone()?;
    let rows = flow.alive();
    let share = flow.main.share("bound", "window", rows.clone())?;
    let median = |column: &str| {
        flow.main
            .measure(column, rows.clone(), Statistic::Quantile(0.5))
    };
    let (rtt, window) = (median("rtt_s")?, median("cwnd_bytes")?);
    let excess = rtt.value - base.value;
    let links = view.forward(flow).chain(view.backward(flow));
    let queues = links.filter_map(|link| Some(link.summary?.queue_bytes.mean));
    let queued = queues.fold(0.0, f64::max) * 8.0 / flow.rate_bps()?;
    let used = view.bottleneck(flow)?.summary;
    let idle = used.is_some_and(|link| link.utilisation < 0.5);
    let waits = excess > (0.5 * base.value).max(0.010) && queued < 0.25 * excess;
    if share.value < 0.5 || !waits || !idle {
        return None;
    }
    let symptom = Statement::new(
        "The window of {} held the sender for {} of the time, and the round trip took {} or more for half \
         of it, on a path of {} without a queue.",
        vec![window, share, rtt, base],
    );
    let finding = Finding::new(DELAYED.about, flow.name, 0.6, symptom);
    Some(finding.with_every_ack(flow))
}

fn compressed(_: &View<'_>, flow: &FlowView<'_>) -> Option<Finding> {
    let delivered = flow.main.numbers("delivered_bytes")?;
    let rate = flow.rate_bps()? / 8.0;
    let packet = flow.packet_bytes();
    let times = flow.main.times();
    let mut last = None::<(f64, f64)>;
    // Octets and acknowledgements since the last pause.
    let mut burst = (0.0, 0_u32);
    let (mut fast, mut all) = (0.0, 0.0);
    for (time, octets) in times.iter().zip(delivered) {
        let Some((before, known)) = last.filter(|_| octets.is_finite()) else {
            last = last.or(octets.is_finite().then_some((*time, *octets)));
            continue;
        };
        let more = octets - known;
        if more <= 0.0 {
            continue;
        }
        all += more;
        // Two packets of an acknowledgement follow within their transmission.
        if time - before < 0.5 * more / rate {
            burst = (burst.0 + more, burst.1 + 1);
        } else {
            // One acknowledgement of many packets is what its receiver was asked for.
            let is_compressed = burst.0 >= 4.0 * packet && burst.1 > 1;
            fast += if is_compressed { burst.0 } else { 0.0 };
            burst = (more, 1);
        }
        last = Some((*time, *octets));
    }
    if all < 200.0 * packet || fast < 0.5 * all {
        return None;
    }
    let rows = flow.alive();
    let grown = flow
        .main
        .measure("delivered_bytes", rows, Statistic::Growth)?;
    let share = Evidence::given("derived", "compressed_share", fast / all);
    let symptom = Statement::new(
        "Of {} acknowledged, {} came faster than twice the rate of the slowest link.",
        vec![grown, share],
    );
    Some(Finding::new(COMPRESSED.about, flow.name, 0.4, symptom))
}
