//! Media over RTP (RFC 3550) with congestion control feedback (RFC 8888), as one end of a session.
//!
//! Each write is the payload of one packet. Packets leave at the rate of the controller, from a
//! queue that RFC 8698 calls the rate-shaping buffer; packets written at one instant belong to one
//! frame, have one timestamp, and the last of them has the marker bit. The receiver reports each
//! packet's arrival and ECN codepoint in constant intervals while packets arrive.
//!
//! There is no handshake: the side that connects is connected at once, the other with its first
//! packet. Packets are not retransmitted. Does not model: RTCP sender and receiver reports and BYE,
//! SDP, encryption (SRTP), several streams in one session, checks of the path's ECN (RFC 6679 §7).

mod clock;
mod history;
mod receiver;
mod session;
#[cfg(test)]
mod tests;
pub mod wire;

pub use session::Session;
pub use wire::{CcFeedback, MediaPacket, Packet};

pub use crate::cc::media::Controller;

use crate::cc::media::Constants;
use crate::packet::{Ecn, IpHeader};
use crate::settings::count;
use crate::time::Duration;
use crate::{keywords, settings};

keywords! {
    /// The ECN codepoint of packets of media.
    #[derive(Default)]
    pub enum EcnCodepoint {
        /// Not ECN-capable.
        #[default]
        Off = "off",
        /// ECT(0), for queues that mark instead of dropping (RFC 6679 §7.2).
        Ect0 = "ect0",
        /// ECT(1): the low-latency queue of L4S (RFC 9331 §4.1).
        Ect1 = "ect1",
    }
}

impl EcnCodepoint {
    /// The codepoint in the IP header.
    pub const fn codepoint(self) -> Ecn {
        match self {
            Self::Off => Ecn::NotEct,
            Self::Ect0 => Ecn::Ect0,
            Self::Ect1 => Ecn::Ect1,
        }
    }
}

settings! {
    /// Media over RTP with congestion control feedback (RFC 8888).
    #[derive(Clone, Debug, PartialEq)]
    pub struct Config {
        /// The congestion controller.
        pub controller: Controller,
        /// From one report of the receiver to the next: DELTA of NADA (RFC 8698 §4.1), 50 to 200 ms
        /// by RFC 8888 §4.
        pub feedback_interval: Duration = Duration::from_millis(100),
        /// The ECN codepoint of media.
        pub ecn: EcnCodepoint,
        /// Packets that may wait to be sent; then a write is refused.
        pub send_queue: u32 = 2000 => count(1..=1_000_000, "packets"),
        /// The constants of the controllers.
        pub constants: Constants [flatten],
        /// The path's MTU in octets, IP header included.
        pub mtu: u32 [internal] = 1500,
        /// The seed of SSRC and first sequence number.
        pub seed: u64 [internal] = 0,
    }
}

/// Octets of the IP and UDP headers below RTP and RTCP.
const LOWER_OCTETS: u32 = IpHeader::V4_OCTETS + IpHeader::UDP_OCTETS;

impl Config {
    /// The largest payload, in octets.
    pub fn max_payload(&self) -> u32 {
        self.mtu.saturating_sub(LOWER_OCTETS + wire::HEADER_OCTETS)
    }
}
