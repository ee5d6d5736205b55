//! What the kernel tells of a TCP connection: `struct tcp_info` of linux/tcp.h, asked for by
//! sock_diag(7), with which `ss -i` asks too.

use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, netlink, recv, send, socket_with,
};
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::OwnedFd;
use std::time::Duration;

/// `SOCK_DIAG_BY_FAMILY`.
const BY_FAMILY: u16 = 20;
/// `NLM_F_REQUEST`.
const REQUEST: u16 = 1;
/// `NLMSG_ERROR`.
const ERROR: u16 = 2;
/// `INET_DIAG_INFO`: the attribute that is `struct tcp_info`.
const INFO: u16 = 2;
/// Octets of `struct nlmsghdr`, `struct inet_diag_req_v2` and `struct inet_diag_msg`.
const HEADER_OCTETS: usize = 16;
const REQUEST_OCTETS: usize = 56;
const MESSAGE_OCTETS: usize = 72;
/// `TCP_SYN_SENT`, `TCP_SYN_RECV`, `TCP_TIME_WAIT`, `TCP_CLOSE`, `TCP_LISTEN` and
/// `TCP_NEW_SYN_RECV`.
const UNOPENED: [u8; 6] = [2, 3, 6, 7, 10, 12];
/// `TCP_INFINITE_SSTHRESH`.
const NO_THRESHOLD: u32 = 0x7fff_ffff;

/// `tcpi_ca_state`: what a sender makes of its losses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CongestionState {
    /// `TCP_CA_Open` and `TCP_CA_Disorder`: nothing is lost.
    #[default]
    Open,
    /// `TCP_CA_CWR` and `TCP_CA_Recovery`: the window is being reduced.
    Recovery,
    /// `TCP_CA_Loss`: the retransmission timer has expired.
    Loss,
}

/// The fields of `struct tcp_info` that describe sending and receiving.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TcpInfo {
    /// What the sender makes of its losses.
    pub congestion_state: CongestionState,
    /// Octets of payload of a full segment.
    pub segment_size: u32,
    /// Segments in flight: those sent, less those acknowledged, SACKed and lost.
    pub in_flight: u32,
    /// The smoothed round-trip time.
    pub smoothed_rtt: Duration,
    /// The congestion window in segments.
    pub cwnd: u32,
    /// The slow-start threshold in segments; `None` before the first reduction.
    pub ssthresh: Option<u32>,
    /// Segments sent again.
    pub retransmitted: u32,
    /// Expiries of the retransmission timer.
    pub timeouts: u32,
    /// Segments sent, those without payload included.
    pub segments_sent: u32,
    /// Of these, the ones with payload, those sent again included.
    pub data_segments_sent: u32,
    /// Segments received.
    pub segments_received: u32,
    /// Of these, the ones with payload.
    pub data_segments_received: u32,
    /// Octets of payload received in order.
    pub bytes_received: u64,
    /// Segments that acknowledgements have shown to have arrived.
    pub delivered: u32,
    /// The window that the peer advertises, in octets.
    pub peer_window: u32,
    /// The time in which the send buffer held the sender back.
    pub send_buffer_limited: Duration,
}

impl TcpInfo {
    /// Parses the structure, of which older kernels have a shorter form.
    fn parse(octets: &[u8]) -> Option<Self> {
        let word = |at: usize| {
            octets
                .get(at..)?
                .first_chunk()
                .map(|c| u32::from_ne_bytes(*c))
        };
        let long = |at: usize| {
            octets
                .get(at..)?
                .first_chunk()
                .map(|c| u64::from_ne_bytes(*c))
        };
        let short = |at: usize| {
            octets
                .get(at..)?
                .first_chunk()
                .map(|c| u16::from_ne_bytes(*c))
        };
        let micros = |value: u64| Duration::from_micros(value);
        let [unacked, sacked, lost, retrans] = [word(24)?, word(28)?, word(32)?, word(36)?];
        Some(Self {
            congestion_state: match octets.get(1)? {
                0 | 1 => CongestionState::Open,
                4 => CongestionState::Loss,
                _ => CongestionState::Recovery,
            },
            segment_size: word(16)?,
            in_flight: unacked
                .saturating_add(retrans)
                .saturating_sub(sacked.saturating_add(lost)),
            smoothed_rtt: micros(word(68)?.into()),
            ssthresh: word(76).filter(|threshold| *threshold < NO_THRESHOLD),
            cwnd: word(80)?,
            retransmitted: word(100)?,
            bytes_received: long(128)?,
            segments_sent: word(136)?,
            segments_received: word(140)?,
            data_segments_received: word(152)?,
            data_segments_sent: word(156)?,
            send_buffer_limited: micros(long(184).unwrap_or_default()),
            delivered: word(192)?,
            peer_window: word(228).unwrap_or_default(),
            timeouts: short(240).unwrap_or_default().into(),
        })
    }
}

/// A socket that asks the kernel about the TCP connections of its network namespace.
#[derive(Debug)]
pub struct SocketDiagnostics {
    socket: OwnedFd,
}

impl SocketDiagnostics {
    /// A socket in the network namespace of the calling thread.
    ///
    /// # Errors
    /// If the kernel has no sock_diag(7).
    pub fn open() -> io::Result<Self> {
        let socket = socket_with(
            AddressFamily::NETLINK,
            SocketType::DGRAM,
            SocketFlags::CLOEXEC,
            Some(netlink::SOCK_DIAG),
        )?;
        Ok(Self { socket })
    }

    /// The state of the connection between these addresses; `None` if none is open.
    ///
    /// # Errors
    /// If the kernel refuses to answer.
    pub fn tcp_info(&self, local: SocketAddr, remote: SocketAddr) -> io::Result<Option<TcpInfo>> {
        send(&self.socket, &request(local, remote), SendFlags::empty())?;
        let mut buffer = [0_u8; 4096];
        let (_, len) = recv(&self.socket, &mut buffer[..], RecvFlags::empty())?;
        answer(buffer.get(..len).unwrap_or_default())
    }
}

/// The question about one connection.
fn request(local: SocketAddr, remote: SocketAddr) -> Vec<u8> {
    const TCP: u8 = 6;
    let family = match local {
        SocketAddr::V4(_) => AddressFamily::INET,
        SocketAddr::V6(_) => AddressFamily::INET6,
    };
    let mut octets = Vec::with_capacity(HEADER_OCTETS + REQUEST_OCTETS);
    octets.extend(((HEADER_OCTETS + REQUEST_OCTETS) as u32).to_ne_bytes());
    octets.extend(BY_FAMILY.to_ne_bytes());
    octets.extend(REQUEST.to_ne_bytes());
    // The sequence number and the port, which the kernel fills in.
    octets.extend([0; 8]);
    octets.extend([family.as_raw() as u8, TCP, 1 << (INFO - 1), 0]);
    // Connections in any state.
    octets.extend(u32::MAX.to_ne_bytes());
    octets.extend(local.port().to_be_bytes());
    octets.extend(remote.port().to_be_bytes());
    for address in [local.ip(), remote.ip()] {
        let mut field = [0; 16];
        match address {
            IpAddr::V4(four) => field[..4].copy_from_slice(&four.octets()),
            IpAddr::V6(six) => field = six.octets(),
        }
        octets.extend(field);
    }
    // Any device; no cookie (`INET_DIAG_NOCOOKIE`).
    octets.extend([0; 4]);
    octets.extend([u8::MAX; 8]);
    octets
}

/// Parses the kernel's answer.
fn answer(octets: &[u8]) -> io::Result<Option<TcpInfo>> {
    let broken = || io::Error::new(io::ErrorKind::InvalidData, "an answer without a tcp_info");
    let short = |at: usize| {
        let found = octets.get(at..).and_then(<[u8]>::first_chunk);
        found.map(|c| u16::from_ne_bytes(*c)).ok_or_else(broken)
    };
    if short(4)? == ERROR {
        let code = octets.get(HEADER_OCTETS..).and_then(<[u8]>::first_chunk);
        let code = code.map_or(0, |code| i32::from_ne_bytes(*code));
        let error = rustix::io::Errno::from_raw_os_error(-code);
        return match error {
            rustix::io::Errno::NOENT => Ok(None),
            error => Err(error.into()),
        };
    }
    // A listening socket answers for a connection that is not open yet.
    if octets
        .get(HEADER_OCTETS + 1)
        .is_some_and(|state| UNOPENED.contains(state))
    {
        return Ok(None);
    }
    let mut at = HEADER_OCTETS + MESSAGE_OCTETS;
    while at < octets.len() {
        // An attribute: its length with these four octets, its kind, its content.
        let (len, kind) = (usize::from(short(at)?), short(at + 2)?);
        if kind == INFO {
            let content = octets.get(at + 4..at + len).ok_or_else(broken)?;
            return TcpInfo::parse(content).map(Some).ok_or_else(broken);
        }
        at += len.max(4).next_multiple_of(4);
    }
    Err(broken())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read as _, Write as _};
    use std::net::{TcpListener, TcpStream};

    /// A structure of 6.18 with these numbers at these places.
    fn structure(words: &[(usize, u32)], longs: &[(usize, u64)]) -> Vec<u8> {
        let mut octets = vec![0; 248];
        for (at, word) in words {
            octets[*at..at + 4].copy_from_slice(&word.to_ne_bytes());
        }
        for (at, long) in longs {
            octets[*at..at + 8].copy_from_slice(&long.to_ne_bytes());
        }
        octets
    }

    #[test]
    fn fields_are_where_the_kernels_header_has_them() {
        // linux/tcp.h: eight octets, 24 words from tcpi_rto on, tcpi_pacing_rate at 104.
        let words = [
            (16, 1460),
            (24, 20),
            (28, 5),
            (32, 3),
            (36, 2),
            (68, 40_500),
            (76, 7),
            (80, 14),
            (100, 9),
            (136, 120),
            (140, 61),
            (152, 62),
            (156, 118),
            (192, 99),
            (228, 65_535),
            (240, 4),
        ];
        let mut octets = structure(&words, &[(128, 77), (184, 2_000_000)]);
        octets[1] = 3;
        let expected = TcpInfo {
            congestion_state: CongestionState::Recovery,
            segment_size: 1460,
            // tcp_packets_in_flight(): 20 - (5 + 3) + 2.
            in_flight: 14,
            smoothed_rtt: Duration::from_micros(40_500),
            cwnd: 14,
            ssthresh: Some(7),
            retransmitted: 9,
            timeouts: 4,
            segments_sent: 120,
            data_segments_sent: 118,
            segments_received: 61,
            data_segments_received: 62,
            bytes_received: 77,
            delivered: 99,
            peer_window: 65_535,
            send_buffer_limited: Duration::from_secs(2),
        };
        assert_eq!(TcpInfo::parse(&octets), Some(expected));
        let infinite = structure(&[(76, NO_THRESHOLD)], &[]);
        assert_eq!(
            TcpInfo::parse(&infinite).map(|info| info.ssthresh),
            Some(None)
        );
        for len in 0..196 {
            assert_eq!(TcpInfo::parse(&octets[..len]), None, "{len}");
        }
    }

    #[test]
    fn a_question_has_the_addresses_in_network_order() {
        let [near, far] = [1, 2].map(|n| SocketAddr::from(([10, 0, 0, n], 256 + u16::from(n))));
        let octets = request(near, far);
        assert_eq!(octets.len(), 72);
        assert_eq!(octets[16..20], [2, 6, 2, 0]);
        assert_eq!(octets[24..28], [1, 1, 1, 2]);
        assert_eq!(
            (&octets[28..32], &octets[44..48]),
            (&[10, 0, 0, 1][..], &[10, 0, 0, 2][..])
        );
    }

    #[test]
    fn no_answer_makes_it_panic_and_a_missing_connection_is_no_error() {
        let mut octets = vec![0; 20];
        octets[4..6].copy_from_slice(&ERROR.to_ne_bytes());
        octets[16..20].copy_from_slice(&(-2_i32).to_ne_bytes());
        assert_eq!(answer(&octets).expect("no error"), None);
        octets[16..20].copy_from_slice(&(-1_i32).to_ne_bytes());
        let error = answer(&octets).expect_err("not permitted");
        assert_eq!(error.kind(), io::ErrorKind::PermissionDenied);
        for len in 0..200 {
            for fill in [0, 1, 255] {
                let _ = answer(&vec![fill; len]);
            }
        }
    }

    #[test]
    fn the_kernel_tells_of_a_connection_over_loopback() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("loopback is there");
        let mut near =
            TcpStream::connect(listener.local_addr().expect("bound")).expect("it listens");
        let (mut far, from) = listener.accept().expect("it was opened");
        near.write_all(&[7; 1000]).expect("there is room");
        far.read_exact(&mut [0; 1000]).expect("it came");
        let Ok(diagnostics) = SocketDiagnostics::open() else {
            return;
        };
        let to = listener.local_addr().expect("bound");
        let info = diagnostics
            .tcp_info(from, to)
            .expect("an answer")
            .expect("it exists");
        assert_eq!((info.data_segments_sent, info.retransmitted), (1, 0));
        let info = diagnostics
            .tcp_info(to, from)
            .expect("an answer")
            .expect("it exists");
        assert_eq!(
            (info.bytes_received, info.data_segments_received),
            (1000, 1)
        );
        let unopened = SocketAddr::from(([127, 0, 0, 1], 9));
        assert_eq!(
            diagnostics.tcp_info(unopened, from).expect("an answer"),
            None
        );
        let other = SocketAddr::from(([127, 0, 0, 1], 1));
        let listening = diagnostics.tcp_info(to, other).expect("an answer");
        assert_eq!(listening, None, "a listening socket");
    }
}
