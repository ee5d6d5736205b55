//! The states of BBR and what each prescribes (draft-ietf-ccwg-bbr §5.1.1 and §5.6.1).

use super::BbrConfig;

/// BBR.state (draft-bbr §2.7).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    Startup,
    Drain,
    Down,
    Cruise,
    Refill,
    Up,
    ProbeRtt,
}

impl State {
    /// Its name in traces.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Startup => "startup",
            Self::Drain => "drain",
            Self::Down => "probe_bw_down",
            Self::Cruise => "probe_bw_cruise",
            Self::Refill => "probe_bw_refill",
            Self::Up => "probe_bw_up",
            Self::ProbeRtt => "probe_rtt",
        }
    }

    /// BBR.pacing_gain (draft-bbr §5.6.1).
    pub(super) const fn pacing_gain(self, config: &BbrConfig) -> f64 {
        match self {
            Self::Startup => config.startup_pacing_gain,
            Self::Drain => config.drain_pacing_gain,
            Self::Down => config.probe_down_pacing_gain,
            Self::Cruise | Self::Refill | Self::ProbeRtt => 1.0,
            Self::Up => config.probe_up_pacing_gain,
        }
    }

    /// BBR.cwnd_gain (draft-bbr §5.6.1).
    pub(super) const fn cwnd_gain(self, config: &BbrConfig) -> f64 {
        match self {
            Self::Up => config.probe_up_cwnd_gain,
            Self::ProbeRtt => config.probe_rtt_cwnd_gain,
            _ => config.cwnd_gain,
        }
    }

    /// IsInAProbeBWState (draft-bbr §5.3.3.9).
    pub(super) const fn is_probe_bw(self) -> bool {
        matches!(self, Self::Down | Self::Cruise | Self::Refill | Self::Up)
    }

    /// IsProbingBW (draft-bbr §5.3.3.9).
    pub(super) const fn is_probing_bw(self) -> bool {
        matches!(self, Self::Startup | Self::Refill | Self::Up)
    }
}
