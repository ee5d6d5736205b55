//! The protocols around a DCCP packet: link layers, UDP, fragments, padding; and the fields of a
//! row.

use super::synthetic::{V4, V6, Wire, pcap, pcapng, sample_packets, udp};
use std::io::Write as _;
use weir_lab::trace::capture::Capture;
use weir_proto::dccp::wire::checksum::{ChecksumStatus, PROTOCOL};
use weir_proto::dccp::wire::{Packet, SeqNum};
use weir_proto::packet::Payload;

/// The rows of a file as JSON, which must be valid.
fn rows(file: Vec<u8>) -> Vec<serde_json::Value> {
    let mut capture = Capture::from_reader(std::io::Cursor::new(file)).expect("a capture");
    let mut rows = Vec::new();
    while let Some(row) = capture.next_row().expect("an undamaged file") {
        rows.push(serde_json::from_str(&row.json().to_string()).expect("JSON"));
    }
    rows
}

fn malformed(file: Vec<u8>) -> String {
    let rows = rows(file);
    let [row] = rows.as_slice() else {
        panic!("not one row: {rows:?}")
    };
    let keys: Vec<_> = row.as_object().expect("an object").keys().collect();
    assert_eq!(keys, ["frame", "malformed"]);
    row["malformed"].as_str().expect("a reason").to_owned()
}

fn data() -> Packet {
    Packet::data(SeqNum::new(5), Payload::from_bytes(b"hello")).with_ports(1, 2)
}

fn encoded(packet: &Packet) -> Vec<u8> {
    let mut bytes = Vec::new();
    packet.encode(None, &mut bytes).expect("a wire form");
    bytes
}

#[test]
fn every_envelope_gives_the_packet_and_a_good_checksum() {
    for wire in Wire::ALL {
        let packets = sample_packets();
        let frames: Vec<_> = packets.iter().map(|packet| wire.frame(packet)).collect();
        for file in [
            pcap(wire.link_type(), true, &frames),
            pcapng(wire.link_type(), 6, false, &frames),
            pcapng(wire.link_type(), 9, true, &frames),
        ] {
            let mut capture = Capture::from_reader(std::io::Cursor::new(file)).unwrap();
            for (index, packet) in packets.iter().enumerate() {
                let row = capture.next_row().unwrap().expect("a row");
                assert_eq!(row.frame, index as u64 + 1);
                let content = row.content.expect("a packet");
                assert_eq!(content.checksum, ChecksumStatus::Good, "{wire:?}");
                assert_eq!(content.decoded.into_packet().subheader, packet.subheader);
            }
            assert!(capture.next_row().unwrap().is_none());
        }
    }
}

/// The keys and formats are an interface to other programs.
#[test]
fn a_row_has_exactly_the_agreed_keys() {
    let mut packet = Packet::response(SeqNum::new(9), SeqNum::new(8), 7).with_ports(1, 2);
    packet
        .options
        .push(&weir_proto::dccp::wire::DccpOption::NdpCount(0x1ff));
    packet.ccval = 3;
    let file = pcap(1, false, &[Wire::Ethernet.frame(&packet)]);
    let mut capture = Capture::from_reader(std::io::Cursor::new(file)).unwrap();
    let row = capture.next_row().unwrap().expect("a row");
    assert_eq!(
        row.json().to_string(),
        "{\"frame\":1,\"time_s\":1073741824.500000000,\"type\":\"Response\",\"x\":1,\"seq\":9,\
         \"ack\":8,\"ccval\":3,\"cscov\":0,\"checksum\":\"good\",\
         \"options\":[[37,\"01ff\"]],\"service_code\":7,\"reset_code\":null,\"payload_len\":0,\
         \"source\":\"192.0.2.1\",\"source_port\":1,\
         \"destination\":\"198.51.100.7\",\"destination_port\":2,\
         \"udp_source_port\":null,\"udp_destination_port\":null}"
    );
    assert_eq!(
        row.to_string(),
        "     1 1073741824.500000000 192.0.2.1:1 > 198.51.100.7:2 Response seq 9 ack 8 service 7 \
         ccval 3 checksum good payload 0 | NDP Count 511"
    );
}

#[test]
fn absent_values_are_null_and_padding_is_an_option() {
    let mut packet = data();
    packet
        .options
        .push(&weir_proto::dccp::wire::DccpOption::NdpCount(1));
    packet.cscov = 1;
    let mut frame = Wire::Ethernet.frame(&packet);
    *frame.last_mut().unwrap() ^= 1;
    let row = &rows(pcap(1, false, &[frame]))[0];
    for absent in ["ack", "service_code", "reset_code"] {
        assert!(row[absent].is_null(), "{absent}");
    }
    assert_eq!(row["options"], serde_json::json!([[37, "01"], [0, ""]]));
    // The changed octet is outside of the coverage.
    assert_eq!(
        (&row["checksum"], &row["payload_len"]),
        (&"good".into(), &5.into())
    );
}

#[test]
fn a_wrong_checksum_is_bad_but_not_malformed() {
    let mut frame = Wire::RawV6.frame(&data());
    *frame.last_mut().unwrap() ^= 1;
    assert_eq!(rows(pcap(101, false, &[frame]))[0]["checksum"], "bad");
}

/// A10: a frame of 60 octets contains a packet of 16 octets; the rest is padding.
#[test]
fn padding_of_ethernet_is_not_payload() {
    let mut frame = Wire::Ethernet.frame(&Packet::data(SeqNum::new(1), Payload::default()));
    frame.resize(60, 0xee);
    let row = &rows(pcap(1, false, &[frame]))[0];
    assert_eq!(
        (&row["payload_len"], &row["checksum"]),
        (&0.into(), &"good".into())
    );
}

#[test]
fn frames_of_other_protocols_are_counted_only() {
    let arp = [&[0xff; 12][..], &[0x08, 0x06], &[0; 28]].concat();
    let tcp = Wire::Ethernet.envelop(6, &[0; 20]);
    let dns = Wire::Ethernet.envelop(17, &udp(53, 4000, &[0; 30], &V4));
    let empty = Vec::new();
    let frames = [arp, tcp, dns, empty, Wire::Ethernet.frame(&data())];
    let rows = rows(pcap(1, false, &frames));
    assert_eq!(rows.len(), 1);
    assert_eq!(rows[0]["frame"], 5);
}

/// RFC 6773 §3.3: the DCCP checksum is arbitrary and ignored.
#[test]
fn dccp_in_udp_has_no_checksum_of_its_own() {
    for wire in [Wire::Ethernet, Wire::EthernetV6] {
        for (source, destination) in [(6511, 40_000), (40_000, 6511)] {
            let mut content = encoded(&data());
            content[6..8].copy_from_slice(&[0xab, 0xcd]);
            let datagram = udp(source, destination, &content, &wire.addresses());
            let row = &rows(pcap(1, false, &[wire.envelop(17, &datagram)]))[0];
            assert_eq!((&row["checksum"], &row["seq"]), (&"none".into(), &5.into()));
            assert_eq!(row["payload_len"], 5);
            let ports = [&row["udp_source_port"], &row["udp_destination_port"]];
            assert_eq!(ports, [source, destination]);
            assert_eq!(
                (&row["source_port"], &row["destination_port"]),
                (&1.into(), &2.into())
            );
        }
    }
}

/// A14 and RFC 6773 §3.3: four reasons to drop the datagram.
#[test]
fn broken_udp_envelopes_are_malformed() {
    let good = udp(6511, 6511, &encoded(&data()), &V6);
    let reason =
        |datagram: &[u8]| malformed(pcap(229, false, &[Wire::Ipv6Link.envelop(17, datagram)]));
    assert!(reason(&udp(6511, 1, &[0; 11], &V6)).contains("UDP length 19 is less than"));
    let mut long = good.clone();
    long[5] += 1;
    assert!(reason(&long).contains("more than IP's 29"));
    let mut zero = good.clone();
    zero[6..8].fill(0);
    assert!(reason(&zero).contains("UDP checksum is zero"));
    let mut wrong = good.clone();
    wrong[20] ^= 1;
    assert!(reason(&wrong).contains("UDP checksum is wrong"));
    let header_cut = udp(
        6511,
        1,
        &encoded(&Packet::sync(SeqNum::new(1), SeqNum::new(2)))[..20],
        &V6,
    );
    assert!(reason(&header_cut).contains("data offset says 24 octets"));
}

/// A11: the middle of a packet is not read as a header.
#[test]
fn fragments_are_reported_and_not_read() {
    let with_flags = |flags: u16| {
        let mut frame = Wire::RawV4.frame(&data());
        frame[6..8].copy_from_slice(&flags.to_be_bytes());
        pcap(101, false, &[frame])
    };
    assert!(malformed(with_flags(0x2000)).contains("first fragment"));
    assert!(malformed(with_flags(185)).contains("from octet 1480 on"));
    let mut frame = Wire::ExtensionHeaders.frame(&data());
    // The atomic fragment header follows eight octets of hop-by-hop options.
    frame[40 + 8 + 2..40 + 8 + 4].copy_from_slice(&(185_u16 << 3).to_be_bytes());
    frame[40 + 8] = PROTOCOL;
    assert!(malformed(pcap(229, false, &[frame])).contains("from octet 1480 on"));
    // A later fragment of UDP has no ports, so it cannot be recognised as DCCP.
    let mut frame = Wire::RawV4.envelop(17, &udp(6511, 1, &encoded(&data()), &V4));
    frame[6..8].copy_from_slice(&185_u16.to_be_bytes());
    assert_eq!(
        rows(pcap(101, false, &[frame])),
        Vec::<serde_json::Value>::new()
    );
}

/// A snapshot length that cuts the payload keeps the header and the original length.
#[test]
fn a_cut_frame_has_its_header_and_no_checksum() {
    let packet = Packet::data(SeqNum::new(1), Payload::of_len(1000));
    let whole = Wire::RawV4.frame(&packet);
    let row = &rows(pcap(101, false, &[whole[..20 + 16 + 4].to_vec()]))[0];
    assert_eq!(
        (&row["payload_len"], &row["checksum"]),
        (&1000.into(), &"none".into())
    );
    let reason = malformed(pcap(101, false, &[whole[..20 + 15].to_vec()]));
    assert!(
        reason.contains("after 15 octets, inside its header"),
        "{reason}"
    );
}

#[test]
fn malformed_packets_say_why() {
    let mut frame = Wire::RawV4.frame(&data());
    frame[20 + 8] = 13 << 1 | 1;
    assert_eq!(
        malformed(pcap(101, false, &[frame])),
        "packet type 13 is reserved"
    );
    let short = Wire::RawV4.envelop(PROTOCOL, &[0; 11]);
    let reason = malformed(pcap(101, false, &[short]));
    assert_eq!(reason, "11 octets are too few: the shortest header has 12");
}

#[test]
fn gzip_is_unpacked_whole_also_in_several_members() {
    let file = pcap(
        1,
        false,
        &[Wire::Ethernet.frame(&data()), Wire::Ethernet.frame(&data())],
    );
    let (first, second) = file.split_at(60);
    let mut packed = Vec::new();
    for part in [first, second] {
        let mut encoder = flate2::write::GzEncoder::new(&mut packed, flate2::Compression::best());
        encoder.write_all(part).unwrap();
        encoder.finish().unwrap();
    }
    assert_eq!(rows(packed).len(), 2);
}

#[test]
fn sections_of_both_byte_orders_may_follow_each_other() {
    let frames = [Wire::RawV4.frame(&data())];
    let file = [
        pcapng(101, 6, true, &frames),
        pcapng(101, 9, false, &frames),
    ]
    .concat();
    let rows = rows(file);
    assert_eq!(rows.len(), 2);
    assert_eq!(rows[1]["frame"], 2);
}

#[test]
fn simple_packet_blocks_have_no_time() {
    let frame = Wire::RawV4.frame(&data());
    let mut file = pcapng(101, 6, false, &[]);
    let padded = frame.len().next_multiple_of(4);
    let length = (padded as u32 + 16).to_le_bytes();
    file.extend(
        [
            3_u32.to_le_bytes(),
            length,
            (frame.len() as u32).to_le_bytes(),
        ]
        .concat(),
    );
    file.extend_from_slice(&frame);
    file.resize(file.len() + padded - frame.len(), 0);
    file.extend_from_slice(&length);
    let row = &rows(file)[0];
    assert!(row["time_s"].is_null());
    assert_eq!(row["checksum"], "good");
}

#[test]
fn an_unknown_link_type_is_an_error_that_names_it() {
    let file = pcap(105, false, &[vec![0; 30]]);
    let mut capture = Capture::from_reader(std::io::Cursor::new(file)).unwrap();
    let error = capture.next_row().expect_err("802.11 is not read");
    assert!(!error.is_usage());
    assert!(
        error.to_string().starts_with("frame 1 has link type 105"),
        "{error}"
    );
}
