//! Sequence numbers of the wire, 32 bits, and offsets of the stream, 64.

/// Sequence numbers: offset `o` of a stream that began with number `initial` is `initial + 1 + o`.
pub(super) const fn wrap(initial: u32, offset: u64) -> u32 {
    initial.wrapping_add(1).wrapping_add(offset as u32)
}

/// The offset nearest to `near` that has this number; `None` if that lies before the stream.
pub(super) fn unwrap(initial: u32, number: u32, near: u64) -> Option<u64> {
    let distance = number.wrapping_sub(wrap(initial, near)) as i32;
    near.checked_add_signed(i64::from(distance))
}
