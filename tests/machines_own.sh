#!/usr/bin/env bash
# Keeps tests away from this machine's own vfiogate and kubelet, and proves it.
#   tests/machines_own.sh run COMMAND...   where it may be done: in a mount namespace in which each of their
#                                          places that is there is an empty directory of the run's own. In
#                                          COMMAND, and where it cannot be done, VFIOGATE_APART is its process id
#   tests/machines_own.sh untouched        inside that: fails, and says what, if anything was left in one
#                                          of them, or in a place that the machine does not have
# An empty directory is no trace: a node of Kubernetes makes it to mount its own place there.
set -euo pipefail

# The programs' own defaults; VFIOGATE_PLACES: others, for the test of this.
read -ra places <<<"${VFIOGATE_PLACES:-/var/lib/vfiogate /var/log/vfiogate /run/vfiogate /etc/vfiogate /var/lib/kubelet /run/cdi /etc/cdi}"

hide_and_run() {
  for place in "${places[@]}"; do
    if [ -d "$place" ]; then mount -t tmpfs -o mode=755 machines_own "$place"; fi
  done
  exec "$@"
}

case "${1:-}" in
  run)
    shift
    # Of this process, since each exec keeps its id: left in an environment it says nothing to another one.
    export VFIOGATE_APART=$$
    if ! unshare --mount true 2>/dev/null; then exec "$@"; fi
    exec unshare --mount "$0" hidden "$@"
    ;;
  hidden)
    shift
    hide_and_run "$@"
    ;;
  untouched)
    # Where nothing could be hidden, what the machine has cannot be told from what was left.
    unshare --mount true 2>/dev/null || exit 0
    left=()
    for place in "${places[@]}"; do
      if [ ! -e "$place" ]; then continue; fi
      if [ ! -d "$place" ]; then left+=("$place"); continue; fi
      mapfile -t -O "${#left[@]}" left < <(find "$place" -mindepth 1)
    done
    if [ "${#left[@]}" -eq 0 ]; then exit 0; fi
    echo "a test was in the machine's own places, and left:"
    printf '%s\n' "${left[@]}"
    exit 1
    ;;
  *) sed -n '2,9s/^# \{0,1\}//p' "$0"; exit 2 ;;
esac
