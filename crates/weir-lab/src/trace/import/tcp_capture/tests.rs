//! Runs of our own, captured and read again.

use super::*;
use crate::run::{RunOptions, RunOutput, TraceLevel, run};
use crate::table::Table;
use crate::trace::{CaptureOptions, capture_run};

/// A run of a scenario and the flow of its capture at a host, or at both.
struct Pair {
    run: RunOutput,
    imported: Imported,
}

fn pair(text: &str, host: Option<&str>) -> Pair {
    let scenario = crate::scenario::parse(text, "test.toml").unwrap();
    let options = RunOptions {
        trace: TraceLevel::Full,
        packets: true,
        ..RunOptions::default()
    };
    let run = run(&scenario, &options).unwrap();
    let file = tempfile::NamedTempFile::new().unwrap();
    let options = CaptureOptions {
        host,
        snap_octets: 96,
        ..CaptureOptions::default()
    };
    let out = file.reopen().unwrap();
    capture_run(&scenario, &run.summary, &options, out).unwrap();
    let imported = read_tcp_capture(file.path()).unwrap();
    Pair { run, imported }
}

impl Pair {
    fn own(&self) -> &Table {
        &self.run.flows[0].table
    }

    fn read(&self) -> &Table {
        &self.imported.flows[0].trace.table
    }

    /// The octets that the run delivered, and those that the import finds.
    fn delivered(&self) -> [f64; 2] {
        [self.own(), self.read()].map(|table| *numbers(table, "delivered_bytes").last().unwrap())
    }

    /// For each row of the run, the values of a column in the run and in the import at that time.
    fn beside(&self, column: &str) -> Vec<[f64; 3]> {
        let times = numbers(self.read(), "time_s");
        let values = numbers(self.read(), column);
        let own = numbers(self.own(), column);
        let rows = numbers(self.own(), "time_s").into_iter().zip(own);
        let beside = rows.filter_map(|(time, value)| {
            let row = times.partition_point(|other| *other <= time + 1e-9);
            Some([time, value, values[row.checked_sub(1)?]])
        });
        beside.collect()
    }

    fn events(&self, event: &str) -> [Vec<f64>; 2] {
        [
            &self.run.flows[0].events,
            &self.imported.flows[0].trace.events,
        ]
        .map(|events| {
            let events = events.as_ref().unwrap();
            rows(events, |row| {
                events.words("event").unwrap()[row].as_ref() == event
                    && events.words("place").unwrap()[row].as_ref() == "sender"
            })
        })
    }

    fn lost(&self) -> [Vec<f64>; 2] {
        [&self.run.packets, &self.imported.packets].map(|packets| {
            let packets = packets.as_ref().unwrap();
            rows(packets, |row| {
                &*packets.words("event").unwrap()[row] == "lost"
            })
        })
    }
}

fn numbers(table: &Table, column: &str) -> Vec<f64> {
    table.as_numbers(column).unwrap().into_owned()
}

/// The times of rows.
fn rows(table: &Table, is_wanted: impl Fn(usize) -> bool) -> Vec<f64> {
    let times = table.numbers("time_s").unwrap().iter().enumerate();
    times
        .filter(|(row, _)| is_wanted(*row))
        .map(|(_, time)| *time)
        .collect()
}

const LOSSY: &str = r#"
    run = { duration = "20s", seed = 3 }
    link = [{ name = "wire", between = ["a", "b"], rate = "10Mbit", delay = "20ms", loss = { kind = "random", rate = 0.01 } }]
    flow = [{ name = "bulk", from = "a", to = "b", transport = { kind = "tcp", controller = "cubic" } }]
"#;

#[test]
fn a_lossy_run_comes_back_with_its_round_trips_losses_and_octets() {
    let pair = pair(LOSSY, None);
    println!("{:#?}", pair.imported.remarks);
    let [own, read] = pair.delivered();
    println!("delivered {own} {read}");
    let [own, read] = pair.lost();
    println!("lost {} {}", own.len(), read.len());
    let [own, read] = pair.events("timeout");
    println!("timeouts {own:?} {read:?}");
    for column in [
        "rtt_s",
        "smoothed_rtt_s",
        "min_rtt_s",
        "bytes_in_flight",
        "receive_window_bytes",
        "delivered_bytes",
        "delivery_rate_bps",
    ] {
        let all = pair.beside(column);
        let off: Vec<_> = all
            .iter()
            .filter(|[_, a, b]| (a - b).abs() > 1e-9 * a.abs().max(1e-3))
            .collect();
        println!(
            "{column}: {} of {} differ: {:?}",
            off.len(),
            all.len(),
            off.iter().take(8).collect::<Vec<_>>()
        );
    }
}
