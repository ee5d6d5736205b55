//! What goes wrong on an 802.11 medium.

use super::{Detector, any};
use crate::diagnosis::Statistic;
use crate::diagnosis::finding::{Finding, Pathology, RemedyPlace, Statement};
use crate::diagnosis::view::{LinkView, View};
use crate::summary::FrameCounts;
use std::ops::Range;

const FRAME_RATE: &str = "frame_rate_bps";

/// Stations that meet on the air.
pub(super) const CONTENTION: Detector = Detector {
    about: &Pathology {
        kind: "wifi_contention",
        title: "802.11 contention",
        definition: "At least 15 % of a station's frames meet another station's frame, of 100 frames or \
                     more.",
        citation: "IEEE 802.11-2020 §10.3.3; G. Bianchi, 2000",
        needs: &[],
    },
    applies: any,
    examine: |view| {
        stations(
            view,
            CONTENTION.about,
            |frames| frames.collided as f64,
            0.15,
        )
    },
};

/// Frames that are sent again and again.
pub(super) const RETRIES: Detector = Detector {
    about: &Pathology {
        kind: "wifi_retries",
        title: "802.11 frame loss",
        definition: "At least 12 % of a station's frames, 100 or more, are not acknowledged for another \
                     reason than a collision.",
        citation: "IEEE 802.11-2020 §10.3.4.4; RFC 3819 §8.1",
        needs: &[],
    },
    applies: any,
    examine: |view| {
        stations(
            view,
            RETRIES.about,
            |frames| (frames.failed - frames.collided.min(frames.failed)) as f64,
            0.12,
        )
    },
};

/// A station whose frames become slow.
pub(super) const SLOW: Detector = Detector {
    about: &Pathology {
        kind: "wifi_rate_fall",
        title: "fall of the 802.11 rate",
        definition: "For at least two seconds in a row, in each of which packets wait for half of the time, the \
                     median rate of a station's frames is at most a third of that in an earlier second.",
        citation: "IEEE 802.11-2020 §10.6; M. Heusse et al., Performance anomaly of 802.11b, 2003",
        needs: &[],
    },
    applies: any,
    examine: |view| view.links.iter().filter_map(slow).collect(),
};

/// The length of a window in seconds, how many in a row are an episode, and the share of the
/// earlier rate that they have at most.
const WINDOW_S: f64 = 1.0;
const WINDOWS: usize = 2;
const SLOW_SHARE: f64 = 1.0 / 3.0;

fn slow(link: &LinkView<'_>) -> Option<Finding> {
    let rows = link.rows.as_ref()?;
    rows.numbers(FRAME_RATE)?;
    let median = |of: Range<usize>| rows.measure(FRAME_RATE, of, Statistic::Quantile(0.5));
    let mut best: Option<(f64, Range<usize>)> = None;
    let mut episodes: Vec<Range<usize>> = Vec::new();
    let mut is_slow_before = false;
    let windows = libm::floor(rows.end_s / WINDOW_S) as usize;
    for window in 0..windows {
        let from = window as f64 * WINDOW_S;
        let of = rows.within([from, from + WINDOW_S]);
        let waits = rows.measure("queue_packets", of.clone(), Statistic::Quantile(0.5));
        let rate = waits.and_then(|waits| Some((waits.value > 0.0, median(of.clone())?.value)));
        let Some((waits, rate)) = rate else {
            is_slow_before = false;
            continue;
        };
        let highest = best.as_ref().map_or(0.0, |(rate, _)| *rate);
        let is_slow = waits && rate <= SLOW_SHARE * highest;
        match episodes.last_mut().filter(|_| is_slow && is_slow_before) {
            Some(episode) => episode.end = of.end,
            None if is_slow => episodes.push(of),
            None if rate > highest => best = Some((rate, of)),
            None => {}
        }
        is_slow_before = is_slow;
    }
    let longest = episodes
        .into_iter()
        .max_by(|one, other| rows.length(one).total_cmp(&rows.length(other)))?;
    let length = rows.measure("time_s", longest.clone(), Statistic::Length)?;
    if length.value < WINDOWS as f64 * WINDOW_S - SLACK_S {
        return None;
    }
    let (fell, before) = (median(longest.clone())?, median(best?.1)?);
    let severity = length.value / rows.end_s;
    let queue = rows.measure("queue_packets", longest, Statistic::Quantile(0.5));
    let symptom = Statement::new(
        "For {} the station sends its frames at {}, after {}.",
        vec![length, fell, before],
    );
    let finding = Finding::new(SLOW.about, &link.name, severity, symptom).because(
        "{} wait in its queue meanwhile, as each frame takes longer, and other stations wait for it too.",
        queue.map(|queue| vec![queue]),
    );
    Some(finding.advice(
        RemedyPlace::Network,
        "a better signal (a nearer access point, another channel or band), and a queue that is \
         bounded in time, such as FQ-CoDel, so that the delay does not grow with the time of a frame",
    ))
}

/// A row before an episode may hold for a little of it.
const SLACK_S: f64 = 0.5;

/// Stations of which this count is at least this share of their frames.
fn stations(
    view: &View<'_>,
    about: &'static Pathology,
    count: impl Fn(&FrameCounts) -> f64,
    least: f64,
) -> Vec<Finding> {
    let stations = view.links.iter().filter_map(|link| {
        let frames = link.summary?.frames?;
        if frames.sent < 100 || count(&frames) < least * frames.sent as f64 {
            return None;
        }
        let of = |key: &str, value: u64| link.given(&format!("frames.{key}"), value as f64);
        let symptom = Statement::new(
            "Of {} frames {} were not acknowledged, {} of these because another station sent too.",
            vec![
                of("sent", frames.sent),
                of("failed", frames.failed),
                of("collided", frames.collided),
            ],
        );
        let severity = frames.failed as f64 / frames.sent as f64;
        let whole = [0.0, view.trace.duration_s];
        Some(Finding::new(about, &link.name, severity, symptom).over(whole))
    });
    stations.collect()
}
