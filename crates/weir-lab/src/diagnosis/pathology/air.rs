//! What goes wrong on an 802.11 medium.

use super::{Detector, any};
use crate::diagnosis::finding::{Finding, Pathology, Statement};
use crate::diagnosis::view::View;
use crate::summary::FrameCounts;

/// Stations that meet on the air.
pub(super) const CONTENTION: Detector = Detector {
    about: &Pathology {
        kind: "wifi_contention",
        title: "802.11 contention",
        definition: "At least 15 % of a station's frames meet another station's frame, of 100 frames or \
                     more.",
        citation: "IEEE 802.11-2020 §10.3.3; G. Bianchi, 2000",
        needs: &[],
    },
    applies: any,
    examine: |view| {
        stations(
            view,
            CONTENTION.about,
            |frames| frames.collided as f64,
            0.15,
        )
    },
};

/// Frames that are sent again and again.
pub(super) const RETRIES: Detector = Detector {
    about: &Pathology {
        kind: "wifi_retries",
        title: "802.11 frame loss",
        definition: "At least 12 % of a station's frames, 100 or more, are not acknowledged for another \
                     reason than a collision.",
        citation: "IEEE 802.11-2020 §10.3.4.4; RFC 3819 §8.1",
        needs: &[],
    },
    applies: any,
    examine: |view| {
        stations(
            view,
            RETRIES.about,
            |frames| (frames.failed - frames.collided.min(frames.failed)) as f64,
            0.12,
        )
    },
};

/// Stations of which this count is at least this share of their frames.
fn stations(
    view: &View<'_>,
    about: &'static Pathology,
    count: impl Fn(&FrameCounts) -> f64,
    least: f64,
) -> Vec<Finding> {
    let stations = view.links.iter().filter_map(|link| {
        let frames = link.summary?.frames?;
        if frames.sent < 100 || count(&frames) < least * frames.sent as f64 {
            return None;
        }
        let of = |key: &str, value: u64| link.given(&format!("frames.{key}"), value as f64);
        let symptom = Statement::new(
            "Of {} frames {} were not acknowledged, {} of these because another station sent too.",
            vec![
                of("sent", frames.sent),
                of("failed", frames.failed),
                of("collided", frames.collided),
            ],
        );
        let severity = frames.failed as f64 / frames.sent as f64;
        let whole = [0.0, view.trace.duration_s];
        Some(Finding::new(about, &link.name, severity, symptom).over(whole))
    });
    stations.collect()
}
