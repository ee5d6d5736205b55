//! Controllers that are classes of Python, used by their name in scenarios.

use crate::errors::exception;
use pyo3::call::PyCallArgs;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::PyType;
use std::cell::RefCell;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use weir_proto::cc::window::{BoxedController, WindowConfig, added};
use weir_proto::cc::{
    Acked, CongestionEvent, EndAcks, RetransmissionTimeout, Sent, WindowController,
};
use weir_proto::event::Limit;
use weir_proto::time::{Duration, Instant};
use weir_proto::units::Rate;

/// The greatest window in octets; more is none.
const GREATEST_WINDOW: f64 = 1e12;
/// The greatest pacing rate in bit/s; more is none.
const GREATEST_RATE: f64 = 1e13;

thread_local! {
    /// Why a controller of the run of this thread gave up.
    static FAULT: RefCell<Option<PyErr>> = const { RefCell::new(None) };
    /// Ends the run of this thread.
    static CANCEL: RefCell<Option<Arc<AtomicBool>>> = const { RefCell::new(None) };
}

/// Lets a fault of a controller end the run that this thread makes from now on.
pub fn begin_run(cancel: &Arc<AtomicBool>) {
    CANCEL.with(|of_thread| *of_thread.borrow_mut() = Some(Arc::clone(cancel)));
    FAULT.with(|fault| fault.borrow_mut().take());
}

/// Why a controller of the run of this thread gave up, once.
pub fn take_fault() -> Option<PyErr> {
    FAULT.with(|fault| fault.borrow_mut().take())
}

/// The same in words.
pub fn take_fault_in_words() -> Option<String> {
    let fault = take_fault()?;
    Some(Python::attach(|py| fault.value(py).to_string()))
}

fn fail(error: PyErr) {
    FAULT.with(|fault| {
        fault.borrow_mut().get_or_insert(error);
    });
    CANCEL.with(|cancel| {
        if let Some(cancel) = &*cancel.borrow() {
            cancel.store(true, Ordering::Relaxed);
        }
    });
}

/// A thread that may be inside a controller.
#[derive(Debug)]
pub struct Calls {
    /// Odd while it is inside; counts entries and exits.
    count: AtomicU64,
    /// The thread's number in Python.
    thread: u64,
}

/// All threads that run controllers.
static CALLS: Mutex<Vec<Weak<Calls>>> = Mutex::new(Vec::new());

/// The threads that are inside a controller now: number and count of calls.
pub fn calls_in_progress() -> Vec<(u64, u64)> {
    let mut calls = CALLS.lock().unwrap_or_else(PoisonError::into_inner);
    calls.retain(|calls| calls.strong_count() > 0);
    let inside = calls.iter().filter_map(Weak::upgrade).filter_map(|calls| {
        let count = calls.count.load(Ordering::Relaxed);
        (count % 2 == 1).then_some((calls.thread, count))
    });
    inside.collect()
}

/// What a controller's class is made with.
#[pyclass(frozen, get_all, module = "weirlab._weirlab")]
pub struct ControllerConfig {
    /// Bytes of the largest datagram, without IP and UDP headers.
    max_datagram_size: u64,
    /// The initial window in bytes.
    initial_window: u64,
}

/// An acknowledgement, with what it delivered and showed to be lost. Times are seconds, sizes
/// bytes, rates bit/s.
#[pyclass(frozen, get_all, module = "weirlab._weirlab")]
pub struct Ack {
    /// Virtual time at which it arrived.
    now: f64,
    /// Bytes that it newly acknowledges.
    acked: u64,
    /// Packets that it newly acknowledges.
    acked_packets: u64,
    /// Bytes declared lost since the acknowledgement before it.
    lost: u64,
    /// Packets that it newly reports as marked with Congestion Experienced.
    marked: u64,
    /// Bytes in flight after it.
    in_flight: u64,
    /// The sample of the round-trip time, if it gives one.
    rtt: Option<f64>,
    /// The smoothed round-trip time.
    smoothed_rtt: f64,
    /// The smallest round-trip time so far.
    min_rtt: f64,
    /// The sample of the delivery rate, if it gives one.
    delivery_rate: Option<f64>,
    /// The application limited that sample.
    app_limited: bool,
    /// Bytes delivered so far.
    delivered: u64,
    /// Bytes delivered when the newest acknowledged packet was sent: counts round trips.
    prior_delivered: u64,
}

/// Losses or marks.
#[pyclass(frozen, get_all, module = "weirlab._weirlab")]
pub struct Congestion {
    /// Virtual time.
    now: f64,
    /// When the latest of the lost or marked packets was sent.
    sent_at: f64,
    /// Bytes declared lost; zero for marks.
    lost: u64,
    /// Bytes in flight, without the lost packets.
    in_flight: u64,
    /// Marks, not losses.
    ecn: bool,
}

/// The methods that a class has, bound to its object.
struct Methods {
    ack: Option<Py<PyAny>>,
    congestion: Option<Py<PyAny>>,
    timeout: Option<Py<PyAny>>,
    sent: Option<Py<PyAny>>,
}

/// A controller whose decisions an object of Python makes.
struct PythonController {
    object: Option<(Py<PyAny>, Methods)>,
    calls: Arc<Calls>,
    name: Arc<str>,
    window: u64,
    pacing_rate: Option<Rate>,
    max_datagram_size: u64,
    state: &'static str,
    /// The word of the state as it was last read: the same object is the same state.
    last_state: Option<Py<PyAny>>,
}

/// Lets scenarios use a class as a window controller by this name.
#[pyfunction]
pub fn add_controller(py: Python<'_>, name: &str, doc: &str, class: Py<PyAny>) -> PyResult<()> {
    if !class.bind(py).is_callable() || !class.bind(py).is_instance_of::<PyType>() {
        return Err(PyTypeError::new_err("a controller is a class"));
    }
    let shared: Arc<str> = name.into();
    let factory: added::Factory = Arc::new(move |config| {
        let made = PythonController::new(&class, &shared, config);
        Box::new(made) as BoxedController
    });
    added::add(name, doc, factory).map_err(|error| {
        let message = format!("controller \"{name}\": {error}");
        exception(py, "WeirError", &message, None)
    })
}

fn bound(py: Python<'_>, object: &Bound<'_, PyAny>, name: &str) -> PyResult<Option<Py<PyAny>>> {
    let method = object.getattr_opt(name)?;
    // A method of the base class does nothing.
    let base = py
        .import("weirlab.controller")?
        .getattr("Controller")?
        .getattr_opt(name)?;
    let of_class = object.get_type().getattr_opt(name)?;
    let inherited = matches!((&of_class, &base), (Some(own), Some(base)) if own.is(base));
    Ok(method.filter(|_| !inherited).map(Bound::unbind))
}

fn methods(py: Python<'_>, object: &Bound<'_, PyAny>) -> PyResult<Methods> {
    Ok(Methods {
        ack: bound(py, object, "on_ack")?,
        congestion: bound(py, object, "on_congestion")?,
        timeout: bound(py, object, "on_timeout")?,
        sent: bound(py, object, "on_sent")?,
    })
}

impl PythonController {
    fn new(class: &Py<PyAny>, name: &Arc<str>, config: &WindowConfig) -> Self {
        Python::attach(|py| {
            let thread = py
                .import("threading")
                .and_then(|m| m.call_method0("get_ident"));
            let thread = thread.and_then(|ident| ident.extract()).unwrap_or_default();
            let calls = Arc::new(Calls {
                count: AtomicU64::new(0),
                thread,
            });
            let mut all = CALLS.lock().unwrap_or_else(PoisonError::into_inner);
            all.push(Arc::downgrade(&calls));
            drop(all);
            let mut made = Self {
                object: None,
                calls,
                name: Arc::clone(name),
                window: config.initial_window(),
                pacing_rate: None,
                max_datagram_size: config.max_datagram_size,
                state: "python",
                last_state: None,
            };
            let config = ControllerConfig {
                max_datagram_size: config.max_datagram_size,
                initial_window: config.initial_window(),
            };
            made.enter();
            let object = class.call1(py, (config,)).and_then(|object| {
                let methods = methods(py, object.bind(py))?;
                Ok((object, methods))
            });
            made.exit();
            match object {
                Ok(object) => {
                    made.object = Some(object);
                    made.read(py);
                }
                Err(error) => made.give_up(py, "made", error),
            }
            made
        })
    }

    fn enter(&self) {
        self.calls.count.fetch_add(1, Ordering::Relaxed);
    }

    fn exit(&self) {
        self.calls.count.fetch_add(1, Ordering::Relaxed);
    }

    /// Records why there is no controller any more, and ends the run.
    fn give_up(&mut self, py: Python<'_>, doing: &str, error: PyErr) {
        self.object = None;
        let what = error.value(py).to_string();
        let kind = error
            .get_type(py)
            .name()
            .map_or_else(|_| String::new(), |n| n.to_string());
        let message = format!("controller \"{}\", {doing}: {kind}: {what}", self.name);
        let raised = exception(py, "ControllerError", &message, None);
        raised.set_cause(py, Some(error));
        fail(raised);
    }

    /// Calls a method, if the class has it, and reads what it decided.
    fn call<A>(
        &mut self,
        name: &'static str,
        method: impl Fn(&Methods) -> &Option<Py<PyAny>>,
        argument: impl FnOnce() -> A,
    ) where
        A: for<'py> PyCallArgs<'py>,
    {
        let has = |object: &(Py<PyAny>, Methods)| method(&object.1).is_some();
        if !self.object.as_ref().is_some_and(has) {
            return;
        }
        self.call_present(name, method, argument);
    }

    fn call_present<A>(
        &mut self,
        name: &'static str,
        method: impl Fn(&Methods) -> &Option<Py<PyAny>>,
        argument: impl FnOnce() -> A,
    ) where
        A: for<'py> PyCallArgs<'py>,
    {
        Python::attach(|py| {
            let Some((_, methods)) = &self.object else {
                return;
            };
            let Some(method) = method(methods) else {
                return;
            };
            self.enter();
            let called = call_method(py, method, argument());
            self.exit();
            match called {
                Ok(()) => self.read(py),
                Err(error) => self.give_up(py, name, error),
            }
        });
    }

    /// Reads window, pacing rate and state of the object.
    fn read(&mut self, py: Python<'_>) {
        let Some((object, _)) = &self.object else {
            return;
        };
        let read = || -> PyResult<(u64, Option<Rate>, Option<Bound<'_, PyAny>>)> {
            let object = object.bind(py);
            let window = number(&object.getattr(intern!(py, "window"))?, "window")?;
            if !(1.0..=GREATEST_WINDOW).contains(&window) {
                return Err(out_of_range("window", window, "bytes from 1 on"));
            }
            let rate = object.getattr(intern!(py, "pacing_rate"))?;
            let rate = if rate.is_none() {
                None
            } else {
                let rate = number(&rate, "pacing_rate")?;
                if !(1.0..=GREATEST_RATE).contains(&rate) {
                    return Err(out_of_range(
                        "pacing_rate",
                        rate,
                        "bit/s from 1 on, or None",
                    ));
                }
                Some(Rate::from_bps(rate))
            };
            let state = object.getattr(intern!(py, "state"))?;
            let is_known = self
                .last_state
                .as_ref()
                .is_some_and(|known| state.is(known));
            let state = (!is_known).then_some(state);
            Ok((window as u64, rate, state))
        };
        match read() {
            Ok((window, rate, state)) => {
                (self.window, self.pacing_rate) = (window, rate);
                if let Some(word) = state {
                    self.state = word
                        .extract::<String>()
                        .map_or("python", |word| known_state(&word));
                    self.last_state = Some(word.unbind());
                }
            }
            Err(error) => self.give_up(py, "its decision", error),
        }
    }
}

fn call_method<A>(py: Python<'_>, method: &Py<PyAny>, argument: A) -> PyResult<()>
where
    A: for<'py> PyCallArgs<'py>,
{
    method.bind(py).call1(argument).map(drop)
}

fn number(value: &Bound<'_, PyAny>, what: &str) -> PyResult<f64> {
    value.extract::<f64>().map_err(|_| {
        let found = value
            .get_type()
            .name()
            .map_or_else(|_| String::new(), |n| n.to_string());
        PyTypeError::new_err(format!("{what} is of type {found}, expected a number"))
    })
}

fn out_of_range(what: &str, value: f64, expected: &str) -> PyErr {
    PyValueError::new_err(format!("{what} is {value}, expected {expected}"))
}

/// The states that traces know; others are `python`.
fn known_state(word: &str) -> &'static str {
    const KNOWN: [&str; 7] = [
        "slow_start",
        "congestion_avoidance",
        "recovery",
        "startup",
        "drain",
        "probe_bw",
        "probe_rtt",
    ];
    KNOWN
        .into_iter()
        .find(|known| *known == word)
        .unwrap_or("python")
}

fn seconds(at: Instant) -> f64 {
    at.as_secs_f64()
}

impl WindowController for PythonController {
    fn on_sent(&mut self, sent: &Sent) {
        let (now, bytes, in_flight) = (seconds(sent.now), sent.bytes, sent.bytes_in_flight);
        self.call(
            "on_sent",
            |methods| &methods.sent,
            || (now, bytes, in_flight),
        );
    }

    fn on_ack(&mut self, _: &Acked) {}

    fn on_end_acks(&mut self, acks: &EndAcks) {
        let ack = || {
            (Ack {
                now: seconds(acks.now),
                acked: acks.newly_acked,
                acked_packets: acks.acked_packets,
                lost: acks.newly_lost,
                marked: acks.ecn_ce,
                in_flight: acks.bytes_in_flight,
                rtt: acks.rtt_sample.map(Duration::as_secs_f64),
                smoothed_rtt: acks.rtt.smoothed.as_secs_f64(),
                min_rtt: acks.rtt.min.as_secs_f64(),
                delivery_rate: acks.rate.delivery_rate.map(Rate::as_bps),
                app_limited: acks.rate.app_limited,
                delivered: acks.rate.total_delivered,
                prior_delivered: acks.rate.prior_delivered,
            },)
        };
        self.call("on_ack", |methods| &methods.ack, ack);
    }

    fn wants_acks_in_recovery(&self) -> bool {
        true
    }

    fn sets_window_in_recovery(&self) -> bool {
        true
    }

    fn on_congestion_event(&mut self, congestion: &CongestionEvent) {
        let event = || {
            (Congestion {
                now: seconds(congestion.now),
                sent_at: seconds(congestion.sent_at),
                lost: congestion.lost_bytes,
                in_flight: congestion.bytes_in_flight,
                ecn: congestion.ecn,
            },)
        };
        self.call("on_congestion", |methods| &methods.congestion, event);
    }

    fn on_persistent_congestion(&mut self, now: Instant) {
        self.call("on_timeout", |methods| &methods.timeout, || (seconds(now),));
    }

    fn on_retransmission_timeout(&mut self, timeout: &RetransmissionTimeout) {
        let now = seconds(timeout.now);
        self.call("on_timeout", |methods| &methods.timeout, || (now,));
    }

    fn window(&self) -> u64 {
        self.window
    }

    fn ssthresh(&self) -> Option<u64> {
        None
    }

    fn pacing_rate(&self) -> Option<Rate> {
        self.pacing_rate
    }

    fn send_quantum(&self) -> Option<u64> {
        // A millisecond of the rate, and at least two packets (draft-bbr §5.6.3).
        let burst = (self.pacing_rate?.as_bps() / 8e3) as u64;
        Some(burst.max(2 * self.max_datagram_size))
    }

    fn state(&self) -> &'static str {
        self.state
    }

    fn limit(&self) -> Limit {
        Limit::None
    }

    fn set_max_datagram_size(&mut self, octets: u64) {
        self.max_datagram_size = octets;
    }

    fn clone_box(&self) -> BoxedController {
        Python::attach(|py| {
            let copied = self.object.as_ref().map(|(object, _)| {
                let copy = py.import("copy")?.call_method1("deepcopy", (object,))?;
                let methods = methods(py, &copy)?;
                Ok((copy.unbind(), methods))
            });
            let mut copy = Self {
                object: None,
                calls: Arc::clone(&self.calls),
                name: Arc::clone(&self.name),
                last_state: None,
                ..*self
            };
            match copied {
                Some(Ok(object)) => copy.object = Some(object),
                Some(Err(error)) => copy.give_up(py, "copied", error),
                None => {}
            }
            Box::new(copy) as BoxedController
        })
    }
}
