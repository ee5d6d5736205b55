//! Packets of a blind attacker that guesses sequence numbers (RFC 4340 §7.5.5).

use super::Pair;
use weir_proto::dccp::State;
use weir_proto::dccp::wire::{self, DccpOption, PacketType, SeqNum, Subheader};
use weir_proto::endpoint::Endpoint;
use weir_proto::packet::{Body, HostId, IpHeader, Packet, Payload};
use weir_proto::rng::Rng;
use weir_proto::time::Duration;

const PROBES: u64 = 100_000;
/// The Sequence Windows W and W' of both sides.
const WINDOW: u64 = 100;

fn envelope(body: wire::Packet) -> Packet {
    Packet {
        id: body.seq.get(),
        ip: IpHeader {
            source: HostId(9),
            ..IpHeader::default()
        },
        ..Packet::new(IpHeader::V4_OCTETS + body.wire_len(), Body::Dccp(body))
    }
}

/// A packet that would be harmful if its numbers were valid.
fn forged(kind: PacketType, seq: SeqNum, ack: SeqNum) -> wire::Packet {
    let mut packet = wire::Packet {
        kind,
        subheader: match kind {
            PacketType::Request => Subheader::Service(0),
            PacketType::Response => Subheader::AckService(ack, 0),
            PacketType::Data => Subheader::None,
            PacketType::Reset => Subheader::Reset(ack, 2, [0; 3]),
            _ => Subheader::Ack(ack),
        },
        ..wire::Packet::new_ack(seq, ack).with_ports(5001, 5001)
    };
    packet.options.push(&DccpOption::Mandatory);
    packet.options.push(&DccpOption::Other {
        kind: 99,
        data: &[],
    });
    if kind.carries_data() {
        packet.payload = Payload::of_len(666);
    }
    packet
}

fn open_pair(short: bool) -> Pair {
    let mut pair = Pair::new(|config| {
        config.sequence_window = WINDOW;
        config.short_sequence_numbers = short;
        config.initial_sequence = 0x1234_5678_9abc;
    });
    pair.ends[0].connect(pair.now);
    pair.to_write.extend([100; 20]);
    pair.run(Duration::from_secs(5));
    assert_eq!(pair.states(), [State::Open, State::Open]);
    pair
}

/// The packets that an end has accepted.
fn accepted(pair: &Pair, end: usize) -> u64 {
    pair.ends[end].statistics().packets_received
}

/// The packets that an end sends now, which are not delivered.
fn answers(pair: &mut Pair, end: usize) -> u64 {
    let now = pair.now;
    std::iter::from_fn(|| pair.ends[end].poll_transmit(now)).count() as u64
}

#[test]
fn guessed_numbers_of_48_bits_are_never_valid_and_cause_eight_syncs_a_second() {
    for end in 0..2 {
        for number in 0..10 {
            let kind = PacketType::try_from(number).expect("a type");
            let mut pair = open_pair(false);
            let mut rng = Rng::stream(u64::from(number), "blind");
            let mut guess = || SeqNum::new(rng.next_u64() >> 16);
            let (before, start) = (accepted(&pair, end), pair.now);
            answers(&mut pair, end);
            let mut said = 0;
            for _ in 0..PROBES {
                pair.now += Duration::from_micros(30);
                let mut packet = envelope(forged(kind, guess(), guess()));
                pair.ends[end].handle(pair.now, &mut packet);
                said += answers(&mut pair, end);
            }
            let seconds = pair.now.since(start).as_secs_f64();
            assert_eq!(accepted(&pair, end), before, "{kind:?}");
            assert_eq!(pair.ends[end].state(), State::Open, "{kind:?}");
            assert!(said as f64 <= 8.0 * seconds + 1.0, "{kind:?}: {said}");
            let sync = matches!(kind, PacketType::Sync | PacketType::SyncAck);
            assert_eq!(said == 0, sync, "{kind:?}: {said}");
            // Packets of the true peer are still accepted, and it answers the Syncs.
            let delivered = pair.delivered.len();
            pair.to_write.push_back(101);
            pair.run(Duration::from_secs(10));
            assert_eq!(pair.delivered[delivered..], [101], "{kind:?}");
        }
    }
}

/// Numbers of 24 bits can be guessed, with the probability of RFC 4340 §7.5.5, but then only data
/// is delivered.
#[test]
fn guessed_numbers_of_24_bits_are_valid_with_the_probability_of_the_rfc_and_only_deliver_data() {
    let mut pair = open_pair(true);
    // The client allows short numbers to the server, which prefers that its client sends long ones.
    let before = accepted(&pair, 0);
    // Ten are expected: W N / 2^24.
    let probes = (1 << 24) * 10 / WINDOW;
    let mut rng = Rng::stream(0, "blind");
    for _ in 0..probes {
        let seq = SeqNum::new(rng.next_u64() >> 40);
        let mut data = forged(PacketType::Data, seq, SeqNum::default());
        data.extended = false;
        pair.ends[0].handle(pair.now, &mut envelope(data));
        answers(&mut pair, 0);
    }
    let hits = accepted(&pair, 0) - before;
    assert!((4..=18).contains(&hits), "{hits} of {probes}");
    assert_eq!(pair.ends[0].state(), State::Open);
}

/// Without an agreement numbers of 24 bits are ignored (RFC 4340 §7.6.1).
#[test]
fn short_numbers_without_an_agreement_are_ignored_without_an_answer() {
    let mut pair = open_pair(false);
    let before = accepted(&pair, 1);
    answers(&mut pair, 1);
    let mut said = 0;
    for probe in 0..PROBES {
        let mut data = forged(
            PacketType::Data,
            SeqNum::new(probe * 167),
            SeqNum::default(),
        );
        data.extended = false;
        pair.ends[1].handle(pair.now, &mut envelope(data));
        said += answers(&mut pair, 1);
    }
    assert_eq!((accepted(&pair, 1), said), (before, 0));
    assert_eq!(pair.ends[1].state(), State::Open);
}
