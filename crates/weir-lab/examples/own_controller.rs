//! A custom controller, evaluated as in `weir evaluate`: it keeps a queue of 5 ms.
//!
//! `cargo run --release --example own_controller` prints its strengths and weaknesses compared with
//! CUBIC and Reno, and writes the page with all figures to `evaluations/hold-delay`.

use std::error::Error;
use std::path::Path;
use std::sync::Arc;
use weir_lab::candidate::Candidate;
use weir_lab::evaluation::{Options, OwnPaths, Size, Suite, evaluate};
use weir_proto::cc::Acked;
use weir_proto::cc::window::{BoxedController, Classic, Policy, WindowConfig, added};
use weir_proto::time::{Duration, Instant};

/// The target queueing delay.
const TARGET: Duration = Duration::from_millis(5);

#[derive(Clone)]
struct HoldDelay {
    packet: u64,
    reduced_at: Instant,
}

impl Policy for HoldDelay {
    /// Increases the window by eight packets in each round trip, or reduces it by a tenth.
    fn on_ack(&mut self, cwnd: u64, acked: &Acked) -> u64 {
        if acked.rtt.latest.saturating_sub(acked.rtt.min) <= TARGET {
            cwnd + (8 * self.packet * acked.bytes).div_ceil(cwnd)
        } else if acked.sent_at < self.reduced_at {
            cwnd
        } else {
            self.reduced_at = acked.now;
            (cwnd - cwnd / 10).max(2 * self.packet)
        }
    }

    fn on_congestion_event(&mut self, _: Instant, cwnd: u64) -> u64 {
        cwnd / 2
    }

    fn set_max_datagram_size(&mut self, octets: u64) {
        self.packet = octets;
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    // This is all that makes it known, to scenarios too. `Classic` has slow start, recovery and
    // timeouts.
    let make = |config: &WindowConfig| {
        let packet = config.max_datagram_size;
        let reduced_at = Instant::ZERO;
        Box::new(Classic::new(config, HoldDelay { packet, reduced_at })) as BoxedController
    };
    added::add("hold-delay", "A queue of five milliseconds", Arc::new(make))?;
    let suite = Suite::rfc9743()?.sized(Size::Quick, &OwnPaths::default())?;
    let subject = Candidate::parse("quic:hold-delay")?;
    let evaluation = evaluate(&suite, &subject, &Options::default())?;
    print!("{}", evaluation.text());
    evaluation.write(Path::new("evaluations/hold-delay"))?;
    Ok(())
}
