#!/usr/bin/env bash
# Installs what is missing, builds, and runs every layer of tests that this machine allows.
#   tests/run.sh          what every change must pass, under 45 minutes on 2 cores
#   tests/run.sh --full   also ThreadSanitizer, clang-tidy on everything, longer fuzzing, each mutant, two builds,
#                          2,000 kills and 5,000 restarts of the kubelet
# Ends with the line "N passed, N failed, N skipped"; exit 0 only if nothing failed.
set -uo pipefail
cd "$(dirname "$0")/.." || exit 1

full=no
case "${1:-}" in
  "") ;;
  --full) full=yes ;;
  -h | --help) sed -n '2,7s/^# \{0,1\}//p' "$0"; exit 0 ;;
  *) echo "tests/run.sh: unknown option '$1' (see --help)" >&2; exit 2 ;;
esac

passed=0 failed=0 skipped=0 runs=0
failures=() skips=()
logs=build/logs
mkdir -p "$logs"
began=$SECONDS
# Seconds after which the default run begins nothing long any more. Meant for 45 minutes, it takes
# longer on a machine whose host is busy; whoever waits for it gives up at 90.
longest=3900

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

# ctests PRESET [ctest arguments]: every GoogleTest case counts as one test.
ctests() {
  local preset=$1
  shift
  heading "test: $preset $*"
  runs=$((runs + 1))
  local results=build/results/$runs-$preset log=$logs/ctest-$runs-$preset.log
  rm -rf "$results"
  mkdir -p "$results"
  GTEST_OUTPUT="xml:$PWD/$results/" ctest --preset "$preset" "$@" >"$log" 2>&1 || true
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

# timely WHAT: whether the default run has time for what can be left out; said if it has not.
timely() {
  [ $((SECONDS - began)) -lt "$longest" ] && return
  skip "$1: out of time after $(((SECONDS - began) / 60)) minutes"
  false
}

finish() {
  heading "done"
  if [ "$skipped" -gt 0 ]; then printf 'skipped: %s\n' "${skips[@]}"; fi
  if [ "$failed" -gt 0 ]; then printf 'failed: %s\n' "${failures[@]}"; fi
  echo "$passed passed, $failed failed, $skipped skipped"
  [ "$failed" -eq 0 ]
  exit
}

heading "install"
tests/install.sh || { fail "install"; finish; }

heading "sources"
check "clang-format" tests/format.sh
check "shellcheck" bash -c 'git ls-files "*.sh" .ci/run | xargs shellcheck -x'
check "include rules" tests/budget/include_rules.py
check "counting of results" tests/count_results_test.py
check "stand-in API server" tests/support/api_server/api_server_test.py
check "budget of the trusted code" tests/budget/trusted_code.py
check "mutants of the ledger apply, their tests exist" tests/mutants/run.sh --check

# Sanitizers need no leak check inside the sandboxed daemons: it would fork at exit (ADR 0003).
export ASAN_OPTIONS=detect_stack_use_after_return=1 UBSAN_OPTIONS=print_stacktrace=1

# The long runs of the fault tests; a sanitized build has the short ones all the same.
if [ "$full" = yes ]; then export VFIOGATE_KILLS=2000 VFIOGATE_RESTARTS=5000; fi

# Each test is compiled once: those that start programs with the programs that are shipped, those
# that link our libraries with the sanitizers. Then the former drive sanitized programs, too. With
# --full everything is compiled both ways instead.
# Many at once: they mostly wait. CMake names those that must be alone.
inside='^(unit|property|peers)$'
driving='instances|split|settings|cdi|timelines|timelines_release|traps|registration_life|rolling_update|random_life'
driving="^($driving|updates|plugind_shell)_test\$"

build release programs machine_programs tests_integration tests_standin tests_fault tests_sandbox tests_bench
check "hardening of the programs" tests/supply/hardening.py build/release/bin
ctests release -LE "$inside|^machine\$" --parallel 4
# A virtual machine is emulated: it fills a processor.
ctests release -L machine --parallel 2
unset VFIOGATE_KILLS VFIOGATE_RESTARTS
if [ "$full" = yes ]; then
  build release all
  ctests release -L "$inside"
  build dev
  ctests dev -LE "machine|image|deploy"
else
  build checked privd plugind tests_unit tests_property tests_peers
  ctests checked -L "$inside" --parallel 2
  skip "tests of libraries without sanitizers, and every other test with them: only with --full"
fi

heading "reproducible build"
if [ "$full" = yes ]; then
  check "two builds of the release preset have the same bytes" tests/supply/reproducible.sh
elif timely "a second build of netd"; then
  check "a second build of netd elsewhere has the same bytes" tests/supply/reproducible.sh --against build/release/bin netd
fi

heading "clang-tidy"
if [ "$full" = yes ]; then
  check "clang-tidy on everything" tests/tidy.sh
elif timely "clang-tidy on what changed last"; then
  check "clang-tidy on what changed last" tests/tidy.sh --changed
fi

if [ "$full" = yes ]; then
  heading "mutants"
  check "mutants of the ledger are caught" tests/mutants/run.sh
  grep "caught" "$logs/mutants_of_the_ledger_are_caught.log"
else
  skip "mutants of the ledger: run only with --full"
fi

heading "fuzz"
build fuzz
# Seconds of each target, after it has been given its corpus.
fuzz_seconds=${VFIOGATE_FUZZ_SECONDS:-$([ "$full" = yes ] && echo 180 || echo 5)}
tests/fuzz/long.sh --quick "${fuzz_seconds}s" || true
for target in build/fuzz/fuzz/*_fuzz; do
  name=$(basename "$target")
  check "fuzz $name for $fuzz_seconds s" tests/fuzz/ended_well.sh "$name"
done

if [ "$full" = yes ]; then
  build tsan
  ctests tsan
else
  if timely "release's tests with sanitized programs"; then
    ctests release-tests-checked-programs -R "$driving" --parallel 3
  fi
  skip "ThreadSanitizer: only with --full"
  skip "clang-tidy on everything: only with --full"
fi
finish
