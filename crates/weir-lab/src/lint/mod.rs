//! Settings of a scenario that are valid but probably not intended, or make its results misleading.
//!
//! Each rule is a file with one function from [`View`] to findings, and a line in [`RULES`]. Rules
//! read the scenario only; they do not run it. A rule that lacks a value, such as the rate of an
//! 802.11 medium, reports nothing.

mod assumptions;
mod bursts;
mod credit;
mod duration;
mod interval;
mod load;
mod marks;
pub(crate) mod path;
mod phase;
mod queue;
mod rate_control;
mod reordering;
mod seeds;
mod unused;
pub(crate) mod view;

pub use seeds::draws_random_numbers;

use crate::scenario::Scenario;
use serde::Serialize;
use std::fmt;
use view::View;

/// A warning about a scenario that affects how its results should be read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// The rule that found it.
    pub rule: &'static str,
    /// The setting, in the notation of `--set`: `link.bottleneck.queue`.
    pub path: String,
    /// The problem.
    pub message: String,
    /// The advice.
    pub help: String,
}

impl Finding {
    fn new(rule: &'static str, path: &str, message: String, help: impl Into<String>) -> Self {
        Self {
            rule,
            path: path.to_owned(),
            message,
            help: help.into(),
        }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} [{}]: {}; {}",
            self.path, self.rule, self.message, self.help
        )
    }
}

/// A rule: its name, its description and its function.
pub struct Rule {
    /// Its name.
    pub name: &'static str,
    /// The problem that it finds, in one line.
    pub doc: &'static str,
    check: fn(&View<'_>) -> Vec<Finding>,
}

const SEEDS: &str = "seeds";
const PHASE: &str = "phase";

/// All rules.
pub const RULES: &[Rule] = &[
    Rule {
        name: SEEDS,
        doc: "No setting draws a random number, so that each seed gives the same run.",
        check: seeds::check,
    },
    Rule {
        name: PHASE,
        doc: "Flows share a drop-tail queue and nothing keeps them from locking in phase.",
        check: phase::check,
    },
    Rule {
        name: "queue",
        doc: "A queue holds less than a packet, a burst, or what keeps its link busy.",
        check: queue::check,
    },
    Rule {
        name: "credit",
        doc: "Buffers or credit hold a flow below its share of its path.",
        check: credit::check,
    },
    Rule {
        name: "interval",
        doc: "The ten milliseconds between packets of CCID 4 hold a flow below its share of its path.",
        check: interval::check,
    },
    Rule {
        name: "load",
        doc: "Transfers arrive faster than their path carries them.",
        check: load::check,
    },
    Rule {
        name: "duration",
        doc: "The run is shorter than 20 of its slowest time constants.",
        check: duration::check,
    },
    Rule {
        name: "reordering",
        doc: "Jitter lets packets overtake each other.",
        check: reordering::check,
    },
    Rule {
        name: "assumptions",
        doc: "The laws of `weir theory` do not hold for a flow.",
        check: assumptions::check,
    },
    Rule {
        name: "bursts",
        doc: "A burst of losses that is counted in packets outlasts timeouts.",
        check: bursts::check,
    },
    Rule {
        name: "rate-control",
        doc: "The rate control of an 802.11 station takes collisions for a poor signal.",
        check: rate_control::check,
    },
    Rule {
        name: "marks",
        doc: "A controller does not get the marks that it answers to, or has no answer to them.",
        check: marks::check,
    },
    Rule {
        name: "unused",
        doc: "A setting has no effect beside another one.",
        check: unused::check,
    },
];

/// What a scenario is read for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// One run in the simulator, or some that differ in their settings.
    OneRun,
    /// A run for each of several seeds.
    Seeds,
    /// Runs on hosts and kernels, in real time.
    RealTime,
}

impl Purpose {
    /// Whether this rule says something that matters for the purpose.
    fn asks(self, rule: &Rule) -> bool {
        match self {
            Self::Seeds => true,
            Self::OneRun => rule.name != SEEDS,
            // Two runs in real time differ without seeds, and kernels keep flows out of phase.
            Self::RealTime => ![SEEDS, PHASE].contains(&rule.name),
        }
    }
}

/// The findings of the rules for a purpose, in their order.
pub fn lint_for(scenario: &Scenario, purpose: Purpose) -> Vec<Finding> {
    let view = View::of(scenario);
    let rules = RULES.iter().filter(|rule| purpose.asks(rule));
    rules.flat_map(|rule| (rule.check)(&view)).collect()
}

/// The findings of all rules, in their order.
pub fn lint(scenario: &Scenario) -> Vec<Finding> {
    lint_for(scenario, Purpose::Seeds)
}

#[cfg(test)]
mod tests;
