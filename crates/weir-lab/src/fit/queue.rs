//! The queue of the bottleneck: what waited in it where packets were lost.
//!
//! Packets that are lost while about as much waits as ever does were dropped by a full queue, if
//! more of them are lost there than elsewhere. The others are the wire's, or those of an active
//! queue management: that drops only what has waited, and nothing while the queue is short.

use super::level::{Level, level_at};
use super::observed::Observed;
use weir_net::queue::CodelConfig;

/// The share of the packets that found less than the highest level; the rest is noise of hosts.
const HIGHEST: f64 = 0.995;
/// A loss is at the top from this share of the highest level on.
pub(super) const TOP: f64 = 0.7;
/// Losses at the top are the queue's if they are this often what the others would be there.
const OFTENER: f64 = 3.0;
/// Fewer losses than these are chance.
const LEAST_LOSSES: usize = 3;
/// Losses below the top that are fewer than this share of all are errors of the level.
const LEAST_SHARE_BELOW: f64 = 0.1;
/// Expected losses at short queues from which on their number is a test.
const TESTED_FROM: f64 = 5.0;
/// Below this share of the expected losses they depend on the queue; above twice it they do not.
const DEPENDS: f64 = 0.25;

/// The queue, and which losses are not its own.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Queue {
    /// The most that waited, in octets on the wire.
    pub(super) most_octets: f64,
    /// What waited where a full queue dropped, in octets on the wire, if it did.
    pub(super) limit_octets: Option<f64>,
    /// Losses at the top.
    pub(super) top_losses: usize,
    /// Losses elsewhere.
    pub(super) other_losses: usize,
    /// Packets sent while the queue was below its top.
    pub(super) packets_below: f64,
    /// What the losses elsewhere say of active queue management.
    pub(super) managed: Managed,
    /// The time that the packets lost elsewhere had waited: one tenth of them less.
    pub(super) target_s: f64,
}

/// Whether a queue drops before it is full.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Managed {
    /// Losses come only after waiting.
    Yes,
    /// Losses come whether packets waited or not.
    No,
    /// The trace does not tell.
    Unknown,
}

impl Queue {
    /// The queue that the losses of a flow show.
    pub(super) fn of(observed: &Observed, levels: &[Level]) -> Self {
        let mut sorted: Vec<f64> = levels.iter().map(|level| level.octets).collect();
        sorted.sort_by(f64::total_cmp);
        let place = (HIGHEST * sorted.len() as f64) as usize;
        let most_octets = sorted.get(place).or(sorted.last()).copied().unwrap_or(0.0);
        let of_losses = observed.losses.iter();
        let lost: Vec<Level> = of_losses.map(|sent_s| level_at(levels, *sent_s)).collect();
        let is_top = |level: &Level| level.octets >= TOP * most_octets;
        let (top, other): (Vec<Level>, Vec<Level>) = lost.iter().partition(|level| is_top(level));
        let share_below = share(levels, |level| !is_top(level));
        let packets_below = observed.packets * share_below;
        let per_packet = other.len() as f64 / packets_below.max(1.0);
        let expected = per_packet * (observed.packets - packets_below);
        let is_full = top.len() >= LEAST_LOSSES && top.len() as f64 > OFTENER * expected;
        let is_other = other.len() >= LEAST_LOSSES
            && other.len() as f64 > LEAST_SHARE_BELOW * lost.len() as f64;
        let octets = top.iter().map(|level| level.octets);
        Self {
            most_octets,
            limit_octets: is_full.then(|| quantile(octets, 0.5)),
            top_losses: if is_full { top.len() } else { 0 },
            other_losses: match (is_full, is_other) {
                (true, true) => other.len(),
                (true, false) => 0,
                (false, _) => lost.len(),
            },
            packets_below: if is_full {
                packets_below
            } else {
                observed.packets
            },
            managed: managed(levels, if is_full { &other } else { &lost }),
            target_s: target(if is_full { &other } else { &lost }),
        }
    }
}

/// The share of the packets of which something holds.
fn share(levels: &[Level], holds: impl Fn(&Level) -> bool) -> f64 {
    let count = levels.iter().filter(|level| holds(level)).count();
    count as f64 / levels.len().max(1) as f64
}

/// The target that CoDel has by default, in seconds.
fn usual_target_s() -> f64 {
    CodelConfig::default().target.as_secs_f64()
}

/// Whether losses come only after waiting.
fn managed(levels: &[Level], lost: &[Level]) -> Managed {
    let usual = usual_target_s();
    let is_short = |level: &Level| level.wait_s < usual;
    let expected = share(levels, is_short) * lost.len() as f64;
    if expected < TESTED_FROM {
        return Managed::Unknown;
    }
    let found = lost.iter().filter(|level| is_short(level)).count() as f64;
    if found < DEPENDS * expected {
        Managed::Yes
    } else if found > 2.0 * DEPENDS * expected {
        Managed::No
    } else {
        Managed::Unknown
    }
}

/// The target of an active queue management with these drops: its default if they are near it.
fn target(lost: &[Level]) -> f64 {
    let usual = usual_target_s();
    let waited = quantile(lost.iter().map(|level| level.wait_s), 0.1);
    if (0.4..2.5).contains(&(waited / usual)) || lost.is_empty() {
        usual
    } else {
        waited.max(0.001)
    }
}

/// A quantile of some values; zero without any.
fn quantile(values: impl Iterator<Item = f64>, share: f64) -> f64 {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    let place = (share * values.len() as f64) as usize;
    values.get(place).or(values.last()).copied().unwrap_or(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A sawtooth of 100 packets from nothing to 49,500 octets and 49.5 ms, twenty times.
    fn sawtooth() -> Vec<Level> {
        let level = |number: usize| Level {
            sent_s: number as f64 * 1e-3,
            wait_s: (number % 100) as f64 * 0.5e-3,
            octets: (number % 100) as f64 * 500.0,
        };
        (0..2000).map(level).collect()
    }

    fn queue(losses: &[usize]) -> Queue {
        let observed = Observed {
            losses: losses.iter().map(|at| *at as f64 * 1e-3).collect(),
            packets: 2000.0,
            ..Observed::default()
        };
        Queue::of(&observed, &sawtooth())
    }

    #[test]
    fn losses_at_the_top_alone_are_those_of_a_full_queue() {
        let losses: Vec<usize> = (0..20).map(|tooth| tooth * 100 + 98).collect();
        let queue = queue(&losses);
        assert_eq!(queue.limit_octets, Some(49_000.0));
        assert_eq!((queue.top_losses, queue.other_losses), (20, 0));
        // 70 of 100 packets are below 0.7 of the highest level, 49,500 octets: up to 34,500.
        assert!((queue.packets_below - 1400.0).abs() < 1e-9);
    }

    #[test]
    fn losses_anywhere_are_the_wires() {
        // Every 37th packet: 54 of 2000, 30 % of them at the top as of all packets.
        let losses: Vec<usize> = (0..2000).step_by(37).collect();
        let queue = queue(&losses);
        assert_eq!(queue.limit_octets, None);
        assert_eq!((queue.top_losses, queue.other_losses), (0, losses.len()));
        assert_eq!(queue.managed, Managed::No);
    }

    #[test]
    fn losses_only_after_waiting_are_those_of_active_management() {
        // Four in each tooth, after 6, 10, 15 and 20 ms: 10 of 100 packets wait less than 5 ms, so
        // that 8 of the 80 losses would be there by chance, and none is.
        let at = |offsets: [usize; 4]| -> Vec<usize> {
            let teeth = (0..20).flat_map(|tooth| offsets.map(|offset| tooth * 100 + offset));
            teeth.collect()
        };
        let queue = queue(&at([12, 20, 30, 40]));
        assert_eq!(queue.limit_octets, None);
        assert_eq!(queue.managed, Managed::Yes);
        // A tenth of the losses had waited less than 6 ms: near CoDel's usual target.
        assert!((queue.target_s - 0.005).abs() < 1e-12);
    }

    #[test]
    fn both_are_told_apart() {
        let mut losses: Vec<usize> = (0..20).flat_map(|t| [t * 100 + 98, t * 100 + 99]).collect();
        losses.extend((0..2000).step_by(100).map(|at| at + at / 100 * 3));
        losses.sort_unstable();
        let queue = queue(&losses);
        // 20 of 1400 packets below the top are 9 of the 600 at it by chance, and 40 are there.
        assert_eq!(queue.limit_octets, Some(49_500.0));
        assert_eq!((queue.top_losses, queue.other_losses), (40, 20));
    }
}
