#!/usr/bin/env bash
# Runs tests again and again beside other load and beside a vfiogate that is the machine's, and prints a
# table for docs/results.md. For what hangs on time or on processes: a test that passes once proves little.
#   tests/repeat.sh [--times N] [--load N] [--preset NAME] TEST...
#   TEST         a test program, one case of it (PROGRAM.SUITE.CASE), or a regular expression of either
#   --times N    default: 10
#   --load N     so many processors are kept busy (stress-ng); default: 4; 0: none, and no vfiogate either
#   --preset     of ctest; default: release. Its programs and tests must be built.
# A test that fails goes on being run; what it said is kept in build/logs/repeat. Exit: 1 if one failed, 77
# where the load cannot be had, or another one runs in this tree.
set -euo pipefail
cd "$(dirname "$0")/.."

times=10 load=4 preset=release tests=()
while [ $# -gt 0 ]; do
  case $1 in
    --times) times=$2; shift 2 ;;
    --load) load=$2; shift 2 ;;
    --preset) preset=$2; shift 2 ;;
    -h | --help) sed -n '2,10s/^# \{0,1\}//p' "$0"; exit 0 ;;
    -*) echo "tests/repeat.sh: unknown option '$1' (see --help)" >&2; exit 2 ;;
    *) tests+=("$1"); shift ;;
  esac
done
[ "${#tests[@]}" -gt 0 ] || { echo "tests/repeat.sh: no test named (see --help)" >&2; exit 2; }
if [ "$load" != 0 ] && [ -z "${VFIOGATE_BESIDE:-}" ]; then
  VFIOGATE_BESIDE=1 exec tests/beside.sh --load "$load" tests/repeat.sh --times "$times" --load "$load" --preset "$preset" "${tests[@]}"
fi

listed=$(ctest --preset "$preset" -N | sed -n 's/^ *Test *#[0-9]*: //p')
mapfile -t names < <(for test in "${tests[@]}"; do
  cut -d . -f 1 <<<"$listed" | grep -xE "$test" || grep -xE "$test" <<<"$listed" || true
done | sort -u)
[ "${#names[@]}" -gt 0 ] || { echo "tests/repeat.sh: no test of that name" >&2; exit 2; }

mkdir -p build/logs
exec 9>build/logs/repeat.lock
flock --nonblock 9 || { echo "tests/repeat.sh: another one runs in this tree, and keeps its failures in the same folder" >&2; exit 77; }
kept=build/logs/repeat
rm -rf "$kept"
mkdir -p "$kept"
broken=0
echo "commit $(git rev-parse --short HEAD), $(date -u +%FT%RZ), $(nproc) processors, load of $load beside, $times times"
echo
echo "| test | passed | seconds | failed |"
echo "|---|---|---|---|"
for name in "${names[@]}"; do
  passed=0 least='' most='' failing=()
  for ((turn = 1; turn <= times; turn++)); do
    log=$kept/${name//\//-}-$turn.log began=$SECONDS
    if ctest --preset "$preset" -R "^$name(\.|\$)" >"$log" 2>&1 && grep -q ' Passed ' "$log"; then
      passed=$((passed + 1))
      rm "$log"
    else
      mapfile -t -O "${#failing[@]}" failing < <(sed -n 's/^.*\[  FAILED  \] \([^ ]*\) (.*/\1/p; s/^.*\*\*\*Skipped.*/skipped/p' "$log" | sort -u)
    fi
    took=$((SECONDS - began))
    if [ -z "$least" ] || [ "$took" -lt "$least" ]; then least=$took; fi
    if [ -z "$most" ] || [ "$took" -gt "$most" ]; then most=$took; fi
  done
  [ "$passed" -eq "$times" ] || broken=1
  echo "| \`$name\` | $passed of $times | $least to $most | $(printf '%s\n' ${failing[@]+"${failing[@]}"} | sort | uniq -c | sed '/^ *[0-9]* *$/d; s/^ *//' | paste -sd, | sed 's/,/, /g') |"
done
exit "$broken"
