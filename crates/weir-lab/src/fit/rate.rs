//! The rate of the bottleneck: what arrived while packets waited, by the time in which it did.
//!
//! An acknowledgement whose packet waited for at least one and a half others shows that the link
//! was busy from the packet before on. Octets and times of all such acknowledgements together are
//! the rate, so that the spacing of single ones does not matter. Where the rate of windows differs
//! by more than the noise of counting, it is a schedule.

use super::observed::{Ack, Observed};

/// Waiting below this, in seconds, is the noise of hosts (a kernel's timers and interrupts).
const LEAST_WAIT_S: f64 = 0.000_5;
/// Waiting below this share of the round trip is no queue either.
const LEAST_WAIT_SHARE: f64 = 0.01;
/// Waiting for fewer packets than this is that of a pair sent together.
const LEAST_WAIT_PACKETS: f64 = 1.5;
/// The rate needs so many packets that waited.
const LEAST_PACKETS: f64 = 20.0;
/// The path was filled if packets waited in this share of the time.
const FILLED_SHARE: f64 = 0.02;
/// Packets of a train, and the share of octets that may come faster than the highest rate.
const TRAIN_PACKETS: f64 = 10.0;
const FASTER_SHARE: f64 = 0.1;
/// Packets in a window of a schedule: the count of them is then right to a tenth.
const WINDOW_PACKETS: f64 = 10.0;
/// The shortest window, in seconds.
const LEAST_WINDOW_S: f64 = 0.05;
/// The most windows of a schedule.
const MOST_WINDOWS: f64 = 600.0;
/// A window counts if packets waited in this share of it.
const WINDOW_COVERED: f64 = 0.3;
/// A rate varies if nine tenths of the windows differ by more than this from one tenth of them.
const VARIES: f64 = 0.2;
/// A rate that is seen in a smaller share of the time has no schedule.
const LEAST_BUSY: f64 = 0.25;
/// Windows that differ by less than this are one step.
const SAME_STEP: f64 = 0.08;
/// Octets that a window has at least, as a rate of zero cannot be written: a packet.
const LEAST_STEP_PACKETS: f64 = 0.5;

/// The rate of the bottleneck.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Rate {
    /// When each rate begins, in seconds, and the rate in bit/s on the wire.
    pub(super) steps: Vec<(f64, f64)>,
    /// The rate over all, in bit/s.
    pub(super) mean_bps: f64,
    /// False if packets hardly waited, so that the path may be faster.
    pub(super) is_filled: bool,
    /// The share of the time in which packets waited.
    pub(super) busy_share: f64,
}

impl Rate {
    /// The rate of the path that a flow shows.
    pub(super) fn of(observed: &Observed, base_s: f64) -> Self {
        let overhead = observed.packet.overhead() * 8.0;
        let mut rate_bps = f64::INFINITY;
        let mut busy = Vec::new();
        let mut filled = (0.0, 0.0);
        // The waiting of a packet depends on the rate; twice is enough.
        for _ in 0..3 {
            busy = busy_spans(observed, base_s, rate_bps);
            filled = sums(&busy);
            if filled.0 < LEAST_PACKETS * observed.packet.counted {
                break;
            }
            rate_bps = filled.0 * overhead / filled.1;
        }
        let busy_share = filled.1 / observed.length_s.max(1e-9);
        let has_rate = filled.0 >= LEAST_PACKETS * observed.packet.counted;
        if !has_rate || busy_share < FILLED_SHARE {
            let highest = highest(&observed.acks, observed.packet.counted) * overhead;
            let mean_bps = if has_rate { rate_bps } else { highest };
            return Self {
                steps: vec![(0.0, mean_bps)],
                mean_bps,
                is_filled: has_rate,
                busy_share,
            };
        }
        let window = WINDOW_PACKETS * observed.packet.wire * 8.0 / rate_bps;
        let window = window
            .max(LEAST_WINDOW_S)
            .max(observed.length_s / MOST_WINDOWS);
        let windows = windows(&busy, window, observed.length_s);
        let steps = if busy_share >= LEAST_BUSY && varies(&windows) {
            let least = LEAST_STEP_PACKETS * observed.packet.counted / window;
            schedule(&windows, window, least)
        } else {
            vec![(0.0, filled.0 / filled.1)]
        };
        // An acknowledgement comes a round trip after its packet left the bottleneck.
        let earlier = |(at_s, rate): (f64, f64)| ((at_s - base_s).max(0.0), rate * overhead);
        let steps: Vec<_> = steps.into_iter().map(earlier).collect();
        Self {
            steps: in_order(steps),
            mean_bps: rate_bps,
            is_filled: true,
            busy_share,
        }
    }

    /// True for a schedule.
    pub(super) fn varies(&self) -> bool {
        self.steps.len() > 1
    }
}

/// A time in which the bottleneck was busy: its beginning and end, in seconds, and the octets that
/// arrived.
type Span = (f64, f64, f64);

/// The spans between acknowledgements in which packets waited.
fn busy_spans(observed: &Observed, base_s: f64, rate_bps: f64) -> Vec<Span> {
    let of_packets = LEAST_WAIT_PACKETS * observed.packet.wire * 8.0 / rate_bps;
    let least = of_packets.max(LEAST_WAIT_S).max(LEAST_WAIT_SHARE * base_s);
    let waited = |ack: &Ack| ack.rtt_s - ack.held_s - base_s > least;
    let usual = observed.usual_time();
    let spans = observed.acks.windows(2).filter_map(|pair| {
        let [before, ack] = [pair[0], pair[1]];
        let time = ack.at_s - before.at_s;
        // After a retransmission the round trip is an old one (Karn), which a pause shows.
        let is_fresh = ack.rtt_s.to_bits() != before.rtt_s.to_bits() || time <= 2.0 * usual;
        // A sample in a longer time says nothing of its beginning.
        let is_known = if observed.is_coarse {
            waited(&before)
        } else {
            (before.held_s <= 0.0 || waited(&before)) && is_fresh && time <= ack.rtt_s
        };
        let is_busy = waited(&ack) && is_known;
        is_busy.then_some((before.at_s, ack.at_s, ack.delivered - before.delivered))
    });
    spans.collect()
}

fn sums(spans: &[Span]) -> (f64, f64) {
    let add = |(octets, time): (f64, f64), span: &Span| (octets + span.2, time + span.1 - span.0);
    spans.iter().fold((0.0, 0.0), add)
}

/// The rate of trains of packets that only a tenth of the octets came faster than, in octets per
/// second.
fn highest(acks: &[Ack], packet: f64) -> f64 {
    // Octets by the rate of the train that ends with them.
    let mut trains: Vec<(f64, f64)> = Vec::new();
    let mut first = 0;
    for ack in acks {
        // The shortest train that ends here.
        let is_train = |before: &Ack| ack.delivered - before.delivered >= TRAIN_PACKETS * packet;
        while acks.get(first + 1).is_some_and(is_train) {
            first += 1;
        }
        let before = acks.get(first).filter(|before| is_train(before));
        if let Some(before) = before.filter(|before| ack.at_s > before.at_s) {
            let octets = ack.delivered - before.delivered;
            trains.push((octets / (ack.at_s - before.at_s), octets));
        }
    }
    trains.sort_by(|a, b| b.0.total_cmp(&a.0));
    let all: f64 = trains.iter().map(|(_, octets)| octets).sum();
    let mut faster = 0.0;
    for (rate, octets) in trains {
        faster += octets;
        if faster >= FASTER_SHARE * all {
            return rate;
        }
    }
    let ends = acks.first().zip(acks.last());
    ends.map_or(0.0, |(first, last)| {
        (last.delivered - first.delivered) / (last.at_s - first.at_s).max(1e-6)
    })
}

/// Of each window the busy time in it and the octets that arrived in that time; a span counts in
/// each window by its part in it.
fn windows(spans: &[Span], window: f64, length_s: f64) -> Vec<(f64, f64)> {
    let count = (length_s / window).ceil().max(1.0) as usize;
    let mut windows = vec![(0.0, 0.0); count];
    for (from, until, octets) in spans {
        let last = ((until / window) as usize).min(count - 1);
        if until <= from {
            // Several at one moment, as a link that serves in slots delivers them.
            windows[last].1 += octets;
            continue;
        }
        let first = (from / window) as usize;
        for (number, (time, sum)) in windows.iter_mut().enumerate().take(last + 1).skip(first) {
            let [start, end] = [number, number + 1].map(|number| number as f64 * window);
            let part = (until.min(end) - from.max(start)).max(0.0);
            *time += part;
            *sum += octets * part / (until - from);
        }
    }
    let covered = |(time, sum): (f64, f64)| {
        if time >= WINDOW_COVERED * window {
            (time, sum)
        } else {
            (0.0, 0.0)
        }
    };
    windows.into_iter().map(covered).collect()
}

/// The rates of the windows that have one.
fn rates(windows: &[(f64, f64)]) -> Vec<f64> {
    let known = windows.iter().filter(|(time, _)| *time > 0.0);
    known.map(|(time, octets)| octets / time).collect()
}

fn varies(windows: &[(f64, f64)]) -> bool {
    let mut rates = rates(windows);
    rates.sort_by(f64::total_cmp);
    let at = |share: f64| rates.get((share * rates.len() as f64) as usize).copied();
    let [low, middle, high] = [0.1, 0.5, 0.9].map(|share| at(share).unwrap_or(0.0));
    rates.len() >= 10 && high - low > VARIES * middle
}

/// Steps of windows whose rates are alike; a window without a rate keeps that before it.
fn schedule(windows: &[(f64, f64)], window: f64, least: f64) -> Vec<(f64, f64)> {
    // Of each step its beginning, and the time and octets in it.
    let mut steps: Vec<(f64, f64, f64)> = Vec::new();
    for (number, (time, octets)) in windows.iter().enumerate() {
        if *time <= 0.0 {
            continue;
        }
        let rate = octets / time;
        match steps.last_mut() {
            Some((_, sum_time, sum)) if (rate - *sum / *sum_time).abs() <= SAME_STEP * rate => {
                *sum_time += time;
                *sum += octets;
            }
            Some(_) => steps.push((number as f64 * window, *time, *octets)),
            None => steps.push((0.0, *time, *octets)),
        }
    }
    let steps = steps.into_iter();
    steps
        .map(|(at, time, octets)| (at, (octets / time).max(least)))
        .collect()
}

/// The steps without those that another one at the same time replaces.
fn in_order(steps: Vec<(f64, f64)>) -> Vec<(f64, f64)> {
    let mut kept: Vec<(f64, f64)> = Vec::new();
    for step in steps {
        if kept.last().is_some_and(|last| step.0 <= last.0) {
            kept.pop();
        }
        kept.push(step);
    }
    if let Some(first) = kept.first_mut() {
        first.0 = 0.0;
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::super::observed::PacketSize;
    use super::*;

    /// Packets of 1250 octets with 1000 of data, which take 1 ms at 10 Mbit/s.
    const PACKET: PacketSize = PacketSize {
        wire: 1250.0,
        counted: 1000.0,
    };

    /// Acknowledgements of these steps in time, each with its round trip and its packets.
    fn observed(steps: &[(f64, f64, f64)]) -> Observed {
        let (mut at_s, mut delivered) = (0.04, 0.0);
        let acks = steps.iter().map(|(step, rtt_s, packets)| {
            at_s += step;
            delivered += 1000.0 * packets;
            Ack::new(at_s, *rtt_s, delivered)
        });
        let acks: Vec<Ack> = acks.collect();
        let length_s = acks.last().map_or(0.0, |ack| ack.at_s);
        Observed {
            acks,
            length_s,
            packet: PACKET,
            packets: delivered / 1000.0,
            ..Observed::default()
        }
    }

    /// Two packets in 2 ms while 5 ms wait: 20,000 bits on the wire in 2 ms are 10 Mbit/s, whatever
    /// the pauses between are.
    #[test]
    fn the_rate_is_that_of_the_time_in_which_packets_wait() {
        let mut steps = vec![(0.0, 0.04, 1.0)];
        for _ in 0..20 {
            steps.push((0.3, 0.04, 2.0));
            steps.extend([(0.002, 0.045, 2.0); 10]);
        }
        let rate = Rate::of(&observed(&steps), 0.04);
        assert!(rate.is_filled && !rate.varies(), "{rate:?}");
        assert!((rate.mean_bps - 10e6).abs() < 1.0, "{rate:?}");
        // 20 times 20 ms of 20 times 320 ms and the first 40.
        assert!((rate.busy_share - 0.4 / 6.44).abs() < 1e-9, "{rate:?}");
    }

    /// A timeout: the round trip is an old one, and nothing arrived for half a second.
    #[test]
    fn silence_after_which_the_round_trip_is_old_is_not_the_links() {
        let mut steps = vec![(0.0, 0.04, 1.0)];
        for _ in 0..20 {
            steps.extend([(0.002, 0.6, 2.0); 10]);
            steps.push((0.5, 0.6, 1.0));
        }
        let rate = Rate::of(&observed(&steps), 0.04);
        assert!((rate.mean_bps - 10e6).abs() < 1.0, "{rate:?}");
    }

    /// 10 Mbit/s for 2 s and 5 for 2 s. The change is seen 40 ms after it, at 2.042 s, which is the
    /// beginning of a window of 50 ms at 2.05 s less the 40 ms.
    #[test]
    fn a_rate_that_changes_is_a_schedule_earlier_by_the_round_trip() {
        let mut steps = vec![(0.0, 0.04, 1.0)];
        steps.extend(vec![(0.002, 0.05, 2.0); 1000]);
        steps.extend([(0.004, 0.051, 2.0); 500]);
        let rate = Rate::of(&observed(&steps), 0.04);
        // Between them is the window in which both are.
        let [first, _, last] = rate.steps.as_slice() else {
            panic!("{rate:?}");
        };
        assert!((first.1 - 10e6).abs() < 1e3, "{rate:?}");
        assert!((last.1 - 5e6).abs() < 1e3, "{rate:?}");
        assert!((last.0 - 2.01).abs() < 1e-9, "{rate:?}");
    }

    /// One packet each 10 ms never waits: 10,000 bits in 10 ms are 1 Mbit/s, at least.
    #[test]
    fn without_waiting_the_rate_is_at_least_that_of_the_fastest_trains() {
        let rate = Rate::of(&observed(&[(0.01, 0.04, 1.0); 200]), 0.04);
        assert!(!rate.is_filled);
        assert!((rate.mean_bps - 1e6).abs() < 1.0, "{rate:?}");
        // Trains of 21 packets, 2 ms apart, are 5 Mbit/s.
        let mut steps = Vec::new();
        for _ in 0..20 {
            steps.push((0.1, 0.04, 1.0));
            steps.extend([(0.002, 0.04, 1.0); 20]);
        }
        let rate = Rate::of(&observed(&steps), 0.04);
        assert!(!rate.is_filled);
        assert!((rate.mean_bps - 5e6).abs() < 1.0, "{rate:?}");
    }
}
