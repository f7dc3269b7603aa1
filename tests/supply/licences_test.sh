#!/usr/bin/env bash
# That each file has a licence, as `reuse` reads it from .reuse/dep5, and that the licence's text is Debian's copy of it.
set -euo pipefail
cd "$(dirname "$0")/../.."
command -v reuse >/dev/null || { echo "no reuse: apt-get install reuse" >&2; exit 1; }

said=$(reuse lint) || { echo "$said"; exit 1; }
grep -q '^Congratulations' <<<"$said" || { echo "$said"; exit 1; }
grep '^\* Used licenses: Apache-2.0$' <<<"$said" || { echo "$said"; exit 1; }
[ LICENSE -ef LICENSES/Apache-2.0.txt ] || { echo "LICENSES/Apache-2.0.txt is not LICENSE"; exit 1; }
# Their margins differ.
cmp <(tr -d ' \n' <LICENSE) <(tr -d ' \n' </usr/share/common-licenses/Apache-2.0)
