//! Faults of the path with ECN: fields that are cleared, and packets that are dropped for theirs.
//!
//! Some routers clear the ECN field with the rest of the former TOS octet: ECT and CE become
//! Not-ECT ("bleaching"), so that earlier marks are lost and a later queue drops packets that it
//! would mark. Some middleboxes drop every packet that is not Not-ECT, a "black hole" for ECN.
//! Transports must detect both: RFC 3168 §6.1.1.1 and RFC 9768 §3.2.2.4 (TCP), RFC 9000 §13.4.2
//! (QUIC).

use weir_proto::packet::Ecn;
use weir_proto::rng::Rng;
use weir_proto::units::Probability;

weir_proto::settings! {
    /// What a path does to packets because of their ECN field.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct EcnFaultsConfig {
        /// Probability that the ECN field of a packet is cleared: ECT and CE become Not-ECT.
        pub bleach: Probability,
        /// Probability that a packet whose field is not Not-ECT is dropped.
        pub black_hole: Probability,
    }
}

impl EcnFaultsConfig {
    /// True if no packet is affected.
    pub fn is_none(&self) -> bool {
        self.bleach.get() <= 0.0 && self.black_hole.get() <= 0.0
    }

    /// True if a random choice determines which packets are affected.
    pub fn is_random(&self) -> bool {
        let draws = |p: Probability| p.get() > 0.0 && p.get() < 1.0;
        draws(self.bleach) || draws(self.black_hole)
    }

    /// Faults for property tests.
    pub fn arbitrary(rng: &mut Rng) -> Self {
        Self {
            bleach: Probability::clamped(rng.uniform()),
            black_hole: Probability::clamped(0.3 * rng.uniform()),
        }
    }
}

/// The effect of the faults on a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EcnFate {
    /// The packet passes unchanged.
    Kept,
    /// The packet passes as Not-ECT.
    Bleached,
    /// The packet is dropped.
    Dropped,
}

/// The faults of a wire, with their random stream.
#[derive(Debug)]
pub(crate) struct EcnFaults {
    config: EcnFaultsConfig,
    rng: Rng,
}

impl EcnFaults {
    /// `None` if the configuration has no faults.
    pub(crate) fn new(config: EcnFaultsConfig, rng: Rng) -> Option<Self> {
        (!config.is_none()).then_some(Self { config, rng })
    }

    /// The effect on the next packet, which has this ECN field.
    pub(crate) fn fate_of(&mut self, ecn: Ecn) -> EcnFate {
        if ecn == Ecn::NotEct {
            EcnFate::Kept
        } else if self.rng.chance(self.config.black_hole.get()) {
            EcnFate::Dropped
        } else if self.rng.chance(self.config.bleach.get()) {
            EcnFate::Bleached
        } else {
            EcnFate::Kept
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_packets_with_a_field_suffer_and_as_often_as_is_said() {
        let config = EcnFaultsConfig {
            bleach: Probability::clamped(0.5),
            black_hole: Probability::clamped(0.2),
        };
        assert!(EcnFaults::new(EcnFaultsConfig::default(), Rng::stream(1, "ecn")).is_none());
        let mut faults = EcnFaults::new(config, Rng::stream(1, "ecn")).expect("something happens");
        for ecn in [Ecn::Ect0, Ecn::Ect1, Ecn::Ce] {
            let fates: Vec<_> = (0..100_000).map(|_| faults.fate_of(ecn)).collect();
            let share = |fate| fates.iter().filter(|&&one| one == fate).count() as f64 / 1e5;
            // Half of the 80 % that pass are cleared. The standard errors are 0.0013 and less than
            // 0.0016.
            assert!((share(EcnFate::Dropped) - 0.2).abs() < 0.007, "{ecn:?}");
            assert!((share(EcnFate::Bleached) - 0.4).abs() < 0.008, "{ecn:?}");
        }
        assert!((0..1000).all(|_| faults.fate_of(Ecn::NotEct) == EcnFate::Kept));
    }
}
