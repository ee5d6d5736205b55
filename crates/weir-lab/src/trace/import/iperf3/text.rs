//! The text that iperf3 prints without `--json`, as the document of its JSON.
//!
//! ```text
//! [ ID] Interval           Transfer     Bitrate         Retr  Cwnd
//! [  5]   0.00-1.00   sec  11.2 MBytes  94.4 Mbits/sec    0    822 KBytes
//! ```
//!
//! Octets are in powers of 1024, rates in powers of 1000. A line that begins before the last one
//! of its stream has ended is a result of the whole test. Lines of sums are left out.
//!
//! Source: iperf3, iperf_locale.c (`report_bw_retrans_cwnd_format` and its neighbours), units.c.

use super::super::ImportError;
use super::super::lines::{Lines, Unread, damaged};
use super::{Document, EndOfStream, Ends, Interval, Report, TestStart};
use std::collections::BTreeMap;
use std::io::BufRead;

/// What is expected of a file, in words.
const EXPECTED: &str = "an interval as iperf3 prints it";

/// True for the line above the intervals.
pub(in super::super) fn is_line(text: &str) -> bool {
    let mut words = text.trim_start_matches(['>', ' ']).split_whitespace();
    words.next() == Some("[")
        && words.next().is_some_and(|word| word.starts_with("ID]"))
        && words.any(|word| word == "Interval")
}

/// A text as the document of iperf3's JSON, with remarks.
#[derive(Default)]
struct Reading {
    document: Document,
    remarks: Vec<String>,
    /// The end of each stream's last interval.
    ends: BTreeMap<i64, f64>,
    /// Which values each stream's first interval has.
    values: BTreeMap<i64, [bool; 3]>,
    /// The header has a column of datagrams.
    is_udp: bool,
    unread: Unread,
}

/// The document of a text, and remarks.
pub(super) fn document(reader: impl BufRead) -> Result<(Document, Vec<String>), ImportError> {
    let mut reading = Reading::default();
    let mut lines = Lines::new(reader);
    while let Some(text) = lines.next()? {
        let text = text.trim_start_matches(['>', ' ', '\t']);
        let is_test = ["Accepted connection", "Connecting to host"];
        if !reading.ends.is_empty() && is_test.iter().any(|begin| text.starts_with(begin)) {
            reading.remarks.push(format!(
                "another test begins in line {}; the first is read",
                lines.number()
            ));
            break;
        }
        reading.take(lines.number(), text)?;
    }
    if reading.ends.is_empty() {
        return Err(reading.unread.no_flow(EXPECTED));
    }
    reading.remarks.extend(reading.unread.remark());
    let rounded = "numbers are rounded, as the text has them".to_owned();
    reading.remarks.push(rounded);
    Ok((reading.document, reading.remarks))
}

impl Reading {
    fn take(&mut self, number: u64, text: &str) -> Result<(), ImportError> {
        if let Some(error) = text.strip_prefix("iperf3: error - ") {
            self.document.error = Some(error.to_owned());
            return Ok(());
        }
        if text.starts_with("iperf ") {
            text.clone_into(&mut self.document.start.version);
        }
        let Some((id, role, rest)) = bracketed(text) else {
            return Ok(());
        };
        if let Some(ends) = ends_of(id, rest) {
            self.document.start.connected.push(ends);
            return Ok(());
        }
        if id == "ID" {
            self.is_udp = rest.contains("Datagrams");
        }
        // Headers and sums have no number.
        let Ok(socket) = id.parse::<i64>() else {
            return Ok(());
        };
        let Some((span, rest)) = interval(rest) else {
            self.unread.add(number, text);
            return Ok(());
        };
        let mut report = report(socket, span, rest).map_err(|message| damaged(number, message))?;
        if self.is_udp {
            // A sender counts datagrams where a sender of TCP counts retransmissions.
            report.packets = report.packets.or(report.retransmits.take());
        }
        let values = [report.retransmits, report.packets, report.lost_packets];
        let values = values.map(|value| value.is_some());
        let last = self.ends.get(&socket).copied().unwrap_or(0.0);
        let is_result = report.start + 1e-3 < last;
        if !is_result && *self.values.entry(socket).or_insert(values) != values {
            // A line that was cut.
            self.unread.add(number, text);
            return Ok(());
        }
        self.push(report, role, is_result);
        Ok(())
    }

    fn push(&mut self, mut report: Report, role: Option<bool>, is_result: bool) {
        report.sender = role.or(report.sender);
        if is_result {
            let is_of_receiver = report.sender == Some(false);
            self.document.end.streams.push(EndOfStream {
                udp: report.packets.map(|_| report.clone()),
                receiver: is_of_receiver.then_some(report),
            });
            return;
        }
        if self.is_udp {
            self.document.start.test = TestStart {
                protocol: "UDP".to_owned(),
            };
        }
        if !report.omitted {
            self.ends.insert(report.socket, report.end);
        }
        self.document.intervals.push(Interval {
            streams: vec![report],
        });
    }
}

/// The identifier of a stream, whether it sends (`[TX-C]`), and what follows.
fn bracketed(text: &str) -> Option<(&str, Option<bool>, &str)> {
    let (id, rest) = text.strip_prefix('[')?.split_once(']')?;
    let role = rest.strip_prefix('[').and_then(|rest| rest.split_once(']'));
    let (role, rest) = role.map_or((None, rest), |(role, rest)| {
        (Some(role.starts_with("TX")), rest)
    });
    Some((id.trim(), role, rest))
}

/// `local 10.0.0.1 port 40000 connected to 10.0.0.2 port 5201`.
fn ends_of(id: &str, rest: &str) -> Option<Ends> {
    let words: Vec<&str> = rest.split_whitespace().collect();
    let [
        "local",
        local_host,
        "port",
        local_port,
        "connected",
        "to" | "with",
        rest @ ..,
    ] = words.as_slice()
    else {
        return None;
    };
    let [remote_host, "port", remote_port, ..] = rest else {
        return None;
    };
    Some(Ends {
        socket: id.parse().ok()?,
        local_host: (*local_host).to_owned(),
        local_port: local_port.parse().ok()?,
        remote_host: (*remote_host).to_owned(),
        remote_port: remote_port.parse().ok()?,
    })
}

/// The seconds of `0.00-1.00 sec`, and what follows.
fn interval(text: &str) -> Option<([f64; 2], &str)> {
    let (span, rest) = text.split_once("sec")?;
    let (from, to) = span.trim().split_once('-')?;
    let second = |text: &str| {
        let time = text.trim().parse::<f64>().ok();
        time.filter(|time| time.is_finite() && *time >= 0.0)
    };
    Some(([second(from)?, second(to)?], rest))
}

/// The report of a stream: octets, rate, and what is known of losses and the window.
fn report(socket: i64, [start, end]: [f64; 2], text: &str) -> Result<Report, String> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let [octets, octets_unit, rate, rate_unit, rest @ ..] = words.as_slice() else {
        return Err(format!("\"{text}\" has no octets and rate"));
    };
    let mut report = Report {
        socket,
        start,
        end,
        bytes: octets_of(octets, octets_unit)?,
        bits_per_second: rate_of(rate, rate_unit)?,
        omitted: rest.contains(&"(omitted)"),
        sender: match rest.last() {
            Some(&"sender") => Some(true),
            Some(&"receiver") => Some(false),
            _ => None,
        },
        ..Report::default()
    };
    if report.bits_per_second == 0.0 && end > start {
        // A rate may be rounded to nothing where octets are not.
        report.bits_per_second = report.bytes * 8.0 / (end - start);
    }
    let rest: Vec<&str> = rest.iter().copied().filter(|word| is_value(word)).collect();
    let count = |text: &str| text.parse::<f64>().ok().filter(|count| *count >= 0.0);
    match rest.as_slice() {
        // Jitter, and lost of all datagrams.
        [_, "ms", counts, ..] => {
            let pair = counts.split_once('/');
            let pair = pair.and_then(|(lost, all)| Some((count(lost)?, count(all)?)));
            let (lost, all) = pair.ok_or_else(|| format!("\"{counts}\" are no datagrams"))?;
            (report.lost_packets, report.packets) = (Some(lost), Some(all));
            report.sender = report.sender.or(Some(false));
        }
        [retransmits, window, unit] => {
            report.retransmits = count(retransmits);
            report.snd_cwnd = Some(octets_of(window, unit)?);
            report.sender = report.sender.or(Some(true));
        }
        [retransmits] => {
            report.retransmits = count(retransmits);
            report.sender = report.sender.or(Some(true));
        }
        _ => {}
    }
    Ok(report)
}

/// True for a word that is no mark at the end of a line.
fn is_value(word: &str) -> bool {
    !["sender", "receiver", "(omitted)"].contains(&word) && !word.ends_with("%)")
}

/// Octets of `11.2 MBytes`, in powers of 1024.
fn octets_of(number: &str, unit: &str) -> Result<f64, String> {
    scaled(number, unit, "Bytes", 1024.0).ok_or_else(|| no_quantity(number, unit, "octets"))
}

/// Bits per second of `94.4 Mbits/sec`, in powers of 1000.
fn rate_of(number: &str, unit: &str) -> Result<f64, String> {
    let bits = scaled(number, unit, "bits/sec", 1e3);
    let octets = || Some(8.0 * scaled(number, unit, "Bytes/sec", 1024.0)?);
    bits.or_else(octets)
        .ok_or_else(|| no_quantity(number, unit, "rate"))
}

fn no_quantity(number: &str, unit: &str, what: &str) -> String {
    let text: String = format!("{number} {unit}").chars().take(40).collect();
    format!("\"{text}\", expected {what}")
}

fn scaled(number: &str, unit: &str, base: &str, step: f64) -> Option<f64> {
    let power = match unit.strip_suffix(base)? {
        "" => 0,
        "K" => 1,
        "M" => 2,
        "G" => 3,
        "T" => 4,
        _ => return None,
    };
    let number: f64 = number.parse().ok()?;
    let is_known = number.is_finite() && number >= 0.0;
    is_known.then(|| number * libm::pow(step, f64::from(power)))
}

#[cfg(test)]
mod tests {
    use super::super::super::{ImportError, Vantage};
    use super::super::read_iperf3_text;

    const SENDER: &str = "\
Connecting to host 10.0.0.2, port 5201
[  5] local 10.0.0.1 port 40000 connected to 10.0.0.2 port 5201
[  7] local 10.0.0.1 port 40002 connected to 10.0.0.2 port 5201
[ ID] Interval           Transfer     Bitrate         Retr  Cwnd
[  5]   0.00-1.00   sec  2.00 MBytes  16.8 Mbits/sec    3   14.1 KBytes       (omitted)
[  5]   0.00-1.00   sec  1.00 MBytes  8.39 Mbits/sec    3   14.1 KBytes       
[  7]   0.00-1.00   sec   512 KBytes  4.19 Mbits/sec    0   1.41 MBytes       
[SUM]   0.00-1.00   sec  1.50 MBytes  12.6 Mbits/sec    3             
- - - - - - - - - - - - - - - - - - - - - - - - -
[  5]   1.00-2.00   sec  0.00 Bytes  0.00 bits/sec    1   1.41 KBytes       
[  7]   1.00-2.00   sec  87.4 KBytes  0.00 Gbits/sec    0   1.41 MBytes       
[SUM]   1.00-2.00   sec  87.4 KBytes  716 Kbits/sec    1             
- - - - - - - - - - - - - - - - - - - - - - - - -
[ ID] Interval           Transfer     Bitrate         Retr
[  5]   0.00-2.00   sec  1.00 MBytes  4.19 Mbits/sec    4             sender
[  5]   0.00-2.00   sec   900 KBytes  3.69 Mbits/sec                  receiver
";

    #[test]
    fn streams_of_a_text_have_the_columns_of_the_json() {
        let imported = read_iperf3_text(SENDER.as_bytes()).unwrap();
        assert_eq!(imported.format, "iperf3 text");
        assert_eq!(imported.flows.len(), 2);
        assert_eq!(imported.duration_s, 2.0);
        let flow = &imported.flows[0];
        assert_eq!(flow.vantage, Vantage::Sender);
        assert_eq!(flow.delivered_bytes, Some(900.0 * 1024.0));
        let cwnd = flow.trace.table.numbers("cwnd_bytes").unwrap();
        assert_eq!(cwnd, [14.1 * 1024.0, 1.41 * 1024.0]);
        let intervals = flow.trace.intervals.as_ref().unwrap();
        assert_eq!(intervals.numbers("goodput_bps").unwrap(), [8.39e6, 0.0]);
        assert_eq!(*intervals.as_numbers("packets_lost").unwrap(), [3.0, 1.0]);
        let other = imported.flows[1].trace.intervals.as_ref().unwrap();
        // 87.4 * 1024 octets in a second, whose rate is rounded to nothing.
        let rates = other.numbers("goodput_bps").unwrap();
        assert!((rates[0] - 4.19e6).abs() < 1e-3, "{rates:?}");
        assert_eq!(rates[1], 87.4 * 1024.0 * 8.0);
        let said = imported.remarks.join("\n");
        assert!(said.contains("tcp-2 is 10.0.0.1 port 40002"), "{said}");
        assert!(said.contains("1 reports of the time"), "{said}");
    }

    #[test]
    fn datagrams_and_the_roles_of_a_test_in_both_directions_are_read() {
        let text = "\
[ ID] Interval           Transfer     Bitrate         Jitter    Lost/Total Datagrams
[  5]   0.00-1.00   sec   129 KBytes  1.05 Mbits/sec  0.030 ms  2/91 (2.2%)  
";
        let imported = read_iperf3_text(text.as_bytes()).unwrap();
        let flow = &imported.flows[0];
        assert_eq!((flow.transport, flow.vantage), ("udp", Vantage::Receiver));
        let intervals = flow.trace.intervals.as_ref().unwrap();
        assert_eq!(*intervals.as_numbers("packets_received").unwrap(), [89.0]);
        let text = "\
[ ID][Role] Interval           Transfer     Bitrate         Retr  Cwnd
[  5][TX-C]   0.00-1.00   sec  1.00 MBytes  8.39 Mbits/sec    0   14.1 KBytes       
[  7][RX-C]   0.00-1.00   sec  2.00 MBytes  16.8 Mbits/sec                  
";
        let imported = read_iperf3_text(text.as_bytes()).unwrap();
        let vantages: Vec<_> = imported.flows.iter().map(|flow| flow.vantage).collect();
        assert_eq!(vantages, [Vantage::Sender, Vantage::Receiver]);
    }

    #[test]
    fn a_second_test_is_a_remark_and_a_damaged_line_an_error_with_its_place() {
        let imported = read_iperf3_text(format!("{SENDER}{SENDER}").as_bytes()).unwrap();
        let said = imported.remarks.join("\n");
        assert!(said.contains("another test begins in line 17"), "{said}");
        let text = "[ ID] Interval\n[  5]   0.00-1.00   sec  much MBytes  8 Mbits/sec\n";
        let error = read_iperf3_text(text.as_bytes()).unwrap_err();
        assert!(
            matches!(&error, ImportError::Damaged { place, .. } if place == "line 2"),
            "{error}"
        );
        let cut = "[  5]   2.00-3.00   sec  1.00 MBytes  8.39 Mbits/sec\n";
        let imported = read_iperf3_text(format!("{SENDER}{cut}").as_bytes()).unwrap();
        let said = imported.remarks.join("\n");
        assert!(said.contains("the first is line 17"), "{said}");
        let error = read_iperf3_text("[ ID] Interval Transfer\n".as_bytes()).unwrap_err();
        assert!(matches!(error, ImportError::NoFlow(_)), "{error}");
    }
}
