#!/bin/sh
# Builds the page of `weir lab` from web/ and puts it into crates/weir/page/page.tar, which is
# committed: a clone without Node builds the command.
#
#     scripts/page.sh           build and pack
#     scripts/page.sh --check   say whether the packed page is the build of its sources: by the hash
#                               of the sources, and with Node by a build that is compared
#     scripts/page.sh --hash    the same by the hash alone
#     scripts/page.sh --pack    pack web/dist as it is
#     scripts/page.sh --sources print the hash of the sources
set -eu
cd "$(dirname "$0")/.."
page=crates/weir/page/page.tar

# What the page is built from. Its engine is the simulator, whose crates change more often than the
# page: tests compare the engine with the command.
sources() {
    git ls-files web crates/weir-wasm experiments examples suites docs/pictures scripts/page.sh \
        scripts/wasm.sh crates/weir-lab/src/report/style.rs \
        | LC_ALL=C sort \
        | while IFS= read -r file; do sha256sum "$file"; done \
        | sha256sum | cut -d ' ' -f 1
}

build() {
    # The packages first: one of them makes the engine smaller.
    (cd web && npm ci --no-audit --no-fund)
    scripts/wasm.sh
    (cd web && npm run build)
}

# Packs web/dist with equal bytes for equal files: no times, owners or order of the disk.
pack() {
    packed=$(mktemp -d)
    trap 'rm -rf "$packed"' EXIT
    cp -R web/dist/. "$packed"
    (
        cd "$packed"
        find . -type f ! -name '*.map' | LC_ALL=C sort | while IFS= read -r file; do
            gzip -9 -n "$file"
        done
        find . -name '*.map' -delete
    )
    sources > "$packed/SOURCES"
    (cd "$packed" && find . -type f | sed 's,^\./,,' | LC_ALL=C sort) > "$packed.list"
    mkdir -p "$(dirname "$1")"
    tar -cf "$1.part" -C "$packed" --format=ustar --mtime=@0 --owner=0 --group=0 --numeric-owner \
        --mode=644 --no-recursion -T "$packed.list"
    mv "$1.part" "$1"
    rm -f "$packed.list"
}

case "${1:-}" in
    --sources) sources ;;
    --pack) pack "$page" && ls -l "$page" ;;
    --check | --hash)
        packed=$(tar -xOf "$page" SOURCES)
        if [ "$packed" != "$(sources)" ]; then
            echo "page: $page is not the build of web/: run scripts/page.sh" >&2
            exit 1
        fi
        if [ "$1" = --hash ]; then
            echo "page: the hash of its sources agrees"
            exit 0
        fi
        if ! command -v npm > /dev/null; then
            echo "page: the hash of its sources agrees; not built again, because Node is missing"
            exit 0
        fi
        build > /dev/null
        again=$(mktemp)
        pack "$again"
        if ! cmp -s "$page" "$again"; then
            rm -f "$again"
            echo "page: a build of web/ gives other files than $page has: run scripts/page.sh" >&2
            exit 1
        fi
        rm -f "$again"
        echo "page: $page is the build of its sources"
        ;;
    '') build && pack "$page" && ls -l "$page" ;;
    *) echo "usage: scripts/page.sh [--check|--hash|--pack|--sources]" >&2; exit 2 ;;
esac
