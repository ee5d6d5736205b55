//! The values of a column that wait for the end of their page, and how they become one.
//!
//! Words are numbers of a dictionary. Numbers and counts are too if a page mostly repeats the value
//! before, such as a threshold or a counter of drops; else numbers are split into streams of
//! octets, and counts become differences.

use super::encoding::{put_deltas, put_hybrid, put_run, put_streams};
use super::page_buffer::PageBuffer;
use crate::table::{Dictionary, ValueKind};
use parquet::basic::Encoding;
use std::ops::Range;

/// Rows after which a page ends.
pub(super) const PAGE: usize = 20_000;
/// The room of a page for so many values, and for all that it may have behind the last one: values
/// are moved less often than with doubling.
const ROOMS: [usize; 2] = [1024, 4096];
/// Values of a page of numbers for each that differs from the one before, if the page refers to a
/// dictionary: a change takes three octets there, or eleven if it is new, and one in four values of
/// a round-trip time is a change.
const PER_CHANGE: usize = 4;
/// The same of a page of counts.
const PER_STEP: usize = 16;
/// Numbers that a dictionary has at most when a page adds several.
const MAX_DICTIONARY: usize = 4096;
/// Changes in a page of counts that refers to a dictionary: more are those of a counter, whose
/// values are all different and whose differences are small.
const MAX_STEPS: usize = 32;
/// Values among which changes are counted at once.
const STRIDE: usize = 256;

/// The values of a page while it grows. As long as all are equal they are only counted.
#[derive(Debug)]
struct PageValues<T> {
    /// There are so many of this value, and no others.
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

    /// Adds what `of` makes of each of a batch.
    fn extend<S: Copy>(&mut self, batch: &[S], of: impl Fn(S) -> T) {
        let Some(first) = batch.first() else { return };
        if self.values.is_empty() {
            let value = self.equal.map_or_else(|| of(*first), |(value, _)| value);
            // Looks at all, without a branch at each.
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

    /// Makes room for so many values more.
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
    /// Their places, each at or behind the one that its bits are spread to, or [`FREE`]: a power of
    /// two, and at least twice as many as there are numbers.
    slots: Vec<u32>,
}

/// A slot for no number.
const FREE: u32 = u32::MAX;
/// The slots of the first numbers.
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

    /// The slot of a number, or the free one that it may take.
    fn slot_of(&self, bits: u64) -> usize {
        // Multiplied by 2^64 over the golden ratio, whose upper bits depend on all of these.
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

    /// Values as runs of numbers in the dictionary, unless they have more changes than `most`.
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
    /// Their bits.
    values: PageValues<u64>,
    dictionary: NumberDictionary,
    /// How many of those in pages are missing.
    pub(super) nulls: usize,
    /// The least and the largest of those in pages, if they are asked for.
    pub(super) range: Option<(f64, f64)>,
    ranged: bool,
}

impl PendingNumbers {
    /// None yet.
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

    /// The room that is held.
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

    /// Appends which values of the page are there, and returns where those lie that are.
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
            // As before the first sample of something.
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
            // Nothing is less than NaN, nor more.
            least = if number < least { number } else { least };
            most = if number > most { number } else { most };
        }
        self.range = (least <= most).then_some((least, most));
    }

    /// Appends the dictionary; returns how many numbers it has.
    pub(super) fn put_dictionary(&self, out: &mut PageBuffer) -> usize {
        let numbers = &self.dictionary.numbers;
        for bits in numbers {
            out.extend(&bits.to_le_bytes());
        }
        numbers.len()
    }
}

/// How many values differ from those before them; `None` if more than `most` do.
fn count_changes(values: &[u64], most: usize) -> Option<usize> {
    let mut changes = 0_usize;
    let (mut before, mut after) = (values, values.get(1..).unwrap_or_default());
    while !after.is_empty() {
        let len = after.len().min(STRIDE);
        // Without a branch, and without a check, at each value.
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

/// The bits of the places in a dictionary of this length; one at least, which all readers know.
fn width_of(len: usize) -> u32 {
    let last = len.saturating_sub(1) as u32;
    (u32::BITS - last.leading_zeros()).max(1)
}

/// Words.
#[derive(Default)]
pub(super) struct PendingWords {
    /// Their numbers in the dictionary.
    values: PageValues<u32>,
    pub(super) dictionary: Dictionary,
}

impl PendingWords {
    pub(super) fn len(&self) -> usize {
        self.values.len()
    }

    /// The room that is held for values; words are few.
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

    /// Appends the dictionary; returns how many words it has.
    pub(super) fn put_dictionary(&self, out: &mut PageBuffer) -> usize {
        let words = self.dictionary.words();
        for word in words {
            out.extend(&(word.len() as u32).to_le_bytes());
            out.extend(word.as_bytes());
        }
        words.len()
    }
}
