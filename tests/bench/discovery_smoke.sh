#!/bin/sh
# Sees that discovery_bench works and prints: a node of 8 devices, a few changes.
# usage: discovery_smoke.sh PROGRAM
set -eu
if [ "$(id -u)" -ne 0 ] || ! unshare -mn true 2>/dev/null; then
  echo "needs root with CAP_SYS_ADMIN: privd serves only as root, events need a network namespace"
  exit 77
fi
directory=$(mktemp -d)
trap 'rm -rf "$directory"' EXIT
"$1" --devices 8 --events 3 --bursts 2 --sweeps 1 --json "$directory/figures.json" |
  tee "$directory/table"
grep -q '^ *8 *3 .* [0-9]*$' "$directory/table"
python3 - "$directory/figures.json" <<'PYTHON'
import json, sys
row, = json.load(open(sys.argv[1]))
assert row["devices"] == row["burst_size"] == 8 and row["sweeps"] >= 1, row
for kind, count in (("shown", 3), ("heard", 3), ("burst_shown", 2), ("burst_heard", 2)):
    assert row[kind]["calls"] == count and 0 < row[kind]["p50_us"] <= row[kind]["p99_us"], row
assert all(frames >= 1 for frames in row["burst_frames"]), row
assert 0 < row["resident_before_kib"] and 0 < row["resident_after_kib"], row
assert row["sweep_us_per_device"] > 0 and row["bare_us_per_device"] > 0, row
PYTHON
