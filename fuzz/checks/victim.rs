//! Ends of a connection that receive a packet which their peer did not send.

use weir_proto::endpoint::Endpoint;
use weir_proto::packet::{Body, Packet, Payload};
use weir_proto::time::{Duration, Instant};

/// The maximum number of packets caused by one event, and of timers that are awaited.
const MAX_PACKETS: u32 = 10_000;
const TIMERS: u32 = 20;

/// One end of a connection.
pub struct Victim {
    end: Box<dyn Endpoint>,
    now: Instant,
    /// The last packet sent.
    pub sent: Option<Body>,
    /// The last packet received from its peer.
    pub received: Option<Body>,
}

impl Victim {
    /// Both ends of a connection before it starts, and of one that is open and has carried data.
    pub fn all<E: Endpoint + 'static>(pair: impl Fn() -> (E, E)) -> Vec<Self> {
        let (new, (client, server)) = (pair(), opened(pair()));
        let (mut waiting, listening) = (Self::new(new.0), Self::new(new.1));
        waiting.end.connect(waiting.now);
        waiting.drain();
        vec![waiting, listening, client, server]
    }

    fn new(end: impl Endpoint + 'static) -> Self {
        Self {
            end: Box::new(end),
            now: Instant::from_nanos(1_000),
            sent: None,
            received: None,
        }
    }

    /// Delivers the packet, then runs the responses and the next timers.
    pub fn handle(&mut self, body: Body, size: u32) {
        let mut packet = Packet::new(size, body);
        self.end.handle(self.now, &mut packet);
        self.drain();
        // Its output may now depend on actions of the application.
        let _ = self.end.write(self.now, Payload::of_len(3_000));
        self.drain();
        for _ in 0..TIMERS {
            let Some(at) = self.end.poll_timeout() else {
                return;
            };
            self.now = self.now.max(at);
            self.end.handle_timeout(self.now);
            self.drain();
        }
    }

    /// Takes all packets, events and data of the end.
    fn drain(&mut self) -> Vec<Packet> {
        let mut packets = Vec::new();
        while let Some(packet) = self.end.poll_transmit(self.now) {
            self.end.transmitted(self.now, packet.id);
            self.sent = Some(packet.body.clone());
            packets.push(packet);
            assert!((packets.len() as u32) < MAX_PACKETS, "it sends without end");
        }
        while self.end.poll_event().is_some() {}
        while self.end.read(self.now).is_some() {}
        packets
    }
}

/// A pair after its handshake and a transfer of a thousand octets, over a path with 1 ms delay in
/// each direction.
fn opened<E: Endpoint + 'static>((client, server): (E, E)) -> (Victim, Victim) {
    let (mut client, mut server) = (Victim::new(client), Victim::new(server));
    client.end.connect(client.now);
    for round in 0..20 {
        if round == 10 {
            let _ = client.end.write(client.now, Payload::of_len(1_000));
        }
        carry(&mut client, &mut server);
        carry(&mut server, &mut client);
    }
    client.drain();
    server.drain();
    (client, server)
}

/// Carries the packets of one end to the other, a millisecond later.
fn carry(from: &mut Victim, to: &mut Victim) {
    let packets = from.drain();
    to.now = from.now + Duration::from_millis(1);
    for mut packet in packets {
        to.received = Some(packet.body.clone());
        to.end.handle(to.now, &mut packet);
    }
    if to.end.poll_timeout().is_some_and(|at| at <= to.now) {
        to.end.handle_timeout(to.now);
    }
}
