//! The numbers of a summary, compared with values calculated from the path and the write times.

use crate::fixture::{run_text, stream_over, traced};
use crate::run::*;
use crate::table::Table;

/// A link of 1 Mbit/s and 10 ms, on which 1000 octets take 8 ms, and its flows.
fn over_a_wire(duration: &str, flows: &str) -> RunOutput {
    let text = format!(
        "[run]\nduration = \"{duration}\"\ninterval = \"250ms\"\n\n[[link]]\nname = \"wire\"\n\
         between = [\"a\", \"b\"]\nrate = \"1Mbit\"\ndelay = \"10ms\"\n{flows}"
    );
    run_text(&text, &traced())
}

/// A flow for 5 s over a path that loses a twentieth of the packets in the reverse direction.
fn with_losses_backward(flow: &str) -> RunOutput {
    let link = "rate = \"10Mbit\"\ndelay = \"10ms\"\n\
                backward = { loss = { kind = \"random\", rate = 0.05 } }";
    run_text(&stream_over("duration = \"5s\"", link, flow), &traced())
}

/// Datagrams of 1000 octets on the wire, one each 100 ms.
fn datagrams(name: &str, more: &str, app: &str) -> String {
    format!(
        "\n[[flow]]\nname = \"{name}\"\nfrom = \"a\"\nto = \"b\"\n{more}\
         transport = {{ kind = \"udp\" }}\n\
         app = {{ kind = \"cbr\", packet = 972, rate = \"77760bit\"{app} }}\n"
    )
}

fn near(found: f64, expected: f64, tolerance: f64) {
    assert!(
        (found - expected).abs() <= tolerance * expected.abs(),
        "{found} is not {expected}"
    );
}

fn sum(table: &Table, column: &str) -> f64 {
    table.as_numbers(column).unwrap().iter().sum()
}

#[test]
fn delays_of_a_lone_flow_are_those_of_the_wire() {
    let output = over_a_wire("2s", &datagrams("lone", "", ""));
    let flow = &output.summary.flows["lone"];
    let delay = flow.one_way_delay_s.unwrap();
    assert_eq!((delay.min, delay.p50, delay.max), (0.018, 0.018, 0.018));
    assert_eq!(flow.queueing_delay_s.unwrap().max, 0.0);
    assert_eq!(flow.jitter_s.unwrap().max, 0.0);
    assert_eq!(flow.active_s, 2.0);
    assert_eq!(flow.completion_time_s, None);
}

#[test]
fn who_comes_second_waits_for_the_first() {
    let flows = datagrams("first", "", "") + &datagrams("second", "", "");
    let output = over_a_wire("2s", &flows);
    let second = &output.summary.flows["second"];
    assert_eq!(second.one_way_delay_s.unwrap().mean, 0.026);
    assert_eq!(second.queueing_delay_s.unwrap().min, 0.008);
    assert_eq!(
        output.summary.flows["first"].queueing_delay_s.unwrap().max,
        0.0
    );
    assert_eq!(output.summary.totals.jain_index, Some(1.0));
    assert_eq!(output.summary.totals.flows, 2);
}

#[test]
fn an_access_link_and_the_hosts_are_part_of_the_way() {
    let more = "access_delay = \"5ms\"\n";
    let hosts = "\n[[host]]\nname = \"a\"\ntransmit_delay = \"1ms\"\n\n[[host]]\nname = \"b\"\n\
                 receive_delay = \"2ms\"\n";
    let output = over_a_wire("2s", &(datagrams("far", more, "") + hosts));
    let delay = output.summary.flows["far"].one_way_delay_s.unwrap();
    assert_eq!((delay.min, delay.max), (0.026, 0.026));
}

#[test]
fn a_transfer_completes_with_its_last_octet() {
    // Writes at 0, 100, … 400 ms after the start; a delay of 18 ms.
    let more = "start = \"1s\"\n";
    let output = over_a_wire("5s", &datagrams("short", more, ", count = 5"));
    let flow = &output.summary.flows["short"];
    near(flow.completion_time_s.unwrap(), 0.418, 1e-9);
    near(flow.active_s, 0.418, 1e-9);
    near(flow.goodput_bps, 5.0 * 972.0 * 8.0 / 0.418, 1e-9);
    near(
        output.summary.totals.goodput_bps,
        5.0 * 972.0 * 8.0 / 5.0,
        1e-9,
    );
}

#[test]
fn a_flow_that_is_cut_off_does_not_complete() {
    let output = over_a_wire("300ms", &datagrams("cut", "", ", count = 5"));
    let flow = &output.summary.flows["cut"];
    assert_eq!((flow.completion_time_s, flow.active_s), (None, 0.3));
}

fn stream(transport: &str, more: &str, app: &str) -> String {
    format!(
        "\n[[flow]]\nname = \"stream\"\nfrom = \"a\"\nto = \"b\"\n{more}\
         transport = {{ kind = \"{transport}\" }}\napp = {{ kind = \"bulk\"{app} }}\n"
    )
}

#[test]
fn each_transport_is_measured_over_its_own_time() {
    for transport in ["tcp", "quic", "dccp"] {
        // The flow uses the second half of the run and fills the link after slow start.
        let late = over_a_wire("20s", &stream(transport, "start = \"10s\"\n", ""));
        let flow = &late.summary.flows["stream"];
        assert_eq!(flow.active_s, 10.0, "{transport}");
        assert!(flow.throughput_bps > 850_000.0, "{transport}: {flow:?}");
        // As many octets in a quarter of the time, in another run.
        let short = over_a_wire("20s", &stream(transport, "", ", total = 500000"));
        let flow = &short.summary.flows["stream"];
        let time = flow.completion_time_s.expect("it completes");
        assert!((4.0..6.5).contains(&time), "{transport}: {time} {flow:?}");
        assert!((flow.active_s - time).abs() < 1e-9, "{transport}");
        assert!(flow.goodput_bps > 600_000.0, "{transport}: {flow:?}");
    }
}

#[test]
fn a_flow_that_is_stopped_is_alive_until_its_last_data() {
    let more = "stop = \"2s\"\n";
    let output = over_a_wire("5s", &datagrams("stopped", more, ""));
    let flow = &output.summary.flows["stopped"];
    // The last write before the stop is at 1.9 s.
    near(flow.active_s, 1.918, 1e-9);
    assert_eq!(flow.completion_time_s, None);
}

#[test]
fn a_group_sums_up_flows_and_transfers() {
    let short = "\n[[flow]]\nname = \"short\"\ncount = 3\ngroup = \"GROUP\"\nfrom = \"a\"\nto = \"b\"\n\
                 transport = { kind = \"tcp\" }\narrivals = { kind = \"list\", transfers = [[0, 1000]] }\n";
    let output = over_a_wire("2s", &short.replace("GROUP", "short"));
    let (transfers, short_ones) = (&output.summary.transfers, &output.summary.groups["short"]);
    assert_eq!(transfers.len(), 3);
    assert_eq!((short_ones.flows, short_ones.completed), (3, 3));
    assert_eq!(short_ones.members, ["short-1", "short-2", "short-3"]);
    let sent: u64 = transfers.values().map(|of| of.packets_sent).sum();
    assert_eq!(short_ones.jain_index, None);
    let times = || transfers.values().filter_map(|of| of.completion_time_s);
    let longest = times().map(|time| time.max).fold(0.0, f64::max);
    assert_eq!(
        short_ones.completion_time_s.map(|time| time.max),
        Some(longest)
    );
    assert_eq!(short_ones.packets_sent, sent);
    let delays = short_ones.one_way_delay_s.expect("they were measured");
    let means = transfers
        .values()
        .filter_map(|of| Some(of.one_way_delay_s?.mean));
    assert_eq!(delays.max, means.fold(0.0, f64::max));
    let both = datagrams("one", "group = \"mixed\"\n", "") + &short.replace("GROUP", "mixed");
    let groups = over_a_wire("2s", &both).summary.groups;
    let mixed = &groups["mixed"];
    assert_eq!((mixed.flows, mixed.members.len()), (4, 4));
    assert_eq!(mixed.jain_index, Some(1.0));
    assert!(mixed.goodput_bps.max > mixed.goodput_bps.min);
}

#[test]
fn latency_under_load_is_what_the_queue_adds() {
    let output = over_a_wire("20s", &stream("tcp", "", ""));
    let flow = &output.summary.flows["stream"];
    let (rtt, added) = (flow.rtt_s.unwrap(), flow.latency_under_load.unwrap());
    assert_eq!(added.base_rtt_s, 0.02);
    assert_eq!(added.added_p95_s, rtt.p95 - 0.02);
    let queueing = flow.queueing_delay_s.unwrap();
    assert!(rtt.p99 >= rtt.p95 && queueing.p99 >= queueing.p95);
    // A segment of 1500 octets takes 12 ms, its acknowledgement less than 1 ms.
    assert!((added.added_p50_s - queueing.p50 - 0.0125).abs() < 0.02);
}

#[test]
fn intervals_add_up_to_the_summary() {
    for transport in ["tcp", "quic", "dccp"] {
        let output = over_a_wire("3s", &stream(transport, "", ""));
        let (flow, trace) = (&output.summary.flows["stream"], &output.flows[0]);
        let table = trace.intervals.as_ref().expect("a table");
        assert_eq!(table.rows(), 12, "{transport}");
        let mean = |column| sum(table, column) / 12.0;
        near(mean("goodput_bps"), flow.goodput_bps, 1e-12);
        near(mean("throughput_bps"), flow.throughput_bps, 1e-12);
        let count = |column| sum(table, column) as u64;
        assert_eq!(count("packets_received"), flow.packets_received);
        assert_eq!(count("packets_lost"), flow.packets_lost);
        let times = table.numbers("time_s").unwrap();
        assert_eq!((times[0], times[11]), (0.25, 3.0));
        let largest = table.numbers("one_way_delay_max_s").unwrap();
        let largest = largest.iter().copied().fold(0.0, f64::max);
        assert_eq!(largest, flow.one_way_delay_s.unwrap().max, "{transport}");
    }
}

#[test]
fn marks_are_those_that_arrive() {
    let text = "[run]\nduration = \"10s\"\n\n[[link]]\nname = \"wire\"\nbetween = [\"a\", \"b\"]\n\
                rate = \"1Mbit\"\ndelay = \"10ms\"\nqueue = { kind = \"codel\", ecn = true }\n\
                [[flow]]\nname = \"stream\"\nfrom = \"a\"\nto = \"b\"\n\
                transport = { kind = \"dccp\", ccid = 3, ecn = true }\n";
    let output = run_text(text, &traced());
    let flow = &output.summary.flows["stream"];
    assert!(flow.marks > 0, "{flow:?}");
    assert!(flow.marks <= output.summary.links["wire"].marks);
    let table = output.flows[0].intervals.as_ref().expect("a table");
    assert_eq!(sum(table, "marks") as u64, flow.marks);
}

#[test]
fn flows_of_one_entry_are_a_group() {
    let more = "count = 3\nstagger = \"200ms\"\n";
    let output = over_a_wire("5s", &datagrams("many", more, ", count = 5"));
    let group = &output.summary.groups["many"];
    assert_eq!((group.flows, group.completed), (3, 3));
    assert_eq!(group.packets_sent, 15);
    // At 400 ms three events coincide in this order: the start of the third flow, which was
    // scheduled first, the last write of the first flow and a write of the second. So the first
    // flow's last packet waits for one packet.
    let times = group.completion_time_s.unwrap();
    near(times.min, 0.418, 1e-9);
    near(times.max, 0.426, 1e-9);
    let goodput: f64 = output.summary.flows.values().map(|f| f.goodput_bps).sum();
    near(group.goodput_bps.mean, goodput / 3.0, 1e-12);
}

#[test]
fn flights_of_ten_segments_with_pauses_leave_30_segments_or_20() {
    // draft-ietf-ccwg-ratelimited-increase §3.1, with a second flight of ten: without a limit slow
    // start grows from 10 to 20 and 30 segments, with it to 2 · maxFS = 20. The pause is shorter
    // than an RTO, after which the window would restart.
    for controller in ["newreno", "cubic"] {
        for (growth, segments) in [("unlimited", 30.0), ("flight", 20.0)] {
            let flow = format!(
                "transport = {{ kind = \"tcp\", controller = \"{controller}\", \
                 overrides = {{ rate_limited_growth = \"{growth}\", hystart = false }} }}\n\
                 app = {{ kind = \"on_off\", packet = 1460, rate = \"11680kbit\", on = \"9500us\", \
                 off = \"190500us\", lengths = \"constant\" }}"
            );
            let link = "rate = \"1Gbit\"\ndelay = \"10ms\"";
            let output = run_text(&stream_over("duration = \"400ms\"", link, &flow), &traced());
            // The SYN and both flights of ten.
            assert_eq!(output.summary.flows["stream"].packets_sent, 21);
            let windows = output.flows[0].table.numbers("cwnd_bytes").unwrap();
            let last = windows.last().copied();
            assert_eq!(last, Some(segments * 1460.0), "{controller} {growth}");
        }
    }
}

#[test]
fn what_a_client_loses_of_its_requests_is_no_loss_of_the_flow() {
    for transport in ["tcp", "quic"] {
        let output = with_losses_backward(&format!(
            "transport = {{ kind = \"{transport}\" }}\n\
             app = {{ kind = \"request\", request = {{ kind = \"constant\", bytes = 200000 }}, \
             response = {{ kind = \"constant\", bytes = 1000 }} }}"
        ));
        assert!(output.summary.links["wire.backward"].drops > 10);
        let web = &output.summary.flows["stream"];
        assert_eq!(
            (web.packets_lost, web.loss_event_rate),
            (0, 0.0),
            "{transport}"
        );
        let intervals = output.flows[0].intervals.as_ref().unwrap();
        assert_eq!(sum(intervals, "packets_lost"), 0.0, "{transport}");
    }
}

#[test]
fn a_damaged_packet_has_a_delay_if_the_transport_takes_it() {
    for (checksum, arrives) in [("full", false), ("none", true)] {
        let more = "\n[[link]]\nname = \"radio\"\nbetween = [\"b\", \"c\"]\ndelay = \"1ms\"\n\
                    netem = { corrupt = 1.0 }\n";
        let flow = datagrams("damaged", "", "")
            .replace("to = \"b\"", "to = \"c\"")
            .replace("\"udp\"", &format!("\"udp\", checksum = \"{checksum}\""));
        let output = over_a_wire("2s", &(flow + more));
        let flow = &output.summary.flows["damaged"];
        assert_eq!(flow.packets_received > 0, arrives, "{checksum}");
        assert_eq!(flow.one_way_delay_s.is_some(), arrives, "{checksum}");
        let intervals = output.flows[0].intervals.as_ref().unwrap();
        let received = intervals.as_numbers("packets_received").unwrap();
        let delays = intervals.as_numbers("one_way_delay_s").unwrap();
        for (received, delay) in received.iter().zip(delays.iter()) {
            assert_eq!(*received > 0.0, !delay.is_nan(), "{checksum}");
        }
    }
}

#[test]
fn what_arrives_at_the_end_has_no_part_in_the_delays() {
    // The first datagram has a delay of 18 ms, and two that leave at the same time have 8 ms more
    // each.
    let flows = ["one", "two", "three"].map(|name| datagrams(name, "", ""));
    let output = over_a_wire("26ms", &flows.concat());
    let flows = &output.summary.flows;
    assert_eq!(flows["one"].packets_received, 1);
    assert_eq!(flows["one"].one_way_delay_s.unwrap().max, 0.018);
    assert_eq!(
        (flows["two"].packets_received, flows["two"].one_way_delay_s),
        (0, None)
    );
    let intervals = output.flows[1].intervals.as_ref().unwrap();
    assert_eq!(sum(intervals, "packets_received"), 0.0);
}

#[test]
fn acknowledgements_that_are_lost_are_no_losses_of_the_flow() {
    for ccid in 2..=4 {
        let output = with_losses_backward(&format!(
            "transport = {{ kind = \"dccp\", ccid = {ccid} }}\n\
             app = {{ kind = \"cbr\", packet = 500, rate = \"1Mbit\" }}"
        ));
        assert!(output.summary.links["wire.backward"].drops > 5);
        let call = &output.summary.flows["stream"];
        assert_eq!(
            (call.packets_lost, call.loss_event_rate),
            (0, 0.0),
            "{ccid}"
        );
    }
}

/// The times at which the sender sent packets and the receiver received packets, each with its
/// number.
fn sent_and_received(packets: &Table) -> [Vec<(u64, f64)>; 2] {
    let [places, events] = ["place", "event"].map(|name| packets.words(name).unwrap());
    let [times, numbers] = ["time_s", "number"].map(|name| packets.numbers(name).unwrap());
    [("sender", "sent"), ("receiver", "received")].map(|wanted| {
        let rows = 0..packets.rows();
        let rows = rows.filter(|&row| (&*places[row], &*events[row]) == wanted);
        rows.map(|row| (numbers[row] as u64, times[row])).collect()
    })
}

#[test]
fn a_copy_that_the_transport_refuses_has_no_part_in_the_delays() {
    for transport in [
        "kind = \"quic\", handshake = \"established\"",
        "kind = \"dccp\", ccid = 2",
        "kind = \"dccp\", ccid = 3",
    ] {
        // A duplicate arrives up to 18 ms before or after its original.
        let text = format!(
            "[run]\nduration = \"5s\"\n\n[[link]]\nname = \"wire\"\nbetween = [\"a\", \"b\"]\n\
             delay = \"10ms\"\nnetem = {{ duplicate = 0.5, jitter = \"9ms\" }}\n\n\
             [[flow]]\nname = \"copied\"\nfrom = \"a\"\nto = \"b\"\ntransport = {{ {transport} }}\n\
             app = {{ kind = \"cbr\", packet = 500, rate = \"500kbit\" }}\n"
        );
        let options = RunOptions {
            packets: true,
            ..traced()
        };
        let output = run_text(&text, &options);
        let packets = output.packets.expect("they were asked for");
        let [sent, received] = sent_and_received(&packets);
        let count = sent.len();
        let sent: std::collections::BTreeMap<_, _> = sent.into_iter().collect();
        assert_eq!(sent.len(), count, "{transport}");
        let delays = received.iter().map(|(number, at)| at - sent[number]);
        let delays: Vec<f64> = delays.collect();
        let flow = &output.summary.flows["copied"];
        assert!(delays.len() > 500, "{transport}");
        assert_eq!(flow.packets_received, delays.len() as u64, "{transport}");
        let mean = delays.iter().sum::<f64>() / delays.len() as f64;
        near(flow.one_way_delay_s.unwrap().mean, mean, 1e-6);
    }
}

#[test]
fn a_packet_that_waits_for_the_handshake_is_late_by_that() {
    for (transport, first) in [
        ("kind = \"tcp\"", 0.060),
        ("kind = \"quic\"", 0.060),
        ("kind = \"dccp\", ccid = 2", 0.060),
        ("kind = \"dccp\", ccid = 3", 0.060),
        // UDP has no handshake.
        ("kind = \"udp\"", 0.010),
    ] {
        let text = format!(
            "[run]\nduration = \"2s\"\n\n[[host]]\nname = \"b\"\nhandshake_delay = \"50ms\"\n\n\
             [[link]]\nname = \"wire\"\nbetween = [\"a\", \"b\"]\ndelay = \"10ms\"\n\n\
             [[flow]]\nname = \"slow\"\nfrom = \"a\"\nto = \"b\"\ntransport = {{ {transport} }}\n\
             app = {{ kind = \"cbr\", packet = 500, rate = \"40kbit\" }}\n"
        );
        let options = RunOptions {
            packets: true,
            ..traced()
        };
        let output = run_text(&text, &options);
        // There are no losses and no reordering.
        let packets = output.packets.expect("they were asked for");
        let [sent, received] = sent_and_received(&packets);
        let delays = sent.iter().zip(&received);
        let delays = delays.map(|((_, sent), (_, received))| received - sent);
        let delays: Vec<f64> = delays.collect();
        near(delays[0], first, 1e-9);
        let flow = &output.summary.flows["slow"];
        assert_eq!(flow.packets_received, delays.len() as u64, "{transport}");
        let delay = flow.one_way_delay_s.unwrap();
        near(delay.max, first, 1e-9);
        near(
            delay.mean,
            delays.iter().sum::<f64>() / delays.len() as f64,
            1e-6,
        );
        let intervals = &output.flows[0].intervals.as_ref().unwrap();
        let largest = intervals.as_numbers("one_way_delay_max_s").unwrap();
        near(largest.iter().copied().fold(0.0, f64::max), first, 1e-9);
        assert_eq!(
            sum(intervals, "packets_received"),
            delays.len() as f64,
            "{transport}"
        );
    }
}

#[test]
fn a_round_trip_that_ends_with_the_run_has_no_part_in_the_summary() {
    for (transport, duration, samples) in [
        // For TCP the first sample is that of the first data, for QUIC that of the handshake.
        ("tcp", "40ms", false),
        ("tcp", "40001us", true),
        ("quic", "20ms", false),
        ("quic", "20001us", true),
    ] {
        let text = format!(
            "[run]\nduration = \"{duration}\"\n\n[[link]]\nname = \"wire\"\n\
             between = [\"a\", \"b\"]\ndelay = \"10ms\"\n\n\
             [[flow]]\nname = \"f\"\nfrom = \"a\"\nto = \"b\"\n\
             transport = {{ kind = \"{transport}\" }}\n"
        );
        let output = run_text(&text, &RunOptions::default());
        let rtt = output.summary.flows["f"].rtt_s;
        assert_eq!(rtt.is_some(), samples, "{transport} for {duration}");
    }
}

#[test]
fn a_flow_that_starts_late_has_no_timeout_for_it() {
    for transport in [
        "kind = \"tcp\"",
        "kind = \"quic\"",
        "kind = \"dccp\", ccid = 2",
        "kind = \"dccp\", ccid = 3",
    ] {
        let late = format!(
            "\n[[flow]]\nname = \"late\"\nfrom = \"a\"\nto = \"b\"\nstart = \"10s\"\n\
             transport = {{ {transport} }}\napp = {{ kind = \"bulk\", total = 9000 }}\n"
        );
        let output = over_a_wire("11s", &late);
        let flow = &output.summary.flows["late"];
        assert!(flow.completion_time_s.is_some(), "{transport}");
        let again = flow.retransmissions.unwrap_or_default();
        assert_eq!(again.timeouts, 0, "{transport}");
    }
}

#[test]
fn a_sender_that_sent_nothing_again_says_zero_and_not_nothing() {
    for (transport, counted) in [
        ("kind = \"tcp\"", true),
        ("kind = \"quic\"", true),
        ("kind = \"dccp\", ccid = 2", true),
        ("kind = \"dccp\", ccid = 3", true),
        ("kind = \"rtp\"", true),
        // UDP has neither retransmissions nor a timer.
        ("kind = \"udp\"", false),
    ] {
        let flow = format!(
            "transport = {{ {transport} }}\n\
             app = {{ kind = \"cbr\", packet = 500, rate = \"100kbit\" }}"
        );
        let link = "rate = \"10Mbit\"\ndelay = \"5ms\"";
        let output = run_text(&stream_over("duration = \"2s\"", link, &flow), &traced());
        let again = output.summary.flows["stream"].retransmissions;
        let expected = counted.then(Retransmissions::default);
        assert_eq!(again, expected, "{transport}");
    }
}

#[test]
fn tables_and_summary_end_at_the_same_time() {
    // A link of 8 Mbit/s takes 1 ms for 1000 octets. With a datagram each millisecond from time
    // zero on, a write, a transmission, an arrival and a drop also coincide with the end of the
    // run.
    let link = "rate = \"8Mbit\"\ndelay = \"10ms\"\n\
                loss = { kind = \"random\", rate = 0.5 }";
    let flow = "transport = { kind = \"udp\" }\n\
                app = { kind = \"cbr\", packet = 972, rate = \"7776kbit\" }";
    let options = RunOptions {
        packets: true,
        ..traced()
    };
    let output = run_text(&stream_over("duration = \"1s\"", link, flow), &options);
    let packets = output.packets.as_ref().expect("they were asked for");
    let rows = |wanted: (&str, &str)| {
        let [places, events] = ["place", "event"].map(|name| packets.words(name).unwrap());
        let rows = (0..packets.rows()).filter(|&row| (&*places[row], &*events[row]) == wanted);
        rows.count() as u64
    };
    let (flow, wire) = (
        &output.summary.flows["stream"],
        &output.summary.links["wire"],
    );
    assert_eq!(flow.packets_sent, 1000);
    assert_eq!(rows(("sender", "sent")), flow.packets_sent);
    assert_eq!(rows(("receiver", "received")), flow.packets_received);
    assert_eq!(rows(("link", "dropped")), wire.drops);
    assert!(wire.drops > 400);
    let over_time = output.tables().into_iter();
    for (path, table) in over_time.filter(|(path, _)| path != "delays") {
        // The last interval ends with the run, and the time of its row is its end.
        let times = table.as_numbers("time_s").unwrap();
        let last = times.last().copied();
        let after = if path.starts_with("intervals/") {
            last > Some(1.0)
        } else {
            last >= Some(1.0)
        };
        assert!(!after, "{path}: {last:?}");
    }
}

#[test]
fn what_would_happen_at_the_end_is_in_no_summary() {
    // Two writes, at 0 and 100 ms; a delay of 18 ms.
    for (duration, completed) in [("118ms", false), ("119ms", true)] {
        let output = over_a_wire(duration, &datagrams("short", "", ", count = 2"));
        let completion = output.summary.flows["short"].completion_time_s;
        assert_eq!(completion.is_some(), completed, "{duration}");
    }
}

#[test]
fn losses_found_in_intervals_less_what_came_late_are_those_of_the_summary() {
    // The jitter exceeds the 100 ms between two reports of RTP's receiver.
    let link = "rate = \"100Mbit\"\ndelay = \"300ms\"\n\
                loss = { kind = \"random\", rate = 0.02 }\nnetem = { jitter = \"200ms\" }";
    for (transport, app, place) in [
        (
            "udp",
            "kind = \"cbr\", packet = 972, rate = \"2Mbit\"",
            "receiver",
        ),
        ("rtp", "kind = \"video\"", "sender"),
    ] {
        let flow = format!("transport = {{ kind = \"{transport}\" }}\napp = {{ {app} }}");
        let options = RunOptions {
            packets: true,
            ..traced()
        };
        let text = stream_over("duration = \"10s\"", link, &flow);
        let output = run_text(&text, &options);
        let table = output.flows[0].intervals.as_ref().expect("a table");
        let [found, late] = ["packets_lost", "packets_late"].map(|name| sum(table, name) as u64);
        let packets = output.packets.as_ref().expect("they were asked for");
        let [places, events] = ["place", "event"].map(|name| packets.words(name).unwrap());
        let lost = |row: &usize| (&*places[*row], &*events[*row]) == (place, "lost");
        let rows = (0..packets.rows()).filter(lost).count() as u64;
        assert_eq!(found, rows, "{transport}");
        assert!(late > 0, "{transport}");
        let summary = &output.summary.flows["stream"];
        assert_eq!(found - late, summary.packets_lost, "{transport}");
    }
}

#[test]
fn sizes_and_throughput_have_no_headers_of_ip_and_udp() {
    // A UDP datagram has the size of the application's write, an RTP packet twelve octets more.
    for (transport, size) in [("udp", 500), ("rtp", 512)] {
        let flow = format!(
            "transport = {{ kind = \"{transport}\" }}\n\
             app = {{ kind = \"cbr\", packet = 500, rate = \"100kbit\" }}"
        );
        let options = RunOptions {
            packets: true,
            ..traced()
        };
        let link = "rate = \"10Mbit\"\ndelay = \"5ms\"";
        let output = run_text(&stream_over("duration = \"2s\"", link, &flow), &options);
        let flow = &output.summary.flows["stream"];
        near(
            flow.throughput_bps,
            flow.goodput_bps * f64::from(size) / 500.0,
            1e-12,
        );
        let packets = output.packets.as_ref().expect("they were asked for");
        let contents = packets.words("content").unwrap();
        let sizes = packets.as_numbers("size_bytes").unwrap();
        let data = contents.iter().zip(sizes.iter());
        let mut data = data.filter(|(content, _)| &***content == "data");
        assert!(
            data.all(|(_, octets)| *octets == f64::from(size)),
            "{transport}"
        );
    }
}
