use super::tests::{Bench, KB, RTT, SIZE};
use super::{Ccid2Sender, ControllerChoice};
use crate::cc::EcnCapability;
use crate::cc::window::{RateLimitedGrowth, WindowConfig, find};
use crate::dccp::ccid::{CcidSender as _, SendTime};
use crate::dccp::wire::DccpOption;
use crate::event::{Limit, SndLim};
use crate::time::Duration;

/// A sender with this controller, after `round_trips` round trips.
fn bench(controller: &str, round_trips: usize) -> Bench {
    bench_with(controller, &WindowConfig::default(), round_trips)
}

fn bench_with(controller: &str, config: &WindowConfig, round_trips: usize) -> Bench {
    let choice = ControllerChoice {
        entry: find(controller).expect("a controller"),
        config: *config,
    };
    let mut bench = Bench::with(Ccid2Sender::with_controller(SIZE, 2, &choice));
    for _ in 0..round_trips {
        bench.round_trip();
    }
    bench
}

#[test]
fn a_controller_begins_with_the_window_of_rfc_3390_and_doubles_it_in_slow_start() {
    // RFC 3390 §1: four packets of 1000 octets; RFC 9002 §7.3.1: as much as was acknowledged.
    let mut bench = bench("newreno", 0);
    let windows: Vec<u64> = (0..4).map(|_| bench.round_trip().cwnd / KB).collect();
    assert_eq!(windows, [8, 16, 32, 64]);
}

#[test]
fn a_loss_leaves_what_the_controller_says() {
    // Slow start adds the three packets that the acknowledgement reports to 64; then half by RFC
    // 9002 §7.3.2, 0.7 by RFC 9438 §4.6.
    for (controller, cwnd) in [("newreno", 33_500), ("cubic", 46_900)] {
        let mut bench = bench(controller, 4);
        let numbers = bench.fill(usize::MAX);
        assert_eq!(numbers.len(), 64);
        let events = bench.sender.losses().events;
        bench.now += RTT;
        let window = bench.ack(numbers[3], &[2, 0xc0]);
        assert_eq!(window.cwnd, cwnd, "{controller}");
        assert_eq!(window.bytes_in_flight, 60 * KB, "{controller}");
        // A second loss of the same flight changes nothing.
        let window = bench.ack(numbers[7], &[2, 0xc0]);
        assert_eq!(window.cwnd, cwnd, "{controller}");
        assert_eq!(bench.sender.losses().events, events + 1, "{controller}");
    }
}

#[test]
fn a_reduction_is_undone_when_all_that_was_lost_has_arrived() {
    let mut bench = bench("newreno", 4);
    let numbers = bench.fill(usize::MAX);
    bench.now += RTT;
    // The first two packets are late.
    let reduced = bench.ack(numbers[4], &[2, 0xc1]);
    assert_eq!(reduced.cwnd, 33_500);
    let still = bench.ack(numbers[4], &[2, 0xc0, 0]);
    assert_eq!(still.cwnd, 33_500, "one is still missing");
    assert_eq!(bench.spurious, 0);
    let window = bench.ack(numbers[4], &[4]);
    assert_eq!(window.cwnd, 67 * KB);
    assert_eq!(window.limit, Limit::SlowStart);
    assert_eq!(bench.spurious, 1);
}

#[test]
fn marks_are_counted_for_controllers_that_answer_to_their_share() {
    // RFC 8257 §3.3: cwnd (1 - alpha / 2). alpha is 1 at first, and three rounds without marks
    // leave (15/16)³ = 0.824 of it: 32 · 0.588 = 18.816 packets. Three of the four packets have no
    // mark and were sent before the reduction was: 3/18.816 of a packet.
    let mut bench = bench("dctcp", 3);
    assert_eq!(bench.sender.ecn(), Some(EcnCapability::Ect0));
    let numbers = bench.fill(usize::MAX);
    assert_eq!(numbers.len(), 32);
    bench.now += RTT;
    let window = bench.ack(numbers[3], &[0x40, 2]);
    assert_eq!(window.cwnd, 18_975);
    let lost = bench.sender.losses();
    assert_eq!((lost.packets, lost.events), (0, 1));
    let prague = self::bench("prague", 0);
    assert_eq!(prague.sender.ecn(), Some(EcnCapability::Ect1));
    let newreno = self::bench("newreno", 0);
    assert_eq!(newreno.sender.ecn(), None);
    let bbr = self::bench("bbr", 0);
    assert_eq!(bbr.sender.ecn(), Some(EcnCapability::NotEct));
}

#[test]
fn a_controller_with_a_rate_is_paced() {
    let mut bench = bench("bbr", 3);
    bench.fill(usize::MAX);
    let time = bench.sender.send_time(bench.now, SIZE);
    let SendTime::At(at) = time else {
        panic!("{time:?}");
    };
    assert!(at > bench.now && at < bench.now + RTT, "{at:?}");
    assert_eq!(bench.sender.bound_until(), SndLim::Pacer);
    bench.now = at;
    assert_eq!(bench.sender.send_time(at, SIZE), SendTime::Now);
}

#[test]
fn a_timeout_leaves_one_packet_whatever_the_controller_is() {
    for controller in ["newreno", "cubic", "dctcp", "bbr"] {
        let mut bench = bench(controller, 2);
        bench.fill(usize::MAX);
        let due = bench.sender.poll_timeout().expect("data is out");
        bench.now = due;
        bench.sender.handle_timeout(due, &mut bench.events);
        let window = bench.window();
        assert_eq!(window.bytes_in_flight, 0, "{controller}");
        assert_eq!(window.cwnd, KB, "{controller}");
        assert_eq!(bench.sender.losses().timeouts, 1);
    }
}

#[test]
fn the_receivers_reports_end_slow_start_and_take_off_what_it_had_no_room_for() {
    // RFC 4341 §5.2 and RFC 4340 §11.6.
    let mut bench = bench("newreno", 2);
    let numbers = bench.fill(usize::MAX);
    let nonce = false;
    let vector = |cells| DccpOption::AckVector { nonce, cells };
    bench.now += RTT;
    let window = bench.ack_with(numbers[1], &[DccpOption::SlowReceiver, vector(&[1])]);
    assert_eq!((window.cwnd, window.ssthresh), (16 * KB, Some(16 * KB)));
    assert_eq!(bench.ack(numbers[3], &[1]).cwnd, 16 * KB, "it holds");
    // Two packets with drop code 2.
    let dropped = [DccpOption::DataDropped(&[0xa1]), vector(&[1])];
    let window = bench.ack_with(numbers[5], &dropped);
    assert_eq!(window.cwnd, 14 * KB);
    // A packet more in each window, up to the controller's.
    bench.now += RTT;
    bench.ack(numbers[15], &[9]);
    let windows: Vec<u64> = (0..4).map(|_| bench.round_trip().cwnd / KB).collect();
    assert_eq!(windows, [15, 16, 17, 18]);
}

#[test]
fn an_application_that_does_not_fill_the_window_does_not_increase_it() {
    let mut bench = bench("newreno", 0);
    for _ in 0..5 {
        let numbers = bench.fill(2);
        bench.sender.emit(bench.now, &mut bench.events);
        bench.now += RTT;
        let window = bench.ack(numbers[1], &[1]);
        assert_eq!(window.cwnd, 4 * KB);
        assert_eq!(window.limit, Limit::ApplicationLimited);
    }
}

#[test]
fn a_window_that_is_not_filled_grows_as_its_rule_says() {
    // draft-ietf-ccwg-ratelimited-increase §3: two packets in each round trip, and four in the
    // first window, of which maxFS allows eight.
    for (growth, windows) in [
        (RateLimitedGrowth::Hold, [4, 4, 4]),
        (RateLimitedGrowth::Flight, [6, 8, 8]),
        (RateLimitedGrowth::Unlimited, [6, 8, 10]),
    ] {
        let mut config = WindowConfig::default();
        config.rules.controller.rate_limited_growth = growth;
        let mut bench = bench_with("newreno", &config, 0);
        let grown = [(); 3].map(|()| {
            let numbers = bench.fill(2);
            bench.sender.emit(bench.now, &mut bench.events);
            bench.now += RTT;
            bench.ack(numbers[1], &[1]).cwnd / KB
        });
        assert_eq!(grown, windows, "{growth:?}");
    }
}

#[test]
fn slow_start_ends_by_the_rule_of_the_controller() {
    // SEARCH: four packets in each round trip of 100 ms do not double; after five of these there
    // are the 13 bins of 35 ms that it needs.
    for (search, ends) in [(false, false), (true, true)] {
        let mut config = WindowConfig::default();
        config.rules.controller.search = search;
        config.rules.controller.rate_limited_growth = RateLimitedGrowth::Unlimited;
        let mut bench = bench_with("newreno", &config, 0);
        let thresholds = [(); 7].map(|()| {
            let numbers = bench.fill(4);
            bench.sender.emit(bench.now, &mut bench.events);
            bench.now += RTT;
            bench.ack(numbers[3], &[3]).ssthresh.is_some()
        });
        assert_eq!(thresholds[4..], [false, ends, ends], "{search}");
    }
}

#[test]
fn rapid_start_paces_its_first_window_and_triples_it() {
    // Four packets in a round-trip time of 100 ms.
    let mut config = WindowConfig::default();
    config.rules.controller.rapid_start = true;
    let mut bench = bench_with("newreno", &config, 0);
    let numbers = [(); 4].map(|()| {
        bench.now += Duration::from_millis(25);
        let numbers = bench.fill(usize::MAX);
        assert_eq!(numbers.len(), 1);
        numbers[0]
    });
    bench.now += RTT;
    assert_eq!(bench.ack(numbers[3], &[3]).cwnd, 12 * KB);
}

#[test]
fn an_application_that_writes_at_once_when_it_may_does_not_limit() {
    // The application writes its packets in two parts at one time, as a small send queue causes.
    let mut bench = bench("newreno", 0);
    let mut numbers = bench.fill(2);
    bench.sender.emit(bench.now, &mut bench.events);
    numbers.extend(bench.fill(2));
    bench.sender.emit(bench.now, &mut bench.events);
    bench.now += RTT;
    assert_eq!(bench.ack(numbers[3], &[3]).cwnd, 8 * KB);
}

#[test]
fn each_acknowledgement_gives_a_controller_a_sample_of_the_round_trip_time() {
    let mut bench = bench("newreno", 0);
    let numbers = bench.fill(usize::MAX);
    bench.now += RTT;
    for number in numbers {
        bench.now += Duration::from_millis(1);
        bench.ack(number, &[0]);
    }
    assert_eq!(bench.samples, [101, 102, 103, 104]);
}

#[test]
fn the_window_restarts_after_a_long_idle_period() {
    // RFC 4341 §5.1, RFC 5681 §4.1: RW = IW.
    let mut bench = bench("cubic", 4);
    bench.now += Duration::from_secs(10);
    assert_eq!(bench.fill(usize::MAX).len(), 4);
}

#[test]
fn a_change_of_bound_comes_after_the_window_of_its_time() {
    // No acknowledgement reports the packets sent after an idle time, or the smaller window.
    let mut bench = bench("cubic", 4);
    bench.events.block(bench.now, SndLim::Application);
    let before = bench.window();
    assert_eq!((before.cwnd, before.bytes_in_flight), (64 * KB, 0));
    bench.now += Duration::from_secs(10);
    assert_eq!(bench.fill(usize::MAX).len(), 4);
    assert_eq!(bench.window(), before, "without a change nothing is said");
    bench.events.block(bench.now, SndLim::Window);
    let window = bench.window();
    assert_eq!((window.cwnd, window.bytes_in_flight), (4 * KB, 4 * KB));
}
