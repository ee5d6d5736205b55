//! The words of tc-cake(8) that stand for themselves: choices that name no key, the framing of
//! known links, and words without an effect here.

use super::link_units::{put, word_of};
use weir_net::queue::{AckFilter, Diffserv, FlowMode, Framing, RttWord};
use weir_proto::settings::{Keyword, Raw, Table};

/// A known link: framing, overhead and least size (tc-cake(8), overhead compensation).
type Link = (&'static str, &'static str, i64, Option<i64>);

const LINKS: [Link; 13] = [
    ("raw", "noatm", 0, None),
    ("conservative", "atm", 48, None),
    ("ipoa-vcmux", "atm", 8, None),
    ("ipoa-llcsnap", "atm", 16, None),
    ("bridged-vcmux", "atm", 24, None),
    ("bridged-llcsnap", "atm", 32, None),
    ("pppoa-vcmux", "atm", 10, None),
    ("pppoa-llc", "atm", 14, None),
    ("pppoe-vcmux", "atm", 32, None),
    ("pppoe-llcsnap", "atm", 40, None),
    ("bridged-ptm", "ptm", 22, None),
    ("pppoe-ptm", "ptm", 30, None),
    ("docsis", "noatm", 18, Some(64)),
];

/// A shared Ethernet with its preamble, checksum and gap (tc-cake(8), ethernet).
const ETHERNET: (i64, i64) = (38, 84);

/// Words without an effect: addresses are not translated here, and packets are never larger than on
/// the wire.
const WITHOUT_EFFECT: [&str; 4] = ["nat", "nonat", "split-gso", "no-split-gso"];

/// The keys whose values tc writes alone, with these values.
fn choices() -> [(&'static str, Vec<Keyword>); 5] {
    [
        ("rtt", RttWord::keywords()),
        ("diffserv", Diffserv::keywords()),
        ("flowmode", FlowMode::keywords()),
        ("ack_filter", AckFilter::keywords()),
        ("atm", Framing::keywords()),
    ]
}

/// Reads a word that stands for itself; false if it is none.
pub(super) fn read(word: &str, keys: &mut Table) -> Result<bool, String> {
    if WITHOUT_EFFECT.contains(&word) {
        return Ok(true);
    }
    let names = |(_, words): &(&str, Vec<Keyword>)| words.iter().any(|known| known.word == word);
    if let Some((key, _)) = choices().iter().find(|choice| names(choice)) {
        put(keys, key, word_of(word))?;
        return Ok(true);
    }
    let link = LINKS.iter().find(|(name, ..)| *name == word);
    if let Some(&(_, framing, overhead, least)) = link {
        put(keys, "atm", word_of(framing))?;
        put(keys, "overhead", Raw::Integer(overhead))?;
        if let Some(least) = least {
            put(keys, "mpu", Raw::Integer(least))?;
        }
        return Ok(true);
    }
    match word {
        "unlimited" => put(keys, "bandwidth", word_of(word))?,
        "egress" => put(keys, "ingress", Raw::Boolean(false))?,
        "ethernet" => {
            put(keys, "atm", word_of("noatm"))?;
            put(keys, "overhead", Raw::Integer(ETHERNET.0))?;
            put(keys, "mpu", Raw::Integer(ETHERNET.1))?;
        }
        _ => return Ok(false),
    }
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::super::link_scenario;
    use weir_net::QueueConfig;
    use weir_net::queue::{AckFilter, CakeConfig, Diffserv, FlowMode, Framing, RttWord};
    use weir_proto::time::Duration;

    fn cake(words: &str) -> CakeConfig {
        let scenario = link_scenario(words, None, 1).unwrap_or_else(|error| panic!("{error}"));
        match &scenario.links[0].forward.queue {
            QueueConfig::Cake(cake) => *cake,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn cake_has_the_words_of_tc() {
        // The example of tc-cake(8) and one with all kinds of words.
        let example =
            cake("tc qdisc add dev eth0 root cake bandwidth 20Mbit nat docsis ack-filter");
        assert_eq!(example.bandwidth, Some(20_000_000));
        assert_eq!((example.overhead, example.mpu), (18, 64));
        assert_eq!(example.ack_filter, AckFilter::On);
        let all = cake(
            "cake bandwidth 900kbit diffserv4 dual-srchost metro ack-filter-aggressive ingress \
             wash overhead 44 mpu 96 atm memlimit 2m split-gso",
        );
        assert_eq!(
            all,
            CakeConfig {
                bandwidth: Some(900_000),
                rtt: RttWord::Metro,
                diffserv: Diffserv::Diffserv4,
                flowmode: FlowMode::DualSrcHost,
                ack_filter: AckFilter::Aggressive,
                overhead: 44,
                mpu: 96,
                atm: Framing::Atm,
                ingress: true,
                wash: true,
                memlimit: Some(2 << 20),
            }
        );
        let rest = cake("cake unlimited besteffort flowblind rtt 50ms no-ack-filter egress nowash");
        let rtt = RttWord::Time(Duration::from_millis(50));
        assert_eq!((rest.bandwidth, rest.rtt), (None, rtt));
        assert_eq!(rest.flowmode, FlowMode::FlowBlind);
        assert!(!rest.ingress && !rest.wash);
    }

    #[test]
    fn known_links_have_the_overheads_of_the_manual() {
        for (word, atm, overhead, mpu) in [
            ("raw", Framing::NoAtm, 0, 0),
            ("conservative", Framing::Atm, 48, 0),
            ("ipoa-vcmux", Framing::Atm, 8, 0),
            ("ipoa-llcsnap", Framing::Atm, 16, 0),
            ("bridged-vcmux", Framing::Atm, 24, 0),
            ("bridged-llcsnap", Framing::Atm, 32, 0),
            ("pppoa-vcmux", Framing::Atm, 10, 0),
            ("pppoa-llc", Framing::Atm, 14, 0),
            ("pppoe-vcmux", Framing::Atm, 32, 0),
            ("pppoe-llcsnap", Framing::Atm, 40, 0),
            ("bridged-ptm", Framing::Ptm, 22, 0),
            ("pppoe-ptm", Framing::Ptm, 30, 0),
            ("docsis", Framing::NoAtm, 18, 64),
            ("ethernet", Framing::NoAtm, 38, 84),
        ] {
            let link = cake(&format!("cake {word}"));
            assert_eq!(
                (link.atm, link.overhead, link.mpu),
                (atm, overhead, mpu),
                "{word}"
            );
        }
    }

    #[test]
    fn what_is_wrong_is_named() {
        for (words, part) in [
            ("cake bandwidth 20mbps", "ambiguous"),
            ("cake diffserv4 diffserv3", "twice"),
            ("cake docsis overhead 4", "twice"),
            ("cake diffserv5", "diffserv5"),
            ("cake overhead 300", "256"),
        ] {
            let error = link_scenario(words, None, 1).expect_err(words).to_string();
            assert!(error.contains(part), "{words}: {error}");
        }
    }
}
