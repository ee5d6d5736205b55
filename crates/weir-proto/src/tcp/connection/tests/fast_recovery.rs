//! Which acknowledgements a controller sees in fast recovery.

use super::*;
use crate::cc::rtt::Rtt;
use crate::cc::{Acked, CongestionEvent, RetransmissionTimeout, Sent};
use crate::event::{Hold, Limit, WindowState};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// A window of 20 segments that counts the octets acknowledged to it.
#[derive(Clone)]
struct Counting {
    in_recovery_too: bool,
    acknowledged: Arc<AtomicU64>,
}

impl WindowController for Counting {
    fn on_sent(&mut self, _: &Sent) {}
    fn on_ack(&mut self, acked: &Acked) {
        self.acknowledged.fetch_add(acked.bytes, Ordering::Relaxed);
    }
    fn wants_acks_in_recovery(&self) -> bool {
        self.in_recovery_too
    }
    fn on_congestion_event(&mut self, _: &CongestionEvent) -> bool {
        true
    }
    fn on_handshake_loss(&mut self) {}
    fn on_idle_restart(&mut self) {}
    fn leave_slow_start(&mut self) {}
    fn on_spurious_congestion_event(&mut self, _: Instant) -> bool {
        false
    }
    fn on_persistent_congestion(&mut self, _: Instant) {}
    fn on_retransmission_timeout(&mut self, _: &RetransmissionTimeout) {}
    fn window(&self) -> u64 {
        20 * MSS
    }
    fn ssthresh(&self) -> Option<u64> {
        None
    }
    fn snapshot(&self, _: u64, rtt: Rtt, _: &Hold) -> WindowState {
        rtt.into()
    }
    fn state(&self) -> &'static str {
        "slow_start"
    }
    fn limit(&self) -> Limit {
        Limit::None
    }
    fn set_max_datagram_size(&mut self, _: u64) {}
    fn clone_box(&self) -> BoxedController {
        Box::new(self.clone())
    }
}

#[test]
fn a_controller_that_measures_a_rate_counts_what_arrives_in_fast_recovery() {
    // Segment 0 is lost of twenty; 1 to 10 are SACKed one by one, of which the third begins
    // the recovery; then 0 arrives.
    for (in_recovery_too, segments) in [(false, 3), (true, 11)] {
        let mut bench = Bench::open("linux", false);
        let acknowledged = Arc::new(AtomicU64::new(0));
        bench.sender.controller = Box::new(Counting {
            in_recovery_too,
            acknowledged: Arc::clone(&acknowledged),
        });
        assert_eq!(bench.sent(100).len(), 20);
        for n in 1..=10 {
            bench.ack(200, 0, &[(1, n + 1)]);
            bench.sent(200);
        }
        bench.ack(300, 11, &[]);
        let counted = acknowledged.load(Ordering::Relaxed);
        assert_eq!(counted, segments * MSS, "{in_recovery_too}");
    }
    let tfrc = named("tfrc", &WindowConfig::default()).expect("a known controller");
    let newreno = named("newreno", &WindowConfig::default()).expect("a known controller");
    assert!(tfrc.wants_acks_in_recovery() && !newreno.wants_acks_in_recovery());
}
