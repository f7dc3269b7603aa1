#!/usr/bin/env bash
# Builds this tree for ARM64 on another machine, and tests it there: by emulation, and in a virtual machine.
#   tests/arm64.sh [STEP...]     without a STEP all of them, in this order:
#     sysroot    Debian's libraries for ARM64, of this machine's release, unpacked into build/arm64/sysroot; made once
#     build      programs and unit tests (cmake/arm64.cmake), into build/arm64/release
#     unit       unit tests in qemu-aarch64-static, as far as that can run them
#     kernel     all daemons under their filters, privd's self-test and the other unit tests in a virtual machine with Debian's kernel
#     machine    the same machine, with an SMMUv3 and vfio-pci: the tour, and each step broken once; privd bind and unbind, its guards
#     release    images, packages and the index of both architectures; needs the programs of the preset release, too
#   --fresh      makes the sysroot anew
# The compiler's cache and the kernel are where those of this machine's own architecture are: ~/.cache. Packages come from the mirror
# of this machine's own apt sources. Exit 0 only if each step passed; 77 if a tool is missing, said which.
set -euo pipefail
cd "$(dirname "$0")/.."

readonly all_steps=(sysroot build unit kernel machine release)
# What qemu-aarch64-static cannot run: Debian 12's has neither openat2() nor seccomp(), passes descriptors and ends of terminals on in
# part, and an emulated process is slower than a test of many log lines expects.
readonly need_a_kernel=(gate_protocol_test privd_{audit,base,binder,binding,cdi,cli,doctor,facts,gate,hardware,iommufd,landlock,scan}_test
  privd_{self_test,start,state,writer}_test {plugind,netd}_self_test_test seccomp_test)
readonly sysroot=build/arm64/sysroot build=build/arm64/release
steps=() fresh=''
while [ $# -gt 0 ]; do
  case $1 in
    --fresh) fresh=1 ;;
    -h | --help) sed -n '2,12s/^# \{0,1\}//p' "$0"; exit 0 ;;
    *)
      case " ${all_steps[*]} " in
        *" $1 "*) steps+=("$1") ;;
        *) echo "arm64: '$1' is no step (see --help)" >&2; exit 2 ;;
      esac
      ;;
  esac
  shift
done
[ "${#steps[@]}" -gt 0 ] || steps=("${all_steps[@]}")

say() { printf 'arm64: %s\n' "$*"; }
for need in "aarch64-linux-gnu-g++ crossbuild-essential-arm64" "mmdebstrap mmdebstrap" "qemu-aarch64-static qemu-user-static" \
  "qemu-system-aarch64 qemu-system-arm"; do
  command -v "${need% *}" >/dev/null || {
    say "${need% *} is missing: apt-get install ${need#* }" >&2
    exit 77
  }
done

[ -e /usr/share/qemu-efi-aarch64/QEMU_EFI.fd ] || { say "the machine's firmware is missing: apt-get install qemu-efi-aarch64" >&2; exit 77; }

step_sysroot() {
  [ -z "$fresh" ] || rm -rf "$sysroot"
  if [ -d "$sysroot" ]; then return; fi
  local release from packages
  # shellcheck source=/dev/null
  release=$(. /etc/os-release && echo "$VERSION_CODENAME")
  # shellcheck disable=SC2016  # apt's own variables
  from=$(apt-get indextargets --format '$(LABEL) $(REPO_URI)' 'Created-By: Packages' 'Origin: Debian' | sed -n 's/^Debian //p' | head -n 1)
  [ -n "$from" ] || { say "this machine has no apt source of Debian's" >&2; return 1; }
  packages=$(tests/install.sh --list "$release" libraries | paste -sd,)
  # Besides: what the virtual machine and the images have.
  packages+=,busybox-static,base-files,kmod,pci.ids
  mkdir -p "$(dirname "$sysroot")"
  rm -rf "$sysroot.new"
  # Unpacked, not installed: no program of theirs runs.
  mmdebstrap --quiet --architectures=arm64 --variant=extract --include="$packages" --aptopt='APT::Install-Recommends "false"' \
    --hook-dir=/usr/share/mmdebstrap/hooks/merged-usr --skip=cleanup/apt \
    "$release" "$sysroot.new" "deb $from $release main" "deb $from $release-updates main"
  (
    cd "$sysroot.new"
    # Links from the root would lead to this machine's own files.
    find . -type l -lname '/*' -exec sh -c 'for link do ln -sfnr "./$(readlink "$link")" "$link"; done' sh {} +
    # dpkg's lists, by which a file's package is known, and how new a library has to be.
    for deb in var/cache/apt/archives/*.deb; do
      name=$(dpkg-deb --field "$deb" Package)
      [ "$(dpkg-deb --field "$deb" Multi-Arch)" != same ] || name=$name:arm64
      dpkg-deb --field "$deb" | sed 's/^Package: .*/&\nStatus: install ok installed/' >>var/lib/dpkg/status
      echo >>var/lib/dpkg/status
      dpkg-deb --control "$deb" control
      for kind in shlibs symbols; do [ ! -e "control/$kind" ] || mv "control/$kind" "var/lib/dpkg/info/$name.$kind"; done
      rm -r control
      dpkg-deb --fsys-tarfile "$deb" | tar -t | sed 's,^\./$,/.,; t; s,^\.,,; s,/$,,' >"var/lib/dpkg/info/$name.list"
    done
    rm -rf var/cache/apt/archives
  )
  mv "$sysroot.new" "$sysroot"
}

step_build() {
  cmake --preset arm64 >/dev/null
  cmake --build --preset arm64 --target programs tests_unit machine_programs
}

# A program at once: by CTest, a case at a time, most of the time would go to starting them.
step_unit() {
  local program missed=()
  echo "run on a kernel of the architecture instead (step kernel): ${need_a_kernel[*]}"
  for program in "$build"/tests/*_test; do
    case " ${need_a_kernel[*]} " in *" $(basename "$program") "*) continue ;; esac
    basename "$program"
    VFIOGATE_SOURCE=$PWD VFIOGATE_BIN=$PWD/$build/bin qemu-aarch64-static -L "$sysroot" "$program" --gtest_brief=1 >"$build/said" 2>&1 ||
      missed+=("$(basename "$program")")
    grep -E '^\[ +(PASSED|FAILED|SKIPPED) ' "$build/said" || tail "$build/said"
  done
  echo "failed: ${missed[*]:-none}"
  [ "${#missed[@]}" -eq 0 ]
}

step_kernel() {
  local words=() program
  for program in bin/privd{,-daemon,-hardware,-gate,-binder,-iommufd}; do words+=(--program "$build/$program"); done
  tests/machine/run_vm.sh --arm64 "$sysroot" --guest tests/machine/guest/daemons_test.sh "${words[@]}" \
    --program "$build/bin/plugind" --program "$build/bin/netd" --file tests/machine/guest/claims.yaml:test/plugind.yaml
  for program in "${need_a_kernel[@]}"; do words+=(--program "$build/tests/$program"); done
  tests/machine/run_vm.sh --arm64 "$sysroot" --timeout 1500 --guest tests/machine/guest/unit_test.sh "${words[@]}" \
    --file docs/doctor.md:test/source/docs/doctor.md
}

step_machine() {
  local words=() program
  tests/machine/run_allocation.sh "$build/bin" allocation_test.sh '' --arm64 "$sysroot"
  for program in bin/privd{,-daemon,-hardware,-gate,-binder} machine/{vfio_open,without_capabilities,sysfs_script}; do
    words+=(--program "$build/$program")
  done
  words+=(--file tests/machine/guest/binding.sh:test/binding.sh)
  tests/machine/run_vm.sh --arm64 "$sysroot" --guest tests/machine/guest/binding_test.sh "${words[@]}"
  tests/machine/run_vm.sh --arm64 "$sysroot" --guest tests/machine/guest/guards_test.sh "${words[@]}" --disk yes --module ext4 --module crc32c_generic
}

step_release() {
  local version
  version=$("build/release/bin/privd" --version)
  rm -rf build/arm64/made
  deploy/release.sh "${version%% *}" --programs build/release/bin --arm64 "$build/bin" --out build/arm64/made
}

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
