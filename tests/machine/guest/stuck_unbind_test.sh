# The kernel keeps an unbind for as long as somebody has the device: somebody else's, which privd
# finds, and a command's own, where the device is opened between its reread and its write.
. /test/binding.sh

alone=$(address_of alone) left=$(address_of left)
group=$(group_of $alone)

others_go_on() { # WHEN
  timeout 20 privd list >/tmp/list 2>&1
  check "$1: list ends with" $? 0
  check "$1: it says" "$(grep " $alone " /tmp/list | grep -o 'being-unbound' | head -n 1)" being-unbound
  timeout 20 privd holds --state-dir $state --audit-log $log >/tmp/holds 2>&1
  check "$1: holds says" "$(grep -c 'Nothing is excluded' /tmp/holds)" 1
  privd_does bind $left
  check "$1: another group is bound" $ended 0
  privd_does unbind $left
  check "$1: and given back" $ended 0
}

# Nobody sees from outside whether a write hangs in the kernel, but for the device's driver.
until_without_driver() {
  tries=0
  until [ "$(driver_of $alone)" = none ] || [ $tries = 100 ]; do
    usleep 100000
    tries=$((tries + 1))
  done
  check "the unbind hangs: driver, enable" "$(driver_of $alone) $(enable_of $alone)" "none 1"
}

# Somebody else's unbind.
privd_does bind $alone
check "bind ends with" $ended 0
hold_open $group $alone "$(ids_of alone)"
check "a virtual machine has it" "$held" open
sh -c "echo $alone >$pci/drivers/vfio-pci/unbind" &
writer=$!
until_without_driver
privd_does unbind $alone
check "an unbind meanwhile, by itself, ends with" $ended 1
check "because" "$(said 'member: it is being unbound while in use')" yes
start_daemon
privd_does unbind $alone
check "an unbind meanwhile, beside a daemon, ends with" $ended 1
check "because, beside a daemon" "$(said 'member: it is being unbound while in use')" yes
others_go_on "somebody's unbind hangs"
let_go
wait $writer
privd_does unbind $alone
check "what was left half done is finished" "$ended $(driver_of $alone)" "0 e1000e"

# A command's own. Its fork server is stopped until the device is open: so the reread came before. The
# command waits a second for the device's lock: long enough to stop that server.
# The group's node goes by another name, so that the command cannot hold it itself.
privd_does bind $alone
check "bind ends with" $ended 0
mv /dev/vfio/$group /dev/vfio/aside
privd_does unbind $alone
check "without the group's node an unbind ends with" $ended 1
check "because it is" "$(said 'unguarded (not known): ')" yes
mkfifo /tmp/locked /tmp/unlock
flock $state/devices/$alone sh -c 'echo locked >/tmp/locked; read -r go </tmp/unlock' &
locker=$!
read -r locked </tmp/locked
check "the device is" "$locked" locked
records=$(wc -l <$log)
{
  privd_does unbind --override unguarded $alone
  echo $ended >/tmp/ended
} &
unbind=$!
forks=
until [ -n "$forks" ]; do
  for one in $(pidof privd); do
    parent=$(awk '{print $4}' /proc/$one/stat)
    case " $(pidof privd) " in *" $parent "*) forks=$one ;; esac
  done
done
kill -STOP $forks
echo go >/tmp/unlock
wait $locker
until [ "$(wc -l <$log)" -gt "$records" ]; do usleep 50000; done
hold_open aside $alone "$(ids_of alone)"
check "a virtual machine was faster" "$held" open
kill -CONT $forks
until_without_driver
began=$(cut -d. -f1 /proc/uptime)
wait $unbind
took=$(($(cut -d. -f1 /proc/uptime) - began))
say "the command waited $took s more"
check "the unbind ends with" "$(cat /tmp/ended)" 3
check "because of the kernel" "$(said 'stuck: the kernel has not come back from a write')" yes
check "within the patience for a write" $((took <= 8)) 1
check "the answer names the device" "$(said "$alone")" yes
privd_does unbind $alone
check "another unbind ends with" $ended 1
check "because of the first" "$(said "a write of one has not come back")" yes
others_go_on "a command's own unbind hangs"
let_go
privd_does unbind $alone # waits for the lock, which ends with the write
check "what was left half done is finished" "$ended $(driver_of $alone)" "0 e1000e"
rm /dev/vfio/aside
privd_does bind $alone
check "it can be bound and opened again" \
  "$ended $(powerless vfio_open $group $alone "$(ids_of alone)" echo opened)" "0 opened"
stop_daemon
check "the daemon ends with" $? 0
privd audit verify $log >/tmp/verified
check "audit verify" $? 0
finish
