//! A sender under windows written by hand, and a receiver whose application reads late: RFC 9293
//! §3.8.6.

use super::*;

/// Offsets and lengths.
type Segments = &'static [(u64, u32)];

/// A sender whose peer states its window in octets, unscaled.
struct Held {
    sender: Connection,
}

impl Held {
    /// Open at 100 ms, the round-trip time of the handshake, with the peer's window.
    fn open(rules: &str, window: u16) -> Self {
        let config = Config {
            segment_size: MSS as u32,
            ..Config::named(rules).expect("a preset")
        };
        let mut sender = Connection::client(config, controller(&config, "newreno"));
        sender.connect(at(0));
        assert!(sender.poll_transmit(at(0)).is_some(), "a SYN");
        let syn = SynOptions {
            mss: MSS as u16,
            window_scale: 0,
            sack_permitted: true,
        };
        let mut held = Self { sender };
        let answer = TcpPacket {
            seq: 0,
            flags: flag::SYN | flag::ACK,
            syn: Some(syn),
            window,
            ..segment(0, &[])
        };
        held.sender.handle(at(100), &mut packet(answer));
        held
    }

    fn write(&mut self, millis: u64, octets: u32) {
        let written = self.sender.write(at(millis), Payload::of_len(octets));
        assert_eq!(written, Ok(()));
    }

    /// An acknowledgement of `octets` octets, with a window.
    fn ack(&mut self, millis: u64, octets: u64, window: u16) {
        let body = TcpPacket {
            ack: wrap(0, octets),
            window,
            ..segment(0, &[])
        };
        self.sender.handle(at(millis), &mut packet(body));
    }

    /// Offset and length of the data segments that leave now.
    fn sent(&mut self, millis: u64) -> Vec<(u64, u32)> {
        let mut sent = Vec::new();
        while let Some(packet) = self.sender.poll_transmit(at(millis)) {
            let Body::Tcp(packet) = packet.body else {
                panic!("not TCP")
            };
            if packet.payload_len > 0 {
                let offset = u64::from(packet.seq.wrapping_sub(1));
                sent.push((offset, packet.payload_len));
            }
        }
        sent
    }

    fn expire(&mut self) -> u64 {
        let next = self.sender.poll_timeout().expect("a timer");
        self.sender.handle_timeout(next);
        next.as_nanos() / 1_000_000
    }
}

#[test]
fn a_sender_waits_for_a_segment_or_half_of_the_largest_window() {
    // RFC 9293 §3.8.6.2.1, rules 1 to 3 with Fs = 1/2: window, octets written, segments.
    let table: [(u16, u32, Segments); 7] = [
        (3000, 9000, &[(0, 1000), (1000, 1000), (2000, 1000)]),
        // 500 are left, less than half of 2500.
        (2500, 9000, &[(0, 1000), (1000, 1000)]),
        // 500 are left, a third of 1500.
        (1500, 9000, &[(0, 1000)]),
        // All that was written fits: rule 2.
        (1500, 1300, &[(0, 1000), (1000, 300)]),
        // Rule 3: less than a segment, and the whole of the largest window.
        (900, 9000, &[(0, 900)]),
        (1, 9000, &[(0, 1)]),
        (0, 9000, &[]),
    ];
    for (window, written, expected) in table {
        let mut held = Held::open("linux", window);
        held.write(100, written);
        assert_eq!(held.sent(100), expected, "window {window}");
    }
}

#[test]
fn what_the_receivers_window_lets_out_is_in_flight_when_it_binds() {
    let mut held = Held::open("linux", 3000);
    held.write(100, 1000);
    held.sent(100);
    held.ack(200, 1000, 3000);
    let watched = EventMask::CONTROLLER.union(EventMask::BOUND);
    held.sender.events.set_mask(watched);
    held.sent(200);
    held.sender.events.drain().for_each(drop);
    // The application continues half a second later.
    held.write(700, 9000);
    assert_eq!(held.sent(700).len(), 3);
    let events: Vec<_> = held.sender.events.drain().collect();
    let [(_, Event::Window(window)), (since, Event::Blocked(bound))] = events[..] else {
        panic!("{events:?}");
    };
    assert_eq!((since, bound), (at(700), SndLim::ReceiverCredit));
    assert_eq!(window.bytes_in_flight, 3000);
}

#[test]
fn half_of_the_largest_window_is_enough_once_it_was_seen() {
    let mut held = Held::open("linux", 1800);
    held.write(100, 9000);
    assert_eq!(held.sent(100), [(0, 1000)]);
    held.ack(200, 1000, 899);
    assert_eq!(held.sent(200), [], "899 * 2 < 1800");
    held.ack(201, 1000, 900);
    assert_eq!(held.sent(201), [(1000, 900)]);
}

#[test]
fn a_small_window_is_used_after_the_override_timeout() {
    // §3.8.6.2.1, rule 4: 0.1 to 1.0 s. The RTO is 100 + max(4 * 37.5, 200) = 300 ms with `linux`
    // and its minimum of a second with `rfc`.
    for (rules, timeout) in [("linux", 300), ("rfc", 1000)] {
        let mut held = Held::open(rules, 2000);
        held.write(100, 9000);
        assert_eq!(held.sent(100), [(0, 1000), (1000, 1000)]);
        held.ack(200, 2000, 400);
        assert_eq!(held.sent(200), [], "{rules}");
        assert_eq!(held.expire(), 200 + timeout, "{rules}");
        assert_eq!(held.sent(200 + timeout), [(2000, 400)], "{rules}");
        // The acknowledgement moves the window forward; it is still small.
        held.ack(300 + timeout, 2400, 400);
        assert_eq!(held.sent(300 + timeout), []);
        assert_eq!(held.expire(), 300 + 2 * timeout, "{rules}");
        assert_eq!(held.sent(300 + 2 * timeout), [(2400, 400)]);
        assert_eq!(held.sender.statistics().timeouts, 0, "{rules}");
    }
}

#[test]
fn a_closed_window_is_probed_after_the_rto_and_then_ever_more_rarely() {
    // §3.8.6.1: first after an RTO (300 ms), then with exponential back-off, always one octet.
    let mut held = Held::open("linux", 1000);
    held.sender.events.set_mask(EventMask::TIMEOUT);
    held.write(100, 9000);
    assert_eq!(held.sent(100), [(0, 1000)]);
    held.ack(200, 1000, 0);
    assert_eq!(held.sent(200), []);
    let mut due = 200;
    for (backoff, after) in (0..).zip([300, 600, 1200, 2400, 4800]) {
        due += after;
        assert_eq!(held.expire(), due);
        assert_eq!(held.sent(due), [(1000, 1)]);
        let probe = Event::WindowProbe { backoff };
        let events: Vec<_> = held.sender.events.drain().collect();
        assert_eq!(events, [(at(due), probe)], "no timeout, and no loss");
        held.ack(due + 100, 1000, 0);
        assert_eq!(held.sent(due + 100), [], "an answer is no reason to send");
    }
    assert_eq!(held.sender.statistics().timeouts, 0);
    assert_eq!(held.sender.statistics().packets_retransmitted, 4);
    // The window opens: the probe's octet was not accepted and is sent again with the rest.
    held.ack(due + 200, 1000, 1000);
    assert_eq!(held.sent(due + 200), [(1000, 1000)]);
    // Closed again: the back-off starts again.
    held.ack(due + 300, 2000, 0);
    held.sent(due + 300);
    assert_eq!(held.expire(), due + 600);
}

#[test]
fn a_probe_whose_octet_is_taken_moves_the_window_on() {
    let mut held = Held::open("linux", 1000);
    held.write(100, 2500);
    held.sent(100);
    held.ack(200, 1000, 0);
    held.sent(200);
    let due = held.expire();
    assert_eq!(held.sent(due), [(1000, 1)]);
    let smoothed = held.sender.statistics().smoothed_rtt;
    held.ack(due + 7, 1001, 1000);
    assert_eq!(held.sent(due + 7), [(1001, 1000)]);
    assert_eq!(
        held.sender.statistics().smoothed_rtt,
        smoothed,
        "no sample: the octet may have been an older probe's"
    );
    held.ack(due + 100, 2001, 1000);
    assert_eq!(held.sent(due + 100), [(2001, 499)], "2500 in all");
}

#[test]
fn a_connection_lives_as_long_as_probes_are_answered() {
    // MUST-37: open as long as acknowledgements come; R2 ends a connection whose peer is silent.
    for answered in [true, false] {
        let mut held = Held::open("linux", 1000);
        held.write(100, 9000);
        held.sent(100);
        held.ack(200, 1000, 0);
        held.sent(200);
        for _ in 0..40 {
            if held.sender.poll_timeout().is_none() {
                break;
            }
            let due = held.expire();
            held.sent(due);
            if answered {
                held.ack(due + 1, 1000, 0);
                held.sent(due + 1);
            }
        }
        let ended = std::iter::from_fn(|| held.sender.poll_event())
            .any(|event| event == EndpointEvent::Closed(CloseReason::TimedOut));
        assert_eq!(ended, !answered);
    }
}

#[test]
fn fifteen_probes_without_an_answer_end_a_connection() {
    // R2 of RFC 9293 §3.8.3 is MAX_EXPIRIES, counted from the last response on.
    let mut held = Held::open("linux", 1000);
    held.write(100, 1001);
    held.sent(100);
    held.ack(200, 1000, 0);
    assert_eq!(held.sent(200), []);
    let mut probes = 0;
    while held.sender.state == State::Established {
        let due = held.expire();
        while let Some(packet) = held.sender.poll_transmit(at(due)) {
            let Body::Tcp(probe) = packet.body else {
                panic!("not TCP")
            };
            assert_eq!((probe.flags, probe.payload_len), (flag::ACK, 1));
            probes += 1;
        }
        if probes == 1 {
            held.ack(due + 1, 1000, 0);
        }
    }
    assert_eq!(probes, 16);
}

#[test]
fn the_persist_timer_follows_the_window() {
    let mut held = Held::open("linux", 1000);
    held.write(100, 9000);
    held.sent(100);
    held.ack(200, 1000, 0);
    held.sent(200);
    // The RTO, 300 ms, then twice that.
    assert_eq!(held.expire(), 500);
    held.sent(500);
    assert_eq!(held.expire(), 1100);
    held.sent(1100);
    // A small window and a closed one: the back-off begins again.
    held.ack(1150, 1000, 100);
    assert_eq!(held.sent(1150), []);
    held.ack(1160, 1000, 0);
    assert_eq!(held.sent(1160), []);
    assert_eq!(held.sender.poll_timeout(), Some(at(1460)));
    // An open one: the timer is that of the segments, a probe after two round trips.
    held.ack(1200, 1000, 5000);
    assert_eq!(held.sent(1200).len(), 5);
    assert_eq!(held.sender.poll_timeout(), Some(at(1400)));
}

#[test]
fn a_late_acknowledgement_does_not_take_the_window_back() {
    // §3.10.7.4: SND.WL2.
    let mut held = Held::open("linux", 2000);
    held.write(100, 9000);
    held.sent(100);
    held.ack(200, 2000, 2000);
    held.ack(201, 1000, 0);
    assert_eq!(held.sent(201), [(2000, 1000), (3000, 1000)]);
}

/// A receiver with a buffer of 1500 octets, open at 0 ms.
fn receiver() -> Connection {
    let config = Config {
        segment_size: MSS as u32,
        receive_buffer: 1500,
        ..Config::default()
    };
    let mut receiver = Connection::server(config, controller(&config, "newreno"));
    let syn = SynOptions {
        mss: MSS as u16,
        window_scale: 0,
        sack_permitted: true,
    };
    let syn = TcpPacket {
        seq: 0,
        flags: flag::SYN,
        syn: Some(syn),
        ..segment(0, &[])
    };
    receiver.handle(at(0), &mut packet(syn));
    assert!(receiver.poll_transmit(at(0)).is_some(), "a SYN-ACK");
    receiver.handle(at(0), &mut packet(segment(0, &[])));
    receiver
}

/// Acknowledged octets and window of the acknowledgement that leaves now, if any.
fn answer(receiver: &mut Connection, millis: u64) -> Option<(u32, u16)> {
    let Body::Tcp(packet) = receiver.poll_transmit(at(millis))?.body else {
        panic!("not TCP")
    };
    Some((packet.ack.wrapping_sub(1), packet.window))
}

fn data(offset: u64, octets: u32) -> Packet {
    packet(TcpPacket {
        seq: wrap(0, offset),
        payload_len: octets,
        ..segment(0, &[])
    })
}

#[test]
fn a_receiver_closes_its_window_answers_probes_and_reports_its_opening() {
    let mut receiver = receiver();
    receiver.handle(at(10), &mut data(0, 1000));
    receiver.handle(at(10), &mut data(1000, 500));
    // Nothing is read: 1500 octets fill the buffer.
    assert_eq!(answer(&mut receiver, 10), Some((1500, 0)));
    receiver.handle(at(20), &mut data(1500, 1));
    assert_eq!(answer(&mut receiver, 20), Some((1500, 0)), "a probe");
    assert_eq!(receiver.statistics().payload_received, 1500, "not taken");
    assert_eq!(receiver.read(at(30)).map(|data| data.len()), Some(1500));
    // 1500 are free, at least half of the buffer.
    assert_eq!(answer(&mut receiver, 30), Some((1500, 1500)));
    receiver.handle(at(40), &mut data(1500, 1));
    assert_eq!(receiver.statistics().payload_received, 1501);
}
