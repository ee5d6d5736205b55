#!/usr/bin/env bash
# CPU time of a delivered data packet in ns-2, ns-3 and Weir, over the same network: bulk TCP flows
# over a dumbbell, 10 Mbit/s and 20 ms for each, an access link at each end, every packet
# acknowledged.
#
#   scripts/peer-ns2.sh [REPETITIONS [FLOWS…]]
#
# 5 repetitions and 1, 10, 100 and 1000 flows without arguments. ns-2 has Agent/TCP/Sack1,
# TCPSink/Sack1 and its Splay scheduler; ns-3 has TcpNewReno with SACK, RFC 6675's recovery and
# nix-vector routing; none traces. Each program runs for two lengths, and the difference counts, so
# that start-up and slow start are subtracted; the programs take turns, so that other load on the
# machine affects all. The figure of a program is the median; a ratio is that of a peer's time to
# Weir's.
#
# Needs Debian's packages ns2 and libns3-dev; the column of a peer that is not installed is empty.
# Debian builds ns-3 with its log and its assertions, which a program of its user cannot turn off.
# ns-3 runs once, over a tenth of the packets, and for at most 100 flows: 1000 flows do not end their
# slow start within five minutes.
set -euo pipefail
cd "$(dirname "$0")/.."
repetitions=${1:-5}
shift $(($# < 1 ? $# : 1))
[ $# -gt 0 ] || set -- 1 10 100 1000
have_ns2=$(command -v ns || true)
have_ns3=$(find /usr/include/ns3 -maxdepth 0 2>/dev/null || true)
[ -n "$have_ns2$have_ns3" ] || { echo "needs a peer: apt-get install ns2 libns3-dev" >&2; exit 4; }

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

cat >"$work/dumbbell.cc" <<'CC'
// usage: dumbbell FLOWS SECONDS; prints the data packets that arrived
#include "ns3/applications-module.h"
#include "ns3/core-module.h"
#include "ns3/internet-module.h"
#include "ns3/network-module.h"
#include "ns3/nix-vector-routing-module.h"
#include "ns3/point-to-point-module.h"
#include "ns3/traffic-control-module.h"
#include <iostream>

using namespace ns3;

int main(int, char** argv)
{
    const uint32_t flows = std::atoi(argv[1]);
    const double seconds = std::atof(argv[2]);
    const uint32_t segment = 1448;
    Config::SetDefault("ns3::TcpL4Protocol::SocketType", TypeIdValue(TcpNewReno::GetTypeId()));
    Config::SetDefault("ns3::TcpSocket::SegmentSize", UintegerValue(segment));
    Config::SetDefault("ns3::TcpSocket::DelAckCount", UintegerValue(1));
    Config::SetDefault("ns3::TcpSocket::SndBufSize", UintegerValue(1 << 20));
    Config::SetDefault("ns3::TcpSocket::RcvBufSize", UintegerValue(1 << 20));

    PointToPointHelper access;
    access.SetDeviceAttribute("DataRate", StringValue("100Mbps"));
    access.SetChannelAttribute("Delay", StringValue("1ms"));
    access.SetQueue("ns3::DropTailQueue", "MaxSize", StringValue("1000p"));
    PointToPointHelper bottleneck;
    const uint64_t rate = 10000000ull * flows;
    const uint32_t limit = rate / 8 * 0.020 / 1500;
    bottleneck.SetDeviceAttribute("DataRate", DataRateValue(DataRate(rate)));
    bottleneck.SetChannelAttribute("Delay", StringValue("8ms"));
    bottleneck.SetQueue("ns3::DropTailQueue", "MaxSize", QueueSizeValue(QueueSize(PACKETS, limit)));

    NodeContainer routers, sources, targets;
    routers.Create(2);
    sources.Create(flows);
    targets.Create(flows);
    InternetStackHelper stack;
    stack.SetRoutingHelper(Ipv4NixVectorHelper());
    stack.SetIpv6StackInstall(false);
    stack.InstallAll();
    Ipv4AddressHelper addresses("10.0.0.0", "255.255.255.252");
    TrafficControlHelper discs;
    // The queue is the device's own, without a queue discipline before it.
    const auto connect = [&](PointToPointHelper& link, Ptr<Node> a, Ptr<Node> b) {
        NetDeviceContainer devices = link.Install(a, b);
        Ipv4InterfaceContainer interfaces = addresses.Assign(devices);
        discs.Uninstall(devices);
        addresses.NewNetwork();
        return interfaces.GetAddress(1);
    };
    connect(bottleneck, routers.Get(0), routers.Get(1));
    ApplicationContainer sinks;
    for (uint32_t i = 0; i < flows; ++i)
    {
        connect(access, sources.Get(i), routers.Get(0));
        const Ipv4Address target = connect(access, routers.Get(1), targets.Get(i));
        PacketSinkHelper sink("ns3::TcpSocketFactory", InetSocketAddress(Ipv4Address::GetAny(), 9));
        sinks.Add(sink.Install(targets.Get(i)));
        BulkSendHelper bulk("ns3::TcpSocketFactory", InetSocketAddress(target, 9));
        bulk.SetAttribute("SendSize", UintegerValue(segment));
        bulk.Install(sources.Get(i)).Start(Seconds(1.0 * i / flows));
    }
    Simulator::Stop(Seconds(seconds));
    Simulator::Run();
    uint64_t octets = 0;
    for (uint32_t i = 0; i < flows; ++i)
    {
        octets += DynamicCast<PacketSink>(sinks.Get(i))->GetTotalRx();
    }
    std::cout << octets / segment << std::endl;
    // Without the time that it takes to destroy the network.
    std::_Exit(0);
}
CC
if [ -n "$have_ns3" ]; then
    libraries=(core network internet applications point-to-point nix-vector-routing traffic-control)
    g++ -O2 -std=c++17 "$work/dumbbell.cc" -o "$work/ns3" "${libraries[@]/#/-lns3-}"
fi

# User time and data packets of a run, in this order: run OUTPUT COMMAND…
run() {
    local TIMEFORMAT=%U output=$1
    shift
    { time "$@" >"$work/counts" 2>"$work/errors"; } 2>"$work/seconds"
    awk '{ print ($1 == "data_packets") ? $2 : $1 }' "$work/counts" >>"$work/seconds"
    paste -sd ' ' "$work/seconds" >"$output"
}

# Nanoseconds a packet, from the difference of two lengths: measure PEER COMMAND SHORT LONG
measure() {
    local peer=$1 command=$2
    run "$work/short" $command "$3"
    run "$work/long" $command "$4"
    awk 'NR == 1 { t = $1; n = $2 } NR == 2 { print ($1 - t) * 1e9 / ($2 - n) }' \
        "$work/short" "$work/long" >>"$work/$peer.times"
}

# The median of what was measured of a peer, or nothing.
median() {
    [ -s "$work/$1.times" ] || return 0
    sort -g "$work/$1.times" | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'
}

printf '%6s %14s %14s %14s %8s %8s\n' flows 'ns-2 ns/packet' 'ns-3 ns/packet' 'weir ns/packet' \
    ratio ratio
for flows in "$@"; do
    # About 400,000 packets in the difference of the two lengths.
    span=$((480 / flows > 1 ? 480 / flows : 1))
    rm -f "$work"/*.times
    for repetition in $(seq "$repetitions"); do
        [ -z "$have_ns2" ] || measure ns2 "ns $work/dumbbell.tcl $flows" 5 $((5 + span))
        measure weir "$program tcp dumbbell $flows" 0 "$span"
        if [ -n "$have_ns3" ] && [ "$repetition" = 1 ] && [ "$flows" -le 100 ]; then
            measure ns3 "$work/ns3 $flows" 5 "$((5 + (span + 9) / 10))"
        fi
    done
    awk -v flows="$flows" -v ns2="$(median ns2)" -v ns3="$(median ns3)" -v weir="$(median weir)" '
        function cell(width, digits, value) { return sprintf("%*s", width, value ? sprintf("%.*f", digits, value) : "–") }
        BEGIN {
            print cell(6, 0, flows), cell(14, 0, ns2), cell(14, 0, ns3), cell(14, 0, weir),
                cell(8, 2, ns2 / weir), cell(8, 1, ns3 / weir)
        }'
done
