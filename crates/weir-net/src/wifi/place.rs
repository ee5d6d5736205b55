//! Places of stations and sources of interference, and the received power of their signals.
//!
//! Log-distance path loss: `received = power - loss at 1 m - 10 n log10(metres)`, in dB and dBm,
//! with n the exponent; below 10 cm as at 10 cm. Does not model: walls, fading.

use weir_proto::settings::number;
use weir_proto::time::Instant;

/// The smallest distance, because the law holds in the far field only.
const NEAREST_METRES: f64 = 0.1;

weir_proto::settings! {
    /// A place on a plane.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct Place {
        /// Metres from the origin to the right.
        pub x: f64 = 0.0 => number(-1e5..=1e5, "m"),
        /// Metres from the origin upwards.
        pub y: f64 = 0.0 => number(-1e5..=1e5, "m"),
    }
}

weir_proto::settings! {
    /// How signals weaken with the distance, and what they must exceed.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct PathLossConfig {
        /// Noise of a receiver in dBm: thermal noise of 20 MHz (-101 dBm) and its own.
        pub noise: f64 = -95.0 => number(-200.0..=100.0, "dBm"),
        /// Path loss over the first metre in dB: 40 in free space at 2.4 GHz.
        pub loss_at_1m: f64 = 40.0 => number(0.0..=200.0, "dB"),
        /// The exponent of the path loss: 2 in free space, 3 to 4 indoors.
        pub exponent: f64 as "path_loss" = 3.0 => number(0.0..=10.0, ""),
        /// From this power in dBm on a station hears interference that is not 802.11.
        // IEEE 802.11-2007 §17.3.10.5: 20 dB above the sensitivity of -82 dBm.
        pub energy_detection: f64 = -62.0 => number(-200.0..=100.0, "dBm"),
    }
}

impl PathLossConfig {
    /// The power in dBm received at one place from another.
    pub fn received_dbm(&self, power_dbm: f64, from: Place, to: Place) -> f64 {
        let metres = libm::hypot(to.x - from.x, to.y - from.y).max(NEAREST_METRES);
        power_dbm - self.loss_at_1m - 10.0 * self.exponent * libm::log10(metres)
    }
}

/// Milliwatts of a power in dBm.
pub(super) fn milliwatts(dbm: f64) -> f64 {
    libm::pow(10.0, dbm / 10.0)
}

/// The power received at one place from another, recomputed when a place or the power changes: one
/// logarithm per frame would cost more than the rest of the channel.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Reception {
    of: Option<(f64, Place, Place)>,
    dbm: f64,
    milliwatts: f64,
}

impl Reception {
    /// [`PathLossConfig::received_dbm`] of a path whose law never changes.
    pub(super) fn dbm(&mut self, law: &PathLossConfig, power: f64, from: Place, to: Place) -> f64 {
        self.update(law, (power, from, to));
        self.dbm
    }

    /// The same power in milliwatts.
    pub(super) fn milliwatts(
        &mut self,
        law: &PathLossConfig,
        power: f64,
        from: Place,
        to: Place,
    ) -> f64 {
        self.update(law, (power, from, to));
        self.milliwatts
    }

    fn update(&mut self, law: &PathLossConfig, of: (f64, Place, Place)) {
        if self.of != Some(of) {
            let dbm = law.received_dbm(of.0, of.1, of.2);
            *self = Self {
                of: Some(of),
                dbm,
                milliwatts: milliwatts(dbm),
            };
        }
    }
}

/// A value that changes at times.
#[derive(Clone, Debug, Default)]
pub(super) struct Schedule<T>(Vec<(Instant, T)>);

impl<T: Copy> Schedule<T> {
    /// Entries may come in any order; of entries at the same time the last one holds.
    pub(super) fn new(mut entries: Vec<(Instant, T)>) -> Self {
        entries.sort_by_key(|&(at, _)| at);
        Self(entries)
    }

    /// The value at a time; `None` before the first entry.
    pub(super) fn at(&self, at: Instant) -> Option<T> {
        let past = self.0.partition_point(|&(from, _)| from <= at);
        past.checked_sub(1).map(|index| self.0[index].1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ten_times_the_distance_cost_ten_times_the_exponent() {
        let law = PathLossConfig::default();
        let origin = Place::default();
        let at = |x, y| law.received_dbm(15.0, origin, Place { x, y });
        assert_eq!(at(1.0, 0.0), -25.0);
        assert_eq!(at(0.0, -10.0), -55.0);
        // A 3-4-5 triangle: 10 * 3 * log10(5) = 20.97 dB.
        assert!((at(3.0, 4.0) + 45.969).abs() < 1e-3);
        assert_eq!(at(0.0, 0.0), at(0.1, 0.0));
    }

    #[test]
    fn a_reception_follows_its_places_and_its_power() {
        let law = PathLossConfig::default();
        let at = |x| Place { x, y: 0.0 };
        let mut reception = Reception::default();
        let mut dbm = |power, from, to| reception.dbm(&law, power, at(from), at(to));
        // 30 dB for a tenfold distance, after 40 dB over the first metre.
        assert_eq!(dbm(15.0, 0.0, 10.0), -55.0);
        assert_eq!(dbm(15.0, 0.0, 10.0), -55.0);
        assert_eq!(dbm(15.0, 0.0, 1.0), -25.0);
        assert_eq!(dbm(15.0, 9.0, 10.0), -25.0);
        assert_eq!(dbm(20.0, 9.0, 10.0), -20.0);
        assert_eq!(reception.milliwatts(&law, 20.0, at(9.0), at(10.0)), 0.01);
    }

    #[test]
    fn a_schedule_holds_from_each_entry_on() {
        let at = |secs: u64| Instant::from_nanos(secs * 1_000_000_000);
        let schedule = Schedule::new(vec![(at(5), 'b'), (at(1), 'a')]);
        let values = [0, 1, 4, 5, 9].map(|secs| schedule.at(at(secs)));
        assert_eq!(values, [None, Some('a'), Some('a'), Some('b'), Some('b')]);
    }
}
