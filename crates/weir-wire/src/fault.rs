//! Reasons why a test fails: refusals of a server, and impossible values that a peer reports.

use std::fmt;
use std::time::Duration;

/// The version of the test protocol.
pub(crate) const VERSION: u8 = b'3';

/// The reason why a server refuses a test.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// The server uses this version of the protocol.
    OtherVersion(u8),
    /// The server sends and receives at most this many bits per second.
    Rate(u64),
    /// The server limits tests to this many nanoseconds.
    Time(u64),
    /// The server requires a secret, and the client has none.
    NoSecret,
    /// The client's secret differs from the server's.
    OtherSecret,
    /// The server answers each Request with another Challenge.
    Challenges,
    /// A code that this version does not define.
    Unknown(u64),
}

impl Refusal {
    /// The code and the value of the refusal in a message.
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

/// A value reported by the peer that is impossible.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ImplausibleValue {
    /// The name of the value in results.
    pub what: &'static str,
    /// The reported value.
    pub found: f64,
    /// The least possible value.
    pub least: f64,
    /// The largest possible value.
    pub most: f64,
}

impl fmt::Display for ImplausibleValue {
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
