//! The tins of CAKE: the classes of the DiffServ field, their shares of the rate, and the times
//! that COBALT works with at each rate (tc-cake(8), DiffServ parameters).

use super::cobalt::CobaltConfig;
use weir_proto::packet::Dscp;
use weir_proto::time::Duration;

/// The largest packet that CAKE reckons with: Ethernet's MTU and header.
const MTU: u64 = 1514;
/// The least quantum of a flow in octets.
const LEAST_QUANTUM: u64 = 300;
/// The part of a second's octets that is a flow's quantum, if it lies between 300 and 1514.
const QUANTUM_PART: u64 = 4096;
/// The target is this part of the round-trip time (tc-cake(8), rtt).
const TARGET_PART: u64 = 20;
/// The sum of the quanta of tins with a threshold of 100 % without a shaper.
const TIN_QUANTUM: u64 = 1024;

weir_proto::keywords! {
    /// How packets are sorted into tins by their DiffServ field.
    #[derive(Default)]
    pub enum Diffserv {
        /// One tin for all.
        BestEffort = "besteffort",
        /// Eight tins, each with 7/8 of the threshold of the one before.
        Diffserv8 = "diffserv8",
        /// Four tins: bulk (6.25 %), best effort (100 %), video (50 %), voice (25 %).
        Diffserv4 = "diffserv4",
        /// Three tins: bulk (6.25 %), best effort (100 %), voice (25 %).
        #[default]
        Diffserv3 = "diffserv3",
    }
}

/// The tin of each codepoint: 0 background, 1 high throughput, 2 standard, 3 video, 4 low latency,
/// 5 shell, 6 minimum latency, 7 network control.
const EIGHT: [u8; 64] = [
    2, 0, 1, 2, 4, 2, 2, 2, // CS0, LE, TOS2, TOS4
    1, 2, 1, 2, 1, 2, 1, 2, // CS1, AF1x
    5, 2, 4, 2, 4, 2, 4, 2, // CS2, AF2x
    3, 2, 3, 2, 3, 2, 3, 2, // CS3, AF3x
    6, 2, 3, 2, 3, 2, 3, 2, // CS4, AF4x
    6, 2, 2, 2, 6, 2, 6, 2, // CS5, VA, EF
    7, 2, 2, 2, 2, 2, 2, 2, // CS6
    7, 2, 2, 2, 2, 2, 2, 2, // CS7
];
/// The tin of each codepoint: 0 best effort, 1 bulk, 2 video, 3 voice.
const FOUR: [u8; 64] = [
    0, 1, 0, 0, 2, 0, 0, 0, // CS0, LE, TOS4
    1, 0, 0, 0, 0, 0, 0, 0, // CS1, AF1x
    2, 0, 2, 0, 2, 0, 2, 0, // CS2, AF2x
    2, 0, 2, 0, 2, 0, 2, 0, // CS3, AF3x
    3, 0, 2, 0, 2, 0, 2, 0, // CS4, AF4x
    3, 0, 0, 0, 3, 0, 3, 0, // CS5, VA, EF
    3, 0, 0, 0, 0, 0, 0, 0, // CS6
    3, 0, 0, 0, 0, 0, 0, 0, // CS7
];
/// The tin of each codepoint: 0 best effort, 1 bulk, 2 voice.
const THREE: [u8; 64] = [
    0, 1, 0, 0, 2, 0, 0, 0, // CS0, LE, TOS4
    1, 0, 0, 0, 0, 0, 0, 0, // CS1
    0, 0, 0, 0, 0, 0, 0, 0, //
    0, 0, 0, 0, 0, 0, 0, 0, //
    0, 0, 0, 0, 0, 0, 0, 0, //
    0, 0, 0, 0, 2, 0, 2, 0, // VA, EF
    2, 0, 0, 0, 0, 0, 0, 0, // CS6
    2, 0, 0, 0, 0, 0, 0, 0, // CS7
];

/// What a tin may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TinConfig {
    /// Its threshold in bits per second; zero if the shaper is off.
    pub(super) rate: u64,
    /// Its share of an unshaped link.
    pub(super) quantum: u64,
    /// The quantum of a flow in octets.
    pub(super) flow_quantum: u64,
    pub(super) cobalt: CobaltConfig,
}

impl Diffserv {
    /// The tin of a codepoint.
    pub(super) fn tin_of(self, dscp: Dscp) -> usize {
        let at = usize::from(dscp.bits());
        match self {
            Self::BestEffort => 0,
            Self::Diffserv8 => usize::from(EIGHT[at]),
            Self::Diffserv4 => usize::from(FOUR[at]),
            Self::Diffserv3 => usize::from(THREE[at]),
        }
    }

    /// The tins at this rate in bits per second, zero for no shaper, and round-trip time. Of tins
    /// within their threshold the last one comes first.
    pub(super) fn tins(self, rate: u64, rtt: Duration) -> Vec<TinConfig> {
        let parts: &[u64] = match self {
            Self::BestEffort => &[1],
            Self::Diffserv8 => return eighths(rate, rtt),
            Self::Diffserv4 => &[1, 16, 2, 4],
            Self::Diffserv3 => &[1, 16, 4],
        };
        let tin = |&part: &u64| tin(rate / part, TIN_QUANTUM / part, rtt);
        parts.iter().map(tin).collect()
    }
}

/// Eight tins, each with 7/8 of the one before.
fn eighths(mut rate: u64, rtt: Duration) -> Vec<TinConfig> {
    let mut quantum = 256;
    let next = |_| {
        let tin = tin(rate, quantum, rtt);
        (rate, quantum) = (rate / 8 * 7 + rate % 8 * 7 / 8, quantum * 7 / 8);
        tin
    };
    (0..8).map(next).collect()
}

fn tin(rate: u64, quantum: u64, rtt: Duration) -> TinConfig {
    let (flow_quantum, mtu_time) = if rate == 0 {
        (MTU, Duration::ZERO)
    } else {
        let part = rate / 8 / QUANTUM_PART;
        (
            part.clamp(LEAST_QUANTUM, MTU),
            Duration::of_octets(MTU, rate),
        )
    };
    // The target is at least one and a half packets, and the interval grows with it.
    let wanted = rtt / TARGET_PART;
    let target = wanted.max(mtu_time + mtu_time / 2);
    let interval = (rtt + target.saturating_sub(wanted)).max(target * 2);
    TinConfig {
        rate,
        quantum,
        flow_quantum,
        cobalt: CobaltConfig {
            target,
            interval,
            mtu_time,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RTT: Duration = Duration::from_millis(100);

    #[test]
    fn thresholds_are_those_of_the_manual() {
        // tc-cake(8): diffserv3 100 %, 6.25 %, 25 %; diffserv4 100 %, 6.25 %, 50 %, 25 %; diffserv8
        // 7/8 of the one before.
        let rates = |diffserv: Diffserv| -> Vec<u64> {
            let tins = diffserv.tins(16_000_000, RTT);
            tins.iter().map(|tin| tin.rate).collect()
        };
        assert_eq!(rates(Diffserv::BestEffort), [16_000_000]);
        assert_eq!(
            rates(Diffserv::Diffserv3),
            [16_000_000, 1_000_000, 4_000_000]
        );
        let four = [16_000_000, 1_000_000, 8_000_000, 4_000_000];
        assert_eq!(rates(Diffserv::Diffserv4), four);
        let eight = rates(Diffserv::Diffserv8);
        assert_eq!(eight[..4], [16_000_000, 14_000_000, 12_250_000, 10_718_750]);
        assert_eq!((eight.len(), eight[7]), (8, 6_283_133));
    }

    #[test]
    fn an_unshaped_link_is_shared_in_the_same_proportions() {
        let quanta = |diffserv: Diffserv| -> Vec<u64> {
            let tins = diffserv.tins(0, RTT);
            tins.iter().map(|tin| tin.quantum).collect()
        };
        assert_eq!(quanta(Diffserv::Diffserv3), [1024, 64, 256]);
        assert_eq!(quanta(Diffserv::Diffserv4), [1024, 64, 512, 256]);
        assert_eq!(
            quanta(Diffserv::Diffserv8),
            [256, 224, 196, 171, 149, 130, 113, 98]
        );
    }

    #[test]
    fn codepoints_go_to_the_tins_of_the_manual() {
        // tc-cake(8). diffserv3: bulk CS1 and LE, voice CS7, CS6, EF, VA and TOS4 (codepoint 4).
        // diffserv4: video AF4x, AF3x, CS3, AF2x, CS2 and TOS4, voice CS7, CS6, EF, VA, CS5, CS4.
        let tin = |diffserv: Diffserv, bits| diffserv.tin_of(Dscp::new(bits));
        for bits in 0..64 {
            let three = match bits {
                1 | 8 => 1,
                4 | 44 | 46 | 48 | 56 => 2,
                _ => 0,
            };
            assert_eq!(tin(Diffserv::Diffserv3, bits), three, "{bits}");
            let four = match bits {
                1 | 8 => 1,
                34 | 36 | 38 | 26 | 28 | 30 | 24 | 18 | 20 | 22 | 16 | 4 => 2,
                32 | 40 | 44 | 46 | 48 | 56 => 3,
                _ => 0,
            };
            assert_eq!(tin(Diffserv::Diffserv4, bits), four, "{bits}");
            // sch_cake: network control CS6, CS7; minimum latency EF, VA, CS5, CS4; shell CS2; low
            // latency AF2x, TOS4; video AF4x, AF3x, CS3; high throughput AF1x, TOS2, CS1;
            // background LE.
            let eight = match bits {
                1 => 0,
                10 | 12 | 14 | 2 | 8 => 1,
                34 | 36 | 38 | 26 | 28 | 30 | 24 => 3,
                18 | 20 | 22 | 4 => 4,
                16 => 5,
                46 | 44 | 40 | 32 => 6,
                48 | 56 => 7,
                _ => 2,
            };
            assert_eq!(tin(Diffserv::Diffserv8, bits), eight, "{bits}");
            assert_eq!(tin(Diffserv::BestEffort, bits), 0);
        }
    }

    #[test]
    fn times_follow_from_the_round_trip_time_and_the_rate() {
        // Unlimited: a target of 100 / 20 = 5 ms.
        let times = |rate, rtt| {
            let cobalt = tin(rate, 1, rtt).cobalt;
            [cobalt.target, cobalt.interval, cobalt.mtu_time].map(|time| time.as_nanos() / 1000)
        };
        assert_eq!(times(0, RTT), [5000, 100_000, 0]);
        assert_eq!(times(0, Duration::from_millis(30)), [1500, 30_000, 0]);
        // 10 Mbit/s: 1514 octets take 1.2112 ms, one and a half 1.8168 ms, less than 5 ms.
        assert_eq!(times(10_000_000, RTT), [5000, 100_000, 1211]);
        // 1 Mbit/s: 12.112 ms; target 18.168 ms; interval 100 + 18.168 - 5 = 113.168 ms.
        assert_eq!(times(1_000_000, RTT), [18_168, 113_168, 12_112]);
        // 100 kbit/s: 121.12 ms; target 181.68 ms; interval 2 · 181.68, more than 276.68 ms.
        assert_eq!(times(100_000, RTT), [181_680, 363_360, 121_120]);
    }

    #[test]
    fn the_quantum_of_a_flow_is_a_4096th_of_a_second_from_300_to_1514_octets() {
        let quantum = |rate| tin(rate, 1, RTT).flow_quantum;
        // 32 Mbit/s are 4 000 000 octets a second: 976.
        assert_eq!(quantum(32_000_000), 976);
        assert_eq!(quantum(1_000_000), 300);
        assert_eq!((quantum(100_000_000), quantum(0)), (1514, 1514));
    }
}
