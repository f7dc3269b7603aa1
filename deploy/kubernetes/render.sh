#!/usr/bin/env bash
# Writes base/ and components/dra/manifests.yaml anew from the chart, which is the one source of all. Run it after every
# change of deploy/helm/vfiogate; a test fails where they are others.
#   deploy/kubernetes/render.sh [HELM [DIRECTORY]]      the program, default: helm; where to, default: beside this
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
helm=${1:-helm}
to=${2:-$here}

# print FILE VALUES TEMPLATE...: what these templates of the chart print for its defaults, but for these values.
print() {
  local file=$1 values=$2 template shown=()
  shift 2
  for template in "$@"; do shown+=(--show-only "templates/$template.yaml"); done
  mkdir -p "$(dirname "$to/$file")"
  {
    echo "# Printed by deploy/kubernetes/render.sh from the chart: change that."
    "$helm" template vfiogate "$here/../helm/vfiogate" --namespace vfiogate --set "$values" "${shown[@]}"
  } >"$to/$file"
}

print base/common/manifests.yaml namespace.create=true namespace serviceaccount networkpolicy service
print base/node-class/manifests.yaml namespace.create=true configmap daemonset
print components/dra/manifests.yaml dra.enabled=true,cdi.enabled=true rbac admission
