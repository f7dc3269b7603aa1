# What a real kernel shows of devices in use, and that privd leaves those alone: disks, network
# interfaces, a function with virtual ones. And that privd makes virtual ones at its start, on request.
. /test/binding.sh
modprobe nvme
modprobe crc32c_generic
modprobe ext4

disk=$(address_of disk) storage=$(address_of storage) alone=$(address_of alone)

# nvme takes its devices in the background, under a number of its own each time.
find_disk() { # $name is its node's afterwards
  tries=0
  until name=$(ls -d $pci/devices/$disk/nvme/nvme*/nvme*n1 2>/dev/null) || [ $tries = 100 ]; do
    usleep 100000
    tries=$((tries + 1))
  done
  name=$(basename "$name")
}
find_disk
check "the disk's node is there" "$([ -b /dev/$name ] && echo yes)" yes
nic=$(ls $pci/devices/$alone/net)

refused() { # ADDRESS DRIVER WHAT WHY
  privd_does bind $1
  check "$3: ends with" $ended 1
  check "$3: because" "$(said "$4")" yes
  check "$3: its driver" "$(driver_of $1)" $2
}
bound() { # ADDRESS DRIVER WHAT WORD...
  address=$1 driver=$2 what=$3
  shift 3
  privd_does bind "$@" $address
  check "$what: bind ends with" "$ended $(driver_of $address)" "0 vfio-pci"
  privd_does unbind $address
  check "$what: given back" "$ended $(driver_of $address)" "0 $driver"
  [ $ended = 0 ] || sed 's/^/MACHINE said: /' /tmp/said
}

guards() { # HOW
  ip link set $nic up
  refused $alone e1000e "$1: a card that is up" "interface $nic is up"
  ip link set $nic down
  ip address add 192.0.2.1/24 dev $nic
  bound $alone e1000e "$1: a card that is down"

  mke2fs /dev/$name >/dev/null 2>&1
  mount -t ext2 /dev/$name /tmp/mounted
  refused $disk nvme "$1: a mounted disk" "block: $name carries a mounted ext4"
  umount /tmp/mounted
  mkswap /dev/$name >/dev/null
  swapon /dev/$name
  refused $disk nvme "$1: swap" "block: $name is swap"
  swapoff /dev/$name
  bound $disk nvme "$1: a disk that nobody uses"
  find_disk

  refused $storage nvme "$1: a controller without a disk" "storage (not known): "
  bound $storage nvme "$1: the same, overridden" --override storage
}

mkdir /tmp/mounted
guards "by itself"

# The machine runs from memory; these tables say of the disk what another machine's would.
echo "1 1 $(cat /sys/class/block/$name/dev) / / rw - ext4 /dev/root rw" >/tmp/mountinfo
privd_does bind --host-mountinfo /tmp/mountinfo --override storage $disk
check "the host's own disk: ends with" "$ended $(driver_of $disk)" "1 nvme"
check "the host's own disk: because" "$(said "root-disk: the host runs from $name: $name is mounted at /")" yes

start_daemon
guards "beside a daemon"

echo 2 >$pci/devices/$storage/sriov_numvfs
privd_does bind --override storage $storage
check "a function with virtual ones: ends with" "$ended $(driver_of $storage)" "1 nvme"
check "a function with virtual ones: because" "$(said 'sriov: it has 2 virtual functions')" yes
echo 0 >$pci/devices/$storage/sriov_numvfs
stop_daemon
check "the daemon ends with" $? 0

# Without a driver of their own: nvme would have to give each of them queues.
echo 0 >$pci/devices/$storage/sriov_drivers_autoprobe
first=${storage%.0}.1 second=${storage%.0}.2
awaited() { # COMMAND...: until it succeeds, or 10 s have passed
  tries=0
  until "$@" || [ $tries = 100 ]; do
    usleep 100000
    tries=$((tries + 1))
  done
}
told() { grep -qF "$1" /tmp/daemon; }
has() { [ "$(find $pci/devices/$storage/ -maxdepth 1 -name 'virtfn*' | wc -l)" = $1 ]; }
both_bound() { [ "$(driver_of $first) $(driver_of $second)" = "vfio-pci vfio-pci" ]; }
made() { # COUNT WHAT
  awaited has $1
  check "$2" "$(has $1 && echo yes) $(driver_of $storage)" "yes nvme"
}

start_daemon --vfs $storage=5
awaited told "it can have 4 virtual functions, and 5 are wanted"
check "more than it can have: told" "$(told "it can have 4 virtual functions, and 5" && echo yes)" yes
made 0 "more than it can have: none is made"
stop_daemon
start_daemon --vfs $storage=2 --allow sriov=vf --declare sriov=vf
made 2 "virtual functions made at the start"
awaited both_bound
check "they are bound by a declaration" "$(driver_of $first) $(driver_of $second)" "vfio-pci vfio-pci"
check "it is in the audit log" "$(grep -c '"operation":"create-vfs"' $log)" 1
intent=$(sed -n '/"operation":"create-vfs"/s/^{"seq":\([0-9]*\),.*/\1/p' $log)
check "and it was done" "$(grep -c "\"intent\":$intent,\"outcome\":\"done\"" $log)" 1
stop_daemon
start_daemon --vfs $storage=3
awaited told "it has 2 virtual functions, and 3 are wanted: privd ends none"
made 2 "another number is not changed"
echo 0 >$pci/devices/$storage/sriov_numvfs
made 3 "until an operator has ended those"
stop_daemon
check "the daemon that makes them ends with" $? 0
privd audit verify $log >/tmp/verified
check "audit verify" $? 0
echo 0 >$pci/devices/$storage/sriov_numvfs
finish
