#!/usr/bin/env bash
# Runs a command beside busy processors and a running vfiogate that has the machine's usual places: its
# kubelet, sockets, locks and state. What the command must not touch is there, and in use.
#   tests/beside.sh [--load N] [--programs DIR] COMMAND...
#   --load N         processors that stress-ng keeps busy; default: 4; 0: none
#   --programs DIR   default: build/release/bin
# The places are those of a mount namespace of its own: the machine keeps nothing of it. Fails if that
# vfiogate did not go on allocation. 77: root, /dev/fuse or stress-ng is missing.
# shellcheck disable=SC2317  # some are called by a trap, some by await
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
tree=$(cd "$here/.." && pwd)

load=4 programs=$tree/build/release/bin
while [ $# -gt 0 ]; do
  case $1 in
    --load) load=$2; shift 2 ;;
    --programs) programs=$(realpath "$2"); shift 2 ;;
    -h | --help) sed -n '2,9s/^# \{0,1\}//p' "$0"; exit 0 ;;
    -*) echo "tests/beside.sh: unknown option '$1' (see --help)" >&2; exit 2 ;;
    *) break ;;
  esac
done
[ $# -gt 0 ] || { echo "tests/beside.sh: no command (see --help)" >&2; exit 2; }

missing() { echo "tests/beside.sh: $*" >&2; exit 77; }
[ -c /dev/fuse ] || missing "it needs /dev/fuse"
if [ "$load" != 0 ] && ! command -v stress-ng >/dev/null; then missing "it needs stress-ng"; fi
if [ -z "${VFIOGATE_PLACES_MADE:-}" ]; then
  unshare --mount true 2>/dev/null || missing "no namespace of mounts can be made here"
  VFIOGATE_PLACES_MADE=1 exec unshare --mount "$0" --load "$load" --programs "$programs" "$@"
fi
unset VFIOGATE_PLACES_MADE

work=$(mktemp -d)
chmod 0711 "$work" # privd-hardware, who is not root, reads below it
made=() running=()
end() {
  for pid in ${running[@]+"${running[@]}"}; do kill "$pid" 2>/dev/null || true; done
  wait
  umount -l /run/vfiogate /var/log/vfiogate /var/lib/vfiogate /var/lib/kubelet 2>/dev/null || true
  for place in ${made[@]+"${made[@]}"}; do rmdir "$place" 2>/dev/null || true; done
  rm -rf "$work"
}
trap end EXIT

for place in /run/vfiogate /var/log/vfiogate /var/lib/vfiogate /var/lib/kubelet; do
  if [ ! -d "$place" ]; then
    mkdir "$place"
    made+=("$place")
  fi
  mount -t tmpfs -o mode=755 beside "$place"
done
mkdir -p /run/vfiogate/plugind
chown 64532 /run/vfiogate/plugind

# start NAME COMMAND...: in the background, with a log of its own.
start() {
  local log=$work/$1.log
  shift
  "$@" >"$log" 2>&1 </dev/null &
  running+=($!)
}
# await COMMAND...: tries it for 30 s.
await() {
  local end=$((SECONDS + 30))
  until "$@"; do
    [ "$SECONDS" -lt "$end" ] || return 1
    sleep 0.1
  done
}
allocates() { "$programs/plugind" status -o metrics --timeout 5000 2>/dev/null | grep -qx 'vfiogate_allocation_open 1'; }

start hardware "$programs/sim-sysfs" mount --topology "$tree/tests/topologies/try.yaml" --dir "$work/hardware" --uevents off
await test -d "$work/hardware/sys/bus/pci/devices"
start kubelet "$programs/kubelet-sim" run --dir /var/lib/kubelet
start plugind "$programs/plugind" --config "$tree/docs/walk/kubevirt.yaml"
start privd "$programs/privd" serve --plugind /run/vfiogate/plugind/plugind.sock --sysfs "$work/hardware/sys" --dev "$work/hardware/dev" --uevents off --rescan 1
daemons="${running[*]:2}"
if ! await allocates; then
  tail -n 5 "$work"/*.log >&2
  echo "tests/beside.sh: the vfiogate beside does not allocate" >&2
  exit 1
fi
if [ "$load" != 0 ]; then start load stress-ng --cpu "$load" --quiet; fi

status=0
"$@" || status=$?

for pid in $daemons; do
  if ! kill -0 "$pid" 2>/dev/null; then
    tail -n 20 "$work/plugind.log" "$work/privd.log" >&2
    echo "tests/beside.sh: the vfiogate beside has ended" >&2
    exit 1
  fi
done
if ! await allocates; then
  echo "tests/beside.sh: the vfiogate beside has stopped allocation" >&2
  exit 1
fi
exit "$status"
