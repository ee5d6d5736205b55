//! What `serve` and `send` agree on: the first datagram of a test, the lines of its reports.

use super::live_capture::LiveCapture;
use crate::exit::Failure;
use crate::terminal;
use clap::{Args, ValueEnum};
use serde_json::json;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;
use weir_lab::run::SenderRecorder;
use weir_proto::event::EventMask;
use weir_proto::units;
use weir_wire::{
    Ccid, Connection, ConnectionStats, Encapsulation, EndpointConfig, Error, udp_test,
};

/// The UDP port of servers of tests over QUIC: the second after that of DCCP.
const QUIC_PORT: u16 = 6513;

/// Datagrams that are sent or received between two looks at the clock, if they need not be waited
/// for.
const AT_ONCE: u64 = 16;

/// How a test's first datagram begins.
const MAGIC: &[u8] = b"weir-test 1 ";

/// Intervals of a result; later ones are said and not kept.
const MOST_INTERVALS: usize = 100_000;

/// EndpointConfig that both sides have.
#[derive(Clone, Debug, Args)]
pub struct Shared {
    /// What carries the data; both ends must have the same
    #[arg(long, value_enum, default_value_t = Transport::Dccp)]
    pub transport: Transport,
    /// DCCP over IP itself, protocol 33, without UDP (RFC 4340): Linux, and CAP_NET_RAW
    #[arg(long)]
    pub raw: bool,
    /// UDP port of the server; by default 6511 for DCCP, 6512 for UDP, 6513 for QUIC. With
    /// --raw its DCCP port, by default 5001
    #[arg(short, long)]
    pub port: Option<u16>,
    /// Congestion control of DCCP: 2 is like TCP, 3 is TFRC, 4 is TFRC for small packets; by
    /// default 3
    #[arg(long, value_parser = clap::value_parser!(u8).range(2..=4))]
    pub ccid: Option<u8>,
    /// TFRC's rules: rfc5348, rfc3448, linux-2008 or linux-mainline; by default rfc5348
    #[arg(long)]
    pub profile: Option<String>,
    /// QUIC's controller at the end that sends: newreno, cubic, tfrc, quinn-newreno or quinn-cubic;
    /// by default cubic
    #[arg(long, value_name = "NAME")]
    pub controller: Option<String>,
    /// Use explicit congestion notification, which QUIC does in any case
    #[arg(long)]
    pub ecn: bool,
    /// Each packet has a send of its own, without the kernel's segmentation (GSO)
    #[arg(long)]
    pub no_gso: bool,
    /// Seconds between two reports; 0 for none
    #[arg(short, long, default_value = "1", value_name = "TIME", value_parser = time)]
    pub interval: Duration,
    /// Write what the socket sends and receives to this file, pcapng
    #[arg(long, value_name = "FILE")]
    pub pcap: Option<PathBuf>,
    /// Keep so many bytes of each packet of the capture
    #[arg(
        long,
        value_name = "BYTES",
        default_value_t = 0,
        hide_default_value = true
    )]
    #[arg(requires = "pcap")]
    pub snaplen: u32,
    /// Write the test into this folder, as `weir run` writes a run; a server makes a folder in it
    /// for each connection. The end that sends has the controller's trace
    #[arg(long, value_name = "DIR")]
    pub trace: Option<PathBuf>,
    /// One JSON document with the result
    #[arg(long)]
    pub json: bool,
}

/// What carries the data of a test.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Transport {
    /// DCCP in UDP (RFC 6773)
    Dccp,
    /// A stream of QUIC, by quinn with Weir's controllers
    Quic,
    /// Datagrams at a constant rate; nothing controls congestion
    Udp,
}

impl Transport {
    /// As on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Dccp => "dccp",
            Self::Quic => "quic",
            Self::Udp => "udp",
        }
    }
}

impl Shared {
    /// Refuses what the transport does not have.
    pub fn check(&self) -> Result<(), Failure> {
        let dccp = self.transport == Transport::Dccp;
        let quic = self.transport == Transport::Quic;
        for (option, given, fits, of) in [
            ("--raw", self.raw, dccp, "dccp"),
            ("--ccid", self.ccid.is_some(), dccp, "dccp"),
            ("--profile", self.profile.is_some(), dccp, "dccp"),
            ("--controller", self.controller.is_some(), quic, "quic"),
        ] {
            if given && !fits {
                let found = self.transport.name();
                return Err(Failure::Usage(format!(
                    "expected {option} with --transport {of}, found --transport {found}"
                )));
            }
        }
        Ok(())
    }

    /// The server's UDP port, which means nothing without UDP.
    pub fn port(&self) -> u16 {
        self.port.unwrap_or(match self.transport {
            Transport::Dccp => weir_wire::DEFAULT_PORT,
            Transport::Quic => QUIC_PORT,
            Transport::Udp => udp_test::DEFAULT_PORT,
        })
    }

    /// A server's address in words.
    pub fn place(&self, address: SocketAddr) -> String {
        if !self.raw {
            return address.to_string();
        }
        let port = self.port.unwrap_or(EndpointConfig::default().dccp_port);
        format!("{}, protocol 33, DCCP port {port}", address.ip())
    }

    /// DCCP's congestion control.
    pub fn ccid(&self) -> u8 {
        self.ccid.unwrap_or(3)
    }

    /// QUIC's controller.
    pub fn controller(&self) -> &str {
        self.controller.as_deref().unwrap_or("cubic")
    }

    /// TFRC's rules.
    pub fn profile(&self) -> &str {
        self.profile.as_deref().unwrap_or("rfc5348")
    }

    /// Begins the capture, if there is to be one.
    pub fn start_capture(&self, name: &str) -> Result<Option<LiveCapture>, Failure> {
        let start =
            |path: &PathBuf| LiveCapture::start(path, &[(name.to_owned(), None)], self.snaplen);
        self.pcap.as_ref().map(start).transpose()
    }

    /// The options of the connection or listener.
    pub fn options(&self, capture: Option<&LiveCapture>) -> EndpointConfig {
        let profile = self.profile().to_owned();
        let usual = EndpointConfig::default();
        EndpointConfig {
            dccp_port: self.port.filter(|_| self.raw).unwrap_or(usual.dccp_port),
            encapsulation: if self.raw {
                Encapsulation::RawIp
            } else {
                Encapsulation::Udp
            },
            ccid: match self.ccid() {
                2 => Ccid::TcpLike,
                4 => Ccid::TfrcSmallPackets(profile),
                _ => Ccid::Tfrc(profile),
            },
            ecn: self.ecn,
            segmentation: !self.no_gso,
            tap: capture.map(LiveCapture::tap),
            event_mask: match self.trace {
                Some(_) => SenderRecorder::EVENTS,
                None => EventMask::NONE,
            },
            ..usual
        }
    }
}

/// Why a test does not work.
pub fn failure(error: &Error) -> Failure {
    match error {
        Error::Privilege(_) => Failure::Missing(format!("{error}: leave --raw out")),
        _ => Failure::Failed(error.to_string()),
    }
}

/// Lets this process have as many open files as the system allows it: each connection has a
/// socket and a timer, and the limit that most systems begin with is 1024.
pub fn raise_open_files() {
    #[cfg(unix)]
    {
        use rustix::process::{Resource, getrlimit, setrlimit};
        let mut limit = getrlimit(Resource::Nofile);
        limit.current = limit.maximum;
        // What cannot be raised may be enough.
        let _ = setrlimit(Resource::Nofile, limit);
    }
}

/// A time: seconds as a number, or with a unit.
pub fn time(text: &str) -> Result<Duration, String> {
    let seconds = text.parse::<f64>().ok();
    let seconds = match seconds {
        Some(seconds) => seconds,
        None => units::parse_duration(text)
            .map_err(|error| error.to_string())?
            .as_secs_f64(),
    };
    if !(0.0..=86_400.0).contains(&seconds) {
        return Err(format!("expected at most a day, found {text}"));
    }
    Ok(Duration::from_secs_f64(seconds))
}

/// A rate in bits per second.
pub fn rate(text: &str) -> Result<f64, String> {
    let bps = units::parse_rate(text)
        .map_err(|error| error.to_string())?
        .as_bps();
    if bps < 1.0 {
        return Err("expected at least 1 bit per second".to_owned());
    }
    Ok(bps)
}

/// What the client wants of the server.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Request {
    /// The server sends.
    pub reverse: bool,
    /// Octets of a datagram; zero for the usual.
    pub length: usize,
    /// Bits per second of payload; `None` for as much as congestion control allows.
    pub rate_bps: Option<f64>,
    /// How long.
    pub duration_s: f64,
}

impl Request {
    /// The same with a length that the connection takes, if none was asked for.
    pub fn fitting(mut self, connection: &Connection) -> Self {
        if self.length == 0 {
            self.length = 1400.min(connection.stats().max_datagram as usize);
        }
        self
    }

    /// The test's first datagram.
    pub fn to_datagram(self) -> Vec<u8> {
        let document = json!({
            "reverse": self.reverse,
            "length": self.length,
            "rate_bps": self.rate_bps,
            "duration_s": self.duration_s,
        });
        [MAGIC, document.to_string().as_bytes()].concat()
    }

    /// Reads it; `None` if it is something else.
    pub fn from_datagram(octets: &[u8]) -> Option<Self> {
        let document = octets.strip_prefix(MAGIC)?;
        let document: serde_json::Value = serde_json::from_slice(document).ok()?;
        let length = usize::try_from(document["length"].as_u64()?).ok()?;
        let duration_s = document["duration_s"].as_f64()?;
        let rate_bps = document["rate_bps"].as_f64();
        let sane = (1..=65_000).contains(&length)
            && (0.0..=86_400.0).contains(&duration_s)
            && rate_bps.is_none_or(|rate| rate >= 1.0);
        sane.then_some(Self {
            reverse: document["reverse"].as_bool()?,
            length,
            rate_bps,
            duration_s,
        })
    }
}

/// Sends datagrams as a request says, until its time is over, the connection ends, or `stop`.
pub async fn send(connection: &Connection, request: Request, stop: &Stop) -> Result<(), Error> {
    let data: Arc<[u8]> = vec![0x57; request.length].into();
    let started = tokio::time::Instant::now();
    let end = started + Duration::from_secs_f64(request.duration_s);
    let gap = request
        .rate_bps
        .map(|rate| Duration::from_secs_f64(request.length as f64 * 8.0 / rate));
    let mut sent = 0_u64;
    let mut stopped = std::pin::pin!(stop.pressed());
    loop {
        if let Some(gap) = gap {
            let due = started + gap.mul_f64(sent as f64);
            tokio::select! {
                () = tokio::time::sleep_until(due.min(end)) => {}
                () = &mut stopped => return Ok(()),
            }
        }
        // A look at the clock costs as much as a good part of a datagram.
        let look = gap.is_some() || sent.is_multiple_of(AT_ONCE);
        if look && tokio::time::Instant::now() >= end {
            return Ok(());
        }
        // Waiting is dear, and seldom needed.
        if connection.try_send_shared(&data)? {
            sent += 1;
            continue;
        }
        tokio::select! {
            result = connection.send_shared(&data) => result?,
            () = tokio::time::sleep_until(end) => return Ok(()),
            () = &mut stopped => return Ok(()),
        }
        sent += 1;
    }
}

/// Takes datagrams until the connection ends, or `stop`; returns their octets.
pub async fn receive(connection: &mut Connection, report: &mut Report, stop: &Stop) -> u64 {
    let mut octets = 0;
    let mut stopped = std::pin::pin!(stop.pressed());
    loop {
        let due = report.due();
        tokio::select! {
            datagram = connection.receive_shared() => match datagram {
                Some(datagram) => octets += datagram.len() as u64,
                None => return octets,
            },
            () = tokio::time::sleep_until(due) => report.tell(octets, connection, false),
            () = &mut stopped => return octets,
        }
        // Waiting is dear, and those that came together need none.
        for _ in 0..AT_ONCE {
            let Some(datagram) = connection.try_receive_shared() else {
                break;
            };
            octets += datagram.len() as u64;
        }
    }
}

/// Ends a connection. What was sent last is still on its way, and the peer wants to hear of the
/// end.
pub async fn finish(connection: &mut Connection) {
    connection.close();
    let _ = tokio::time::timeout(Duration::from_secs(3), async {
        while connection.receive().await.is_some() {}
    })
    .await;
}

/// A line of a report: what went on between two moments, and of an end that sends what its
/// controller says.
pub fn line(
    number: usize,
    (from_s, until_s): (f64, f64),
    octets: u64,
    status: &ConnectionStats,
    sends: bool,
) -> String {
    let line = throughput(number, (from_s, until_s), octets);
    if !sends {
        return match status.datagrams_dropped {
            0 => line,
            dropped => format!("{line}  {dropped} datagrams came too fast to be read"),
        };
    }
    format!(
        "{line}  rtt {}  X {}  p {:.3} %  {}",
        scaled(status.statistics.smoothed_rtt.as_secs_f64(), "s"),
        scaled(status.allowed_rate_bps, "bit/s"),
        status.loss_event_rate * 100.0,
        status.limit
    )
}

/// The beginning of every line: which connection, when, how much, how fast.
pub fn throughput(number: usize, (from_s, until_s): (f64, f64), octets: u64) -> String {
    let rate = octets as f64 * 8.0 / (until_s - from_s).max(1e-9);
    format!(
        "[{number:3}] {from_s:7.2}-{until_s:<7.2} s  {}  {}",
        scaled(octets as f64, "B"),
        scaled(rate, "bit/s"),
    )
}

/// A value with a prefix, in a width that lines up.
pub fn scaled(value: f64, unit: &str) -> String {
    let (scale, prefix) = match value {
        v if v >= 1e9 => (1e9, "G"),
        v if v >= 1e6 => (1e6, "M"),
        v if v >= 1e3 => (1e3, "k"),
        v if v >= 1.0 || v <= 0.0 => (1.0, ""),
        v if v >= 1e-3 => (1e-3, "m"),
        _ => (1e-6, "µ"),
    };
    format!("{:6.2} {prefix}{unit}", value / scale)
}

/// The result of one connection as JSON, in the manner of iperf3.
pub fn document(
    number: usize,
    seconds: f64,
    octets: u64,
    status: &ConnectionStats,
) -> serde_json::Value {
    json!({
        "stream": number,
        "seconds": seconds,
        "bytes": octets,
        "bits_per_second": octets as f64 * 8.0 / seconds.max(1e-9),
        "packets_sent": status.statistics.packets_sent,
        "packets_received": status.statistics.packets_received,
        "packets_lost": status.statistics.packets_lost,
        "datagrams_dropped": status.datagrams_dropped,
        "smoothed_rtt_s": status.statistics.smoothed_rtt.as_secs_f64(),
        "allowed_rate_bps": status.allowed_rate_bps,
        "loss_event_rate": status.loss_event_rate,
        "limit": status.limit,
    })
}

/// Lines at equal times.
pub struct Report {
    number: usize,
    started: tokio::time::Instant,
    interval: Duration,
    told: u32,
    octets: u64,
    intervals: Vec<serde_json::Value>,
}

impl Report {
    /// From now on, every `interval`; never if it is zero.
    pub fn new(number: usize, interval: Duration) -> Self {
        Self {
            number,
            started: tokio::time::Instant::now(),
            interval,
            told: 0,
            octets: 0,
            intervals: Vec::new(),
        }
    }

    /// When the next line is due.
    pub fn due(&self) -> tokio::time::Instant {
        if self.interval.is_zero() {
            return self.started + Duration::from_hours(365 * 24);
        }
        self.started + self.interval * (self.told + 1)
    }

    /// Notes how many octets there are now; the span of the line that is due herewith, and how many
    /// came in it.
    pub fn note(&mut self, octets: u64) -> ((f64, f64), u64) {
        let interval = self.interval.as_secs_f64();
        let from = interval * f64::from(self.told);
        let until = from + interval;
        let more = octets.saturating_sub(self.octets);
        self.told += 1;
        self.octets = octets;
        if self.intervals.len() < MOST_INTERVALS {
            self.intervals.push(json!({
                "start": from,
                "end": until,
                "bytes": more,
                "bits_per_second": more as f64 * 8.0 / interval.max(1e-9),
            }));
        }
        ((from, until), more)
    }

    /// Adds the intervals to the result of the connection.
    pub fn complete(self, mut document: serde_json::Value) -> serde_json::Value {
        if let Some(document) = document.as_object_mut() {
            document.insert("intervals".to_owned(), self.intervals.into());
        }
        document
    }

    /// Says what came since the last line.
    pub fn tell(&mut self, octets: u64, connection: &Connection, sends: bool) {
        let (span, more) = self.note(octets);
        let status = connection.stats();
        terminal::say(&line(self.number, span, more, &status, sends));
    }
}

/// Knows whether Ctrl-C was pressed.
#[derive(Clone, Debug)]
pub struct Stop(watch::Receiver<bool>);

impl Stop {
    /// From now on Ctrl-C ends tests and not the process.
    pub fn on_interrupt() -> Self {
        let (pressed, told) = watch::channel(false);
        // Without a handler Ctrl-C ends the process, which is right too.
        let _ = ctrlc::set_handler(move || {
            pressed.send_replace(true);
        });
        Self(told)
    }

    /// Waits until it is pressed; does not wait if it was.
    pub async fn pressed(&self) {
        let mut told = self.0.clone();
        if told.wait_for(|pressed| *pressed).await.is_err() {
            // There is no handler.
            std::future::pending::<()>().await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_survives_its_datagram_and_nothing_else_is_one() {
        let request = Request {
            reverse: true,
            length: 1400,
            rate_bps: Some(64_000.0),
            duration_s: 2.5,
        };
        assert_eq!(
            Request::from_datagram(&request.to_datagram()),
            Some(request)
        );
        for octets in [&b""[..], b"weir-test 1 ", b"weir-test 1 {}", b"hello"] {
            assert_eq!(Request::from_datagram(octets), None);
        }
        let endless = br#"weir-test 1 {"reverse":true,"length":1400,"duration_s":1e9}"#;
        assert_eq!(Request::from_datagram(endless), None);
    }

    #[test]
    fn times_are_seconds_or_have_a_unit() {
        assert_eq!(time("10"), Ok(Duration::from_secs(10)));
        assert_eq!(time("250ms"), Ok(Duration::from_millis(250)));
        assert!(time("-1").is_err() && time("1e9").is_err() && time("soon").is_err());
        assert!(rate("10Mbit").is_ok() && rate("10").is_err());
    }
}
