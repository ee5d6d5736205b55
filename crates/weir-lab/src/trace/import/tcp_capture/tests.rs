//! Runs of our own, captured and read again.

mod stalls;

use super::super::captured_run::captured_run;
use super::*;
use crate::run::RunOutput;
use crate::table::Table;

/// A run of a scenario and the flow of its capture at a host, or at both.
struct Pair {
    run: RunOutput,
    imported: Imported,
}

fn pair(text: &str, host: Option<&str>) -> Pair {
    let (run, file) = captured_run(text, host, 96);
    let imported = read_tcp_capture(file.path()).unwrap();
    Pair { run, imported }
}

impl Pair {
    fn own(&self) -> &Table {
        &self.run.flows[0].table
    }

    fn read(&self) -> &Table {
        &self.imported.flows[0].trace.table
    }

    /// The octets that the run delivered, and those that the import finds.
    fn delivered(&self) -> [f64; 2] {
        [self.own(), self.read()].map(|table| *numbers(table, "delivered_bytes").last().unwrap())
    }

    /// For each row of the run, the values of a column in the run and in the import at that time.
    fn beside(&self, column: &str) -> Vec<[f64; 3]> {
        let times = numbers(self.read(), "time_s");
        let values = numbers(self.read(), column);
        let own = numbers(self.own(), column);
        let rows = numbers(self.own(), "time_s").into_iter().zip(own);
        let beside = rows.filter_map(|(time, value)| {
            let row = times.partition_point(|other| *other <= time + 1e-9);
            Some([time, value, values[row.checked_sub(1)?]])
        });
        beside.collect()
    }

    fn events(&self, event: &str) -> [Vec<f64>; 2] {
        [
            &self.run.flows[0].events,
            &self.imported.flows[0].trace.events,
        ]
        .map(|events| {
            let events = events.as_ref().unwrap();
            rows(events, |row| {
                events.words("event").unwrap()[row].as_ref() == event
                    && events.words("place").unwrap()[row].as_ref() == "sender"
            })
        })
    }

    fn lost(&self) -> [Vec<f64>; 2] {
        [&self.run.packets, &self.imported.packets].map(|packets| {
            let packets = packets.as_ref().unwrap();
            rows(packets, |row| {
                &*packets.words("event").unwrap()[row] == "lost"
            })
        })
    }
}

fn numbers(table: &Table, column: &str) -> Vec<f64> {
    table.as_numbers(column).unwrap().into_owned()
}

/// The times of rows.
fn rows(table: &Table, is_wanted: impl Fn(usize) -> bool) -> Vec<f64> {
    let times = table.numbers("time_s").unwrap().iter().enumerate();
    times
        .filter(|(row, _)| is_wanted(*row))
        .map(|(_, time)| *time)
        .collect()
}

/// The values of this column that differ between run and import.
fn differing(pair: &Pair, column: &str, by: f64) -> Vec<[f64; 3]> {
    let all = pair.beside(column);
    assert!(!all.is_empty(), "{column}");
    let differs = |[_, own, read]: &[f64; 3]| !((own - read).abs() <= by || own.is_nan());
    all.into_iter().filter(differs).collect()
}

fn scenario(link: &str, flow: &str) -> String {
    format!(
        r#"
        run = {{ duration = "20s", seed = 3 }}
        [[link]]
        name = "wire"
        between = ["a", "b"]
        rate = "10Mbit"
        delay = "20ms"
        {link}
        [[flow]]
        name = "bulk"
        from = "a"
        to = "b"
        {flow}
        "#
    )
}

const CUBIC: &str = r#"transport = { kind = "tcp", controller = "cubic" }"#;

#[test]
fn a_lossy_run_comes_back_with_its_round_trips_losses_and_octets() {
    let lossy = scenario(r#"loss = { kind = "random", rate = 0.01 }"#, CUBIC);
    let pair = pair(&lossy, None);
    assert_eq!(pair.imported.flows[0].vantage, Vantage::Sender);
    let [own, read] = pair.delivered();
    assert_eq!(own, read);
    for column in ["rtt_s", "smoothed_rtt_s", "min_rtt_s"] {
        assert_eq!(differing(&pair, column, 1e-9), [[0.0; 3]; 0], "{column}");
    }
    for column in ["receive_window_bytes", "delivered_bytes"] {
        assert_eq!(differing(&pair, column, 0.0), [[0.0; 3]; 0], "{column}");
    }
    let segment = 1460.0;
    assert_eq!(differing(&pair, "bytes_in_flight", segment), [[0.0; 3]; 0]);
    // At the retransmission, which is a little later than the finding of the loss.
    let [own, read] = pair.lost();
    assert_eq!(own.len(), read.len());
    assert!(own.len() > 20, "{}", own.len());
    let goodput = pair.imported.flows[0].trace.intervals.as_ref().unwrap();
    assert!((200..=500).contains(&goodput.rows()), "{}", goodput.rows());
    let times = numbers(goodput, "time_s");
    let octets: f64 = numbers(goodput, "goodput_bps").iter().sum::<f64>() * times[0] / 8.0;
    let [_, delivered] = pair.delivered();
    assert!((octets - delivered).abs() < 1.0, "{octets} {delivered}");
    let lost: f64 = numbers(goodput, "packets_lost").iter().sum();
    assert_eq!(lost, read.len() as f64);
}

#[test]
fn timeouts_of_an_outage_come_back_at_their_times() {
    let outage = scenario(r#"outage = [{ at = "5s", duration = "3s" }]"#, CUBIC);
    let pair = pair(&outage, None);
    let [own, read] = pair.events("timeout");
    assert!(own.len() >= 2, "{own:?}");
    assert_eq!(own.len(), read.len(), "{own:?} {read:?}");
    for (own, read) in own.iter().zip(&read) {
        assert!((own - read).abs() < 1e-3, "{own} {read}");
    }
    let [own, read] = pair.delivered();
    assert_eq!(own, read);
}

#[test]
fn without_sack_the_octets_and_losses_of_a_run_come_back() {
    let flow = r#"transport = { kind = "tcp", controller = "newreno", sack = false }"#;
    let lossy = scenario(r#"loss = { kind = "periodic", rate = 0.004 }"#, flow);
    let pair = pair(&lossy, Some("a"));
    let [own, read] = pair.lost();
    assert!(own.len() > 10, "{}", own.len());
    assert_eq!(own.len(), read.len());
    let [own, read] = pair.delivered();
    assert_eq!(own, read);
    assert_eq!(differing(&pair, "rtt_s", 1e-9), [[0.0; 3]; 0]);
}

#[test]
fn a_limit_of_the_receivers_window_is_its_credit() {
    // 20 kB in 40 ms are 4 Mbit/s.
    let flow = r#"transport = { kind = "tcp", controller = "cubic", receive_buffer = 20000 }"#;
    let pair = pair(&scenario("", flow), Some("a"));
    let bound = pair.read().words("bound").unwrap();
    let credit = bound
        .iter()
        .filter(|word| &***word == "receiver_credit")
        .count();
    assert!(credit * 10 > bound.len() * 9, "{credit} of {}", bound.len());
    assert_eq!(differing(&pair, "receive_window_bytes", 0.0), [[0.0; 3]; 0]);
}

#[test]
fn an_application_that_pauses_is_the_bound() {
    let app = "app = { kind = \"on_off\", rate = \"2Mbit\", on = \"1s\", off = \"1s\", \
               lengths = \"constant\" }";
    let pair = pair(&scenario("", &format!("{CUBIC}\n{app}")), Some("a"));
    let (table, times) = (pair.read(), numbers(pair.read(), "time_s"));
    let bound = table.words("bound").unwrap();
    let pauses = times
        .windows(2)
        .zip(bound)
        .filter(|(pair, _)| pair[1] - pair[0] > 0.5);
    let bounds: Vec<_> = pauses.map(|(_, bound)| bound.to_string()).collect();
    assert!(bounds.len() >= 8, "{bounds:?}");
    assert!(
        bounds.iter().all(|bound| bound == "application"),
        "{bounds:?}"
    );
    assert_eq!(pair.delivered()[0], pair.delivered()[1]);
}

#[test]
fn at_the_receiver_losses_are_holes_that_are_filled_late() {
    let lossy = scenario(r#"loss = { kind = "random", rate = 0.01 }"#, CUBIC);
    let pair = pair(&lossy, Some("b"));
    let flow = &pair.imported.flows[0];
    assert_eq!(flow.vantage, Vantage::Receiver);
    let [own, read] = pair.lost();
    let missing = own.len().abs_diff(read.len());
    assert!(missing <= 2, "{} {}", own.len(), read.len());
    let intervals = flow.trace.intervals.as_ref().unwrap();
    let packets: f64 = numbers(intervals, "packets_received").iter().sum();
    let got = pair.run.packets.as_ref().unwrap();
    let (events, places) = (got.words("event").unwrap(), got.words("place").unwrap());
    let contents = got.words("content").unwrap();
    let data = rows(got, |row| {
        &*events[row] == "received" && &*places[row] == "receiver" && &*contents[row] == "data"
    });
    assert_eq!(packets, data.len() as f64);
    assert!(flow.trace.table.column("bytes_in_flight").is_none());
}

/// A capture made by hand: raw IPv4 in the microsecond format.
struct TestCapture {
    octets: Vec<u8>,
    id: u16,
}

/// A segment of a capture.
#[derive(Clone, Default)]
struct TestSegment {
    micros: u32,
    /// From the client at 10.0.0.1:40000, else from the server at 10.0.0.2:80.
    client: bool,
    seq: u32,
    ack: u32,
    flags: u8,
    window: u16,
    payload: u16,
    options: Vec<u8>,
}

impl TestCapture {
    fn new() -> Self {
        let mut octets = vec![0xd4, 0xc3, 0xb2, 0xa1, 2, 0, 4, 0];
        octets.extend([0; 8]);
        octets.extend(65_535_u32.to_le_bytes());
        octets.extend(101_u32.to_le_bytes());
        Self { octets, id: 0 }
    }

    /// Writes the headers only, as with a short snap length.
    fn add(&mut self, segment: &TestSegment) {
        self.id += 1;
        let header = 20 + segment.options.len() as u16;
        let total = 20 + header + segment.payload;
        let mut packet = vec![0x45, 0];
        packet.extend(total.to_be_bytes());
        packet.extend(self.id.to_be_bytes());
        packet.extend([0x40, 0, 64, 6, 0, 0]);
        let ends = [([10, 0, 0, 1], 40_000_u16), ([10, 0, 0, 2], 80)];
        let [from, to] = if segment.client {
            ends
        } else {
            [ends[1], ends[0]]
        };
        packet.extend(from.0);
        packet.extend(to.0);
        packet.extend(from.1.to_be_bytes());
        packet.extend(to.1.to_be_bytes());
        packet.extend(segment.seq.to_be_bytes());
        packet.extend(segment.ack.to_be_bytes());
        packet.extend([((header / 4) << 4) as u8, segment.flags]);
        packet.extend(segment.window.to_be_bytes());
        packet.extend([0; 4]);
        packet.extend(&segment.options);
        self.octets
            .extend((segment.micros / 1_000_000).to_le_bytes());
        self.octets
            .extend((segment.micros % 1_000_000).to_le_bytes());
        self.octets.extend((packet.len() as u32).to_le_bytes());
        self.octets
            .extend((20 + u32::from(header) + u32::from(segment.payload)).to_le_bytes());
        self.octets.extend(packet);
    }

    fn data(&mut self, micros: u32, seq: u32, payload: u16) {
        self.add(&TestSegment {
            micros,
            client: true,
            seq,
            ack: 1,
            flags: 0x10,
            window: 1000,
            payload,
            ..TestSegment::default()
        });
    }

    fn ack(&mut self, micros: u32, ack: u32, window: u16, blocks: &[(u32, u32)]) {
        let mut options = Vec::new();
        if !blocks.is_empty() {
            options.extend([1, 1, 5, 2 + 8 * blocks.len() as u8]);
            for (start, end) in blocks {
                options.extend(start.to_be_bytes());
                options.extend(end.to_be_bytes());
            }
        }
        self.add(&TestSegment {
            micros,
            seq: 1,
            ack,
            flags: 0x10,
            window,
            options,
            ..TestSegment::default()
        });
    }

    /// SYN, SYN/ACK after 40 ms and ACK, so that the client's data begins at `initial` + 1.
    fn open(&mut self, initial: u32) {
        self.open_with(initial, vec![2, 4, 3, 232, 4, 2, 1, 3, 3, 0, 1, 1]);
    }

    fn open_with(&mut self, initial: u32, options: Vec<u8>) {
        let syn = TestSegment {
            client: true,
            seq: initial,
            flags: 2,
            window: 60_000,
            options: options.clone(),
            ..TestSegment::default()
        };
        self.add(&syn);
        self.add(&TestSegment {
            micros: 40_000,
            ack: initial.wrapping_add(1),
            flags: 0x12,
            window: 60_000,
            options,
            ..TestSegment::default()
        });
        let next = initial.wrapping_add(1);
        self.data(40_001, next, 0);
    }

    fn read(&self) -> Imported {
        let mut open = || Capture::from_reader(std::io::Cursor::new(self.octets.clone()));
        read_tcp_capture_from(&mut open).unwrap()
    }
}

fn events_of(imported: &Imported, event: &str) -> usize {
    let events = imported.flows[0].trace.events.as_ref();
    events.map_or(0, |events| {
        rows(events, |row| &*events.words("event").unwrap()[row] == event).len()
    })
}

fn lost_of(imported: &Imported) -> Vec<f64> {
    let packets = imported.packets.as_ref().unwrap();
    rows(packets, |row| {
        &*packets.words("event").unwrap()[row] == "lost"
    })
}

#[test]
fn numbers_that_wrap_and_a_missing_syn_leave_the_octets() {
    let mut capture = TestCapture::new();
    let start = 0xffff_ff00_u32;
    for number in 0..10 {
        let (at, seq) = (number * 50_000, start.wrapping_add(number * 1000));
        capture.data(at, seq, 1000);
        capture.ack(at + 40_000, seq.wrapping_add(1000), 500, &[]);
    }
    let imported = capture.read();
    let flow = &imported.flows[0];
    assert_eq!(flow.delivered_bytes, Some(10_000.0));
    // No SYN, so the scale of the window is not known.
    assert!(flow.trace.table.column("receive_window_bytes").is_none());
    assert_eq!(
        *flow.trace.table.numbers("rtt_s").unwrap().last().unwrap(),
        0.04
    );
    let remarks = imported.remarks.join("\n");
    assert!(
        remarks.contains("the scale of its window is not known"),
        "{remarks}"
    );
    // 40 ms to the acknowledgement, 10 ms to the data after it: the place is not known.
    assert_eq!(flow.vantage, Vantage::Network);
}

#[test]
fn a_window_of_zero_is_closed_whatever_its_scale() {
    let mut capture = TestCapture::new();
    for number in 0..10 {
        let (at, seq) = (number * 50_000, 1000 + number * 1000);
        capture.data(at, seq, 1000);
        capture.ack(
            at + 40_000,
            seq + 1000,
            if number < 9 { 500 } else { 0 },
            &[],
        );
    }
    let imported = capture.read();
    let bound = imported.flows[0].trace.table.words("bound").unwrap();
    let last = bound.last().map(|word| &**word);
    // Nothing is in flight and nothing may be: that is not for the application's want of data.
    assert_eq!(last, Some("receiver_credit"));
    assert_eq!(
        bound
            .iter()
            .filter(|word| &***word == "receiver_credit")
            .count(),
        1
    );
}

#[test]
fn a_dsack_takes_a_loss_back() {
    let capture = |dsack: bool| {
        let mut capture = TestCapture::new();
        capture.open(99);
        for number in 0..5 {
            capture.data(50_000, 100 + number * 1000, 1000);
        }
        // The first segment is overtaken, and sent again at the third report.
        for number in 2..5 {
            capture.ack(
                90_000 + number * 10,
                100,
                60_000,
                &[(1100, 100 + number * 1000 + 1000)],
            );
        }
        capture.data(90_050, 100, 1000);
        capture.ack(92_000, 5100, 60_000, &[]);
        let block = [(100, 1100)];
        capture.ack(130_000, 5100, 60_000, if dsack { &block } else { &[] });
        capture.read()
    };
    let real = capture(false);
    assert_eq!(lost_of(&real), [0.09005]);
    assert_eq!(events_of(&real, "spurious"), 0);
    let spurious = capture(true);
    assert_eq!(lost_of(&spurious), [0.0; 0]);
    assert_eq!(events_of(&spurious, "spurious"), 1);
    assert_eq!(spurious.flows[0].delivered_bytes, Some(5000.0));
}

#[test]
fn a_retransmission_after_silence_is_a_timeout_and_a_closed_window_is_probed() {
    let mut capture = TestCapture::new();
    capture.open(99);
    capture.data(50_000, 100, 1000);
    // The handshake took 40 ms, so RTO is 40 + 4 * 20 = 120 ms, but at least 200 ms.
    capture.data(255_000, 100, 1000);
    capture.ack(300_000, 1100, 0, &[]);
    capture.data(595_000, 1100, 1);
    capture.ack(635_000, 1100, 0, &[]);
    capture.data(1_235_000, 1100, 1);
    capture.ack(1_275_000, 1101, 60_000, &[]);
    let imported = capture.read();
    assert_eq!(imported.flows[0].vantage, Vantage::Sender);
    assert_eq!(events_of(&imported, "timeout"), 1);
    assert_eq!(events_of(&imported, "window_probe"), 2);
    assert_eq!(lost_of(&imported), [0.255]);
    let table = &imported.flows[0].trace.table;
    // Karn: the acknowledgement of the octets sent twice is no sample, neither of 250 ms nor of 45.
    let samples = table.numbers("rtt_s").unwrap();
    assert!(!samples.contains(&0.25) && !samples.contains(&0.045));
    let bound = table.words("bound").unwrap();
    assert!(bound.iter().any(|word| &**word == "receiver_credit"));
}

/// RFC 8985 §6.2: the round trip is 40 ms, so that a segment is lost 40 + 40 / 4 = 50 ms after it
/// was sent if a later one has arrived. 40.01 ms after it the first and the third segment are in
/// flight; 50.02 ms after it the third has arrived, and the first is lost.
#[test]
fn a_segment_is_presumed_lost_after_the_reordering_window() {
    let mut capture = TestCapture::new();
    capture.open(99);
    for (micros, seq) in [(50_000, 100), (50_010, 1100), (60_020, 2100)] {
        capture.data(micros, seq, 1000);
    }
    capture.ack(90_010, 100, 60_000, &[(1100, 2100)]);
    capture.ack(100_020, 100, 60_000, &[(1100, 3100)]);
    let imported = capture.read();
    let table = &imported.flows[0].trace.table;
    let flight = numbers(table, "bytes_in_flight");
    assert_eq!(flight[flight.len() - 2..], [2000.0, 0.0]);
}

/// RFC 5681 §3.2, RFC 6582 §3.2: of five segments three duplicate acknowledgements show that three
/// have arrived and that the first is lost, which leaves one in flight.
#[test]
fn without_sack_the_third_duplicate_acknowledgement_shows_a_loss() {
    let mut capture = TestCapture::new();
    capture.open_with(99, vec![2, 4, 3, 232]);
    for number in 0..5 {
        capture.data(50_000, 100 + number * 1000, 1000);
    }
    for number in 0..3 {
        capture.ack(90_000 + number, 100, 60_000, &[]);
    }
    let imported = capture.read();
    let table = &imported.flows[0].trace.table;
    assert_eq!(numbers(table, "bytes_in_flight").last(), Some(&1000.0));
}

/// The same identification of IPv4 5 ms later is a copy, 20 ms later it is a retransmission.
#[test]
fn a_packet_with_the_same_identification_is_a_copy_for_ten_milliseconds() {
    let mut capture = TestCapture::new();
    capture.open(99);
    for micros in [50_000, 55_000, 70_000] {
        capture.data(micros, 100, 1000);
        capture.id -= 1;
    }
    capture.ack(90_000, 1100, 60_000, &[]);
    let imported = capture.read();
    let said = "1 packets were captured twice; the copies are left out";
    assert!(imported.remarks.iter().any(|remark| remark == said));
    assert_eq!(lost_of(&imported), [0.07]);
}
