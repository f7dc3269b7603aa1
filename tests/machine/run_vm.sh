#!/bin/sh
# Boots a virtual machine with an emulated IOMMU, without KVM, and runs a script in it.
# usage: run_vm.sh --guest SCRIPT [--arm64 SYSROOT] [--program FILE]... [--file FROM:TO]... [--module NAME]... [--append WORDS] [--hot-plug yes] [--disk yes] [--iommu no] [--kernel DIRECTORY] [--processors N] [--timeout SECONDS] [--log FILE]
#   --arm64    the machine and its programs are ARM64's; libraries and busybox are those below SYSROOT (tests/arm64.sh)
#   --guest    runs as /test/guest.sh in the machine; its exit status becomes this one's
#   --program  goes to /bin with the shared libraries it needs
#   --module   of the kernel, with what it needs, for modprobe
#   --append   for the kernel command line; `name=value` words are variables of the guest's init
#   --hot-plug the guest may ask the host for devices: hot_plug.py (needs python3)
#   --processors  1 where nothing is said
#   --disk     an empty disk beside the rest: machine_disk
#   --iommu    without it the machine has one
#   --kernel   as build_kernel.sh makes it, in place of Debian's
# What hardware the machine has: machine.sh. Exit 77: something to run it with is missing, said which.
set -eu

here=$(dirname "$(readlink -f "$0")")
# shellcheck source=tests/machine/machine.sh
. "$here/machine.sh"

say_usage() {
  sed -n '2,14s/^# //p' "$0" >&2
  exit 2
}

guest='' sysroot='' append='' limit=600 log='' hot_plug=no disk=no processors=1 architecture=amd64 iommu=yes kernel=''
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
: >"$work/initrd.args"
while [ $# -gt 0 ]; do
  [ $# -ge 2 ] || say_usage
  case $1 in
    --guest) guest=$2 ;;
    --arm64) architecture=arm64 sysroot=$2 ;;
    --program | --file | --module) printf '%s\n%s\n' "$1" "$2" >>"$work/initrd.args" ;;
    --append) append="$append $2" ;;
    --hot-plug) hot_plug=$2 ;;
    --disk) disk=$2 ;;
    --processors) processors=$2 ;;
    --iommu) iommu=$2 ;;
    --kernel) kernel=$2 ;;
    --timeout) limit=$2 ;;
    --log) log=$2 ;;
    *) say_usage ;;
  esac
  shift 2
done
[ -n "$guest" ] || say_usage

machine_for "$architecture"
# shellcheck disable=SC2034 # machine_devices reads it
[ "$iommu" = yes ] || machine_iommu=''
for need in "$machine_qemu $machine_package" "cpio cpio" "modprobe kmod" "xz xz-utils"; do
  command -v "${need% *}" >/dev/null || {
    echo "${need% *} is missing. Install it with: apt-get install ${need#* }" >&2
    exit 77
  }
done
if [ -n "$machine_firmware" ] && [ ! -e "$machine_firmware" ]; then
  echo "$machine_firmware is missing. Install it with: apt-get install qemu-efi-aarch64" >&2
  exit 77
fi
cache=${VFIOGATE_MACHINE_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/vfiogate/kernel}
[ "$architecture" = amd64 ] || cache=$cache-$architecture
[ -n "$kernel" ] || kernel=$("$here/fetch_kernel.sh" "$cache" "$architecture")
version=$(cat "$kernel/ready")

machine_expected >"$work/expected"
monitor='' console=cat
if [ "$hot_plug" = yes ]; then
  command -v python3 >/dev/null || {
    echo "python3 is missing. Install it with: apt-get install python3" >&2
    exit 77
  }
  machine_pluggable >"$work/pluggable"
  monitor="-qmp unix:$work/monitor,server=on,wait=off"
  console="$here/hot_plug.py $work/monitor $work/pluggable"
fi
disk_device=''
if [ "$disk" = yes ]; then
  truncate -s 16M "$work/disk"
  disk_device=$(machine_disk "$work/disk")
fi
set -- --kernel "$kernel" --out "$work/initrd" ${sysroot:+--arm64 "$sysroot"} \
  --file "$here/guest/init:init" --file "$here/guest/library.sh:test/library.sh" \
  --file "$guest:test/guest.sh" --file "$work/expected:test/expected"
for module in $machine_modules; do set -- "$@" --module "$module"; done
while read -r word; do set -- "$@" "$word"; done <"$work/initrd.args"
"$here/make_initrd.sh" "$@"

log=${log:-$work/log}
# shellcheck disable=SC2046,SC2086 # words on purpose
timeout "$limit" "$machine_qemu" $machine_kind $machine_base $(machine_processors "$processors") $(machine_devices) $disk_device $monitor \
  -kernel "$kernel/boot/vmlinuz-$version" -initrd "$work/initrd" \
  -append "$machine_words quiet panic=-1$append" </dev/null 2>"$work/errors" |
  $console | tr -d '\r' | tee "$log"

status=$(sed -n 's/^MACHINE exit \([0-9]*\)$/\1/p' "$log" | tail -n 1)
if [ -z "$status" ]; then
  cat "$work/errors" >&2
  echo "the machine ended without a result, after at most $limit s" >&2
  exit 1
fi
exit "$status"
