# VFIO's device nodes and /dev/iommu on a real kernel: shown, allocated, opened; held open while the pod is gone, which `enable` tells, as
# it does of a group's node (ledger.md, rows 17, 26 and 30).
. /test/node.sh

alone=$(address_of alone) left=$(address_of left) right=$(address_of right) far=$(address_of far)
own=vfiogate.dev/own variable=PCI_RESOURCE_VFIOGATE_DEV
for card in $alone $left $right $far; do to_vfio $card; done
own_node() { basename "$pci/devices/$1"/vfio-dev/*; }

check "there is /dev/iommu" "$(stat -c %F /dev/iommu)" "character special file"
node=$(own_node $alone)
check "there is a node of the card's own" "$(stat -c %F /dev/vfio/devices/$node)" "character special file"
start_node <<CONFIG || finish
resources:
  - {name: $own, select: {vendor: "8086", device: "10d3"}, backend: iommufd}
  - {name: vfiogate.dev/preferred, select: {vendor: "8086", device: "100e"}, prefer: iommufd}
  - {name: vfiogate.dev/both, select: {vendor: "1234", device: "11e8"}, backend: both}
CONFIG
check "it is offered" "$(sees $own $alone Healthy)" yes
admit vm-1 $own
check "a pod gets" "$granted" "$own $alone, /dev/iommu, /dev/vfio/devices/$node, ${variable}_OWN=$alone"
kubelet start vm-1 compute >/tmp/said 2>&1
check "its container starts" "$(said 'compute started')" yes
hold_open "devices/$node" $alone "$(ids_of alone)"
check "its virtual machine has the device" "$held $(enable_of $alone)" "open 1"

# The pod ends, and something still has the card.
kubelet delete vm-1 >/dev/null
check "it is let go while it is open (row 26)" "$(tells released-open default/vm-1)" yes
check "and not offered" "$(sees $own $alone Unhealthy)" yes
let_go
check "it is free after the close (row 30)" "$(tells closed $alone)" yes
check "and offered again" "$(sees $own $alone Healthy)" yes

# Deleted by force, and offered to the next pod at once.
admit vm-2 $own
check "the next pod gets it" "$ended" 0
kubelet start vm-2 compute >/dev/null
hold_open "devices/$node" $alone "$(ids_of alone)"
kubelet delete vm-2 --force >/dev/null
# The next pod's request is refused (row 17), unless the kubelet's memory was read before (row 26), and the kubelet has nothing to offer.
lingers() { is_refused still-open $own || journal_has released-open default/vm-2; }
check "after a force delete it lingers" "$(until_so lingers)" yes
check "and got nothing" "$(grep -c '"event":"allocated.*"'$own'"' $journal)" 2
let_go
check "it is free after the close" "$(tells closed default/vm-2)" yes
check "and offered again" "$(sees $own $alone Healthy)" yes
admit vm-3 $own
check "the next pod gets it then" "$ended" 0

# A group of two cards by the one's own node; and both kinds of nodes.
node=$(own_node $left)
admit vm-4 vfiogate.dev/preferred
check "what is preferred" "$granted" "vfiogate.dev/preferred $left, /dev/iommu, /dev/vfio/devices/$node, ${variable}_PREFERRED=$left"
hold_open "devices/$node" $left "$(ids_of left)"
check "is opened" "$held" open
let_go
node=$(own_node $far) group=$(group_of $far)
admit vm-5 vfiogate.dev/both
check "both" "$granted" "vfiogate.dev/both $far, /dev/vfio/vfio, /dev/vfio/$group, /dev/iommu, /dev/vfio/devices/$node, ${variable}_BOTH=$far"
for way in "$group" "devices/$node"; do
  hold_open "$way" $far "$(ids_of far)"
  check "/dev/vfio/$way is opened" "$held" open
  let_go
done
finish_node
