#!/usr/bin/env bash
# Builds programs of the release preset twice, in two directories, without a compiler cache, and compares their bytes.
#   tests/supply/reproducible.sh [PROGRAM...]                   default: privd privd-daemon privd-gate plugind netd
#   tests/supply/reproducible.sh --against BIN [PROGRAM...]     builds once, and compares with BIN/PROGRAM
# What is compared is what is shipped, the stripped program, and the program with its debugging information; with --against the
# former alone, since a compiler cache that BIN came from may have told the debugger of another directory.
set -euo pipefail
cd "$(dirname "$0")/../.."

against=
if [ "${1:-}" = --against ]; then
  against=$(realpath "$2")
  shift 2
fi
[ $# -gt 0 ] || set -- privd privd-daemon privd-gate plugind netd

place=$(mktemp -d -t vfiogate-twice-XXXXXX)
trap 'rm -rf "$place"' EXIT
export CCACHE_DISABLE=1

# Without .git the copies know their commit from a file, as a tree of `git archive` does.
commit="$(git describe --always --dirty --abbrev=40 --exclude='*') $(git log -1 --format=%ct)"

# Of different length and depth: paths that end in the program change more than their letters.
make_tree() { # DIRECTORY
  mkdir -p "$1"
  git ls-files -z --cached --others --exclude-standard | while IFS= read -r -d '' name; do
    if [ -e "$name" ]; then printf '%s\0' "$name"; fi
  done | tar --null -cf - -T - | tar -xf - -C "$1"
  echo "$commit" >"$1/cmake/source_commit"
}

build() { # DIRECTORY PROGRAM...
  make_tree "$1"
  (cd "$1" && cmake --preset release -DCMAKE_C_COMPILER_LAUNCHER= -DCMAKE_CXX_COMPILER_LAUNCHER= && nice ninja -j"$(nproc)" -C build/release "${@:2}") >"$place/log" 2>&1 ||
    { tail -n 20 "$place/log" >&2; return 1; }
}

same() { # WHAT ONE OTHER
  if cmp "$2" "$3"; then
    echo "same bytes: $1, sha256 $(sha256sum <"$2" | cut -d' ' -f1)"
  else
    echo "NOT the same bytes: $1"
    bad=1
  fi
}

bad=0
build "$place/one" "$@"
one=$place/one/build/release/bin
other=$against
if [ -z "$against" ]; then
  build "$place/another/deeper/tree" "$@"
  other=$place/another/deeper/tree/build/release/bin
  for program in "$@"; do same "$program" "$one/$program" "$other/$program"; done
fi
for program in "$@"; do
  strip --strip-unneeded -o "$place/$program.one" "$one/$program"
  strip --strip-unneeded -o "$place/$program.other" "$other/$program"
  same "$program, stripped" "$place/$program.one" "$place/$program.other"
  if strings -a "$place/$program.one" | grep -F "$place"; then
    echo "$program: NOT without the builder's paths"
    bad=1
  fi
done
exit $bad
