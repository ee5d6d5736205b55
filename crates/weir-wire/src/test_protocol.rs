//! The control protocol of throughput and loss tests, the same for all transports.
//!
//! A client requests a test with a [`Request`](Message::Request). Over a transport with
//! connections, such as DCCP and QUIC, this is the only request; if the sender cannot know which
//! data was received, the receiver sends periodic [`Report`]s. Plain UDP ([`crate::udp_test`]) has
//! no connections and needs the other messages: to validate the client's address, to keep the test
//! alive, and to agree on its end.
//!
//! Each end is a [`Session`], which has neither a clock nor a socket, over a [`DataPath`].
//!
//! Each message begins with a magic number, its kind and the test's number, which is zero if each
//! test has its own connection; numbers are in network byte order. Messages are not encrypted. The
//! magic number ends with the version of the protocol. A Request of another version is answered
//! with [`Message::Refused`], whose layout is the same in all versions from 3 on.

mod admission;
mod counted;
mod data_path;
mod end_reason;
mod pacing;
mod plausibility;
mod session;
pub(crate) mod timeouts;

pub use crate::fault::{ImplausibleValue, Refusal};
pub use admission::{Admission, Answer, Secret, random_token};
pub(crate) use admission::{PendingRequest, RequestOutcome};
pub use counted::Counted;
pub use data_path::{DataPath, DataPathCounts, TestStats};
pub use end_reason::EndReason;
pub use pacing::Pacing;
pub use plausibility::Sent;
pub use session::{Admitting, Channel, Opening, Session};
pub use timeouts::{CLOSE_TIMEOUT, REQUEST_TIMEOUT, STREAM_DRAIN_TIMEOUT};

use crate::fault::VERSION;
use crate::keyed_tag::TAG_OCTETS;
use admission::PROOF_OCTETS;
use std::time::Duration;

const FAMILY: [u8; 3] = *b"weu";
const MAGIC: [u8; 4] = [FAMILY[0], FAMILY[1], FAMILY[2], VERSION];
/// The kind of a Request, the same in all versions, and the kind of a refusal.
const KIND_REQUEST: u8 = 1;
const KIND_REFUSED: u8 = 10;
/// Octets of the magic number, the kind and the test's number.
const HEADER: usize = 13;
/// Octets of a data message without its padding.
pub(crate) const DATA_HEADER: usize = HEADER + 16;
/// Octets of a Request, which is longer than any answer to an address that is not validated.
const REQUEST: usize = 160;
/// The encoding of a rate of `None`.
const NO_RATE: u64 = u64::MAX;

/// A token that validates a client's address.
pub type Token = [u8; TAG_OCTETS];

/// The parameters of a test.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct TestConfig {
    /// The server sends instead of the client.
    pub reverse: bool,
    /// Datagrams are ECN-capable.
    pub ecn: bool,
    /// Over UDP: media, such as video over RTP, instead of [`Message::Data`].
    pub media: bool,
    /// Octets of a datagram, or of a write to a stream; at most [`TestConfig::MAX_LENGTH`].
    pub length: u16,
    /// Bits per second of payload, without IP and UDP headers; `None` for as much as congestion
    /// control permits.
    pub rate_bps: Option<f64>,
    /// The time to send, at most a day.
    pub duration: Duration,
    /// Datagrams or writes of a constant rate that are sent together; 0 and 1 send each separately.
    pub burst: u16,
    /// Datagrams or writes after which the sender ends; 0 for no limit.
    pub writes: u64,
}

impl TestConfig {
    /// The largest payload of UDP over IPv4.
    pub const MAX_LENGTH: u16 = 65_507;
    /// The longest duration.
    pub const MAX_DURATION: Duration = Duration::from_hours(24);

    fn is_valid(&self) -> bool {
        (1..=Self::MAX_LENGTH).contains(&self.length)
            && self
                .rate_bps
                .is_none_or(|rate| (1.0..=1e12).contains(&rate))
            && self.duration <= Self::MAX_DURATION
    }
}

/// The counters of a receiver.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ReceptionStats {
    /// Datagrams received, without duplicates.
    pub received: u64,
    /// Octets of these.
    pub octets: u64,
    /// Datagrams that the sender has sent, to the receiver's knowledge.
    pub expected: u64,
    /// Datagrams among these that arrived after one with a higher number.
    pub reordered: u64,
    /// Datagrams received again.
    pub duplicates: u64,
    /// Datagrams with the ECN codepoint CE.
    pub marked: u64,
    /// Interarrival jitter in seconds.
    pub jitter: f64,
}

impl ReceptionStats {
    /// Datagrams sent and not received.
    pub const fn lost(&self) -> u64 {
        self.expected.saturating_sub(self.received)
    }
}

/// The reception of a video.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct FrameStats {
    /// Frames that were captured, to the receiver's knowledge.
    pub frames: u64,
    /// Frames of which every packet arrived.
    pub complete: u64,
    /// Complete frames whose delay was longer than the deadline.
    pub late: u64,
    /// Freezes: intervals between two shown frames that were much longer than those before them.
    pub freezes: u64,
    /// The sum of these intervals in seconds.
    pub frozen_s: f64,
    /// Median, 95th and 99th percentile of the delay of complete frames in seconds, relative to the
    /// shortest delay of a frame in the test, because the two ends have no common clock. Zero
    /// without frames.
    pub delay_s: [f64; 3],
}

/// A message without its header.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Message {
    /// The client requests a test. Over UDP, without a valid token the server answers with a
    /// Challenge, and so does a server with a secret over any transport.
    Request(TestConfig, Option<Answer>),
    /// The token with which the client must repeat its Request.
    Challenge(Token),
    /// The server already runs as many tests as it allows.
    Busy,
    /// The server's tests use media and the client asks for data, or vice versa.
    OtherMedia,
    /// The test has been accepted, or continues without data at the moment.
    Alive,
    /// The header of a datagram of data.
    Data {
        /// The datagram's number, starting at zero.
        number: u64,
        /// The timestamp: nanoseconds since the start of the data.
        sent_at: u64,
    },
    /// The sender has sent its last datagram.
    End {
        /// The number of data datagrams that it has sent.
        sent: u64,
    },
    /// The receiver's counters so far.
    Report(Report),
    /// The receiver asks the sender to end.
    Stop,
    /// The server refuses the test.
    Refused(Refusal),
}

/// A receiver's report to the sender, like those of RTCP (RFC 3550 §6.4).
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Report {
    /// The receiver's counters.
    pub stats: ReceptionStats,
    /// The timestamp of the newest datagram.
    pub echo: u64,
    /// Nanoseconds from its arrival to this report.
    pub held: u64,
    /// The stats are final.
    pub last: bool,
    /// The reception of a video, in the last report of a test that carries one.
    pub frames: Option<FrameStats>,
}

impl Message {
    const fn kind(&self) -> u8 {
        match self {
            Self::Request(..) => KIND_REQUEST,
            Self::Challenge(_) => 2,
            Self::Busy => 3,
            Self::Alive => 4,
            Self::Data { .. } => 5,
            Self::End { .. } => 6,
            Self::Report(_) => 7,
            Self::Stop => 8,
            Self::OtherMedia => 9,
            Self::Refused(_) => KIND_REFUSED,
        }
    }

    /// Encodes a message of a test with its own connection.
    pub fn to_octets(&self) -> Vec<u8> {
        let mut octets = Vec::new();
        self.write(0, &mut octets);
        octets
    }

    /// Decodes a message of a test with its own connection; `None` if the octets are not a message.
    pub fn from_octets(octets: &[u8]) -> Option<Self> {
        Self::read(octets).map(|(_, message)| message)
    }

    /// Appends the message of the test with this number; data without its padding.
    pub fn write(&self, id: u64, out: &mut Vec<u8>) {
        let start = out.len();
        out.extend_from_slice(&MAGIC);
        out.push(self.kind());
        let mut put = |number: u64| out.extend_from_slice(&number.to_be_bytes());
        put(id);
        match self {
            Self::Busy | Self::OtherMedia | Self::Alive | Self::Stop => {}
            Self::Data { number, sent_at } => {
                put(*number);
                put(*sent_at);
            }
            Self::End { sent } => put(*sent),
            Self::Report(report) => {
                let stats = &report.stats;
                let numbers = [
                    stats.received,
                    stats.octets,
                    stats.expected,
                    stats.reordered,
                    stats.duplicates,
                    stats.marked,
                    stats.jitter.to_bits(),
                    report.echo,
                    report.held,
                    u64::from(report.last),
                    u64::from(report.frames.is_some()),
                ];
                numbers.into_iter().for_each(&mut put);
                report.frames.iter().for_each(|frames| {
                    frames.numbers().into_iter().for_each(&mut put);
                });
            }
            Self::Refused(refusal) => refusal.numbers().into_iter().for_each(&mut put),
            Self::Challenge(token) => out.extend_from_slice(token),
            Self::Request(config, answer) => {
                put(weir_proto::time::Duration::from(config.duration).as_nanos());
                put(config.rate_bps.map_or(NO_RATE, f64::to_bits));
                put(u64::from(config.length));
                put(u64::from(config.reverse));
                put(u64::from(config.ecn));
                put(u64::from(config.media));
                put(u64::from(config.burst));
                put(config.writes);
                put(u64::from(answer.is_some()));
                let proof = answer.and_then(|answer| answer.proof);
                put(u64::from(proof.is_some()));
                out.extend_from_slice(&answer.map(|answer| answer.token).unwrap_or_default());
                out.extend_from_slice(&proof.unwrap_or_default());
                out.resize(start + REQUEST, 0);
            }
        }
    }

    /// Reads a message and the number of its test; `None` if the octets are not a message.
    pub fn read(octets: &[u8]) -> Option<(u64, Self)> {
        let rest = octets.strip_prefix(&FAMILY)?;
        let (&version, rest) = rest.split_first()?;
        let (&kind, mut rest) = rest.split_first()?;
        let id = number(&mut rest)?;
        if version != VERSION && kind != KIND_REFUSED {
            return None;
        }
        let mut next = || number(&mut rest);
        let message = match kind {
            KIND_REQUEST => {
                let config = TestConfig {
                    duration: Duration::from_nanos(next()?),
                    rate_bps: Some(next()?)
                        .filter(|bits| *bits != NO_RATE)
                        .map(f64::from_bits),
                    length: u16::try_from(next()?).ok()?,
                    reverse: next()? == 1,
                    ecn: next()? == 1,
                    media: next()? == 1,
                    burst: u16::try_from(next()?).ok()?,
                    writes: next()?,
                };
                let [has_answer, has_proof] = [next()? == 1, next()? == 1];
                let (token, rest) = rest.split_first_chunk::<TAG_OCTETS>()?;
                let proof = *rest.first_chunk::<PROOF_OCTETS>()?;
                if octets.len() < REQUEST || !config.is_valid() {
                    return None;
                }
                let answer = Answer {
                    token: *token,
                    proof: has_proof.then_some(proof),
                };
                Self::Request(config, has_answer.then_some(answer))
            }
            2 => Self::Challenge(*rest.first_chunk::<TAG_OCTETS>()?),
            3 => Self::Busy,
            4 => Self::Alive,
            5 => Self::Data {
                number: next()?,
                sent_at: next()?,
            },
            6 => Self::End { sent: next()? },
            7 => Self::Report(Report {
                stats: ReceptionStats {
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
                frames: match next()? {
                    1 => Some(FrameStats::read(&mut next)?),
                    _ => None,
                },
            }),
            8 => Self::Stop,
            9 => Self::OtherMedia,
            KIND_REFUSED => Self::Refused(Refusal::read([next()?, next()?])),
            _ => return None,
        };
        Some((id, message))
    }

    /// The answer to a Request of another version, which is shorter; `None` if the octets are not
    /// one.
    pub fn answer_other_version(octets: &[u8]) -> Option<(u64, Self)> {
        let rest = octets.strip_prefix(&FAMILY)?;
        let (&version, rest) = rest.split_first()?;
        let mut rest = rest.strip_prefix(&[KIND_REQUEST])?;
        let id = number(&mut rest)?;
        let is_other = version != VERSION && octets.len() >= REQUEST;
        is_other.then_some((id, Self::Refused(Refusal::OtherVersion(VERSION))))
    }
}

impl FrameStats {
    fn numbers(&self) -> [u64; 8] {
        let [median, p95, p99] = self.delay_s.map(f64::to_bits);
        [
            self.frames,
            self.complete,
            self.late,
            self.freezes,
            self.frozen_s.to_bits(),
            median,
            p95,
            p99,
        ]
    }

    fn read(next: &mut impl FnMut() -> Option<u64>) -> Option<Self> {
        Some(Self {
            frames: next()?,
            complete: next()?,
            late: next()?,
            freezes: next()?,
            frozen_s: f64::from_bits(next()?),
            delay_s: [next()?, next()?, next()?].map(f64::from_bits),
        })
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

    const CONFIG: TestConfig = TestConfig {
        reverse: true,
        ecn: false,
        media: true,
        length: 1200,
        rate_bps: Some(1e6),
        duration: Duration::from_millis(1500),
        burst: 20,
        writes: 77,
    };
    const REPORT: Report = Report {
        stats: ReceptionStats {
            received: 1,
            octets: 2,
            expected: 3,
            reordered: 4,
            duplicates: 5,
            marked: 6,
            jitter: 0.25,
        },
        echo: 7,
        held: 8,
        last: true,
        frames: None,
    };
    const FRAMES: FrameStats = FrameStats {
        frames: 10,
        complete: 9,
        late: 2,
        freezes: 1,
        frozen_s: 0.5,
        delay_s: [0.01, 0.02, 0.03],
    };

    fn messages() -> Vec<Message> {
        vec![
            Message::Request(CONFIG, None),
            Message::Request(
                TestConfig {
                    rate_bps: None,
                    ..CONFIG
                },
                None,
            ),
            Message::Request(CONFIG, Some([7; TAG_OCTETS].into())),
            Message::Request(
                CONFIG,
                Some(Answer {
                    token: [7; TAG_OCTETS],
                    proof: Some([8; PROOF_OCTETS]),
                }),
            ),
            Message::Refused(Refusal::Rate(1000)),
            Message::Refused(Refusal::OtherVersion(b'4')),
            Message::Challenge([9; TAG_OCTETS]),
            Message::Busy,
            Message::OtherMedia,
            Message::Alive,
            Message::Data {
                number: 12,
                sent_at: 34,
            },
            Message::End { sent: 56 },
            Message::Report(REPORT),
            Message::Report(Report {
                frames: Some(FRAMES),
                ..REPORT
            }),
            Message::Stop,
        ]
    }

    #[test]
    fn read_undoes_write_and_a_part_of_a_message_is_not_read() {
        for message in messages() {
            let mut octets = Vec::new();
            message.write(0xfeed, &mut octets);
            assert_eq!(Message::read(&octets), Some((0xfeed, message)));
            for end in 0..octets.len() {
                assert_eq!(Message::read(&octets[..end]), None, "{message:?} {end}");
            }
        }
    }

    #[test]
    fn a_challenge_is_shorter_than_a_request() {
        let [mut request, mut challenge] = [Vec::new(), Vec::new()];
        Message::Request(TestConfig::default(), None).write(1, &mut request);
        Message::Challenge([0; TAG_OCTETS]).write(1, &mut challenge);
        assert!(challenge.len() < request.len(), "no amplification");
    }

    #[test]
    fn a_request_of_another_version_is_refused_in_a_format_of_all_versions() {
        let mut octets = Vec::new();
        Message::Request(TestConfig::default(), None).write(5, &mut octets);
        assert_eq!(Message::answer_other_version(&octets), None);
        octets[3] = b'2';
        assert_eq!(Message::read(&octets), None);
        let (id, refused) = Message::answer_other_version(&octets).expect("an answer");
        let mut answer = Vec::new();
        refused.write(id, &mut answer);
        assert!(answer.len() < octets.len(), "no amplification");
        // Decoded as by a client of that version.
        assert_eq!(answer[3], b'3');
        answer[3] = b'9';
        let refused = Message::Refused(Refusal::OtherVersion(b'3'));
        assert_eq!(Message::read(&answer), Some((5, refused)));
    }

    #[test]
    fn an_invalid_request_is_not_read() {
        let valid = TestConfig {
            reverse: false,
            ecn: false,
            media: false,
            length: 1200,
            rate_bps: Some(1e6),
            duration: Duration::from_secs(1),
            ..TestConfig::default()
        };
        let plans = [
            TestConfig { length: 0, ..valid },
            TestConfig {
                rate_bps: Some(f64::NAN),
                ..valid
            },
            TestConfig {
                rate_bps: Some(0.0),
                ..valid
            },
            TestConfig {
                duration: Duration::from_hours(25),
                ..valid
            },
        ];
        for config in plans {
            let mut octets = Vec::new();
            Message::Request(config, None).write(1, &mut octets);
            assert_eq!(Message::read(&octets), None, "{config:?}");
        }
    }
}
