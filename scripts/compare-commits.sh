#!/usr/bin/env bash
# Runs the same scenarios with two builds of the command and compares the runs pair by pair.
#
#     SCENARIOS="a.toml b.toml" SEEDS=1..20 THRESHOLD=2% scripts/compare-commits.sh BEFORE AFTER [REPORT.md]
#
# BEFORE and AFTER are programs. Ends with 3 if a measure differs by more than the threshold.
set -euo pipefail

[ $# -ge 2 ] || { sed -n '2,6s/^# \{0,1\}//p' "$0"; exit 2; }
before=$1 after=$2 report=${3:-comparison.md}
: "${SCENARIOS:?name the scenario files}"
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT

# Status 3 says that an expectation did not hold: the comparison is of the numbers.
runs() {
    "$1" run "$2" --seeds "${SEEDS:-1..20}" --out "$3" --quiet >/dev/null || [ $? = 3 ]
}
for scenario in $SCENARIOS; do
    runs "$before" "$scenario" "$out/before"
    runs "$after" "$scenario" "$out/after"
done
status=0
"$after" compare "$out/before" "$out/after" --threshold "${THRESHOLD:-2%}" --format markdown >"$report" || status=$?
cat "$report"
if [ -n "${GITHUB_STEP_SUMMARY:-}" ]; then
    cat "$report" >>"$GITHUB_STEP_SUMMARY"
fi
if [ -n "${GITHUB_OUTPUT:-}" ]; then
    echo "report=$report" >>"$GITHUB_OUTPUT"
fi
exit "$status"
