use super::*;
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
    (0..n).filter(|_| loss.drops_next()).collect()
}

#[test]
fn periodic_loss_takes_the_51st_of_51() {
    // A rate of 2 % in the QUIC document's model: 50 delivered, one dropped, period 51.
    assert_eq!(
        lost(&PeriodicLossConfig { every: 50 }.into(), 160),
        [50, 101, 152]
    );
    assert_eq!(lost(&PeriodicLossConfig { every: 0 }.into(), 3), [0, 1, 2]);
}

#[test]
fn a_trace_takes_the_packets_it_names() {
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
    // Standard error of the count: sqrt(n p q) = 99; five of them.
    assert!(
        (lost.len() as f64 - 10_000.0).abs() < 500.0,
        "{}",
        lost.len()
    );
    // Losses that follow a loss at once: n p^2 = 200, standard error 14.
    let pairs = lost.windows(2).filter(|w| w[1] == w[0] + 1).count();
    assert!((pairs as f64 - 200.0).abs() < 70.0, "{pairs}");
}

#[test]
fn gilbert_loss_has_the_stationary_rate_and_burst_length() {
    // p = 0.01, r = 0.2: bad for 1/21 of the packets, in stays of 5 packets on average.
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
    // A quarter of the time bad: 0.75 * 0.01 + 0.25 * 0.5 = 0.1325.
    let rate = lost(&config, 500_000).len() as f64 / 500_000.0;
    assert!((rate - 0.1325).abs() < 0.004, "{rate}");
}
