//! A summary as text tables: flows, groups of flows, links, and totals.
//!
//! Empty columns are omitted, and for groups with many flows only the group is shown.

use crate::text_table::text_table_within;
use std::collections::{BTreeMap, BTreeSet};
use weir_lab::in_natural_order;
use weir_lab::run::{
    Distribution, FlowSummary, GroupSummary, LinkSummary, Summary, TransferSummary,
};
use weir_lab::theory::{format_digits, significant};

/// A group with more members than this is shown as one line.
const LISTED_FLOWS: usize = 8;
/// The number of links that are listed: those with the highest utilisation.
const LISTED_LINKS: usize = 8;
/// Significant digits.
const DIGITS: i32 = 4;

/// A column: its header, and its value in a row, if it has one.
type Column<T> = (&'static str, fn(&T) -> Option<String>);

/// The rates and losses of each flow.
const RATES: &[Column<FlowSummary>] = &[
    ("goodput", |flow| rate(flow.goodput_bps)),
    ("held by", held_by),
    ("alive", |flow| seconds(flow.active_s)),
    ("throughput", |flow| rate(flow.throughput_bps)),
    ("sent", |flow| Some(flow.packets_sent.to_string())),
    ("lost", |flow| Some(flow.packets_lost.to_string())),
    ("sent again", |flow| {
        Some(flow.retransmissions?.packets.to_string())
    }),
    ("timeouts", |flow| {
        Some(flow.retransmissions?.timeouts.to_string())
    }),
    ("marked", |flow| some_count(flow.marks)),
    ("completed in", |flow| seconds(flow.completion_time_s)),
    ("ended", |flow| flow.ended.clone()),
];

/// The delays of each flow's packets.
const DELAYS: &[Column<FlowSummary>] = &[
    ("one way p50", |flow| seconds(flow.one_way_delay_s?.p50)),
    ("p95", |flow| seconds(flow.one_way_delay_s?.p95)),
    ("p99", |flow| seconds(flow.one_way_delay_s?.p99)),
    ("in queues p50", |flow| seconds(flow.queueing_delay_s?.p50)),
    ("p95", |flow| seconds(flow.queueing_delay_s?.p95)),
    ("jitter", |flow| seconds(flow.jitter_s?.mean)),
];

/// The round trips that its controller measured.
const ROUND_TRIPS: &[Column<FlowSummary>] = &[
    ("round trip p50", |flow| seconds(flow.rtt_s?.p50)),
    ("p95", |flow| seconds(flow.rtt_s?.p95)),
    ("p99", |flow| seconds(flow.rtt_s?.p99)),
    ("idle path", |flow| {
        seconds(flow.latency_under_load?.base_rtt_s)
    }),
];

/// What held its sender for most of the time.
fn held_by(flow: &FlowSummary) -> Option<String> {
    let shares = flow.bound_share.iter();
    let most = shares.max_by(|a, b| a.1.total_cmp(b.1));
    most.map(|(bound, share)| format!("{bound} {}", percent(*share).unwrap_or_default()))
}

/// The quality of video for its viewer.
const VIDEO: &[Column<FlowSummary>] = &[
    ("encoder", |flow| rate(flow.video?.encoder_rate_bps)),
    ("frames", |flow| Some(flow.video?.frames.to_string())),
    ("not encoded", |flow| some_count(flow.video?.not_encoded)),
    ("lost", |flow| Some(flow.video?.lost.to_string())),
    ("late", |flow| Some(flow.video?.late.to_string())),
    ("frame delay p50", |flow| {
        seconds(flow.video?.frame_delay_s?.p50)
    }),
    ("p95", |flow| seconds(flow.video?.frame_delay_s?.p95)),
    ("p99", |flow| seconds(flow.video?.frame_delay_s?.p99)),
    ("freezes", |flow| Some(flow.video?.freezes.to_string())),
    ("frozen for", |flow| {
        seconds(flow.video.filter(|video| video.freezes > 0)?.frozen_s)
    }),
];

const GROUPS: &[Column<GroupSummary>] = &[
    ("flows", |group| Some(group.flows.to_string())),
    ("alive", |group| {
        (group.active < group.flows).then(|| group.active.to_string())
    }),
    ("goodput mean", |group| rate(group.goodput_bps.mean)),
    ("min", |group| rate(group.goodput_bps.min)),
    ("max", |group| rate(group.goodput_bps.max)),
    ("Jain's index", |group| number(group.jain_index)),
    ("one way", |group| seconds(group.one_way_delay_s?.mean)),
    ("in queues", |group| seconds(group.queueing_delay_s?.mean)),
    ("sent", |group| Some(group.packets_sent.to_string())),
    ("lost", |group| Some(group.packets_lost.to_string())),
    ("sent again", |group| some_count(group.retransmissions)),
    ("timeouts", |group| some_count(group.timeouts)),
    ("marked", |group| some_count(group.marks)),
];

const TRANSFERS: &[Column<TransferSummary>] = &[
    ("begun", |of| Some(of.transfers.to_string())),
    ("size mean", |of| {
        octets(of.size_bytes.map(|size| size.mean))
    }),
    ("throughput", |of| rate(of.throughput_bps)),
    ("goodput", |of| rate(of.goodput_bps)),
    ("one way p50", |of| seconds(of.one_way_delay_s?.p50)),
    ("p95", |of| seconds(of.one_way_delay_s?.p95)),
    ("in queues p95", |of| seconds(of.queueing_delay_s?.p95)),
    ("jitter", |of| seconds(of.jitter_s?.mean)),
    ("round trip p50", |of| seconds(of.rtt_s?.p50)),
    ("p95", |of| seconds(of.rtt_s?.p95)),
    ("sent", |of| Some(of.packets_sent.to_string())),
    ("lost", |of| Some(of.packets_lost.to_string())),
    ("sent again", |of| some_count(of.retransmissions)),
    ("timeouts", |of| some_count(of.timeouts)),
    ("marked", |of| some_count(of.marks)),
];

/// The completion times of finite transfers and requests.
const COMPLETION: &[Column<(u64, u64, Distribution)>] = &[
    ("completed", |(done, flows, _)| {
        Some(format!("{done} of {flows}"))
    }),
    ("min", |(.., time)| seconds(time.min)),
    ("mean", |(.., time)| seconds(time.mean)),
    ("p50", |(.., time)| seconds(time.p50)),
    ("p95", |(.., time)| seconds(time.p95)),
    ("p99", |(.., time)| seconds(time.p99)),
    ("max", |(.., time)| seconds(time.max)),
];

const LINKS: &[Column<LinkSummary>] = &[
    ("busy", |link| percent(link.utilisation)),
    ("queue drops", |link| Some(link.queue_drops.to_string())),
    ("wire losses", |link| some_count(link.wire_losses)),
    ("other drops", |link| {
        some_count(
            link.drops
                .saturating_sub(link.queue_drops + link.wire_losses),
        )
    }),
    ("marks", |link| some_count(link.marks)),
    ("queue mean", |link| octets(link.queue_bytes.mean)),
    ("max", |link| octets(link.queue_bytes.max as f64)),
];

/// A table: a line of headers and a line for each row, which starts with its name.
pub type Cells = Vec<Vec<String>>;

/// The tables of a summary, and the notes below them.
#[derive(Debug)]
pub struct SummaryTables {
    pub tables: Vec<Cells>,
    pub notes: Vec<String>,
}

/// All tables.
pub fn summary_tables(summary: &Summary) -> SummaryTables {
    let (flows, hidden) = listed_flows(summary);
    let video = flows.iter().filter(|(_, flow)| flow.video.is_some());
    let video: Vec<_> = video.copied().collect();
    let groups = in_natural_order(&summary.groups);
    let (transfers, hidden_transfers) = listed(summary, &summary.transfers);
    let of_groups = groups.iter().filter_map(|(name, group)| {
        let time = group.completion_time_s?;
        Some((*name, (group.completed, group.flows, time)))
    });
    let of_transfers = transfers.iter().filter_map(|(name, of)| {
        let time = of.completion_time_s?;
        Some((*name, (of.completed, of.transfers, time)))
    });
    let of_group_requests = groups.iter().filter_map(|(name, group)| {
        let requests = group.requests?;
        let time = requests.completion_time_s?;
        Some((*name, (requests.completed, requests.requests, time)))
    });
    let of_requests = flows.iter().filter_map(|(name, flow)| {
        let requests = flow.requests?;
        let time = requests.completion_time_s?;
        Some((*name, (requests.completed, requests.requests, time)))
    });
    let completion = of_groups.chain(of_transfers);
    let completion = completion.chain(of_group_requests).chain(of_requests);
    let completion: Vec<_> = completion.collect();
    let completion: Vec<_> = completion.iter().map(|(name, of)| (*name, of)).collect();
    let mut links: Vec<_> = summary.links.iter().collect();
    links.sort_by(|(_, a), (_, b)| b.utilisation.total_cmp(&a.utilisation));
    let idle = links.len().saturating_sub(LISTED_LINKS);
    links.truncate(LISTED_LINKS);
    let links: Vec<_> = links
        .iter()
        .map(|(name, of)| (name.as_str(), *of))
        .collect();
    let tables = [
        table("flow", RATES, &flows),
        table("flow", DELAYS, &flows),
        table("flow", ROUND_TRIPS, &flows),
        table("video", VIDEO, &video),
        table("group", GROUPS, &groups),
        table("transfers", TRANSFERS, &transfers),
        table("completion times", COMPLETION, &completion),
        table("link", LINKS, &links),
    ];
    let notes = [
        (
            hidden + hidden_transfers,
            "flows are shown as their groups only",
        ),
        (idle, "links were less busy"),
    ];
    let notes = notes.into_iter().filter(|(count, _)| *count > 0);
    let notes = notes.map(|(count, what)| format!("{count} {what}"));
    SummaryTables {
        tables: tables.into_iter().flatten().collect(),
        notes: notes.chain(totals(summary)).collect(),
    }
}

impl SummaryTables {
    /// The tables as text, within a width if there is one.
    pub fn text(&self, width: Option<usize>) -> String {
        let width = width.unwrap_or(usize::MAX);
        let tables = self.tables.iter();
        let tables = tables.map(|cells| text_table_within(cells, "<>", width));
        let notes = self.notes.iter().map(|note| format!("{note}\n"));
        tables.chain(notes).collect()
    }
}

fn totals(summary: &Summary) -> Option<String> {
    let totals = &summary.totals;
    if totals.flows < 2 {
        return None;
    }
    let value = |value: Option<String>| value.unwrap_or_default();
    let index = totals.jain_index.and_then(number);
    let index = index.map_or_else(String::new, |index| format!(", Jain's index {index}"));
    Some(format!(
        "{} flows together: {} throughput, {} goodput{index}, {} of {} packets lost",
        totals.flows,
        value(rate(totals.throughput_bps)),
        value(rate(totals.goodput_bps)),
        totals.packets_lost,
        totals.packets_sent,
    ))
}

/// The flows outside of large groups, and the number of other flows.
pub fn listed_flows(summary: &Summary) -> (Vec<(&str, &FlowSummary)>, usize) {
    listed(summary, &summary.flows)
}

/// The flows with arrivals outside of large groups.
pub fn listed_transfers(summary: &Summary) -> Vec<(&str, &TransferSummary)> {
    listed(summary, &summary.transfers).0
}

fn listed<'a, T>(
    summary: &Summary,
    parts: &'a BTreeMap<String, T>,
) -> (Vec<(&'a str, &'a T)>, usize) {
    let groups = summary.groups.values();
    let large = groups.filter(|group| group.members.len() > LISTED_FLOWS);
    let members: BTreeSet<&str> = large
        .flat_map(|group| group.members.iter().map(String::as_str))
        .collect();
    let listed = parts
        .iter()
        .filter(|(name, _)| !members.contains(name.as_str()));
    let listed = in_natural_order(listed);
    let hidden = parts.len() - listed.len();
    (listed, hidden)
}

/// The table without empty columns; `None` if no column is left.
fn table<T>(title: &str, columns: &[Column<T>], rows: &[(&str, &T)]) -> Option<Cells> {
    let mut cells = vec![vec![title.to_owned()]];
    cells.extend(rows.iter().map(|(name, _)| vec![(*name).to_owned()]));
    for (head, value) in columns {
        let values: Vec<_> = rows.iter().map(|(_, row)| value(row)).collect();
        if values.iter().all(Option::is_none) {
            continue;
        }
        cells[0].push((*head).to_owned());
        for (line, value) in cells[1..].iter_mut().zip(values) {
            line.push(value.unwrap_or_else(|| "–".to_owned()));
        }
    }
    (cells[0].len() > 1).then_some(cells)
}

/// A value as a cell; `None` stays `None`.
fn rate(bps: impl Into<Option<f64>>) -> Option<String> {
    Some(format_digits(bps.into()?, "bit/s", DIGITS))
}

fn seconds(value: impl Into<Option<f64>>) -> Option<String> {
    let value = value.into()?;
    // Zero has no unit, to avoid "0 ns".
    let unit = if value == 0.0 { "" } else { "s" };
    Some(format_digits(value, unit, DIGITS))
}

fn number(value: impl Into<Option<f64>>) -> Option<String> {
    Some(significant(value.into()?, DIGITS))
}

fn percent(share: impl Into<Option<f64>>) -> Option<String> {
    Some(format!("{:.1} %", share.into()? * 100.0))
}

fn octets(value: impl Into<Option<f64>>) -> Option<String> {
    let value = value.into()?;
    if value > 0.0 && value < 0.1 {
        return Some("< 0.1 B".to_owned());
    }
    let scales = [(1e9, "GB"), (1e6, "MB"), (1e3, "kB")];
    let scale = scales.iter().find(|(scale, _)| value >= *scale);
    let (scale, unit) = scale.copied().unwrap_or((1.0, "B"));
    Some(format!("{} {unit}", significant(value / scale, DIGITS)))
}

fn some_count(count: u64) -> Option<String> {
    (count > 0).then(|| count.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use weir_lab::run::RequestSummary;

    fn flow(goodput_bps: f64) -> FlowSummary {
        FlowSummary {
            goodput_bps,
            active_s: 10.0,
            packets_sent: 100,
            ..FlowSummary::default()
        }
    }

    #[test]
    fn a_queue_that_was_hardly_ever_there_is_less_than_a_tenth_of_a_byte() {
        let shown = |value: f64| octets(value).unwrap_or_default();
        assert_eq!(shown(9.984e-7), "< 0.1 B");
        assert_eq!(shown(0.0), "0 B");
        assert_eq!(shown(0.25), "0.25 B");
    }

    #[test]
    fn names_are_in_natural_order_and_empty_columns_are_left_out() {
        let mut summary = Summary::default();
        for name in ["f10", "f2"] {
            summary.flows.insert(name.to_owned(), flow(2.5e6));
        }
        let text = summary_tables(&summary).text(None);
        let lines: Vec<_> = text.lines().map(str::trim_end).collect();
        assert_eq!(lines[0], "flow     goodput  alive  throughput  sent  lost");
        assert_eq!(lines[1], "f2    2.5 Mbit/s   10 s     0 bit/s   100     0");
        assert!(lines[2].starts_with("f10 "), "{text}");
        assert!(!text.contains("timeouts") && !text.contains("one way"));
    }

    #[test]
    fn a_large_group_is_one_line() {
        let mut summary = Summary::default();
        for number in 1..=100 {
            summary.flows.insert(format!("burst-{number}"), flow(1e6));
        }
        summary.flows.insert("long".to_owned(), flow(5e6));
        let group = GroupSummary {
            members: (1..=100).map(|n| format!("burst-{n}")).collect(),
            flows: 100,
            completed: 99,
            completion_time_s: Some(Distribution {
                p99: 0.25,
                ..Distribution::default()
            }),
            requests: Some(RequestSummary {
                requests: 800,
                completed: 777,
                completion_time_s: Some(Distribution::default()),
                ..RequestSummary::default()
            }),
            ..GroupSummary::default()
        };
        summary.groups.insert("burst".to_owned(), group);
        let text = summary_tables(&summary).text(None);
        assert!(
            !text.contains("burst-1") && text.contains("\nlong "),
            "{text}"
        );
        assert!(
            text.contains("99 of 100") && text.contains("250 ms"),
            "{text}"
        );
        assert!(text.contains("777 of 800"), "{text}");
        assert!(text.contains("100 flows are shown as their groups only"));
        for number in 1..=100 {
            let name = format!("burst-{number}");
            summary.flows.remove(&name);
            summary.transfers.insert(name, TransferSummary::default());
        }
        let text = summary_tables(&summary).text(None);
        assert!(!text.contains("burst-1"), "{text}");
        assert!(text.contains("100 flows are shown as their groups only"));
    }
}
