//! Conversion between sequence numbers (32 bits) and stream offsets (64 bits).

/// The sequence number of a stream offset: the initial sequence number, one for the SYN, and the
/// offset, modulo 2^32.
pub(super) const fn wrap(initial: u32, offset: u64) -> u32 {
    initial.wrapping_add(1).wrapping_add(offset as u32)
}

/// The offset nearest to `near` that has this sequence number; `None` if it would be negative.
pub(super) fn unwrap(initial: u32, number: u32, near: u64) -> Option<u64> {
    let distance = number.wrapping_sub(wrap(initial, near)) as i32;
    near.checked_add_signed(i64::from(distance))
}
