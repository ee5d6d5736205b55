#!/usr/bin/env bash
# Draws the pictures of examples/README.md anew, into docs/pictures.
#
#   scripts/example-pictures.sh [WEIR]
#
# WEIR is the program, `weir` without it. Runs take a minute together.
set -euo pipefail
cd "$(dirname "$0")/.."
weir=${1:-weir}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# The picture of this name of the example's runs; further words are those of `weir run`.
picture() {
    local example=$1 name=$2
    shift 2
    # 3: the expectations of an example are those of its file, and another queue may not meet them.
    "$weir" run --quiet "examples/$example.toml" --out "$work" "$@" >/dev/null || [ $? -eq 3 ]
    "$weir" plot --quiet "$work/$example"/*/ --format svg --out "$work/plots/$example" >/dev/null
    cp "$work/plots/$example/$name.svg" "docs/pictures/$example.svg"
}

picture ack-frequency goodput --set flow.download.transport.ack_frequency.ack_eliciting_threshold=1,10
picture home-line goodput-over-delay --set link.line.queue.flowmode=triple-isolate,dual-dsthost
picture bbr-versions goodput --set flow.bbr.transport.controller=bbr1,bbr
picture cubic-newreno goodput-over-delay --set link.bottleneck.queue.kind=droptail,codel
picture video-wifi goodput-over-delay --set wifi.air.station.router.queue.kind=droptail,fq_codel
picture video-call call-frames
picture audio-and-video goodput-over-delay --set flow.video.transport.controller=nada,gcc,scream
picture quic-lte goodput-over-delay --set link.lte.queue.kind=droptail,codel
picture cubic-satellite completion-time --set flow.file.transport.controller=newreno,cubic \
    --seeds 1..20
picture incast completion-time
picture requests completion-time --set link.bottleneck.queue.kind=droptail,fq_codel
