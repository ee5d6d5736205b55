//! Reads all data that arrives and counts it.

use super::{App, AppReport, Session};
use weir_proto::endpoint::Endpoint;
use weir_proto::time::Instant;

/// The application at the receiving end.
#[derive(Debug, Default)]
pub struct Sink {
    session: Session,
}

impl Sink {
    /// A sink that has read nothing.
    pub fn new() -> Self {
        Self::default()
    }
}

impl App for Sink {
    fn poll(&mut self, now: Instant, endpoint: &mut dyn Endpoint) {
        self.session.drain(now, endpoint);
    }

    fn poll_timeout(&self) -> Option<Instant> {
        None
    }

    fn done(&self) -> bool {
        self.session.ended()
    }

    fn report(&self, _now: Instant) -> AppReport<'_> {
        self.session.statistics.into()
    }
}
