#!/usr/bin/env bash
# Instructions that a delivered data packet costs in the simulator, counted by valgrind, so that the
# figure does not depend on the machine's load. Start-up and warm-up are subtracted: each case runs
# for two lengths, and the difference counts.
#
#   scripts/instructions.sh [FLOWS [SECONDS [TRANSPORT…]]]
#
# 10 flows, 5 and 10 virtual seconds, and quic, tcp and dccp without arguments. TOPOLOGY=one-link
# takes the network of one link each way instead of the dumbbell.
set -euo pipefail
cd "$(dirname "$0")/.."
flows=${1:-10}
seconds=${2:-5}
shift $(($# < 2 ? $# : 2))
topology=${TOPOLOGY:-dumbbell}
command -v valgrind >/dev/null || { echo "needs valgrind" >&2; exit 4; }

cargo build --release --quiet -p weir-net --example steady_flows
program=${CARGO_TARGET_DIR:-target}/release/examples/steady_flows
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# Instructions and delivered data packets of a run.
count() {
    valgrind --tool=callgrind --callgrind-out-file="$work/profile" \
        "$program" "$1" "$topology" "$flows" "$2" >"$work/counts" 2>"$work/log"
    awk '/Collected/ { print $NF }' "$work/log"
    awk '{ print $2 }' "$work/counts"
}

printf '%-9s %6s %9s %12s %14s\n' transport flows topology packets instructions
for transport in "${@:-quic tcp dccp}"; do
    for name in $transport; do
        { read -r short_cost; read -r short_packets; } < <(count "$name" "$seconds")
        { read -r long_cost; read -r long_packets; } < <(count "$name" $((2 * seconds)))
        packets=$((long_packets - short_packets))
        printf '%-9s %6s %9s %12s %14s\n' "$name" "$flows" "$topology" "$packets" \
            $(((long_cost - short_cost) / packets))
    done
done
