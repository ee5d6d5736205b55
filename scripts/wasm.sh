#!/usr/bin/env bash
# Builds the laboratory for the browser (crates/weir-wasm) into web/src/engine/pkg: the module, its
# JavaScript and its types. It needs Rust with the target wasm32-unknown-unknown; with the packages
# of web/ (npm ci) wasm-opt makes the module smaller.
#
#     scripts/wasm.sh [FOLDER]
set -euo pipefail
cd "$(dirname "$0")/.."

out="${1:-web/src/engine/pkg}"
target="${CARGO_TARGET_DIR:-$PWD/target}"

# The tool and the library must have the same version.
locked=$(sed -n '/^name = "wasm-bindgen"$/{n;s/^version = "\(.*\)"$/\1/p;}' Cargo.lock)
ours=$(sed -n 's/^wasm-bindgen-cli-support = "=\(.*\)"$/\1/p' scripts/wasm-bindgen/Cargo.toml)
if [ "$locked" != "$ours" ]; then
    echo "wasm-bindgen is $locked in Cargo.lock and $ours in scripts/wasm-bindgen/Cargo.toml, expected the same" >&2
    exit 1
fi

cargo build --quiet --locked --profile wasm -p weir-wasm --target wasm32-unknown-unknown
CARGO_TARGET_DIR="$target/wasm-bindgen" \
    cargo build --quiet --locked --manifest-path scripts/wasm-bindgen/Cargo.toml

new=$(mktemp -d)
trap 'rm -rf "$new"' EXIT
"$target/wasm-bindgen/debug/weir-wasm-bindgen" \
    "$target/wasm32-unknown-unknown/wasm/weir_wasm.wasm" "$new"
module="$new/weir_wasm_bg.wasm"
optimiser=web/node_modules/.bin/wasm-opt
if [ -x "$optimiser" ]; then
    # What every browser since 2022 has; with more, wasm-opt writes what they cannot read.
    "$optimiser" -O3 --enable-bulk-memory --enable-multivalue --enable-mutable-globals \
        --enable-nontrapping-float-to-int --enable-reference-types --enable-sign-ext \
        --strip-producers "$module" -o "$module.small"
    mv "$module.small" "$module"
else
    echo "skipped: wasm-opt (npm ci in web/ brings it)" >&2
fi
mkdir -p "$out"
for file in "$new"/*; do
    install -m 644 "$file" "$out/.$(basename "$file").new"
    mv "$out/.$(basename "$file").new" "$out/$(basename "$file")"
done
octets() { wc -c | tr -d ' '; }
echo "$out/weir_wasm_bg.wasm: $(octets <"$out/weir_wasm_bg.wasm") octets, $(gzip -9 <"$out/weir_wasm_bg.wasm" | octets) with gzip" >&2
