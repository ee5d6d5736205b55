//! Aggregates flows: those of a group, and all of a run.

use super::groups::{GroupSummary, Totals};
use super::statistics::{Distribution, total};
use super::{FlowSummary, Retransmissions, TransferSummary};
use std::collections::BTreeMap;
use weir_proto::event::SndLim;
use weir_proto::time::Duration;

/// The members of a group: flows of one connection, and flows with arrivals.
#[derive(Debug, Default)]
pub(crate) struct GroupParts<'a> {
    pub(crate) flows: Vec<&'a FlowSummary>,
    pub(crate) transfers: Vec<&'a TransferSummary>,
    /// The completion time of each transfer, in seconds.
    pub(crate) transfer_times: Vec<f64>,
}

/// The values of a group's member, a flow of one connection or a flow with arrivals.
struct Member<'a> {
    flows: u64,
    /// The number of these that were alive between the warm-up and the end.
    active: u64,
    completed: u64,
    throughput_bps: f64,
    goodput_bps: f64,
    one_way_delay_s: Option<Distribution>,
    queueing_delay_s: Option<Distribution>,
    jitter_s: Option<Distribution>,
    rtt_s: Option<Distribution>,
    bound_share: &'a BTreeMap<String, f64>,
    packets_sent: u64,
    packets_lost: u64,
    retransmissions: u64,
    timeouts: u64,
    marks: u64,
}

impl<'a> From<&'a FlowSummary> for Member<'a> {
    fn from(flow: &'a FlowSummary) -> Self {
        let again = again(flow);
        Self {
            flows: 1,
            active: u64::from(was_active(flow)),
            completed: u64::from(flow.completion_time_s.is_some()),
            throughput_bps: flow.throughput_bps,
            goodput_bps: flow.goodput_bps,
            one_way_delay_s: flow.one_way_delay_s,
            queueing_delay_s: flow.queueing_delay_s,
            jitter_s: flow.jitter_s,
            rtt_s: flow.rtt_s,
            bound_share: &flow.bound_share,
            packets_sent: flow.packets_sent,
            packets_lost: flow.packets_lost,
            retransmissions: again.packets,
            timeouts: again.timeouts,
            marks: flow.marks,
        }
    }
}

impl<'a> From<&'a TransferSummary> for Member<'a> {
    fn from(of: &'a TransferSummary) -> Self {
        Self {
            flows: of.transfers,
            active: of.transfers,
            completed: of.completed,
            throughput_bps: of.throughput_bps,
            goodput_bps: of.goodput_bps,
            one_way_delay_s: of.one_way_delay_s,
            queueing_delay_s: of.queueing_delay_s,
            jitter_s: of.jitter_s,
            rtt_s: of.rtt_s,
            bound_share: &of.bound_share,
            packets_sent: of.packets_sent,
            packets_lost: of.packets_lost,
            retransmissions: of.retransmissions,
            timeouts: of.timeouts,
            marks: of.marks,
        }
    }
}

impl Member<'_> {
    /// False for a member that was not alive between the warm-up and the end: it has no rate and no
    /// delay, not even zero.
    const fn is_active(&self) -> bool {
        self.active > 0
    }
}

impl GroupSummary {
    /// The summary of these members.
    pub(crate) fn of(parts: &GroupParts<'_>) -> Self {
        let flows = || parts.flows.iter().copied();
        let active = || flows().filter(|flow| was_active(flow));
        let members = flows().map(Member::from);
        let members = members.chain(parts.transfers.iter().copied().map(Member::from));
        let members: Vec<Member<'_>> = members.collect();
        let alive = || members.iter().filter(|member| member.is_active());
        let spread = |value: fn(&Member<'_>) -> f64| Distribution::of(alive().map(value));
        let means = |of: fn(&Member<'_>) -> Option<Distribution>| {
            Distribution::of(alive().filter_map(|member| Some(of(member)?.mean)))
        };
        let sum = |value: fn(&Member<'_>) -> u64| members.iter().map(value).sum();
        let times = flows().filter_map(|flow| flow.completion_time_s);
        Self {
            members: Vec::new(),
            flows: sum(|member| member.flows),
            active: sum(|member| member.active),
            completed: sum(|member| member.completed),
            throughput_bps: spread(|member| member.throughput_bps).unwrap_or_default(),
            goodput_bps: spread(|member| member.goodput_bps).unwrap_or_default(),
            jain_index: jain_index(active().map(|flow| flow.goodput_bps)),
            completion_time_s: Distribution::of(times.chain(parts.transfer_times.iter().copied())),
            one_way_delay_s: means(|member| member.one_way_delay_s),
            queueing_delay_s: means(|member| member.queueing_delay_s),
            jitter_s: means(|member| member.jitter_s),
            rtt_s: means(|member| member.rtt_s),
            bound_share: mean_shares(alive().map(|member| member.bound_share)),
            packets_sent: sum(|member| member.packets_sent),
            packets_lost: sum(|member| member.packets_lost),
            retransmissions: sum(|member| member.retransmissions),
            timeouts: sum(|member| member.timeouts),
            marks: sum(|member| member.marks),
            requests: None,
        }
    }
}

impl Totals {
    /// The totals of these flows, of one connection and with arrivals, in a run that has lasted
    /// this long since its warm-up.
    pub(crate) fn of<'a>(
        flows: impl Iterator<Item = &'a FlowSummary> + Clone,
        transfers: impl Iterator<Item = &'a TransferSummary> + Clone,
        window: Duration,
    ) -> Self {
        let secs = window.as_secs_f64();
        // The rates of flows are weighted with the time that they cover; those of transfers cover
        // the whole time.
        let over_window = |of_flow: fn(&FlowSummary) -> f64, of: fn(&TransferSummary) -> f64| {
            let bits = total(flows.clone().map(|flow| of_flow(flow) * flow.active_s));
            let of_flows = if secs > 0.0 { bits / secs } else { 0.0 };
            transfers
                .clone()
                .map(of)
                .fold(of_flows, |sum, rate| sum + rate)
        };
        let active = flows.clone().filter(|flow| was_active(flow));
        let shares = active.clone().map(|flow| &flow.bound_share);
        let begun = transfers.clone().filter(|of| of.transfers > 0);
        let shares = shares.chain(begun.map(|of| &of.bound_share));
        let members = flows.clone().map(Member::from);
        let members = members.chain(transfers.clone().map(Member::from));
        let sum =
            |value: fn(&Member<'_>) -> u64| members.clone().map(|member| value(&member)).sum();
        Self {
            flows: sum(|member| member.flows),
            throughput_bps: over_window(|flow| flow.throughput_bps, |of| of.throughput_bps),
            goodput_bps: over_window(|flow| flow.goodput_bps, |of| of.goodput_bps),
            // Flows with arrivals are not part of the fairness index.
            jain_index: jain_index(active.map(|flow| flow.goodput_bps)),
            bound_share: mean_shares(shares),
            packets_sent: sum(|member| member.packets_sent),
            packets_lost: sum(|member| member.packets_lost),
            retransmissions: sum(|member| member.retransmissions),
            timeouts: sum(|member| member.timeouts),
            marks: sum(|member| member.marks),
        }
    }
}

/// The mean share of each bound.
fn mean_shares<'a>(
    of: impl Iterator<Item = &'a BTreeMap<String, f64>> + Clone,
) -> BTreeMap<String, f64> {
    let share = |bound: &SndLim| {
        let of = of.clone();
        let shares = of.filter_map(|shares| shares.get(bound.name()).copied());
        Some((bound.name().to_owned(), Distribution::of(shares)?.mean))
    };
    SndLim::ALL.iter().filter_map(share).collect()
}

/// The retransmissions and timeouts of a flow: zero if it does not count them.
fn again(flow: &FlowSummary) -> Retransmissions {
    flow.retransmissions.unwrap_or_default()
}

/// False for a flow that ended before the measured time or began after it: it has no rate there,
/// not even zero.
fn was_active(flow: &FlowSummary) -> bool {
    flow.active_s > 0.0
}

/// (Σx)² / (n·Σx²); `None` if all are zero.
fn jain_index(values: impl Iterator<Item = f64>) -> Option<f64> {
    let (mut count, mut sum, mut squares) = (0.0, 0.0, 0.0);
    for value in values {
        count += 1.0;
        sum += value;
        squares += value * value;
    }
    (squares > 0.0).then(|| sum * sum / (count * squares))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flow(goodput_bps: f64, active_s: f64, completion_time_s: Option<f64>) -> FlowSummary {
        FlowSummary {
            goodput_bps,
            active_s,
            completion_time_s,
            packets_sent: 10,
            ..FlowSummary::default()
        }
    }

    #[test]
    fn fairness_is_one_over_n_if_one_flow_has_everything() {
        for (values, expected) in [
            (vec![5.0, 5.0, 5.0, 5.0], Some(1.0)),
            (vec![7.0, 0.0, 0.0, 0.0], Some(0.25)),
            // (1 + 3)² / (2 · (1 + 9))
            (vec![1.0, 3.0], Some(0.8)),
            (vec![0.0, 0.0], None),
            (vec![], None),
        ] {
            assert_eq!(jain_index(values.iter().copied()), expected, "{values:?}");
        }
    }

    #[test]
    fn totals_count_octets_over_the_whole_time() {
        let mut flows = [flow(8e6, 10.0, None), flow(4e6, 5.0, None)];
        flows[0].marks = 4;
        flows[1].retransmissions = Some(Retransmissions {
            packets: 3,
            by_timeout: 2,
            timeouts: 1,
        });
        let transfers = TransferSummary {
            retransmissions: 10,
            timeouts: 5,
            ..TransferSummary::default()
        };
        let totals = Totals::of(
            flows.iter(),
            [&transfers].into_iter(),
            Duration::from_secs(10),
        );
        assert_eq!((totals.flows, totals.packets_sent), (2, 20));
        assert_eq!(totals.goodput_bps, 10e6);
        let counted = (totals.retransmissions, totals.timeouts, totals.marks);
        assert_eq!(counted, (13, 6, 4));
    }

    #[test]
    fn a_group_tells_what_its_flows_took() {
        let flows = [
            flow(1e6, 1.0, Some(0.5)),
            flow(3e6, 1.0, Some(1.5)),
            flow(2e6, 1.0, None),
        ];
        let group = GroupSummary::of(&GroupParts {
            flows: flows.iter().collect(),
            ..GroupParts::default()
        });
        assert_eq!((group.flows, group.completed), (3, 2));
        let times = group.completion_time_s.expect("two completed");
        assert_eq!((times.min, times.mean, times.max), (0.5, 1.0, 1.5));
        assert_eq!(group.goodput_bps.p50, 2e6);
        assert_eq!(group.rtt_s, None);
    }

    #[test]
    fn a_flow_that_was_not_alive_has_no_part_in_means_and_fairness() {
        let mut flows = [
            flow(1e6, 2.0, Some(3.0)),
            flow(3e6, 2.0, None),
            // It completed during the warm-up.
            flow(0.0, 0.0, Some(1.0)),
        ];
        let shares = [("window", 1.0), ("window", 0.5), ("nothing", 1.0)];
        for (flow, (bound, share)) in flows.iter_mut().zip(shares) {
            flow.bound_share.insert(bound.to_owned(), share);
        }
        // No transfer of this flow began.
        let mut none = TransferSummary::default();
        none.bound_share.insert("nothing".to_owned(), 1.0);
        let group = GroupSummary::of(&GroupParts {
            flows: flows.iter().collect(),
            transfers: vec![&none],
            ..GroupParts::default()
        });
        assert_eq!((group.flows, group.active, group.completed), (3, 2, 2));
        assert_eq!((group.goodput_bps.min, group.goodput_bps.mean), (1e6, 2e6));
        assert_eq!(group.completion_time_s.map(|time| time.min), Some(1.0));
        assert_eq!(group.bound_share, [("window".to_owned(), 0.75)].into());
        // (1 + 3)² / (2 · (1 + 9))
        assert_eq!(group.jain_index, Some(0.8));
        let totals = Totals::of(flows.iter(), [&none].into_iter(), Duration::from_secs(2));
        assert_eq!((totals.flows, totals.jain_index), (3, Some(0.8)));
        assert_eq!(totals.bound_share, group.bound_share);
    }

    #[test]
    fn a_flow_with_arrivals_has_the_part_of_one_in_round_trips_and_shares() {
        let with = |mean: f64| {
            Some(Distribution {
                mean,
                ..Distribution::default()
            })
        };
        let bound_share = |window: f64| [("window".to_owned(), window)].into();
        let stream = FlowSummary {
            rtt_s: with(0.1),
            bound_share: bound_share(1.0),
            ..flow(1e6, 2.0, None)
        };
        let web = TransferSummary {
            transfers: 1000,
            rtt_s: with(0.3),
            bound_share: bound_share(0.5),
            ..TransferSummary::default()
        };
        let group = GroupSummary::of(&GroupParts {
            flows: vec![&stream],
            transfers: vec![&web],
            ..GroupParts::default()
        });
        assert_eq!(group.rtt_s.map(|rtt| [rtt.min, rtt.max]), Some([0.1, 0.3]));
        assert_eq!(group.bound_share, bound_share(0.75));
        let (stream, web) = ([&stream].into_iter(), [&web].into_iter());
        let totals = Totals::of(stream, web, Duration::from_secs(2));
        assert_eq!(totals.bound_share, bound_share(0.75));
    }
}
