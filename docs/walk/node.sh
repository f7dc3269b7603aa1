#!/usr/bin/env bash
# The simulated node of docs/install.md, docs/kubevirt.md and docs/kata.md: hardware, a stand-in kubelet, privd and plugind,
# on which the commands of those pages can be tried without a cluster. As root; needs /dev/fuse and the built programs.
#   docs/walk/node.sh up CONFIG [TOPOLOGY]   bring it up with this configuration of plugind, and with the hardware of this file
#                                   (default: tests/topologies/try.yaml); it ends by itself after 10 minutes
#   docs/walk/node.sh plugind ...   a command of plugind there, such as: plugind status
#   docs/walk/node.sh privd ...     privd list, show, top, policy, bind, unbind, hold, release, holds, forget or audit there
#   docs/walk/node.sh kubelet ...   a command to the kubelet; `kubelet help` lists them
#   docs/walk/node.sh hardware ...  a change of the hardware; `hardware help` lists them
#   docs/walk/node.sh await TEXT COMMAND...   one of the four above, until its answer contains TEXT
#   docs/walk/node.sh specs         the CDI specs that privd has written
#   docs/walk/node.sh down          end it
# VFIOGATE_PROGRAMS says where the programs are, if not in build/release/bin.
# privd listens to no kernel events here, but looks every second.
set -euo pipefail
cd "$(dirname "$0")/../.."

programs=$(realpath "${VFIOGATE_PROGRAMS:-build/release/bin}")
# Short, since sockets lie in it; where plugind's user may pass; one for each copy of the sources.
node=/tmp/vfiogate-node-$(pwd | cksum | cut -d' ' -f1)
life=600 patience=30

give_up() { printf 'node: %s\n' "$@" >&2; exit 1; }

await() { # COMMAND...: try it until it succeeds, or for so many seconds
  local end=$((SECONDS + patience))
  until "$@"; do
    [ "$SECONDS" -lt "$end" ] || return 1
    sleep 0.1
  done
}

allocates() { # it allocates, and each of its resources is registered
  local metrics
  metrics=$("$programs/plugind" --listen "$node/plugind/plugind.sock" status -o metrics 2>/dev/null) || return 1
  grep -qx 'vfiogate_allocation_open 1' <<<"$metrics" && grep -q '^vfiogate_resource_registered{.*} 1$' <<<"$metrics" &&
    ! grep -q '^vfiogate_resource_registered{.*} 0$' <<<"$metrics"
}

ended() { [ ! -e "$node" ]; }

serve() { # CONFIG TOPOLOGY: all four programs, until SIGTERM
  local daemons=() hardware rights=watch,kubelet,cdi
  ! grep -q 'serial:' "$1" || rights+=,serial # privd-binder asks the cards
  "$programs/sim-sysfs" mount --topology "$2" --dir "$node/hardware" --uevents off >"$node/hardware.log" 2>&1 &
  hardware=$!
  "$programs/kubelet-sim" run --dir "$node/kubelet" >"$node/kubelet.log" 2>&1 &
  daemons+=($!)
  "$programs/plugind" --listen "$node/plugind/plugind.sock" --config "$1" >"$node/plugind.log" 2>&1 &
  daemons+=($!)
  await test -d "$node/hardware/sys/bus/pci/devices" || true
  "$programs/privd" serve --plugind "$node/plugind/plugind.sock" --sysfs "$node/hardware/sys" \
    --dev "$node/hardware/dev" --kubelet-dir "$node/kubelet" --state-dir "$node/state" --cdi-dir "$node/cdi" --audit-log "$node/log/audit.jsonl" \
    --plugind-rights "$rights" --uevents off --rescan 1 >"$node/privd.log" 2>&1 &
  daemons+=($!)
  # shellcheck disable=SC2064 # the processes of now
  trap "kill ${daemons[*]} || true; wait ${daemons[*]} || true; kill $hardware || true; wait $hardware || true; rm -rf '$node'; exit 0" TERM
  wait
}

up() { # CONFIG TOPOLOGY
  [ "$(id -u)" -eq 0 ] || give_up "not root: it mounts its hardware and runs privd as root"
  [ -c /dev/fuse ] || give_up "no /dev/fuse: load the module (modprobe fuse), or give this container the device"
  [ -x "$programs/kubelet-sim" ] || give_up "no programs in $programs: build them, or set VFIOGATE_PROGRAMS"
  [ -r "$1" ] || give_up "cannot read the configuration $1"
  [ -r "$2" ] || give_up "cannot read the hardware $2"
  [ ! -e "$node" ] || give_up "$node is there already: docs/walk/node.sh down ends it"
  mkdir -m 0755 "$node" "$node/plugind"
  chown 64532 "$node/plugind"
  timeout "$life" "$0" serve "$(realpath "$1")" "$(realpath "$2")" </dev/null >"$node/node.log" 2>&1 &
  echo $! >"$node/pid"
  if ! await allocates; then
    tail -n 5 "$node"/*.log >&2
    down
    give_up "it does not allocate after $patience s"
  fi
  echo "node: up"
}

down() {
  [ -e "$node/pid" ] || give_up "it is not up"
  kill "$(cat "$node/pid")" 2>/dev/null || rm -rf "$node"
  await ended || give_up "it did not end: see $node"
}

answers() { # TEXT COMMAND...: print the answer if it contains TEXT
  local answer
  answer=$("$0" "${@:2}" 2>&1) || true
  [[ $answer == *"$1"* ]] && printf '%s\n' "$answer"
}

case ${1:-} in
  up | serve)
    [ $# -eq 2 ] || [ $# -eq 3 ] || give_up "$1: name a configuration of plugind, and a topology if you like"
    "$1" "$2" "${3:-tests/topologies/try.yaml}"
    ;;
  down) down ;;
  plugind) exec "$programs/plugind" --listen "$node/plugind/plugind.sock" "${@:2}" --timeout 5000 ;;
  privd)
    case ${2:-} in
      audit) exec "$programs/privd" "${@:2}" "$node/log/audit.jsonl" ;;
      list | show) set -- "$@" --state-dir "$node/state" ;;
      top) set -- "$@" --state-dir "$node/state" --record-dir "$node/state/devices" --audit-log "$node/log/audit.jsonl" ;;
      bind | unbind | hold | release | holds | forget) set -- "$@" --state-dir "$node/state" --audit-log "$node/log/audit.jsonl" ;;
    esac
    exec "$programs/privd" "${@:2}" --sysfs "$node/hardware/sys" --dev "$node/hardware/dev"
    ;;
  kubelet) exec "$programs/kubelet-sim" ctl "$node/kubelet" "${@:2}" ;;
  hardware) exec "$programs/sim-sysfs" ctl "$node/hardware.ctl" "${@:2}" ;;
  await)
    [ $# -ge 3 ] || give_up "await: name a text and a command"
    await answers "${@:2}" || give_up "no \"$2\" within $patience s; the last answer of ${*:3}:" "$("$0" "${@:3}" 2>&1)"
    ;;
  specs)
    compgen -G "$node/cdi/*.json" >/dev/null || give_up "no specs: it is not up, or its configuration asks for none"
    exec cat "$node"/cdi/*.json
    ;;
  -h | --help) sed -n '2,15s/^# \{0,1\}//p' "$0" ;;
  *) give_up "unknown command '${1:-}' (see --help)" ;;
esac
