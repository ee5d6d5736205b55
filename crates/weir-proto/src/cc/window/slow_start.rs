//! Slow start (RFC 9002 §7.3.1): while cwnd < ssthresh the window grows by what is acknowledged,
//! cwnd += acked octets, which doubles it in a round-trip time. It ends with the first
//! congestion event. Shared by all policies.
//!
//! Not modelled: HyStart and HyStart++ (RFC 9406).

/// True while the window is below the threshold; no threshold is an infinite one.
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
