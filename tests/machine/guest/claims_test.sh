# Claims on a real kernel: prepared, the CDI spec's nodes opened, unprepared while open; bound for a
# claim and given back. privd and plugind as they ship, the stand-in kubelet, netd played.
. /test/binding.sh

left=$(address_of left) right=$(address_of right) alone=$(address_of alone) far=$(address_of far)
driver=vfio.vfiogate.dev plugind_socket=/run/plugind/plugind.sock pool=/tmp/pool/now

show_logs() {
  for log_file in /tmp/daemon /tmp/plugind /tmp/netd; do sed "s|^|MACHINE $log_file: |" $log_file; done
}

start_plugind() {
  plugind --listen $plugind_socket --config /tmp/plugind.yaml >>/tmp/plugind 2>&1 &
  plugind=$!
}
kill_plugind() {
  kill -9 $plugind
  wait $plugind
}
name_of() { echo "$1" | tr ':.' '--'; }
uid_of() { echo "0000000$1-0000-4000-8000-000000000000"; }
has_claim() { # LETTER ADDRESS WORD...: the scheduler gave it that device
  letter=$1 device=$(name_of "$2")
  shift 2
  echo "default/$letter $(uid_of "$letter") $device $*" >>/tmp/claims
}
kubelet_does() { # prepare|unprepare LETTER: the answer is in /tmp/said, how it ended in $ended
  ended=0 # 1: an error; 2: nobody answered
  claim-tool "$1" /tmp/kubelet/plugins/$driver/dra.sock "default/$2=$(uid_of "$2")" >/tmp/said 2>&1 || ended=$?
}
answered() { kubelet_does "$@" && [ $ended != 2 ]; }
pool_says() { until_so grep -qx "$(name_of "$1") $2" $pool; } # ADDRESS TAINT
spec_of() { echo "/tmp/cdi/vfiogate-claim-$(uid_of "$1").json"; }
has_spec() { if [ -e "$(spec_of "$1")" ]; then echo there; else echo gone; fi; }
nodes_of() { grep -o '"path": "[^"]*"' "$(spec_of "$1")" | cut -d '"' -f 4 | tr '\n' ' '; }
is_bound() { [ "$(driver_of "$1")" = "$2" ]; }

mkdir -p /run/plugind /tmp/pool /tmp/kubelet/plugins /tmp/kubelet/plugins_registry
chown 64532 /run/plugind
chown 64533 /tmp/pool
: >/tmp/claims
has_claim a $left
has_claim b $right
has_claim c $alone bind=never
has_claim d $alone
has_claim e $far
cp /test/plugind.yaml /tmp/plugind.yaml

kubelet-sim run --dir /tmp/kubelet >/tmp/kubelet-sim 2>&1 &
start_plugind
start_daemon --plugind $plugind_socket --plugind-rights watch,kubelet,cdi,bind --dra-driver $driver \
  --cdi-dir /tmp/cdi --rescan 5 --allow "$(ids_of alone)" || finish
played-netd --plugind $plugind_socket --node node-1 --claims /tmp/claims --pool $pool >/tmp/netd 2>&1 &

is_registered() { kubelet-sim ctl /tmp/kubelet get plugins | grep -qx "watched: DRAPlugin $driver v1.DRAPlugin"; }
check "the kubelet knows the driver" "$(until_so is_registered)" yes
check "the pool has a card of the host's" "$(pool_says $left host-driver)" yes
check "and one that can be bound" "$(pool_says $alone -)" yes
kubelet_does prepare a
check "a claim for the host's card ends with" $ended 1
check "because of" "$(said host-driver)" yes
privd_does bind $left
check "an operator binds its group" $ended 0
check "the pool has it then" "$(pool_says $left -) $(pool_says $right -)" "yes yes"

# Prepared, opened, unprepared while open.
kubelet_does prepare a
check "a claim is prepared" $ended 0
check "by name" "$(said "device node-1 $(name_of $left) $driver/claim=$(uid_of a)-$(name_of $left)")" yes
group=$(group_of $left)
check "the spec's nodes" "$(nodes_of a)" "/dev/vfio/vfio /dev/vfio/$group "
for node in $(nodes_of a); do check "$node" "$(stat -c %F $node)" "character special file"; done
opened=$(nodes_of a | grep -o '[0-9]*')
hold_open "$opened" $left "$(ids_of left)"
check "a virtual machine has the device" "$held" open
kubelet_does prepare b
check "a claim for the other card of the group ends with" $ended 1
check "because the other one has it" "$(said group-allocated)" yes
check "no spec of it is left" "$(has_spec b)" gone
kubelet_does unprepare a
check "unprepare while it is open ends with" $ended 1
check "because it is open" "$(said still-open)" yes
check "its spec" "$(has_spec a)" there

# A plugind that starts anew knows the claim from its spec alone.
kill_plugind
start_plugind
refused_while_open() { kubelet_does unprepare a && [ "$ended $(said still-open)" = "1 yes" ]; }
check "a new plugind refuses unprepare, too" "$(until_so refused_while_open)" yes
kubelet_does prepare a
check "prepared again, which changes nothing" "$ended $(nodes_of a)" "0 /dev/vfio/vfio /dev/vfio/$group "
let_go
kubelet_does unprepare a
check "unprepare after the close ends with" $ended 0
check "its spec is" "$(has_spec a)" gone
kubelet_does unprepare a
check "and once more" $ended 0
kubelet_does prepare b
check "the other card may be had now" $ended 0
kubelet_does unprepare b
check "and given back" $ended 0

# Opened by somebody who has no claim.
hold_open $group $right "$(ids_of right)"
check "a stranger has the device" "$held" open
check "its group leaves the scheduler's sight" "$(pool_says $right foreign) $(pool_says $left foreign)" "yes yes"
kubelet_does prepare a
check "a claim meanwhile ends with" $ended 1
check "because somebody has it" "$(said foreign)" yes
let_go
check "its group is back after the close" "$(pool_says $left -)" yes

# Bound for a claim, and given back.
nic=$(ls $pci/devices/$alone/net)
kubelet_does prepare c
check "a claim that allows no bind ends with" $ended 1
check "because it would take one" "$(said host-driver)" yes
check "it stays the host's" "$(driver_of $alone)" e1000e
ip link set "$nic" up
check "a card that the host uses leaves the scheduler's sight" "$(pool_says $alone guard-network)" yes
kubelet_does prepare d
check "a claim that allows a bind ends with" "$ended $(said guard-network)" "1 yes"
check "the host keeps it" "$(driver_of $alone)" e1000e
ip link set "$nic" down
check "until the host does not use it any more" "$(pool_says $alone -)" yes
kubelet_does prepare d
check "it is prepared then" $ended 0
check "the card is bound" "$(driver_of $alone)" vfio-pci
hold_open "$(nodes_of d | grep -o '[0-9]*')" $alone "$(ids_of alone)"
check "a virtual machine has it, too" "$held" open
kubelet_does unprepare d
check "unprepare while it is open" "$ended $(said still-open) $(driver_of $alone)" "1 yes vfio-pci"
let_go
kubelet_does unprepare d
check "unprepare afterwards" "$ended $(has_spec d)" "0 gone"
check "it goes back to the host" "$(until_so is_bound $alone e1000e)" yes
check "and into the pool" "$(pool_says $alone -)" yes
kubelet_does prepare e
check "what privd may not bind ends with" $ended 1
check "because no --allow matches it" "$(said guard-policy)" yes
check "which the pool says, too" "$(pool_says $far guard-policy)" yes

# The same card through the device plugin.
kill_plugind
sed 's/{vendor: "8086", device: "10d3"}/&\n    serve: both/; /^    serve: dra$/d' /test/plugind.yaml >/tmp/plugind.yaml
start_plugind
check "a plugind with another configuration answers" "$(until_so answered unprepare d)" yes
cat >/tmp/pod.yaml <<POD
apiVersion: v1
kind: Pod
metadata: {name: vm-1}
spec: {containers: [{name: compute, resources: {limits: {vfiogate.dev/alone: 1}}}]}
POD
check "a pod has it by the device plugin" "$(until_so kubelet-sim ctl /tmp/kubelet admit /tmp/pod.yaml)" yes
check "the pool says so" "$(pool_says $alone allocated)" yes
kubelet_does prepare d
check "a claim is refused" $ended 1
check "and told who has it" "$(said 'device plugin')" yes
check "what plugind reported" "$(grep -c '^reported default/[abd] .* Ready$' /tmp/netd)" 4
[ $failures = 0 ] || show_logs
finish
