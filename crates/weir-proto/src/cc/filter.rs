//! The maximum or minimum over a moving window of time: Kathleen Nichols' algorithm, Linux's
//! `win_minmax`. It keeps three values, each later than the one before, and discards all others.
//! Therefore the value that replaces the best one when that leaves the window is an estimate.

use std::marker::PhantomData;

/// What makes one value better than another.
pub trait Order<T> {
    /// True if `a` is at least as good as `b`.
    fn at_least(a: T, b: T) -> bool;
}

/// Greater values are better.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Greatest;

/// Smaller values are better.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Least;

impl<T: PartialOrd> Order<T> for Greatest {
    fn at_least(a: T, b: T) -> bool {
        a >= b
    }
}

impl<T: PartialOrd> Order<T> for Least {
    fn at_least(a: T, b: T) -> bool {
        a <= b
    }
}

/// A value and when it was seen, in the filter's own unit of time.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Sample<T> {
    time: u64,
    value: T,
}

/// The best value of the last `window` units of time. Time never goes back.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WindowedFilter<T, O> {
    best: [Sample<T>; 3],
    is_empty: bool,
    order: PhantomData<O>,
}

/// The greatest value of a moving window.
pub type WindowedMax<T> = WindowedFilter<T, Greatest>;
/// The least value of a moving window.
pub type WindowedMin<T> = WindowedFilter<T, Least>;

impl<T: Copy + Default + PartialOrd, O: Order<T>> Default for WindowedFilter<T, O> {
    fn default() -> Self {
        Self {
            best: [Sample::default(); 3],
            is_empty: true,
            order: PhantomData,
        }
    }
}

impl<T: Copy + Default + PartialOrd, O: Order<T>> WindowedFilter<T, O> {
    /// The best value; the default value before the first.
    pub const fn get(&self) -> T {
        self.best[0].value
    }

    /// Takes a value at this time; returns the best of the values that are at most `window` older.
    pub fn update(&mut self, window: u64, time: u64, value: T) -> T {
        let new = Sample { time, value };
        let is_stale = time.saturating_sub(self.best[2].time) > window;
        if self.is_empty || is_stale || O::at_least(value, self.best[0].value) {
            self.best = [new; 3];
            self.is_empty = false;
            return value;
        }
        if O::at_least(value, self.best[1].value) {
            self.best[1] = new;
            self.best[2] = new;
        } else if O::at_least(value, self.best[2].value) {
            self.best[2] = new;
        }
        self.age(window, new);
        self.best[0].value
    }

    /// Replaces values that have left the window, and takes the second and third values from its
    /// later parts.
    fn age(&mut self, window: u64, new: Sample<T>) {
        let age = |sample: Sample<T>| new.time.saturating_sub(sample.time);
        if age(self.best[0]) > window {
            self.best = [self.best[1], self.best[2], new];
            if age(self.best[0]) > window {
                self.best = [self.best[1], self.best[2], new];
            }
        } else if self.best[1].time == self.best[0].time && age(self.best[0]) > window / 4 {
            self.best[1] = new;
            self.best[2] = new;
        } else if self.best[2].time == self.best[1].time && age(self.best[0]) > window / 2 {
            self.best[2] = new;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_greatest_value_stays_for_the_window_and_no_longer() {
        let mut max = WindowedMax::<u64>::default();
        let values = [(0, 50), (1, 30), (2, 40), (8, 20), (10, 10)];
        let best: Vec<u64> = values.map(|(t, v)| max.update(10, t, v)).into();
        assert_eq!(best, [50, 50, 50, 50, 50]);
        // Time 0 has left the window. Of the later values the filter kept the first one after a
        // quarter of the window.
        assert_eq!(max.update(10, 11, 5), 20);
        assert_eq!(max.update(10, 100, 1), 1, "all are older");
    }

    #[test]
    fn the_least_value_is_the_mirror() {
        let mut min = WindowedMin::<u64>::default();
        assert_eq!(min.get(), 0);
        let best: Vec<u64> = [(0, 50), (1, 60), (2, 40), (13, 70)]
            .map(|(t, v)| min.update(10, t, v))
            .into();
        assert_eq!(best, [50, 50, 40, 70]);
    }

    #[test]
    fn agrees_with_a_window_that_keeps_all_where_time_is_a_cycle() {
        // BBR's max_bw: a window of one cycle before the present one.
        let mut max = WindowedMax::<u64>::default();
        let values = [
            (0, 9),
            (0, 10),
            (1, 4),
            (1, 5),
            (2, 3),
            (2, 6),
            (3, 1),
            (4, 2),
        ];
        for (n, &(time, value)) in values.iter().enumerate() {
            let kept = values[..=n].iter().filter(|(t, _)| t + 1 >= time);
            let exact = kept.map(|(_, v)| *v).max().unwrap();
            assert_eq!(max.update(1, time, value), exact, "{n}");
        }
    }
}
