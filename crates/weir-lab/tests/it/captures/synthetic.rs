//! Small capture files made by hand: envelopes around DCCP packets, and both file formats.

use weir_proto::dccp::wire::checksum::{PROTOCOL, PseudoHeader, internet_checksum};
use weir_proto::dccp::wire::{DccpOption, Packet, SeqNum};
use weir_proto::packet::Payload;

/// Link layer and IP version around a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wire {
    Ethernet,
    EthernetV6,
    Vlan,
    StackedVlan,
    CookedV4,
    CookedV6,
    Cooked2,
    RawV4,
    RawV6,
    Ipv4Link,
    Ipv6Link,
    ExtensionHeaders,
    BsdLoopback,
}

pub const V4: PseudoHeader = PseudoHeader::V4 {
    source: [192, 0, 2, 1],
    destination: [198, 51, 100, 7],
};

pub const V6: PseudoHeader = PseudoHeader::V6 {
    source: [0x20, 1, 0xd, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1],
    destination: [0x20, 1, 0xd, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2],
};

impl Wire {
    pub const ALL: [Self; 13] = [
        Self::Ethernet,
        Self::EthernetV6,
        Self::Vlan,
        Self::StackedVlan,
        Self::CookedV4,
        Self::CookedV6,
        Self::Cooked2,
        Self::RawV4,
        Self::RawV6,
        Self::Ipv4Link,
        Self::Ipv6Link,
        Self::ExtensionHeaders,
        Self::BsdLoopback,
    ];

    pub const fn link_type(self) -> u16 {
        match self {
            Self::Ethernet | Self::EthernetV6 | Self::Vlan | Self::StackedVlan => 1,
            Self::CookedV4 | Self::CookedV6 => 113,
            Self::Cooked2 => 276,
            Self::RawV4 | Self::RawV6 => 101,
            Self::Ipv4Link => 228,
            Self::Ipv6Link | Self::ExtensionHeaders => 229,
            Self::BsdLoopback => 0,
        }
    }

    pub fn addresses(self) -> PseudoHeader {
        match self {
            Self::EthernetV6
            | Self::CookedV6
            | Self::RawV6
            | Self::Ipv6Link
            | Self::ExtensionHeaders => V6,
            _ => V4,
        }
    }

    /// The packet in this envelope, with a correct checksum.
    pub fn frame(self, packet: &Packet) -> Vec<u8> {
        let mut bytes = Vec::new();
        packet
            .encode(Some(&self.addresses()), &mut bytes)
            .expect("a wire form");
        self.envelop(PROTOCOL, &bytes)
    }

    /// Octets of a transport protocol in this envelope.
    pub fn envelop(self, protocol: u8, content: &[u8]) -> Vec<u8> {
        let macs = [2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2];
        let link: Vec<u8> = match self {
            Self::Ethernet => [&macs[..], &[0x08, 0x00]].concat(),
            Self::EthernetV6 => [&macs[..], &[0x86, 0xdd]].concat(),
            Self::Vlan => [&macs[..], &[0x81, 0x00, 0x20, 0x05, 0x08, 0x00]].concat(),
            Self::StackedVlan => {
                let tags = [0x88, 0xa8, 0x00, 0x64, 0x81, 0x00, 0x00, 0x05, 0x08, 0x00];
                [&macs[..], &tags].concat()
            }
            Self::CookedV4 => cooked([0x08, 0x00]),
            Self::CookedV6 => cooked([0x86, 0xdd]),
            Self::Cooked2 => {
                let address = [2, 0, 0, 0, 0, 1, 0, 0];
                [&[0x08, 0x00, 0, 0, 0, 0, 0, 3, 0, 1, 0, 6][..], &address].concat()
            }
            Self::BsdLoopback => vec![2, 0, 0, 0],
            Self::RawV4
            | Self::RawV6
            | Self::Ipv4Link
            | Self::Ipv6Link
            | Self::ExtensionHeaders => Vec::new(),
        };
        let ip = match self.addresses() {
            PseudoHeader::V4 {
                source,
                destination,
            } => ipv4_header(protocol, content.len(), source, destination),
            PseudoHeader::V6 {
                source,
                destination,
            } => {
                let extensions = match self {
                    Self::ExtensionHeaders => extension_headers(protocol),
                    _ => Vec::new(),
                };
                let first = if extensions.is_empty() { protocol } else { 0 };
                let length = (extensions.len() + content.len()) as u16;
                let mut header = vec![0x60, 0, 0, 0];
                header.extend_from_slice(&length.to_be_bytes());
                header.extend_from_slice(&[first, 64]);
                header.extend_from_slice(&source);
                header.extend_from_slice(&destination);
                header.extend_from_slice(&extensions);
                header
            }
        };
        [link, ip, content.to_vec()].concat()
    }
}

fn cooked(protocol: [u8; 2]) -> Vec<u8> {
    [&[0, 0, 0, 1, 0, 6, 2, 0, 0, 0, 0, 1, 0, 0][..], &protocol].concat()
}

fn ipv4_header(protocol: u8, content: usize, source: [u8; 4], destination: [u8; 4]) -> Vec<u8> {
    let mut header = vec![0x45, 0];
    header.extend_from_slice(&((20 + content) as u16).to_be_bytes());
    header.extend_from_slice(&[0, 1, 0x40, 0, 64, protocol, 0, 0]);
    header.extend_from_slice(&source);
    header.extend_from_slice(&destination);
    header
}

/// Hop-by-hop options, an atomic fragment and destination options.
fn extension_headers(protocol: u8) -> Vec<u8> {
    let mut headers = vec![44, 0, 1, 4, 0, 0, 0, 0];
    headers.extend_from_slice(&[60, 0, 0, 0, 0, 0, 0, 9]);
    headers.extend_from_slice(&[protocol, 1, 1, 12, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
    headers
}

/// A UDP datagram with a correct checksum.
pub fn udp(source: u16, destination: u16, content: &[u8], addresses: &PseudoHeader) -> Vec<u8> {
    let length = (8 + content.len()) as u16;
    let mut datagram = Vec::new();
    for field in [source, destination, length, 0] {
        datagram.extend_from_slice(&field.to_be_bytes());
    }
    datagram.extend_from_slice(content);
    let checksum = internet_checksum(addresses, 17, length.into(), &datagram);
    datagram[6..8].copy_from_slice(&checksum.to_be_bytes());
    datagram
}

/// Packets of all types with all options, long and short numbers.
pub fn sample_packets() -> Vec<Packet> {
    let (seq, ack) = (SeqNum::new(0xfedc_ba98_7654), SeqNum::new(0x0102_0304_0506));
    let payload = Payload::from_bytes(b"odd payload");
    let short = |packet: Packet| Packet {
        extended: false,
        seq: packet.seq.extended_near(SeqNum::new(0)),
        ..packet
    };
    let mut packets = vec![
        Packet::request(seq, 0x5745_4952),
        Packet::response(seq, ack, 0x5745_4952),
        Packet::data(seq, payload.clone()),
        Packet::data(SeqNum::new(0x12_3456), payload.clone()),
        Packet::new_ack(seq, ack),
        Packet::new_ack(SeqNum::new(0x12_3456), SeqNum::new(0x65_4321)),
        Packet::data_ack(seq, ack, payload.clone()),
        Packet::data_ack(
            SeqNum::new(0x12_3456),
            SeqNum::new(0x65_4321),
            payload.clone(),
        ),
        Packet::close_req(seq, ack),
        Packet::close(seq, ack),
        Packet::reset(seq, ack, 5, [32, 1, 2]),
        Packet::sync(seq, ack),
        Packet::sync_ack(seq, ack),
    ];
    for index in [3, 5, 7] {
        packets[index] = short(packets[index].clone());
    }
    for (index, packet) in packets.iter_mut().enumerate() {
        *packet = packet.clone().with_ports(40_000 + index as u16, 5001);
        packet.ccval = index as u8;
        if packet.kind.carries_data() {
            packet.cscov = index as u8 % 4;
        }
        for option in sample_options().iter().skip(index % 5).step_by(3) {
            packet.options.push(option);
        }
    }
    packets
}

fn sample_options() -> Vec<DccpOption<'static>> {
    vec![
        DccpOption::ChangeL {
            feature: 1,
            values: &[3, 2],
        },
        DccpOption::ChangeR {
            feature: 6,
            values: &[1],
        },
        DccpOption::ConfirmL {
            feature: 1,
            values: &[3, 3, 2],
        },
        DccpOption::SlowReceiver,
        DccpOption::ConfirmR {
            feature: 5,
            values: &[0, 2],
        },
        DccpOption::InitCookie(&[1, 2, 3, 4, 5]),
        DccpOption::NdpCount(7),
        DccpOption::NdpCount(0x1234_5678_9abc),
        DccpOption::AckVector {
            nonce: false,
            cells: &[0x3f, 0x41, 0xc0],
        },
        DccpOption::AckVector {
            nonce: true,
            cells: &[0],
        },
        DccpOption::DataDropped(&[0x85]),
        DccpOption::Timestamp(0xdead_beef),
        DccpOption::TimestampEcho {
            timestamp: 0xdead_beef,
            elapsed: None,
        },
        DccpOption::TimestampEcho {
            timestamp: 1,
            elapsed: Some(500),
        },
        DccpOption::TimestampEcho {
            timestamp: 2,
            elapsed: Some(500_000),
        },
        DccpOption::ElapsedTime(1000),
        DccpOption::ElapsedTime(1_000_000),
        DccpOption::DataChecksum(0x0102_0304),
        DccpOption::LossEventRate(100),
        DccpOption::LossIntervals {
            skip: 0,
            intervals: &[0, 0, 5, 0, 0, 1, 0, 0, 6],
        },
        DccpOption::ReceiveRate(125_000),
    ]
}

/// A classic file in the byte order of this function's numbers: little-endian. Frame `n` was
/// captured `n` seconds and 500,000 ticks after 2^30 s.
pub fn pcap(link: u16, nanos: bool, frames: &[Vec<u8>]) -> Vec<u8> {
    let magic: u32 = if nanos { 0xa1b2_3c4d } else { 0xa1b2_c3d4 };
    let mut file = Vec::new();
    for number in [magic, 2 | 4 << 16, 0, 0, 65_535, u32::from(link)] {
        file.extend_from_slice(&number.to_le_bytes());
    }
    for (index, frame) in frames.iter().enumerate() {
        let length = frame.len() as u32;
        for number in [(1 << 30) + index as u32, 500_000, length, length] {
            file.extend_from_slice(&number.to_le_bytes());
        }
        file.extend_from_slice(frame);
    }
    file
}

/// A file in the block format with one interface, whose clock has units of `10^-resolution`
/// seconds, and a block of another kind between the frames.
pub fn pcapng(link: u16, resolution: u8, big_endian: bool, frames: &[Vec<u8>]) -> Vec<u8> {
    let u32s = |numbers: &[u32]| -> Vec<u8> {
        let order = if big_endian {
            u32::to_be_bytes
        } else {
            u32::to_le_bytes
        };
        numbers.iter().flat_map(|number| order(*number)).collect()
    };
    let u16s = |numbers: &[u16]| -> Vec<u8> {
        let order = if big_endian {
            u16::to_be_bytes
        } else {
            u16::to_le_bytes
        };
        numbers.iter().flat_map(|number| order(*number)).collect()
    };
    let block = |kind: u32, mut body: Vec<u8>| -> Vec<u8> {
        body.resize(body.len().next_multiple_of(4), 0);
        let length = u32s(&[body.len() as u32 + 12]);
        [u32s(&[kind]), length.clone(), body, length].concat()
    };
    let section = [
        u32s(&[0x1a2b_3c4d]),
        u16s(&[1, 0]),
        u32s(&[u32::MAX, u32::MAX]),
    ]
    .concat();
    let options = [u16s(&[9, 1]), vec![resolution, 0, 0, 0], u16s(&[0, 0])].concat();
    let interface = [u16s(&[link, 0]), u32s(&[0]), options].concat();
    let mut file = [block(0x0a0d_0d0a, section), block(1, interface)].concat();
    let ticks_per_second = 10_u64.pow(resolution.into());
    for (index, frame) in frames.iter().enumerate() {
        let ticks = ((1 << 30) + index as u64) * ticks_per_second + ticks_per_second / 2 + 1;
        let length = frame.len() as u32;
        let head = u32s(&[0, (ticks >> 32) as u32, ticks as u32, length, length]);
        file.extend(block(6, [head, frame.clone()].concat()));
        file.extend(block(0x7777, vec![1, 2, 3]));
    }
    file
}
