#!/usr/bin/env bash
# Bulk over loopback: DCCP in UDP beside iperf3's UDP, both with 1400 octets of data in a packet.
#
#   scripts/wire-bench.sh [REPETITIONS [SECONDS]]
#
# Three senders take turns, so that whatever else the machine does meets them alike, and the
# median of each counts:
#
#   plain    weir send --no-gso: each packet leaves in a call of its own, as iperf3's do
#   segments weir send: packets that may leave at once leave in one segmented send (GSO)
#   iperf3   UDP without a limit of its rate
#
# Packets are those that the receiving application got, and the seconds of CPU those of both ends,
# user and system. WEIR names the program; without it the release build of this tree is made.
set -euo pipefail
cd "$(dirname "$0")/.."

repetitions=${1:-5}
seconds=${2:-3}
octets=1400
port=${PORT:-16511}

if [ -z "${WEIR:-}" ]; then
  cargo build --release --quiet -p weir
  WEIR=${CARGO_TARGET_DIR:-target}/release/weir
fi
work=$(mktemp -d)
server=
finish() {
  # The child of the shell that measures it.
  if [ -n "$server" ]; then pkill -P "$server" || true; fi
  rm -rf "$work"
}
trap finish EXIT

# Waits until a file has this text, at most five seconds.
await() {
  for _ in $(seq 100); do
    if grep -qs "$2" "$1"; then return; fi
    sleep 0.05
  done
  echo "the server does not listen:" >&2
  cat "$1" >&2
  exit 1
}

# Runs a program in the place of this shell's child, and says its seconds of CPU in a file.
timed() {
  local file=$1
  shift
  TIMEFORMAT='%U %S'
  { time "$@" 2>&3; } 3>"$file.err" 2>"$file.cpu"
}

# The seconds of CPU of both ends.
cpu() { awk '{ sum += $1 + $2 } END { print sum }' "$work/server.cpu" "$work/client.cpu"; }

# A line "packets/s Gbit/s CPU" for one run.
run_weir() {
  rm -f "$work"/*
  timed "$work/server" "$WEIR" serve -B 127.0.0.1 -p "$port" -i 0 -1 --json >"$work/out" &
  server=$!
  await "$work/server.err" listening
  timed "$work/client" "$WEIR" send 127.0.0.1 -p "$port" -t "$seconds" -i 0 -l "$octets" "$@"
  wait "$server"
  server=
  local bytes
  bytes=$(sed -n 's/^ *"bytes": *\([0-9]*\).*/\1/p' "$work/out")
  awk -v b="$bytes" -v t="$seconds" -v l="$octets" -v c="$(cpu)" \
    'BEGIN { printf "%.0f %.3f %.2f\n", b / l / t, b * 8 / t / 1e9, c }'
}

run_iperf3() {
  rm -f "$work"/*
  timed "$work/server" iperf3 -s -1 -B 127.0.0.1 -p "$port" --forceflush >"$work/out" &
  server=$!
  await "$work/out" listening
  timed "$work/client" iperf3 -c 127.0.0.1 -p "$port" -u -b 0 -l "$octets" -t "$seconds" -f k \
    >"$work/said"
  wait "$server"
  server=
  # The line of the receiver has "lost/all".
  awk -v t="$seconds" -v l="$octets" -v c="$(cpu)" '
    / receiver$/ {
      for (i = 1; i <= NF; i++) if ($i ~ /^[0-9]+\/[0-9]+$/) { split($i, n, "/"); got = n[2] - n[1] }
    }
    END { printf "%.0f %.3f %.2f\n", got / t, got * l * 8 / t / 1e9, c }' "$work/said"
}

results=$(mktemp -d)
trap 'finish; rm -rf "$results"' EXIT
names="plain segments"
if command -v iperf3 >/dev/null; then
  names="$names iperf3"
else
  echo "iperf3 is not installed: there is nothing to compare with, and no ratio" >&2
fi
for _ in $(seq "$repetitions"); do
  run_weir --no-gso >>"$results/plain"
  run_weir >>"$results/segments"
  if [ -n "${names##*plain segments}" ]; then run_iperf3 >>"$results/iperf3"; fi
done

# The median of a column.
median() {
  sort -n -k"$2,$2" "$results/$1" | awk -v c="$2" '
    { v[NR] = $c }
    END { print NR % 2 ? v[(NR + 1) / 2] : (v[NR / 2] + v[NR / 2 + 1]) / 2 }'
}

echo "medians of $repetitions runs of $seconds s, $octets octets of data in a packet"
printf '%-9s %12s %10s %8s %14s %21s\n' "" packets/s Gbit/s "CPU s" "packets/CPU s" "packets/s, min-max"
for name in $names; do
  awk -v n="$name" -v p="$(median "$name" 1)" -v g="$(median "$name" 2)" -v c="$(median "$name" 3)" \
    -v t="$seconds" -v low="$(sort -n "$results/$name" | head -1 | cut -d' ' -f1)" \
    -v high="$(sort -n "$results/$name" | tail -1 | cut -d' ' -f1)" 'BEGIN {
      printf "%-9s %12.0f %10.3f %8.2f %14.0f %21s\n", n, p, g, c, p * t / c, low "-" high }'
done
if [ -e "$results/iperf3" ]; then
  base=$(median iperf3 1)
  for name in plain segments; do
    awk -v n="$name" -v p="$(median "$name" 1)" -v b="$base" \
      'BEGIN { printf "%s / iperf3: %.2f\n", n, p / b }'
  done
fi
