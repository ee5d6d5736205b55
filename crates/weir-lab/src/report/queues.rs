//! Queues of links: the bottleneck link, its queueing delay in milliseconds, and its limit.

use super::axis::Axis;
use super::plot::{Colour, Plot, PlotLayer, Shape};
use super::series::{points, time_axis};
use super::service::Service;
use super::subjects::PlotData;
use crate::natural_order;
use crate::run::LinkTrace;
use crate::scenario::{Direction, Scenario, Station};
use crate::table::Table;
use crate::theory::with_unit;
use weir_net::{LossConfig, QueueLimit};

/// The colour of queues and of their limits in all pictures.
const QUEUE: Colour = Colour(9);
const DROP: Colour = Colour(5);
const MARK: Colour = Colour(8);

/// A limit above this multiple of the longest queue is mentioned in the caption and not drawn.
const LIMIT_IN_SIGHT: f64 = 3.0;

/// The traced directions of links, the bottleneck first: directions whose queue was full, dropped
/// or marked before the others, then by utilisation in percent, drops, the longest queue and name.
pub(super) fn by_load(data: &PlotData) -> Vec<&LinkTrace> {
    let load = |link: &LinkTrace| {
        let summary = data.output.summary.links.get(&link.name);
        let summary = summary.copied().unwrap_or_default();
        let percent = libm::round(summary.utilisation * 100.0) as i64;
        let scenario = &data.output.scenario;
        let of_queue = summary.marks > 0
            || (summary.drops > 0 && drops_elsewhere(scenario, &link.name).is_empty());
        let congested = of_queue || was_full(scenario, link);
        (congested, percent, summary.drops, summary.queue_bytes.max)
    };
    let links = data.output.links.iter();
    let mut links: Vec<_> = links.map(|link| (load(link), link)).collect();
    links.sort_by(|(load, a), (other, b)| {
        let order = other.cmp(load);
        order.then_with(|| natural_order(&a.name, &b.name))
    });
    links.into_iter().map(|(_, link)| link).collect()
}

/// True if the queue reached its limit.
fn was_full(scenario: &Scenario, link: &LinkTrace) -> bool {
    let (column, limit) = match queue_limit(scenario, &link.name) {
        Some(QueueLimit::Packets(packets)) => ("queue_packets", packets),
        Some(QueueLimit::Bytes(bytes)) => ("queue_bytes", bytes),
        None => return false,
    };
    let waiting = points(&link.table, column).unwrap_or_default();
    waiting.iter().any(|point| point.1 >= limit as f64)
}

/// A picture of a queue with a sentence; `None` if no packet ever waited.
pub(super) fn queue(data: &PlotData, link: &LinkTrace) -> Option<(Plot, String)> {
    let bytes = points(&link.table, "queue_bytes")?;
    if bytes.iter().all(|point| point.1 == 0.0) {
        return None;
    }
    let scenario = &data.output.scenario;
    let service = direction(scenario, &link.name).and_then(Service::of);
    let (mut caption, axis) = if service.is_some() {
        let caption = "How long the link takes to send what is queued: if that is first in, first \
                       out, the wait of a packet that arrives then.";
        (caption.to_owned(), Axis::linear("queueing delay, s", "s"))
    } else {
        let caption = "What waits for its transmission.".to_owned();
        (caption, Axis::linear("queue, bytes", "bytes"))
    };
    let in_axis = |bytes: Vec<(f64, f64)>| -> Vec<(f64, f64)> {
        let Some(service) = &service else {
            return bytes;
        };
        let bytes = bytes.into_iter();
        bytes
            .map(|(at, bytes)| (at, service.time_for(bytes, at)))
            .collect()
    };
    let queue = in_axis(bytes);
    let plot = Plot::new(&format!("{}: queue", link.name), time_axis(), axis);
    let mut plot = plot.with("queue", QUEUE, Shape::Step(queue));
    if let Some(limit) = queue_limit(scenario, &link.name) {
        let most = in_axis(limit_bytes(&link.table, limit));
        caption.push_str(&add_limit(&mut plot, limit, most));
    }
    let elsewhere = drops_elsewhere(scenario, &link.name);
    if elsewhere.is_empty() {
        add_events(&mut plot, &link.table, ("drops", "drop"), DROP);
    } else {
        add_events(&mut plot, &link.table, ("drops", "drop or loss"), DROP);
        let causes = elsewhere.join(" and ");
        caption = format!(
            "{caption} Drops of the queue and losses by {causes} are counted together: the table \
             of packets has the reason of each."
        );
    }
    add_events(&mut plot, &link.table, ("marks", "mark"), MARK);
    Some((plot, caption))
}

/// Adds the limit unless it is far above the longest queue; returns the limit's part of the
/// caption.
fn add_limit(plot: &mut Plot, limit: QueueLimit, mut most: Vec<(f64, f64)>) -> String {
    let extents = plot.layers.iter().flat_map(|layer| layer.shape.extent());
    let in_sight = extents.map(|point| point.1).fold(0.0, f64::max) * LIMIT_IN_SIGHT;
    for point in most.iter_mut().filter(|point| point.1 > in_sight) {
        point.1 = f64::NAN;
    }
    let (name, of_packets) = match limit {
        QueueLimit::Packets(packets) => (format!("limit: {packets} packets"), OF_MEAN_SIZE),
        QueueLimit::Bytes(bytes) => (
            format!("limit: {}", with_unit(bytes as f64, "bytes", 4)),
            "",
        ),
    };
    let drawn = most.iter().filter(|point| point.1.is_finite()).count();
    let above = match drawn {
        0 => format!(" The {name} lies above the picture."),
        some if some < most.len() => " Where it is not drawn it lies above the picture.".to_owned(),
        _ => String::new(),
    };
    if drawn == 0 {
        return above;
    }
    let layer = PlotLayer::new(&name, QUEUE, Shape::Step(most));
    plot.layers.push(layer.dashed());
    format!("{of_packets}{above}")
}

/// Adds a tick at each time at which packets were dropped or marked.
fn add_events(plot: &mut Plot, table: &Table, (column, word): (&str, &str), colour: Colour) {
    let (times, count) = increments(table, column);
    if !times.is_empty() {
        let name = format!("{word} ({count} in all)");
        let layer = PlotLayer::new(&name, colour, Shape::Rug(times));
        plot.layers.push(layer);
    }
}

/// The caption of a queue with a limit in packets.
const OF_MEAN_SIZE: &str = " The limit stands where so many packets would, of the mean size of \
                            those that wait.";

/// Minimum share of a limit in packets from which the mean packet size is used: a few packets say
/// little about the sizes in a full queue.
const TELLING_SHARE: f64 = 0.1;

/// The maximum number of octets that may wait at the times of a table's rows. A limit in packets is
/// converted with the mean size of the waiting packets; while few packets wait, with the largest
/// mean so far, so that no queue exceeds its limit.
fn limit_bytes(table: &Table, limit: QueueLimit) -> Vec<(f64, f64)> {
    let bytes = points(table, "queue_bytes").unwrap_or_default();
    let packets = match limit {
        QueueLimit::Bytes(most) => {
            return bytes.into_iter().map(|row| (row.0, most as f64)).collect();
        }
        QueueLimit::Packets(packets) => packets as f64,
    };
    let waiting = points(table, "queue_packets").unwrap_or_default();
    let rows = bytes.into_iter().zip(waiting);
    let rows = rows.filter(|(_, (_, waiting))| *waiting > 0.0);
    let mut size = 0.0_f64;
    let limits = rows.map(|((at, bytes), (_, waiting))| {
        let mean = bytes / waiting;
        size = if waiting >= packets * TELLING_SHARE {
            mean
        } else {
            size.max(mean)
        };
        (at, packets * size)
    });
    limits.collect()
}

/// The times at which a count increased, and the final count: a row may add several.
fn increments(table: &Table, column: &str) -> (Vec<f64>, f64) {
    let points = points(table, column).unwrap_or_default();
    let mut count = 0.0;
    let risen = points.into_iter().filter(|point| {
        let rose = point.1 > count;
        count = point.1;
        rose
    });
    let times = risen.map(|point| point.0).collect();
    (times, count)
}

/// The direction of a link whose trace has this name; stations of 802.11 media have none.
pub(super) fn direction<'a>(scenario: &'a Scenario, trace: &str) -> Option<&'a Direction> {
    scenario.links.iter().find_map(|link| {
        let [forward, backward] = link.trace_names();
        if trace == forward {
            Some(&link.forward)
        } else {
            (trace == backward).then_some(&link.backward)
        }
    })
}

/// The station of an 802.11 medium whose trace has this name.
fn station<'a>(scenario: &'a Scenario, trace: &str) -> Option<&'a Station> {
    let media = scenario.wifi.iter();
    let mut stations = media.flat_map(|wifi| wifi.stations.iter().map(move |near| (wifi, near)));
    let found = stations.find(|(wifi, station)| wifi.trace_name(station) == trace);
    found.map(|(_, station)| station)
}

/// The limit of the queue of this trace.
fn queue_limit(scenario: &Scenario, trace: &str) -> Option<QueueLimit> {
    if let Some(direction) = direction(scenario, trace) {
        let of_bucket = direction.shaper.and_then(|bucket| bucket.queue_limit());
        let of_queue = || direction.queue.limit();
        return Some(of_bucket.map_or_else(of_queue, QueueLimit::Bytes));
    }
    Some(station(scenario, trace)?.config.queue.limit())
}

/// Causes of drops at a link other than its queue, which its table does not distinguish.
fn drops_elsewhere(scenario: &Scenario, trace: &str) -> Vec<&'static str> {
    let Some(direction) = direction(scenario, trace) else {
        let station = station(scenario, trace);
        return station
            .map(|_| "retries that ended on the air")
            .into_iter()
            .collect();
    };
    let lossy = |loss: &LossConfig| !matches!(loss, LossConfig::None);
    let mut changes = direction.changes.iter();
    let loses =
        lossy(&direction.loss) || changes.any(|change| change.loss.as_ref().is_some_and(lossy));
    let mut changes = direction.changes.iter();
    let damages = direction.netem.corrupt > 0.0
        || changes.any(|change| change.netem.is_some_and(|netem| netem.corrupt > 0.0));
    let causes = [
        (loses, "the loss model"),
        (damages, "damaged headers"),
        (!direction.outages.is_empty(), "outages"),
        (
            direction.ecn_faults.black_hole.get() > 0.0,
            "the black hole for ECN",
        ),
        (direction.policer.is_some(), "the policer"),
        (
            direction.ack_thinning.is_some(),
            "the thinning of acknowledgements",
        ),
    ];
    let causes = causes.into_iter().filter(|(is_there, _)| *is_there);
    causes.map(|(_, words)| words).collect()
}
