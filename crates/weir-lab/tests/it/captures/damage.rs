//! Files that are not captures, are truncated, or have incorrect lengths.

use super::synthetic::{Wire, pcap, pcapng, sample_packets};
use std::io::{Cursor, Read, Write as _};
use std::path::Path;
use weir_lab::trace::capture::{Capture, CaptureError};

/// Reads a file to its end or its first error: the number of rows, and the error.
fn read(file: &[u8]) -> (usize, Option<CaptureError>) {
    read_from(Cursor::new(file.to_vec()))
}

fn read_from(reader: impl Read + 'static) -> (usize, Option<CaptureError>) {
    let mut capture = match Capture::from_reader(reader) {
        Ok(capture) => capture,
        Err(error) => return (0, Some(error)),
    };
    let mut rows = 0;
    loop {
        match capture.next_row() {
            Ok(Some(row)) => {
                assert!(!row.json().to_string().is_empty() && !row.to_string().is_empty());
                rows += 1;
            }
            Ok(None) => return (rows, None),
            Err(error) => return (rows, Some(error)),
        }
    }
}

fn frames() -> Vec<Vec<u8>> {
    sample_packets()
        .iter()
        .map(|packet| Wire::Ethernet.frame(packet))
        .collect()
}

fn gzip(octets: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(octets).unwrap();
    encoder.finish().unwrap()
}

#[test]
fn what_is_no_capture_is_a_usage_error() {
    for (file, says) in [
        (&b""[..], "it has only 0 octets"),
        (b"\xd4\xc3", "it has only 2 octets"),
        (b"{\"frame\": 1}", "it starts with the octets 7b 22 66 72"),
        (
            b"\xd4\xc3\xb2\xa1\x02\x00",
            "a pcap header has 24 octets, here are 6",
        ),
        (
            b"\xd4\xc3\xb2\xa1\x63\x00\x04\x00\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0",
            "pcap version 99",
        ),
        (
            b"\x0a\x0d\x0d\x0a\x1c\0\0\0rubbish!",
            "byte-order magic 72 75 62 62",
        ),
        (b"\x1f\x8b\x08garbage", "gzip"),
    ] {
        let (rows, error) = read(file);
        let error = error.expect("no capture");
        assert!(rows == 0 && error.is_usage(), "{error}");
        assert!(error.to_string().contains(says), "{error}");
    }
    let missing = Capture::open(Path::new("no such file.pcap"))
        .map(|_| ())
        .expect_err("no file");
    assert!(missing.is_usage(), "{missing}");
    let folder = Capture::open(Path::new(env!("CARGO_MANIFEST_DIR"))).map(|_| ());
    assert!(
        folder
            .expect_err("no file")
            .to_string()
            .contains("directory")
    );
}

/// Each prefix of a file gives the rows before the cut and then an error, unless it ends between
/// two frames.
#[test]
fn cut_files_give_what_was_whole_and_then_an_error() {
    let frames = frames();
    for (file, header) in [
        (pcap(1, false, &frames), 24),
        (pcapng(1, 6, false, &frames), 28 + 32),
    ] {
        let whole = read(&file);
        assert!(whole.1.is_none() && whole.0 == frames.len());
        let mut silent = 0;
        for length in header..file.len() {
            let (rows, error) = read(&file[..length]);
            assert!(rows <= frames.len());
            match error {
                Some(error) => {
                    assert!(!error.is_usage());
                    assert!(
                        error.to_string().contains("the file ends inside"),
                        "{error}"
                    );
                }
                None => silent += 1,
            }
        }
        assert!(silent <= 2 * frames.len(), "{silent} cuts went unnoticed");
        let (_, error) = read(&gzip(&file)[..200]);
        assert!(
            error
                .expect("a cut gzip stream")
                .to_string()
                .contains("gzip stream")
        );
    }
}

/// A reader of a prefix followed by endless zeros, of which only a little may be requested.
struct Endless {
    start: Cursor<Vec<u8>>,
    left: usize,
}

impl Read for Endless {
    fn read(&mut self, place: &mut [u8]) -> std::io::Result<usize> {
        let octets = self.start.read(place)?;
        if octets > 0 {
            return Ok(octets);
        }
        place.fill(0);
        self.left = self
            .left
            .checked_sub(place.len())
            .expect("read on without end");
        Ok(place.len())
    }
}

#[test]
fn huge_lengths_are_refused_before_they_are_read() {
    let mut records = Vec::new();
    for length in [u32::MAX, (16 << 20) + 1] {
        let mut file = pcap(1, false, &[]);
        for number in [0, 0, length, length] {
            file.extend_from_slice(&u32::to_le_bytes(number));
        }
        records.push(file);
    }
    for kind in [1_u32, 2, 3, 6, 0x0a0d_0d0a] {
        let mut file = pcapng(1, 6, false, &[]);
        file.extend_from_slice(&kind.to_le_bytes());
        file.extend_from_slice(&0xffff_fff0_u32.to_le_bytes());
        file.extend_from_slice(&0x1a2b_3c4d_u32.to_le_bytes());
        records.push(file);
    }
    for file in records {
        let (rows, error) = read_from(Endless {
            start: Cursor::new(file),
            left: 1 << 20,
        });
        let error = error.expect("an error");
        assert!(rows == 0 && !error.is_usage());
        assert!(
            error.to_string().contains("are the most that is read"),
            "{error}"
        );
    }
}

#[test]
fn blocks_whose_lengths_disagree_are_damage() {
    let frames = frames();
    let file = pcapng(1, 6, false, &frames);
    let mut wrong_end = file.clone();
    wrong_end[28 + 32 - 4] ^= 4;
    let (_, error) = read(&wrong_end);
    let error = error.expect("an error").to_string();
    assert!(
        error.contains("begins with length 32 and ends with 36"),
        "{error}"
    );
    for (length, says) in [
        (8, "12 or more"),
        (33, "multiple of four"),
        (12, "only 0 octets"),
    ] {
        let mut wrong = file[..28 + 8].to_vec();
        wrong[28 + 4] = length;
        wrong.extend_from_slice(&u32::from(length).to_le_bytes());
        let error = read(&wrong).1.expect("an error").to_string();
        assert!(error.contains(says), "{error}");
    }
}

#[test]
fn packets_of_unknown_interfaces_and_false_lengths_are_damage() {
    let frames = frames();
    let file = pcapng(1, 6, false, &frames);
    let start = 28 + 32 + 8;
    let mut interface = file.clone();
    interface[start] = 7;
    let error = read(&interface).1.expect("an error").to_string();
    assert!(
        error.contains("interface 7, which is not described"),
        "{error}"
    );
    let mut captured = file;
    captured[start + 14] = 1;
    let error = read(&captured).1.expect("an error").to_string();
    assert!(error.contains("octets were captured and holds"), "{error}");
}

/// A damaged octet anywhere causes no panic, and reading ends.
#[test]
fn no_single_fault_in_a_file_is_fatal() {
    let frames = &frames()[..4];
    for file in [
        pcap(1, true, frames),
        pcapng(1, 6, true, frames),
        gzip(&pcap(1, true, frames)),
    ] {
        for index in 0..file.len() {
            for mask in [0x01, 0x80, 0xff] {
                let mut faulty = file.clone();
                faulty[index] ^= mask;
                let (rows, error) = read(&faulty);
                assert!(rows <= file.len());
                assert!(error.is_none_or(|error| !error.to_string().is_empty()));
            }
        }
    }
}
