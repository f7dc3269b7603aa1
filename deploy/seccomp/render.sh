#!/usr/bin/env bash
# Writes the programs' seccomp profiles, for the kubelet's directory seccomp/, as the programs print them.
#   deploy/seccomp/render.sh PROGRAMS DIRECTORY      e.g. build/release/bin /var/lib/kubelet/seccomp/vfiogate
set -euo pipefail
if [ $# -ne 2 ]; then
  echo "usage: render.sh PROGRAMS DIRECTORY" >&2
  exit 2
fi
mkdir -p "$2"

# print FILE PROGRAM [ROLE]
print() {
  # Under another name first: a runtime never reads half a profile.
  "$programs/$2" policy "${@:3}" -o oci >"$to/$1.json.new"
  mv "$to/$1.json.new" "$to/$1.json"
}

programs=$1
to=$2
print hardware privd hardware
print gate privd gate
print binder privd binder
print plugind plugind
print netd netd metrics
print netd-dra netd dra
