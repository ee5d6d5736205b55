//! The live view of a run on the terminal: rate, delay and losses of flows, and the queues of links
//! in which packets wait. On a terminal it is one line that changes; elsewhere a line each second.

use crate::measure::scaled;
use crate::terminal;
use indicatif::{ProgressBar, ProgressStyle};
use std::fmt::Write as _;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use weir_lab::run::{LiveFlow, LiveLink, LiveObserver, LiveState};

/// The time between two lines, and between two states of the line of a terminal.
const LINES: Duration = Duration::from_secs(1);
const REDRAWN: Duration = Duration::from_millis(100);
/// The flows and the links in a line.
const FLOWS: usize = 4;
const LINKS: usize = 2;

/// A live view.
#[derive(Clone)]
pub struct LiveView(Arc<Shown>);

struct Shown {
    bar: ProgressBar,
    state: Mutex<State>,
}

struct State {
    shown: Instant,
    last: Option<String>,
}

impl LiveView {
    /// A view without a state.
    pub fn new() -> Self {
        let bar = terminal::progress(1, "");
        let style = ProgressStyle::with_template("{wide_msg}");
        bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
        Self(Arc::new(Shown {
            bar,
            state: Mutex::new(State {
                shown: Instant::now(),
                last: None,
            }),
        }))
    }

    /// An observer that shows the states of a run.
    pub fn observer(&self) -> LiveObserver {
        let view = self.clone();
        Arc::new(move |live| view.show(live))
    }

    /// Shows a state, if the last one has been there long enough.
    pub fn show(&self, live: &LiveState) {
        let mut state = self.0.state.lock().unwrap_or_else(PoisonError::into_inner);
        let is_line = self.0.bar.is_hidden();
        let period = if is_line { LINES } else { REDRAWN };
        if live.flows.is_empty() && !live.links.iter().any(is_busy) {
            // A relay may wait for hours.
            return;
        }
        // The last state of a run is shown at its end.
        let text = state.last.insert(line(live)).clone();
        if state.shown.elapsed() < period {
            return;
        }
        state.shown = Instant::now();
        if is_line {
            terminal::status(&text);
            state.last = None;
        } else {
            self.0.bar.set_message(text);
        }
    }

    /// Ends the view; the last state remains as a line.
    pub fn finish(&self) {
        self.0.bar.finish_and_clear();
        let mut state = self.0.state.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(last) = state.last.take() {
            terminal::status(&last);
        }
    }
}

/// The state in one line.
fn line(live: &LiveState) -> String {
    let mut text = format!("{:8.2} s", live.at.as_secs_f64());
    for flow in live.flows.iter().take(FLOWS) {
        text.push_str(&of_flow(flow));
    }
    let others = live.flows.len().saturating_sub(FLOWS) + live.other_flows;
    if others > 0 {
        // Writing to a string cannot fail.
        let _ = write!(text, "  and {others} more");
    }
    // Those with the longest queues; of equal ones the first of the scenario.
    let mut links: Vec<&LiveLink> = live.links.iter().collect();
    links.sort_by(|a, b| b.queue_bytes.total_cmp(&a.queue_bytes));
    for link in links.into_iter().filter(|link| is_busy(link)).take(LINKS) {
        text.push_str(&of_link(link, live.flows.is_empty()));
    }
    text
}

fn of_flow(flow: &LiveFlow) -> String {
    let delay = flow
        .one_way_delay_s
        .map(|delay| format!(" {:.1} ms", delay * 1e3));
    format!(
        "  {}: {}{} lost {}",
        flow.name,
        scaled(flow.goodput_bps, "bit/s").trim(),
        delay.unwrap_or_default(),
        flow.packets_lost
    )
}

fn is_busy(link: &LiveLink) -> bool {
    link.rate_bps > 0.0 || link.packets_dropped > 0
}

/// The rate of a link is that of its flows, where they are shown.
fn of_link(link: &LiveLink, with_rate: bool) -> String {
    let rate = with_rate.then(|| format!("{} ", scaled(link.rate_bps, "bit/s").trim()));
    format!(
        "  {}: {}queue {} dropped {}",
        link.name,
        rate.unwrap_or_default(),
        scaled(link.queue_bytes, "B").trim(),
        link.packets_dropped
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_has_rate_delay_queue_and_loss() {
        let flow = |name: &str, delay| LiveFlow {
            name: name.to_owned(),
            goodput_bps: 9.42e6,
            one_way_delay_s: delay,
            packets_lost: 3,
        };
        let link = |name: &str, queue_bytes| LiveLink {
            name: name.to_owned(),
            rate_bps: 1e6,
            queue_bytes,
            packets_dropped: 12,
        };
        let mut live = LiveState {
            flows: vec![flow("web", Some(0.0241)), flow("call", None)],
            links: vec![link("back", 0.0), link("bottleneck", 34_500.0)],
            other_flows: 7,
            ..LiveState::default()
        };
        assert_eq!(
            line(&live),
            "    0.00 s  web: 9.42 Mbit/s 24.1 ms lost 3  call: 9.42 Mbit/s lost 3  and 7 more  \
             bottleneck: queue 34.50 kB dropped 12  back: queue 0.00 B dropped 12"
        );
        (live.flows, live.other_flows) = (Vec::new(), 0);
        live.links.truncate(1);
        assert_eq!(
            line(&live),
            "    0.00 s  back: 1.00 Mbit/s queue 0.00 B dropped 12"
        );
    }
}
