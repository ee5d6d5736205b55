#!/usr/bin/env bash
# Mutation testing of the code whose numbers RFCs state: TFRC, the window controllers and the queue
# disciplines. Each mutant is judged by the unit tests beside it.
#
#   scripts/mutants.sh                    all of both kinds (many hours)
#   scripts/mutants.sh constants          every constant, one at a time: whole numbers one greater,
#                                         fractions 5 % greater, tables in their first number
#   scripts/mutants.sh code [K/N]         operators, conditions and results (cargo-mutants), each
#                                         N-th from the K-th on
#
# Lists go to mutants.out; the last score is in docs/mutants.md. `code` needs
# `cargo install --locked cargo-mutants`.
set -euo pipefail
cd "$(dirname "$0")/.."

what=${1:-all}
shard=${2:-0/1}
out=${MUTANTS_OUT:-$PWD/mutants.out}
mkdir -p "$out"
# A mutant is compiled once and runs once: fast to compile.
export CARGO_PROFILE_DEV_OPT_LEVEL=0 CARGO_PROFILE_DEV_DEBUG=false
export CARGO_PROFILE_TEST_OPT_LEVEL=0 CARGO_PROFILE_TEST_DEBUG=false

# Folder, package, and the tests that judge it.
folders() {
    echo crates/weir-net/src/queue weir-net queue::
    echo crates/weir-proto/src/cc/window weir-proto cc::window
    echo crates/weir-proto/src/cc/tfrc weir-proto cc::tfrc
}

# The lines `const NAME: TYPE = NUMBER…;` outside tests, as `file:line`.
constants_of() {
    find "$1" -name '*.rs' ! -name '*tests.rs' ! -name vectors.rs | sort | while read -r file; do
        awk -v file="$file" '
            /^ *mod tests \{/ { exit }
            /^ *(pub(\([a-z]*\))? )?const [A-Z_]+: .*=/ { print file ":" FNR }' "$file"
    done
}

# The line with its first number after `=` made greater; nothing if it has none.
greater() {
    awk -v line="$2" 'FNR == line { at = index($0, "= ") + 1
        head = substr($0, 1, at); rest = substr($0, at + 1)
        if (!match(rest, /[0-9][0-9_]*(\.[0-9_]+)?/)) exit
        number = substr(rest, RSTART, RLENGTH); gsub(/_/, "", number)
        changed = number ~ /\./ ? sprintf("%.9f", number * 1.05) : number + 1
        print head substr(rest, 1, RSTART - 1) changed substr(rest, RSTART + RLENGTH) }' "$1"
}

constants() {
    local tree=$out/tree
    rm -rf "$tree" && mkdir -p "$tree" && git archive HEAD | tar -x -C "$tree"
    export CARGO_TARGET_DIR=$out/target
    : >"$out/constants.txt"
    folders | while read -r folder package tests; do
        constants_of "$folder" | while IFS=: read -r file line; do
            local changed verdict=caught
            changed=$(greater "$file" "$line")
            [ -n "$changed" ] || continue
            awk -v line="$line" -v changed="$changed" \
                'FNR == line { print changed; next } { print }' "$file" >"$tree/$file"
            if ! (cd "$tree" && cargo test -q --offline -p "$package" --lib --no-run) \
                >"$out/build.log" 2>&1 </dev/null; then
                verdict=unviable
            elif (cd "$tree" && timeout 300 cargo test -q --offline -p "$package" --lib "$tests") \
                >"$out/test.log" 2>&1 </dev/null; then
                verdict=missed
            fi
            cp "$file" "$tree/$file"
            echo "$verdict $file:$line: $changed" | tee -a "$out/constants.txt"
        done
    done
    cut -d' ' -f1 "$out/constants.txt" | sort | uniq -c
}

code() {
    folders | while read -r folder package tests; do
        local name
        name=$(basename "$folder")
        # 2: some were missed. 3: some ran out of time, which counts as caught.
        cargo mutants --package "$package" --file "$folder/**" --shard "$shard" \
            --sharding round-robin --timeout 120 --output "$out/$name" \
            --cargo-arg=--offline -- --lib -- "$tests" </dev/null || [ $? -le 3 ]
        wc -l "$out/$name/mutants.out/"{caught,missed,timeout,unviable}.txt
    done
}

case $what in
constants) constants ;;
code) code ;;
all) constants && code ;;
*) sed -n '2,14s/^# \?//p' "$0" && exit 2 ;;
esac
