//! Connects quinn to the laboratory: the laboratory knows its settings, weir-wire its code.

use crate::limits::WATCHED;
use weir_lab::run::{EndpointPair, QuinnFlow, TransportRegistry};
use weir_proto::cc::window::WindowConfig;
use weir_proto::endpoint::Endpoint;
use weir_wire::Error;
use weir_wire::quinn::{CongestionControlAlgorithm, SimConfig, SimEndpoint};

/// The transports of this program in addition to the laboratory's own, and its clock and memory.
pub const fn registry() -> TransportRegistry<'static> {
    TransportRegistry {
        quinn: Some(&pair_or_reason),
        process: WATCHED,
    }
}

fn pair_or_reason(flow: &QuinnFlow<'_>) -> Result<EndpointPair, String> {
    pair(flow).map_err(|error| error.to_string())
}

fn pair(flow: &QuinnFlow<'_>) -> Result<EndpointPair, Error> {
    let config = SimConfig {
        ack_every: flow.settings.ack_every,
        stream_window: flow.settings.stream_window,
        send_window: flow.settings.send_window,
        ecn: flow.settings.ecn,
        idle_timeout: flow.settings.idle_timeout,
        // A path with a larger MTU also carries smaller datagrams.
        ..SimConfig::new(
            controller(flow)?,
            u16::try_from(flow.datagram_size).unwrap_or(u16::MAX),
        )
    };
    let ends: [Box<dyn Endpoint + Send>; 2] = [
        Box::new(SimEndpoint::client(&config, flow.seed)?),
        Box::new(SimEndpoint::server(&config, flow.seed)?),
    ];
    Ok(ends)
}

fn controller(flow: &QuinnFlow<'_>) -> Result<CongestionControlAlgorithm, Error> {
    let settings = flow.settings;
    Ok(
        match CongestionControlAlgorithm::named(settings.controller)? {
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
        },
    )
}
