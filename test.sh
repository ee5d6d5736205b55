#!/usr/bin/env bash
# Every check that a change must pass, on a fresh machine with Rust: formatting, lints, repository
# rules, dependency policy, the fuzz targets, the laboratory for WebAssembly, packages as they would
# be published, all tests, and published experiments. tshark checks the decoder too if it is
# installed.
set -euo pipefail
cd "$(dirname "$0")"

step() {
    printf '\n== %s\n' "$*"
    local begin=$SECONDS
    "$@"
    printf '== %s: %d s\n' "$1" $((SECONDS - begin))
}

skip() {
    printf '\n== skipped: %s\n' "$*"
}

# The laboratory without file formats is what a browser will run.
wasm=wasm32-unknown-unknown
has_wasm() {
    [ -d "$(rustc --print sysroot)/lib/rustlib/$wasm/lib" ]
}
if ! has_wasm && command -v rustup >/dev/null 2>&1; then
    timeout 120 rustup target add "$wasm" >/dev/null 2>&1 || true
fi
# The module of the page takes minutes of one core. It is built beside the lints, which leave one
# idle, and has a folder of its own.
module=""
log=$(mktemp)
trap 'kill "$module" 2>/dev/null || true; rm -f "$log"' EXIT
if has_wasm && command -v node >/dev/null 2>&1; then
    nice -n 10 scripts/wasm.sh >"$log" 2>&1 &
    module=$!
fi
module_is_built() {
    wait "$module" || { cat "$log"; return 1; }
    cat "$log"
}

step cargo fmt --all --check
step cargo clippy --workspace --all-targets --locked -- -D warnings
step cargo xtask tidy
step cargo xtask notices --check

if command -v cargo-deny >/dev/null 2>&1; then
    step cargo deny --locked check licenses bans sources
    # The database of advisories comes from its own server.
    if timeout 120 cargo deny fetch db >/dev/null 2>&1; then
        step cargo deny --locked check advisories
    else
        skip "cargo deny check advisories (its database cannot be fetched)"
    fi
else
    skip "cargo deny check (cargo-deny is not installed)"
fi

# A test below compares the module of the page, which has the same features, with this machine.
if [ -n "$module" ]; then
    step module_is_built
elif has_wasm; then
    skip "the module of the page in WebAssembly (node is not installed)"
    step cargo check --locked -p weir-lab --no-default-features --target "$wasm"
else
    skip "the target $wasm is not installed: checking the same features for this machine"
    step cargo check --locked -p weir-lab --no-default-features
fi

step scripts/page.sh --hash

# The page: types, tests, and the built page in a browser.
page() {
    (
        cd web
        npm run check
        npm test
        npm run build
        npm run e2e
    )
}
if [ ! -f web/src/engine/pkg/weir_wasm.js ]; then
    skip "the page (its engine was not built)"
elif ! command -v npm >/dev/null 2>&1; then
    skip "the page (npm is not installed)"
elif ! (cd web && timeout 300 npm ci --silent >/dev/null 2>&1); then
    skip "the page (npm reaches no registry)"
else
    step page
fi

step cargo package --workspace --exclude weir-fuzz --exclude weirlab-python --exclude weir-wasm --exclude xtask \
    --locked --no-verify --allow-dirty --offline --quiet
# A package has the files that links of the repository stand for, such as licences and experiments.
packages_have_no_links() {
    local package
    for package in "${CARGO_TARGET_DIR:-target}"/package/weir*.crate; do
        if tar tvzf "$package" | grep '^l'; then
            return 1
        fi
    done
}
step packages_have_no_links

browser=""
for name in "${WEIR_BROWSER:-}" chromium-headless-shell chromium google-chrome chrome node; do
    [ -n "$name" ] && command -v "$name" >/dev/null 2>&1 && browser="$name" && break
done
[ -n "$browser" ] ||
    skip "the script of report pages (neither a browser, such as chromium, nor node is installed)"
# Many tests wait for real time. What they leave idle builds the command that the experiments need
# below, where a failure is told.
nice -n 19 cargo build --release --locked -p weirlab --quiet 2>/dev/null &
release=$!
reports=$(mktemp -d)
trap 'kill "$release" 2>/dev/null || true; rm -rf "$reports" "$log"' EXIT
step cargo test --workspace --locked

# The Python package with its documentation site, in an environment of its own, with the packages
# that the workspace has built.
python_package() {
    local environment="$1"
    CARGO_TARGET_DIR="$PWD/target" "$environment/bin/pip" install --quiet \
        --config-settings=build-args="--locked --profile dev --features tested" ".[test,docs]"
    # Elsewhere, so that the installed package is tested and not the folder of its sources.
    local tests="$PWD/python/tests"
    (cd "$environment" && bin/python -m pytest -q -p no:cacheprovider "$tests")
}
environment=$(mktemp -d)
if ! python3 -m venv "$environment" >/dev/null 2>&1; then
    skip "the Python package (python3 -m venv does not work)"
elif ! "$environment/bin/pip" download --quiet --no-deps --dest "$environment" maturin >/dev/null 2>&1; then
    skip "the Python package (pip reaches no registry)"
else
    step python_package "$environment"
fi
rm -rf "$environment"

# A row outside its tolerance without an explanation that holds fails.
wait "$release" || true
step cargo run --release --locked -p weirlab -- reproduce --out "$reports"
# The page shows what was measured beside what was published.
if command -v node >/dev/null 2>&1; then
    step node web/scripts/measured.mjs --check "$reports/result.json"
else
    skip "the measured values of the page (node is not installed)"
fi
