//! qlog of other programs: no octets make the reader panic or hang, a table that it returns has
//! columns of equal length and times in order, and an error of damage has its place.

use weir_lab::table::Table;
use weir_lab::trace::import::{ImportError, qlog};

/// Checks the reader on these octets.
pub fn check(octets: &[u8]) {
    let read = match qlog::read(octets) {
        Ok(read) => read,
        Err(ImportError::Damaged { place, message }) => {
            assert!(
                place.contains("line") && !message.is_empty(),
                "{place}: {message}"
            );
            return;
        }
        Err(_) => return,
    };
    assert!(!read.flows.is_empty());
    assert!(read.duration_s.is_finite() && read.duration_s >= 0.0);
    for flow in &read.flows {
        let trace = &flow.trace;
        let tables = [
            Some(&trace.table),
            trace.events.as_ref(),
            trace.intervals.as_ref(),
        ];
        tables.into_iter().flatten().for_each(check_table);
    }
    read.packets.iter().for_each(check_table);
}

fn check_table(table: &Table) {
    for column in &table.columns {
        assert_eq!(column.values.len(), table.rows(), "{}", column.name);
    }
    let times = table.numbers("time_s").unwrap_or_default();
    assert!(times.is_sorted(), "times are not in order");
}
