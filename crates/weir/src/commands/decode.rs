//! `weir decode`: the DCCP packets of a capture file, one a line.

use crate::exit::Failure;
use crate::terminal;
use clap::Args;
use std::io::{BufWriter, ErrorKind, Write};
use std::path::{Path, PathBuf};
use weir_lab::trace::capture::{Capture, Listing, ListingError, ListingFormat};

/// Print every DCCP packet of a capture.
///
/// Reads pcap and pcapng, also packed with gzip: Ethernet with VLAN tags, Linux cooked capture,
/// BSD loopback and raw IP; IPv4, IPv6; DCCP itself and DCCP in UDP.
#[derive(Args, Clone, Debug)]
pub struct Arguments {
    /// Capture file; `-` reads standard input.
    file: PathBuf,
    /// UDP port of DCCP
    #[arg(long, short, default_value_t = weir_wire::DEFAULT_PORT)]
    port: u16,
    /// Print one JSON object a line.
    #[arg(long = "json")]
    json_lines: bool,
}

/// Prints the packets on stdout and their counts on stderr.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let counts = list(arguments, &mut anstream::stdout().lock())?;
    terminal::status(&counts.to_string());
    Ok(())
}

/// Prints the packets to `out`, including those before damage of the file.
fn list(arguments: &Arguments, out: &mut dyn Write) -> Result<Listing, Failure> {
    let form = if arguments.json_lines {
        ListingFormat::JsonLines
    } else {
        ListingFormat::Text
    };
    let capture = Capture::open(&arguments.file).map_err(ListingError::Capture);
    let listing = capture.and_then(|mut capture| {
        capture.set_udp_port(arguments.port);
        capture.list(form, &mut BufWriter::new(out))
    });
    listing.map_err(|error| failure(&arguments.file, error))
}

/// A missing file or one that is not a capture is a usage error, a damaged one is a failure.
fn failure(file: &Path, error: ListingError) -> Failure {
    match error {
        ListingError::Capture(error) => {
            let message = format!("{}: {error}", file.display());
            if error.is_usage() {
                Failure::Usage(message)
            } else {
                Failure::Failed(message)
            }
        }
        ListingError::Write(error) if error.kind() == ErrorKind::BrokenPipe => Failure::ClosedPipe,
        ListingError::Write(error) => Failure::Failed(format!("cannot write the packets: {error}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use weir_lab::trace::capture::CaptureError;

    /// Raw IPv4 with two frames: a DCCP Ack with an incorrect checksum, and a reserved packet type.
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

    fn decode(json_lines: bool, file: &[u8]) -> (Result<Listing, Failure>, String) {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("small.pcap");
        std::fs::write(&path, file).expect("written");
        let mut out = Vec::new();
        let arguments = Arguments {
            file: path,
            port: weir_wire::DEFAULT_PORT,
            json_lines,
        };
        let result = list(&arguments, &mut out);
        (result, String::from_utf8(out).expect("text"))
    }

    #[test]
    fn prints_one_json_object_a_line() {
        let (listing, out) = decode(true, &small_capture());
        assert_eq!(
            out,
            "{\"frame\":1,\"time_s\":7.000001000,\"type\":\"Ack\",\"x\":1,\"seq\":5,\"ack\":4,\
             \"ccval\":0,\"cscov\":0,\"checksum\":\"bad\",\"options\":[],\"service_code\":null,\
             \"reset_code\":null,\"payload_len\":0,\"source\":\"127.0.0.1\",\"source_port\":1,\
             \"destination\":\"127.0.0.1\",\"destination_port\":2,\"udp_source_port\":null,\
             \"udp_destination_port\":null}\n\
             {\"frame\":2,\"malformed\":\"packet type 13 is reserved\"}\n"
        );
        let counts = listing.expect("an undamaged file").to_string();
        let expected = "1 DCCP packets in 2 frames, 1 with a wrong checksum, 1 malformed";
        assert_eq!(counts, expected);
    }

    #[test]
    fn a_cut_file_gives_its_packets_and_exit_1() {
        let file = small_capture();
        let (result, out) = decode(false, &file[..file.len() - 1]);
        let Err(Failure::Failed(message)) = result else {
            panic!("expected status 1");
        };
        assert_eq!(out.lines().count(), 1);
        let damage = "small.pcap: is damaged after frame 1";
        assert!(message.contains(damage), "{message}");
    }

    #[test]
    fn what_is_no_capture_is_exit_2() {
        let (result, out) = decode(false, b"no capture at all");
        assert!(matches!(result, Err(Failure::Usage(_))) && out.is_empty());
        let arguments = Arguments {
            file: "no such file.pcap".into(),
            port: weir_wire::DEFAULT_PORT,
            json_lines: true,
        };
        let Err(Failure::Usage(message)) = list(&arguments, &mut Vec::new()) else {
            panic!("expected status 2");
        };
        let start = "no such file.pcap: cannot be opened";
        assert!(message.starts_with(start), "{message}");
    }

    #[test]
    fn a_closed_pipe_is_no_failure() {
        let file = Path::new("-");
        let error = ListingError::Write(ErrorKind::BrokenPipe.into());
        assert!(matches!(failure(file, error), Failure::ClosedPipe));
        let error = ListingError::Capture(CaptureError::Open(ErrorKind::NotFound.into()));
        assert!(matches!(failure(file, error), Failure::Usage(_)));
    }
}
