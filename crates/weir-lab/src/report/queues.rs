//! Queues of links: which link is the bottleneck, and how long its queue is in milliseconds.

use super::axis::Axis;
use super::plot::{Colour, Plot, PlotLayer, Shape};
use super::series::{points, time_axis};
use super::subjects::PlotData;
use crate::natural_order;
use crate::run::LinkTrace;
use crate::scenario::{Direction, Scenario};
use crate::table::Table;
use std::cmp::Ordering;
use weir_net::QueueLimit;

/// The colour of queues in all pictures, and of what marks them.
const QUEUE: Colour = Colour(9);
const DROP: Colour = Colour(5);
const MARK: Colour = Colour(8);

/// A limit farther above the longest queue than this is said and not drawn.
const LIMIT_IN_SIGHT: f64 = 3.0;

/// The traced directions of links, the bottleneck first: by utilisation in per cent, then drops,
/// then the longest queue, then name.
pub(super) fn by_load(data: &PlotData) -> Vec<&LinkTrace> {
    let mut links: Vec<&LinkTrace> = data.output.links.iter().collect();
    let load = |link: &LinkTrace| {
        let summary = data.output.summary.links.get(&link.name);
        let summary = summary.copied().unwrap_or_default();
        let percent = libm::round(summary.utilisation * 100.0) as i64;
        (percent, summary.drops, summary.queue_bytes.max)
    };
    links.sort_by(|a, b| {
        let order: Ordering = load(b).cmp(&load(a));
        order.then_with(|| natural_order(&a.name, &b.name))
    });
    links
}

/// A picture of a queue with a sentence; `None` if no packet ever waited.
pub(super) fn queue(data: &PlotData, link: &LinkTrace) -> Option<(Plot, String)> {
    let bytes = points(&link.table, "queue_bytes")?;
    if bytes.iter().all(|point| point.1 == 0.0) {
        return None;
    }
    let direction = direction(&data.output.scenario, &link.name);
    let rates = direction.map(rates).unwrap_or_default();
    let title = format!("{}: queue", link.name);
    let mut caption;
    let mut plot;
    if rates.is_empty() {
        caption = "What waits for its transmission.".to_owned();
        let axis = Axis::linear("queue, bytes", "bytes");
        plot = Plot::new(&title, time_axis(), axis);
        plot = plot.with("queue", QUEUE, Shape::Step(bytes));
    } else {
        caption = "How long a packet that arrives then waits: what is queued, divided by the rate \
                   of the link."
            .to_owned();
        let delay = bytes
            .iter()
            .map(|(at, bytes)| (*at, bytes * 8.0 / rate_at(&rates, *at)));
        let axis = Axis::linear("queueing delay, s", "s");
        plot = Plot::new(&title, time_axis(), axis);
        plot = plot.with("queue", QUEUE, Shape::Step(delay.collect()));
    }
    let packet = packet_bytes(&link.table);
    let limit = direction.and_then(|direction| limit(direction, &rates, packet));
    if let Some((name, value)) = limit {
        let longest = longest(&plot);
        if value <= longest * LIMIT_IN_SIGHT {
            plot = plot.with(&name, QUEUE, Shape::Level(value));
        } else {
            caption = format!("{caption} The {name} lies above the picture.");
        }
    }
    for (column, word, colour) in [("drops", "drop", DROP), ("marks", "mark", MARK)] {
        let times = increments(&link.table, column);
        if !times.is_empty() {
            let name = format!("{word} ({} in all)", times.len());
            plot.layers
                .push(PlotLayer::new(&name, colour, Shape::Rug(times)));
        }
    }
    Some((plot, caption))
}

/// The mean size in octets of the packets that wait when most of them do, so that a limit in
/// packets can stand beside octets; 1500 if none ever waits.
fn packet_bytes(table: &Table) -> f64 {
    let columns = ["queue_packets", "queue_bytes"].map(|name| table.as_numbers(name));
    let [Some(packets), Some(bytes)] = columns else {
        return 1500.0;
    };
    let rows = packets.iter().zip(bytes.iter());
    let fullest = rows.max_by(|a, b| a.0.total_cmp(b.0));
    let waiting = fullest.filter(|(packets, _)| **packets > 0.0);
    waiting.map_or(1500.0, |(packets, bytes)| bytes / packets)
}

fn longest(plot: &Plot) -> f64 {
    let extents = plot.layers.iter().flat_map(|layer| layer.shape.extent());
    extents.map(|point| point.1).fold(0.0, f64::max)
}

/// The times at which a count rose.
fn increments(table: &Table, column: &str) -> Vec<f64> {
    let Some(points) = points(table, column) else {
        return Vec::new();
    };
    let mut before = 0.0;
    let risen = points.into_iter().filter(|point| {
        let rose = point.1 > before;
        before = point.1;
        rose
    });
    risen.map(|point| point.0).collect()
}

/// The direction of a wire whose trace has this name; stations of 802.11 media have none.
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

/// From when on a direction has which rate in bits per second; nothing if it is not limited. Of a
/// trace of opportunities the mean.
fn rates(direction: &Direction) -> Vec<(f64, f64)> {
    if let Some(mean) = direction.rate_trace.mean_rate() {
        return vec![(0.0, mean.as_bps())];
    }
    let shaper = direction.shaper.as_ref().map(|bucket| bucket.rate);
    let Some(rate) = shaper.or(direction.rate) else {
        return Vec::new();
    };
    let mut rates = vec![(0.0, rate as f64)];
    for change in &direction.changes {
        let changed = if shaper.is_some() {
            change.shaper_rate
        } else {
            change.rate.flatten()
        };
        rates.extend(changed.map(|rate| (change.at.as_secs_f64(), rate as f64)));
    }
    rates
}

fn rate_at(rates: &[(f64, f64)], time: f64) -> f64 {
    let after = rates.partition_point(|rate| rate.0 <= time);
    let rate = after.checked_sub(1).and_then(|place| rates.get(place));
    rate.map_or(f64::NAN, |rate| rate.1.max(1.0))
}

/// The queue's limit in words and as a value of the axis.
fn limit(direction: &Direction, rates: &[(f64, f64)], packet: f64) -> Option<(String, f64)> {
    let rate = rates.first().map(|rate| rate.1);
    let in_axis = |bytes: f64| rate.map_or(bytes, |rate| bytes * 8.0 / rate);
    if let Some(bucket) = &direction.shaper {
        if let Some(latency) = bucket.latency {
            let seconds = latency.as_secs_f64();
            return Some((format!("limit: {} ms", seconds * 1e3), seconds));
        }
        let bytes = bucket.limit? as f64;
        return Some((format!("limit: {} kB", bytes / 1e3), in_axis(bytes)));
    }
    Some(match direction.queue.limit() {
        QueueLimit::Bytes(bytes) => {
            let bytes = bytes as f64;
            (format!("limit: {} kB", bytes / 1e3), in_axis(bytes))
        }
        QueueLimit::Packets(packets) => (
            format!("limit: {packets} packets, here of {packet:.0} bytes"),
            in_axis(packets as f64 * packet),
        ),
    })
}
