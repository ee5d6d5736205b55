//! The octets of a page's values, in the encodings of the Parquet format (Encodings.md of
//! apache/parquet-format) that a trace needs: the hybrid of runs and packed bits, delta encoding of
//! integers, and byte stream split.
//!
//! The library has them too, value by value for every type; here they are loops over a page.

/// Values of a group of packed bits, and the fewest of a run.
const GROUP: usize = 8;
/// Values of a block of delta encoding, and of each of its parts with a width of its own.
const BLOCK: usize = 128;
const PART: usize = 32;

/// Octets of a number that is split into streams.
const STREAMS: usize = 8;

/// Appends numbers as runs and packed bits of this width ("RLE / bit-packing hybrid").
pub(super) fn put_hybrid(out: &mut Vec<u8>, width: u32, numbers: &[u32]) {
    // What waits to be packed begins at `packed`.
    let (mut packed, mut at) = (0, 0);
    while let Some(rest) = numbers.get(at..)
        && let Some(&number) = rest.first()
    {
        let run = run_at(rest, number);
        let open = (at - packed) % GROUP;
        if run < GROUP {
            at += run;
        } else if open > 0 {
            // The run completes the group before it.
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

/// How often a number stands at the begin of numbers.
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
pub(super) fn put_run(out: &mut Vec<u8>, width: u32, number: u32, len: usize) {
    put_varint(out, (len as u64) << 1);
    let octets = width.div_ceil(8) as usize;
    out.extend(number.to_le_bytes().iter().take(octets));
}

/// Appends groups of packed bits; the last one is filled up with zeros.
fn put_groups(out: &mut Vec<u8>, width: u32, numbers: &[u32]) {
    if numbers.is_empty() {
        return;
    }
    let groups = numbers.len().div_ceil(GROUP);
    put_varint(out, (groups as u64) << 1 | 1);
    put_packed(out, width, numbers, groups * width as usize);
}

/// Appends numbers of this many bits, from 0 to 64, the lowest bits first, in so many octets.
fn put_packed<T: Copy + Into<u64>>(out: &mut Vec<u8>, width: u32, numbers: &[T], len: usize) {
    let start = out.len();
    out.resize(start + len, 0);
    let (words, tail) = out[start..].as_chunks_mut();
    let mut words = words.iter_mut();
    let (mut word, mut filled) = (0_u64, 0_u32);
    for number in numbers {
        let number: u64 = (*number).into();
        word |= number.wrapping_shl(filled);
        filled += width;
        if filled >= u64::BITS {
            if let Some(octets) = words.next() {
                *octets = word.to_le_bytes();
            }
            filled -= u64::BITS;
            word = number.checked_shr(width - filled).unwrap_or(0);
        }
    }
    let rest = word.to_le_bytes();
    match words.next() {
        Some(octets) => *octets = rest,
        None => tail
            .iter_mut()
            .zip(rest)
            .for_each(|(octet, bits)| *octet = bits),
    }
}

/// Appends an unsigned number (ULEB128).
fn put_varint(out: &mut Vec<u8>, mut number: u64) {
    while number > 0x7f {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

/// Appends a signed number (zigzag, ULEB128).
fn put_signed(out: &mut Vec<u8>, number: i64) {
    put_varint(out, (number << 1 ^ number >> 63).cast_unsigned());
}

/// Appends numbers as differences (DELTA_BINARY_PACKED).
pub(super) fn put_deltas(out: &mut Vec<u8>, numbers: &[u64]) {
    put_varint(out, BLOCK as u64);
    put_varint(out, (BLOCK / PART) as u64);
    put_varint(out, numbers.len() as u64);
    let mut last = numbers.first().copied().unwrap_or_default();
    put_signed(out, last.cast_signed());
    let mut deltas = [0; BLOCK];
    for block in numbers.get(1..).unwrap_or_default().chunks(BLOCK) {
        let deltas = &mut deltas[..block.len()];
        for (delta, number) in deltas.iter_mut().zip(block) {
            *delta = number.wrapping_sub(last);
            last = *number;
        }
        put_block(out, deltas);
    }
}

/// Appends a block of differences, as what each is above the least one.
fn put_block(out: &mut Vec<u8>, deltas: &mut [u64]) {
    let mut least = i64::MAX;
    for delta in &*deltas {
        least = least.min(delta.cast_signed());
    }
    put_signed(out, least);
    let widths = out.len();
    out.resize(widths + BLOCK / PART, 0);
    for (place, part) in deltas.chunks_mut(PART).enumerate() {
        let mut bits = 0;
        for delta in &mut *part {
            *delta = delta.wrapping_sub(least.cast_unsigned());
            bits |= *delta;
        }
        let width = u64::BITS - bits.leading_zeros();
        out[widths + place] = width as u8;
        put_packed(out, width, part, PART / 8 * width as usize);
    }
}

/// Appends the first octets of all numbers, then the second ones, and so on (BYTE_STREAM_SPLIT).
pub(super) fn put_streams(out: &mut Vec<u8>, numbers: &[u64]) {
    if numbers.is_empty() {
        return;
    }
    let start = out.len();
    out.resize(start + STREAMS * numbers.len(), 0);
    let mut streams = out[start..].chunks_exact_mut(numbers.len());
    let mut streams: [_; STREAMS] =
        std::array::from_fn(|_| streams.next().unwrap_or_default().as_chunks_mut());
    let (squares, rest) = numbers.as_chunks();
    for (place, square) in squares.iter().enumerate() {
        let columns = transposed(*square);
        // By their numbers, which the compiler counts off; not so with an iterator of both.
        let mut number = 0;
        while number < STREAMS {
            if let Some(part) = streams[number].0.get_mut(place) {
                *part = columns[number].to_le_bytes();
            }
            number += 1;
        }
    }
    for (place, number) in rest.iter().enumerate() {
        for ((_, tail), octet) in streams.iter_mut().zip(number.to_le_bytes()) {
            tail[place] = octet;
        }
    }
}

/// Makes columns of rows of octets: squares of one, two and four octets change places with those on
/// the other side of the diagonal.
#[inline(always)]
fn transposed(mut rows: [u64; STREAMS]) -> [u64; STREAMS] {
    const ONE: (u32, u64) = (8, 0x00ff_00ff_00ff_00ff);
    const TWO: (u32, u64) = (16, 0x0000_ffff_0000_ffff);
    const FOUR: (u32, u64) = (32, 0x0000_0000_ffff_ffff);
    exchange::<0, 1>(&mut rows, ONE);
    exchange::<2, 3>(&mut rows, ONE);
    exchange::<4, 5>(&mut rows, ONE);
    exchange::<6, 7>(&mut rows, ONE);
    exchange::<0, 2>(&mut rows, TWO);
    exchange::<1, 3>(&mut rows, TWO);
    exchange::<4, 6>(&mut rows, TWO);
    exchange::<5, 7>(&mut rows, TWO);
    exchange::<0, 4>(&mut rows, FOUR);
    exchange::<1, 5>(&mut rows, FOUR);
    exchange::<2, 6>(&mut rows, FOUR);
    exchange::<3, 7>(&mut rows, FOUR);
    rows
}

/// Exchanges the upper octets of one row with the lower ones of another.
#[inline(always)]
fn exchange<const A: usize, const B: usize>(rows: &mut [u64; STREAMS], (bits, mask): (u32, u64)) {
    let changed = (rows[A] >> bits ^ rows[B]) & mask;
    rows[B] ^= changed;
    rows[A] ^= changed << bits;
}
