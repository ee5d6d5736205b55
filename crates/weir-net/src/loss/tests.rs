use super::*;
use weir_proto::time::Duration;
use weir_proto::units::Probability;

fn loss(config: &LossConfig) -> Loss {
    Loss::new(config, 7, "link/wire/loss")
}

fn probability(p: f64) -> Probability {
    Probability::new(p).expect("in [0, 1]")
}

/// The numbers of the packets lost among the first `n`.
fn lost(config: &LossConfig, n: u64) -> Vec<u64> {
    let mut loss = loss(config);
    (0..n).filter(|_| loss.drops_next(Instant::ZERO)).collect()
}

#[test]
fn periodic_loss_drops_the_51st_of_51() {
    // A rate of 2 % in the QUIC document's model: 50 delivered, one dropped, period 51.
    assert_eq!(
        lost(&PeriodicLossConfig { every: 50 }.into(), 160),
        [50, 101, 152]
    );
    assert_eq!(lost(&PeriodicLossConfig { every: 0 }.into(), 3), [0, 1, 2]);
}

#[test]
fn a_trace_drops_the_packets_that_it_lists() {
    let drops = vec![9, 2, 2, 4];
    assert_eq!(
        lost(&LossConfig::Trace(TraceLossConfig { drops }), 20),
        [2, 4, 9]
    );
    assert_eq!(lost(&LossConfig::None, 100), []);
}

#[test]
fn random_loss_has_its_rate_and_no_memory() {
    let config = LossConfig::Random(RandomLossConfig {
        rate: probability(0.02),
    });
    let n = 500_000;
    let lost = lost(&config, n);
    // Standard error of the count: sqrt(n p q) = 99; five of these are allowed.
    assert!(
        (lost.len() as f64 - 10_000.0).abs() < 500.0,
        "{}",
        lost.len()
    );
    // Losses that directly follow a loss: n p^2 = 200, standard error 14.
    let pairs = lost.windows(2).filter(|w| w[1] == w[0] + 1).count();
    assert!((pairs as f64 - 200.0).abs() < 70.0, "{pairs}");
}

#[test]
fn gilbert_loss_has_the_stationary_rate_and_burst_length() {
    // p = 0.01, r = 0.2: 1/21 of the packets in the bad state, in stays of 5 packets on average.
    let config = LossConfig::Gilbert(GilbertLossConfig {
        to_bad: probability(0.01),
        to_good: probability(0.2),
        loss_in_good: probability(0.0),
        loss_in_bad: probability(1.0),
    });
    let n = 1_000_000;
    let lost = lost(&config, n);
    let rate = lost.len() as f64 / n as f64;
    assert!((rate - 1.0 / 21.0).abs() < 0.002, "{rate}");
    let bursts = 1 + lost.windows(2).filter(|w| w[1] != w[0] + 1).count();
    let mean = lost.len() as f64 / bursts as f64;
    assert!((mean - 5.0).abs() < 0.15, "{mean}");
}

#[test]
fn elliott_adds_a_loss_rate_to_each_state() {
    let config = LossConfig::Gilbert(GilbertLossConfig {
        to_bad: probability(0.1),
        to_good: probability(0.3),
        loss_in_good: probability(0.01),
        loss_in_bad: probability(0.5),
    });
    // A quarter of the packets in the bad state: 0.75 * 0.01 + 0.25 * 0.5 = 0.1325.
    let rate = lost(&config, 500_000).len() as f64 / 500_000.0;
    assert!((rate - 0.1325).abs() < 0.004, "{rate}");
}

fn in_time(mean_good: u64, mean_bad: u64) -> LossConfig {
    LossConfig::GilbertTime(GilbertTimeLossConfig {
        mean_good: Duration::from_millis(mean_good),
        mean_bad: Duration::from_millis(mean_bad),
        loss_in_good: probability(0.0),
        loss_in_bad: probability(1.0),
    })
}

/// Sends a packet every `gap` milliseconds for `seconds`; returns the milliseconds of the lost
/// ones.
fn lost_each(config: &LossConfig, gap: u64, seconds: u64) -> Vec<u64> {
    let mut loss = loss(config);
    let times = (0..seconds * 1000).step_by(gap as usize);
    let at = |millis| Instant::ZERO + Duration::from_millis(millis);
    times
        .filter(|&millis| loss.drops_next(at(millis)))
        .collect()
}

#[test]
fn bursts_in_time_have_their_share_and_their_length_however_few_packets_come() {
    // In the bad state for 200 of 2000 ms on average.
    let config = in_time(1800, 200);
    let often = lost_each(&config, 1, 20_000);
    let share = often.len() as f64 / 20_000_000.0;
    // 10 000 cycles: a relative standard error of about 1.4 %.
    assert!((share - 0.1).abs() < 0.006, "{share}");
    let bursts = 1 + often.windows(2).filter(|two| two[1] != two[0] + 1).count();
    let mean = often.len() as f64 / bursts as f64;
    assert!((mean - 200.0).abs() < 10.0, "{mean}");
    // Packets that are sent every three seconds encounter the same states: the same ones are lost.
    let rarely = lost_each(&config, 3000, 20_000);
    let at_these = often.iter().copied().filter(|at| at % 3000 == 0);
    assert_eq!(rarely, at_these.collect::<Vec<_>>());
    assert!(rarely.len() > 500);
}

#[test]
fn a_chain_in_packets_stands_still_while_none_comes() {
    // A burst takes ten packets on average, whether they are sent every millisecond or every
    // second.
    let config = LossConfig::Gilbert(GilbertLossConfig {
        to_bad: probability(0.01),
        to_good: probability(0.1),
        loss_in_good: probability(0.0),
        loss_in_bad: probability(1.0),
    });
    let [fast, slow] = [1, 1000].map(|gap| {
        let lost = lost_each(&config, gap, 10 * gap);
        let numbers = lost.into_iter().map(|at| at / gap);
        numbers.collect::<Vec<_>>()
    });
    assert!(fast.len() > 100);
    assert_eq!(fast, slow);
}

#[test]
fn each_state_in_time_has_a_loss_rate() {
    let config = GilbertTimeLossConfig {
        mean_good: Duration::from_millis(300),
        mean_bad: Duration::from_millis(100),
        loss_in_good: probability(0.01),
        loss_in_bad: probability(0.5),
    };
    // A quarter of the time in the bad state: 0.75 * 0.01 + 0.25 * 0.5 = 0.1325.
    let rate = lost_each(&config.into(), 1, 5000).len() as f64 / 5e6;
    assert!((rate - 0.1325).abs() < 0.004, "{rate}");
    assert!((config.mean_loss().unwrap() - 0.1325).abs() < 1e-12);
}

#[test]
fn a_chain_of_short_stays_takes_no_time_after_a_long_silence() {
    // A day has 4·10^10 stays of microseconds; the state after it has the stationary distribution.
    let config = LossConfig::GilbertTime(GilbertTimeLossConfig {
        mean_good: Duration::from_micros(3),
        mean_bad: Duration::from_micros(1),
        ..GilbertTimeLossConfig::default()
    });
    let mut loss = loss(&config);
    let day = Duration::from_secs(86_400);
    let lost = (0..4000).filter(|&n| loss.drops_next(Instant::ZERO + day * n));
    let share = lost.count() as f64 / 4000.0;
    // Four standard errors of a quarter: 4 * sqrt(0.25 * 0.75 / 4000) = 0.028.
    assert!((share - 0.25).abs() < 0.028, "{share}");
}
