//! Extensions that were proposed for TFRC over wireless links. All are off in every preset, and
//! each can be enabled alone.
//!
//! - **Veno** (Zhou, Fu, Li: TFRC Veno, ICNP 2007; TCP Veno: Fu and Liew, JSAC 21(2), 2003): the
//!   equation is derived from TCP Veno, whose window falls to g = 4/5 instead of 1/2 after a random
//!   loss. The formula here is our generalisation of the equation to a decrease g, because the
//!   paper's text was not available:
//!
//!     f_g(p) = sqrt(2(1-g)p/(1+g)) + 12·sqrt((1-g²)p/2)·p·(1 + 32p²)      (f_1/2 is §8.1's f)
//!
//!   A loss is random if the backlog N = X_recv·(R_sample - R_min)/s is below three packets.
//! - **Ignored random losses**: p is multiplied by the share of losses that count. A loss is
//!   classified by Veno's backlog, or by Spike (Tobe et al. 2000; Cen, Cosman, Voelker, ToN 11(5),
//!   2003), which attributes losses to congestion from when the one-way time exceeds
//!   min + (max-min)/2 until it falls below min + (max-min)/3. Spike is published for one-way times
//!   at the receiver; here it uses the sender's round-trip samples, because feedback carries no
//!   others.
//! - **Emulated flows** (Chen, Zakhor: MULTFRC, INFOCOM 2004; AIO-TFRC): X = n·X_calc, and at each
//!   feedback n grows by 1/n, or falls by 1 if R - R_min > R_min/5; here n is at least 1.
//! - **Minimum rate, maximum R in the equation**: our own. A stream is cut off because R is large,
//!   so R in X_calc is bounded from above, or X from below.
//!
//! The sources are cited from summaries in the literature; only Linux's tcp_veno was read.

use crate::settings::{bit_rate, duration, or_word};
use crate::time::Duration;
use crate::{keywords, settings};
use std::ops::RangeInclusive;

/// The values to which a rule may cut samples. X_Bps = s/(R f(p)): an R of microseconds would give
/// gigabits per second on any path, and the run would not end.
pub(super) const CUT_ROUND_TRIPS: RangeInclusive<Duration> =
    Duration::from_millis(1)..=Duration::from_secs(86_400);

keywords! {
    /// Which equation.
    #[derive(Default)]
    pub enum Veno {
        /// TCP Reno's, as RFC 5348 has it.
        #[default]
        Off = "off",
        /// g = 4/5 for every loss.
        Equation = "equation",
        /// g between 1/2 and 4/5, the mean over the last loss events by their backlog.
        PerEvent = "per-event",
    }

    /// Which losses count.
    #[derive(Default)]
    pub enum RandomLosses {
        /// Every loss counts in p.
        #[default]
        Count = "count",
        /// Those with a backlog of at least three packets.
        IgnoreByBacklog = "ignore-by-backlog",
        /// Those in a spike of the round-trip time.
        IgnoreBySpike = "ignore-by-spike",
    }

    /// As how many flows a sender behaves.
    #[derive(Default)]
    pub enum EmulatedFlows {
        /// As one.
        #[default]
        One = "one",
        /// As many as the queueing delay allows.
        ByQueueingDelay = "by-queueing-delay",
    }

    /// Which losses the receiver takes for errors of the link and leaves out of its history.
    #[derive(Default)]
    pub enum LossDiscriminator {
        /// Every loss is taken for congestion.
        #[default]
        Off = "off",
        /// Biaz and Vaidya (ASSET 1999): n losses are random if the packet after them comes between
        /// n+1 and n+2 times the least interval between arrivals after the packet before them.
        Biaz = "biaz",
    }
}

settings! {
    /// Rules that were proposed for wireless links; none by default.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct WirelessRules {
        /// TFRC Veno's equation: for every loss, or by the backlog at each.
        pub veno: Veno,
        /// Which losses the sender leaves out of p: Veno's random ones, or those outside a spike
        /// of the round-trip time.
        pub random_losses: RandomLosses,
        /// Behave as so many flows as the queueing delay allows (MULTFRC, AIO-TFRC).
        pub emulated_flows: EmulatedFlows,
        /// Which losses the receiver leaves out of its history: Biaz' by arrival times.
        pub discriminator: LossDiscriminator,
        /// The longest round-trip time that goes into the equation. Ours.
        pub equation_rtt_max: Option<Duration> => or_word("none", duration(CUT_ROUND_TRIPS)),
        /// The least rate while feedback comes. Ours.
        pub minimum_rate: Option<u64> => or_word("none", bit_rate()),
    }
}

/// A loss is random with fewer packets than this in the path's queue.
const BACKLOG: f64 = 3.0;
/// g: the share of the window that TCP Reno keeps after a loss.
const DECREASE: f64 = 0.5;
/// g: the share of the window that Veno keeps after a random loss.
const RANDOM_DECREASE: f64 = 0.8;
/// Weights of the last loss events, newest first: RFC 5348 §5.4's.
const WEIGHTS: [f64; 8] = [1.0, 1.0, 1.0, 1.0, 0.8, 0.6, 0.4, 0.2];
/// The queueing delay, as a share of R_min, above which the number of emulated flows falls.
const QUEUEING_SHARE: f64 = 0.2;

/// f_g(p): the response function with the decrease g.
pub fn veno_response(p: f64, g: f64) -> f64 {
    (2.0 * (1.0 - g) * p / (1.0 + g)).sqrt()
        + 12.0 * ((1.0 - g * g) * p / 2.0).sqrt() * p * (1.0 + 32.0 * p * p)
}

/// The values of a feedback packet that the extensions use.
#[derive(Clone, Copy, Debug)]
pub(super) struct FeedbackSample {
    pub sample: Duration,
    pub smoothed: Duration,
    /// X_recv in octets per second.
    pub receive_rate: f64,
    /// s in octets, at least one.
    pub segment_size: f64,
    /// There was a new loss event, or the loss event rate has increased.
    pub loss: bool,
}

/// The state of the sender's extensions.
#[derive(Clone, Debug)]
pub(super) struct WirelessExtensions {
    rules: WirelessRules,
    shortest: Option<Duration>,
    longest: Duration,
    spike: bool,
    /// Which of the last loss events were random, newest first.
    random: [Option<bool>; WEIGHTS.len()],
    flows: f64,
}

impl WirelessExtensions {
    pub(super) const fn new(rules: WirelessRules) -> Self {
        Self {
            rules,
            shortest: None,
            longest: Duration::ZERO,
            spike: false,
            random: [None; WEIGHTS.len()],
            flows: 1.0,
        }
    }

    /// Feedback arrived; called before X is updated.
    pub(super) fn on_feedback(&mut self, observed: &FeedbackSample) {
        let sample = observed.sample;
        let shortest = self.shortest.map_or(sample, |least| least.min(sample));
        self.shortest = Some(shortest);
        self.longest = self.longest.max(sample);
        self.follow_spike(sample, shortest);
        if observed.loss {
            let random = match self.rules.random_losses {
                RandomLosses::IgnoreBySpike => !self.spike,
                _ => Self::backlog(observed, shortest) < BACKLOG,
            };
            self.random.rotate_right(1);
            self.random[0] = Some(random);
        }
        let queueing = observed.smoothed.saturating_sub(shortest).as_secs_f64();
        if queueing > QUEUEING_SHARE * shortest.as_secs_f64() {
            self.flows = (self.flows - 1.0).max(1.0);
        } else {
            self.flows += 1.0 / self.flows;
        }
    }

    fn backlog(observed: &FeedbackSample, shortest: Duration) -> f64 {
        let queueing = observed.sample.saturating_sub(shortest).as_secs_f64();
        observed.receive_rate * queueing / observed.segment_size
    }

    fn follow_spike(&mut self, sample: Duration, shortest: Duration) {
        let range = self.longest.saturating_sub(shortest);
        if self.spike {
            self.spike = sample >= shortest + range / 3;
        } else {
            self.spike = !range.is_zero() && sample > shortest + range / 2;
        }
    }

    /// The share of the last loss events that were random, by their weights.
    fn random_share(&self) -> f64 {
        let (mut random, mut all) = (0.0, 0.0);
        for (event, weight) in self.random.iter().zip(WEIGHTS) {
            if let Some(is_random) = event {
                all += weight;
                random += if *is_random { weight } else { 0.0 };
            }
        }
        if all > 0.0 { random / all } else { 0.0 }
    }

    /// R for the equation.
    pub(super) fn equation_rtt(&self, rtt: Duration) -> Duration {
        self.rules
            .equation_rtt_max
            .map_or(rtt, |most| rtt.min(most))
    }

    /// p for the equation.
    pub(super) fn loss_event_rate(&self, p: f64) -> f64 {
        match self.rules.random_losses {
            RandomLosses::Count => p,
            // Above zero: p = 0 would mean slow start although there was a loss.
            _ => (p * (1.0 - self.random_share())).max(1e-8),
        }
    }

    /// The factor of X_calc.
    pub(super) fn factor(&self, p: f64) -> f64 {
        let than_reno = |g: f64| veno_response(p, DECREASE) / veno_response(p, g);
        let equation = match self.rules.veno {
            Veno::Off => 1.0,
            Veno::Equation => than_reno(RANDOM_DECREASE),
            Veno::PerEvent => {
                than_reno(DECREASE + (RANDOM_DECREASE - DECREASE) * self.random_share())
            }
        };
        let flows = match self.rules.emulated_flows {
            EmulatedFlows::One => 1.0,
            EmulatedFlows::ByQueueingDelay => self.flows,
        };
        flows * equation
    }

    /// The least X in octets per second.
    pub(super) fn minimum_rate(&self) -> Option<f64> {
        self.rules.minimum_rate.map(|bps| bps as f64 / 8.0)
    }
}

#[cfg(test)]
mod tests {
    use super::super::equation::response;
    use super::*;

    const R_MIN: Duration = Duration::from_millis(2);

    fn feedback(millis: u64, receive_rate: f64, loss: bool) -> FeedbackSample {
        FeedbackSample {
            sample: Duration::from_millis(millis),
            smoothed: Duration::from_millis(millis),
            receive_rate,
            segment_size: 1000.0,
            loss,
        }
    }

    fn wireless(rules: WirelessRules) -> WirelessExtensions {
        let mut wireless = WirelessExtensions::new(rules);
        let sample = R_MIN.as_micros() / 1000;
        wireless.on_feedback(&feedback(sample, 0.0, false));
        wireless
    }

    #[test]
    fn a_decrease_to_one_half_is_the_equation_of_the_rfc() {
        for p in [1e-4, 1e-3, 0.01, 0.1, 1.0] {
            assert!((veno_response(p, 0.5) / response(p) - 1.0).abs() < 1e-12);
        }
    }

    #[test]
    fn four_fifths_give_less_than_the_square_root_of_three() {
        let golden = [(0.001, 1.729), (0.01, 1.704), (0.05, 1.626), (0.1, 1.56)];
        let wireless = wireless(WirelessRules {
            veno: Veno::Equation,
            ..WirelessRules::default()
        });
        for (p, factor) in golden {
            let found = wireless.factor(p);
            assert!((found - factor).abs() < 0.006, "{p}: {found}");
        }
    }

    #[test]
    fn a_backlog_of_three_packets_is_congestion() {
        // N = X_recv · (R - 2 ms) / s: 100 kB/s and 1000 octets are one packet in 10 ms.
        for (millis, random) in [(2, true), (31, true), (32, false), (500, false)] {
            let mut wireless = wireless(WirelessRules {
                random_losses: RandomLosses::IgnoreByBacklog,
                ..WirelessRules::default()
            });
            wireless.on_feedback(&feedback(millis, 100_000.0, true));
            assert_eq!(wireless.random_share() == 1.0, random, "{millis} ms");
            let p = wireless.loss_event_rate(0.02);
            assert_eq!(p < 0.02, random, "{millis} ms");
        }
    }

    #[test]
    fn a_spike_begins_above_the_half_and_ends_below_the_third() {
        let mut wireless = wireless(WirelessRules {
            random_losses: RandomLosses::IgnoreBySpike,
            ..WirelessRules::default()
        });
        // The range is 2 to 302 ms: a spike begins above 152 ms and ends below 102 ms.
        let table = [
            (302, true),
            (110, true),
            (102, true),
            (100, false),
            (152, false),
            (153, true),
        ];
        for (millis, spike) in table {
            wireless.on_feedback(&feedback(millis, 1e6, true));
            assert_eq!(wireless.spike, spike, "{millis} ms");
            assert_eq!(wireless.random[0], Some(!spike), "{millis} ms");
        }
    }

    #[test]
    fn emulated_flows_grow_with_an_empty_queue_and_fall_with_a_full_one() {
        let mut wireless = wireless(WirelessRules {
            emulated_flows: EmulatedFlows::ByQueueingDelay,
            ..WirelessRules::default()
        });
        for _ in 0..10 {
            wireless.on_feedback(&feedback(2, 1e6, false));
        }
        let many = wireless.factor(0.01);
        assert!((4.0..6.0).contains(&many), "{many}");
        for _ in 0..10 {
            wireless.on_feedback(&feedback(20, 1e6, false));
        }
        assert_eq!(wireless.factor(0.01), 1.0);
    }

    #[test]
    fn without_extensions_nothing_changes() {
        let mut wireless = wireless(WirelessRules::default());
        wireless.on_feedback(&feedback(500, 1e6, true));
        let rtt = Duration::from_millis(500);
        assert_eq!(wireless.equation_rtt(rtt), rtt);
        assert_eq!(wireless.loss_event_rate(0.02), 0.02);
        assert_eq!(
            (wireless.factor(0.02), wireless.minimum_rate()),
            (1.0, None)
        );
    }

    #[test]
    fn flows_grow_by_their_inverse_and_fall_by_one_above_a_fifth_of_r_min() {
        let mut wireless = WirelessExtensions::new(WirelessRules {
            emulated_flows: EmulatedFlows::ByQueueingDelay,
            ..WirelessRules::default()
        });
        // R_min = 5 s: at R = 6 s the queueing delay is a fifth, and not above it.
        for (millis, flows) in [
            (5000, 2.0),
            (6000, 2.5),
            (6001, 1.5),
            (6001, 1.0),
            (6001, 1.0),
            (6000, 2.0),
        ] {
            wireless.on_feedback(&feedback(millis, 0.0, false));
            assert_eq!(wireless.factor(0.01), flows, "{millis} ms");
        }
    }

    #[test]
    fn the_share_of_random_losses_has_the_weights_of_the_intervals() {
        let rules = WirelessRules {
            random_losses: RandomLosses::IgnoreByBacklog,
            veno: Veno::PerEvent,
            ..WirelessRules::default()
        };
        let mut wireless = WirelessExtensions::new(rules);
        assert_eq!(wireless.random_share(), 0.0);
        assert_eq!(wireless.loss_event_rate(0.02), 0.02);
        wireless.on_feedback(&feedback(2, 0.0, false));
        // R_min is 2 ms and the backlog 500 packets or none: two events by congestion, then six
        // random ones. The weights are 1, 1, 1, 1, 0.8, 0.6, 0.4 and 0.2, the newest first.
        for (millis, share) in [
            (502, 0.0),
            (502, 0.0),
            (2, 1.0 / 3.0),
            (2, 2.0 / 4.0),
            (2, 3.0 / 4.8),
            (2, 4.0 / 5.4),
            (2, 4.8 / 5.8),
            (2, 5.4 / 6.0),
        ] {
            wireless.on_feedback(&feedback(millis, 1e6, true));
            assert!((wireless.random_share() - share).abs() < 1e-12, "{share}");
            let p = wireless.loss_event_rate(0.02);
            assert!((p - 0.02 * (1.0 - share)).abs() < 1e-12, "{share}: {p}");
        }
        for _ in 0..2 {
            wireless.on_feedback(&feedback(2, 1e6, true));
        }
        assert_eq!(wireless.loss_event_rate(0.02), 1e-8, "all are random");
    }

    #[test]
    fn half_of_the_losses_random_give_the_decrease_halfway() {
        // g = 0.65, for p towards zero: sqrt((1-0.5)/(1+0.5) / ((1-0.65)/(1+0.65))) = 1.253566.
        let mut wireless = WirelessExtensions::new(WirelessRules {
            veno: Veno::PerEvent,
            ..WirelessRules::default()
        });
        wireless.on_feedback(&feedback(2, 1e6, true));
        wireless.on_feedback(&feedback(502, 1e6, true));
        assert!((wireless.factor(1e-9) - 1.253_566).abs() < 1e-5);
    }

    #[test]
    fn three_packets_of_s_octets_are_no_small_backlog() {
        // 3000 octets per second for 1 ms: three packets of one octet.
        for (receive_rate, random) in [(3000.0, 0.0), (2999.0, 1.0)] {
            let mut wireless = wireless(WirelessRules::default());
            wireless.on_feedback(&FeedbackSample {
                segment_size: 1.0,
                ..feedback(3, receive_rate, true)
            });
            assert_eq!(wireless.random_share(), random);
        }
    }

    #[test]
    fn the_minimum_rate_is_in_octets() {
        let wireless = wireless(WirelessRules {
            minimum_rate: Some(80_000),
            ..WirelessRules::default()
        });
        assert_eq!(wireless.minimum_rate(), Some(10_000.0));
    }
}
