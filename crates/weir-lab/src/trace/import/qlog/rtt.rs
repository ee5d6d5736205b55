//! The round-trip time from acknowledgements (RFC 9002 §5), for files without metrics.

#[expect(
    clippy::struct_field_names,
    reason = "the unit is the last part of each name"
)]
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct RttEstimate {
    min_s: Option<f64>,
    /// The last sample less the delay that the peer reported, in seconds.
    pub(super) adjusted_s: Option<f64>,
    pub(super) smoothed_s: Option<f64>,
}

impl RttEstimate {
    /// Takes a sample and the delay of its acknowledgement, both in seconds.
    pub(super) fn on_sample(&mut self, sample_s: f64, ack_delay_s: f64) {
        if !sample_s.is_finite() || sample_s <= 0.0 {
            return;
        }
        let min_s = self.min_s.map_or(sample_s, |least| least.min(sample_s));
        self.min_s = Some(min_s);
        // RFC 9002 §5.3: not below the smallest sample. The delay is not limited to max_ack_delay,
        // which few files have.
        let less = sample_s - ack_delay_s.max(0.0);
        let adjusted_s = if less >= min_s { less } else { sample_s };
        self.adjusted_s = Some(adjusted_s);
        let smoothed = self
            .smoothed_s
            .map_or(adjusted_s, |before| 0.875 * before + 0.125 * adjusted_s);
        self.smoothed_s = Some(smoothed);
    }
}
