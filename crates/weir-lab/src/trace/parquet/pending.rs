//! The values of a column before the end of their page, and their encoding as a page.
//!
//! Words are indices into a dictionary. Numbers and counts are too if a page mostly repeats the
//! previous value, such as a threshold or a counter of drops; otherwise numbers are split into
//! streams of octets, and counts are encoded as differences.

use super::encoding::{put_deltas, put_hybrid, put_run, put_streams};
use super::page_buffer::PageBuffer;
use crate::table::{Dictionary, ValueKind};
use parquet::basic::Encoding;
use std::ops::Range;

/// The number of rows of a page.
pub(super) const PAGE: usize = 20_000;
/// The capacities of a page, before the maximum for a whole page is allocated: values are moved
/// less often than with doubling.
const ROOMS: [usize; 2] = [1024, 4096];
/// The minimum number of values for each change of value in a page of numbers that uses a
/// dictionary: a change takes three octets, or eleven if its value is new. One in four samples of a
/// round-trip time is a change.
const PER_CHANGE: usize = 4;
/// The same for a page of counts.
const PER_STEP: usize = 16;
/// The maximum size of a dictionary to which a page with several values may add.
const MAX_DICTIONARY: usize = 4096;
/// The maximum number of changes in a page of counts that uses a dictionary: with more changes it
/// is a counter, whose values are all different and whose differences are small.
const MAX_STEPS: usize = 32;
/// The number of values among which changes are counted at once.
const STRIDE: usize = 256;

/// The values of a page under construction. As long as all are equal they are only counted.
#[derive(Debug)]
struct PageValues<T> {
    /// The value and its count, if all values are equal.
    equal: Option<(T, usize)>,
    values: Vec<T>,
}

impl<T> Default for PageValues<T> {
    fn default() -> Self {
        Self {
            equal: None,
            values: Vec::new(),
        }
    }
}

impl<T: Copy + PartialEq> PageValues<T> {
    fn len(&self) -> usize {
        self.equal.map_or(self.values.len(), |(_, len)| len)
    }

    /// Adds the results of `of` for a batch.
    fn extend<S: Copy>(&mut self, batch: &[S], of: impl Fn(S) -> T) {
        let Some(first) = batch.first() else { return };
        if self.values.is_empty() {
            let value = self.equal.map_or_else(|| of(*first), |(value, _)| value);
            // Compares all values without a branch for each.
            let mut differs = false;
            for other in batch {
                differs |= of(*other) != value;
            }
            if !differs {
                self.equal = Some((value, self.len() + batch.len()));
                return;
            }
            if let Some((value, len)) = self.equal.take() {
                self.make_room(len + batch.len());
                self.values.resize(len, value);
            }
        }
        self.make_room(batch.len());
        self.values.extend(batch.iter().map(|value| of(*value)));
    }

    /// Allocates memory for this many additional values.
    fn make_room(&mut self, more: usize) {
        let needed = self.values.len() + more;
        if needed > self.values.capacity() {
            let room = ROOMS.into_iter().find(|room| needed <= *room);
            let room = room.unwrap_or(PAGE + more);
            self.values.reserve_exact(room - self.values.len());
        }
    }

    fn clear(&mut self) {
        self.equal = None;
        self.values.clear();
    }

    fn held_bytes(&self) -> usize {
        self.values.capacity() * size_of::<T>()
    }
}

/// Numbers by their bits, in the order of their first use.
#[derive(Default)]
struct NumberDictionary {
    numbers: Vec<u64>,
    /// Hash table with linear probing of indices into `numbers`, or [`FREE`]. Its length is a power
    /// of two and at least twice the number of numbers.
    slots: Vec<u32>,
}

/// A slot without a number.
const FREE: u32 = u32::MAX;
/// The initial number of slots.
const FIRST_SLOTS: usize = 16;

impl NumberDictionary {
    fn place_of(&mut self, bits: u64) -> u32 {
        if self.slots.len() < 2 * (self.numbers.len() + 1) {
            self.widen();
        }
        let slot = self.slot_of(bits);
        let next = self.numbers.len() as u32;
        match self.slots.get_mut(slot) {
            Some(place) if *place == FREE => {
                *place = next;
                self.numbers.push(bits);
                next
            }
            place => place.map_or(next, |place| *place),
        }
    }

    /// The slot of a number, or the free slot for it.
    fn slot_of(&self, bits: u64) -> usize {
        // Multiplication by 2^64 over the golden ratio makes the upper bits depend on all bits.
        let spread = bits.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let last = self.slots.len().wrapping_sub(1);
        let mut slot = (spread >> 32) as usize & last;
        while let Some(place) = self.slots.get(slot)
            && let Some(known) = self.numbers.get(*place as usize)
            && *known != bits
        {
            slot = (slot + 1) & last;
        }
        slot
    }

    #[cold]
    fn widen(&mut self) {
        let slots = (2 * self.slots.len()).max(FIRST_SLOTS);
        self.slots.clear();
        self.slots.resize(slots, FREE);
        for place in 0..self.numbers.len() {
            let slot = self.slot_of(self.numbers[place]);
            self.slots[slot] = place as u32;
        }
    }

    /// Values as runs of indices into the dictionary, unless they have more than `most` changes.
    fn runs_of(&mut self, values: &[u64], most: usize) -> Option<Vec<(u32, usize)>> {
        let room = MAX_DICTIONARY.saturating_sub(self.numbers.len());
        let changes = count_changes(values, room.min(most))?;
        let mut runs = Vec::with_capacity(changes + 1);
        for run in values.chunk_by(|before, after| before == after) {
            if let Some(bits) = run.first() {
                runs.push((self.place_of(*bits), run.len()));
            }
        }
        Some(runs)
    }
}

/// Numbers or counts.
pub(super) struct PendingNumbers {
    kind: ValueKind,
    /// The bits of the values.
    values: PageValues<u64>,
    dictionary: NumberDictionary,
    /// The number of missing values in complete pages.
    pub(super) nulls: usize,
    /// The minimum and the maximum of the values in complete pages, if requested.
    pub(super) range: Option<(f64, f64)>,
    ranged: bool,
}

impl PendingNumbers {
    /// An empty page.
    pub(super) fn new(kind: ValueKind, ranged: bool) -> Self {
        Self {
            kind,
            values: PageValues::default(),
            dictionary: NumberDictionary::default(),
            nulls: 0,
            range: None,
            ranged: ranged && kind == ValueKind::Number,
        }
    }

    pub(super) fn len(&self) -> usize {
        self.values.len()
    }

    /// The allocated memory.
    pub(super) fn held_bytes(&self) -> usize {
        self.values.held_bytes() + self.dictionary.numbers.capacity() * size_of::<u64>()
    }

    pub(super) fn extend_numbers(&mut self, numbers: &[f64]) {
        self.values.extend(numbers, f64::to_bits);
    }

    pub(super) fn extend_counts(&mut self, counts: &[u64]) {
        self.values.extend(counts, |count| count);
    }

    /// Ends a page: appends its octets, and returns the encoding of its values.
    pub(super) fn put_page(&mut self, out: &mut PageBuffer) -> Encoding {
        if self.ranged {
            self.note_range();
        }
        let present = match self.kind {
            ValueKind::Number => self.put_levels(out),
            ValueKind::Count | ValueKind::Word => 0..self.values.len(),
        };
        let runs = match self.values.equal {
            Some(_) if present.is_empty() => Some(Vec::new()),
            Some((bits, len)) => Some(vec![(self.dictionary.place_of(bits), len)]),
            None => {
                let most = match self.kind {
                    ValueKind::Number => present.len() / PER_CHANGE,
                    ValueKind::Count | ValueKind::Word => MAX_STEPS.min(present.len() / PER_STEP),
                };
                let values = &self.values.values[present.clone()];
                self.dictionary.runs_of(values, most)
            }
        };
        let encoding = match (runs, self.kind) {
            (Some(runs), _) if !runs.is_empty() => {
                let width = width_of(self.dictionary.numbers.len());
                out.push(width as u8);
                for (place, len) in runs {
                    put_run(out, width, place, len);
                }
                Encoding::RLE_DICTIONARY
            }
            (runs, ValueKind::Number) => {
                if runs.is_none() {
                    put_streams(out, &self.values.values[present]);
                }
                Encoding::BYTE_STREAM_SPLIT
            }
            (_, ValueKind::Count | ValueKind::Word) => {
                put_deltas(out, &self.values.values[present]);
                Encoding::DELTA_BINARY_PACKED
            }
        };
        self.values.clear();
        encoding
    }

    /// Appends the definition levels of the page's values, and returns the range of the present
    /// ones.
    fn put_levels(&mut self, out: &mut PageBuffer) -> Range<usize> {
        let rows = self.values.len();
        let values = &mut self.values.values;
        let missing = match self.values.equal {
            Some((bits, _)) if is_missing(bits) => rows,
            Some(_) => 0,
            None => count_missing(values),
        };
        self.nulls += missing;
        let start = out.len();
        out.extend(&[0; 4]);
        let leading = missing.min(values.len());
        let mut present = missing..rows;
        if missing == 0 || missing == rows {
            put_run(out, 1, u32::from(missing == 0), rows);
        } else if count_missing(&values[..leading]) == missing {
            // All missing values come first, as before the first sample.
            put_run(out, 1, 0, missing);
            put_run(out, 1, 1, rows - missing);
        } else {
            let levels = values.iter().map(|bits| u32::from(!is_missing(*bits)));
            put_hybrid(out, 1, &levels.collect::<Vec<_>>());
            values.retain(|bits| !is_missing(*bits));
            present = 0..values.len();
        }
        let len = out.len() - start - 4;
        out.octets_mut()[start..start + 4].copy_from_slice(&(len as u32).to_le_bytes());
        present
    }

    fn note_range(&mut self) {
        let equal = self.values.equal.map(|(bits, _)| [bits]);
        let values: &[u64] = equal.as_ref().map_or(&self.values.values, |equal| equal);
        let known = self.range.unwrap_or((f64::INFINITY, f64::NEG_INFINITY));
        let (mut least, mut most) = known;
        for bits in values {
            let number = f64::from_bits(*bits);
            // Comparisons with NaN are false.
            least = if number < least { number } else { least };
            most = if number > most { number } else { most };
        }
        self.range = (least <= most).then_some((least, most));
    }

    /// Appends the dictionary; returns its length.
    pub(super) fn put_dictionary(&self, out: &mut PageBuffer) -> usize {
        let numbers = &self.dictionary.numbers;
        for bits in numbers {
            out.extend(&bits.to_le_bytes());
        }
        numbers.len()
    }
}

/// The number of values that differ from the previous one; `None` if it exceeds `most`.
fn count_changes(values: &[u64], most: usize) -> Option<usize> {
    let mut changes = 0_usize;
    let (mut before, mut after) = (values, values.get(1..).unwrap_or_default());
    while !after.is_empty() {
        let len = after.len().min(STRIDE);
        // Without a branch or a bounds check for each value.
        for (before, after) in before[..len].iter().zip(&after[..len]) {
            changes = changes.wrapping_add(usize::from(before != after));
        }
        if changes > most {
            return None;
        }
        (before, after) = (&before[len..], &after[len..]);
    }
    Some(changes)
}

fn count_missing(values: &[u64]) -> usize {
    let mut missing = 0_usize;
    for bits in values {
        missing = missing.wrapping_add(usize::from(is_missing(*bits)));
    }
    missing
}

fn is_missing(bits: u64) -> bool {
    f64::from_bits(bits).is_nan()
}

/// The bits of an index into a dictionary of this length; at least one, which all readers support.
fn width_of(len: usize) -> u32 {
    let last = len.saturating_sub(1) as u32;
    (u32::BITS - last.leading_zeros()).max(1)
}

/// Words.
#[derive(Default)]
pub(super) struct PendingWords {
    /// Their indices in the dictionary.
    values: PageValues<u32>,
    pub(super) dictionary: Dictionary,
}

impl PendingWords {
    pub(super) fn len(&self) -> usize {
        self.values.len()
    }

    /// The memory allocated for values; the dictionary is small.
    pub(super) fn held_bytes(&self) -> usize {
        self.values.held_bytes()
    }

    pub(super) fn extend(&mut self, numbers: &[u32]) {
        self.values.extend(numbers, |number| number);
    }

    /// Ends a page: appends its octets, and returns the encoding of its values.
    pub(super) fn put_page(&mut self, out: &mut PageBuffer) -> Encoding {
        let width = width_of(self.dictionary.words().len());
        out.push(width as u8);
        match self.values.equal {
            Some((number, len)) => put_run(out, width, number, len),
            None => put_hybrid(out, width, &self.values.values),
        }
        self.values.clear();
        Encoding::RLE_DICTIONARY
    }

    /// Appends the dictionary; returns its length.
    pub(super) fn put_dictionary(&self, out: &mut PageBuffer) -> usize {
        let words = self.dictionary.words();
        for word in words {
            out.extend(&(word.len() as u32).to_le_bytes());
            out.extend(word.as_bytes());
        }
        words.len()
    }
}
