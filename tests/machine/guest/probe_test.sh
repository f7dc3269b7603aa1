# Mediated devices where the binder may open their groups to see who has them: let go while open, by either node, they linger until the
# close, and an idle one is free at once (ledger.md, scenario 28; rows 25, 26 and 30).
. /test/mediated.sh

one=${uuid}1 two=${uuid}2 own=vfiogate.dev/own
make $serial/mtty-1 $one
make $serial/mtty-2 $two
group=$(group_in $one) node=$(own_node $two)
start_node --plugind-rights watch,kubelet,probe <<CONFIG || finish
resources:
  - {name: vfiogate.dev/serial, select: {mdev: mtty-1}}
  - {name: $own, select: {mdev: mtty-2}, backend: iommufd}
CONFIG
check "both are offered" "$(sees vfiogate.dev/serial $one Healthy) $(sees $own $two Healthy)" "yes yes"

# Deleted by force, open by its group's node.
admit vm-1 vfiogate.dev/serial
check "a pod gets the group's node" "$ended $(said "/dev/vfio/$group")" "0 yes"
kubelet start vm-1 compute >/dev/null
hold_open "$group" $one $ids
check "its virtual machine has the device" "$held" open
privd show $one >/tmp/said 2>&1
check "privd show says who" "$(said vfio_open)" yes
kubelet delete vm-1 --force >/dev/null
# The next pod's request is refused (row 17), unless the kubelet's memory was read before (row 26), and the kubelet has nothing to offer.
lingers() { is_refused still-open vfiogate.dev/serial || journal_has released-open default/vm-1; }
check "after a force delete it lingers" "$(until_so lingers)" yes
check "and is not offered" "$(sees vfiogate.dev/serial $one Unhealthy)" yes
let_go
check "it is free after the close (row 30)" "$(tells closed $one)" yes
check "and offered again" "$(sees vfiogate.dev/serial $one Healthy)" yes

# Its pod ends, and it is open by the device's own node.
admit vm-2 $own
check "a pod gets the device's own node" "$ended $(said "/dev/vfio/devices/$node")" "0 yes"
kubelet start vm-2 compute >/dev/null
hold_open "devices/$node" $two $ids
check "its virtual machine has the device" "$held" open
kubelet delete vm-2 >/dev/null
check "it is let go while it is open (row 26)" "$(tells released-open default/vm-2)" yes
check "and not offered" "$(sees $own $two Unhealthy)" yes
let_go
check "it is free after the close (row 30)" "$(tells closed $two)" yes
check "and offered again" "$(sees $own $two Healthy)" yes

# Nobody has it.
admit vm-3 vfiogate.dev/serial
check "the next pod gets the first one" "$ended $(said $one)" "0 yes"
kubelet start vm-3 compute >/dev/null
kubelet delete vm-3 >/dev/null
check "it is free, which is known (row 25)" "$(tells released default/vm-3)" yes
check "no minute had to pass without an answer (row 27)" "$(grep -c '"event":"unconfirmed"' $journal)" 0
finish_node
