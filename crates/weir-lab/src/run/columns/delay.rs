//! The columns of `delays`, and the table: the distribution of the one-way delays of each flow's
//! packets.
//!
//! A flow has at most a thousand rows, and all flows together a million, but each flow may have at
//! least sixteen. A row that represents several values has the largest of them, so that the share
//! of packets up to it is exact.

use crate::table::{ColumnSpec, Table, TableRecorder};
use std::sync::Arc;
use weir_net::histogram::Histogram;

/// A column of [`DELAY`].
pub type Delay = ColumnSpec<DelayRow>;

/// Packets of a flow with similar delays.
#[derive(Clone, Debug)]
pub struct DelayRow {
    flow: Arc<str>,
    nanos: u64,
    packets: u64,
}

/// `delays`: the one-way delays of each flow's packets from the end of the warm-up on.
pub const DELAY: &[Delay] = &[
    Delay::word(
        "flow",
        "the flow; of one with arrivals all its connections together",
        &|row| &row.flow,
    ),
    Delay::number(
        "one_way_delay_s",
        "s",
        "from the sender's transport to the receiver's; exact up to 512 packets of the flow, else \
         within 0.2 %",
        &|row| row.nanos as f64 / 1e9,
    ),
    Delay::count(
        "packets",
        "packets",
        "packets that took at most that long, and longer than those of the flow's row before",
        &|row| row.packets,
    ),
];

/// The maximum number of rows of a flow and of all flows, and the minimum limit for a flow.
const MOST_OF_FLOW: u64 = 1000;
const MOST: u64 = 1_000_000;
const FEWEST: u64 = 16;

/// The table of these flows, of which some may have no measurements.
pub(in crate::run) fn delay_table<'a>(
    flows: impl Iterator<Item = (&'a str, Option<&'a Histogram>)> + Clone,
) -> Table {
    let count = flows.clone().count() as u64;
    let most = (MOST / count.max(1)).clamp(FEWEST, MOST_OF_FLOW);
    let mut table = TableRecorder::new(DELAY);
    for (name, delays) in flows {
        let flow: Arc<str> = name.into();
        let Some(delays) = delays else {
            continue;
        };
        let each = delays.count().div_ceil(most).max(1);
        let mut packets = 0;
        let mut values = delays.values().into_iter().peekable();
        while let Some((nanos, of_value)) = values.next() {
            packets += of_value;
            if packets >= each || values.peek().is_none() {
                let flow = Arc::clone(&flow);
                table.push(&DelayRow {
                    flow,
                    nanos,
                    packets,
                });
                packets = 0;
            }
        }
    }
    table.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(table: &Table) -> Vec<(String, f64, u64)> {
        let flows = table.words("flow").expect("a column").iter();
        let delays = table.numbers("one_way_delay_s").expect("a column");
        let packets = table.as_numbers("packets").expect("a column");
        let values = delays.iter().zip(packets.iter());
        let rows = flows.zip(values);
        rows.map(|(flow, (delay, packets))| (flow.to_string(), *delay, *packets as u64))
            .collect()
    }

    #[test]
    fn few_packets_are_exact_and_a_flow_without_one_has_no_row() {
        let mut delays = Histogram::default();
        for millis in [30, 10, 20, 10] {
            delays.push(millis * 1_000_000);
        }
        let none = Histogram::default();
        let flows = [("a", Some(&delays)), ("b", Some(&none)), ("c", None)];
        let table = delay_table(flows.into_iter());
        let expected = [(0.01, 2), (0.02, 1), (0.03, 1)];
        let expected = expected.map(|(delay, packets)| ("a".to_owned(), delay, packets));
        assert_eq!(rows(&table), expected);
    }

    /// 100,000 delays from 1 to 1.1 s, of which each row may represent a thousandth.
    #[test]
    fn many_packets_have_a_thousand_rows_at_most_with_the_right_shares() {
        let mut delays = Histogram::default();
        for number in 0..100_000_u64 {
            delays.push(1_000_000_000 + (number * 7919 % 100_000) * 1000);
        }
        let table = delay_table([("a", Some(&delays))].into_iter());
        let rows = rows(&table);
        assert!(rows.len() <= 1000, "{}", rows.len());
        let mut packets = 0;
        for (_, delay, of_row) in &rows {
            packets += of_row;
            let exact = 1.0 + packets as f64 * 1e-6;
            assert!((delay / exact - 1.0).abs() < 0.002, "{delay} for {exact}");
        }
        assert_eq!(packets, 100_000);
    }
}
