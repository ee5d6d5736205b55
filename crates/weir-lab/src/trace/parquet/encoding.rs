//! Encodes the values of a page, in the encodings of the Parquet format (Encodings.md of
//! apache/parquet-format) that a trace needs: the hybrid of runs and packed bits, delta encoding of
//! integers, and byte stream split.
//!
//! The library implements them value by value for every type; here they are loops over a page.

use super::page_buffer::PageBuffer;

/// The number of values in a group of packed bits, and the minimum length of a run.
const GROUP: usize = 8;
/// The number of values in a block of delta encoding, and in each of its parts, which have separate
/// widths.
const BLOCK: usize = 128;
const PART: usize = 32;

/// The differences of a block, by part.
type Block = [[u64; PART]; BLOCK / PART];

/// Octets of a number that is split into streams.
const STREAMS: usize = 8;
/// The number of values split at once, so that intermediate results stay in the first-level cache.
const SPLIT: usize = 512;
/// Fewer values than this are split one by one.
const FEW: usize = 64;

/// Appends numbers as runs and packed bits of this width ("RLE / bit-packing hybrid").
pub(super) fn put_hybrid(out: &mut PageBuffer, width: u32, numbers: &[u32]) {
    // Values from `packed` on have not been packed yet.
    let (mut packed, mut at) = (0, 0);
    while let Some(rest) = numbers.get(at..)
        && let Some(&number) = rest.first()
    {
        let run = run_at(rest, number);
        let open = (at - packed) % GROUP;
        if run < GROUP {
            at += run;
        } else if open > 0 {
            // The start of the run completes the group before it.
            at += GROUP - open;
        } else {
            put_groups(out, width, &numbers[packed..at]);
            put_run(out, width, number, run);
            at += run;
            packed = at;
        }
    }
    put_groups(out, width, &numbers[packed..]);
}

/// The number of times that `number` is repeated at the start of `numbers`.
fn run_at(numbers: &[u32], number: u32) -> usize {
    let mut len = 0;
    for other in numbers {
        if *other != number {
            break;
        }
        len += 1;
    }
    len
}

/// Appends a run of one number.
pub(super) fn put_run(out: &mut PageBuffer, width: u32, number: u32, len: usize) {
    put_varint(out, (len as u64) << 1);
    for octet in number.to_le_bytes().iter().take(width.div_ceil(8) as usize) {
        out.push(*octet);
    }
}

/// Appends groups of packed bits; the last one is padded with zeros.
fn put_groups(out: &mut PageBuffer, width: u32, numbers: &[u32]) {
    if numbers.is_empty() {
        return;
    }
    let groups = numbers.len().div_ceil(GROUP);
    put_varint(out, (groups as u64) << 1 | 1);
    put_packed(out.room(groups * width as usize), width, numbers);
}

/// Packs numbers of some bits into words, the lowest bits first.
struct PackedBits<'a> {
    words: std::slice::IterMut<'a, [u8; 8]>,
    word: u64,
    filled: u32,
}

impl PackedBits<'_> {
    /// Adds a number of this many bits, from 0 to 64.
    #[inline(always)]
    fn put(&mut self, number: u64, width: u32) {
        self.word |= number.wrapping_shl(self.filled);
        // The sum is less than the bits of two words.
        self.filled = self.filled.wrapping_add(width);
        if self.filled >= u64::BITS {
            if let Some(octets) = self.words.next() {
                *octets = self.word.to_le_bytes();
            }
            self.filled = self.filled.wrapping_sub(u64::BITS);
            let left = width.wrapping_sub(self.filled);
            self.word = number.checked_shr(left).unwrap_or(0);
        }
    }
}

/// Fills octets with numbers of this many bits, from 0 to 64, the lowest bits first, followed by
/// zeros.
fn put_packed<T: Copy + Into<u64>>(out: &mut [u8], width: u32, numbers: &[T]) {
    let (words, tail) = out.as_chunks_mut();
    let mut bits = PackedBits {
        words: words.iter_mut(),
        word: 0,
        filled: 0,
    };
    // Numbers that fit together into a word are added together.
    let rest = match width {
        ..=8 => put_together::<8, T>(&mut bits, width, numbers),
        9..=16 => put_together::<4, T>(&mut bits, width, numbers),
        _ => numbers,
    };
    for number in rest {
        bits.put((*number).into(), width);
    }
    let PackedBits {
        words, mut word, ..
    } = bits;
    for octets in words {
        *octets = word.to_le_bytes();
        word = 0;
    }
    for (octet, bits) in tail.iter_mut().zip(word.to_le_bytes()) {
        *octet = bits;
    }
}

/// Packs `N` numbers at a time, which together have at most 64 bits; returns the rest.
#[inline(always)]
fn put_together<'a, const N: usize, T: Copy + Into<u64>>(
    bits: &mut PackedBits<'_>,
    width: u32,
    numbers: &'a [T],
) -> &'a [T] {
    let (groups, rest) = numbers.as_chunks::<N>();
    for group in groups {
        let mut together = 0;
        for number in group.iter().rev() {
            together = together << width | (*number).into();
        }
        bits.put(together, N as u32 * width);
    }
    rest
}

/// Appends an unsigned number (ULEB128).
fn put_varint(out: &mut PageBuffer, mut number: u64) {
    while number > 0x7f {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

/// Appends a signed number (zigzag, ULEB128).
fn put_signed(out: &mut PageBuffer, number: i64) {
    put_varint(out, (number << 1 ^ number >> 63).cast_unsigned());
}

/// Appends numbers as differences (DELTA_BINARY_PACKED).
pub(super) fn put_deltas(out: &mut PageBuffer, numbers: &[u64]) {
    put_varint(out, BLOCK as u64);
    put_varint(out, (BLOCK / PART) as u64);
    put_varint(out, numbers.len() as u64);
    let first = numbers.first().copied().unwrap_or_default();
    put_signed(out, first.cast_signed());
    let mut deltas = Block::default();
    let after = numbers.get(1..).unwrap_or_default();
    for (before, after) in numbers.chunks(BLOCK).zip(after.chunks(BLOCK)) {
        let places = deltas.as_flattened_mut();
        for ((delta, before), after) in places.iter_mut().zip(before).zip(after) {
            *delta = after.wrapping_sub(*before);
        }
        // The padding after the last difference must not increase the width of its part.
        let one = places[0];
        places[after.len()..].fill(one);
        let least = least_of(&deltas);
        deltas.as_flattened_mut()[after.len()..].fill(least.cast_unsigned());
        put_block(out, least, &mut deltas, after.len().div_ceil(PART));
    }
}

/// A separate loop, which is faster than computing the minimum together with the differences.
#[inline(never)]
fn least_of(deltas: &Block) -> i64 {
    let mut least = i64::MAX;
    for delta in deltas.as_flattened() {
        least = least.min(delta.cast_signed());
    }
    least
}

/// Appends a block of differences with this many parts, each difference relative to the minimum.
fn put_block(out: &mut PageBuffer, least: i64, deltas: &mut Block, parts: usize) {
    put_signed(out, least);
    let mut widths = [0; BLOCK / PART];
    for (width, part) in widths.iter_mut().zip(&mut *deltas) {
        let mut bits = 0;
        for delta in part {
            *delta = delta.wrapping_sub(least.cast_unsigned());
            bits |= *delta;
        }
        *width = (u64::BITS - bits.leading_zeros()) as u8;
    }
    out.room(widths.len()).copy_from_slice(&widths);
    for (width, part) in widths.iter().zip(&*deltas).take(parts) {
        let room = out.room(PART / 8 * usize::from(*width));
        put_packed(room, u32::from(*width), part);
    }
}

/// Appends the first octets of all numbers, then the second ones, and so on (BYTE_STREAM_SPLIT).
pub(super) fn put_streams(out: &mut PageBuffer, numbers: &[u64]) {
    if numbers.is_empty() {
        return;
    }
    let mut streams = out.room(STREAMS * numbers.len());
    let mut streams: [&mut [u8]; STREAMS] = std::array::from_fn(|_| {
        let rest = std::mem::take(&mut streams);
        let (stream, rest) = rest.split_at_mut(numbers.len());
        streams = rest;
        stream
    });
    if numbers.len() < FEW {
        for (place, number) in numbers.iter().enumerate() {
            for (stream, octet) in streams.iter_mut().zip(number.to_le_bytes()) {
                stream[place] = octet;
            }
        }
        return;
    }
    let mut words = [[0; SPLIT]; 2];
    let mut quarters = [[0; SPLIT]; 4];
    for (piece, start) in numbers.chunks(SPLIT).zip((0..).step_by(SPLIT)) {
        let [low, high] = &mut words;
        split_numbers(piece, low, high);
        let [first, second, third, fourth] = &mut quarters;
        split_words(&low[..piece.len()], first, second);
        split_words(&high[..piece.len()], third, fourth);
        let (pairs, _) = streams.as_chunks_mut();
        for ([low, high], quarter) in pairs.iter_mut().zip(&quarters) {
            split_quarters(
                &quarter[..piece.len()],
                &mut low[start..],
                &mut high[start..],
            );
        }
    }
}

// The functions below halve many numbers at once, with a separate loop for each width, so that the
// compiler vectorises them.

#[inline(never)]
fn split_numbers(numbers: &[u64], low: &mut [u32], high: &mut [u32]) {
    for ((number, low), high) in numbers.iter().zip(low).zip(high) {
        (*low, *high) = (*number as u32, (*number >> 32) as u32);
    }
}

#[inline(never)]
fn split_words(words: &[u32], low: &mut [u16], high: &mut [u16]) {
    for ((word, low), high) in words.iter().zip(low).zip(high) {
        (*low, *high) = (*word as u16, (*word >> 16) as u16);
    }
}

#[inline(never)]
fn split_quarters(quarters: &[u16], low: &mut [u8], high: &mut [u8]) {
    for ((quarter, low), high) in quarters.iter().zip(low).zip(high) {
        (*low, *high) = (*quarter as u8, (*quarter >> 8) as u8);
    }
}
