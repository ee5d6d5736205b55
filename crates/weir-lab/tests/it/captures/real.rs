//! Captures of real Linux stacks, decoded, encoded again, and compared with tshark field by field.
//! The files are outside the repository; without them or without tshark, a test prints that it is
//! skipped and passes.

use super::synthetic::{Wire, pcap, pcapng, sample_packets};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use weir_lab::trace::capture::{Capture, DecodedPacket};
use weir_proto::dccp::wire::checksum::ChecksumStatus;
use weir_proto::dccp::wire::{DccpOption, PacketType, SeqNum};

const CCID3: &str = "linux-ccid3-simple.pcap.gz";
const PARTIAL_CHECKSUM: &str = "linux-partial-checksum-v4.pcap";

/// Prints a skipped test on the terminal, bypassing the capture of test output.
fn skip(what: &str) {
    let _ = writeln!(std::io::stderr(), "SKIPPED: {what}");
}

fn shared(name: &str) -> Option<PathBuf> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../../shared/captures")
        .join(name);
    if !path.exists() {
        skip(&format!("{} is not there", path.display()));
    }
    path.exists().then_some(path)
}

/// Calls `check` with every packet and fails on a malformed one. Returns the number of packets.
fn for_each_packet(path: &Path, mut check: impl FnMut(u64, &DecodedPacket<'_>)) -> usize {
    let mut capture = Capture::open(path).expect("a capture");
    let mut count = 0;
    while let Some(row) = capture.next_row().expect("an undamaged file") {
        check(
            row.frame,
            row.content.as_ref().expect("a well-formed packet"),
        );
        count += 1;
    }
    count
}

#[test]
fn every_packet_of_a_real_ccid3_connection_decodes() {
    let Some(path) = shared(CCID3) else { return };
    let mut types = BTreeMap::new();
    let mut feedback = 0;
    let packets = for_each_packet(&path, |frame, row| {
        assert_eq!(row.checksum, ChecksumStatus::Good, "frame {frame}");
        let packet = &row.decoded.packet;
        assert_eq!(
            packet.options.iter_raw().last().is_some(),
            !packet.options.is_empty()
        );
        *types.entry(packet.kind).or_insert(0) += 1;
        feedback += u32::from(
            packet
                .options
                .iter()
                .any(|option| matches!(option, DccpOption::ReceiveRate(_))),
        );
    });
    assert_eq!((packets, feedback), (5311, 2652));
    assert_eq!(types.values().sum::<u32>(), 5311);
    let ends = [
        PacketType::Request,
        PacketType::Response,
        PacketType::Close,
        PacketType::Reset,
    ];
    assert!(
        ends.iter().all(|kind| types.get(kind) == Some(&1)),
        "{types:?}"
    );
}

#[test]
fn partial_checksums_of_a_real_stack_are_right() {
    let Some(path) = shared(PARTIAL_CHECKSUM) else {
        return;
    };
    let mut coverages = Vec::new();
    let packets = for_each_packet(&path, |frame, row| {
        assert_eq!(row.checksum, ChecksumStatus::Good, "frame {frame}");
        coverages.push(row.decoded.packet.cscov);
    });
    assert_eq!(packets, 7);
    assert!(
        coverages.iter().any(|coverage| *coverage > 0),
        "{coverages:?}"
    );
}

/// Twice: unchanged, and with a recomputed checksum.
#[test]
fn real_packets_encode_to_the_same_bytes() {
    for path in [CCID3, PARTIAL_CHECKSUM].into_iter().filter_map(shared) {
        for_each_packet(&path, |frame, row| {
            let mut bytes = Vec::new();
            row.decoded.encode(&mut bytes).expect("a wire form");
            assert_eq!(bytes, row.segment.bytes, "frame {frame}");
            bytes.clear();
            let packet = row.decoded.clone().into_packet();
            packet
                .encode(Some(&row.segment.addresses), &mut bytes)
                .expect("a wire form");
            assert_eq!(bytes, row.segment.bytes, "frame {frame}, new checksum");
        });
    }
}

#[test]
fn tshark_agrees_on_real_captures() {
    for path in [CCID3, PARTIAL_CHECKSUM].into_iter().filter_map(shared) {
        assert_tshark_agrees(&path);
    }
}

/// Cases that are in no real capture: every type, short numbers, every option, every envelope.
#[test]
fn tshark_agrees_on_every_type_option_and_envelope() {
    let folder = tempfile::tempdir().expect("a folder");
    let packets = sample_packets();
    for wire in Wire::ALL {
        let frames: Vec<_> = packets.iter().map(|packet| wire.frame(packet)).collect();
        for (name, file) in [
            ("micro.pcap", pcap(wire.link_type(), false, &frames)),
            ("nano.pcapng", pcapng(wire.link_type(), 9, true, &frames)),
        ] {
            let path = folder.path().join(format!("{wire:?}-{name}"));
            std::fs::write(&path, file).expect("written");
            assert_tshark_agrees(&path);
        }
    }
}

/// The fields requested from tshark; those from `dccp.option_type` on may have many values. A long
/// sequence number is in `seq_raw`, a short one in `seq`.
const FIELDS: [&str; 25] = [
    "frame.number",
    "frame.time_epoch",
    "dccp.srcport",
    "dccp.dstport",
    "dccp.type",
    "dccp.x",
    "dccp.seq_raw",
    "dccp.seq",
    "dccp.ack_raw",
    "dccp.ccval",
    "dccp.cscov",
    "dccp.checksum.status",
    "dccp.service_code",
    "dccp.reset_code",
    "dccp.data_offset",
    "dccp.option_type",
    "dccp.feature_number",
    "dccp.ndp_count",
    "dccp.timestamp",
    "dccp.timestamp_echo",
    "dccp.elapsed_time",
    "dccp.ack_vector.nonce_0",
    "dccp.ack_vector.nonce_1",
    "dccp.ccid3_loss_event_rate",
    "dccp.ccid3_receive_rate",
];

fn assert_tshark_agrees(path: &Path) {
    let mut command = Command::new("tshark");
    command.args([
        "-o",
        "dccp.check_checksum:TRUE",
        "-o",
        "dccp.relative_sequence_numbers:FALSE",
    ]);
    command.args(["-Y", "dccp", "-T", "fields", "-r"]).arg(path);
    for field in FIELDS {
        command.args(["-e", field]);
    }
    let output = match command.output() {
        Ok(output) if output.status.success() => output,
        Ok(output) => panic!("tshark: {}", String::from_utf8_lossy(&output.stderr)),
        Err(error) => return skip(&format!("tshark does not run: {error}")),
    };
    let theirs = String::from_utf8(output.stdout).expect("text");
    let mut ours = String::new();
    let mut capture = Capture::open(path).expect("a capture");
    while let Some(row) = capture.next_row().expect("an undamaged file") {
        let content = row.content.expect("a well-formed packet");
        let time = row.time.map(|time| time.to_string()).unwrap_or_default();
        writeln!(ours, "{}\t{time}\t{}", row.frame, fields(&content)).expect("a string");
    }
    let mut lines = 0;
    for (ours, theirs) in ours.lines().zip(theirs.lines()) {
        assert_eq!(
            ours.trim_end(),
            theirs.trim_end(),
            "{} (ours, then tshark)",
            path.display()
        );
        lines += 1;
    }
    assert_eq!(
        (ours.lines().count(), theirs.lines().count()),
        (lines, lines),
        "{}",
        path.display()
    );
}

/// The fields after number and time, as tshark writes them.
fn fields(row: &DecodedPacket<'_>) -> String {
    let packet = &row.decoded.packet;
    let text = |value: Option<u64>| value.map(|value| value.to_string()).unwrap_or_default();
    let seq = Some(packet.seq.get());
    let checksum = match row.checksum {
        ChecksumStatus::Bad => "0",
        ChecksumStatus::Good => "1",
        ChecksumStatus::None => "2",
    };
    let mut columns = vec![
        packet.source_port.to_string(),
        packet.destination_port.to_string(),
        packet.kind.number().to_string(),
        u8::from(packet.extended).to_string(),
        text(seq.filter(|_| packet.extended)),
        text(seq.filter(|_| !packet.extended)),
        text(packet.ack().map(SeqNum::get)),
        packet.ccval.to_string(),
        packet.cscov.to_string(),
        checksum.to_owned(),
        text(packet.service_code().map(u64::from)),
        text(packet.reset_code().map(u64::from)),
        (packet.header_len() / 4).to_string(),
    ];
    let padding = packet.options.padded_len() - packet.options.len();
    let kinds = packet
        .options
        .iter_raw()
        .map(|option| option.kind.to_string());
    let kinds = kinds.chain(std::iter::repeat_n("0".to_owned(), padding));
    columns.push(kinds.collect::<Vec<_>>().join(","));
    let mut values = vec![Vec::new(); 9];
    for option in &packet.options {
        for (column, value) in option_fields(&option) {
            values[column].push(value);
        }
    }
    columns.extend(values.into_iter().map(|values| values.join(",")));
    columns.join("\t")
}

/// The columns after `dccp.option_type` that an option fills, and their values.
fn option_fields(option: &DccpOption<'_>) -> Vec<(usize, String)> {
    let hex = |data: &[u8]| {
        data.iter()
            .fold(String::new(), |text, octet| text + &format!("{octet:02x}"))
    };
    match *option {
        DccpOption::ChangeL { feature, .. }
        | DccpOption::ChangeR { feature, .. }
        | DccpOption::ConfirmL { feature, .. }
        | DccpOption::ConfirmR { feature, .. } => vec![(0, feature.to_string())],
        DccpOption::NdpCount(count) => vec![(1, count.to_string())],
        DccpOption::Timestamp(time) => vec![(2, time.to_string())],
        DccpOption::TimestampEcho { timestamp, elapsed } => {
            let echo = (3, timestamp.to_string());
            elapsed
                .map(|elapsed| (4, elapsed.to_string()))
                .into_iter()
                .chain([echo])
                .collect()
        }
        DccpOption::ElapsedTime(time) => vec![(4, time.to_string())],
        DccpOption::AckVector { nonce, cells } => vec![(5 + usize::from(nonce), hex(cells))],
        DccpOption::LossEventRate(inverse) => vec![(7, inverse.to_string())],
        DccpOption::ReceiveRate(rate) => vec![(8, rate.to_string())],
        _ => Vec::new(),
    }
}
