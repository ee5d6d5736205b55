//! Slow start (RFC 9002 §7.3.1), which all policies share: while cwnd < ssthresh the window grows
//! by the octets acknowledged, which doubles it in a round-trip time. The first congestion event
//! ends it.
//!
//! Not modelled: HyStart and HyStart++ (RFC 9406).

/// True while the window is below the threshold; `None` is an infinite threshold.
#[inline]
pub const fn applies(cwnd: u64, ssthresh: Option<u64>) -> bool {
    match ssthresh {
        Some(threshold) => cwnd < threshold,
        None => true,
    }
}

/// The window after `acked` octets were acknowledged.
#[inline]
pub const fn grow(cwnd: u64, acked: u64) -> u64 {
    cwnd.saturating_add(acked)
}
