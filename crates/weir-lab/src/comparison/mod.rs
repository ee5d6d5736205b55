//! The differences between two sets of runs: two controllers, two profiles, two builds.
//!
//! [`pair_runs`] pairs runs of equal settings by their seed, so that random effects common to both
//! sides cancel out. [`effects`] compares each headline measure of the pairs: the difference
//! between B and A, the 95 % confidence interval of the paired differences, and whether the
//! difference is significant. [`first_divergence`] finds the table, row and column in which two
//! traces first differ. [`bound_shares`] compares what limited the senders.

mod divergence;
mod effect;
mod headline;
mod measures;
mod pairing;
mod settings;
mod shares;

pub use divergence::{Divergence, first_divergence};
pub use effect::{Effect, FAMILY_WISE_ERROR, effects, judge, measured_effects};
pub(crate) use headline::SHOWN;
pub use headline::{Better, HEADLINE, Headline};
#[cfg(feature = "files")]
pub(crate) use measures::is_member;
pub use measures::{Measures, left_out};
pub use pairing::{Pair, PairingError, pair_runs, pair_settings};
pub use settings::{SettingChange, changed_settings, settings_of};
pub use shares::{Share, bound_shares};

#[cfg(test)]
mod inputs_tests;
#[cfg(test)]
mod tests;
