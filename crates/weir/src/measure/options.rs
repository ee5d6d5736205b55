//! The options of `serve` and `send`.

use super::iperf_words::{BitRate, ClientWords, CommonWords, bit_rate};
use crate::arguments::{self, JsonOutput};
use crate::exit::Failure;
use clap::{Args, ValueEnum};
use std::net::{IpAddr, Ipv6Addr};
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::time::Duration;
use weir_lab::run::SenderRecorder;
use weir_lab::scenario::RFC4341;
use weir_proto::cc::tfrc::Profile;
use weir_proto::event::EventMask;
use weir_proto::settings::shortened;
use weir_wire::quinn::{CongestionControlAlgorithm, Fingerprint};
use weir_wire::test_protocol::{Admission, Secret, TestConfig};
use weir_wire::{DEFAULT_PORT, EndpointConfig, udp_test};

/// The UDP port of test servers over QUIC: the second after that of DCCP.
const QUIC_PORT: u16 = 6513;

/// The UDP port of test servers over RTP: the third after that of DCCP.
const RTP_PORT: u16 = 6514;

/// Options that both ends have.
#[derive(Clone, Debug, Args)]
pub struct TestOptions {
    /// What carries the data; both ends must have the same
    #[arg(long, value_enum, default_value_t = TransportName::Dccp)]
    pub transport: TransportName,
    /// DCCP over IP itself, protocol 33, without UDP (RFC 4340): Linux, and CAP_NET_RAW
    #[arg(long)]
    pub raw: bool,
    /// UDP port of the server; by default 6511 for DCCP, 6512 for UDP, 6513 for QUIC, 6514 for
    /// RTP. With --raw its DCCP port, by default 5001
    #[arg(short, long)]
    pub port: Option<u16>,
    /// Congestion control of DCCP: 2 is like TCP, 3 is TFRC, 4 is TFRC for small packets; by
    /// default a client asks for 3, and a server takes each
    #[arg(long, value_parser = clap::value_parser!(u8).range(2..=4))]
    pub ccid: Option<u8>,
    #[arg(long, help = profile_help())]
    pub profile: Option<String>,
    /// A single rule of TFRC on top of the profile, in the words of a scenario's transport:
    /// tfrc.oscillation=off. For this end alone: the sender's rules count where data is sent, the
    /// receiver's where it arrives
    #[arg(long, value_name = "tfrc.RULE=VALUE")]
    pub set: Vec<String>,
    #[arg(short = 'C', long, visible_alias = "congestion")]
    #[arg(value_name = "NAME", help = controller_help())]
    pub controller: Option<String>,
    /// Use explicit congestion notification, which QUIC does in any case
    #[arg(long)]
    pub ecn: bool,
    /// Each packet has a send of its own, without the kernel's segmentation (GSO)
    #[arg(long)]
    pub no_gso: bool,
    /// Seconds between two reports; 0 for none
    #[arg(short, long, default_value = "1", value_name = "TIME", value_parser = arguments::time)]
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
    /// Write the state of the sender's controller as it changes, a line of CSV each, while the test
    /// runs; `-` writes to standard output
    #[arg(long, value_name = "FILE")]
    pub probe: Option<PathBuf>,
    /// The client's UDP port, 0 for any: that of --cport.
    #[arg(skip)]
    pub client_port: u16,
    /// The time at the beginning that the result leaves out: that of --omit.
    #[arg(skip)]
    pub omit: Duration,
    /// Whether each sample of the round trip is an event.
    #[arg(skip)]
    pub round_trips: bool,
    #[command(flatten)]
    pub words: CommonWords,
    /// Take tests only with a peer that has the same secret: the content of this file, of at least
    /// 16 bytes, which is never sent
    #[arg(long, value_name = "FILE")]
    pub secret: Option<PathBuf>,
    #[command(flatten)]
    pub output: JsonOutput,
}

/// The options of `send`.
#[derive(Clone, Debug, Args)]
pub struct ClientOptions {
    /// The server: a name or an address
    pub host: String,
    #[command(flatten)]
    pub test: TestOptions,
    /// How long to send: seconds, or with a unit
    #[arg(short, long, default_value = "10", value_name = "TIME", value_parser = arguments::time)]
    pub time: Duration,
    /// Constant rate of payload in bits per second: 64kbit, or in iperf's words 64k, 7m, 1.5g, with
    /// decimal prefixes. Without it, and with 0, as much as congestion control allows, and with UDP
    /// 1 Mbit/s. 100M/20 lets 20 packets leave at once. With RTP the greatest rate of the video,
    /// RMAX of NADA: 1.5 Mbit/s by default
    #[arg(short, long, value_name = "RATE", value_parser = bit_rate)]
    pub bitrate: Option<BitRate>,
    /// Bytes of a datagram, or of a write to the stream of QUIC; by default 1400 for a datagram, or
    /// what the path takes, if it is less. With RTP of the largest payload, by default 1200
    #[arg(short, long, value_parser = clap::value_parser!(u16).range(1..=9000))]
    pub length: Option<u16>,
    /// The server sends
    #[arg(short = 'R', long)]
    pub reverse: bool,
    /// So many connections at once
    #[arg(short = 'P', long, default_value_t = 1)]
    #[arg(value_parser = clap::value_parser!(u16).range(1..=1000))]
    pub parallel: u16,
    #[command(flatten)]
    pub words: ClientWords,
    /// With QUIC, take only a server with this certificate: its SHA-256 in hexadecimal, which
    /// `serve` shows
    #[arg(long, value_name = "SHA256", value_parser = fingerprint)]
    pub pin: Option<Fingerprint>,
}

/// The options of `serve`.
#[derive(Clone, Debug, Args)]
pub struct ServerOptions {
    #[command(flatten)]
    pub test: TestOptions,
    /// Address to listen at
    #[arg(short = 'B', long, default_value_t = IpAddr::V6(Ipv6Addr::UNSPECIFIED))]
    pub bind: IpAddr,
    /// End after the first connection
    #[arg(short = '1', long)]
    pub one_off: bool,
    /// The largest rate that a client may ask for, and at which this server sends; by default
    /// 1 Gbit/s with UDP and RTP, and with DCCP and QUIC what congestion control allows
    #[arg(long, value_name = "RATE", value_parser = arguments::rate)]
    pub max_rate: Option<f64>,
    /// The longest test that a client may ask for
    #[arg(long, default_value = "1h", value_name = "TIME", value_parser = arguments::time)]
    pub max_time: Duration,
}

/// The default maximum rate in bit/s of a client's test without congestion control.
const MAX_RATE_BPS: f64 = 1e9;
/// The minimum and maximum length of a secret in bytes.
const SECRET_LENGTHS: RangeInclusive<usize> = 16..=1 << 16;

/// Parses a fingerprint in hexadecimal, with or without colons.
fn fingerprint(text: &str) -> Result<Fingerprint, String> {
    let digits: Vec<_> = text.chars().filter(|c| *c != ':').collect();
    let pairs = digits.chunks_exact(2);
    let octets = pairs.map(|pair| Some((pair[0].to_digit(16)? * 16 + pair[1].to_digit(16)?) as u8));
    let octets: Option<Vec<_>> = octets.collect();
    octets
        .filter(|_| digits.len() == 64)
        .and_then(|octets| octets.try_into().ok().map(Fingerprint))
        .ok_or_else(|| {
            let text = shortened(text);
            format!("expected the 64 hexadecimal digits of a SHA-256, found \"{text}\"")
        })
}

/// The admission rules of a server, and the credentials of a client.
#[derive(Clone, Debug, Default)]
pub struct Access {
    /// The tests that a server accepts.
    pub admission: Admission,
    /// The certificate that a client requires of a server over QUIC.
    pub pin: Option<Fingerprint>,
}

/// The default TFRC profile and controller of QUIC.
pub const DEFAULT_PROFILE: &str = "rfc5348";
pub const DEFAULT_CONTROLLER: &str = "cubic";

fn profile_help() -> String {
    let names = alternatives(Profile::NAMES);
    format!("TFRC's rules: {names}; by default {DEFAULT_PROFILE}")
}

fn controller_help() -> String {
    let names = alternatives(CongestionControlAlgorithm::names());
    format!(
        "The window controller at the end that sends, of QUIC or of DCCP with CCID 2: {names}; by \
         default QUIC has {DEFAULT_CONTROLLER} and CCID 2 {}, the window of its RFC",
        RFC4341.word
    )
}

/// Names as a list for a sentence.
fn alternatives(names: impl IntoIterator<Item = &'static str>) -> String {
    let names: Vec<_> = names.into_iter().collect();
    match names.split_last() {
        Some((last, others)) if !others.is_empty() => format!("{} or {last}", others.join(", ")),
        _ => names.concat(),
    }
}

/// What carries the data of a test.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum TransportName {
    /// DCCP in UDP (RFC 6773)
    Dccp,
    /// A stream of QUIC, by quinn with Weir's controllers
    Quic,
    /// Datagrams at a constant rate; nothing controls congestion
    Udp,
    /// A video over RTP that follows the rate of NADA (RFC 8698)
    Rtp,
}

impl TransportName {
    /// The name on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Dccp => "dccp",
            Self::Quic => "quic",
            Self::Udp => "udp",
            Self::Rtp => "rtp",
        }
    }
}

impl TestOptions {
    /// Rejects options that the transport does not support.
    pub fn check(&self) -> Result<(), Failure> {
        use TransportName::Dccp;
        for (option, given, owner) in [
            ("--raw", self.raw, Dccp),
            ("--ccid", self.ccid.is_some(), Dccp),
            ("--profile", self.profile.is_some(), Dccp),
            ("--set", !self.set.is_empty(), Dccp),
        ] {
            if given && self.transport != owner {
                let (owner, found) = (owner.name(), self.transport.name());
                return Err(Failure::Usage(format!(
                    "expected {option} with --transport {owner}, found --transport {found}"
                )));
            }
        }
        self.check_controller()?;
        if self.probe.is_some() && self.transport == TransportName::Udp {
            let message = "expected --probe with a transport that has a controller, found \
                           --transport udp";
            return Err(Failure::Usage(message.to_owned()));
        }
        if self.output.json && self.probe.as_deref() == Some(Path::new("-")) {
            let message = "expected a file for --probe with --json, which has standard output to \
                           itself";
            return Err(Failure::Usage(message.to_owned()));
        }
        if self.ccid == Some(2) && !self.set.is_empty() {
            let message = "expected --set with --ccid 3 or 4, which are TFRC, found --ccid 2";
            return Err(Failure::Usage(message.to_owned()));
        }
        Ok(())
    }

    /// Rejects a window controller for a transport without a window.
    fn check_controller(&self) -> Result<(), Failure> {
        let found = match (self.transport, self.ccid) {
            _ if self.controller.is_none() => return Ok(()),
            (TransportName::Quic, _) | (TransportName::Dccp, Some(2)) => return Ok(()),
            (TransportName::Udp | TransportName::Rtp, _) => {
                format!("--transport {}", self.transport.name())
            }
            (TransportName::Dccp, Some(ccid)) => format!("--ccid {ccid}"),
            (TransportName::Dccp, None) => "--transport dccp without --ccid".to_owned(),
        };
        Err(Failure::Usage(format!(
            "expected --controller with --transport quic or --ccid 2, found {found}"
        )))
    }

    /// The secret that both ends share.
    fn secret(&self) -> Result<Option<Secret>, Failure> {
        let Some(path) = &self.secret else {
            return Ok(None);
        };
        let name = path.display();
        let octets = std::fs::read(path).map_err(|error| {
            Failure::Usage(format!("cannot read the secret \"{name}\": {error}"))
        })?;
        // An editor may add a line end to the last line.
        let secret = octets.trim_ascii_end();
        if !SECRET_LENGTHS.contains(&secret.len()) {
            let [least, most] = [SECRET_LENGTHS.start(), SECRET_LENGTHS.end()];
            let found = secret.len();
            return Err(Failure::Usage(format!(
                "expected a secret of {least} to {most} bytes in \"{name}\", found {found}"
            )));
        }
        Ok(Some(Secret::new(secret)))
    }

    /// The server's UDP port, which is not used without UDP.
    pub fn udp_port(&self) -> u16 {
        self.port.unwrap_or(match self.transport {
            TransportName::Dccp => DEFAULT_PORT,
            TransportName::Quic => QUIC_PORT,
            TransportName::Udp => udp_test::DEFAULT_PORT,
            TransportName::Rtp => RTP_PORT,
        })
    }

    /// The socket settings, which all transports share.
    pub fn socket(&self) -> EndpointConfig {
        EndpointConfig {
            ecn: self.ecn,
            client_port: self.client_port,
            segmentation: !self.no_gso,
            event_mask: self.event_mask(),
            ..EndpointConfig::default()
        }
    }

    /// The events of a controller that a trace or a probe records.
    pub fn event_mask(&self) -> EventMask {
        match (&self.trace, &self.probe) {
            (Some(_), _) => SenderRecorder::EVENTS,
            (None, Some(_)) => EventMask::CONTROLLER,
            (None, None) if self.round_trips => EventMask::RTT,
            (None, None) => EventMask::NONE,
        }
    }
}

impl ServerOptions {
    /// The tests that the server accepts.
    pub fn access(&self) -> Result<Access, Failure> {
        use TransportName::{Rtp, Udp};
        let default = matches!(self.test.transport, Udp | Rtp).then_some(MAX_RATE_BPS);
        let admission = Admission {
            max_rate_bps: self.max_rate.or(default),
            max_time: Some(self.max_time),
            secret: self.test.secret()?,
        };
        Ok(Access {
            admission,
            pin: None,
        })
    }
}

impl ClientOptions {
    /// The credentials of the client and its requirements.
    pub fn access(&self) -> Result<Access, Failure> {
        if self.pin.is_some() && self.test.transport != TransportName::Quic {
            let found = self.test.transport.name();
            return Err(Failure::Usage(format!(
                "expected --pin with --transport quic, found --transport {found}"
            )));
        }
        let admission = Admission {
            secret: self.test.secret()?,
            ..Admission::default()
        };
        Ok(Access {
            admission,
            pin: self.pin,
        })
    }

    /// The test that the options describe, with this length if they have none.
    pub fn request(&self, default_length: u16) -> TestConfig {
        let length = self.length.unwrap_or(default_length);
        TestConfig {
            reverse: self.reverse,
            ecn: self.test.ecn,
            media: false,
            length,
            rate_bps: self.bitrate.and_then(|rate| rate.bps),
            duration: self.time + self.test.omit,
            burst: self.bitrate.map_or(0, |rate| rate.burst),
            writes: self.words.writes(length),
        }
    }
}
