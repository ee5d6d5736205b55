//! The laws by name. Each entry reads its arguments and calls one typed function.

use super::law::Quantity::{Bytes, Number, Probability, Rate, Time};
use super::law::{Arguments, Law, Parameter, Quantity, ResultSpec};
use super::{cubic, mathis, pftk, tfrc};
use weir_proto::time::Duration;
use weir_proto::units;

const S: Parameter = needed("s", Bytes, "segment size, octets");
const MSS: Parameter = needed("mss", Bytes, "packet size, octets");
const RTT: Parameter = needed("rtt", Time, "round-trip time");
const P: Parameter = needed("p", Probability, "loss (event) rate");

/// Measured in the experiment `lossy-link`, with the rules of its document and 20 seeds.
const CLASSIC_VALID: &str = "QUIC NewReno with random loss, every packet acknowledged, has 0.94 to \
    1.04 times this throughput at p = 0.1 to 2 %, 0.86 at 5 % and 0.72 at 10 %";
const IDLE_VALID: &str = "QUIC NewReno with random loss has 1.05 to 1.12 times this throughput at \
    p = 0.1 to 10 % with every packet acknowledged; with every other, and an ack delay of 12 round \
    trips, 0.92 to 1.08 times up to 5 % and 0.71 at 10 %";

const SAWTOOTH: &[ResultSpec] = &[
    result("throughput_bps", "bit/s", "throughput"),
    result("window_packets", "packets", "W, the largest window"),
    result("cycle_rtts", "RTT", "length of a cycle"),
    result("idle_rtts", "RTT", "b"),
];

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

const fn result(name: &'static str, unit: &'static str, describe: &'static str) -> ResultSpec {
    ResultSpec {
        name,
        unit,
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
        valid: "",
        parameters: &[S, RTT, P],
        results: &[
            result("equation_rate_bps", "bit/s", "X_calc by the formula"),
            result(
                "kernel_rate_bps",
                "bit/s",
                "X_calc by the Linux kernel's table",
            ),
            result(
                "packets_per_s",
                "packets/s",
                "packets of s octets per second",
            ),
            result("response", "", "f(p)"),
        ],
        compute: tfrc_results,
    },
    Law {
        name: "tfrc-inverse",
        describe: "the loss event rate at which TFRC's equation gives a rate",
        equation: "p with s / (R·f(p)) = X",
        source: "RFC 5348 §6.3.1",
        valid: "",
        parameters: &[S, RTT, needed("rate", Rate, "the rate X")],
        results: &[
            result("loss_event_rate", "", "p, between 0 and 1"),
            result(
                "loss_interval_packets",
                "packets",
                "1/p, the mean loss interval",
            ),
        ],
        compute: tfrc_inverse_results,
    },
    Law {
        name: "tfrc-initial",
        describe: "TFRC's initial window and rate, and the floor of its slow start",
        equation: "X = min(4s, max(2s, 4380)) / R",
        source: "RFC 5348 §4.2, RFC 3390",
        valid: "",
        parameters: &[
            S,
            RTT,
            optional("rate", Rate, "", "a rate to compare W_init/R with"),
        ],
        results: &[
            result("initial_window_bytes", "bytes", "W_init"),
            result("initial_rate_bps", "bit/s", "W_init/R"),
            result("floor_rate_bps", "bit/s", "s/R, slow start's floor"),
            result(
                "rtt_at_rate_s",
                "s",
                "the round-trip time at which W_init/R is that rate",
            ),
        ],
        compute: tfrc_initial_results,
    },
    Law {
        name: "tfrc-nofeedback",
        describe: "the nofeedback timer's interval, and the rate below which s/X sets it",
        equation: "max(4R, 2s/X, minimum)",
        source: "RFC 3448 §4.3; Linux's minimum of 100 ms",
        valid: "",
        parameters: &[
            S,
            RTT,
            needed("rate", Rate, "the allowed rate X"),
            optional("min", Time, "", "smallest interval, none if absent"),
        ],
        results: &[
            result("interval_s", "s", "until the timer expires"),
            result(
                "knee_rate_bps",
                "bit/s",
                "below this rate 2s/X sets the interval",
            ),
            result("packet_interval_s", "s", "time between two packets, s/X"),
        ],
        compute: tfrc_nofeedback_results,
    },
    Law {
        name: "tfrc-slow-start",
        describe: "where TFRC's slow start ends for a sender that hardly sends",
        equation: "X' = max(min(2X, m), s/R), m = 2·X_recv, if idle max(W_init/R, 2·X_recv)",
        source: "RFC 3448 §4.3; rfc3448bis-00 for the idle sender",
        valid: "",
        parameters: &[
            S,
            RTT,
            needed("rate", Rate, "where X starts"),
            optional("receive-rate", Rate, "1bit", "X_recv"),
            optional(
                "idle",
                Number,
                "1",
                "1 if the sender counts as idle, else 0",
            ),
        ],
        results: &[
            result("next_bps", "bit/s", "after one step"),
            result("end_bps", "bit/s", "where it ends"),
            result("steps", "steps", "until nothing changes"),
            result(
                "doubling_from_bps",
                "bit/s",
                "an idle sender doubles above s/(2R)",
            ),
            result("doubling_until_bps", "bit/s", "and below W_init/(2R)"),
        ],
        compute: tfrc_slow_start_results,
    },
    Law {
        name: "mathis",
        describe: "a sawtooth without idle round trips",
        equation: "MSS/RTT · sqrt(3/(2p))",
        source: "Mathis, Semke, Mahdavi, Ott 1997",
        valid: CLASSIC_VALID,
        parameters: &[MSS, RTT, P],
        results: SAWTOOTH,
        compute: mathis_results,
    },
    Law {
        name: "mathis-b",
        describe: "the sawtooth with b round trips a cycle in which the window does not grow",
        equation: "3/4·MSS/RTT·(sqrt(8/(3p)+b²)−b), b = 2 or 2+3/4·min(1, ack delay/RTT)",
        source: "Mathis et al. 1997 with the idle round trips of QUIC's recovery",
        valid: IDLE_VALID,
        parameters: &[
            MSS,
            RTT,
            P,
            optional("ack-every", Number, "1", "packets per acknowledgement"),
            optional("ack-delay", Time, "25ms", "receiver's largest ack delay"),
            optional("b", Number, "", "idle round trips; overrides the two above"),
        ],
        results: SAWTOOTH,
        compute: mathis_b_results,
    },
    Law {
        name: "pftk",
        describe: "Reno with timeouts",
        equation: "min(Wmax/RTT, 1/(RTT·sqrt(2bp/3) + RTO·min(1, 3·sqrt(3bp/8))·p·(1+32p²)))",
        source: "Padhye, Firoiu, Towsley, Kurose 1998, equation 33",
        valid: "",
        parameters: &[
            MSS,
            RTT,
            P,
            optional("rto", Time, "", "retransmission timeout, 4 RTT if absent"),
            optional("ack-every", Number, "1", "packets per acknowledgement"),
            optional("max-window", Number, "", "largest window, packets"),
        ],
        results: &[
            result("throughput_bps", "bit/s", "throughput"),
            result("window_packets", "packets", "mean window"),
        ],
        compute: pftk_results,
    },
    Law {
        name: "cubic",
        describe: "CUBIC's mean window in its cubic and its Reno-friendly region",
        equation: "W = (C·(3+β)/(4·(1−β)))^(1/4) · (RTT/p)^(3/4)",
        source: "RFC 9438 §5.1",
        valid: "",
        parameters: &[
            MSS,
            RTT,
            P,
            optional("c", Number, "0.4", "C, packets per second cubed"),
            optional("beta", Number, "0.7", "β, the share kept at a loss"),
        ],
        results: &[
            result(
                "throughput_bps",
                "bit/s",
                "throughput, of the larger window",
            ),
            result("cubic_window_packets", "packets", "cubic region"),
            result("reno_window_packets", "packets", "Reno-friendly region"),
        ],
        compute: cubic_results,
    },
    Law {
        name: "bdp",
        describe: "the bandwidth-delay product of a path",
        equation: "rate · RTT",
        source: "definition",
        valid: "",
        parameters: &[
            needed("rate", Rate, "the bottleneck's rate"),
            RTT,
            optional("mss", Bytes, "1500b", "packet size, octets"),
        ],
        results: &[
            result("bdp_bytes", "bytes", "rate times round-trip time"),
            result("bdp_packets", "packets", "in packets"),
        ],
        compute: bdp_results,
    },
];

fn tfrc_results(given: &Arguments) -> Vec<f64> {
    let (s, rtt, p) = (given.bytes("s"), given.time("rtt"), given.probability("p"));
    let formula = tfrc::throughput(s, rtt, p);
    vec![
        formula.as_bps(),
        tfrc::kernel_throughput(s, rtt, p).as_bps(),
        formula.as_bytes_per_sec() / s as f64,
        tfrc::response(p),
    ]
}

/// No results if even p = 1 allows more than the rate.
fn tfrc_inverse_results(given: &Arguments) -> Vec<f64> {
    let found = tfrc::loss_event_rate_for(given.bytes("s"), given.time("rtt"), given.rate("rate"));
    match found.map(units::Probability::get) {
        Some(p) => vec![p, 1.0 / p],
        None => vec![f64::NAN],
    }
}

fn tfrc_initial_results(given: &Arguments) -> Vec<f64> {
    let (s, rtt) = (given.bytes("s"), given.time("rtt"));
    let window = tfrc::initial_window(s);
    let mut results = vec![
        window as f64,
        tfrc::per_rtt(window, rtt).as_bps(),
        tfrc::per_rtt(s, rtt).as_bps(),
    ];
    if given.has("rate") {
        results.push(given.rate("rate").time_for(window).as_secs_f64());
    }
    results
}

fn tfrc_nofeedback_results(given: &Arguments) -> Vec<f64> {
    let (s, rtt, rate) = (given.bytes("s"), given.time("rtt"), given.rate("rate"));
    let min = if given.has("min") {
        given.time("min")
    } else {
        Duration::ZERO
    };
    vec![
        tfrc::nofeedback_interval(s, rtt, rate, min).as_secs_f64(),
        tfrc::nofeedback_knee(s, (rtt * 4).max(min)).as_bps(),
        rate.time_for(s).as_secs_f64(),
    ]
}

fn tfrc_slow_start_results(given: &Arguments) -> Vec<f64> {
    let rate = given.rate("rate");
    let at = tfrc::SlowStart {
        segment_size: given.bytes("s"),
        rtt: given.time("rtt"),
        receive_rate: given.rate("receive-rate"),
        idle: given.plain("idle") > 0.0,
    };
    let series = tfrc::slow_start_series(rate, at, 10_000);
    let window = tfrc::initial_window(at.segment_size);
    vec![
        tfrc::slow_start_step(rate, at).as_bps(),
        series.last().copied().unwrap_or_default().as_bps(),
        (series.len() - 1) as f64,
        tfrc::per_rtt(at.segment_size, at.rtt).as_bps() / 2.0,
        tfrc::per_rtt(window, at.rtt).as_bps() / 2.0,
    ]
}

fn path(given: &Arguments) -> mathis::Path {
    mathis::Path {
        packet_bytes: given.bytes("mss"),
        rtt: given.time("rtt"),
        loss: given.probability("p"),
    }
}

fn sawtooth_results(tooth: mathis::Sawtooth) -> Vec<f64> {
    vec![tooth.rate.as_bps(), tooth.window_packets, tooth.cycle_rtts]
}

fn mathis_results(given: &Arguments) -> Vec<f64> {
    sawtooth_results(mathis::classic(path(given)))
}

fn mathis_b_results(given: &Arguments) -> Vec<f64> {
    let path = path(given);
    let b = if given.has("b") {
        given.plain("b")
    } else {
        let ack_every = given.plain("ack-every") as u32;
        mathis::idle_rtts(ack_every, given.time("ack-delay"), path.rtt)
    };
    let mut results = sawtooth_results(mathis::with_idle_rtts(path, b));
    results.push(b);
    results
}

fn pftk_results(given: &Arguments) -> Vec<f64> {
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
    vec![rate.as_bps(), window]
}

fn cubic_results(given: &Arguments) -> Vec<f64> {
    let law = cubic::Constants {
        c: given.plain("c"),
        beta: given.plain("beta").min(0.999_999),
    };
    let (mss, rtt, p) = (
        given.bytes("mss"),
        given.time("rtt"),
        given.probability("p"),
    );
    let steady = cubic::steady(mss, rtt, p, law);
    vec![
        steady.rate.as_bps(),
        steady.cubic_packets,
        steady.reno_packets,
    ]
}

fn bdp_results(given: &Arguments) -> Vec<f64> {
    let bytes = given.rate("rate").as_bytes_per_sec() * given.time("rtt").as_secs_f64();
    vec![bytes, bytes / given.bytes("mss") as f64]
}
