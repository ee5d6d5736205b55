//! `{ kind = "quinn", … }`: keys of the real QUIC implementation quinn.
//!
//! This crate does not depend on quinn: the caller that runs the scenario registers it in
//! [`TransportRegistry`](crate::run::TransportRegistry).

use weir_proto::cc::window::{self, Constants, REGISTRY, Rules};
use weir_proto::packet::IpHeader;
use weir_proto::settings;
use weir_proto::settings::{Keyword, bytes, count, named, natural, or_word};
use weir_proto::time::Duration;

/// The controllers of this project by their names in the registry, and quinn's own.
fn controllers() -> Vec<Keyword> {
    let mut controllers = window::keywords();
    controllers.extend([
        Keyword::new("quinn-newreno", "quinn's NewReno"),
        Keyword::new("quinn-cubic", "quinn's CUBIC"),
    ]);
    controllers
}

settings! {
    /// A flow of quinn: both ends alike. The defaults are quinn's own, with Weir's NewReno.
    #[derive(Clone, Debug, PartialEq)]
    pub struct Quinn {
        /// The window controller: one of Weir's, or quinn's own.
        pub controller: &'static str = REGISTRY[0].name => named(controllers),
        /// The rules of Weir's controllers as one revision has them; those of sending and
        /// acknowledging are quinn's.
        pub rules: &'static str = "rfc9002" => named(|| Rules::PRESETS.into()),
        /// Single rules, on top of `rules`.
        pub overrides: Rules,
        /// The constants of the controllers.
        pub constants: Constants [flatten],
        /// Initial window of Weir's controllers in bytes; "rfc9002" is min(10 packets, max(2
        /// packets, 14720)).
        pub initial_window: Option<u64> => or_word("rfc9002", bytes(1..=1 << 40)),
        /// Bytes of the largest datagram without IP and UDP headers; "path" takes what the path's
        /// MTU allows.
        pub max_datagram_size: Option<u32> => or_word("path", bytes(1200..=65_507)),
        /// Ack-eliciting packets for each acknowledgement, asked of the receiver by
        /// draft-ietf-quic-ack-frequency; "receiver" leaves it to the receiver.
        pub ack_every: Option<u32> => or_word("receiver", count(1..=1000, "packets")),
        /// Bytes of the stream that the receiver takes in advance.
        pub stream_window: u64 = 1_250_000 => bytes(1..=1 << 40),
        /// Bytes that the application may have unacknowledged.
        pub send_window: u64 = 10_000_000 => bytes(1..=1 << 40),
        /// Packets are ECN-capable.
        pub ecn: bool = true,
        /// Ends the connection after this duration without a packet, or "never".
        pub idle_timeout: Option<Duration> = Some(Duration::from_secs(30))
            => or_word("never", natural()),
    }
    preset rules = |quinn: &mut Quinn, name: &str| {
        quinn.overrides = Rules::named(name).unwrap_or_default();
    };
}

impl Quinn {
    /// The maximum UDP payload on a path with this MTU, which includes the IP header.
    pub fn datagram_size(&self, path_mtu: u32) -> u32 {
        let headers = IpHeader::V4_OCTETS + IpHeader::UDP_OCTETS;
        self.max_datagram_size
            .unwrap_or(path_mtu.saturating_sub(headers))
    }
}
