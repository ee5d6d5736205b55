//! Seeds that change nothing.

use super::{Finding, View};
use crate::scenario::{Direction, Flow, Scenario, Transport};
use weir_net::app::LengthDistribution;
use weir_net::{AppConfig, LossConfig, NetemConfig, QueueConfig};

pub(super) fn check(view: &View<'_>) -> Vec<Finding> {
    if draws_random_numbers(view.scenario) {
        return Vec::new();
    }
    vec![Finding::new(
        "seeds",
        "run.seed",
        "no setting draws a random number, so each seed gives the same run".to_owned(),
        "draw what varies in reality: start = \"0s..1s\" of flows, [[host]] jitter = \
         \"0s..100us\", a random loss",
    )]
}

/// True if a setting of the scenario draws random numbers that change its run.
pub fn draws_random_numbers(scenario: &Scenario) -> bool {
    let directions = scenario
        .links
        .iter()
        .flat_map(|link| [&link.forward, &link.backward]);
    !scenario.wifi.is_empty()
        || scenario
            .hosts
            .iter()
            .any(|host| host.timing.jitter.is_random())
        || scenario.flows.iter().any(flow_draws)
        || directions.into_iter().any(direction_draws)
}

fn flow_draws(flow: &Flow) -> bool {
    // quinn draws its connection IDs and RTP its first number, whose octets change no size and no
    // time.
    let transport = match &flow.transport {
        Transport::Dccp(_)
        | Transport::Quic(_)
        | Transport::Quinn(_)
        | Transport::Rtp(_)
        | Transport::Tcp(_)
        | Transport::Udp(_) => false,
    };
    transport
        || flow.start.is_random()
        || flow.access_delay.is_random()
        || loss_draws(&flow.loss)
        || app_draws(&flow.app)
}

fn app_draws(app: &AppConfig) -> bool {
    match app {
        AppConfig::Bulk(_) | AppConfig::Cbr(_) | AppConfig::Audio(_) => false,
        AppConfig::Video(video) => video.size_variation > 0.0,
        AppConfig::Request(request) => {
            request.request.is_random()
                || request.response.is_random()
                || (!request.think.is_zero() && request.think_times != LengthDistribution::Constant)
        }
        AppConfig::OnOff(on_off) => on_off.lengths != LengthDistribution::Constant,
    }
}

fn direction_draws(direction: &Direction) -> bool {
    let changes = direction.changes.iter();
    let mut changes = changes.map(|change| {
        change.loss.as_ref().is_some_and(loss_draws)
            || change.netem.as_ref().is_some_and(netem_draws)
    });
    direction.delay.is_random()
        || loss_draws(&direction.loss)
        || netem_draws(&direction.netem)
        || queue_draws(&direction.queue)
        || changes.any(|draws| draws)
}

/// True if a queue decides by a random number, about drops or, FQ-CoDel, about where a flow goes.
pub(super) fn queue_draws(queue: &QueueConfig) -> bool {
    match queue {
        QueueConfig::DropTail(_)
        | QueueConfig::Codel(_)
        | QueueConfig::DualPi2(_)
        | QueueConfig::Step(_) => false,
        QueueConfig::Red(_) | QueueConfig::Pie(_) | QueueConfig::FqCodel(_) => true,
    }
}

pub(super) fn loss_draws(loss: &LossConfig) -> bool {
    match loss {
        LossConfig::None | LossConfig::Periodic(_) | LossConfig::Trace(_) => false,
        LossConfig::Random(random) => {
            let p = random.rate.get();
            p > 0.0 && p < 1.0
        }
        LossConfig::Gilbert(_) => true,
    }
}

pub(super) fn netem_draws(netem: &NetemConfig) -> bool {
    !netem.is_none()
}
