# What guest scripts share. A check that fails says so and is counted; `finish` ends the test.

failures=0
pci=/sys/bus/pci

say() { echo "MACHINE $*"; }

check() { # WHAT GOT WANTED
  if [ "$2" = "$3" ]; then
    say "ok: $1: $2"
  else
    say "FAILED: $1: got '$2', wanted '$3'"
    failures=$((failures + 1))
  fi
}

finish() {
  say "$failures checks failed"
  [ "$failures" = 0 ]
  exit
}

# The machine's devices by the names of machine.sh.
row() { awk -v name="$1" '$1 == name' /test/expected; }
address_of() { basename "$(echo /sys/devices/$(row "$1" | awk '{print $2}'))"; }
ids_of() { row "$1" | awk '{print $3}'; }
class_of() { row "$1" | awk '{print $4}'; }
numa_of() { row "$1" | awk '{print $5}'; }

group_of() { basename "$(readlink "$pci/devices/$1/iommu_group")"; }
driver_of() {
  if [ -e "$pci/devices/$1/driver" ]; then basename "$(readlink "$pci/devices/$1/driver")"; else echo none; fi
}
enable_of() { cat "$pci/devices/$1/enable"; }

# Everything that writes to sysfs runs as the shipped privd will: uid 0 without any capability.
powerless() { without_capabilities "$@"; }

to_vfio() { # ADDRESS
  {
    echo "write devices/$1/driver_override vfio-pci"
    [ "$(driver_of "$1")" = none ] || echo "write devices/$1/driver/unbind $1"
    echo "write drivers/vfio-pci/bind $1"
  } | powerless sysfs_script --root $pci | grep -v -e '-> ok$'
}
