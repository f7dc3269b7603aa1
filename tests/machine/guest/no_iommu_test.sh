# VFIO's no-IOMMU mode on a real kernel without an IOMMU: handed over by `backend: noiommu` and by nothing else. A mediated device there,
# whose group has the same name, is isolated as ever.
. /test/mediated.sh

alone=$(address_of alone) left=$(address_of left) unsafe=vfiogate.dev/unsafe
check "a card has no group" "$([ -e $pci/devices/$alone/iommu_group ] && echo one)" ""
echo Y >/sys/module/vfio/parameters/enable_unsafe_noiommu_mode
to_vfio $alone
to_vfio $left
group=$(group_of $alone)
check "its group" "$(cat /sys/kernel/iommu_groups/$group/name) $(stat -c %F /dev/vfio/noiommu-$group)" "vfio-noiommu character special file"
mediated=${uuid}1
make $serial/mtty-1 $mediated

start_node <<CONFIG || finish
resources:
  - {name: $unsafe, select: {vendor: "8086", device: "10d3"}, backend: noiommu, env: [sriov]}
  - {name: vfiogate.dev/safe, select: {vendor: "8086", device: "100e"}}
  - {name: vfiogate.dev/serial, select: {mdev: mtty-1}}
CONFIG
check "it is offered by the word for it" "$(sees $unsafe $alone Healthy)" yes
check "and without it is not" "$(sees vfiogate.dev/safe $left Unhealthy)" yes
plugind explain $left --timeout 20000 >/tmp/said 2>&1
check "for the reason" "$(said 'VFIO no-IOMMU mode isolates nothing')" yes
check "plugind warns" "$(grep -c 'whoever has such a device reads and writes all memory' /tmp/plugind)" 1
admit vm-1 $unsafe
check "a pod gets" "$granted" "$unsafe $alone, /dev/vfio/vfio, /dev/vfio/noiommu-$group, PCIDEVICE_VFIOGATE_DEV_UNSAFE=$alone"
powerless vfio_open noiommu-"$group" $alone "$(ids_of alone)" true >/tmp/said 2>&1
check "the kernel opens it for nobody without CAP_SYS_RAWIO" "$? $(said "/dev/vfio/noiommu-$group: EPERM")" "1 yes"
vfio_open noiommu-"$group" $alone "$(ids_of alone)" cat $pci/devices/$alone/enable >/tmp/said 2>&1
check "and with it" "$? $(cat /tmp/said)" "0 1"

group=$(group_in $mediated)
admit vm-2 vfiogate.dev/serial
check "a mediated device is none without an IOMMU" "$granted" "vfiogate.dev/serial $mediated, /dev/vfio/vfio, /dev/vfio/$group, MDEV_PCI_RESOURCE_VFIOGATE_DEV_SERIAL=$mediated"
hold_open "$group" $mediated $ids
check "and opened as such" "$held" open
let_go
finish_node
