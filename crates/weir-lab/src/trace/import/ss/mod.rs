//! Samples of tcp_info as `ss -tiO` prints them: a file of its output, repeated.
//!
//! A line of nothing but a number, as `date +%s.%N` prints it, is the time of the sockets after it.
//! Without such lines a sample ends where a header or a socket comes again, and seconds count
//! samples, with a remark. Without `-O` the second line of a socket, which is indented, is read
//! like the end of the first. So is a line with a value that `ss` prints, which a mail program may
//! have wrapped. A line that begins with a state, or has two such values where no socket is open,
//! begins a socket whose addresses are missing: of the text that people quote.
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
//! The counters, which hold over the life of the socket, and what waits in it are the table
//! [`counters`](ImportedFlow::counters), so that a single sample says something.
//!
//! Sources: iproute2, misc/ss.c (`tcp_stats_print`); Linux, `tcp_packets_in_flight`.

mod log;
mod sample;

use super::lines::{FlowsByEnds, Lines, Unread, damaged, seconds, set_duration};
use super::{ImportError, Imported};
use log::SocketLog;
use sample::{Socket, has_values, sample_of};
use std::collections::BTreeSet;
use std::io::BufRead;

/// What is expected of a file, in words.
const EXPECTED: &str = "a socket as `ss -tiO` prints it";
/// States whose sockets have no data.
const WITHOUT_DATA: [&str; 3] = ["LISTEN", "UNCONN", "TIME-WAIT"];

/// True for a line that `ss` prints of a socket: with two of its values.
pub(super) fn is_line(text: &str) -> bool {
    has_values(text, 2)
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
    /// A socket has no addresses.
    nameless: bool,
    /// The lines are of a socket that is left out.
    skipped: bool,
    /// The socket whose lines are being read.
    open: Option<(u64, String, String)>,
    unread: Unread,
}

impl Reading {
    fn take(&mut self, number: u64, text: &str) -> Result<(), ImportError> {
        // Marks of a quotation.
        let text = text.trim_start_matches(['>', '|']);
        let is_indented = text.starts_with([' ', '\t']);
        let mut words = text.split_ascii_whitespace();
        let Some(first) = words.next() else {
            return Ok(());
        };
        let has_more = words.next().is_some();
        let socket = Socket::of(text);
        let is_time = !has_more && !is_indented && seconds(first).is_some();
        let goes_on = is_indented || !is_time && has_values(text, 1);
        if let Some((_, _, rest)) = self.open.as_mut().filter(|_| goes_on && socket.is_none()) {
            rest.push(' ');
            rest.push_str(text);
            return Ok(());
        }
        self.end_socket()?;
        if self.skipped && goes_on && socket.is_none() {
            return Ok(());
        }
        self.skipped = false;
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
        match socket {
            Some(socket) if WITHOUT_DATA.contains(&socket.state.as_str()) => self.skipped = true,
            Some(socket) => self.begin_socket(number, socket.ends, socket.rest),
            None if has_values(text, 2) => self.begin_socket(number, None, text.to_owned()),
            None => self.unread.add(number, text),
        }
        Ok(())
    }

    fn begin_socket(&mut self, number: u64, ends: Option<String>, rest: String) {
        let is_again = |ends: &String| self.seen.contains(ends);
        if ends.as_ref().is_some_and(is_again) || self.seen.is_empty() {
            self.begin_sample();
        }
        // Without addresses the order tells sockets of a sample apart.
        let ends = ends.unwrap_or_else(|| {
            self.nameless = true;
            format!("socket {} without addresses", self.seen.len() + 1)
        });
        self.seen.insert(ends.clone());
        self.open = Some((number, ends, rest));
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
        if !sample.is_measured() {
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
        // A socket that only receives is the other end of a flow: it says something where data
        // waits in it.
        sockets.retain(|(_, socket)| socket.sends() || socket.holds_data());
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
        if self.nameless {
            remarks.push(
                "sockets without addresses are told apart by their order, as in a text that was \
                 edited"
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
