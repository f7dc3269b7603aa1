#!/usr/bin/env bash
# That tests/machines_own.sh hides a place that is there, sees what is left in one, and in one that was not there.
# shellcheck disable=SC2016  # what is in single quotes the run expands
set -euo pipefail
unshare --mount true 2>/dev/null || { echo "no namespace of mounts can be made here"; exit 77; }
tool="$(cd "$(dirname "$0")" && pwd)/machines_own.sh"
dir="$(mktemp -d)"
trap 'rm -rf "$dir"' EXIT
mkdir "$dir/there"
echo kept >"$dir/there/file"
export VFIOGATE_PLACES="$dir/there $dir/absent" DIR="$dir" TOOL="$tool"

# in_run SCRIPT: its outcome inside a run, with what it printed.
in_run() { "$tool" run bash -c "$1" 2>&1; }
fail() { echo "machines_own_test: $*"; exit 1; }

in_run '"$TOOL" untouched' || fail "a run that does nothing has touched something"
in_run '[ ! -e "$DIR/there/file" ]' || fail "what the machine has can be seen"
said=$(in_run 'touch "$DIR/there/mine"; "$TOOL" untouched') && fail "a file in a hidden place is not seen"
[[ $said == *"$dir/there/mine"* ]] || fail "it does not say which file: $said"
[ ! -e "$dir/there/mine" ] || fail "the file reached the machine"
in_run 'mkdir "$DIR/absent"; "$TOOL" untouched' || fail "a place to mount at is taken for a trace"
said=$(in_run 'touch "$DIR/absent/lock"; "$TOOL" untouched') && fail "what is in a new place is not seen"
[[ $said == *"$dir/absent/lock"* ]] || fail "it does not say which file: $said"
[ "$(cat "$dir/there/file")" = kept ] || fail "the machine's file has changed"
[ "$(VFIOGATE_APART=1 in_run 'echo $((VFIOGATE_APART - $$))')" = 0 ] || fail "a run does not know itself from what was left in the environment"
[ "$(in_run 'exit 7'; echo $?)" = 7 ] || fail "the command's outcome is lost"
