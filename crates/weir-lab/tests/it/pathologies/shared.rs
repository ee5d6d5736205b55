//! Flows that share a link or the air.

use super::draw::{BULK, Draw, ENDS, Path, flow, run, whole};
use super::{Case, SLOW_START_END, UNFILLED};

/// One link, and a server whose packets leave up to the time of a packet late: flows that would
/// else stay in step do not.
pub(super) fn one_link(path: &Path, duration_s: f64, seed: u64) -> String {
    let late_us = whole(path.packet_ms() * 1000.0);
    run(duration_s, seed)
        + &format!("[[host]]\nname = \"server\"\njitter = \"0us..{late_us}us\"\n")
        + &path.link("bottleneck", ENDS)
}

pub(super) fn rtt_bias(draw: &mut Draw, seed: u64) -> Case {
    let path = Path::drawn(draw, [5.0, 20.0], [8.0, 20.0]).with_buffer(0.8, 20);
    let controller = draw.pick(&["newreno", "cubic"]);
    let ratio = draw.real(6.0, 12.0);
    let extra = (ratio - 1.0) * (path.base_ms() + path.buffer_ms()) / 2.0;
    let transport = format!("kind = \"tcp\", controller = \"{controller}\"");
    let scenario = one_link(&path, path.duration(60.0), seed)
        + &flow("near", ENDS, &transport, BULK, "start = \"0s..1s\"")
        + &flow(
            "far",
            ENDS,
            &transport,
            BULK,
            &format!(
                "start = \"0s..1s\"\naccess_delay = \"{:.0}us\"",
                extra * 1000.0
            ),
        );
    Case::new(
        scenario,
        &[SLOW_START_END, &["unfairness", "loss_synchronisation"]].concat(),
        format!(
            "{}: two {controller} flows whose round-trip times differ by {ratio:.1} at a full \
             queue",
            path.words()
        ),
    )
}

pub(super) fn latecomer_starved(draw: &mut Draw, seed: u64) -> Case {
    let path = Path::drawn(draw, [15.0, 30.0], [60.0, 100.0]).with_buffer(1.0, 30);
    let reno = "kind = \"tcp\", controller = \"newreno\", overrides = { hystart_plus_plus = true }";
    let delay = "kind = \"tcp\", controller = \"copa\", copa = { mode_switching = false }";
    let begin = 8.0;
    let by_delay = seed.is_multiple_of(2);
    // Reno moves by a packet a round trip, and the shares are even after half a window of them.
    let rounds = path.bdp() / 6.0;
    let wanted = if by_delay {
        12.0
    } else {
        rounds * 1.5 * path.base_ms() / 1000.0
    };
    let (transport, more, why) = if by_delay {
        let why =
            "the latecomer keeps two packets queued, and the other fills the buffer".to_owned();
        (delay, String::new(), why)
    } else {
        let why = format!(
            "the latecomer's packet 25 is lost, and in {rounds:.0} rounds it gains a packet each, \
             where an even share is {:.0}",
            path.bdp() * 0.75
        );
        (
            reno,
            "\nloss = { kind = \"trace\", drops = [25] }".to_owned(),
            why,
        )
    };
    let scenario = one_link(&path, begin + wanted, seed)
        + &flow("first", ENDS, reno, BULK, "")
        + &flow(
            "late",
            ENDS,
            transport,
            BULK,
            &format!("start = \"{begin}s\"{more}"),
        );
    Case::new(
        scenario,
        &[SLOW_START_END, &["unfairness", "loss_synchronisation"]].concat(),
        format!("{}: {why}", path.words()),
    )
}

/// Copa without its competitive mode leaves a queue that the other has filled.
pub(super) fn unfairness(draw: &mut Draw, seed: u64) -> Case {
    let path = Path::drawn(draw, [8.0, 30.0], [20.0, 60.0]).with_buffer(1.0, 30);
    let classic = draw.pick(&["newreno", "cubic"]);
    let at_once = "start = \"0s..50ms\"";
    let copa = "kind = \"tcp\", controller = \"copa\", copa = { mode_switching = false }";
    let classic_tcp = format!("kind = \"tcp\", controller = \"{classic}\"");
    let scenario = one_link(&path, path.duration(25.0), seed)
        + &flow("by-delay", ENDS, copa, BULK, at_once)
        + &flow("by-loss", ENDS, &classic_tcp, BULK, at_once);
    Case::new(
        scenario,
        SLOW_START_END,
        format!(
            "{}: Copa keeps two packets queued, and {classic} fills the buffer",
            path.words()
        ),
    )
}

pub(super) fn loss_synchronisation(draw: &mut Draw, seed: u64) -> Case {
    let count = draw.int(6, 12);
    let bdp = count as f64 * draw.real(8.0, 20.0);
    let path = Path::of_bdp(draw, bdp, [10.0, 40.0])
        .rtt_within(10.0, 120.0)
        .with_buffer(0.5, 12);
    let scenario = run(path.duration(30.0), seed)
        + &path.link("bottleneck", ENDS)
        + &flow(
            "bulk",
            ENDS,
            "kind = \"tcp\", controller = \"newreno\"",
            BULK,
            &format!("count = {count}\nstart = \"0s..200ms\""),
        );
    Case::new(
        scenario,
        &[SLOW_START_END, &["unfairness"]].concat(),
        format!(
            "{}: {count} Reno flows with one round-trip time overflow one drop-tail queue by \
             {count} packets in a round, before any of them knows",
            path.words()
        ),
    )
}

pub(super) fn incast(draw: &mut Draw, seed: u64) -> Case {
    let count = draw.int(40, 120);
    let buffer = draw.int(32, 128);
    let size = draw.int(32, 128);
    let controller = draw.pick(&["newreno", "cubic"]);
    let scenario = format!(
        "run = {{ duration = \"3s\", seed = {seed} }}\nhost = [{{ name = \"server\", count = {count} \
         }}]\nlink = [\n    {{ name = \"rack\", count = {count}, between = [\"server\", \"switch\"], \
         rate = \"10Gbit\", delay = \"5us\" }},\n    {{ name = \"port\", between = [\"switch\", \
         \"client\"], rate = \"1Gbit\", delay = \"5us\", queue = {{ kind = \"droptail\", limit = \
         {buffer} }} }},\n]\n"
    ) + &flow(
        "answer",
        ENDS,
        &format!("kind = \"tcp\", controller = \"{controller}\""),
        &format!("kind = \"bulk\", total = \"{size}kB\""),
        &format!("count = {count}"),
    );
    Case::new(
        scenario,
        &[
            UNFILLED,
            &[
                "timeout_storm",
                "shallow_buffer",
                "loss_synchronisation",
                "unfairness",
                "bursty_loss",
            ],
        ]
        .concat(),
        format!(
            "{count} servers send 10 packets each at once, {} in all, into a port with {buffer}",
            count * 10
        ),
    )
}

pub(super) fn l4s_beside_classic(draw: &mut Draw, seed: u64) -> Case {
    let path = Path::drawn(draw, [10.0, 40.0], [15.0, 40.0]);
    let target = draw.int(5, 10);
    let queue = format!("{{ kind = \"codel\", ecn = true, target = \"{target}ms\" }}");
    let path = path.with_queue(&queue);
    let classic = draw.pick(&["newreno", "cubic"]);
    let scenario = one_link(&path, path.duration(25.0), seed)
        + &flow(
            "l4s",
            ENDS,
            "kind = \"tcp\", controller = \"prague\"",
            BULK,
            "start = \"0s..1s\"",
        )
        + &flow(
            "classic",
            ENDS,
            &format!("kind = \"tcp\", controller = \"{classic}\", ecn = true"),
            BULK,
            "start = \"0s..1s\"",
        );
    Case::new(
        scenario,
        &[SLOW_START_END, &["unfairness"]].concat(),
        format!(
            "{}: one queue marks both, Prague answers the share of marks and {classic} each mark \
             as a loss",
            path.words()
        ),
    )
}

fn air(standard: &str) -> String {
    format!(
        "[[link]]\nname = \"ethernet\"\nbetween = [\"server\", \"router\"]\nrate = \"100Mbit\"\n\
         delay = \"5ms\"\n[[wifi]]\nname = \"air\"\nstandard = \"{standard}\"\n"
    )
}

fn station(host: &str) -> String {
    format!("[[wifi.station]]\nhost = \"{host}\"\nqueue = {{ kind = \"droptail\", limit = 50 }}\n")
}

pub(super) fn wifi_contention(draw: &mut Draw, seed: u64) -> Case {
    let count = draw.int(4, 8);
    let each = draw.int(10, 14);
    let mut scenario = run(6.0, seed) + &air("g");
    scenario +=
        "[[wifi.station]]\nhost = \"router\"\nqueue = { kind = \"droptail\", limit = 50 }\n";
    scenario += "[[wifi.station]]\nhost = \"laptop\"\n";
    for number in 1..=count {
        scenario += &station(&format!("station-{number}"));
    }
    let transport = format!(
        "kind = \"tcp\", controller = \"{}\"",
        draw.pick(&["newreno", "cubic", "bbr"])
    );
    scenario += &flow("bulk", ["server", "laptop"], &transport, BULK, "");
    for number in 1..=count {
        scenario += &flow(
            &format!("neighbour-{number}"),
            [&format!("station-{number}"), "router"],
            "kind = \"udp\"",
            &format!("kind = \"cbr\", rate = \"{each}Mbit\""),
            "start = \"500ms\"",
        );
    }
    Case::new(
        scenario,
        &[
            UNFILLED,
            &[
                "wifi_retries",
                "standing_queue",
                "unfairness",
                "ack_path_congestion",
                "ack_loss",
                "ack_compression",
            ],
        ]
        .concat(),
        format!(
            "{count} other stations offer {each} Mbit/s each, {} in all, to an air that carries \
             less than 30",
            count * each
        ),
    )
}

/// A frame that meets a burst of interference at its receiver is sent again.
/// The signal falls at 5 s; rate control follows.
pub(super) fn wifi_rate_fall(draw: &mut Draw, seed: u64) -> Case {
    let (good, bad) = (draw.int(28, 34), draw.int(6, 9));
    let mut scenario = run(15.0, seed) + &air("g") + &station("router");
    scenario += "[[wifi.station]]\nhost = \"laptop\"\n";
    let signal = |at: &str, snr: u64| format!("[[wifi.signal]]\nat = \"{at}\"\nsnr = {snr}\n");
    scenario += &(signal("0s", good) + &signal("5s", bad));
    let transport = format!(
        "kind = \"tcp\", controller = \"{}\"",
        draw.pick(&["newreno", "cubic", "bbr"])
    );
    scenario += &flow("bulk", ["server", "laptop"], &transport, BULK, "");
    Case::new(
        scenario,
        &[
            UNFILLED,
            &[
                "standing_queue",
                "wifi_retries",
                "bursty_loss",
                "random_loss",
            ],
        ]
        .concat(),
        format!(
            "the signal falls from {good} dB, enough for 48 Mbit/s and more, to {bad} dB, at which \
             18 Mbit/s fail"
        ),
    )
}

pub(super) fn wifi_retries(draw: &mut Draw, seed: u64) -> Case {
    let on = draw.int(2, 6);
    let off = draw.int(8, 20);
    let rate = draw.pick(&["12Mbit", "24Mbit", "36Mbit"]);
    let noise = format!(
        "rate_control = {{ kind = \"fixed\", rate = \"{rate}\" }}\n[[wifi.station]]\nhost = \
         \"laptop\"\n[[wifi.interference]]\nfrom = \"0s\"\nuntil = \"12s\"\non = \"{on}ms\"\noff = \
         \"{off}ms\"\nheard = \"at_receivers\"\n"
    );
    let mut scenario = run(12.0, seed) + &air("g") + &station("router") + &noise;
    let transport = format!(
        "kind = \"tcp\", controller = \"{}\"",
        draw.pick(&["newreno", "cubic"])
    );
    scenario += &flow("bulk", ["server", "laptop"], &transport, BULK, "");
    Case::new(
        scenario,
        &[
            UNFILLED,
            &[
                "standing_queue",
                "random_loss",
                "bursty_loss",
                "ack_loss",
                "ack_compression",
            ],
        ]
        .concat(),
        format!(
            "bursts of {on} ms every {:.0} ms, which no station hears, destroy {:.2} of the \
             frames at least",
            on + off,
            on as f64 / (on + off) as f64
        ),
    )
}
