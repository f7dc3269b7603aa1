#!/usr/bin/env bash
# vfiogate on a real Kubernetes node: the image built from the tree, the manifests as shipped, simulated hardware, and a
# witness that asks none of them. Each case is usable alone.
#   tests/cluster/run.sh [--programs DIR] [--full] [CASE...]
#   --programs DIR   where the programs were built; default: build/release/bin
#   --full           the long cases, too
#   --list           the cases; a CASE is a class or a class and a case
#   --churn SECONDS  how long the case of churn takes; default: 1200
# Kubernetes' programs are those of the folder VFIOGATE_KUBERNETES (node.sh and what it starts), default:
# ../shared/kubernetes beside the tree. Needs root, /dev/fuse and Debian's packages in tests/install.sh.
# Exit: 0, 1 after a failure, 77 with the reason where it cannot be run here.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
tree=$(cd "$here/../.." && pwd)
kubernetes=${VFIOGATE_KUBERNETES:-$tree/../shared/kubernetes}
programs=$tree/build/release/bin
cases=()

while [ $# -gt 0 ]; do
  case $1 in
    --programs) programs=$(realpath "$2"); shift 2 ;;
    --churn) export VFIOGATE_CHURN_SECONDS=$2; shift 2 ;;
    --list) python3 "$here/cluster_test.py" --list --full; exit 0 ;;
    -h | --help) sed -n '2,12s/^# \{0,1\}//p' "$0"; exit 0 ;;
    *) cases+=("$1"); shift ;;
  esac
done

skip() { echo "skipped: $*"; exit 77; }

[ "$(id -u)" -eq 0 ] || skip "it needs root"
[ -c /dev/fuse ] || skip "it needs /dev/fuse"
[ -x "$kubernetes/node.sh" ] || skip "no programs of Kubernetes: VFIOGATE_KUBERNETES names no folder with node.sh, and there is no ../shared/kubernetes"
missing=()
for tool in runc:runc etcd:etcd-server openssl:openssl ip:iproute2 xz:xz-utils zstd:zstd /bin/busybox:busybox-static /usr/lib/cni/bridge:containernetworking-plugins; do
  command -v "${tool%%:*}" >/dev/null || missing+=("${tool##*:}")
done
[ ${#missing[@]} -eq 0 ] || skip "packages of Debian are missing: ${missing[*]}"
for program in privd privd-hardware privd-gate privd-binder privd-iommufd plugind netd sim-sysfs kubelet-sim recording-plugin; do
  [ -x "$programs/$program" ] || { echo "tests/cluster/run.sh: no $program in $programs: build them, or name --programs" >&2; exit 1; }
done

# The first node unpacks Kubernetes' programs for all; one beside it would start a program that is still being written. node.sh
# unpacks once for each path of its folder.
kubernetes=$(cd "$kubernetes" && pwd)
cache=${NODE_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/vfiogate}
mkdir -p "$cache"
unpacked=$cache/unpacked-$(sha256sum "$kubernetes"/*.xz | sha256sum | cut -c1-12)
if [ ! -e "$unpacked" ]; then
  exec 9>"$cache/unpacking.lock"
  flock 9
  if [ ! -e "$unpacked" ]; then
    "$kubernetes/node.sh" -- true 9>&- >/dev/null
    touch "$unpacked"
  fi
  exec 9>&-
fi

place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
"$tree/deploy/image/build_image.py" --programs "$programs" --out "$place/vfiogate.oci.tar" --tag dev --level 3 >"$place/image.log" 2>&1 ||
  { cat "$place/image.log" >&2; exit 1; }
# helm comes by npm, where there is a network: the node has none.
VFIOGATE_HELM=$("$here/helm.py" 2>"$place/helm.log") || VFIOGATE_HELM=
export VFIOGATE_HELM
printf 'staticPodPath: /run/static-pods\ncrashLoopBackOff: {maxContainerRestartPeriod: 2s}\n' >"$place/kubelet.yaml"
export NODE_KUBELET_CONFIG=$place/kubelet.yaml
# Beside v1, which all that is not told otherwise takes.
export NODE_APISERVER="${NODE_APISERVER:-} --runtime-config=resource.k8s.io/v1beta1=true,resource.k8s.io/v1beta2=true"
"$kubernetes/node.sh" --image "$place/vfiogate.oci.tar" -- python3 -u "$here/cluster_test.py" --programs "$programs" ${cases[@]+"${cases[@]}"}
