//! Environments for reinforcement learning: scenarios in which a controller's decisions come from
//! outside, step by step.

use crate::errors::{exception, of_run};
use crate::scenario::Scenario;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use rayon::prelude::*;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, Once, PoisonError};
use weir_lab::run::{RunError, RunOptions, Scope, Simulation, TraceLevel};
use weir_lab::scenario::{Override, parse_with};
use weir_proto::cc::window::{BoxedController, WindowConfig, added};
use weir_proto::cc::{
    Acked, CongestionEvent, ConnectionEvent, EndAcks, Lost, Needs, PacingRate, RecoveryPeriod,
    Report, RetransmissionTimeout, Sent, WindowController,
};
use weir_proto::event::Limit;
use weir_proto::time::{Duration, Instant};
use weir_proto::units::Rate;

/// The name of the controller whose decisions come from outside.
pub const CONTROLLER: &str = "agent";
/// The number of values in an observation.
const OBSERVED: usize = 8;
/// The minimum and maximum window, in packets.
const PACKETS: (f64, f64) = (1.0, 1e6);
/// The minimum and maximum pacing rate in bit/s.
const RATES: (f64, f64) = (1e4, 1e12);

thread_local! {
    /// The state shared by the controllers of this thread's simulation and their environment.
    static LINKED: RefCell<Option<Arc<Mutex<Agent>>>> = const { RefCell::new(None) };
}

/// The state shared by a controller and its environment.
#[derive(Clone, Debug)]
struct Agent {
    packet: f64,
    window: f64,
    rate: Option<f64>,
    smoothed_rtt: f64,
    min_rtt: f64,
    in_flight: f64,
    acked: f64,
    lost: f64,
    marked: f64,
    packets: f64,
    rate_sample: f64,
    /// The period of the last loss event, for statistics.
    period: RecoveryPeriod,
}

impl Agent {
    fn new(config: &WindowConfig, pacing: bool) -> Self {
        Self {
            packet: config.max_datagram_size as f64,
            window: config.initial_window() as f64,
            rate: pacing.then_some(1e6),
            smoothed_rtt: 0.0,
            min_rtt: 0.0,
            in_flight: 0.0,
            acked: 0.0,
            lost: 0.0,
            marked: 0.0,
            packets: 0.0,
            rate_sample: 0.0,
            period: RecoveryPeriod::default(),
        }
    }

    /// Applies an action a from -1 to 1: multiplies the window or rate by 2^a.
    fn act(&mut self, action: f64) {
        let factor = 2f64.powf(action.clamp(-1.0, 1.0));
        if let Some(rate) = &mut self.rate {
            *rate = (*rate * factor).clamp(RATES.0, RATES.1);
            // With pacing the rate is controlled; the window allows two round trips at this rate.
            let two = *rate / 8.0 * 2.0 * self.smoothed_rtt.max(0.01);
            self.window = two.max(4.0 * self.packet);
        } else {
            let window = self.window * factor;
            self.window = window.clamp(PACKETS.0 * self.packet, PACKETS.1 * self.packet);
        }
    }

    /// The observation since the last call, and the reward: log2 of the delivered rate in Mbit/s,
    /// minus log2 of the ratio of smoothed to minimum round-trip time, minus ten times the loss
    /// rate.
    fn observe(&mut self, seconds: f64) -> ([f32; OBSERVED], f64) {
        let delivered = self.acked * 8e-6 / seconds;
        let sent = self.acked + self.lost;
        let loss = if sent > 0.0 { self.lost / sent } else { 0.0 };
        let marks = if self.packets > 0.0 {
            self.marked / self.packets
        } else {
            0.0
        };
        let ratio = if self.min_rtt > 0.0 {
            self.smoothed_rtt / self.min_rtt
        } else {
            1.0
        };
        let observed = [
            self.smoothed_rtt,
            self.min_rtt,
            delivered,
            self.rate_sample * 1e-6,
            loss,
            marks,
            self.in_flight / self.packet,
            self.rate
                .map_or(self.window / self.packet, |rate| rate * 1e-6),
        ];
        let reward = (delivered + 0.01).log2() - ratio.log2() - 10.0 * loss;
        (self.acked, self.lost, self.marked, self.packets) = (0.0, 0.0, 0.0, 0.0);
        (observed.map(|number| number as f32), reward)
    }
}

/// The controller: it counts, and applies the decisions of its environment.
struct AgentController(Arc<Mutex<Agent>>);

impl AgentController {
    fn with<T>(&self, act: impl FnOnce(&mut Agent) -> T) -> T {
        act(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl WindowController for AgentController {
    fn needs(&self) -> Needs {
        Needs {
            delivery_rate: true,
            end_acks: true,
            acks_in_recovery: true,
            window_in_recovery: true,
            ..Needs::NONE
        }
    }

    fn on_sent(&mut self, _: &Sent) {}

    fn on_ack(&mut self, _: &Acked) {}

    fn on_lost(&mut self, _: &Lost) {}

    fn on_end_acks(&mut self, acks: &EndAcks) -> bool {
        self.with(|agent| {
            agent.acked += acks.newly_acked as f64;
            agent.packets += acks.acked_packets as f64;
            agent.marked += acks.ecn_ce as f64;
            agent.in_flight = acks.bytes_in_flight as f64;
            agent.smoothed_rtt = acks.rtt.smoothed.as_secs_f64();
            agent.min_rtt = acks.rtt.min.as_secs_f64();
            if let Some(rate) = acks.rate.delivery_rate {
                agent.rate_sample = rate.as_bps();
            }
        });
        false
    }

    fn on_congestion_event(&mut self, congestion: &CongestionEvent) -> bool {
        self.with(|agent| {
            agent.lost += congestion.lost_bytes as f64;
            agent.period.begins(congestion)
        })
    }

    /// Only the agent changes the window.
    fn on_connection_event(&mut self, _: ConnectionEvent) {}

    fn on_spurious_congestion_event(&mut self, _: Instant) -> bool {
        false
    }

    fn on_persistent_congestion(&mut self, _: Instant) {}

    fn on_retransmission_timeout(&mut self, _: &RetransmissionTimeout) {
        self.with(|agent| agent.lost += agent.packet);
    }

    fn window(&self) -> u64 {
        self.with(|agent| agent.window as u64)
    }

    fn pacing(&self) -> Option<PacingRate> {
        self.with(|agent| {
            let rate = agent.rate?;
            Some(PacingRate {
                rate: Rate::from_bps(rate),
                quantum: Some((rate / 8e3).max(2.0 * agent.packet) as u64),
            })
        })
    }

    fn take_recovery_probe(&mut self) -> bool {
        false
    }

    fn report(&self) -> Report {
        Report::new("agent", Limit::None)
    }

    fn set_max_datagram_size(&mut self, octets: u64) {
        self.with(|agent| agent.packet = octets as f64);
    }

    fn clone_box(&self) -> BoxedController {
        Box::new(Self(Arc::clone(&self.0)))
    }
}

/// Adds the controller to the registry on the first call.
fn add_agent() {
    static ADDED: Once = Once::new();
    ADDED.call_once(|| {
        let factory: added::Factory = Arc::new(|config| {
            let linked = LINKED.with(|linked| linked.borrow().clone());
            // Outside of an environment the controller keeps its initial window.
            let agent = shared_agent(linked, config);
            Box::new(AgentController(agent)) as BoxedController
        });
        // The name is valid, and no built-in controller has it.
        let _ = added::add(CONTROLLER, "decisions come from an environment", factory);
    });
}

/// The state that a new controller shares with its environment; a new state outside of one.
fn shared_agent(linked: Option<Arc<Mutex<Agent>>>, config: &WindowConfig) -> Arc<Mutex<Agent>> {
    let Some(shared) = linked else {
        return Arc::new(Mutex::new(Agent::new(config, false)));
    };
    let mut agent = shared.lock().unwrap_or_else(PoisonError::into_inner);
    let pacing = agent.rate.is_some();
    *agent = Agent::new(config, pacing);
    drop(agent);
    shared
}

/// One scenario in progress.
struct Episode {
    text: String,
    name: String,
    overrides: Vec<Override>,
    agent: Arc<Mutex<Agent>>,
    simulation: Option<Simulation>,
    now: Instant,
}

/// Links the controllers of this thread to an episode while `work` runs.
fn linked<T>(agent: &Arc<Mutex<Agent>>, work: impl FnOnce() -> T) -> T {
    LINKED.with(|linked| *linked.borrow_mut() = Some(Arc::clone(agent)));
    let done = work();
    LINKED.with(|linked| *linked.borrow_mut() = None);
    done
}

fn options() -> RunOptions<'static> {
    RunOptions {
        trace: TraceLevel::Counters,
        registry: weir::registry(),
        ..RunOptions::default()
    }
}

impl Episode {
    /// Restarts the scenario, with another seed if one is given.
    fn reset(&mut self, flow: &str, seed: Option<u64>) -> Result<[f32; OBSERVED], RunError> {
        let set = |path: String, value: String| Override { path, value };
        let mut overrides = self.overrides.clone();
        let controller = format!("\"{CONTROLLER}\"");
        overrides.push(set(format!("flow.{flow}.transport.controller"), controller));
        overrides.extend(seed.map(|seed| set("run.seed".to_owned(), seed.to_string())));
        let scenario = parse_with(&self.text, &self.name, &overrides);
        let scenario = scenario.map_err(|error| RunError::Build(error.to_string()))?;
        let simulation = linked(&self.agent, || {
            Simulation::new(&scenario, &options(), Scope::Whole)
        });
        self.simulation = Some(simulation?);
        self.now = Instant::ZERO;
        let mut agent = self.agent.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(agent.observe(1.0).0)
    }

    /// Advances by a step; true if the scenario has ended.
    fn step(
        &mut self,
        action: f64,
        step: Duration,
    ) -> Result<([f32; OBSERVED], f64, bool), RunError> {
        let Some(simulation) = &mut self.simulation else {
            return Err(RunError::Build("the environment was not reset".to_owned()));
        };
        let act = |agent: &mut Agent| agent.act(action);
        act(&mut self.agent.lock().unwrap_or_else(PoisonError::into_inner));
        let until = (self.now + step).min(simulation.end());
        linked(&self.agent, || simulation.advance(&options(), until))?;
        let over = until >= simulation.end();
        let seconds = until.since(self.now).as_secs_f64().max(1e-9);
        self.now = until;
        let mut agent = self.agent.lock().unwrap_or_else(PoisonError::into_inner);
        let (observed, reward) = agent.observe(seconds);
        Ok((observed, reward, over))
    }
}

/// Several scenarios, each with a flow whose controller's decisions come from outside.
#[pyclass(module = "weirlab._weirlab")]
pub struct Environment {
    /// Never contended: the lock only makes the class usable in Python.
    episodes: Mutex<Vec<Episode>>,
    flow: String,
    step: Duration,
}

#[pymethods]
impl Environment {
    /// An environment with these scenarios. Steps have this duration; actions change the window, or
    /// with `pacing` the rate.
    #[new]
    fn new(
        py: Python<'_>,
        scenarios: Vec<Py<Scenario>>,
        flow: String,
        step_seconds: f64,
        pacing: bool,
    ) -> PyResult<Self> {
        if !(step_seconds > 0.0 && step_seconds <= 3600.0) {
            let message = format!("a step is {step_seconds} s, expected up to an hour");
            return Err(exception(py, "WeirError", &message, None));
        }
        add_agent();
        let episode = |scenario: &Py<Scenario>| {
            let (text, name, overrides) = scenario.get().parts();
            Episode {
                text,
                name,
                overrides,
                agent: Arc::new(Mutex::new(Agent::new(&WindowConfig::default(), pacing))),
                simulation: None,
                now: Instant::ZERO,
            }
        };
        Ok(Self {
            episodes: Mutex::new(scenarios.iter().map(episode).collect()),
            flow,
            step: Duration::from_nanos((step_seconds * 1e9) as u64),
        })
    }

    /// Restarts scenarios on all cores, given by their numbers, in ascending order, with their
    /// seeds. Returns the observation of each, as `<f4`.
    fn reset<'py>(
        &mut self,
        py: Python<'py>,
        begun: Vec<(usize, Option<u64>)>,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let Self { episodes, flow, .. } = self;
        let episodes = episodes.get_mut().unwrap_or_else(PoisonError::into_inner);
        let is_known = begun.iter().all(|(number, _)| *number < episodes.len());
        if !is_known || !begun.is_sorted_by(|a, b| a.0 < b.0) {
            let message = "expected the numbers of environments in ascending order";
            return Err(exception(py, "WeirError", message, None));
        }
        let seeds: BTreeMap<usize, Option<u64>> = begun.into_iter().collect();
        let observed: Result<Vec<_>, RunError> = py.detach(|| {
            let work = episodes.par_iter_mut().enumerate();
            let work = work.filter_map(|(number, episode)| Some((episode, *seeds.get(&number)?)));
            work.map(|(episode, seed)| episode.reset(flow, seed))
                .collect()
        });
        let observed = observed.map_err(|error| of_run(py, &error))?;
        let numbers = octets(observed.into_iter().flatten());
        Ok(PyBytes::new(py, &numbers))
    }

    /// Advances all scenarios by a step, on all cores. `actions` has a `<f4` for each. Returns
    /// observations and rewards as `<f4`, and 1 for each scenario that has ended.
    fn step<'py>(
        &mut self,
        py: Python<'py>,
        actions: &[u8],
    ) -> PyResult<(
        Bound<'py, PyBytes>,
        Bound<'py, PyBytes>,
        Bound<'py, PyBytes>,
    )> {
        let actions: Vec<f64> = actions
            .chunks_exact(4)
            .map(|octets| {
                f64::from(f32::from_le_bytes([
                    octets[0], octets[1], octets[2], octets[3],
                ]))
            })
            .collect();
        let wrong = actions.iter().any(|action| !action.is_finite());
        let step = self.step;
        let episodes = self.episodes.get_mut();
        let episodes = episodes.unwrap_or_else(PoisonError::into_inner);
        if actions.len() != episodes.len() || wrong {
            let message = "expected a finite number for each environment";
            return Err(exception(py, "WeirError", message, None));
        }
        let stepped: Result<Vec<_>, RunError> = py.detach(|| {
            if let [only] = episodes.as_mut_slice() {
                return Ok(vec![only.step(actions[0], step)?]);
            }
            let work = episodes.par_iter_mut().zip(&actions);
            work.map(|(episode, &action)| episode.step(action, step))
                .collect()
        });
        let stepped = stepped.map_err(|error| of_run(py, &error))?;
        let observed = octets(stepped.iter().flat_map(|(observed, _, _)| *observed));
        let rewards = octets(stepped.iter().map(|(_, reward, _)| *reward as f32));
        let over: Vec<u8> = stepped.iter().map(|(_, _, over)| u8::from(*over)).collect();
        let bytes = |octets: &[u8]| PyBytes::new(py, octets);
        Ok((bytes(&observed), bytes(&rewards), bytes(&over)))
    }
}

fn octets(numbers: impl Iterator<Item = f32>) -> Vec<u8> {
    numbers.flat_map(f32::to_le_bytes).collect()
}
