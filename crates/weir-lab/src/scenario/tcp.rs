//! `{ kind = "tcp", … }`: TCP's keys.

use super::value::{Choice, Count, Octets};
use super::visit::{Need, Visitor};
use weir_proto::cc::window::{self, BoxedController, REGISTRY, Rules, WindowConfig};
use weir_proto::packet::IpHeader;
use weir_proto::tcp::Config;

/// Octets of a header without options (RFC 9293 §3.1).
const HEADER: u32 = 20;

/// A TCP flow: both ends alike.
#[derive(Clone, Debug, PartialEq)]
pub struct Tcp {
    /// A name of the controllers' registry.
    pub controller: &'static str,
    /// What both ends are made from; addresses and the segment size are set when a run is built.
    pub config: Config,
}

impl Default for Tcp {
    fn default() -> Self {
        Self {
            controller: "newreno",
            config: Config::default(),
        }
    }
}

impl Tcp {
    /// What both ends are made from, and how each makes its controller.
    pub(crate) fn config(&self, path_mtu: u32) -> (Config, impl Fn() -> BoxedController + use<>) {
        let segment_size = path_mtu.saturating_sub(IpHeader::V4_OCTETS + HEADER).max(1);
        let config = Config {
            segment_size,
            ..self.config
        };
        let window = WindowConfig {
            max_datagram_size: u64::from(segment_size),
            rules: Rules {
                // RFC 5681 §3.1: a recovery lets out what its window allows and no more.
                recovery_probe: false,
                ..Rules::RFC9002
            },
            ..WindowConfig::default()
        };
        let entry = window::find(self.controller).unwrap_or(&REGISTRY[0]);
        (config, move || (entry.make)(&window))
    }

    pub(super) fn visit(&mut self, v: &mut dyn Visitor) {
        let optional = Need::Optional;
        let controller = &mut Choice {
            slot: &mut self.controller,
            words: &window::names().map(|name| (name, name)).collect::<Vec<_>>(),
        };
        v.value(
            "controller",
            "The congestion controller.",
            optional,
            controller,
        );
        let config = &mut self.config;
        let doc = "Selective acknowledgements (RFC 6675); without them RFC 6582 recovers losses.";
        v.value("sack", doc, optional, &mut config.sack);
        let doc = "Explicit congestion notification (RFC 3168).";
        v.value("ecn", doc, optional, &mut config.ecn);
        let every = &mut Count {
            slot: &mut config.ack_every,
            min: 1,
            max: 1000,
            unit: "segments",
        };
        let doc = "Segments after which an acknowledgement leaves at once.";
        v.value("ack_every", doc, optional, every);
        let doc = "The longest time that an acknowledgement waits.";
        v.value("max_ack_delay", doc, optional, &mut config.max_ack_delay);
        let doc = "The smallest retransmission timeout (RFC 6298 says 1 s, Linux 200 ms).";
        v.value("rto_min", doc, optional, &mut config.rto_min);
        let octets = |slot| Octets {
            slot,
            min: 1,
            max: 1 << 40,
        };
        let doc = "Receive buffer: the window that is advertised.";
        v.value(
            "receive_buffer",
            doc,
            optional,
            &mut octets(&mut config.receive_buffer),
        );
        let doc = "Bytes that the application may have waiting to be sent.";
        v.value(
            "send_buffer",
            doc,
            optional,
            &mut octets(&mut config.send_buffer),
        );
    }
}
