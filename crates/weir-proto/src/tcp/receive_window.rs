//! The window that a receiver advertises (RFC 9293 §3.8.6, RFC 7323 §2).

/// The largest window scale (RFC 7323 §2.3).
const MAX_SCALE: u8 = 14;

/// The receive buffer, and the part of it that was advertised to the sender.
///
/// The right edge of the window stays where it is until it can move by a segment or half of the
/// buffer, so that the window is never advertised in small steps (RFC 9293 §3.8.6.2.2).
#[derive(Clone, Copy, Debug)]
pub(super) struct ReceiveWindow {
    /// RCV.BUFF in octets.
    buffer: u64,
    scale: u8,
    /// RCV.NXT + RCV.WND as last advertised: the first octet that the sender may not send.
    edge: u64,
}

/// How full the receive buffer is.
#[derive(Clone, Copy, Debug)]
pub(super) struct Fill {
    /// RCV.NXT as a stream offset.
    pub(super) next: u64,
    /// RCV.USER: octets that arrived in order and that the application has not read.
    pub(super) unread: u64,
    /// Eff.snd.MSS in octets.
    pub(super) segment_size: u32,
}

impl ReceiveWindow {
    pub(super) fn new(buffer: u64) -> Self {
        let fits = |scale: &u8| u16::try_from(buffer >> scale).is_ok();
        Self {
            buffer,
            scale: (0..MAX_SCALE).find(fits).unwrap_or(MAX_SCALE),
            edge: 0,
        }
    }

    /// The window scale to offer: the smallest with which the whole buffer can be advertised.
    pub(super) const fn scale(&self) -> u8 {
        self.scale
    }

    /// Octets that can still be stored.
    pub(super) const fn room(&self, unread: u64) -> u64 {
        self.buffer.saturating_sub(unread)
    }

    /// RCV.WND as last advertised.
    const fn offered(&self, next: u64) -> u64 {
        self.edge.saturating_sub(next)
    }

    /// min(Fr * RCV.BUFF, Eff.snd.MSS) with Fr = 1/2 (RFC 9293 §3.8.6.2.2).
    fn least_step(&self, segment_size: u32) -> u64 {
        (self.buffer / 2).min(u64::from(segment_size)).max(1)
    }

    fn can_move(&self, fill: Fill) -> bool {
        let step = self.least_step(fill.segment_size);
        self.room(fill.unread) >= self.offered(fill.next).saturating_add(step)
    }

    /// The window field of a segment that leaves; a SYN's is not scaled (RFC 7323 §2.2).
    pub(super) fn advertise(&mut self, fill: Fill, syn: bool) -> u16 {
        let window = if self.can_move(fill) {
            self.room(fill.unread)
        } else {
            self.offered(fill.next)
        };
        let scale = if syn { 0 } else { self.scale };
        let field = (window >> scale).min(u64::from(u16::MAX));
        self.edge = fill.next.saturating_add(field << scale);
        field as u16
    }

    /// True if the application has read so much that the sender should get a window update at once,
    /// because its window was closed or smaller than a segment.
    pub(super) fn wants_update(&self, fill: Fill) -> bool {
        self.offered(fill.next) < u64::from(fill.segment_size) && self.can_move(fill)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn fill(next: u64, unread: u64) -> Fill {
        Fill {
            next,
            unread,
            segment_size: 1000,
        }
    }

    #[test]
    fn the_scale_is_the_smallest_that_can_state_the_buffer() {
        for (buffer, scale) in [
            (1, 0),
            (65_535, 0),
            (65_536, 1),
            (6_000_000, 7),
            (65_535 << 14, 14),
            (1 << 40, 14),
        ] {
            assert_eq!(ReceiveWindow::new(buffer).scale(), scale, "{buffer}");
        }
    }

    #[test]
    fn the_right_edge_moves_by_a_segment_or_half_the_buffer() {
        // RFC 9293 §3.8.6.2.2, worked by hand: a buffer of 4000, segments of 1000.
        let mut window = ReceiveWindow::new(4000);
        assert_eq!(window.advertise(fill(0, 0), false), 4000);
        // 600 octets arrive and are read: 600 < 1000, so the edge stays at 4000.
        assert_eq!(window.advertise(fill(600, 0), false), 3400);
        // 400 more: 1000 are free, so the edge moves to 5000.
        assert_eq!(window.advertise(fill(1000, 0), false), 4000);
        // A buffer of 1000: half of it is less than a segment.
        let mut window = ReceiveWindow::new(1000);
        assert_eq!(window.advertise(fill(0, 0), false), 1000);
        assert_eq!(window.advertise(fill(499, 0), false), 501);
        assert_eq!(window.advertise(fill(500, 0), false), 1000);
    }

    #[test]
    fn a_closed_window_opens_with_an_update_when_a_segment_was_read() {
        let mut window = ReceiveWindow::new(3000);
        window.advertise(fill(0, 0), false);
        assert_eq!(window.advertise(fill(3000, 3000), false), 0);
        assert!(!window.wants_update(fill(3000, 2001)), "999 are free");
        assert_eq!(window.advertise(fill(3000, 2001), false), 0);
        assert!(window.wants_update(fill(3000, 2000)), "a segment is free");
        assert_eq!(window.advertise(fill(3000, 2000), false), 1000);
        // A sender that may still send a segment gets the new window with the next acknowledgement.
        assert!(!window.wants_update(fill(3000, 0)));
    }

    #[test]
    fn the_smallest_buffers_open_again() {
        for buffer in 1..20 {
            let mut window = ReceiveWindow::new(buffer);
            assert_eq!(u64::from(window.advertise(fill(0, 0), false)), buffer);
            assert_eq!(window.advertise(fill(buffer, buffer), false), 0);
            assert!(window.wants_update(fill(buffer, 0)), "{buffer}");
            assert_eq!(u64::from(window.advertise(fill(buffer, 0), false)), buffer);
        }
    }

    #[test]
    fn a_scaled_window_never_promises_more_than_there_is() {
        let buffer = 1_000_001;
        let mut window = ReceiveWindow::new(buffer);
        let scale = window.scale();
        for (next, unread) in [(0, 0), (1000, 1000), (3000, 777), (900_000, 897_000)] {
            let field = u64::from(window.advertise(fill(next, unread), false));
            assert!(field << scale <= window.room(unread), "{next}, {unread}");
        }
        assert_eq!(window.advertise(fill(1_000_000, 0), true), u16::MAX);
    }
}
