//! Pairs of connections, and single ones whose packets are written by hand.

use super::pair::{Pair, Side, periodic};
use super::*;
use crate::cc::window::{self, RateLimitedGrowth, Rules};
use crate::endpoint::EndpointEvent;
use crate::event::SndLim;
use crate::packet::Ecn;
use crate::quic::wire::{Ack, Frame, PacketNumberLen, StreamFrame};
use crate::quic::{AckPolicy, wire};
use crate::rng::Rng;
use proptest::prelude::*;

mod ack_frequency;
mod bursts;
mod datagrams;
mod delivery;
mod ecn;
mod edges;
mod handshake;
mod hostile;
mod media;
mod outage;
mod path;
mod recovery;
mod throughput;
mod transcripts;

fn millis(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

/// The published experiment: no flow control, unlimited data, packets of 1252 octets.
fn lossy_link(preset: &str, every: u32) -> Config {
    let mut config = Config::named(preset).unwrap();
    config.handshake = Handshake::Established;
    config.ack.every = every;
    config.flow_control.initial_max_data = 4_294_967_295;
    config.flow_control.initial_max_stream_data = 4_294_967_295;
    config.send_queue_limit = 50_000_000;
    config.low_water_ratio = 0.8;
    config
}

fn deliver(to: &mut Connection, frames: wire::Packet) -> Option<wire::Packet> {
    let size = frames.len(&to.config.header);
    let now = Instant::ZERO + millis(5);
    to.receive(now, &frames, size, Ecn::NotEct);
    match to.poll_transmit(now)?.body {
        Body::Quic(packet) => Some(packet),
        _ => None,
    }
}

fn data(number: u64, frame: Frame) -> wire::Packet {
    wire::Packet {
        number,
        number_len: 4,
        space: SpaceId::Data,
        frames: wire::Frames::one(frame),
    }
}

fn ack(smallest: u64, largest: u64) -> Frame {
    Frame::Ack(Ack {
        largest,
        smallest,
        delay: 0,
        older: None,
        rest: None,
    })
}

/// A client that has sent packets 0 to 9, its initial window.
fn client_with_a_window_sent(config: Config) -> Connection {
    let mut client = Connection::client(config);
    client.connect(Instant::ZERO);
    client
        .write(Instant::ZERO, Payload::of_len(100_000))
        .unwrap();
    let sent = std::iter::from_fn(|| client.poll_transmit(Instant::ZERO)).count();
    assert_eq!(sent, 10);
    client
}
