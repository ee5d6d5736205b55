//! A shared 802.11 medium: half-duplex, carrier sense with collision avoidance (the DCF of IEEE
//! 802.11-2007 §9.2), frames that fail and are retried, rates that adapt, and interference.
//!
//! Models: SIFS, DIFS and slots; contention windows that double; post-transmission backoff;
//! collisions of stations whose backoff ends in the same slot; MAC acknowledgements and their
//! timeout; retry limits; 802.11b and g frame times with preambles; a queue of any discipline in
//! each station, the access point's included; frame errors from the signal-to-noise ratio, which
//! may follow a schedule; bursts of non-802.11 interference.
//!
//! Does not model: hidden stations (all hear each other), RTS/CTS, capture, lost MAC
//! acknowledgements (they are short and sent at the lowest rate), fragmentation, aggregation,
//! power saving, beacons, protection of mixed b/g cells, propagation time (0.1 us at 30 m). A
//! frame that fails keeps the medium for its acknowledgement timeout, for all stations alike,
//! where the standard lets the others wait EIFS: the same length.

mod channel;
mod medium;
mod rate_control;
mod station;
mod timing;

pub use channel::{Audibility, ChannelConfig, InterferenceConfig, PathLossConfig, SignalConfig};
pub use medium::MediumConfig;
pub(crate) use medium::{Hop, Medium};
pub use rate_control::{FixedRateConfig, RateControlConfig};
pub use station::{StationConfig, StationCounters};
pub use timing::{PhyConfig, PhyRate, Standard};
