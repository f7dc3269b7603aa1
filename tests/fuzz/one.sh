#!/usr/bin/env bash
# one.sh TARGET SECONDS: one target of long.sh. What it said is in build/checked/fuzz/logs/TARGET.log, whether it
# found something in TARGET.rc.
set -euo pipefail
cd "$(dirname "$0")/../.."
target=$1
log=build/checked/fuzz/logs/$target.log
rc=0
mkdir -p "build/checked/fuzz/corpus/$target" "tests/fuzz/corpus/$target"
"build/checked/fuzz/$target" -max_total_time="$2" -timeout=5 -rss_limit_mb=1024 -print_final_stats=1 \
  -artifact_prefix="build/checked/fuzz/$target-" "build/checked/fuzz/corpus/$target" "tests/fuzz/corpus/$target" >"$log" 2>&1 || rc=$?
echo "$rc" >"build/checked/fuzz/logs/$target.rc"
if [ "$rc" -ne 0 ]; then
  echo "FOUND by $target: $(grep -E 'ERROR|SUMMARY|written to' "$log" | tr '\n' ' ')"
fi
