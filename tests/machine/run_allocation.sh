#!/bin/sh
# Boots the virtual machine with these programs for the tour of a node: real vfio-pci, stand-in kubelet.
# usage: run_allocation.sh PROGRAMS [GUEST [STEP [WORD...]]]
#   PROGRAMS   where privd, its processes, plugind and sim-node are; the machine's own are beside, in ../machine
#   GUEST      script of guest/ to run; without: allocation.sh, the tour once
#   STEP       of the tour, to break: the machine then says which step was not seen, and this exits 1
#   WORD       for run_vm.sh
set -eu
here=$(dirname "$(readlink -f "$0")")
[ $# -ge 1 ] || {
  sed -n '2,7s/^# //p' "$0" >&2
  exit 2
}
programs=$1 guest=${2:-allocation.sh} step=${3:-}
if [ $# -gt 3 ]; then shift 3; else set --; fi
config=$here/../../deploy/examples/try.yaml
case " $* " in *" --arm64 "*) config=$here/guest/tour_arm64.yaml ;; esac
set -- "$@" --guest "$here/guest/$guest" --file "$config:test/plugind.yaml"
for program in privd privd-daemon privd-hardware privd-gate privd-binder plugind sim-node; do set -- "$@" --program "$programs/$program"; done
for program in vfio_open without_capabilities sysfs_script; do
  set -- "$@" --program "$programs/../machine/$program"
done
[ -t 1 ] || set -- "$@" --append NO_COLOR=1
exec "$here/run_vm.sh" "$@" ${step:+--append "VFIOGATE_TRY_BREAK=$step"}
