#!/usr/bin/env bash
# Fails where clang-format would change a source, or where a source has two unnamed namespaces.
set -euo pipefail
cd "$(dirname "$0")/.."
git ls-files '*.cc' '*.h' | xargs clang-format --dry-run -Werror
git ls-files '*.cc' '*.h' |
  xargs awk '/^namespace \{/ && ++seen[FILENAME] == 2 { print FILENAME ": two unnamed namespaces"; bad = 1 } END { exit bad }'
