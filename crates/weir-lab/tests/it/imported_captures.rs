//! Captures of other programs, as imported flows: `data/captures/README.md`.

use std::io::Cursor;
use std::path::{Path, PathBuf};
use weir_lab::table::Table;
use weir_lab::trace::capture::Capture;
use weir_lab::trace::import::{Imported, Vantage, read_tcp_capture, read_tcp_capture_from};

fn path(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/captures");
    folder.join(name)
}

fn read(name: &str) -> Imported {
    read_tcp_capture(&path(name)).unwrap()
}

fn has(imported: &Imported, words: &str) -> bool {
    imported.remarks.iter().any(|remark| remark.contains(words))
}

fn count(table: &Table, column: &str, word: &str) -> usize {
    let words = table.words(column).unwrap().iter();
    words.filter(|other| &***other == word).count()
}

#[test]
fn a_download_with_cut_frames_has_its_octets_and_the_round_trips_of_its_timestamps() {
    let imported = read("timestamp.pcap");
    let flow = &imported.flows[0];
    // SYN to SYN/ACK 50.854 ms, SYN/ACK to ACK 0.427 ms: beside the client, which downloads.
    assert_eq!(flow.vantage, Vantage::Receiver);
    assert_eq!(flow.delivered_bytes, Some(1e6));
    let smallest = flow
        .trace
        .table
        .numbers("min_rtt_s")
        .unwrap()
        .last()
        .copied();
    let smallest = smallest.unwrap();
    assert!((0.049..0.06).contains(&smallest), "{smallest}");
    assert_eq!(imported.flows.len(), 1);
    // The handshake is one sample, the echoes of timestamps are the others.
    let mut samples = flow.trace.table.numbers("rtt_s").unwrap().to_vec();
    samples.retain(|sample| !sample.is_nan());
    samples.dedup();
    assert!(samples.len() > 5, "{samples:?}");
}

#[test]
fn packets_that_were_captured_four_times_count_once() {
    let imported = read("ssh-dups.pcap");
    // 377 frames, of which 97 differ.
    assert!(
        has(&imported, "280 packets were captured twice"),
        "{:?}",
        imported.remarks
    );
    let delivered: Vec<_> = imported
        .flows
        .iter()
        .map(|flow| flow.delivered_bytes)
        .collect();
    assert_eq!(delivered, [Some(4273.0), Some(3705.0)]);
    let packets = imported.packets.as_ref().unwrap();
    assert_eq!(count(packets, "content", "retransmission"), 0);
}

#[test]
fn an_upload_with_retransmissions_and_a_hole_in_the_capture_says_so() {
    let imported = read("reassembly.pcap");
    let flow = &imported.flows[0];
    // The last acknowledgement is 33210 numbers after that of the SYN: SYN and FIN are one each.
    // The capture has 28876 different octets.
    assert_eq!(flow.delivered_bytes, Some(33_208.0));
    assert!(has(
        &imported,
        "octets of data were sent that the capture does not have"
    ));
    let packets = imported.packets.as_ref().unwrap();
    let again = count(packets, "content", "retransmission");
    assert!(again >= 10, "{again}");
    // 9.5 ms to the server and 30 ms to the client: between the two.
    assert_eq!(flow.vantage, Vantage::Network);
}

#[test]
fn a_capture_that_ends_inside_a_frame_is_damaged_there() {
    let octets = std::fs::read(path("reassembly.pcap")).unwrap();
    let cut = octets[..octets.len() - 7].to_vec();
    let mut open = || Capture::from_reader(Cursor::new(cut.clone()));
    let error = read_tcp_capture_from(&mut open).unwrap_err().to_string();
    assert!(error.contains("frame 117, octet"), "{error}");
}

#[test]
fn no_octet_of_a_capture_that_is_changed_or_missing_makes_the_import_panic() {
    for name in ["reassembly.pcap", "timestamp.pcap"] {
        let octets = std::fs::read(path(name)).unwrap();
        let import = |octets: Vec<u8>| {
            let mut open = || Capture::from_reader(Cursor::new(octets.clone()));
            let _ = read_tcp_capture_from(&mut open);
        };
        for length in (0..octets.len()).step_by(997) {
            import(octets[..length].to_vec());
        }
        // Each bit of the headers of the first frame.
        for (index, mask) in (40..94).flat_map(|index| (0..8).map(move |mask| (index, mask))) {
            let mut changed = octets[..2000].to_vec();
            changed[index] ^= 1 << mask;
            import(changed);
        }
        for (index, mask) in (24..octets.len()).step_by(211).zip((0..8).cycle()) {
            let mut changed = octets.clone();
            changed[index] ^= 1 << mask;
            import(changed);
        }
    }
}
