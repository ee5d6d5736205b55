//! Whole conversations, packet by packet, against RFC 4340 and the CCIDs' RFCs.

use super::tests::{Carry, Path, at, config, dccp};
use super::*;
use crate::cc::recorder::Recorder;
use crate::cc::window::{ControllerEntry, WindowConfig};
use crate::dccp::ccid2::ControllerChoice;
use crate::dccp::wire::Subheader;
use crate::packet::Ecn;
use std::cell::RefCell;
use std::rc::Rc;

/// 10 ms from one end to the other.
const DELAY: Duration = Duration::from_millis(10);

/// `client Data 1002 ccval 5, 500`: sender, type, numbers, options and octets of data.
fn line(from: usize, packet: &Packet) -> String {
    let body = dccp(packet);
    let ack = match body.subheader {
        Subheader::Ack(ack) | Subheader::AckService(ack, _) => format!(" ack {}", ack.get()),
        Subheader::Reset(ack, code, data) => format!(" ack {} code {code} {data:?}", ack.get()),
        Subheader::None | Subheader::Service(_) => String::new(),
    };
    let options = body.options.iter().map(|option| format!(", {option}"));
    let ecn = match packet.ip.ecn {
        Ecn::NotEct => String::new(),
        ecn => format!(" {ecn:?}"),
    };
    format!(
        "{} {:?} {}{ack} ccval {}{ecn}, {} of {}{}",
        ["client", "server"][from],
        body.kind,
        body.seq.get(),
        body.ccval,
        body.payload.len(),
        packet.size,
        options.collect::<String>(),
    )
}

/// The faults of the path, and the packets that it has carried.
#[derive(Default)]
struct Wire {
    /// The packets with these numbers, counted over both ends, are lost.
    lost: Vec<usize>,
    sent: usize,
    /// The next packet that is ECN-capable gets Congestion Experienced.
    mark_next: bool,
    /// The packets that left, with their times in milliseconds.
    lines: Vec<String>,
}

impl Wire {
    fn carry(&mut self, from: usize, now: Instant, packet: &mut Packet) -> bool {
        if packet.ip.ecn != Ecn::NotEct && std::mem::take(&mut self.mark_next) {
            packet.ip.ecn = Ecn::Ce;
        }
        let is_lost = self.lost.contains(&self.sent);
        self.sent += 1;
        let end = if is_lost { ", lost" } else { "" };
        let time = now.as_nanos() as f64 / 1e6;
        self.lines
            .push(format!("{time} {}{end}", line(from, packet)));
        !is_lost
    }
}

/// A client (0) and a server (1), and the path between them.
struct Conversation {
    path: Path,
    wire: Rc<RefCell<Wire>>,
}

impl Conversation {
    fn new(config: &Config, lost: &[usize]) -> Self {
        let server = Config {
            initial_sequence: 5000,
            ..config.clone()
        };
        let mut ends = [
            Connection::client(config.clone()),
            Connection::server(server),
        ];
        let mask = EventMask::BOUND.union(EventMask::FEEDBACK);
        for end in &mut ends {
            let events = end.events().expect("a connection has events");
            events.set_mask(mask.union(EventMask::TIMEOUT));
        }
        let wire = Rc::new(RefCell::new(Wire {
            lost: lost.to_vec(),
            ..Wire::default()
        }));
        let carries = Rc::clone(&wire);
        let carry: Carry =
            Box::new(move |from, now, packet| carries.borrow_mut().carry(from, now, packet));
        Self {
            path: Path::between(ends, DELAY, carry),
            wire,
        }
    }

    /// The path loses those of the next packets whose indices, from 0 on, are in `next`.
    fn lose(&self, next: impl IntoIterator<Item = usize>) {
        let mut wire = self.wire.borrow_mut();
        wire.lost = next.into_iter().map(|number| wire.sent + number).collect();
    }

    fn statistics(&self) -> [String; 2] {
        self.path
            .ends
            .each_ref()
            .map(|end| format!("{:?}", end.statistics()))
    }

    /// The events that the endpoints have reported since the last call.
    fn reports(&mut self) -> Vec<String> {
        let mut lines = Vec::new();
        for (end, name) in self.path.ends.iter_mut().zip(["client", "server"]) {
            for (at, event) in end.events.drain() {
                lines.push(format!("{} {name} {event:?}", at.as_nanos() as f64 / 1e6));
            }
        }
        lines
    }

    /// Runs to this time in milliseconds; returns the packets that left, with their times.
    fn run(&mut self, until: u64) -> Vec<String> {
        self.path.run_until(at(until));
        std::mem::take(&mut self.wire.borrow_mut().lines)
    }

    fn write(&mut self, from: usize, octets: u32) {
        let written = self.path.ends[from].write(self.path.now, Payload::of_len(octets));
        assert_eq!(written, Ok(()));
    }
}

/// Compares with a listing, whose lines that begin with `#` are comments.
fn check(found: &[String], listing: &str) {
    let lines = listing.lines().map(str::trim);
    let expected: Vec<&str> = lines
        .filter(|line| !line.starts_with('#') && !line.is_empty())
        .collect();
    let found: Vec<&str> = found.iter().map(String::as_str).collect();
    assert_eq!(found, expected, "found:\n{}", found.join("\n"));
}

fn tfrc() -> Ccid {
    Ccid::Tfrc(Box::new(Profile::rfc5348()))
}

fn both(ccid: &Ccid, changes: impl FnOnce(&mut Config)) -> Config {
    config(|config| {
        config.send_ccid = ccid.clone();
        config.receive_ccid = ccid.clone();
        changes(config);
    })
}

/// Datagrams of 500 octets, one every `every` milliseconds from 200 ms on.
fn stream(talk: &mut Conversation, datagrams: u64, every: u64) -> Vec<String> {
    let mut lines = talk.run(200);
    for number in 1..=datagrams {
        talk.write(0, 500);
        lines.extend(talk.run(200 + every * number));
    }
    lines
}

#[test]
fn ccid_3_reports_a_loss_after_three_more_packets() {
    let mut talk = Conversation::new(&both(&tfrc(), |_| {}), &[7]);
    let mut lines = stream(&mut talk, 8, 40);
    lines.extend(talk.run(1000));
    talk.path.ends[0].close(talk.path.now);
    lines.extend(talk.run(1500));
    lines.extend(talk.statistics());
    lines.extend(talk.reports());
    check(&lines, include_str!("conversations/ccid3.txt"));
    assert_eq!(talk.path.states(), [State::TimeWait, State::Closed]);
}

#[test]
fn requests_and_closes_are_repeated() {
    let mut talk = Conversation::new(&both(&tfrc(), |_| {}), &[0, 2]);
    let mut lines = talk.run(4000);
    talk.path.ends[1].close(talk.path.now);
    talk.lose([0, 2]);
    lines.extend(talk.run(20_000));
    lines.extend(talk.statistics());
    lines.extend(talk.reports());
    check(&lines, include_str!("conversations/repeats.txt"));
}

#[test]
fn ccid_2_loses_an_acknowledgement_and_data_and_waits_for_its_timeout() {
    let mut talk = Conversation::new(&both(&Ccid::TcpLike, |_| {}), &[4, 9]);
    let mut lines = stream(&mut talk, 12, 15);
    lines.extend(talk.run(1000));
    talk.lose(0..4);
    talk.write(0, 500);
    talk.write(0, 500);
    lines.extend(talk.run(4000));
    talk.write(0, 500);
    lines.extend(talk.run(5000));
    lines.extend(talk.statistics());
    lines.extend(talk.reports());
    check(&lines, include_str!("conversations/ccid2.txt"));
}

thread_local! {
    static RECORDER: Recorder = Recorder::of_window(4 * 536);
}

/// A window of four packets that logs the calls to it.
static SCRIPTED: ControllerEntry = ControllerEntry {
    name: "scripted",
    doc: "A window of four packets",
    rules: &[],
    make: |_| Box::new(RECORDER.with(Recorder::clone)),
};

#[test]
fn a_window_controller_gets_the_events_of_ccid_2() {
    let choice = ControllerChoice {
        entry: &SCRIPTED,
        config: WindowConfig::default(),
    };
    let ccid = Ccid::TcpLikeWith(Box::new(choice));
    let config = both(&ccid, |config| {
        config.ecn = true;
        config.mtu = 556;
    });
    let mut talk = Conversation::new(&config, &[8]);
    let mut lines = stream(&mut talk, 12, 15);
    lines.extend(talk.run(1000));
    talk.wire.borrow_mut().mark_next = true;
    talk.write(0, 500);
    talk.write(0, 500);
    lines.extend(talk.run(1200));
    talk.lose(0..4);
    for _ in 0..5 {
        talk.write(0, 500);
    }
    lines.extend(talk.run(4000));
    lines.extend(talk.statistics());
    lines.extend(RECORDER.with(Recorder::take_calls));
    check(&lines, include_str!("conversations/controller.txt"));
}

#[test]
fn ecn_nonces_and_checksums_of_data_are_carried() {
    let config = both(&tfrc(), |config| {
        config.ecn = true;
        config.ecn_nonces = true;
        config.data_checksum = true;
    });
    let mut talk = Conversation::new(&config, &[]);
    let lines = stream(&mut talk, 4, 40);
    check(&lines, include_str!("conversations/ecn.txt"));
}

#[test]
fn numbers_out_of_the_window_are_answered_with_a_sync() {
    let config = both(&Ccid::TcpLike, |config| config.sequence_window = 100);
    let mut talk = Conversation::new(&config, &[]);
    let mut lines = stream(&mut talk, 2, 40);
    let mut inject = |talk: &mut Conversation, to: usize, packet: wire::Packet| {
        let size = 20 + packet.wire_len();
        let mut packet = Packet::new(size, crate::packet::Body::Dccp(packet));
        talk.path.ends[to].handle(talk.path.now, &mut packet);
        let until = talk.path.now.as_nanos() / 1_000_000 + 300;
        lines.extend(talk.run(until));
    };
    let seq = |number| SeqNum::new(number);
    let data = |number| wire::Packet::data(seq(number), Payload::of_len(10));
    inject(&mut talk, 1, data(2000));
    inject(&mut talk, 1, wire::Packet::new_ack(seq(1100), seq(9000)));
    inject(&mut talk, 0, wire::Packet::sync(seq(5500), seq(1003)));
    inject(
        &mut talk,
        0,
        wire::Packet::reset(seq(5800), seq(1), 2, [0; 3]),
    );
    inject(
        &mut talk,
        0,
        wire::Packet::reset(seq(5501), seq(1006), 2, [0; 3]),
    );
    lines.extend(talk.statistics());
    lines.push(format!("{:?}", talk.path.states()));
    check(&lines, include_str!("conversations/sync.txt"));
}

#[test]
fn ccid_4_reports_the_packets_lost_in_each_loss_interval() {
    let ccid = Ccid::TfrcSmallPackets(Box::new(Profile::rfc5348()));
    let mut talk = Conversation::new(&both(&ccid, |_| {}), &[7, 10]);
    let mut lines = stream(&mut talk, 10, 40);
    lines.extend(talk.run(1000));
    check(&lines, include_str!("conversations/ccid4.txt"));
    assert_eq!(talk.path.ends[1].statistics().packets_lost, 2);
}

#[test]
fn the_round_trip_time_of_the_sender_is_an_option_of_its_packets() {
    let tells_rtt = Profile {
        rtt_option: RttOption::Send,
        ..Profile::rfc5348()
    };
    let ccid = Ccid::Tfrc(Box::new(tells_rtt));
    let mut talk = Conversation::new(&both(&ccid, |_| {}), &[]);
    let mut lines = stream(&mut talk, 3, 40);
    lines.extend(talk.reports());
    check(&lines, include_str!("conversations/rtt.txt"));
}

#[test]
fn an_acknowledgement_has_room_in_the_largest_packet() {
    // 1500 less 20 of IP, and 56 of a header with an acknowledgement and its options; Data Checksum
    // and Data Dropped have 6 and 14 octets.
    for (checksum, most) in [(false, 1500 - 20 - 56), (true, 1500 - 20 - 56 - 20)] {
        let client = Connection::client(config(|config| config.data_checksum = checksum));
        assert_eq!(client.max_payload_with_ack(), most);
    }
}

#[test]
fn a_request_asks_for_what_a_peer_can_keep() {
    // RFC 4340 §7.5.2: 32 to 2^46 - 1; §11.3: an Ack Ratio of zero is invalid.
    let request = |changes: &dyn Fn(&mut Config)| {
        let mut client = Connection::client(config(|config| changes(config)));
        client.connect(Instant::ZERO);
        let packet = client.poll_transmit(Instant::ZERO).expect("a Request");
        line(0, &packet)
    };
    for (window, asked) in [
        (31, "Change L (Sequence Window 32)"),
        (33, "Change L (Sequence Window 33)"),
        (1 << 46, "Change L (Sequence Window 70368744177663)"),
    ] {
        let found = request(&|config| config.sequence_window = window);
        assert!(found.contains(asked), "{found}");
    }
    for (ratio, asked) in [(0, "Change L (Ack Ratio 1)"), (3, "Change L (Ack Ratio 3)")] {
        let found = request(&|config| config.ack_ratio = ratio);
        assert!(found.contains(asked), "{found}");
    }
}

#[test]
fn loss_events_before_a_time_do_not_count() {
    for (from, counted) in [(0, 1), (1, 0)] {
        let mut talk = Conversation::new(&both(&tfrc(), |_| {}), &[7]);
        stream(&mut talk, 4, 40);
        if from > 0 {
            // No loss event before the next packet counts.
            let first = CountedFrom {
                at: talk.path.now,
                packets_sent: 10_000,
            };
            talk.path.ends[1].count_loss_events_from(first);
        }
        for _ in 0..6 {
            talk.write(0, 500);
            talk.run(talk.path.now.as_nanos() / 1_000_000 + 40);
        }
        assert_eq!(talk.path.ends[1].statistics().loss_events, counted);
    }
}

#[test]
fn each_half_has_the_rules_of_its_own_direction() {
    // Linux reports a loss event rate, and RFC 5348 its intervals too (RFC 4342 §8.5).
    let linux = Ccid::Tfrc(Box::new(Profile::linux_mainline()));
    for (receive, intervals) in [(tfrc(), true), (linux, false)] {
        let config = config(|config| {
            config.send_ccid = tfrc();
            config.receive_ccid = receive;
        });
        let mut talk = Conversation::new(&config, &[]);
        let lines = stream(&mut talk, 1, 40);
        let feedback = lines.last().expect("feedback");
        assert!(feedback.contains("Loss Event Rate none"), "{feedback}");
        assert_eq!(feedback.contains("Loss Intervals"), intervals, "{feedback}");
    }
}

#[test]
fn a_second_timeout_repeats_the_first() {
    let choice = ControllerChoice {
        entry: &SCRIPTED,
        config: WindowConfig::default(),
    };
    let config = both(&Ccid::TcpLikeWith(Box::new(choice)), |_| {});
    let mut talk = Conversation::new(&config, &[]);
    talk.run(200);
    talk.lose(0..20);
    for _ in 0..5 {
        talk.write(0, 500);
    }
    talk.run(4000);
    let timeouts = RECORDER.with(|recorder| recorder.take_calls_of("timeout"));
    let repeated = timeouts.iter().map(|line| line.contains("repeated"));
    assert_eq!(repeated.take(2).collect::<Vec<_>>(), [false, true]);
}
