#!/usr/bin/env bash
# Installs what is missing, builds, and runs every layer of tests that this machine allows.
#   tests/run.sh                    what every change must pass, under 45 minutes on 2 cores
#   tests/run.sh --full             also ThreadSanitizer, clang-tidy on everything, longer fuzzing, each mutant, two
#                                   builds, the cluster's long cases, 10^6 random steps of the ledger, 2,000 kills and
#                                   5,000 restarts of the kubelet, 5,000 interleavings, Debian 13 in a chroot, ARM64,
#                                   a virtual machine with a kernel that is built for it
#   tests/run.sh --full --part N/M  the Nth of M parts of that, none longer than 100 minutes. What came of each step is
#                                   kept in tests/full_runs.tsv; tests/full_runs.py table says which stand
#   tests/run.sh --full STEP...     those steps
# Ends with the line "N passed, N failed, N skipped"; exit 0 only if nothing failed. The machine's own vfiogate and
# kubelet, if it has them, are out of reach meanwhile (tests/machines_own.sh).
# shellcheck disable=SC2317  # the steps are called by their names
set -uo pipefail
cd "$(dirname "$0")/.." || exit 1

usage() { echo "tests/run.sh: $* (see --help)" >&2; exit 2; }
steps=()
case "${1:-}" in
  "") ;;
  --full)
    if [ "${2:-}" = --part ]; then
      [ $# -eq 3 ] || usage "--part N/M"
      mapfile -t steps < <(tests/full_runs.py part "$3")
    elif [ $# -gt 1 ]; then
      steps=("${@:2}")
    else
      mapfile -t steps < <(tests/full_runs.py steps)
    fi
    [ "${#steps[@]}" -gt 0 ] || exit 2
    ;;
  -h | --help) sed -n '2,13s/^# \{0,1\}//p' "$0"; exit 0 ;;
  *) usage "unknown option '$1'" ;;
esac
if [ "${VFIOGATE_APART:-}" != $$ ]; then exec tests/machines_own.sh run tests/run.sh "$@"; fi

passed=0 failed=0 skipped=0 runs=0
failures=() skips=()
logs=build/logs
mkdir -p "$logs"
began=$SECONDS
# Seconds after which the default run begins nothing long any more. Meant for 45 minutes, it takes
# longer on a machine whose host is busy; whoever waits for it gives up at 90.
longest=3900
[ "${#steps[@]}" -eq 0 ] || longest=86400 # --full leaves nothing out

heading() { printf '\n== %s (%d s)\n' "$1" $((SECONDS - began)); }
pass() { passed=$((passed + 1)); }
fail() { failed=$((failed + 1)); failures+=("$1"); echo "FAILED: $1"; }
skip() { skipped=$((skipped + 1)); skips+=("$1"); }

# check NAME COMMAND...: one test that is a command; its output is shown only if it fails.
check() {
  local name=$1 log
  log=$logs/${1//[^a-zA-Z0-9]/_}.log
  shift
  if "$@" >"$log" 2>&1; then pass; else tail -n 40 "$log"; fail "$name"; fi
}

# build PRESET [TARGET...]: what cannot be built cannot be tested; ends the run.
build() {
  local preset=$1
  shift
  heading "build: $preset"
  if ! cmake --preset "$preset" >"$logs/configure-$preset.log" 2>&1; then
    tail -n 20 "$logs/configure-$preset.log"
    fail "configure $preset"
    finish
  fi
  if ! cmake --build --preset "$preset" ${1:+--target "$@"} >"$logs/build-$preset.log" 2>&1; then
    grep -E 'error|FAILED|warning:' "$logs/build-$preset.log" | head -n 40
    fail "build $preset"
    finish
  fi
}

# build_beside COMMANDS: builds while the tests that follow mostly wait, with what they leave of the processors, so that
# the build() for the same finds it done. Lowest of all groups of processes, where the kernel makes these. Ends when the
# run has no time left for what needs it.
beside=
build_beside() {
  setsid timeout $((longest + began - SECONDS)) nice -n 19 \
    bash -c "echo 19 >/proc/self/autogroup 2>/dev/null; $1" >"$logs/build-beside.log" 2>&1 &
  beside=$!
}
# What went wrong is said by build().
await_beside() {
  [ -z "$beside" ] || wait "$beside" || true
  beside=
}
end_beside() { [ -z "$beside" ] || kill -- "-$beside" 2>/dev/null || true; }
trap end_beside EXIT

# ctests PRESET [ctest arguments]: every case counts as one test.
ctests() {
  local preset=$1
  shift
  heading "test: $preset $*"
  runs=$((runs + 1))
  local results=build/results/$runs-$preset.xml log=$logs/ctest-$runs-$preset.log
  rm -f "$results"
  mkdir -p build/results
  ctest --preset "$preset" --output-junit "$PWD/$results" --test-output-size-passed 10000000 "$@" >"$log" 2>&1 || true
  local counts
  if ! counts=$(tests/count_results.py "$results" "$log"); then
    tail -n 60 "$log"
    fail "reading the results of $preset"
    return
  fi
  local kind text
  while IFS=$'\t' read -r kind text; do
    case "$kind" in
      passed) passed=$((passed + text)) ;;
      failed) fail "$preset: $text" ;;
      skipped) skip "$preset: $text" ;;
      output) echo "$text" ;;
    esac
  done <<<"$counts"
}

# timely WHAT [LATEST]: whether the run has time for what can be left out; said if it has not. LATEST: seconds after which
# it is not begun, `longest` if not said.
timely() {
  [ $((SECONDS - began)) -lt "${2:-$longest}" ] && return
  skip "$1: out of time after $(((SECONDS - began) / 60)) minutes"
  false
}

# Asked once after each step, and of a run without steps at its end.
asked=
left_alone() {
  asked=yes
  check "the machine's own vfiogate and kubelet were left alone" tests/machines_own.sh untouched
}

finish() {
  [ -n "$asked" ] || left_alone
  heading "done"
  if [ "$skipped" -gt 0 ]; then printf 'skipped: %s\n' "${skips[@]}"; fi
  if [ "$failed" -gt 0 ]; then printf 'failed: %s\n' "${failures[@]}"; fi
  echo "$passed passed, $failed failed, $skipped skipped"
  [ "$failed" -eq 0 ]
  exit
}

heading "install"
tests/install.sh || { fail "install"; finish; }

# Sanitizers need no leak check inside the sandboxed daemons: it would fork at exit (ADR 0003).
export ASAN_OPTIONS=detect_stack_use_after_return=1 UBSAN_OPTIONS=print_stacktrace=1

# Each test is compiled once: those that start programs with the programs that are shipped, those
# that link our libraries with the sanitizers. Then the former drive sanitized programs, too. With
# --full everything is compiled both ways besides.
# Many at once: they mostly wait. CMake names those that must be alone.
inside='^(unit|property|peers)$'
driving='instances|split|settings|cdi|timelines|timelines_release|traps|registration_life|rolling_update|random_life'
driving="^($driving|updates|plugind_process)_test\."

checked="privd plugind tests_unit tests_property tests_peers fuzzers"
fuzz_targets() { basename -a build/checked/fuzz/*_fuzz; }
# fuzz SECONDS TARGET...: each for so long after it has been given its corpus.
fuzz() {
  local seconds=$1 target
  shift
  tests/fuzz/long.sh --quick "${seconds}s" "$@" || true
  for target in "$@"; do check "fuzz $target for $seconds s" tests/fuzz/ended_well.sh "$target"; done
}

full_default() {
  heading "sources"
  check "clang-format" tests/format.sh
  check "shellcheck" bash -c 'git ls-files "*.sh" .ci/run | xargs shellcheck -x'
  # Of what it says, only what fails when it is run: a test may import cases and say no name of them.
  check "names in Python" bash -c '! git ls-files "*.py" | xargs pyflakes3 | grep "undefined name"'
  check "include rules" tests/budget/include_rules.py
  check "counting of linked lines" tests/budget/linked_code_test.py
  check "counting of results" tests/count_results_test.py
  check "what stands of the full run" tests/full_runs_test.py
  check "the machine's own places" tests/machines_own_test.sh
  check "stand-in API server" sim/api_server/api_server_test.py
  check "what a build says it is of" tests/supply/build_info_test.py
  check "versions that the build refuses" tests/supply/known_bad_test.sh
  check "each file has a licence" tests/supply/licences_test.sh
  check "the workflow for CI" tests/supply/workflow_test.py
  check "words" tests/docs/words.py
  check "comments of public functions" tests/docs/comments.py
  check "mutants of the ledger apply, their tests exist" tests/mutants/run.sh --check

  build release programs machine_programs tests_integration tests_standin tests_fault tests_sandbox tests_bench
  check "budget of the trusted code" tests/budget/trusted_code.py build/release/bin
  check "hardening of the programs" tests/supply/hardening.py build/release/bin
  build_beside "cmake --preset checked && cmake --build --preset checked -j 2 --target $checked"
  # Those of checked are not built here, and ctest lists each under this name. What could not be built ended the run.
  ctests release -LE "$inside|^machine\$|^cluster" -E '_NOT_BUILT$' --parallel 6
  # Nodes beside each other mostly wait; a third would keep the others from answering in time.
  if timely "the real node"; then ctests release -L '^cluster$' --parallel 2; fi
  # A virtual machine is emulated: it fills a processor. It takes five minutes.
  if timely "the virtual machine" $((longest + 600)); then ctests release -L '^machine$' --parallel 2; fi
  heading "the builds beside the tests"
  await_beside
  if timely "tests of libraries with sanitizers"; then
    # shellcheck disable=SC2086  # several targets
    build checked $checked
    ctests checked -L "$inside" --parallel 2
  fi

  heading "reproducible build"
  if timely "a second build of netd"; then
    check "a second build of netd elsewhere has the same bytes" tests/supply/reproducible.sh --against build/release/bin netd
  fi

  heading "clang-tidy"
  if timely "clang-tidy on what changed last"; then
    check "clang-tidy on what changed last" tests/tidy.py --changed
  fi

  heading "mutants"
  if timely "some mutants of the ledger"; then
    check "some mutants of the ledger are caught" tests/mutants/run.sh --sample 3
    grep -E "chosen|caught" "$logs/some_mutants_of_the_ledger_are_caught.log"
  fi

  if timely "fuzzing"; then
    mapfile -t targets < <(fuzz_targets)
    fuzz "${VFIOGATE_FUZZ_SECONDS:-5}" "${targets[@]}"
  fi

  if timely "release's tests with sanitized programs"; then
    ctests release-tests-checked-programs -R "$driving" --parallel 3
  fi
}

full_mutants() {
  check "mutants of the ledger are caught" tests/mutants/run.sh
  grep "caught" "$logs/mutants_of_the_ledger_are_caught.log"
}

full_steps() {
  build release ledger_property_test
  check "10^6 random steps of the ledger" env VFIOGATE_STEPS=1000000 build/release/tests/ledger_property_test
  grep -h "seed" "$logs/10_6_random_steps_of_the_ledger.log"
}

full_kills() {
  build release programs tests_fault
  VFIOGATE_KILLS=2000 VFIOGATE_RESTARTS=5000 VFIOGATE_INTERLEAVINGS=5000 ctests release -L '^fault$' --parallel 2
}

full_cluster() {
  build release programs
  ctests release -L '^cluster-full$' --parallel 3
}

full_plain() {
  build release all
  ctests release -L "$inside"
}

full_asan() {
  build asan
  ctests asan -LE "^(machine|image|deploy|cluster)" --parallel 4
}

full_tsan() {
  build tsan
  ctests tsan -LE "^(machine|image|deploy|cluster)" --parallel 5
}

full_tidy() { check "clang-tidy on the product" tests/tidy.py cli ipc netd plugind privd rootless seccomp; }
full_tidy1() { check "clang-tidy on the one half of the tests" tests/tidy.py --half 1 sim tests; }
full_tidy2() { check "clang-tidy on the other half of the tests" tests/tidy.py --half 2 sim tests; }

full_builds() {
  check "two builds of the release preset have the same bytes" tests/supply/reproducible.sh
}

fuzz_half() {
  build checked fuzzers
  mapfile -t targets < <(fuzz_targets | awk -v half="$1" 'NR % 2 == half % 2')
  fuzz "${VFIOGATE_FUZZ_SECONDS:-180}" "${targets[@]}"
}
full_fuzz1() { fuzz_half 1; }
full_fuzz2() { fuzz_half 2; }

full_distro() {
  if command -v mmdebstrap >/dev/null; then
    check "Debian 13 in a chroot" tests/distro.sh trixie
  else
    skip "Debian 13 in a chroot: mmdebstrap is missing: apt-get install mmdebstrap"
  fi
}

full_kernel() {
  local log=$logs/own-kernel.log code=0
  tests/machine/own_kernel.sh --kernel >"$log" 2>&1 || code=$?
  if [ "$code" -eq 77 ]; then
    skip "the virtual machine's own kernel: $(tail -n 1 "$log")"
    return
  fi
  check "the virtual machine's own kernel is built" test "$code" -eq 0
  if [ "$code" -ne 0 ]; then
    tail -n 20 "$log"
    return
  fi
  build release programs machine_programs
  local name
  for name in mediated probe iommufd no_iommu; do
    check "own kernel: $name" tests/machine/own_kernel.sh build/release/bin "$name"
    grep -h '^MACHINE [0-9]* checks failed' "$logs/own_kernel__$name.log"
  done
}

full_arm64() {
  local said code=0
  said=$(tests/arm64.sh sysroot 2>&1) || code=$?
  if [ "$code" -eq 77 ]; then
    skip "ARM64: $said"
    return
  fi
  build release programs
  check "ARM64, cross-built and in a virtual machine" tests/arm64.sh
}

if [ "${#steps[@]}" -eq 0 ]; then
  full_default
  skip "ThreadSanitizer, clang-tidy on everything, the cluster's long cases, every mutant and other long runs: only with --full"
  finish
fi
for step in "${steps[@]}"; do
  declare -F "full_$step" >/dev/null || { fail "no step $step"; continue; }
  heading "step: $step"
  at=$SECONDS was=("$passed" "$failed" "$skipped") asked=
  "full_$step"
  tested=$((passed - was[0])) # a step that was skipped whole passed nothing
  left_alone # before the record
  tests/full_runs.py record "$step" $(((SECONDS - at + 59) / 60)) \
    "$tested" $((failed - was[1])) $((skipped - was[2]))
done
finish
