#!/usr/bin/env bash
# Fuzzes for as long as you like, on all processors, and says what was reached.
#   tests/fuzz/long.sh [--keep | --quick] [TIME] [TARGET...]
# TIME       of each target: 30s, 10m or 8h; 1h unless given
# TARGET...  such as config_fuzz; all unless given
# --keep     then puts into tests/fuzz/corpus what reaches more than the seeds there do
# --quick    without the table and without building: for tests/run.sh
# What is found along the way stays in build/checked/fuzz, which git ignores: corpus/TARGET/, logs/TARGET.log,
# and TARGET-crash-... for each finding. Exit 1 if anything was found.
set -euo pipefail
cd "$(dirname "$0")/../.."

keep=no quick=no time=1h
for _ in 1 2; do
  case "${1:-}" in
    --keep) keep=yes; shift ;;
    --quick) quick=yes; shift ;;
    -h | --help) sed -n '2,9s/^# \{0,1\}//p' "$0"; exit 0 ;;
    -*) echo "long.sh: unknown option '$1' (see --help)" >&2; exit 2 ;;
  esac
done
if [[ ${1:-} =~ ^[0-9]+[smh]$ ]]; then time=$1; shift; fi
if [[ ${1:-} =~ ^[0-9] ]]; then echo "long.sh: '$1' is no time: give 30s, 10m or 8h" >&2; exit 2; fi
case "$time" in
  *s) seconds=${time%s} ;;
  *m) seconds=$((${time%m} * 60)) ;;
  *h) seconds=$((${time%h} * 3600)) ;;
esac

if [ "$quick" = no ]; then
  cmake --preset checked >/dev/null
  cmake --build --preset checked --target fuzzers
fi
if [ "$#" -eq 0 ]; then
  for program in build/checked/fuzz/*_fuzz; do set -- "$@" "$(basename "$program")"; done
fi
at_once=$(nproc)
mkdir -p build/checked/fuzz/logs
echo "$# targets, $seconds s each, $at_once at a time: $((($# * seconds + at_once - 1) / at_once / 60 + 1)) minutes at most"

# How far each target is, once a minute.
progress() {
  while sleep 60; do
    for log in build/checked/fuzz/logs/*_fuzz.log; do
      [ "$log" -ot build/checked/fuzz/logs/.began ] || grep -E '^#[0-9]+' "$log" | tail -n 1 | sed "s|^|$(basename "$log" .log) |"
    done
    echo "--"
  done
}
touch build/checked/fuzz/logs/.began
rm -f build/checked/fuzz/logs/*.rc
if [ "$quick" = no ]; then
  progress &
  watcher=$!
  trap 'kill "$watcher" 2>/dev/null || true' EXIT
fi
printf '%s\n' "$@" | xargs -P "$at_once" -I{} tests/fuzz/one.sh {} "$seconds"

if [ "$keep" = yes ]; then
  for target in "$@"; do
    "build/checked/fuzz/$target" -merge=1 "tests/fuzz/corpus/$target" "build/checked/fuzz/corpus/$target" >/dev/null 2>&1
  done
fi
if [ "$quick" = no ]; then tests/fuzz/reached.py "$@"; fi
cat build/checked/fuzz/logs/*.rc | grep -qv '^0$' && exit 1
exit 0
