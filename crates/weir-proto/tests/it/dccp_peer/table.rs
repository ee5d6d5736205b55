//! Every packet type in every state, with valid and invalid numbers, against a table that was
//! written from RFC 4340 §8.5 and §7.5.4.
//!
//! A cell is the next state and the answer. Acks are sent by the CCID and only compared where §8.5
//! requires one.

use super::{config, drain, envelope, packet_of};
use weir_proto::dccp::wire::{PacketType, SeqNum};
use weir_proto::dccp::{Config, Connection};
use weir_proto::endpoint::Endpoint;
use weir_proto::time::{Duration, Instant};

/// The result of a packet with valid numbers, in the order of their numbers.
#[rustfmt::skip]
const VALID: [(&str, [&str; 10]); 10] = [
    ("CLOSED", ["CLOSED Reset3", "CLOSED Reset3", "CLOSED Reset3", "CLOSED Reset3", "CLOSED Reset3",
        "CLOSED Reset3", "CLOSED Reset3", "CLOSED", "CLOSED Reset3", "CLOSED Reset3"]),
    ("LISTEN", ["RESPOND Response", "LISTEN Reset3", "LISTEN Reset3", "LISTEN Reset3", "LISTEN Reset3",
        "LISTEN Reset3", "LISTEN Reset3", "LISTEN", "LISTEN Reset3", "LISTEN Reset3"]),
    ("REQUEST", ["REQUEST Reset4", "PARTOPEN Ack", "REQUEST Reset4", "REQUEST Reset4", "REQUEST Reset4",
        "REQUEST Reset4", "REQUEST Reset4", "TIMEWAIT", "REQUEST Reset4", "REQUEST Reset4"]),
    ("RESPOND", ["RESPOND Response", "RESPOND Sync", "RESPOND Sync", "OPEN", "OPEN",
        "RESPOND Sync", "CLOSED Reset1", "TIMEWAIT", "OPEN SyncAck", "OPEN"]),
    ("PARTOPEN", ["PARTOPEN Sync", "PARTOPEN Ack", "OPEN", "OPEN", "OPEN",
        "CLOSING Close", "CLOSED Reset1", "TIMEWAIT", "PARTOPEN SyncAck", "OPEN"]),
    ("OPEN client", ["OPEN Sync", "OPEN Sync", "OPEN", "OPEN", "OPEN",
        "CLOSING Close", "CLOSED Reset1", "TIMEWAIT", "OPEN SyncAck", "OPEN"]),
    ("OPEN server", ["OPEN Sync", "OPEN Sync", "OPEN", "OPEN", "OPEN",
        "OPEN Sync", "CLOSED Reset1", "TIMEWAIT", "OPEN SyncAck", "OPEN"]),
    ("CLOSEREQ", ["CLOSEREQ Sync", "CLOSEREQ Sync", "CLOSEREQ", "CLOSEREQ", "CLOSEREQ",
        "CLOSEREQ Sync", "CLOSED Reset1", "TIMEWAIT", "CLOSEREQ SyncAck", "CLOSEREQ"]),
    ("CLOSING", ["CLOSING Sync", "CLOSING Sync", "CLOSING", "CLOSING", "CLOSING",
        "CLOSING", "CLOSED Reset1", "TIMEWAIT", "CLOSING SyncAck", "CLOSING"]),
    ("TIMEWAIT", ["TIMEWAIT Reset3", "TIMEWAIT Reset3", "TIMEWAIT Reset3", "TIMEWAIT Reset3", "TIMEWAIT Reset3",
        "TIMEWAIT Reset3", "TIMEWAIT Reset3", "TIMEWAIT", "TIMEWAIT Reset3", "TIMEWAIT Reset3"]),
];

#[derive(Clone, Copy, Debug, PartialEq)]
enum Numbers {
    Valid,
    SeqTooLow,
    SeqTooHigh,
    AckBad,
}

/// One end in a state, with the numbers of its peer.
struct Scene {
    now: Instant,
    end: Connection,
    gss: SeqNum,
    gsr: SeqNum,
}

impl Scene {
    fn new(server: bool) -> Self {
        let config = Config {
            initial_sequence: 1000,
            ..config()
        };
        Self {
            now: Instant::from_nanos(1_000_000_000),
            end: if server {
                Connection::server(config)
            } else {
                Connection::client(config)
            },
            gss: SeqNum::new(999),
            gsr: SeqNum::new(4999),
        }
    }

    /// The end receives a packet; returns its answers.
    fn receive(&mut self, kind: PacketType, seq: SeqNum, ack: SeqNum) -> Vec<String> {
        self.end
            .handle(self.now, &mut envelope(packet_of(kind, seq, ack)));
        self.answers()
    }

    fn next(&mut self, kind: PacketType) {
        self.gsr = self.gsr.next();
        self.receive(kind, self.gsr, self.gss);
    }

    fn answers(&mut self) -> Vec<String> {
        let sent = drain(&mut self.end, self.now);
        sent.iter()
            .map(|packet| {
                if packet.seq.is_after(self.gss) {
                    self.gss = packet.seq;
                }
                let code = packet
                    .reset_code()
                    .map_or(String::new(), |code| code.to_string());
                format!("{}{code}", packet.kind.name())
            })
            .collect()
    }

    fn in_state(name: &str) -> Self {
        let server = matches!(name, "LISTEN" | "RESPOND" | "OPEN server" | "CLOSEREQ");
        let mut scene = Self::new(server);
        if server && name != "LISTEN" {
            scene.next(PacketType::Request);
            if name != "RESPOND" {
                scene.next(PacketType::Ack);
            }
        }
        if !server && name != "CLOSED" {
            scene.end.connect(scene.now);
            scene.answers();
            if name != "REQUEST" {
                scene.next(PacketType::Response);
            }
            if !matches!(name, "REQUEST" | "PARTOPEN") {
                scene.next(PacketType::Ack);
            }
        }
        match name {
            "CLOSING" | "CLOSEREQ" => scene.end.close(scene.now),
            "TIMEWAIT" => scene.next(PacketType::Reset),
            _ => {}
        }
        scene.answers();
        let state = name.split(' ').next().unwrap();
        assert_eq!(scene.end.state().name(), state, "the way to {name}");
        // The rate limits of Syncs and Resets do not depend on how the state was reached.
        scene.now += Duration::from_millis(150);
        scene.answers();
        scene
    }
}

/// The expected cell; steps 2 to 6 of RFC 4340 §8.5 determine the result of invalid numbers.
fn expected(state: &str, valid: &str, kind: PacketType, numbers: Numbers) -> String {
    use PacketType::{Reset, Response, Sync, SyncAck};
    let name = state.split(' ').next().unwrap();
    let sync = matches!(kind, Sync | SyncAck);
    match (name, numbers) {
        // Step 4: an acknowledgement number that was not sent; no Reset answers a Reset.
        ("REQUEST", Numbers::AckBad) if kind == Response => "REQUEST Reset4".to_owned(),
        ("REQUEST", Numbers::AckBad) if kind == Reset => "REQUEST".to_owned(),
        // Steps 2 to 4: there are no numbers to compare with.
        ("CLOSED" | "LISTEN" | "TIMEWAIT" | "REQUEST", _) => valid.to_owned(),
        // Step 5: a Sync with a number far ahead is valid and resynchronises.
        (_, Numbers::SeqTooLow | Numbers::AckBad) if sync => name.to_owned(),
        (_, Numbers::SeqTooLow) => format!("{name} Sync"),
        (_, Numbers::SeqTooHigh) if !sync => format!("{name} Sync"),
        (_, Numbers::AckBad) if kind.has_ack() => format!("{name} Sync"),
        _ => valid.to_owned(),
    }
}

#[test]
fn every_type_in_every_state_follows_section_8_5() {
    let mut wrong = Vec::new();
    for (state, row) in VALID {
        for (kind, valid) in PacketType::ALL.into_iter().zip(row) {
            for numbers in [
                Numbers::Valid,
                Numbers::SeqTooLow,
                Numbers::SeqTooHigh,
                Numbers::AckBad,
            ] {
                let mut scene = Scene::in_state(state);
                let seq = match numbers {
                    Numbers::SeqTooLow => scene.gsr.sub(200),
                    Numbers::SeqTooHigh => scene.gsr.add(200),
                    _ => scene.gsr.next(),
                };
                let ack = if numbers == Numbers::AckBad {
                    scene.gss.add(1000)
                } else {
                    scene.gss
                };
                let mut answers = scene.receive(kind, seq, ack);
                if kind != PacketType::Response {
                    answers.retain(|answer| answer != "Ack");
                }
                answers.insert(0, scene.end.state().name().to_owned());
                let (found, wanted) = (answers.join(" "), expected(state, valid, kind, numbers));
                if found != wanted {
                    wrong.push(format!(
                        "{state} {kind:?} {numbers:?}: {found}, not {wanted}"
                    ));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_duplicate_response_delivers_no_data_twice() {
    let mut scene = Scene::in_state("REQUEST");
    let mut response = packet_of(PacketType::Response, SeqNum::new(5000), scene.gss);
    response.payload = weir_proto::packet::Payload::of_len(7);
    for _ in 0..3 {
        scene.end.handle(scene.now, &mut envelope(response.clone()));
    }
    let mut pieces = 0;
    while scene.end.read(scene.now).is_some() {
        pieces += 1;
    }
    assert!(pieces <= 1, "{pieces}");
}

#[test]
fn a_reset_with_the_first_number_does_not_end_an_open_connection() {
    for state in ["OPEN client", "OPEN server"] {
        let mut scene = Scene::in_state(state);
        let answers = scene.receive(PacketType::Reset, SeqNum::new(5000), SeqNum::new(77));
        assert_eq!(answers, ["Sync"]);
        assert_eq!(scene.end.state().name(), "OPEN");
    }
}

#[test]
fn short_numbers_without_agreement_are_ignored() {
    let mut scene = Scene::in_state("OPEN server");
    let mut packet = packet_of(PacketType::DataAck, scene.gsr.next(), scene.gss);
    packet.extended = false;
    packet.payload = weir_proto::packet::Payload::of_len(7);
    scene.end.handle(scene.now, &mut envelope(packet));
    assert!(scene.end.read(scene.now).is_none());
    assert!(scene.answers().is_empty());
}
