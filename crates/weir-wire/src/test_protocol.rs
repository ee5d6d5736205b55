//! The control protocol of tests of a path: one for all transports that carry the data.
//!
//! A client asks for a test with one [`Request`](Message::Request). Over a transport with
//! connections, such as DCCP and QUIC, that is all that has to be asked; a receiver whose sender
//! cannot know what arrived sends a [`Report`] from time to time. Plain UDP ([`crate::udp_test`])
//! has no connections, and needs the other messages: to prove the client's address, to keep the
//! test alive, and to agree on its end.
//!
//! All messages begin with a mark, the kind and the test's number, which is zero where a connection
//! tells tests apart; numbers are in network byte order. Nothing here is encrypted.

use std::time::Duration;

const MARK: [u8; 4] = *b"weu1";
/// Mark, kind and number.
const HEAD: usize = 13;
/// Octets of a data message's headers.
pub(crate) const DATA: usize = HEAD + 16;
/// A Request is at least as long as anything that is sent in answer to an unproven address.
const REQUEST: usize = 128;
/// What stands for a rate where there is none.
const NO_RATE: u64 = u64::MAX;
/// Octets of a token.
pub const TOKEN: usize = 16;

/// What a client asks for.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct TestConfig {
    /// The server sends.
    pub reverse: bool,
    /// Datagrams are ECN-capable.
    pub ecn: bool,
    /// Octets of a datagram, or of a write to a stream; at most [`TestConfig::MAX_LENGTH`].
    pub length: u16,
    /// Bits per second of payload, headers of IP and UDP not included; `None` for as much as
    /// congestion control allows.
    pub rate_bps: Option<f64>,
    /// For how long, at most a day.
    pub duration: Duration,
}

impl TestConfig {
    /// What fits IPv4 and UDP.
    pub const MAX_LENGTH: u16 = 65_507;

    fn is_valid(&self) -> bool {
        (1..=Self::MAX_LENGTH).contains(&self.length)
            && self
                .rate_bps
                .is_none_or(|rate| (1.0..=1e12).contains(&rate))
            && self.duration <= Duration::from_hours(24)
    }
}

/// What a receiver has counted.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ReceptionStats {
    /// Different datagrams that came.
    pub received: u64,
    /// Octets of these.
    pub octets: u64,
    /// Datagrams that were sent, as far as the receiver knows.
    pub expected: u64,
    /// Of `received`, those that came after one with a higher number.
    pub reordered: u64,
    /// Datagrams that came again.
    pub duplicates: u64,
    /// Datagrams marked as having met congestion (ECN).
    pub marked: u64,
    /// Interarrival jitter in seconds.
    pub jitter: f64,
}

impl ReceptionStats {
    /// Datagrams that have not come.
    pub const fn lost(&self) -> u64 {
        self.expected.saturating_sub(self.received)
    }
}

/// A message without its head.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Message {
    /// The client wants a test; without a token it is asked to come again with one.
    Request(TestConfig, Option<[u8; TOKEN]>),
    /// The token that proves the client's address.
    Challenge([u8; TOKEN]),
    /// The server has no room for another test.
    Busy,
    /// The test goes on, though there is no data to send.
    Alive,
    /// The head of a datagram of data.
    Data {
        /// From zero on.
        number: u64,
        /// Nanoseconds from the beginning of the data, by the sender's clock.
        sent_at: u64,
    },
    /// The sender has ended.
    End {
        /// Datagrams of data.
        sent: u64,
    },
    /// What the receiver has counted so far.
    Report(Report),
    /// The receiver wants the sender to end.
    Stop,
}

/// What a receiver reports to its sender, in the manner of RTCP (RFC 3550 §6.4).
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Report {
    /// What it has counted.
    pub counts: ReceptionStats,
    /// When the newest datagram was sent, by the sender's clock.
    pub echo: u64,
    /// Nanoseconds from its arrival to this report.
    pub held: u64,
    /// No data will be counted any more.
    pub last: bool,
}

impl Message {
    const fn kind(&self) -> u8 {
        match self {
            Self::Request(..) => 1,
            Self::Challenge(_) => 2,
            Self::Busy => 3,
            Self::Alive => 4,
            Self::Data { .. } => 5,
            Self::End { .. } => 6,
            Self::Report(_) => 7,
            Self::Stop => 8,
        }
    }

    /// The message where a connection tells tests apart.
    pub fn to_octets(&self) -> Vec<u8> {
        let mut octets = Vec::new();
        self.write(0, &mut octets);
        octets
    }

    /// Reads a message where a connection tells tests apart; `None` for anything else.
    pub fn from_octets(octets: &[u8]) -> Option<Self> {
        Self::read(octets).map(|(_, message)| message)
    }

    /// Appends the message; data without its filling.
    pub fn write(&self, id: u64, out: &mut Vec<u8>) {
        let start = out.len();
        out.extend_from_slice(&MARK);
        out.push(self.kind());
        let mut put = |number: u64| out.extend_from_slice(&number.to_be_bytes());
        put(id);
        match self {
            Self::Busy | Self::Alive | Self::Stop => {}
            Self::Data { number, sent_at } => {
                put(*number);
                put(*sent_at);
            }
            Self::End { sent } => put(*sent),
            Self::Report(report) => {
                let counts = &report.counts;
                let numbers = [
                    counts.received,
                    counts.octets,
                    counts.expected,
                    counts.reordered,
                    counts.duplicates,
                    counts.marked,
                    counts.jitter.to_bits(),
                    report.echo,
                    report.held,
                    u64::from(report.last),
                ];
                numbers.into_iter().for_each(put);
            }
            Self::Challenge(token) => out.extend_from_slice(token),
            Self::Request(config, token) => {
                put(u64::try_from(config.duration.as_nanos()).unwrap_or(u64::MAX));
                put(config.rate_bps.map_or(NO_RATE, f64::to_bits));
                put(u64::from(config.length));
                put(u64::from(config.reverse));
                put(u64::from(config.ecn));
                put(u64::from(token.is_some()));
                out.extend_from_slice(&token.unwrap_or_default());
                out.resize(start + REQUEST, 0);
            }
        }
    }

    /// Reads a message and the number of its test; `None` for what is none.
    pub fn read(octets: &[u8]) -> Option<(u64, Self)> {
        let rest = octets.strip_prefix(&MARK)?;
        let (&kind, mut rest) = rest.split_first()?;
        let id = number(&mut rest)?;
        let mut next = || number(&mut rest);
        let message = match kind {
            1 => {
                let config = TestConfig {
                    duration: Duration::from_nanos(next()?),
                    rate_bps: Some(next()?)
                        .filter(|bits| *bits != NO_RATE)
                        .map(f64::from_bits),
                    length: u16::try_from(next()?).ok()?,
                    reverse: next()? == 1,
                    ecn: next()? == 1,
                };
                let proven = next()? == 1;
                let token = *rest.first_chunk::<TOKEN>()?;
                if octets.len() < REQUEST || !config.is_valid() {
                    return None;
                }
                Self::Request(config, proven.then_some(token))
            }
            2 => Self::Challenge(*rest.first_chunk::<TOKEN>()?),
            3 => Self::Busy,
            4 => Self::Alive,
            5 => Self::Data {
                number: next()?,
                sent_at: next()?,
            },
            6 => Self::End { sent: next()? },
            7 => Self::Report(Report {
                counts: ReceptionStats {
                    received: next()?,
                    octets: next()?,
                    expected: next()?,
                    reordered: next()?,
                    duplicates: next()?,
                    marked: next()?,
                    jitter: f64::from_bits(next()?),
                },
                echo: next()?,
                held: next()?,
                last: next()? == 1,
            }),
            8 => Self::Stop,
            _ => return None,
        };
        Some((id, message))
    }
}

fn number(rest: &mut &[u8]) -> Option<u64> {
    let (octets, tail) = rest.split_first_chunk::<8>()?;
    *rest = tail;
    Some(u64::from_be_bytes(*octets))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_survive_the_wire_and_no_part_of_one_is_read_or_fatal() {
        let config = TestConfig {
            reverse: true,
            ecn: false,
            length: 1200,
            rate_bps: Some(1e6),
            duration: Duration::from_millis(1500),
        };
        let counts = ReceptionStats {
            received: 1,
            octets: 2,
            expected: 3,
            reordered: 4,
            duplicates: 5,
            marked: 6,
            jitter: 0.25,
        };
        let report = Report {
            counts,
            echo: 7,
            held: 8,
            last: true,
        };
        let messages = [
            Message::Request(config, None),
            Message::Request(
                TestConfig {
                    rate_bps: None,
                    ..config
                },
                None,
            ),
            Message::Request(config, Some([7; TOKEN])),
            Message::Challenge([9; TOKEN]),
            Message::Busy,
            Message::Alive,
            Message::Data {
                number: 12,
                sent_at: 34,
            },
            Message::End { sent: 56 },
            Message::Report(report),
            Message::Stop,
        ];
        for message in messages {
            let mut octets = Vec::new();
            message.write(0xfeed, &mut octets);
            assert_eq!(Message::read(&octets), Some((0xfeed, message)));
            for end in 0..octets.len() {
                assert_eq!(Message::read(&octets[..end]), None, "{message:?} {end}");
            }
        }
        let [mut asked, mut challenge] = [Vec::new(), Vec::new()];
        Message::Request(config, None).write(1, &mut asked);
        Message::Challenge([0; TOKEN]).write(1, &mut challenge);
        assert!(challenge.len() < asked.len(), "no amplification");
    }

    #[test]
    fn a_request_that_makes_no_sense_is_not_read() {
        let sane = TestConfig {
            reverse: false,
            ecn: false,
            length: 1200,
            rate_bps: Some(1e6),
            duration: Duration::from_secs(1),
        };
        let plans = [
            TestConfig { length: 0, ..sane },
            TestConfig {
                rate_bps: Some(f64::NAN),
                ..sane
            },
            TestConfig {
                rate_bps: Some(0.0),
                ..sane
            },
            TestConfig {
                duration: Duration::from_hours(25),
                ..sane
            },
        ];
        for config in plans {
            let mut octets = Vec::new();
            Message::Request(config, None).write(1, &mut octets);
            assert_eq!(Message::read(&octets), None, "{config:?}");
        }
    }
}
