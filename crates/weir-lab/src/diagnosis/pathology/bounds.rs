//! Senders that neither the path nor congestion control holds.

use super::{Detector, any, each_flow, turns};
use crate::diagnosis::Statistic;
use crate::diagnosis::finding::{Evidence, Finding, Pathology, RemedyPlace, Statement};
use crate::diagnosis::view::{FlowView, View};
use weir_net::AppConfig;

/// An application that writes less than the path carries.
pub(super) const APPLICATION: Detector = Detector {
    about: &Pathology {
        kind: "application_limited",
        title: "limited by the application",
        definition: "For more than half of its time, no data waits at a sender of a stream whose application, by \
                     the scenario, is not requests and responses or media. The time of a captured connection \
                     ends with its last data, and pauses between the turns of its ends do not count.",
        citation: "RFC 7661 §4; RFC 4898, tcpEStatsPerfSndLimTimeSnd",
        needs: &["bound"],
    },
    applies: any,
    examine: |view| {
        each_flow(view, |_, flow| {
            let symptom = "The application had nothing to send for {} of the time.";
            let share = bound(flow, "application")?;
            let is_meant = match flow.declared.map(|flow| &flow.app) {
                Some(AppConfig::Cbr(_)) => !flow.is_stream(),
                Some(AppConfig::Bulk(_)) => false,
                // Requests and responses pause between turns, and others within one.
                None => {
                    let [from, until] = share.span_s.unwrap_or_default();
                    let idle = share.value * (until - from);
                    turns::between(flow).is_some_and(|between| between >= MOST * idle)
                }
                Some(_) => true,
            };
            let enough = share.value > MOST && !is_meant;
            enough.then(|| finding(&APPLICATION, flow, share, symptom))
        })
    },
};

/// A send buffer below the bandwidth-delay product.
pub(super) const SEND_BUFFER: Detector = Detector {
    about: &Pathology {
        kind: "send_buffer_limited",
        title: "limited by the send buffer",
        definition: "For more than half of its time, all data of a full send buffer was sent and waits \
                     for acknowledgements; by the counters of a socket, of the time in which it had data \
                     to send.",
        citation: "RFC 4898, tcpEStatsPerfSndLimTimeSnd; Linux tcp_info, tcpi_sndbuf_limited",
        needs: &["bound"],
    },
    applies: is_not_counted,
    examine: |view| {
        each_flow(view, |_, flow| {
            let symptom = "All data of the send buffer was sent, and waited for acknowledgements, for \
                           {} of the time.";
            let share = bound(flow, "send_buffer").filter(|share| share.value > MOST);
            let Some(share) = share else {
                return counted(flow, &SEND_BUFFER, "send_buffer_limited_s");
            };
            let found = finding(&SEND_BUFFER, flow, share, symptom);
            let keys: &[&str] = if flow.transport == "tcp" {
                &["send_buffer"]
            } else {
                &[]
            };
            Some(larger(found, flow, RemedyPlace::Sender, keys))
        })
    },
};

/// A receiver that allows less than the bandwidth-delay product.
pub(super) const RECEIVER: Detector = Detector {
    about: &Pathology {
        kind: "receiver_limited",
        title: "limited by the receive window",
        definition: "For more than half of its time, the receiver's window or credit allows no more \
                     data; by the counters of a socket, of the time in which it had data to send.",
        citation: "RFC 9293 §3.8.6; RFC 9000 §4.1; RFC 4898, tcpEStatsPerfSndLimTimeRwin",
        needs: &["bound"],
    },
    applies: is_not_counted,
    examine: |view| each_flow(view, receiver),
};

/// A pacer that is slower than window and path.
pub(super) const PACER: Detector = Detector {
    about: &Pathology {
        kind: "pacer_limited",
        title: "limited by the pacer",
        definition: "For more than half of its time, a pacer delays data for which the window has \
                     room, and the slowest link is used for less than 80 % of the time.",
        citation: "RFC 9002 §7.7",
        needs: &["bound"],
    },
    applies: any,
    examine: |view| each_flow(view, pacer),
};

/// A server that may not send before the client's address is validated.
pub(super) const ANTI_AMPLIFICATION: Detector = Detector {
    about: &Pathology {
        kind: "anti_amplification_limited",
        title: "held by the anti-amplification limit",
        definition: "The limit of three times the received octets holds a server for longer than a base \
                     round-trip time.",
        citation: "RFC 9000 §8.1",
        needs: &["bound"],
    },
    applies: any,
    examine: |view| each_flow(view, anti_amplification),
};

/// A window that is neither filled nor reduced.
pub(super) const OTHER: Detector = Detector {
    about: &Pathology {
        kind: "not_congestion_limited",
        title: "held by something other than congestion control",
        definition: "In an imported trace without the column bound, the congestion window stays the same for more \
                     than half of at least 5 rows in a row, no packet is lost and the rate varies by less than 0.2 \
                     of its mean in that time. A window that is used in full would grow.",
        citation: "RFC 7661 §4.3; RFC 9002 §7.8; Linux tcp_is_cwnd_limited",
        needs: &["cwnd_bytes"],
    },
    applies: is_without_bounds,
    examine: |view| each_flow(view, |_, flow| other(flow)),
};

/// The rows in a row in which a window stays the same, and by how much the rate varies in them.
const SAME_ROWS: usize = 5;
const STEADY: f64 = 0.2;

/// The share of the time above which a bound decides what a flow gets.
const MOST: f64 = 0.5;

/// The share of a flow's time in which this bound held it. What follows the last data of a captured
/// connection is the end of the capture.
fn bound(flow: &FlowView<'_>, word: &str) -> Option<Evidence> {
    let mut rows = flow.alive();
    if let Some(last) = turns::last_data_s(flow) {
        let before = flow.main.times().partition_point(|time| *time < last);
        rows.end = rows.end.min(before.max(1));
    }
    flow.main.share("bound", word, rows)
}

/// True unless the counters of a socket say what its rows do not.
fn is_not_counted(flow: &FlowView<'_>) -> bool {
    flow.counter("busy_s").is_none()
}

/// A bound that held a socket for most of the time in which it had data to send, by its counters:
/// of a trace whose rows do not say it, such as a single sample.
fn counted(flow: &FlowView<'_>, detector: &Detector, column: &str) -> Option<Finding> {
    let bounds = flow.main.words("bound");
    if bounds.iter().any(|bound| !bound.is_empty()) {
        return None;
    }
    let (held, busy) = (flow.counter(column)?, flow.counter("busy_s")?);
    let share = held.value / busy.value;
    if share.is_nan() || share <= MOST {
        return None;
    }
    let share_of = Evidence::given("derived", "held_share", share);
    let symptom = Statement::new(
        "For {} of the {} in which the socket had data to send, {}, this held it.",
        vec![held, busy, share_of],
    );
    Some(Finding::new(detector.about, flow.name, share, symptom))
}

fn finding(detector: &Detector, flow: &FlowView<'_>, share: Evidence, symptom: &str) -> Finding {
    let severity = share.value;
    let word = match &share.statistic {
        Some(Statistic::ShareOf(word)) => word.clone(),
        _ => String::new(),
    };
    let learnt = flow.main.share("rate_limited_by", &word, flow.alive());
    let learnt = learnt.filter(|learnt| flow.has_model() && learnt.value > 0.0);
    let symptom = Statement::new(symptom, vec![share]);
    Finding::new(detector.about, flow.name, severity, symptom).because(
        "The controller's estimate of the bandwidth came from samples that this limited, for {} of the time: \
         its pacer sends no faster until it probes.",
        learnt.map(|learnt| vec![learnt]),
    )
}

/// With the remedy that settings of octets become twice the bandwidth-delay product, or, of QUIC,
/// four times: a receiver renews credit when half of it is used (RFC 9000 §4.2).
fn larger(finding: Finding, flow: &FlowView<'_>, place: RemedyPlace, keys: &[&str]) -> Finding {
    let (times, text) = if flow.transport == "quic" {
        (
            4.0,
            "credit of four times the bandwidth-delay product, half of which is used before it is renewed",
        )
    } else {
        (2.0, "buffers of twice the bandwidth-delay product")
    };
    if flow.declared.is_none() {
        return finding.advice(place, text);
    }
    let octets = flow
        .bdp()
        .map(|bdp| format!("{:.0}", (times * bdp.value).max(65_536.0)));
    let set = octets.map(|octets| {
        let set = keys.iter().map(|key| (flow.setting(key), octets.clone()));
        set.collect::<Vec<_>>()
    });
    finding.remedy(place, text, set.filter(|set| !set.is_empty()))
}

fn receiver(_: &View<'_>, flow: &FlowView<'_>) -> Option<Finding> {
    let share = bound(flow, "receiver_credit").filter(|share| share.value > MOST);
    let Some(share) = share else {
        return counted(flow, &RECEIVER, "receiver_limited_s");
    };
    let symptom = "The receiver's window or credit allowed no more data for {} of the time.";
    let most = flow
        .main
        .measure("receive_window_bytes", flow.alive(), Statistic::Most);
    let found = finding(&RECEIVER, flow, share, symptom).because(
        "It allowed {} at most, and the path holds {}.",
        most.zip(flow.bdp())
            .map(|(most, needed)| vec![most, needed]),
    );
    let keys: &[&str] = match flow.transport {
        "tcp" => &["receive_buffer"],
        "quic" => &["initial_max_data", "initial_max_stream_data"],
        _ => &[],
    };
    Some(larger(found, flow, RemedyPlace::Receiver, keys))
}

fn pacer(view: &View<'_>, flow: &FlowView<'_>) -> Option<Finding> {
    let share = bound(flow, "pacer").filter(|share| share.value > MOST)?;
    let link = view.bottleneck(flow)?;
    let used = link.summary?.utilisation;
    if used >= 0.8 {
        return None;
    }
    let symptom = "The pacer delayed data, for which the window had room, for {} of the time.";
    let said = format!("The link {} was used for {{}} of the time.", link.name);
    let used = vec![link.given("utilisation", used)];
    Some(finding(&PACER, flow, share, symptom).because(&said, Some(used)))
}

fn anti_amplification(_: &View<'_>, flow: &FlowView<'_>) -> Option<Finding> {
    let base = flow.base.clone()?;
    let words = flow.main.words("bound");
    let is_held = |row: usize| {
        words
            .get(row)
            .is_some_and(|word| &**word == "anti_amplification")
    };
    let longest = flow.main.longest(is_held)?;
    let length = flow.main.measure("time_s", longest, Statistic::Length)?;
    if length.value <= base.value {
        return None;
    }
    let severity = 0.3;
    let symptom = Statement::new(
        "The server waited for {} until it might send more, on a path of {}.",
        vec![length, base],
    );
    Some(Finding::new(
        ANTI_AMPLIFICATION.about,
        flow.name,
        severity,
        symptom,
    ))
}

fn is_without_bounds(flow: &FlowView<'_>) -> bool {
    flow.declared.is_none() && flow.transport == "tcp" && !flow.has("bound")
}

fn other(flow: &FlowView<'_>) -> Option<Finding> {
    if !is_without_bounds(flow) {
        return None;
    }
    let windows = flow.main.numbers("cwnd_bytes")?;
    let intervals = flow.intervals.as_ref()?;
    let same = flow
        .main
        .longest(|row| row > 0 && windows.get(row) == windows.get(row - 1))?;
    let times = flow.main.times();
    let span = [*times.get(same.start)?, *times.get(same.end - 1)?];
    // An interval's time is its end: that of its first row is of the window before.
    let of = intervals.times().partition_point(|time| *time < span[0])
        ..intervals.times().partition_point(|time| *time <= span[1]);
    let lost = intervals.measure("packets_lost", of.clone(), Statistic::Sum)?;
    let rate = intervals.measure("goodput_bps", of.clone(), Statistic::Mean)?;
    let varies = intervals.measure("goodput_bps", of, Statistic::Variation)?;
    let is_long = same.len() >= SAME_ROWS && 2 * same.len() > windows.len();
    if !is_long || lost.value > 0.0 || varies.value >= STEADY || rate.value <= 0.0 {
        return None;
    }
    let window = flow.main.measure("cwnd_bytes", same, Statistic::Least)?;
    let symptom = Statement::new(
        "The congestion window stays at {} without a loss ({} packets), while the rate stays at {} and varies \
         by {} of it.",
        vec![window, lost, rate, varies],
    );
    let finding = Finding::new(OTHER.about, flow.name, 0.3, symptom).over(span);
    Some(finding.advice(
        RemedyPlace::Sender,
        "what else may hold it, which this trace does not tell apart: the send or receive buffer \
         (without -w, or larger net.ipv4.tcp_wmem and tcp_rmem), the application, or the rate of the \
         sender's own link",
    ))
}
