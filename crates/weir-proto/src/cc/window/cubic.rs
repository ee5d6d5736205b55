//! CUBIC (RFC 9438, which replaces RFC 8312; section numbers are those of RFC 9438).
//!
//! After a reduction from W_max the window is a cubic function of the time t since then:
//!   W_cubic(t) = C (t - K)^3 + W_max             (figure 1)
//!   K = cbrt((W_max - cwnd_epoch) / C)           (figure 2)
//! but at least the window that a Reno sender with the same reduction would have:
//!   W_est += alpha * acked / cwnd,  alpha = 3 (1 - beta) / (1 + beta)    (§4.3)
//! with alpha = 1 once W_est has come back to the window before the reduction, unless the rule
//! `cubic_alpha` keeps it constant as Linux does. Windows are in packets of max_datagram_size, C in
//! packets per second cubed.
//!
//! Fast convergence (§4.7) frees capacity for new flows: a reduction below the last W_max sets
//! W_max = cwnd (1 + beta) / 2. Time without data to send does not count in t (§4.2).
//!
//! Not modelled: the ECN factor of RFC 8511.

use super::classic::{RULES, SLOW_START_RULES};
use super::{Classic, ControllerEntry, CubicAlpha, Policy, WindowConfig};
use crate::cc::Acked;
use crate::settings;
use crate::settings::fraction;
use crate::time::{Duration, Instant};

/// C, in packets per second cubed (RFC 9438 §5.1).
const C: f64 = 0.4;
/// beta_cubic (RFC 9438 §4.6).
const BETA: f64 = 0.7;
/// The greatest ratio of the target to the window (RFC 9438 §4.2).
const MAX_TARGET: f64 = 1.5;
/// W_max over the estimate of Rapid Start, with fast convergence (draft-kazuho-ccwg-rapid-start
/// §3.3.3).
const RAPID_START_MARGIN: f64 = 2.0;
/// Acknowledged packets for one packet more, at most, before the first reduction: the bound of
/// `cnt` in Linux's `bictcp_update`.
const INITIAL_COUNT: f64 = 20.0;

settings! {
    /// The constants of CUBIC (RFC 9438).
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct CubicConfig {
        /// C, how steep the curve is (RFC 9438 §5).
        pub c: f64 = C,
        /// beta, what a reduction leaves, in 0..1 (RFC 9438 §4.6).
        pub beta: f64 = BETA => fraction(),
        /// Give way to newcomers (RFC 9438 §4.7).
        pub fast_convergence: bool = true,
    }
}

/// A congestion avoidance epoch (§4.2).
#[derive(Clone, Copy, Debug)]
struct Epoch {
    /// When it began, later by the time without data to send.
    start: Instant,
    /// When the last acknowledgement arrived.
    last_ack: Instant,
    /// K.
    k: f64,
    /// W_est in packets.
    w_est: f64,
}

/// The registry's entry.
pub(super) const ENTRY: ControllerEntry = ControllerEntry {
    name: "cubic",
    doc: "CUBIC (RFC 9438)",
    rules: &[
        RULES,
        SLOW_START_RULES,
        &["hystart", "cubic_alpha", "cubic_initial_growth"],
    ],
    make: |config| Box::new(Classic::new(config, Cubic::new(config))),
};

/// CUBIC's policy.
#[derive(Clone, Debug)]
pub struct Cubic {
    config: CubicConfig,
    alpha: CubicAlpha,
    initial_growth: bool,
    max_datagram_size: f64,
    /// W_max in packets; zero before the first reduction.
    w_max: f64,
    /// cwnd_prior in packets: the window before the last reduction; zero before the first.
    cwnd_prior: f64,
    epoch: Option<Epoch>,
    /// Growth of less than an octet, kept for the next acknowledgement.
    fraction: f64,
}

impl Cubic {
    /// The policy before any reduction.
    pub fn new(config: &WindowConfig) -> Self {
        Self {
            config: config.constants.cubic,
            alpha: config.rules.controller.cubic_alpha,
            initial_growth: config.rules.controller.cubic_initial_growth,
            max_datagram_size: config.max_datagram_size as f64,
            w_max: 0.0,
            cwnd_prior: 0.0,
            epoch: None,
            fraction: 0.0,
        }
    }

    /// K in seconds: the time after which the curve reaches W_max again.
    fn time_to_w_max(&self, cwnd: f64) -> f64 {
        libm::cbrt((self.w_max - cwnd).max(0.0) / self.config.c)
    }

    /// W_cubic(t) in packets.
    fn w_cubic(&self, t: f64, k: f64) -> f64 {
        let x = t - k;
        self.config.c * x * x * x + self.w_max
    }

    fn begin_epoch(&mut self, now: Instant, cwnd: f64) -> Epoch {
        // §4.10: congestion avoidance without a reduction before it starts at the plateau, K = 0.
        if self.w_max < cwnd {
            self.w_max = cwnd;
        }
        Epoch {
            start: now,
            last_ack: now,
            k: self.time_to_w_max(cwnd),
            w_est: cwnd,
        }
    }
}

impl Policy for Cubic {
    const HYSTART: bool = true;

    fn on_ack(&mut self, cwnd: u64, acked: &Acked) -> u64 {
        let window = cwnd as f64 / self.max_datagram_size;
        let packets = acked.bytes as f64 / self.max_datagram_size;
        let mut epoch = match self.epoch {
            Some(epoch) => epoch,
            None => self.begin_epoch(acked.now, window),
        };
        epoch.last_ack = acked.now;
        let is_constant = self.alpha == CubicAlpha::Constant;
        let alpha = if is_constant || epoch.w_est < self.cwnd_prior {
            3.0 * (1.0 - self.config.beta) / (1.0 + self.config.beta)
        } else {
            1.0
        };
        epoch.w_est += alpha * packets / window;
        self.epoch = Some(epoch);

        let t = acked.now.since(epoch.start).as_secs_f64();
        let next = if self.w_cubic(t, epoch.k) < epoch.w_est {
            // §4.3: the Reno-friendly region.
            epoch.w_est.max(window)
        } else {
            // §4.2: the target is W_cubic one round-trip time from now, at most 1.5 windows.
            let rtt = acked.rtt.smoothed.as_secs_f64();
            let target = self
                .w_cubic(t + rtt, epoch.k)
                .clamp(window, MAX_TARGET * window);
            window + (target - window) * packets / window
        };
        let next = if self.initial_growth && self.cwnd_prior == 0.0 {
            next.max(window + packets / INITIAL_COUNT)
        } else {
            next
        };
        let grown = next * self.max_datagram_size + self.fraction;
        let whole = (grown as u64).max(cwnd);
        self.fraction = (grown - whole as f64).max(0.0);
        whole
    }

    fn on_congestion_event(&mut self, _now: Instant, cwnd: u64) -> u64 {
        let window = cwnd as f64 / self.max_datagram_size;
        self.w_max = if self.config.fast_convergence && window < self.w_max {
            window * (1.0 + self.config.beta) / 2.0
        } else {
            window
        };
        self.cwnd_prior = window;
        self.epoch = None;
        self.fraction = 0.0;
        (cwnd as f64 * self.config.beta) as u64
    }

    fn on_full_bdp(&mut self, octets: f64) {
        let packets = octets / self.max_datagram_size;
        self.w_max = if self.config.fast_convergence {
            RAPID_START_MARGIN * packets
        } else {
            packets
        };
        self.cwnd_prior = packets;
    }

    fn limit(&self, flight: u64, packet: u64) -> u64 {
        let target = (MAX_TARGET * flight as f64) as u64;
        target.max(flight.saturating_add(packet))
    }

    fn on_app_limited(&mut self, now: Instant) {
        if let Some(epoch) = &mut self.epoch {
            let idle: Duration = now.since(epoch.last_ack);
            epoch.start += idle;
            epoch.last_ack = now;
        }
    }

    fn reset(&mut self) {
        // §4.8: after a timeout the next epoch starts at its own window.
        self.epoch = None;
        self.w_max = 0.0;
        self.cwnd_prior = 0.0;
        self.fraction = 0.0;
    }

    fn set_max_datagram_size(&mut self, octets: u64) {
        // Windows are kept in packets of the datagram size; in octets they do not change.
        let size = octets as f64;
        let scale = self.max_datagram_size / size;
        self.w_max *= scale;
        self.cwnd_prior *= scale;
        if let Some(epoch) = &mut self.epoch {
            epoch.w_est *= scale;
            epoch.k *= libm::cbrt(scale);
        }
        self.max_datagram_size = size;
    }
}

#[cfg(test)]
#[path = "cubic_tests.rs"]
mod tests;
