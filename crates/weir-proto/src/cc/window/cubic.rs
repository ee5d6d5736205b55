//! CUBIC (RFC 9438, which replaces RFC 8312; section numbers are those of RFC 9438).
//!
//! After a reduction from W_max the window is a cubic function of the time t since then:
//!   W_cubic(t) = C (t - K)^3 + W_max             (figure 1)
//!   K = cbrt((W_max - cwnd_epoch) / C)           (figure 2)
//! but at least the window that a Reno sender with the same reduction would have:
//!   W_est += alpha * acked / cwnd,  alpha = 3 (1 - beta) / (1 + beta)    (§4.3)
//! with alpha = 1 once W_est has come back to the window before the reduction. Windows are in
//! packets of max_datagram_size, C in packets per second cubed.
//!
//! Fast convergence (§4.7) frees capacity for new flows: a reduction below the last W_max sets
//! W_max = cwnd (1 + beta) / 2. Time without data to send does not count in t (§4.2).
//!
//! Not modelled: the ECN factor of RFC 8511.

use super::{Classic, ControllerEntry, Policy, WindowConfig};
use crate::cc::Acked;
use crate::settings;
use crate::settings::fraction;
use crate::time::{Duration, Instant};

/// C, in packets per second cubed (RFC 9438 §5.1).
const C: f64 = 0.4;
/// beta_cubic (RFC 9438 §4.6).
const BETA: f64 = 0.7;
/// The most that the target exceeds the window by, as a factor (RFC 9438 §4.2).
const MAX_TARGET: f64 = 1.5;

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
    make: |config| Box::new(Classic::new(config, Cubic::new(config))),
};

/// CUBIC's policy.
#[derive(Clone, Debug)]
pub struct Cubic {
    config: CubicConfig,
    max_datagram_size: f64,
    /// W_max in packets; zero before the first reduction.
    w_max: f64,
    /// cwnd_prior in packets: the window before the last reduction.
    cwnd_prior: f64,
    epoch: Option<Epoch>,
    /// Growth of less than an octet, kept for the next acknowledgement.
    fraction: f64,
}

impl Cubic {
    /// The policy before any reduction.
    pub fn new(config: &WindowConfig) -> Self {
        Self {
            config: config.cubic,
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
        let alpha = if epoch.w_est < self.cwnd_prior {
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
        let grown = next * self.max_datagram_size + self.fraction;
        let whole = (grown as u64).max(cwnd);
        self.fraction = (grown - whole as f64).clamp(0.0, 1.0);
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
mod tests {
    use super::*;
    use crate::cc::{Rtt, window::WindowConfig};

    const MDS: u64 = 1000;

    fn cubic() -> Cubic {
        Cubic::new(&WindowConfig {
            max_datagram_size: MDS,
            ..WindowConfig::default()
        })
    }

    fn acked(at_ms: u64, rtt_ms: u64) -> Acked {
        Acked {
            now: Instant::ZERO + Duration::from_millis(at_ms),
            sent_at: Instant::ZERO,
            bytes: MDS,
            bytes_in_flight: 10 * MDS,
            rtt: Rtt {
                smoothed: Duration::from_millis(rtt_ms),
                ..Rtt::default()
            },
            app_limited: false,
        }
    }

    #[test]
    fn the_target_is_at_most_one_and_a_half_windows() {
        // RFC 9438 §4.2, MAX_TARGET: 40 s after a reduction from 20 to 14 packets W_cubic is beyond
        // 1.5·14, so that one packet of 14 acknowledged adds (21 - 14)/14 = 0.5 packets.
        let mut cubic = cubic();
        let cwnd = cubic.on_congestion_event(Instant::ZERO, 20 * MDS);
        let first = cubic.on_ack(cwnd, &acked(0, 100));
        // 14 + 0.529 412/14 = 14.037 815.
        assert_eq!(first, 14_037);
        let second = cubic.on_ack(first, &acked(40_000, 100));
        // 14.037 + 0.5.
        assert_eq!(second, 14_537);
    }

    #[test]
    fn the_target_is_never_below_the_window() {
        // RFC 9438 §4.2: with W_max = 100 and K = 4.217 s, W_cubic(2.1 s) = 96.2 is below a window
        // of 99, which stays (W_est does not reach it).
        let mut cubic = cubic();
        cubic.on_congestion_event(Instant::ZERO, 100 * MDS);
        cubic.on_ack(70 * MDS, &acked(0, 100));
        assert_eq!(cubic.on_ack(99 * MDS, &acked(2000, 100)), 99 * MDS);
    }

    #[test]
    fn the_reno_estimate_grows_by_one_once_it_has_reached_the_prior_window() {
        // RFC 9438 §4.3: alpha = 3·0.3/1.7 = 0.529 412 while W_est < cwnd_prior = 10, then 1. A
        // window acknowledged at once adds alpha.
        let mut cubic = cubic();
        let cwnd = cubic.on_congestion_event(Instant::ZERO, 10 * MDS);
        let whole = |window: u64| Acked {
            bytes: window,
            ..acked(0, 1)
        };
        assert_eq!(cubic.on_ack(cwnd, &whole(cwnd)), 7529);
        let mut estimate = 7.0 + 0.529_412;
        while estimate < 10.0 {
            estimate += 0.529_412;
            cubic.on_ack(7529, &whole(7529));
        }
        let before = cubic.epoch.expect("an epoch").w_est;
        assert!((before - estimate).abs() < 1e-4, "{before}");
        cubic.on_ack(7529, &whole(7529));
        let after = cubic.epoch.expect("an epoch").w_est;
        assert!((after - before - 1.0).abs() < 1e-12, "{after}");
    }

    #[test]
    fn without_a_reduction_the_plateau_is_the_first_window() {
        // RFC 9438 §4.10: K = 0 and W_max = cwnd. At t = 1.9 s and an RTT of 100 ms the target is
        // 50 + 0.4·2³ = 53.2: one packet of 50 adds 3.2/50 = 0.064.
        let mut cubic = cubic();
        let first = cubic.on_ack(50 * MDS, &acked(0, 100));
        // W_est: 50 + 1/50, because there is no prior window.
        assert_eq!(first, 50_020);
        let second = cubic.on_ack(50 * MDS, &acked(1900, 100));
        assert_eq!(second, 50_064);
    }

    #[test]
    fn follows_the_curve_of_hand_computed_values() {
        // RFC 9438 §4.2 with C of §5.1.
        let mut cubic = cubic();
        // 100 packets reduced to 70: W_max - cwnd = 30, K = cbrt(30 / 0.4) = cbrt(75).
        assert_eq!(
            cubic.on_congestion_event(Instant::ZERO, 100 * MDS),
            70 * MDS
        );
        let k = cubic.time_to_w_max(70.0);
        assert!((k - 4.217_163_326_508_746).abs() < 1e-12, "{k}");
        // W_cubic(0) is the reduced window, W_cubic(K) is W_max, and W_cubic(K + 1 s) is C more.
        assert!((cubic.w_cubic(0.0, k) - 70.0).abs() < 1e-9);
        assert!((cubic.w_cubic(k, k) - 100.0).abs() < 1e-9);
        assert!((cubic.w_cubic(k + 1.0, k) - 100.4).abs() < 1e-9);
        // W_cubic(2) = 0.4 (2 - 4.217163)^3 + 100 = 95.640336
        assert!((cubic.w_cubic(2.0, k) - 95.640_335_7).abs() < 1e-6);
    }

    #[test]
    fn reduces_to_seven_tenths_and_converges_fast_below_the_w_maximum() {
        // RFC 9438 §4.6, BETA, and §4.7.
        let mut cubic = cubic();
        assert_eq!(cubic.on_congestion_event(Instant::ZERO, 100_000), 70_000);
        assert_eq!(cubic.w_max, 100.0);
        assert_eq!(cubic.on_congestion_event(Instant::ZERO, 80_000), 56_000);
        // 80 * (1 + 0.7) / 2
        assert!((cubic.w_max - 68.0).abs() < 1e-9);
        // The same window is not below W_max.
        cubic.w_max = 80.0;
        cubic.on_congestion_event(Instant::ZERO, 80_000);
        assert_eq!(cubic.w_max, 80.0);
        cubic.config.fast_convergence = false;
        cubic.on_congestion_event(Instant::ZERO, 60_000);
        assert_eq!(cubic.w_max, 60.0);
    }

    #[test]
    fn a_short_round_trip_keeps_it_in_the_reno_friendly_region() {
        let mut cubic = cubic();
        let reduced = cubic.on_congestion_event(Instant::ZERO, 100 * MDS);
        // At an RTT of 1 ms the curve has hardly moved while W_est grows by
        // alpha = 3 * 0.3 / 1.7 = 0.529412 packets for each window acknowledged.
        let mut cwnd = reduced;
        for _ in 0..70 {
            cwnd = cubic.on_ack(cwnd, &acked(1, 1));
        }
        let grown = cwnd as f64 / MDS as f64 - 70.0;
        assert!((grown - 0.529).abs() < 0.01, "{grown}");
    }

    #[test]
    fn a_long_round_trip_follows_the_curve() {
        let mut cubic = cubic();
        let cwnd = cubic.on_congestion_event(Instant::ZERO, 100 * MDS);
        // At t = 0 the curve is not above W_est = 70 + 0.529412 / 70.
        let first = cubic.on_ack(cwnd, &acked(0, 100));
        assert_eq!(first, 70_007);
        // At t = 1 s it is, and the target is W_cubic(1.1 s) = 87.8846: one packet of 70
        // acknowledged moves the window by (87.8846 - 70.007) / 70.007 = 0.2554 packets.
        let second = cubic.on_ack(first, &acked(1000, 100));
        assert_eq!(second, 70_262);
    }

    /// Packets from one loss to the next, and the mean window that RFC 9438 §5.1 gives for them at
    /// a round-trip time of 100 ms: (0.4·3.7/1.2)^(1/4)·(0.1·10 000)^(3/4) = 1.053 83·177.828.
    const PERIOD: u32 = 10_000;
    const LAW: f64 = 187.400;

    /// The mean windows of `cycles` cycles in shares of the law. Each loses one packet after
    /// `PERIOD` acknowledgements; before the first the window was `w_max` in shares of the law's. A
    /// round trip of the window passes at once with its last acknowledgement: there is no recovery.
    fn cycles_under_periodic_loss(fast_convergence: bool, w_max: f64, cycles: usize) -> Vec<f64> {
        let mut config = WindowConfig {
            max_datagram_size: MDS,
            ..WindowConfig::default()
        };
        config.cubic.fast_convergence = fast_convergence;
        let mut cubic = Cubic::new(&config);
        // A cycle begins at 0.7 W_max and ends at W_max; its mean is (1 - 0.3/4) W_max.
        let mut cwnd = (w_max * LAW / 0.925 * MDS as f64) as u64;
        let mut now = Instant::ZERO;
        let cycle = |_| {
            cwnd = cubic.on_congestion_event(now, cwnd);
            let start = now;
            for _ in 0..PERIOD {
                let windows = MDS as f64 / cwnd as f64;
                now += Duration::from_millis(100).mul_f64(windows);
                let acked = Acked {
                    now,
                    ..acked(0, 100)
                };
                cwnd = cubic.on_ack(cwnd, &acked);
            }
            f64::from(PERIOD) * 0.1 / now.since(start).as_secs_f64() / LAW
        };
        (0..cycles).map(cycle).collect()
    }

    #[test]
    fn under_periodic_loss_the_law_holds_at_its_own_window() {
        // W_cubic(K) = W_max: a cycle that lasts K ends at the window at which it began.
        for mean in cycles_under_periodic_loss(false, 1.0, 60) {
            assert!((mean - 1.0).abs() < 0.005, "{mean}");
        }
    }

    #[test]
    fn under_periodic_loss_the_window_comes_to_the_law_as_slowly_as_one_over_root_n() {
        // A window that is too large by the share d has a cycle shorter than K by (4/3) d K, so
        // that the next one is smaller by 0.4 ((4/3) d K)^3 = 0.3 W_max ((4/3) d)^3: d falls with
        // d^3.
        for w_max in [4.0, 0.5] {
            let far = cycles_under_periodic_loss(false, w_max, 160);
            let distance = |n: usize| (far[n] - 1.0).abs();
            assert!((0.07..0.13).contains(&distance(80)), "{}", distance(80));
            let ratio = distance(40) / distance(159);
            // Four times the cycles, half the distance; not yet quite after forty.
            assert!((1.6..2.6).contains(&ratio), "{ratio}");
        }
    }

    #[test]
    fn under_periodic_loss_fast_convergence_stays_below_the_law() {
        // §4.7: any loss below the last W_max takes 15 % from it, and from below the window grows
        // by its distance cubed. The section says to switch it off for a single flow.
        for w_max in [4.0, 1.0] {
            let cycles = cycles_under_periodic_loss(true, w_max, 100);
            let mean = cycles[20..].iter().sum::<f64>() / 80.0;
            assert!((0.9..0.96).contains(&mean), "{mean}");
        }
    }

    #[test]
    fn time_without_data_does_not_move_the_curve() {
        let run = |idle: bool| {
            let mut cubic = cubic();
            let mut cwnd = cubic.on_congestion_event(Instant::ZERO, 100 * MDS);
            cwnd = cubic.on_ack(cwnd, &acked(0, 100));
            let offset = if idle {
                cubic.on_app_limited(Instant::ZERO + Duration::from_secs(3));
                3000
            } else {
                0
            };
            cubic.on_ack(cwnd, &acked(offset + 100, 100))
        };
        assert_eq!(run(false), run(true));
    }
}
