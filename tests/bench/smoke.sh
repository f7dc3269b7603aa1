#!/bin/sh
# Sees that allocate_bench works and prints: a node of 8 devices, more calls than it has.
# usage: smoke.sh PROGRAM
set -eu
if [ "$(id -u)" -ne 0 ] || ! unshare -m true 2>/dev/null; then
  echo "needs root with CAP_SYS_ADMIN: privd serves only as root, the bench has a tmpfs of its own"
  exit 77
fi
directory=$(mktemp -d)
trap 'rm -rf "$directory"' EXIT
"$1" --devices 8 --calls 10 --json "$directory/figures.json" | tee "$directory/table"
grep -q '^8 devices, 10 calls of each, microseconds ' "$directory/table"
grep -q '^  Allocate .* 1\.00$' "$directory/table"
# Two nodes' worth of calls: plugind was started anew, and every call was timed.
python3 - "$directory/figures.json" <<'PYTHON'
import json, sys
row, = json.load(open(sys.argv[1]))
assert row["devices"] == 8 and row["per_call"] == 1 and row["restarts"] == 1, row
for kind in ("allocate", "empty", "bare", "relayed", "read", "preferred"):
    assert row[kind]["calls"] == 10 and 0 < row[kind]["p50_us"] <= row[kind]["p99_us"], row
PYTHON
"$1" --devices 8 --calls 3 --callers 4 --json "$directory/callers.json" >"$directory/table"
python3 - "$directory/callers.json" <<'PYTHON'
import json, sys
row, = json.load(open(sys.argv[1]))
assert all(row[kind]["calls"] == 12 and 0 < row[kind]["p50_us"] for kind in ("allocate", "empty")), row
assert row["restarts"] == 2, row
PYTHON
"$1" --devices 8 --calls 3 --per-call 3 --json "$directory/each3.json" >"$directory/table"
grep -q '^  Allocate of 3 devices .* 1\.00$' "$directory/table"
python3 - "$directory/each3.json" <<'PYTHON'
import json, sys
row, = json.load(open(sys.argv[1]))
assert row["per_call"] == 3 and row["allocate"]["calls"] == 3 and row["restarts"] == 1, row
PYTHON
if "$1" --devices 8 --calls 1 --per-call 8 >"$directory/said" 2>&1; then
  echo "8 of 8 were given, one of which comes first"
  exit 1
fi
grep -q '8 devices are too few' "$directory/said"
