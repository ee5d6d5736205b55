//! Runs the scripts of `tests/scripts`: one end against a scripted peer.
//!
//! `+SECONDS` advances the clock, then one of: `connect`, `close`, `write OCTETS`, `nothing` (no
//! packet was sent), `> TYPE FIELD VALUE…` (the next packet that was sent, at this time), `< TYPE
//! FIELD VALUE…` (a packet of the peer arrives). `assert state == NAME` and `assert event NAME`
//! check, `client` or `server` begins. Fields: seq, ack, service, code, len. Sequence numbers of
//! the end begin with 0; fields that are not given are not compared.

use super::{config, drain, envelope, packet_of};
use std::collections::VecDeque;
use weir_proto::dccp::Connection;
use weir_proto::dccp::wire::{Packet, PacketType, SeqNum, Subheader};
use weir_proto::endpoint::Endpoint;
use weir_proto::packet::Payload;
use weir_proto::time::{Duration, Instant};

struct Stage {
    now: Instant,
    end: Connection,
    sent: VecDeque<(Instant, Packet)>,
    events: VecDeque<String>,
}

impl Stage {
    fn new(role: &str) -> Result<Self, String> {
        let end = match role {
            "client" => Connection::client(config()),
            "server" => Connection::server(config()),
            _ => return Err(format!("`{role}` is neither client nor server")),
        };
        Ok(Self {
            now: Instant::from_nanos(1_000_000_000),
            end,
            sent: VecDeque::new(),
            events: VecDeque::new(),
        })
    }

    fn settle(&mut self) {
        let now = self.now;
        let sent = drain(&mut self.end, now);
        self.sent
            .extend(sent.into_iter().map(|packet| (now, packet)));
        while let Some(event) = self.end.poll_event() {
            self.events.push_back(format!("{event:?}"));
        }
    }

    fn advance(&mut self, seconds: &str) -> Result<(), String> {
        let seconds: f64 = seconds.parse().map_err(|_| format!("no time: {seconds}"))?;
        let until = self.now + Duration::from_nanos((seconds * 1e9).round() as u64);
        while let Some(at) = self.end.poll_timeout().filter(|&at| at <= until) {
            self.now = at;
            self.end.handle_timeout(at);
            self.settle();
        }
        self.now = until;
        self.settle();
        Ok(())
    }

    fn act(&mut self, words: &[&str]) -> Result<(), String> {
        match words {
            ["connect"] => self.end.connect(self.now),
            ["close"] => self.end.close(self.now),
            ["write", octets] => {
                let octets = octets.parse().map_err(|_| "no length")?;
                self.end
                    .write(self.now, Payload::of_len(octets))
                    .map_err(|error| format!("{error:?}"))?;
            }
            ["nothing"] => {
                if let Some((_, packet)) = self.sent.front() {
                    return Err(format!("{:?} has left", packet.kind));
                }
            }
            ["<", kind, fields @ ..] => {
                let packet = packet_from(kind, fields)?;
                self.end.handle(self.now, &mut envelope(packet));
            }
            [">", kind, fields @ ..] => return self.expect(kind, fields),
            _ => return Err("not understood".to_owned()),
        }
        self.settle();
        Ok(())
    }

    fn expect(&mut self, kind: &str, fields: &[&str]) -> Result<(), String> {
        let (at, packet) = self.sent.pop_front().ok_or("nothing has left")?;
        let late = self.now.since(at);
        if late > Duration::from_millis(1) {
            return Err(format!("{:?} left {late:?} earlier", packet.kind));
        }
        if packet.kind.name() != kind {
            return Err(format!("{:?} has left", packet.kind));
        }
        for (name, wanted) in pairs(fields)? {
            let found = match name {
                "seq" => Some(packet.seq.get()),
                "ack" => packet.ack().map(SeqNum::get),
                "service" => packet.service_code().map(u64::from),
                "code" => packet.reset_code().map(u64::from),
                "len" => Some(u64::from(packet.payload.len())),
                _ => return Err(format!("no field {name}")),
            };
            if found != Some(wanted) {
                return Err(format!("{name} is {found:?}"));
            }
        }
        Ok(())
    }

    fn look(&mut self, words: &[&str]) -> Result<(), String> {
        let state = self.end.state().name();
        match words {
            ["state", "==", name] if *name == state => Ok(()),
            ["state", "==", _] => Err(format!("state is {state}")),
            ["event", name @ ..] => {
                let event = self.events.pop_front();
                (event.as_deref() == Some(&name.join(" ")))
                    .then_some(())
                    .ok_or(format!("event is {event:?}"))
            }
            _ => Err("not understood".to_owned()),
        }
    }
}

fn pairs<'a>(fields: &[&'a str]) -> Result<Vec<(&'a str, u64)>, String> {
    fields
        .chunks(2)
        .map(|pair| match pair {
            [name, value] => Ok((
                *name,
                value.parse().map_err(|_| format!("no number: {value}"))?,
            )),
            _ => Err("a field without a value".to_owned()),
        })
        .collect()
}

fn packet_from(kind: &str, fields: &[&str]) -> Result<Packet, String> {
    let kind = PacketType::ALL
        .into_iter()
        .find(|known| known.name() == kind)
        .ok_or_else(|| format!("no type {kind}"))?;
    let mut packet = packet_of(kind, SeqNum::new(0), SeqNum::new(0));
    for (name, value) in pairs(fields)? {
        match (name, &mut packet.subheader) {
            ("seq", _) => packet.seq = SeqNum::new(value),
            ("len", _) => packet.payload = Payload::of_len(value as u32),
            (
                "ack",
                Subheader::Ack(ack) | Subheader::AckService(ack, _) | Subheader::Reset(ack, ..),
            ) => *ack = SeqNum::new(value),
            ("service", Subheader::Service(code) | Subheader::AckService(_, code)) => {
                *code = value as u32;
            }
            ("code", Subheader::Reset(_, code, _)) => *code = value as u8,
            _ => return Err(format!("{kind:?} has no {name}")),
        }
    }
    Ok(packet)
}

fn play(text: &str) -> Result<(), String> {
    let mut stage = None;
    for (number, line) in text.lines().enumerate() {
        let line = line.split('#').next().unwrap_or_default();
        let words: Vec<&str> = line.split_whitespace().collect();
        let outcome = match (&mut stage, words.as_slice()) {
            (_, []) => Ok(()),
            (None, [role]) => Stage::new(role).map(|new| stage = Some(new)),
            (Some(stage), ["assert", rest @ ..]) => stage.look(rest),
            (Some(stage), [time, rest @ ..]) => stage.advance(time).and_then(|()| stage.act(rest)),
            _ => Err("not understood".to_owned()),
        };
        outcome.map_err(|error| format!("line {}: {error}: {line}", number + 1))?;
    }
    match stage.and_then(|mut stage| stage.sent.pop_front()) {
        Some((_, packet)) => Err(format!("{:?} left, unexpected", packet.kind)),
        None => Ok(()),
    }
}

#[test]
#[expect(clippy::disallowed_methods, reason = "the scripts are files")]
fn all_scripts_pass() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/scripts");
    let mut paths: Vec<_> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|ending| ending == "pkt"))
        .collect();
    paths.sort();
    assert!(paths.len() >= 8, "scripts are missing");
    for path in paths {
        let text = std::fs::read_to_string(&path).unwrap();
        if let Err(error) = play(&text) {
            panic!("{}: {error}", path.display());
        }
    }
}

#[test]
fn a_wrong_script_fails() {
    assert!(play("client\n+0 connect\n+0 > Request seq 1").is_err());
    assert!(play("client\n+0 connect").is_err());
    assert!(play("client\nassert state == OPEN").is_err());
    assert!(play("client\n+0 > Request").is_err());
}
