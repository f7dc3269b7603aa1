#!/usr/bin/env bash
# Runs every bench against the programs of a build and prints one table: ours, what it is measured next to, the
# ratio, the goal. With two folders of programs both are measured in the same run, in turn.
# usage: tests/bench/run.sh [--quick] [BUILD [PROGRAMS...]]
#   BUILD: a build tree of the release preset, with the target tests_bench; default build/release
#   PROGRAMS: folders of programs; default BUILD/bin
#   VFIOGATE_PEERS: the folder with NVIDIA's plugin, packed; default ../shared/peers, and without it there is no peer
# Needs root with CAP_SYS_ADMIN. Some minutes for each folder.
set -euo pipefail
cd "$(dirname "$0")/../.."
rounds=5 calls=240 apart=200 large=100 idle=30 events=40 bursts=3 kubelets=50 pluginds=20
if [ "${1:-}" = --quick ]; then
  rounds=2 calls=100 apart=50 large=30 idle=10 events=10 bursts=2 kubelets=10 pluginds=5
  shift
fi
build=${1:-build/release}
shift || true
programs=("$@")
[ ${#programs[@]} -gt 0 ] || programs=("$build/bin")

figures=$(mktemp -d)
trap 'rm -rf "$figures"' EXIT
# NVIDIA's plugin, if it is there, is asked by the same client in the same run.
peer=() packed=${VFIOGATE_PEERS:-../shared/peers}/nvidia-kubevirt-gpu-device-plugin.xz
if [ -e "$packed" ]; then
  xz -dc "$packed" >"$figures/peer"
  chmod +x "$figures/peer"
  peer=(--peer "$figures/peer")
fi
bench() { # FOLDER NAME JSON OPTIONS...
  local folder=$1 name=$2 json=$3
  shift 3
  VFIOGATE_BIN=$folder "$build/tests/$name" --json "$figures/$json" "$@" >"$figures/said" 2>&1 ||
    { cat "$figures/said" >&2; exit 1; }
}

echo "load before: $(cut -d' ' -f1-3 /proc/loadavg), $(nproc) processors"
for ((round = 0; round < rounds; ++round)); do
  for i in "${!programs[@]}"; do
    bench "${programs[i]}" allocate_bench "$i-allocate-$round" --devices 8,256 --calls "$calls" "${peer[@]}"
    bench "${programs[i]}" allocate_bench "$i-apart-$round" --devices 256 --calls "$apart" --apart 200 "${peer[@]}"
  done
done
for i in "${!programs[@]}"; do
  bench "${programs[i]}" allocate_bench "$i-refused-0" --devices 256 --calls "$calls" --refused 2
  # As many devices as are asked for: what the kubelet did not record before a restart is no free group after it.
  bench "${programs[i]}" allocate_bench "$i-callers-0" --devices 1024 --calls 100 --callers 8 "${peer[@]}"
  # None is started anew here: one device comes first, then as many as the calls ask for.
  bench "${programs[i]}" allocate_bench "$i-each8-0" --devices 256,4096 --calls 30 --per-call 8 "${peer[@]}"
  bench "${programs[i]}" allocate_bench "$i-large-0" --devices 4096 --calls "$large" "${peer[@]}"
  bench "${programs[i]}" idle_bench "$i-idle-0" --devices 8,256,2000 --seconds "$idle" "${peer[@]}"
  bench "${programs[i]}" restart_bench "$i-restart-0" --devices 8,256,2000 --kubelets "$kubelets" --pluginds "$pluginds" "${peer[@]}"
  # No device of eight changes more than nine times, or the bench waits until it may.
  bench "${programs[i]}" discovery_bench "$i-discovery-0" --devices 8,256,4096 --events "$events" --bursts "$bursts" --sweeps 2
done
echo "load after: $(cut -d' ' -f1-3 /proc/loadavg)"
for i in "${!programs[@]}"; do
  echo
  echo "${programs[i]}"
  tests/bench/table.py "$figures" "$i"
done
