//! Times of the physical layer: IEEE 802.11-2007 clauses 15 and 18 (b) and 19 (g, ERP-OFDM).

use std::ops::RangeInclusive;
use weir_proto::settings::{bit_rate, count, duration, or_word};
use weir_proto::time::Duration;

/// Octets that the MAC adds to an IP packet: 24 of header, 8 of LLC/SNAP, 4 of FCS.
const MAC_OVERHEAD: u32 = 36;
/// The shortest and the longest slot time that can be configured.
const SLOTS: RangeInclusive<Duration> = Duration::from_micros(1)..=Duration::from_millis(1);
/// Octets of a MAC acknowledgement.
const ACK_OCTETS: u32 = 14;

weir_proto::keywords! {
    /// A physical layer of IEEE 802.11.
    #[derive(Default)]
    pub enum Standard {
        /// 802.11b with the long preamble: 1, 2, 5.5 and 11 Mbit/s.
        B = "b",
        /// 802.11b with the short preamble.
        BShort = "b_short",
        /// 802.11g without b stations: 6 to 54 Mbit/s, short slots.
        #[default]
        G = "g",
    }
}

/// A rate: an index into the standard's table, the slowest first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct PhyRate(pub usize);

impl Standard {
    /// The rates in kbit/s, the slowest first.
    pub const fn rates_kbps(self) -> &'static [u32] {
        match self {
            Self::B | Self::BShort => &[1_000, 2_000, 5_500, 11_000],
            Self::G => &[6_000, 9_000, 12_000, 18_000, 24_000, 36_000, 48_000, 54_000],
        }
    }

    /// The fastest rate.
    pub const fn fastest(self) -> PhyRate {
        PhyRate(self.rates_kbps().len() - 1)
    }

    /// This rate in kbit/s; the fastest for an index beyond the table.
    pub fn kbps(self, rate: PhyRate) -> u32 {
        let rates = self.rates_kbps();
        rates[rate.0.min(rates.len() - 1)]
    }

    /// The slot time: the short one for g, which a cell with b stations must not use.
    pub const fn slot(self) -> Duration {
        Duration::from_micros(match self {
            Self::B | Self::BShort => 20,
            Self::G => 9,
        })
    }

    /// The short interframe space.
    pub const fn sifs(self) -> Duration {
        Duration::from_micros(10)
    }

    /// The time from the start of a preamble until the receiver reports it (aPHY-RX-START-Delay).
    const fn receive_start_delay(self) -> Duration {
        Duration::from_micros(match self {
            Self::B => 192,
            Self::BShort => 96,
            Self::G => 24,
        })
    }

    /// The smallest contention window, in slots, as the largest number drawn.
    pub const fn min_window(self) -> u32 {
        match self {
            Self::B | Self::BShort => 31,
            Self::G => 15,
        }
    }

    /// The largest contention window.
    pub const fn max_window(self) -> u32 {
        1023
    }

    /// The index of a rate in bits per second; `None` if the standard does not have it.
    pub fn rate_of(self, bps: u64) -> Option<PhyRate> {
        let found = |&kbps: &u32| u64::from(kbps) * 1_000 == bps;
        self.rates_kbps().iter().position(found).map(PhyRate)
    }

    fn frame_time(self, octets: u32, rate: PhyRate) -> Duration {
        let bits = u64::from(octets) * 8;
        let kbps = u64::from(self.kbps(rate));
        match self {
            Self::B => Duration::from_nanos(192_000 + (bits * 1_000_000).div_ceil(kbps)),
            Self::BShort => Duration::from_nanos(96_000 + (bits * 1_000_000).div_ceil(kbps)),
            Self::G => {
                // 16 us of preamble, 4 of SIGNAL, symbols of 4 us with 16 service and 6 tail bits
                // around the data, 6 us of signal extension.
                let bits_per_symbol = kbps * 4 / 1_000;
                let symbols = (16 + bits + 6).div_ceil(bits_per_symbol);
                Duration::from_micros(16 + 4 + 4 * symbols + 6)
            }
        }
    }

    /// The duration of a data frame with an IP packet of this size.
    pub fn data_time(self, ip_octets: u32, rate: PhyRate) -> Duration {
        self.frame_time(ip_octets + MAC_OVERHEAD, rate)
    }

    /// The fastest mandatory rate that does not exceed the data's.
    fn mandatory_rate(self, data_rate: PhyRate) -> PhyRate {
        let mandatory: &[usize] = match self {
            Self::B | Self::BShort => &[0, 1],
            Self::G => &[0, 2, 4],
        };
        let slower = mandatory.iter().rev().find(|&&index| index <= data_rate.0);
        PhyRate(slower.copied().unwrap_or(0))
    }
}

weir_proto::settings! {
    /// The physical layer of a cell.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct PhyConfig {
        /// 802.11b with the long preamble, 802.11b with the short one, or 802.11g.
        pub standard: Standard,
        /// A slot: "standard", or "20us" for a cell of g with b stations in it.
        pub slot: Option<Duration> => or_word("standard", duration(SLOTS)),
        /// The smallest contention window as the largest number of slots drawn.
        pub min_window: Option<u32> => or_word("standard", count(1..=1023, "slots")),
        /// The fastest rate of MAC acknowledgements: the access point's basic rates.
        pub ack_rate: Option<u64> => or_word("mandatory", bit_rate()),
    }
}

/// The times of a cell's physical layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Phy {
    /// Rates, preambles and frame times.
    pub(super) standard: Standard,
    /// The slot time. Cells of g with b stations use long slots of 20 us.
    pub(super) slot: Duration,
    /// The smallest contention window, in slots, as the largest number drawn.
    pub(super) min_window: u32,
    /// The fastest rate of MAC acknowledgements, if it is not a mandatory one: the access point
    /// selects the basic rates.
    pub(super) ack_rate: Option<PhyRate>,
}

impl From<PhyConfig> for Phy {
    fn from(config: PhyConfig) -> Self {
        let standard = config.standard;
        Self {
            standard,
            slot: config.slot.unwrap_or(standard.slot()),
            min_window: config.min_window.unwrap_or(standard.min_window()),
            ack_rate: config.ack_rate.and_then(|bps| standard.rate_of(bps)),
        }
    }
}

impl From<Standard> for PhyConfig {
    fn from(standard: Standard) -> Self {
        Self {
            standard,
            ..Self::default()
        }
    }
}

impl Phy {
    /// The distributed interframe space: SIFS and two slots.
    pub(super) fn difs(&self) -> Duration {
        self.standard.sifs() + self.slot * 2
    }

    /// The additional wait after DIFS of a station that could not receive a frame: EIFS minus DIFS,
    /// which is SIFS and an acknowledgement at the lowest mandatory rate (802.11-2007 §9.2.10), so
    /// that it does not disturb an acknowledgement that it may not hear.
    pub(super) fn eifs_without_difs(&self) -> Duration {
        let lowest = PhyRate::default();
        self.standard.sifs() + self.standard.frame_time(ACK_OCTETS, lowest)
    }

    /// The time that a sender waits for the start of an acknowledgement (802.11-2007 §9.2.8).
    pub(super) fn ack_timeout(&self) -> Duration {
        self.standard.sifs() + self.slot + self.standard.receive_start_delay()
    }

    /// The time of SIFS and the MAC acknowledgement.
    pub(super) fn ack_time(&self, data_rate: PhyRate) -> Duration {
        let mandatory = self.standard.mandatory_rate(data_rate);
        let rate = self.ack_rate.map_or(mandatory, |rate| rate.min(data_rate));
        self.standard.sifs() + self.standard.frame_time(ACK_OCTETS, rate)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frame_times_are_those_of_the_standard() {
        // 1500 octets of IP are 1536 octets of MAC.
        let b = Standard::B;
        assert_eq!(
            b.data_time(1500, PhyRate(3)),
            Duration::from_nanos(192_000 + 1_117_091)
        );
        let long = Phy::from(PhyConfig::from(b));
        assert_eq!(
            long.ack_time(PhyRate(3)),
            Duration::from_micros(10 + 192 + 56)
        );
        // 54 Mbit/s: 216 bits a symbol, (16 + 12288 + 6) / 216 = 57 symbols.
        let g = Standard::G;
        assert_eq!(
            g.data_time(1500, g.fastest()),
            Duration::from_micros(26 + 228)
        );
        // 24 Mbit/s: 96 bits a symbol, (16 + 112 + 6) / 96 = 2 symbols.
        let fast = Phy::from(PhyConfig::from(g));
        assert_eq!(
            fast.ack_time(g.fastest()),
            Duration::from_micros(10 + 26 + 8)
        );
        assert_eq!(fast.difs(), Duration::from_micros(28));
        assert_eq!(long.difs(), Duration::from_micros(50));
        // EIFS: acknowledgements at 1 Mbit/s, and at 6 Mbit/s with 24 bits a symbol, 6 symbols.
        assert_eq!(
            long.eifs_without_difs(),
            Duration::from_micros(10 + 192 + 112)
        );
        assert_eq!(
            fast.eifs_without_difs(),
            Duration::from_micros(10 + 26 + 24)
        );
        assert_eq!(long.ack_timeout(), Duration::from_micros(10 + 20 + 192));
        assert_eq!(fast.ack_timeout(), Duration::from_micros(10 + 9 + 24));
    }

    #[test]
    fn an_access_point_may_let_acknowledgements_be_faster() {
        let phy = Phy::from(PhyConfig {
            ack_rate: Some(11_000_000),
            ..PhyConfig::from(Standard::BShort)
        });
        // 112 bits at 11 Mbit/s take 10.2 us; never faster than the data.
        assert_eq!(
            phy.ack_time(PhyRate(3)),
            Duration::from_nanos(10_000 + 96_000 + 10_182)
        );
        assert_eq!(
            phy.ack_time(PhyRate(0)),
            Duration::from_micros(10 + 96 + 112)
        );
    }
}
