//! A run in slices: the worker says how far it goes, and sees a cancellation between two slices.

use crate::problem::{failed, wrong};
use crate::text::{SCENARIO, overrides_of, read};
use crate::views::Views;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::sync::Arc;
use wasm_bindgen::prelude::wasm_bindgen;
use weir_lab::diagnosis::{Trace, explain, explanation_json};
use weir_lab::run::{
    ProcessWatch, RunError, RunOptions, Scope, Simulation, StageSpan, TraceLevel, TransportRegistry,
};
use weir_lab::scenario::files::Files;
use weir_lab::scenario::{Override, parse_with_files};
use weir_proto::time::{Duration, Instant};

/// What the page asks of a run.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
struct Options {
    /// Settings over the text, in their order.
    sets: Vec<(String, String)>,
    /// The seed, in place of the scenario's.
    seed: Option<u64>,
    /// The files that the scenario refers to.
    files: BTreeMap<String, String>,
    /// Only the summary: no tables, no explanation.
    summary_only: bool,
    /// Adds the ways of packets over the links.
    packets: Option<Packets>,
    /// Rows of flows and links above which their tables are thinned.
    max_rows: Option<u64>,
}

/// Which packets are followed.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
struct Packets {
    /// From this time on, in seconds.
    from_s: f64,
    /// Up to this time; the end of the run if absent.
    to_s: Option<f64>,
    /// The most rows.
    max_rows: u64,
}

impl Default for Packets {
    fn default() -> Self {
        Self {
            from_s: 0.0,
            to_s: None,
            max_rows: MAX_STAGES,
        }
    }
}

impl Packets {
    fn span(self) -> StageSpan {
        let at = |seconds: f64| Instant::ZERO + Duration::from_secs_f64(seconds.max(0.0));
        StageSpan {
            from: at(self.from_s),
            to: self.to_s.map_or(Instant::FAR_FUTURE, at),
            max_rows: self.max_rows.min(MAX_STAGES),
        }
    }
}

/// The most rows of packets on their way: some tens of megabytes.
const MAX_STAGES: u64 = 250_000;

/// A run that goes on.
#[wasm_bindgen]
pub struct LiveRun {
    simulation: Simulation,
    kept: Kept,
}

/// What is kept of a run.
#[derive(Clone, Copy)]
struct Kept {
    summary_only: bool,
    max_rows: Option<u64>,
    stages: Option<StageSpan>,
}

impl Kept {
    fn options(self) -> RunOptions<'static> {
        RunOptions {
            trace: if self.summary_only {
                TraceLevel::Summary
            } else {
                TraceLevel::Full
            },
            max_rows: self.max_rows,
            stages: self.stages,
            registry: TransportRegistry {
                // The page ends a run that takes too long.
                process: ProcessWatch::Caller,
                ..TransportRegistry::default()
            },
            ..RunOptions::default()
        }
    }
}

#[wasm_bindgen]
impl LiveRun {
    /// Reads a scenario and builds its network at time zero.
    #[wasm_bindgen(constructor)]
    pub fn new(toml: &str, options: &str) -> Result<LiveRun, String> {
        let options: Options = read(options, "options of a run")?;
        let mut sets = overrides_of(options.sets);
        sets.extend(options.seed.map(|seed| Override {
            path: "run.seed".to_owned(),
            value: seed.to_string(),
        }));
        let files = Files::Memory(Arc::new(options.files));
        let scenario = parse_with_files(toml, SCENARIO, &sets, &files);
        let scenario = scenario.map_err(|error| wrong(&error))?;
        let kept = Kept {
            summary_only: options.summary_only,
            max_rows: options.max_rows,
            stages: options.packets.map(Packets::span),
        };
        let simulation = Simulation::new(&scenario, &kept.options(), Scope::Whole);
        Ok(Self {
            simulation: simulation.map_err(|error| failed(error.to_string()))?,
            kept,
        })
    }

    /// The end of the run, in seconds.
    #[wasm_bindgen(getter, js_name = endS)]
    pub fn end_s(&self) -> f64 {
        self.simulation.end().as_secs_f64()
    }

    /// The time reached, in seconds.
    #[wasm_bindgen(getter, js_name = nowS)]
    pub fn now_s(&self) -> f64 {
        self.simulation.now().as_secs_f64()
    }

    /// Simulates so many pieces of at most a thousandth of the run; true at its end. The numbers of
    /// pieces do not change the run.
    pub fn advance(&mut self, pieces: u32) -> Result<bool, String> {
        let (options, end) = (self.kept.options(), self.simulation.end());
        let advanced = self.simulation.advance_some(&options, end, pieces);
        advanced.map_err(|error: RunError| failed(error.to_string()))
    }

    /// The result.
    pub fn finish(self) -> Result<FinishedRun, String> {
        let output = self.simulation.finish_within(&self.kept.options());
        let mut output = output.map_err(|error| failed(error.to_string()))?;
        let explanation = if self.kept.summary_only {
            String::new()
        } else {
            explanation_json(&explain(&Trace::of_run(&output)), None)
        };
        let stages = output.stages.take();
        let left_out_from = stages.as_ref().and_then(|stages| stages.left_out_from);
        let stages = stages.map(|stages| (STAGES.to_owned(), stages.table));
        Ok(FinishedRun {
            summary: output.summary.to_json(),
            resolved: output.scenario.resolved_toml(),
            explanation,
            stages: Views::new(stages.into_iter().collect()),
            left_out_from_s: left_out_from.map(Instant::as_secs_f64),
            views: Views::new(output.into_tables()),
        })
    }
}

/// A run that has ended.
#[wasm_bindgen]
pub struct FinishedRun {
    summary: String,
    resolved: String,
    explanation: String,
    views: Views,
    stages: Views,
    left_out_from_s: Option<f64>,
}

/// The name of the table of packets on their way.
const STAGES: &str = "stages";

#[wasm_bindgen]
impl FinishedRun {
    /// `summary.json`.
    #[wasm_bindgen(getter, js_name = summaryJson)]
    pub fn summary_json(&self) -> String {
        self.summary.clone()
    }

    /// The scenario with all defaults filled in.
    #[wasm_bindgen(getter, js_name = resolvedToml)]
    pub fn resolved_toml(&self) -> String {
        self.resolved.clone()
    }

    /// What `weir explain --json` prints; empty for a run without tables.
    #[wasm_bindgen(getter, js_name = explanationJson)]
    pub fn explanation_json(&self) -> String {
        self.explanation.clone()
    }

    /// The tables: `{ name, rows, columns: { name, at, words? }[] }[]`. `at` is the address of
    /// `rows` numbers of 64 bits, or of `rows` indices of 32 bits into `words`. Valid as long as
    /// this object.
    pub fn tables(&self) -> String {
        self.views.places()
    }

    /// The table of packets on their way, in the same form; empty unless the run was to have it.
    pub fn stages(&self) -> String {
        self.stages.places()
    }

    /// When that table was full.
    #[wasm_bindgen(getter, js_name = leftOutFromS)]
    pub fn left_out_from_s(&self) -> Option<f64> {
        self.left_out_from_s
    }
}
