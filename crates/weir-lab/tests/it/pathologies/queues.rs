//! Queues that stand, overflow or stay empty: the size of the buffer and slow start.

use super::draw::{BULK, Draw, LOSS_BASED, LossBased, Path, STREAMS, lone, transfer};
use super::{Case, SLOW_START_END, UNFILLED};

/// Seconds that CUBIC takes from an empty window to `packets`: K of RFC 9438 §4.2 with C = 0.4.
fn cubic_s(packets: f64) -> f64 {
    (packets / 0.4).cbrt()
}

/// beta (1 + b) - 1 of the base is what is left of the queue after a reduction.
pub(super) fn standing_path(draw: &mut Draw, sender: LossBased) -> (Path, f64) {
    let (mut rate, rtt) = (draw.log(1.0, 60.0), draw.log(4.0, 100.0));
    let buffer = draw.real(3.5, 8.0);
    loop {
        let path = Path::new(rate, rtt);
        let bdp = buffer.max(90.0 / path.base_ms());
        let path = path.with_buffer(bdp, 12);
        let window = path.bdp() + path.buffer as f64;
        let wanted = if sender.cubic {
            3.0 * cubic_s(window)
        } else {
            0.0
        };
        let wanted = wanted
            .max(10.0)
            .max(0.06 * (path.base_ms() + path.buffer_ms()));
        if path.duration(wanted) >= wanted.floor() {
            return (path, wanted.ceil());
        }
        rate *= 0.8;
    }
}

pub(super) fn standing_queue(draw: &mut Draw, seed: u64) -> Case {
    let sender = draw.pick(LOSS_BASED);
    let (path, duration) = standing_path(draw, sender);
    let standing = (sender.beta * (1.0 + path.buffer_bdp()) - 1.0) * path.base_ms();
    Case::new(
        lone(&path, duration, seed, sender.transport, BULK),
        SLOW_START_END,
        format!(
            "{}: after a reduction to {} of the window {standing:.0} ms are still queued",
            path.words(),
            sender.beta
        ),
    )
}

pub(super) fn shallow_buffer(draw: &mut Draw, seed: u64) -> Case {
    let sender = draw.pick(LOSS_BASED);
    let bdp = draw.log(40.0, 150.0);
    let mut path = Path::of_bdp(draw, bdp, [5.0, 50.0]);
    path.buffer = draw.int(2, 9).min((0.15 * bdp) as u64);
    Case::new(
        transfer(&path, 20.0, seed, sender.transport),
        UNFILLED,
        format!("{}: below 0.15 BDP and 10 packets", path.words()),
    )
}

/// Senders whose slow start ends with a loss.
const TO_THE_LOSS: &[&str] = &[
    "kind = \"tcp\", controller = \"newreno\"",
    "kind = \"tcp\", rules = \"rfc\", controller = \"newreno\"",
    "kind = \"tcp\", controller = \"cubic\", overrides = { hystart = false }",
    "kind = \"quic\", controller = \"newreno\"",
    "kind = \"quic\", controller = \"cubic\"",
    "kind = \"dccp\", ccid = 2",
];

pub(super) fn slow_start_overshoot(draw: &mut Draw, seed: u64) -> Case {
    let bdp = draw.log(30.0, 400.0);
    let path = Path::of_bdp(draw, bdp, [4.0, 80.0]);
    let path = path.with_buffer(draw.real(0.6, 1.0), 12);
    let window = path.bdp() + path.buffer as f64;
    let duration = path.duration((60.0 * path.base_ms() / 1000.0).max(3.0));
    Case::new(
        lone(&path, duration, seed, draw.pick(TO_THE_LOSS), BULK),
        &[],
        format!(
            "{}: slow start doubles until {window:.0} packets overflow, and sends up to as many \
             again before the loss is known",
            path.words()
        ),
    )
}

pub(super) fn early_slow_start_exit(draw: &mut Draw, seed: u64) -> Case {
    let bdp = draw.log(150.0, 400.0);
    let mut path = Path::of_bdp(draw, bdp, [10.0, 60.0]);
    path = path.with_buffer(1.0, 12);
    let number = draw.int(20, 50);
    path.forward = format!(", loss = {{ kind = \"trace\", drops = [{number}] }}");
    let duration = path.duration((30.0 * path.base_ms() / 1000.0).max(3.0));
    Case::new(
        lone(&path, duration, seed, draw.pick(STREAMS).transport, BULK),
        &["underused_link"],
        format!(
            "{}: packet {number} is lost, when the window is at most {} packets, below half the \
             BDP of {:.0}",
            path.words(),
            number + 10,
            path.bdp() / 2.0
        ),
    )
}

/// After slow start's loss a twentieth of the window is left, and Reno adds a packet in a round.
pub(super) fn underused_link(draw: &mut Draw, seed: u64) -> Case {
    let bdp = draw.log(200.0, 400.0);
    let path = Path::of_bdp(draw, bdp, [10.0, 40.0]).with_buffer(1.0, 12);
    let left = draw.int(4, 10);
    let kind = draw.pick(&["tcp", "quic"]);
    let transport = format!(
        "kind = \"{kind}\", controller = \"newreno\", overrides = {{ slow_start_exit_percent = \
         {left} }}"
    );
    let rounds = path.bdp() / 2.5;
    let duration = (rounds * path.base_ms() / 1000.0).min(path.duration(1e9));
    let rounds = duration * 1000.0 / path.base_ms();
    Case::new(
        lone(&path, duration, seed, &transport, BULK),
        SLOW_START_END,
        format!(
            "{}: slow start ends at two BDP, {left} % are left, and {rounds:.0} rounds add as \
             many packets, less than half a BDP",
            path.words()
        ),
    )
}
