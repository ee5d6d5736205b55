//! `{ kind = "quinn", … }`: keys of the real QUIC implementation quinn.
//!
//! This crate does not have quinn: whoever runs the scenario brings it, in
//! [`Registry`](crate::run::Registry).

use super::transport::{visit_datagram_size, visit_idle_timeout, visit_initial_window};
use super::value::{Choice, Count, Octets, OrWord};
use super::visit::{Need, Purpose, Section, Visitor};
use weir_proto::cc::window::{self, CubicConfig, Rules};
use weir_proto::packet::IpHeader;
use weir_proto::time::Duration;

/// Our controllers, by their names in the registry, and quinn's own.
fn controllers() -> Vec<(&'static str, &'static str)> {
    let own = ["quinn-newreno", "quinn-cubic"];
    window::names()
        .chain(own)
        .map(|name| (name, name))
        .collect()
}

/// A flow of quinn: both ends alike. What is not here is quinn's default.
#[derive(Clone, Debug, PartialEq)]
pub struct Quinn {
    /// One of our controllers, or of quinn's own.
    pub controller: &'static str,
    /// Preset of the rules in which revisions differ; our controllers only.
    pub rules: &'static str,
    /// The preset's rules with what the scenario changes in them.
    pub overrides: Rules,
    /// The constants of our CUBIC.
    pub cubic: CubicConfig,
    /// Initial window of our controllers in octets; `None` for RFC 9002's.
    pub initial_window: Option<u64>,
    /// Octets of the largest datagram without IP and UDP headers; `None` for what the path's MTU
    /// allows.
    pub max_datagram_size: Option<u32>,
    /// Packets for each acknowledgement, asked of the receiver; `None` leaves it to the receiver.
    pub ack_every: Option<u32>,
    /// Octets of the stream that the receiver takes in advance.
    pub stream_window: u64,
    /// Octets that the application may have unacknowledged.
    pub send_window: u64,
    /// Packets are ECN-capable.
    pub ecn: bool,
    /// Ends the connection after so long without a packet; `None` never does.
    pub idle_timeout: Option<Duration>,
}

impl Default for Quinn {
    /// quinn's own defaults, with our NewReno.
    fn default() -> Self {
        Self {
            controller: window::REGISTRY[0].name,
            rules: "rfc9002",
            overrides: Rules::RFC9002,
            cubic: CubicConfig::default(),
            initial_window: None,
            max_datagram_size: None,
            ack_every: None,
            stream_window: 1_250_000,
            send_window: 10_000_000,
            ecn: true,
            idle_timeout: Some(Duration::from_secs(30)),
        }
    }
}

impl Quinn {
    /// Octets of the largest datagram on a path of this MTU, which counts from the IP header on.
    pub fn datagram_size(&self, path_mtu: u32) -> u32 {
        let headers = IpHeader::V4_OCTETS + IpHeader::UDP_OCTETS;
        self.max_datagram_size
            .unwrap_or(path_mtu.saturating_sub(headers))
    }

    pub(super) fn visit(&mut self, v: &mut dyn Visitor) {
        let optional = Need::Optional;
        let controller = &mut Choice {
            slot: &mut self.controller,
            words: &controllers(),
        };
        let doc = "The window controller: one of Weir's, or quinn's own.";
        v.value("controller", doc, optional, controller);
        let rules = &mut Choice {
            slot: &mut self.rules,
            words: &Rules::NAMES.map(|name| (name, name)),
        };
        let doc = "The rules of Weir's controllers as one revision has them; those of sending and \
                   acknowledging are quinn's.";
        v.value("rules", doc, optional, rules);
        if v.purpose() == Purpose::Read
            && let Some(rules) = Rules::named(self.rules)
        {
            self.overrides = rules;
        }
        let doc = "Single rules, on top of `rules`.";
        v.section("overrides", doc, &mut self.overrides);
        let doc = "The constants of Weir's CUBIC (RFC 9438).";
        let cubic: &mut dyn Section = &mut super::transport::Cubic(&mut self.cubic);
        v.section("cubic", doc, cubic);
        let doc = "Initial window of Weir's controllers in bytes; \"rfc9002\" is min(10 packets, \
                   max(2 packets, 14720)).";
        visit_initial_window(&mut self.initial_window, doc, v);
        self.visit_transport(v);
    }

    fn visit_transport(&mut self, v: &mut dyn Visitor) {
        let optional = Need::Optional;
        visit_datagram_size(&mut self.max_datagram_size, v);
        let every = &mut OrWord {
            slot: &mut self.ack_every,
            word: "receiver",
            inner: |slot| {
                Box::new(Count {
                    slot,
                    min: 1,
                    max: 1000,
                    unit: "packets",
                })
            },
        };
        let doc = "Ack-eliciting packets for each acknowledgement, asked of the receiver by \
                   draft-ietf-quic-ack-frequency; \"receiver\" leaves it to the receiver.";
        v.value("ack_every", doc, optional, every);
        let doc = "Bytes of the stream that the receiver takes in advance.";
        let window = &mut octets(&mut self.stream_window);
        v.value("stream_window", doc, optional, window);
        let doc = "Bytes that the application may have unacknowledged.";
        let window = &mut octets(&mut self.send_window);
        v.value("send_window", doc, optional, window);
        let doc = "Packets are ECN-capable.";
        v.value("ecn", doc, optional, &mut self.ecn);
        visit_idle_timeout(&mut self.idle_timeout, v);
    }
}

fn octets(slot: &mut u64) -> Octets<'_, u64> {
    Octets {
        slot,
        min: 1,
        max: 1 << 40,
    }
}
