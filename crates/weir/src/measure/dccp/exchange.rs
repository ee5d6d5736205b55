//! What the two ends of a test over DCCP have told each other, as a state without clock and
//! connection.

use super::super::report::Delivery;
use std::time::{Duration, Instant};
use weir_wire::test_protocol::{Lie, Message, ReceptionStats, Report, Sent, TestConfig};

/// The counts of one end, and what it knows of the other's.
#[derive(Clone, Copy, Debug, Default)]
pub struct Exchange {
    sends: bool,
    /// What both ends have agreed on, if they have.
    request: Option<TestConfig>,
    /// The first claim of the peer that cannot be true.
    lie: Option<Lie>,
    /// Octets of control messages that this end has handed over, which are no data.
    control_octets: u64,
    /// What the receiver got: counted here, or by its newest Report.
    received: ReceptionStats,
    /// The receiver has reported, or this end is the receiver.
    is_reported: bool,
    /// The receiver's counts are final: it has had the End.
    is_complete: bool,
    /// Datagrams of data that the sender has sent, by its End.
    sent: Option<u64>,
    /// The receiver asks the sender to end.
    stop: bool,
}

/// What a datagram was.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Arrival {
    /// Data, which is counted.
    Data,
    /// The client asks for the test again.
    Request,
    /// The sender has sent its last datagram and waits for the last Report.
    End,
    /// The peer is there.
    News,
}

impl Exchange {
    /// Of the end that sends as the request says, or of the other.
    pub fn new(request: TestConfig, sends: bool) -> Self {
        Self {
            sends,
            request: Some(request),
            is_reported: !sends,
            ..Self::default()
        }
    }

    /// Takes a datagram of the peer, when this end has sent so much data.
    pub fn take(&mut self, datagram: &[u8], sent: Sent) -> Arrival {
        let checked = match Message::from_octets(datagram) {
            Some(message) => self.take_message(&message, sent),
            None => self.take_data(datagram.len()),
        };
        checked.unwrap_or_else(|lie| {
            self.lie = self.lie.or(Some(lie));
            Arrival::News
        })
    }

    fn take_data(&mut self, octets: usize) -> Result<Arrival, Lie> {
        if let (Some(request), false) = (&self.request, self.sends) {
            request.check_length(octets)?;
            if let Some(sent) = self.sent {
                request.check_sent(sent, self.received.received.saturating_add(1))?;
            }
        }
        if !self.sends {
            self.received.received += 1;
            self.received.octets += octets as u64;
        }
        Ok(Arrival::Data)
    }

    fn take_message(&mut self, message: &Message, written: Sent) -> Result<Arrival, Lie> {
        match message {
            Message::Request(..) => return Ok(Arrival::Request),
            Message::End { sent } if !self.sends => {
                if let Some(request) = &self.request {
                    request.check_sent(*sent, self.received.received)?;
                }
                self.sent = Some(*sent);
                self.is_complete = true;
                return Ok(Arrival::End);
            }
            Message::Report(report) if self.sends => {
                report.validate(&self.request.unwrap_or_default(), written)?;
                self.take_report(report);
            }
            Message::Stop if self.sends => self.stop = true,
            _ => {}
        }
        Ok(Arrival::News)
    }

    fn take_report(&mut self, report: &Report) {
        // Datagrams may overtake each other.
        if report.stats.received >= self.received.received {
            self.received = report.stats;
        }
        self.is_reported = true;
        self.is_complete |= report.last;
    }

    /// Counts a control message of so many octets that this end sends.
    pub const fn count_control(&mut self, octets: usize) {
        self.control_octets += octets as u64;
    }

    /// The receiver's Report.
    pub fn report(&self) -> Message {
        let expected = self.sent.unwrap_or(self.received.received);
        Message::Report(Report {
            stats: ReceptionStats {
                expected,
                ..self.received
            },
            last: self.is_complete,
            ..Report::default()
        })
    }

    /// Octets of data among all that have been sent.
    pub const fn data_octets(&self, payload_sent: u64) -> u64 {
        payload_sent.saturating_sub(self.control_octets)
    }

    /// The receiver's counts are final.
    pub const fn is_complete(&self) -> bool {
        self.is_complete
    }

    /// The receiver asks the sender to end.
    pub const fn is_stopped(&self) -> bool {
        self.stop
    }

    /// What the peer has claimed that cannot be true.
    pub const fn lie(&self) -> Option<Lie> {
        self.lie
    }

    /// What the receiver has, as far as this end knows.
    pub fn received(&self) -> Option<ReceptionStats> {
        self.is_reported.then_some(self.received)
    }

    /// Datagrams that were sent, and how many of them the receiver does not have; `None` while the
    /// two ends do not agree. `written` are those that this end has sent.
    pub fn lost(&self, written: u64) -> Option<(u64, u64)> {
        let sent = if self.sends { written } else { self.sent? };
        let lost = sent.saturating_sub(self.received.received);
        self.is_complete.then_some((sent, lost))
    }

    /// The octets of both ends; datagrams have this length, and this end has sent so many octets.
    pub fn delivery(&self, length: u16, payload_sent: u64) -> Delivery {
        let told = self.sent.map(|sent| sent.saturating_mul(u64::from(length)));
        Delivery {
            sent: if self.sends {
                Some(self.data_octets(payload_sent))
            } else {
                told
            },
            received: self.received().map(|received| received.octets),
            complete: self.is_complete && self.lie.is_none(),
        }
    }
}

/// How long a sender has sent no more data.
#[derive(Clone, Copy, Debug)]
pub struct Progress {
    octets: u64,
    since: Instant,
}

impl Progress {
    /// Of a sender of which nothing is known before this time.
    pub const fn new(now: Instant) -> Self {
        Self {
            octets: 0,
            since: now,
        }
    }

    /// Takes the [octets of data](Exchange::data_octets) that have been sent by now; returns for
    /// how long there have been no more. Control messages count when they are handed over and
    /// octets when they are sent, so that each End that waits makes the data seem less until it
    /// leaves: to come back from there is no progress.
    pub fn stalled_for(&mut self, octets: u64, now: Instant) -> Duration {
        if octets > self.octets {
            *self = Self { octets, since: now };
        }
        now.saturating_duration_since(self.since)
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::lying_peer::told;
    use super::*;
    use proptest::prelude::*;
    use weir_wire::test_protocol::Refusal;

    #[test]
    fn an_end_that_waits_and_leaves_is_no_progress() {
        let began = Instant::now();
        let at = |secs| began + Duration::from_secs(secs);
        let mut progress = Progress::new(began);
        // Data is sent for a second. Then an End waits, leaves, and another one waits and leaves.
        let told = [
            (1000, 1, 0),
            (972, 2, 1),
            (1000, 3, 2),
            (972, 4, 3),
            (1000, 5, 4),
        ];
        for (octets, secs, stalled) in told {
            let found = progress.stalled_for(octets, at(secs));
            assert_eq!(found, Duration::from_secs(stalled), "after {secs} s");
        }
        assert_eq!(progress.stalled_for(1100, at(6)), Duration::ZERO);
    }

    const LENGTH: u16 = 100;
    const SENT: Sent = Sent {
        datagrams: 10,
        octets: 1000,
    };

    fn request() -> TestConfig {
        TestConfig {
            length: LENGTH,
            // A datagram each millisecond.
            rate_bps: Some(800_000.0),
            duration: Duration::from_secs(1),
            ..TestConfig::default()
        }
    }

    fn report(received: u64, last: bool) -> Vec<u8> {
        let stats = ReceptionStats {
            received,
            octets: received * u64::from(LENGTH),
            expected: if last { 10 } else { received },
            ..ReceptionStats::default()
        };
        let report = Report {
            stats,
            last,
            ..Report::default()
        };
        Message::Report(report).to_octets()
    }

    #[test]
    fn a_sender_knows_what_arrived_by_the_newest_report_and_what_is_lost_by_the_last() {
        let mut sender = Exchange::new(request(), true);
        sender.count_control(128);
        assert_eq!(sender.delivery(LENGTH, 1128).received, None);
        for (datagram, received, complete) in [
            (report(0, false), 0, false),
            (report(7, false), 700, false),
            // One that was overtaken.
            (report(3, false), 700, false),
            (report(8, true), 800, true),
        ] {
            assert_eq!(sender.take(&datagram, SENT), Arrival::News);
            let expected = Delivery {
                sent: Some(1000),
                received: Some(received),
                complete,
            };
            assert_eq!(sender.delivery(LENGTH, 1128), expected);
            let lost = complete.then_some((10, 2));
            assert_eq!(sender.lost(10), lost);
        }
        assert!(!sender.is_stopped());
        sender.take(&Message::Stop.to_octets(), SENT);
        assert!(sender.is_stopped());
    }

    #[test]
    fn a_receiver_counts_data_and_answers_the_end_with_the_last_report() {
        let mut receiver = Exchange::new(request(), false);
        for _ in 0..3 {
            assert_eq!(
                receiver.take(&[0x57; LENGTH as usize], Sent::default()),
                Arrival::Data
            );
        }
        let last = |exchange: &Exchange| match exchange.report() {
            Message::Report(report) => (report.last, report.stats.received, report.stats.expected),
            other => panic!("{other:?}"),
        };
        assert_eq!(last(&receiver), (false, 3, 3));
        assert_eq!(receiver.lost(0), None);
        let end = Message::End { sent: 5 }.to_octets();
        assert_eq!(receiver.take(&end, Sent::default()), Arrival::End);
        assert_eq!(last(&receiver), (true, 3, 5));
        assert_eq!(receiver.lost(0), Some((5, 2)));
        let expected = Delivery {
            sent: Some(500),
            received: Some(300),
            complete: true,
        };
        assert_eq!(receiver.delivery(LENGTH, 0), expected);
    }

    /// Every message that an honest peer may send in a test of ten datagrams, and data.
    fn honest() -> Vec<Vec<u8>> {
        let data = Message::Data {
            number: 1,
            sent_at: 1,
        };
        vec![
            report(3, false),
            report(3, true),
            Message::End { sent: 10 }.to_octets(),
            data.to_octets(),
            Message::Request(request(), None).to_octets(),
            Message::Challenge(Default::default()).to_octets(),
            Message::Busy.to_octets(),
            Message::Alive.to_octets(),
            Message::OtherMedia.to_octets(),
            Message::Refused(Refusal::Rate(1)).to_octets(),
            Message::Stop.to_octets(),
            vec![0x57; LENGTH.into()],
        ]
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(3000))]

        #[test]
        fn whatever_a_peer_claims_the_counts_are_possible(
            sends: bool,
            told in prop::collection::vec(told(honest()), 1..12),
        ) {
            let mut end = Exchange::new(request(), sends);
            let mut has_reason = false;
            for datagram in &told {
                has_reason |= match Message::from_octets(datagram) {
                    Some(Message::Report(report)) => sends && report.last,
                    Some(Message::End { .. }) => !sends,
                    _ => false,
                };
                end.take(datagram, SENT);
                let delivery = end.delivery(LENGTH, SENT.octets);
                let most = delivery.sent.unwrap_or(1002 * 100);
                prop_assert!(most <= 1002 * 100);
                prop_assert!(delivery.received.unwrap_or_default() <= most);
                prop_assert!(!delivery.complete || (has_reason && end.lie().is_none()));
                let received = end.received().unwrap_or_default();
                let bound = if sends { SENT.datagrams } else { 1002 };
                prop_assert!(received.received <= bound, "{:?}", received);
                prop_assert!(received.jitter.is_finite() && received.jitter >= 0.0);
                if let Some((sent, lost)) = end.lost(SENT.datagrams) {
                    prop_assert!(lost <= sent && sent <= bound);
                }
            }
        }
    }

    #[test]
    fn a_claim_that_cannot_be_true_is_kept_as_a_lie() {
        let lies = |sends: bool, told: &[Vec<u8>]| {
            let mut end = Exchange::new(request(), sends);
            for datagram in told {
                end.take(datagram, SENT);
            }
            end.lie().is_some()
        };
        let end = |sent| Message::End { sent }.to_octets();
        let data = vec![0x57; LENGTH.into()];
        assert!(lies(true, &[report(11, false)]));
        assert!(lies(false, &[end(u64::MAX)]));
        assert!(lies(false, &[vec![0x57; 101]]));
        assert!(lies(false, &[data.clone(), data.clone(), end(1)]));
        assert!(lies(false, &[end(1), data.clone(), data.clone()]));
        assert!(!lies(false, &[end(2), data.clone(), data]));
    }
}
