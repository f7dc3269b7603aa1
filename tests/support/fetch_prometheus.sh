#!/bin/sh
# Prints where prometheus and promtool are: installed, or unpacked from Debian's package into the cache, since the package
# itself would start a server on this machine.
# usage: fetch_prometheus.sh CACHE_DIRECTORY
# Exit 77: not to be had.
set -eu

cache=${1:?usage: fetch_prometheus.sh CACHE_DIRECTORY}

if command -v prometheus >/dev/null && command -v promtool >/dev/null; then
  dirname "$(command -v promtool)"
  exit
fi
# Made elsewhere and renamed: it is whole, or not there.
if [ ! -e "$cache/usr/bin/promtool" ]; then
  mkdir -p "$(dirname "$cache")"
  new=$(mktemp -d "$cache.XXXXXX")
  if ! (cd "$new" && apt-get download -qq prometheus >&2); then
    rm -rf "$new"
    echo "Prometheus is neither installed nor can it be downloaded (try apt-get update)" >&2
    exit 77
  fi
  for deb in "$new"/*.deb; do :; done
  dpkg-deb -x "$deb" "$new/root"
  rm -rf "$cache"
  mv "$new/root" "$cache"
  rm -r "$new"
fi
echo "$cache/usr/bin"
