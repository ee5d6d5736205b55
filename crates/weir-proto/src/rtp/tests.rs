use super::*;
use crate::endpoint::{CloseReason, Endpoint, EndpointEvent, WriteError};
use crate::event::{Event, EventMask, LossTrigger, SndLim};
use crate::packet::{Body, Packet as NetPacket, Payload};
use crate::time::Instant;
use std::num::NonZeroU32;

mod history;
mod receiver_bounds;
mod session;

const DELAY: Duration = Duration::from_millis(25);

fn at(millis: u64) -> Instant {
    Instant::ZERO + Duration::from_millis(millis)
}

/// A sender and a receiver with a link of 25 ms between them. The link drops the packets of media
/// whose index `drops` selects, and delays packets by `late` more.
struct Pair {
    ends: [Session; 2],
    /// Arrival time, receiver and packet, in order of arrival.
    wire: Vec<(Instant, usize, NetPacket)>,
    now: Instant,
    media_sent: u64,
    feedback_sent: Vec<Instant>,
    drops: fn(u64) -> bool,
    late: fn(u64) -> Duration,
    carries_feedback: bool,
    /// No frames are written.
    is_paused: bool,
}

impl Pair {
    fn new(config: &Config) -> Self {
        let mut ends = [1, 2].map(|seed| {
            Session::new(Config {
                seed,
                ..config.clone()
            })
        });
        ends[0].connect(Instant::ZERO);
        ends[0]
            .events()
            .expect("it traces")
            .set_mask(EventMask::ALL);
        Self {
            ends,
            wire: Vec::new(),
            now: Instant::ZERO,
            media_sent: 0,
            feedback_sent: Vec::new(),
            drops: |_| false,
            late: |_| Duration::ZERO,
            carries_feedback: true,
            is_paused: false,
        }
    }

    fn send(&mut self) {
        for end in 0..2 {
            while let Some(packet) = self.ends[end].poll_transmit(self.now) {
                self.ends[end].transmitted(self.now, packet.id);
                let mut arrives = self.now + DELAY;
                if matches!(packet.body, Body::Rtp(Packet::Feedback(_))) {
                    self.feedback_sent.push(self.now);
                    if !self.carries_feedback {
                        continue;
                    }
                } else {
                    self.media_sent += 1;
                    if (self.drops)(self.media_sent) {
                        continue;
                    }
                    arrives += (self.late)(self.media_sent);
                }
                self.wire.push((arrives, 1 - end, packet));
            }
        }
        self.wire.sort_by_key(|(arrives, ..)| *arrives);
    }

    /// Runs until this time; the sender writes a frame of three packets of 400 octets each 40 ms.
    fn run(&mut self, until: u64) {
        loop {
            self.send();
            let timers = self.ends.iter().filter_map(Session::poll_timeout);
            let arrival = self.wire.first().map(|(arrives, ..)| *arrives);
            let next = timers.chain(arrival).min().unwrap_or(Instant::FAR_FUTURE);
            let frame = at((self.now.as_nanos() / 40_000_000 + 1) * 40);
            let next = next.min(frame);
            if next > at(until) {
                return;
            }
            assert!(next > self.now || arrival == Some(next), "time passes");
            self.now = next;
            if next == frame && !self.is_paused {
                for _ in 0..3 {
                    let _ = self.ends[0].write(next, Payload::of_len(400));
                }
            }
            while self
                .wire
                .first()
                .is_some_and(|(arrives, ..)| *arrives <= next)
            {
                let (_, end, mut packet) = self.wire.remove(0);
                self.ends[end].handle(next, &mut packet);
            }
            for end in &mut self.ends {
                end.handle_timeout(next);
            }
        }
    }

    fn events(&mut self) -> Vec<(Instant, Event)> {
        self.ends[0].events().expect("it traces").drain().collect()
    }
}

#[test]
fn reports_come_in_constant_intervals_and_measure_the_round_trip() {
    let mut pair = Pair::new(&Config::default());
    pair.run(2000);
    // RFC 8698 §4.1: DELTA is 100 ms; RFC 8888 §4: 50 to 200 ms.
    let reports = &pair.feedback_sent;
    assert!(reports.len() >= 18, "{reports:?}");
    let intervals = reports.windows(2).map(|pair| pair[1].since(pair[0]));
    assert!(
        intervals
            .into_iter()
            .all(|interval| interval == Duration::from_millis(100))
    );
    let samples = pair.events();
    let samples = samples.iter().filter_map(|(_, event)| match event {
        Event::Rtt(sample) => Some(sample.as_secs_f64()),
        _ => None,
    });
    // Offsets are in 1/1024 s, rounded down, so a sample may be too long by that; the two times
    // whose difference is an offset are rounded down to 1/65536 s, so it may be too short by that.
    for sample in samples {
        assert!((0.04998..=0.051).contains(&sample), "{sample}");
    }
    let [sender, receiver] = pair.ends.each_ref().map(Session::statistics);
    assert_eq!(sender.packets_lost, 0);
    assert!(receiver.payload_received > 100 * 400);
}

#[test]
fn losses_are_found_in_reports_and_packets_that_are_late_counted_again() {
    let mut pair = Pair::new(&Config::default());
    pair.drops = |number| number == 10 || number == 20;
    pair.run(2000);
    assert_eq!(pair.ends[0].statistics().packets_lost, 2);
    let lost: Vec<Event> = pair.events().into_iter().map(|(_, event)| event).collect();
    let reported = |event: &&Event| {
        matches!(
            event,
            Event::Lost {
                trigger: LossTrigger::Reported,
                ..
            }
        )
    };
    assert_eq!(lost.iter().filter(reported).count(), 2);

    // Half a second late: it is in a later report, which covers it once more.
    let mut pair = Pair::new(&Config::default());
    pair.late = |number| Duration::from_millis(if number == 10 { 500 } else { 0 });
    pair.run(400);
    assert_eq!(pair.ends[0].statistics().packets_lost, 1);
    pair.run(2000);
    let sender = pair.ends[0].statistics();
    assert_eq!((sender.packets_lost, sender.packets_late), (0, 1));
    let receiver = pair.ends[1].statistics();
    assert_eq!(
        receiver.payload_received,
        400 * receiver.data_packets_received
    );
}

#[test]
fn a_copy_is_delivered_once_and_its_mark_counts() {
    let mut receiver = Session::new(Config::default());
    let events = receiver.events().expect("it traces");
    events.set_mask(EventMask::ALL);
    let mut sender = Session::new(Config {
        ecn: EcnCodepoint::Ect1,
        ..Config::default()
    });
    sender.connect(Instant::ZERO);
    sender
        .write(Instant::ZERO, Payload::of_len(100))
        .expect("room");
    let mut packet = sender.poll_transmit(Instant::ZERO).expect("a packet");
    assert_eq!((packet.ip.ecn, packet.size), (Ecn::Ect1, 20 + 8 + 12 + 100));
    let mut marked = packet.clone();
    marked.ip.ecn = Ecn::Ce;
    let mut damaged = packet.clone();
    damaged.damaged_at = NonZeroU32::new(60);
    receiver.handle(at(1), &mut damaged);
    assert_eq!(receiver.statistics().packets_received, 0);
    receiver.handle(at(1), &mut packet);
    receiver.handle(at(2), &mut marked);
    let read: Vec<u32> = std::iter::from_fn(|| receiver.read(at(2)))
        .map(|p| p.len())
        .collect();
    assert_eq!(read, [100]);
    let rows: Vec<Event> = receiver
        .events()
        .expect("it traces")
        .drain()
        .map(|(_, event)| event)
        .filter(|event| matches!(event, Event::Received { .. }))
        .collect();
    assert_eq!(rows.len(), 2, "each copy has its row: {rows:?}");
    assert_eq!(rows[0], rows[1]);
    assert_eq!(receiver.statistics().packets_received, 2);
    assert_eq!(receiver.poll_timeout(), Some(at(101)));
    receiver.handle_timeout(at(101));
    let report = receiver.poll_transmit(at(101)).expect("a report");
    let Body::Rtp(Packet::Feedback(report)) = &report.body else {
        panic!("it is feedback");
    };
    let metric = report.blocks[0].metrics[0].expect("it was received");
    // RFC 8888 §3.1: the arrival of the first copy, 100 ms before, and the mark of the second.
    assert_eq!(metric.ecn, Ecn::Ce);
    assert_eq!(metric.offset, wire::ArrivalOffset::Ticks(102));
    assert_eq!(receiver.poll_timeout(), None);
}

#[test]
fn a_report_that_is_too_large_is_split() {
    let mut receiver = receiver::Receiver::new(Duration::from_millis(100));
    for n in 0..10_u32 {
        receiver.on_packet(at(1), [7, 65_530 + n], Ecn::NotEct);
    }
    // 28 octets hold four metrics; the numbers wrap around.
    let reports = receiver.report(at(101), 1, 28);
    let covered: Vec<(u16, usize)> = reports
        .iter()
        .map(|report| (report.blocks[0].begin_seq, report.blocks[0].metrics.len()))
        .collect();
    assert_eq!(covered, [(65_530, 4), (65_534, 4), (2, 2)]);
    assert!(reports.iter().all(|report| report.wire_len() <= 28));
}

#[test]
fn without_feedback_the_rate_is_halved() {
    let mut pair = Pair::new(&Config::default());
    pair.run(4000);
    let rate = |pair: &Pair| pair.ends[0].media_target().expect("NADA").rate.as_bps();
    let before = rate(&pair);
    pair.carries_feedback = false;
    pair.events();
    pair.run(5100);
    assert!(rate(&pair) < 0.6 * before, "{} {before}", rate(&pair));
    let timeouts = pair.events();
    let timeouts = timeouts
        .iter()
        .filter(|(_, event)| matches!(event, Event::Timeout { .. }));
    assert!((1..=3).contains(&timeouts.count()));
}

#[test]
fn what_waits_lowers_the_target_of_the_encoder() {
    // RFC 8698 §5.2.2, (11) and (13): 500 octets less BETA_V · 8 · 500 · FPS = 12 kbit/s.
    let mut pair = Pair::new(&Config::default());
    pair.run(4030);
    let target = |pair: &Pair| pair.ends[0].media_target().expect("NADA");
    let before = target(&pair);
    assert_eq!(before.buffered_bytes, 0);
    assert!(before.rate.as_bps() > 240e3, "5 % of it are 12 kbit/s");
    let now = pair.now;
    pair.ends[0].write(now, Payload::of_len(500)).expect("room");
    let less = before.rate.as_bps() - target(&pair).rate.as_bps();
    assert!((less - 12_000.0).abs() < 1.0, "{less}");
}

#[test]
fn a_pause_keeps_the_rate_and_is_limited_by_the_application() {
    // Without loss, and with the last packet before the pause lost: no report covers it, because no
    // packet arrives after it, and the rate is halved once.
    for (drops, halvings) in [(None, 0), (Some(150), 1)] {
        let mut pair = Pair::new(&Config::default());
        if drops.is_some() {
            pair.drops = |number| number == 150;
        }
        // Fifty frames of three packets each, the last of them at 2000 ms.
        pair.run(2010);
        pair.is_paused = true;
        pair.run(2300);
        assert_eq!(pair.media_sent, 150);
        let rate = |pair: &Pair| pair.ends[0].media_target().expect("NADA").rate.as_bps();
        let before = rate(&pair);
        pair.events();
        pair.run(20_000);
        let events = pair.events();
        let timeouts = events
            .iter()
            .filter(|(_, event)| matches!(event, Event::Timeout { .. }));
        assert_eq!(timeouts.count(), halvings);
        let after = before / f64::from(1 << halvings);
        assert!((rate(&pair) - after).abs() < 1.0, "{} {after}", rate(&pair));
        let bound = |(_, event): &(Instant, Event)| match event {
            Event::Blocked(bound) => Some(*bound),
            _ => None,
        };
        assert!(
            events
                .iter()
                .filter_map(bound)
                .all(|bound| bound == SndLim::Application)
        );
        // The rate continues from there: it does not oscillate with the first reports, unless they
        // report the loss. Octets that wait in the sender take up to 5 % of the target
        // (BUFFER_SHIFT).
        pair.is_paused = false;
        pair.run(20_400);
        let least = if drops.is_some() { 150e3 } else { 0.95 * after };
        assert!(rate(&pair) >= least, "{} {least}", rate(&pair));
        assert_eq!(pair.ends[0].statistics().packets_lost, halvings as u64);
    }
}

#[test]
fn a_frame_has_one_timestamp_and_its_last_packet_the_marker() {
    let mut sender = Session::new(Config {
        controller: Controller::Uncontrolled,
        ..Config::default()
    });
    sender.connect(Instant::ZERO);
    for (millis, packets) in [(0, 2), (1000, 1)] {
        for _ in 0..packets {
            sender.write(at(millis), Payload::of_len(10)).expect("room");
        }
    }
    let sent: Vec<(bool, u32)> = std::iter::from_fn(|| sender.poll_transmit(at(1000)))
        .map(|packet| match packet.body {
            Body::Rtp(Packet::Media(media)) => (media.marker, media.timestamp),
            _ => panic!("it is media"),
        })
        .collect();
    // VIDEO_CLOCK is 90 kHz (RFC 3551 §5).
    assert_eq!(sent, [(false, 0), (true, 0), (true, 90_000)]);
    assert_eq!(sender.media_target(), None);
}

#[test]
fn writes_are_bounded_and_closing_sends_what_waits() {
    let mut sender = Session::new(Config {
        send_queue: 2,
        ..Config::default()
    });
    let write = |sender: &mut Session, len| sender.write(at(0), Payload::of_len(len));
    assert_eq!(write(&mut sender, 1), Err(WriteError::Closed));
    sender.connect(at(0));
    assert_eq!(sender.poll_event(), Some(EndpointEvent::Connected));
    // 1500 octets less 20, 8 and 12 of headers.
    assert_eq!(write(&mut sender, 1461), Err(WriteError::TooLarge(1460)));
    assert_eq!(write(&mut sender, 1460), Ok(()));
    assert_eq!(write(&mut sender, 1460), Ok(()));
    assert_eq!(write(&mut sender, 1), Err(WriteError::Blocked));
    assert!(sender.poll_transmit(at(0)).is_some());
    assert_eq!(sender.poll_event(), Some(EndpointEvent::Writable));
    sender.close(at(0));
    assert_eq!(write(&mut sender, 1), Err(WriteError::Closed));
    assert_eq!(sender.poll_event(), None);
    // RFC 8698 §5.2.2: 1460 octets take 74.2 ms at RMIN and 5 % more, as the buffer holds the
    // other packet; 77.9 ms at RMIN.
    assert!(sender.poll_transmit(at(74)).is_none());
    assert!(sender.poll_transmit(at(75)).is_some());
    assert_eq!(
        sender.poll_event(),
        Some(EndpointEvent::Closed(CloseReason::Finished))
    );
}
