//! The rules in which window-controlled senders differ, each a named switch.
//!
//! A preset is named by what it reproduces. `inet-2025` is the simulation model behind the
//! published lossy-link experiment (early 2025), `inet-now` the same model since 13 March 2025,
//! `rfc9002` the RFC's pseudocode, to which QUIC adds pacing. Any field may be changed on top of
//! a preset, so that the effect of one rule can be studied alone.

use super::{CarefulResumeConfig, Pacing, RateLimitedGrowth};
use crate::settings::{Keyword, count, or_table, or_word};
use crate::{keywords, settings};

keywords! {
    /// Which packets belong to the flight that met a loss.
    pub enum RecoveryBoundary {
        /// Those sent at or before the start of recovery (RFC 9002 appendix B.5).
        AtOrBefore = "at-or-before",
        /// Those sent before it: packets of the very instant count as sent after it.
        Before = "before",
    }

    /// How NewReno grows in congestion avoidance.
    pub enum Increase {
        /// One packet when the count of acknowledged octets comes within a packet of the window;
        /// tested for each acknowledged packet.
        Accurate = "accurate",
        /// `max_datagram_size * acked / cwnd` for each acknowledged packet, with the remainder of
        /// the division kept (RFC 9002 appendix B.5).
        Approximate = "approximate",
        /// One packet when the count reaches the window, the rest of the count kept (RFC 3465 §2.1,
        /// which RFC 9002 appendix B.5 names as the alternative).
        ByteCounting = "byte-counting",
    }

    /// alpha of CUBIC's Reno-friendly region once W_est has come back to cwnd_prior.
    pub enum CubicAlpha {
        /// It rises to 1 (RFC 9438 §4.3).
        Rfc9438 = "rfc9438",
        /// It stays what it was, 9/17 with a beta of 0.7.
        Constant = "constant",
    }

    /// When the window lets a packet out.
    pub enum SendGate {
        /// A full-sized packet fits: `bytes_in_flight + max_datagram_size <= cwnd`.
        FullPacket = "full-packet",
        /// A full-sized packet fits with room to spare: `… < cwnd`.
        Strict = "strict",
        /// There is any room: `bytes_in_flight < cwnd`.
        AnyRoom = "any-room",
    }
}

settings! {
    /// Rules of window controllers that are keys of every transport with a choice of controllers.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct ControllerRules {
        /// A reduction is taken back when all packets that caused it turn out to have arrived.
        pub undo_spurious: bool = false,
        /// Slow start of CUBIC ends when the delay grows (HyStart as in Linux).
        pub hystart: bool = false,
        /// Slow start ends when a round's delays have grown, by way of a conservative slow start
        /// (HyStart++, RFC 9406); takes the place of `hystart`.
        pub hystart_plus_plus: bool = false,
        /// Slow start ends when what arrives no longer doubles (SEARCH 3.0,
        /// draft-chung-ccwg-search); takes the place of `hystart` and `hystart_plus_plus`.
        pub search: bool = false,
        /// The first slow start triples the window in a round trip while no queue builds up, paces,
        /// and recovers by what is delivered (Rapid Start, draft-kazuho-ccwg-rapid-start); takes
        /// the place of `hystart`.
        pub rapid_start: bool = false,
        /// What the loss that ends slow start leaves of the window; "policy" is what any loss
        /// leaves.
        pub slow_start_exit_percent: Option<u32> = None
            => or_word("policy", count(1..=100, "percent")),
        /// How packets leave that the window lets out, for a controller without a rate of its own.
        pub pacing: Pacing = Pacing::Off,
        /// How the window grows while the application or the receiver limits sending.
        pub rate_limited_growth: RateLimitedGrowth = RateLimitedGrowth::Hold,
        /// alpha of CUBIC's Reno-friendly region once the window is back at its last maximum.
        pub cubic_alpha: CubicAlpha = CubicAlpha::Rfc9438,
        /// Before its first reduction CUBIC grows by at least a packet for 20 acknowledged ones, as
        /// in Linux: 5 % in a round trip while the capacity is unknown.
        pub cubic_initial_growth: bool = false,
        /// A reduction leaves a whole number of packets, as in Linux, whose window is one.
        pub whole_packets: bool = false,
        /// The first slow start jumps to half of the window that an earlier connection had on the
        /// same path (Careful Resume, RFC 9959).
        pub careful_resume: Option<CarefulResumeConfig> = None => or_table(
            Keyword { word: "none", doc: "No jump: nothing is known of the path." },
            Keyword { word: "resume", doc: "A jump once the initial window is acknowledged." },
        ),
    }
    constant OFF;
}

settings! {
    /// Single rules, on top of `rules`.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct Rules {
        /// Which packets belong to the flight that met a loss: sent at or before the start of
        /// recovery, or before it.
        pub recovery_boundary: RecoveryBoundary = RecoveryBoundary::AtOrBefore,
        /// How NewReno grows in congestion avoidance.
        pub increase: Increase = Increase::Approximate,
        /// When the window lets a packet out.
        pub send_gate: SendGate = SendGate::FullPacket,
        /// Packets that a probe timeout lets out (RFC 9002 §6.2.4).
        pub pto_probes: u8 = 2 => count(1..=2, "packets"),
        /// Octets acknowledged in recovery count towards the first increase after it.
        pub count_acked_in_recovery: bool = false,
        /// One packet may leave at the start of a recovery beyond the window (RFC 9002 §7.3.2).
        pub recovery_probe: bool = true,
        /// An acknowledgement of all that is in flight empties the count of acknowledged octets.
        pub flush_on_empty_flight: bool = false,
        /// Losses are dealt with before the packets that an acknowledgement names.
        pub losses_before_acks: bool = true,
        /// The receiver acknowledges packet number 0 at once.
        pub ack_first_at_once: bool = false,
        /// Those that TCP has as keys too.
        pub controller: ControllerRules [flatten] = ControllerRules::OFF,
        /// Prague with a round-trip time below 25 ms has the rate of a flow of 25 ms, from 500
        /// rounds after slow start on (Reduced RTT-Dependence in
        /// draft-briscoe-iccrg-prague-congestion-control).
        pub rtt_independence: bool = true,
    }
    constant RFC9002;
}

impl Rules {
    /// The rules of controllers; the others belong to the transport.
    pub const OF_CONTROLLERS: [&'static str; 18] = [
        "recovery_boundary",
        "increase",
        "count_acked_in_recovery",
        "recovery_probe",
        "flush_on_empty_flight",
        "undo_spurious",
        "hystart",
        "hystart_plus_plus",
        "search",
        "rapid_start",
        "slow_start_exit_percent",
        "pacing",
        "rtt_independence",
        "rate_limited_growth",
        "cubic_alpha",
        "cubic_initial_growth",
        "whole_packets",
        "careful_resume",
    ];

    /// The presets.
    pub const PRESETS: [Keyword; 3] = [
        Keyword::new(
            "inet-2025",
            "The simulation model of the lossy-link experiment.",
        ),
        Keyword::new("inet-now", "The same model since 13 March 2025."),
        Keyword::new("rfc9002", "The pseudocode of RFC 9002."),
    ];

    /// The names of the presets.
    pub const NAMES: [&'static str; 3] = Keyword::words(&Self::PRESETS);

    /// The simulation model of early 2025, which the published lossy-link experiment used.
    pub const INET_2025: Self = Self {
        recovery_probe: false,
        increase: Increase::Accurate,
        flush_on_empty_flight: true,
        ack_first_at_once: true,
        pto_probes: 1,
        ..Self::RFC9002
    };

    /// The same model after 13 March 2025.
    pub const INET_NOW: Self = Self {
        recovery_boundary: RecoveryBoundary::Before,
        count_acked_in_recovery: true,
        recovery_probe: true,
        ack_first_at_once: false,
        ..Self::INET_2025
    };

    /// The preset of this name.
    pub fn named(name: &str) -> Option<Self> {
        match name {
            "inet-2025" => Some(Self::INET_2025),
            "inet-now" => Some(Self::INET_NOW),
            "rfc9002" => Some(Self::RFC9002),
            _ => None,
        }
    }

    /// True if the window allows another packet.
    #[inline]
    pub const fn lets_out(&self, cwnd: u64, bytes_in_flight: u64, max_datagram_size: u64) -> bool {
        match self.send_gate {
            SendGate::FullPacket => bytes_in_flight.saturating_add(max_datagram_size) <= cwnd,
            SendGate::Strict => bytes_in_flight.saturating_add(max_datagram_size) < cwnd,
            SendGate::AnyRoom => bytes_in_flight < cwnd,
        }
    }
}
