//! Checks of the values that a peer reports about a test: the same limits for all transports and
//! both directions.
//!
//! A receiver cannot have received more than was sent, a sender cannot send more than the rate and
//! the duration of the test permit, and times are finite and not longer than a test. A value beyond
//! its limit, an [`ImplausibleValue`], ends the test. Values within the limits are accepted: a
//! receiver that reports less than it received cannot be distinguished from a path that loses
//! packets.

use super::{FrameStats, ReceptionStats, Report, TestConfig};
use crate::fault::ImplausibleValue;

/// Bits per second of the fastest test.
const MAX_RATE_BPS: f64 = 1e12;
/// The most copies of one datagram that a path may deliver.
const MAX_COPIES: u64 = 1000;
/// Frames per second that no video exceeds.
const MAX_FRAME_RATE: u64 = 1000;

/// The data sent in a test, with which the receiver's Reports are compared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sent {
    /// Datagrams; zero over a stream transport.
    pub datagrams: u64,
    /// Octets of application data.
    pub octets: u64,
}

fn check(what: &'static str, found: u64, [least, most]: [u64; 2]) -> Result<(), ImplausibleValue> {
    if (least..=most).contains(&found) {
        return Ok(());
    }
    let [found, least, most] = [found, least, most].map(|number| number as f64);
    Err(ImplausibleValue {
        what,
        found,
        least,
        most,
    })
}

/// Checks a time in seconds: finite, not negative, not longer than the longest test.
fn check_time(what: &'static str, found: f64) -> Result<(), ImplausibleValue> {
    let most = TestConfig::MAX_DURATION.as_secs_f64();
    if (0.0..=most).contains(&found) {
        return Ok(());
    }
    Err(ImplausibleValue {
        what,
        found,
        least: 0.0,
        most,
    })
}

impl TestConfig {
    /// The most datagrams that a sender sends in the time of the test at its rate: one at the
    /// start, and one for each interval, up to its limit of writes. Media datagrams differ in
    /// length and may be short, and their encoder may exceed its rate for a while.
    pub fn most_datagrams(&self) -> u64 {
        let rate_bps = self.rate_bps.unwrap_or(MAX_RATE_BPS).min(MAX_RATE_BPS);
        let octets = rate_bps / 8.0 * self.duration.as_secs_f64();
        let datagrams = if self.media {
            2.0 * octets + 1000.0
        } else {
            octets / f64::from(self.length.max(1))
        };
        // The cast saturates. Allows for rounding of times, and for a burst that is sent early.
        let in_time = (datagrams as u64).saturating_add(2 + u64::from(self.burst));
        match self.writes {
            0 => in_time,
            writes => in_time.min(writes),
        }
    }

    /// Checks that a datagram of data with this number, timestamp and length can belong to this
    /// test.
    ///
    /// # Errors
    /// The [`ImplausibleValue`].
    pub fn check_data(
        &self,
        number: u64,
        sent_at: u64,
        octets: usize,
    ) -> Result<(), ImplausibleValue> {
        let nanos = u64::try_from(self.duration.as_nanos()).unwrap_or(u64::MAX);
        check("number", number, [0, self.most_datagrams() - 1])?;
        check("timestamp in nanoseconds", sent_at, [0, nanos])?;
        self.check_length(octets)
    }

    /// Checks that a datagram of this test can have this many octets of data.
    ///
    /// # Errors
    /// The [`ImplausibleValue`].
    pub fn check_length(&self, octets: usize) -> Result<(), ImplausibleValue> {
        let most = u64::from(self.length);
        check("octets of a datagram", octets as u64, [0, most])
    }

    /// Checks that a sender can have sent this many datagrams, of which the receiver knows `known`.
    ///
    /// # Errors
    /// The [`ImplausibleValue`].
    pub fn check_sent(&self, sent: u64, known: u64) -> Result<(), ImplausibleValue> {
        check("datagrams sent", sent, [known, self.most_datagrams()])
    }
}

impl Report {
    /// Checks that the receiver of this test can have these counters, given what has been sent.
    ///
    /// # Errors
    /// The first [`ImplausibleValue`].
    pub fn validate(&self, config: &TestConfig, sent: Sent) -> Result<(), ImplausibleValue> {
        let ReceptionStats {
            received,
            octets,
            expected,
            reordered,
            duplicates,
            marked,
            jitter,
        } = self.stats;
        // In the last report the expected datagrams must be those sent.
        let least = if self.last { sent.datagrams } else { 0 };
        check("datagrams expected", expected, [least, sent.datagrams])?;
        check("datagrams received", received, [0, expected])?;
        check("octets received", octets, [0, sent.octets])?;
        check("datagrams reordered", reordered, [0, received])?;
        let copies = sent.datagrams.saturating_mul(MAX_COPIES);
        check("duplicates", duplicates, [0, copies])?;
        let arrived = received.saturating_add(duplicates);
        check("congestion marks", marked, [0, arrived])?;
        check_time("jitter in seconds", jitter)?;
        self.frames
            .map_or(Ok(()), |frames| frames.validate(config, received))
    }
}

impl FrameStats {
    /// Checks that the receiver of this many packets can have these frames.
    fn validate(&self, config: &TestConfig, received: u64) -> Result<(), ImplausibleValue> {
        let seconds = config.duration.as_secs().saturating_add(1);
        let most = seconds.saturating_mul(MAX_FRAME_RATE);
        check("frames", self.frames, [0, most])?;
        let most = self.frames.min(received);
        check("complete frames", self.complete, [0, most])?;
        check("late frames", self.late, [0, self.frames])?;
        check("freezes", self.freezes, [0, self.frames])?;
        check_time("frozen time in seconds", self.frozen_s)?;
        let [median, p95, p99] = self.delay_s;
        for delay in self.delay_s {
            check_time("delay of a frame in seconds", delay)?;
        }
        if median > p95 || p95 > p99 {
            return Err(ImplausibleValue {
                what: "95th percentile of the delay of frames in seconds",
                found: p95,
                least: median,
                most: p99,
            });
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    const CONFIG: TestConfig = TestConfig {
        reverse: false,
        ecn: false,
        media: false,
        length: 125,
        rate_bps: Some(1e6),
        duration: Duration::from_secs(1),
        burst: 0,
        writes: 0,
    };

    #[test]
    fn a_rate_and_a_duration_allow_so_many_datagrams() {
        // A datagram of 1000 bits every millisecond, from 0 to 1000 ms; and one for rounding.
        assert_eq!(CONFIG.most_datagrams(), 1002);
        assert_eq!(CONFIG.check_data(1001, 1_000_000_000, 125), Ok(()));
        for (number, sent_at, octets) in [
            (1002, 0, 125),
            (u64::MAX, 0, 125),
            (0, 1_000_000_001, 125),
            (0, 0, 126),
        ] {
            let found = CONFIG.check_data(number, sent_at, octets);
            assert!(found.is_err(), "{number} {sent_at} {octets}");
        }
        assert_eq!(CONFIG.check_sent(1002, 1002), Ok(()));
        assert!(CONFIG.check_sent(1003, 0).is_err());
        assert!(CONFIG.check_sent(9, 10).is_err());
        let counted = TestConfig {
            writes: 20,
            ..CONFIG
        };
        assert_eq!(counted.check_data(19, 0, 125), Ok(()));
        assert!(counted.check_data(20, 0, 125).is_err());
        let longest = TestConfig {
            rate_bps: None,
            duration: TestConfig::MAX_DURATION,
            media: true,
            ..CONFIG
        };
        // 10^12 bit/s for 86,400 s are 1.08e16 octets.
        assert_eq!(longest.most_datagrams(), 21_600_000_000_001_002);
    }

    #[test]
    fn a_report_that_was_possible_is_believed_and_each_field_has_a_bound() {
        let sent = Sent {
            datagrams: 10,
            octets: 1250,
        };
        let stats = ReceptionStats {
            received: 8,
            octets: 1000,
            expected: 10,
            reordered: 1,
            duplicates: 3,
            marked: 11,
            jitter: 0.25,
        };
        let frames = FrameStats {
            frames: 9,
            complete: 8,
            late: 1,
            freezes: 1,
            frozen_s: 0.5,
            delay_s: [0.01, 0.02, 0.02],
        };
        let report = Report {
            stats,
            last: true,
            frames: Some(frames),
            ..Report::default()
        };
        assert_eq!(report.validate(&CONFIG, sent), Ok(()));
        let lies: [fn(&mut Report); 15] = [
            |report| report.stats.received = 11,
            |report| report.stats.octets = 1251,
            |report| report.stats.expected = 11,
            // The last report must agree with the sender.
            |report| report.stats.expected = 9,
            |report| report.stats.reordered = 9,
            |report| report.stats.duplicates = 10_001,
            |report| report.stats.marked = 12,
            |report| report.stats.jitter = f64::NAN,
            |report| report.stats.jitter = -1e300,
            |report| report.stats.jitter = f64::INFINITY,
            |report| report.frames.as_mut().expect("frames").frames = 2001,
            |report| report.frames.as_mut().expect("frames").complete = 9,
            |report| report.frames.as_mut().expect("frames").late = 10,
            |report| report.frames.as_mut().expect("frames").frozen_s = -0.1,
            |report| report.frames.as_mut().expect("frames").delay_s[0] = 0.03,
        ];
        for (number, lie) in lies.iter().enumerate() {
            let mut report = report;
            lie(&mut report);
            assert!(report.validate(&CONFIG, sent).is_err(), "lie {number}");
        }
    }
}
