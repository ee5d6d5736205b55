//! Window-based congestion control.
//!
//! [`Classic`] is the common part of RFC 9002 §7: initial and minimum window, slow start, one
//! reduction in each recovery period, no growth while the application limits sending, persistent
//! congestion, and undoing a spurious reduction. A [`Policy`] computes the window in congestion
//! avoidance and after a congestion event. A new controller is one file with its policy and its
//! [`ControllerEntry`], the `mod` line and a line in `controllers!`, which makes [`REGISTRY`].
//!
//! [`TfrcWindow`] has no policy: it turns TFRC's rate into a window. [`Dctcp`] and [`Prague`]
//! respond to the share of marked packets. [`Bbr`] has a model of the path instead, and paces;
//! [`Copa`] has a target rate that follows from the queueing delay, and paces too.
//!
//! The initial window is min(10 MDS, max(2 MDS, 14720)) and the minimum 2 MDS (RFC 9002 §7.2),
//! where MDS is the maximum datagram size without IP and UDP headers.
//!
//! The [`Rules`] are the switches in which revisions and implementations differ.

pub mod added;
mod bbr;
mod bbr1;
mod careful_resume;
mod classic;
mod constants;
mod copa;
mod cubic;
mod dctcp;
mod ledbat;
mod new_reno;
mod pacing;
mod policy;
mod prague;
mod rate_limited;
#[cfg(test)]
mod registry_tests;
mod rules;
mod scalable;
mod slow_start;
#[cfg(test)]
mod tests;
mod tfrc;

pub use bbr::{Bbr, BbrConfig};
pub use bbr1::{Bbr1, Bbr1Config};
pub use careful_resume::CarefulResumeConfig;
pub use classic::Classic;
pub use constants::{Constants, REGISTRY};
pub use copa::{Copa, CopaConfig};
pub use cubic::{Cubic, CubicConfig};
pub use dctcp::Dctcp;
pub use ledbat::Ledbat;
pub use new_reno::NewReno;
pub use pacing::Pacing;
pub use policy::Policy;
pub use prague::Prague;
pub use rate_limited::RateLimitedGrowth;
pub use rules::{ControllerRules, CubicAlpha, Increase, RecoveryBoundary, Rules, SendGate};
pub use tfrc::TfrcWindow;

use super::WindowController;
use crate::settings::{
    Diagnostic, Keyword, Kind, Raw, Reader, Spanned, Value, find_name, word_here,
};

/// The configuration of a window controller.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WindowConfig {
    /// The largest datagram in octets, without IP and UDP headers.
    pub max_datagram_size: u64,
    /// The initial window in octets; `None` for that of RFC 9002 §7.2.
    pub initial_window: Option<u64>,
    /// The rules in which window-controlled senders differ.
    pub rules: Rules,
    /// The constants of the controllers.
    pub constants: Constants,
    /// The seed of a controller's random choices.
    pub seed: u64,
}

impl Default for WindowConfig {
    fn default() -> Self {
        Self {
            max_datagram_size: 1252,
            initial_window: None,
            rules: Rules::default(),
            constants: Constants::default(),
            seed: 0,
        }
    }
}

impl WindowConfig {
    /// The initial window in octets (RFC 9002 §7.2).
    pub fn initial_window(&self) -> u64 {
        self.basis().initial_window()
    }

    /// The sizes and rules, which controllers keep: the constants of all controllers take more
    /// memory than the state of one.
    pub(super) const fn basis(&self) -> WindowBasis {
        WindowBasis {
            max_datagram_size: self.max_datagram_size,
            initial_window: self.initial_window,
            rules: self.rules,
        }
    }
}

/// The part of [`WindowConfig`] that controllers keep.
#[derive(Clone, Copy, Debug)]
pub(super) struct WindowBasis {
    /// The largest datagram in octets, without IP and UDP headers.
    max_datagram_size: u64,
    /// The initial window in octets; `None` for that of RFC 9002 §7.2.
    initial_window: Option<u64>,
    /// The rules in which window-controlled senders differ.
    rules: Rules,
}

impl WindowBasis {
    /// The initial window in octets (RFC 9002 §7.2).
    fn initial_window(&self) -> u64 {
        let mds = self.max_datagram_size;
        let ten = 10 * mds;
        let standard = ten.min((2 * mds).max(14_720));
        self.initial_window
            .unwrap_or(standard)
            .max(self.minimum_window())
    }

    /// The smallest window in octets (RFC 9002 §7.2).
    const fn minimum_window(&self) -> u64 {
        2 * self.max_datagram_size
    }
}

/// A controller as an object.
pub type BoxedController = Box<dyn WindowController + Send + Sync>;

/// A window controller that is chosen by name.
#[derive(Clone, Copy, Debug)]
pub struct ControllerEntry {
    /// Its name in scenarios and on the command line.
    pub name: &'static str,
    /// One line of documentation, without a full stop.
    pub doc: &'static str,
    /// The rules of [`Rules::OF_CONTROLLERS`] that it follows, in groups; the others change
    /// nothing.
    pub rules: &'static [&'static [&'static str]],
    /// Makes a controller at its initial window.
    pub make: fn(&WindowConfig) -> BoxedController,
}

impl ControllerEntry {
    /// True if the controller follows the rule of this name.
    pub fn follows(&self, rule: &str) -> bool {
        self.rules.iter().any(|group| group.contains(&rule))
    }
}

impl PartialEq for ControllerEntry {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

/// Scenarios write a controller as its name.
impl Value for &'static ControllerEntry {
    fn read(&mut self, value: &Spanned, _: &mut Reader<'_>) -> Result<(), Diagnostic> {
        let name = find_name(&keywords(), &value.raw)?;
        *self = find(name).unwrap_or(self);
        Ok(())
    }

    fn write(&self) -> Raw {
        Raw::Text(self.name.to_owned())
    }

    fn kind(&self) -> Kind {
        Kind::Keywords(keywords())
    }
}

/// The names in the registry, in its order.
pub fn names() -> impl Iterator<Item = &'static str> {
    REGISTRY.iter().map(|entry| entry.name)
}

/// The names in the registry and those that the program has [`added`], with their documentation.
pub fn keywords() -> Vec<Keyword> {
    let keyword = |entry: &ControllerEntry| Keyword::new(entry.name, entry.doc);
    let added = added::entries();
    REGISTRY.iter().chain(added).map(keyword).collect()
}

/// The entry of this name, in the registry or [`added`], or of what Linux calls it.
pub fn find(name: &str) -> Option<&'static ControllerEntry> {
    let name = word_here(name);
    let known = REGISTRY.iter().find(|entry| entry.name == name);
    known.or_else(|| {
        added::entries()
            .into_iter()
            .find(|entry| entry.name == name)
    })
}

/// A controller of this name.
pub fn named(name: &str, config: &WindowConfig) -> Option<BoxedController> {
    find(name).map(|entry| (entry.make)(config))
}
