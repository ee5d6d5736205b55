//! Connects the QUIC implementations of others to the laboratory: the laboratory knows their
//! settings, weir-wire their code.

use crate::limits::WATCHED;
use weir_lab::run::{EndpointPair, ForeignFlow, TransportRegistry};
use weir_lab::scenario::ForeignStack;
use weir_proto::cc::window::WindowConfig;
use weir_proto::endpoint::Endpoint;
use weir_wire::Error;

/// The transports of this program in addition to the laboratory's own, and its clock and memory.
pub const fn registry() -> TransportRegistry<'static> {
    TransportRegistry {
        foreign: Some(&pair),
        process: WATCHED,
    }
}

/// The stacks that this program contains.
pub const STACKS: &[ForeignStack] = if cfg!(feature = "noq") {
    &ForeignStack::ALL
} else {
    &[ForeignStack::Quinn]
};

fn pair(flow: &ForeignFlow<'_>) -> Result<EndpointPair, String> {
    let pair = match flow.transport.stack {
        ForeignStack::Quinn => quinn(flow),
        #[cfg(feature = "noq")]
        ForeignStack::Noq => noq(flow),
        #[cfg(not(feature = "noq"))]
        ForeignStack::Noq => {
            let why = "this command was built without noq; build it with \
                       \"cargo install weirlab --features noq\", or write kind = \"quinn\"";
            return Err(why.to_owned());
        }
    };
    pair.map_err(|error| error.to_string())
}

/// Defines the function that makes both ends of a stack, whose types have the same names in each
/// stack's module of weir-wire.
macro_rules! stack {
    ($stack:ident) => {
        fn $stack(flow: &ForeignFlow<'_>) -> Result<EndpointPair, Error> {
            use weir_wire::$stack::{CongestionControlAlgorithm, SimConfig, SimEndpoint};

            let settings = flow.transport.settings;
            let algorithm = match CongestionControlAlgorithm::named(flow.transport.controller)? {
                CongestionControlAlgorithm::Weir(controller) => {
                    CongestionControlAlgorithm::Weir(controller.with_config(WindowConfig {
                        rules: settings.overrides,
                        constants: settings.constants,
                        seed: flow.seed,
                        initial_window: settings.initial_window,
                        ..WindowConfig::default()
                    }))
                }
                theirs => theirs,
            };
            let config = SimConfig {
                ack_every: settings.ack_every,
                stream_window: settings.stream_window,
                send_window: settings.send_window,
                ecn: settings.ecn,
                idle_timeout: settings.idle_timeout,
                // A path with a larger MTU also carries smaller datagrams.
                ..SimConfig::new(
                    algorithm,
                    u16::try_from(flow.datagram_size).unwrap_or(u16::MAX),
                )
            };
            let ends: [Box<dyn Endpoint + Send>; 2] = [
                Box::new(SimEndpoint::client(&config, flow.seed)?),
                Box::new(SimEndpoint::server(&config, flow.seed)?),
            ];
            Ok(ends)
        }
    };
}

stack!(quinn);
#[cfg(feature = "noq")]
stack!(noq);
