//! Two kinds at once, which do not exclude each other. Neither is the other's cause, so the order
//! of the labels says nothing here.

use super::draw::{BULK, Draw, LOSS_BASED, Path, STREAMS, flow, lone, run, transfer, whole};
use super::queues::standing_path;
use super::{Case, Generator, SLOW_START_END, UNFILLED, of_kind};

/// The pairs, of which a seed takes one in turn.
pub(super) const PAIRS: &[(&str, Generator)] = &[
    ("ack_loss_and_standing_queue", ack_loss_and_standing_queue),
    (
        "random_loss_and_receiver_limited",
        random_loss_and_receiver_limited,
    ),
    (
        "standing_queue_and_random_loss",
        standing_queue_and_random_loss,
    ),
    (
        "policer_and_application_limited",
        policer_and_application_limited,
    ),
    (
        "ack_compression_and_random_loss",
        ack_compression_and_random_loss,
    ),
    ("two_paths", two_paths),
];

/// Kinds of one flow over one link, whose hosts need no table and whose runs are short.
const ON_ONE_PATH: &[&str] = &[
    "standing_queue",
    "shallow_buffer",
    "early_slow_start_exit",
    "late_notification",
    "cut_off_by_loss",
    "application_limited",
    "send_buffer_limited",
    "receiver_limited",
    "pacer_limited",
    "delayed_ack_stall",
    "random_loss",
    "bursty_loss",
    "policer",
    "reordering",
    "spurious_timeout",
    "timeout_storm",
    "persistent_congestion",
    "ack_loss",
    "ack_compression",
];

/// The duration in milliseconds of a scenario that `lone` wrote, and what follows its `[run]`.
fn parts(scenario: &str) -> (u64, &str) {
    let (head, rest) = scenario.split_at(scenario.find("[[link]]").expect("a link"));
    let milliseconds = head.split(['"', 'm']).find_map(|word| word.parse().ok());
    (milliseconds.expect("a duration"), rest)
}

/// Two kinds on paths of their own that nothing connects.
fn two_paths(draw: &mut Draw, seed: u64) -> Case {
    let first = draw.pick(ON_ONE_PATH);
    let rest: Vec<&str> = ON_ONE_PATH
        .iter()
        .copied()
        .filter(|kind| *kind != first)
        .collect();
    let second = draw.pick(&rest);
    let [one, other] = [first, second].map(|kind| of_kind(kind, seed).expect("a kind"));
    let (one_ms, one_text) = parts(&one.scenario);
    let (other_ms, other_text) = parts(&other.scenario);
    let renamed = ["bottleneck", "server", "client", "bulk"]
        .into_iter()
        .fold(other_text.to_owned(), |text, name| {
            text.replace(&format!("\"{name}\""), &format!("\"other-{name}\""))
        })
        .replace("kind = \"other-bulk\"", BULK);
    both(
        run(one_ms.max(other_ms) as f64 / 1000.0, seed) + one_text + &renamed,
        &[first, second],
        &[one.allowed, other.allowed].concat(),
        format!("{first}: {}. {second}: {}", one.why, other.why),
    )
}

/// One flow: acknowledgements gather on the way back, and packets get lost on the way there.
fn ack_compression_and_random_loss(draw: &mut Draw, seed: u64) -> Case {
    let (mut path, loss) = lossy(draw);
    let window = 1.22 / loss.sqrt();
    let slot = (0.5 * path.base_ms()).max(8.0);
    path.backward = format!("netem = {{ slot = \"{:.0}us\" }}", slot * 1000.0);
    both(
        transfer(&path, 20.0, seed, draw.pick(STREAMS).transport),
        &["random_loss", "ack_compression"],
        UNFILLED,
        format!(
            "{}: p = {loss} allows {window:.0} packets a round trip, whose acknowledgements \
             gather for {slot:.1} ms",
            path.words()
        ),
    )
}

/// A flow and its link beside others.
fn second(path: &Path, transport: &str, app: &str) -> String {
    let ends = ["other-server", "other-client"];
    path.link("other-link", ends) + &flow("other", ends, transport, app, "")
}

fn both(scenario: String, labels: &[&'static str], allowed: &[&'static str], why: String) -> Case {
    Case {
        labels: labels.to_vec(),
        ..Case::new(scenario, allowed, why)
    }
}

/// One flow: a deep queue on the way there, losses on the way back.
fn ack_loss_and_standing_queue(draw: &mut Draw, seed: u64) -> Case {
    let sender = draw.pick(STREAMS);
    let (mut path, duration) = standing_path(draw, sender);
    let loss = (draw.real(0.3, 0.5) * 100.0).round() / 100.0;
    path.backward = format!("loss = {{ kind = \"random\", rate = {loss} }}");
    both(
        lone(&path, duration, seed, sender.transport, BULK),
        &["standing_queue", "ack_loss"],
        &[SLOW_START_END, &["ack_compression"]].concat(),
        format!(
            "{}: and {loss} of the acknowledgements are lost",
            path.words()
        ),
    )
}

fn lossy(draw: &mut Draw) -> (Path, f64) {
    let loss = (draw.log(0.005, 0.03) * 1e4).round() / 1e4;
    let bdp = 5.0 * 1.22 / loss.sqrt();
    let path = Path::of_bdp(draw, bdp, [4.0, 20.0]).rtt_within(0.0, 300.0);
    let mut path = path.with_buffer(4.0, 120);
    path.forward = format!(", loss = {{ kind = \"random\", rate = {loss} }}");
    (path, loss)
}

/// Two flows over links of their own.
fn random_loss_and_receiver_limited(draw: &mut Draw, seed: u64) -> Case {
    let (path, loss) = lossy(draw);
    let other = Path::drawn(draw, [5.0, 15.0], [40.0, 80.0]).with_buffer(1.0, 30);
    let share = draw.real(0.15, 0.35);
    let bytes = whole(other.bdp() * 1500.0 * share);
    let receiver = format!("kind = \"tcp\", controller = \"cubic\", receive_buffer = {bytes}");
    both(
        transfer(&path, 20.0, seed, draw.pick(LOSS_BASED).transport)
            + &second(&other, &receiver, BULK),
        &["random_loss", "receiver_limited"],
        UNFILLED,
        format!("{loss} is lost on one link; on the other the window is {share:.2} BDP"),
    )
}

fn standing_queue_and_random_loss(draw: &mut Draw, seed: u64) -> Case {
    let sender = draw.pick(LOSS_BASED);
    let (standing, duration) = standing_path(draw, sender);
    let (mut path, loss) = lossy(draw);
    path.rate = path.rate.min(8.0);
    both(
        lone(&standing, duration, seed, sender.transport, BULK)
            + &second(&path, draw.pick(LOSS_BASED).transport, BULK),
        &["standing_queue", "random_loss"],
        UNFILLED,
        format!(
            "one flow in {}; {loss} is lost for the other",
            standing.words()
        ),
    )
}

fn policer_and_application_limited(draw: &mut Draw, seed: u64) -> Case {
    let mut path = Path::drawn(draw, [10.0, 20.0], [20.0, 60.0]).with_buffer(1.0, 60);
    let rate = whole(path.rate * draw.real(0.3, 0.5) * 1000.0);
    path.forward =
        format!(", policer = {{ kind = \"police\", rate = \"{rate}kbit\", burst = 15000 }}");
    let other = Path::drawn(draw, [5.0, 15.0], [40.0, 80.0]).with_buffer(1.0, 30);
    let written = whole(other.rate * draw.real(0.1, 0.4) * 1000.0);
    let app = format!("kind = \"cbr\", rate = \"{written}kbit\"");
    both(
        transfer(&path, 20.0, seed, draw.pick(LOSS_BASED).transport)
            + &second(&other, draw.pick(STREAMS).transport, &app),
        &["policer", "application_limited"],
        &[UNFILLED, &["bursty_loss"]].concat(),
        format!("a policer of {rate} kbit/s; the other application writes {written} kbit/s"),
    )
}
