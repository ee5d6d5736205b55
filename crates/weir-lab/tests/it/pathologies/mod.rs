//! Labelled scenarios by which the detectors of `weir explain` are judged. A label follows from
//! the scenario by the formula of its kind, never from what a detector says.

#[cfg(all(test, feature = "files"))]
mod captured;
#[cfg(test)]
mod documents;
mod draw;
mod healthy;
#[cfg(test)]
mod judge;
mod limits;
mod losses;
#[cfg(test)]
mod page;
mod queues;
#[cfg(test)]
mod sample;
#[cfg(test)]
mod score;
mod shared;
mod tfrc;
mod two;

use draw::Draw;

/// A scenario with what is wrong in it.
#[derive(Clone, Debug, PartialEq)]
pub struct Case {
    /// The kind or family and the seed.
    pub name: String,
    /// The scenario, as TOML.
    pub scenario: String,
    /// The kinds that are planted; none if all is well.
    pub labels: Vec<&'static str>,
    /// Kinds that may be found beside them, at any place, and need not be.
    pub allowed: Vec<&'static str>,
    /// The formula of the kind with the numbers of this scenario.
    pub why: String,
}

impl Case {
    /// Without a name and labels, which follow from the list that its generator stands in.
    fn new(scenario: String, allowed: &[&'static str], why: String) -> Self {
        Self {
            name: String::new(),
            scenario,
            labels: Vec::new(),
            allowed: allowed.to_vec(),
            why,
        }
    }
}

/// How slow start may end beside what is planted.
const SLOW_START_END: &[&str] = &["slow_start_overshoot", "early_slow_start_exit"];

/// What may follow where losses keep the window small.
const UNFILLED: &[&str] = &[
    "underused_link",
    "slow_start_overshoot",
    "early_slow_start_exit",
];

type Generator = fn(&mut Draw, u64) -> Case;

/// Every kind that is planted, with its generator. base is propagation and serialisation, BDP the
/// rate times base. The comment of each is its definition.
const KINDS: &[(&str, Generator)] = &[
    // loss-based sender, drop-tail of at least 3.5 BDP and 90 ms, that is b BDP: beta (1 + b) - 1
    // base stay queued
    ("standing_queue", queues::standing_queue),
    // drop-tail below 0.15 BDP and 10 packets, BDP of 40 packets or more
    ("shallow_buffer", queues::shallow_buffer),
    // slow start to the first loss, drop-tail of 0.6 to 1 BDP: more than a tenth of the window is
    // lost at once
    ("slow_start_overshoot", queues::slow_start_overshoot),
    // the one loss comes when the window is below half the BDP
    ("early_slow_start_exit", queues::early_slow_start_exit),
    // a backlog, and less than 80 % of the link used, by no other kind
    ("underused_link", queues::underused_link),
    // CCID 3, first-in-first-out of 5 BDP and more: from the queue's growth to the first reduction
    // more than 3 base
    ("late_notification", tfrc::late_notification),
    // CCID 3 without oscillation reduction, q of more than 2 base: X varies with 1/R
    ("rate_oscillation", tfrc::rate_oscillation),
    // CCID 3 with oscillation reduction after slow start, q of more than 2 base
    (
        "oscillation_reduction_holds_queue",
        tfrc::oscillation_reduction_holds_queue,
    ),
    // t_ipi is longer than s/X by the reduction while p = 0
    (
        "oscillation_reduction_in_slow_start",
        tfrc::oscillation_reduction_in_slow_start,
    ),
    // no feedback in four round trips, again and again: R below 4 us in Linux of 2008, or most
    // feedback lost
    ("feedback_starvation", tfrc::feedback_starvation),
    // RFC 3448 after an outage: X = 2 X_recv for 20 base and more
    ("rate_held_by_receive_rate", tfrc::rate_held_by_receive_rate),
    // TFRC, R of 3 base and more by its own queue, and p by random loss: both cut X_calc
    ("double_punishment", tfrc::double_punishment),
    // CCID 3: R above 20 base for more than 10 s, X below what the stream needs
    ("cut_off_by_delay", tfrc::cut_off_by_delay),
    // CCID 3: p of 10 % and more, X below what the stream needs
    ("cut_off_by_loss", tfrc::cut_off_by_loss),
    // Linux's tables: p = 1e-4, whose 122 packets a round trip are below half the BDP
    ("equation_table_floor", tfrc::equation_table_floor),
    // a stream whose application writes at most half the rate; in healthy families it is meant
    ("application_limited", limits::application_limited),
    // the send buffer is 0.12 to 0.4 BDP
    ("send_buffer_limited", limits::send_buffer_limited),
    // the receive buffer or credit is 0.12 to 0.4 BDP
    ("receiver_limited", limits::receiver_limited),
    // the pacing rate is 0.4 to 0.7 of the estimated bandwidth
    ("pacer_limited", limits::pacer_limited),
    // each window is smaller than the packets for which the receiver waits, and its timer longer
    // than 6 base
    ("delayed_ack_stall", limits::delayed_ack_stall),
    // timers of 10 ms, in which four packets and more are due
    ("timer_granularity", limits::timer_granularity),
    // independent losses of 0.3 to 3 %, whose Reno window is below a fifth of the BDP
    ("random_loss", losses::random_loss),
    // 4 to 8 packets in a row, once in 200 to 800
    ("bursty_loss", losses::bursty_loss),
    // a token bucket of 10 to 40 ms drops above 0.25 to 0.6 of the link's rate
    ("policer", losses::policer),
    // jitter of 8 to 20 packets to both sides without order
    ("reordering", losses::reordering),
    // a delay above the timeout and no loss
    ("spurious_timeout", losses::spurious_timeout),
    // an outage in which the timeout doubles three times and more
    ("timeout_storm", losses::timeout_storm),
    // QUIC, an outage of 8 probe timeouts and more
    ("persistent_congestion", losses::persistent_congestion),
    // a third to six tenths of the acknowledgements are lost, or all but one of 8 to 20
    ("ack_loss", losses::ack_loss),
    // the way back has 0.2 to 0.4 of what acknowledgements need, or an upload takes all of it
    ("ack_path_congestion", losses::ack_path_congestion),
    // 12 and more acknowledgements arrive together
    ("ack_compression", losses::ack_compression),
    // two flows whose round-trip times differ by 6 to 12 at a full queue
    ("rtt_bias", shared::rtt_bias),
    // Reno after an early loss beside Reno, for fewer rounds than a sixth of the BDP, or Copa's
    // default mode beside Reno
    ("latecomer_starved", shared::latecomer_starved),
    // 6 to 12 flows of one round-trip time in one drop-tail queue
    ("loss_synchronisation", shared::loss_synchronisation),
    // the initial windows of all senders are more than the port's buffer
    ("incast", shared::incast),
    // Prague beside a classic sender, in one queue that marks both
    ("l4s_beside_classic", shared::l4s_beside_classic),
    // other stations offer more than the air carries
    ("wifi_contention", shared::wifi_contention),
    // interference that no station hears destroys a tenth of the frames and more
    ("wifi_retries", shared::wifi_retries),
    // the signal falls, so that rate control goes from 48 Mbit/s and more to 12 and less
    ("wifi_rate_fall", shared::wifi_rate_fall),
    // Copa's default mode and a loss-based sender begin together in one drop-tail queue
    ("unfairness", shared::unfairness),
];

/// The case of a place in a list, which is counted round.
fn of(list: &[(&str, Generator)], index: usize, seed: u64) -> Case {
    let (name, make) = list[index % list.len()];
    let case = make(&mut Draw::new(seed, name), seed);
    Case {
        name: format!("{name}-{seed}"),
        ..case
    }
}

fn turn(seed: u64) -> usize {
    usize::try_from(seed % 1_000_000).expect("a small number")
}

/// Every kind that can be planted.
pub fn kinds() -> impl Iterator<Item = &'static str> {
    KINDS.iter().map(|(name, _)| *name)
}

/// A case with this kind planted; `None` for a word that is no kind.
pub fn of_kind(kind: &str, seed: u64) -> Option<Case> {
    let index = KINDS.iter().position(|(name, _)| *name == kind)?;
    Some(Case {
        labels: vec![KINDS[index].0],
        ..of(KINDS, index, seed)
    })
}

/// A case in which all is well: the families in turn.
pub fn healthy(seed: u64) -> Case {
    of(healthy::FAMILIES, turn(seed), seed)
}

/// A case with two kinds planted: the pairs in turn. The order of its labels says nothing.
pub fn two(seed: u64) -> Case {
    // Every other one has two paths.
    let index = if seed.is_multiple_of(2) {
        two::PAIRS.len() - 1
    } else {
        turn(seed / 2)
    };
    of(two::PAIRS, index, seed)
}

/// Every kind, family and pair with this seed, each with the word for its list.
fn all(seed: u64) -> impl Iterator<Item = (&'static str, Case)> {
    let planted = kinds().filter_map(move |kind| Some(("planted", of_kind(kind, seed)?)));
    let others = [("healthy", healthy::FAMILIES), ("two", two::PAIRS)].into_iter();
    planted.chain(others.flat_map(move |(part, list)| {
        (0..list.len()).map(move |index| (part, of(list, index, seed)))
    }))
}

/// Writes every kind, family and pair for the seeds from `from` to `to` into `folder`: NAME.toml,
/// whose head is a comment with the labels and the reason.
pub fn write_all(folder: &std::path::Path, from: u64, to: u64) -> std::io::Result<()> {
    std::fs::create_dir_all(folder)?;
    for (part, case) in (from..=to).flat_map(all) {
        let head = format!(
            "# {part}: {}\n# allowed: {}\n# why: {}\n",
            case.labels.join(" "),
            case.allowed.join(" "),
            case.why
        );
        let path = folder.join(format!("{part}-{}.toml", case.name));
        std::fs::write(path, head + &case.scenario)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_case_is_a_valid_scenario_and_the_same_each_time() {
        for seed in 1..=40 {
            let cases: Vec<_> = all(seed).collect();
            for (_, case) in &cases {
                weir_lab::scenario::parse(&case.scenario, "case.toml")
                    .unwrap_or_else(|error| panic!("{}: {error}", case.name));
            }
            assert!(all(seed).eq(cases));
        }
    }

    /// Writes the cases of the seeds of `WEIR_CASES_SEEDS`, such as `1..20`, into the folder
    /// `WEIR_CASES`, if that is set.
    #[test]
    fn cases_are_written_where_the_environment_says() {
        let Ok(folder) = std::env::var("WEIR_CASES") else {
            return;
        };
        let seeds = std::env::var("WEIR_CASES_SEEDS").unwrap_or_else(|_| "1..20".to_owned());
        let (from, to) = seeds.split_once("..").expect("seeds FROM..TO");
        let number = |text: &str| text.parse().expect("a number");
        write_all(folder.as_ref(), number(from), number(to)).expect("a folder for files");
    }
}
