//! A whole file as lines.

use super::synthetic::{Wire, pcap, sample_packets};
use std::io::{Cursor, Write};
use weir_lab::trace::capture::{Capture, Listing, ListingError, ListingFormat};

/// Three packets: valid, with an incorrect checksum, malformed; and a frame of another protocol.
fn file() -> Vec<u8> {
    let good = Wire::RawV4.frame(&sample_packets()[0]);
    let mut bad = good.clone();
    *bad.last_mut().unwrap() ^= 1;
    let mut malformed = good.clone();
    malformed[20 + 8] = 0xff;
    let other = Wire::RawV4.envelop(6, &[0; 20]);
    pcap(101, false, &[good, other, bad, malformed])
}

fn open(file: Vec<u8>) -> Capture {
    Capture::from_reader(Cursor::new(file)).expect("a capture")
}

#[test]
fn writes_a_line_for_each_packet_and_counts() {
    for form in [ListingFormat::Text, ListingFormat::JsonLines] {
        let mut out = Vec::new();
        let listing = open(file())
            .list(form, &mut out)
            .expect("an undamaged file");
        let expected = Listing {
            frames: 4,
            packets: 2,
            bad_checksums: 1,
            malformed: 1,
        };
        assert_eq!(listing, expected);
        let text = String::from_utf8(out).expect("text");
        assert_eq!(text.lines().count(), 3);
        assert!(text.contains("malformed"));
    }
}

#[test]
fn what_came_before_a_fault_is_written() {
    let mut cut = file();
    cut.pop();
    let mut out = Vec::new();
    let error = open(cut)
        .list(ListingFormat::JsonLines, &mut out)
        .expect_err("a cut file");
    assert!(matches!(error, ListingError::Capture(_)), "{error}");
    assert_eq!(String::from_utf8(out).expect("text").lines().count(), 2);
}

struct ClosedPipe;

impl Write for ClosedPipe {
    fn write(&mut self, _: &[u8]) -> std::io::Result<usize> {
        Err(std::io::ErrorKind::BrokenPipe.into())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_closed_pipe_ends_the_listing() {
    let error = open(file())
        .list(ListingFormat::Text, &mut ClosedPipe)
        .expect_err("a closed pipe");
    let ListingError::Write(error) = error else {
        panic!("{error}")
    };
    assert_eq!(error.kind(), std::io::ErrorKind::BrokenPipe);
}
