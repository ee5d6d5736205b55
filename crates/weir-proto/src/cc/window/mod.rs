//! Window-based congestion control: the mechanism once, the policies small.
//!
//! [`Window`] is the mechanism of RFC 9002 §7: initial and minimum window, slow start, one
//! reduction in each recovery period, no growth while the application limits sending, persistent
//! congestion, and the way back when a loss was none. A [`Policy`] says how the window grows in
//! congestion avoidance and what a congestion event leaves of it. A new controller is a file
//! with a policy and a line in [`REGISTRY`].
//!
//! [`EquationWindow`] is the exception: the window that TFRC's rate makes, without the mechanism.
//!
//! The initial window is min(10 MDS, max(2 MDS, 14720)) and the minimum 2 MDS (RFC 9002 §7.2),
//! where MDS is the maximum datagram size without IP and UDP headers.
//!
//! The [`Rules`] hold what revisions and implementations do differently.

mod cubic;
mod equation;
mod mechanism;
mod new_reno;
mod rules;
mod slow_start;
#[cfg(test)]
mod tests;

pub use cubic::{Cubic, CubicConfig};
pub use equation::EquationWindow;
pub use mechanism::{Policy, Window};
pub use new_reno::NewReno;
pub use rules::{Increase, RecoveryBoundary, Rules, SendGate};

use super::WindowController;

/// What a window controller is made from.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WindowConfig {
    /// The largest datagram in octets, without IP and UDP headers.
    pub max_datagram_size: u64,
    /// The initial window in octets; `None` for RFC 9002's.
    pub initial_window: Option<u64>,
    /// The rules of the mechanism.
    pub rules: Rules,
    /// The constants of CUBIC.
    pub cubic: CubicConfig,
}

impl Default for WindowConfig {
    fn default() -> Self {
        Self {
            max_datagram_size: 1252,
            initial_window: None,
            rules: Rules::default(),
            cubic: CubicConfig::default(),
        }
    }
}

impl WindowConfig {
    /// The initial window in octets (RFC 9002 §7.2).
    pub fn initial_window(&self) -> u64 {
        let mds = self.max_datagram_size;
        let standard = (10 * mds).min((2 * mds).max(14_720));
        self.initial_window
            .unwrap_or(standard)
            .max(self.minimum_window())
    }

    /// The smallest window in octets (RFC 9002 §7.2).
    pub const fn minimum_window(&self) -> u64 {
        2 * self.max_datagram_size
    }
}

/// A controller as an object.
pub type BoxedController = Box<dyn WindowController + Send + Sync>;

/// A controller that can be chosen by name.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// Its name in scenarios.
    pub name: &'static str,
    /// Makes one.
    pub make: fn(&WindowConfig) -> BoxedController,
}

/// All controllers.
pub static REGISTRY: [Entry; 3] = [
    Entry {
        name: "newreno",
        make: |config| Box::new(Window::new(config, NewReno::new(config))),
    },
    Entry {
        name: "cubic",
        make: |config| Box::new(Window::new(config, Cubic::new(config))),
    },
    Entry {
        name: "tfrc",
        make: |config| Box::new(EquationWindow::new(config)),
    },
];

/// The entry of this name.
pub fn find(name: &str) -> Option<&'static Entry> {
    REGISTRY.iter().find(|entry| entry.name == name)
}

/// A controller of this name.
pub fn named(name: &str, config: &WindowConfig) -> Option<BoxedController> {
    find(name).map(|entry| (entry.make)(config))
}
