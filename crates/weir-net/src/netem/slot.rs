//! Slots of tc-netem(8): packets are collected and arrive together when a slot opens, as behind a
//! cable modem, a radio that aggregates frames, or a receiver that batches acknowledgements.
//!
//! A packet that is ready after the last slot has opened waits for a new slot, which opens after a
//! delay drawn from `slot`; packets that become ready before then arrive with it. After a slot that
//! is full, by `slot_packets` or `slot_bytes`, the next one opens a delay later.

use super::NetemConfig;
use weir_proto::rng::Rng;
use weir_proto::time::Instant;

/// When the slots of a link open.
#[derive(Clone, Debug)]
pub(super) struct Slots {
    rng: Rng,
    opens: Option<Instant>,
    packets: u64,
    bytes: u64,
}

impl Slots {
    pub(super) fn new(seed: u64, link: &str) -> Self {
        Self {
            rng: Rng::stream(seed, &format!("link/{link}/slot")),
            opens: None,
            packets: 0,
            bytes: 0,
        }
    }

    /// The arrival of a packet of this size that is ready at this time.
    pub(super) fn arrival(&mut self, config: &NetemConfig, ready: Instant, size: u32) -> Instant {
        if config.slot.most.is_zero() {
            return ready;
        }
        let opens = match self.opens {
            Some(opens) if opens >= ready => opens,
            _ => self.open_after(config, ready),
        };
        self.packets += 1;
        self.bytes += u64::from(size);
        let is_full = |used, most| most > 0 && used >= most;
        if is_full(self.packets, config.slot_packets) || is_full(self.bytes, config.slot_bytes) {
            self.open_after(config, opens);
        }
        opens
    }

    /// Creates an empty slot that opens a random delay after this time; returns when it opens.
    fn open_after(&mut self, config: &NetemConfig, time: Instant) -> Instant {
        let opens = time + config.slot.draw(&mut self.rng);
        self.opens = Some(opens);
        (self.packets, self.bytes) = (0, 0);
        opens
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use weir_proto::DurationRange;
    use weir_proto::time::Duration;

    /// Arrivals in milliseconds of packets of 100 octets that are ready at these milliseconds.
    fn arrivals(config: &NetemConfig, ready: &[u64]) -> Vec<u64> {
        let mut slots = Slots::new(1, "test");
        let at = |&millis: &u64| Instant::ZERO + Duration::from_millis(millis);
        let arrivals = ready
            .iter()
            .map(|time| slots.arrival(config, at(time), 100));
        arrivals.map(|time| time.as_nanos() / 1_000_000).collect()
    }

    #[test]
    fn packets_gather_until_a_slot_opens_and_a_full_one_is_followed_by_the_next() {
        let ten = NetemConfig {
            slot: Duration::from_millis(10).into(),
            ..NetemConfig::default()
        };
        let three = NetemConfig {
            slot_packets: 3,
            ..ten
        };
        let octets = NetemConfig {
            slot_bytes: 150,
            ..ten
        };
        let none = NetemConfig::default();
        let ready = [5, 6, 7, 8, 15, 16, 40];
        for (config, expected) in [
            (&none, ready),
            // Slots open at 15, 26 and 50.
            (&ten, [15, 15, 15, 15, 15, 26, 50]),
            // Full at 15: the next opens at 25 and is full too; only one packet waits for the last.
            (&three, [15, 15, 15, 25, 25, 25, 50]),
            // The second packet exceeds 150 octets and fills the slot; the last packet waits for
            // the empty slot that follows the third full one.
            (&octets, [15, 15, 25, 25, 35, 35, 45]),
        ] {
            assert_eq!(arrivals(config, &ready), expected, "{config:?}");
        }
    }

    #[test]
    fn delays_of_slots_lie_within_their_range() {
        let range = DurationRange {
            least: Duration::from_millis(10),
            most: Duration::from_millis(30),
        };
        let config = NetemConfig {
            slot: range,
            ..NetemConfig::default()
        };
        let ready: Vec<u64> = (0..1000).map(|n| n * 100).collect();
        let waits = arrivals(&config, &ready).into_iter().zip(&ready);
        let waits: Vec<u64> = waits.map(|(arrives, ready)| arrives - ready).collect();
        assert!(waits.iter().all(|wait| (10..=30).contains(wait)));
        let mean = waits.iter().sum::<u64>() as f64 / 1000.0;
        assert!((mean - 19.5).abs() < 0.6, "{mean}");
    }
}
