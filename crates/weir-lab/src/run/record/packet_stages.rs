//! Records the way of each packet through the network: when it enters a link, is transmitted,
//! arrives or is dropped.
//!
//! Links name a packet by its place in the network, which another packet takes later; here it gets
//! a number of its own. What a packet carries is said by its endpoint, in another event at the same
//! time: the two are joined at the end. Memory is bounded: after so many rows nothing more is
//! recorded.

use crate::run::columns::{STAGE, StageRow};
use crate::run::{PacketStages, StageSpan};
use crate::table::TableRecorder;
use std::collections::BTreeMap;
use std::sync::Arc;
use weir_proto::event::{Event, PacketInNetwork};
use weir_proto::packet::FlowId;
use weir_proto::time::Instant;

/// Packets that are remembered for their content, for each row.
const CONTENTS_PER_ROW: u64 = 2;

/// A flow whose packets are named.
struct StagedFlow {
    name: Arc<str>,
    /// The hosts of its sender and its receiver.
    hosts: [u32; 2],
}

/// A packet at its endpoint: its flow, whether the sender sent it, its number and the time.
type Handed = (FlowId, bool, u64, Instant);

/// The events that are not about the stages of packets.
pub(in crate::run) fn without_stages(events: &[(Instant, Event)]) -> Vec<(Instant, Event)> {
    let is_stage = |event: &Event| {
        matches!(
            event,
            Event::Entered(_) | Event::Carried { .. } | Event::DroppedOnWay { .. }
        )
    };
    let others = events.iter().filter(|(_, event)| !is_stage(event));
    others.copied().collect()
}

/// The stages of packets.
pub(in crate::run) struct StageRecorder {
    span: StageSpan,
    flows: BTreeMap<FlowId, StagedFlow>,
    /// The packet in each place of the network, and its number here.
    known: BTreeMap<u32, (PacketInNetwork, u64)>,
    next: u64,
    /// When packets that a link holds have entered, by link and packet.
    waiting: BTreeMap<(usize, u64), Instant>,
    rows: Vec<(StageRow, Option<Handed>)>,
    contents: BTreeMap<Handed, &'static str>,
    left_out_from: Option<Instant>,
    nothing: Arc<str>,
}

impl StageRecorder {
    pub(in crate::run) fn new(span: StageSpan) -> Self {
        Self {
            span,
            flows: BTreeMap::new(),
            known: BTreeMap::new(),
            next: 0,
            waiting: BTreeMap::new(),
            rows: Vec::new(),
            contents: BTreeMap::new(),
            left_out_from: None,
            nothing: Arc::from(""),
        }
    }

    /// Names the packets of a flow.
    pub(in crate::run) fn add_flow(&mut self, id: FlowId, name: Arc<str>, hosts: [u32; 2]) {
        self.flows.insert(id, StagedFlow { name, hosts });
    }

    /// An event of a link.
    pub(in crate::run) fn on_link(
        &mut self,
        at: Instant,
        (link, name): (usize, &Arc<str>),
        event: &Event,
    ) {
        match *event {
            Event::Entered(packet) => {
                let number = self.number_of(packet);
                if self.is_recorded(at) {
                    self.waiting.insert((link, number), at);
                }
            }
            Event::Carried {
                packet,
                started,
                left,
                arrives,
            } => {
                let number = self.number_of(packet);
                let entered = match arrives {
                    Some(_) => self.waiting.remove(&(link, number)),
                    // The frame is sent again.
                    None => self.waiting.get(&(link, number)).copied(),
                };
                self.push(
                    at,
                    packet,
                    StageRow {
                        entered,
                        started: Some(started),
                        left: Some(left),
                        arrives,
                        ..self.row(packet, number, name)
                    },
                );
            }
            Event::DroppedOnWay { packet, reason } => {
                let number = self.number_of(packet);
                let entered = self.waiting.remove(&(link, number));
                self.push(
                    at,
                    packet,
                    StageRow {
                        entered,
                        dropped: Some(at),
                        reason: reason.name(),
                        ..self.row(packet, number, name)
                    },
                );
            }
            _ => {}
        }
    }

    /// An event of an endpoint of a flow.
    pub(in crate::run) fn on_end(
        &mut self,
        at: Instant,
        (flow, is_sender): (FlowId, bool),
        event: &Event,
    ) {
        match *event {
            Event::Sent {
                number, content, ..
            } if self.is_recorded(at)
                && (self.contents.len() as u64) < self.span.max_rows * CONTENTS_PER_ROW =>
            {
                let handed = (flow, is_sender, number, at);
                self.contents.insert(handed, content.name());
            }
            // Lost at its socket, before it has a place in the network.
            Event::Drop {
                number,
                size,
                reason,
                ..
            } if self.is_recorded(at) => {
                let packet = PacketInNetwork {
                    slot: u32::MAX,
                    sent_at: at,
                    flow,
                    source: self
                        .flows
                        .get(&flow)
                        .map_or(u32::MAX, |known| known.hosts[usize::from(!is_sender)]),
                    number,
                    size,
                };
                let row = StageRow {
                    dropped: Some(at),
                    reason: reason.name(),
                    ..self.row(packet, self.next, &self.nothing)
                };
                self.next += 1;
                self.push(at, packet, row);
            }
            _ => {}
        }
    }

    /// The table.
    pub(in crate::run) fn finish(self) -> PacketStages {
        let mut table = TableRecorder::new(STAGE);
        for (mut row, handed) in self.rows {
            let content = handed.and_then(|handed| self.contents.get(&handed));
            row.content = content.copied().unwrap_or_default();
            table.push(&row);
        }
        PacketStages {
            table: table.finish(),
            left_out_from: self.left_out_from,
        }
    }

    const fn is_recorded(&self, at: Instant) -> bool {
        let (at, from) = (at.as_nanos(), self.span.from.as_nanos());
        self.left_out_from.is_none() && at >= from && at <= self.span.to.as_nanos()
    }

    /// The number of a packet here: a new one if another packet had its place.
    fn number_of(&mut self, packet: PacketInNetwork) -> u64 {
        let next = self.next;
        let known = self.known.entry(packet.slot).or_insert((packet, next));
        if known.0 != packet {
            *known = (packet, next);
        }
        if known.1 == next {
            self.next += 1;
        }
        known.1
    }

    /// A row of this packet without its times.
    fn row(&self, packet: PacketInNetwork, number: u64, link: &Arc<str>) -> StageRow {
        let flow = self.flows.get(&packet.flow);
        let from = flow.map_or("", |flow| match flow.hosts {
            [sender, _] if sender == packet.source => "sender",
            [_, receiver] if receiver == packet.source => "receiver",
            _ => "",
        });
        StageRow {
            packet: number,
            flow: Arc::clone(flow.map_or(&self.nothing, |flow| &flow.name)),
            from,
            link: Arc::clone(link),
            number: packet.number,
            size: packet.size,
            content: "",
            sent: (packet.sent_at < Instant::FAR_FUTURE).then_some(packet.sent_at),
            entered: None,
            started: None,
            left: None,
            arrives: None,
            dropped: None,
            reason: "",
        }
    }

    fn push(&mut self, at: Instant, packet: PacketInNetwork, row: StageRow) {
        if !self.is_recorded(at) {
            return;
        }
        if self.rows.len() as u64 >= self.span.max_rows {
            self.left_out_from = Some(at);
            self.waiting.clear();
            return;
        }
        let is_sender = row.from == "sender";
        let handed = packet.number.zip(row.sent);
        let handed = handed.map(|(number, sent)| (packet.flow, is_sender, number, sent));
        self.rows.push((row, handed));
    }
}
