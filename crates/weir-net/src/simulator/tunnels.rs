//! What the event loop does for tunnels.

use super::{Outcome, Run};
use crate::network::{Network, Side};
use crate::packet_pool::PacketRef;
use weir_proto::event::EventSource;

impl Run<'_> {
    /// Hands a packet to the end of a tunnel at which this direction begins. The outer connection
    /// is called in an event of its own.
    pub(super) fn enter_tunnel(&mut self, direction: usize, packet: PacketRef) {
        let Some(id) = self.network.tunnel_entry(direction) else {
            return self.drop_unreachable(packet);
        };
        let network = &mut *self.network;
        let now = network.now;
        let slot = &mut network.agents[id as usize];
        let Some(end) = slot.agent.tunnel() else {
            return self.drop_unreachable(packet);
        };
        let facts = end.reads_acks().then(|| network.pool.ack_facts(&packet));
        if end.enter(now, packet, facts.flatten()) {
            slot.agent.wake_app(now);
            network.queue.set(slot.target, now, now);
        }
        self.observe_tunnel(id);
    }

    /// Delivers the packets that come out of a tunnel at this agent, and removes those that it
    /// dropped.
    #[inline(never)]
    pub(super) fn serve_tunnel(&mut self, id: u32) -> Outcome<()> {
        let host = self.network.agents[id as usize].agent.host();
        self.observe_tunnel(id);
        while let Some(packet) = self.network.poll_tunnel(id) {
            let target = self.network.agents[id as usize].target;
            self.count_event(target)?;
            // The end where the packet entered has recorded that it was carried.
            if let Some(peer) = self.network.peer_of(id) {
                self.observe_tunnel(peer);
            }
            self.deliver(host, packet)?;
        }
        Ok(())
    }

    /// Records the events of an end of a tunnel while their packets are in the pool, and removes
    /// the packets that it has dropped.
    fn observe_tunnel(&mut self, id: u32) {
        let Network {
            agents,
            pool,
            tunnels,
            ..
        } = &mut *self.network;
        let slot = &mut agents[id as usize];
        let Some(tunnel) = tunnels.get(slot.tunnel as usize) else {
            return;
        };
        let source = tunnel.sources[usize::from(slot.side == Side::Receiver)];
        if let Some(end) = slot.agent.tunnel() {
            let source = EventSource(source.0);
            end.events().record(pool, source, self.probe);
        }
        self.network.discard_from_tunnel(id);
    }
}
