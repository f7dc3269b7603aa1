# Mediated devices made and removed while everything runs, allocated, opened by the group's node and by the device's own, held open while
# their pod is gone and nobody may probe them (ledger.md, scenario 28, MdevForceDelete).
. /test/mediated.sh

one=${uuid}1 two=${uuid}2 three=${uuid}3 four=${uuid}4
check "mtty has types" "$(cd $serial && echo *)" "mtty-1 mtty-2"
start_node <<CONFIG || finish
resources:
  - {name: vfiogate.dev/serial, select: {mdev: mtty-1}}
  - {select: {mdev: "Dual port serial"}, backend: iommufd}
  - {name: vfiogate.dev/display, select: {mdev: "mdpy-*"}, prefer: iommufd}
CONFIG

# Made while everything runs; what the kernel shows of it.
make $serial/mtty-1 $one
check "one that is made is offered" "$(sees vfiogate.dev/serial $one Healthy)" yes
group=$(group_in $one)
check "its group's name" "$(cat /sys/kernel/iommu_groups/$group/name)" vfio-noiommu
check "its group's node" "$(stat -c %F /dev/vfio/$group)" "character special file"
check "privd list" "$(listed mtty-1 $one)" "$group $one mediated device Single port serial mtty - blind passable"
make $serial/mtty-2 $three
check "another type is a resource of its name" "$(sees vfiogate.dev/Dual_port_serial $three Healthy)" yes
make $display/mdpy-vga $four
check "one of another driver" "$(sees vfiogate.dev/display $four Healthy)" yes
plugind status --timeout 20000 >/tmp/said 2>&1
check "plugind status names it" "$(said $one)" yes

# Scenario 28, without the right to probe.
admit vm-1 vfiogate.dev/serial
check "a pod gets" "$granted" "vfiogate.dev/serial $one, /dev/vfio/vfio, /dev/vfio/$group, MDEV_PCI_RESOURCE_VFIOGATE_DEV_SERIAL=$one"
kubelet start vm-1 compute >/tmp/said 2>&1
check "its container starts" "$(said 'compute started')" yes
hold_open "$group" $one $ids
check "its virtual machine has the device" "$held" open
powerless vfio_open "$group" $one $ids true >/tmp/said 2>&1
check "nobody else can open it" "$? $(said "/dev/vfio/$group: EBUSY")" "1 yes"
kubelet delete vm-1 --force >/dev/null
deleted=$(now)
# For the first 10 s after PreStart the pod counts as starting.
check "after a force delete each next pod is refused (row 18)" "$(until_so is_refused cannot-probe vfiogate.dev/serial)" yes
check "and got nothing" "$(grep -c '"event":"allocated.*"vfiogate.dev/serial"' $journal)" 1
check "it is free again without a confirmation (row 27)" "$(tells unconfirmed default/vm-1)" yes
took=$(($(now) - deleted))
say "that took $took s"
check "not before 60 s" "$([ $took -ge 60 ] && echo yes)" yes
check "it is offered again" "$(sees vfiogate.dev/serial $one Healthy)" yes
admit vm-3 vfiogate.dev/serial
check "the next pod gets it then" "$ended $(said "$one")" "0 yes"
powerless vfio_open "$group" $one $ids true >/tmp/said 2>&1
check "which the kernel refuses for as long as it is open" "$? $(said "/dev/vfio/$group: EBUSY")" "1 yes"
let_go
powerless vfio_open "$group" $one $ids true >/tmp/said 2>&1
check "and no longer" "$?" 0

# Removed while nobody has it; and by itself never taken for one with no IOMMU.
make $serial/mtty-1 $two
check "a second one" "$(sees vfiogate.dev/serial $two Healthy)" yes
remove $two
check "that is removed is not offered" "$(sees vfiogate.dev/serial $two Unhealthy)" yes
check "the other one is" "$(health vfiogate.dev/serial $one)" Healthy

# By its own node; removed while it is open.
node=$(own_node $three)
admit vm-4 vfiogate.dev/Dual_port_serial
check "a pod gets the device's own node" "$granted" "vfiogate.dev/Dual_port_serial $three, /dev/iommu, /dev/vfio/devices/$node, MDEV_PCI_RESOURCE_VFIOGATE_DEV_DUAL_PORT_SERIAL=$three"
kubelet start vm-4 compute >/tmp/said 2>&1
check "its container starts" "$(said 'compute started')" yes
hold_open "devices/$node" $three $ids
check "its virtual machine has the device" "$held" open
remove $three &
remover=$!
check "it is removed: the pod's device is gone" "$(sees vfiogate.dev/Dual_port_serial $three Unhealthy) $(tells gone $three)" "yes yes"
check "the kernel waits for the close" "$(kill -0 $remover && echo yes)" yes
check "its group has it still" "$(basename /sys/kernel/iommu_groups/*/devices/$three)" $three
check "privd answers meanwhile" "$(until_so listed mtty-1 $one)" yes
make $serial/mtty-2 $three 2>/dev/null
check "its UUID is taken until then" "$?" 1
let_go
wait $remover
check "the kernel removes it after the close" "$?" 0
make $serial/mtty-2 $three
check "made again it is the pod's" "$(sees vfiogate.dev/Dual_port_serial $three Healthy)" yes
remove $three
check "removed again" "$(sees vfiogate.dev/Dual_port_serial $three Unhealthy)" yes
make $serial/mtty-1 $three
check "made as another type it is there" "$(until_so listed mtty-1 $three)" yes
refuses_other() { kubelet start vm-4 compute 2>&1 | grep -q other-hardware; }
check "and not what the pod was given" "$(until_so refuses_other)" yes

# Another driver's.
node=$(own_node $four)
admit vm-5 vfiogate.dev/display
check "a pod gets what is preferred" "$granted" "vfiogate.dev/display $four, /dev/iommu, /dev/vfio/devices/$node, MDEV_PCI_RESOURCE_VFIOGATE_DEV_DISPLAY=$four"
hold_open "devices/$node" $four $display_ids
check "its virtual machine has the device" "$held" open
let_go
finish_node
