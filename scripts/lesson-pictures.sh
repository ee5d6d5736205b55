#!/usr/bin/env bash
# Draws the pictures of the lessons (web/lessons) for the documentation site anew, into
# docs/pictures/lessons.
#
#   scripts/lesson-pictures.sh [WEIR]
#
# WEIR is the program, `weir` without it.
set -euo pipefail
cd "$(dirname "$0")/.."
weir=${1:-weir}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p docs/pictures/lessons

# The picture of this name of the lesson's runs; further words are those of `weir run`.
picture() {
    local lesson=$1 name=$2
    shift 2
    "$weir" run --quiet "web/lessons/$lesson.toml" --out "$work" "$@" >/dev/null
    "$weir" plot --quiet "$work/$lesson"/*/ --format svg --out "$work/plots/$lesson" >/dev/null
    cp "$work/plots/$lesson/$name.svg" "docs/pictures/lessons/$lesson.svg"
}

picture 01-aimd newreno-window
picture 02-bufferbloat delay-distribution --set link.bottleneck.queue.kind=droptail,codel,pie,fq_codel
picture 03-fairness goodput
picture 04-loss newreno-window
picture 05-bbr goodput --set link.bottleneck.queue.limit=800
picture 06-tfrc stream-rate
picture 07-l4s goodput-over-delay --set link.bottleneck.queue.kind=dualpi2,codel
picture 08-wifi delay-distribution --set wifi.air.station.router.queue.kind=droptail,codel,fq_codel
