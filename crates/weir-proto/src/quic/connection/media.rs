//! Media in the datagrams of a connection: when they leave, and what their controller learns.

use super::Connection;
use crate::event::{Event, EventMask, SndLim};
use crate::quic::ack::reported_delay;
use crate::quic::error::TransportError;
use crate::quic::media::{Acknowledged, Media};
use crate::quic::wire::{Ack, ReceiveTimestamps};
use crate::time::{Duration, Instant};

impl Connection {
    /// True if a controller of media says when datagrams leave and how much is in flight.
    pub(super) fn media_ignores_window(&self) -> bool {
        let media = self.media.as_deref();
        media.is_some_and(|media| !media.is_nested())
    }

    /// True if a datagram waits and the controllers let it leave now; `by_window` is what the
    /// window and its pacer say. If the controller of media holds it back, the time at which it may
    /// leave is recorded.
    pub(super) fn may_send_datagram(&mut self, now: Instant, by_window: bool) -> bool {
        let may_leave = by_window || self.media_ignores_window();
        if !may_leave || !self.has_datagram(now) {
            return false;
        }
        let sender = self.media.as_deref().and_then(Media::sender);
        let (Some(sender), Some(bytes)) = (sender, self.datagrams.head_payload()) else {
            return true;
        };
        let release = sender.release(bytes, self.datagrams.waiting_bytes());
        if let Some(at) = release.filter(|at| *at > now) {
            self.paced_until = Some(at);
        }
        release.is_some_and(|at| at <= now)
    }

    /// What holds a datagram back that the window lets out.
    pub(super) fn bound_by_media(&self) -> Option<SndLim> {
        let sender = self.media.as_deref()?.sender()?;
        let bytes = self.datagrams.head_payload()?;
        let by_pacer = |at| self.paced_until.is_some_and(|paced| paced != at);
        Some(
            match sender.release(bytes, self.datagrams.waiting_bytes()) {
                None => SndLim::Window,
                // The pacer of the window has recorded a time of its own.
                Some(at) if !self.media_ignores_window() && by_pacer(at) => SndLim::Pacer,
                Some(_) => SndLim::Rate,
            },
        )
    }

    /// A packet leaves with a datagram of `bytes`.
    pub(super) fn on_media_sent(&mut self, now: Instant, bytes: u32) {
        if let Some(media) = &mut self.media {
            let number = self.spaces.data.sent.next_number();
            let buffered = self.datagrams.waiting_bytes() + u64::from(bytes);
            media.on_sent(now, number, bytes, buffered);
        }
    }

    /// An acknowledgement of the Data space has been processed, with its losses.
    pub(super) fn on_media_ack(
        &mut self,
        now: Instant,
        ack: &Ack,
        sample: Option<Duration>,
        marks: u64,
    ) {
        if let Some(media) = &mut self.media {
            media.on_ack(&Acknowledged {
                now,
                ack,
                delay: reported_delay(ack),
                packets: &self.acked,
                rtt: sample,
                marks,
            });
            self.report_to_media(now);
        }
    }

    /// The timer of media has expired.
    pub(super) fn on_media_timer(&mut self, now: Instant) {
        self.report_to_media(now);
        let media = self.media.as_deref_mut();
        let Some(sender) = media.and_then(Media::sender_mut) else {
            return;
        };
        if sender.deadline().is_some_and(|at| at <= now) {
            sender.on_deadline(now);
            self.statistics.timeouts += 1;
            self.events
                .push(now, EventMask::TIMEOUT, || Event::Timeout { backoff: 0 });
            self.push_media_state(now);
        }
    }

    /// When the timer of media expires.
    #[inline]
    pub(super) fn media_deadline(&self) -> Option<Instant> {
        self.media.as_deref().and_then(Media::deadline)
    }

    fn report_to_media(&mut self, now: Instant) {
        if self
            .media
            .as_deref_mut()
            .is_some_and(|media| media.report(now))
        {
            self.push_media_state(now);
        }
    }

    /// Emits the state of the controller of media.
    pub(super) fn push_media_state(&mut self, now: Instant) {
        let payload = self.config.max_datagram_payload();
        let buffered = self.datagrams.waiting_bytes();
        let media = self.media.as_deref();
        if let Some(sender) = media.and_then(Media::sender) {
            self.events.push(now, EventMask::CONTROLLER, || {
                Event::Rate(sender.state(buffered, payload))
            });
        }
    }

    /// Checks the receive timestamps of an ACK frame against what was asked for.
    ///
    /// # Errors
    /// A frame with more timestamps than max_receive_timestamps_per_ack
    /// (draft-ietf-quic-receive-ts §5).
    pub(super) fn check_timestamps(&self, ack: &Ack) -> Result<(), TransportError> {
        let most = self.config.media.as_deref();
        let most = most.map_or(0, |media| media.max_receive_timestamps_per_ack);
        let count = ack.timestamps().map_or(0, ReceiveTimestamps::count);
        if count > u64::from(most) {
            return Err(TransportError::protocol_violation(
                "the peer sends more receive timestamps than this end takes",
            ));
        }
        Ok(())
    }
}
