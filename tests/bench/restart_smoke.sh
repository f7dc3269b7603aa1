#!/bin/sh
# Sees that restart_bench works and prints: a node of 8 devices, a few restarts.
# usage: restart_smoke.sh PROGRAM
set -eu
if [ "$(id -u)" -ne 0 ] || ! unshare -m true 2>/dev/null; then
  echo "needs root with CAP_SYS_ADMIN: privd serves only as root, the bench has a tmpfs of its own"
  exit 77
fi
directory=$(mktemp -d)
trap 'rm -rf "$directory"' EXIT
"$1" --devices 8 --kubelets 3 --pluginds 2 --json "$directory/figures.json" |
  tee "$directory/table"
grep -Eq '^  kubelet.sock is made +3 ' "$directory/table"
grep -Eq '^  all processes start +2 ' "$directory/table"
python3 - "$directory/figures.json" <<'PYTHON'
import json, sys
row, = json.load(open(sys.argv[1]))
assert row["devices"] == 8, row
for kind, count in (("kubelet", 3), ("plugind", 2), ("all", 2)):
    assert row[kind]["calls"] == count and 0 < row[kind]["p50_us"] <= row[kind]["p99_us"], row
PYTHON
