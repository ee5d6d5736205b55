//! Senders that something else than congestion control holds back.

use super::draw::{BULK, Draw, ENDS, Path, STREAMS, ccid3, flow, lone, run, transfer, whole};
use super::{Case, UNFILLED};

/// A path with a BDP of at least 30 packets and a buffer of 1 BDP.
fn path_of(draw: &mut Draw) -> Path {
    let bdp = draw.log(40.0, 300.0);
    Path::of_bdp(draw, bdp, [4.0, 100.0])
        .rtt_within(4.0, 300.0)
        .with_buffer(1.0, 12)
}

pub(super) fn application_limited(draw: &mut Draw, seed: u64) -> Case {
    let path = path_of(draw);
    let share = draw.real(0.1, 0.5);
    let rate = whole(path.rate * share * 1000.0);
    let app = format!("kind = \"cbr\", rate = \"{rate}kbit\"");
    let sender = draw.pick(STREAMS);
    Case::new(
        lone(&path, path.duration(20.0), seed, sender.transport, &app),
        &["underused_link"],
        format!(
            "{}: the application writes {rate} kbit/s, {share:.2} of it",
            path.words()
        ),
    )
}

pub(super) fn send_buffer_limited(draw: &mut Draw, seed: u64) -> Case {
    let path = path_of(draw);
    let share = draw.real(0.12, 0.4);
    let bytes = whole(path.bdp() * 1500.0 * share).max(5000);
    let controller = draw.pick(&["newreno", "cubic", "bbr"]);
    let transport = format!("kind = \"tcp\", controller = \"{controller}\", send_buffer = {bytes}");
    Case::new(
        transfer(&path, 20.0, seed, &transport),
        &["underused_link"],
        format!(
            "{}: the send buffer is {bytes} bytes, {share:.2} BDP",
            path.words()
        ),
    )
}

pub(super) fn receiver_limited(draw: &mut Draw, seed: u64) -> Case {
    let path = path_of(draw);
    let share = draw.real(0.12, 0.4);
    let bytes = whole(path.bdp() * 1500.0 * share).max(5000);
    let controller = draw.pick(&["newreno", "cubic", "bbr"]);
    let transport = if draw.int(0, 1) == 0 {
        format!("kind = \"tcp\", controller = \"{controller}\", receive_buffer = {bytes}")
    } else {
        format!("kind = \"quic\", controller = \"{controller}\", initial_max_data = {bytes}")
    };
    Case::new(
        transfer(&path, 20.0, seed, &transport),
        &["underused_link"],
        format!(
            "{}: the receiver lets {bytes} bytes in, {share:.2} BDP",
            path.words()
        ),
    )
}

pub(super) fn delayed_ack_stall(draw: &mut Draw, seed: u64) -> Case {
    let bdp = draw.log(6.0, 20.0);
    let path = Path::of_bdp(draw, bdp, [4.0, 30.0])
        .rtt_within(4.0, 40.0)
        .with_buffer(1.0, 6);
    let window = path.bdp() + path.buffer as f64;
    let every = whole(window * draw.real(2.5, 4.0)).max(24);
    let delay = whole(draw.real(6.0, 12.0) * path.base_ms()).max(100);
    let sender = draw.pick(STREAMS);
    let transport = format!(
        "{}, ack_every = {every}, max_ack_delay = \"{delay}ms\"",
        sender.transport
    );
    Case::new(
        transfer(&path, 20.0, seed, &transport),
        UNFILLED,
        format!(
            "{}: the receiver waits for {every} packets or {delay} ms, and path and buffer hold \
             {window:.0} packets: each window waits for the timer",
            path.words()
        ),
    )
}

/// A pacer or TFRC whose timers fire at ticks of 10 ms.
pub(super) fn timer_granularity(draw: &mut Draw, seed: u64) -> Case {
    if seed.is_multiple_of(2) {
        ticks_of_tfrc(draw, seed)
    } else {
        ticks_of_pacer(draw, seed)
    }
}

/// A burst of a tick's packets is longer than buffer and path hold.
fn ticks_of_tfrc(draw: &mut Draw, seed: u64) -> Case {
    let path = Path::drawn(draw, [35.0, 70.0], [2.0, 3.0]).with_buffer(0.7, 6);
    let host = draw.int(0, 1) == 0;
    let rules = if host { "" } else { "timer_tick = 100" };
    let mut scenario = run(path.duration(15.0), seed);
    if host {
        scenario += "[[host]]\nname = \"server\"\ntimer_hz = 100\n";
    }
    scenario += &path.link("bottleneck", ENDS);
    scenario += &flow("bulk", ENDS, &ccid3("rfc5348", rules), BULK, "");
    Case::new(
        scenario,
        &[
            "underused_link",
            "rate_oscillation",
            "slow_start_overshoot",
            "shallow_buffer",
            "pacer_limited",
        ],
        format!(
            "{}: timers fire every 10 ms, in which {:.0} packets are due, and path and buffer \
             hold {:.0}",
            path.words(),
            10.0 / path.packet_ms(),
            path.bdp() + path.buffer as f64
        ),
    )
}

/// BBR's pacer lets a burst of a millisecond out when its timer fires.
fn ticks_of_pacer(draw: &mut Draw, seed: u64) -> Case {
    let path = Path::drawn(draw, [10.0, 20.0], [4.0, 30.0]).with_buffer(1.5, 60);
    let kind = draw.pick(&["tcp", "quic"]);
    let scenario = run(path.duration(15.0), seed)
        + "[[host]]\nname = \"server\"\ntimer_hz = 100\n"
        + &path.link("bottleneck", ENDS)
        + &flow(
            "bulk",
            ENDS,
            &format!("kind = \"{kind}\", controller = \"bbr\""),
            BULK,
            "",
        );
    Case::new(
        scenario,
        &["underused_link", "pacer_limited"],
        format!(
            "{}: timers fire every 10 ms, {:.0} times the interval between two packets",
            path.words(),
            10.0 / path.packet_ms()
        ),
    )
}

pub(super) fn pacer_limited(draw: &mut Draw, seed: u64) -> Case {
    let path = path_of(draw);
    let share = (draw.real(0.3, 0.6) * 100.0).round() / 100.0;
    let kind = draw.pick(&["tcp", "quic"]);
    let transport =
        format!("kind = \"{kind}\", controller = \"bbr\", bbr = {{ pacing_margin = {share} }}");
    Case::new(
        transfer(&path, 15.0, seed, &transport),
        &["underused_link"],
        format!(
            "{}: the pacer leaves {share} of the estimated bandwidth free, more than a probe of \
             1.25 times it can win back",
            path.words()
        ),
    )
}
