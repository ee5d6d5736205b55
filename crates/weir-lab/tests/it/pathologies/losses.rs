//! Packets that are lost, late or out of order, and what timers make of it.

use super::draw::{BULK, Draw, LOSS_BASED, Path, STREAMS, flow, lone, transfer, whole};
use super::{Case, SLOW_START_END, UNFILLED};

/// A path whose rate the law of Mathis, 1.22 / sqrt(p) packets a round trip, does not reach.
fn roomy(draw: &mut Draw, loss: f64) -> Path {
    let window = 1.22 / loss.sqrt();
    let bdp = draw.real(5.0, 8.0) * window;
    Path::of_bdp(draw, bdp, [5.0, 60.0])
        .rtt_within(4.0, 300.0)
        .with_buffer(4.0, 120)
}

pub(super) fn random_loss(draw: &mut Draw, seed: u64) -> Case {
    let loss = (draw.log(0.003, 0.03) * 1e4).round() / 1e4;
    let mut path = roomy(draw, loss);
    path.forward = format!(", loss = {{ kind = \"random\", rate = {loss} }}");
    let sender = draw.pick(LOSS_BASED);
    Case::new(
        transfer(&path, 30.0, seed, sender.transport),
        UNFILLED,
        format!(
            "{}: p = {loss} allows {:.0} packets a round trip, so the queue is empty",
            path.words(),
            1.22 / loss.sqrt()
        ),
    )
}

pub(super) fn bursty_loss(draw: &mut Draw, seed: u64) -> Case {
    let burst = draw.real(4.0, 8.0);
    let gap = draw.log(200.0, 800.0);
    let mut path = roomy(draw, 1.0 / gap);
    path.forward = format!(
        ", loss = {{ kind = \"gilbert\", to_bad = {:.5}, to_good = {:.3} }}",
        1.0 / gap,
        1.0 / burst
    );
    let sender = draw.pick(LOSS_BASED);
    Case::new(
        transfer(&path, 40.0, seed, sender.transport),
        &[UNFILLED, &["timeout_storm"]].concat(),
        format!(
            "{}: {burst:.1} packets in a row are lost, once in {gap:.0}",
            path.words()
        ),
    )
}

pub(super) fn policer(draw: &mut Draw, seed: u64) -> Case {
    let mut path = Path::drawn(draw, [10.0, 60.0], [10.0, 100.0]).with_buffer(1.0, 60);
    let share = draw.real(0.25, 0.6);
    let rate = whole(path.rate * share * 1000.0);
    let burst = whole(path.rate * share * 125.0 * draw.real(10.0, 40.0)).max(6000);
    path.forward =
        format!(", policer = {{ kind = \"police\", rate = \"{rate}kbit\", burst = {burst} }}");
    let sender = draw.pick(LOSS_BASED);
    Case::new(
        transfer(&path, 30.0, seed, sender.transport),
        &[UNFILLED, &["bursty_loss"]].concat(),
        format!(
            "{}: a policer of {rate} kbit/s and {burst} bytes drops at {share:.2} of the link's \
             rate, without a queue",
            path.words()
        ),
    )
}

pub(super) fn reordering(draw: &mut Draw, seed: u64) -> Case {
    let bdp = draw.log(60.0, 200.0);
    let mut path = Path::of_bdp(draw, bdp, [5.0, 60.0]).with_buffer(1.0, 20);
    let displaced = draw.real(8.0, 20.0);
    let jitter = displaced * path.packet_ms();
    path.forward = format!(", netem = {{ jitter = \"{:.0}us\" }}", jitter * 1000.0);
    let sender = draw.pick(LOSS_BASED);
    Case::new(
        transfer(&path, 20.0, seed, sender.transport),
        UNFILLED,
        format!(
            "{}: delays vary uniformly by {jitter:.1} ms to both sides, {:.0} packets in all, \
             where three late ones are a loss",
            path.words(),
            2.0 * displaced
        ),
    )
}

const WITH_TIMEOUT: &[&str] = &[
    "kind = \"tcp\", controller = \"newreno\"",
    "kind = \"tcp\", controller = \"cubic\"",
    "kind = \"tcp\", rules = \"rfc\", controller = \"newreno\"",
];

pub(super) fn spurious_timeout(draw: &mut Draw, seed: u64) -> Case {
    let mut path = Path::drawn(draw, [2.0, 20.0], [10.0, 80.0]).with_buffer(1.0, 40);
    let spike = draw.int(2500, 4000);
    let back = path.rtt_ms * 500.0;
    let mut changes = Vec::new();
    for number in 0..3 {
        let at = 5000 + 9000 * number;
        changes.push(format!("{{ at = \"{at}ms\", delay = \"{spike}ms\" }}"));
        changes.push(format!(
            "{{ at = \"{}ms\", delay = \"{back:.0}us\" }}",
            at + 60
        ));
    }
    path.forward = format!(
        ", netem = {{ jitter = \"1us\", keep_order = true }}, change = [{}]",
        changes.join(", ")
    );
    Case::new(
        transfer(&path, 30.0, seed, draw.pick(WITH_TIMEOUT)),
        &[SLOW_START_END, &["timeout_storm"]].concat(),
        format!(
            "{}: three times all packets take {spike} ms and none is lost, where the timeout is \
             at most about {:.0} ms",
            path.words(),
            1000.0 + path.base_ms() + path.buffer_ms()
        ),
    )
}

pub(super) fn timeout_storm(draw: &mut Draw, seed: u64) -> Case {
    let mut path = Path::drawn(draw, [1.0, 12.0], [10.0, 60.0]).with_buffer(0.9, 10);
    let dead = draw.int(10, 25);
    path.tail = format!("[[link.outage]]\nat = \"4s\"\nduration = \"{dead}s\"");
    let transports: Vec<&str> = WITH_TIMEOUT
        .iter()
        .copied()
        .chain(["kind = \"dccp\", ccid = 2"])
        .collect();
    let duration = 4.0 + dead as f64 * 1.9 + 4.0;
    Case::new(
        lone(&path, duration, seed, draw.pick(&transports), BULK),
        &[
            "underused_link",
            "persistent_congestion",
            "slow_start_overshoot",
        ],
        format!(
            "{}: nothing passes for {dead} s; a timeout of at most 1.3 s doubles at least {:.0} \
             times",
            path.words(),
            (dead as f64 / 1.3 + 1.0).log2().floor()
        ),
    )
}

pub(super) fn persistent_congestion(draw: &mut Draw, seed: u64) -> Case {
    let mut path = Path::drawn(draw, [2.0, 15.0], [10.0, 60.0]).with_buffer(0.9, 10);
    // A timeout of the RFC: srtt + 4 rttvar + max_ack_delay, at most three round trips.
    let pto = 3.0 * (path.base_ms() + path.buffer_ms()) + 25.0;
    let dead = whole(draw.real(8.0, 14.0) * pto);
    path.tail = format!("[[link.outage]]\nat = \"6s\"\nduration = \"{dead}ms\"");
    let controller = draw.pick(&["newreno", "cubic"]);
    let transport = format!("kind = \"quic\", controller = \"{controller}\"");
    let duration = path.duration(16.0 + 2.0 * dead as f64 / 1000.0);
    Case::new(
        lone(&path, duration, seed, &transport, BULK),
        &["timeout_storm", "underused_link", "slow_start_overshoot"],
        format!(
            "{}: nothing passes for {dead} ms, more than 3 probe timeouts of at most {pto:.0} ms",
            path.words()
        ),
    )
}

pub(super) fn ack_loss(draw: &mut Draw, seed: u64) -> Case {
    let mut path = Path::drawn(draw, [4.0, 40.0], [10.0, 100.0]).with_buffer(0.8, 25);
    let sender = draw.pick(STREAMS);
    let why;
    if draw.int(0, 1) == 0 {
        let loss = (draw.real(0.3, 0.6) * 100.0).round() / 100.0;
        path.backward = format!("loss = {{ kind = \"random\", rate = {loss} }}");
        why = format!("{}: {loss} of the acknowledgements are lost", path.words());
    } else {
        let n = draw.int(8, 20);
        path.backward = format!("ack_thinning = {{ kind = \"every\", n = {n} }}");
        why = format!("{}: one of {n} acknowledgements passes", path.words());
    }
    Case::new(
        transfer(&path, 20.0, seed, sender.transport),
        &[UNFILLED, &["ack_compression"]].concat(),
        why,
    )
}

pub(super) fn ack_path_congestion(draw: &mut Draw, seed: u64) -> Case {
    let mut path = Path::drawn(draw, [8.0, 60.0], [10.0, 80.0]).with_buffer(0.8, 25);
    let upload = seed.is_multiple_of(2);
    // An acknowledgement of TCP has 52 bytes, and there is one for two packets.
    let needed = path.pps() / 2.0 * 52.0 * 0.008;
    let share = if upload {
        draw.real(1.5, 3.0)
    } else {
        draw.real(0.2, 0.4)
    };
    let rate = whole(needed * share);
    path.backward = format!(
        "rate = \"{rate}kbit\", queue = {{ kind = \"droptail\", limit = {} }}",
        if upload {
            draw.int(10, 20)
        } else {
            draw.int(40, 80)
        }
    );
    let senders = if upload { STREAMS } else { &STREAMS[..2] };
    let sender = draw.pick(senders);
    let mut scenario = transfer(&path, 20.0, seed, sender.transport);
    let mut why = format!("acknowledgements need {needed:.0} kbit/s, the way back has {rate}");
    if upload {
        let app = format!("kind = \"cbr\", packet = 400, rate = \"{rate}kbit\"");
        scenario += &flow("upload", ["client", "server"], "kind = \"udp\"", &app, "");
        why += ", and an upload takes all of it";
    }
    Case::new(
        scenario,
        &[
            UNFILLED,
            &[
                "ack_loss",
                "ack_compression",
                "standing_queue",
                "timeout_storm",
            ],
        ]
        .concat(),
        format!("{}: {why}", path.words()),
    )
}

pub(super) fn ack_compression(draw: &mut Draw, seed: u64) -> Case {
    let (bdp, base) = (draw.log(60.0, 200.0), draw.log(20.0, 100.0));
    let rate = bdp * 12.0 / base;
    let mut path = Path::new(rate, base - 12.0 / rate);
    let slot = draw.real(0.4, 0.9) * path.base_ms();
    // One BDP of base and slot together.
    let buffer = 1.0 + slot / path.base_ms();
    path = path.with_buffer(buffer, 25);
    path.backward = format!("netem = {{ slot = \"{:.0}us\" }}", slot * 1000.0);
    let sender = draw.pick(STREAMS);
    Case::new(
        transfer(&path, 20.0, seed, sender.transport),
        &[UNFILLED, &["standing_queue"]].concat(),
        format!(
            "{}: acknowledgements gather for {slot:.1} ms and arrive together, {:.0} of them",
            path.words(),
            slot / path.packet_ms() / 2.0
        ),
    )
}
