#!/usr/bin/env bash
# Writes base/ anew from the chart, which is the one source of both. Run it after every change of
# deploy/helm/vfiogate; a test fails where base/ is another.
#   deploy/kubernetes/render.sh [HELM [DIRECTORY]]      the program, default: helm; where to, default: base/
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
helm=${1:-helm}
to=${2:-$here/base}

# print FILE TEMPLATE...: what these templates of the chart print for its defaults.
print() {
  local file=$1 template shown=()
  shift
  for template in "$@"; do shown+=(--show-only "templates/$template.yaml"); done
  mkdir -p "$(dirname "$to/$file")"
  {
    echo "# Printed by deploy/kubernetes/render.sh from the chart: change that."
    "$helm" template vfiogate "$here/../helm/vfiogate" --namespace vfiogate --set namespace.create=true "${shown[@]}"
  } >"$to/$file"
}

print common/manifests.yaml namespace serviceaccount networkpolicy service
print node-class/manifests.yaml configmap daemonset
