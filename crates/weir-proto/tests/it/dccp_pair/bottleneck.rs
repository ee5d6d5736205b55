//! A bottleneck between the ends: the negotiated CCIDs and their throughput.

use super::{Link, Pair};
use weir_proto::cc::tfrc::{Oscillation, Profile};
use weir_proto::dccp::{Ccid, Config, Connection, State};
use weir_proto::endpoint::Endpoint;
use weir_proto::packet::{Body, HostId};
use weir_proto::rng::Rng;
use weir_proto::time::Duration;

/// Octets of payload that the application writes.
const PIECE: u32 = 1000;

/// A client that has begun to connect and writes as much as possible, behind queues of 50 packets.
fn path(configs: [Config; 2], rate_bps: u64, delay: Duration) -> Pair {
    let links = [(); 2].map(|()| Link::new(delay, Some((rate_bps, 50))));
    let mut pair = Pair::over(links, configs);
    pair.greedy[0] = Some(PIECE);
    pair.ends[0].connect(pair.now);
    pair
}

/// From now on the path loses this share of the packets that carry data, and of the others.
fn lose(pair: &mut Pair, data: f64, others: f64) {
    let mut rngs = ["there", "back"].map(|name| Rng::stream(7, name));
    pair.drops = Box::new(move |end, packet| {
        let Body::Dccp(body) = &packet.body else {
            return false;
        };
        let loss = if body.kind.carries_data() {
            data
        } else {
            others
        };
        loss > 0.0 && rngs[end].chance(loss)
    });
}

fn configs(change: impl Fn(usize, &mut Config)) -> [Config; 2] {
    [0, 1].map(|end| {
        let mut config = Config {
            local: HostId(end as u32),
            remote: HostId(1 - end as u32),
            initial_sequence: 1000 * (end as u64 + 1),
            ..Config::default()
        };
        change(end, &mut config);
        config
    })
}

fn tfrc(profile: Profile) -> Ccid {
    Ccid::Tfrc(Box::new(profile))
}

/// Every pair of CCIDs, one for each direction, carries data both ways.
#[test]
fn each_direction_has_its_own_ccid() {
    for (there, back) in [(2, 2), (2, 3), (3, 2), (3, 3)] {
        let ccid = |number| {
            if number == 2 {
                Ccid::TcpLike
            } else {
                tfrc(Profile::rfc5348())
            }
        };
        let configs = configs(|end, config| {
            let [send, receive] = if end == 0 {
                [there, back]
            } else {
                [back, there]
            };
            config.send_ccid = ccid(send);
            config.receive_ccid = ccid(receive);
        });
        let mut path = path(configs, 2_000_000, Duration::from_millis(10));
        path.greedy = [Some(PIECE); 2];
        path.run(Duration::from_secs(100));
        for end in 0..2 {
            let share = path.octets[end] as f64 * 8.0 / 100.0 / 2e6;
            // Acknowledgements queue behind the data of the other direction, so neither direction
            // uses all of its link.
            assert!(
                share > 0.4,
                "{there} there, {back} back, end {end}: {share}"
            );
        }
    }
}

/// The ends require different CCIDs for both directions: each falls back to CCID 2.
#[test]
fn without_agreement_both_use_ccid_2() {
    let configs = configs(|end, config| {
        if end == 0 {
            config.send_ccid = tfrc(Profile::rfc5348());
            config.receive_ccid = tfrc(Profile::rfc5348());
        }
    });
    let mut path = path(configs, 2_000_000, Duration::from_millis(10));
    path.greedy = [Some(PIECE); 2];
    path.run(Duration::from_secs(10));
    assert_eq!(
        path.ends.each_ref().map(Connection::state),
        [State::Open; 2]
    );
    assert!(
        path.octets.iter().all(|&octets| octets > 1_000_000),
        "{:?}",
        path.octets
    );
}

/// RFC 4341 §6.1: lost acknowledgements raise the Ack Ratio, which feature negotiation announces to
/// the receiver; it then acknowledges more rarely.
#[test]
fn a_receiver_of_ccid_2_follows_the_ack_ratio_that_its_sender_announces() {
    let data_packets_per_ack = |ack_loss| {
        let configs = configs(|_, config| {
            config.send_ccid = Ccid::TcpLike;
            config.receive_ccid = Ccid::TcpLike;
        });
        let mut path = path(configs, 10_000_000, Duration::from_millis(20));
        path.run(Duration::from_secs(1));
        lose(&mut path, 0.0, ack_loss);
        path.run(Duration::from_secs(10));
        let counts = |path: &Pair| path.ends[1].statistics();
        let before = counts(&path);
        path.run(Duration::from_secs(10));
        let after = counts(&path);
        let data = after.data_packets_received - before.data_packets_received;
        data as f64 / (after.packets_sent - before.packets_sent) as f64
    };
    let (clean, lossy) = (data_packets_per_ack(0.0), data_packets_per_ack(0.1));
    assert!((1.8..2.2).contains(&clean), "{clean}");
    assert!(lossy > 4.0, "{lossy}");
}

#[test]
fn ccid_3_fills_a_bottleneck() {
    for (name, profile) in [
        ("rfc5348", Profile::rfc5348()),
        ("linux-mainline", Profile::linux_mainline()),
    ] {
        let configs = configs(|_, config| {
            config.send_ccid = tfrc(profile.clone());
            config.receive_ccid = tfrc(profile.clone());
        });
        let mut path = path(configs, 10_000_000, Duration::from_millis(10));
        path.run(Duration::from_secs(10));
        let before = path.octets[1];
        path.run(Duration::from_secs(60));
        let share = (path.octets[1] - before) as f64 * 8.0 / 60.0 / 1e7;
        assert!(share >= 0.8, "{name}: {share}");
    }
}

/// RFC 5348 §3.1 with t_RTO = 4 R, b = 1, in octets per second.
fn equation(p: f64, rtt: f64) -> f64 {
    let loss = (2.0 * p / 3.0).sqrt() + 12.0 * (3.0 * p / 8.0).sqrt() * p * (1.0 + 32.0 * p * p);
    f64::from(PIECE) / (rtt * loss)
}

#[test]
fn ccid_3_has_the_throughput_of_the_equation() {
    let profile = Profile {
        oscillation: Oscillation::Off,
        ..Profile::rfc5348()
    };
    for loss in [0.005, 0.01, 0.02, 0.05] {
        let configs = configs(|_, config| {
            config.send_ccid = tfrc(profile.clone());
            config.receive_ccid = tfrc(profile.clone());
        });
        let mut path = path(configs, 1_000_000_000, Duration::from_millis(50));
        lose(&mut path, loss, 0.0);
        path.run(Duration::from_secs(60));
        let [before, events] = [
            path.ends[0].statistics().data_packets_sent,
            path.ends[1].statistics().loss_events,
        ];
        path.run(Duration::from_secs(2000));
        let sent = (path.ends[0].statistics().data_packets_sent - before) as f64;
        let events = (path.ends[1].statistics().loss_events - events) as f64;
        let rate = sent * f64::from(PIECE) / 2000.0;
        let ratio = rate / equation(events / sent, 0.1);
        assert!((0.9..1.1).contains(&ratio), "loss {loss}: {ratio}");
    }
}
