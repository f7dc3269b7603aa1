#!/bin/sh
# The default seccomp profiles of Docker and Podman, from Debian's packages. Prints a line of each: runtime, package's
# version, file. A package that is not installed is unpacked into the cache: Docker's would bring 250 others, 900 MB.
# usage: fetch_profiles.sh CACHE_DIRECTORY
# Exit 77: not to be had.
set -eu

cache=${1:?usage: fetch_profiles.sh CACHE_DIRECTORY}

# unpack PACKAGE RUNTIME: its version is written last.
unpack() {
  rm -rf "${cache:?}/$1"
  mkdir -p "$cache/$1/root"
  if ! (cd "$cache/$1" && apt-get download -qq "$1" >&2); then
    echo "no default seccomp profile of $2: $1 is neither installed nor can it be downloaded (try apt-get update)" >&2
    exit 77
  fi
  for deb in "$cache/$1"/*.deb; do :; done
  dpkg-deb -x "$deb" "$cache/$1/root"
  dpkg-deb -f "$deb" Version >"$cache/$1/version.new"
  rm "$deb"
  mv "$cache/$1/version.new" "$cache/$1/version"
}

profile() {
  runtime=$1 package=$2 file=$3
  if [ -e "/$file" ] && version=$(dpkg-query -W -f='${Version}' "$package" 2>/dev/null) && [ -n "$version" ]; then
    echo "$runtime $version /$file"
    return
  fi
  [ -e "$cache/$package/version" ] || unpack "$package" "$runtime"
  echo "$runtime $(cat "$cache/$package/version") $cache/$package/root/$file"
}

profile Docker golang-github-docker-docker-dev usr/share/gocode/src/github.com/docker/docker/profiles/seccomp/default.json
profile Podman golang-github-containers-common usr/share/containers/seccomp.json
