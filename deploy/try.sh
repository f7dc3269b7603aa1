#!/usr/bin/env bash
# Shows what vfiogate does, live, on simulated hardware with a stand-in kubelet: installs what is
# missing, builds, and goes through the steps, a line each with the frame or value that was observed.
#   deploy/try.sh         on simulated hardware (needs root and /dev/fuse)
#   deploy/try.sh --vm    in a virtual machine with a real kernel, IOMMU and vfio-pci (needs qemu)
#   --programs DIR        use the programs in DIR, install and build nothing
# Exit 0 only if each step was seen. On a terminal the simulated node stays up afterwards and takes
# commands. VFIOGATE_TRY_BREAK=STEP leaves out what brings that step about: exit 1, naming it.
set -euo pipefail
cd "$(dirname "$0")/.."

machine=no programs=''
while [ $# -gt 0 ]; do
  case $1 in
    --vm) machine=yes ;;
    --programs)
      [ $# -ge 2 ] || { echo "try: --programs needs a directory" >&2; exit 2; }
      programs=$2
      shift
      ;;
    -h | --help) sed -n '2,8s/^# \{0,1\}//p' "$0"; exit 0 ;;
    *) echo "try: unknown option '$1' (see --help)" >&2; exit 2 ;;
  esac
  shift
done

say() { printf 'try: %s\n' "$*"; }
give_up() { printf 'try: %s\n' "$@" >&2; exit 1; }

if [ "$machine" = no ]; then
  works="What works without: deploy/try.sh --vm, and privd list on this machine's own hardware"
  [ "$(id -u)" -eq 0 ] || give_up "not root: the simulated node mounts its hardware and runs privd as root" "$works"
  [ -c /dev/fuse ] || give_up "no /dev/fuse: load the module (modprobe fuse), or give this container the device" "$works"
else
  works="What works without: deploy/try.sh on simulated hardware"
fi

if [ -z "$programs" ]; then
  say "installing what is missing"
  tests/install.sh
  say "building (the first time takes some minutes)"
  cmake --preset release >build-try.log 2>&1 || { tail -n 20 build-try.log; give_up "cannot configure"; }
  cmake --build --preset release --target privd plugind sim-sysfs sim-node machine_programs
  rm -f build-try.log
  programs=build/release/bin
fi

if [ "$machine" = yes ]; then
  command -v qemu-system-x86_64 >/dev/null ||
    give_up "no qemu-system-x86_64: apt-get install qemu-system-x86" "$works"
  say "booting a virtual machine with an IOMMU and vfio-pci, without KVM: a minute or so"
  status=0
  tests/machine/run_allocation.sh "$programs" allocation.sh "${VFIOGATE_TRY_BREAK:-}" || status=$?
  [ "$status" -ne 77 ] || give_up "the virtual machine cannot be run here, see above" "$works"
  exit "$status"
fi
exec "$programs/sim-node" tour --stay --topology tests/topologies/try.yaml --config deploy/examples/try.yaml \
  --programs "$programs"
