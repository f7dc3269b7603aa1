#!/bin/sh
# Sees that idle_bench works and prints.
# usage: idle_smoke.sh PROGRAM
set -eu
if [ "$(id -u)" -ne 0 ]; then
  echo "needs root: privd serves only as root"
  exit 77
fi
directory=$(mktemp -d)
trap 'rm -rf "$directory"' EXIT
"$1" --devices 8 --seconds 1 --json "$directory/figures.json" | tee "$directory/table"
grep -q '^plugind  *8 ' "$directory/table"
python3 - "$directory/figures.json" <<'PYTHON'
import json, sys
rows = json.load(open(sys.argv[1]))
assert {row["program"] for row in rows} == {"plugind", "privd-gate", "privd-hardware", "bare server"}, rows
for row in rows:
    assert row["threads"] > 0 and 0 < row["pss_kib"] <= row["rss_kib"], row
    assert 0 < row["private_kib"] <= row["rss_kib"], row
PYTHON
