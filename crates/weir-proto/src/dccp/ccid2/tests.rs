use super::ack_ratio::AckRatio;
use super::{Ccid2Receiver, Ccid2Sender, ControllerChoice};
use crate::cc::window::{REGISTRY, WindowConfig};
use crate::dccp::ccid::{CcidReceiver, CcidSender, SendTime};
use crate::dccp::wire::{DccpOption, Options, Packet, PacketType, SeqNum};
use crate::event::{Event, EventMask, Events, Limit, LossTrigger, WindowState};
use crate::packet::{Ecn, Payload};
use crate::time::{Duration, Instant};
use proptest::prelude::*;

pub(super) const RTT: Duration = Duration::from_millis(100);
pub(super) const SIZE: u32 = 1000;
/// A sequence number of the peer, far from those of the sender.
const FAR: u64 = 1 << 40;

/// A sender with packets and acknowledgements built by the test.
pub(super) struct Bench {
    pub(super) sender: Ccid2Sender,
    pub(super) events: Events,
    pub(super) now: Instant,
    next: u64,
    next_ack: u64,
    last: Option<WindowState>,
    /// The samples of the round-trip time in milliseconds, and losses that were spurious.
    pub(super) samples: Vec<u64>,
    pub(super) spurious: u32,
}

impl Bench {
    fn new() -> Self {
        Self::with(Ccid2Sender::new(SIZE, 2))
    }

    /// A test bench with this sender of packets of `SIZE`.
    pub(super) fn with(mut sender: Ccid2Sender) -> Self {
        let mut events = Events::default();
        events.set_mask(EventMask::ALL);
        sender.on_handshake_rtt(Instant::ZERO, RTT);
        Self {
            sender,
            events,
            now: Instant::from_nanos(1_000_000_000),
            next: 100,
            next_ack: FAR,
            last: None,
            samples: Vec::new(),
            spurious: 0,
        }
    }

    /// Sends until the window is full, at most `most` packets; returns their numbers.
    pub(super) fn fill(&mut self, most: usize) -> Vec<u64> {
        let mut numbers = Vec::new();
        while numbers.len() < most && self.sender.send_time(self.now, SIZE) == SendTime::Now {
            let seq = SeqNum::new(self.next);
            let mut packet = Packet::data(seq, Payload::of_len(SIZE));
            self.sender
                .on_handover(self.now, &mut packet, &mut self.events);
            self.sender.on_transmitted(self.now, seq);
            numbers.push(self.next);
            self.next += 1;
        }
        numbers
    }

    /// An acknowledgement with these further options.
    pub(super) fn ack_with(&mut self, number: u64, options: &[DccpOption<'_>]) -> WindowState {
        let mut ack = Packet::new_ack(SeqNum::new(self.next_ack), SeqNum::new(number));
        self.next_ack += 1;
        for option in options {
            assert!(ack.options.push(option));
        }
        self.sender.on_ack(self.now, &ack, &mut self.events);
        self.window()
    }

    pub(super) fn ack(&mut self, number: u64, cells: &[u8]) -> WindowState {
        let nonce = false;
        self.ack_with(number, &[DccpOption::AckVector { nonce, cells }])
    }

    pub(super) fn window(&mut self) -> WindowState {
        self.sender.emit(self.now, &mut self.events);
        for (_, event) in self.events.drain() {
            match event {
                Event::Window(window) => self.last = Some(window),
                Event::Rtt(sample) => self.samples.push(sample.as_micros() / 1000),
                Event::Spurious => self.spurious += 1,
                _ => {}
            }
        }
        self.last.expect("the sender traces its window")
    }

    /// A round trip without a loss, with an acknowledgement for every two packets.
    pub(super) fn round_trip(&mut self) -> WindowState {
        let numbers = self.fill(usize::MAX);
        self.now += RTT;
        let mut window = None;
        for pair in numbers.chunks(2) {
            let newest = pair[pair.len() - 1];
            window = Some(self.ack(newest, &[pair.len() as u8 - 1]));
        }
        window.expect("there was something to acknowledge")
    }

    /// A sender in congestion avoidance without packets in flight, after `round_trips` round trips
    /// of slow start: its window is 4, 6, 9, 13, 20 or 30 packets.
    fn avoiding(round_trips: usize) -> Self {
        let mut bench = Self::new();
        for _ in 0..round_trips {
            bench.round_trip();
        }
        let last = bench.next - 1;
        let window = bench.ack_with(last, &[DccpOption::SlowReceiver]);
        assert_eq!(window.state, "congestion_avoidance");
        bench.now += RTT;
        bench
    }
}

pub(super) const KB: u64 = SIZE as u64;

/// RFC 4341 §5: one packet more for two acknowledged ones.
#[test]
fn slow_start_grows_by_half_a_window_each_round_trip() {
    let mut bench = Bench::new();
    let windows: Vec<u64> = (0..5).map(|_| bench.round_trip().cwnd / KB).collect();
    assert_eq!(windows, [6, 9, 13, 20, 30]);
}

/// RFC 4341 §5: at most Ack Ratio / 2 packets for one acknowledgement.
#[test]
fn one_acknowledgement_of_many_packets_increases_the_window_by_one() {
    let mut bench = Bench::new();
    let numbers = bench.fill(usize::MAX);
    assert_eq!(numbers.len(), 4);
    assert_eq!(bench.ack(numbers[3], &[3]).cwnd, 5 * KB);
}

#[test]
fn congestion_avoidance_adds_a_packet_each_window() {
    let mut bench = Bench::avoiding(3);
    for cwnd in 14..18 {
        let window = bench.round_trip();
        assert_eq!(window.cwnd / KB, cwnd);
        assert_eq!(window.limit, Limit::CongestionAvoidance);
    }
}

/// RFC 4341 §5: NUMDUPACK is three, and numbers without data count.
#[test]
fn three_later_packets_make_a_loss_and_two_do_not() {
    let mut bench = Bench::avoiding(2);
    let numbers = bench.fill(usize::MAX);
    let before = bench.window().cwnd;
    assert_eq!(bench.ack(numbers[2], &[1, 0xc0]).cwnd, before);
    let lost = bench.sender.losses().packets;
    let window = bench.ack(numbers[3], &[2, 0xc0]);
    assert_eq!(bench.sender.losses().packets, lost + 1);
    assert_eq!(window.cwnd / KB, before / KB / 2);
    assert_eq!(window.ssthresh, Some(window.cwnd));
    assert_eq!(window.limit, Limit::Recovery);
}

/// RFC 4341 §5 with the Ack Ratio 2: the window after each acknowledgement of two packets, by hand.
/// Slow start adds a packet for two, one for the acknowledgement that shows a loss, too: 14, of
/// which the loss leaves 7 and ssthresh 7. Then a packet for a window of seven acknowledged; a
/// timeout leaves one packet of eight, and ssthresh 4.
#[test]
fn a_life_of_the_window_by_hand() {
    let mut bench = Bench::new();
    let mut windows = vec![];
    for _ in 0..3 {
        for pair in bench.fill(usize::MAX).chunks(2) {
            bench.now += RTT / 2;
            windows.push(
                bench
                    .ack(pair[pair.len() - 1], &[pair.len() as u8 - 1])
                    .cwnd
                    / KB,
            );
        }
    }
    assert_eq!(windows, [5, 6, 7, 8, 9, 10, 11, 12, 13, 13]);
    let numbers = bench.fill(usize::MAX);
    assert_eq!(numbers.len(), 13);
    let window = bench.ack(numbers[3], &[2, 0xc0]);
    assert_eq!((window.cwnd, window.ssthresh), (7 * KB, Some(7 * KB)));
    let mut windows = vec![];
    for newest in [5, 7, 9, 11, 12] {
        windows.push(bench.ack(numbers[newest], &[1]).cwnd / KB);
    }
    assert_eq!(windows, [7, 7, 7, 8, 8]);
    assert_eq!(bench.fill(usize::MAX).len(), 8);
    let due = bench.sender.poll_timeout().expect("data is out");
    bench.sender.handle_timeout(due, &mut bench.events);
    let window = bench.window();
    assert_eq!((window.cwnd, window.ssthresh), (KB, Some(4 * KB)));
}

/// RFC 4341 §5: losses of one window are one event.
#[test]
fn a_window_with_many_losses_is_halved_once() {
    let mut bench = Bench::avoiding(4);
    let numbers = bench.fill(usize::MAX);
    let events = bench.sender.losses().events;
    let before = bench.window().cwnd;
    // Every other packet is lost.
    let cells: Vec<u8> = numbers
        .iter()
        .map(|n| if n % 2 == 0 { 0xc0 } else { 0 })
        .rev()
        .collect();
    let top = numbers.iter().rfind(|n| *n % 2 == 1).copied().unwrap_or(0);
    let skip = usize::from(top != numbers[numbers.len() - 1]);
    let window = bench.ack(top, &cells[skip..]);
    assert_eq!(window.cwnd / KB, before / KB / 2);
    assert_eq!(bench.sender.losses().events, events + 1);
}

#[test]
fn a_late_acknowledgement_of_a_lost_packet_changes_nothing() {
    let mut bench = Bench::avoiding(2);
    let numbers = bench.fill(usize::MAX);
    bench.window();
    let window = bench.ack(numbers[3], &[2, 0xc0]);
    let again = bench.ack(numbers[3], &[3]);
    assert_eq!(again.bytes_in_flight, window.bytes_in_flight);
    assert_eq!(again.cwnd, window.cwnd);
}

/// RFC 4341 §5: ssthresh is half the window, the window one packet; pipe is zero.
#[test]
fn a_timeout_leaves_one_packet_and_backs_off() {
    let mut bench = Bench::avoiding(2);
    bench.fill(usize::MAX);
    let before = bench.window().cwnd;
    let mut waits = Vec::new();
    for _ in 0..4 {
        let due = bench.sender.poll_timeout().expect("data is out");
        waits.push(due.since(bench.now).as_micros());
        bench.now = due;
        bench.sender.handle_timeout(due, &mut bench.events);
        let window = bench.window();
        assert_eq!((window.cwnd, window.bytes_in_flight), (KB, 0));
        assert_eq!(bench.fill(usize::MAX).len(), 1);
        if waits.len() == 1 {
            assert_eq!(window.ssthresh, Some(before / KB / 2 * KB));
        }
    }
    assert_eq!(bench.sender.losses().timeouts, 4);
    assert!(waits[0] >= 300_000, "{waits:?}");
    assert!(
        waits.windows(2).all(|two| two[1] == 2 * two[0]),
        "{waits:?}"
    );
}

#[test]
fn a_mark_halves_the_window_without_a_loss() {
    let mut bench = Bench::avoiding(2);
    let numbers = bench.fill(usize::MAX);
    let before = bench.window().cwnd;
    let lost = bench.sender.losses().packets;
    let window = bench.ack(numbers[1], &[0x40, 0]);
    assert_eq!(window.cwnd / KB, before / KB / 2);
    assert_eq!(bench.sender.losses().packets, lost);
    // The same mark reported again has no effect.
    assert_eq!(bench.ack(numbers[1], &[0x40, 0]).cwnd, window.cwnd);
}

/// RFC 4340 §11.4: 0, 192, 3, 64, 5 at number 100, in one option or in two.
#[test]
fn a_second_ack_vector_continues_the_first() {
    let nonce = false;
    for cut in 0..=5 {
        let mut bench = Bench::avoiding(5);
        bench.next = 88 + 1000;
        assert_eq!(bench.fill(13).len(), 13);
        let in_flight = bench.window().bytes_in_flight;
        let cells = [0, 192, 3, 64, 5];
        let (first, second) = cells.split_at(cut);
        let options = [first, second].map(|cells| DccpOption::AckVector { nonce, cells });
        let before = bench.sender.losses();
        let window = bench.ack_with(1100, &options);
        // All numbers but 1099 are acknowledged, and only one greater number follows 1099; the mark
        // is an event.
        assert_eq!(in_flight, 0);
        assert_eq!(window.bytes_in_flight, KB, "{cut}");
        let losses = bench.sender.losses();
        assert_eq!(losses.packets, before.packets, "{cut}");
        assert_eq!(losses.events, before.events + 1, "{cut}");
    }
}

/// RFC 4341 §5.2, RFC 4340 §11.7.2: 0, 160, 3, 162 at number 100.
#[test]
fn dropped_data_shrinks_the_window_by_its_packets() {
    let dropped = |blocks: &[u8]| {
        let mut bench = Bench::avoiding(5);
        bench.next = 1093;
        bench.fill(8);
        let before = bench.window().cwnd / KB;
        let (nonce, cells) = (false, &[7_u8][..]);
        let vector = DccpOption::AckVector { nonce, cells };
        let window = bench.ack_with(1100, &[DccpOption::DataDropped(blocks), vector]);
        (before, window.cwnd / KB)
    };
    let (before, after) = dropped(&[0, 160, 2, 162]);
    assert_eq!(after, before - 4, "drop code 2");
    let (before, after) = dropped(&[0, 128]);
    assert_eq!(after, before, "drop code 0");
    let (before, after) = dropped(&[0, 0xb0]);
    assert_eq!(after, before / 2, "drop code 3 is like a mark");
}

#[test]
fn slow_receiver_ends_slow_start_and_growth_for_a_round_trip() {
    let mut bench = Bench::new();
    bench.round_trip();
    let numbers = bench.fill(usize::MAX);
    let nonce = false;
    let vector = |cells| DccpOption::AckVector { nonce, cells };
    let window = bench.ack_with(numbers[1], &[DccpOption::SlowReceiver, vector(&[1])]);
    assert_eq!((window.cwnd, window.ssthresh), (6 * KB, Some(6 * KB)));
    assert_eq!(bench.ack(numbers[3], &[1]).cwnd, 6 * KB);
    assert_eq!(bench.ack(numbers[5], &[1]).cwnd, 6 * KB);
    bench.now += RTT * 2;
    let window = bench.round_trip();
    assert_eq!(
        (window.cwnd, window.limit),
        (7 * KB, Limit::CongestionAvoidance)
    );
}

/// RFC 4341 §5.1, RFC 5681 §4.1.
#[test]
fn the_window_restarts_after_a_long_idle_period() {
    let mut bench = Bench::new();
    let grown = (0..5).map(|_| bench.round_trip().cwnd).last();
    assert_eq!(grown, Some(30 * KB));
    bench.now += Duration::from_secs(10);
    assert_eq!(bench.fill(usize::MAX).len(), 4);
}

#[test]
fn an_application_that_does_not_fill_the_window_does_not_increase_it() {
    let mut bench = Bench::new();
    for _ in 0..10 {
        let numbers = bench.fill(2);
        bench.now += RTT;
        let window = bench.ack(numbers[1], &[1]);
        assert_eq!(
            (window.cwnd, window.limit),
            (4 * KB, Limit::ApplicationLimited)
        );
    }
}

#[test]
fn takes_one_sample_in_each_window_and_no_impossible_one() {
    let mut bench = Bench::new();
    let numbers = bench.fill(usize::MAX);
    bench.now += Duration::from_millis(80);
    bench.ack_with(numbers[0], &[DccpOption::ElapsedTime(9000)]);
    assert_eq!(bench.sender.rtt(), Some(RTT), "Elapsed Time 90 ms of 80 ms");
    bench.ack_with(numbers[1], &[DccpOption::ElapsedTime(1000)]);
    let expected = (RTT * 7 + Duration::from_millis(70)) / 8;
    assert_eq!(bench.sender.rtt(), Some(expected));
    bench.now += RTT;
    bench.ack(numbers[3], &[3]);
    assert_eq!(bench.sender.rtt(), Some(expected), "still the same window");
}

/// RFC 4341 §6.1.2, appendix A.
#[test]
fn the_ack_ratio_doubles_with_lost_acknowledgements_and_falls_slowly_without() {
    let cwnd = 24;
    let mut ratio = AckRatio::new(2);
    let mut peer = 0;
    let mut window = |ratio: &mut AckRatio, loses: bool, number: u64| {
        for step in 0..10 {
            peer += 1;
            if !(loses && step == 2) {
                ratio.on_arrival(SeqNum::new(peer));
            }
        }
        ratio.on_acknowledged(SeqNum::new(number), SeqNum::new(number + 10), cwnd);
        ratio.get()
    };
    let mut number = 0;
    let mut next = |ratio: &mut AckRatio, loses| {
        number += 10;
        window(ratio, loses, number)
    };
    // 24 / (4 - 2) = 12 windows without a loss are needed, but a window of 24 packets may not have
    // the ratio 1.
    assert_eq!(next(&mut ratio, false), 2);
    assert_eq!(next(&mut ratio, true), 4);
    assert_eq!(next(&mut ratio, true), 8);
    assert_eq!(next(&mut ratio, true), 12, "half the window");
    // 24 / (144 - 12) is less than one window.
    assert_eq!(next(&mut ratio, false), 11);
    for _ in 0..8 {
        next(&mut ratio, false);
    }
    assert_eq!(
        ratio.get(),
        4,
        "24 / (25 - 5): 2 windows from 5 to 4, before that 1"
    );
    assert_eq!([next(&mut ratio, false), next(&mut ratio, false)], [4, 3]);
    let clean = (1..=4).map(|_| next(&mut ratio, false)).collect::<Vec<_>>();
    assert_eq!(clean, [3, 3, 3, 2], "24 / (9 - 3) = 4 windows from 3 to 2");
}

#[test]
fn the_initial_window_follows_rfc_3390_in_packets() {
    // RFC 3390 §1: up to 1095 octets four packets, below 2190 three, otherwise two.
    let table = [
        (1, 4),
        (1095, 4),
        (1096, 3),
        (1460, 3),
        (1472, 3),
        (2189, 3),
        (2190, 2),
        (9000, 2),
    ];
    for (size, packets) in table {
        let mut bench = Bench::new();
        bench.sender = Ccid2Sender::new(size, 2);
        assert_eq!(bench.fill(100).len(), packets, "{size}");
    }
}

#[test]
fn packets_that_a_timeout_gives_up_are_lost_by_the_timeout() {
    let mut bench = Bench::new();
    let sent = bench.fill(100).len();
    let due = bench.sender.poll_timeout().expect("data is out");
    bench.sender.handle_timeout(due, &mut bench.events);
    let triggers = bench.events.drain().filter_map(|(_, event)| match event {
        Event::Lost { trigger, .. } => Some(trigger),
        _ => None,
    });
    assert_eq!(
        triggers.collect::<Vec<_>>(),
        vec![LossTrigger::Timeout; sent]
    );
}

#[test]
fn reordered_acknowledgements_are_not_lost() {
    let mut ratio = AckRatio::new(2);
    for number in [1, 3, 2, 4, 6, 7, 5, 8, 9, 10] {
        ratio.on_arrival(SeqNum::new(number));
    }
    ratio.on_acknowledged(SeqNum::new(1), SeqNum::new(2), 100);
    assert_eq!(ratio.get(), 2);
}

#[test]
fn the_receiver_acknowledges_every_other_packet_after_a_delay_and_at_a_gap() {
    let mut receiver = Ccid2Receiver::new(2);
    let now = Instant::from_nanos(1_000_000_000);
    let arrive = |receiver: &mut Ccid2Receiver, number: u64, ecn| {
        let packet = Packet::data(SeqNum::new(number), Payload::of_len(SIZE));
        receiver.on_packet(now, &packet, ecn, &mut Events::default());
        receiver.wants_ack(now)
    };
    let mut acks = 0;
    let mut answer = |receiver: &mut Ccid2Receiver, now| {
        acks += 1;
        let mut options = Options::new();
        receiver.on_ack_sent(now, SeqNum::new(acks), PacketType::Ack, &mut options);
        assert!(!receiver.wants_ack(now));
        options
    };
    assert!(!arrive(&mut receiver, 1, Ecn::Ect0));
    assert!(arrive(&mut receiver, 2, Ecn::Ect0));
    let options = answer(&mut receiver, now);
    assert_eq!(options.as_bytes(), [38, 3, 1]);
    assert!(arrive(&mut receiver, 4, Ecn::Ect0), "a gap");
    answer(&mut receiver, now);
    assert!(arrive(&mut receiver, 5, Ecn::Ce), "a mark");
    answer(&mut receiver, now);
    assert!(!arrive(&mut receiver, 6, Ecn::Ect0));
    let due = receiver.poll_timeout().expect("a delayed acknowledgement");
    assert_eq!(due.since(now), Duration::from_millis(200));
    receiver.handle_timeout(due);
    assert!(receiver.wants_ack(due));
    let options = answer(&mut receiver, due);
    let elapsed = options.iter().any(|o| o == DccpOption::ElapsedTime(20_000));
    assert!(elapsed, "held for 200 ms");
}

proptest! {
    /// E12, B7: with any acknowledgements in any order, the window is at least one packet and pipe
    /// is between zero and the packets sent.
    #[test]
    fn no_acknowledgement_corrupts_the_window(
        steps in proptest::collection::vec(
            (0_u64..40, proptest::collection::vec(any::<u8>(), 0..12),
             proptest::collection::vec(any::<u8>(), 0..4), 0_u32..200_000, any::<bool>()),
            1..120,
        ),
        controller in 0..=REGISTRY.len(),
    ) {
        let mut bench = match REGISTRY.get(controller) {
            None => Bench::new(),
            Some(entry) => {
                let config = WindowConfig::default();
                let choice = ControllerChoice { entry, config };
                Bench::with(Ccid2Sender::with_controller(SIZE, 2, &choice))
            }
        };
        let (mut sent, nonce) = (0, false);
        for (behind, cells, blocks, elapsed, timeout) in steps {
            sent += bench.fill(8).len() as u64;
            bench.now += Duration::from_millis(7);
            if timeout && let Some(due) = bench.sender.poll_timeout() {
                bench.now = bench.now.max(due);
                bench.sender.handle_timeout(bench.now, &mut bench.events);
                prop_assert!(bench.sender.poll_timeout().is_none_or(|at| at > bench.now));
            }
            let window = bench.ack_with(bench.next.saturating_sub(behind + 1), &[
                DccpOption::DataDropped(&blocks),
                DccpOption::ElapsedTime(elapsed),
                DccpOption::AckVector { nonce, cells: &cells },
            ]);
            prop_assert!(window.cwnd >= KB);
            prop_assert!(window.bytes_in_flight <= sent * KB);
            prop_assert!(window.ssthresh.is_none_or(|most| most >= KB));
            prop_assert!(bench.sender.losses().packets <= sent);
            prop_assert!(bench.sender.rtt().is_some_and(|rtt| rtt < Duration::from_secs(100)));
        }
    }
}
