//! quinn's controller trait for Weir's controllers and for observed ones.

use super::calls::{Acknowledgement, Congestion, shared_methods};
use super::observed::ObservedController;
use super::path_controller::PathController;
use quinn_proto::RttEstimator;
use quinn_proto::congestion::{Controller, ControllerMetrics};
use std::any::Any;
use std::time::Instant;

/// quinn's trait for a controller whose methods of the same meaning are the stack's.
macro_rules! controller {
    ($controller:ty) => {
        impl Controller for $controller {
            fn on_sent(&mut self, now: Instant, bytes: u64, last_packet_number: u64) {
                if let Some(own) = self.own_mut() {
                    own.on_sent(now, bytes, last_packet_number);
                }
                self.send(now, bytes);
            }

            fn on_ack(
                &mut self,
                now: Instant,
                sent: Instant,
                bytes: u64,
                app_limited: bool,
                rtt: &RttEstimator,
            ) {
                let acked = Acknowledgement {
                    now,
                    sent,
                    bytes,
                    number: 0,
                    app_limited,
                };
                self.acknowledge(&acked, rtt);
            }

            fn on_congestion_event(
                &mut self,
                now: Instant,
                sent: Instant,
                is_persistent: bool,
                lost_bytes: u64,
            ) {
                self.congest(&Congestion {
                    now,
                    sent,
                    is_persistent,
                    is_ecn: lost_bytes == 0,
                    lost_bytes,
                    largest_lost: 0,
                });
            }

            shared_methods!();
        }
    };
}

controller!(PathController);
controller!(ObservedController);
