//! The scenario as the rules read it: flows with their paths and the kind of their congestion
//! control.

use super::path::Path;
use crate::scenario::{Flow, ForeignStack, Graph, Scenario, Transport};
use weir_net::policer::PolicerConfig;
use weir_net::shaper::TokenBucketConfig;
use weir_net::{AppConfig, QueueConfig};
use weir_proto::cc::window::Constants;
use weir_proto::time::Duration;
use weir_proto::units::Rate;

/// The response of a flow to congestion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Control {
    /// Additive increase, halving: NewReno, CCID 2.
    NewReno,
    /// CUBIC.
    Cubic,
    /// TFRC's equation: CCID 3 and 4, and the equation-based window controller.
    Tfrc,
    /// A controller with a model of its path that it renews periodically.
    Model {
        /// The period.
        period: Duration,
        /// Its name.
        name: &'static str,
    },
    /// Another controller.
    Other,
    /// None: UDP, and RTP without a controller.
    None,
}

impl Control {
    fn of(transport: &Transport) -> Self {
        if let Some((controller, constants)) = transport.media()
            && let Some((period, name)) = controller.period(constants)
        {
            return Self::Model { period, name };
        }
        match transport {
            Transport::Dccp(dccp) if dccp.ccid != 2 => Self::Tfrc,
            Transport::Dccp(dccp) => match dccp.controller() {
                Some(entry) => Self::named(entry.name, &dccp.constants),
                None => Self::NewReno,
            },
            Transport::Quic(quic) => {
                let config = &quic.config;
                Self::named(config.controller.name, &config.constants)
            }
            Transport::Quinn(quinn) => Self::named(quinn.controller, &quinn.settings.constants),
            Transport::Noq(noq) => Self::named(noq.controller, &noq.settings.constants),
            Transport::Tcp(tcp) => Self::named(tcp.controller.name, &tcp.constants),
            Transport::Rtp(_) | Transport::Udp(_) => Self::None,
        }
    }

    fn named(name: &str, constants: &Constants) -> Self {
        match ForeignStack::algorithm_of(name) {
            "newreno" => Self::NewReno,
            "cubic" => Self::Cubic,
            "tfrc" => Self::Tfrc,
            "bbr" => Self::Model {
                period: constants.bbr.probe_rtt_interval,
                name: "the interval of BBR's ProbeRTT",
            },
            "copa" => Self::Model {
                period: constants.copa.min_rtt_filter,
                name: "the window of Copa's minimum RTT",
            },
            _ => Self::Other,
        }
    }

    /// The share of the window kept after a loss; `None` for a control without such a rule.
    pub(super) const fn beta(self) -> Option<f64> {
        match self {
            Self::NewReno => Some(0.5),
            Self::Cubic => Some(0.7),
            Self::Tfrc | Self::Model { .. } | Self::Other | Self::None => None,
        }
    }
}

/// A flow of the scenario, which may have a count.
pub(crate) struct FlowView<'a> {
    pub(crate) flow: &'a Flow,
    pub(crate) control: Control,
    /// The path of its data; `None` over an 802.11 medium, whose rate is not a setting.
    pub(crate) path: Option<Path<'a>>,
}

impl FlowView<'_> {
    /// True if the flow sends as much as its control allows, including video at its controller's
    /// target rate.
    /// Flows with arrivals are excluded: their transfers end before a control reaches a steady
    /// state.
    pub(crate) fn is_bulk(&self) -> bool {
        match self.flow.app {
            AppConfig::Bulk(_) => self.flow.is_one_connection(),
            AppConfig::Video(_) => self.flow.transport.media_title().is_some(),
            _ => false,
        }
    }

    /// True if buffers or flow-control credit limit the flow to less than its share of its path, on
    /// which this many flows share the bottleneck.
    pub(super) fn is_held(&self, flows: u32) -> bool {
        let path = self.path.as_ref();
        let limit = self.flow.transport.in_flight_limit();
        let (Some(bdp), Some((_, bytes))) = (path.and_then(Path::bdp_bytes), limit) else {
            return false;
        };
        self.is_bulk() && (bytes as f64) < bdp / f64::from(flows.max(1))
    }
}

/// The scenario, and its flows.
pub(crate) struct View<'a> {
    pub(super) scenario: &'a Scenario,
    pub(crate) flows: Vec<FlowView<'a>>,
}

/// Flows that share the slowest link of their path.
pub(super) struct Shared<'a, 'v> {
    /// The name of the direction.
    pub(super) link: String,
    pub(super) rate: Rate,
    pub(super) queue: &'a QueueConfig,
    /// The token bucket whose own queue replaces `queue`.
    pub(super) shaper: Option<&'a TokenBucketConfig>,
    /// The policer, if it limits the flows: it drops the packets that a queue would hold.
    pub(super) policed: Option<&'a PolicerConfig>,
    pub(super) flows: Vec<&'v FlowView<'a>>,
}

impl<'a, 'v> Shared<'a, 'v> {
    /// The number of flows, including those of `count`.
    pub(super) fn count(&self) -> u32 {
        self.flows.iter().map(|view| view.flow.count).sum()
    }

    /// The flows whose rate a controller determines.
    pub(super) fn controlled(&self) -> impl Iterator<Item = &'v FlowView<'a>> {
        let count = self.count();
        let flows = self.flows.iter().copied();
        flows.filter(move |view| view.is_bulk() && !view.is_held(count))
    }
}

impl<'a> View<'a> {
    pub(crate) fn of(scenario: &'a Scenario) -> Self {
        let graph = Graph::of(scenario);
        let flows = scenario.flows.iter().map(|flow| FlowView {
            flow,
            control: Control::of(&flow.transport),
            path: Path::of(scenario, &graph, flow),
        });
        Self {
            scenario,
            flows: flows.collect(),
        }
    }

    /// The bottlenecks with the flows that share them, in the order of the first flow of each.
    pub(super) fn bottlenecks(&self) -> Vec<Shared<'a, '_>> {
        let mut shared: Vec<Shared<'a, '_>> = Vec::new();
        for view in &self.flows {
            let Some(slowest) = view.path.as_ref().and_then(Path::bottleneck) else {
                continue;
            };
            match shared.iter_mut().find(|one| one.link == slowest.name) {
                Some(known) => known.flows.push(view),
                None => shared.push(Shared {
                    link: slowest.name.clone(),
                    rate: slowest.rate,
                    queue: &slowest.direction.queue,
                    shaper: slowest.direction.shaper.as_ref(),
                    policed: (slowest.direction.policer.as_ref()).filter(|_| slowest.is_policed),
                    flows: vec![view],
                }),
            }
        }
        shared
    }
}
