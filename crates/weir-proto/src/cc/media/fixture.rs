//! What tests of the controllers share.

use super::control::{PacketOutcome, PacketReport};
use crate::time::{Duration, Instant};

pub(super) fn at(millis: u64) -> Instant {
    Instant::ZERO + Duration::from_millis(millis)
}

pub(super) fn close(a: f64, b: f64) -> bool {
    (a - b).abs() <= 1e-9 * b.abs().max(1e-3)
}

/// A packet of `bytes` that was sent at this time; `delay` is `None` if it was lost.
pub(super) fn packet_of(bytes: u32, sequence: u64, sent: u64, delay: Option<u64>) -> PacketReport {
    let arrival = delay.map(|delay| Duration::from_millis(sent + delay));
    PacketReport {
        sequence,
        sent: at(sent),
        bytes,
        outcome: arrival.map_or(PacketOutcome::Lost, |arrival| PacketOutcome::Received {
            at: Some(arrival),
            marked: false,
        }),
    }
}
