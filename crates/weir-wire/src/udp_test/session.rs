//! One end of a UDP test as a state machine without clock and socket: the [`Session`] of all
//! transports with its datagrams, which are sent at equal intervals or by other
//! [`Traffic`](super::Traffic).

use super::DEFAULT_RATE_BPS;
use super::reception::ReceptionTracker;
use super::traffic::{SharedTraffic, TrafficFactory, lock, take};
use crate::test_protocol::{
    self, Channel, DataPath, DataPathCounts, FrameStats, Message, Opening, Pacing, Secret,
    TestConfig,
};
use weir_proto::packet::Ecn;
use weir_proto::time::{Duration, Instant};

/// A sender that is later than this skips the datagrams that it has missed.
const MAX_LATENESS: Duration = Duration::from_millis(100);
/// The time for which the host counts as the limit after the sender was late.
const HOST_LIMITED_TIME: Duration = Duration::from_secs(1);

/// One end of a test.
pub(super) type Session = test_protocol::Session<Datagrams>;

/// The datagrams of one end.
#[derive(Default)]
pub(super) struct Datagrams {
    /// The traffic of another protocol, instead of datagrams at a constant rate.
    traffic: Option<SharedTraffic>,
    /// The pacing of a sender at a constant rate, and the start of the data.
    pacing: Option<(Pacing, Instant)>,
    /// When the sender was last late.
    last_late: Option<Instant>,
    tracker: ReceptionTracker,
    /// Arrival and timestamp of the datagram with the newest timestamp.
    newest: Option<(Instant, u64)>,
    /// Octets of a datagram.
    length: u16,
}

impl DataPath for Datagrams {
    fn begin(&mut self, config: &TestConfig, now: Instant) {
        if let Some(traffic) = &self.traffic {
            return lock(traffic).begin(config, now);
        }
        self.length = config.length;
        let config = TestConfig {
            rate_bps: config.rate_bps.or(Some(DEFAULT_RATE_BPS)),
            ..*config
        };
        self.pacing = Some((Pacing::start(&config, now), now));
    }

    fn counts(&self, at: Instant) -> DataPathCounts {
        let mut counts = if let Some(traffic) = &self.traffic {
            lock(traffic).counts(at)
        } else {
            let sent = self.pacing.map_or(0, |(pacing, _)| pacing.writes());
            DataPathCounts {
                sent,
                sent_octets: sent.saturating_mul(self.length.into()),
                received: *self.tracker.stats(),
                limit: "application",
                ..DataPathCounts::default()
            }
        };
        let is_late = |late| at.since(late) < HOST_LIMITED_TIME;
        if self.last_late.is_some_and(is_late) {
            counts.limit = "host";
        }
        counts
    }

    fn is_done(&self) -> bool {
        match &self.traffic {
            Some(traffic) => lock(traffic).is_done(),
            None => self.pacing.is_some_and(|(pacing, _)| pacing.is_done()),
        }
    }

    fn next_timeout(&self) -> Option<Instant> {
        match (&self.traffic, &self.pacing) {
            (Some(traffic), _) => lock(traffic).next_timeout(),
            (None, Some((pacing, _))) => pacing.due(),
            (None, None) => None,
        }
    }

    fn newest(&self) -> Option<(Instant, u64)> {
        match &self.traffic {
            Some(traffic) => lock(traffic).newest(),
            None => self.newest,
        }
    }

    fn frames(&self, now: Instant) -> Option<FrameStats> {
        lock(self.traffic.as_ref()?).frames(now)
    }
}

impl Datagrams {
    /// Counts a datagram with this number and timestamp.
    fn count(&mut self, now: Instant, (number, sent_at): (u64, u64), octets: usize, marked: bool) {
        self.tracker.on_datagram(now, number, sent_at, octets);
        if marked {
            self.tracker.on_congestion_mark();
        }
        if self.newest.is_none_or(|(_, newest)| sent_at > newest) {
            self.newest = Some((now, sent_at));
        }
    }

    /// The next datagram of the constant rate, if it is due.
    fn next_data(&mut self, now: Instant) -> Option<Message> {
        let (pacing, began) = self.pacing.as_mut()?;
        let due = pacing.due().filter(|due| *due <= now)?;
        let late = now.since(due);
        if late >= MAX_LATENESS {
            self.last_late = Some(now);
            pacing.delay(late);
        }
        let number = pacing.writes();
        pacing.count();
        let sent_at = now.since(*began).as_nanos();
        Some(Message::Data { number, sent_at })
    }
}

impl Session {
    /// The client's end.
    pub(super) fn client(
        id: u64,
        config: TestConfig,
        secret: Option<Secret>,
        now: Instant,
    ) -> Self {
        Self::new(id, Opening::Ask(config, secret), Channel::Datagrams, now)
    }

    /// The server's end for a client whose address is validated.
    pub(super) fn server(id: u64, config: TestConfig, now: Instant) -> Self {
        Self::new(id, Opening::Accept(config), Channel::Datagrams, now)
    }

    /// Makes the test carry the traffic that `make` creates.
    pub(super) fn carry(&mut self, make: &TrafficFactory, now: Instant) -> SharedTraffic {
        let traffic = make(&self.config, self.is_sender(), now);
        self.data.traffic = Some(SharedTraffic::clone(&traffic));
        if self.data.pacing.take().is_some() {
            lock(&traffic).begin(&self.config, now);
        }
        traffic
    }

    /// Handles a message of this test: a datagram of `octets`, with the codepoint CE if `marked`.
    pub(super) fn receive(&mut self, now: Instant, message: Message, octets: usize, marked: bool) {
        self.take(now, &message);
        if let Message::Data { number, sent_at } = message
            && self.has_data()
            && !self.is_sender()
        {
            let claim = self.config.check_data(number, sent_at, octets);
            if self.check(now, claim) {
                self.data.count(now, (number, sent_at), octets, marked);
            }
        }
    }

    /// Handles a datagram that is not a message of a test.
    pub(super) fn receive_other(&mut self, now: Instant, octets: &[u8], ecn: Ecn) {
        let Some(traffic) = self.data.traffic.clone() else {
            return;
        };
        if self.take_data(now) && self.has_data() {
            let taken = take(&traffic, &self.config, now, (octets, ecn));
            self.check(now, taken);
        }
    }

    /// Records that the kernel has no room for datagrams that are due.
    pub(super) const fn on_socket_full(&mut self, now: Instant) {
        self.data.last_late = Some(now);
    }

    /// Appends the next datagram that is due; true if there was one.
    pub(super) fn write(&mut self, now: Instant, out: &mut Vec<u8>) -> bool {
        if let Some(message) = self.next_message(now) {
            message.write(self.id, out);
            return true;
        }
        if !self.is_running() {
            return false;
        }
        let wrote = match (&self.data.traffic, self.is_sender()) {
            (Some(traffic), _) => lock(traffic).write(now, out),
            (None, true) => self.write_data(now, out),
            (None, false) => false,
        };
        if wrote && self.is_sender() {
            self.on_sent(now);
        }
        wrote
    }

    fn write_data(&mut self, now: Instant, out: &mut Vec<u8>) -> bool {
        let (start, length) = (out.len(), usize::from(self.config.length));
        let Some(data) = self.data.next_data(now) else {
            return false;
        };
        data.write(self.id, out);
        out.resize(start + length, 0x57);
        true
    }
}

#[cfg(test)]
#[path = "session_tests.rs"]
mod tests;
