//! Why a test does not come about or ends: what a server refuses, and what a peer lies about.

use std::fmt;
use std::time::Duration;

/// The version of the protocol.
pub(crate) const VERSION: u8 = b'3';

/// Why a server does not take a test.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// It speaks this version of the protocol.
    OtherVersion(u8),
    /// It sends and receives at most so many bits per second.
    Rate(u64),
    /// Its tests take at most so long, in nanoseconds.
    Time(u64),
    /// It takes tests of those only who share its secret.
    NoSecret,
    /// The client has another secret.
    OtherSecret,
    /// It answers each Request with another Challenge.
    Challenges,
    /// A reason of another version.
    Unknown(u64),
}

impl Refusal {
    /// Its code and its value in a message.
    pub(super) const fn numbers(self) -> [u64; 2] {
        match self {
            Self::OtherVersion(version) => [1, version as u64],
            Self::Rate(bps) => [2, bps],
            Self::Time(nanos) => [3, nanos],
            Self::NoSecret => [4, 0],
            Self::OtherSecret => [5, 0],
            Self::Challenges => [6, 0],
            Self::Unknown(code) => [code, 0],
        }
    }

    pub(super) fn read([code, value]: [u64; 2]) -> Self {
        match (code, u8::try_from(value)) {
            (1, Ok(version)) => Self::OtherVersion(version),
            (2, _) => Self::Rate(value),
            (3, _) => Self::Time(value),
            (4, _) => Self::NoSecret,
            (5, _) => Self::OtherSecret,
            (6, _) => Self::Challenges,
            _ => Self::Unknown(code),
        }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::OtherVersion(version) => write!(
                out,
                "speaks version {} of the test protocol, expected {}: give both ends the same \
                 version of weir",
                char::from(*version).escape_default(),
                char::from(VERSION)
            ),
            Self::Rate(bps) => write!(out, "takes tests of at most {bps} bit/s (serve --max-rate)"),
            Self::Time(nanos) => {
                let seconds = Duration::from_nanos(*nanos).as_secs_f64();
                write!(out, "takes tests of at most {seconds} s (serve --max-time)")
            }
            Self::NoSecret => out.write_str("expects a secret, give both ends the same --secret"),
            Self::OtherSecret => out.write_str("has another secret (--secret)"),
            Self::Challenges => out.write_str("answers each Request with another Challenge"),
            Self::Unknown(code) => write!(out, "refuses the test with code {code}"),
        }
    }
}

/// A claim of the peer that cannot be true.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Lie {
    /// What it is about, in the words of a result.
    pub what: &'static str,
    /// What the peer claims.
    pub found: f64,
    /// The least that can be true.
    pub least: f64,
    /// The most that can be true.
    pub most: f64,
}

impl fmt::Display for Lie {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            what,
            found,
            least,
            most,
        } = self;
        write!(out, "{what}: expected {least} to {most}, found {found}")
    }
}
