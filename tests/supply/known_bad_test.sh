#!/usr/bin/env bash
# Which versions of the libraries the build refuses, and that what it names is a row of the VEX file.
set -euo pipefail
cd "$(dirname "$0")/../.."

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cat >"$work/try.cmake" <<CMAKE
include($PWD/cmake/known_bad.cmake)
vfiogate_refuse_known_bad(\${CAPNPROTO} \${PROTOBUF})
CMAKE

# taken CAPNPROTO PROTOBUF: whether the build goes on with them.
taken() { cmake "-DCAPNPROTO=$1" "-DPROTOBUF=$2" -P "$work/try.cmake" >"$work/said" 2>&1; }

status=0
wrong() { echo "$*"; status=1; }
for versions in "0.9.2 3.21.12" "1.0.1 3.21.6" "1.4.0 5.29.3" "0.10.3 3.12.4"; do
  read -r capnproto protobuf <<<"$versions"
  taken "$capnproto" "$protobuf" || wrong "refused: Cap'n Proto $capnproto, protobuf $protobuf: $(cat "$work/said")"
done
for versions in "0.9.1 3.21.12 CVE-2022-46149" "0.10.2 3.21.12 CVE-2022-46149" "0.9.2 3.21.5 CVE-2022-1941" "0.9.2 3.18.2 CVE-2022-1941"; do
  read -r capnproto protobuf flaw <<<"$versions"
  if taken "$capnproto" "$protobuf"; then wrong "taken: Cap'n Proto $capnproto, protobuf $protobuf"; fi
  grep -q "$flaw" "$work/said" || wrong "$versions: $(cat "$work/said")"
done
while read -r flaw; do
  grep -q "\"name\": \"$flaw\"" docs/security/flaws.openvex.json || wrong "no row of the VEX file: $flaw"
done < <(grep -oE 'CVE-[0-9-]+' cmake/known_bad.cmake | sort -u)
exit $status
