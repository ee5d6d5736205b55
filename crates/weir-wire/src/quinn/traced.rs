//! Settings of a real quinn connection whose controller can be watched and traced.
//!
//! The controller is watched where quinn calls it. What cannot be seen there: whether quinn's pacer
//! or the host kept data back, which look like an application that has nothing to send.

use super::observed::{
    CongestionControlAlgorithm, ObservedControllerFactory, SharedControllerState,
};
use super::path_controller::span;
use super::tls;
use crate::error::Error;
use crate::events::{EventSink, EventStream};
use quinn_proto::RttEstimator;
use quinn_proto::congestion::{self, ControllerFactory, ControllerMetrics};
use quinn_proto::{ClientConfig, IdleTimeout, ServerConfig, TransportConfig, VarInt};
use std::any::Any;
use std::sync::Arc;
use std::time::{self, Duration};
use weir_proto::event::{Event, EventMask, Limit, WindowState};
use weir_proto::time::Instant;

/// Octets of a stream that the receiver takes in advance: 10 Gbit/s over 10 ms.
const STREAM_WINDOW: u32 = 12_500_000;
/// A connection ends after so long without a packet.
const IDLE: Duration = Duration::from_secs(10);
const KEEPALIVE: Duration = Duration::from_secs(2);

/// Settings of a connection. What is not here is quinn's default.
#[derive(Clone, Debug)]
pub struct TracedConfig {
    /// The congestion controller of this end.
    pub algorithm: CongestionControlAlgorithm,
    /// Packets that may leave at once leave in one segmented send (GSO).
    pub segmentation: bool,
    /// What is spoken (ALPN).
    pub alpn: &'static str,
    /// What the stream of events tells.
    pub events: EventMask,
}

/// The settings of one connection, and what is seen of it.
#[derive(Debug)]
pub struct Traced<C> {
    /// For quinn.
    pub config: C,
    /// The controller.
    pub controller: ControllerView,
    /// Its events, if any are wanted.
    pub events: Option<EventStream>,
}

/// A controller at work, seen from outside.
#[derive(Clone, Debug)]
pub struct ControllerView(SharedControllerState);

impl ControllerView {
    /// What bound the window last; flow control if the window is beyond what the receiver takes in
    /// advance, so that this binds, or the host.
    pub fn limit(&self) -> &'static str {
        let view = self.0.lock();
        if view.cwnd > u64::from(STREAM_WINDOW) {
            return Limit::FlowControl.name();
        }
        view.limit.name()
    }

    /// The window in octets.
    pub fn window(&self) -> u64 {
        self.0.lock().cwnd
    }
}

impl TracedConfig {
    /// For a client that takes any certificate: what it measures is not secret.
    ///
    /// # Errors
    /// [`Error::Tls`].
    pub fn client(&self) -> Result<Traced<ClientConfig>, Error> {
        let (transport, view, events) = self.transport();
        let mut config = ClientConfig::new(Arc::new(tls::client(self.alpn)?));
        config.transport_config(transport);
        Ok(Traced {
            config,
            controller: view,
            events,
        })
    }

    /// For one connection of a server, whose certificate is signed by itself and as old as the
    /// process.
    ///
    /// # Errors
    /// [`Error::Tls`].
    pub fn server(&self) -> Result<Traced<ServerConfig>, Error> {
        let (transport, view, events) = self.transport();
        let mut config = ServerConfig::with_crypto(Arc::new(tls::server(self.alpn)?));
        config.transport_config(transport);
        Ok(Traced {
            config,
            controller: view,
            events,
        })
    }

    fn transport(&self) -> (Arc<TransportConfig>, ControllerView, Option<EventStream>) {
        let view = SharedControllerState::new();
        let (sink, events) = EventSink::new(self.events, Instant::ZERO).unzip();
        let factory = EventControllerFactory {
            watched: Arc::new(ObservedControllerFactory {
                algorithm: self.algorithm,
                view: view.clone(),
            }),
            view: view.clone(),
            sink: sink.map(Arc::new),
            base: time::Instant::now(),
        };
        let mut transport = TransportConfig::default();
        transport
            .congestion_controller_factory(Arc::new(factory))
            .enable_segmentation_offload(self.segmentation)
            .stream_receive_window(VarInt::from_u32(STREAM_WINDOW))
            .send_window(u64::from(STREAM_WINDOW))
            .keep_alive_interval(Some(KEEPALIVE))
            .max_idle_timeout(IdleTimeout::try_from(IDLE).ok());
        (Arc::new(transport), ControllerView(view), events)
    }
}

/// Makes watched controllers that tell what they do.
struct EventControllerFactory {
    watched: Arc<ObservedControllerFactory>,
    view: SharedControllerState,
    sink: Option<Arc<EventSink>>,
    base: time::Instant,
}

impl ControllerFactory for EventControllerFactory {
    fn build(self: Arc<Self>, now: time::Instant, mtu: u16) -> Box<dyn congestion::Controller> {
        let inner = Arc::clone(&self.watched).build(now, mtu);
        let Some(sink) = self.sink.clone() else {
            return inner;
        };
        Box::new(EventController {
            inner,
            view: self.view.clone(),
            sink,
            base: self.base,
            smoothed_rtt: weir_proto::time::Duration::ZERO,
            told: None,
        })
    }
}

/// A watched controller; every change of it is an event.
struct EventController {
    inner: Box<dyn congestion::Controller>,
    view: SharedControllerState,
    sink: Arc<EventSink>,
    base: time::Instant,
    smoothed_rtt: weir_proto::time::Duration,
    told: Option<WindowState>,
}

impl EventController {
    fn tell(&mut self, now: time::Instant) {
        let at = Instant::ZERO + span(now.saturating_duration_since(self.base));
        let mut view = self.view.lock();
        if let Some(sample) = view.fresh_rtt.take()
            && self.sink.mask().intersects(EventMask::RTT)
        {
            self.sink.push(at, Event::Rtt(sample));
        }
        let state = view.window(self.smoothed_rtt);
        drop(view);
        if self.told != Some(state) {
            self.told = Some(state);
            self.sink.push(at, Event::Window(state));
        }
    }
}

impl congestion::Controller for EventController {
    fn on_sent(&mut self, now: time::Instant, bytes: u64, last_packet_number: u64) {
        self.inner.on_sent(now, bytes, last_packet_number);
    }

    fn on_ack(
        &mut self,
        now: time::Instant,
        sent: time::Instant,
        bytes: u64,
        app_limited: bool,
        rtt: &RttEstimator,
    ) {
        self.inner.on_ack(now, sent, bytes, app_limited, rtt);
        self.smoothed_rtt = span(rtt.get());
    }

    fn on_end_acks(
        &mut self,
        now: time::Instant,
        in_flight: u64,
        app_limited: bool,
        largest_packet_num_acked: Option<u64>,
    ) {
        let largest = largest_packet_num_acked;
        self.inner.on_end_acks(now, in_flight, app_limited, largest);
        self.tell(now);
    }

    fn on_congestion_event(
        &mut self,
        now: time::Instant,
        sent: time::Instant,
        is_persistent_congestion: bool,
        lost_bytes: u64,
    ) {
        self.inner
            .on_congestion_event(now, sent, is_persistent_congestion, lost_bytes);
        self.tell(now);
    }

    fn on_mtu_update(&mut self, new_mtu: u16) {
        self.inner.on_mtu_update(new_mtu);
    }

    fn window(&self) -> u64 {
        self.inner.window()
    }

    fn metrics(&self) -> ControllerMetrics {
        self.inner.metrics()
    }

    /// The copy for another path is not traced.
    fn clone_box(&self) -> Box<dyn congestion::Controller> {
        self.inner.clone_box()
    }

    fn initial_window(&self) -> u64 {
        self.inner.initial_window()
    }

    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self
    }
}
