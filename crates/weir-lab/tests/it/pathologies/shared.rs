//! Flows that share a link or the air.

use super::Case;
use super::draw::{BULK, Draw, Path, flow, run, whole};

fn jitter(host: &str, us: u64) -> String {
    format!("[[host]]\nname = \"{host}\"\njitter = \"0us..{us}us\"\n")
}

fn packet_us(path: &Path) -> u64 {
    whole(path.packet_ms() * 1000.0)
}

pub(super) fn rtt_bias(draw: &mut Draw, seed: u64) -> Case {
    let path = Path::drawn(draw, [5.0, 20.0], [8.0, 20.0]).with_buffer(0.8, 20);
    let controller = draw.pick(&["newreno", "cubic"]);
    let ratio = draw.real(6.0, 12.0);
    let extra = (ratio - 1.0) * (path.base_ms() + path.buffer_ms()) / 2.0;
    let transport = format!("kind = \"tcp\", controller = \"{controller}\"");
    let scenario = run(path.duration(60.0), seed)
        + &jitter("server", packet_us(&path))
        + &path.link("bottleneck", "server", "client")
        + &flow(
            "near",
            ["server", "client"],
            &transport,
            BULK,
            "start = \"0s..1s\"",
        )
        + &flow(
            "far",
            ["server", "client"],
            &transport,
            BULK,
            &format!(
                "start = \"0s..1s\"\naccess_delay = \"{:.0}us\"",
                extra * 1000.0
            ),
        );
    Case {
        scenario,
        allowed: vec![
            "unfairness",
            "loss_synchronisation",
            "slow_start_overshoot",
            "early_slow_start_exit",
        ],
        flow: Some("far"),
        why: format!(
            "{}: two {controller} flows whose round-trip times differ by {ratio:.1} at a full \
             queue",
            path.words()
        ),
        ..Case::planted("rtt_bias")
    }
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
    let scenario = run(begin + wanted, seed)
        + &jitter("server", packet_us(&path))
        + &path.link("bottleneck", "server", "client")
        + &flow("first", ["server", "client"], reno, BULK, "")
        + &flow(
            "late",
            ["server", "client"],
            transport,
            BULK,
            &format!("start = \"{begin}s\"{more}"),
        );
    Case {
        scenario,
        allowed: vec![
            "unfairness",
            "early_slow_start_exit",
            "loss_synchronisation",
            "slow_start_overshoot",
        ],
        flow: Some("late"),
        why: format!("{}: {why}", path.words()),
        ..Case::planted("latecomer_starved")
    }
}

pub(super) fn loss_synchronisation(draw: &mut Draw, seed: u64) -> Case {
    let count = draw.int(6, 12);
    let bdp = count as f64 * draw.real(8.0, 20.0);
    let rate = draw.log(10.0, 40.0);
    let path = Path::new(rate, ((bdp - 1.0) * 12.0 / rate).clamp(10.0, 120.0)).with_buffer(0.5, 12);
    let scenario = run(path.duration(30.0), seed)
        + &path.link("bottleneck", "server", "client")
        + &flow(
            "bulk",
            ["server", "client"],
            "kind = \"tcp\", controller = \"newreno\"",
            BULK,
            &format!("count = {count}\nstart = \"0s..200ms\""),
        );
    Case {
        scenario,
        allowed: vec![
            "unfairness",
            "slow_start_overshoot",
            "early_slow_start_exit",
        ],
        flow: Some("bottleneck"),
        why: format!(
            "{}: {count} Reno flows with one round-trip time overflow one drop-tail queue by \
             {count} packets in a round, before any of them knows",
            path.words()
        ),
        ..Case::planted("loss_synchronisation")
    }
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
        ["server", "client"],
        &format!("kind = \"tcp\", controller = \"{controller}\""),
        &format!("kind = \"bulk\", total = \"{size}kB\""),
        &format!("count = {count}"),
    );
    Case {
        scenario,
        allowed: vec![
            "timeout_storm",
            "shallow_buffer",
            "slow_start_overshoot",
            "early_slow_start_exit",
            "loss_synchronisation",
            "unfairness",
            "underused_link",
            "bursty_loss",
        ],
        flow: Some("port"),
        why: format!(
            "{count} servers send 10 packets each at once, {} in all, into a port with {buffer}",
            count * 10
        ),
        ..Case::planted("incast")
    }
}

pub(super) fn l4s_beside_classic(draw: &mut Draw, seed: u64) -> Case {
    let path = Path::drawn(draw, [10.0, 40.0], [15.0, 40.0]);
    let target = draw.int(5, 10);
    let queue = format!("{{ kind = \"codel\", ecn = true, target = \"{target}ms\" }}");
    let path = path.with_queue(&queue);
    let classic = draw.pick(&["newreno", "cubic"]);
    let scenario = run(path.duration(25.0), seed)
        + &jitter("server", packet_us(&path))
        + &path.link("bottleneck", "server", "client")
        + &flow(
            "l4s",
            ["server", "client"],
            "kind = \"tcp\", controller = \"prague\"",
            BULK,
            "start = \"0s..1s\"",
        )
        + &flow(
            "classic",
            ["server", "client"],
            &format!("kind = \"tcp\", controller = \"{classic}\", ecn = true"),
            BULK,
            "start = \"0s..1s\"",
        );
    Case {
        scenario,
        allowed: vec![
            "unfairness",
            "slow_start_overshoot",
            "early_slow_start_exit",
        ],
        flow: Some("classic"),
        why: format!(
            "{}: one queue marks both, Prague answers the share of marks and {classic} each mark \
             as a loss",
            path.words()
        ),
        ..Case::planted("l4s_beside_classic")
    }
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
    Case {
        scenario,
        allowed: vec![
            "wifi_retries",
            "standing_queue",
            "unfairness",
            "underused_link",
            "slow_start_overshoot",
            "early_slow_start_exit",
            "ack_path_congestion",
            "ack_loss",
            "ack_compression",
        ],
        flow: Some("air"),
        why: format!(
            "{count} other stations offer {each} Mbit/s each, {} in all, to an air that carries \
             less than 30",
            count * each
        ),
        ..Case::planted("wifi_contention")
    }
}

/// A frame that meets a burst of interference at its receiver is sent again.
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
    Case {
        scenario,
        allowed: vec![
            "standing_queue",
            "underused_link",
            "random_loss",
            "bursty_loss",
            "slow_start_overshoot",
            "early_slow_start_exit",
            "ack_loss",
            "ack_compression",
        ],
        flow: Some("air"),
        why: format!(
            "bursts of {on} ms every {:.0} ms, which no station hears, destroy {:.2} of the \
             frames at least",
            on + off,
            on as f64 / (on + off) as f64
        ),
        ..Case::planted("wifi_retries")
    }
}
