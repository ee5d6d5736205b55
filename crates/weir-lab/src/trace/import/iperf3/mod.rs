//! Results of iperf3 as JSON: one document (`--json`) or a line for each event (`--json-stream`,
//! iperf3 3.17 and later); and as the [`text`] that it prints without these options.
//!
//! A stream is a flow, a report of it a row. iperf3 takes round trip and window from tcp_info, so
//! that its `rtt` is the smoothed one, and its octets are those written or read by the application.
//!
//! Does not model: what the other end reports during the test, sums.
//!
//! Source: iperf3, iperf_api.c (`iperf_print_intermediate`, `iperf_print_results`).

mod text;

pub(super) use text::is_line;

use super::rows::{Cell, Rows};
use super::{ImportError, Imported, ImportedFlow, Vantage};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::io::BufRead;

/// The whole document.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Document {
    start: Start,
    intervals: Vec<Interval>,
    end: End,
    error: Option<String>,
}

/// A line of `--json-stream`.
#[derive(Debug, Deserialize)]
struct Line {
    event: String,
    #[serde(default)]
    data: serde_json::Value,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Start {
    version: String,
    connected: Vec<Ends>,
    #[serde(rename = "test_start")]
    test: TestStart,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct TestStart {
    protocol: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Ends {
    socket: i64,
    local_host: String,
    local_port: u64,
    remote_host: String,
    remote_port: u64,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Interval {
    streams: Vec<Report>,
}

/// A stream in an interval, or in the whole test.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
struct Report {
    socket: i64,
    start: f64,
    end: f64,
    bytes: f64,
    bits_per_second: f64,
    retransmits: Option<f64>,
    snd_cwnd: Option<f64>,
    snd_wnd: Option<f64>,
    /// In microseconds.
    rtt: Option<f64>,
    packets: Option<f64>,
    lost_packets: Option<f64>,
    omitted: bool,
    sender: Option<bool>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct End {
    streams: Vec<EndOfStream>,
    sender_tcp_congestion: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct EndOfStream {
    receiver: Option<Report>,
    udp: Option<Report>,
}

/// A stream.
#[derive(Default)]
struct Stream {
    rows: Rows,
    intervals: Rows,
    octets: f64,
    last: f64,
    sender: Option<bool>,
}

/// Reads the result of iperf3.
///
/// # Errors
/// If it cannot be read, is no JSON, with line and column, or has no stream.
pub fn read_iperf3(mut reader: impl BufRead) -> Result<Imported, ImportError> {
    let mut text = String::new();
    reader.read_to_string(&mut text)?;
    let first = text.lines().find(|line| !line.trim().is_empty());
    let is_stream = first.is_some_and(|line| line.contains("\"event\""));
    let document = if is_stream {
        of_lines(&text)?
    } else {
        serde_json::from_str(&text).map_err(|error| damaged(&error, error.line()))?
    };
    let format = if is_stream {
        "iperf3 JSON stream"
    } else {
        "iperf3 JSON"
    };
    import(document, format)
}

/// Reads the text that iperf3 prints.
///
/// # Errors
/// If it cannot be read, an interval is damaged, with its line, or it has none.
pub fn read_iperf3_text(reader: impl BufRead) -> Result<Imported, ImportError> {
    let (document, remarks) = text::document(reader)?;
    let mut imported = import(document, "iperf3 text")?;
    imported.remarks.extend(remarks);
    Ok(imported)
}

fn damaged(error: &serde_json::Error, line: usize) -> ImportError {
    ImportError::Damaged {
        place: format!("line {line}, column {}", error.column()),
        message: error.to_string(),
    }
}

fn of_lines(text: &str) -> Result<Document, ImportError> {
    let mut document = Document::default();
    for (number, line) in text.lines().enumerate() {
        if line.trim().is_empty() {
            continue;
        }
        let at = |error: serde_json::Error| damaged(&error, number + 1);
        let Line { event, data } = serde_json::from_str(line).map_err(at)?;
        match event.as_str() {
            "start" => document.start = serde_json::from_value(data).map_err(at)?,
            "interval" => document
                .intervals
                .push(serde_json::from_value(data).map_err(at)?),
            "end" => document.end = serde_json::from_value(data).map_err(at)?,
            "error" => document.error = Some(data.as_str().unwrap_or_default().to_owned()),
            _ => {}
        }
    }
    Ok(document)
}

fn import(document: Document, format: &str) -> Result<Imported, ImportError> {
    let Document {
        start,
        intervals,
        end,
        error,
    } = document;
    let is_udp = start.test.protocol.eq_ignore_ascii_case("udp");
    let mut streams: BTreeMap<i64, Stream> = BTreeMap::new();
    let mut omitted = 0_u64;
    for report in intervals.iter().flat_map(|interval| &interval.streams) {
        if report.omitted {
            omitted += 1;
            continue;
        }
        streams
            .entry(report.socket)
            .or_default()
            .push(report, is_udp);
    }
    if streams.is_empty() {
        let reason = error.unwrap_or_else(|| "the result has no interval of a stream".to_owned());
        return Err(ImportError::NoFlow(reason));
    }
    let mut imported = Imported {
        format: format.to_owned(),
        producer: start.version.clone(),
        ..Imported::default()
    };
    let remarks = &mut imported.remarks;
    remarks.extend(error.map(|error| format!("the test ended with an error: {error}")));
    if omitted > 0 {
        remarks.push(format!(
            "{omitted} reports of the time that the test omits are left out"
        ));
    }
    if !is_udp {
        remarks.push("packets_lost are the segments that the sender retransmitted".to_owned());
    }
    for (number, (socket, stream)) in streams.into_iter().enumerate() {
        let name = format!("{}-{}", if is_udp { "udp" } else { "tcp" }, number + 1);
        if let Some(ends) = start.connected.iter().find(|ends| ends.socket == socket) {
            let (local, remote) = (&ends.local_host, &ends.remote_host);
            let (local_port, remote_port) = (ends.local_port, ends.remote_port);
            let text = format!("{name} is {local} port {local_port}, {remote} port {remote_port}");
            imported.remarks.push(text);
        }
        imported.duration_s = imported.duration_s.max(stream.last);
        imported
            .flows
            .push(stream.finish(name, (socket, is_udp), &end));
    }
    Ok(imported)
}

impl Stream {
    fn push(&mut self, report: &Report, is_udp: bool) {
        let rtt = report.rtt.filter(|rtt| *rtt > 0.0).map(|rtt| rtt / 1e6);
        self.octets += report.bytes.max(0.0);
        self.last = self.last.max(report.end);
        self.sender = self.sender.or(report.sender);
        let at = ("time_s", Cell::Number(self.last));
        self.rows.push(&[
            at,
            ("smoothed_rtt_s", Cell::optional(rtt)),
            ("cwnd_bytes", Cell::optional(report.snd_cwnd)),
            ("receive_window_bytes", Cell::optional(report.snd_wnd)),
            ("event", Cell::Word("controller")),
        ]);
        let lost = if is_udp {
            report.lost_packets
        } else {
            report.retransmits
        };
        let mut row = vec![at, ("goodput_bps", Cell::Number(report.bits_per_second))];
        // Columns stay the same for all rows of a stream, because iperf3 has them in all or none.
        if let Some(lost) = lost {
            row.push(("packets_lost", Cell::Count(lost.max(0.0) as u64)));
            if let Some(packets) = report.packets {
                // iperf3's number of packets includes the lost ones.
                row.push((
                    "packets_received",
                    Cell::Count((packets - lost).max(0.0) as u64),
                ));
            }
        }
        self.intervals.push(&row);
    }

    fn finish(self, name: String, (socket, is_udp): (i64, bool), end: &End) -> ImportedFlow {
        let transport = if is_udp { "udp" } else { "tcp" };
        let vantage = match self.sender {
            Some(true) => Vantage::Sender,
            Some(false) => Vantage::Receiver,
            None => Vantage::Network,
        };
        let mut flow = ImportedFlow::new((name, transport), vantage, self.rows.finish());
        flow.trace.intervals = self.intervals.finish_some();
        flow.controller.clone_from(&end.sender_tcp_congestion);
        let of_stream = end
            .streams
            .iter()
            .filter_map(|stream| stream.receiver.as_ref());
        let received = of_stream.into_iter().find(|report| report.socket == socket);
        flow.delivered_bytes = match vantage {
            Vantage::Receiver => Some(self.octets),
            _ => received.map(|report| report.bytes),
        };
        if is_udp && vantage == Vantage::Sender {
            // The result of the receiver is known at the end only.
            let udp = end.streams.iter().filter_map(|stream| stream.udp.as_ref());
            let report = udp.into_iter().find(|report| report.socket == socket);
            flow.delivered_bytes = report.and_then(|report| {
                let (packets, lost) = (report.packets?, report.lost_packets?);
                (packets > 0.0).then(|| report.bytes * (packets - lost) / packets)
            });
        }
        flow
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STREAM: &str = r#"{"socket":5,"start":0,"end":1.0,"seconds":1.0,
        "bytes":1000000,"bits_per_second":8000000,"retransmits":3,"snd_cwnd":28960,
        "snd_wnd":65536,"rtt":25000,"rttvar":100,"pmtu":1500,"omitted":false,
        "sender":true}"#;
    const START: &str = r#"{"connected":[{"socket":5,"local_host":"10.0.0.1",
        "local_port":40000,"remote_host":"10.0.0.2","remote_port":5201}],
        "version":"iperf 3.17","test_start":{"protocol":"TCP"}}"#;
    const END: &str = r#"{"streams":[{"sender":{"socket":5,"bytes":1000000},
        "receiver":{"socket":5,"bytes":990000}}],"sender_tcp_congestion":"cubic"}"#;

    #[test]
    fn a_document_and_a_stream_of_lines_give_the_same_rows() {
        let document =
            format!(r#"{{"start":{START},"intervals":[{{"streams":[{STREAM}]}}],"end":{END}}}"#);
        let [start, stream, end] = [START, STREAM, END].map(|text| text.replace('\n', " "));
        let lines = format!(
            "{{\"event\":\"start\",\"data\":{start}}}\n\
             {{\"event\":\"interval\",\"data\":{{\"streams\":[{stream}]}}}}\n\
             {{\"event\":\"end\",\"data\":{end}}}\n"
        );
        for text in [document, lines] {
            let imported = read_iperf3(text.as_bytes()).unwrap();
            assert_eq!(imported.producer, "iperf 3.17");
            let flow = &imported.flows[0];
            assert_eq!(flow.controller.as_deref(), Some("cubic"));
            assert_eq!(flow.vantage, Vantage::Sender);
            assert_eq!(flow.delivered_bytes, Some(990_000.0));
            let table = &flow.trace.table;
            assert_eq!(table.numbers("smoothed_rtt_s").unwrap(), [0.025]);
            assert_eq!(table.numbers("cwnd_bytes").unwrap(), [28_960.0]);
            let intervals = flow.trace.intervals.as_ref().unwrap();
            assert_eq!(intervals.numbers("goodput_bps").unwrap(), [8e6]);
            assert_eq!(*intervals.as_numbers("packets_lost").unwrap(), [3.0]);
        }
    }

    #[test]
    fn datagrams_of_a_receiver_have_losses_and_no_window() {
        let report = r#"{"socket":5,"start":0,"end":1,"bytes":14000,
        "bits_per_second":112000,"jitter_ms":0.1,"lost_packets":2,"packets":12,
        "lost_percent":16.7,"omitted":false,"sender":false}"#;
        let text = format!(
            r#"{{"start":{{"test_start":{{"protocol":"UDP"}}}},
        "intervals":[{{"streams":[{report}]}}]}}"#
        );
        let imported = read_iperf3(text.as_bytes()).unwrap();
        let flow = &imported.flows[0];
        assert_eq!((flow.transport, flow.vantage), ("udp", Vantage::Receiver));
        assert!(flow.trace.table.column("cwnd_bytes").is_none());
        let intervals = flow.trace.intervals.as_ref().unwrap();
        assert_eq!(*intervals.as_numbers("packets_received").unwrap(), [10.0]);
    }

    #[test]
    fn damage_is_named_by_line_and_column() {
        let error = read_iperf3("{\n \"start\": 1}".as_bytes()).unwrap_err();
        let said = error.to_string();
        assert!(said.starts_with("is damaged at line 2, column"), "{said}");
        let error = read_iperf3(r#"{"error":"unable to connect"}"#.as_bytes()).unwrap_err();
        assert!(error.to_string().contains("unable to connect"), "{error}");
    }
}
