#!/usr/bin/env bash
# Builds the wheel of the Python package `weirlab`, with the command `weir` in it, and its source
# archive, into a folder:
#
#     scripts/wheels.sh [FOLDER]        # default: target/wheels
#
# One wheel serves CPython 3.10 and newer (abi3). Then it is installed into an environment of its own,
# from the wheel alone, and runs a scenario by command and in Python. WEIR_MANYLINUX names a policy, such as
# manylinux_2_28, for wheels that other distributions can install: run it in that policy's image.
set -euo pipefail
cd "$(dirname "$0")/.."
out=$(realpath -m "${1:-target/wheels}")

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/build"
"$work/build/bin/pip" install --quiet "maturin>=1.16,<2"
# Without a policy maturin names the oldest C library that has the symbols which it needs.
"$work/build/bin/maturin" build --release --locked --strip --sdist --out "$out" \
    ${WEIR_MANYLINUX:+--compatibility "$WEIR_MANYLINUX"}

python3 -m venv "$work/use"
wheel=$(ls -t "$out"/weirlab-*.whl | head -n 1)
"$work/use/bin/pip" install --quiet "$wheel"
"$work/use/bin/weir" --version
"$work/use/bin/weir" run examples/cubic-newreno.toml --summary-only --out "$work/results" --quiet
"$work/use/bin/python" - <<'PYTHON'
import weirlab as w
run = w.Scenario.load("examples/cubic-newreno.toml").set("run.duration", "20s").run()
assert run.summary["flows"]["cubic"]["goodput_bps"] > 1e6
PYTHON
ls -l "$out"
