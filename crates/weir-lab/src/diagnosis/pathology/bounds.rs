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
        definition: "For more than half of its time, no data waits at a sender of a stream whose application is \
                     not requests and responses or media, as far as the scenario says it, or as more than half \
                     of that time passes within turns of a captured connection; or a socket of which single samples are known has \
                     been idle for a second and for longer than it ever had data to send.",
        citation: "RFC 7661 §4; RFC 4898, tcpEStatsPerfSndLimTimeSnd",
        needs: &["bound"],
    },
    applies: any,
    examine: |view| {
        each_flow(view, |_, flow| {
            let symptom = "The application had nothing to send for {} of the time.";
            let Some(share) = bound(flow, "application") else {
                return idle(flow);
            };
            let is_meant = match flow.declared.map(|flow| &flow.app) {
                Some(AppConfig::Cbr(_)) => !flow.is_stream(),
                Some(AppConfig::Bulk(_)) => false,
                // Requests and responses pause between turns, and others within one.
                None => {
                    let idle = share.value * flow.main.length(&flow.alive());
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
    applies: any,
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
    applies: any,
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

/// The share of the time above which a bound decides what a flow gets.
const MOST: f64 = 0.5;
/// The least time that a socket is idle, in seconds.
const IDLE_S: f64 = 1.0;

/// The share of a flow's time in which this bound held it.
fn bound(flow: &FlowView<'_>, word: &str) -> Option<Evidence> {
    flow.main.share("bound", word, flow.alive())
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

/// A socket that has been idle for longer than it ever was busy: its life is at least both.
fn idle(flow: &FlowView<'_>) -> Option<Finding> {
    let none = |column: &str| {
        flow.counter(column)
            .is_some_and(|octets| octets.value == 0.0)
    };
    let sent = flow.counter("sent_bytes").filter(|sent| sent.value > 0.0)?;
    let (since, busy) = (flow.counter("since_sent_s")?, flow.counter("busy_s")?);
    let waits = !none("unacknowledged_bytes") || !none("unsent_bytes");
    if waits || since.value <= busy.value || since.value < IDLE_S {
        return None;
    }
    let symptom = Statement::new(
        "Nothing waits, and the last data was sent {} before, longer than the {} in which the socket had data \
         to send; it sent {} in all.",
        vec![since, busy, sent],
    );
    Some(Finding::new(APPLICATION.about, flow.name, 0.5, symptom))
}

fn finding(detector: &Detector, flow: &FlowView<'_>, share: Evidence, symptom: &str) -> Finding {
    let severity = share.value;
    let symptom = Statement::new(symptom, vec![share]);
    Finding::new(detector.about, flow.name, severity, symptom)
}

/// With the remedy that settings of octets become twice the bandwidth-delay product.
fn larger(finding: Finding, flow: &FlowView<'_>, place: RemedyPlace, keys: &[&str]) -> Finding {
    let octets = flow
        .bdp()
        .map(|bdp| format!("{:.0}", (2.0 * bdp.value).max(65_536.0)));
    let set = octets.map(|octets| {
        let set = keys.iter().map(|key| (flow.setting(key), octets.clone()));
        set.collect::<Vec<_>>()
    });
    let text = "buffers or credit of twice the bandwidth-delay product";
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
