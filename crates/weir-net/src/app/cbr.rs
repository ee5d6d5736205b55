//! Writes packets of one size at constant intervals: packet * 8 / rate seconds, exactly.
//!
//! The interval's remainder is carried in units of 1/rate nanoseconds, so that a stream of
//! 1800 bit/s in packets of 22 octets (97.777… ms) does not drift. The first write is due
//! `offset` after the handshake. What happens when the endpoint has no room is a property of the
//! program, not of the protocol, and changes the experiment: see [`OverflowPolicy`].

use super::{
    App, AppEnvironment, AppPair, AppReport, AppSettings, Contradiction,
    MAX_PACKETS_IN_A_MILLISECOND, Session, WriteLoad, check_writes,
};
use weir_proto::endpoint::Endpoint;
use weir_proto::rng::Rng;
use weir_proto::settings::{bit_rate, bytes, count, or_word};
use weir_proto::time::{Duration, Instant};

weir_proto::settings! {
    /// Writes at constant intervals of packet * 8 / rate seconds.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct CbrConfig {
        /// Bytes of one write: the payload of a datagram, or a piece of a stream.
        pub packet: u32 = 1400 => bytes(1..=65_535),
        /// Payload bits per second, such as "64kbit".
        pub rate: u64 [required] = 1 => bit_rate(),
        /// Time from the handshake to the first write.
        pub offset: Duration,
        /// Number of writes, then the connection is closed; "endless" never closes it.
        pub count: Option<u64> => or_word("endless", count(1..=1 << 62, "writes")),
        /// When the transport has no room: "skip" the write, "shift" it and all later ones, or
        /// "catch_up" with the timetable.
        pub when_blocked: OverflowPolicy,
    }
}

weir_proto::keywords! {
    /// What a program does when the transport has no room for a write that is due.
    #[derive(Default)]
    pub enum OverflowPolicy {
        /// A non-blocking socket: the write fails and its data are dropped; the next write is
        /// made at its time. Right for media.
        Skip = "skip",
        /// A blocking socket in a loop of write and sleep: the write waits for room, then the
        /// program sleeps one interval, so that all later writes shift.
        #[default]
        Shift = "shift",
        /// A blocking socket with a timetable: the write waits for room, and the writes that
        /// have become due meanwhile follow at once.
        CatchUp = "catch_up",
    }
}

impl AppSettings for CbrConfig {
    fn build(&self, _environment: AppEnvironment<'_>) -> AppPair {
        AppPair::with_sink(Cbr::new(*self))
    }

    fn is_random(&self) -> bool {
        false
    }

    fn arbitrary(rng: &mut Rng) -> Self {
        Self {
            packet: 40 + rng.below(1461) as u32,
            rate: 10_000 + rng.below(10_000_000),
            offset: Duration::from_nanos(rng.below(1_000_000)),
            count: None,
            when_blocked: OverflowPolicy::Skip,
        }
    }

    fn packet(&self) -> u32 {
        self.packet
    }

    fn load(&self) -> Option<WriteLoad> {
        Some(WriteLoad {
            count: self.count,
            ..WriteLoad::constant(self.rate, self.packet)
        })
    }

    fn check(&self) -> Result<(), Contradiction> {
        // The limit on the rate applies to long streams, not to a burst of a few writes.
        match self.count {
            Some(count) if count < u64::from(MAX_PACKETS_IN_A_MILLISECOND) => Ok(()),
            _ => check_writes(self.rate, self.packet),
        }
    }
}

/// The application.
#[derive(Debug)]
pub struct Cbr {
    config: CbrConfig,
    left: Option<u64>,
    due: Option<Instant>,
    /// The part of the exact time of the next write that exceeds `due`, in 1/rate nanoseconds.
    remainder: u64,
    blocked: bool,
    session: Session,
}

impl Cbr {
    /// An application whose schedule of writes starts at the handshake.
    pub fn new(config: CbrConfig) -> Self {
        Self {
            left: config.count,
            config,
            due: None,
            remainder: 0,
            blocked: false,
            session: Session::default(),
        }
    }

    /// The time of the write after one at `from`; carries the remainder.
    fn next_after(&mut self, from: Instant) -> Instant {
        let rate = u128::from(self.config.rate.max(1));
        let bits = u128::from(self.config.packet.max(1)) * 8;
        let exact = bits * 1_000_000_000 + u128::from(self.remainder);
        self.remainder = (exact % rate) as u64;
        // Time must advance at any rate.
        from + Duration::from_nanos(u64::try_from(exact / rate).unwrap_or(u64::MAX).max(1))
    }

    /// Makes the write that is due, or skips it; false if it must wait for room.
    fn write(&mut self, now: Instant, due: Instant, endpoint: &mut dyn Endpoint) -> bool {
        let may_try = self.session.writable || self.config.when_blocked == OverflowPolicy::Skip;
        let len = self.config.packet;
        let taken = may_try && self.session.write(now, endpoint, len);
        if !taken && (self.session.ended() || self.config.when_blocked != OverflowPolicy::Skip) {
            self.blocked = true;
            return false;
        }
        let mut from = due;
        if !taken {
            self.session.statistics.writes_skipped += 1;
        } else if self.blocked {
            self.blocked = false;
            self.session.statistics.writes_delayed += 1;
            if self.config.when_blocked == OverflowPolicy::Shift {
                from = now;
            }
        }
        self.left = self.left.map(|left| left.saturating_sub(1));
        self.due = Some(self.next_after(from));
        true
    }
}

impl App for Cbr {
    fn poll(&mut self, now: Instant, endpoint: &mut dyn Endpoint) {
        self.session.drain(now, endpoint);
        if self.done() || self.session.statistics.connected_at.is_none() {
            return;
        }
        self.due.get_or_insert(now + self.config.offset);
        while self.left != Some(0) {
            let Some(due) = self.due.filter(|&due| due <= now) else {
                return;
            };
            if !self.write(now, due, endpoint) {
                return;
            }
        }
        self.session.statistics.finished = true;
        endpoint.close(now);
    }

    fn poll_timeout(&self) -> Option<Instant> {
        self.due.filter(|_| !self.blocked && !self.done())
    }

    fn done(&self) -> bool {
        self.session.statistics.finished || self.session.ended()
    }

    fn report(&self, _now: Instant) -> AppReport<'_> {
        self.session.statistics.into()
    }
}
