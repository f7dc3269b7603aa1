#!/bin/sh
# Unpacks Debian's kernel package for the machine test, without installing it, and prints where.
# usage: fetch_kernel.sh CACHE_DIRECTORY
# VFIOGATE_KERNEL_DEB=FILE takes a package file instead of asking apt. Exit 77: not to be had.
set -eu

cache=${1:?usage: fetch_kernel.sh CACHE_DIRECTORY}
mkdir -p "$cache"

# A newer package of the same kernel ABI is another file name, so another directory.
unpack() {
  target=$cache/$(basename "$1" .deb)
  if [ ! -e "$target/ready" ]; then
    rm -rf "$target"
    mkdir -p "$target"
    dpkg-deb -x "$1" "$target"
    version=$(basename "$target"/lib/modules/*)
    depmod -b "$target" "$version"
    echo "$version" >"$target/ready"
  fi
  ln -sfn "$(basename "$target")" "$cache/current"
  echo "$target"
}

if [ -n "${VFIOGATE_KERNEL_DEB:-}" ]; then
  unpack "$VFIOGATE_KERNEL_DEB"
  exit
fi
if [ -e "$cache/current/ready" ]; then
  readlink -f "$cache/current"
  exit
fi
package=$(apt-cache depends linux-image-amd64 2>/dev/null | awk '/Depends:/ {print $2; exit}')
if [ -z "$package" ]; then
  echo "no kernel package: apt knows no linux-image-amd64 (try apt-get update), or give a file in VFIOGATE_KERNEL_DEB" >&2
  exit 77
fi
if ! (cd "$cache" && apt-get download -qq "$package" >&2); then
  echo "no kernel package: $package cannot be downloaded; give a file in VFIOGATE_KERNEL_DEB" >&2
  exit 77
fi
for deb in "$cache/$package"_*.deb; do :; done # the last one: versions sort upwards
unpack "$deb"
