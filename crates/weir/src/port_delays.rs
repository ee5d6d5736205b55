//! One-way delays of the packets of kernels, from where they enter a network to where they leave.
//!
//! The kernels tell no one-way delay. The network between them is driven by one clock, so that the
//! time of each packet in it is known, and the part of it that it waited in queues.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use weir_net::{DelayMeter, DelayStatistics, IntervalDelays};
use weir_proto::endpoint::Arrival;
use weir_proto::packet::{FlowId, HostId, Packet, Transit};
use weir_proto::time::Instant;

/// A flow's number, and the hosts between which its packets are sent.
type Way = (FlowId, HostId, HostId);

/// The delays of all flows; clones share them.
#[derive(Clone, Default)]
pub struct PortDelays(Arc<Mutex<BTreeMap<Way, DelayMeter>>>);

impl PortDelays {
    fn meters(&self) -> MutexGuard<'_, BTreeMap<Way, DelayMeter>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A packet enters the network.
    pub fn entered(now: Instant, packet: &mut Packet) {
        packet.transit = Transit {
            sent_at: now,
            ..Transit::default()
        };
    }

    /// A packet leaves the network.
    pub fn left(&self, now: Instant, packet: &Packet) {
        let way = (packet.flow, packet.ip.source, packet.ip.destination);
        let mut meters = self.meters();
        let meter = meters.entry(way).or_default();
        meter.on_packet(now, Arrival::from(packet));
    }

    /// The warm-up is over: the delays until now do not count.
    pub fn restart(&self) {
        self.meters().values_mut().for_each(DelayMeter::restart);
    }

    /// The delays of a flow since the last call.
    pub fn take_interval(&self, way: Way) -> Option<IntervalDelays> {
        Some(self.meters().get_mut(&way)?.take_interval())
    }

    /// The delays of a flow; nothing is left of them.
    pub fn take(&self, way: Way) -> Option<DelayStatistics> {
        self.meters().remove(&way).map(DelayMeter::into_statistics)
    }

    /// The delays of all packets by the hosts between which they were sent; nothing is left.
    pub fn take_all(&self) -> BTreeMap<[HostId; 2], DelayStatistics> {
        let mut all = BTreeMap::<_, DelayStatistics>::new();
        for ((_, from, to), meter) in std::mem::take(&mut *self.meters()) {
            all.entry([from, to])
                .or_default()
                .add(&meter.into_statistics());
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use weir_proto::packet::{Body, IpHeader, Payload};
    use weir_proto::time::Duration;

    #[test]
    fn a_packet_is_measured_from_its_entry_and_counts_after_the_warm_up() {
        let delays = PortDelays::default();
        let at = |millis| Instant::ZERO + Duration::from_millis(millis);
        let way = |flow| (FlowId(flow), HostId(0), HostId(1));
        let pass = |flow: u32, from: u64, to: u64| {
            let mut packet = Packet::new(100, Body::Other(Payload::from_bytes(&[0; 72])));
            packet.flow = FlowId(flow);
            packet.ip = IpHeader {
                destination: HostId(1),
                ..packet.ip
            };
            PortDelays::entered(at(from), &mut packet);
            delays.left(at(to), &packet);
        };
        pass(1, 0, 500);
        assert_eq!(
            delays.take_interval(way(1)).map(|of| of.one_way_max),
            Some(Duration::from_millis(500))
        );
        delays.restart();
        pass(1, 600, 620);
        pass(2, 600, 640);
        assert_eq!(delays.take_interval(way(2)).map(|of| of.packets), Some(1));
        assert!(delays.take_interval(way(3)).is_none());
        let one = delays.take(way(1)).expect("delays");
        assert_eq!(
            (one.one_way.count(), one.one_way.max()),
            (1, Some(20_000_000))
        );
        let all = delays.take_all();
        assert_eq!(all.len(), 1);
        let rest = &all[&[HostId(0), HostId(1)]];
        assert_eq!(
            (rest.one_way.count(), rest.one_way.max()),
            (1, Some(40_000_000))
        );
    }
}
