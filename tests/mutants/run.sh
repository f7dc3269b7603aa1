#!/usr/bin/env bash
# Applies each patch here to a copy of the ledger, and each in gate/ to one of privd's gate and its record, and runs the
# tests on it: every mutant must be caught by the test that its first line names. Prints which; fails if one survives.
#   tests/mutants/run.sh [NAME...]    default: all; those in gate/ are named gate/NAME
#   tests/mutants/run.sh --sample N [COMMIT]
#                                     N of them, which the commit (default: HEAD) chooses: others with the next
#                                     one, the same ones whenever it is run again
#   tests/mutants/run.sh --check      only whether each still applies, and its test exists
# The sources are compiled one by one, so a header that one of them lacks is found here, too.
set -euo pipefail
here="$(cd "$(dirname "$0")" && pwd)"
root="$(cd "$here/../.." && pwd)"
cd "$root"

# nameOf PATCH
nameOf() { local name="${1#"$here"/}"; echo "${name%.patch}"; }
# wanted PATCH: the test that must catch it.
wanted() { sed -n '1s/.*caught by //p' "$1"; }

# use SUITE: `folders` to copy, of them the `sources` to compile, files of `tests`, and which of these to run, by `filter`.
use() {
  case "$1" in
    ledger)
      filter="*"
      tests="tests/unit/plugind/ledger/*_test.cc"
      folders="ipc/base ipc/types ipc/api plugind/core tests/unit/plugind/ledger tests/support/ledger_node.h
        tests/support/hardware.h tests/support/written_specs.h"
      sources="plugind/core/*.cc plugind/core/*/*.cc plugind/core/*/*/*.cc ipc/base/*.cc ipc/types/*.cc
        tests/unit/plugind/ledger/*.cc"
      ;;
    gate)
      filter="-*.I10_*"  # floods: long
      tests="tests/unit/privd/gate/gate_exclusions_test.cc tests/unit/privd/gate/gate_loop_test.cc
        tests/unit/privd/gate/gate_session_test.cc tests/unit/privd/gate/plugind_dial_test.cc
        tests/unit/privd/state/allocation_locks_test.cc"
      folders="ipc/base ipc/gate ipc/socket ipc/types privd seccomp sim/base tests/support/played tests/unit/privd"
      sources="ipc/base/*.cc ipc/gate/*.cc ipc/socket/*.cc ipc/types/*.cc privd/base/instance_lock.cc
        privd/base/log_line.cc privd/base/log_output.cc privd/base/open_file.cc privd/base/replace_file.cc
        privd/base/plain_loop.cc privd/base/sha256.cc privd/cdi/*.cc privd/gate/directory_watch.cc privd/gate/gate_channel.cc
        privd/gate/gate_loop.cc privd/gate/gate_service.cc privd/gate/kubelet_gate.cc privd/gate/plugind_dial.cc
        privd/gate/plugind_lease.cc privd/gate/gate_specs.cc privd/sandbox/lasting_directories.cc privd/state/*.cc
        seccomp/resource_limits.cc $tests"
      ;;
  esac
}

if [ "${1:-}" = --check ]; then
  stale=0
  for patch in "$here"/*.patch "$here"/gate/*.patch; do
    name="$(nameOf "$patch")" test="$(wanted "$patch")"
    if [[ "$name" == gate/* ]]; then use gate; else use ledger; fi
    git apply --check "$patch" || { echo "$name: does not apply"; stale=$((stale + 1)); }
    # shellcheck disable=SC2086  # several patterns
    grep -qE "^TEST(_F|_P)?\(${test%%.*}, ${test##*.}\)" $tests ||
      { echo "$name: there is no test ${test:-named}"; stale=$((stale + 1)); }
  done
  echo "$stale stale"
  [ "$stale" -eq 0 ]
  exit
fi

patches=("$here"/*.patch "$here"/gate/*.patch)
if [ "${1:-}" = --sample ]; then
  commit="$(git rev-parse "${3:-HEAD}")"
  first=$((16#${commit:0:12} % ${#patches[@]}))
  chosen=()
  for ((i = 0; i < $2; i++)); do chosen+=("${patches[(first + i) % ${#patches[@]}]}"); done
  patches=("${chosen[@]}")
  echo "chosen by commit ${commit:0:12}: $(for patch in "${patches[@]}"; do nameOf "$patch"; done | paste -sd' ')"
elif [ $# -gt 0 ]; then
  patches=("${@/#/$here/}")
  patches=("${patches[@]/%/.patch}")
fi

survived=0 caught=0
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT

# shellcheck disable=SC2086  # several patterns
# shellcheck disable=SC2116
compile() { make -s -j"${JOBS:-2}" SOURCES="$(echo $sources)" the_tests; }

# run SUITE PATCH...
run() {
  use "$1"
  shift
  mkdir "$work/copy"
  # shellcheck disable=SC2086  # several folders
  (cd "$root" && cp --parents -r $folders "$work/copy")
  cd "$work/copy"
  cat >Makefile <<'MAKE'
OBJECTS := $(SOURCES:.cc=.o)
CXX := $(shell command -v ccache) g++
the_tests: $(OBJECTS)
	g++ -Wl,--gc-sections $^ -o $@ -lgmock -lgtest -lgtest_main -lkj -lmd -lpthread
%.o: %.cc
	$(CXX) -std=c++20 -O0 -ffunction-sections -I. -w -MMD -c $< -o $@
-include $(OBJECTS:.o=.d)
MAKE
  compile
  ./the_tests --gtest_brief=1 --gtest_filter="$filter" >/dev/null 2>&1 || { echo "the tests fail without a mutant"; exit 1; }
  local patch name test failed
  for patch in "$@"; do
    name="$(nameOf "$patch")" test="$(wanted "$patch")"
    patch -s -p1 <"$patch" || { echo "$name: does not apply"; exit 1; }
    compile || { echo "$name: does not compile"; exit 1; }
    # A mutant may crash a test; only its verdict on the named one counts.
    { timeout 120 ./the_tests --gtest_brief=1 --gtest_filter="$filter" >output.txt 2>&1 || true; } 2>/dev/null
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
  cd "$root"
  rm -r "$work/copy"
}

ledger=() gate=()
for patch in "${patches[@]}"; do
  if [[ "$patch" == */gate/* ]]; then gate+=("$patch"); else ledger+=("$patch"); fi
done
if [ "${#ledger[@]}" -gt 0 ]; then run ledger "${ledger[@]}"; fi
if [ "${#gate[@]}" -gt 0 ]; then run gate "${gate[@]}"; fi
echo "$caught caught, $survived survived"
[ "$survived" -eq 0 ]
