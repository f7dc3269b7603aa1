# Mediated devices of the kernel's sample drivers mtty and mdpy, whose parents are no PCI functions. With node.sh, which it needs.
. /test/node.sh

serial=/sys/devices/virtual/mtty/mtty/mdev_supported_types
display=/sys/devices/virtual/mdpy/mdpy/mdev_supported_types
uuid=83b8f4f2-509f-382f-3c1e-e6bfe0fa100 # and a digit
ids=4348:3253 display_ids=1b36:000f      # the drivers' own

make() { echo "$2" >"$1/create"; } # TYPE UUID
remove() { echo 1 >"/sys/bus/mdev/devices/$1/remove"; }
group_in() { basename "$(readlink "/sys/bus/mdev/devices/$1/iommu_group")"; }
own_node() { basename /sys/bus/mdev/devices/"$1"/vfio-dev/*; }
listed() { privd list --select "mdev=$1" 2>&1 | grep -F "$2" | tr -s ' '; } # TYPE UUID
