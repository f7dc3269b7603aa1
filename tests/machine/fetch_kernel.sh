#!/bin/sh
# Unpacks Debian's kernel package for the machine test, without installing it, and prints where.
# usage: fetch_kernel.sh CACHE_DIRECTORY [ARCHITECTURE]
#   ARCHITECTURE   of Debian, amd64 where nothing is said; a cache has one. What apt knows of another than this machine's is kept there.
# VFIOGATE_KERNEL_DEB=FILE takes a package file instead of asking apt. Exit 77: not to be had.
set -eu

cache=${1:?usage: fetch_kernel.sh CACHE_DIRECTORY [ARCHITECTURE]} architecture=${2:-amd64}
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
set --
if [ "$architecture" != "$(dpkg --print-architecture)" ]; then
  mkdir -p "$cache/lists/partial"
  set -- -o APT::Architecture="$architecture" -o APT::Architectures="$architecture" -o Dir::State::Lists="$cache/lists" \
    -o Dir::Cache::pkgcache= -o Dir::Cache::srcpkgcache=
  apt-get "$@" update -qq >&2 || true # then apt knows no package
fi
package=$(apt-cache "$@" depends "linux-image-$architecture" 2>/dev/null | awk '/Depends:/ {print $2; exit}')
if [ -z "$package" ]; then
  echo "no kernel package: apt knows no linux-image-$architecture (try apt-get update), or give a file in VFIOGATE_KERNEL_DEB" >&2
  exit 77
fi
if ! (cd "$cache" && apt-get "$@" download -qq "$package" >&2); then
  echo "no kernel package: $package cannot be downloaded; give a file in VFIOGATE_KERNEL_DEB" >&2
  exit 77
fi
for deb in "$cache/$package"_*.deb; do :; done # the last one: versions sort upwards
unpack "$deb"
