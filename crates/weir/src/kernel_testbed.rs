//! A scenario's TCP flows over the kernel's own TCP: its hosts are network namespaces, each with
//! one device into the scenario's whole network, which is simulated in real time.
//!
//! The kernels send no timestamps, so that a segment has the simulator's headers and payload, and
//! remember nothing of earlier connections. The state of the connections is asked for every
//! [`INTERVAL`]: the smoothed round-trip time counts once for each segment delivered since.

use crate::exit::Failure;
use crate::port_delays::PortDelays;
use crate::terminal;
use crate::testbed::{
    RealTimePart, SetAtEnd, drive_part, observers_of_parts, report_lateness, wire_failure,
    with_alternative,
};
use indicatif::ProgressBar;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time;
use weir_lab::fault::{caught, joined};
use weir_lab::run::{
    FlowSummary, FlowTrace, LiveFlow, LiveObserver, LiveState, RunOutput, Scope, SenderRecorder,
};
use weir_lab::scenario::{Flow, Scenario, Transport};
use weir_net::DelayStatistics;
use weir_net::app::AppConfig;
use weir_proto::endpoint::Statistics;
use weir_proto::event::{Event, Limit, WindowState};
use weir_proto::packet::{FlowId, HostId};
use weir_proto::time::{Duration, Instant};
use weir_wire::DeviceCounters;
use weir_wire::kernel_tcp::{KernelTransfer, TransferPlan, TransferState};
use weir_wire::tcp_info::{CongestionState, TcpInfo};
use weir_wire::testbed::{LinkEnd, Testbed, TestbedLink};

/// The time between two questions about a connection.
const INTERVAL: time::Duration = time::Duration::from_millis(2);
/// The time between two states of the live view.
const LIVE_INTERVAL: time::Duration = time::Duration::from_millis(200);
/// Octets of the headers of IPv4 and TCP without options.
const HEADER_OCTETS: u64 = 40;

/// What the kernels are told: variable and value.
const SYSCTLS: [(&str, &str); 2] = [
    ("net/ipv4/tcp_timestamps", "0"),
    ("net/ipv4/tcp_no_metrics_save", "1"),
];

/// The kernel's name of a controller of the registry, if it has one like it.
fn kernels_name(controller: &str) -> Option<&'static str> {
    match controller {
        "newreno" => Some("reno"),
        "cubic" => Some("cubic"),
        // The kernel's name for BBRv1 (tcp_bbr.c).
        "bbr1" => Some("bbr"),
        _ => None,
    }
}

/// The plan of the kernel's transfer in place of a flow.
fn plan(scenario: &Scenario, flow: &Flow) -> Result<TransferPlan, String> {
    let Transport::Tcp(tcp) = &flow.transport else {
        return Err("its transport is not TCP".to_owned());
    };
    let name = tcp.controller.name;
    let controller = kernels_name(name)
        .ok_or_else(|| format!("its controller is {name}, expected newreno, cubic or bbr1"))?;
    if !matches!(&flow.app, AppConfig::Bulk(bulk) if bulk.total.is_none()) {
        return Err("its application is not an endless bulk transfer".to_owned());
    }
    let plain = Flow {
        name: flow.name.clone(),
        group: flow.group.clone(),
        from: flow.from.clone(),
        to: flow.to.clone(),
        transport: flow.transport.clone(),
        app: flow.app.clone(),
        start: flow.start.least.into(),
        ..Flow::default()
    };
    if *flow != plain {
        return Err("it sets more than transport, app and one start".to_owned());
    }
    let host = |name: &str| {
        let place = scenario.hosts.iter().position(|host| host.name == name);
        place.ok_or_else(|| format!("there is no host {name}"))
    };
    Ok(TransferPlan {
        from: host(&flow.from)?,
        to: host(&flow.to)?,
        controller,
        start: time::Duration::from_nanos(flow.start.least.as_nanos()),
    })
}

/// One link that joins all hosts: behind their devices is the scenario's network.
fn access(scenario: &Scenario) -> TestbedLink {
    let end = |host: usize| LinkEnd {
        host,
        port: HostId(host as u32),
        shaper: None,
    };
    let links = scenario.links.iter();
    let mtus = links.flat_map(|link| [link.forward.mtu, link.backward.mtu]);
    TestbedLink {
        ends: (0..scenario.hosts.len()).map(end).collect(),
        mtu: mtus.min().unwrap_or(1500),
        veth: false,
    }
}

/// A flow of the scenario as a transfer of the kernel.
struct Measured {
    name: String,
    start: Duration,
    /// The number of its data, and the hosts between which they are sent.
    way: (FlowId, HostId, HostId),
    transfer: KernelTransfer,
    recorder: SenderRecorder,
    last: TransferState,
    /// The counters at the end of the warm-up.
    before: Option<TransferState>,
    /// The state that the live view has shown last.
    shown: TransferState,
}

/// Runs the scenario until its end, or until `stop` is set; `live` sees the flows together with the
/// links.
pub fn run(
    scenario: &Scenario,
    live: Option<&LiveObserver>,
    stop: &AtomicBool,
) -> Result<RunOutput, Failure> {
    let parts = live.map(observers_of_parts);
    let plans = scenario.flows.iter().map(|flow| {
        let refused = |why| {
            let name = &flow.name;
            Failure::Usage(format!("flow {name} cannot have the kernel's TCP: {why}"))
        };
        plan(scenario, flow).map_err(refused)
    });
    let plans = plans.collect::<Result<Vec<_>, _>>()?;
    let mut network = RealTimePart::new(
        scenario,
        Scope::Network,
        parts.as_ref().map(|parts| &parts[1]),
    )?;
    let delays = network.measure();
    let hosts = scenario.hosts.len();
    let mut testbed = Testbed::build(hosts, vec![access(scenario)]).map_err(with_alternative)?;
    for namespace in (0..hosts).filter_map(|host| testbed.namespace(host)) {
        for (variable, value) in SYSCTLS {
            namespace.sysctl(variable, value).map_err(wire_failure)?;
        }
    }
    let warmup = scenario.run.warmup;
    let measured = |(flow, plan): (&Flow, TransferPlan)| {
        let transfer = testbed.transfer(plan)?;
        let [from, to] = [plan.from, plan.to].map(|host| HostId(host as u32));
        Ok(Measured {
            name: flow.name.clone(),
            start: flow.start.least,
            way: (transfer.flow(), from, to),
            transfer,
            recorder: SenderRecorder::after(&flow.name, warmup),
            last: TransferState::default(),
            before: None,
            shown: TransferState::default(),
        })
    };
    let flows = scenario.flows.iter().zip(plans).map(measured);
    let flows: Result<Vec<Measured>, weir_wire::Error> = flows.collect();
    let mut flows = flows.map_err(wire_failure)?;
    let mut devices = testbed.take_devices();
    let duration = scenario.run.duration;
    let over = AtomicBool::new(false);
    let (measured, network) = std::thread::scope(|scope| {
        let driver = scope.spawn(|| caught(|| drive_part(network, &mut devices, duration, &over)));
        let end = SetAtEnd(&over);
        let live = parts.as_ref().map(|parts| &parts[0]);
        let measured = measure(scenario, &mut flows, &delays, live, stop);
        drop(end);
        (measured, joined(driver.join()))
    });
    measured.map_err(wire_failure)?;
    let (mut output, late) = network??;
    state_drops(&testbed, hosts);
    output.summary.run.build = format!("{}, {}", output.summary.run.build, kernel());
    let delays = delays_of(&flows, &delays);
    for flow in flows {
        let (name, (summary, traces)) = (flow.name.clone(), flow.summary(scenario));
        output.summary.flows.insert(name, summary);
        output.flows.extend(traces);
    }
    output.set_delays(&delays);
    report_lateness(&[late], &mut output);
    Ok(output)
}

/// The delays of the flows by name.
fn delays_of(flows: &[Measured], delays: &PortDelays) -> Vec<(String, DelayStatistics)> {
    // Numbers are hashes: packets of two flows with one number cannot be told apart.
    let alone = |flow: &&Measured| flows.iter().filter(|of| of.way == flow.way).count() == 1;
    let named = |flow: &Measured| Some((flow.name.clone(), delays.take(flow.way)?));
    flows.iter().filter(alone).filter_map(named).collect()
}

/// The name of the kernel, such as "TCP of Linux 6.18.1".
fn kernel() -> String {
    let release = std::fs::read_to_string("/proc/sys/kernel/osrelease");
    let release = release.unwrap_or_default();
    format!("TCP of Linux {}", release.trim())
}

/// Starts the transfers and asks for their state until the end of the run.
fn measure(
    scenario: &Scenario,
    flows: &mut [Measured],
    delays: &PortDelays,
    live: Option<&LiveObserver>,
    stop: &AtomicBool,
) -> Result<(), weir_wire::Error> {
    let duration = time::Duration::from_nanos(scenario.run.duration.as_nanos());
    let bar = match live {
        None => terminal::progress(duration.as_secs_f64().ceil() as u64, "seconds"),
        Some(_) => ProgressBar::hidden(),
    };
    let mut shown = time::Duration::ZERO;
    let mut warm = scenario.run.warmup == Duration::ZERO;
    let begun = time::Instant::now();
    for flow in &mut *flows {
        flow.transfer.start()?;
    }
    loop {
        let elapsed = begun.elapsed();
        if !warm && Duration::from(elapsed) >= scenario.run.warmup {
            delays.restart();
            warm = true;
        }
        for flow in &mut *flows {
            if let Some(state) = flow.transfer.state()? {
                flow.record(Duration::from(elapsed), state, scenario.run.warmup);
            }
        }
        bar.set_position(elapsed.as_secs());
        if let Some(live) = live.filter(|_| elapsed >= shown + LIVE_INTERVAL) {
            let length = elapsed.saturating_sub(shown);
            shown = elapsed;
            live(&LiveState {
                at: Instant::ZERO + Duration::from(elapsed),
                end: Instant::ZERO + scenario.run.duration,
                flows: (flows.iter_mut())
                    .map(|flow| flow.live(length, delays))
                    .collect(),
                ..LiveState::default()
            });
        }
        if elapsed >= duration || stop.load(Ordering::Relaxed) {
            bar.finish_and_clear();
            return Ok(());
        }
        std::thread::sleep(INTERVAL.min(duration.saturating_sub(elapsed)));
    }
}

impl Measured {
    /// The flow since the last call, which is so long ago.
    fn live(&mut self, length: time::Duration, delays: &PortDelays) -> LiveFlow {
        let delays = delays.take_interval(self.way).unwrap_or_default();
        let mean = delays.one_way_sum.as_secs_f64() / delays.packets as f64;
        let before = std::mem::replace(&mut self.shown, self.last);
        let octets = self
            .last
            .payload_received
            .saturating_sub(before.payload_received);
        let lost = |state: &TransferState| u64::from(state.sender.retransmitted);
        LiveFlow {
            name: self.name.clone(),
            goodput_bps: octets as f64 * 8.0 / length.as_secs_f64().max(1e-9),
            one_way_delay_s: (delays.packets > 0).then_some(mean),
            packets_lost: lost(&self.last).saturating_sub(lost(&before)),
        }
    }

    /// Records the state at this time since the start of the run.
    fn record(&mut self, at: Duration, state: TransferState, warmup: Duration) {
        let (now, last) = (state.sender, self.last.sender);
        if at >= warmup {
            self.before.get_or_insert(state);
        }
        let rtt = Duration::from(now.smoothed_rtt);
        for _ in 0..now.delivered.saturating_sub(last.delivered) {
            self.recorder.record(at, &Event::Rtt(rtt));
        }
        if now != last {
            let window = Event::Window(window_state(&now));
            self.recorder.record(at, &window);
        }
        self.last = state;
    }

    fn summary(self, scenario: &Scenario) -> (FlowSummary, Vec<FlowTrace>) {
        let (duration, warmup) = (scenario.run.duration, scenario.run.warmup);
        let before = self.before.unwrap_or_default();
        let counters = [before, self.last].map(|state| statistics(&state));
        self.recorder
            .between([self.start.max(warmup), duration], counters)
    }
}

/// The window as a controller of the laboratory would report it.
fn window_state(info: &TcpInfo) -> WindowState {
    let octets = |segments: u32| u64::from(segments) * u64::from(info.segment_size);
    let slow_start = info.ssthresh.is_none_or(|threshold| info.cwnd < threshold);
    let (state, limit) = match info.congestion_state {
        CongestionState::Recovery => ("recovery", Limit::Recovery),
        _ if slow_start => ("slow_start", Limit::SlowStart),
        _ => ("congestion_avoidance", Limit::CongestionAvoidance),
    };
    let rtt = Duration::from(info.smoothed_rtt);
    WindowState {
        cwnd: octets(info.cwnd),
        bytes_in_flight: octets(info.in_flight),
        partial_bytes_acked: 0,
        delivered: Some(octets(info.delivered)),
        receive_window: Some(info.peer_window.into()),
        ssthresh: info.ssthresh.map(octets),
        pacing_rate: None,
        rate_limited_by: None,
        rtt,
        smoothed_rtt: rtt,
        state,
        limit,
        model: None,
    }
}

/// The counters of both ends. The kernel does not count losses: as many as were sent again.
fn statistics(state: &TransferState) -> [Statistics; 2] {
    let TransferState {
        sender, receiver, ..
    } = state;
    let headers = u64::from(receiver.segments_received) * HEADER_OCTETS;
    [
        Statistics {
            packets_sent: sender.segments_sent.into(),
            data_packets_sent: sender.data_segments_sent.into(),
            packets_lost: sender.retransmitted.into(),
            packets_retransmitted: sender.retransmitted.into(),
            timeouts: sender.timeouts.into(),
            smoothed_rtt: sender.smoothed_rtt.into(),
            ..Statistics::default()
        },
        Statistics {
            packets_received: receiver.segments_received.into(),
            data_packets_received: receiver.data_segments_received.into(),
            bytes_received: receiver.bytes_received + headers,
            payload_received: state.payload_received,
            ..Statistics::default()
        },
    ]
}

/// Prints the packets that the kernels dropped at the devices, which the links do not count.
fn state_drops(testbed: &Testbed, hosts: usize) {
    let counters = |host| {
        let namespace = testbed.namespace(host)?;
        let read = namespace.run(|| DeviceCounters::read("weir0"));
        read.ok()?.ok().flatten()
    };
    let dropped: u64 = (0..hosts)
        .filter_map(counters)
        .map(|device| device.send_drops + device.receive_drops)
        .sum();
    if dropped > 0 {
        terminal::notice(&format!(
            "the kernels dropped {dropped} packets before the links, which are not driven as fast \
             as they came"
        ));
    }
}
