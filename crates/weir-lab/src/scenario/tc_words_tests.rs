//! Words of tc that do not correspond to a key of the same name.

use super::{Direction, link_scenario};
use weir_net::loss::StateLossConfig;
use weir_net::{LossConfig, QueueConfig};
use weir_proto::time::Duration;
use weir_proto::units::Probability;

fn link(words: &str) -> Direction {
    let scenario = link_scenario(words, None, 1).unwrap_or_else(|error| panic!("{error}"));
    scenario.links[0].forward.clone()
}

fn red(words: &str) -> weir_net::queue::RedConfig {
    match link(words).queue {
        QueueConfig::Red(red) => red,
        other => panic!("{other:?}"),
    }
}

#[test]
fn fq_and_fq_pie_have_the_words_of_tc() {
    // tc-fq(8), tc-fq_pie(8).
    let QueueConfig::Fq(fq) = link(
        "tc qdisc add dev eth0 root fq limit 5000 flow_limit 200 quantum 3k initial_quantum 10k \
         maxrate 5mbit buckets 2048 nopacing ce_threshold 4ms",
    )
    .queue
    else {
        panic!("it is another queue");
    };
    assert_eq!((fq.limit, fq.flow_limit, fq.buckets), (5000, 200, 2048));
    assert_eq!((fq.quantum, fq.initial_quantum), (3072, 10_240));
    assert_eq!((fq.maxrate, fq.pacing), (Some(5_000_000), false));
    assert_eq!(fq.ce_threshold, Some(Duration::from_millis(4)));
    let QueueConfig::FqPie(pie) = link(
        "fq_pie limit 1000 flows 512 target 20ms tupdate 30ms alpha 3 beta 25 quantum 1000 \
         memory_limit 16m ecn_prob 5 ecn",
    )
    .queue
    else {
        panic!("it is another queue");
    };
    assert_eq!((pie.pie.limit, pie.flows, pie.quantum), (1000, 512, 1000));
    assert_eq!((pie.pie.alpha, pie.pie.beta, pie.ecn_prob), (3, 25, 5));
    assert_eq!(pie.pie.tupdate, Duration::from_millis(30));
    assert!(pie.pie.ecn && pie.memory_limit == 16 << 20);
}

#[test]
fn red_has_the_words_of_tc() {
    // The example of tc-red(8).
    let example = red(
        "tc qdisc add dev eth0 parent 1:1 handle 10: red limit 400000 min 30000 max 90000 \
         avpkt 1000 burst 55 ecn bandwidth 10Mbit probability 0.02",
    );
    assert_eq!(
        (example.limit, example.min, example.max),
        (400_000, 30_000, 90_000)
    );
    // See `red_words`; 8000 bits at 10 Mbit/s.
    assert_eq!(example.weight, 1.0 / 32.0);
    assert_eq!(example.packet_time, Duration::from_micros(800));
    assert_eq!(example.probability, 0.02);
    assert!(example.ecn && !example.gentle && !example.harddrop);
    assert!(red("red limit 400000 ecn harddrop").harddrop);
    // max = limit/4, min = max/3, burst = (2 min + max)/(3 avpkt) = 166666/3000 = 55.
    let left_out = red("red limit 400000 avpkt 1000");
    assert_eq!((left_out.min, left_out.max), (33_333, 100_000));
    assert_eq!(left_out.packet_time, Duration::from_micros(800));
    // a = 55 + 1 - 33.333 = 22.7; (1 - (15/16)^55) · 16 = 15.5, (1 - (31/32)^55) · 32 = 26.4.
    assert_eq!(left_out.weight, 1.0 / 32.0);
    assert_eq!(red("red limit 400000 min 20000").max, 60_000);
    assert_eq!(red("red limit 400kb weight 0.25").weight, 0.25);
}

#[test]
fn loss_states_are_those_of_netem() {
    let chances = |words: &str| match link(words).loss {
        LossConfig::State(StateLossConfig {
            p13,
            p31,
            p32,
            p23,
            p14,
        }) => [p13, p31, p32, p23, p14].map(Probability::get),
        other => panic!("{other:?}"),
    };
    assert_eq!(
        chances("loss state 1% 20% 5% 40% 0.1%"),
        [0.01, 0.2, 0.05, 0.4, 0.001]
    );
    // The defaults of iproute2: p32 = 0, p23 = 1, p14 = 0.
    assert_eq!(
        chances("loss state 1% 20% delay 5ms"),
        [0.01, 0.2, 0.0, 1.0, 0.0]
    );
    let LossConfig::Random(random) = link("loss state 1%").loss else {
        panic!("p31 is 1 - p13: whatever came before, a hundredth is lost");
    };
    assert_eq!(random.rate.get(), 0.01);
}

#[test]
fn a_rate_has_overheads_and_a_link_a_seed_and_marks() {
    let atm = link("rate 1mbit 20 48 5 delay 10ms ecn loss 1%");
    let netem = atm.netem;
    assert_eq!(
        (netem.packet_overhead, netem.cell_size, netem.cell_overhead),
        (20, 48, 5)
    );
    assert!(netem.ecn && atm.rate == Some(1_000_000));
    assert_eq!(link("rate 1mbit 14 loss 1%").netem.packet_overhead, 14);
    let seed = |ahead: &str, back: Option<&str>| {
        link_scenario(ahead, back, 7).map(|scenario| scenario.run.seed)
    };
    assert_eq!(seed("delay 5ms loss 1% seed 42", None).ok(), Some(42));
    assert_eq!(seed("delay 5ms", Some("loss 1% seed 42")).ok(), Some(42));
    assert_eq!(seed("delay 5ms", None).ok(), Some(7));
    let two = seed("seed 1", Some("seed 2")).unwrap_err().to_string();
    assert!(two.starts_with("--back: seed"), "{two}");
}
