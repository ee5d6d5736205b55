//! A client sends requests and a server responds over one connection: requests and responses of
//! random sizes, one at a time, with a think time after each response, as of a browser over a
//! persistent connection or of one service that calls another.
//!
//! The server sends the data of the flow, the responses; the client, at the receiving end, opens
//! the connection. Both ends draw the sizes from the same random stream, so that the server knows
//! where a request ends without a message format.

use super::outgoing::Outgoing;
use super::{
    App, AppEnvironment, AppPair, AppReport, AppSettings, LengthDistribution, Session,
    TransferSize, WriteLoad,
};
use weir_proto::endpoint::Endpoint;
use weir_proto::rng::Rng;
use weir_proto::settings::{bytes, count, or_word};
use weir_proto::time::{Duration, Instant, earliest};

weir_proto::settings! {
    /// A client at `to` sends requests to the server at `from`, which answers each with a response:
    /// one at a time, over one connection, which the client opens. The responses are the data of
    /// the flow. Needs a stream: TCP, QUIC or quinn.
    #[derive(Clone, Debug, PartialEq)]
    pub struct RequestConfig {
        /// Bytes of one write of either end.
        pub packet: u32 = 1400 => bytes(1..=65_535),
        /// How large requests are.
        pub request: TransferSize = TransferSize::constant(300),
        /// How large responses are.
        pub response: TransferSize,
        /// Mean time from the last byte of a response to the next request.
        pub think: Duration,
        /// How these times are distributed; "pareto" has shape 1.5.
        pub think_times: LengthDistribution,
        /// Number of requests, then the server closes the connection; "endless" never closes it.
        pub count: Option<u64> => or_word("endless", count(1..=1 << 62, "requests")),
    }
}

impl AppSettings for RequestConfig {
    fn build(&self, environment: AppEnvironment<'_>) -> AppPair {
        let stream = |what: &str| {
            let name = format!("flow/{}/{what}", environment.flow);
            Rng::stream(environment.seed, &name)
        };
        let sizes = || Sizes {
            config: self.clone(),
            left: self.count,
            rng: stream("requests"),
        };
        AppPair {
            source: Box::new(RequestServer::new(sizes())),
            sink: Box::new(RequestClient::new(sizes(), stream("think"))),
        }
    }

    fn is_random(&self) -> bool {
        self.request.is_random()
            || self.response.is_random()
            || (!self.think.is_zero() && self.think_times != LengthDistribution::Constant)
    }

    fn arbitrary(rng: &mut Rng) -> Self {
        Self {
            packet: 40 + rng.below(1461) as u32,
            response: TransferSize::constant(1 + rng.below(100_000)),
            think: Duration::from_millis(rng.below(20)),
            count: Some(1 + rng.below(50)),
            ..Self::default()
        }
    }

    fn packet(&self) -> u32 {
        self.packet
    }

    fn load(&self) -> Option<WriteLoad> {
        None
    }
}

/// A request that was sent, and its response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RequestRecord {
    /// When its first byte was written.
    pub start: Instant,
    /// Bytes of the request.
    pub request: u64,
    /// Bytes of the response.
    pub response: u64,
    /// When the last byte of the response was read.
    pub completed: Option<Instant>,
}

/// The sizes of all requests and responses; both ends draw the same values.
#[derive(Debug)]
struct Sizes {
    config: RequestConfig,
    /// Requests that are still to come; `None` without a limit.
    left: Option<u64>,
    rng: Rng,
}

impl Sizes {
    /// The next request and its response; `None` after the last.
    fn next(&mut self) -> Option<[u64; 2]> {
        if self.left == Some(0) {
            return None;
        }
        self.left = self.left.map(|left| left - 1);
        let RequestConfig {
            request, response, ..
        } = &self.config;
        Some([request.draw(&mut self.rng), response.draw(&mut self.rng)])
    }
}

/// Reads from the endpoint; returns the octets that were read.
fn read(now: Instant, endpoint: &mut dyn Endpoint, session: &mut Session) -> u64 {
    let before = session.statistics.bytes_read;
    session.drain(now, endpoint);
    session.statistics.bytes_read - before
}

/// The server: writes a response once a whole request has arrived, and closes after the last.
#[derive(Debug)]
pub struct RequestServer {
    sizes: Sizes,
    /// The request that arrives next and its response; `None` after the last.
    awaited: Option<[u64; 2]>,
    /// Octets of this request that have arrived.
    received: u64,
    outgoing: Outgoing,
    session: Session,
}

impl RequestServer {
    fn new(mut sizes: Sizes) -> Self {
        Self {
            awaited: sizes.next(),
            sizes,
            received: 0,
            outgoing: Outgoing::default(),
            session: Session::default(),
        }
    }
}

impl App for RequestServer {
    fn poll(&mut self, now: Instant, endpoint: &mut dyn Endpoint) {
        self.received += read(now, endpoint, &mut self.session);
        let packet = self.sizes.config.packet;
        while self
            .outgoing
            .write(now, endpoint, &mut self.session, packet)
        {
            let Some([request, response]) = self.awaited else {
                if !self.session.statistics.finished {
                    self.session.statistics.finished = true;
                    endpoint.close(now);
                }
                return;
            };
            if self.received < request {
                return;
            }
            self.received -= request;
            self.outgoing.octets = response;
            self.awaited = self.sizes.next();
        }
    }

    fn poll_timeout(&self) -> Option<Instant> {
        self.outgoing.poll_timeout().filter(|_| !self.done())
    }

    fn done(&self) -> bool {
        self.session.statistics.finished || self.session.ended()
    }

    fn report(&self, _now: Instant) -> AppReport<'_> {
        self.session.statistics.into()
    }
}

/// The client: sends a request, reads its response, thinks, sends the next one.
#[derive(Debug)]
pub struct RequestClient {
    sizes: Sizes,
    think_rng: Rng,
    /// When the next request is due; `None` before the handshake and while a response is awaited.
    due: Option<Instant>,
    outgoing: Outgoing,
    /// Octets of the response that have not arrived.
    missing: u64,
    requests: Vec<RequestRecord>,
    session: Session,
}

impl RequestClient {
    fn new(sizes: Sizes, think_rng: Rng) -> Self {
        Self {
            sizes,
            think_rng,
            due: None,
            outgoing: Outgoing::default(),
            missing: 0,
            requests: Vec::new(),
            session: Session::default(),
        }
    }

    /// Counts what was read; the response may be complete.
    fn receive(&mut self, now: Instant, bytes: u64) {
        if self.missing == 0 || bytes == 0 {
            return;
        }
        self.missing = self.missing.saturating_sub(bytes);
        if self.missing > 0 {
            return;
        }
        if let Some(request) = self.requests.last_mut() {
            request.completed = Some(now);
        }
        let RequestConfig {
            think, think_times, ..
        } = self.sizes.config;
        self.due = Some(now + think_times.draw(think, &mut self.think_rng));
    }
}

impl App for RequestClient {
    fn poll(&mut self, now: Instant, endpoint: &mut dyn Endpoint) {
        let connected = self.session.statistics.connected_at.is_some();
        let bytes = read(now, endpoint, &mut self.session);
        self.receive(now, bytes);
        if !connected && self.session.statistics.connected_at.is_some() {
            self.due = Some(now);
        }
        if self.due.is_some_and(|due| due <= now) && !self.done() {
            self.due = None;
            let Some([request, response]) = self.sizes.next() else {
                return;
            };
            self.outgoing.octets = request;
            self.missing = response;
            self.requests.push(RequestRecord {
                start: now,
                request,
                response,
                completed: None,
            });
        }
        let packet = self.sizes.config.packet;
        self.outgoing
            .write(now, endpoint, &mut self.session, packet);
    }

    fn poll_timeout(&self) -> Option<Instant> {
        earliest(&[self.due, self.outgoing.poll_timeout()]).filter(|_| !self.done())
    }

    fn done(&self) -> bool {
        self.session.ended()
    }

    fn report(&self, _now: Instant) -> AppReport<'_> {
        AppReport {
            requests: &self.requests,
            ..self.session.statistics.into()
        }
    }
}

#[cfg(test)]
mod tests;
