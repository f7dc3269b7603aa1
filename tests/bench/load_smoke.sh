#!/bin/sh
# Sees that load_bench works with a plugin that is not ours, finds its healthy devices, and counts what is refused.
# usage: load_smoke.sh PROGRAM
set -eu
directory=$(mktemp -d)
mkdir "$directory/device-plugins"
mkfifo "$directory/commands" "$directory/answers"
"$(dirname "$1")/../bin/recording-plugin" "$directory" example.com/card <"$directory/commands" >"$directory/answers" &
exec 3>"$directory/commands" 4<"$directory/answers"
trap 'exec 3>&- 4<&-; wait; rm -rf "$directory"' EXIT
tell() { # its lines about calls before the answer are left out
  echo "$*" >&3
  while read -r line <&4; do
    case $line in *'"answer"'*) return ;; esac
  done
  echo "recording-plugin ended"
  exit 1
}
bench() { "$program" --socket "$directory/device-plugins/recorder.sock" "$@"; }
program=$1
tell listen
tell show a '!sick' b c
bench --calls 6 --json "$directory/figures.json" >"$directory/table"
grep -q '^3 devices, 6 calls of each, microseconds ' "$directory/table"
python3 - "$directory/figures.json" <<'PYTHON'
import json, sys
row, = json.load(open(sys.argv[1]))
assert row["devices"] == 3 and row["per_call"] == 1 and row["refused"]["calls"] == 0, row
for kind in ("allocate", "empty"):
    assert row[kind]["calls"] == 6 and 0 < row[kind]["p50_us"] <= row[kind]["p99_us"], row
PYTHON
tell refuse allocate 3 no more of these
bench --devices b,c --calls 4 --callers 2 | tee "$directory/table"
grep -q '^2 devices, 3 calls of each' "$directory/table"
grep -q '^  the first refusal: no more of these$' "$directory/table"
if bench --calls 1 >"$directory/table" 2>&1; then
  echo "each was refused, and it says that all is well"
  exit 1
fi
grep -q 'each Allocate was refused, the first: no more of these' "$directory/table"
if bench --per-call 4 >"$directory/table" 2>&1; then
  echo "4 of 3 were given"
  exit 1
fi
grep -q '3 healthy devices are too few: 4 are asked for at once' "$directory/table"
