//! Connections whose time passes between the data: on a long path, at the server or at the client.

use super::{Detector, each_flow};
use crate::diagnosis::Statistic;
use crate::diagnosis::finding::{Evidence, Finding, Pathology, RemedyPlace, Statement};
use crate::diagnosis::view::{FlowView, Rows, View};

/// A path on which each turn takes long.
pub(super) const LONG_PATH: Detector = Detector {
    about: &Pathology {
        kind: "long_path",
        title: "long round trip",
        definition: "In a capture of both directions, the shortest time from the place of the capture to the \
                     farther end and back is 400 ms or longer, and the path takes more than half of the time from \
                     the handshake to the last data. Light in a fibre to the antipodes and back takes 200 ms.",
        citation: "RFC 2488 §2; ITU-T G.114; RFC 9293 §3.5",
        needs: &[],
    },
    applies: has_turns,
    examine: |view| {
        each_flow(view, |view, flow| {
            first_with(view, flow).and_then(long_path)
        })
    },
};

/// A server that thinks.
pub(super) const SLOW_SERVER: Detector = Detector {
    about: &Pathology {
        kind: "slow_server",
        title: "slow answers of the server",
        definition: "In a capture of both directions, what passes between the last octet of a request and the \
                     first of its answer, less the path's time, adds up to more than half of the time from the \
                     handshake to the last data, and once to 800 ms or more and to more than twice the \
                     path's time. The server is the end that did not open the connection.",
        citation: "web.dev, Time to First Byte (800 ms and less are good), 2021; C. Sanders, Practical Packet \
                   Analysis, 2017",
        needs: &[],
    },
    applies: has_turns,
    examine: |view| {
        each_flow(view, |view, flow| {
            slow_end(first_with(view, flow)?, &SLOW_SERVER, "server_s")
        })
    },
};

/// A client that thinks.
pub(super) const CLIENT: Detector = Detector {
    about: &Pathology {
        kind: "client_think_time",
        title: "think time of the client",
        definition: "As slow_server, of what passes between the handshake or the last octet of an answer and the \
                     first of the next request, once 1 s or more.",
        citation: "J. Nielsen, Response Times: the three important limits, 1993; C. Sanders, Practical Packet Analysis, 2017; RFC 7661 §1",
        needs: &[],
    },
    applies: has_turns,
    examine: |view| {
        each_flow(view, |view, flow| {
            slow_end(first_with(view, flow)?, &CLIENT, "client_s")
        })
    },
};

/// The shortest round trip that is long, in seconds.
const LONG_S: f64 = 0.4;
/// The wait that is long for a server and for a client, in seconds, and how many times the path's
/// it is.
const SERVER_S: f64 = 0.8;
const CLIENT_S: f64 = 1.0;
const OF_PATH: f64 = 2.0;
/// The share of a connection's time that makes a wait matter.
const MOST: f64 = 0.5;

fn has_turns(flow: &FlowView<'_>) -> bool {
    flow.turns.is_some()
}

/// The flow, if it is the first with its turns: those of a connection stand with both directions.
fn first_with<'v>(view: &'v View<'_>, flow: &'v FlowView<'v>) -> Option<&'v FlowView<'v>> {
    let times = flow.turns.as_ref()?.times();
    let same = |other: &&FlowView<'_>| other.turns.as_ref().map(Rows::times) == Some(times);
    let first = view.flows.iter().find(same)?;
    std::ptr::eq(first.name, flow.name).then_some(flow)
}

/// When the last data of a connection was seen.
pub(super) fn last_data_s(flow: &FlowView<'_>) -> Option<f64> {
    let ends = flow.turns.as_ref()?.numbers("end_s")?.iter();
    ends.copied().reduce(f64::max)
}

/// The time of a connection that passes between turns, in seconds.
pub(super) fn between(flow: &FlowView<'_>) -> Option<f64> {
    let turns = flow.turns.as_ref()?;
    let sums = ["path_s", "client_s", "server_s"].map(|column| sum(turns, column));
    Some(sums.into_iter().flatten().map(|sum| sum.value).sum())
}

/// The time from the handshake to the last data, and when it begins and ends.
fn connection(turns: &Rows<'_>) -> Option<(Evidence, [f64; 2])> {
    let first = turns.times().first()?;
    let path = turns.numbers("path_s").and_then(|path| path.first());
    // The first row of a handshake is the answer to it; that of another connection its data.
    let bytes = turns.table.as_numbers("data_bytes")?;
    let is_handshake = bytes.first() == Some(&0.0);
    let before = path.filter(|path| is_handshake && path.is_finite());
    let from = first - before.copied().unwrap_or(0.0);
    let until = turns.numbers("end_s")?.iter().copied().reduce(f64::max)?;
    let time = Evidence::given("derived", "connection_s", until - from);
    (time.value > 0.0).then_some((time, [from, until]))
}

fn sum(turns: &Rows<'_>, column: &str) -> Option<Evidence> {
    turns.measure(column, turns.all(), Statistic::Sum)
}

/// The shortest time to the end that is farther from the place of the capture.
fn farther(turns: &Rows<'_>) -> Option<(f64, Evidence)> {
    let (sides, paths) = (turns.words("side"), turns.numbers("path_s")?);
    let of = |side: &str| {
        let rows = turns
            .all()
            .filter(|row| sides.get(*row).is_some_and(|of| &**of == side));
        let known = rows.filter(|row| paths.get(*row).is_some_and(|path| path.is_finite()));
        known.min_by(|a, b| paths[*a].total_cmp(&paths[*b]))
    };
    let rows = ["client", "server"].into_iter().filter_map(of);
    let row = rows.max_by(|a, b| paths[*a].total_cmp(&paths[*b]))?;
    Some((paths[row], turns.at("path_s", row)?))
}

fn long_path(flow: &FlowView<'_>) -> Option<Finding> {
    let turns = flow.turns.as_ref()?;
    let (time, span) = connection(turns)?;
    let (least, path) = farther(turns)?;
    let on_path = sum(turns, "path_s")?;
    let share = on_path.value / time.value;
    if least < LONG_S || share <= MOST {
        return None;
    }
    let count = Evidence::given("derived", "round_trips", libm::round(on_path.value / least));
    let symptom = Statement::new(
        "A round trip takes {} at least, and {} of the {} of the connection pass on the path.",
        vec![path, on_path, time],
    );
    let finding = Finding::new(LONG_PATH.about, flow.name, share.min(1.0), symptom).over(span);
    let finding = finding.because("That is {} round trips.", Some(vec![count]));
    let text = "a nearer server, fewer round trips, or a queue on the way that is always full: \
                compare with an idle path";
    Some(finding.advice(RemedyPlace::Network, text))
}

/// An end whose waits make up most of the connection's time.
fn slow_end(flow: &FlowView<'_>, detector: &Detector, column: &str) -> Option<Finding> {
    let turns = flow.turns.as_ref()?;
    let (time, span) = connection(turns)?;
    let waited = sum(turns, column)?;
    let most = turns.measure(column, turns.all(), Statistic::Most)?;
    let path = farther(turns).map_or(0.0, |(least, _)| least);
    let share = waited.value / time.value;
    let long = if column == "server_s" {
        SERVER_S
    } else {
        CLIENT_S
    };
    if share <= MOST || most.value < long || most.value <= OF_PATH * path {
        return None;
    }
    // A client often waits for its user.
    let most_severe = if column == "server_s" { 1.0 } else { 0.5 };
    let said = if column == "server_s" {
        "Of the {} of the connection {} pass between requests and the first octets of their answers beside \
         the path's time, once {}."
    } else {
        "Of the {} of the connection {} pass before requests, between which nothing is on its way, once {}."
    };
    let symptom = Statement::new(said, vec![time, waited, most]);
    let severity = most_severe * share.min(1.0);
    let finding = Finding::new(detector.about, flow.name, severity, symptom).over(span);
    let path = farther(turns).map(|(_, path)| vec![path]);
    Some(finding.because("A round trip takes {} at least.", path))
}
