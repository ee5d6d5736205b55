#!/bin/sh
# Compiles a congestion control module of a kernel source tree, unchanged, into a program that reads
# events, and into WebAssembly if a compiler for it is there.
# Usage: build.sh KERNEL_TREE NAME [OUTPUT_FOLDER]; NAME as in /proc/sys/net/ipv4/tcp_congestion_control.
set -eu
tree=$1 name=$2 out=${3:-build}
if [ ! -f "$tree/net/ipv4/tcp_cong.c" ]; then
  echo "\"$tree\" has no net/ipv4/tcp_cong.c, expected the source tree of a kernel" >&2
  exit 2
fi
here=$(cd "$(dirname "$0")" && pwd)
make_value() { sed -n "s/^$1 = //p" "$tree/Makefile" | head -1; }
kernel=$(($(make_value VERSION) * 100 + $(make_value PATCHLEVEL)))
mkdir -p "$out"
net=$tree/net/ipv4
sources="$net/tcp_cong.c $tree/lib/win_minmax.c"
[ "$name" = reno ] || sources="$net/tcp_$name.c $sources"
[ "$name" != yeah ] || sources="$net/tcp_vegas.c $sources"
flags="-std=gnu17 -O2 -fno-builtin -fno-strict-aliasing -fwrapv -ffp-contract=off -Wall -Wno-unused-function \
  -Wno-unused-variable -Wno-sign-compare -Wno-address -DKERNEL=$kernel -DHZ=${HZ:-250} -DCA=\"$name\" -I$here/include -I$here/stack"
${CC:-gcc} $flags -o "$out/driver-$name" $sources "$here/stack/stack.c" "$here/stack/driver.c"
wasm_ld=${WASM_LD:-$(command -v wasm-ld || find "${RUSTUP_HOME:-$HOME/.rustup}/toolchains" -name rust-lld 2>/dev/null | head -1)}
clang=${CLANG:-$(command -v clang || true)}
if [ -n "$wasm_ld" ] && [ -n "$clang" ]; then
  objects=
  for source in $sources "$here/stack/stack.c" "$here/stack/wasm.c"; do
    object=$out/$name-$(basename "$source" .c).o
    $clang --target=wasm32 -ffreestanding -nostdlibinc $flags -c -o "$object" "$source"
    objects="$objects $object"
  done
  case $wasm_ld in *rust-lld) wasm_ld="$wasm_ld -flavor wasm" ;; esac
  $wasm_ld --no-entry --export=__wasm_call_ctors --export-memory --strip-all -z stack-size=65536 \
    -o "$out/$name.wasm" $objects
  rm -f $objects
fi
