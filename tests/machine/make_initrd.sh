#!/bin/sh
# Assembles what the virtual machine boots into: busybox, kernel modules, programs with all the
# shared libraries they need, files.
# usage: make_initrd.sh --kernel DIRECTORY --out FILE [--arm64 SYSROOT] [--module NAME]... [--program FILE]... [--file FROM:TO]...
#   --program  goes to /bin, its libraries to where the linker looks for them
#   --file     a file or directory
#   --arm64    programs are ARM64's; their libraries and busybox are below SYSROOT (first of all)
set -eu

say_usage() {
  sed -n '2,8s/^# //p' "$0" >&2
  exit 2
}

root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
chmod 0755 "$root" # what drops to another user must be able to enter it
mkdir -p "$root/bin" "$root/dev" "$root/proc" "$root/sys" "$root/run" "$root/tmp" "$root/etc" "$root/test"
kernel='' out='' modules='' sysroot='' strip=strip

# What a program loads, as ldd says it.
libraries_of() {
  if [ -z "$sysroot" ]; then ldd "$1"; else qemu-aarch64-static -L "$sysroot" "$sysroot/lib/ld-linux-aarch64.so.1" --list "$1"; fi
}

copy_libraries() {
  # A static program has none, and ldd says so with an error.
  list=$(libraries_of "$1" 2>/dev/null) || return 0
  if echo "$list" | grep -q 'not found'; then
    echo "$1 needs libraries that are not here:" >&2
    echo "$list" | grep 'not found' >&2
    exit 1
  fi
  echo "$list" | awk '$1 ~ "^/" {print $1; next} $2 == "=>" && $3 ~ "^/" {print $3}' |
    while read -r library; do
      [ -e "$root$library" ] && continue
      mkdir -p "$root$(dirname "$library")"
      cp -L "$sysroot$library" "$root$library"
    done
}

copy_program() {
  if [ ! -x "$1" ]; then
    echo "$1 is no program: build it first" >&2
    exit 1
  fi
  # As shipped: with debugging information the machine's memory would be full of them.
  $strip --strip-debug -o "$root/bin/$(basename "$1")" "$1"
  copy_libraries "$1"
}

while [ $# -gt 0 ]; do
  [ $# -ge 2 ] || say_usage
  case $1 in
    --kernel) kernel=$2 ;;
    --arm64) sysroot=$(realpath "$2") strip=aarch64-linux-gnu-strip ;;
    --out) out=$2 ;;
    --module) modules="$modules $2" ;;
    --program) copy_program "$2" ;;
    --file)
      mkdir -p "$root/$(dirname "${2#*:}")"
      cp -rL "${2%%:*}" "$root/${2#*:}"
      ;;
    *) say_usage ;;
  esac
  shift 2
done
if [ -z "$kernel" ] || [ -z "$out" ]; then say_usage; fi

busybox=$(PATH=${sysroot:+$sysroot/bin:}$PATH command -v busybox) || {
  echo "busybox is missing. Install it with: apt-get install busybox-static" >&2
  exit 77
}
if libraries_of "$busybox" >/dev/null 2>&1; then
  echo "$busybox is not static. Install: apt-get install busybox-static" >&2
  exit 77
fi
cp "$busybox" "$root/bin/busybox"
for applet in $(${sysroot:+qemu-aarch64-static} "$busybox" --list); do
  [ -e "$root/bin/$applet" ] || ln -s busybox "$root/bin/$applet"
done

version=$(cat "$kernel/ready")
for module in $modules; do
  modprobe -d "$kernel" -S "$version" --show-depends "$module"
done | awk '$1 == "insmod" {print $2}' | sort -u | while read -r file; do
  inside=lib/modules/${file#"$kernel"/lib/modules/}
  mkdir -p "$root/$(dirname "$inside")"
  case $file in
    *.xz) xz -dc "$file" >"$root/${inside%.xz}" ;;
    *) cp "$file" "$root/$inside" ;;
  esac
done
mkdir -p "$root/lib/modules/$version"
cp "$kernel/lib/modules/$version/modules.builtin" "$kernel/lib/modules/$version/modules.builtin.modinfo" \
  "$kernel/lib/modules/$version/modules.order" "$root/lib/modules/$version/"
depmod -b "$root" "$version"

# Not compressed: unpacking costs the emulated processor more than the bytes cost the host.
(cd "$root" && find . -print0 | cpio --null --create --format=newc --owner=0:0 --quiet) >"$out"
