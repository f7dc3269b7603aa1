#!/usr/bin/env bash
# Applies each patch here to a copy of the ledger and runs the tests on it: every mutant must be
# caught by the test that its first line names. Prints which; fails if one survives.
#   tests/mutants/run.sh [NAME...]    default: all
#   tests/mutants/run.sh --sample N [COMMIT]
#                                     N of them, which the commit (default: HEAD) chooses: others with the next
#                                     one, the same ones whenever it is run again
#   tests/mutants/run.sh --check      only whether each still applies, and its test exists
# The sources are compiled one by one, so a header that one of them lacks is found here, too.
set -euo pipefail
here="$(cd "$(dirname "$0")" && pwd)"
root="$(cd "$here/../.." && pwd)"
cd "$root"

# wanted PATCH: the test that must catch it.
wanted() { sed -n '1s/.*caught by //p' "$1"; }

if [ "${1:-}" = --check ]; then
  stale=0
  for patch in "$here"/*.patch; do
    name="$(basename "$patch" .patch)" test="$(wanted "$patch")"
    git apply --check "$patch" || { echo "$name: does not apply"; stale=$((stale + 1)); }
    grep -qE "^TEST(_F|_P)?\(${test%%.*}, ${test##*.}\)" tests/unit/plugind/ledger/*_test.cc ||
      { echo "$name: there is no test ${test:-named}"; stale=$((stale + 1)); }
  done
  echo "$stale stale"
  [ "$stale" -eq 0 ]
  exit
fi

patches=("$here"/*.patch)
if [ "${1:-}" = --sample ]; then
  commit="$(git rev-parse "${3:-HEAD}")"
  first=$((16#${commit:0:12} % ${#patches[@]}))
  chosen=()
  for ((i = 0; i < $2; i++)); do chosen+=("${patches[(first + i) % ${#patches[@]}]}"); done
  patches=("${chosen[@]}")
  echo "chosen by commit ${commit:0:12}: $(basename -s .patch -a "${patches[@]}" | paste -sd' ')"
elif [ $# -gt 0 ]; then
  patches=("${@/#/$here/}")
  patches=("${patches[@]/%/.patch}")
fi

work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT
cp --parents -r ipc/base ipc/types ipc/api plugind/core tests/unit/plugind/ledger tests/support/ledger_node.h \
  tests/support/hardware.h tests/support/written_specs.h "$work"
cd "$work"
cat >Makefile <<'MAKE'
SOURCES := $(wildcard plugind/core/*.cc plugind/core/*/*.cc plugind/core/*/*/*.cc ipc/base/*.cc ipc/types/*.cc \
                      tests/unit/plugind/ledger/*.cc)
OBJECTS := $(SOURCES:.cc=.o)
CXX := $(shell command -v ccache) g++
tests_of_ledger: $(OBJECTS)
	g++ $^ -o $@ -lgmock -lgtest -lgtest_main -lpthread
%.o: %.cc
	$(CXX) -std=c++20 -O0 -I. -w -MMD -c $< -o $@
-include $(OBJECTS:.o=.d)
MAKE
make -s -j"${JOBS:-2}" tests_of_ledger
./tests_of_ledger --gtest_brief=1 >/dev/null || { echo "the tests fail without a mutant"; exit 1; }
survived=0 caught=0
for patch in "${patches[@]}"; do
  name="$(basename "$patch" .patch)"
  test="$(wanted "$patch")"
  patch -s -p1 <"$patch" || { echo "$name: does not apply"; exit 1; }
  if ! make -s -j"${JOBS:-2}" tests_of_ledger; then
    echo "$name: does not compile"
    exit 1
  fi
  # A mutant may crash a test; only its verdict on the named one counts.
  { timeout 120 ./tests_of_ledger --gtest_brief=1 >output.txt 2>&1 || true; } 2>/dev/null
  failed="$(sed -n 's/^\[  FAILED  \] \([^ ]*\) (.*/\1/p' output.txt | sort -u | tr '\n' ' ')"
  if [[ " $failed" == *" $test "* ]]; then
    echo "$name: caught by $test ($(wc -w <<<"$failed") tests failed)"
    caught=$((caught + 1))
  else
    echo "$name: SURVIVED $test (failed: ${failed:-none})"
    survived=$((survived + 1))
  fi
  patch -s -R -p1 <"$patch"
done
echo "$caught caught, $survived survived"
[ "$survived" -eq 0 ]
