#!/bin/sh
# Builds the virtual machine's own kernel and prints where it is: what no packaged one has, a device node per VFIO device, mediated
# devices that need no hardware, and VFIO without an IOMMU. What it has is in kernel.config.
# usage: build_kernel.sh CACHE_DIRECTORY
# Debian's linux-source-6.12 is unpacked, not installed. What was built is kept, and built anew if that package or kernel.config changes.
# VFIOGATE_KERNEL_SOURCE_DEB=FILE takes a package file instead of asking apt. Exit 77: not to be had, or something to build it with is missing.
set -eu

cache=${1:?usage: build_kernel.sh CACHE_DIRECTORY}
here=$(dirname "$(readlink -f "$0")")
name=linux-source-6.12 fragment=$here/kernel.config
mkdir -p "$cache"
cache=$(readlink -f "$cache")
exec 3>&1 >&2 # make's words are for people

for need in "make make" "gcc gcc" "flex flex" "bison bison" "bc bc" "xz xz-utils" "lz4 lz4" "depmod kmod"; do
  command -v "${need% *}" >/dev/null || {
    echo "${need% *} is missing. Install it with: apt-get install ${need#* }"
    exit 77
  }
done
echo '#include <gelf.h>' | gcc -E - >/dev/null 2>&1 || {
  echo "the header gelf.h is missing. Install it with: apt-get install libelf-dev"
  exit 77
}

deb=${VFIOGATE_KERNEL_SOURCE_DEB:-}
if [ -z "$deb" ]; then
  version=$(apt-cache policy "$name" 2>/dev/null | awk '/Candidate:/ {print $2}')
  if [ -z "$version" ] || [ "$version" = "(none)" ]; then
    echo "no kernel to build: apt knows no $name (try apt-get update), or give its file in VFIOGATE_KERNEL_SOURCE_DEB"
    exit 77
  fi
else
  version=$(dpkg-deb -f "$deb" Version)
fi
kernel=$cache/$name-$version-$(sha256sum "$fragment" | cut -c1-12)
if [ -e "$kernel/ready" ]; then
  echo "$kernel" >&3
  exit
fi

find "$cache" -maxdepth 1 -name 'building.*' -mmin +600 -exec rm -rf {} + # of a run that was killed
work=$cache/building.$$
trap 'rm -rf "$work"' EXIT
mkdir -p "$work"
if [ -z "$deb" ]; then
  echo "$name $version: downloading"
  (cd "$work" && apt-get download -qq "$name=$version") || {
    echo "no kernel to build: $name $version cannot be downloaded; give its file in VFIOGATE_KERNEL_SOURCE_DEB"
    exit 77
  }
  deb=$(echo "$work"/*.deb)
fi
echo "$name $version: unpacking"
dpkg-deb --fsys-tarfile "$deb" | tar -xO "./usr/src/$name.tar.xz" | tar -xJ -C "$work"
source=$work/$name

in_source() { make -s -C "$source" LOCALVERSION= "$@"; }

in_source KCONFIG_ALLCONFIG="$fragment" allnoconfig
# What depends on something that is not there is dropped without a word.
if grep -E '^(CONFIG_|# CONFIG_)' "$fragment" | grep -vxFf "$source/.config"; then
  echo "$name $version has not what is above, of $fragment: something that it depends on is missing there"
  exit 1
fi
echo "$name $version: building, 5 to 15 minutes on 2 processors"
in_source -j "$(nproc)" bzImage modules

# As Debian's package has it, which make_initrd.sh and run_vm.sh read.
release=$(in_source kernelrelease)
rm -rf "$kernel"
mkdir -p "$kernel/boot"
cp "$source/arch/x86/boot/bzImage" "$kernel/boot/vmlinuz-$release"
cp "$source/.config" "$kernel/boot/config-$release"
in_source INSTALL_MOD_PATH="$kernel" modules_install
depmod -b "$kernel" "$release"
echo "$release" >"$kernel/ready"
echo "$kernel" >&3
