#!/usr/bin/env bash
# Bulk over loopback: DCCP in UDP beside iperf3's UDP, both with 1400 octets of data in a packet.
#
#   scripts/wire-bench.sh [REPETITIONS [SECONDS]]
#
# Three senders take turns, so that other load on the machine affects all of them. The result is the
# median of each:
#
#   plain    weir send --no-gso: the kernel handles each packet on its own, as with iperf3; weir
#            passes up to 32 of them in one system call, iperf3 one
#   segments weir send: packets that may leave together go out in one segmented send (GSO)
#   iperf3   UDP without a rate limit
#
# iperf3 has no congestion control over UDP, so it loses packets when its receiver is slower than its
# sender. "got" counts the packets that the receiving application received, "sent" those that the
# sender sent. CPU seconds are user and system time of both ends. The variable WEIR is the path of
# the program; without it the script makes a release build of this tree.
set -euo pipefail
cd "$(dirname "$0")/.."

repetitions=${1:-5}
seconds=${2:-3}
octets=1400
port=${PORT:-16511}

if [ -z "${WEIR:-}" ]; then
  cargo build --release --quiet -p weirlab
  WEIR=${CARGO_TARGET_DIR:-target}/release/weir
fi
work=$(mktemp -d)
server=
finish() {
  # The server is a child of the shell that measures its CPU time.
  if [ -n "$server" ]; then pkill -P "$server" || true; fi
  rm -rf "$work"
}
trap finish EXIT

# Waits at most five seconds until a file contains this text.
await() {
  for _ in $(seq 100); do
    if grep -qs "$2" "$1"; then return; fi
    sleep 0.05
  done
  echo "the server does not listen:" >&2
  cat "$1" >&2
  exit 1
}

# Runs a program and writes its CPU seconds, user and system, to a file.
timed() {
  local file=$1
  shift
  TIMEFORMAT='%U %S'
  { time "$@" 2>&3; } 3>"$file.err" 2>"$file.cpu"
}

# The CPU seconds of both ends.
cpu() { awk '{ sum += $1 + $2 } END { print sum }' "$work/server.cpu" "$work/client.cpu"; }

# Prints "got/s sent/s Gbit/s CPU" for one run.
run_weir() {
  rm -f "$work"/*
  timed "$work/server" "$WEIR" serve -B 127.0.0.1 -p "$port" -i 0 -1 --json >"$work/out" &
  server=$!
  await "$work/server.err" listening
  timed "$work/client" "$WEIR" send 127.0.0.1 -p "$port" -t "$seconds" -i 0 -l "$octets" --json "$@" \
    >"$work/said"
  wait "$server"
  server=
  local bytes sent
  bytes=$(sed -n 's/^ *"bytes": *\([0-9]*\).*/\1/p' "$work/out")
  sent=$(sed -n 's/^ *"packets_sent": *\([0-9]*\).*/\1/p' "$work/said")
  awk -v b="$bytes" -v s="$sent" -v t="$seconds" -v l="$octets" -v c="$(cpu)" \
    'BEGIN { printf "%.0f %.0f %.3f %.2f\n", b / l / t, s / t, b * 8 / t / 1e9, c }'
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
  # The line of the receiver contains "lost/all".
  awk -v t="$seconds" -v l="$octets" -v c="$(cpu)" '
    / receiver$/ {
      for (i = 1; i <= NF; i++) if ($i ~ /^[0-9]+\/[0-9]+$/) split($i, n, "/")
      got = n[2] - n[1]
      sent = n[2]
    }
    END { printf "%.0f %.0f %.3f %.2f\n", got / t, sent / t, got * l * 8 / t / 1e9, c }' "$work/said"
}

results=$(mktemp -d)
trap 'finish; rm -rf "$results"' EXIT
names="plain segments"
if command -v iperf3 >/dev/null; then
  names="$names iperf3"
else
  echo "iperf3 is not installed: no comparison and no ratios" >&2
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
    END { printf "%.10g\n", NR % 2 ? v[(NR + 1) / 2] : (v[NR / 2] + v[NR / 2 + 1]) / 2 }'
}

echo "medians of $repetitions runs of $seconds s, $octets octets of data in a packet"
row='%-9s %10s %10s %8s %7s %10s %18s\n'
# shellcheck disable=SC2059
printf "$row" "" got/s sent/s Gbit/s "CPU s" got/CPU-s "got/s, min-max"
for name in $names; do
  got=$(median "$name" 1)
  cpu=$(median "$name" 4)
  each=$(awk -v p="$got" -v t="$seconds" -v c="$cpu" 'BEGIN { printf "%.0f", p * t / c }')
  span=$(cut -d' ' -f1 "$results/$name" | sort -n | sed -n '1h; ${ x; G; s/\n/-/; p; }')
  # shellcheck disable=SC2059
  printf "$row" "$name" "$got" "$(median "$name" 2)" "$(median "$name" 3)" "$cpu" "$each" "$span"
done
if [ -e "$results/iperf3" ]; then
  for name in plain segments; do
    awk -v n="$name" -v p="$(median "$name" 1)" -v g="$(median iperf3 1)" -v s="$(median iperf3 2)" \
      'BEGIN { printf "%s / iperf3: %.2f of what iperf3 got, %.2f of what it sent\n", n, p / g, p / s }'
  done
fi
