//! Links in the words of `tc`, as people paste them: `rate 1mbit delay 25ms 2ms loss 0.1% limit
//! 50`, `tbf rate 1000kbit buffer 10000 limit 30000`, `delay 20ms fq_codel ecn`, and `mahimahi
//! FILE` for a trace of delivery opportunities.
//!
//! Words belong to netem until a queue or a shaper is named, then to that; `netem` goes back. The
//! words become keys of a scenario's link, so that values are checked where all are.

use super::network::parse_opportunities;
use super::{Scenario, ScenarioError, parse};
use std::fmt::Write as _;
use std::iter::Peekable;
use std::path::Path;
use std::str::SplitWhitespace;

/// Why words are no link.
#[derive(Debug, thiserror::Error)]
pub enum LinkWordsError {
    /// A word, or what follows it.
    #[error("--link: {0}")]
    Word(String),
    /// A value.
    #[error(transparent)]
    Value(#[from] ScenarioError),
}

const KEYS: &str = "rate, delay, loss, duplicate, corrupt, reorder, limit, mtu, mahimahi, \
                    tbf, pfifo, bfifo, red, codel, fq_codel or pie";

type Words<'a> = Peekable<SplitWhitespace<'a>>;

/// What the words belong to.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Owner {
    Netem,
    Shaper,
    Queue,
}

/// The keys of one direction, as TOML.
#[derive(Default)]
struct Keys {
    link: String,
    netem: Vec<String>,
    queue: Vec<String>,
    shaper: Vec<String>,
}

/// A scenario with one link, called `link`, from the host `near` to the host `far`: with these
/// words in both directions, or with others backward. It has a flow that says nothing; run its
/// links only.
///
/// # Errors
/// The word or value that is wrong, and what was expected.
pub fn link_scenario(
    forward: &str,
    backward: Option<&str>,
    seed: u64,
) -> Result<Scenario, LinkWordsError> {
    let [ahead, back] = [forward, backward.unwrap_or(forward)].map(direction);
    let (ahead, back) = (ahead?, back?);
    let text = format!(
        "[run]\nduration = \"1h\"\nseed = {seed}\n\n\
         [[link]]\nname = \"link\"\nbetween = [\"near\", \"far\"]\n\
         forward = {{ {ahead} }}\nbackward = {{ {back} }}\n\n\
         [[flow]]\nname = \"nothing\"\nfrom = \"near\"\nto = \"far\"\n\
         transport = {{ kind = \"udp\" }}\napp = {{ kind = \"cbr\", packet = 1, rate = \"8bit\" }}\n"
    );
    Ok(parse(&text, "--link")?)
}

/// One direction as an inline table's content.
fn direction(text: &str) -> Result<String, LinkWordsError> {
    let mut words = text.split_whitespace().peekable();
    let mut keys = Keys::default();
    let mut owner = Owner::Netem;
    while let Some(word) = words.next() {
        let wrong = |expected: &str| {
            let message = format!("there is no \"{word}\" here, expected {expected}");
            LinkWordsError::Word(message)
        };
        match (owner, word) {
            (_, "netem") => owner = Owner::Netem,
            (_, "tbf") => {
                owner = Owner::Shaper;
                keys.shaper.push("kind = \"tbf\"".to_owned());
            }
            (_, "pfifo" | "bfifo") => {
                owner = Owner::Queue;
                keys.queue.push("kind = \"droptail\"".to_owned());
                if word == "bfifo" && words.next_if_eq(&"limit").is_some() {
                    let limit = next(&mut words, "bfifo limit", "bytes")?;
                    let bytes = limit.parse::<u64>().map_or(limit, |n| format!("{n}b"));
                    keys.queue.push(format!("limit = \"{bytes}\""));
                }
            }
            (_, "red" | "codel" | "fq_codel" | "pie") => {
                owner = Owner::Queue;
                keys.queue.push(format!("kind = \"{word}\""));
            }
            (_, "mahimahi") => keys.trace(&next(&mut words, word, "a file")?)?,
            (Owner::Netem, _) => keys.netem(word, &mut words)?.ok_or_else(|| wrong(KEYS))?,
            (Owner::Shaper, _) => {
                let key = match word {
                    "burst" | "buffer" | "maxburst" => "burst",
                    "mtu" | "minburst" => "peakmtu",
                    "rate" | "limit" | "latency" | "peakrate" | "overhead" => word,
                    _ => return Err(wrong("rate, burst, limit, latency or peakrate of tbf")),
                };
                let value = value(&next(&mut words, word, "a value")?);
                keys.shaper.push(format!("{key} = {value}"));
            }
            (Owner::Queue, "ecn" | "gentle") => keys.queue.push(format!("{word} = true")),
            (Owner::Queue, _) if word.chars().all(|c| c.is_ascii_lowercase() || c == '_') => {
                let value = value(&next(&mut words, word, "a value")?);
                keys.queue.push(format!("{word} = {value}"));
            }
            (Owner::Queue, _) => return Err(wrong("a key of the queue")),
        }
    }
    Ok(keys.toml())
}

/// The word after another.
fn next(words: &mut Words<'_>, after: &str, what: &str) -> Result<String, LinkWordsError> {
    let next = words.next().map(str::to_owned);
    next.ok_or_else(|| LinkWordsError::Word(format!("\"{after}\" ends there, expected {what}")))
}

/// A word as a TOML value: what is not a whole number has a unit.
fn value(word: &str) -> String {
    match word.parse::<u64>() {
        Ok(number) => number.to_string(),
        Err(_) => format!("\"{}\"", word.replace(['"', '\\'], "?")),
    }
}

/// A time: tc takes a number for microseconds.
fn time(word: &str) -> String {
    match word.parse::<f64>() {
        Ok(_) => format!("\"{word}us\""),
        Err(_) => value(word),
    }
}

/// The next word if it begins with a digit: an argument that may be left out.
fn argument(words: &mut Words<'_>) -> Option<String> {
    let word = words.next_if(|word| word.starts_with(|c: char| c.is_ascii_digit()));
    word.map(str::to_owned)
}

impl Keys {
    /// A word of netem; `None` if it has no such word.
    fn netem(&mut self, word: &str, words: &mut Words<'_>) -> Result<Option<()>, LinkWordsError> {
        match word {
            "rate" | "mtu" => {
                let value = value(&next(words, word, "a value")?);
                let _ = write!(self.link, "{word} = {value}, ");
            }
            "limit" => {
                let packets = value(&next(words, word, "packets")?);
                self.queue.push("kind = \"droptail\"".to_owned());
                self.queue.push(format!("limit = {packets}"));
            }
            "delay" | "latency" => {
                let delay = time(&next(words, word, "a time")?);
                let _ = write!(self.link, "delay = {delay}, ");
                if let Some(jitter) = argument(words) {
                    self.netem.push(format!("jitter = {}", time(&jitter)));
                    if let Some(correlation) = argument(words) {
                        let correlation = value(&correlation);
                        self.netem
                            .push(format!("jitter_correlation = {correlation}"));
                    }
                }
                if words.next_if_eq(&"distribution").is_some() {
                    let name = value(&next(words, "distribution", "normal, pareto or uniform")?);
                    self.netem.push(format!("distribution = {name}"));
                }
            }
            "loss" | "drop" => self.loss(words)?,
            "duplicate" | "corrupt" | "reorder" => {
                let chance = value(&next(words, word, "a probability")?);
                self.netem.push(format!("{word} = {chance}"));
                if let Some(correlation) = argument(words) {
                    let correlation = value(&correlation);
                    self.netem
                        .push(format!("{word}_correlation = {correlation}"));
                }
                if word == "reorder" && words.next_if_eq(&"gap").is_some() {
                    let gap = value(&next(words, "gap", "packets")?);
                    self.netem.push(format!("reorder_gap = {gap}"));
                }
            }
            _ => return Ok(None),
        }
        Ok(Some(()))
    }

    fn loss(&mut self, words: &mut Words<'_>) -> Result<(), LinkWordsError> {
        if words.next_if_eq(&"gemodel").is_some() {
            let to_bad = next(words, "gemodel", "p")?;
            // p, r, 1-h, 1-k as netem has them. With p alone, r is 1-p: no bursts.
            let Some(to_good) = argument(words) else {
                let chance = value(&to_bad);
                let _ = write!(
                    self.link,
                    "loss = {{ kind = \"random\", rate = {chance} }}, "
                );
                return Ok(());
            };
            let _ = write!(
                self.link,
                "loss = {{ kind = \"gilbert\", to_bad = {}, to_good = {}",
                value(&to_bad),
                value(&to_good)
            );
            for name in ["loss_in_bad", "loss_in_good"] {
                if let Some(chance) = argument(words) {
                    let _ = write!(self.link, ", {name} = {}", value(&chance));
                }
            }
            self.link.push_str(" }, ");
            return Ok(());
        }
        let _ = words.next_if_eq(&"random");
        let chance = value(&next(words, "loss", "a probability")?);
        if argument(words).is_some() {
            let message = "loss takes no correlation here, which netem itself advises against; \
                           write loss gemodel p r for bursts";
            return Err(LinkWordsError::Word(message.to_owned()));
        }
        let _ = write!(
            self.link,
            "loss = {{ kind = \"random\", rate = {chance} }}, "
        );
        Ok(())
    }

    fn trace(&mut self, file: &str) -> Result<(), LinkWordsError> {
        let text = std::fs::read_to_string(Path::new(file))
            .map_err(|error| LinkWordsError::Word(format!("{file}: {error}")))?;
        let millis = parse_opportunities(file, &text)
            .map_err(|problem| LinkWordsError::Word(problem.message))?;
        let _ = write!(self.link, "rate_trace = {millis:?}, ");
        Ok(())
    }

    fn toml(self) -> String {
        let mut text = self.link;
        let tables = [
            ("queue", self.queue),
            ("shaper", self.shaper),
            ("netem", self.netem),
        ];
        for (name, keys) in tables {
            if !keys.is_empty() {
                let _ = write!(text, "{name} = {{ {} }}, ", keys.join(", "));
            }
        }
        text.trim_end_matches([',', ' ']).to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use weir_net::netem::Distribution;
    use weir_net::{Limit, LossConfig, QueueConfig};
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
        assert_eq!(link.delay, Duration::from_millis(25));
        assert_eq!(link.netem.jitter, Duration::from_millis(2));
        assert_eq!(link.netem.jitter_correlation, 0.25);
        assert_eq!(link.netem.distribution, Distribution::Normal);
        let limit = Limit::Packets(50);
        assert_eq!(link.queue, QueueConfig::DropTail { limit });
        let LossConfig::Random { probability } = link.loss else {
            panic!("{:?}", link.loss);
        };
        assert_eq!(probability.get(), 0.001);
    }

    #[test]
    fn a_bucket_and_a_queue_have_words_of_their_own() {
        let shaped = link("tbf rate 1000kbit buffer 10000 limit 30000 netem delay 5000");
        let shaper = shaped.shaper.expect("there is a bucket");
        assert_eq!(
            (shaper.bucket.rate, shaper.bucket.burst),
            (1_000_000, 10_000)
        );
        assert_eq!((shaper.limit(), shaped.rate), (30_000, None));
        assert_eq!(shaped.delay, Duration::from_millis(5));
        let managed = link("rate 10mbit fq_codel limit 1000 target 5ms ecn");
        let QueueConfig::FqCodel(queue) = managed.queue else {
            panic!("{:?}", managed.queue);
        };
        assert!(queue.codel.ecn && queue.codel.limit == 1000);
        let limit = Limit::Bytes(30_000);
        let bytes = link("bfifo limit 30000").queue;
        assert_eq!(bytes, QueueConfig::DropTail { limit });
    }

    #[test]
    fn bursts_of_loss_are_those_of_netem() {
        let LossConfig::Gilbert {
            to_bad,
            to_good,
            loss_in_good,
            loss_in_bad,
        } = link("loss gemodel 1% 10% 70% 0.1%").loss
        else {
            panic!("it is another model");
        };
        let chances = [to_bad, to_good, loss_in_bad, loss_in_good];
        assert_eq!(chances.map(Probability::get), [0.01, 0.1, 0.7, 0.001]);
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
        ] {
            let error = link_scenario(words, None, 1).expect_err(words).to_string();
            assert!(error.contains(part), "{words}: {error}");
        }
    }
}
