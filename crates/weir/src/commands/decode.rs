//! `weir decode`: the DCCP packets of a capture file, one a line.

use clap::Args;
use std::fmt;
use std::io::{self, BufWriter, Write};
use std::path::PathBuf;
use weir_lab::trace::capture::{Capture, Listing, ListingError, ListingFormat};

/// Print every DCCP packet of a capture.
///
/// Reads pcap and pcapng, also packed with gzip: Ethernet with VLAN tags, Linux cooked capture,
/// BSD loopback and raw IP; IPv4, IPv6; DCCP itself and DCCP in UDP.
#[derive(Args, Clone, Debug)]
pub struct DecodeArgs {
    /// Capture file; `-` reads standard input.
    file: PathBuf,
    /// UDP port of DCCP
    #[arg(long, short, default_value_t = weir_wire::DEFAULT_PORT)]
    port: u16,
    /// Print one JSON object a line.
    #[arg(long)]
    json: bool,
}

/// Why not everything was printed.
#[derive(Debug)]
pub struct DecodeError {
    file: PathBuf,
    cause: ListingError,
}

/// Prints the packets to `out`; the returned counts are talk for standard error.
///
/// # Errors
/// [`DecodeError`]; what came before a fault of the file has been printed.
pub fn run(args: &DecodeArgs, out: &mut dyn Write) -> Result<Listing, DecodeError> {
    let form = if args.json {
        ListingFormat::JsonLines
    } else {
        ListingFormat::Text
    };
    let capture = Capture::open(&args.file).map_err(ListingError::Capture);
    let listing = capture.and_then(|mut capture| {
        capture.set_udp_port(args.port);
        capture.list(form, &mut BufWriter::new(out))
    });
    listing.map_err(|cause| DecodeError {
        file: args.file.clone(),
        cause,
    })
}

impl DecodeError {
    /// 2 if the file is not there or no capture, else 1; `None` for a closed pipe, which is no
    /// failure.
    pub fn exit_code(&self) -> Option<u8> {
        match &self.cause {
            ListingError::Capture(error) => Some(1 + u8::from(error.is_usage())),
            ListingError::Write(error) if error.kind() == io::ErrorKind::BrokenPipe => None,
            ListingError::Write(_) => Some(1),
        }
    }
}

impl fmt::Display for DecodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.cause {
            ListingError::Capture(error) => write!(f, "{}: {error}", self.file.display()),
            ListingError::Write(error) => write!(f, "cannot write the packets: {error}"),
        }
    }
}

impl std::error::Error for DecodeError {}

#[cfg(test)]
mod tests {
    use super::*;
    use weir_lab::trace::capture::CaptureError;

    /// Raw IPv4 with two frames: a DCCP Ack with a wrong checksum, and a reserved packet type.
    fn small_capture() -> Vec<u8> {
        let mut file = Vec::new();
        for number in [0xa1b2_c3d4_u32, 2 | 4 << 16, 0, 0, 65_535, 101] {
            file.extend_from_slice(&number.to_le_bytes());
        }
        for kind in [3_u8, 13] {
            for number in [7_u32, 1, 44, 44] {
                file.extend_from_slice(&number.to_le_bytes());
            }
            let ip = [
                0x45, 0, 0, 44, 0, 0, 0, 0, 64, 33, 0, 0, 127, 0, 0, 1, 127, 0, 0, 1,
            ];
            file.extend_from_slice(&ip);
            let generic = [0, 1, 0, 2, 6, 0, 0, 0, kind << 1 | 1, 0, 0, 0, 0, 0, 0, 5];
            file.extend_from_slice(&generic);
            file.extend_from_slice(&[0, 0, 0, 0, 0, 0, 0, 4]);
        }
        file
    }

    fn decode(json: bool, file: &[u8]) -> (Result<Listing, DecodeError>, String) {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("small.pcap");
        std::fs::write(&path, file).expect("written");
        let mut out = Vec::new();
        let result = run(
            &DecodeArgs {
                file: path,
                port: weir_wire::DEFAULT_PORT,
                json,
            },
            &mut out,
        );
        (result, String::from_utf8(out).expect("text"))
    }

    #[test]
    fn prints_one_json_object_a_line() {
        let (listing, out) = decode(true, &small_capture());
        assert_eq!(
            out,
            "{\"frame\":1,\"time_s\":7.000001000,\"type\":\"Ack\",\"x\":1,\"seq\":5,\"ack\":4,\
             \"ccval\":0,\"cscov\":0,\"checksum\":\"bad\",\"options\":[],\"service_code\":null,\
             \"reset_code\":null,\"payload_len\":0}\n\
             {\"frame\":2,\"malformed\":\"packet type 13 is reserved\"}\n"
        );
        let talk = listing.expect("an undamaged file").to_string();
        let expected = "1 DCCP packets in 2 frames, 1 with a wrong checksum, 1 malformed";
        assert_eq!(talk, expected);
    }

    #[test]
    fn a_cut_file_gives_its_packets_and_exit_1() {
        let file = small_capture();
        let (result, out) = decode(false, &file[..file.len() - 1]);
        let error = result.expect_err("a cut file");
        assert_eq!((error.exit_code(), out.lines().count()), (Some(1), 1));
        assert!(
            error
                .to_string()
                .contains("small.pcap: is damaged after frame 1"),
            "{error}"
        );
    }

    #[test]
    fn what_is_no_capture_is_exit_2() {
        let (result, out) = decode(false, b"no capture at all");
        let error = result.expect_err("no capture");
        assert_eq!((error.exit_code(), out.as_str()), (Some(2), ""));
        let args = DecodeArgs {
            file: "no such file.pcap".into(),
            port: weir_wire::DEFAULT_PORT,
            json: true,
        };
        let error = run(&args, &mut Vec::new()).expect_err("no file");
        assert_eq!(error.exit_code(), Some(2));
        assert!(
            error
                .to_string()
                .starts_with("no such file.pcap: cannot be opened"),
            "{error}"
        );
    }

    #[test]
    fn a_closed_pipe_is_no_failure() {
        let cause = ListingError::Write(io::ErrorKind::BrokenPipe.into());
        assert_eq!(
            DecodeError {
                file: "-".into(),
                cause
            }
            .exit_code(),
            None
        );
        let cause = ListingError::Capture(CaptureError::Open(io::ErrorKind::NotFound.into()));
        assert_eq!(
            DecodeError {
                file: "-".into(),
                cause
            }
            .exit_code(),
            Some(2)
        );
    }
}
