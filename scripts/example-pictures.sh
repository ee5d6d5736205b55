#!/usr/bin/env bash
# Draws the pictures of examples/README.md anew, into docs/pictures.
#
#   scripts/example-pictures.sh [WEIR]
#
# WEIR is the program, `weir` without it. Runs take two minutes together.
set -euo pipefail
cd "$(dirname "$0")/.."
weir=${1:-weir}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# Runs the example into a folder of its own. The folders are numbered from 101 on, so that a plot takes
# the runs in this order. Further words are those of `weir run`.
runs=100
run() {
    local example=$1
    shift
    runs=$((runs + 1))
    # 3: the expectations of an example are those of its file, and another queue may not meet them.
    "$weir" run --quiet "examples/$example.toml" --out "$work/$runs" "$@" >/dev/null || [ $? -eq 3 ]
}

# The picture of this name of the example's runs; further words are those of `weir plot`.
draw() {
    local example=$1 name=$2
    shift 2
    "$weir" plot --quiet "$work"/*/"$example"/*/ --format svg --out "$work/plots/$example" "$@" \
        >/dev/null
    cp "$work/plots/$example/$name.svg" "docs/pictures/$example.svg"
}

# The picture of this name of the example's runs; further words are those of `weir run`.
picture() {
    local example=$1 name=$2
    shift 2
    run "$example" "$@"
    draw "$example" "$name"
}

picture ack-frequency goodput --set flow.download.transport.ack_frequency.ack_eliciting_threshold=1,10
picture home-line goodput-over-delay --set link.line.queue.flowmode=triple-isolate,dual-dsthost
picture bbr-versions goodput --set flow.bbr.transport.controller=bbr1,bbr
picture cubic-newreno goodput-over-delay --set link.bottleneck.queue.kind=droptail,codel
picture video-wifi goodput-over-delay --set wifi.air.station.router.queue.kind=droptail,fq_codel
picture video-call call-frames
picture audio-and-video goodput-over-delay --set flow.video.transport.controller=nada,gcc,scream
picture media-over-quic call-frames --set link.uplink.loss.rate=0.01 \
    --set flow.call.transport.media.nested=true
picture quic-lte goodput-over-delay --set link.lte.queue.kind=droptail,codel
picture cubic-satellite completion-time --set flow.file.transport.controller=newreno,cubic \
    --seeds 1..20
picture incast completion-time
picture requests completion-time --set link.bottleneck.queue.kind=droptail,fq_codel

tunnel() {
    run tunnel --set link.line.delay=50ms --set link.line.forward.loss.rate=0.0,0.001 "$@"
}
tunnel --set flow.file.to=tv
tunnel
tunnel --set tunnel.vpn.mode=stream --set tunnel.vpn.transport.send_queue_limit=64kB
tunnel --set tunnel.vpn.mode=stream --set tunnel.vpn.transport.kind=tcp \
    --set tunnel.vpn.transport.send_buffer=512kB
draw tunnel goodput-over-delay --size 720x560

for rate in 50Mbit 5Mbit; do
    run careful-resume --set "link.satellite.rate=$rate" \
        --set flow.file.transport.overrides.careful_resume=none
    run careful-resume --set "link.satellite.rate=$rate"
done
draw careful-resume windows

run handover --set flow.upload.transport.new_path=reset,keep --set run.interval=20ms
draw handover goodput --from 9.8s --to 11s

# Without noq, which a command has only if it was built with that feature.
run foreign-stacks --set flow.other.transport.kind=quic,tcp,quinn --seeds 1..20 --summary-only
run foreign-stacks --set flow.other.transport.kind=quinn \
    --set flow.other.transport.controller=quinn-cubic --seeds 1..20 --summary-only
draw foreign-stacks goodput-over-delay --flow other --size 760x520
