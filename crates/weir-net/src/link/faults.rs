//! Impairments of a wire other than its loss model and netem: outages, ECN faults, and delays by
//! class.
//!
//! Boxed, because most links have none.

use super::Wire;
use super::config::LinkConfig;
use crate::class_delay::{ClassDelayConfig, delay_of};
use crate::ecn_faults::{EcnFate, EcnFaults};
use crate::outage::Outage;
use crate::packet_pool::PacketRef;
use weir_proto::event::DropReason;
use weir_proto::packet::Ecn;
use weir_proto::rng::Rng;
use weir_proto::time::{Duration, Instant};

/// The faults of a wire.
#[derive(Debug)]
pub(super) struct Faults {
    outages: Vec<Outage>,
    ecn: Option<EcnFaults>,
    class_delays: Vec<ClassDelayConfig>,
}

impl Faults {
    /// `None` if the wire has none.
    pub(super) fn new(config: &LinkConfig, seed: u64) -> Option<Box<Self>> {
        if config.is_faultless() {
            return None;
        }
        // Both directions of a wire draw the same times.
        let outages = config.outages.iter().enumerate().map(|(n, &outage)| {
            let stream = format!("link/{}/outage/{n}", config.wire());
            Outage::new(outage, Rng::stream(seed, &stream))
        });
        let ecn = Rng::stream(seed, &format!("link/{}/ecn", config.name));
        Some(Box::new(Self {
            outages: outages.collect(),
            ecn: EcnFaults::new(config.ecn_faults, ecn),
            class_delays: config.class_delays.clone(),
        }))
    }

    /// True if an outage is in progress at this time.
    pub(super) fn is_out(&mut self, at: Instant) -> bool {
        self.outages.iter_mut().any(|outage| outage.is_on(at))
    }

    /// Applies the ECN faults to a packet: its field may be cleared, or it is dropped.
    pub(super) fn meet_ecn(
        &mut self,
        wire: &mut Wire,
        packet: &mut PacketRef,
    ) -> Option<DropReason> {
        match self.ecn.as_mut()?.fate_of(packet.ip.ecn) {
            EcnFate::Kept => None,
            EcnFate::Bleached => {
                packet.ip.ecn = Ecn::NotEct;
                wire.counters.packets_bleached += 1;
                None
            }
            EcnFate::Dropped => Some(DropReason::EcnBlackHole),
        }
    }

    /// The delay of a packet on top of the wire's.
    pub(super) fn delay_of(&self, packet: &PacketRef) -> Duration {
        delay_of(&self.class_delays, packet.size, packet.ip.ecn)
    }

    /// True if packets of one class may overtake those of another.
    pub(super) const fn overtakes(&self) -> bool {
        !self.class_delays.is_empty()
    }
}

#[cfg(test)]
mod tests;
