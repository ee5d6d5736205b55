//! Logs of Linux's probes: tcp_probe and dccp_probe.
//!
//! tcp_probe of Linux before 4.16 (net/ipv4/tcp_probe.c) prints a line for each segment received:
//!
//! ```text
//! sec.nsec source target length snd_nxt snd_una snd_cwnd ssthresh snd_wnd srtt [rcv_wnd]
//! ```
//!
//! The tracepoint tcp:tcp_probe of later ones has the same as `name=value`, in the text of ftrace,
//! trace-cmd and perf. Windows are in segments, whose size neither says; srtt is in microseconds
//! (since Linux 3.15). dccp_probe is described where it is [written](crate::trace).
//!
//! Sources: Linux, net/ipv4/tcp_probe.c, include/trace/events/tcp.h, net/dccp/probe.c.

use super::lines::{FlowsByEnds, Lines, Unread, seconds, set_duration};
use super::rows::{Cell, Rows};
use super::{ImportError, Imported, ImportedFlow, Vantage};
use std::io::BufRead;

/// ssthresh before the first reduction (TCP_INFINITE_SSTHRESH).
const INFINITE_SSTHRESH: f64 = 2_147_483_647.0;

/// A line of tcp_probe.
struct TcpLine {
    time_s: f64,
    ends: String,
    snd_nxt: u32,
    snd_una: u32,
    cwnd: f64,
    ssthresh: f64,
    window: f64,
    srtt_us: f64,
    /// The window that the traced end advertises.
    own_window: Option<f64>,
}

/// A flow of tcp_probe.
#[derive(Default)]
struct TcpFlow {
    rows: Rows,
    counters: Rows,
    una: Option<u32>,
    delivered: u64,
    /// The time of the last row; lines of two processors may be out of order.
    last_s: f64,
}

/// Reads a log of tcp_probe, of the module or of the tracepoint. The segment size in octets turns
/// windows into octets; without it they are left out.
///
/// # Errors
/// If it cannot be read, or has no line of tcp_probe.
pub fn read_tcp_probe(
    reader: impl BufRead,
    segment_octets: Option<u32>,
) -> Result<Imported, ImportError> {
    let mut lines = Lines::new(reader);
    let mut unread = Unread::default();
    let mut flows: FlowsByEnds<TcpFlow> = FlowsByEnds::default();
    let mut start = None;
    while let Some(text) = lines.next()? {
        if text.trim().is_empty() || text.starts_with('#') {
            continue;
        }
        let Some(line) = tracepoint(&text).or_else(|| module(&text)) else {
            unread.add(lines.number(), &text);
            continue;
        };
        if let Some(flow) = flows.entry(line.ends.clone()) {
            let since = line.time_s - *start.get_or_insert(line.time_s);
            flow.push(since, &line, segment_octets);
        }
    }
    if flows.is_empty() {
        return Err(unread.no_flow("a line of tcp_probe"));
    }
    let mut imported = Imported {
        format: "tcp_probe".to_owned(),
        remarks: unread.remark().into_iter().collect(),
        ..Imported::default()
    };
    if segment_octets.is_none() {
        imported.remarks.push(
            "windows are in segments, whose size the log does not say: cwnd_bytes and \
             ssthresh_bytes are left out"
                .to_owned(),
        );
    }
    imported.remarks.extend(flows.remark("lines are of flows"));
    for (number, (ends, found)) in flows.in_order().into_iter().enumerate() {
        let name = format!("tcp-{}", number + 1);
        imported.remarks.push(format!("{name} is {ends}"));
        let mut flow = ImportedFlow::new((name, "tcp"), Vantage::Sender, found.rows.finish());
        flow.delivered_bytes = Some(found.delivered as f64);
        flow.counters = found.counters.finish_some();
        imported.flows.push(flow);
    }
    set_duration(&mut imported);
    Ok(imported)
}

/// A line of the module.
fn module(text: &str) -> Option<TcpLine> {
    let fields: Vec<&str> = text.split_ascii_whitespace().collect();
    let [time, source, target, _length, snd_nxt, snd_una, rest @ ..] = fields.as_slice() else {
        return None;
    };
    let [cwnd, ssthresh, window, srtt, ..] = rest else {
        return None;
    };
    Some(TcpLine {
        time_s: seconds(time)?,
        ends: format!("{source} to {target}"),
        snd_nxt: hexadecimal(snd_nxt)?,
        snd_una: hexadecimal(snd_una)?,
        cwnd: count(cwnd)?,
        ssthresh: count(ssthresh)?,
        window: count(window)?,
        srtt_us: count(srtt)?,
        own_window: rest.get(4).and_then(|window| count(window)),
    })
}

/// A line of the tracepoint: `... TIME: tcp_probe: name=value ...`.
fn tracepoint(text: &str) -> Option<TcpLine> {
    let (before, fields) = text.split_once("tcp_probe: ")?;
    let before = before.strip_suffix("tcp:").unwrap_or(before);
    let time = before.split_ascii_whitespace().next_back()?;
    let field = |name: &str| {
        let mut fields = fields.split_ascii_whitespace();
        fields.find_map(|field| field.strip_prefix(name)?.strip_prefix('='))
    };
    Some(TcpLine {
        time_s: seconds(time.strip_suffix(':')?)?,
        ends: format!("{} to {}", field("src")?, field("dest")?),
        snd_nxt: hexadecimal(field("snd_nxt")?)?,
        snd_una: hexadecimal(field("snd_una")?)?,
        cwnd: count(field("snd_cwnd")?)?,
        ssthresh: count(field("ssthresh")?)?,
        window: count(field("snd_wnd")?)?,
        srtt_us: count(field("srtt")?)?,
        own_window: field("rcv_wnd").and_then(count),
    })
}

fn hexadecimal(text: &str) -> Option<u32> {
    let digits = text.strip_prefix("0x").unwrap_or(text);
    // The module prints snd_nxt as a number of 64 bits.
    u64::from_str_radix(digits, 16)
        .ok()
        .map(|value| value as u32)
}

fn count(text: &str) -> Option<f64> {
    text.parse::<u64>().ok().map(|value| value as f64)
}

impl TcpFlow {
    fn push(&mut self, since: f64, line: &TcpLine, segment_octets: Option<u32>) {
        let advance = line.snd_una.wrapping_sub(self.una.unwrap_or(line.snd_una)) as i32;
        self.delivered += u64::try_from(advance).unwrap_or(0);
        self.una = Some(line.snd_una);
        let octets = |segments: f64| match segment_octets {
            Some(size) if segments < INFINITE_SSTHRESH => segments * f64::from(size),
            _ => f64::NAN,
        };
        let srtt = if line.srtt_us > 0.0 {
            line.srtt_us / 1e6
        } else {
            f64::NAN
        };
        let flight = line.snd_nxt.wrapping_sub(line.snd_una);
        self.last_s = self.last_s.max(since);
        self.rows.push(&[
            ("time_s", Cell::Number(self.last_s)),
            ("smoothed_rtt_s", Cell::Number(srtt)),
            ("cwnd_bytes", Cell::Number(octets(line.cwnd))),
            ("bytes_in_flight", Cell::Number(f64::from(flight))),
            ("ssthresh_bytes", Cell::Number(octets(line.ssthresh))),
            ("receive_window_bytes", Cell::Number(line.window)),
            ("delivered_bytes", Cell::Number(self.delivered as f64)),
            ("event", Cell::Word("controller")),
        ]);
        self.counters.push(&[
            ("time_s", Cell::Number(self.last_s)),
            ("unacknowledged_bytes", Cell::Count(flight.into())),
            ("own_window_bytes", Cell::optional(line.own_window)),
        ]);
    }
}

/// Reads a log of dccp_probe: a line for each write of the application, with the state of TFRC.
///
/// # Errors
/// If it cannot be read, or has no line of dccp_probe.
pub fn read_dccp_probe(reader: impl BufRead) -> Result<Imported, ImportError> {
    let mut lines = Lines::new(reader);
    let mut unread = Unread::default();
    let mut flows: FlowsByEnds<Rows> = FlowsByEnds::default();
    let (mut start, mut last) = (None, 0.0_f64);
    while let Some(text) = lines.next()? {
        if text.trim().is_empty() {
            continue;
        }
        let Some((ends, row)) = write_of(&text) else {
            unread.add(lines.number(), &text);
            continue;
        };
        if let Some(rows) = flows.entry(ends) {
            let [time, ..] = row;
            last = last.max(time - *start.get_or_insert(time));
            push_write(rows, last, &row);
        }
    }
    if flows.is_empty() {
        return Err(unread.no_flow("a line of dccp_probe"));
    }
    let mut imported = Imported {
        format: "dccp_probe".to_owned(),
        remarks: unread.remark().into_iter().collect(),
        ..Imported::default()
    };
    imported.remarks.extend(flows.remark("lines are of flows"));
    for (number, (ends, rows)) in flows.in_order().into_iter().enumerate() {
        let name = format!("dccp-{}", number + 1);
        imported.remarks.push(format!("{name} is {ends}"));
        let writes = rows.finish();
        let mut table = writes.clone();
        table.columns.retain(|column| column.name != "write_bytes");
        let mut flow = ImportedFlow::new((name, "dccp"), Vantage::Sender, table);
        flow.trace.writes = Some(writes);
        imported.flows.push(flow);
    }
    set_duration(&mut imported);
    Ok(imported)
}

/// The ends of a line, and its numbers: time, size, and s, rtt, p, X_calc, X_recv, X, t_ipi, which
/// are NaN without TFRC.
fn write_of(text: &str) -> Option<(String, [f64; 9])> {
    let fields: Vec<&str> = text.split_ascii_whitespace().collect();
    let [time, source, target, size, rest @ ..] = fields.as_slice() else {
        return None;
    };
    if !source.contains(':') || !matches!(rest.len(), 0 | 7) {
        return None;
    }
    let mut row = [f64::NAN; 9];
    row[0] = seconds(time)?;
    row[1] = count(size)?;
    for (slot, field) in row.iter_mut().skip(2).zip(rest) {
        *slot = count(field)?;
    }
    Some((format!("{source} to {target}"), row))
}

fn push_write(rows: &mut Rows, at: f64, row: &[f64; 9]) {
    let [_, size, segment, rtt, p, calculated, received, allowed, ipi] = *row;
    let rate = |octets: f64| Cell::Number(octets * 8.0);
    // Zero is no value: before the first loss there is no equation.
    let equation = if calculated > 0.0 {
        calculated
    } else {
        f64::NAN
    };
    let rtt = if rtt > 0.0 { rtt / 1e6 } else { f64::NAN };
    rows.push(&[
        ("time_s", Cell::Number(at)),
        ("allowed_rate_bps", rate(allowed)),
        ("equation_rate_bps", rate(equation)),
        ("receive_rate_bps", rate(received)),
        ("loss_event_rate", Cell::Number(p / 1e6)),
        ("smoothed_rtt_s", Cell::Number(rtt)),
        ("ipi_s", Cell::Number(ipi / 1e6)),
        ("segment_bytes", Cell::Number(segment)),
        ("write_bytes", Cell::Count(size as u64)),
    ]);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_the_module_and_of_the_tracepoint_say_the_same() {
        // 0x2000 - 0x1000 = 4096 octets in flight; cwnd 10 of 1448 octets; srtt 25 ms.
        let module = "0.000000000 10.0.0.1:40000 10.0.0.2:5001 32 0x2000 0x1000 10 2147483647 \
            65536 25000 29200\n\
                      0.500000000 10.0.0.1:40000 10.0.0.2:5001 32 0x2000 0x1800 10 20 65536 \
            25000 29200\n";
        let tracepoint = "# tracer: nop\n\
             iperf3-77 [001] ..s1. 100.000000: tcp_probe: family=AF_INET src=10.0.0.1:40000 \
             dest=10.0.0.2:5001 mark=0x0 data_len=0 snd_nxt=0x2000 snd_una=0x1000 snd_cwnd=10 \
             ssthresh=2147483647 snd_wnd=65536 srtt=25000 rcv_wnd=29200 sock_cookie=1\n\
             iperf3 77 [001] 100.500000: tcp:tcp_probe: src=10.0.0.1:40000 dest=10.0.0.2:5001 \
             mark=0x0 data_len=0 snd_nxt=0x2000 snd_una=0x1800 snd_cwnd=10 ssthresh=20 \
             snd_wnd=65536 srtt=25000 rcv_wnd=29200\n";
        for log in [module, tracepoint] {
            let imported = read_tcp_probe(log.as_bytes(), Some(1448)).unwrap();
            let table = &imported.flows[0].trace.table;
            let column = |name: &str| table.numbers(name).unwrap();
            assert_eq!(column("time_s"), [0.0, 0.5]);
            assert_eq!(column("bytes_in_flight"), [4096.0, 2048.0]);
            assert_eq!(column("cwnd_bytes"), [14_480.0, 14_480.0]);
            assert!(column("ssthresh_bytes")[0].is_nan());
            assert_eq!(column("ssthresh_bytes")[1], 28_960.0);
            assert_eq!(column("smoothed_rtt_s"), [0.025, 0.025]);
            assert_eq!(column("delivered_bytes"), [0.0, 2048.0]);
            assert_eq!(imported.duration_s, 0.5);
        }
        let unknown = read_tcp_probe("hello\n".as_bytes(), None).unwrap_err();
        assert!(unknown.to_string().contains("line 1"), "{unknown}");
    }

    #[test]
    fn what_our_export_writes_as_dccp_probe_is_read() {
        // The lines of the exporter's own test.
        let log = "0.043800 10.0.0.1:32768 10.0.0.2:5001 22 22 63 100 0 0 1396825 15\n\
                   2.391000 10.0.0.1:32768 10.0.0.2:5001 1400\n";
        let imported = read_dccp_probe(log.as_bytes()).unwrap();
        let writes = imported.flows[0].trace.writes.as_ref().unwrap();
        let first = |name: &str| writes.as_numbers(name).unwrap()[0];
        assert_eq!(first("allowed_rate_bps"), 11_174_600.0);
        assert_eq!(first("loss_event_rate"), 0.0001);
        assert_eq!(first("smoothed_rtt_s"), 63e-6);
        assert_eq!(first("write_bytes"), 22.0);
        assert!(writes.numbers("allowed_rate_bps").unwrap()[1].is_nan());
        assert!((imported.duration_s - 2.3472).abs() < 1e-9);
        assert!(
            imported.flows[0]
                .trace
                .table
                .column("write_bytes")
                .is_none()
        );
    }
}
