//! A followed direction of a connection: numbers of octets from sequence numbers, and the tables.

use super::super::rows::Rows;
use super::super::tables::{Events, Intervals, Losses, PacketRow, Packets, place_of};
use super::super::{ImportedFlow, Vantage};
use super::receiver::Receiver;
use super::records::{Acknowledgement, Data, FlowSetup, Log};
use super::segment::{ACK, FIN, RST, SYN, Segment};
use super::sender::Sender;
use super::states::States;
use super::turns::Turns;
use weir_proto::time::{Duration, Instant};

#[derive(Debug)]
enum Observer {
    Sender(Box<Sender>),
    Receiver(Box<Receiver>),
}

/// A flow.
#[derive(Debug)]
pub(super) struct Flow {
    setup: FlowSetup,
    log: Log,
    states: States,
    turns: Turns,
    observer: Observer,
    end: Instant,
    /// The sequence number of offset zero of the data, and of what the receiver sends.
    base: Option<u32>,
    peer_base: Option<u32>,
    fin: Option<u64>,
    packets: Vec<PacketRow>,
    has_syn: bool,
    oversized: u64,
    cut: u64,
}

impl Flow {
    pub(super) fn new(setup: FlowSetup, duration: Duration) -> Self {
        let log = Log {
            events: Events::default(),
            losses: Losses::default(),
            intervals: Intervals::new(duration),
            counters: Rows::default(),
            place: place_of(setup.vantage),
        };
        let observer = if setup.vantage == Vantage::Receiver {
            Observer::Receiver(Box::new(Receiver::new(&setup)))
        } else {
            Observer::Sender(Box::new(Sender::new(&setup)))
        };
        Self {
            log,
            states: States::default(),
            turns: Turns::default(),
            observer,
            end: Instant::ZERO + duration,
            setup,
            base: None,
            peer_base: None,
            fin: None,
            packets: Vec::new(),
            has_syn: false,
            oversized: 0,
            cut: 0,
        }
    }

    /// Takes a segment of the connection that the end `side` sent.
    pub(super) fn on_segment(&mut self, now: Instant, side: usize, segment: &Segment) {
        let of_sender = side == self.setup.side;
        let own = of_sender == (self.setup.vantage != Vantage::Receiver);
        self.cut += u64::from(segment.options.cut);
        let place = self.log.place;
        if let Some(state) = self.states.on_segment(own, segment) {
            self.log.events.add(now, place, ("state", state), None);
        }
        self.turns.on_segment(now, side, segment);
        if let Observer::Sender(sender) = &mut self.observer
            && !of_sender
        {
            sender.on_heard(now);
        }
        self.set_bases(of_sender, segment);
        let content = if of_sender {
            self.on_data_side(now, segment)
        } else {
            self.on_ack_side(now, segment)
        };
        let Some((content, number)) = content else {
            return;
        };
        let vantage = self.setup.vantage;
        self.packets.push(PacketRow {
            content,
            ..PacketRow::captured(now, (vantage, of_sender), (number, segment.size()))
        });
    }

    fn set_bases(&mut self, of_sender: bool, segment: &Segment) {
        let first = segment.seq.wrapping_add(u32::from(segment.has(SYN)));
        let (own, other) = if of_sender {
            (&mut self.base, &mut self.peer_base)
        } else {
            (&mut self.peer_base, &mut self.base)
        };
        if segment.has(RST) {
            return;
        }
        if segment.has(SYN) {
            *own = Some(first);
            self.has_syn |= of_sender;
        } else {
            own.get_or_insert(first);
        }
        if segment.has(ACK) {
            other.get_or_insert(segment.ack);
        }
    }

    /// The offset nearest to `near` with this sequence number; `None` before the first octet.
    fn offset(&self, number: u32, near: u64) -> Option<u64> {
        let distance = number.wrapping_sub(self.base?.wrapping_add(near as u32)) as i32;
        near.checked_add_signed(i64::from(distance))
    }

    /// The end of the data seen so far.
    fn next(&self) -> u64 {
        match &self.observer {
            Observer::Sender(sender) => sender.next(),
            Observer::Receiver(receiver) => receiver.next(),
        }
    }

    /// A segment of the data's sender: what its row in the table of packets says.
    fn on_data_side(&mut self, now: Instant, segment: &Segment) -> Option<(&'static str, f64)> {
        if segment.payload == 0 || segment.has(SYN | RST) {
            if segment.has(SYN | RST | FIN) {
                return Some(("control", self.on_control(segment)));
            }
            if let Observer::Sender(sender) = &mut self.observer {
                sender.on_empty(now, &mut self.log);
            }
            let number = segment.ack.wrapping_sub(self.peer_base?);
            return (self.setup.is_alone).then_some(("acknowledgement", f64::from(number)));
        }
        self.oversized += u64::from(segment.payload > self.setup.segment_octets);
        let start = self.offset(segment.seq, self.next())?;
        let end = start + u64::from(segment.payload);
        if segment.has(FIN) {
            self.fin = Some(end);
        }
        let data = Data {
            start,
            end,
            size: segment.size(),
            ce: segment.ce,
            echo: segment.options.timestamps.map(|(_, echo)| echo),
        };
        let content = match &mut self.observer {
            Observer::Sender(sender) => sender.on_data(now, &data, &mut self.log),
            Observer::Receiver(receiver) => receiver.on_data(now, &data, &mut self.log),
        };
        Some((content, start as f64))
    }

    /// SYN, FIN and RST: the number is that of the octet that would follow.
    fn on_control(&mut self, segment: &Segment) -> f64 {
        if segment.has(SYN) {
            return 0.0;
        }
        let number = self.offset(segment.seq, self.next());
        if segment.has(FIN) {
            self.fin = self.fin.or(number);
        }
        number.map_or(f64::NAN, |number| number as f64)
    }

    /// A segment of the data's receiver.
    fn on_ack_side(&mut self, now: Instant, segment: &Segment) -> Option<(&'static str, f64)> {
        let row = if segment.has(SYN | FIN | RST) {
            let number = segment
                .seq
                .wrapping_sub(self.peer_base.unwrap_or(segment.seq));
            let number = if segment.has(SYN) { 0 } else { number };
            Some(("control", f64::from(number)))
        } else {
            None
        };
        if !segment.has(ACK) || segment.has(RST) {
            return row;
        }
        let near = self.next();
        let ack = self.offset(segment.ack, near)?;
        let blocks = segment.options.sacks().iter();
        let blocks = blocks.filter_map(|(start, end)| {
            let (start, end) = (self.offset(*start, near)?, self.offset(*end, near)?);
            (start < end).then_some((start, end))
        });
        let blocks: Vec<_> = blocks.collect();
        // RFC 7323 §2.2: the window of a SYN is not scaled.
        let scale = if segment.has(SYN) {
            Some(0)
        } else {
            self.setup.window_scale
        };
        // Zero is zero in any scale; the window of a RST says nothing.
        let scale = scale.or((segment.window == 0 && !segment.has(RST)).then_some(0));
        let acknowledgement = Acknowledgement {
            // The FIN takes a number, but is no octet.
            ack: self.fin.map_or(ack, |fin| ack.min(fin.max(near))),
            window: scale.map(|scale| u64::from(segment.window) << scale),
            pure: segment.payload == 0 && !segment.has(SYN | FIN),
            sacks: &blocks,
            timestamp: segment.options.timestamps.map(|(value, _)| value),
        };
        match &mut self.observer {
            Observer::Sender(sender) => sender.on_ack(now, &acknowledgement, &mut self.log),
            Observer::Receiver(receiver) => receiver.on_ack(now, &acknowledgement, &mut self.log),
        }
        let is_listed = segment.payload == 0 || self.setup.is_alone;
        row.or_else(|| is_listed.then_some(("acknowledgement", ack as f64)))
    }

    /// Sentences on what is unusual.
    pub(super) fn remarks(&self) -> Vec<String> {
        let name = &self.setup.name;
        let mut remarks = Vec::new();
        if !self.has_syn {
            remarks.push(format!(
                "{name} begins before the capture: octets count from its first segment"
            ));
        }
        if self.setup.window_scale.is_none() {
            remarks.push(format!(
                "{name}: the receiver's SYN is missing, so the scale of its window is not known"
            ));
        }
        if self.oversized > 0 {
            let (count, octets) = (self.oversized, self.setup.segment_octets);
            remarks.push(format!(
                "{name}: {count} segments have more than {octets} octets of data, as before the \
                 network card cuts them (TSO) or after it joins them (GRO): a packet of the tables \
                 may be several on the wire"
            ));
        }
        if let Observer::Sender(sender) = &self.observer
            && sender.skipped() > 0
        {
            remarks.push(format!(
                "{name}: {} octets of data were sent that the capture does not have",
                sender.skipped()
            ));
        }
        if self.cut > 0 {
            remarks.push(format!(
                "{name}: the options of {} segments were not captured completely",
                self.cut
            ));
        }
        remarks
    }

    pub(super) fn finish(mut self, packets: &mut Packets) -> ImportedFlow {
        let FlowSetup { name, vantage, .. } = self.setup;
        let (table, delivered) = match self.observer {
            Observer::Sender(sender) => sender.finish(self.end, &mut self.log),
            Observer::Receiver(receiver) => receiver.finish(),
        };
        self.packets.extend(self.log.losses.finish());
        // What arrived, and how, is known beside the receiver only.
        let unknown: &[&str] = match vantage {
            Vantage::Receiver => &[],
            Vantage::Sender | Vantage::Network => &["packets_received", "marks"],
        };
        let intervals = self.log.intervals.finish(&self.packets, unknown);
        packets.add(&name, self.packets);
        let mut flow = ImportedFlow::new((name, "tcp"), vantage, table);
        flow.trace.events = self.log.events.finish();
        flow.trace.intervals = intervals;
        flow.counters = self.log.counters.finish_some();
        flow.turns = self.turns.finish();
        flow.delivered_bytes = Some(delivered as f64);
        flow
    }
}
