//! Transfers over separate connections: each connection is opened at its start time and removed
//! once it is idle for good, so that memory depends on the number of open connections only.

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

/// The number of open connections at which finished ones are first searched for.
pub(super) const FIRST_SWEEP: usize = 64;

/// The properties common to all transfers of a flow with arrivals.
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
    /// The ID of the first transfer's flow.
    first: u32,
    /// The number of transfers that have been opened.
    opened: usize,
    /// The indices of open transfers.
    open: Vec<u32>,
    /// The summed counters of removed transfers.
    done: FlowStatistics,
    /// The delays of removed transfers since the measurement began.
    done_delays: DelayStatistics,
    /// The delays of removed transfers since the last interval ended.
    done_in_interval: IntervalDelays,
}

/// A transfer, and when its last octet was delivered.
struct SimTransfer {
    transfer: Transfer,
    /// The completion time of a transfer whose connection was removed.
    completed: Option<Instant>,
}

impl SimTransfers {
    /// A set in which no transfer is open; the flow of the first one has this ID.
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

    /// The start time of the next transfer.
    fn next(&self) -> Option<Instant> {
        let next = self.transfers.get(self.opened)?;
        Some(Instant::ZERO + next.transfer.start)
    }

    /// The flows of open transfers.
    fn open_flows(&self) -> impl Iterator<Item = FlowId> {
        self.open.iter().map(|&index| self.flow(index))
    }

    /// The summed counters of all transfers; `of` gives those of open ones.
    pub(super) fn statistics(&self, of: impl Fn(FlowId) -> FlowStatistics) -> FlowStatistics {
        let open = self.open_flows().map(of);
        open.fold(self.done, FlowStatistics::plus)
    }
}

impl SimNetwork {
    /// Reserves flow IDs for these transfers; each is opened later with the settings of this flow
    /// of the scenario.
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

    /// The start time of the next transfer.
    pub(in crate::run) fn next_arrival(&self) -> Option<Instant> {
        self.transfers.iter().filter_map(SimTransfers::next).min()
    }

    /// Removes finished connections if enough are open, then opens the connections of the transfers
    /// whose start time has been reached.
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
            // A sweep visits all open connections: with as many new ones between two sweeps, its
            // cost for each connection is constant.
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
            handovers: Vec::new(),
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

    /// Starts or restarts measuring the delays of all transfers.
    pub(super) fn measure_transfers(&mut self) {
        for set in &mut self.transfers {
            set.done_delays = DelayStatistics::default();
            for flow in set.open_flows() {
                self.network.measure_delays(flow, Side::Receiver);
            }
        }
    }

    /// Ends measuring: the delays of all connections of each flow with arrivals, if they were
    /// measured.
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

    /// Removes the connections that are idle for good, and keeps their counters.
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
            // Both lists are in the order of the flow IDs.
            let mut done = done.into_iter().peekable();
            set.open
                .retain(|index| done.next_if_eq(&FlowId(first + index)).is_none());
        }
    }

    /// Ends recording the connections that are open at the end of the run. An idle connection ends
    /// as if it had been removed.
    pub(in crate::run) fn close_connections(&self, records: &mut ConnectionRecords, end: Instant) {
        // Both lists are in the order of the flow IDs.
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

    /// The completion time of each transfer of a set; `None` for an incomplete one.
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

/// The statistics of a flow's applications: the source and the sink.
fn applications_of(network: &Network, flow: FlowId) -> [AppStatistics; 2] {
    [Side::Sender, Side::Receiver].map(|side| network.app_report(flow, side).statistics)
}

/// The end of a connection that is idle for good. If it was not closed, such as one whose last
/// datagrams were lost, it ended with its last data.
fn idle_since(ends: &[AppStatistics; 2]) -> Instant {
    let over = over_at(ends).or(ends[1].last_read_at);
    over.unwrap_or_default()
}
