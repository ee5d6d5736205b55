//! A set of numbers as sorted ranges, for numbers of packets and datagrams received and for octets
//! acknowledged, lost or received out of order.

use std::collections::VecDeque;
use std::ops::Range;

/// The capacity in ranges that is always kept.
const ROOM: usize = 32;

/// Half-open ranges in ascending order that neither overlap nor touch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RangeSet {
    /// All but the highest.
    lower: VecDeque<Range<u64>>,
    /// The highest, which numbers in order extend; 0..0 if the set is empty.
    last: Range<u64>,
}

impl RangeSet {
    /// Adds a range; returns how many of its numbers were new.
    #[inline]
    pub fn insert(&mut self, range: Range<u64>) -> u64 {
        if range.is_empty() {
            return 0;
        }
        if self.last.end == range.start {
            // In order: extend the last range.
            self.last.end = range.end;
            range.end - range.start
        } else {
            self.insert_apart(range)
        }
    }

    /// Inserts a range that does not extend the last one.
    #[inline(never)]
    fn insert_apart(&mut self, range: Range<u64>) -> u64 {
        if self.last.end > range.start {
            return self.edit(|all| insert_within(all, range));
        }
        let added = range.end - range.start;
        let before = std::mem::replace(&mut self.last, range);
        if !before.is_empty() {
            self.lower.push_back(before);
        }
        added
    }

    /// Edits all ranges in one list, and releases most of the memory of many gaps once few are
    /// left.
    fn edit<T>(&mut self, edit: impl FnOnce(&mut VecDeque<Range<u64>>) -> T) -> T {
        if !self.last.is_empty() {
            self.lower.push_back(std::mem::take(&mut self.last));
        }
        let result = edit(&mut self.lower);
        self.last = self.lower.pop_back().unwrap_or_default();
        let (len, room) = (self.lower.len(), self.lower.capacity());
        if room > ROOM && len < room / 8 {
            self.lower.shrink_to(room / 4);
        }
        result
    }

    /// Removes a range.
    pub fn remove(&mut self, range: Range<u64>) {
        let first = self.first().map_or(u64::MAX, |first| first.start);
        if !range.is_empty() && range.start < self.last.end && first < range.end {
            self.edit(|all| remove_from(all, range));
        }
    }

    /// True if the number is in the set.
    #[inline]
    pub fn contains(&self, number: u64) -> bool {
        number < self.last.end && self.containing(number).is_some()
    }

    /// The range that contains this number.
    #[inline]
    pub fn containing(&self, number: u64) -> Option<&Range<u64>> {
        let range = if self.last.start <= number {
            &self.last
        } else {
            let at = self.lower.partition_point(|have| have.end <= number);
            self.lower.get(at)?
        };
        range.contains(&number).then_some(range)
    }

    /// The intersection with `range`.
    pub fn within(&self, range: Range<u64>) -> impl Iterator<Item = Range<u64>> + '_ {
        let first = self.lower.partition_point(|have| have.end <= range.start);
        let all = self.lower.range(first..).chain([&self.last]);
        all.map(move |have| have.start.max(range.start)..have.end.min(range.end))
            .filter(|part| !part.is_empty())
    }

    /// The lowest range.
    #[inline]
    pub fn first(&self) -> Option<&Range<u64>> {
        self.lower.front().or_else(|| self.last())
    }

    /// The highest range.
    #[inline]
    pub fn last(&self) -> Option<&Range<u64>> {
        (!self.last.is_empty()).then_some(&self.last)
    }

    /// Removes and returns the lowest range.
    pub fn pop_first(&mut self) -> Option<Range<u64>> {
        let last = &mut self.last;
        let lowest = self.lower.pop_front();
        lowest.or_else(|| (!last.is_empty()).then(|| std::mem::take(last)))
    }

    /// The ranges in descending order.
    pub fn descending(&self) -> impl Iterator<Item = &Range<u64>> {
        self.last().into_iter().chain(self.lower.iter().rev())
    }

    /// The number of ranges.
    #[inline]
    pub fn len(&self) -> usize {
        self.lower.len() + usize::from(!self.last.is_empty())
    }

    /// True if the set is empty.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.last.is_empty()
    }
}

/// Inserts a range among others, some of which may overlap or touch it; returns how many of its
/// numbers were new.
fn insert_within(all: &mut VecDeque<Range<u64>>, range: Range<u64>) -> u64 {
    // The ranges [first, after) touch the new one and are merged with it.
    let first = all.partition_point(|have| have.end < range.start);
    let after = all.partition_point(|have| have.start <= range.end);
    let mut added = range.end - range.start;
    let mut merged = range.clone();
    for have in all.range(first..after) {
        let overlap = have
            .end
            .min(range.end)
            .saturating_sub(have.start.max(range.start));
        added -= overlap;
        merged = merged.start.min(have.start)..merged.end.max(have.end);
    }
    if first < after {
        all[first] = merged;
        all.drain(first + 1..after);
    } else {
        all.insert(first, merged);
    }
    added
}

/// Removes a range that is not empty.
fn remove_from(all: &mut VecDeque<Range<u64>>, range: Range<u64>) {
    let first = all.partition_point(|have| have.end <= range.start);
    let after = all.partition_point(|have| have.start < range.end);
    if first >= after {
        return;
    }
    let left = all[first].start..range.start;
    let right = range.end..all[after - 1].end;
    all.drain(first..after);
    if !right.is_empty() {
        all.insert(first, right);
    }
    if !left.is_empty() {
        all.insert(first, left);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    proptest! {
        #[test]
        fn behaves_like_a_set_of_numbers(
            steps in prop::collection::vec((any::<bool>(), 0_u64..60, 0_u64..12), 0..60),
        ) {
            let mut ranges = RangeSet::default();
            let mut numbers = BTreeSet::new();
            for (insert, start, len) in steps {
                let range = start..start + len;
                if insert {
                    let before = numbers.len();
                    numbers.extend(range.clone());
                    prop_assert_eq!(ranges.insert(range) as usize, numbers.len() - before);
                } else {
                    numbers.retain(|n| !range.contains(n));
                    ranges.remove(range);
                }
                for n in 0..75 {
                    prop_assert_eq!(ranges.contains(n), numbers.contains(&n));
                }
                let inside: Vec<u64> = ranges.within(10..30).flatten().collect();
                let expected: Vec<u64> = numbers.range(10..30).copied().collect();
                prop_assert_eq!(inside, expected);
                let all: Vec<_> = ranges.within(0..100).collect();
                prop_assert!(all.windows(2).all(|pair| pair[0].end < pair[1].start));
            }
        }
    }
}
