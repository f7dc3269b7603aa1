#!/usr/bin/env bash
# Installs what building and testing need on Debian 12 or 13. Does nothing where all is there.
#   tests/install.sh --list RELEASE [build]    prints the packages instead, of bookworm or trixie;
#                                              `build`: those for programs, unit tests, tour and package alone;
#                                              `libraries`: of these, what is compiled against
set -euo pipefail

libraries=(
  libc6-dev libcapnp-dev libssl-dev libgrpc++-dev libabsl-dev libprotobuf-dev
  libseccomp-dev libmd-dev prometheus-cpp-dev libspdlog-dev libyaml-cpp-dev libcli11-dev nlohmann-json3-dev
  libgtest-dev libgmock-dev libfuse3-dev
)
build_packages=(
  "${libraries[@]}"
  g++ clang cmake ninja-build ccache pkg-config git ca-certificates
  capnproto openssl protobuf-compiler protobuf-compiler-grpc
  fuse3
  kmod xz-utils zstd pci.ids iproute2 python3 python3-yaml
  help2man lintian dpkg-dev systemd
)
test_packages=(
  qemu-system-x86 busybox-static cpio apparmor
  clang-format clang-tidy llvm shellcheck pyflakes3
  runc etcd-server containernetworking-plugins
  reuse signify-openbsd minisign bash fish zsh
  libbenchmark-dev strace valgrind # parts by themselves: tests/bench/parts
  make flex bison bc libelf-dev lz4 # the virtual machine's own kernel: tests/machine/build_kernel.sh
)

packages_of() {
  if [ "${2:-}" = libraries ]; then
    packages=("${libraries[@]}")
    return
  fi
  packages=("${build_packages[@]}")
  if [ "${2:-}" = build ]; then return; fi
  packages+=("${test_packages[@]}")
  # Of the release's own clang.
  case $1 in
    trixie) packages+=(libclang-rt-19-dev) ;;
    *) packages+=(libclang-rt-14-dev) ;;
  esac
}

if [ "${1:-}" = --list ]; then
  packages_of "${2:?}" "${3:-}"
  printf '%s\n' "${packages[@]}"
  exit 0
fi
# shellcheck source=/dev/null
packages_of "$(. /etc/os-release && echo "${VERSION_CODENAME:-}")"

install_missing() {
  echo "installing: ${missing[*]}"
  if [ "$(id -u)" -ne 0 ]; then
    echo "tests/install.sh: not root. Run: sudo apt-get install ${missing[*]}" >&2
    exit 1
  fi
  export DEBIAN_FRONTEND=noninteractive
  apt-get update -qq
  apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
}

missing=()
for package in "${packages[@]}"; do
  dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q 'ok installed' || missing+=("$package")
done
if [ "${#missing[@]}" -gt 0 ]; then install_missing; fi

# Files out of packages that are not installed; without them their tests are skipped, and say so.
"$(dirname "$0")/support/fetch_profiles.sh" "${XDG_CACHE_HOME:-$HOME/.cache}/vfiogate/profiles" >/dev/null || true
"$(dirname "$0")/support/fetch_prometheus.sh" "${XDG_CACHE_HOME:-$HOME/.cache}/vfiogate/prometheus" >/dev/null || true
