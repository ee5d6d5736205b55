//! A range of paths, as RFC 9743 §6 asks for: a case of the same scenario for each rate, round-trip
//! time and depth of the buffer.

use super::case::{Case, Size};
use serde::Deserialize;
use weir_proto::units::{UnitError, parse_duration, parse_rate};

/// Octets of a packet, for sizes in packets.
const PACKET: f64 = 1500.0;

/// Packets that a run of this size sends at most, about.
const fn most_packets(size: Size) -> f64 {
    match size {
        Size::Quick => 60_000.0,
        Size::Standard => 80_000.0,
        Size::Full => 1_000_000.0,
    }
}

/// Paths of the caller's own in place of those of the suite.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct OwnPaths {
    /// Rates of the bottleneck: `50Mbit`.
    pub rates: Vec<String>,
    /// Round-trip times without a queue: `80ms`.
    pub round_trips: Vec<String>,
    /// Depths of the buffer in multiples of the bandwidth-delay product.
    pub buffers: Vec<f64>,
}

/// Paths of a chapter: each rate with each round-trip time and each buffer.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct PathRange {
    /// The size of the suite that has them.
    size: Size,
    rates: Vec<String>,
    round_trips: Vec<String>,
    /// In multiples of the bandwidth-delay product.
    buffers: Vec<f64>,
    /// What is run on each.
    case: Case,
}

impl PathRange {
    /// The cases, if they are of this size.
    ///
    /// # Errors
    /// A rate or a time that is none.
    pub(super) fn cases(self, size: Size, own: &OwnPaths) -> Result<Vec<Case>, UnitError> {
        if self.size != size {
            return Ok(Vec::new());
        }
        let rates = or_own(&own.rates, self.rates);
        let round_trips = or_own(&own.round_trips, self.round_trips);
        let buffers = or_own(&own.buffers, self.buffers);
        let mut cases = Vec::new();
        for rate in &rates {
            for round_trip in &round_trips {
                for buffer in &buffers {
                    cases.push(case(&self.case, size, rate, round_trip, *buffer)?);
                }
            }
        }
        Ok(cases)
    }
}

/// The caller's values, or those of the suite if there are none.
fn or_own<T: Clone>(own: &[T], of_suite: Vec<T>) -> Vec<T> {
    if own.is_empty() {
        of_suite
    } else {
        own.to_vec()
    }
}

/// The case on one path. It is measured over 100 round trips, and at least 15 s, unless more
/// packets would be sent than a run of this size may; what comes before is a third of that.
fn case(
    of: &Case,
    size: Size,
    rate: &str,
    round_trip: &str,
    buffer: f64,
) -> Result<Case, UnitError> {
    let bps = parse_rate(rate)?.as_bps();
    let rtt = parse_duration(round_trip)?.as_secs_f64();
    let packets = libm::ceil(buffer * bps * rtt / (8.0 * PACKET)).max(3.0);
    let most = most_packets(size) * 8.0 * PACKET / bps;
    let measured = (100.0 * rtt).max(15.0).min(most.max(30.0 * rtt));
    let warmup = measured / 3.0;
    let mut case = of.clone();
    let path = format!("{rate}, {round_trip}, {buffer} BDP");
    case.words = match of.words.as_str() {
        "" => path,
        words => format!("{words}, {path}"),
    };
    let whole = libm::round;
    case.set.extend([
        format!("link.bottleneck.rate={rate}"),
        format!("link.bottleneck.delay={}us", whole(rtt * 5e5)),
        format!("link.bottleneck.queue.limit={packets}"),
        format!("run.duration={}ms", whole(1e3 * (warmup + measured))),
        format!("run.warmup={}ms", whole(1e3 * warmup)),
    ]);
    Ok(case)
}
