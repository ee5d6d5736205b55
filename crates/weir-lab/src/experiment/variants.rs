//! Variants: values of the scenario that a document leaves open.
//!
//! A document rarely says all that decides its result. What it leaves open is listed as variants,
//! and each run that has them is made in each variant. A variant counts if every row that is
//! `required` lies within its tolerance in it. Rows are then judged in all variants that count: a
//! statement that holds in some of them and not in others is *undetermined* by the document.
//!
//! A scan makes the runs of a row of variants that a design chooses, as a sweep does, and finds
//! those that count.

use super::plot_plan::PlotPlan;
use super::published::{Published, Row, RunPlan};
use super::row_result::{InVariant, RowResult};
use super::variant_plan::Variant;
use crate::scenario::error::suggestion;
use crate::toml_file::Invalid;
use crate::verdict::Outcome;
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeSet;
use weir_proto::settings::shortened;

/// A variant and its verdict.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct VariantResult {
    /// The variant.
    #[serde(flatten)]
    pub variant: Variant,
    /// True if every required row lies within its tolerance.
    pub counts: bool,
    /// The required rows that lie outside.
    pub outside: Vec<String>,
}

impl Published {
    /// True if the row's number differs from variant to variant: it is measured in a run that has
    /// variants, or derived from such a row.
    pub(super) fn varies(&self, row: &Row) -> bool {
        let has_variants = |name: &String| {
            let mut runs = self.runs.iter();
            runs.any(|run| run.variants && run.name == *name)
        };
        row.measure.as_ref().is_some_and(|measure| {
            measure.run.as_ref().is_some_and(has_variants)
                || measure.between.iter().any(|id| {
                    let other = self.row(id).filter(|other| other.id != row.id);
                    other.is_some_and(|other| self.varies(other))
                })
        })
    }

    /// The plan of a scan: its points are the variants, the required rows and those that the
    /// pictures of variants show are measured, and only runs that these need are made.
    ///
    /// # Errors
    /// If the file has no scan of this name.
    pub(super) fn scanned(mut self, name: &str) -> Result<Self, Invalid> {
        let Some(scan) = self.scans.iter().find(|scan| scan.name == name).cloned() else {
            let known: Vec<&str> = self.scans.iter().map(|scan| scan.name.as_str()).collect();
            let known = suggestion(name, "scans", &known);
            return Err(Invalid::here(format!(
                "it has no scan \"{}\"; {known}",
                shortened(name)
            )));
        };
        self.variants = scan.variants()?;
        self.plots.retain(PlotPlan::shows_variants);
        let shown: BTreeSet<&String> = self
            .plots
            .iter()
            .flat_map(PlotPlan::rows)
            .map(|(_, id)| id)
            .collect();
        let mut needed: BTreeSet<String> = self
            .rows
            .iter()
            .filter(|row| self.varies(row) && (row.required || shown.contains(&row.id)))
            .map(|row| row.id.clone())
            .collect();
        // Rows of rows of rows: each pass adds one level.
        loop {
            let of_rows = self.rows.iter().filter(|row| needed.contains(&row.id));
            let between = of_rows.flat_map(|row| row.measure.iter().flat_map(|m| &m.between));
            let more: Vec<String> = between
                .filter(|id| !needed.contains(*id))
                .cloned()
                .collect();
            if more.is_empty() {
                break;
            }
            needed.extend(more);
        }
        self.rows.retain(|row| needed.contains(&row.id));
        let measured: BTreeSet<String> = self
            .rows
            .iter()
            .filter_map(|row| row.measure.as_ref()?.run.clone())
            .collect();
        self.runs.retain(|run| measured.contains(&run.name));
        let count = scan.seeds[1] - scan.seeds[0] + 1;
        for run in &mut self.runs {
            run.seeds = run.seeds.map(|_| count);
        }
        self.findings.clear();
        Ok(self)
    }

    /// The first seed of the runs, in the scan of this name.
    pub(super) fn first_seed(&self, scan: Option<&str>) -> u64 {
        let scan = self
            .scans
            .iter()
            .find(|own| Some(own.name.as_str()) == scan);
        scan.map_or(1, |scan| u64::from(scan.seeds[0]))
    }

    /// The number of variants of a run; one for a run without.
    pub(super) fn variants_of(&self, run: &RunPlan) -> usize {
        if run.variants { self.variants.len() } else { 1 }
    }

    /// Combines the rows of all variants: a row that varies is judged in those that count.
    pub(super) fn combined(
        &self,
        in_variants: &[Vec<RowResult>],
    ) -> (Vec<RowResult>, Vec<VariantResult>) {
        let variants: Vec<VariantResult> = self
            .variants
            .iter()
            .zip(in_variants)
            .map(|(variant, rows)| {
                let required = self.rows.iter().zip(rows).filter(|(row, _)| row.required);
                let outside =
                    required.filter(|(_, result)| result.verdict.outcome() != Outcome::Holds);
                let outside: Vec<String> = outside.map(|(row, _)| row.id.clone()).collect();
                VariantResult {
                    variant: variant.clone(),
                    counts: outside.is_empty(),
                    outside,
                }
            })
            .collect();
        let first = variants
            .iter()
            .position(|variant| variant.counts)
            .unwrap_or(0);
        let mut combined = in_variants[first].clone();
        for (number, row) in self.rows.iter().enumerate() {
            if !self.varies(row) {
                continue;
            }
            let of_variant = |(variant, rows): (&VariantResult, &Vec<RowResult>)| {
                let result = &rows[number];
                InVariant {
                    variant: variant.variant.name.clone(),
                    counts: variant.counts,
                    measured: result.measured,
                    verdict: result.verdict,
                    seeds: result.seeds,
                }
            };
            combined[number].variants = variants.iter().zip(in_variants).map(of_variant).collect();
            combined[number].judge_variants(&row.explanation);
        }
        (combined, variants)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::row_result::judge;
    use crate::experiment::run_data::{Observation, RunData, Runs, Runset};
    use crate::verdict::Verdict;

    const FILE: &str = r#"
document = { title = "t", source = "s", about = "a" }
[[run]]
name = "subject"
scenario = "s.toml"
variants = true
about = "a"
[[run]]
name = "other"
scenario = "s.toml"
variants = true
about = "a"
[[variant]]
name = "A"
set = ["x=1"]
[[variant]]
name = "B"
set = ["x=2"]
[[variant]]
name = "C"
set = ["x=3"]
[[scan]]
name = "all"
design = "sobol"
points = 4
seeds = [101, 104]
parameter = [{ path = "x", from = 1.0, to = 2.0 }, { path = "y", values = ["a"] }]
[[row]]
id = "number"
place = "p"
text = "the document's number"
kind = "value"
published = 100
within = 20
required = true
unit = "bit/s"
measure = { take = "throughput", run = "subject" }
[[row]]
id = "beside"
place = "p"
text = "the other's"
kind = "quantity"
unit = "bit/s"
measure = { take = "throughput", run = "other" }
[[row]]
id = "less"
place = "p"
text = "the other has less"
kind = "claim"
at_most = 0
unit = "bit/s"
measure = { take = "difference", between = ["beside", "number"] }
[[row]]
id = "law"
place = "p"
text = "does not vary"
kind = "check"
at_least = 0
unit = "Mbit/s"
measure = { take = "law", law = "tfrc", line = "kernel_rate_bps", arguments = { s = "1400", rtt = "2ms", p = "0.1" } }
"#;

    fn published() -> Published {
        Published::parse("x/published.toml", FILE).unwrap()
    }

    /// The combined rows for the throughputs of both runs in each variant.
    fn combined(
        published: &Published,
        rates: &[(f64, f64)],
    ) -> (Vec<RowResult>, Vec<VariantResult>) {
        let judged = rates.iter().map(|(subject, other)| {
            let runset = |name: &str, throughput_bps| {
                let data = RunData {
                    throughput_bps,
                    ..RunData::default()
                };
                let runs = vec![Observation::of(published, name, data, false)];
                (
                    name.to_owned(),
                    Runset {
                        runs,
                        seeded: false,
                    },
                )
            };
            let runs = Runs::from([runset("subject", *subject), runset("other", *other)]);
            judge(&published.rows, &runs).unwrap()
        });
        published.combined(&judged.collect::<Vec<_>>())
    }

    fn verdict(rows: &[RowResult], id: &str) -> Verdict {
        rows.iter().find(|row| row.id == id).unwrap().verdict
    }

    #[test]
    fn a_statement_is_judged_in_the_variants_that_count() {
        let published = published();
        // In the third the document's number is not reached, so its contradiction does not count.
        let (rows, variants) = combined(&published, &[(100.0, 50.0), (110.0, 60.0), (10.0, 50.0)]);
        assert_eq!(verdict(&rows, "less"), Verdict::Holds);
        assert_eq!(verdict(&rows, "number"), Verdict::Agrees);
        let counts: Vec<bool> = variants.iter().map(|variant| variant.counts).collect();
        assert_eq!(counts, [true, true, false]);
        assert_eq!(variants[2].outside, ["number"]);
        assert_eq!(rows[0].measured_text(), "100 to 110 bit/s");
        assert_eq!(rows[2].share_text(), "2 of 2 variants");
    }

    #[test]
    fn a_statement_that_turns_between_variants_is_undetermined() {
        let published = published();
        let (rows, _) = combined(&published, &[(100.0, 50.0), (110.0, 160.0), (90.0, 80.0)]);
        assert_eq!(verdict(&rows, "less"), Verdict::Undetermined);
        assert_eq!(rows[2].share_text(), "2 of 3 variants");
        assert_eq!(rows[2].range(), Some([-50.0, 50.0]));
        // One that holds in none differs.
        let (rows, _) = combined(&published, &[(100.0, 150.0), (110.0, 160.0), (90.0, 180.0)]);
        assert_eq!(verdict(&rows, "less"), Verdict::Differs);
    }

    #[test]
    fn without_a_variant_that_counts_the_required_row_differs() {
        let published = published();
        let (rows, variants) = combined(&published, &[(10.0, 5.0), (11.0, 6.0), (9.0, 8.0)]);
        assert!(variants.iter().all(|variant| !variant.counts));
        assert_eq!(verdict(&rows, "number"), Verdict::Differs);
        assert_eq!(rows[0].share_text(), "0 of 3 variants");
    }

    #[test]
    fn what_no_variant_changes_has_no_range() {
        let published = published();
        let (rows, _) = combined(&published, &[(100.0, 50.0), (110.0, 60.0), (90.0, 50.0)]);
        assert!(rows[3].variants.is_empty() && rows[3].range().is_none());
        assert_eq!(verdict(&rows, "law"), Verdict::Checked);
    }

    #[test]
    fn a_scan_has_the_points_of_its_design_and_what_the_required_rows_need() {
        let scanned = published().scanned("all").unwrap();
        let names: Vec<&str> = scanned.variants.iter().map(|v| v.name.as_str()).collect();
        assert_eq!(names, ["1", "2", "3", "4"]);
        for variant in &scanned.variants {
            let (path, value) = variant.set[0].split_once('=').unwrap();
            let value: f64 = value.parse().unwrap();
            assert!(path == "x" && (1.0..=2.0).contains(&value), "{variant:?}");
            assert_eq!(variant.set[1], "y=\"a\"");
        }
        // The claim is not required and no picture shows it: its run is not made.
        let rows: Vec<&str> = scanned.rows.iter().map(|row| row.id.as_str()).collect();
        let runs: Vec<&str> = scanned.runs.iter().map(|run| run.name.as_str()).collect();
        assert_eq!((rows, runs), (vec!["number"], vec!["subject"]));
        assert_eq!(
            (scanned.first_seed(Some("all")), scanned.first_seed(None)),
            (101, 1)
        );
    }

    #[test]
    fn wrong_variants_and_scans_are_shown() {
        for (from, to, message) in [
            (
                "name = \"B\"",
                "name = \"A\"",
                "two variants are called \"A\"",
            ),
            (
                "seeds = [101, 104]",
                "seeds = [1, 4]",
                "beyond the 1 seeds that judge",
            ),
            ("design = \"sobol\"\n", "", "a scan draws its points"),
            ("points = 4", "points = 0", "points = 0, expected 1 to"),
            (
                "kind = \"quantity\"",
                "kind = \"quantity\"\nrequired = true",
                "a required row is judged",
            ),
            (
                "from = 1.0, to = 2.0",
                "from = 1.0",
                "it has \"from\" and no \"to\"",
            ),
        ] {
            let text = FILE.replacen(from, to, 1);
            assert_ne!(text, FILE);
            let error = Published::parse("x/published.toml", &text)
                .unwrap_err()
                .to_string();
            assert!(error.contains(message), "{error}");
        }
        let error = published().scanned("al").unwrap_err().message;
        assert_eq!(
            error,
            "it has no scan \"al\"; did you mean \"all\"? scans: all"
        );
        let without = FILE.split("[[variant]]").next().unwrap().to_owned()
            + "[[row]]\nid='r'\nplace='p'\ntext='t'\nkind='input'\n";
        let error = Published::parse("x/published.toml", &without)
            .unwrap_err()
            .to_string();
        assert!(error.contains("no [[variant]]"), "{error}");
    }
}
