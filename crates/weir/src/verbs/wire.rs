//! `weir serve` and `weir send HOST`: DCCP in UDP between two hosts, as iperf3 does it for TCP.

use crate::exit::Failure;
use crate::terminal;
use clap::Args;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, ToSocketAddrs};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use weir_proto::cc::tfrc::Profile;
use weir_proto::dccp::{Ccid, Config, Connection};
use weir_proto::event::{Event, EventMask};
use weir_proto::node::{Endpoint, EndpointEvent, Statistics};
use weir_proto::packet::Payload;
use weir_proto::time::{Duration, Instant};
use weir_proto::units::{Rate, format_rate, parse_duration};
use weir_wire::encapsulation::{OVERHEAD_OCTETS, PORT};
use weir_wire::{Limits, Peer, RealTime, SessionId, initial_sequence};

/// The DCCP port of both verbs.
const DCCP_PORT: u16 = 5001;

/// How often an idle driver looks whether Ctrl-C was pressed.
const PATIENCE: Duration = Duration::from_millis(50);

/// What both ends must agree on.
#[derive(Debug, Args)]
struct Transport {
    /// UDP port of the server
    #[arg(long, short, default_value_t = PORT)]
    port: u16,
    /// Congestion control: 2 or 3, the same at both ends
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u8).range(2..=3))]
    ccid: u8,
    /// TFRC's rules: rfc3448, linux-2008, linux-mainline, rfc5348
    #[arg(long, default_value = "rfc5348")]
    profile: String,
}

/// The words after `serve`.
#[derive(Debug, Args)]
pub struct Serve {
    #[command(flatten)]
    transport: Transport,
    /// Address to listen on
    #[arg(long, short = 'B', default_value_t = IpAddr::V4(Ipv4Addr::UNSPECIFIED))]
    bind: IpAddr,
    /// End after the first connection
    #[arg(long, short = '1')]
    one_off: bool,
}

/// The words after `send`.
#[derive(Debug, Args)]
pub struct Send {
    /// Where a server runs
    host: String,
    #[command(flatten)]
    transport: Transport,
    /// How long to send
    #[arg(long, short, default_value = "10s")]
    time: String,
    /// Time between reports
    #[arg(long, short, default_value = "1s")]
    interval: String,
    /// Octets of a datagram
    #[arg(long, short, default_value_t = 1400)]
    length: u32,
    /// One JSON document
    #[arg(long)]
    pub json: bool,
}

fn failed(error: impl ToString) -> Failure {
    Failure::Failed(error.to_string())
}

fn config(transport: &Transport, (local_port, remote_port): (u16, u16)) -> Result<Config, Failure> {
    let ccid = || match transport.ccid {
        2 => Ok(Ccid::TcpLike),
        _ => Profile::named(&transport.profile)
            .map(|profile| Ccid::Tfrc(Box::new(profile)))
            .ok_or_else(|| {
                Failure::Usage(format!("there is no profile \"{}\"", transport.profile))
            }),
    };
    Ok(Config {
        local_port,
        remote_port,
        initial_sequence: initial_sequence().map_err(failed)?,
        send_ccid: ccid()?,
        receive_ccid: ccid()?,
        mtu: 1500 - OVERHEAD_OCTETS,
        ecn: true,
        ..Config::default()
    })
}

fn interruption() -> Result<Arc<AtomicBool>, Failure> {
    let pressed = Arc::new(AtomicBool::new(false));
    let handler = Arc::clone(&pressed);
    ctrlc::set_handler(move || handler.store(true, Ordering::Relaxed)).map_err(failed)?;
    Ok(pressed)
}

/// Takes connections and counts what comes, until Ctrl-C.
pub fn serve(arguments: Serve) -> Result<(), Failure> {
    let Serve {
        transport,
        bind,
        one_off,
    } = arguments;
    config(&transport, (DCCP_PORT, 0))?;
    let mut driver = RealTime::bind((bind, transport.port).into()).map_err(failed)?;
    let address = driver.local_address().map_err(failed)?;
    driver.listen(DCCP_PORT, Limits::default(), move |peer| {
        let config = config(&transport, (DCCP_PORT, peer.port)).ok()?;
        Some(Connection::server(config))
    });
    terminal::say(&format!("serving DCCP in UDP on {address}"));
    let pressed = interruption()?;
    loop {
        driver.turn(PATIENCE).map_err(failed)?;
        while let Some((id, news)) = driver.poll_event() {
            let statistics = driver.with(id, |now, end| {
                while end.read(now).is_some() {}
                end.statistics()
            });
            if let (EndpointEvent::Closed(reason), Some(statistics)) = (news, statistics) {
                let (octets, lost) = (statistics.payload_received, statistics.packets_lost);
                terminal::say(&format!(
                    "{reason:?}: {octets} octets received, {lost} lost"
                ));
                if one_off {
                    return Ok(());
                }
            }
        }
        if pressed.load(Ordering::Relaxed) {
            return Err(Failure::Interrupted);
        }
    }
}

/// A sender at work.
struct Sending {
    driver: RealTime<Connection>,
    id: SessionId,
    length: u32,
    opened: Option<Instant>,
    closed: Option<String>,
    limit: &'static str,
    loss_event_rate: Option<f64>,
}

impl Sending {
    fn turn(&mut self) -> Result<(), Failure> {
        self.driver.turn(PATIENCE).map_err(failed)?;
        while let Some((_, news)) = self.driver.poll_event() {
            match news {
                EndpointEvent::Connected => self.opened = Some(self.driver.now()),
                EndpointEvent::Closed(reason) => self.closed = Some(format!("{reason:?}")),
                EndpointEvent::Writable | EndpointEvent::Readable => {}
            }
        }
        while let Some((.., event)) = self.driver.poll_trace() {
            match event {
                Event::Rate(state) => {
                    self.limit = state.limit.name();
                    self.loss_event_rate = Some(state.loss_event_rate);
                }
                Event::Window(state) => self.limit = state.limit.name(),
                _ => {}
            }
        }
        Ok(())
    }

    fn fill(&mut self) {
        let payload = Payload::of_len(self.length);
        self.driver.with(
            self.id,
            |now, end| {
                while end.write(now, payload.clone()).is_ok() {}
            },
        );
    }

    fn statistics(&mut self) -> Statistics {
        let statistics = self.driver.with(self.id, |_, end| end.statistics());
        statistics.unwrap_or_default()
    }

    fn line(&mut self, from: &Statistics, span: Duration) -> String {
        let now = self.statistics();
        let packets = now.data_packets_sent - from.data_packets_sent;
        let rate = rate_of(packets * u64::from(self.length), span);
        let rtt = now.smoothed_rtt.as_secs_f64() * 1e3;
        let p = self
            .loss_event_rate
            .map_or(String::new(), |p| format!("  p {p:.6}"));
        format!("{}  rtt {rtt:.3} ms{p}  {}", format_rate(rate), self.limit)
    }
}

fn rate_of(octets: u64, span: Duration) -> Rate {
    Rate::from_bytes_per_sec(octets as f64 / span.as_secs_f64())
}

/// Sends as fast as the congestion control allows.
pub fn send(arguments: &Send) -> Result<(), Failure> {
    let usage = |error: weir_proto::units::UnitError| Failure::Usage(error.to_string());
    let time = parse_duration(&arguments.time).map_err(usage)?;
    let interval = parse_duration(&arguments.interval).map_err(usage)?;
    let transport = &arguments.transport;
    let target = (arguments.host.as_str(), transport.port)
        .to_socket_addrs()
        .map_err(failed)?
        .next()
        .ok_or_else(|| Failure::Failed(format!("{} has no address", arguments.host)))?;
    let any = if target.is_ipv4() {
        "0.0.0.0:0"
    } else {
        "[::]:0"
    };
    let any: SocketAddr = any.parse().map_err(failed)?;
    let mut driver = RealTime::bind(any).map_err(failed)?;
    driver.set_mask(EventMask::CONTROLLER);
    let client = Connection::client(config(transport, (DCCP_PORT, DCCP_PORT))?);
    if arguments.length > client.max_payload() {
        let most = client.max_payload();
        return Err(Failure::Usage(format!(
            "a datagram has at most {most} octets"
        )));
    }
    let peer = Peer {
        address: target,
        port: DCCP_PORT,
        local_port: DCCP_PORT,
    };
    let id = driver.connect(peer, client);
    let mut sending = Sending {
        driver,
        id,
        length: arguments.length,
        opened: None,
        closed: None,
        limit: "none",
        loss_event_rate: None,
    };
    let interrupted = work(&mut sending, (time, interval))?;
    summarise(&mut sending, arguments.json)?;
    if interrupted {
        Err(Failure::Interrupted)
    } else {
        Ok(())
    }
}

/// Sends for `time`; true if Ctrl-C ended it.
fn work(sending: &mut Sending, (time, interval): (Duration, Duration)) -> Result<bool, Failure> {
    let pressed = interruption()?;
    let (mut before, mut reported) = (Statistics::default(), None);
    loop {
        sending.turn()?;
        if let Some(reason) = &sending.closed {
            return Err(Failure::Failed(format!("the connection ended: {reason}")));
        }
        if pressed.load(Ordering::Relaxed) {
            return Ok(true);
        }
        let Some(opened) = sending.opened else {
            continue;
        };
        let now = sending.driver.now();
        if now >= opened + time {
            return Ok(false);
        }
        let since = *reported.get_or_insert(opened);
        if now >= since + interval {
            terminal::say(&sending.line(&before, now.since(since)));
            before = sending.statistics();
            reported = Some(now);
        }
        sending.fill();
    }
}

fn summarise(sending: &mut Sending, json: bool) -> Result<(), Failure> {
    let Some(opened) = sending.opened else {
        return Ok(());
    };
    let span = sending.driver.now().since(opened);
    let statistics = sending.statistics();
    let text = if json {
        let octets = statistics.data_packets_sent * u64::from(sending.length);
        let document = serde_json::json!({
            "seconds": span.as_secs_f64(),
            "packets_sent": statistics.data_packets_sent,
            "rate_bps": rate_of(octets, span).as_bps(),
            "smoothed_rtt_s": statistics.smoothed_rtt.as_secs_f64(),
            "loss_event_rate": sending.loss_event_rate,
            "limit": sending.limit,
        });
        format!("{document:#}\n")
    } else {
        let line = sending.line(&Statistics::default(), span);
        format!(
            "{} packets in {:.2} s: {line}\n",
            statistics.data_packets_sent,
            span.as_secs_f64()
        )
    };
    sending.driver.with(sending.id, |now, end| end.close(now));
    let end = sending.driver.now() + Duration::from_secs(1);
    while sending.closed.is_none() && sending.driver.now() < end {
        sending.turn()?;
    }
    Ok(terminal::print(&text)?)
}
