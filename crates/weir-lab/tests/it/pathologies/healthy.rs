//! Runs that are well: nothing that a definition names happens in them.

use super::draw::{
    BULK, Draw, ENDS, LOSS_BASED, LossBased, Path, ccid3, flow, lone, run, transfer, whole,
};
use super::{Case, Generator};

/// The families, of which a seed takes one in turn.
pub(super) const FAMILIES: &[(&str, Generator)] = &[
    ("bulk_in_one_bdp", bulk_in_one_bdp),
    ("bulk_in_codel", bulk_in_aqm),
    ("requests", requests),
    ("cbr_with_room", cbr_with_room),
    ("audio", audio),
    ("nada_with_room", nada_with_room),
    ("tfrc_steady", tfrc_steady),
    ("ecn", ecn),
    ("two_equal_flows", two_equal_flows),
    ("bbr", bbr),
    ("short_transfers", short_transfers),
    ("copa", copa),
    ("prague_in_dualpi2", prague_in_dualpi2),
    ("one_wifi_station", one_wifi_station),
];

/// Senders whose slow start a loss ends; TCP's CUBIC without HyStart, which may end it earlier.
const SENDERS: &[LossBased] = &[
    LOSS_BASED[0],
    LossBased {
        transport: "kind = \"tcp\", controller = \"cubic\", overrides = { hystart = false }",
        beta: 0.7,
        cubic: true,
    },
    LOSS_BASED[3],
    LOSS_BASED[4],
    LOSS_BASED[5],
    LOSS_BASED[6],
];

/// Those of CUBIC: a lone Reno flow leaves a fifth of a link with CoDel's 5 ms unused.
const CUBIC: &[LossBased] = &[SENDERS[1], SENDERS[3], SENDERS[5]];

/// The loss of one packet at the sender, so that slow start ends with a window of about `share`
/// BDP: it is the initial window and what has been acknowledged. Without it slow start would
/// overflow the buffer.
fn end_of_slow_start(path: &Path, transport: &str, share: f64) -> String {
    // CCID 2 of RFC 4341 grows by a packet for each acknowledgement, of two packets each.
    let packets = if transport == LOSS_BASED[5].transport {
        2.0
    } else {
        1.0
    };
    let number = whole(packets * share * path.bdp()).max(14) - 8;
    format!("loss = {{ kind = \"trace\", drops = [{number}] }}")
}

/// One flow whose slow start ends at about 0.8 BDP.
fn bulk(path: &Path, duration: f64, seed: u64, transport: &str) -> String {
    run(duration, seed)
        + &path.link("bottleneck", ENDS)
        + &flow(
            "bulk",
            ENDS,
            transport,
            BULK,
            &end_of_slow_start(path, transport, 0.8),
        )
}

/// A path whose base is 20 to 50 ms and whose BDP is 50 to 150 packets.
fn ordinary(draw: &mut Draw) -> Path {
    let (bdp, base) = (draw.log(50.0, 150.0), draw.log(20.0, 50.0));
    let rate = bdp * 12.0 / base;
    Path::new(rate, base - 12.0 / rate)
}

/// 1/beta - 1 BDP is the largest buffer that a reduction empties.
fn bulk_in_one_bdp(draw: &mut Draw, seed: u64) -> Case {
    let sender = draw.pick(SENDERS);
    let most = 1.0 / sender.beta - 1.0;
    let path = ordinary(draw).with_buffer(most * draw.real(0.85, 1.0), 18);
    let scenario = bulk(&path, path.duration(30.0), seed, sender.transport);
    Case::new(
        scenario,
        &[],
        format!(
            "{}: a reduction to {} of the window empties it",
            path.words(),
            sender.beta
        ),
    )
}

fn bulk_in_aqm(draw: &mut Draw, seed: u64) -> Case {
    let kind = draw.pick(&["codel", "fq_codel", "pie"]);
    let path = ordinary(draw).with_queue(&format!("{{ kind = \"{kind}\" }}"));
    let scenario = bulk(&path, path.duration(30.0), seed, draw.pick(CUBIC).transport);
    Case::new(
        scenario,
        &[],
        format!("{}: it holds the delay", path.words()),
    )
}

fn requests(draw: &mut Draw, seed: u64) -> Case {
    let path = ordinary(draw).with_buffer(1.0, 30);
    let bytes = draw.int(5_000, 20_000);
    let think = draw.int(300, 1500);
    let kind = draw.pick(&["tcp", "quic"]);
    let app = format!(
        "kind = \"request\", response = {{ kind = \"constant\", bytes = {bytes} }}, think = \
         \"{think}ms\""
    );
    let transport = format!("kind = \"{kind}\", controller = \"cubic\"");
    Case::new(
        lone(&path, 30.0, seed, &transport, &app),
        &["application_limited"],
        format!(
            "{}: responses of {bytes} bytes, {think} ms apart",
            path.words()
        ),
    )
}

fn cbr_with_room(draw: &mut Draw, seed: u64) -> Case {
    let path = ordinary(draw).with_buffer(1.0, 30);
    let share = draw.real(0.05, 0.4);
    let mut rate = whole(path.rate * share * 1000.0);
    let transport = draw.pick(&[
        "kind = \"udp\"",
        "kind = \"dccp\", ccid = 3",
        "kind = \"dccp\", ccid = 2",
        "kind = \"dccp\", ccid = 4",
    ]);
    if transport.ends_with('4') {
        // CCID 4 sends at most a packet in 10 ms.
        rate = rate.min(500);
    }
    let app = format!("kind = \"cbr\", packet = 1000, rate = \"{rate}kbit\"");
    Case::new(
        lone(&path, path.duration(30.0), seed, transport, &app),
        &["application_limited"],
        format!("{}: a stream of {rate} kbit/s", path.words()),
    )
}

fn audio(draw: &mut Draw, seed: u64) -> Case {
    let path = Path::drawn(draw, [2.0, 20.0], [10.0, 120.0]).with_buffer(1.0, 50);
    let transport = draw.pick(&[
        "kind = \"dccp\", ccid = 3",
        "kind = \"dccp\", ccid = 4",
        "kind = \"udp\"",
        "kind = \"tcp\", controller = \"cubic\"",
    ]);
    Case::new(
        lone(&path, 30.0, seed, transport, "kind = \"audio\""),
        &["application_limited"],
        format!("{}: music of 128 kbit/s", path.words()),
    )
}

fn nada_with_room(draw: &mut Draw, seed: u64) -> Case {
    let path = Path::drawn(draw, [5.0, 20.0], [10.0, 100.0]).with_buffer(1.0, 60);
    Case::new(
        lone(
            &path,
            30.0,
            seed,
            "kind = \"rtp\", controller = \"nada\"",
            "kind = \"video\"",
        ),
        &["application_limited", "pacer_limited"],
        format!(
            "{}: video of at most 1.5 Mbit/s, which is meant",
            path.words()
        ),
    )
}

fn tfrc_steady(draw: &mut Draw, seed: u64) -> Case {
    let bdp = draw.log(15.0, 40.0);
    let path = Path::of_bdp(draw, bdp, [2.0, 20.0])
        .rtt_within(20.0, 120.0)
        .with_buffer(draw.real(0.7, 1.0), 10);
    let profile = draw.pick(&["rfc5348", "rfc3448"]);
    let transport = ccid3(profile, "oscillation = \"off\"");
    Case::new(
        bulk(&path, path.duration(60.0), seed, &transport),
        &["slow_start_overshoot"],
        format!("{}: R varies by at most a base round trip", path.words()),
    )
}

fn ecn(draw: &mut Draw, seed: u64) -> Case {
    let kind = draw.pick(&["codel", "fq_codel"]);
    let path = ordinary(draw).with_queue(&format!("{{ kind = \"{kind}\", ecn = true }}"));
    let transport = format!("{}, ecn = true", draw.pick(CUBIC).transport);
    let scenario = bulk(&path, path.duration(30.0), seed, &transport);
    Case::new(
        scenario,
        &[],
        format!("{}: marks in place of losses", path.words()),
    )
}

fn two_equal_flows(draw: &mut Draw, seed: u64) -> Case {
    let path = ordinary(draw).with_queue("{ kind = \"fq_codel\" }");
    let transport = draw.pick(SENDERS).transport;
    let end = end_of_slow_start(&path, transport, 0.65);
    let flows: String = ["one", "other"]
        .map(|name| {
            let more = format!("start = \"0s..50ms\"\n{end}");
            flow(name, ENDS, transport, BULK, &more)
        })
        .concat();
    let scenario = run(path.duration(30.0), seed)
        + "[[host]]\nname = \"server\"\njitter = \"0us..200us\"\n"
        + &path.link("bottleneck", ENDS)
        + &flows;
    Case::new(scenario, &[], format!("{}: two flows alike", path.words()))
}

fn bbr(draw: &mut Draw, seed: u64) -> Case {
    let path = ordinary(draw).with_buffer(draw.real(1.2, 2.0), 20);
    let kind = draw.pick(&["tcp", "quic"]);
    let transport = format!("kind = \"{kind}\", controller = \"bbr\"");
    let scenario = transfer(&path, 30.0, seed, &transport);
    Case::new(
        scenario,
        &["slow_start_overshoot"],
        format!("{}: BBR", path.words()),
    )
}

fn short_transfers(draw: &mut Draw, seed: u64) -> Case {
    let path = ordinary(draw).with_buffer(1.0, 60);
    let size = draw.int(10_000, 30_000);
    let rate = path.rate * 1e6 * draw.real(0.05, 0.2) / (size as f64 * 8.0);
    let kind = draw.pick(&["tcp", "quic"]);
    let arrivals = format!(
        "arrivals = {{ kind = \"poisson\", per_second = {rate:.2}, size = {{ kind = \"constant\", \
         bytes = {size} }} }}"
    );
    let scenario = run(20.0, seed)
        + &path.link("bottleneck", ENDS)
        + &flow(
            "pages",
            ENDS,
            &format!("kind = \"{kind}\", controller = \"cubic\""),
            BULK,
            &arrivals,
        );
    Case::new(
        scenario,
        &["application_limited"],
        format!(
            "{}: {rate:.2} transfers of {size} bytes a second",
            path.words()
        ),
    )
}

fn copa(draw: &mut Draw, seed: u64) -> Case {
    let path = ordinary(draw).with_buffer(1.5, 40);
    let kind = draw.pick(&["tcp", "quic"]);
    let transport =
        format!("kind = \"{kind}\", controller = \"copa\", copa = {{ mode_switching = false }}");
    let scenario = transfer(&path, 30.0, seed, &transport);
    Case::new(
        scenario,
        &[],
        format!("{}: Copa keeps two packets queued", path.words()),
    )
}

/// QUIC paces, so that the queue's threshold does not end slow start early.
fn prague_in_dualpi2(draw: &mut Draw, seed: u64) -> Case {
    let path = ordinary(draw).with_queue("{ kind = \"dualpi2\" }");
    let transport = "kind = \"quic\", controller = \"prague\"";
    let scenario = transfer(&path, 30.0, seed, transport);
    Case::new(scenario, &[], format!("{}: Prague alone", path.words()))
}

fn one_wifi_station(draw: &mut Draw, seed: u64) -> Case {
    let rate = draw.int(1, 6);
    let scenario = run(15.0, seed)
        + "[[link]]\nname = \"ethernet\"\nbetween = [\"server\", \"router\"]\nrate = \
           \"100Mbit\"\ndelay = \"10ms\"\n[[wifi]]\nname = \"air\"\nstandard = \
           \"g\"\n[[wifi.station]]\nhost = \"router\"\n[[wifi.station]]\nhost = \"laptop\"\nx = \
           3.0\n"
        + &flow(
            "stream",
            ["server", "laptop"],
            draw.pick(&["kind = \"udp\"", "kind = \"tcp\", controller = \"cubic\""]),
            &format!("kind = \"cbr\", rate = \"{rate}Mbit\""),
            "",
        );
    Case::new(
        scenario,
        &["application_limited"],
        format!("a stream of {rate} Mbit/s over a good signal of 802.11g"),
    )
}
