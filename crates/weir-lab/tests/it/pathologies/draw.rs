//! What the generators draw from and write with: random numbers, a path with its numbers, and the
//! texts of links and flows.

use std::fmt::Write as _;

use weir_proto::rng::Rng;

/// Most full-sized packets that the bottleneck of a case carries in its run.
pub(super) const MOST_PACKETS: f64 = 50_000.0;

/// Random numbers of one case, from its kind and seed alone.
pub(super) struct Draw(Rng);

impl Draw {
    pub(super) fn new(seed: u64, name: &str) -> Self {
        Self(Rng::stream(seed, name))
    }

    /// Uniform between `from` and `to`.
    pub(super) fn real(&mut self, from: f64, to: f64) -> f64 {
        from + (to - from) * self.0.uniform()
    }

    /// Uniform in the logarithm between `from` and `to`.
    pub(super) fn log(&mut self, from: f64, to: f64) -> f64 {
        (self.real(from.ln(), to.ln())).exp()
    }

    /// A whole number from `from` to `to`.
    pub(super) fn int(&mut self, from: u64, to: u64) -> u64 {
        from + self.0.below(to - from + 1)
    }

    /// One of them.
    pub(super) fn pick<T: Copy>(&mut self, of: &[T]) -> T {
        of[usize::try_from(self.0.below(of.len() as u64)).expect("an index")]
    }
}

/// A bottleneck: rate, propagation and drop-tail buffer, with what follows from them for packets
/// of 1500 bytes.
#[derive(Clone, Debug)]
pub(super) struct Path {
    /// Mbit/s.
    pub(super) rate: f64,
    /// Propagation both ways, in ms.
    pub(super) rtt_ms: f64,
    /// Packets that its drop-tail queue holds.
    pub(super) buffer: u64,
    /// What the forward direction has beyond its queue, as `, key = value`.
    pub(super) forward: String,
    /// What the backward direction has, as `key = value`.
    pub(super) backward: String,
    /// Lines at the end of the link's table.
    pub(super) tail: String,
    /// In place of the drop-tail queue: the table of another discipline.
    pub(super) queue: Option<String>,
}

impl Path {
    /// Rounded to what the scenario says, so that the numbers of `why` are those of the run.
    pub(super) fn new(rate: f64, rtt_ms: f64) -> Self {
        Self {
            rate: (rate * 1000.0).round() / 1000.0,
            rtt_ms: (rtt_ms * 100.0).round() / 100.0,
            buffer: 1000,
            forward: String::new(),
            backward: String::new(),
            tail: String::new(),
            queue: None,
        }
    }

    /// A path within these bounds, drawn in the logarithm.
    pub(super) fn drawn(draw: &mut Draw, rate: [f64; 2], rtt_ms: [f64; 2]) -> Self {
        Self::new(draw.log(rate[0], rate[1]), draw.log(rtt_ms[0], rtt_ms[1]))
    }

    /// A path that holds `bdp` packets, its rate drawn in the logarithm.
    pub(super) fn of_bdp(draw: &mut Draw, bdp: f64, rate: [f64; 2]) -> Self {
        let rate = draw.log(rate[0], rate[1]);
        Self::new(rate, (bdp - 1.0) * 12.0 / rate)
    }

    /// The same with a propagation of `least` to `most` ms.
    pub(super) fn rtt_within(mut self, least: f64, most: f64) -> Self {
        self.rtt_ms = self.rtt_ms.clamp(least, most);
        self
    }

    /// The same with a drop-tail buffer of so many bandwidth-delay products, at least `least`
    /// packets.
    pub(super) fn with_buffer(mut self, bdp: f64, least: u64) -> Self {
        self.buffer = whole(bdp * self.bdp()).max(least);
        self
    }

    pub(super) fn with_queue(mut self, queue: &str) -> Self {
        self.queue = Some(queue.to_owned());
        self
    }

    /// Milliseconds that a packet takes on the link.
    pub(super) fn packet_ms(&self) -> f64 {
        12.0 / self.rate
    }

    /// Packets in a second.
    pub(super) fn pps(&self) -> f64 {
        1000.0 / self.packet_ms()
    }

    /// base: propagation and serialisation, in ms.
    pub(super) fn base_ms(&self) -> f64 {
        self.rtt_ms + self.packet_ms()
    }

    /// The bandwidth-delay product in packets.
    pub(super) fn bdp(&self) -> f64 {
        self.base_ms() / self.packet_ms()
    }

    /// The buffer in bandwidth-delay products.
    pub(super) fn buffer_bdp(&self) -> f64 {
        self.buffer as f64 / self.bdp()
    }

    /// The time that a packet waits in the full buffer.
    pub(super) fn buffer_ms(&self) -> f64 {
        self.buffer as f64 * self.packet_ms()
    }

    /// So many seconds, or as many as [`MOST_PACKETS`] take.
    pub(super) fn duration(&self, wanted_s: f64) -> f64 {
        wanted_s.min(MOST_PACKETS / self.pps()).ceil()
    }

    /// Its numbers in words, for `why`.
    pub(super) fn words(&self) -> String {
        let queue = match &self.queue {
            Some(queue) => queue.clone(),
            None => format!(
                "buffer {} packets = {:.2} BDP = {:.1} ms",
                self.buffer,
                self.buffer_bdp(),
                self.buffer_ms()
            ),
        };
        format!(
            "{:.3} Mbit/s, base {:.2} ms, BDP {:.1} packets, {queue}",
            self.rate,
            self.base_ms(),
            self.bdp()
        )
    }

    /// The table of the link.
    pub(super) fn link(&self, name: &str, [from, to]: [&str; 2]) -> String {
        let queue = match &self.queue {
            Some(queue) => queue.clone(),
            None => format!("{{ kind = \"droptail\", limit = {} }}", self.buffer),
        };
        format!(
            "[[link]]\nname = \"{name}\"\nbetween = [\"{from}\", \"{to}\"]\nrate = \"{}kbit\"\n\
             delay = \"{:.0}us\"\nforward = {{ queue = {queue}{} }}\nbackward = {{ {} }}\n{}\n",
            whole(self.rate * 1000.0),
            self.rtt_ms * 500.0,
            self.forward,
            self.backward,
            self.tail
        )
    }
}

/// The nearest whole number that is not negative.
pub(super) fn whole(number: f64) -> u64 {
    number.round().max(0.0) as u64
}

/// The `[run]` table.
pub(super) fn run(duration_s: f64, seed: u64) -> String {
    format!(
        "[run]\nduration = \"{}ms\"\nseed = {seed}\n",
        whole(duration_s * 1000.0)
    )
}

/// A flow with its transport and application as inline tables, and further lines.
pub(super) fn flow(name: &str, ends: [&str; 2], transport: &str, app: &str, more: &str) -> String {
    let mut text = String::new();
    let [from, to] = ends;
    write!(
        text,
        "[[flow]]\nname = \"{name}\"\nfrom = \"{from}\"\nto = \"{to}\"\n\
         transport = {{ {transport} }}\napp = {{ {app} }}\n{more}\n"
    )
    .expect("a text");
    text
}

pub(super) const BULK: &str = "kind = \"bulk\"";

/// The hosts of most flows.
pub(super) const ENDS: [&str; 2] = ["server", "client"];

/// A scenario of one flow over one link.
pub(super) fn lone(path: &Path, duration_s: f64, seed: u64, transport: &str, app: &str) -> String {
    run(duration_s, seed) + &path.link("bottleneck", ENDS) + &flow("bulk", ENDS, transport, app, "")
}

/// Bulk data over one link, for so many seconds or as many as [`MOST_PACKETS`] take.
pub(super) fn transfer(path: &Path, wanted_s: f64, seed: u64, transport: &str) -> String {
    lone(path, path.duration(wanted_s), seed, transport, BULK)
}

/// A sender that halves or nearly halves its window after a loss.
#[derive(Clone, Copy, Debug)]
pub(super) struct LossBased {
    /// The transport's table.
    pub(super) transport: &'static str,
    /// What a loss leaves of the window.
    pub(super) beta: f64,
    /// Whether growth between two losses takes CUBIC's time.
    pub(super) cubic: bool,
}

const fn sender(transport: &'static str, beta: f64, cubic: bool) -> LossBased {
    LossBased {
        transport,
        beta,
        cubic,
    }
}

/// Loss-based senders of each transport. quinn needs the command: a place for it would be here.
pub(super) const LOSS_BASED: &[LossBased] = &[
    sender("kind = \"tcp\", controller = \"newreno\"", 0.5, false),
    sender("kind = \"tcp\", controller = \"cubic\"", 0.7, true),
    sender(
        "kind = \"tcp\", rules = \"rfc\", controller = \"newreno\"",
        0.5,
        false,
    ),
    sender("kind = \"quic\", controller = \"newreno\"", 0.5, false),
    sender("kind = \"quic\", controller = \"cubic\"", 0.7, true),
    sender("kind = \"dccp\", ccid = 2", 0.5, false),
    sender(
        "kind = \"dccp\", ccid = 2, controller = \"cubic\"",
        0.7,
        true,
    ),
];

/// Of these the ones over TCP and QUIC.
pub(super) const STREAMS: &[LossBased] =
    &[LOSS_BASED[0], LOSS_BASED[1], LOSS_BASED[3], LOSS_BASED[4]];

/// Profiles of TFRC.
pub(super) const PROFILES: &[&str] = &["rfc5348", "rfc3448", "linux-2008", "linux-mainline"];

/// A flow of CCID 3 with a profile and further rules of TFRC, as `key = value`.
pub(super) fn ccid3(profile: &str, tfrc: &str) -> String {
    format!("kind = \"dccp\", ccid = 3, profile = \"{profile}\", tfrc = {{ {tfrc} }}")
}
