//! The rows of `intervals/NAME`: data, losses and arrivals by intervals of equal length.

use super::rows::{counts, numbers};
use crate::table::Table;

/// Intervals of a file have this number at least, and at most two and a half times as many.
const LEAST_INTERVALS: f64 = 200.0;

/// What happens at times, which ascend.
#[derive(Default)]
pub(super) struct Happened {
    /// Octets of data, acknowledged or received for the first time.
    pub(super) data: Vec<(f64, u64)>,
    /// Packets that were declared lost.
    pub(super) lost: Vec<(f64, u64)>,
    /// Packets that arrived.
    pub(super) arrived: Vec<(f64, u64)>,
}

/// The length of an interval in seconds: 1, 2 or 5 times a power of ten.
pub(super) fn length_of(duration_s: f64) -> f64 {
    let longest = duration_s / LEAST_INTERVALS;
    let decade = libm::pow(10.0, libm::floor(libm::log10(longest)));
    let steps = [5.0, 2.0, 1.0].map(|step| step * decade);
    let fits = steps.into_iter().find(|step| *step <= longest);
    fits.unwrap_or(decade)
}

impl Happened {
    /// The table of intervals; `None` without a duration.
    pub(super) fn table(&self, duration_s: f64, has_data: bool) -> Option<Table> {
        if !(duration_s > 0.0 && duration_s.is_finite()) {
            return None;
        }
        let length_s = length_of(duration_s);
        let rows = (libm::ceil(duration_s / length_s) as usize).clamp(1, 1000);
        let binned = |happened: &[(f64, u64)]| {
            let mut bins = vec![0_u64; rows];
            for &(time_s, count) in happened {
                // An event at the end of an interval belongs to the next; the last keeps its end.
                let at = ((time_s / length_s) as usize).min(rows - 1);
                bins[at] = bins[at].saturating_add(count);
            }
            bins
        };
        let ends = (1..=rows).map(|row| row as f64 * length_s).collect();
        let mut columns = vec![numbers("time_s", ends)];
        if has_data {
            let goodput = binned(&self.data).into_iter();
            let goodput = goodput.map(|octets| octets as f64 * 8.0 / length_s);
            columns.push(numbers("goodput_bps", goodput.collect()));
        }
        columns.push(counts("packets_received", binned(&self.arrived)));
        columns.push(counts("packets_lost", binned(&self.lost)));
        Some(Table { columns })
    }
}
