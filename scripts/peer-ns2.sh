#!/usr/bin/env bash
# CPU time of a delivered data packet in ns-2 and in Weir, over the same network: bulk TCP flows over
# a dumbbell, 10 Mbit/s and 20 ms for each, an access link at each end, every packet acknowledged.
#
#   scripts/peer-ns2.sh [REPETITIONS [FLOWS…]]
#
# 5 repetitions and 1, 10, 100 and 1000 flows without arguments. ns-2 has Agent/TCP/Sack1,
# TCPSink/Sack1 and its Splay scheduler, and traces nothing. Each program runs for two lengths, and the
# difference counts, so that start-up and slow start are subtracted; the two take turns, so that other
# load on the machine affects both. The figure of a program is the median. Needs Debian's package ns2.
set -euo pipefail
cd "$(dirname "$0")/.."
repetitions=${1:-5}
shift $(($# < 1 ? $# : 1))
[ $# -gt 0 ] || set -- 1 10 100 1000
command -v ns >/dev/null || { echo "needs ns-2: apt-get install ns2" >&2; exit 4; }

cargo build --release --quiet -p weir-net --example steady_flows
program=${CARGO_TARGET_DIR:-target}/release/examples/steady_flows
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

cat >"$work/dumbbell.tcl" <<'TCL'
# usage: ns dumbbell.tcl FLOWS SECONDS; prints the data packets acknowledged
set flows [lindex $argv 0]
set seconds [lindex $argv 1]
remove-all-packet-headers
add-packet-header IP TCP Flags
set ns [new Simulator]
$ns use-scheduler Splay
Agent/TCP set packetSize_ 1460
Agent/TCP set window_ 10000
set left [$ns node]
set right [$ns node]
$ns duplex-link $left $right [expr {10 * $flows}]Mb 8ms DropTail
set limit [expr {10e6 * $flows / 8 * 0.020 / 1500}]
$ns queue-limit $left $right [expr {int($limit)}]
$ns queue-limit $right $left [expr {int($limit)}]
Queue set limit_ 1000
for {set i 0} {$i < $flows} {incr i} {
    set source [$ns node]
    set target [$ns node]
    $ns duplex-link $source $left 100Mb 1ms DropTail
    $ns duplex-link $right $target 100Mb 1ms DropTail
    set tcp($i) [new Agent/TCP/Sack1]
    set sink [new Agent/TCPSink/Sack1]
    $ns attach-agent $source $tcp($i)
    $ns attach-agent $target $sink
    $ns connect $tcp($i) $sink
    set ftp [new Application/FTP]
    $ftp attach-agent $tcp($i)
    $ns at [expr {1.0 * $i / $flows}] "$ftp start"
}
proc finish {} {
    global tcp flows
    set packets 0
    for {set i 0} {$i < $flows} {incr i} { incr packets [$tcp($i) set ack_] }
    puts $packets
    exit 0
}
$ns at $seconds finish
$ns run
TCL

# User time and data packets of a run, in this order: run OUTPUT COMMAND…
run() {
    local TIMEFORMAT=%U output=$1
    shift
    { time "$@" >"$work/counts" 2>"$work/errors"; } 2>"$work/seconds"
    awk '{ print ($1 == "data_packets") ? $2 : $1 }' "$work/counts" >>"$work/seconds"
    paste -sd ' ' "$work/seconds" >"$output"
}

# Nanoseconds a packet: the difference of the long and the short run.
difference() {
    awk 'NR == 1 { t = $1; n = $2 } NR == 2 { print ($1 - t) * 1e9 / ($2 - n) }' \
        "$work/short" "$work/long"
}

median() { sort -g | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'; }

printf '%6s %14s %14s %7s\n' flows 'ns-2 ns/packet' 'weir ns/packet' ratio
for flows in "$@"; do
    # About 400,000 packets in the difference of the two lengths.
    span=$((480 / flows > 1 ? 480 / flows : 1))
    : >"$work/ns2"
    : >"$work/weir"
    for _ in $(seq "$repetitions"); do
        run "$work/short" ns "$work/dumbbell.tcl" "$flows" 5
        run "$work/long" ns "$work/dumbbell.tcl" "$flows" $((5 + span))
        difference >>"$work/ns2"
        run "$work/short" "$program" tcp dumbbell "$flows" 0
        run "$work/long" "$program" tcp dumbbell "$flows" "$span"
        difference >>"$work/weir"
    done
    ns2=$(median <"$work/ns2")
    weir=$(median <"$work/weir")
    awk -v f="$flows" -v a="$ns2" -v b="$weir" \
        'BEGIN { printf "%6d %14.0f %14.0f %7.2f\n", f, a, b, a / b }'
done
