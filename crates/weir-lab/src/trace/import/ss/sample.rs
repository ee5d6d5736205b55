//! A sample of a socket: what `ss` prints of it, as names and numbers.

use std::collections::BTreeMap;

/// The words of `ss` before the name of the controller.
const FLAGS: [&str; 6] = ["ts", "sack", "ecn", "ecnseen", "fastopen", "usec_ts"];
/// States of a socket, as `ss` abbreviates them.
const STATES: [&str; 13] = [
    "ESTAB",
    "SYN-SENT",
    "SYN-RECV",
    "FIN-WAIT-1",
    "FIN-WAIT-2",
    "TIME-WAIT",
    "UNCONN",
    "CLOSE-WAIT",
    "LAST-ACK",
    "LISTEN",
    "CLOSING",
    "CLOSED",
    "ESTABLISHED",
];
/// Names of single numbers that columns need.
const NUMBERS: [&str; 22] = [
    "cwnd",
    "mss",
    "ssthresh",
    "bytes_acked",
    "bytes_received",
    "bytes_sent",
    "bytes_retrans",
    "data_segs_out",
    "unacked",
    "sacked",
    "lost",
    "minrtt",
    "snd_wnd",
    "notsent",
    "lastsnd",
    "lastrcv",
    "lastack",
    "rto",
    "backoff",
    "rcv_ooopack",
    "Recv-Q",
    "Send-Q",
];
/// Names by which text of `ss` is known though nothing else of a line is left.
const OTHER_NAMES: [&str; 16] = [
    "rtt",
    "retrans",
    "busy",
    "rwnd_limited",
    "sndbuf_limited",
    "bbr",
    "wscale",
    "ato",
    "pmtu",
    "rcvmss",
    "advmss",
    "segs_out",
    "segs_in",
    "rcv_space",
    "rcv_ssthresh",
    "delivered",
];

/// A sample of a socket.
#[derive(Clone, Debug, Default)]
pub(super) struct Sample {
    /// The time since the first sample, in seconds.
    pub(super) at: f64,
    pub(super) numbers: BTreeMap<String, f64>,
    pub(super) app_limited: bool,
    /// The timer that runs: `on` for a retransmission, `persist` for probes of a closed window.
    pub(super) timer: String,
}

/// The first line of a socket.
pub(super) struct Socket {
    pub(super) state: String,
    /// Its addresses; `None` if the line has none.
    pub(super) ends: Option<String>,
    /// What follows, with the queues as names and values.
    pub(super) rest: String,
}

impl Socket {
    /// The socket whose first line this is: as `ss` prints it, or, of an edited text, a line that
    /// begins with a state.
    pub(super) fn of(text: &str) -> Option<Self> {
        let words: Vec<&str> = text.split_ascii_whitespace().collect();
        // With several families `ss` prints `tcp` first.
        let words = match words.as_slice() {
            ["tcp" | "mptcp", rest @ ..] => rest,
            all => all,
        };
        let is_number = |text: &str| text.parse::<u64>().is_ok();
        if let [state, received, sent, local, remote, rest @ ..] = words
            && is_number(received)
            && is_number(sent)
            && local.contains(':')
            && remote.contains(':')
        {
            return Some(Self {
                state: (*state).to_owned(),
                ends: Some(format!("{local} to {remote}")),
                rest: format!("Recv-Q:{received} Send-Q:{sent} {}", rest.join(" ")),
            });
        }
        let (state, rest) = words.split_first()?;
        STATES.contains(state).then(|| Self {
            state: (*state).to_owned(),
            ends: None,
            rest: rest.join(" "),
        })
    }
}

/// True if these words are of a socket's values: lines that a program has wrapped, or that are left
/// of an edited text.
pub(super) fn has_values(text: &str, least: usize) -> bool {
    let words = text.split_ascii_whitespace();
    let known = words.filter(|word| {
        let pair = word.split_once(':');
        pair.is_some_and(|(name, value)| {
            let is_known = NUMBERS.contains(&name) || OTHER_NAMES.contains(&name);
            is_known && value.starts_with(|c: char| c.is_ascii_digit() || c == '(')
        })
    });
    known.take(least).count() == least
}

/// The controller and the values of a socket.
pub(super) fn sample_of(text: &str, at: f64) -> Result<(Option<String>, Sample), String> {
    let mut sample = Sample {
        at,
        ..Sample::default()
    };
    let (mut controller, mut has_values) = (None, false);
    let mut words = text.split_ascii_whitespace();
    while let Some(word) = words.next() {
        // What an author sets around a value.
        let word = word.trim_matches(['*', '`', ',', ';']);
        match word {
            "app_limited" => sample.app_limited = true,
            "send" | "pacing_rate" | "delivery_rate" => {
                let value = words.next().unwrap_or_default().trim_matches(['*', ',']);
                let rate = rate_of(value).ok_or_else(|| not_a(word, value, "rate"))?;
                sample.numbers.insert(word.to_owned(), rate);
            }
            "Send-Q" | "Recv-Q" => {
                let value = words.next().unwrap_or_default().trim_matches(['*', ',']);
                sample.take(word, value)?;
            }
            _ => match word.split_once([':', '=']) {
                Some((name, value)) => {
                    has_values |= matches!(name, "rto" | "wscale" | "rtt" | "mss");
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
    word.chars().any(|c| c.is_ascii_alphabetic())
        && word
            .chars()
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
    /// True if it has a measurement; a socket in its first states has none.
    pub(super) fn is_measured(&self) -> bool {
        let names = ["cwnd", "busy", "bytes_sent", "bytes_acked", "notsent"];
        names.iter().any(|name| self.numbers.contains_key(*name))
    }

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
                let (millis, share) = value
                    .split_once("ms")
                    .ok_or_else(|| not_a(name, value, "time in ms"))?;
                let time = plain(millis)? / 1e3;
                self.numbers.insert(name.to_owned(), time);
                // The share is of the time that the socket was busy, which an author may have cut.
                let percent = share
                    .strip_prefix('(')
                    .and_then(|rest| rest.strip_suffix("%)"));
                if let Some(percent) = percent.and_then(|text| plain(text).ok())
                    && percent >= 1.0
                {
                    let busy = time * 100.0 / percent;
                    self.numbers.entry("busy".to_owned()).or_insert(busy);
                }
            }
            "bbr" => {
                let inner = value.trim_start_matches('(').trim_end_matches(')');
                let rate = inner.split(',').find_map(|part| part.strip_prefix("bw:"));
                if let Some(rate) = rate {
                    let rate = rate_of(rate).ok_or_else(|| not_a(name, value, "rate"))?;
                    self.numbers.insert("bw".to_owned(), rate);
                }
            }
            "timer" => {
                // `timer:(persist,1min13sec,4)`: the kind, the time left, the repetitions.
                let inner = value.trim_start_matches('(').trim_end_matches(')');
                let mut parts = inner.split(',');
                parts.next().unwrap_or_default().clone_into(&mut self.timer);
                if let Some(repeated) = parts.nth(1).and_then(|part| plain(part).ok()) {
                    self.numbers.insert("timer repeated".to_owned(), repeated);
                }
            }
            "skmem" => self.take_memory(value),
            _ if NUMBERS.contains(&name) => {
                self.numbers.insert(name.to_owned(), plain(value)?);
            }
            _ => {}
        }
        Ok(())
    }

    /// Takes `(r127488,rb131072,…)`: octets of memory that what was received takes, and may take.
    fn take_memory(&mut self, value: &str) {
        let inner = value.trim_start_matches('(').trim_end_matches(')');
        for part in inner.split(',') {
            let digits = part.trim_start_matches(|c: char| !c.is_ascii_digit());
            let name = part.strip_suffix(digits).unwrap_or_default();
            let name = match name {
                "r" => "receive memory",
                "rb" => "receive memory limit",
                _ => continue,
            };
            if let Ok(octets) = digits.parse::<u64>() {
                self.numbers.insert(name.to_owned(), octets as f64);
            }
        }
    }

    pub(super) fn get(&self, name: &str) -> f64 {
        self.numbers.get(name).copied().unwrap_or(f64::NAN)
    }

    /// A count that `ss` leaves out while it is zero.
    pub(super) fn count(&self, name: &str) -> f64 {
        self.numbers.get(name).copied().unwrap_or(0.0)
    }

    /// What bound the sender most of the time until the next sample: the first of the shares in
    /// the order of RFC 4898 that none is larger than.
    pub(super) fn bound_until(&self, next: &Self, is_timed: bool) -> &'static str {
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
