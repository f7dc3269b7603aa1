#!/usr/bin/env bash
# Checks that the programs in folder $1 were built as cmake/hardening.cmake says.
set -euo pipefail
bin=$1
bad=0
need() { # need PROGRAM WHAT COMMAND...
  local program=$1 what=$2
  shift 2
  if "$@" >/dev/null 2>&1; then
    echo "$program: $what"
  else
    echo "$program: NOT $what"
    bad=1
  fi
}
for program in privd plugind netd; do
  file=$bin/$program
  need $program "position independent" bash -c "readelf -h '$file' | grep -q 'Type:.*DYN'"
  need $program "bound at start" bash -c "readelf -d '$file' | grep -Eq 'BIND_NOW|Flags:.*NOW'"
  need $program "read-only relocations" bash -c "readelf -lW '$file' | grep -q GNU_RELRO"
  need $program "without executable stack" bash -c "readelf -lW '$file' | grep 'GNU_STACK' | grep -qv 'RWE'"
  need $program "with stack protector" bash -c "readelf -sW '$file' | grep -q __stack_chk_fail"
  need $program "with fortified calls" bash -c "readelf -sW '$file' | grep -Eq '__[a-z_]+_chk@'"
  need $program "without own library path" bash -c "! readelf -d '$file' | grep -Eq 'RPATH|RUNPATH'"
done
need privd "without gRPC, protobuf, YAML" bash -c "! ldd '$bin/privd' | grep -Eq 'grpc|protobuf|yaml|spdlog|ssl'"
need netd "without gRPC, protobuf, YAML" bash -c "! ldd '$bin/netd' | grep -Eq 'grpc|protobuf|yaml'"
exit $bad
