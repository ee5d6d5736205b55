//! A set of numbers as sorted ranges, for numbers of packets and datagrams received and for octets
//! acknowledged, lost or received out of order.

use std::collections::VecDeque;
use std::ops::Range;

/// Ranges for which there is always room.
const ROOM: usize = 32;

/// Half-open ranges in ascending order that neither overlap nor touch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RangeSet {
    ranges: VecDeque<Range<u64>>,
}

impl RangeSet {
    /// Adds a range; returns how many of its numbers were new.
    #[inline]
    pub fn insert(&mut self, range: Range<u64>) -> u64 {
        if range.is_empty() {
            return 0;
        }
        match self.ranges.back_mut() {
            // In order: extend the last range.
            Some(last) if last.end == range.start => {
                last.end = range.end;
                range.end - range.start
            }
            _ => self.insert_apart(range),
        }
    }

    /// Inserts a range that does not extend the last one.
    #[inline(never)]
    fn insert_apart(&mut self, range: Range<u64>) -> u64 {
        if self.last().is_some_and(|last| last.end > range.start) {
            return self.insert_within(range);
        }
        let added = range.end - range.start;
        self.ranges.push_back(range);
        added
    }

    fn insert_within(&mut self, range: Range<u64>) -> u64 {
        // The ranges [first, after) touch the new one and are merged with it.
        let first = self.ranges.partition_point(|have| have.end < range.start);
        let after = self.ranges.partition_point(|have| have.start <= range.end);
        let mut added = range.end - range.start;
        let mut merged = range.clone();
        for have in self.ranges.range(first..after) {
            let overlap = have
                .end
                .min(range.end)
                .saturating_sub(have.start.max(range.start));
            added -= overlap;
            merged = merged.start.min(have.start)..merged.end.max(have.end);
        }
        if first < after {
            self.ranges[first] = merged;
            self.ranges.drain(first + 1..after);
            self.give_back();
        } else {
            self.ranges.insert(first, merged);
        }
        added
    }

    /// Returns most of the memory that many gaps needed, once few are left.
    #[inline]
    fn give_back(&mut self) {
        let (len, room) = (self.ranges.len(), self.ranges.capacity());
        if room > ROOM && len < room / 8 {
            self.ranges.shrink_to(room / 4);
        }
    }

    /// Removes a range.
    pub fn remove(&mut self, range: Range<u64>) {
        if range.is_empty() {
            return;
        }
        let first = self.ranges.partition_point(|have| have.end <= range.start);
        let after = self.ranges.partition_point(|have| have.start < range.end);
        if first >= after {
            return;
        }
        let left = self.ranges[first].start..range.start;
        let right = range.end..self.ranges[after - 1].end;
        self.ranges.drain(first..after);
        if !right.is_empty() {
            self.ranges.insert(first, right);
        }
        if !left.is_empty() {
            self.ranges.insert(first, left);
        }
        self.give_back();
    }

    /// True if the number is in the set.
    pub fn contains(&self, number: u64) -> bool {
        if self.ranges.back().is_none_or(|last| number >= last.end) {
            return false;
        }
        let at = self.ranges.partition_point(|have| have.end <= number);
        self.ranges.get(at).is_some_and(|have| have.start <= number)
    }

    /// The range that contains this number.
    pub fn containing(&self, number: u64) -> Option<&Range<u64>> {
        let at = match self.ranges.back() {
            Some(last) if last.start <= number => self.ranges.len() - 1,
            _ => self.ranges.partition_point(|have| have.end <= number),
        };
        self.ranges.get(at).filter(|have| have.contains(&number))
    }

    /// The intersection with `range`.
    pub fn within(&self, range: Range<u64>) -> impl Iterator<Item = Range<u64>> + '_ {
        let first = self.ranges.partition_point(|have| have.end <= range.start);
        self.ranges
            .range(first..)
            .take_while({
                let end = range.end;
                move |have| have.start < end
            })
            .map(move |have| have.start.max(range.start)..have.end.min(range.end))
    }

    /// The lowest range.
    pub fn first(&self) -> Option<&Range<u64>> {
        self.ranges.front()
    }

    /// The highest range.
    pub fn last(&self) -> Option<&Range<u64>> {
        self.ranges.back()
    }

    /// Removes and returns the lowest range.
    pub fn pop_first(&mut self) -> Option<Range<u64>> {
        self.ranges.pop_front()
    }

    /// The ranges in descending order.
    pub fn descending(&self) -> impl Iterator<Item = &Range<u64>> {
        self.ranges.iter().rev()
    }

    /// The number of ranges.
    pub fn len(&self) -> usize {
        self.ranges.len()
    }

    /// True if the set is empty.
    pub fn is_empty(&self) -> bool {
        self.ranges.is_empty()
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
