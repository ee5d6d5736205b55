//! What a QUIC stack tells its controller and what follows from it, in the same form for each
//! stack.

use std::time::Instant;

/// A packet was acknowledged.
#[derive(Clone, Copy, Debug)]
pub(super) struct Acknowledgement {
    pub now: Instant,
    /// When the packet was sent.
    pub sent: Instant,
    /// Its octets.
    pub bytes: u64,
    /// Its number; 0 from a stack that does not tell it.
    pub number: u64,
    pub app_limited: bool,
}

/// Packets were lost, or one was marked as having seen congestion.
#[derive(Clone, Copy, Debug)]
pub(super) struct Congestion {
    pub now: Instant,
    /// When the last of the packets was sent.
    pub sent: Instant,
    pub is_persistent: bool,
    pub is_ecn: bool,
    /// Octets of all packets that were lost; 0 for a mark.
    pub lost_bytes: u64,
    /// The largest number of these packets; 0 from a stack that does not tell it.
    pub largest_lost: u64,
}

/// What limited the stack's sending, as far as its controller can infer it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SendBound {
    /// There was nothing to send, or the peer's address is not validated.
    NoData,
    /// The window had no room.
    Window,
    /// A datagram was delayed by pacing: by the stack's pacer, or by the controller's pacing rate
    /// if that reduces the window which the stack sees.
    Pacer,
}

/// The methods of a stack's controller trait that are alike in each stack.
macro_rules! shared_methods {
    () => {
        fn on_end_acks(
            &mut self,
            now: Instant,
            in_flight: u64,
            app_limited: bool,
            largest_packet_num_acked: Option<u64>,
        ) {
            if let Some(own) = self.own_mut() {
                own.on_end_acks(now, in_flight, app_limited, largest_packet_num_acked);
            }
            self.end_acknowledgement(now, in_flight, app_limited);
        }

        fn on_mtu_update(&mut self, new_mtu: u16) {
            self.set_mtu(new_mtu);
        }

        fn window(&self) -> u64 {
            self.visible_window()
        }

        fn metrics(&self) -> ControllerMetrics {
            self.visible_metrics()
        }

        fn clone_box(&self) -> Box<dyn Controller> {
            self.copy()
        }

        fn initial_window(&self) -> u64 {
            self.first_window()
        }

        fn into_any(self: Box<Self>) -> Box<dyn Any> {
            self
        }
    };
}
pub(super) use shared_methods;
