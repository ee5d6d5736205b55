//! What goes wrong in TFRC: its feedback, its rules and its answer to delay.

use super::{Detector, each_flow, tfrc};
use crate::diagnosis::Statistic;
use crate::diagnosis::finding::{Evidence, Finding, Pathology, RemedyPlace, Statement};
use crate::diagnosis::losses::{Drop, reductions};
use crate::diagnosis::view::{FlowView, View};

/// A sender that hears nothing although its packets arrive.
pub(super) const STARVATION: Detector = Detector {
    about: &Pathology {
        kind: "feedback_starvation",
        title: "sender without feedback",
        definition: "The nofeedback timer expires at least 5 times with no feedback between, the links on the path \
                     to the receiver drop nothing in that time, and the next sample of the round trip is \
                     shorter than half of it; or it expires at least 5 times in all, the reverse path drops \
                     as many packets or more, and what it has halved holds the rate for 30 % of the time.",
        citation: "RFC 5348 §4.4; RFC 4342 §10.3; G. Renker, CCID-3 on the loopback device, 2007",
        needs: &["limit", "event"],
    },
    applies: tfrc,
    examine: |view| each_flow(view, starvation),
};

/// A rate that the receiver's measure of it holds down.
pub(super) const HELD: Detector = Detector {
    about: &Pathology {
        kind: "rate_held_by_receive_rate",
        title: "rate held at twice the receive rate",
        definition: "For at least 20 smoothed round trips X is twice X_recv and holds the sender, while the \
                     equation would allow more than 3 times as much.",
        citation: "RFC 5348 §4.3; RFC 3448 §4.3",
        needs: &["limit", "receive_rate_bps", "equation_rate_bps"],
    },
    applies: tfrc,
    examine: |view| each_flow(view, held),
};

/// Queueing delay and the loss that it ends in, both in one equation.
pub(super) const DOUBLE: Detector = Detector {
    about: &Pathology {
        kind: "double_punishment",
        title: "rate lowered by queueing delay and by loss",
        definition: "At least 3 loss events, at the middle one of which half of the smoothed round trip \
                     or more is queue; the flow has more than half of the slowest link, and the equation \
                     holds the rate for half of the time or more.",
        citation: "RFC 5348 §3.1 and §4.5; G. Renker, DCCP CCID-3 over a wireless router, 2007",
        needs: &["rtt_s", "smoothed_rtt_s", "limit"],
    },
    applies: tfrc,
    examine: |view| each_flow(view, double),
};

/// A stream that long round trips silence.
pub(super) const BY_DELAY: Detector = Detector {
    about: &Pathology {
        kind: "cut_off_by_delay",
        title: "stream cut off by delay",
        definition: "The smoothed round trip exceeds 20 base round trips for more than 10 s; the equation \
                     holds the rate for 30 % of that time or more, and its mean is below the \
                     application's, or for bulk data below 5 % of the most before.",
        citation: "RFC 5348 §3.1; L. Vitale and G. Renker, audio over DCCP on a wireless network, 2007",
        needs: &["smoothed_rtt_s", "loss_event_rate", "limit"],
    },
    applies: tfrc,
    examine: |view| each_flow(view, |_, flow| cut_off(flow, false)),
};

/// A stream that losses silence.
pub(super) const BY_LOSS: Detector = Detector {
    about: &Pathology {
        kind: "cut_off_by_loss",
        title: "stream cut off by loss",
        definition: "The loss event rate is 5 % or more on average for more than 10 s, with a smoothed \
                     round trip of at most 20 base ones; the equation holds the rate for 30 % of that time \
                     or more, and its mean is below the application's, or for bulk data below 5 % of the \
                     most before.",
        citation: "RFC 5348 §3.1",
        needs: &["loss_event_rate", "limit"],
    },
    applies: tfrc,
    examine: |view| each_flow(view, |_, flow| cut_off(flow, true)),
};

/// Expiries in a row that are starvation.
const EXPIRIES: f64 = 5.0;

fn starvation(view: &View<'_>, flow: &FlowView<'_>) -> Option<Finding> {
    let limits = flow.main.words("limit");
    let silent = ["nofeedback_halving", "minimum_rate"];
    let runs = flow
        .main
        .episodes(|row| limits.get(row).is_some_and(|l| silent.contains(&&**l)));
    let timeouts = Statistic::CountOf("timeout".to_owned());
    let counted = runs.into_iter().filter_map(|rows| {
        let count = flow.main.measure("event", rows.clone(), timeouts.clone())?;
        let span = count.span_s?;
        let starves =
            count.value >= EXPIRIES && !drops(view, flow, span) && !was_queued(flow, &rows);
        starves.then_some((count, rows))
    });
    let longest = counted.max_by(|a, b| a.0.value.total_cmp(&b.0.value));
    let (count, rows) = longest.or_else(|| often_silent(view, flow))?;
    let rate = |statistic| {
        flow.main
            .measure("allowed_rate_bps", rows.clone(), statistic)
    };
    let (first, last) = (rate(Statistic::Most)?, rate(Statistic::Least)?);
    // A silence at the start alone is soon made good.
    let share = flow.main.length(&rows) / (flow.main.end_s - flow.life()[0]);
    let severity = if share < 0.1 { 0.2 } else { share.max(0.75) };
    let symptom = Statement::new(
        "The nofeedback timer expired {} times, and X fell from {} to {}.",
        vec![count, first, last],
    );
    let finding = Finding::new(STARVATION.about, flow.name, severity, symptom).because(
        "The round trip was {}, of which a window counter lasts a quarter, and the receiver suppressed \
         its feedback ({} in its trace), because the counter had not advanced.",
        suppressed(flow, &rows),
    );
    let clamp = vec![(flow.setting("tfrc.rtt_min"), "5us")];
    Some(finding.remedy(
        RemedyPlace::Sender,
        "samples of the round trip of 5 µs at least",
        Some(clamp),
    ))
}

/// The round trip before a silence, and how often the receiver suppressed its feedback from the
/// last one before it to its end.
fn suppressed(flow: &FlowView<'_>, silence: &std::ops::Range<usize>) -> Option<Vec<Evidence>> {
    let events = flow.events.as_ref()?;
    let happened = flow.main.words("event");
    let is_feedback = |row: &usize| happened.get(*row).is_some_and(|e| &**e == "controller");
    let last = (0..silence.start).rfind(is_feedback)?;
    let rtt = flow.main.at("rtt_s", last)?;
    let end = flow.main.times().get(silence.end);
    let from = *flow.main.times().get(last)?;
    let mut within = events.within([from, *end.unwrap_or(&flow.main.end_s)]);
    within.start += usize::from(events.times().get(within.start)? < &from);
    let word = "suppressed: window_counter".to_owned();
    let count = events.measure("detail", within, Statistic::CountOf(word))?;
    (count.value > 0.0).then(|| vec![rtt, count])
}

/// All rows, if the timer expires again and again although the packets arrive, and what it has
/// halved holds for 30 % of the time.
fn often_silent(
    view: &View<'_>,
    flow: &FlowView<'_>,
) -> Option<(Evidence, std::ops::Range<usize>)> {
    let rows = flow.alive();
    let count = Statistic::CountOf("timeout".to_owned());
    let count = flow.main.measure("event", rows.clone(), count)?;
    let words = ["nofeedback_halving", "minimum_rate"].iter();
    let shares = words.filter_map(|word| flow.main.share("limit", word, rows.clone()));
    let share: f64 = shares.map(|share| share.value).sum();
    let links = view.backward(flow).filter_map(|link| link.summary);
    let lost: u64 = links.map(|link| link.drops).sum();
    let often = lost as f64 >= count.value && count.value >= EXPIRIES;
    (often && share >= 0.3).then_some((count, rows))
}

/// True if the feedback that ended a silence had only waited in a queue: its sample of the round
/// trip is at least half as long as the silence.
fn was_queued(flow: &FlowView<'_>, silence: &std::ops::Range<usize>) -> bool {
    let samples = flow.main.numbers("rtt_s").unwrap_or_default();
    let next = samples.get(silence.end);
    next.is_some_and(|sample| *sample >= 0.5 * flow.main.length(silence))
}

/// True if a link on the path to the receiver dropped a packet.
fn drops(view: &View<'_>, flow: &FlowView<'_>, span: [f64; 2]) -> bool {
    let mut tables = view.forward(flow).filter_map(|link| link.rows.as_ref());
    tables.any(|rows| rows.grew("drops", span))
}

fn held(_: &View<'_>, flow: &FlowView<'_>) -> Option<Finding> {
    let limits = flow.main.words("limit");
    let equation = flow.main.numbers("equation_rate_bps")?;
    let allowed = flow.main.numbers("allowed_rate_bps")?;
    let bounds = flow.main.words("bound");
    let is_held = |row: usize| {
        let by_receiver = limits
            .get(row)
            .is_some_and(|limit| &**limit == "twice_receive_rate");
        let by_rate = bounds.get(row).is_none_or(|bound| &**bound == "rate");
        by_receiver && by_rate && equation[row] > 3.0 * allowed[row]
    };
    let longest = flow.main.longest(is_held)?;
    let length = flow
        .main
        .measure("time_s", longest.clone(), Statistic::Length)?;
    let rtt = flow
        .main
        .measure("smoothed_rtt_s", longest.clone(), Statistic::Mean)?;
    if length.value < 20.0 * rtt.value {
        return None;
    }
    let mean = |column: &str| flow.main.measure(column, longest.clone(), Statistic::Mean);
    let severity = length.value / (flow.main.end_s - flow.life()[0]);
    let symptom = Statement::new(
        "For {} X was {} on average, twice what the receiver reported, while the equation allowed {}.",
        vec![
            length,
            mean("allowed_rate_bps")?,
            mean("equation_rate_bps")?,
        ],
    );
    let finding = Finding::new(HELD.about, flow.name, severity.max(0.2), symptom);
    let rules = flow.rules_of("rfc5348");
    Some(finding.remedy(RemedyPlace::Sender, "the rules of RFC 5348", rules))
}

fn double(view: &View<'_>, flow: &FlowView<'_>) -> Option<Finding> {
    let base = flow.base.clone()?;
    let mut losses = reductions(view, flow);
    if losses.len() < 3 {
        return None;
    }
    losses.sort_by(|a, b| a.queue_s.total_cmp(&b.queue_s));
    let middle = losses[losses.len() / 2];
    let rtt = flow.main.at("smoothed_rtt_s", middle.row)?;
    let rows = flow.after_slow_start()?;
    let share = calculated(flow, rows)?;
    if rtt.value < 2.0 * base.value || share.value < 0.5 || !flow.fills_link() {
        return None;
    }
    let calculated = flow.main.at("equation_rate_bps", middle.row)?;
    // Where the wire loses too, the queue alone would not lower the rate so far.
    let severity = if middle.drop == Drop::Wire {
        0.85
    } else {
        0.38
    };
    let symptom = Statement::new(
        "The equation held the rate for {} of the time; at a loss it allowed {} with a round trip of {}, \
         of which a path without a queue has {}.",
        vec![share, calculated, rtt, base],
    );
    Some(Finding::new(DOUBLE.about, flow.name, severity, symptom))
}

/// How long a stream is cut off, in seconds, and the round trips and losses that do it.
const CUT_OFF_S: f64 = 10.0;
const CUT_OFF_ROUND_TRIPS: f64 = 20.0;
const CUT_OFF_LOSS: f64 = 0.05;

/// The share of the time in which the equation, also with t_ipi that oscillation reduction has
/// scaled, sets the rate: its word that holds longer.
fn calculated(flow: &FlowView<'_>, rows: std::ops::Range<usize>) -> Option<Evidence> {
    let share = |word| flow.main.share("limit", word, rows.clone());
    let (plain, scaled) = (share("equation")?, share("oscillation_reduction")?);
    Some(if plain.value >= scaled.value {
        plain
    } else {
        scaled
    })
}

fn cut_off(flow: &FlowView<'_>, by_loss: bool) -> Option<Finding> {
    let base = flow.base.clone()?;
    let base_s = base.value;
    let rtt = flow.main.numbers("smoothed_rtt_s")?;
    let p = flow.main.numbers("loss_event_rate")?;
    let is_far = |row: usize| rtt[row] > CUT_OFF_ROUND_TRIPS * base.value;
    let longest = if by_loss {
        // p falls a little below the bound now and then.
        let is_lossy = |row: &usize| p[*row] >= CUT_OFF_LOSS && !is_far(*row);
        let first = flow.main.all().find(is_lossy)?;
        first..flow.main.all().rfind(is_lossy)? + 1
    } else {
        flow.main.longest(is_far)?
    };
    let over_time = |column: &str| flow.main.measure(column, longest.clone(), Statistic::Mean);
    let p = over_time("loss_event_rate")?;
    if by_loss && p.value < CUT_OFF_LOSS {
        return None;
    }
    let length = flow
        .main
        .measure("time_s", longest.clone(), Statistic::Length)?;
    let share = calculated(flow, longest.clone())?;
    let least = flow
        .main
        .measure("allowed_rate_bps", longest.clone(), Statistic::Least)?;
    let mean = over_time("allowed_rate_bps")?;
    let earlier = 0..longest.start.max(1);
    let before = flow
        .main
        .measure("allowed_rate_bps", earlier, Statistic::Most);
    let needed = match flow.load_bps() {
        Some(load) => load,
        None => 0.05 * before.map_or(0.0, |before| before.value),
    };
    let fell = mean.value < needed;
    if length.value < CUT_OFF_S || share.value < 0.3 || !fell {
        return None;
    }
    // A stream that stops is worse than what stops it.
    let severity = 1.0;
    let (about, symptom) = if by_loss {
        let said = "For {} the loss event rate was {} on average, and the equation, which held the rate \
                    for {} of that time, allowed {} at least.";
        let numbers = vec![length, p, share, least];
        (BY_LOSS.about, Statement::new(said, numbers))
    } else {
        let said = "For {} the round trip was {} on average, on a path of {}, and the equation, which held \
                    the rate for {} of that time, allowed {} at least, with a loss event rate of {}.";
        let rtt = over_time("smoothed_rtt_s")?;
        let numbers = vec![length, rtt, base, share, least, p];
        (BY_DELAY.about, Statement::new(said, numbers))
    };
    let finding = Finding::new(about, flow.name, severity, symptom);
    let rules = flow.rules_of("rfc5348");
    let finding = finding.remedy(RemedyPlace::Sender, "the rules of RFC 5348", rules);
    let bound = (!by_loss).then(|| {
        let most = CUT_OFF_ROUND_TRIPS * base_s;
        let most = format!("{:.0}ms", (most * 1e3).max(1.0));
        vec![(flow.setting("tfrc.wireless.equation_rtt_max"), most)]
    });
    let text = "a round trip of at most 20 base ones in the equation";
    Some(finding.remedy(RemedyPlace::Sender, text, bound))
}
