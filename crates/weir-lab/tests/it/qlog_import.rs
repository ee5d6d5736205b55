//! Reading qlog: traces that other programs wrote (`tests/data/qlog/README.md`), texts that follow
//! the descriptions of the formats, and this project's own export.

use crate::qlog::output;
use flate2::Compression;
use flate2::write::GzEncoder;
use proptest::prelude::*;
use std::io::Write;
use weir_lab::run::FlowTrace;
use weir_lab::table::Table;
use weir_lab::trace::import::{ImportError, Imported, Vantage, qlog};
use weir_lab::trace::{Format, export};

const AIOQUIC: &[u8] = include_bytes!("../data/qlog/aioquic-server.qlog");
const QUIC_GO_SERVER: &[u8] = include_bytes!("../data/qlog/quic-go-server.sqlog");
const QUIC_GO_CLIENT: &[u8] = include_bytes!("../data/qlog/quic-go-client.sqlog");
const QUINN_SERVER: &[u8] = include_bytes!("../data/qlog/quinn-server.sqlog");
const QUINN_CLIENT: &[u8] = include_bytes!("../data/qlog/quinn-client.sqlog");

fn read(octets: &[u8]) -> Imported {
    qlog::read(octets).unwrap()
}

/// The only flow of a file.
fn only(read: &Imported) -> &FlowTrace {
    assert_eq!(read.flows.len(), 1);
    &read.flows[0].trace
}

fn values(table: &Table, column: &str) -> Vec<f64> {
    table.as_numbers(column).expect(column).into_owned()
}

fn words(table: &Table, column: &str) -> Vec<String> {
    let words = table.words(column).expect(column);
    words.iter().map(ToString::to_string).collect()
}

fn last(table: &Table, column: &str) -> f64 {
    *values(table, column).last().unwrap()
}

/// The rows of packets with these words, by a column.
fn packets(read: &Imported, with: [(&str, &str); 2]) -> Vec<f64> {
    let table = read.packets.as_ref().unwrap();
    let columns = with.map(|(column, word)| (words(table, column), word));
    let numbers = values(table, "number");
    let rows = (0..table.rows()).filter(|row| columns.iter().all(|(all, word)| all[*row] == *word));
    rows.map(|row| numbers[row]).collect()
}

/// The figures come from a short script that reads the file with a parser of JSON: the distinct
/// octets of streams in acknowledged packets, and the last metrics.
#[test]
fn a_trace_of_aioquic_has_the_window_the_losses_and_the_octets_of_its_sender() {
    let read = read(AIOQUIC);
    assert_eq!(read.format, "qlog 0.3");
    assert_eq!(read.producer, "aioquic");
    assert_eq!(read.flows[0].vantage, Vantage::Sender);
    assert_eq!(read.flows[0].delivered_bytes, Some(57_799.0));
    let flow = only(&read);
    assert_eq!(flow.name, "server-907583af");
    let window = values(&flow.table, "cwnd_bytes");
    assert_eq!(window.iter().copied().fold(0.0, f64::max), 35_642.0);
    // The loss halves the window.
    assert_eq!(last(&flow.table, "cwnd_bytes"), 17_821.0);
    assert_eq!(last(&flow.table, "ssthresh_bytes"), 17_821.0);
    assert_eq!(last(&flow.table, "bytes_in_flight"), 0.0);
    // Two times 10 ms in the relay.
    assert!((0.020..0.030).contains(&last(&flow.table, "min_rtt_s")));
    let lost = packets(&read, [("event", "lost"), ("packet_type", "1RTT")]);
    assert_eq!(lost.len(), 2);
    let intervals = flow.intervals.as_ref().unwrap();
    assert!((200..=500).contains(&intervals.rows()));
    assert_eq!(values(intervals, "packets_lost").iter().sum::<f64>(), 2.0);
    let times = values(intervals, "time_s");
    let octets = values(intervals, "goodput_bps").iter().sum::<f64>() * times[0] / 8.0;
    assert!((octets - 57_799.0).abs() < 0.01, "{octets}");
}

#[test]
fn traces_of_quic_go_are_of_the_sender_and_of_the_receiver() {
    let server = read(QUIC_GO_SERVER);
    assert_eq!(server.producer, "quic-go qlog");
    assert_eq!(server.flows[0].vantage, Vantage::Sender);
    assert_eq!(server.flows[0].delivered_bytes, Some(48_745.0));
    let table = &only(&server).table;
    assert_eq!(last(table, "cwnd_bytes"), 44_800.0);
    assert_eq!(last(table, "smoothed_rtt_s"), 0.021_852);
    assert_eq!(last(table, "min_rtt_s"), 0.020_927_837);
    let states = words(table, "state");
    assert!(states.iter().any(|state| state == "recovery"));
    // Where the state says that the application has no more data, it is the bound.
    for (state, bound) in states.iter().zip(words(table, "bound")) {
        assert_eq!(state == "application_limited", bound == "application");
    }
    let packets = server.packets.as_ref().unwrap();
    let reasons = words(packets, "reason");
    let lost = reasons
        .iter()
        .filter(|reason| *reason == "reordering_threshold");
    assert_eq!(lost.count(), 2);
    assert!(words(packets, "content").contains(&"retransmission".to_owned()));

    let client = read(QUIC_GO_CLIENT);
    assert_eq!(client.flows[0].vantage, Vantage::Receiver);
    assert_eq!(client.flows[0].delivered_bytes, Some(50_000.0));
    assert!(only(&client).table.numbers("cwnd_bytes").is_none());
}

/// INITIAL_RTT_S: both files begin with `smoothed_rtt` 0.333, the 333 ms of RFC 9002 §6.2.2 in
/// seconds.
#[test]
fn quinns_seconds_are_seconds_and_the_time_before_a_sample_is_none() {
    let server = read(QUINN_SERVER);
    let table = &only(&server).table;
    assert_eq!(last(table, "rtt_s"), 0.029_273_273);
    assert!(values(table, "rtt_s")[0].is_nan());
    assert_eq!(last(table, "cwnd_bytes"), 7_576.0);
    assert_eq!(
        values(table, "ssthresh_bytes")[0].to_bits(),
        f64::NAN.to_bits()
    );
    assert!(
        server
            .remarks
            .iter()
            .any(|remark| remark.contains("seconds"))
    );
    // Its packets have a size, in the header, and no frames.
    let sizes = values(server.packets.as_ref().unwrap(), "size_bytes");
    assert!(sizes.contains(&1200.0));
    assert_eq!(server.flows[0].delivered_bytes, None);

    // The client's first packets are under another identifier.
    let client = read(QUINN_CLIENT);
    assert_eq!(client.flows.len(), 1);
    // It receives 59 packets, whose sizes it does not write, and sends 31.
    assert_eq!(client.flows[0].vantage, Vantage::Receiver);
    let initial = packets(&client, [("event", "sent"), ("packet_type", "initial")]);
    assert!(!initial.is_empty());
}

/// A server of draft-ietf-quic-qlog-main-schema-14 that sends two packets of 1000 octets; written
/// by hand. Vectors: sent at 10 and 20 ms, acknowledged at 60 ms with a delay of 5 ms: the largest
/// has a sample of 40 ms, from which the delay is not taken (RFC 9002 §5.3: not below the
/// smallest). The third is sent at 70, acknowledged at 120 with 5 ms: 50 - 5 = 45 ms.
fn without_metrics(acks: [&str; 2]) -> String {
    let packet = |time: u32, event: &str, number: u32, frames: &str| {
        format!(
            r#"{{"time":{time},"name":"quic:packet_{event}","data":{{"header":{{"packet_type":"1RTT",
            "packet_number":{number}}},"raw":{{"length":1000}},"frames":[{frames}]}}}}"#
        )
    };
    let stream = |offset: u32| {
        format!(
            r#"{{"frame_type":"stream","stream_id":0,"offset":{offset},
            "raw":{{"length":902,"payload_length":900}}}}"#
        )
    };
    let ack =
        |ranges: &str| format!(r#"{{"frame_type":"ack","ack_delay":5.0,"acked_ranges":{ranges}}}"#);
    let blocked = r#"{"frame_type":"stream_data_blocked","stream_id":0,"limit":1800}"#;
    let credit = r#"{"frame_type":"max_stream_data","stream_id":0,"maximum":9000}"#;
    let events = [
        packet(10, "sent", 0, &stream(0)),
        packet(20, "sent", 1, &format!("{},{blocked}", stream(900))),
        packet(60, "received", 0, &format!("{},{credit}", ack(acks[0]))),
        packet(70, "sent", 2, &stream(0)),
        packet(120, "received", 1, &ack(acks[1])),
    ];
    format!(
        r#"{{"file_schema":"urn:ietf:params:qlog:file:contained","traces":[{{"events":[{}],
        "common_fields":{{"time_format":"relative_to_epoch","reference_time":
        {{"clock_type":"monotonic","epoch":"unknown"}}}},"vantage_point":{{"type":"server"}}}}]}}"#,
        events.join(",")
    )
}

#[test]
fn without_metrics_the_round_trip_time_and_the_flight_come_from_acknowledgements() {
    let read = read(without_metrics(["[[0,1]]", "[[0,2]]"]).as_bytes());
    assert_eq!(read.format, "qlog urn:ietf:params:qlog:file:contained");
    let table = &only(&read).table;
    // Times count from the first event, at 10 ms.
    assert_eq!(
        values(table, "time_s"),
        [0.0, 0.01, 0.01, 0.05, 0.05, 0.06, 0.11]
    );
    let expected = [1000.0, 1000.0, 2000.0, 2000.0, 0.0, 1000.0, 0.0];
    assert_eq!(values(table, "bytes_in_flight"), expected);
    let rtt = values(table, "rtt_s");
    assert!(
        (rtt[4] - 0.040).abs() < 1e-12 && (rtt[6] - 0.045).abs() < 1e-12,
        "{rtt:?}"
    );
    let delivered = values(table, "delivered_bytes");
    assert_eq!((delivered[4], delivered[6]), (2000.0, 3000.0));
    // The third packet repeats octets that had been acknowledged.
    assert_eq!(read.flows[0].delivered_bytes, Some(1800.0));
    let bounds = ["", "receiver_credit", "receiver_credit", "", "", "", ""];
    assert_eq!(words(table, "bound"), bounds);
    let again = packets(&read, [("event", "sent"), ("content", "retransmission")]);
    assert_eq!(again, [2.0]);
}

/// All of these say the same: pairs, a number alone, numbers in strings, the ends the wrong way
/// round.
#[test]
fn ranges_of_acknowledgements_are_read_in_every_form() {
    let expected = read(without_metrics(["[[0,1]]", "[[0,2]]"]).as_bytes());
    for acks in [
        ["[[0],[1]]", "[2,1,0]"],
        [r#"[["0","1"]]"#, r#"["2"]"#],
        ["[[1,0]]", r#"[{"start":0,"end":2}]"#],
    ] {
        let read = read(without_metrics(acks).as_bytes());
        assert_eq!(only(&read).table, only(&expected).table, "{acks:?}");
    }
}

/// Draft-01 in the manner of picoquic and the converter of quic-trace: events are arrays, times are
/// microseconds and may be strings, names may be in capitals. Written by hand.
#[test]
fn arrays_of_draft_01_are_read_with_their_fields_and_microseconds() {
    let text = r#"{"qlog_version":"draft-00","title":"picoquic","traces":[{
        "vantage_point":{"name":"backend","type":"CLIENT"},
        "event_fields":["relative_time","CATEGORY","EVENT_TYPE","TRIGGER","DATA"],
        "configuration":{"time_units":"us"},"common_fields":{"reference_time":"0"},"events":[
        ["0","TRANSPORT","PACKET_SENT","DEFAULT",{"packet_type":"1RTT","header":{"packet_number":"7",
          "packet_size":1350},"frames":[{"frame_type":"STREAM","id":"3","length":1326,"offset":0}]}],
        [40000,"RECOVERY","METRICS_UPDATED","DEFAULT",{"cwnd":15360,"bytes_in_flight":1350,
          "smoothed_rtt":"41000","latest_rtt":40000,"pacing_rate":7268505,"app_limited":1}],
        [41000,"recovery","congestion_state_updated","line",{"old":"0","new":"1"}],
        [50000,"TRANSPORT","PACKET_RECEIVED","DEFAULT",{"packet_type":"1RTT","header":{
          "packet_number":"1"},"frames":[{"frame_type":"ACK","ack_delay":600,
          "acked_ranges":[["7","7"]]}]}]]}]}"#;
    let read = read(text.as_bytes());
    let table = &only(&read).table;
    assert_eq!(read.format, "qlog draft-00");
    assert_eq!(values(table, "time_s"), [0.04, 0.041, 0.05]);
    assert_eq!(last(table, "smoothed_rtt_s"), 0.041);
    assert_eq!(last(table, "pacing_rate_bps"), 7_268_505.0);
    assert_eq!(words(table, "state"), ["", "1", "1"]);
    assert!(
        table.words("limit").is_none(),
        "the place of a trigger is not one"
    );
    assert_eq!(words(table, "bound"), ["application", "", ""]);
    assert_eq!(read.flows[0].delivered_bytes, Some(1326.0));
}

/// JSON-SEQ with record separators in the manner of quiche and neqo, and lines without them;
/// written by hand.
#[test]
fn sequences_have_lists_of_acknowledged_packets_timers_and_losses() {
    let lines = [
        r#"{"qlog_version":"0.3","qlog_format":"JSON-SEQ","title":"quiche-client qlog","trace":{
            "vantage_point":{"type":"client"},"common_fields":{"time_format":"delta"}}}"#,
        r#"{"time":5.0,"name":"transport:packet_sent","data":{"header":{"packet_type":"1RTT",
            "packet_number":0},"raw":{"length":1200},"send_at_time":5.0,
            "frames":[{"frame_type":"datagram","length":1100}]}}"#,
        r#"{"time":10,"name":"transport:packet_sent","data":{"header":{"packet_type":"1RTT",
            "packet_number":1},"raw":{"length":1200},"frames":[{"frame_type":"ping"}]}}"#,
        r#"{"time":20.5,"name":"recovery:packets_acked","data":{
            "packet_number_space":"application_data","packet_numbers":[0]}}"#,
        r#"{"time":0,"name":"recovery:metrics_updated","data":{"pacing_rate":1000,"min_rtt":30.5}}"#,
        r#"{"time":4.5,"name":"recovery:loss_timer_updated","data":{"event_type":"expired",
            "timer_type":"pto"}}"#,
        r#"{"time":1,"name":"recovery:loss_timer_updated","data":{"event_type":"expired",
            "timer_type":"ack"}}"#,
        r#"{"time":1,"name":"recovery:packet_lost","data":{"type":"1RTT","packet_number":1,
            "trigger":"time_threshold"}}"#,
        r#"{"time":1,"name":"connectivity:connection_state_updated","data":{"new":"closed"}}"#,
        r#"{"time":1,"name":"recovery:spurious_loss","data":{"packet_number":1}}"#,
    ];
    let separated: String = lines.map(|line| format!("\u{1e}{line}\n")).concat();
    let plain = lines.map(|line| line.replace('\n', " ")).join("\n");
    for text in [separated, plain] {
        let read = read(text.as_bytes());
        let flow = only(&read);
        // Each time counts from the event before: 0, 10, 30.5 and so on from the first.
        assert_eq!(
            values(&flow.table, "time_s"),
            [0.0, 0.01, 0.0305, 0.035, 0.037]
        );
        assert_eq!(
            values(&flow.table, "bytes_in_flight"),
            [1200.0, 2400.0, 1200.0, 1200.0, 0.0]
        );
        assert_eq!(last(&flow.table, "delivered_bytes"), 1200.0);
        assert_eq!(read.flows[0].delivered_bytes, Some(1100.0));
        // 1000 octets per second of quiche.
        assert_eq!(last(&flow.table, "pacing_rate_bps"), 8000.0);
        assert_eq!(last(&flow.table, "min_rtt_s"), 0.0305);
        let events = flow.events.as_ref().unwrap();
        assert_eq!(words(events, "event"), ["timeout", "state", "spurious"]);
        assert_eq!(words(events, "detail")[1], "closed");
        let table = read.packets.as_ref().unwrap();
        let lost = words(table, "event")
            .iter()
            .position(|event| event == "lost")
            .unwrap();
        assert_eq!(words(table, "reason")[lost], "time_threshold");
        // The size is that of the packet when it was sent.
        assert_eq!(values(table, "size_bytes")[lost], 1200.0);
    }
}

/// Today's mvfst: draft-14 in one document, identifiers of streams in strings, losses as a count,
/// and the application's limit under the name of a congestion state. Written by hand.
#[test]
fn events_of_mvfst_give_counts_of_losses_and_the_limit_of_the_application() {
    let text = r#"{"title":"mvfst qlog","file_schema":"urn:ietf:params:qlog:file:contained",
        "traces":[{"vantage_point":{"type":"server"},"common_fields":{
        "time_format":"relative_to_epoch","reference_time":{"clock_type":"monotonic"}},"events":[
        {"time":1.5,"name":"quic:packet_sent","data":{"header":{"packet_type":"1-RTT",
          "packet_number":3},"raw":{"length":1252},"frames":[{"frame_type":"stream",
          "stream_id":"4","offset":0,"raw":{"length":1200}}]}},
        {"time":2.5,"name":"quic:congestion_state_updated","data":{"app_limited":"app_limited"}},
        {"time":3.5,"name":"quic:packet_lost","data":{"largest_lost_packet_num":3,"lost_bytes":2504,
          "lost_packets":2}},
        {"time":4.5,"name":"quic:congestion_state_updated","data":{"app_limited":"app_unlimited"}}
        ]}]}"#;
    let read = read(text.as_bytes());
    let flow = only(&read);
    assert_eq!(words(&flow.table, "bound"), ["application", ""]);
    assert_eq!(
        values(flow.intervals.as_ref().unwrap(), "packets_lost")
            .iter()
            .sum::<f64>(),
        2.0
    );
    let lost = packets(&read, [("event", "lost"), ("name", "server")]);
    assert!(lost.len() == 2 && lost.iter().all(|number| number.is_nan()));
    let data = packets(&read, [("content", "data"), ("packet_type", "1RTT")]);
    assert_eq!(data, [3.0]);
}

/// Written by hand: the second event is 5 ms older than the first.
#[test]
fn events_that_are_older_than_the_one_before_are_sorted() {
    let event = |time: u32, window: u32| {
        format!(r#"{{"time":{time},"name":"recovery:metrics_updated","data":{{"cwnd":{window}}}}}"#)
    };
    let lines = [event(10, 1000), event(5, 2000), event(20, 3000)].join("\n");
    let read = read(lines.as_bytes());
    let table = &only(&read).table;
    assert_eq!(values(table, "time_s"), [0.0, 0.005, 0.015]);
    assert_eq!(values(table, "cwnd_bytes"), [2000.0, 1000.0, 3000.0]);
    let said = "1 events are older than the one before and were sorted";
    assert!(read.remarks.iter().any(|remark| remark == said));
}

/// Lengths near 2^64, which no packet has.
#[test]
fn absurd_lengths_of_datagrams_are_bounded() {
    let frame = r#"{"frame_type":"datagram","length":18446744073709551615}"#;
    let text = format!(
        r#"{{"traces":[{{"events":[{{"time":1,"name":"quic:packet_received","data":{{
        "header":{{"packet_type":"1RTT","packet_number":1}},"frames":[{frame},{frame}]}}}}]}}]}}"#
    );
    let read = read(text.as_bytes());
    assert_eq!(read.flows[0].delivered_bytes, Some(u64::MAX as f64));
}

#[test]
fn a_file_that_ends_within_an_event_keeps_what_came_before() {
    let whole = without_metrics(["[[0,1]]", "[[0,2]]"]);
    let cut = whole.find(r#""time":120"#).unwrap() + 30;
    let read = read(&whole.as_bytes()[..cut]);
    assert_eq!(last(&only(&read).table, "delivered_bytes"), 2000.0);
    assert!(
        read.remarks[0].contains("ends within an event"),
        "{:?}",
        read.remarks
    );
    // Without an event there is nothing to keep.
    let error = qlog::read(&whole.as_bytes()[..40]).unwrap_err();
    assert!(matches!(error, ImportError::Damaged { .. }), "{error}");
}

#[test]
fn what_is_no_qlog_is_an_error_with_its_place() {
    let lines =
        "{\"qlog_version\":\"0.3\"}\n{\"time\":1,\"name\":\"a:b\",\"data\":{}}\n{\"time\" 2}\n";
    let error = qlog::read(lines.as_bytes()).unwrap_err();
    let ImportError::Damaged { place, message } = &error else {
        panic!("{error}");
    };
    assert_eq!(place, "event 2, line 3, octet 66");
    assert_eq!(message, "expected `:`");
    for (text, expected) in [
        ("", "has no flow"),
        ("{}", "has no flow"),
        ("17", "expected an object of qlog"),
        (r#"{"traces":[17]}"#, "expected a trace"),
        (r#"{"traces":[{"events":17}]}"#, "expected a list of events"),
        (
            r#"{"traces":[{"events":[17,null]}]}"#,
            "none of its 2 events",
        ),
    ] {
        let said = qlog::read(text.as_bytes()).unwrap_err().to_string();
        assert!(said.contains(expected), "{text}: {said}");
    }
    let deep = "[".repeat(100_000);
    assert!(qlog::read(deep.as_bytes()).is_err());
    let long = format!(r#"{{"title":"{}"}}"#, "x".repeat(1 << 24));
    let said = qlog::read(long.as_bytes()).unwrap_err().to_string();
    assert!(said.contains("larger than 16777216 octets"), "{said}");
}

#[test]
fn a_file_compressed_by_gzip_reads_like_the_file_itself() {
    let mut packed = GzEncoder::new(Vec::new(), Compression::default());
    packed.write_all(QUIC_GO_SERVER).unwrap();
    let packed = packed.finish().unwrap();
    let (plain, unpacked) = (read(QUIC_GO_SERVER), read(&packed));
    assert_eq!(only(&plain), only(&unpacked));
    // A log that is cut off while it is compressed keeps its events.
    let cut = read(&packed[..packed.len() / 2]);
    assert!(only(&cut).table.rows() > 10);
    assert!(!cut.remarks.is_empty());
}

/// The value of a column at a time: that of the last row that is not later.
fn held(table: &Table, column: &str, time_s: f64) -> f64 {
    let times = values(table, "time_s");
    let row = times.partition_point(|time| *time <= time_s + 1e-9);
    row.checked_sub(1)
        .map_or(f64::NAN, |row| values(table, column)[row])
}

#[test]
fn an_exported_run_reads_back_with_the_same_controller_and_deliveries() {
    let output = output(true);
    let original = output.flows.iter().find(|flow| flow.name == "quic");
    let original = &original.unwrap().table;
    let summary = &output.summary.flows["quic"];
    for format in ["qlog", "qlog-0.3"] {
        let files = export(&output, Format::named(format).unwrap()).unwrap();
        let file = files.iter().find(|file| file.path == "quic.qlog");
        let read = read(&file.unwrap().content);
        let flow = only(&read);
        assert_eq!(read.flows[0].vantage, Vantage::Sender);
        // The first event of the flow is its first packet.
        let sent = output.packets.clone().unwrap().rows_with("name", "quic");
        let zero = values(&sent, "time_s")[0];
        let times = values(original, "time_s");
        for column in ["cwnd_bytes", "rtt_s", "bytes_in_flight", "delivered_bytes"] {
            let all = values(original, column);
            // The last of the rows of one time.
            let rows = (0..times.len()).filter(|row| times.get(row + 1) != Some(&times[*row]));
            for row in rows.step_by(7) {
                let (time_s, expected) = (times[row] - zero, all[row]);
                let found = held(&flow.table, column, time_s);
                // Deliveries are those of acknowledgements alone: what packets with other frames
                // acknowledge is known with the next one.
                let late = if column == "delivered_bytes" {
                    1500.0
                } else {
                    1e-9
                };
                let same = found - expected <= 1e-9 && expected - found <= late;
                let missing = found.is_nan() && (expected.is_nan() || expected <= late);
                assert!(
                    same || missing,
                    "{format}, {column} at {time_s}: {found}, not {expected}"
                );
            }
        }
        let lost = packets(&read, [("event", "lost"), ("place", "sender")]);
        assert!(lost.len() > 5, "{}", lost.len());
        let losses = values(flow.intervals.as_ref().unwrap(), "packets_lost");
        assert_eq!(losses.iter().sum::<f64>(), lost.len() as f64);
        assert_eq!(lost.len() as u64, summary.packets_lost);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Arbitrary octets, and the real files with some of them replaced.
    #[test]
    fn no_octets_make_the_reader_panic(
        octets in proptest::collection::vec(any::<u8>(), 0..200),
        at in 0_usize..20_000,
        file in 0_usize..3,
    ) {
        let _ = qlog::read(octets.as_slice());
        let mut damaged = [AIOQUIC, QUIC_GO_CLIENT, QUINN_CLIENT][file].to_vec();
        for (place, octet) in damaged.iter_mut().skip(at).zip(&octets) {
            *place = *octet;
        }
        if let Err(ImportError::Damaged { place, .. }) = qlog::read(damaged.as_slice()) {
            prop_assert!(place.contains("line") && place.contains("octet"), "{}", place);
        }
        damaged.truncate(at);
        let _ = qlog::read(damaged.as_slice());
    }
}
