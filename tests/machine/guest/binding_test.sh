# privd binds and unbinds a group of two cards behind a bridge on a real kernel, by itself and
# through its daemon; what the audit log says is what the kernel heard.
. /test/binding.sh

left=$(address_of left) right=$(address_of right)
group=$(group_of $left)

drivers() { echo "$(driver_of $left) $(driver_of $right)"; }
overrides() { echo "$(cat $pci/devices/$left/driver_override) $(cat $pci/devices/$right/driver_override)"; }
node() { if [ -c /dev/vfio/$group ]; then echo there; else echo gone; fi; }

# All binds and unbinds: as the kernel told them, and as privd wrote down beforehand.
mkfifo /tmp/ask
sysfs_script </tmp/ask >/tmp/answers &
exec 9>/tmp/ask
kernel_heard() {
  echo events >&9
  until grep -q '^events' /tmp/answers; do usleep 50000; done
  sed 's/^events -> //' /tmp/answers | tr -s ', ' '\n' | awk '/^(un)?bind$/ {what = $0; getline; print what, $0}'
}
# What would take a change back is in its intent, too, and was not written.
audit_told() {
  sed 's/"undo":\[[^]]*\]//' $log | grep -o '"address":"[^"]*","attribute":"[^"]*/\(un\)\?bind"' |
    sed 's|"address":"\(.*\)","attribute":".*/\(.*\)"|\2 \1|'
}

cycle() { # HOW
  privd_does bind --dry-run $left
  check "$1: a dry run ends with" $ended 0
  check "$1: it says so" "$(said 'Dry run: nothing was written; it would take 6 writes')" yes
  check "$1: and writes nothing" "$(drivers)" "e1000 e1000"
  privd_does bind $left
  check "$1: bind ends with" $ended 0
  check "$1: the whole group is bound" "$(drivers)" "vfio-pci vfio-pci"
  check "$1: bound before" "$(privd_does bind $left; said 'Already so')" yes
  for name in left right; do
    check "$1: $name is opened through VFIO" \
      "$(powerless vfio_open $group "$(address_of $name)" "$(ids_of $name)" echo opened)" opened
  done

  hold_open $group $right "$(ids_of right)"
  check "$1: a virtual machine has right" "$held" open
  privd_does unbind $left
  check "$1: an unbind meanwhile ends with" $ended 1
  check "$1: refused" "$(said 'refused, nothing was written')" yes
  check "$1: because of" "$(said 'in-use: a device of its group is open')" yes
  check "$1: it names who" "$(said vfio_open)" yes
  check "$1: nothing changed" "$(drivers) $(overrides)" "vfio-pci vfio-pci vfio-pci vfio-pci"
  let_go

  privd_does unbind $right
  check "$1: an unbind afterwards ends with" $ended 0
  check "$1: the old drivers are back" "$(drivers)" "e1000 e1000"
  check "$1: no override is left" "$(overrides)" "(null) (null)"
  check "$1: the group's node is" "$(node)" gone
}

powerless privd doctor -o json >/tmp/doctor
check "doctor's verdict" "$(grep -A 1 '"code": "iommu",' /tmp/doctor | grep -c '"level": "ok"')" 1
check "the group's node before" "$(node)" gone
cycle "by itself"
start_daemon
cycle "beside a daemon"
stop_daemon
check "the daemon ends with" $? 0
check "confined by Landlock: hardware and gate" "$(grep -c 'event=landlock abi=[1-9][0-9]*$' /tmp/daemon)" 2
check "the daemon changed nothing" "$(grep -c 'event=driver_change' /tmp/daemon)" 0

# Declared: bound from the start on, within what is allowed.
alone=$(address_of alone)
start_daemon --declare "$(ids_of alone)" --declare "$(ids_of left)" --allow "$(ids_of alone)"
tries=0
until [ "$(driver_of $alone)" = vfio-pci ] || [ $tries = 100 ]; do
  usleep 100000
  tries=$((tries + 1))
done
check "what is declared and allowed is bound" "$(driver_of $alone)" vfio-pci
stop_daemon
check "what is not allowed is not" "$(drivers)" "e1000 e1000"
privd_does unbind $alone
check "it is given back without the daemon" "$ended $(driver_of $alone)" "0 e1000e"

kernel_heard >/tmp/heard
audit_told >/tmp/told
check "binds and unbinds in the audit log" "$(wc -l </tmp/told)" 20
check "they are those of the kernel" "$(diff /tmp/told /tmp/heard)" ""
privd audit verify $log >/tmp/verified
check "audit verify" $? 0
sed -i '1s/e1000/e100e/' $log
privd audit verify $log >/tmp/verified
check "audit verify of an edited log" $? 1
finish
