//! Arbitrary bytes as a capture and as each log that is read: no input panics, the columns of a
//! table have one length, and times do not go back.

use std::io::Cursor;
use weir_lab::table::Table;
use weir_lab::trace::capture::Capture;
use weir_lab::trace::import::{
    Imported, read_dccp_capture_from, read_dccp_probe, read_iperf3, read_iperf3_text, read_ss,
    read_tcp_capture_from, read_tcp_probe,
};

pub fn check(bytes: &[u8]) {
    let mut open = || Capture::from_reader(Cursor::new(bytes.to_vec()));
    let results = [
        read_tcp_capture_from(&mut open),
        read_dccp_capture_from(&mut open),
        read_ss(bytes),
        read_tcp_probe(bytes, Some(1448)),
        read_dccp_probe(bytes),
        read_iperf3(bytes),
        read_iperf3_text(bytes),
    ];
    for result in results {
        match result {
            Ok(imported) => check_imported(&imported),
            Err(error) => assert!(!error.to_string().is_empty()),
        }
    }
}

fn check_imported(imported: &Imported) {
    assert!(!imported.flows.is_empty(), "{}", imported.format);
    assert!(imported.duration_s >= 0.0);
    for flow in &imported.flows {
        check_table(&flow.trace.table);
        let others = [
            &flow.trace.events,
            &flow.trace.intervals,
            &flow.trace.writes,
            &flow.counters,
            &flow.turns,
        ];
        others.into_iter().flatten().for_each(check_table);
    }
    imported.packets.iter().for_each(check_table);
}

fn check_table(table: &Table) {
    let rows = table.rows();
    assert!(rows > 0, "a table without a row");
    assert!(
        table
            .columns
            .iter()
            .all(|column| column.values.len() == rows)
    );
    let times = table.numbers("time_s").expect("times");
    assert!(times.iter().all(|time| time.is_finite()));
    assert!(times.windows(2).all(|pair| pair[0] <= pair[1]), "{times:?}");
}
