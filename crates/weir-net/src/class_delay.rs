//! Delays of packets of a class: by their size and by their ECN field.
//!
//! Radio links fragment large packets, tunnels and middleboxes forward some packets on a slow path,
//! and others queue packets by codepoint: packets of one flow then overtake each other by class.
//! The delay adds to the link's propagation delay and does not occupy the queue. Does not model:
//! classes by DSCP.

use weir_proto::packet::Ecn;
use weir_proto::rng::Rng;
use weir_proto::settings::bytes;
use weir_proto::time::Duration;

weir_proto::keywords! {
    /// A class of packets by their ECN field.
    #[derive(Default)]
    pub enum EcnClass {
        /// Whatever the field says.
        #[default]
        Any = "any",
        /// Not ECN-capable.
        NotEct = "not_ect",
        /// ECN-capable or marked: ECT(0), ECT(1) or CE.
        Ect = "ect",
        /// ECT(1) or CE: what DualQ takes for L4S.
        L4s = "l4s",
    }
}

impl EcnClass {
    fn contains(self, ecn: Ecn) -> bool {
        match self {
            Self::Any => true,
            Self::NotEct => ecn == Ecn::NotEct,
            Self::Ect => ecn != Ecn::NotEct,
            // RFC 9331 §5.1: ECT(1) and CE.
            Self::L4s => matches!(ecn, Ecn::Ect1 | Ecn::Ce),
        }
    }
}

weir_proto::settings! {
    /// Additional delay of a class of packets. The first class that a packet belongs to counts.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct ClassDelayConfig {
        /// Propagation delay on top of the link's.
        pub delay: Duration [required],
        /// Only packets larger than this, in bytes from the IP header on.
        pub larger_than: u32 => bytes(0..=65_535),
        /// Only packets of at most this, in bytes from the IP header on.
        pub up_to: u32 = 65_535 => bytes(1..=65_535),
        /// Only packets with such an ECN field.
        pub ecn: EcnClass,
    }
}

impl ClassDelayConfig {
    /// True if packets of this size and field belong to the class.
    pub(crate) fn contains(&self, size: u32, ecn: Ecn) -> bool {
        size > self.larger_than && size <= self.up_to && self.ecn.contains(ecn)
    }

    /// A class for property tests.
    pub fn arbitrary(rng: &mut Rng) -> Self {
        Self {
            delay: Duration::from_micros(rng.below(5000)),
            larger_than: rng.below(1500) as u32,
            up_to: 1000 + rng.below(500) as u32,
            ecn: [EcnClass::Any, EcnClass::NotEct, EcnClass::Ect][rng.below(3) as usize],
        }
    }
}

/// The additional delay of a packet.
pub(crate) fn delay_of(classes: &[ClassDelayConfig], size: u32, ecn: Ecn) -> Duration {
    let class = classes.iter().find(|class| class.contains(size, ecn));
    class.map_or(Duration::ZERO, |class| class.delay)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_class_that_a_packet_belongs_to_counts() {
        let class = |millis, larger_than, up_to, ecn| ClassDelayConfig {
            delay: Duration::from_millis(millis),
            larger_than,
            up_to,
            ecn,
        };
        let classes = [
            class(1, 0, 65_535, EcnClass::L4s),
            class(2, 0, 65_535, EcnClass::Ect),
            class(3, 1000, 1400, EcnClass::Any),
            class(4, 0, 100, EcnClass::NotEct),
        ];
        for (size, ecn, millis) in [
            (1200, Ecn::Ect1, 1),
            (1200, Ecn::Ce, 1),
            (50, Ecn::Ect0, 2),
            (1000, Ecn::NotEct, 0),
            (1001, Ecn::NotEct, 3),
            (1400, Ecn::NotEct, 3),
            (1401, Ecn::NotEct, 0),
            (100, Ecn::NotEct, 4),
            (101, Ecn::NotEct, 0),
        ] {
            let delay = delay_of(&classes, size, ecn);
            assert_eq!(delay, Duration::from_millis(millis), "{size} {ecn:?}");
        }
    }
}
