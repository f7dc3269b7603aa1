# VFIO's device nodes and /dev/iommu on a real kernel: shown, allocated, opened; held open while the pod is gone, which `enable` tells, as
# it does of a group's node (ledger.md, rows 17, 26 and 30).
. /test/node.sh

alone=$(address_of alone) left=$(address_of left) right=$(address_of right) far=$(address_of far)
own=vfiogate.dev/own variable=PCI_RESOURCE_VFIOGATE_DEV
socket=/run/vfiogate/iommufd/iommufd.sock
for card in $alone $left $right $far; do to_vfio $card; done
own_node() { basename "$pci/devices/$1"/vfio-dev/*; }

check "there is /dev/iommu" "$(stat -c %F /dev/iommu)" "character special file"
node=$(own_node $alone)
check "there is a node of the card's own" "$(stat -c %F /dev/vfio/devices/$node)" "character special file"
start_node <<CONFIG || finish
resources:
  - {name: $own, select: {vendor: "8086", device: "10d3"}, backend: iommufd}
  - {name: vfiogate.dev/preferred, select: {vendor: "8086", device: "100e"}, prefer: iommufd, iommufdSocket: /run/vfiogate/iommufd/iommufd.sock}
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
check "what is preferred" "$granted" "vfiogate.dev/preferred $left, /dev/iommu, /dev/vfio/devices/$node, $socket at /var/run/kubevirt/iommufd.sock, ${variable}_PREFERRED=$left"
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

# The launcher's socket: a context of its own for each who connects, which binds a device.
privd-iommufd --socket $socket >/tmp/iommufd 2>&1 &
iommufd=$!
serves() { grep -q 'event=started role=iommufd' /tmp/iommufd; }
check "privd-iommufd serves" "$(until_so serves)" yes
check "and found the device" "$(grep -c iommufd_absent /tmp/iommufd)" 0
node=$(own_node $right)
check "a launcher's context counts by process and binds a device" "$(launcher_client $socket "devices/$node" 2>&1)" "by process, ioas, bound"
check "as nobody without a capability, too, who alone could not say how it counts" "$(without_capabilities launcher_client $socket 2>&1)" "by process, ioas"
check "which is told" "$(grep -c 'event=iommufd_sent' /tmp/iommufd)" 2
check "its one capability is not in force" "$(awk '/^Cap(Prm|Eff):/ {printf "%s ", $2}' /proc/$iommufd/status)" "0000000001000000 0000000000000000 "
launcher_client --unread 400 $socket >/tmp/unread 2>&1 &
unread=$!
is_full() { grep -q 'step=send error="too many descriptors are under way"' /tmp/iommufd; }
check "descriptors that are left unread come to no more than its limit" "$(until_so is_full)" yes
kill $unread
wait $unread || true
again() { [ "$(launcher_client $socket 2>/dev/null)" = "by process, ioas" ]; }
check "and the next launcher is served when they are gone" "$(until_so again)" yes
kill $iommufd
ended=0
wait $iommufd || ended=$?
check "it ends as it is told" $ended 0
[ $failures = 0 ] || sed 's|^|MACHINE /tmp/iommufd: |' /tmp/iommufd
finish_node
