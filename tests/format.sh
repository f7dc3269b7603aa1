#!/usr/bin/env bash
# Fails where clang-format would change a source.
set -euo pipefail
cd "$(dirname "$0")/.."
git ls-files '*.cc' '*.h' | xargs clang-format --dry-run -Werror
