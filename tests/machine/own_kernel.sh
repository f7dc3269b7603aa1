#!/bin/sh
# What needs the virtual machine's own kernel (build_kernel.sh): mediated devices, nodes of devices' own, VFIO without an IOMMU. One boot each.
# usage: own_kernel.sh PROGRAMS TEST...   mediated, probe, iommufd, no_iommu: guest/TEST_test.sh
#        own_kernel.sh --kernel           builds the kernel where it is not there yet, and prints where
#   PROGRAMS   where privd, its processes, plugind and kubelet-sim are; the machine's own are beside, in ../machine
# Exit 77: something to run it with is missing, said which.
set -eu

here=$(dirname "$(readlink -f "$0")")
[ $# -ge 1 ] || {
  sed -n '3,6s/^# //p' "$0" >&2
  exit 2
}
kernel=$("$here/build_kernel.sh" "${VFIOGATE_MACHINE_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/vfiogate/kernel}-own")
if [ "$1" = --kernel ]; then
  echo "$kernel"
  exit
fi
programs=$1
shift
for test in "$@"; do
  set -- --kernel "$kernel" --timeout 1800 --guest "$here/guest/${test}_test.sh"
  for file in binding.sh node.sh mediated.sh; do set -- "$@" --file "$here/guest/$file:test/$file"; done
  for program in privd privd-daemon privd-hardware privd-gate privd-binder privd-iommufd plugind kubelet-sim; do set -- "$@" --program "$programs/$program"; done
  for program in vfio_open launcher_client without_capabilities sysfs_script; do set -- "$@" --program "$programs/../machine/$program"; done
  [ "$test" != no_iommu ] || set -- "$@" --iommu no
  "$here/run_vm.sh" "$@"
done
