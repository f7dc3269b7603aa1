# shellcheck shell=sh disable=SC2034 # whoever sources this uses the names
# The virtual machine's hardware, once for qemu and once for what the guest has to find.
# Sourced by run_vm.sh.

# ARCHITECTURE, as Debian calls it: what differs.
machine_for() {
  machine_architecture=$1
  case $1 in
    amd64)
      machine_qemu=qemu-system-x86_64 machine_package=qemu-system-x86
      machine_kind="-M q35,kernel-irqchip=split -cpu max"
      machine_iommu="-device intel-iommu,intremap=on"
      # no_timer_check: on a busy host the emulated timer is late, which the kernel takes for a broken one.
      machine_words="console=ttyS0 intel_iommu=on no_timer_check"
      ;;
    arm64)
      machine_qemu=qemu-system-aarch64 machine_package=qemu-system-arm
      # ACPI tells of every root complex; the device tree, which there is without firmware, of the first alone.
      machine_firmware=/usr/share/qemu-efi-aarch64/QEMU_EFI.fd
      machine_kind="-M virt,iommu=smmuv3,gic-version=3 -cpu cortex-a57 -bios $machine_firmware"
      machine_words="console=ttyAMA0"
      ;;
    *) return 1 ;;
  esac
}
machine_firmware='' machine_iommu=''

machine_base="-accel tcg -m 512 -nodefaults -no-reboot -display none -serial stdio
  -object memory-backend-ram,id=m0,size=256M -object memory-backend-ram,id=m1,size=256M
  -numa node,nodeid=1,memdev=m1"

machine_modules="pci-stub nvme vfio-pci vfio_iommu_type1 e1000 e1000e"

# NUMBER: so many, all on the first NUMA node.
machine_processors() { echo "-smp $1 -numa node,nodeid=0,cpus=0-$(($1 - 1)),memdev=m0"; }

machine_devices() {
  # The IOMMU before all devices that it is to translate.
  echo "$machine_iommu"
  # Alone in its group, with a reset.
  echo -device pcie-root-port,bus=pcie.0,id=rp1,chassis=1,slot=1,addr=0x3
  echo -device e1000e,bus=rp1,mac=52:54:00:00:00:01
  # Two sharing the group of a bridge; for ARM64 as functions of one card, since Linux 6.1 gives the second card behind such a bridge no
  # group with an SMMUv3.
  echo -device pcie-root-port,bus=pcie.0,id=rp2,chassis=2,slot=2,addr=0x4
  if [ "$machine_architecture" = arm64 ]; then
    echo -device e1000,bus=rp2,addr=0x0.0x0,multifunction=on,mac=52:54:00:00:00:02
    echo -device e1000,bus=rp2,addr=0x0.0x1,mac=52:54:00:00:00:03
  else
    echo -device pcie-pci-bridge,id=br1,bus=rp2
    echo -device e1000,bus=br1,addr=1,mac=52:54:00:00:00:02
    echo -device e1000,bus=br1,addr=2,mac=52:54:00:00:00:03
  fi
  # A display with its audio function.
  echo -device pcie-root-port,bus=pcie.0,id=rp3,chassis=3,slot=3,addr=0x5
  echo -device bochs-display,bus=rp3,addr=0x0.0x0,multifunction=on
  echo -device intel-hda,bus=rp3,addr=0x0.0x1
  # On the other NUMA node, below a root complex of its own; no driver knows it.
  echo -device pxb-pcie,id=px1,bus_nr=0x40,numa_node=1,bus=pcie.0,addr=0x7
  echo -device pcie-root-port,id=rp4,chassis=4,slot=4,bus=px1
  echo -device edu,bus=rp4
  # With virtual functions.
  echo -device pcie-root-port,bus=pcie.0,id=rp5,chassis=5,slot=5,addr=0x8
  echo -device nvme-subsys,id=ss0
  echo -device nvme,serial=a1,subsys=ss0,bus=rp5,max_ioqpairs=10,msix_qsize=14,sriov_max_vfs=4,sriov_vq_flexible=8,sriov_vi_flexible=4
  # Empty, for hot-plug.
  echo -device pcie-root-port,bus=pcie.0,id=rp9,chassis=9,slot=9,addr=0x6
}

# FILE: a disk with that content, for the machine that is to have one.
machine_disk() {
  echo -device pcie-root-port,bus=pcie.0,id=rp6,chassis=6,slot=6,addr=0x9
  echo -drive if=none,id=d1,format=raw,file="$1"
  echo -device nvme,serial=b1,drive=d1,bus=rp6
}

# name, device, where qemu puts it: what the guest may ask the host to plug in, by hot_plug.py.
machine_pluggable() {
  echo "late edu rp9"
}

# name, where below /sys/devices, vendor:device, class, NUMA node: what the machine was given.
machine_expected() {
  echo "alone    pci0000:00/0000:00:03.0/*:00.0       8086:10d3 020000 -1"
  if [ "$machine_architecture" = arm64 ]; then
    echo "left     pci0000:00/0000:00:04.0/*:00.0       8086:100e 020000 -1"
    echo "right    pci0000:00/0000:00:04.0/*:00.1       8086:100e 020000 -1"
  else
    echo "left     pci0000:00/0000:00:04.0/*/*:01.0     8086:100e 020000 -1"
    echo "right    pci0000:00/0000:00:04.0/*/*:02.0     8086:100e 020000 -1"
  fi
  echo "display  pci0000:00/0000:00:05.0/*:00.0       1234:1111 038000 -1"
  echo "audio    pci0000:00/0000:00:05.0/*:00.1       8086:2668 040300 -1"
  echo "storage  pci0000:00/0000:00:08.0/*:00.0       1b36:0010 010802 -1"
  echo "disk     pci0000:00/0000:00:09.0/*:00.0       1b36:0010 010802 -1"
  # The firmware's memory is of no node, so the ARM64 kernel takes all of it for one.
  [ "$machine_architecture" = arm64 ] && node=-1 || node=1
  echo "far      pci0000:40/0000:40:00.0/*:00.0       1234:11e8 00ff00 $node"
  echo "late     pci0000:00/0000:00:06.0/*:00.0       1234:11e8 00ff00 -1"
}
