#!/usr/bin/env bash
# Throughput of one flow over random loss in ns-2 and in Weir: 1 Gbit/s, 10 ms, NewReno.
#
#   scripts/peer-ns2-loss.sh [SEEDS [SECONDS]]
#
# 20 seeds of 600 s without arguments. ns-2 has Agent/TCP/Sack1 and TCPSink/Sack1, which acknowledges
# every packet. Prints packets a second, means with 95 % intervals. Needs Debian's package ns2, and
# python3 for the means.
set -euo pipefail
cd "$(dirname "$0")/.."
seeds=${1:-20}
seconds=${2:-600}
command -v ns >/dev/null || { echo "needs ns-2: apt-get install ns2" >&2; exit 4; }

cargo build --release --quiet -p weirlab
program=$PWD/${CARGO_TARGET_DIR:-target}/release/weir
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

cat >"$work/loss.tcl" <<'TCL'
# usage: ns loss.tcl P SECONDS SEED; prints the packets acknowledged in a second
set p [lindex $argv 0]
set seconds [lindex $argv 1]
remove-all-packet-headers
add-packet-header IP TCP Flags
ns-random [lindex $argv 2]
set ns [new Simulator]
Agent/TCP set packetSize_ 960
Agent/TCP set window_ 100000
set source [$ns node]
set target [$ns node]
$ns duplex-link $source $target 1Gb 5ms DropTail
$ns queue-limit $source $target 100000
set errors [new ErrorModel]
$errors unit pkt
$errors set rate_ $p
$errors ranvar [new RandomVariable/Uniform]
$errors drop-target [new Agent/Null]
$ns link-lossmodel $errors $source $target
set tcp [new Agent/TCP/Sack1]
set sink [new Agent/TCPSink/Sack1]
$ns attach-agent $source $tcp
$ns attach-agent $target $sink
$ns connect $tcp $sink
set ftp [new Application/FTP]
$ftp attach-agent $tcp
$ns at 0.0 "$ftp start"
proc finish {} {
    global tcp seconds
    puts [expr {[$tcp set ack_] / double($seconds)}]
    exit 0
}
$ns at $seconds finish
$ns run
TCL

cat >"$work/loss.toml" <<TOML
[run]
duration = "${seconds}s"

[[link]]
name = "path"
between = ["a", "b"]
rate = "1Gbit"
delay = "5ms"
queue = { kind = "droptail", limit = 100000 }

[link.forward]
loss = { kind = "random", rate = 0.1 }

[[flow]]
name = "flow"
from = "a"
to = "b"
transport = { kind = "tcp", controller = "newreno", rules = "ns2-sack1" }
app = { kind = "bulk" }
TOML

# Mean and half the width of the 95 % interval of the numbers on standard input.
mean() {
    python3 -c '
import statistics as s, sys
v = [float(line) for line in sys.stdin]
# Beyond 20 samples the quantile of Student'"'"'s t is 2.1 or less.
half = 2.093 * s.stdev(v) / len(v) ** 0.5 if len(v) > 1 else float("nan")
print(f"{s.mean(v):.1f} ± {half:.1f}")'
}

# Packets a second of a flow of Weir's: weir P RULES ACK_EVERY. A segment has 1460 octets.
weir() {
    "$program" run "$work/loss.toml" --seeds "1..$seeds" --out "$work/runs" --json \
        --set "link.path.forward.loss.rate=$1" --set "flow.flow.transport.rules=$2" \
        --set "flow.flow.transport.ack_every=$3" 2>/dev/null |
        python3 -c '
import json, sys
for run in json.load(sys.stdin)["runs"]:
    print(run["summary"]["flows"]["flow"]["goodput_bps"] / 8 / 1460)' | mean
}

printf '%-6s %-16s %-16s %-16s %s\n' p ns-2 ns2-sack1 rfc linux
for p in 0.01 0.06 0.1 0.15 0.2; do
    peer=$(for seed in $(seq "$seeds"); do ns "$work/loss.tcl" $p "$seconds" "$seed"; done | mean)
    printf '%-6s %-16s %-16s %-16s %s\n' \
        $p "$peer" "$(weir $p ns2-sack1 1)" "$(weir $p rfc 2)" "$(weir $p linux 2)"
done
