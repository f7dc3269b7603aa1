#!/usr/bin/env bash
# Writes the programs' seccomp profiles, for the kubelet's directory seccomp/, as the programs print them.
#   deploy/seccomp/render.sh PROGRAMS DIRECTORY      e.g. build/release/bin /var/lib/kubelet/seccomp/vfiogate
set -euo pipefail
if [ $# -ne 2 ]; then
  echo "usage: render.sh PROGRAMS DIRECTORY" >&2
  exit 2
fi
mkdir -p "$2"
render() {
  # Under another name first: a runtime never reads half a profile.
  "$1" policy "${@:3}" -o oci >"$2.new"
  mv "$2.new" "$2"
}
for program in privd plugind netd; do
  render "$1/$program" "$2/$program.json"
done
render "$1/netd" "$2/netd-dra.json" dra
