//! The laws by name. Each entry reads its arguments and calls one typed function.

use super::law::{Arguments, Law, Line, Parameter, Quantity};
use super::{cubic, mathis, pftk, tfrc};
use weir_proto::time::Duration;
use weir_proto::units::{Probability, Rate};

const S: Parameter = needed("s", Quantity::Bytes, "segment size, octets");
const MSS: Parameter = needed("mss", Quantity::Bytes, "packet size, octets");
const RTT: Parameter = needed("rtt", Quantity::Time, "round-trip time");
const P: Parameter = needed("p", Quantity::Probability, "loss (event) rate");

const fn needed(name: &'static str, quantity: Quantity, describe: &'static str) -> Parameter {
    Parameter {
        name,
        quantity,
        default: None,
        describe,
    }
}

/// A parameter with a default; an empty default means that it may be absent.
const fn optional(
    name: &'static str,
    quantity: Quantity,
    default: &'static str,
    describe: &'static str,
) -> Parameter {
    Parameter {
        name,
        quantity,
        default: Some(default),
        describe,
    }
}

/// All laws, in the order in which help lists them.
pub const LAWS: &[Law] = &[
    Law {
        name: "tfrc",
        describe: "TFRC's throughput equation, by formula and by the Linux kernel's table",
        equation: "X = s / (R·(sqrt(2p/3) + 12·sqrt(3p/8)·p·(1+32p²)))",
        source: "RFC 5348 §3.1; Linux net/dccp/ccids/lib/tfrc_equation.c",
        parameters: &[S, RTT, P],
        compute: tfrc_lines,
    },
    Law {
        name: "tfrc-inverse",
        describe: "the loss event rate at which TFRC's equation gives a rate",
        equation: "p with s / (R·f(p)) = X",
        source: "RFC 5348 §6.3.1",
        parameters: &[S, RTT, needed("rate", Quantity::Rate, "the rate X")],
        compute: tfrc_inverse_lines,
    },
    Law {
        name: "tfrc-initial",
        describe: "TFRC's initial window and rate, and the floor of its slow start",
        equation: "X = min(4s, max(2s, 4380)) / R",
        source: "RFC 5348 §4.2, RFC 3390",
        parameters: &[
            S,
            RTT,
            optional(
                "rate",
                Quantity::Rate,
                "",
                "a rate to compare W_init/R with",
            ),
        ],
        compute: tfrc_initial_lines,
    },
    Law {
        name: "tfrc-nofeedback",
        describe: "the nofeedback timer's interval, and the rate below which s/X sets it",
        equation: "max(4R, 2s/X, minimum)",
        source: "RFC 3448 §4.3; Linux's minimum of 100 ms",
        parameters: &[
            S,
            RTT,
            needed("rate", Quantity::Rate, "the allowed rate X"),
            optional(
                "min",
                Quantity::Time,
                "",
                "smallest interval, none if absent",
            ),
        ],
        compute: tfrc_nofeedback_lines,
    },
    Law {
        name: "tfrc-slow-start",
        describe: "where TFRC's slow start ends for a sender that hardly sends",
        equation: "X' = max(min(2X, m), s/R), m = 2·X_recv, if idle max(W_init/R, 2·X_recv)",
        source: "RFC 3448 §4.3; rfc3448bis-00 for the idle sender",
        parameters: &[
            S,
            RTT,
            needed("rate", Quantity::Rate, "where X starts"),
            optional("receive-rate", Quantity::Rate, "1bit", "X_recv"),
            optional(
                "idle",
                Quantity::Number,
                "1",
                "1 if the sender counts as idle, else 0",
            ),
        ],
        compute: tfrc_slow_start_lines,
    },
    Law {
        name: "mathis",
        describe: "a sawtooth without idle round trips",
        equation: "MSS/RTT · sqrt(3/(2p))",
        source: "Mathis, Semke, Mahdavi, Ott 1997",
        parameters: &[MSS, RTT, P],
        compute: mathis_lines,
    },
    Law {
        name: "mathis-b",
        describe: "the sawtooth with b round trips a cycle in which the window does not grow",
        equation: "3/4·MSS/RTT·(sqrt(8/(3p)+b²)−b), b = 2 or 2+3/4·min(1, ack delay/RTT)",
        source: "Mathis et al. 1997 with the idle round trips of QUIC's recovery",
        parameters: &[
            MSS,
            RTT,
            P,
            optional(
                "ack-every",
                Quantity::Number,
                "1",
                "packets per acknowledgement",
            ),
            optional(
                "ack-delay",
                Quantity::Time,
                "25ms",
                "receiver's largest ack delay",
            ),
            optional(
                "b",
                Quantity::Number,
                "",
                "idle round trips; overrides the two above",
            ),
        ],
        compute: mathis_b_lines,
    },
    Law {
        name: "pftk",
        describe: "Reno with timeouts",
        equation: "min(Wmax/RTT, 1/(RTT·sqrt(2bp/3) + RTO·min(1, 3·sqrt(3bp/8))·p·(1+32p²)))",
        source: "Padhye, Firoiu, Towsley, Kurose 1998, equation 33",
        parameters: &[
            MSS,
            RTT,
            P,
            optional(
                "rto",
                Quantity::Time,
                "",
                "retransmission timeout, 4 RTT if absent",
            ),
            optional(
                "ack-every",
                Quantity::Number,
                "1",
                "packets per acknowledgement",
            ),
            optional(
                "max-window",
                Quantity::Number,
                "",
                "largest window, packets",
            ),
        ],
        compute: pftk_lines,
    },
    Law {
        name: "cubic",
        describe: "CUBIC's mean window in its cubic and its Reno-friendly region",
        equation: "W = (C·(3+β)/(4·(1−β)))^(1/4) · (RTT/p)^(3/4)",
        source: "RFC 9438 §5.1",
        parameters: &[
            MSS,
            RTT,
            P,
            optional("c", Quantity::Number, "0.4", "C, packets per second cubed"),
            optional(
                "beta",
                Quantity::Number,
                "0.7",
                "β, the share kept at a loss",
            ),
        ],
        compute: cubic_lines,
    },
    Law {
        name: "bdp",
        describe: "the bandwidth-delay product of a path",
        equation: "rate · RTT",
        source: "definition",
        parameters: &[
            needed("rate", Quantity::Rate, "the bottleneck's rate"),
            RTT,
            optional("mss", Quantity::Bytes, "1500b", "packet size, octets"),
        ],
        compute: bdp_lines,
    },
];

fn tfrc_lines(given: &Arguments) -> Vec<Line> {
    let (s, rtt, p) = (given.bytes("s"), given.time("rtt"), given.probability("p"));
    let formula = tfrc::throughput(s, rtt, p);
    let kernel = tfrc::kernel_throughput(s, rtt, p);
    vec![
        Line::rate("equation_rate_bps", formula, "X_calc by the formula"),
        Line::rate(
            "kernel_rate_bps",
            kernel,
            "X_calc by the Linux kernel's table",
        ),
        Line::new(
            "packets_per_s",
            formula.as_bytes_per_sec() / s as f64,
            "packets/s",
            "packets of s octets per second",
        ),
        Line::new("response", tfrc::response(p), "", "f(p)"),
    ]
}

fn tfrc_inverse_lines(given: &Arguments) -> Vec<Line> {
    let found = tfrc::loss_event_rate_for(given.bytes("s"), given.time("rtt"), given.rate("rate"));
    let p = found.map_or(f64::NAN, Probability::get);
    let mut lines = vec![Line::new("loss_event_rate", p, "", "p, between 0 and 1")];
    if found.is_none() {
        "none: even p = 1 allows more".clone_into(&mut lines[0].text);
        return lines;
    }
    lines.push(Line::new(
        "loss_interval_packets",
        1.0 / p,
        "packets",
        "1/p, the mean loss interval",
    ));
    lines
}

fn tfrc_initial_lines(given: &Arguments) -> Vec<Line> {
    let (s, rtt) = (given.bytes("s"), given.time("rtt"));
    let window = tfrc::initial_window(s);
    let mut lines = vec![
        Line::new("initial_window_bytes", window as f64, "bytes", "W_init"),
        Line::rate("initial_rate_bps", tfrc::per_rtt(window, rtt), "W_init/R"),
        Line::rate(
            "floor_rate_bps",
            tfrc::per_rtt(s, rtt),
            "s/R, slow start's floor",
        ),
    ];
    if given.has("rate") {
        lines.push(Line::new(
            "rtt_at_rate_s",
            given.rate("rate").time_for(window).as_secs_f64(),
            "s",
            "the round-trip time at which W_init/R is that rate",
        ));
    }
    lines
}

fn tfrc_nofeedback_lines(given: &Arguments) -> Vec<Line> {
    let (s, rtt) = (given.bytes("s"), given.time("rtt"));
    let min = if given.has("min") {
        given.time("min")
    } else {
        Duration::ZERO
    };
    let interval = tfrc::nofeedback_interval(s, rtt, given.rate("rate"), min);
    let knee = tfrc::nofeedback_knee(s, (rtt * 4).max(min));
    vec![
        Line::new(
            "interval_s",
            interval.as_secs_f64(),
            "s",
            "until the timer expires",
        ),
        Line::rate(
            "knee_rate_bps",
            knee,
            "below this rate 2s/X sets the interval",
        ),
        Line::new(
            "packet_interval_s",
            given.rate("rate").time_for(s).as_secs_f64(),
            "s",
            "time between two packets, s/X",
        ),
    ]
}

fn tfrc_slow_start_lines(given: &Arguments) -> Vec<Line> {
    let at = tfrc::SlowStart {
        segment_size: given.bytes("s"),
        rtt: given.time("rtt"),
        receive_rate: given.rate("receive-rate"),
        idle: given.plain("idle") > 0.0,
    };
    let series = tfrc::slow_start_series(given.rate("rate"), at, 10_000);
    let floor = tfrc::per_rtt(at.segment_size, at.rtt).as_bps();
    let window = tfrc::per_rtt(tfrc::initial_window(at.segment_size), at.rtt).as_bps();
    let end = series.last().copied().unwrap_or_default();
    vec![
        Line::rate(
            "next_bps",
            tfrc::slow_start_step(given.rate("rate"), at),
            "after one step",
        ),
        Line::rate("end_bps", end, "where it ends"),
        Line::new(
            "steps",
            (series.len() - 1) as f64,
            "steps",
            "until nothing changes",
        ),
        Line::new(
            "doubling_from_bps",
            floor / 2.0,
            "bit/s",
            "an idle sender doubles above s/(2R)",
        ),
        Line::new(
            "doubling_until_bps",
            window / 2.0,
            "bit/s",
            "and below W_init/(2R)",
        ),
    ]
}

fn path(given: &Arguments) -> mathis::Path {
    mathis::Path {
        packet_bytes: given.bytes("mss"),
        rtt: given.time("rtt"),
        loss: given.probability("p"),
    }
}

fn sawtooth_lines(tooth: mathis::Sawtooth) -> Vec<Line> {
    vec![
        Line::rate("throughput_bps", tooth.rate, "throughput"),
        Line::new(
            "window_packets",
            tooth.window_packets,
            "packets",
            "W, the largest window",
        ),
        Line::new("cycle_rtts", tooth.cycle_rtts, "RTT", "length of a cycle"),
    ]
}

fn mathis_lines(given: &Arguments) -> Vec<Line> {
    sawtooth_lines(mathis::classic(path(given)))
}

fn mathis_b_lines(given: &Arguments) -> Vec<Line> {
    let path = path(given);
    let b = if given.has("b") {
        given.plain("b")
    } else {
        mathis::idle_rtts(
            given.plain("ack-every") as u32,
            given.time("ack-delay"),
            path.rtt,
        )
    };
    let mut lines = sawtooth_lines(mathis::with_idle_rtts(path, b));
    lines.push(Line::new("idle_rtts", b, "RTT", "b"));
    lines
}

fn pftk_lines(given: &Arguments) -> Vec<Line> {
    let rtt = given.time("rtt");
    let rate = pftk::throughput(pftk::Reno {
        segment_size: given.bytes("mss"),
        rtt,
        rto: if given.has("rto") {
            given.time("rto")
        } else {
            rtt * 4
        },
        loss: given.probability("p"),
        ack_every: given.plain("ack-every"),
        max_window_packets: if given.has("max-window") {
            given.plain("max-window")
        } else {
            f64::INFINITY
        },
    });
    let window = rate.as_bytes_per_sec() * rtt.as_secs_f64() / given.bytes("mss") as f64;
    vec![
        Line::rate("throughput_bps", rate, "throughput"),
        Line::new("window_packets", window, "packets", "mean window"),
    ]
}

fn cubic_lines(given: &Arguments) -> Vec<Line> {
    let law = cubic::Constants {
        c: given.plain("c"),
        beta: given.plain("beta").min(0.999_999),
    };
    let steady = cubic::steady(
        given.bytes("mss"),
        given.time("rtt"),
        given.probability("p"),
        law,
    );
    vec![
        Line::rate(
            "throughput_bps",
            steady.rate,
            "throughput, of the larger window",
        ),
        Line::new(
            "cubic_window_packets",
            steady.cubic_packets,
            "packets",
            "cubic region",
        ),
        Line::new(
            "reno_window_packets",
            steady.reno_packets,
            "packets",
            "Reno-friendly region",
        ),
    ]
}

fn bdp_lines(given: &Arguments) -> Vec<Line> {
    let rate: Rate = given.rate("rate");
    let bytes = rate.as_bytes_per_sec() * given.time("rtt").as_secs_f64();
    vec![
        Line::new("bdp_bytes", bytes, "bytes", "rate times round-trip time"),
        Line::new(
            "bdp_packets",
            bytes / given.bytes("mss") as f64,
            "packets",
            "in packets",
        ),
    ]
}
