//! Links in the syntax of `tc`, as users paste it: `rate 1mbit delay 25ms 2ms loss 0.1% limit 50`,
//! `tbf rate 1000kbit buffer 10000 limit 30000`, `delay 20ms fq_codel ecn`, and `mahimahi FILE` for
//! a trace of delivery opportunities. A whole command, `tc qdisc add dev eth0 root netem delay
//! 100ms`, is accepted too: its device and position are ignored.
//!
//! Words are options of netem until the name of a queue or shaper, and then options of that;
//! `netem` switches back. The words are converted to keys of a scenario's link, so that the
//! scenario's reader checks their values. Values have the units of tc (`link_units`).

use super::check::Check;
use super::document::{Document, Source};
use super::error::similar;
use super::files::read_text;
use super::htb_words::HtbWords;
use super::link_units::{kind_of_key, put, rate, size, time, value, value_of_kind, whole, word_of};
use super::rate_trace;
use super::red_words::RedWords;
use super::{Scenario, read_keys};
use std::iter::Peekable;
use std::path::Path;
use std::str::SplitWhitespace;
use weir_net::QueueConfig;
use weir_net::queue::TcQueue;
use weir_proto::settings::{Kind, Place, Raw, Table, shortened};

/// An error in the words of a link: the option, the invalid word or value, and the expected one.
#[derive(Debug, thiserror::Error)]
#[error("{option}: {message}")]
pub struct LinkWordsError {
    option: &'static str,
    message: String,
}

/// The words of netem and the names of shapers and queues, as a list for messages.
fn keys() -> String {
    let netem = "rate, delay, loss, ecn, duplicate, corrupt, reorder, gap, slot, limit, mtu, seed, \
                 mahimahi, tbf, police";
    format!("{netem}, {}", list(&queue_names(), "or"))
}

/// The names of queue disciplines in tc.
fn queue_names() -> Vec<&'static str> {
    QueueConfig::tc_names()
        .map(|queue| queue.name.name)
        .collect()
}

/// `a, b or c`.
fn list(words: &[&str], conjunction: &str) -> String {
    match words.split_last() {
        Some((last, rest)) => format!("{} {conjunction} {last}", rest.join(", ")),
        None => String::new(),
    }
}

type Words<'a> = Peekable<SplitWhitespace<'a>>;

/// The component to which the words belong.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Owner {
    Netem,
    Shaper,
    Policer,
    Queue(TcQueue),
    /// Classes and filters of HTB.
    Htb,
}

/// The keys of one direction of the link.
#[derive(Default)]
struct Keys {
    link: Table,
    netem: Table,
    queue: Table,
    shaper: Table,
    policer: Table,
    red: RedWords,
    htb: HtbWords,
    seed: Option<u64>,
}

/// A scenario with one link, called `link`, from the host `near` to the host `far`, with these
/// words in both directions or with other words backward. A `seed` of netem becomes the seed of the
/// run, in place of `seed`. The scenario has no flow: run its links only.
///
/// # Errors
/// The invalid word or value, and the expected one.
pub fn link_scenario(
    forward: &str,
    backward: Option<&str>,
    seed: u64,
) -> Result<Scenario, LinkWordsError> {
    let (ahead, back) = ("--link", backward.map_or("--link", |_| "--back"));
    let words =
        |option, text| direction(text).map_err(|message| LinkWordsError { option, message });
    let (ahead_keys, ahead_seed) = words(ahead, forward)?;
    let (back_keys, back_seed) = words(back, backward.unwrap_or(forward))?;
    if let (Some(one), Some(other)) = (ahead_seed, back_seed)
        && one != other
    {
        return Err(LinkWordsError {
            option: back,
            message: format!("seed: a run has one, expected {one} as ahead, found {other}"),
        });
    }
    let seed = ahead_seed.or(back_seed).unwrap_or(seed);
    let run = [("duration", word_of("1h")), ("seed", whole(seed))];
    let between = ["near", "far"].map(|host| word_of(host).into());
    let link = [
        ("name", word_of("link")),
        ("between", Raw::Array(between.into())),
        ("forward", Raw::Table(ahead_keys)),
        (BACKWARD, Raw::Table(back_keys)),
    ];
    let links = vec![Raw::Table(table(link)).into()];
    let mut root = table([("run", Raw::Table(table(run))), ("link", Raw::Array(links))]);
    set_places(&mut root, AHEAD, &mut 0);
    let source = |name: &str| Source {
        name: name.to_owned(),
        text: String::new(),
    };
    let document = Document {
        sources: [ahead, ahead, back].map(source).into(),
        root,
        ..Document::default()
    };
    let checked = read_keys(&document).and_then(|mut scenario| {
        Check {
            document: &document,
            scenario: &mut scenario,
            entries: Vec::new(),
        }
        .links_alone()?;
        Ok(scenario)
    });
    checked.map_err(|error| {
        let help = error.help.map_or(String::new(), |help| format!("; {help}"));
        LinkWordsError {
            option: if error.file == back { back } else { ahead },
            message: error.message + &help,
        }
    })
}

/// The key of a link for the settings of the backward direction.
const BACKWARD: &str = "backward";
/// The sources of the document for the words of the two directions. The first source of a document
/// is the file, which overrides precede.
const AHEAD: usize = 1;
const BACK: usize = 2;

fn table<const N: usize>(keys: [(&str, Raw); N]) -> Table {
    let mut table = Table::default();
    for (key, raw) in keys {
        table.put(key, raw);
    }
    table
}

/// Assigns places to keys and values in their order, for each direction in its source.
fn set_places(table: &mut Table, source: usize, next: &mut usize) {
    for entry in &mut table.entries {
        let source = if entry.key == BACKWARD { BACK } else { source };
        let start = *next;
        *next += 1;
        entry.place = Place {
            source,
            start,
            end: *next,
        };
        entry.value.place = entry.place;
        let elements = match &mut entry.value.raw {
            Raw::Array(elements) => elements.as_mut_slice(),
            _ => std::slice::from_mut(&mut entry.value),
        };
        for element in elements {
            element.place = entry.place;
            if let Raw::Table(inner) = &mut element.raw {
                set_places(inner, source, next);
            }
        }
    }
}

/// The keys of one direction, and netem's seed.
fn direction(text: &str) -> Result<(Table, Option<u64>), String> {
    let mut words = text.split_whitespace().peekable();
    let mut keys = Keys::default();
    let mut owner = Owner::Netem;
    while let Some(word) = words.next() {
        let queue = QueueConfig::tc_names().find(|queue| queue.name.name == word);
        if let Some(queue) = queue.filter(|_| !(owner == Owner::Htb && word == "htb")) {
            keys.queue_is(queue.kind)?;
            owner = Owner::Queue(queue);
            continue;
        }
        match (owner, word) {
            // A qdisc after the classes of HTB would stand below one of them.
            (Owner::Htb, "qdisc") => owner = Owner::Netem,
            // The device and the position in the kernel are ignored.
            (_, "sudo" | "tc" | "qdisc" | "add" | "replace" | "change" | "root") => {}
            (_, "class") if keys.has_queue("htb") => {
                keys.htb.begin_class();
                owner = Owner::Htb;
            }
            (_, "filter") if keys.has_queue("htb") => {
                keys.htb.begin_filter();
                owner = Owner::Htb;
            }
            (Owner::Htb, _) if !matches!(word, "netem" | "tbf" | "police" | "mahimahi") => {
                let mut after = |word: &str, what: &str| next(&mut words, word, what);
                keys.htb.read(word, &mut after)?;
            }
            (_, "dev" | "handle" | "parent") => {
                next(&mut words, word, "a name")?;
            }
            (_, "netem") => owner = Owner::Netem,
            (_, "tbf") => {
                owner = Owner::Shaper;
                put(&mut keys.shaper, "kind", word_of("tbf"))?;
            }
            (_, "police") => {
                owner = Owner::Policer;
                put(&mut keys.policer, "kind", word_of("police"))?;
            }
            (_, "mahimahi") => keys.trace(&next(&mut words, word, "a file")?)?,
            (Owner::Netem, _) => keys.netem(word, &mut words)?,
            (Owner::Shaper, _) => keys.bucket(word, &mut words)?,
            (Owner::Policer, _) => keys.policer(word, &mut words)?,
            (Owner::Queue(queue), _) => keys.queue_has(word, queue, &mut words)?,
            (Owner::Htb, _) => {}
        }
    }
    std::mem::take(&mut keys.htb).complete(&mut keys.queue);
    if keys.has_queue("red") {
        keys.red.complete(&mut keys.queue)?;
    }
    let seed = keys.seed;
    Ok((keys.table(), seed))
}

/// True for a boolean key of a queue, which tc writes without a value.
fn is_flag(key: &str) -> bool {
    let is_boolean = |kind| matches!(kind_of_key(kind, key), Some(Kind::Boolean));
    QueueConfig::tc_names().any(|queue| is_boolean(queue.kind))
}

/// `expected` is a list of words, of which one was probably meant.
fn unknown(word: &str, expected: &str) -> String {
    let known = expected.split([',', ' ']);
    let meant = known.filter(|known| !["", "or", "of"].contains(known));
    let meant = similar(word, meant);
    let meant = meant.map(|meant| format!("; did you mean \"{meant}\"?"));
    format!(
        "there is no \"{}\" here, expected {expected}{}",
        shortened(word),
        meant.unwrap_or_default()
    )
}

/// The word after another one.
fn next(words: &mut Words<'_>, after: &str, what: &str) -> Result<String, String> {
    let next = words.next().map(str::to_owned);
    next.ok_or_else(|| format!("\"{after}\" ends there, expected {what}"))
}

/// The next word if it begins with a digit: an optional argument.
fn argument(words: &mut Words<'_>) -> Option<String> {
    let word = words.next_if(|word| word.starts_with(|c: char| c.is_ascii_digit()));
    word.map(str::to_owned)
}

impl Keys {
    /// Reads a word of netem.
    fn netem(&mut self, word: &str, words: &mut Words<'_>) -> Result<(), String> {
        match word {
            "rate" => {
                put(&mut self.link, word, rate(&next(words, word, "a rate")?)?)?;
                self.overheads(words)
            }
            "ecn" => put(&mut self.netem, word, Raw::Boolean(true)),
            "seed" => self.seed(words),
            "mtu" => put(&mut self.link, word, value(&next(words, word, "octets")?)),
            "limit" => {
                let packets = value(&next(words, word, "packets")?);
                self.queue_is("droptail")?;
                put(&mut self.queue, word, packets)
            }
            "delay" | "latency" => self.delay(word, words),
            "loss" | "drop" => self.loss(words),
            "duplicate" | "corrupt" | "reorder" => {
                let chance = value(&next(words, word, "a probability")?);
                put(&mut self.netem, word, chance)?;
                if let Some(correlation) = argument(words) {
                    let key = format!("{word}_correlation");
                    put(&mut self.netem, &key, value(&correlation))?;
                }
                Ok(())
            }
            "slot" => self.slot(words),
            "gap" => {
                let gap = value(&next(words, word, "packets")?);
                put(&mut self.netem, "reorder_gap", gap)
            }
            _ => Err(unknown(word, &keys())),
        }
    }

    fn delay(&mut self, word: &str, words: &mut Words<'_>) -> Result<(), String> {
        let delay = time(&next(words, word, "a time")?);
        put(&mut self.link, "delay", delay)?;
        if let Some(jitter) = argument(words) {
            put(&mut self.netem, "jitter", time(&jitter))?;
            if let Some(correlation) = argument(words) {
                put(&mut self.netem, "jitter_correlation", value(&correlation))?;
            }
        }
        if words.next_if_eq(&"distribution").is_some() {
            let name = value(&next(words, "distribution", "normal, pareto or uniform")?);
            put(&mut self.netem, "distribution", name)?;
        }
        Ok(())
    }

    /// `[packet overhead [cell size [cell overhead]]]` of netem's rate.
    fn overheads(&mut self, words: &mut Words<'_>) -> Result<(), String> {
        for key in ["packet_overhead", "cell_size", "cell_overhead"] {
            let is_negative = |word: &&str| {
                word.strip_prefix('-')
                    .is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
            };
            if let Some(word) = words.next_if(is_negative) {
                return Err(format!(
                    "rate: no packet is shorter on the wire than its IP packet here, expected an \
                     overhead of 0 or more, found \"{}\"",
                    shortened(word)
                ));
            }
            let Some(octets) = argument(words) else { break };
            put(&mut self.netem, key, size(&octets))?;
        }
        Ok(())
    }

    /// netem's seed is used as the seed of the run.
    fn seed(&mut self, words: &mut Words<'_>) -> Result<(), String> {
        let word = next(words, "seed", "a number")?;
        let number = word.parse().map_err(|_| {
            let found = shortened(&word);
            format!("seed: expected a whole number below 2^64, found \"{found}\"")
        })?;
        match self.seed.replace(number) {
            Some(_) => Err("\"seed\" is there twice, expected it once".to_owned()),
            None => Ok(()),
        }
    }

    /// `slot min [max] [packets n] [bytes n]`.
    fn slot(&mut self, words: &mut Words<'_>) -> Result<(), String> {
        let least = time(&next(words, "slot", "a time")?);
        let slot = match argument(words) {
            Some(most) => {
                let ends = [least, time(&most)];
                let ends = ends.each_ref().map(|end| end.as_text().unwrap_or_default());
                Raw::Text(ends.join(".."))
            }
            None => least,
        };
        put(&mut self.netem, "slot", slot)?;
        if words.next_if_eq(&"packets").is_some() {
            let packets = value(&next(words, "packets", "a number")?);
            put(&mut self.netem, "slot_packets", packets)?;
        }
        if words.next_if_eq(&"bytes").is_some() {
            let octets = size(&next(words, "bytes", "octets")?);
            put(&mut self.netem, "slot_bytes", octets)?;
        }
        Ok(())
    }

    fn loss(&mut self, words: &mut Words<'_>) -> Result<(), String> {
        if words.next_if_eq(&"gemodel").is_some() {
            return self.bursts(words);
        }
        if words.next_if_eq(&"state").is_some() {
            return self.states(words);
        }
        let _ = words.next_if_eq(&"random");
        let chance = value(&next(words, "loss", "a probability")?);
        if argument(words).is_some() {
            let message = "loss takes no correlation here, which netem itself advises against; \
                           write loss gemodel p r for bursts";
            return Err(message.to_owned());
        }
        self.random_loss(chance)
    }

    /// `p13 [p31 [p32 [p23 p14]]]` of netem. With p13 alone, p31 is 1-p13: no bursts.
    fn states(&mut self, words: &mut Words<'_>) -> Result<(), String> {
        let p13 = value(&next(words, "state", "p13")?);
        let Some(p31) = argument(words) else {
            return self.random_loss(p13);
        };
        let mut keys = table([
            ("kind", word_of("state")),
            ("p13", p13),
            ("p31", value(&p31)),
        ]);
        for name in ["p32", "p23", "p14"] {
            if let Some(chance) = argument(words) {
                keys.put(name, value(&chance));
            }
        }
        put(&mut self.link, "loss", Raw::Table(keys))
    }

    /// p, r, 1-h, 1-k of netem. With p alone, r is 1-p: no bursts.
    fn bursts(&mut self, words: &mut Words<'_>) -> Result<(), String> {
        let to_bad = value(&next(words, "gemodel", "p")?);
        let Some(to_good) = argument(words) else {
            return self.random_loss(to_bad);
        };
        let kind = ("kind", word_of("gilbert"));
        let mut keys = table([kind, ("to_bad", to_bad), ("to_good", value(&to_good))]);
        for name in ["loss_in_bad", "loss_in_good"] {
            if let Some(chance) = argument(words) {
                keys.put(name, value(&chance));
            }
        }
        put(&mut self.link, "loss", Raw::Table(keys))
    }

    fn random_loss(&mut self, rate: Raw) -> Result<(), String> {
        let random = table([("kind", word_of("random")), ("rate", rate)]);
        put(&mut self.link, "loss", Raw::Table(random))
    }

    /// Reads a word of tbf.
    fn bucket(&mut self, word: &str, words: &mut Words<'_>) -> Result<(), String> {
        let key = match word {
            "burst" | "buffer" | "maxburst" => "burst",
            "mtu" | "minburst" => "peakmtu",
            "rate" | "limit" | "latency" | "peakrate" | "overhead" => word,
            _ => {
                let expected = "rate, burst, limit, latency, peakrate, minburst or overhead of tbf";
                return Err(unknown(word, expected));
            }
        };
        let word = next(words, word, "a value")?;
        let value = match key {
            "rate" | "peakrate" => rate(&word)?,
            "latency" => time(&word),
            "overhead" => value(&word),
            _ => size(&word),
        };
        put(&mut self.shaper, key, value)
    }

    /// Reads a word of police. Excess packets can only be dropped.
    fn policer(&mut self, word: &str, words: &mut Words<'_>) -> Result<(), String> {
        match word {
            "rate" => {
                let rate = rate(&next(words, word, "a rate")?)?;
                put(&mut self.policer, word, rate)
            }
            "burst" | "buffer" | "maxburst" => {
                let octets = size(&next(words, word, "octets")?);
                put(&mut self.policer, "burst", octets)
            }
            "overhead" => {
                let octets = value(&next(words, word, "octets")?);
                put(&mut self.policer, word, octets)
            }
            "drop" => Ok(()),
            "conform-exceed" | "action" => match next(words, word, "drop")?.as_str() {
                "drop" | "drop/ok" | "drop/pass" => Ok(()),
                other => Err(unknown(other, "drop of police")),
            },
            _ => Err(unknown(
                word,
                "rate, burst, overhead or conform-exceed drop of police",
            )),
        }
    }

    fn has_queue(&self, kind: &str) -> bool {
        let known = self.queue.get("kind");
        known.is_some_and(|known| known.value.raw.as_text() == Some(kind))
    }

    fn queue_is(&mut self, kind: &str) -> Result<(), String> {
        put(&mut self.queue, "kind", word_of(kind)).map_err(|_| {
            let names = list(&queue_names(), "and");
            format!("a link has one queue, expected one of limit, {names}")
        })
    }

    /// Reads a word of a queue: a key of its configuration, with a value in tc's unit for that key.
    fn queue_has(
        &mut self,
        word: &str,
        queue: TcQueue,
        words: &mut Words<'_>,
    ) -> Result<(), String> {
        if queue.kind == "cake" && super::cake_words::read(word, &mut self.queue)? {
            return Ok(());
        }
        let name = |c: char| c.is_ascii_lowercase() || c == '_';
        if !word.chars().all(name) {
            return Err(unknown(word, "a key of the queue"));
        }
        let red = || next(words, word, "a value");
        if queue.kind == "red" && self.red.takes(word, red)? {
            return Ok(());
        }
        if is_flag(word) {
            return put(&mut self.queue, word, Raw::Boolean(true));
        }
        if let Some(key) = word.strip_prefix("no").filter(|key| is_flag(key)) {
            return put(&mut self.queue, key, Raw::Boolean(false));
        }
        let text = next(words, word, "a value")?;
        let value = match kind_of_key(queue.kind, word) {
            _ if queue.kind == "htb" && word == "default" => HtbWords::default_class(&text)?,
            Some(Kind::AnyOf(_)) if queue.name.limit_in_octets => size(&text),
            Some(kind) => value_of_kind(&kind, &text)?,
            None => value(&text),
        };
        put(&mut self.queue, word, value)
    }

    fn trace(&mut self, file: &str) -> Result<(), String> {
        let text = read_text(Path::new(file)).map_err(|error| format!("{file}: {error}"))?;
        let millis = rate_trace::parse(file, &text).map_err(|problem| problem.message)?;
        let millis = millis.into_iter().map(|millis| whole(millis).into());
        put(&mut self.link, "rate_trace", Raw::Array(millis.collect()))
    }

    fn table(mut self) -> Table {
        let tables = [
            ("queue", self.queue),
            ("shaper", self.shaper),
            ("policer", self.policer),
            ("netem", self.netem),
        ];
        for (name, keys) in tables {
            if !keys.entries.is_empty() {
                self.link.put(name, Raw::Table(keys));
            }
        }
        self.link
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use weir_net::loss::GilbertLossConfig;
    use weir_net::netem::Distribution;
    use weir_net::{DropTailConfig, LossConfig, QueueLimit};
    use weir_proto::time::Duration;
    use weir_proto::units::Probability;

    fn link(words: &str) -> crate::scenario::Direction {
        let scenario = link_scenario(words, None, 1).unwrap_or_else(|error| panic!("{error}"));
        scenario.links[0].forward.clone()
    }

    #[test]
    fn words_of_netem_are_read_as_tc_reads_them() {
        let link = link("rate 1mbit delay 25ms 2ms 25% distribution normal loss 0.1% limit 50");
        assert_eq!(link.rate, Some(1_000_000));
        assert_eq!(link.delay, Duration::from_millis(25).into());
        assert_eq!(link.netem.jitter, Duration::from_millis(2));
        assert_eq!(link.netem.jitter_correlation, 0.25);
        assert_eq!(link.netem.distribution, Distribution::Normal);
        let limit = QueueLimit::Packets(50);
        assert_eq!(link.queue, QueueConfig::DropTail(DropTailConfig { limit }));
        let LossConfig::Random(random) = link.loss else {
            panic!("{:?}", link.loss);
        };
        assert_eq!(random.rate.get(), 0.001);
    }

    #[test]
    fn a_bucket_and_a_queue_have_words_of_their_own() {
        let shaped = link("tbf rate 1000kbit buffer 10000 limit 30000 netem delay 5000");
        let shaper = shaped.shaper.expect("there is a bucket");
        assert_eq!((shaper.rate, shaper.burst), (1_000_000, 10_000));
        assert_eq!((shaper.queue_limit(), shaped.rate), (Some(30_000), None));
        assert_eq!(shaped.delay, Duration::from_millis(5).into());
        let managed = link("rate 10mbit fq_codel limit 1000 target 5ms ecn");
        let QueueConfig::FqCodel(queue) = managed.queue else {
            panic!("{:?}", managed.queue);
        };
        assert!(queue.codel.ecn && queue.codel.limit == 1000);
        let limit = QueueLimit::Bytes(30_000);
        let bytes = link("bfifo limit 30000").queue;
        assert_eq!(bytes, QueueConfig::DropTail(DropTailConfig { limit }));
    }

    #[test]
    fn policers_slots_and_dualpi2_have_the_words_of_tc() {
        let policed = link(
            "rate 10mbit police rate 1mbit burst 10k conform-exceed drop netem delay 5ms \
             slot 10ms 20ms packets 32 bytes 64k",
        );
        let policer = policed.policer.expect("there is a policer");
        assert_eq!((policer.rate, policer.burst), (1_000_000, 10_240));
        assert_eq!(policed.netem.slot.to_string(), "10ms..20ms");
        let (packets, bytes) = (policed.netem.slot_packets, policed.netem.slot_bytes);
        assert_eq!((packets, bytes), (32, 65_536));
        assert_eq!(link("slot 800us").netem.slot.to_string(), "800us");
        let QueueConfig::DualPi2(queue) =
            link("dualpi2 limit 200 target 20ms step_thresh 2ms classic_protection 5%").queue
        else {
            panic!("it is another queue");
        };
        assert_eq!((queue.limit, queue.classic_protection), (200, 0.05));
        assert_eq!(queue.target, Duration::from_millis(20));
        assert_eq!(queue.step_thresh, Duration::from_millis(2));
        let wrong = link_scenario("police rate 1mbit burst 9k mark", None, 1).unwrap_err();
        assert!(wrong.to_string().contains("of police"), "{wrong}");
    }

    #[test]
    fn bursts_of_loss_are_those_of_netem() {
        let LossConfig::Gilbert(GilbertLossConfig {
            to_bad,
            to_good,
            loss_in_good,
            loss_in_bad,
        }) = link("loss gemodel 1% 10% 70% 0.1%").loss
        else {
            panic!("it is another model");
        };
        let chances = [to_bad, to_good, loss_in_bad, loss_in_good];
        assert_eq!(chances.map(Probability::get), [0.01, 0.1, 0.7, 0.001]);
    }

    #[test]
    fn a_command_that_is_pasted_whole_is_its_qdisc() {
        let pasted = "sudo tc qdisc add dev eth0 root handle 1: netem delay 100ms 10ms distribution \
                      normal loss 1% duplicate 1% corrupt 0.1% reorder 25% 50% gap 5";
        let netem = link(pasted);
        assert_eq!(netem.delay, Duration::from_millis(100).into());
        assert_eq!(netem.netem.reorder, 0.25);
        assert_eq!(netem.netem.reorder_gap, 5);
        let both = link(
            "tc qdisc add dev eth0 root handle 1: tbf rate 1mbit burst 32kbit latency 400ms \
             tc qdisc add dev eth0 parent 1:1 handle 10: netem delay 5msec",
        );
        let shaper = both.shaper.expect("there is a bucket");
        assert_eq!((shaper.rate, shaper.burst), (1_000_000, 4096));
        assert_eq!(both.delay, Duration::from_millis(5).into());
        assert_eq!(link("rate 1000").rate, Some(1000));
        let managed = link("rate 1mbit red limit 400kb min 30000 max 90000 noecn").queue;
        let QueueConfig::Red(red) = managed else {
            panic!("{managed:?}");
        };
        assert_eq!((red.limit, red.min, red.ecn), (409_600, 30_000, false));
    }

    #[test]
    fn a_word_of_any_length_is_named_in_short() {
        let long = "x".repeat(100_000);
        let error = link_scenario(&long, None, 1).expect_err("no word");
        assert!(error.to_string().len() < 300);
    }

    #[test]
    fn the_wrong_direction_is_named() {
        let error = link_scenario("rate 1mbit", Some("delay soon"), 1).expect_err("no delay");
        assert!(error.to_string().starts_with("--back: "), "{error}");
        let error = link_scenario("delay soon", Some("rate 1mbit"), 1).expect_err("no delay");
        assert!(error.to_string().starts_with("--link: "), "{error}");
    }

    #[test]
    fn directions_may_differ() {
        let scenario = link_scenario("rate 2mbit", Some("rate 1mbit"), 7).expect("it is a link");
        let link = &scenario.links[0];
        assert_eq!(link.forward.rate, Some(2_000_000));
        assert_eq!(link.backward.rate, Some(1_000_000));
        assert_eq!(scenario.run.seed, 7);
    }

    #[test]
    fn what_is_wrong_is_named() {
        for (words, part) in [
            ("speed 1mbit", "\"speed\""),
            ("dealy 20ms", "did you mean \"delay\"?"),
            ("rate 1mbit fqcodel", "did you mean \"fq_codel\"?"),
            ("tbf rate 1mbit bursts 10k", "did you mean \"burst\"?"),
            ("rate", "\"rate\" ends there"),
            ("rate 1mbps", "ambiguous"),
            ("delay soon", "soon"),
            ("loss 1% 25%", "gemodel"),
            ("loss gemodel", "expected p"),
            ("tbf rate 1mbit wings 3", "\"wings\""),
            ("codel 5ms", "\"5ms\""),
            ("codel wings 3", "wings"),
            ("mahimahi /nowhere", "/nowhere"),
            ("rate 1mbit\"", "?"),
            ("rate 1mbit rate 2mbit", "twice"),
            ("limit 5 fq_codel", "one queue"),
            ("loss state", "expected p13"),
            ("rate 1mbit -4", "overhead of 0 or more"),
            ("seed x", "whole number"),
            ("seed 1 seed 2", "twice"),
            ("red limit 400kb adaptive", "no \"adaptive\" here"),
            ("red limit 400kb nodrop", "no \"nodrop\" here"),
            (
                "red limit 400kb min 30k max 90k avpkt 1000 burst 3",
                "expected at least 31",
            ),
            ("red limit 400kb avpkt many", "expected octets"),
            ("red limit 400kb burst 1k", "expected packets"),
            ("red limit 400kb bandwidth 10mbps", "ambiguous"),
            ("red limit 400kb avpkt 1000 avpkt 1000", "twice"),
            ("red limit 400kb avpkt 1000 weight 0.1", "one or the other"),
            ("red limit soon avpkt 1000", "soon"),
        ] {
            let error = link_scenario(words, None, 1).expect_err(words).to_string();
            assert!(error.contains(part), "{words}: {error}");
        }
    }
}
