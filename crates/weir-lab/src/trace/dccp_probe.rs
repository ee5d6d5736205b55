//! The log of Linux's dccp_probe (net/dccp/probe.c, 2.6.21 to 4.15).
//!
//! One line for each write of the application, with the state after the last feedback before it:
//!
//! ```text
//! sec.usec source:port target:port size s rtt p X_calc X_recv X t_ipi
//! ```
//!
//! size and s in octets, rtt and t_ipi in microseconds, p in 10^-6, rates in octets per second, all
//! truncated to whole numbers. A flow without TFRC has the first four fields only. Time zero is the
//! start of the run. Addresses represent hosts: 10.0.0.1 is the first; the sender's port is 32768
//! plus the number of the flow, the receiver's 5001.

use crate::run::{FlowTrace, RunOutput};
use crate::scenario::Scenario;
use crate::table::{Table, Values};
use std::fmt::Write as _;

/// The receiver's port.
const TARGET_PORT: u16 = 5001;
/// The first port of senders, as Linux assigns them.
const FIRST_PORT: u32 = 32_768;

/// A log for each DCCP flow, with the flow's name.
pub(super) fn logs(run: &RunOutput) -> Vec<(&str, String)> {
    let flows = run.flows.iter().enumerate();
    let logs = flows.filter_map(|(index, flow)| {
        let sockets = sockets(&run.scenario, flow, index);
        Some((flow.name.as_str(), log(flow.writes.as_ref()?, &sockets)))
    });
    logs.collect()
}

/// `source:port target:port` of a flow.
fn sockets(scenario: &Scenario, flow: &FlowTrace, index: usize) -> String {
    let of = |name: &str| scenario.flows.iter().find(|flow| flow.is_named(name));
    let address = |host: &str| {
        let number = scenario.hosts.iter().position(|h| h.name == host);
        let number = number.unwrap_or(0) as u32 + 1;
        let [_, second, third, fourth] = number.to_be_bytes();
        format!("10.{second}.{third}.{fourth}")
    };
    let (source, target) = of(&flow.name).map_or((String::new(), String::new()), |flow| {
        (address(&flow.from), address(&flow.to))
    });
    // Ports wrap around within the range that starts at FIRST_PORT.
    let port = FIRST_PORT + index as u32 % (65_536 - FIRST_PORT);
    format!("{source}:{port} {target}:{TARGET_PORT}")
}

/// The lines for a table of writes.
fn log(writes: &Table, sockets: &str) -> String {
    let empty: &[f64] = &[];
    let column = |name: &str| writes.numbers(name).unwrap_or(empty);
    let sizes: &[u64] = match writes.column("write_bytes") {
        Some(Values::U64(sizes)) => sizes,
        _ => &[],
    };
    let at = |name: &str, row: usize| column(name).get(row).copied().unwrap_or(f64::NAN);
    let mut text = String::new();
    for (row, size) in sizes.iter().enumerate() {
        let micros = nanos(at("time_s", row)) / 1000;
        let _ = write!(
            text,
            "{}.{:06} {sockets} {size}",
            micros / 1_000_000,
            micros % 1_000_000
        );
        if at("allowed_rate_bps", row).is_finite() {
            let _ = write!(
                text,
                " {} {} {} {} {} {} {}",
                at("segment_bytes", row) as u64,
                nanos(at("smoothed_rtt_s", row)) / 1000,
                libm::round(at("loss_event_rate", row) * 1e6) as u64,
                octets(at("equation_rate_bps", row)),
                octets(at("receive_rate_bps", row)),
                octets(at("allowed_rate_bps", row)),
                nanos(at("ipi_s", row)) / 1000,
            );
        }
        text.push('\n');
    }
    text
}

/// Nanoseconds of a time in seconds: exact, because columns hold whole nanoseconds below 2^53.
fn nanos(secs: f64) -> u64 {
    libm::round(secs * 1e9) as u64
}

/// Whole octets per second. A value that is an integer except for rounding errors is not truncated
/// to the one below.
fn octets(bps: f64) -> u64 {
    libm::floor(bps / 8.0 + 1e-9) as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::Column;

    #[test]
    fn a_line_has_the_fields_and_units_of_the_kernel() {
        let number = |name: &str, values: [f64; 2]| Column {
            name: name.to_owned(),
            values: Values::F64(values.to_vec()),
        };
        let none = f64::NAN;
        let writes = Table {
            columns: vec![
                number("time_s", [0.0438, 2.391_000_9]),
                number("allowed_rate_bps", [11_174_603.2, none]),
                number("equation_rate_bps", [none, none]),
                number("receive_rate_bps", [0.0, none]),
                number("loss_event_rate", [0.0001, none]),
                number("smoothed_rtt_s", [63e-6, none]),
                number("ipi_s", [15e-6, none]),
                number("segment_bytes", [22.0, none]),
                Column {
                    name: "write_bytes".to_owned(),
                    values: Values::U64(vec![22, 1400]),
                },
            ],
        };
        assert_eq!(
            log(&writes, "10.0.0.1:32768 10.0.0.2:5001"),
            "0.043800 10.0.0.1:32768 10.0.0.2:5001 22 22 63 100 0 0 1396825 15\n\
             2.391000 10.0.0.1:32768 10.0.0.2:5001 1400\n"
        );
    }
}
