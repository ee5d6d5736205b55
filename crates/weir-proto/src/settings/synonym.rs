//! What other programs call something: words that stand for one of ours, and words of what is not
//! here, with the nearest that is. One table for scenarios, the command line and imported traces.
//!
//! Words are those of Linux (tcp_cong.c, tc), of the BBR draft, and of WebRTC.

/// Another word for the same thing, and the word here.
const SAME: &[(&str, &str)] = &[
    // tcp_congestion_control of Linux, and iperf3's -C.
    ("reno", "newreno"),
    ("bbr3", "bbr"),
    ("bbrv3", "bbr"),
    ("bbrv1", "bbr1"),
    // The directory of GCC in libwebrtc, and the second version of SCReAM.
    ("goog_cc", "gcc"),
    ("screamv2", "scream"),
    ("fifo", "droptail"),
    ("pfifo", "droptail"),
    ("bfifo", "droptail"),
    ("tail-drop", "droptail"),
    ("drop-tail", "droptail"),
    ("fq-codel", "fq_codel"),
];

/// A word of something that is not here.
struct Absent {
    word: &'static str,
    /// The nearest that is here.
    nearest: &'static str,
    /// What both have in common.
    common: &'static str,
    /// A word of the list in which this one is looked for: hosts may have any name.
    among: &'static str,
}

const fn absent(
    word: &'static str,
    nearest: &'static str,
    common: &'static str,
    among: &'static str,
) -> Absent {
    Absent {
        word,
        nearest,
        common,
        among,
    }
}

const BY_DELAY: &str = "which also keeps the queue short by its delay";
const OF_LOSS: &str = "which also answers to loss with a window";
const IN_DATACENTRES: &str = "which also answers to a queue's marks or delay in a data centre";
const FAIR: &str = "which also serves flows in turn";

const ABSENT: &[Absent] = &[
    absent("vegas", "copa", BY_DELAY, "cubic"),
    absent("fast", "copa", BY_DELAY, "cubic"),
    absent("vivace", "copa", BY_DELAY, "cubic"),
    absent(
        "lp",
        "ledbat",
        "which also yields to other traffic",
        "cubic",
    ),
    absent("bbr2", "bbr", "which is BBRv3", "cubic"),
    absent("bbrv2", "bbr", "which is BBRv3", "cubic"),
    absent("bic", "cubic", "its successor", "cubic"),
    absent("htcp", "cubic", OF_LOSS, "cubic"),
    absent("illinois", "cubic", OF_LOSS, "cubic"),
    absent("scalable", "cubic", OF_LOSS, "cubic"),
    absent("highspeed", "cubic", OF_LOSS, "cubic"),
    absent("hybla", "cubic", OF_LOSS, "cubic"),
    absent("compound", "cubic", OF_LOSS, "cubic"),
    absent("ctcp", "cubic", OF_LOSS, "cubic"),
    absent("westwood", "newreno", OF_LOSS, "cubic"),
    absent("tahoe", "newreno", OF_LOSS, "cubic"),
    absent("swift", "dctcp", IN_DATACENTRES, "cubic"),
    absent("timely", "dctcp", IN_DATACENTRES, "cubic"),
    absent("dcqcn", "dctcp", IN_DATACENTRES, "cubic"),
    absent("hpcc", "dctcp", IN_DATACENTRES, "cubic"),
    absent("sfq", "fq_codel", FAIR, "droptail"),
    absent("cobalt", "codel", "on which it is built", "droptail"),
];

/// The word here for the same thing; the word itself if it has no other here.
pub fn word_here(word: &str) -> &str {
    let same = SAME.iter().find(|(other, _)| *other == word);
    same.map_or(word, |(_, here)| here)
}

/// A sentence about a word of something that is not here, and the nearest among `known`.
pub fn nearest(word: &str, known: &[&str]) -> Option<String> {
    let word = word.to_ascii_lowercase();
    let absent = ABSENT.iter().find(|absent| {
        absent.word == word && known.contains(&absent.among) && !known.contains(&&*word)
    })?;
    let Absent {
        nearest, common, ..
    } = absent;
    Some(format!(
        "Weir has no {word}; the nearest is \"{nearest}\", {common}"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cc::window;

    #[test]
    fn every_nearest_controller_is_one() {
        let known: Vec<&str> = window::names().collect();
        for (other, here) in SAME {
            assert_eq!(word_here(other), *here);
            assert_eq!(word_here(here), *here, "no chain");
            assert!(!known.contains(other), "{other} is a controller itself");
        }
        let of_windows = ABSENT.iter().filter(|absent| absent.among == "cubic");
        for absent in of_windows {
            assert!(known.contains(&absent.nearest), "{}", absent.nearest);
            assert!(!known.contains(&absent.word), "{}", absent.word);
        }
    }

    #[test]
    fn what_is_not_here_has_a_nearest_only_among_its_kind() {
        let said = nearest("vegas", &["cubic", "copa"]).expect("a controller");
        assert!(said.contains("\"copa\""), "{said}");
        assert_eq!(nearest("vegas", &["server", "client"]), None);
        assert_eq!(nearest("cubic", &["cubic"]), None);
    }
}
