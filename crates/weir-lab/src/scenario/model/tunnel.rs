//! `[[tunnel]]`: a hop between two hosts over an outer connection with a congestion control of its
//! own.

use super::{Flow, TwoHosts};
use crate::scenario::transport::Transport;
use weir_net::QueueConfig;
use weir_net::app::Delivery;
use weir_proto::packet::IpHeader;
use weir_proto::settings::{bytes, name, or_word};
use weir_proto::{keywords, quic, settings};

/// The MTU inside a stream, which takes packets of any size: that of Ethernet.
const STREAM_MTU: u32 = 1500;

keywords! {
    /// How a tunnel carries packets.
    #[derive(Default)]
    pub enum TunnelMode {
        /// Each packet in a datagram of its own: it may be lost.
        #[default]
        Datagram = "datagram",
        /// One packet after the other in a stream: a loss holds all of them back.
        Stream = "stream",
    }
}

settings! {
    /// A hop between two hosts over an outer connection with a congestion control of its own. Of
    /// paths with equally few hops that over a tunnel is taken; the outer connection itself uses no
    /// tunnel.
    #[derive(Clone, Debug, PartialEq)]
    pub struct Tunnel {
        /// The name that traces and options use: of the outer connection, which is recorded like a
        /// flow, and of the queues at its ends, which are recorded like those of a link: NAME at
        /// the first host and NAME.backward at the second.
        pub name: String [required] => name(),
        /// The two hosts that it joins, such as ["laptop", "proxy"]. The first opens the connection
        /// when the run starts, and is the sender whose window and rate are recorded.
        pub between: [String; 2] [required] => TwoHosts,
        /// The protocol of the outer connection: "quic", "dccp" or "udp" for datagrams, "quic" or
        /// "tcp" for a stream. What a stream buffers (`send_queue_limit`, `send_buffer`) waits in
        /// front of what `queue` holds.
        pub transport: Transport [required],
        /// How it carries packets.
        pub mode: TunnelMode,
        /// Where packets wait for the outer connection, at both ends.
        pub queue: QueueConfig,
        /// Largest packet inside in bytes, IP header included; larger ones are dropped. "auto" is
        /// what fits a datagram, and 1500 in a stream.
        pub mtu: Option<u32> => or_word("auto", bytes(68..=65_535)),
        /// Bytes that the tunnel adds to each packet, such as the two of the identifiers in front
        /// of an HTTP datagram or of a length in a stream.
        pub overhead: u32 = 2 => bytes(0..=1000),
    }
}

impl Tunnel {
    /// The names of the traces of its two queues.
    pub fn trace_names(&self) -> [String; 2] {
        [self.name.clone(), format!("{}.backward", self.name)]
    }

    /// How the outer connection delivers.
    pub fn delivery(&self) -> Delivery {
        match self.mode {
            TunnelMode::Datagram => Delivery::Datagrams,
            TunnelMode::Stream => Delivery::Stream,
        }
    }

    /// True if the transport can carry packets in this mode.
    pub(in crate::scenario) const fn is_possible(&self) -> bool {
        match self.mode {
            TunnelMode::Datagram => matches!(
                self.transport,
                Transport::Quic(_) | Transport::Dccp(_) | Transport::Udp(_)
            ),
            TunnelMode::Stream => matches!(self.transport, Transport::Quic(_) | Transport::Tcp(_)),
        }
    }

    /// The outer connection as a flow.
    pub(crate) fn outer_flow(&self) -> Flow {
        let [from, to] = self.between.clone();
        let mut transport = self.transport.clone();
        if let Transport::Quic(quic) = &mut transport {
            quic.config.datagrams.carry_writes = self.mode == TunnelMode::Datagram;
        }
        Flow {
            name: self.name.clone(),
            from,
            to,
            transport,
            ..Flow::default()
        }
    }

    /// Bytes of the largest packet that fits a datagram on a path with this MTU; `None` in a
    /// stream.
    pub(in crate::scenario) fn fits_datagram(&self, path_mtu: u32) -> Option<u32> {
        let payload = match (&self.transport, self.mode) {
            (_, TunnelMode::Stream) => return None,
            (Transport::Quic(quic), _) => quic::Config {
                mtu: path_mtu,
                ..quic.config.clone()
            }
            .max_datagram_payload(),
            (Transport::Dccp(dccp), _) => dccp.config(path_mtu, 0).max_payload(),
            _ => path_mtu.saturating_sub(IpHeader::V4_OCTETS + IpHeader::UDP_OCTETS),
        };
        Some(payload.saturating_sub(self.overhead))
    }

    /// The MTU inside, if that of the outer connection's path is this.
    pub(crate) fn inner_mtu(&self, path_mtu: u32) -> u32 {
        let auto = || self.fits_datagram(path_mtu).unwrap_or(STREAM_MTU);
        self.mtu.unwrap_or_else(auto)
    }
}
