#!/usr/bin/env bash
# Builds, tests and runs the committed tree on another release of Debian, in a chroot of its own.
#   tests/distro.sh RELEASE [STEP...]     RELEASE: bookworm, trixie; without a STEP all of them, in this order:
#     build        programs, unit tests and the tests of the filters, with the release's compiler and libraries
#     unit         unit tests
#     self-test    each program with a self-test goes its paths under its filter
#     sandbox      the filters: what each lets through, that each row is needed, and that no other call is made
#     tour         deploy/try.sh on simulated hardware, with the programs that were built
#     package      the Debian package, built, installed by dpkg and its programs' self-test
#     clang        the programs built by the release's clang, and their self-tests
#   --dir DIR      where the chroots are (default: VFIOGATE_DISTRO_DIR, else build/distro)
#   --cache DIR    the compiler's cache (default: XDG_CACHE_HOME or ~/.cache, vfiogate/distro-ccache)
# As root, with mmdebstrap. The mirror is that of this machine's own apt sources. The chroot and what is
# built in it stay, mounts do not: they are in a namespace that ends with each step. A step that needs
# the build is tried with what is there. Exit 0 only if each step passed.
set -euo pipefail
cd "$(dirname "$0")/.."

readonly all_steps=(build unit self-test sandbox tour package clang)
chroots=${VFIOGATE_DISTRO_DIR:-build/distro}
cache=${XDG_CACHE_HOME:-$HOME/.cache}/vfiogate/distro-ccache
release='' steps=()
while [ $# -gt 0 ]; do
  case $1 in
    --dir | --cache)
      [ $# -ge 2 ] || { echo "distro: $1 needs a directory" >&2; exit 2; }
      if [ "$1" = --dir ]; then chroots=$2; else cache=$2; fi
      shift
      ;;
    -h | --help) sed -n '2,16s/^# \{0,1\}//p' "$0"; exit 0 ;;
    bookworm | trixie) release=$1 ;;
    *)
      case " ${all_steps[*]} " in
        *" $1 "*) steps+=("$1") ;;
        *) echo "distro: '$1' is neither a release nor a step (see --help)" >&2; exit 2 ;;
      esac
      ;;
  esac
  shift
done
[ -n "$release" ] || { echo "distro: name a release (see --help)" >&2; exit 2; }
[ "${#steps[@]}" -gt 0 ] || steps=("${all_steps[@]}")

say() { printf 'distro %s: %s\n' "$release" "$*"; }
give_up() { say "$*" >&2; exit 1; }
[ "$(id -u)" -eq 0 ] || give_up "not root: a chroot is made and mounted in"
command -v mmdebstrap >/dev/null || give_up "no mmdebstrap: apt-get install mmdebstrap"
mkdir -p "$chroots" "$cache"
root=$(realpath "$chroots")/$release cache=$(realpath "$cache")

# The first of this machine's own archives of Debian; a security archive has another label.
mirror() {
  # shellcheck disable=SC2016  # apt's own variables
  apt-get indextargets --format '$(LABEL) $(REPO_URI)' 'Created-By: Packages' 'Origin: Debian' | sed -n 's/^Debian //p' | head -n 1
}

make_chroot() {
  local from archive
  from=$(mirror)
  [ -n "$from" ] || give_up "this machine has no apt source of Debian's"
  archive=()
  for suite in "$release" "$release-updates"; do archive+=("deb $from $suite main"); done
  say "making the chroot in $root"
  local packages
  packages=$(tests/install.sh --list "$release" build | paste -sd,)
  mmdebstrap --quiet --variant=apt --include="$packages" --aptopt='APT::Install-Recommends "false"' \
    "$release" "$root.new" "${archive[@]}"
  mv "$root.new" "$root"
}

# Runs a command in the chroot's tree, in mounts and processes of its own that end with it.
inside() {
  # shellcheck disable=SC2016  # the inner shell's variables
  COMMAND=$* ROOT=$root CACHE=$cache unshare --mount --propagation private --pid --fork --kill-child bash -c '
    set -e
    mkdir -p "$ROOT/src" "$ROOT/ccache" "$ROOT/outside"
    mount --bind "$ROOT" "$ROOT"
    cd "$ROOT"
    mount --bind "$CACHE" ccache
    mount -t proc proc proc
    mount -t sysfs sysfs sys
    mount --rbind /dev dev
    mount -t tmpfs tmpfs run
    mount -t tmpfs tmpfs tmp
    # Not chroot: a process in one may make no namespace of users, which tests do.
    pivot_root . outside
    cd /src
    umount -l /outside
    exec env -i HOME=/root PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive \
      CCACHE_DIR=/ccache CCACHE_BASEDIR=/src CCACHE_NOHASHDIR=1 CCACHE_SLOPPINESS=time_macros \
      VFIOGATE_SOURCE=/src VFIOGATE_BIN=/src/build/release/bin bash -euo pipefail -c "$COMMAND"'
}

# What is committed. A file that is the same keeps its time, and what was made of it.
copy_tree() {
  local new=$root/src.new
  rm -rf "$new"
  mkdir -p "$new" "$root/src"
  git archive HEAD | tar -x -C "$new"
  (
    cd "$new"
    find . -type f -exec sh -c 'for file do cmp -s "$file" "../src/$file" && touch -r "../src/$file" "$file"; done; true' sh {} +
  )
  if [ -d "$root/src/build" ]; then mv "$root/src/build" "$new/build"; fi
  rm -rf "$root/src"
  mv "$new" "$root/src"
}

step_build() {
  inside 'g++ --version | head -n 1; cmake --preset release; cmake --build --preset release --target programs tests_unit \
    every_row_test sandbox_test netd_test netd_dra_process_test'
}
step_unit() { inside 'tests/machines_own.sh run ctest --preset release -L unit --output-on-failure'; }
# self_tests DIRECTORY: of the programs in it.
self_tests() {
  local program
  for program in privd plugind netd; do inside "$1/$program policy --self-test"; done
}
step_self-test() { self_tests build/release/bin; }
step_sandbox() { inside "tests/machines_own.sh run ctest --preset release -R '^(every_row_test|sandbox_test)[.]|NeedsEveryRow' --output-on-failure"; }
step_tour() { inside 'tests/machines_own.sh run deploy/try.sh --programs build/release/bin'; }
step_package() {
  inside '
    deploy/debian/build_package.py --programs build/release/bin --out /tmp/vfiogate-privd.deb
    dpkg-deb --field /tmp/vfiogate-privd.deb Depends
    dpkg --install /tmp/vfiogate-privd.deb
    /usr/bin/privd policy --self-test | tail -n 1
    dpkg --purge vfiogate-privd'
}
step_clang() {
  inside 'clang++ --version | head -n 1; CC=clang CXX=clang++ cmake --preset release -B build/clang; cmake --build build/clang --target programs'
  self_tests build/clang/bin
}

[ -d "$root" ] || make_chroot
say "$(git log -1 --format='%h of %cs') in $root"
copy_tree
passed=() failed=()
for step in "${steps[@]}"; do
  say "$step"
  begun=$SECONDS
  # A step ends at its first command that fails: so in no condition.
  set +e
  (set -e; "step_$step")
  ended=$?
  set -e
  if [ "$ended" -eq 0 ]; then passed+=("$step"); else failed+=("$step"); fi
  say "$step took $((SECONDS - begun)) s"
done
say "passed: ${passed[*]:-none}; failed: ${failed[*]:-none}"
[ "${#failed[@]}" -eq 0 ]
