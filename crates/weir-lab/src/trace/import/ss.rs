//! Samples of tcp_info as `ss -tiO` prints them: a file of its output, repeated.
//!
//! A line of nothing but a number, as `date +%s.%N` prints it, is the time of the sockets after it.
//! Without such lines a sample ends where a header or a socket comes again, and seconds count
//! samples, with a remark. Without `-O` the second line of a socket, which is indented, is read
//! like the end of the first.
//!
//! | ss | column |
//! |---|---|
//! | `rtt:A/B`, `minrtt` | `smoothed_rtt_s`, `min_rtt_s` |
//! | `cwnd`, `ssthresh`, times `mss` | `cwnd_bytes`, `ssthresh_bytes` |
//! | (`unacked` - `sacked` - `lost` + the first of `retrans`) times `mss` | `bytes_in_flight` |
//! | `bytes_acked`, `delivery_rate`, `pacing_rate`, `snd_wnd` | `delivered_bytes` and so on |
//! | `bbr:(bw:…)` | `max_bw_bps` |
//! | `busy`, `rwnd_limited`, `sndbuf_limited`, `app_limited` | `bound` until the next sample |
//!
//! Sources: iproute2, misc/ss.c (`tcp_stats_print`); Linux, `tcp_packets_in_flight`.

use super::lines::{FlowsByEnds, Lines, Unread, damaged, seconds, set_duration};
use super::rows::{Cell, Rows};
use super::{ImportError, Imported, ImportedFlow, Vantage};
use std::collections::{BTreeMap, BTreeSet};
use std::io::BufRead;

/// What is expected of a file, in words.
const EXPECTED: &str = "a socket as `ss -tiO` prints it";
/// The words of `ss` before the name of the controller.
const FLAGS: [&str; 6] = ["ts", "sack", "ecn", "ecnseen", "fastopen", "usec_ts"];
/// States whose sockets have no data.
const WITHOUT_DATA: [&str; 3] = ["LISTEN", "UNCONN", "TIME-WAIT"];

/// A sample of a socket.
#[derive(Clone, Debug, Default)]
struct Sample {
    at: f64,
    numbers: BTreeMap<String, f64>,
    app_limited: bool,
}

#[derive(Debug, Default)]
struct SocketLog {
    controller: Option<String>,
    samples: Vec<Sample>,
}

/// Reads samples of `ss -tiO`.
///
/// # Errors
/// If it cannot be read, a value is no number, with the line, or it has no socket with data.
pub fn read_ss(reader: impl BufRead) -> Result<Imported, ImportError> {
    let mut reading = Reading::default();
    let mut lines = Lines::new(reader);
    while let Some(text) = lines.next()? {
        reading.take(lines.number(), &text)?;
    }
    reading.end_socket()?;
    reading.finish()
}

#[derive(Debug, Default)]
struct Reading {
    sockets: FlowsByEnds<SocketLog>,
    /// The sockets of the sample that is being read.
    seen: BTreeSet<String>,
    /// The time of the sample and of the first.
    time: Option<f64>,
    start: Option<f64>,
    samples: u64,
    /// The socket whose lines are being read.
    open: Option<(u64, String, String)>,
    unread: Unread,
}

impl Reading {
    fn take(&mut self, number: u64, text: &str) -> Result<(), ImportError> {
        let is_indented = text.starts_with([' ', '\t']);
        let mut words = text.split_ascii_whitespace();
        let Some(first) = words.next() else {
            return Ok(());
        };
        if let Some((_, _, rest)) = self.open.as_mut().filter(|_| is_indented) {
            rest.push(' ');
            rest.push_str(text);
            return Ok(());
        }
        self.end_socket()?;
        let has_more = words.next().is_some();
        if let Some(time) = seconds(first).filter(|_| !has_more) {
            self.start.get_or_insert(time);
            self.time = Some(time.max(self.time.unwrap_or(time)));
            self.seen.clear();
            return Ok(());
        }
        if first == "State" || first == "Netid" {
            self.begin_sample();
            return Ok(());
        }
        match socket_of(text) {
            Some((state, ends, rest)) if !WITHOUT_DATA.contains(&state.as_str()) => {
                if self.seen.contains(&ends) || self.seen.is_empty() {
                    self.begin_sample();
                }
                self.seen.insert(ends.clone());
                self.open = Some((number, ends, rest));
            }
            Some(_) => {}
            None => self.unread.add(number, text),
        }
        Ok(())
    }

    /// Without times each sample is a second after the one before.
    fn begin_sample(&mut self) {
        if !self.seen.is_empty() || self.samples == 0 {
            self.samples += 1;
        }
        self.seen.clear();
    }

    fn end_socket(&mut self) -> Result<(), ImportError> {
        let Some((line, ends, text)) = self.open.take() else {
            return Ok(());
        };
        let at = match (self.time, self.start) {
            (Some(time), Some(start)) => time - start,
            _ => self.samples.saturating_sub(1) as f64,
        };
        let (controller, sample) =
            sample_of(&text, at).map_err(|message| damaged(line, message))?;
        // A socket in its first states has no measurements.
        if !sample.numbers.contains_key("cwnd") {
            return Ok(());
        }
        let Some(socket) = self.sockets.entry(ends) else {
            return Ok(());
        };
        socket.controller = controller.or(socket.controller.take());
        socket.samples.push(sample);
        Ok(())
    }

    fn finish(self) -> Result<Imported, ImportError> {
        let is_timed = self.start.is_some();
        let beyond = self.sockets.remark("samples are of sockets");
        let mut sockets = self.sockets.in_order();
        if sockets.is_empty() {
            return Err(self.unread.no_flow(EXPECTED));
        }
        let all = sockets.len();
        // A socket that only receives is the other end of a flow.
        sockets.retain(|(_, socket)| {
            socket.last("bytes_acked") * 20.0 >= socket.last("bytes_received")
        });
        if sockets.is_empty() {
            let message = format!("none of {all} sockets sends data");
            return Err(ImportError::NoFlow(message));
        }
        let mut imported = Imported {
            format: "ss -ti".to_owned(),
            remarks: self.unread.remark().into_iter().collect(),
            ..Imported::default()
        };
        let remarks = &mut imported.remarks;
        if !is_timed {
            remarks.push(
                "the file has no times: seconds count samples, and rates over them are left out; \
                 print `date +%s.%N` before each"
                    .to_owned(),
            );
        }
        if all > sockets.len() {
            remarks.push(format!(
                "{} sockets that only receive are left out",
                all - sockets.len()
            ));
        }
        remarks.extend(beyond);
        sockets.sort_by(|(_, a), (_, b)| b.last("bytes_acked").total_cmp(&a.last("bytes_acked")));
        for (number, (ends, socket)) in sockets.into_iter().enumerate() {
            let name = format!("tcp-{}", number + 1);
            imported.remarks.push(format!("{name} is {ends}"));
            imported.flows.push(socket.finish(name, is_timed));
        }
        set_duration(&mut imported);
        Ok(imported)
    }
}

/// State, ends, and the rest of a line.
fn socket_of(text: &str) -> Option<(String, String, String)> {
    let words: Vec<&str> = text.split_ascii_whitespace().collect();
    // With several families `ss` prints `tcp` first.
    let words = match words.as_slice() {
        ["tcp" | "mptcp", rest @ ..] => rest,
        all => all,
    };
    let [state, received, sent, local, remote, rest @ ..] = words else {
        return None;
    };
    let is_number = |text: &str| text.parse::<u64>().is_ok();
    let is_socket =
        is_number(received) && is_number(sent) && local.contains(':') && remote.contains(':');
    is_socket.then(|| {
        let ends = format!("{local} to {remote}");
        ((*state).to_owned(), ends, rest.join(" "))
    })
}

/// The controller and the values of a socket.
fn sample_of(text: &str, at: f64) -> Result<(Option<String>, Sample), String> {
    let mut sample = Sample {
        at,
        ..Sample::default()
    };
    let (mut controller, mut has_values) = (None, false);
    let mut words = text.split_ascii_whitespace();
    while let Some(word) = words.next() {
        match word {
            "app_limited" => sample.app_limited = true,
            "send" | "pacing_rate" | "delivery_rate" => {
                let value = words.next().unwrap_or_default();
                let rate = rate_of(value).ok_or_else(|| not_a(word, value, "rate"))?;
                sample.numbers.insert(word.to_owned(), rate);
            }
            _ => match word.split_once(':') {
                Some((name, value)) => {
                    has_values |= matches!(name, "rto" | "wscale" | "rtt");
                    sample.take(name, value)?;
                }
                None if !has_values && !FLAGS.contains(&word) && is_name(word) => {
                    controller = Some(word.to_owned());
                }
                None => {}
            },
        }
    }
    Ok((controller, sample))
}

fn not_a(name: &str, value: &str, what: &str) -> String {
    format!(
        "{name} is \"{}\", expected a {what}",
        value.chars().take(40).collect::<String>()
    )
}

fn is_name(word: &str) -> bool {
    word.chars()
        .all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-'))
}

/// Bits per second from `12.3Mbps`, or plain.
fn rate_of(text: &str) -> Option<f64> {
    let text = text.strip_suffix("bps").unwrap_or(text);
    let (digits, factor) = match text.chars().last()? {
        'K' => (text.strip_suffix('K')?, 1e3),
        'M' => (text.strip_suffix('M')?, 1e6),
        'G' => (text.strip_suffix('G')?, 1e9),
        'T' => (text.strip_suffix('T')?, 1e12),
        _ => (text, 1.0),
    };
    let value: f64 = digits.parse().ok()?;
    value.is_finite().then_some(value * factor)
}

impl Sample {
    /// Takes `name:value`; names that no column needs are not read.
    fn take(&mut self, name: &str, value: &str) -> Result<(), String> {
        let plain = |text: &str| {
            let number = text.parse::<f64>().ok().filter(|number| number.is_finite());
            number.ok_or_else(|| not_a(name, value, "number"))
        };
        match name {
            "rtt" | "retrans" => {
                let (first, second) = value
                    .split_once('/')
                    .ok_or_else(|| not_a(name, value, "pair of numbers"))?;
                self.numbers.insert(name.to_owned(), plain(first)?);
                self.numbers
                    .insert(format!("{name} second"), plain(second)?);
            }
            "busy" | "rwnd_limited" | "sndbuf_limited" => {
                // `rwnd_limited:12ms(1.2%)`.
                let (millis, _) = value
                    .split_once("ms")
                    .ok_or_else(|| not_a(name, value, "time in ms"))?;
                self.numbers.insert(name.to_owned(), plain(millis)? / 1e3);
            }
            "bbr" => {
                let inner = value.trim_start_matches('(').trim_end_matches(')');
                let rate = inner.split(',').find_map(|part| part.strip_prefix("bw:"));
                if let Some(rate) = rate {
                    let rate = rate_of(rate).ok_or_else(|| not_a(name, value, "rate"))?;
                    self.numbers.insert("bw".to_owned(), rate);
                }
            }
            "cwnd" | "mss" | "ssthresh" | "bytes_acked" | "bytes_received" | "unacked"
            | "sacked" | "lost" | "minrtt" | "snd_wnd" => {
                self.numbers.insert(name.to_owned(), plain(value)?);
            }
            _ => {}
        }
        Ok(())
    }

    fn get(&self, name: &str) -> f64 {
        self.numbers.get(name).copied().unwrap_or(f64::NAN)
    }

    /// A count that `ss` leaves out while it is zero.
    fn count(&self, name: &str) -> f64 {
        self.numbers.get(name).copied().unwrap_or(0.0)
    }

    /// What bound the sender most of the time until the next sample: the first of the shares in
    /// the order of RFC 4898 that none is larger than.
    fn bound_until(&self, next: &Self, is_timed: bool) -> &'static str {
        let spent = |name: &str| (next.count(name) - self.count(name)).max(0.0);
        let (busy, credit, buffer) = (
            spent("busy"),
            spent("rwnd_limited"),
            spent("sndbuf_limited"),
        );
        let idle = if is_timed {
            next.at - self.at - busy
        } else {
            0.0
        };
        let own = busy - credit - buffer;
        let most = credit.max(buffer).max(own).max(idle);
        if most <= 0.0 {
            ""
        } else if credit >= most {
            "receiver_credit"
        } else if buffer >= most {
            "send_buffer"
        } else if own >= most && !next.app_limited {
            "window"
        } else {
            "application"
        }
    }
}

impl SocketLog {
    fn last(&self, name: &str) -> f64 {
        self.samples.last().map_or(0.0, |sample| sample.count(name))
    }

    fn finish(self, name: String, is_timed: bool) -> ImportedFlow {
        let mut rows = Rows::default();
        let mut intervals = Rows::default();
        for (index, sample) in self.samples.iter().enumerate() {
            let next = self.samples.get(index + 1);
            let bound = next.map_or("", |next| sample.bound_until(next, is_timed));
            push_sample(&mut rows, sample, bound);
            if let Some(next) = next.filter(|next| is_timed && next.at > sample.at) {
                push_interval(&mut intervals, sample, next);
            }
        }
        let delivered = self.last("bytes_acked");
        let mut flow = ImportedFlow::new((name, "tcp"), Vantage::Sender, rows.finish());
        flow.controller = self.controller;
        flow.trace.intervals = intervals.finish_some();
        flow.delivered_bytes = Some(delivered);
        flow
    }
}

fn push_sample(rows: &mut Rows, sample: &Sample, bound: &str) {
    let number = |name| Cell::Number(sample.get(name));
    let millis = |name| Cell::Number(sample.get(name) / 1e3);
    let mss = sample.get("mss");
    let segments = |count: f64| Cell::Number(count * mss);
    let flight = sample.count("unacked") - sample.count("sacked") - sample.count("lost")
        + sample.count("retrans");
    rows.push(&[
        ("time_s", Cell::Number(sample.at)),
        ("smoothed_rtt_s", millis("rtt")),
        ("cwnd_bytes", segments(sample.get("cwnd"))),
        ("bytes_in_flight", segments(flight.max(0.0))),
        ("ssthresh_bytes", segments(sample.get("ssthresh"))),
        ("pacing_rate_bps", number("pacing_rate")),
        ("bound", Cell::Word(bound)),
        ("receive_window_bytes", number("snd_wnd")),
        ("min_rtt_s", millis("minrtt")),
        ("delivered_bytes", number("bytes_acked")),
        ("delivery_rate_bps", number("delivery_rate")),
        ("event", Cell::Word("controller")),
        ("max_bw_bps", number("bw")),
    ]);
}

fn push_interval(intervals: &mut Rows, sample: &Sample, next: &Sample) {
    let more = |name: &str| (next.count(name) - sample.count(name)).max(0.0);
    let goodput = more("bytes_acked") * 8.0 / (next.at - sample.at);
    intervals.push(&[
        ("time_s", Cell::Number(next.at)),
        ("goodput_bps", Cell::Number(goodput)),
        ("packets_lost", Cell::Count(more("retrans second") as u64)),
    ]);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Lines as `ss -tiO` of iproute2 6.1 prints them.
    const SAMPLES: &str = "\
100.000000000
State Recv-Q Send-Q Local Address:Port Peer Address:Port Process
ESTAB 0 28960 10.0.0.1:40000 10.0.0.2:5001 cubic wscale:7,7 rto:228 rtt:25.5/3.2 mss:1448 \
            pmtu:1500 rcvmss:536 advmss:1448 cwnd:20 bytes_sent:100000 bytes_acked:90000 \
            segs_out:70 segs_in:40 data_segs_out:69 send 9.1Mbps lastrcv:900 pacing_rate \
            18.2Mbps delivery_rate 8.5Mbps delivered:60 busy:500ms rwnd_limited:100ms(20.0%) \
            unacked:10 retrans:1/3 lost:2 sacked:3 rcv_space:14480 rcv_ssthresh:64088 \
            minrtt:20.1 snd_wnd:65536
101.000000000
State Recv-Q Send-Q Local Address:Port Peer Address:Port Process
ESTAB 0 28960 10.0.0.1:40000 10.0.0.2:5001 cubic wscale:7,7 rto:228 rtt:26/3 mss:1448 cwnd:25 \
            ssthresh:15 bytes_sent:300000 bytes_acked:215000 send 9.1Mbps delivery_rate \
            1000Kbps busy:1500ms rwnd_limited:900ms(60.0%) unacked:5 retrans:0/5 minrtt:20.1
102.000000000
ESTAB 0 0 10.0.0.1:40000 10.0.0.2:5001 cubic wscale:7,7 rto:228 rtt:26/3 mss:1448 cwnd:25 \
            ssthresh:15 bytes_acked:215000 app_limited busy:1600ms rwnd_limited:900ms(56.2%) \
            retrans:0/5 minrtt:20.1
";

    #[test]
    fn values_of_tcp_info_become_columns_and_differences_the_bound() {
        let imported = read_ss(SAMPLES.as_bytes()).unwrap();
        let flow = &imported.flows[0];
        assert_eq!(flow.controller.as_deref(), Some("cubic"));
        let table = &flow.trace.table;
        let column = |name: &str| table.numbers(name).unwrap();
        assert_eq!(column("time_s"), [0.0, 1.0, 2.0]);
        assert_eq!(column("smoothed_rtt_s")[0], 0.0255);
        assert_eq!(column("cwnd_bytes")[0], 28_960.0);
        // 10 - 3 - 2 + 1 = 6 segments of 1448 octets.
        assert_eq!(column("bytes_in_flight")[0], 8688.0);
        assert!(column("ssthresh_bytes")[0].is_nan());
        assert_eq!(column("ssthresh_bytes")[1], 21_720.0);
        assert_eq!(column("delivery_rate_bps")[..2], [8.5e6, 1e6]);
        assert_eq!(column("min_rtt_s")[2], 0.0201);
        // 0.8 s of the first second by the receiver's window; 0.9 s of the second idle.
        let bound: Vec<&str> = table.words("bound").unwrap().iter().map(|w| &**w).collect();
        assert_eq!(bound, ["receiver_credit", "application", ""]);
        let intervals = flow.trace.intervals.as_ref().unwrap();
        // 125000 octets in a second.
        assert_eq!(intervals.numbers("goodput_bps").unwrap(), [1e6, 0.0]);
        assert_eq!(*intervals.as_numbers("packets_lost").unwrap(), [2.0, 0.0]);
    }

    #[test]
    fn without_times_and_on_two_lines_samples_are_counted() {
        let one = "ESTAB 0 0 [::1]:40000 [::1]:5001 users:((\"x\",pid=1,fd=5))\n\
                   \t ts sack bbr wscale:7,7 rto:204 rtt:1/0.5 mss:1000 cwnd:10 bytes_acked:10 \
                   bbr:(bw:12.5Mbps,mrtt:0.05,pacing_gain:2.8,cwnd_gain:2.8)\n";
        let imported = read_ss(format!("{one}{one}").as_bytes()).unwrap();
        let flow = &imported.flows[0];
        assert_eq!(flow.controller.as_deref(), Some("bbr"));
        let table = &flow.trace.table;
        assert_eq!(table.numbers("time_s").unwrap(), [0.0, 1.0]);
        assert_eq!(table.numbers("max_bw_bps").unwrap(), [12.5e6, 12.5e6]);
        assert!(
            imported
                .remarks
                .iter()
                .any(|remark| remark.contains("no times"))
        );
        assert!(flow.trace.intervals.is_none());
    }

    #[test]
    fn a_value_that_is_no_number_is_named_with_its_line() {
        let text = "1.0\nESTAB 0 0 a:1 b:2 cubic rto:1 rtt:x/1 cwnd:10\n2.0\n";
        let error = read_ss(text.as_bytes()).unwrap_err().to_string();
        assert!(error.contains("line 2"), "{error}");
        assert!(
            error.contains("rtt is \"x/1\", expected a number"),
            "{error}"
        );
        let error = read_ss("nothing of this\n".as_bytes())
            .unwrap_err()
            .to_string();
        assert!(error.contains("line 1"), "{error}");
    }
}
