//! One end of a DCCP connection with packets that a correct peer would not send.

use proptest::prelude::*;
use weir_proto::cc::tfrc::Profile;
use weir_proto::dccp::wire::{Options, Packet as Dccp, PacketType, SeqNum, Subheader};
use weir_proto::dccp::{Ccid, Config, Connection, State};
use weir_proto::endpoint::Endpoint;
use weir_proto::packet::{Body, Ecn, FlowId, IpHeader, Packet, Payload, Transit};
use weir_proto::time::{Duration, Instant};

const KINDS: [PacketType; 11] = [
    PacketType::Request,
    PacketType::Response,
    PacketType::Data,
    PacketType::Ack,
    PacketType::DataAck,
    PacketType::CloseReq,
    PacketType::Close,
    PacketType::Reset,
    PacketType::Sync,
    PacketType::SyncAck,
    PacketType::Listen,
];

/// An action of the other side or of the application.
#[derive(Clone, Debug)]
enum Step {
    /// A packet with numbers near the expected ones: offsets from GSS and from the next number of
    /// the peer.
    Packet {
        kind: usize,
        seq: i64,
        ack: i64,
        options: Vec<u8>,
        len: u32,
        marked: bool,
    },
    Write(u32),
    Close,
    Wait(u64),
}

fn step() -> impl Strategy<Value = Step> {
    let offset = prop_oneof![4 => -3_i64..4, 1 => -200_i64..20_000, 1 => any::<i64>()];
    let packet = (
        0..KINDS.len(),
        offset.clone(),
        offset,
        proptest::collection::vec(any::<u8>(), 0..40),
        0_u32..1500,
        any::<bool>(),
    )
        .prop_map(|(kind, seq, ack, options, len, marked)| Step::Packet {
            kind,
            seq,
            ack,
            options,
            len,
            marked,
        });
    prop_oneof![
        6 => packet,
        1 => (0_u32..1500).prop_map(Step::Write),
        1 => Just(Step::Close),
        3 => (0_u64..3_000_000_000).prop_map(Step::Wait),
    ]
}

/// One end, the packets that it sends, and the numbers that its peer would use.
struct Victim {
    end: Connection,
    now: Instant,
    sent: u64,
    received: u64,
    sent_since_input: Vec<PacketType>,
    delivered: u64,
}

impl Victim {
    fn new(server: bool, ccid: u8) -> Self {
        let choice = || match ccid {
            2 => Ccid::TcpLike,
            3 => Ccid::Tfrc(Box::new(Profile::rfc5348())),
            _ => Ccid::Tfrc(Box::new(Profile::linux_2008())),
        };
        let config = Config {
            send_ccid: choice(),
            receive_ccid: choice(),
            ..Config::default()
        };
        let mut end = if server {
            Connection::server(config)
        } else {
            Connection::client(config)
        };
        let now = Instant::from_nanos(1_000);
        end.connect(now);
        let mut victim = Self {
            end,
            now,
            sent: 0,
            received: 1 << 40,
            sent_since_input: Vec::new(),
            delivered: 0,
        };
        victim.drain();
        victim
    }

    fn drain(&mut self) {
        let mut count = 0;
        while let Some(packet) = self.end.poll_transmit(self.now) {
            self.end.transmitted(self.now, packet.id);
            if let Body::Dccp(body) = packet.body {
                self.sent = body.seq.get();
                self.sent_since_input.push(body.kind);
            }
            count += 1;
            assert!(count < 10_000, "sends without end");
        }
        while self.end.poll_event().is_some() {}
        while let Some(piece) = self.end.read(self.now) {
            self.delivered += u64::from(piece.len());
        }
    }

    /// Lets time pass, calling each timer.
    fn wait(&mut self, span: Duration) {
        let until = self.now + span;
        for _ in 0..10_000 {
            let Some(at) = self.end.poll_timeout().filter(|&at| at <= until) else {
                self.now = until;
                return;
            };
            self.now = self.now.max(at);
            self.end.handle_timeout(self.now);
            let before = self.sent_since_input.len();
            self.drain();
            let sent = self.sent_since_input.len() > before;
            let due = self.end.poll_timeout();
            assert!(
                sent || due.is_none_or(|due| due > self.now),
                "a timer that does not advance"
            );
        }
    }

    fn packet(
        &mut self,
        kind: PacketType,
        (seq, ack): (i64, i64),
        (options, len): (&[u8], u32),
    ) -> Dccp {
        let ack = SeqNum::new(self.sent.wrapping_add_signed(ack));
        let number = self.received.wrapping_add_signed(seq);
        self.received += 1;
        let subheader = match kind {
            PacketType::Data => Subheader::None,
            PacketType::Request | PacketType::Listen => Subheader::Service(0),
            PacketType::Response => Subheader::AckService(ack, 0),
            PacketType::Reset => Subheader::Reset(ack, len as u8, [0; 3]),
            _ => Subheader::Ack(ack),
        };
        let carries = kind.carries_data() || kind == PacketType::Request;
        Dccp {
            subheader,
            kind,
            ccval: (len % 16) as u8,
            options: Options::from_wire(options),
            ..Dccp::data(
                SeqNum::new(number),
                Payload::of_len(if carries { len } else { 0 }),
            )
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn no_peer_makes_it_panic_spin_or_answer_a_reset_with_a_reset(
        server: bool,
        ccid in 2_u8..5,
        open: bool,
        steps in proptest::collection::vec(step(), 1..60),
    ) {
        let mut victim = Victim::new(server, ccid);
        if open && !server {
            // A correct Response first, so that the connection is open in most runs.
            let response = victim.packet(PacketType::Response, (0, 0), (&[], 0));
            victim.end.handle(victim.now, &mut wrapped(response, false));
            victim.drain();
        }
        let mut offered = 0;
        for step in steps {
            victim.sent_since_input.clear();
            match step {
                Step::Packet { kind, seq, ack, options, len, marked } => {
                    let packet = victim.packet(KINDS[kind], (seq, ack), (&options, len));
                    offered += u64::from(packet.payload.len());
                    victim.end.handle(victim.now, &mut wrapped(packet, marked));
                    victim.drain();
                    if KINDS[kind] == PacketType::Reset {
                        prop_assert!(!victim.sent_since_input.contains(&PacketType::Reset));
                    }
                }
                Step::Write(len) => {
                    let _ = victim.end.write(victim.now, Payload::of_len(len));
                    victim.drain();
                }
                Step::Close => {
                    victim.end.close(victim.now);
                    victim.drain();
                }
                Step::Wait(nanos) => victim.wait(Duration::from_nanos(nanos)),
            }
        }
        prop_assert!(victim.delivered <= offered);
        // A closed end sends nothing.
        if victim.end.state() == State::Closed && !server {
            victim.sent_since_input.clear();
            victim.wait(Duration::from_secs(300));
            prop_assert!(victim.sent_since_input.is_empty());
        }
    }
}

fn wrapped(body: Dccp, marked: bool) -> Packet {
    Packet {
        id: 0,
        flow: FlowId(0),
        ip: IpHeader {
            ecn: if marked { Ecn::Ce } else { Ecn::NotEct },
            ..IpHeader::default()
        },
        size: 20 + body.wire_len(),
        damaged_at: None,
        transit: Transit::default(),
        number: None,
        body: Body::Dccp(body),
    }
}
