#!/usr/bin/env bash
# All tests, on a fresh machine with Rust: formatting, lints, tests, the rules of the house, and
# whether the fuzz targets compile. tshark, if it is there, judges the decoder too.
set -euo pipefail
cd "$(dirname "$0")"

step() {
    printf '\n== %s\n' "$*"
    "$@"
}

step cargo fmt --all --check
step cargo clippy --workspace --all-targets --locked -- -D warnings
step cargo xtask tidy
step cargo check --locked --manifest-path fuzz/Cargo.toml
step cargo test --workspace --locked
