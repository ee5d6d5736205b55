//! The columns of tables of runs, `runs.parquet` and the datasets of sweeps: what a run is, and the
//! numbers of its summary under the names on the way to them.
//!
//! A distribution has a column for each of its numbers, such as `rtt_s_p95`.

use crate::table::ColumnNote;

/// A column: its name, its unit and what it is.
type Measure = (&'static str, &'static str, &'static str);

/// What a run and its row are.
#[rustfmt::skip]
pub(super) const RUN_COLUMNS: &[Measure] = &[
    ("folder", "", "the folder of the run, below that of the table"),
    ("scenario", "", "the name of the scenario's file"),
    ("run", "", "the number of the run in its plan"),
    ("seed", "", "the seed of the run"),
    ("status", "", "done or failed"),
    ("error", "", "why the run has no result"),
    ("kind", "", "what the row is of: flow, transfers (a flow with arrivals, all its connections together), group, link, total (all flows together), or run for one that failed"),
    ("name", "", "the name of the flow, group or link"),
    ("duration_s", "s", "virtual time of the run"),
    ("warmup_s", "s", "time of the run before the statistics begin"),
    ("scenario_hash", "", "BLAKE3 of the resolved scenario"),
    ("build", "", "the program that made the run"),
    ("commit", "", "the commit of its source"),
];

/// The numbers and words of summaries; of a distribution without the ending.
#[rustfmt::skip]
pub(super) const MEASURES: &[Measure] = &[
    ("throughput_bps", "bit/s", "transport packets that the receiver got; of a group a distribution over its members"),
    ("goodput_bps", "bit/s", "application data delivered for the first time; of a group a distribution over its members"),
    ("active_s", "s", "time in which the flow was alive, by which its rates are divided"),
    ("completion_time_s", "s", "from the start of a finite flow to the delivery of its last octet; of transfers and groups a distribution over those that completed"),
    ("startup_s", "s", "from the opening of the connection until 65,536 octets were delivered"),
    ("recovery_s", "s", "from the beginning of the longest time without delivery until a second has 80 % of the goodput before"),
    ("flows", "flows", "flows, each transfer of a flow with arrivals counted"),
    ("active", "flows", "of the flows of a group, those that were alive between the warm-up and the end"),
    ("transfers", "transfers", "transfers that began after the warm-up"),
    ("completed", "flows", "transfers, or flows of a group, that delivered everything"),
    ("size_bytes", "bytes", "sizes of the transfers that began"),
    ("jain_index", "", "Jain's fairness index of the goodputs of flows without arrivals"),
    ("packets_sent", "packets", "packets that the sender handed over"),
    ("packets_lost", "packets", "packets that the transport found to be lost"),
    ("packets_received", "packets", "packets that the receiver's transport got"),
    ("marks", "packets", "packets that arrived with Congestion Experienced; of a link those that it marked"),
    ("loss_event_rate", "", "loss events or congestion events per data packet sent"),
    ("retransmissions", "packets", "packets whose data was sent before, of transfers and groups"),
    ("retransmissions_packets", "packets", "packets whose data was sent before"),
    ("retransmissions_by_timeout", "packets", "of these, those that a timeout presumed lost"),
    ("retransmissions_timeouts", "", "timeouts of the sender"),
    ("timeouts", "", "timeouts of the senders, of transfers and groups"),
    ("rtt_s", "s", "round-trip times as the sender measured them; of a group the members' means"),
    ("one_way_delay_s", "s", "from the sender's transport to the receiver's; of a group the members' means"),
    ("queueing_delay_s", "s", "time in queues of links and 802.11 stations; of a group the members' means"),
    ("jitter_s", "s", "RFC 3550's interarrival jitter after each packet; of a group the members' means"),
    ("latency_under_load_base_rtt_s", "s", "round-trip time of the idle path"),
    ("latency_under_load_added_p50_s", "s", "median of the round-trip times less that of the idle path"),
    ("latency_under_load_added_p95_s", "s", "95th percentile of the round-trip times less that of the idle path"),
    ("rate_bps", "bit/s", "the controller's allowed rate, or its window over the smoothed round-trip time"),
    ("rate_bps_cov", "", "coefficient of variation of the controller's rate"),
    ("ended", "", "how the connection ended, if not in good order"),
    ("audio_units", "", "units of audio, frames or pages, that were due"),
    ("audio_on_time", "", "units of audio that were played from their own packets"),
    ("audio_repaired", "", "units of audio that forward error correction recovered"),
    ("audio_late", "", "units of audio that arrived after their playout time"),
    ("audio_lost", "", "units of audio that never arrived"),
    ("audio_corrupted", "", "units of audio that were played though damaged"),
    ("audio_gaps", "", "runs of units of audio that were not played"),
    ("audio_longest_gap_s", "s", "the longest gap in the audio"),
    ("audio_silence_s", "s", "all gaps in the audio together"),
    ("requests_requests", "requests", "requests that began after the warm-up"),
    ("requests_completed", "requests", "requests whose whole response came"),
    ("requests_completion_time_s", "s", "from the first byte of a request to the last of its response"),
    ("requests_request_bytes_mean", "bytes", "mean size of the requests"),
    ("requests_response_bytes_mean", "bytes", "mean size of the responses"),
    ("video_frames", "frames", "frames of video that were captured"),
    ("video_not_encoded", "frames", "frames that were not encoded, because too much waited in the sender"),
    ("video_complete", "frames", "frames of which every packet arrived"),
    ("video_late", "frames", "complete frames whose delay was longer than the deadline"),
    ("video_lost", "frames", "frames that were encoded and never complete"),
    ("video_encoder_rate_bps", "bit/s", "mean of the encoder's rate"),
    ("video_frame_delay_s", "s", "from the capture of a frame until its last packet arrived"),
    ("video_freezes", "", "freezes of the video"),
    ("video_longest_freeze_s", "s", "the longest freeze"),
    ("video_frozen_s", "s", "all freezes together"),
    ("utilisation", "", "share of the time that a link spent transmitting; of a station its share of the air"),
    ("drops", "packets", "packets that a link dropped, for any reason"),
    ("queue_drops", "packets", "of these, those that the queue dropped: full, or by active queue management"),
    ("wire_losses", "packets", "of the drops, those that were lost on the wire: by the loss model, in an outage, for their ECN field or by a damaged IP header"),
    ("queue_bytes", "bytes", "octets in the queue of a link"),
    ("impaired_duplicated", "packets", "copies that came into being on a link"),
    ("impaired_damaged", "packets", "packets that were damaged on a link and went on"),
    ("impaired_reordered", "packets", "packets that a link did not delay"),
    ("impaired_bleached", "packets", "packets whose ECN field a link cleared"),
    ("frames_sent", "frames", "802.11 frames that a station sent, retries included"),
    ("frames_failed", "frames", "802.11 frames that were not acknowledged"),
    ("frames_collided", "frames", "of these, those that met another station's frame"),
];

/// Columns of which there are several, by how their names begin, and what stands behind it.
#[rustfmt::skip]
pub(super) const FAMILIES: &[(&str, &str, &str)] = &[
    ("goodput_cov_", "SECONDS", "coefficient of variation of the goodput over intervals of so many seconds"),
    ("bound_share_", "BOUND", "share of the time in which this held the sender back; of transfers of the time of all connections together, of groups the mean over the members"),
];

/// The numbers of a distribution: the ending, and which it is.
pub(super) const OF_DISTRIBUTIONS: &[(&str, &str)] = &[
    ("_min", "smallest"),
    ("_mean", "mean"),
    ("_p50", "median"),
    ("_p95", "95th percentile"),
    ("_p99", "99th percentile"),
    ("_max", "largest"),
    ("_stddev", "standard deviation"),
];

/// What a column of a table of runs is, by its name; `None` for one that is no measure.
pub fn column_of_runs(name: &str) -> Option<ColumnNote> {
    let known = |wanted: &str| {
        let mut all = RUN_COLUMNS.iter().chain(MEASURES);
        all.find(|(known, ..)| *known == wanted)
    };
    let note = |unit, doc: String| ColumnNote {
        name: name.to_owned(),
        unit,
        doc,
    };
    if let Some((_, unit, doc)) = known(name) {
        return Some(note(unit, (*doc).to_owned()));
    }
    let mut families = FAMILIES.iter();
    if let Some((.., doc)) = families.find(|(begin, ..)| name.starts_with(begin)) {
        return Some(note("", (*doc).to_owned()));
    }
    OF_DISTRIBUTIONS.iter().find_map(|(ending, which)| {
        let (_, unit, doc) = known(name.strip_suffix(ending)?)?;
        Some(note(unit, format!("{which}: {doc}")))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::{FrameCounts, ImpairmentCounts};
    use crate::scenario::measures_of;
    use crate::sweep::measure_columns;
    use std::collections::BTreeSet;

    #[test]
    fn each_number_of_a_summary_is_described() {
        let parts = ["flow", "transfers", "link", "group", "total"].into_iter();
        let of_parts = parts.flat_map(|part| measures_of(part).iter());
        let mut names: Vec<String> = of_parts.map(|path| path.replace('.', "_")).collect();
        names.extend(measure_columns());
        for (part, value) in [
            (
                "impaired",
                serde_json::to_value(ImpairmentCounts::default()),
            ),
            ("frames", serde_json::to_value(FrameCounts::default())),
        ] {
            let value = value.unwrap();
            let keys = value.as_object().unwrap().keys();
            names.extend(keys.map(|key| format!("{part}_{key}")));
        }
        names.extend(["goodput_cov_0.5", "bound_share_window", "ended"].map(str::to_owned));
        for name in &names {
            let note = column_of_runs(name);
            assert!(note.is_some_and(|note| !note.doc.is_empty()), "{name}");
        }
        assert_eq!(column_of_runs("flow.stream.transport.controller"), None);
        let p95 = column_of_runs("rtt_s_p95").unwrap();
        assert_eq!(p95.unit, "s");
        assert!(
            p95.doc.starts_with("95th percentile: round-trip"),
            "{p95:?}"
        );
        // And nothing else is.
        let used = |measure: &&Measure| {
            let endings = OF_DISTRIBUTIONS.iter().map(|(ending, _)| *ending);
            let mut names_of = endings.chain([""]).map(|end| format!("{}{end}", measure.0));
            names_of.any(|name| names.contains(&name))
        };
        let unused = MEASURES.iter().filter(|measure| !used(measure));
        assert_eq!(unused.count(), 0);
        let different: BTreeSet<_> = MEASURES.iter().map(|measure| measure.0).collect();
        assert_eq!(different.len(), MEASURES.len());
    }
}
