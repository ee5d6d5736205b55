//! A Change that the peer never confirms is repeated with backoff (RFC 4340 §6.6.3).

use super::{config, drain, envelope, packet_of};
use weir_proto::dccp::wire::{DccpOption, PacketType};
use weir_proto::dccp::{Ccid, Config, Connection};
use weir_proto::endpoint::Endpoint;
use weir_proto::time::{Duration, Instant};

#[test]
fn unconfirmed_changes_are_repeated_by_a_timer_with_backoff() {
    let profile = weir_proto::cc::tfrc::Profile::named("rfc5348").expect("it is known");
    let ccid = Ccid::Tfrc(Box::new(profile));
    let mut client = Connection::client(Config {
        send_ccid: ccid.clone(),
        receive_ccid: ccid,
        ..config()
    });
    let mut now = Instant::from_nanos(1_000_000_000);
    client.connect(now);
    let request = drain(&mut client, now).remove(0);
    // The numbers of a peer that does not negotiate features.
    let mut seq = weir_proto::dccp::wire::SeqNum::new(500);
    client.handle(
        now,
        &mut envelope(packet_of(PacketType::Response, seq, request.seq)),
    );
    let mut last = drain(&mut client, now).pop().expect("an Ack").seq;
    let mut times = Vec::new();
    let mut acks = 0;
    let end = now + Duration::from_secs(200);
    while now < end {
        // An Ack every 100 ms, which leaves the end with nothing to acknowledge.
        now += Duration::from_millis(100);
        seq = seq.next();
        client.handle(now, &mut envelope(packet_of(PacketType::Ack, seq, last)));
        if client.poll_timeout().is_some_and(|due| due <= now) {
            client.handle_timeout(now);
        }
        for packet in drain(&mut client, now) {
            last = packet.seq;
            acks += 1;
            let change = |option| matches!(option, DccpOption::ChangeL { .. });
            if packet.options.iter().any(change) {
                times.push(now);
            }
        }
    }
    // After 1, 2, 4 … 64 s, and on packets that are sent anyway, but not on each of 2000 Acks.
    assert!(
        (5..60).contains(&times.len()),
        "{} of {acks}: {times:?}",
        times.len()
    );
    assert!(acks < 300, "{acks}");
}
