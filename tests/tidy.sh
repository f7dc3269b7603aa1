#!/usr/bin/env bash
# Runs clang-tidy, two sources at a time: on every source of ours, with --half 1 or 2 on every second one, or with
# --changed on those that the last commit or the working tree changed.
set -euo pipefail
cd "$(dirname "$0")/.."

cmake --preset tidy >/dev/null
# Generated headers must be there before a source that includes them can be read.
cmake --build --preset tidy --target generated_sources >/dev/null

if [ "${1:-}" = --changed ]; then
  list=$( { git diff --name-only HEAD; git diff --name-only HEAD~1 HEAD 2>/dev/null; } | sort -u)
else
  list=$(git ls-files)
fi
known=$(python3 -c 'import json; print("\n".join(e["file"] for e in json.load(open("build/tidy/compile_commands.json"))))')
sources=()
while read -r file; do
  if [[ $file == *.cc ]] && grep -qxF "$PWD/$file" <<<"$known"; then sources+=("$file"); fi
done <<<"$list"
if [ "${1:-}" = --half ]; then
  mapfile -t sources < <(printf '%s\n' "${sources[@]}" | awk -v half="$2" 'NR % 2 == half % 2')
fi
if [ "${#sources[@]}" -eq 0 ]; then
  echo "no source to judge"
  exit 0
fi
printf '%s\0' "${sources[@]}" | xargs -0 -n 4 -P 2 clang-tidy -p build/tidy --quiet
