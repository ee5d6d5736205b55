//! What `weir explain` says of small traces of other programs, made by hand: each kind is found in
//! the trace that shows it, and not in one that is almost the same.

use crate::found_again::found_again;
use std::fmt::Write as _;
use std::io::Cursor;
use weir_lab::diagnosis::{Explanation, Trace, explain};
use weir_lab::trace::import::{Imported, read_iperf3_text, read_ss, read_tcp_probe};

fn explained(imported: &Imported) -> Explanation {
    let trace = Trace::of_import(imported);
    let explanation = explain(&trace);
    for finding in &explanation.findings {
        found_again(&trace, finding);
    }
    explanation
}

fn kinds(explanation: &Explanation) -> Vec<&'static str> {
    let findings = explanation.findings.iter();
    findings.map(|finding| finding.kind).collect()
}

fn of_ss(text: &str) -> Vec<&'static str> {
    kinds(&explained(&read_ss(Cursor::new(text)).unwrap()))
}

/// A sample of a socket with these values.
fn socket(queues: &str, values: &str) -> String {
    format!(
        "ESTAB {queues} 10.0.0.1:40000 10.0.0.2:5201\n\
         \t cubic wscale:7,7 rto:220 rtt:20/1 mss:1448 cwnd:50 {values} minrtt:19.5\n"
    )
}

#[test]
fn a_single_sample_says_that_the_receivers_window_held_it() {
    let values = |limited: u32| {
        format!(
            "bytes_sent:5000000 bytes_acked:4990000 busy:10000ms rwnd_limited:{limited}ms(0%) \
             unacked:7 notsent:100000"
        )
    };
    assert_eq!(
        of_ss(&socket("0 100000", &values(5100))),
        ["receiver_limited"]
    );
    assert_eq!(of_ss(&socket("0 100000", &values(4900))), [""; 0]);
    let buffer = "bytes_sent:5000000 busy:10000ms sndbuf_limited:9000ms(90%) unacked:7";
    assert_eq!(of_ss(&socket("0 0", buffer)), ["send_buffer_limited"]);
}

#[test]
fn a_tenth_of_the_octets_sent_again_is_heavy() {
    // 300 of 3000 packets, and 299.
    let values = |again: u32| {
        format!(
            "bytes_sent:4344000 bytes_retrans:{again} bytes_acked:3000000 unacked:50 busy:9000ms"
        )
    };
    assert_eq!(
        of_ss(&socket("0 9", &values(434_400))),
        ["heavy_retransmission"]
    );
    assert_eq!(of_ss(&socket("0 9", &values(434_399))), [""; 0]);
    // Nine packets are too few.
    let few = "bytes_sent:26064 bytes_retrans:13032 bytes_acked:13032 busy:90ms";
    assert_eq!(of_ss(&socket("0 0", few)), [""; 0]);
    // An older kernel counts segments only.
    let segments = "data_segs_out:200 retrans:0/40 bytes_acked:230000";
    assert_eq!(of_ss(&socket("0 0", segments)), ["heavy_retransmission"]);
}

#[test]
fn a_socket_that_probes_a_closed_window_or_waits_for_a_dead_peer_says_so() {
    let probing = |backoff: u32, unacked: u32, limited: u32| {
        format!(
            "backoff:{backoff} bytes_sent:50000 bytes_acked:50000 unacked:{unacked} \
             notsent:90000 busy:9000ms rwnd_limited:{limited}ms(1%) lastsnd:900 lastack:100"
        )
    };
    let of = |values: &str| of_ss(&socket("0 90000", values));
    assert_eq!(of(&probing(2, 0, 1000)), ["closed_window"]);
    assert_eq!(of(&probing(1, 0, 1000)), [""; 0]);
    // The window did not hold it: something else keeps its packets back.
    assert_eq!(of(&probing(2, 0, 999)), [""; 0]);
    // With octets outstanding it is a retransmission; the last acknowledgement came 100 ms ago.
    assert_eq!(of(&probing(3, 5, 1000)), [""; 0]);
    let unanswered = probing(9, 0, 21) + " timer:(persist,1min23sec,9)";
    assert_eq!(
        of(&unanswered.replace("lastack:100", "lastack:125000")),
        ["black_hole"]
    );
    assert_eq!(
        of(&unanswered.replace("lastack:100", "lastack:20000")),
        [""; 0]
    );
    // The doubled timeout, 0.22 s · 2^12, is at most 120 s, of which a quarter must have passed.
    let bounded = probing(12, 0, 21) + " timer:(persist,1min23sec,12)";
    let of_bounded = |ack: &str| of(&bounded.replace("lastack:100", ack));
    assert_eq!(of_bounded("lastack:30900"), ["black_hole"]);
    assert_eq!(of_bounded("lastack:30800"), [""; 0]);
    let dead = "rto:1760 backoff:3 bytes_sent:50000 bytes_acked:9000 unacked:5 busy:9000ms \
                lastsnd:900 lastack:2000";
    assert_eq!(of_ss(&socket("0 90000", dead)), ["black_hole"]);
}

#[test]
fn a_receiver_that_does_not_read_is_told_from_one_that_just_received() {
    let receiver = |queue: u32, since: u32| {
        let values = format!("bytes_received:900000 bytes_acked:100 lastrcv:{since} busy:2ms");
        socket(&format!("{queue} 0"), &values)
    };
    assert_eq!(of_ss(&receiver(33_000, 1000)), ["unread_data"]);
    // What only receives and holds nothing is the other end of a flow.
    let error = read_ss(Cursor::new(receiver(0, 1000))).unwrap_err();
    assert!(
        error.to_string().contains("none of 1 sockets sends data"),
        "{error}"
    );
    assert_eq!(of_ss(&receiver(33_000, 999)), [""; 0]);
    let memory = |used: u32, waiting: u32| {
        let values = format!(
            "skmem:(r{used},rb131072,t0,tb46080,f0,w0,o0,bl0,d9) bytes_acked:90 bytes_sent:90 \
             bytes_received:900 busy:9ms rcv_ooopack:{waiting}"
        );
        socket("0 0", &values)
    };
    assert_eq!(of_ss(&memory(127_488, 31)), ["out_of_order_buffer"]);
    assert_eq!(of_ss(&memory(100_000, 31)), [""; 0]);
    assert_eq!(of_ss(&memory(127_488, 0)), [""; 0]);
}

#[test]
fn an_idle_socket_is_no_finding_and_its_share_is_told() {
    let held = |values: &str| {
        let imported = read_ss(Cursor::new(socket("0 0", values))).unwrap();
        let explanation = explained(&imported);
        assert_eq!(kinds(&explanation), [""; 0]);
        let shares = explanation.held[0].shares.iter();
        let shares = shares.map(|share| (share.bound.clone(), share.share.value));
        shares.collect::<Vec<_>>()
    };
    // Of at least 20 s of life, 15 idle and 2 held by the receiver's window.
    let idle = "bytes_sent:90000 bytes_acked:90001 busy:5000ms rwnd_limited:2000ms(40.0%) \
                lastsnd:15000";
    let shares = [("application", 0.75), ("receiver_credit", 0.1)];
    assert_eq!(
        held(idle),
        shares.map(|(bound, share)| (bound.to_owned(), share))
    );
    let waiting = idle.to_owned() + " notsent:9600";
    assert_eq!(held(&waiting), [("receiver_credit".to_owned(), 0.4)]);
}

#[test]
fn text_of_ss_that_was_cut_quoted_or_wrapped_is_read() {
    let cut = "ESTAB  Send-Q=3899264  timer:(persist,1min13sec,0) backoff:9\n  bbr mss:1448 \
               pmtu:1500 cwnd:346 ssthresh:140\n  bytes_sent:157091065 retrans:0/1\n  \
               delivery_rate 47Mbps rwnd_limited:146880ms(95.7%) notsent:3899264\n";
    assert_eq!(of_ss(cut), ["closed_window", "receiver_limited"]);
    let imported = read_ss(Cursor::new(cut)).unwrap();
    assert_eq!(imported.flows[0].controller.as_deref(), Some("bbr"));
    let cwnd = imported.flows[0].trace.table.numbers("cwnd_bytes").unwrap();
    assert_eq!(cwnd, [501_008.0]);
    let wrapped = "> Send-Q 9600  notsent:9600  snd_wnd:1024  lastsnd:47  busy:8717400ms\n> \
                   rwnd_limited:3574153ms(41.0%)  retrans:0/259  bytes_sent:1696958440\n";
    let imported = read_ss(Cursor::new(wrapped)).unwrap();
    let said = imported.remarks.join("\n");
    assert!(said.contains("sockets without addresses"), "{said}");
    assert_eq!(kinds(&explained(&imported)), [""; 0]);
    let counters = imported.flows[0].counters.as_ref().unwrap();
    assert_eq!(counters.numbers("receiver_limited_s").unwrap(), [3574.153]);
    // The lines of a listener are of no socket.
    let listener = "LISTEN 0 5 *:5201 *:*\n\t cubic rto:1000 mss:536 cwnd:10 segs_in:3\n";
    assert!(read_ss(Cursor::new(listener)).is_err());
    assert!(read_ss(Cursor::new("cwnd:10 of the book\n")).is_err());
}

#[test]
fn windows_of_zero_in_both_directions_are_a_closed_window() {
    let line = |at: &str, una: &str, peer: u32, own: u32| {
        format!(
            "<idle>-0 [000] ..s1. 100.{at}: tcp_probe: src=10.0.0.1:2049 dest=10.0.0.2:900 \
             mark=0x0 data_len=0 snd_nxt=0x2000 snd_una={una} snd_cwnd=44 ssthresh=33 \
             snd_wnd={peer} srtt=96 rcv_wnd={own} sock_cookie=1\n"
        )
    };
    let of = |last: String| {
        let text = line("000000", "0x1000", 40_000, 0) + &last;
        kinds(&explained(
            &read_tcp_probe(Cursor::new(text), None).unwrap(),
        ))
    };
    assert_eq!(of(line("000300", "0x2000", 0, 0)), ["closed_window"]);
    for last in [
        line("000300", "0x2000", 0, 5000),
        line("000300", "0x2000", 1, 0),
        line("000300", "0x1fff", 0, 0),
    ] {
        assert_eq!(of(last), [""; 0]);
    }
}

#[test]
fn intervals_without_an_octet_are_a_black_hole_if_packets_are_sent_again() {
    let test = |again: [u32; 4], carrying: usize| {
        let mut text = String::from("[ ID] Interval Transfer Bandwidth Retr Cwnd\n");
        for (second, again) in again.iter().enumerate() {
            let octets = if second < carrying {
                "84.8 KBytes 694"
            } else {
                "0.00 Bytes 0.00"
            };
            let unit = if second < carrying {
                "Kbits/sec"
            } else {
                "bits/sec"
            };
            let end = second + 1;
            writeln!(
                text,
                "[  4] {second}.00-{end}.00 sec {octets} {unit} {again} 1.41 KBytes"
            )
            .unwrap();
        }
        kinds(&explained(&read_iperf3_text(Cursor::new(text)).unwrap()))
    };
    assert_eq!(test([2, 1, 0, 1], 1), ["black_hole"]);
    assert_eq!(test([2, 1, 0, 0], 1), [""; 0]);
    // Two seconds are too short.
    assert_eq!(test([2, 1, 1, 1], 2), [""; 0]);
}

#[test]
fn a_window_that_stays_without_a_loss_is_not_what_limits() {
    let test = |lost: u32, windows: [u32; 7]| {
        let mut text = String::from("[ ID] Interval Transfer Bandwidth Retr Cwnd\n");
        for (second, window) in windows.iter().enumerate() {
            let lost = if second == 3 { lost } else { 0 };
            let end = second + 1;
            writeln!(
                text,
                "[  4] {second}.00-{end}.00 sec 11.2 MBytes 94.4 Mbits/sec {lost} {window} KBytes"
            )
            .unwrap();
        }
        kinds(&explained(&read_iperf3_text(Cursor::new(text)).unwrap()))
    };
    let same = [822; 7];
    assert_eq!(test(0, same), ["not_congestion_limited"]);
    assert_eq!(test(1, same), [""; 0]);
    assert_eq!(test(0, [822, 822, 822, 822, 822, 823, 824]), [""; 0]);
}
