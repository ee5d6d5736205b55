//! A controller of one's own, evaluated as `weir evaluate` does: it holds a queue of 5 ms.
//!
//! `cargo run --release --example own_controller` prints what is good and bad about it beside
//! CUBIC and Reno, and writes the page with all figures to `evaluations/hold-delay`.

use std::error::Error;
use std::path::Path;
use weir_lab::candidate::Candidate;
use weir_lab::evaluation::{Options, Suite, evaluate};
use weir_proto::cc::window::{BoxedController, ControllerEntry};
use weir_proto::cc::{Acked, CongestionEvent, RetransmissionTimeout, Sent, WindowController};
use weir_proto::event::Limit;
use weir_proto::time::{Duration, Instant};

/// The queue to hold.
const TARGET: Duration = Duration::from_millis(5);

/// This is all that makes it known.
static HOLD_DELAY: ControllerEntry = ControllerEntry {
    name: "hold-delay",
    doc: "A queue of five milliseconds",
    make: |config| {
        let (window, packet) = (
            config.initial_window() as f64,
            config.max_datagram_size as f64,
        );
        let reduced_at = Instant::ZERO;
        Box::new(HoldDelay {
            window,
            packet,
            reduced_at,
        })
    },
};

#[derive(Clone)]
struct HoldDelay {
    window: f64,
    packet: f64,
    reduced_at: Instant,
}

impl HoldDelay {
    /// At most once for what was sent in one round trip.
    fn reduce(&mut self, now: Instant, sent_at: Instant, factor: f64) {
        if sent_at >= self.reduced_at {
            self.window = (factor * self.window).max(2.0 * self.packet);
            self.reduced_at = now;
        }
    }
}

impl WindowController for HoldDelay {
    fn on_sent(&mut self, _: &Sent) {}

    fn on_ack(&mut self, acked: &Acked) {
        if acked.app_limited {
            return;
        }
        if acked.rtt.latest.saturating_sub(acked.rtt.min) <= TARGET {
            // Eight packets more in each round trip.
            self.window += 8.0 * self.packet * acked.bytes as f64 / self.window;
        } else {
            self.reduce(acked.now, acked.sent_at, 0.9);
        }
    }

    fn on_congestion_event(&mut self, event: &CongestionEvent) {
        self.reduce(event.now, event.sent_at, 0.5);
    }

    fn on_persistent_congestion(&mut self, _: Instant) {
        self.window = 2.0 * self.packet;
    }

    fn on_retransmission_timeout(&mut self, _: &RetransmissionTimeout) {
        self.window = self.packet;
    }

    fn window(&self) -> u64 {
        self.window as u64
    }

    fn ssthresh(&self) -> Option<u64> {
        None
    }

    fn state(&self) -> &'static str {
        "congestion_avoidance"
    }

    fn limit(&self) -> Limit {
        Limit::CongestionAvoidance
    }

    fn set_max_datagram_size(&mut self, octets: u64) {
        self.packet = octets as f64;
    }

    fn clone_box(&self) -> BoxedController {
        Box::new(self.clone())
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let suite = Suite::rfc9743()?;
    let evaluation = evaluate(&suite, &Candidate::own(&HOLD_DELAY), &Options::default())?;
    print!("{}", evaluation.text());
    evaluation.write(Path::new("evaluations/hold-delay"))?;
    Ok(())
}
