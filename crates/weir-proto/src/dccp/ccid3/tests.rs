//! Both halves of CCID 3 over a path with loss and delay.

use super::{Ccid3Receiver, Ccid3Sender};
use crate::cc::tfrc::{FeedbackOptions, Profile, RttOption, response};
use crate::dccp::ccid::{CcidReceiver, CcidSender, LossCounts, SendTime};
use crate::dccp::wire::{DccpOption, Options, Packet, PacketType, SeqNum};
use crate::event::{Event, EventMask, Events, LossTrigger};
use crate::packet::{Ecn, Payload};
use crate::rng::Rng;
use crate::time::{Duration, Instant};
use std::collections::VecDeque;

const S: u32 = 1000;

/// A sender that always has data, over a path with a constant delay and no queue.
struct Flow {
    sender: Ccid3Sender,
    receiver: Ccid3Receiver,
    events: Events,
    forward: VecDeque<(Instant, Packet)>,
    backward: VecDeque<(Instant, Packet)>,
    delay: Duration,
    sent: u64,
}

impl Flow {
    fn new(profile: &Profile, rtt: Duration) -> Self {
        let mut sender = Ccid3Sender::new(profile.clone(), S);
        sender.on_handshake_rtt(Instant::ZERO, rtt);
        let mut events = Events::default();
        events.set_mask(EventMask::NONE);
        Self {
            sender,
            receiver: Ccid3Receiver::new(profile.clone()),
            events,
            forward: VecDeque::new(),
            backward: VecDeque::new(),
            delay: rtt / 2,
            sent: 0,
        }
    }

    fn send(&mut self, now: Instant, is_lost: &mut impl FnMut() -> bool) -> Option<Instant> {
        loop {
            if let SendTime::At(at) = self.sender.send_time(now, S) {
                return Some(at);
            }
            self.sent += 1;
            let mut packet = Packet::data(SeqNum::new(self.sent), Payload::of_len(S));
            self.sender.on_handover(now, &mut packet, &mut self.events);
            self.sender.on_transmitted(now, packet.seq);
            if !is_lost() {
                self.forward.push_back((now + self.delay, packet));
            }
        }
    }

    fn arrive(&mut self, now: Instant, packet: &Packet) {
        self.receiver
            .on_packet(now, packet, Ecn::NotEct, &mut Events::default());
        if self.receiver.wants_ack(now) {
            let mut ack = Packet::new_ack(SeqNum::new(1), packet.seq);
            self.receiver
                .on_ack_sent(now, SeqNum::new(1), PacketType::Ack, &mut ack.options);
            self.backward.push_back((now + self.delay, ack));
        }
    }

    /// Runs until `end`, from event to event.
    fn run(&mut self, end: Instant, mut is_lost: impl FnMut() -> bool) {
        let mut now = Instant::ZERO;
        while now < end {
            while let Some((_, packet)) = self.forward.pop_front_if(|(at, _)| *at <= now) {
                self.arrive(now, &packet);
            }
            while let Some((_, ack)) = self.backward.pop_front_if(|(at, _)| *at <= now) {
                self.sender.on_ack(now, &ack, &mut self.events);
            }
            self.sender.handle_timeout(now, &mut self.events);
            let retry = self.send(now, &mut is_lost);
            let next = [
                self.forward.front().map(|(at, _)| *at),
                self.backward.front().map(|(at, _)| *at),
                self.sender.poll_timeout(),
                retry,
            ];
            let next = next.into_iter().flatten().min().unwrap_or(end);
            assert!(next > now, "the flow stands still at {now}");
            now = next;
        }
    }
}

#[test]
fn random_loss_gives_the_throughput_of_the_equation() {
    for name in Profile::NAMES {
        for loss in [0.005, 0.02] {
            let rtt = Duration::from_millis(100);
            let mut flow = Flow::new(&Profile::named(name).expect("a name"), rtt);
            let mut rng = Rng::stream(1, "tfrc/throughput");
            let end = Instant::ZERO + Duration::from_secs(600);
            flow.run(end, || rng.chance(loss));
            let throughput = flow.sent as f64 * f64::from(S) / 600.0;
            // Losses in one round trip are one event, so p is below the packet loss rate.
            let packets_per_rtt = throughput / f64::from(S) * rtt.as_secs_f64();
            let least = f64::from(S) / (rtt.as_secs_f64() * response(loss));
            let ratio = throughput / least;
            assert!(
                (0.85..1.5).contains(&ratio),
                "{name} {loss}: {ratio} {packets_per_rtt}"
            );
            assert!(flow.receiver.losses().events > 100);
        }
    }
}

#[test]
fn both_options_give_the_sender_the_same_loss_event_rate() {
    let rate = |feedback_options| {
        let profile = Profile {
            feedback_options,
            discounting: crate::cc::tfrc::Discounting::Off,
            ..Profile::rfc5348()
        };
        let mut flow = Flow::new(&profile, Duration::from_millis(50));
        let mut count = 0_u64;
        flow.run(Instant::ZERO + Duration::from_secs(60), || {
            count += 1;
            count.is_multiple_of(100)
        });
        flow.sender.tfrc().loss_event_rate()
    };
    let by_rate = rate(FeedbackOptions::LossEventRate);
    let by_intervals = rate(FeedbackOptions::LossIntervals);
    assert!((by_rate / 0.01 - 1.0).abs() < 0.1, "{by_rate}");
    assert!((by_intervals / 0.01 - 1.0).abs() < 0.1, "{by_intervals}");
}

#[test]
fn losses_are_counted_once_at_the_receiver() {
    let mut flow = Flow::new(&Profile::rfc5348(), Duration::from_millis(50));
    let (mut count, mut lost) = (0_u64, 0_u64);
    flow.run(Instant::ZERO + Duration::from_secs(60), || {
        count += 1;
        let drop = count.is_multiple_of(200);
        lost += u64::from(drop);
        drop
    });
    let LossCounts {
        packets, events, ..
    } = flow.receiver.losses();
    assert!(lost - packets <= 2, "{packets} of {lost}");
    assert!((1..=lost).contains(&events), "{events} events");
}

#[test]
fn feedback_carries_the_options_of_its_profile() {
    for (profile, kinds) in [
        (Profile::linux_2008(), &[192_u8, 194][..]),
        (Profile::rfc5348(), &[192, 194, 43, 193][..]),
    ] {
        let mut receiver = Ccid3Receiver::new(profile);
        let packet = Packet::data(SeqNum::new(1), Payload::of_len(S));
        receiver.on_packet(Instant::ZERO, &packet, Ecn::NotEct, &mut Events::default());
        let mut options = Options::new();
        receiver.on_ack_sent(
            Instant::ZERO,
            SeqNum::new(1),
            PacketType::Data,
            &mut options,
        );
        assert!(options.is_empty(), "never on Data");
        receiver.on_ack_sent(Instant::ZERO, SeqNum::new(1), PacketType::Ack, &mut options);
        let written: Vec<u8> = options.iter().map(|option| option.kind()).collect();
        assert_eq!(written, kinds);
        assert!(!receiver.wants_ack(Instant::ZERO));
    }
}

#[test]
fn the_rtt_estimate_option_reaches_the_receiver() {
    let profile = Profile {
        rtt_option: RttOption::Send,
        ..Profile::rfc5348()
    };
    let mut sender = Ccid3Sender::new(profile.clone(), S);
    sender.on_handshake_rtt(Instant::ZERO, Duration::from_nanos(5_000_001));
    let mut events = Events::default();
    let mut packet = Packet::data(SeqNum::new(1), Payload::of_len(S));
    sender.on_handover(Instant::ZERO, &mut packet, &mut events);
    let option = packet.options.iter().next();
    assert_eq!(option, Some(DccpOption::RttEstimate(5001)));
    let mut receiver = Ccid3Receiver::new(profile);
    receiver.on_packet(Instant::ZERO, &packet, Ecn::NotEct, &mut Events::default());
    assert_eq!(receiver.tfrc().rtt(), Some(Duration::from_micros(5001)));
}

#[test]
fn acknowledgements_of_unknown_packets_are_ignored() {
    let mut flow = Flow::new(&Profile::rfc5348(), Duration::from_millis(50));
    flow.run(Instant::ZERO + Duration::from_secs(1), || false);
    let now = Instant::ZERO + Duration::from_secs(1);
    let before = flow.sender.tfrc().state();
    for (kind, seq) in [(PacketType::Ack, 1 << 40), (PacketType::Sync, flow.sent)] {
        let mut ack = Packet::new_ack(SeqNum::new(2), SeqNum::new(seq));
        ack.kind = kind;
        ack.options.push(&DccpOption::ReceiveRate(u32::MAX));
        ack.options.push(&DccpOption::LossEventRate(0));
        flow.sender.on_ack(now, &ack, &mut flow.events);
    }
    assert_eq!(flow.sender.tfrc().state(), before);
    flow.sender.on_close();
    assert_eq!(flow.sender.poll_timeout(), None);
}

#[test]
fn a_sequence_number_that_wraps_is_no_loss() {
    let mut receiver = Ccid3Receiver::new(Profile::rfc5348());
    let first = SeqNum::new((1 << 48) - 10);
    for k in 0..20 {
        let packet = Packet::data(first.add(k), Payload::of_len(S));
        receiver.on_packet(Instant::ZERO, &packet, Ecn::NotEct, &mut Events::default());
    }
    assert_eq!(receiver.losses(), LossCounts::default());
}

#[test]
fn packets_that_the_receiver_finds_lost_are_named() {
    // RFC 5348 §5.1, NDUPACK: three packets behind the hole make its packets lost; RFC 4340 §7.1:
    // numbers have 48 bits.
    let first = SeqNum::new((1 << 48) - 2);
    for (mask, named) in [
        (EventMask::PACKET, &[(1 << 48) - 1, 0][..]),
        (EventMask::NONE, &[]),
    ] {
        let mut receiver = Ccid3Receiver::new(Profile::rfc5348());
        let mut events = Events::default();
        events.set_mask(mask);
        for k in [0, 3, 5, 4] {
            assert!(events.is_empty());
            let packet = Packet::data(first.add(k), Payload::of_len(S));
            receiver.on_packet(Instant::ZERO, &packet, Ecn::NotEct, &mut events);
        }
        assert_eq!(receiver.losses().packets, 2);
        let lost = events.drain().map(|(_, event)| match event {
            Event::Lost {
                number,
                size: 0,
                trigger: LossTrigger::PacketThreshold,
                ..
            } => number,
            other => panic!("{other:?}"),
        });
        assert_eq!(lost.collect::<Vec<_>>(), named);
    }
}

#[test]
fn feedback_reports_the_newest_nine_loss_intervals() {
    // RFC 4342 §8.6.1, REPORTED: I_0 to I_8; a packet is lost of each twenty, and the window
    // counter advances by five between losses, so that each is an event of its own.
    let mut receiver = Ccid3Receiver::new(Profile::rfc5348());
    let mut now = Instant::ZERO;
    let mut counts = Vec::new();
    for seq in (1..=400_u64).filter(|seq| seq % 20 != 0) {
        now += Duration::from_millis(1);
        let mut packet = Packet::data(SeqNum::new(seq), Payload::of_len(S));
        packet.ccval = (seq / 4 % 16) as u8;
        receiver.on_packet(now, &packet, Ecn::NotEct, &mut Events::default());
        let mut options = Options::default();
        receiver.on_ack_sent(now, SeqNum::new(1), PacketType::Ack, &mut options);
        counts.extend(options.iter().find_map(|option| match option {
            DccpOption::LossIntervals { intervals, .. } => Some(intervals.len() / 9),
            _ => None,
        }));
    }
    assert!(counts.is_sorted(), "{counts:?}");
    assert_eq!((counts.first(), counts.last()), (Some(&1), Some(&9)));
}

#[test]
fn an_estimate_of_zero_is_none() {
    // RFC 6323 §3.2.1: zero means that the sender has no sample yet.
    for (micros, expected) in [(0, None), (1, Some(Duration::from_micros(1)))] {
        let profile = Profile {
            rtt_option: RttOption::Send,
            ..Profile::rfc5348()
        };
        let mut receiver = Ccid3Receiver::new(profile);
        let mut packet = Packet::data(SeqNum::new(1), Payload::of_len(S));
        packet.options.push(&DccpOption::RttEstimate(micros));
        let events = &mut Events::default();
        receiver.on_packet(Instant::ZERO, &packet, Ecn::NotEct, events);
        assert_eq!(receiver.tfrc().rtt(), expected);
    }
}

#[test]
fn the_time_since_the_last_packet_is_reported_in_tens_of_microseconds() {
    // RFC 4340 §13.2.
    let mut receiver = Ccid3Receiver::new(Profile::rfc5348());
    let packet = Packet::data(SeqNum::new(1), Payload::of_len(S));
    let events = &mut Events::default();
    receiver.on_packet(Instant::ZERO, &packet, Ecn::NotEct, events);
    let mut options = Options::new();
    let now = Instant::ZERO + Duration::from_micros(1239);
    receiver.on_ack_sent(now, SeqNum::new(1), PacketType::Ack, &mut options);
    let elapsed = options.iter().find_map(|option| match option {
        DccpOption::ElapsedTime(units) => Some(units),
        _ => None,
    });
    assert_eq!(elapsed, Some(123));
}
