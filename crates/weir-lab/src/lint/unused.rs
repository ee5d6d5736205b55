//! Settings that another setting makes ineffective.

use super::{Finding, View};
use crate::scenario::{Direction, Flow, Run, Transport};
use weir_proto::cc::window::{self, Constants, Rules};
use weir_proto::settings::{Raw, Value};
use weir_proto::{quic, tcp};

pub(super) fn check(view: &View<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    for link in &view.scenario.links {
        for direction in [&link.forward, &link.backward] {
            let path = format!("link.{}", link.name);
            findings.extend(traced_rate(&path, direction));
            findings.extend(late_change(&path, direction, &view.scenario.run));
            findings.extend(late_outage(&path, direction, &view.scenario.run));
        }
    }
    // Both directions of a link usually have the same settings.
    findings.dedup();
    findings.extend(view.scenario.flows.iter().flat_map(other_constants));
    findings.extend(view.scenario.flows.iter().flat_map(other_rules));
    findings.extend(view.scenario.flows.iter().filter_map(idle_window));
    findings
}

/// A window controller that bounds nothing, because that of media is the only one.
fn idle_window(flow: &Flow) -> Option<Finding> {
    let Transport::Quic(quic) = &flow.transport else {
        return None;
    };
    let title = quic.config.sole_media_controller()?;
    let name = quic.config.controller.name;
    let path = format!("flow.{}.transport.controller", flow.name);
    let message =
        format!("{title} alone says when datagrams leave, and the window of {name} is not used");
    let help = "write media.nested = true, or leave the controller out";
    let is_set = quic.config.controller != quic::Config::default().controller;
    is_set.then(|| Finding::new("unused", &path, message, help))
}

/// Constants set for a controller that the flow does not use.
fn other_constants(flow: &Flow) -> Vec<Finding> {
    let (controller, constants) = match &flow.transport {
        Transport::Dccp(dccp) if dccp.ccid == 2 => (dccp.controller, &dccp.constants),
        Transport::Quic(quic) => (quic.config.controller.name, &quic.config.constants),
        Transport::Quinn(quinn) => (quinn.controller, &quinn.settings.constants),
        Transport::Noq(noq) => (noq.controller, &noq.settings.constants),
        Transport::Tcp(tcp) => (tcp.controller.name, &tcp.constants),
        Transport::Dccp(_) | Transport::Rtp(_) | Transport::Udp(_) => return Vec::new(),
    };
    let (own, default) = (constants.write(), Constants::default().write());
    let names = window::names();
    let changed = names.filter(|name| value(&own, name) != value(&default, name));
    let of_others = changed.filter(|name| *name != controller);
    let findings = of_others.map(|name| {
        let path = format!("flow.{}.transport.{name}", flow.name);
        let message = format!("these are constants of {name}, and the controller is {controller}");
        let help = format!("write controller = \"{name}\", or leave them out");
        Finding::new("unused", &path, message, help)
    });
    findings.collect()
}

/// Rules that stacks of others, which send, detect losses and pace probes themselves, do not
/// follow.
const NOT_OF_FOREIGN: [&str; 6] = [
    "send_gate",
    "pto_probes",
    "losses_before_acks",
    "ack_first_at_once",
    "recovery_probe",
    "undo_spurious",
];

/// Overrides of a preset that the flow's controller or a stack of others does not follow.
fn other_rules(flow: &Flow) -> Vec<Finding> {
    let (controller, own, preset) = match &flow.transport {
        Transport::Quic(quic) => (
            quic.config.controller.name,
            quic.config.rules.write(),
            quic::Config::named(quic.rules).map(|config| config.rules.write()),
        ),
        Transport::Quinn(_) | Transport::Noq(_) => {
            let Some(foreign) = flow.transport.foreign() else {
                return Vec::new();
            };
            (
                foreign.controller,
                foreign.settings.overrides.write(),
                Rules::named(foreign.rules).map(|rules| rules.write()),
            )
        }
        Transport::Tcp(tcp) => (
            tcp.controller.name,
            tcp.config.rules.write(),
            tcp::Rules::named(tcp.rules).map(|rules| rules.write()),
        ),
        Transport::Dccp(_) | Transport::Rtp(_) | Transport::Udp(_) => return Vec::new(),
    };
    let is_changed =
        |name: &&str| value(&own, name) != preset.as_ref().and_then(|preset| value(preset, name));
    let stack = flow.transport.foreign().map(|foreign| foreign.stack.name());
    let not_of_stack = NOT_OF_FOREIGN.into_iter().filter(move |_| stack.is_some());
    let entry = window::find(controller);
    let by_others = |name: &&str| {
        !entry.is_some_and(|entry| entry.follows(name)) && !not_of_stack.clone().any(|n| n == *name)
    };
    let of_controllers = Rules::OF_CONTROLLERS.into_iter().filter(by_others);
    let of_controllers = of_controllers.map(|name| (name, format!("the controller {controller}")));
    let of_stack = not_of_stack
        .clone()
        .map(|name| (name, stack.unwrap_or_default().to_owned()));
    let findings = of_controllers
        .chain(of_stack)
        .filter(|(name, _)| is_changed(name))
        .map(|(name, who)| {
            let path = format!("flow.{}.transport.overrides.{name}", flow.name);
            let message = format!("{who} does not follow this rule, and nothing changes");
            Finding::new("unused", &path, message, "leave it out")
        });
    findings.collect()
}

/// The value of a key of a table.
fn value<'a>(table: &'a Raw, key: &str) -> Option<&'a Raw> {
    match table {
        Raw::Table(table) => table.get(key).map(|entry| &entry.value.raw),
        _ => None,
    }
}

fn traced_rate(path: &str, direction: &Direction) -> Option<Finding> {
    let is_traced = !direction.rate_trace.millis.is_empty();
    (is_traced && direction.rate.is_some()).then(|| {
        let message = "the link sends by its rate_trace, and its rate says nothing".to_owned();
        Finding::new(
            "unused",
            &format!("{path}.rate"),
            message,
            "leave one of them out",
        )
    })
}

fn late_change(path: &str, direction: &Direction, run: &Run) -> Option<Finding> {
    let mut changes = direction.changes.iter();
    let late = changes.find(|change| change.at >= run.duration)?;
    let message = format!(
        "a change at {} comes after the run of {}",
        late.at, run.duration
    );
    let help = "run longer, or leave it out";
    Some(Finding::new(
        "unused",
        &format!("{path}.change"),
        message,
        help,
    ))
}

fn late_outage(path: &str, direction: &Direction, run: &Run) -> Option<Finding> {
    let mut outages = direction.outages.iter();
    let late = outages.find(|outage| outage.at.least >= run.duration)?;
    let message = format!(
        "an outage at {} comes after the run of {}",
        late.at, run.duration
    );
    let help = "run longer, or leave it out";
    let path = format!("{path}.outage");
    Some(Finding::new("unused", &path, message, help))
}
