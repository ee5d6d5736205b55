//! What is particular to TFRC: CCID 3 of DCCP.

use super::Case;
use super::draw::{
    BULK, Draw, ENDS, MOST_PACKETS, PROFILES, Path, ccid3, flow, lone, run, transfer, whole,
};
use super::shared::one_link;

/// The packets of a round trip at the least p of Linux, 0.01 %: 1 / sqrt(2 p / 3).
const FLOOR_PACKETS: f64 = 122.0;

/// A path with a buffer of at least `least` BDP and 60 ms, below the window of Linux's least p.
fn deep_path(draw: &mut Draw, least: f64) -> Path {
    loop {
        let path = Path::drawn(draw, [0.8, 12.0], [8.0, 60.0]);
        let buffer = draw.real(least, 2.5 * least).max(80.0 / path.base_ms());
        let path = path.with_buffer(buffer, 8);
        if (1.0 + path.buffer_bdp()) * path.bdp() < 0.8 * FLOOR_PACKETS && path.bdp() > 3.0 {
            return path;
        }
    }
}

pub(super) fn late_notification(draw: &mut Draw, seed: u64) -> Case {
    let path = deep_path(draw, 5.0);
    let full_ms = path.base_ms() + path.buffer_ms();
    let duration = path.duration((12.0 * full_ms / 1000.0).max(5.0));
    let transport = ccid3(draw.pick(PROFILES), "oscillation = \"off\"");
    Case::new(
        lone(&path, duration, seed, &transport, BULK),
        &[
            "standing_queue",
            "slow_start_overshoot",
            "double_punishment",
            "rate_oscillation",
        ],
        format!(
            "{}: X is at most twice the receive rate, so the buffer takes at least {:.1} base \
             round trips to fill, and the report another {:.1}",
            path.words(),
            path.buffer_bdp(),
            1.0 + path.buffer_bdp()
        ),
    )
}

/// Oscillation reduction and the queue, in the long run.
fn long_run(draw: &mut Draw, seed: u64, tfrc: &str) -> (Path, String) {
    let path = deep_path(draw, 4.0);
    let transport = ccid3(draw.pick(PROFILES), tfrc);
    let duration = path.duration(120.0);
    let text = lone(&path, duration, seed, &transport, BULK);
    (path, text)
}

pub(super) fn rate_oscillation(draw: &mut Draw, seed: u64) -> Case {
    let (path, scenario) = long_run(draw, seed, "oscillation = \"off\"");
    Case::new(
        scenario,
        &[
            "standing_queue",
            "slow_start_overshoot",
            "late_notification",
            "double_punishment",
        ],
        format!(
            "{}: X_calc is inversely proportional to R, which varies by {:.1} base",
            path.words(),
            path.buffer_bdp()
        ),
    )
}

pub(super) fn oscillation_reduction_holds_queue(draw: &mut Draw, seed: u64) -> Case {
    let rules = "oscillation = \"full\", oscillation_in_slow_start = \"exempt\"";
    let (path, scenario) = long_run(draw, seed, rules);
    Case::new(
        scenario,
        &[
            "standing_queue",
            "slow_start_overshoot",
            "late_notification",
            "double_punishment",
            "rate_oscillation",
        ],
        format!(
            "{}: t_ipi is shortened by sqrt(R_sample)/R_sqmean whenever the queue drains, which \
             fills it again",
            path.words()
        ),
    )
}

pub(super) fn oscillation_reduction_in_slow_start(draw: &mut Draw, seed: u64) -> Case {
    let path = deep_path(draw, 5.0);
    let full_ms = path.base_ms() + path.buffer_ms();
    let duration = path.duration((8.0 * full_ms / 1000.0).max(4.0));
    let mode = draw.pick(&["full", "increase-only"]);
    let rules = format!("oscillation = \"{mode}\", oscillation_in_slow_start = \"applied\"");
    let transport = ccid3(draw.pick(PROFILES), &rules);
    Case::new(
        lone(&path, duration, seed, &transport, BULK),
        &[
            "standing_queue",
            "slow_start_overshoot",
            "late_notification",
            "double_punishment",
            "rate_oscillation",
            "oscillation_reduction_holds_queue",
        ],
        format!(
            "{}: while slow start fills {:.1} base of queue, R_sample grows and lengthens t_ipi",
            path.words(),
            path.buffer_bdp()
        ),
    )
}

pub(super) fn feedback_starvation(draw: &mut Draw, seed: u64) -> Case {
    if seed.is_multiple_of(2) {
        loopback(draw, seed)
    } else {
        feedback_lost(draw, seed)
    }
}

/// R/4 in whole microseconds is 0 below 4 us, and the window counter stands still.
fn loopback(draw: &mut Draw, seed: u64) -> Case {
    let delay_ns = draw.int(1000, 1700);
    let bytes = draw.int(20, 200);
    let gap_ms = draw.int(60, 110);
    let rate = bytes * 8000 / gap_ms;
    let transmit_us = draw.int(47, 52);
    let scenario = run(200.0, seed)
        + &format!(
            "[[host]]\nname = \"client\"\ntransmit_delay = \"{transmit_us}us\"\n\
             stamp = \"transmitted\"\n[[host]]\nname = \"server\"\nhandshake_delay = \"60us\"\n\
             [[link]]\nname = \"lo\"\nbetween = [\"client\", \"server\"]\n\
             delay = \"{delay_ns}ns\"\nmtu = 16436\n"
        )
        + &flow(
            "stream",
            ["client", "server"],
            "kind = \"dccp\", ccid = 3, profile = \"linux-2008\"",
            &format!("kind = \"cbr\", packet = {bytes}, rate = \"{rate}bit\""),
            "",
        );
    Case::new(
        scenario,
        &["timeout_storm", "cut_off_by_loss", "application_limited"],
        format!(
            "R tends to {:.1} us, below 4 us: R/4 truncates to 0, the window counter stands \
             still, no feedback is sent, and the nofeedback timer halves X",
            2.0 * delay_ns as f64 / 1000.0
        ),
    )
}

fn feedback_lost(draw: &mut Draw, seed: u64) -> Case {
    let mut path = Path::drawn(draw, [2.0, 12.0], [15.0, 80.0]).with_buffer(1.0, 8);
    let loss = (draw.real(0.86, 0.95) * 100.0).round() / 100.0;
    path.backward =
        format!("change = [{{ at = \"2s\", loss = {{ kind = \"random\", rate = {loss} }} }}]");
    let transport = ccid3(draw.pick(PROFILES), "");
    Case::new(
        transfer(&path, 30.0, seed, &transport),
        &[
            "ack_loss",
            "underused_link",
            "timeout_storm",
            "rate_oscillation",
            "rate_held_by_receive_rate",
        ],
        format!(
            "{loss} of the feedback is lost from 2 s on: none comes in four round trips with \
             probability {:.2}, and the nofeedback timer halves X",
            loss.powi(4)
        ),
    )
}

pub(super) fn rate_held_by_receive_rate(draw: &mut Draw, seed: u64) -> Case {
    let mut path = Path::drawn(draw, [1.0, 5.0], [20.0, 60.0]).with_buffer(1.0, 8);
    let dead = draw.int(16, 30);
    path.tail = format!("[[link.outage]]\nat = \"8s\"\nduration = \"{dead}s\"");
    let duration = 8.0 + dead as f64 * 2.2;
    Case::new(
        lone(
            &path,
            duration,
            seed,
            &ccid3("rfc3448", "oscillation = \"off\""),
            BULK,
        ),
        &[
            "timeout_storm",
            "persistent_congestion",
            "underused_link",
            "feedback_starvation",
        ],
        format!(
            "{}: nothing passes for {dead} s, and X falls to a packet in seconds; then 2 X_recv \
             bounds it, and each packet doubles it, for much longer than 20 base round trips",
            path.words()
        ),
    )
}

pub(super) fn double_punishment(draw: &mut Draw, seed: u64) -> Case {
    let bdp = draw.real(5.0, 11.0);
    let rate = draw.log(1.0, 8.0);
    let factor = draw.real(3.0, 4.5);
    let loss = (1.5 / (factor * bdp).powi(2) * 1e5).round() / 1e5;
    let mut path = Path::new(rate, (bdp - 1.0) * 12.0 / rate).with_buffer(3.0 * factor, 12);
    path.forward = format!(", loss = {{ kind = \"random\", rate = {loss} }}");
    let transport = ccid3(draw.pick(PROFILES), "oscillation = \"off\"");
    Case::new(
        transfer(&path, 150.0, seed, &transport),
        &[
            "standing_queue",
            "late_notification",
            "rate_oscillation",
            "random_loss",
            "slow_start_overshoot",
        ],
        format!(
            "{}: p = {loss} allows {factor:.1} times the link's rate at the base round-trip time, \
             so that R grows to {factor:.1} base; each random loss meets an X_calc that R has cut",
            path.words()
        ),
    )
}

/// A burst fills the queue, and a stream of UDP just below the link's rate keeps it.
pub(super) fn cut_off_by_delay(draw: &mut Draw, seed: u64) -> Case {
    let mut path = Path::drawn(draw, [2.0, 6.0], [5.0, 14.0]);
    let filled = draw.real(35.0, 60.0);
    path = path.with_buffer(2.0 * filled, 200);
    let packets = whole(filled * path.bdp());
    let held_ms = packets as f64 * path.packet_ms();
    let loss = (draw.real(0.005, 0.015) * 1e4).round() / 1e4;
    // Not before the queue is there: Linux keeps the p of a first loss until the second.
    path.forward =
        format!(", change = [{{ at = \"7s\", loss = {{ kind = \"random\", rate = {loss} }} }}]");
    let kbit = |share: f64| whole(path.rate * share * 1000.0 * 1400.0 / 1428.0);
    let (fill, noise) = (kbit(4.0), kbit(0.985));
    let media = draw.int(500, 900);
    let duration = 45.0;
    assert!(duration * path.pps() < MOST_PACKETS, "too long");
    let scenario = one_link(&path, duration, seed)
        + &flow(
            "media",
            ENDS,
            &ccid3(draw.pick(PROFILES), "first_interval_alone = \"never\""),
            &format!("kind = \"cbr\", packet = 1000, rate = \"{media}kbit\""),
            "",
        )
        + &flow(
            "burst",
            ENDS,
            "kind = \"udp\"",
            &format!("kind = \"cbr\", rate = \"{fill}kbit\", count = {packets}"),
            "start = \"5s\"",
        )
        + &flow(
            "noise",
            ENDS,
            "kind = \"udp\"",
            &format!("kind = \"cbr\", rate = \"{noise}kbit\""),
            "start = \"5s\"",
        );
    Case::new(
        scenario,
        &[
            "standing_queue",
            "late_notification",
            "double_punishment",
            "rate_oscillation",
            "oscillation_reduction_holds_queue",
            "unfairness",
            "random_loss",
        ],
        format!(
            "{}: from 5 s on {packets} packets are queued and stay: R is {:.0} base, p about \
             {loss}, X_calc at most {:.0} kbit/s of the stream's {media}",
            path.words(),
            1.0 + filled,
            8000.0 / (held_ms * (2.0 * loss / 3.0).sqrt())
        ),
    )
}

pub(super) fn cut_off_by_loss(draw: &mut Draw, seed: u64) -> Case {
    let mut path = Path::drawn(draw, [3.0, 20.0], [20.0, 120.0]).with_buffer(1.0, 20);
    let loss = (draw.real(0.18, 0.3) * 1000.0).round() / 1000.0;
    path.forward = format!(", loss = {{ kind = \"random\", rate = {loss} }}");
    let media = draw.int(1000, 2000);
    let app = format!("kind = \"cbr\", packet = 1000, rate = \"{media}kbit\"");
    Case::new(
        lone(&path, 40.0, seed, &ccid3(draw.pick(PROFILES), ""), &app),
        &[
            "random_loss",
            "underused_link",
            "timeout_storm",
            "feedback_starvation",
            "rate_held_by_receive_rate",
        ],
        format!(
            "{}: {loss} of the packets are lost at random, so that p is at least 0.1 and X_calc \
             below {:.0} kbit/s of the stream's {media}",
            path.words(),
            8000.0 / path.base_ms()
        ),
    )
}

pub(super) fn equation_table_floor(draw: &mut Draw, seed: u64) -> Case {
    let bdp = draw.log(350.0, 600.0);
    let mut path = Path::of_bdp(draw, bdp, [30.0, 80.0]).with_buffer(4.0, 12);
    let number = whole(path.bdp() * draw.real(1.0, 1.6));
    path.forward = format!(", loss = {{ kind = \"trace\", drops = [{number}] }}");
    let duration = (6.0 + 40.0 * path.base_ms() / 1000.0)
        .min(MOST_PACKETS / path.pps())
        .ceil();
    let transport = ccid3(draw.pick(&["linux-2008", "linux-mainline"]), "");
    Case::new(
        lone(&path, duration, seed, &transport, BULK),
        &["underused_link", "early_slow_start_exit"],
        format!(
            "{}: one packet is lost at the full rate, where p of the first interval is {:.1e}; \
             Linux's table has no p below 1e-4, whose {FLOOR_PACKETS} packets a round trip are \
             {:.2} of the BDP",
            path.words(),
            1.5 / path.bdp().powi(2),
            FLOOR_PACKETS / path.bdp()
        ),
    )
}
