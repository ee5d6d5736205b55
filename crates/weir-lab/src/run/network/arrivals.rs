//! Transfers over connections of their own: each is opened when its time comes, and removed once
//! nothing can happen in it any more, so that memory follows the open ones and not their number.

use super::flows::{FlowPlan, PacketEncoding};
use super::registry::TransportRegistry;
use super::{SimNetwork, build_error};
use crate::run::RunError;
use crate::run::record::connection_records::ConnectionRecords;
use crate::run::summarise::completion::{completed_at, over_at};
use crate::scenario::{Scenario, Transfer};
use crate::summary::{FlowStatistics, LossFinder};
use weir_net::app::BulkConfig;
use weir_net::{AppStatistics, DelayStatistics, IntervalDelays, Network, Side};
use weir_proto::packet::{FlowId, HostId};
use weir_proto::time::{Duration, Instant};

/// Open connections before it is first looked for those that are done.
pub(super) const FIRST_SWEEP: usize = 64;

/// What all transfers of a flow with arrivals have in common.
#[derive(Clone, Copy)]
struct TransferPath {
    /// The index of the flow in the scenario.
    entry: usize,
    /// The hosts of senders and of receivers.
    ends: [HostId; 2],
    access_delay: Duration,
    path_mtu: u32,
    encoding: PacketEncoding,
}

/// A flow with arrivals: its transfers are the flows NAME-1, NAME-2 and so on.
pub(in crate::run) struct SimTransfers {
    pub(in crate::run) name: String,
    /// In the order of their starts.
    transfers: Vec<SimTransfer>,
    path: TransferPath,
    pub(super) finder: LossFinder,
    /// The number of the first transfer's flow.
    first: u32,
    /// Transfers whose time has come.
    opened: usize,
    /// The indices of those that are open.
    open: Vec<u32>,
    /// The sums of those that are done.
    done: FlowStatistics,
    /// The delays of those that are done, since the measurement began.
    done_delays: DelayStatistics,
    /// The delays of those that are done, since the last interval ended.
    done_in_interval: IntervalDelays,
}

/// A transfer, and when its last octet was delivered.
struct SimTransfer {
    transfer: Transfer,
    /// Of one whose connection is gone and that was complete.
    completed: Option<Instant>,
}

impl SimTransfers {
    /// None is open yet; the first is the flow of this number.
    fn new(
        (name, finder): (String, LossFinder),
        path: TransferPath,
        first: u32,
        transfers: Vec<Transfer>,
    ) -> Self {
        let transfers = transfers.into_iter().map(|transfer| SimTransfer {
            transfer,
            completed: None,
        });
        Self {
            name,
            transfers: transfers.collect(),
            path,
            finder,
            first,
            opened: 0,
            open: Vec::new(),
            done: FlowStatistics::default(),
            done_delays: DelayStatistics::default(),
            done_in_interval: IntervalDelays::default(),
        }
    }

    const fn flow(&self, index: u32) -> FlowId {
        FlowId(self.first + index)
    }

    /// When the next one begins.
    fn next(&self) -> Option<Instant> {
        let next = self.transfers.get(self.opened)?;
        Some(Instant::ZERO + next.transfer.start)
    }

    /// The flows of those that are open.
    fn open_flows(&self) -> impl Iterator<Item = FlowId> {
        self.open.iter().map(|&index| self.flow(index))
    }

    /// The sums of all, of open ones by the flow.
    pub(super) fn statistics(&self, of: impl Fn(FlowId) -> FlowStatistics) -> FlowStatistics {
        let open = self.open_flows().map(of);
        open.fold(self.done, FlowStatistics::plus)
    }
}

impl SimNetwork {
    /// Reserves the flows of these transfers, each of which is opened later as this flow of the
    /// scenario's entry.
    pub(super) fn add_transfers(
        &mut self,
        plan: FlowPlan<'_>,
        entry: usize,
        transfers: Vec<Transfer>,
    ) -> Result<(), RunError> {
        let (ends, count) = (plan.ends.map(|(id, _)| id), transfers.len() as u32);
        let reserved = self.network.reserve_flows(&plan.name, ends, count);
        let first = reserved.map_err(build_error)?.start;
        let path = TransferPath {
            entry,
            ends,
            access_delay: plan.access_delay,
            path_mtu: plan.path_mtu,
            encoding: plan.encoding,
        };
        let finder = LossFinder::of(&plan.flow.transport);
        let set = SimTransfers::new((plan.name, finder), path, first, transfers);
        self.transfers.push(set);
        Ok(())
    }

    /// When the next transfer begins.
    pub(in crate::run) fn next_arrival(&self) -> Option<Instant> {
        self.transfers.iter().filter_map(SimTransfers::next).min()
    }

    /// Opens the connections of the transfers that begin now or should have, after what is done
    /// was removed.
    pub(in crate::run) fn open_arrivals(
        &mut self,
        scenario: &Scenario,
        registry: TransportRegistry<'_>,
        records: &mut ConnectionRecords,
    ) -> Result<(), RunError> {
        let open: usize = self.transfers.iter().map(|set| set.open.len()).sum();
        if open >= self.next_sweep {
            self.remove_done(records);
            let open: usize = self.transfers.iter().map(|set| set.open.len()).sum();
            // A sweep looks at all of them: with as many new ones between two its cost for each is
            // constant.
            self.next_sweep = (open * 2).max(FIRST_SWEEP);
        }
        for set in 0..self.transfers.len() {
            while self.transfers[set]
                .next()
                .is_some_and(|at| at <= self.network.now())
            {
                let opened = self.open_next(set, scenario, registry)?;
                if let Some(sender) = self.network.source_of_flow(opened, Side::Sender) {
                    let mask = records.open(set, sender);
                    self.network.set_mask_of(sender, mask);
                }
            }
        }
        Ok(())
    }

    fn open_next(
        &mut self,
        set: usize,
        scenario: &Scenario,
        registry: TransportRegistry<'_>,
    ) -> Result<FlowId, RunError> {
        let set = &mut self.transfers[set];
        let index = set.opened as u32;
        set.opened += 1;
        set.open.push(index);
        let (set, path) = (&*set, set.path);
        let host = |id: HostId| Some((id, scenario.hosts.get(id.0 as usize)?));
        let ends = (host(path.ends[0]), host(path.ends[1]));
        let flow = scenario.flows.get(path.entry);
        let (Some(flow), (Some(near), Some(far))) = (flow, ends) else {
            let message = format!("flow \"{}\" is not one of this scenario", set.name);
            return Err(RunError::Build(message));
        };
        let transfer = set.transfers[index as usize].transfer;
        let total = Some(transfer.bytes);
        let packet = flow.app.packet();
        let plan = FlowPlan {
            flow,
            app: BulkConfig { packet, total }.into(),
            stop: None,
            name: format!("{}-{}", set.name, index + 1),
            start: Instant::ZERO + transfer.start,
            access_delay: path.access_delay,
            ends: [near, far],
            path_mtu: path.path_mtu,
            encoding: path.encoding,
            registry,
        };
        let id = set.flow(index);
        let config = self.connection(&plan, id.0 as usize)?;
        self.network.open_flow(id, config).map_err(build_error)?;
        if self.measures_delays {
            self.network.measure_delays(id, Side::Receiver);
        }
        Ok(id)
    }

    /// Begins to measure the delays of all transfers, or begins again.
    pub(super) fn measure_transfers(&mut self) {
        for set in &mut self.transfers {
            set.done_delays = DelayStatistics::default();
            for flow in set.open_flows() {
                self.network.measure_delays(flow, Side::Receiver);
            }
        }
    }

    /// Ends measuring: the delays of each flow with arrivals, those of all its connections
    /// together, if they were measured.
    pub(in crate::run) fn take_transfer_delays(&mut self) -> Vec<Option<DelayStatistics>> {
        let (network, measured) = (&mut self.network, self.measures_delays);
        let sets = self.transfers.iter_mut().map(|set| {
            let mut delays = std::mem::take(&mut set.done_delays);
            for flow in set.open_flows() {
                if let Some(open) = network.take_delays(flow, Side::Receiver) {
                    delays.add(&open);
                }
            }
            measured.then_some(delays)
        });
        sets.collect()
    }

    /// The counters of each flow with arrivals, and the delays of its connections since the last
    /// call.
    pub(super) fn intervals_of_transfers(&mut self) -> Vec<(FlowStatistics, IntervalDelays)> {
        let network = &mut self.network;
        let sets = self.transfers.iter_mut().map(|set| {
            let open = set.open.iter().map(|&index| {
                network.take_interval_delays(FlowId(set.first + index), Side::Receiver)
            });
            let delays = open.fold(
                std::mem::take(&mut set.done_in_interval),
                IntervalDelays::plus,
            );
            let counted = set.statistics(|flow| {
                let ends =
                    [Side::Sender, Side::Receiver].map(|side| network.statistics(flow, side));
                FlowStatistics::new(ends, set.finder)
            });
            (counted, delays)
        });
        sets.collect()
    }

    /// Removes the connections in which nothing can happen any more, and keeps their numbers.
    fn remove_done(&mut self, records: &mut ConnectionRecords) {
        for set in &mut self.transfers {
            let first = set.first;
            let flows = set.open.iter().map(|index| FlowId(first + index));
            let done = self.network.idle_flows(flows);
            for &flow in &done {
                let ends = applications_of(&self.network, flow);
                set.transfers[(flow.0 - first) as usize].completed = completed_at(&ends);
                if let Some(sender) = self.network.source_of_flow(flow, Side::Sender) {
                    records.close(sender, idle_since(&ends));
                }
                let ends = [Side::Sender, Side::Receiver];
                let ends = ends.map(|side| self.network.statistics(flow, side));
                set.done = set.done.plus(FlowStatistics::new(ends, set.finder));
                let in_interval = self.network.take_interval_delays(flow, Side::Receiver);
                set.done_in_interval = set.done_in_interval.plus(in_interval);
                if let Some(delays) = self.network.take_delays(flow, Side::Receiver) {
                    set.done_delays.add(&delays);
                }
                self.network.retire_flow(flow);
            }
            // Both are in the order of their numbers.
            let mut done = done.into_iter().peekable();
            set.open
                .retain(|index| done.next_if_eq(&FlowId(first + index)).is_none());
        }
    }

    /// Ends recording the connections that are open at the end of the run. One in which nothing can
    /// happen any more is over as if it had been removed.
    pub(in crate::run) fn close_connections(&self, records: &mut ConnectionRecords, end: Instant) {
        // Both are in the order of their numbers.
        let open = || self.transfers.iter().flat_map(SimTransfers::open_flows);
        let mut idle = self.network.idle_flows(open()).into_iter().peekable();
        for flow in open() {
            let ends = applications_of(&self.network, flow);
            let over = match idle.next_if_eq(&flow) {
                Some(_) => Some(idle_since(&ends)),
                None => over_at(&ends),
            };
            if let Some(sender) = self.network.source_of_flow(flow, Side::Sender) {
                records.close(sender, over.unwrap_or(end));
            }
        }
    }

    /// When the last octet of each transfer of a set was delivered; `None` for one that is not
    /// complete.
    pub(in crate::run) fn completions<'a>(
        &'a self,
        set: &'a SimTransfers,
    ) -> impl Iterator<Item = (Transfer, Option<Instant>)> + 'a {
        (0..).zip(&set.transfers).map(|(index, one)| {
            let open = completed_at(&applications_of(&self.network, set.flow(index)));
            (one.transfer, one.completed.or(open))
        })
    }
}

/// What the applications of a flow have come to: the source's and the sink's.
fn applications_of(network: &Network, flow: FlowId) -> [AppStatistics; 2] {
    [Side::Sender, Side::Receiver].map(|side| network.app_report(flow, side).statistics)
}

/// When a connection was over in which nothing can happen any more. One that was not closed, as one
/// of datagrams that were lost, was over with its last data.
fn idle_since(ends: &[AppStatistics; 2]) -> Instant {
    let over = over_at(ends).or(ends[1].last_read_at);
    over.unwrap_or_default()
}
