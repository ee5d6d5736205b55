//! Controllers implemented as Python classes, which scenarios refer to by name.

mod arguments;
mod calls;

pub use arguments::{Ack, Congestion, ControllerConfig};
pub use calls::calls_in_progress;

use crate::errors::exception;
use calls::Calls;
use pyo3::call::PyCallArgs;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::PyType;
use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use weir_proto::cc::window::{BoxedController, WindowConfig, added};
use weir_proto::cc::{
    Acked, CongestionEvent, ConnectionEvent, EndAcks, Lost, Needs, PacingRate, RecoveryPeriod,
    Report, RetransmissionTimeout, Sent, WindowController,
};
use weir_proto::event::Limit;
use weir_proto::time::Instant;
use weir_proto::units::Rate;

/// The maximum window in octets; a larger value is not valid.
const GREATEST_WINDOW: f64 = 1e12;
/// The maximum pacing rate in bit/s; a larger value is not valid.
const GREATEST_RATE: f64 = 1e13;

thread_local! {
    /// The error of a controller in the run of this thread.
    static FAULT: RefCell<Option<PyErr>> = const { RefCell::new(None) };
    /// Cancels the run of this thread.
    static CANCEL: RefCell<Option<Arc<AtomicBool>>> = const { RefCell::new(None) };
}

/// Makes an error of a controller end the run that this thread starts now.
pub fn begin_run(cancel: &Arc<AtomicBool>) {
    CANCEL.with(|of_thread| *of_thread.borrow_mut() = Some(Arc::clone(cancel)));
    FAULT.with(|fault| fault.borrow_mut().take());
}

/// The error of a controller in the run of this thread; it is taken, so that it is returned once.
pub fn take_fault() -> Option<PyErr> {
    FAULT.with(|fault| fault.borrow_mut().take())
}

/// The same as text.
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

/// The methods defined by a class, bound to its object.
struct Methods {
    ack: Option<Py<PyAny>>,
    congestion: Option<Py<PyAny>>,
    timeout: Option<Py<PyAny>>,
    sent: Option<Py<PyAny>>,
}

/// A controller whose decisions are made by a Python object.
struct PythonController {
    object: Option<(Py<PyAny>, Methods)>,
    calls: Arc<Calls>,
    name: Arc<str>,
    window: u64,
    pacing_rate: Option<Rate>,
    max_datagram_size: u64,
    /// A window below a packet was told.
    is_told: bool,
    /// The period of the last loss event, for statistics.
    period: RecoveryPeriod,
    state: &'static str,
    /// The last state object read: the same object means the same state.
    last_state: Option<Py<PyAny>>,
}

/// Makes a class available to scenarios as a window controller with this name.
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
    // Methods of the base class do nothing and are not called.
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
            let mut made = Self {
                object: None,
                calls: Calls::of_this_thread(py),
                name: Arc::clone(name),
                window: config.initial_window(),
                pacing_rate: None,
                max_datagram_size: config.max_datagram_size,
                is_told: false,
                period: RecoveryPeriod::default(),
                state: "python",
                last_state: None,
            };
            let config = ControllerConfig::from(config);
            made.calls.pass();
            let object = class.call1(py, (config,)).and_then(|object| {
                let methods = methods(py, object.bind(py))?;
                Ok((object, methods))
            });
            made.calls.pass();
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

    /// Records the error of the controller and ends the run.
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

    /// Calls a method, if the class defines it, and reads the resulting decisions.
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
            self.calls.pass();
            let called = call_method(py, method, argument());
            self.calls.pass();
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
                if let Err(error) = self.tell_of_a_small_window(py) {
                    return self.give_up(py, "its decision", error);
                }
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

impl PythonController {
    /// Warns once of a window below a packet, which is mostly one in packets.
    fn tell_of_a_small_window(&mut self, py: Python<'_>) -> PyResult<()> {
        if self.is_told || self.window >= self.max_datagram_size {
            return Ok(());
        }
        self.is_told = true;
        let message = format!(
            "controller \"{}\": its window of {} bytes is below a packet of {} bytes, so that at most \
             one packet is in flight; a window is in bytes, not in packets",
            self.name, self.window, self.max_datagram_size
        );
        let warning = py.import("weirlab.errors")?.getattr("WeirWarning")?;
        py.import("warnings")?
            .call_method1("warn", (message, warning))?;
        Ok(())
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

/// The states used in traces; other words are recorded as `python`.
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
    fn needs(&self) -> Needs {
        Needs {
            delivery_rate: true,
            end_acks: true,
            acks_in_recovery: true,
            window_in_recovery: true,
            ..Needs::NONE
        }
    }

    fn on_sent(&mut self, sent: &Sent) {
        let (now, bytes, in_flight) = (seconds(sent.now), sent.bytes, sent.bytes_in_flight);
        self.call(
            "on_sent",
            |methods| &methods.sent,
            || (now, bytes, in_flight),
        );
    }

    fn on_ack(&mut self, _: &Acked) {}

    fn on_lost(&mut self, _: &Lost) {}

    fn on_end_acks(&mut self, acks: &EndAcks) -> bool {
        self.call("on_ack", |methods| &methods.ack, || (Ack::from(acks),));
        false
    }

    fn on_congestion_event(&mut self, congestion: &CongestionEvent) -> bool {
        self.call(
            "on_congestion",
            |methods| &methods.congestion,
            || (Congestion::from(congestion),),
        );
        self.period.begins(congestion)
    }

    /// The object is called for packets, acknowledgements, losses and timeouts only.
    fn on_connection_event(&mut self, _: ConnectionEvent) {}

    fn on_spurious_congestion_event(&mut self, _: Instant) -> bool {
        false
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

    fn pacing(&self) -> Option<PacingRate> {
        let rate = self.pacing_rate?;
        // The octets of a millisecond at this rate, and at least two packets (draft-bbr §5.6.3).
        let burst = (rate.as_bps() / 8e3) as u64;
        Some(PacingRate {
            rate,
            quantum: Some(burst.max(2 * self.max_datagram_size)),
        })
    }

    fn take_recovery_probe(&mut self) -> bool {
        false
    }

    fn report(&self) -> Report {
        Report::new(self.state, Limit::None)
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
