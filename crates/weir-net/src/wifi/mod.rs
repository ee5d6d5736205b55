//! A shared 802.11 medium: half-duplex, carrier sense with collision avoidance (the DCF of IEEE
//! 802.11-2007 §9.2), frame errors and retries, rate adaptation, and interference.
//!
//! Models: SIFS, DIFS, EIFS and slots; contention windows that double; post-transmission backoff;
//! collisions of stations whose backoff ends in the same slot; MAC acknowledgements and their
//! timeout; retry limits; 802.11b and g frame times with preambles; a queue of any discipline in
//! each station, including the access point; places of stations, which may move, and path loss by
//! distance, or given signal-to-noise ratios; interference as power at a place; frame errors by
//! receiver and rate; delivery of damaged frames.
//!
//! Does not model: hidden stations (all hear each other), RTS/CTS, capture, lost MAC
//! acknowledgements (they are short and sent at a low rate), fragmentation, aggregation, power
//! saving, beacons, protection of mixed b/g cells, propagation time (0.1 us at 30 m), walls and
//! fading. A collision destroys its frames for all stations, regardless of their places.

mod channel;
mod interference;
mod medium;
mod place;
mod rate_control;
mod station;
mod timing;

pub use channel::{ChannelConfig, MoveConfig, SignalConfig};
pub use interference::{Audibility, InterferenceConfig};
pub use medium::MediumConfig;
pub(crate) use medium::{Hop, Medium};
pub use place::{PathLossConfig, Place};
pub use rate_control::{FixedRateConfig, RateControlConfig};
pub use station::{DamagedFrames, StationConfig, StationCounters};
pub use timing::{PhyConfig, PhyRate, Standard};
