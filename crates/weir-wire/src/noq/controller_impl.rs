//! noq's controller trait for Weir's controllers and for observed ones.

use super::calls::{Acknowledgement, Congestion, shared_methods};
use super::observed::ObservedController;
use super::path_controller::PathController;
use super::stack_api::WindowQueries;
use noq_proto::RttEstimator;
use noq_proto::congestion::{Controller, ControllerMetrics};
use std::any::Any;
use std::time::{Duration, Instant};

/// noq's trait for a controller whose methods of the same meaning are the stack's. Packets are
/// counted as sent one by one, without those that contain only acknowledgements.
macro_rules! controller {
    ($controller:ty, $on_window_full:expr) => {
        impl Controller for $controller {
            fn on_sent(&mut self, now: Instant, bytes: u64, largest_pn: u64) {
                if let Some(own) = self.own_mut() {
                    own.on_sent(now, bytes, largest_pn);
                }
            }

            fn on_packet_sent(&mut self, now: Instant, bytes: u16, pn: u64) {
                if let Some(own) = self.own_mut() {
                    own.on_packet_sent(now, bytes, pn);
                }
                self.send(now, u64::from(bytes));
            }

            fn on_cwnd_limited(&mut self) {
                if let Some(own) = self.own_mut() {
                    own.on_cwnd_limited();
                }
                let on_window_full: fn(&Self) = $on_window_full;
                on_window_full(self);
            }

            fn on_ack(
                &mut self,
                now: Instant,
                sent: Instant,
                bytes: u64,
                number: u64,
                app_limited: bool,
                rtt: &RttEstimator,
            ) {
                let acked = Acknowledgement {
                    now,
                    sent,
                    bytes,
                    number,
                    app_limited,
                };
                self.acknowledge(&acked, rtt);
            }

            fn on_congestion_event(
                &mut self,
                now: Instant,
                sent: Instant,
                is_persistent: bool,
                is_ecn: bool,
                lost_bytes: u64,
                largest_lost: u64,
            ) {
                self.congest(&Congestion {
                    now,
                    sent,
                    is_persistent,
                    is_ecn,
                    lost_bytes,
                    largest_lost,
                });
            }

            fn on_packet_lost(&mut self, lost_bytes: u16, pn: u64, now: Instant) {
                if let Some(own) = self.own_mut() {
                    own.on_packet_lost(lost_bytes, pn, now);
                }
            }

            fn on_spurious_congestion_event(&mut self) {
                if let Some(own) = self.own_mut() {
                    own.on_spurious_congestion_event();
                }
            }

            fn on_ack_frequency_update(&mut self, threshold: u64, max_ack_delay: Duration) {
                if let Some(own) = self.own_mut() {
                    own.on_ack_frequency_update(threshold, max_ack_delay);
                }
            }

            shared_methods!();
        }
    };
}

controller!(PathController, |_| {});
controller!(ObservedController, |observed| {
    observed.with_queries(WindowQueries::on_window_full);
});
