#!/usr/bin/env bash
# ended_well.sh TARGET: whether the last run of long.sh found nothing; else what it found.
cd "$(dirname "$0")/../../build/checked/fuzz/logs" || exit 1
[ "$(cat "$1.rc")" = 0 ] && exit 0
tail -n 40 "$1.log"
exit 1
