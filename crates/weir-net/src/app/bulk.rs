//! Writes as much as the endpoint takes, from the handshake to the end.
//!
//! For datagrams (DCCP) `packet` is the payload of a packet; for a stream (QUIC) it is only the
//! size of one write. With `total` the application writes that many octets and closes.

use super::outgoing::Outgoing;
use super::{App, AppEnvironment, AppPair, AppReport, AppSettings, Session, WriteLoad};
use weir_proto::endpoint::Endpoint;
use weir_proto::rng::Rng;
use weir_proto::settings::{bytes, or_word};
use weir_proto::time::Instant;

weir_proto::settings! {
    /// Writes as much as the transport takes.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct BulkConfig {
        /// Bytes of one write: the payload of a datagram, or a piece of a stream.
        pub packet: u32 = 1400 => bytes(1..=65_535),
        /// Bytes in all, then the connection is closed; "endless" never closes it.
        pub total: Option<u64> => or_word("endless", bytes(1..=1 << 62)),
    }
}

impl AppSettings for BulkConfig {
    fn build(&self, _environment: AppEnvironment<'_>) -> AppPair {
        AppPair::with_sink(Bulk::new(*self))
    }

    fn is_random(&self) -> bool {
        false
    }

    fn arbitrary(rng: &mut Rng) -> Self {
        Self {
            packet: 40 + rng.below(1461) as u32,
            total: Some(rng.below(300_000)),
        }
    }

    fn packet(&self) -> u32 {
        self.packet
    }

    fn load(&self) -> Option<WriteLoad> {
        None
    }
}

/// The application.
#[derive(Debug)]
pub struct Bulk {
    packet: u32,
    outgoing: Outgoing,
    session: Session,
}

impl Bulk {
    /// An application that writes whole packets only, except for the last write of a total.
    pub fn new(config: BulkConfig) -> Self {
        Self {
            packet: config.packet,
            outgoing: Outgoing::new(config.total.unwrap_or(u64::MAX)),
            session: Session::default(),
        }
    }
}

impl App for Bulk {
    fn poll(&mut self, now: Instant, endpoint: &mut dyn Endpoint) {
        self.session.drain(now, endpoint);
        if !self.session.writable {
            return;
        }
        let session = &mut self.session;
        if self.outgoing.write(now, endpoint, session, self.packet) {
            session.writable = false;
            session.statistics.finished = true;
            endpoint.close(now);
        }
    }

    fn poll_timeout(&self) -> Option<Instant> {
        self.outgoing.poll_timeout().filter(|_| !self.done())
    }

    fn done(&self) -> bool {
        self.outgoing.octets == 0 || self.session.ended()
    }

    fn report(&self, _now: Instant) -> AppReport<'_> {
        self.session.statistics.into()
    }
}
