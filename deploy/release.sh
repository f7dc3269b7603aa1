#!/usr/bin/env bash
# Makes everything of a release in one folder: both images, the chart, the package, the simulators, a bill of materials of each,
# the digests as values of the chart, checksums, and their signature. The same commit gives the same bytes.
#   deploy/release.sh VERSION [--out DIR] [--programs DIR] [--arm64 DIR] [--signify KEY | --minisign KEY]
# VERSION is the tree's (CMakeLists.txt). --out: default release-VERSION; it has to be new or empty. --programs: the bin/ of a
# build that is there; default: the commit is built, and no file may differ from it. --arm64: the bin/ of a cross build of the same
# commit (tests/arm64.sh): images and the package of ARM64, too, and of both images an index, whose digests are the chart's values.
# KEY: the secret key's file; without one nothing is signed. A passphrase is asked for by the tool. Verify: docs/release.md.
set -euo pipefail
tree=$(realpath "$(dirname "$0")/..")

fail() { echo "release.sh: $*" >&2; exit 1; }
usage() { sed -n '4s/^#  *//p' "$0" >&2; exit 2; }

case ${1:-} in -h | --help) sed -n '2,8s/^# \{0,1\}//p' "$0"; exit 0 ;; esac
version=${1:-}
[[ $version =~ ^[0-9] ]] || usage
shift
out=release-$version programs='' arm64='' tool='' key=''
while [ $# -gt 0 ]; do
  [ $# -ge 2 ] || usage
  case $1 in
    --out) out=$2 ;;
    --programs) programs=$(realpath "$2") ;;
    --arm64) arm64=$(realpath "$2") ;;
    --signify | --minisign)
      [ -z "$key" ] || usage
      tool=${1#--} key=$(realpath "$2") ;;
    *) usage ;;
  esac
  shift 2
done

of_tree=$(sed -n 's/^project(vfiogate VERSION \([0-9.]*\).*/\1/p' "$tree/CMakeLists.txt")
[ "$version" = "$of_tree" ] || fail "this tree is of version $of_tree, not $version: change CMakeLists.txt and deploy/helm/vfiogate/Chart.yaml first"
[ -z "$key" ] || [ -r "$key" ] || fail "$key: there is no such key"
[ "$tool" != signify ] || command -v signify-openbsd >/dev/null || fail "apt-get install signify-openbsd"
[ "$tool" != minisign ] || command -v minisign >/dev/null || fail "apt-get install minisign"
mkdir -p "$out"
out=$(realpath "$out")
[ -z "$(ls -A "$out")" ] || fail "$out is not empty"

architecture=$(dpkg --print-architecture)
if [ -z "$programs" ]; then
  [ -z "$(git -C "$tree" status --porcelain)" ] || fail "files differ from the commit: commit them, or put them away"
  build=$tree/build/for-release
  cmake -S "$tree" --preset release -B "$build" -DBUILD_TESTING=OFF -DVFIOGATE_SIMULATORS=ON >/dev/null
  cmake --build "$build"
  programs=$build/bin
fi
[ -z "$arm64" ] || [ "$architecture" != arm64 ] || fail "--arm64 is for another machine than an ARM64 one"
[[ $("$programs/privd" --version) == "$version "* ]] || fail "$programs/privd is of another version: $("$programs/privd" --version)"

base=vfiogate-$version
deb=vfiogate-privd_${version}_$architecture.deb
simulators=vfiogate-simulators-$version-$architecture.tar.gz

# digest_in TEXT: of the image that build_image.py told of.
digest_in() { grep -oE 'sha256:[0-9a-f]{64}' <<<"$1"; }

# image KIND ARCHITECTURE WORDS...: KIND is vfiogate or vfiogate-modules; prints the digest.
image() {
  local said
  said=$("$tree/deploy/image/build_image.py" --tag "$version" --out "$1-$version-image-$2.oci.tar" --bill "$1-$version-image-$2.spdx.json" "${@:3}")
  digest_in "$said"
}
# index KIND: of the images of both architectures; prints the digest.
index() {
  local said
  said=$("$tree/deploy/image/join_images.py" "$1-$version-image-$architecture.oci.tar" "$1-$version-image-arm64.oci.tar" --out "$1-$version-image.oci.tar")
  digest_in "$said"
}
# package FILE WORDS...
package() {
  "$tree/deploy/debian/build_package.py" --out "$@" >/dev/null
  dpkg-deb --fsys-tarfile "$1" | tar -xO ./usr/share/sbom/vfiogate-privd.spdx.json >"${1%.deb}.spdx.json"
}

cd "$out"
main=$(image vfiogate "$architecture" --programs "$programs")
modules=$(image vfiogate-modules "$architecture" --programs "$programs" --modules)
package "$deb" --programs "$programs"
if [ -n "$arm64" ]; then
  there=(--programs "$arm64" --sysroot "$tree/build/arm64/sysroot")
  image vfiogate arm64 "${there[@]}" >/dev/null
  image vfiogate-modules arm64 "${there[@]}" --modules >/dev/null
  main=$(index vfiogate)
  modules=$(index vfiogate-modules)
  package "vfiogate-privd_${version}_arm64.deb" "${there[@]}" --texts "$programs"
fi
cat >"$base-digests.yaml" <<YAML
# Values of the chart: the images of this release. Say image.repository and modulesImage.repository besides.
image: {tag: "$version", digest: "$main"}
modulesImage: {tag: "$version", digest: "$modules"}
YAML
"$tree/deploy/helm/package_chart.py" --out . >/dev/null
"$tree/deploy/simulators/package_simulators.py" --programs "$programs" --out "$simulators" >/dev/null
tar -xzOf "$simulators" "vfiogate-simulators-$version/share/sbom/vfiogate-simulators.spdx.json" >"${simulators%.tar.gz}.spdx.json"
cp "$tree/LICENSE" .
chmod 0644 ./*

files=(*)
sha256sum "${files[@]}" >SHA256SUMS
case $tool in
  signify) signify-openbsd -S -s "$key" -m SHA256SUMS -x SHA256SUMS.sig ;;
  # Its own comment would be the time.
  minisign) minisign -S -s "$key" -m SHA256SUMS -x SHA256SUMS.minisig -t "vfiogate $version" >/dev/null ;;
  *) echo "not signed: no --signify or --minisign" >&2 ;;
esac
echo "$out: ${#files[@]} files of $("$programs/privd" --version)"
