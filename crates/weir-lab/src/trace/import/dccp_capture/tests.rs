//! Runs of our own, captured and read again, and a capture of Linux.

use super::super::Vantage;
use super::super::captured_run::captured_run;
use super::*;
use crate::run::RunOutput;

fn pair(transport: &str, host: &str) -> (RunOutput, Imported) {
    let text = format!(
        r#"
        run = {{ duration = "20s", seed = 2 }}
        [[link]]
        name = "wire"
        between = ["a", "b"]
        rate = "2Mbit"
        delay = "20ms"
        loss = {{ kind = "random", rate = 0.01 }}
        [[flow]]
        name = "bulk"
        from = "a"
        to = "b"
        transport = {transport}
        "#
    );
    let (run, file) = captured_run(&text, Some(host), 0);
    (run, read_dccp_capture(file.path()).unwrap())
}

/// The values of a column, without a value left out, and of equal neighbours one.
fn steps(table: &crate::table::Table, column: &str) -> Vec<f64> {
    let values = table.numbers(column).unwrap();
    let mut values: Vec<f64> = values.iter().copied().filter(|v| !v.is_nan()).collect();
    values.dedup();
    values
}

fn lost(table: &crate::table::Table) -> usize {
    let events = table.words("event").unwrap().iter();
    events.filter(|event| &***event == "lost").count()
}

#[test]
fn feedback_of_ccid_3_comes_back_with_its_rates_and_round_trips() {
    let (run, imported) = pair(r#"{ kind = "dccp", ccid = 3 }"#, "a");
    let flow = &imported.flows[0];
    assert_eq!(flow.vantage, Vantage::Sender);
    assert_eq!(flow.controller.as_deref(), Some("tfrc"));
    let (own, read) = (&run.flows[0].table, &flow.trace.table);
    let (own_rates, rates) = (
        steps(own, "receive_rate_bps"),
        steps(read, "receive_rate_bps"),
    );
    let found = rates.iter().filter(|rate| own_rates.contains(rate)).count();
    assert!(rates.len() > 50, "{}", rates.len());
    assert!(found * 20 >= rates.len() * 19, "{found} of {}", rates.len());
    let (own_rtt, rtt) = (steps(own, "rtt_s"), steps(read, "rtt_s"));
    let is_own = |sample: &&f64| own_rtt.iter().any(|own| (own - *sample).abs() < 25e-6);
    let found = rtt.iter().filter(is_own).count();
    assert!(found * 20 >= rtt.len() * 19, "{found} of {}", rtt.len());
}

#[test]
fn ack_vectors_of_ccid_2_tell_what_was_lost() {
    let (run, imported) = pair(r#"{ kind = "dccp", ccid = 2 }"#, "a");
    let flow = &imported.flows[0];
    let own = lost(run.packets.as_ref().unwrap());
    let read = lost(imported.packets.as_ref().unwrap());
    assert!(own > 10, "{own}");
    assert!(own.abs_diff(read) <= 1, "{own} {read}");
    let flight = flow.trace.table.numbers("bytes_in_flight").unwrap();
    // Without a value before the first Ack Vector.
    assert!(flight.iter().filter(|octets| **octets >= 0.0).count() > 50);
}

#[test]
fn at_the_receiver_gaps_of_numbers_are_losses() {
    let (run, imported) = pair(r#"{ kind = "dccp", ccid = 3 }"#, "b");
    assert_eq!(imported.flows[0].vantage, Vantage::Receiver);
    let own = lost(run.packets.as_ref().unwrap());
    let read = lost(imported.packets.as_ref().unwrap());
    // NUMDUPACK, RFC 5348 §5.1: a hole is a loss when three packets with higher numbers have
    // arrived, as our own receiver decides; only a hole at the end of the capture may differ.
    assert!(own > 5, "{own}");
    assert!(own.abs_diff(read) <= 2, "{own} {read}");
    let packets = imported.packets.as_ref().unwrap();
    let events = packets.words("event").unwrap().iter();
    let numbers = packets.numbers("number").unwrap();
    let rows: Vec<_> = events.map(|event| &**event).zip(numbers).collect();
    for (row, (_, missing)) in rows
        .iter()
        .enumerate()
        .filter(|(_, (event, _))| *event == "lost")
    {
        let higher = |(event, number): &&(&str, &f64)| *event == "received" && *number > missing;
        let before = rows[..row].iter().filter(higher).count();
        assert_eq!(before, 3, "{missing}");
    }
}

#[test]
fn a_capture_of_linux_has_a_flow_of_ccid_3() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../../shared/captures/linux-ccid3-simple.pcap.gz");
    if !path.exists() {
        println!("skipped: no {}", path.display());
        return;
    }
    let imported = read_dccp_capture(&path).unwrap();
    println!("{:#?}", imported.remarks);
    let table = &imported.flows[0].trace.table;
    // 2652 packets of feedback: README of the captures.
    let rates = table.numbers("receive_rate_bps").unwrap();
    assert!(rates.len() >= 2652, "{}", rates.len());
    assert!(imported.duration_s > 0.0);
}

#[test]
fn the_round_trip_is_smoothed_as_tfrc_smooths_it() {
    // TFRC_WEIGHT, RFC 5348 §4.3: the first sample is R; then R = 0.9 R + 0.1 R_sample:
    // 0.9 * 100 ms + 0.1 * 200 ms = 110 ms.
    assert_eq!(flow::smoothed(None, 0.1), 0.1);
    assert!((flow::smoothed(Some(0.1), 0.2) - 0.110).abs() < 1e-12);
}
