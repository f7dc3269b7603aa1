# What a real kernel shows of devices in use, and that privd leaves those alone: disks, network
# interfaces, a function with virtual ones.
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
finish
