//! Checks that the numbers of an explanation are in the rows that it names.

use weir_lab::diagnosis::{Finding, Trace};

/// Computes every number in the sentences of a finding again; returns how many are of rows.
pub(crate) fn found_again(trace: &Trace<'_>, finding: &Finding) -> usize {
    let mut checked = 0;
    for statement in std::iter::once(&finding.symptom).chain(&finding.chain) {
        for evidence in &statement.evidence {
            let (shown, text) = (evidence.shown(), &statement.text);
            assert!(text.contains(&shown), "{shown}: {text}");
            let of_rows = evidence.rows.zip(evidence.statistic.as_ref());
            let Some(([first, last], statistic)) = of_rows else {
                continue;
            };
            let table = trace.tables.get(&evidence.table).expect("a table");
            let rows = first..last + 1;
            let again = statistic.of(table, &evidence.column, rows, trace.duration_s);
            assert_eq!(again, Some(evidence.value), "{evidence:?}");
            checked += 1;
        }
    }
    checked
}
