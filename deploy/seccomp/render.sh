#!/usr/bin/env bash
# Writes the programs' seccomp profiles, for the kubelet's directory seccomp/, as the programs print them.
#   deploy/seccomp/render.sh PROGRAMS DIRECTORY      e.g. build/release/bin /var/lib/kubelet/seccomp/vfiogate
set -euo pipefail
if [ $# -ne 2 ]; then
  echo "usage: render.sh PROGRAMS DIRECTORY" >&2
  exit 2
fi
mkdir -p "$2"
for program in privd plugind netd; do
  # Under another name first: a runtime never reads half a profile.
  "$1/$program" policy -o oci >"$2/$program.json.new"
  mv "$2/$program.json.new" "$2/$program.json"
done
