//! Init Cookies at a client (RFC 4340 §8.1.4).

use super::{config, drain, envelope};
use weir_proto::dccp::wire::{DccpOption, Packet, PacketType, SeqNum};
use weir_proto::dccp::{Connection, State};
use weir_proto::endpoint::Endpoint;
use weir_proto::packet::Payload;
use weir_proto::time::{Duration, Instant};

const PEER: u64 = 7000;

/// A client and its clock.
struct Client {
    now: Instant,
    end: Connection,
}

impl Client {
    /// A client that has received a Response with these cookies.
    fn answered(cookies: &[&[u8]]) -> (Self, Vec<Packet>) {
        let mut client = Self {
            now: Instant::from_nanos(1_000_000_000),
            end: Connection::client(config()),
        };
        client.end.connect(client.now);
        let request = drain(&mut client.end, client.now).remove(0);
        assert_eq!(cookies_of(&request), <[Vec<u8>; 0]>::default());
        let said = client.receive(response(&request, PEER, cookies));
        (client, said)
    }

    fn receive(&mut self, packet: Packet) -> Vec<Packet> {
        self.now += Duration::from_millis(1);
        self.end.handle(self.now, &mut envelope(packet));
        drain(&mut self.end, self.now)
    }

    fn write(&mut self, octets: u32) -> Vec<Packet> {
        let written = self.end.write(self.now, Payload::of_len(octets));
        assert_eq!(written, Ok(()));
        drain(&mut self.end, self.now)
    }
}

fn response(request: &Packet, seq: u64, cookies: &[&[u8]]) -> Packet {
    let mut response = Packet::response(SeqNum::new(seq), request.seq, 0);
    for cookie in cookies {
        response.options.push(&DccpOption::InitCookie(cookie));
        response.options.push(&DccpOption::Timestamp(9));
    }
    response
}

fn cookies_of(packet: &Packet) -> Vec<Vec<u8>> {
    let cookies = packet.options.iter().filter_map(|option| match option {
        DccpOption::InitCookie(cookie) => Some(cookie.to_vec()),
        _ => None,
    });
    cookies.collect()
}

#[test]
fn cookies_are_echoed_in_order_on_every_packet_until_the_server_has_one() {
    let cookies: [&[u8]; 3] = [&[1; 253], &[], &[3, 2, 1]];
    let (mut client, mut said) = Client::answered(&cookies);
    // The largest that fits beside an acknowledgement with the cookies, and one octet more.
    let room = config().mtu - 20 - 56 - 264;
    said.extend(client.write(room));
    said.extend(client.write(room + 1));
    // The Ack is repeated.
    client.now += Duration::from_millis(300);
    client.end.handle_timeout(client.now);
    said.extend(drain(&mut client.end, client.now));
    assert_eq!(client.end.state(), State::PartOpen);
    assert!(said.len() >= 3, "{said:?}");
    for packet in &said {
        assert_ne!(packet.kind, PacketType::Data);
        assert_eq!(cookies_of(packet), cookies);
        assert!(
            packet.wire_len() + 20 <= config().mtu,
            "{}",
            packet.wire_len()
        );
    }
    let said = client.receive(Packet::new_ack(SeqNum::new(PEER + 1), said[0].seq));
    assert_eq!(client.end.state(), State::Open);
    let said = [said, client.write(100)].concat();
    assert!(said.iter().any(|packet| packet.kind.carries_data()));
    assert!(said.iter().all(|packet| cookies_of(packet).is_empty()));
}

#[test]
fn a_close_before_a_packet_of_the_server_carries_the_cookies_too() {
    let (mut client, _) = Client::answered(&[b"one"]);
    client.end.close(client.now);
    let said = drain(&mut client.end, client.now);
    assert_eq!(said[0].kind, PacketType::Close);
    assert_eq!(cookies_of(&said[0]), [b"one"]);
}

#[test]
fn the_cookies_are_those_of_the_response_that_is_acknowledged() {
    let (mut client, said) = Client::answered(&[b"one"]);
    let request = Packet::request(said[0].seq.previous(), 0);
    let said = client.receive(response(&request, PEER + 1, &[b"two"]));
    assert_eq!(
        (cookies_of(&said[0]), said[0].ack()),
        (vec![b"two".to_vec()], Some(SeqNum::new(PEER + 1)))
    );
    // A late copy of the first Response.
    let said = client.receive(response(&request, PEER, &[b"one"]));
    assert_eq!(
        (cookies_of(&said[0]), said[0].ack()),
        (vec![b"two".to_vec()], Some(SeqNum::new(PEER + 1)))
    );
    let said = client.receive(response(&request, PEER + 2, &[]));
    assert_eq!(cookies_of(&said[0]), <[Vec<u8>; 0]>::default());
}
