# Real vfio-pci: groups as the machine was built, ids through the VFIO configuration region.
. /test/library.sh

check "a program with shared libraries runs" "$(capnp --version 2>&1 | cut -d' ' -f1-3)" "Cap'n Proto version"

for name in alone left right display audio far; do
  address=$(address_of $name)
  check "$name is there with its class" "$(cat $pci/devices/$address/class)" "0x$(class_of $name)"
  check "$name's NUMA node" "$(cat $pci/devices/$address/numa_node)" "$(numa_of $name)"
done
alone=$(address_of alone) left=$(address_of left) right=$(address_of right)
display=$(address_of display) audio=$(address_of audio) far=$(address_of far)

check "alone has its group for itself" "$(ls /sys/kernel/iommu_groups/$(group_of $alone)/devices)" "$alone"
check "left and right share a group" "$(group_of $left)" "$(group_of $right)"
check "display and audio share a group" "$(group_of $display)" "$(group_of $audio)"

group=$(group_of $alone)
check "no group node before" "$(ls /dev/vfio)" "vfio"
to_vfio $alone
check "alone is bound" "$(driver_of $alone)" vfio-pci
check "its group node is there" "$([ -c /dev/vfio/$group ] && echo yes)" yes
check "enable before" "$(enable_of $alone)" 0
check "ids through VFIO, enable meanwhile" \
  "$(powerless vfio_open $group $alone $(ids_of alone) cat $pci/devices/$alone/enable 2>&1)" 1
check "enable after" "$(enable_of $alone)" 0

powerless vfio_open $((group + 1)) $alone "$(ids_of alone)" true
check "a wrong group number fails" "$?" 1
powerless vfio_open $group $alone ffff:ffff true
check "other ids than the machine's fail" "$?" 1

group=$(group_of $left)
to_vfio $left
powerless vfio_open $group $left "$(ids_of left)" true
check "a group with a member on a host driver is not viable" "$?" 1
to_vfio $right
check "left's ids" "$(powerless vfio_open $group $left $(ids_of left) echo opened)" opened
check "right's ids" "$(powerless vfio_open $group $right $(ids_of right) echo opened)" opened

group=$(group_of $display)
to_vfio $display
to_vfio $audio
check "display's ids" "$(powerless vfio_open $group $display $(ids_of display) echo opened)" opened
check "audio's ids" "$(powerless vfio_open $group $audio $(ids_of audio) echo opened)" opened

to_vfio $far
check "far's ids" "$(powerless vfio_open $(group_of $far) $far $(ids_of far) echo opened)" opened
finish
