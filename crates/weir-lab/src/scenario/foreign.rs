//! `{ kind = "quinn", … }` and `{ kind = "noq", … }`: keys of the QUIC implementations of others.
//!
//! This crate does not depend on them: the caller that runs the scenario provides their endpoints
//! in [`TransportRegistry`](crate::run::TransportRegistry).

use weir_proto::cc::window::{self, Constants, REGISTRY, Rules};
use weir_proto::packet::IpHeader;
use weir_proto::settings;
use weir_proto::settings::{Keyword, bytes, count, named, natural, or_word};
use weir_proto::time::Duration;

/// A QUIC implementation of others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ForeignStack {
    /// quinn.
    Quinn,
    /// noq, a fork of it.
    Noq,
}

impl ForeignStack {
    /// All of them.
    pub const ALL: [Self; 2] = [Self::Quinn, Self::Noq];

    /// The kind in scenarios, which is also the name of the library.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Quinn => "quinn",
            Self::Noq => "noq",
        }
    }

    /// The stack of this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|stack| stack.name() == name)
    }

    /// The stack's own controllers, whose names begin with its name.
    pub(crate) const fn controllers(self) -> [Keyword; 2] {
        match self {
            Self::Quinn => [
                Keyword::new("quinn-newreno", "quinn's NewReno"),
                Keyword::new("quinn-cubic", "quinn's CUBIC"),
            ],
            Self::Noq => [
                Keyword::new("noq-newreno", "noq's NewReno"),
                Keyword::new("noq-cubic", "noq's CUBIC"),
            ],
        }
    }

    /// The controllers of this project by their names in the registry, and the stack's own.
    fn all_controllers(self) -> Vec<Keyword> {
        let mut controllers = window::keywords();
        controllers.extend(self.controllers());
        controllers
    }

    /// The name of a controller without that of the stack whose own it is: `cubic` of
    /// `quinn-cubic`.
    pub fn algorithm_of(controller: &str) -> &str {
        let own = Self::ALL.iter().find_map(|stack| {
            let rest = controller.strip_prefix(stack.name())?;
            rest.strip_prefix('-')
        });
        own.unwrap_or(controller)
    }
}

settings! {
    /// What the flows of all these stacks have: both ends alike.
    #[derive(Clone, Debug, PartialEq)]
    pub struct ForeignSettings {
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
}

settings! {
    /// A flow of quinn: both ends alike. The defaults are quinn's own, with Weir's NewReno.
    #[derive(Clone, Debug, PartialEq)]
    pub struct Quinn {
        /// The window controller: one of Weir's, or quinn's own.
        pub controller: &'static str = REGISTRY[0].name
            => named(|| ForeignStack::Quinn.all_controllers()),
        /// The rules of Weir's controllers as one revision has them; those of sending and
        /// acknowledging are quinn's.
        pub rules: &'static str = "rfc9002" => named(|| Rules::PRESETS.into()),
        /// The other settings.
        pub settings: ForeignSettings [flatten],
    }
    preset rules = |quinn: &mut Quinn, name: &str| {
        quinn.settings.overrides = Rules::named(name).unwrap_or_default();
    };
}

settings! {
    /// A flow of noq: both ends alike. The defaults are noq's own, with Weir's NewReno.
    #[derive(Clone, Debug, PartialEq)]
    pub struct Noq {
        /// The window controller: one of Weir's, or noq's own.
        pub controller: &'static str = REGISTRY[0].name
            => named(|| ForeignStack::Noq.all_controllers()),
        /// The rules of Weir's controllers as one revision has them; those of sending and
        /// acknowledging are noq's.
        pub rules: &'static str = "rfc9002" => named(|| Rules::PRESETS.into()),
        /// The other settings.
        pub settings: ForeignSettings [flatten],
    }
    preset rules = |noq: &mut Noq, name: &str| {
        noq.settings.overrides = Rules::named(name).unwrap_or_default();
    };
}

/// A transport that is a stack of others.
#[derive(Clone, Copy, Debug)]
pub struct Foreign<'a> {
    /// Which one.
    pub stack: ForeignStack,
    /// The window controller: one of Weir's, or the stack's own.
    pub controller: &'static str,
    /// The preset of the rules of Weir's controllers.
    pub rules: &'static str,
    /// The other settings.
    pub settings: &'a ForeignSettings,
}

impl<'a> From<&'a Quinn> for Foreign<'a> {
    fn from(quinn: &'a Quinn) -> Self {
        Self {
            stack: ForeignStack::Quinn,
            controller: quinn.controller,
            rules: quinn.rules,
            settings: &quinn.settings,
        }
    }
}

impl<'a> From<&'a Noq> for Foreign<'a> {
    fn from(noq: &'a Noq) -> Self {
        Self {
            stack: ForeignStack::Noq,
            controller: noq.controller,
            rules: noq.rules,
            settings: &noq.settings,
        }
    }
}

impl ForeignSettings {
    /// The maximum UDP payload on a path with this MTU, which includes the IP header.
    pub fn datagram_size(&self, path_mtu: u32) -> u32 {
        let headers = IpHeader::V4_OCTETS + IpHeader::UDP_OCTETS;
        self.max_datagram_size
            .unwrap_or(path_mtu.saturating_sub(headers))
    }
}
