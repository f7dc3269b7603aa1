"""What each profile must allow and must deny: paths as they are in its container. What one of them allows and another one
is not said to is denied to that one."""

DEVICE = "/host/sys/devices/pci0000:00/0000:00:1c.0/0000:3b:00.0"
GROUP = "/host/sys/kernel/iommu_groups/12"
PLUGINS = "/var/lib/kubelet/device-plugins"
DIGEST = "0123456789abcdef"
REGISTRY = "/var/lib/kubelet/plugins_registry"
DRIVER = "/var/lib/kubelet/plugins/vfio.vfiogate.dev"
METADATA = f"{DRIVER}/dra-device-metadata"
UID = "1b4e28ba-2fa1-11d2-883f-0016d3cca427"

# Path to all that may be done with it. Attributes of devices and names that the code makes are added
# from the code itself, in the test.
EVERY = {
    "/usr/bin/privd": "mr",
    "/usr/lib64/ld-linux-x86-64.so.2": "mr",
    "/usr/lib/ld-linux-aarch64.so.1": "mr",
    "/usr/lib/x86_64-linux-gnu/libc.so.6": "mr",
    "/usr/lib/aarch64-linux-gnu/libkj-0.9.2.so": "mr",
    "/dev/null": "rw",
    # the ConfigMap
    "/etc/vfiogate/privd.conf": "r",
    "/etc/vfiogate/..2026_11_21_20_16_14.1234567890/privd.conf": "r",
    "/run/vfiogate/plugind/plugind.sock": "rw",
}
READS_SYSFS = {
    "/usr/share/misc/pci.ids": "r",
    "/host/sys/bus/pci/devices/": "r",
    "/host/sys/kernel/iommu_groups/": "r",
    f"{GROUP}/devices/": "r",
    f"{DEVICE}/": "r",
    f"{DEVICE}/vfio-dev/": "r",
    f"{DEVICE}/modalias": "r",
    f"{DEVICE}/boot_vga": "r",
    f"{DEVICE}/nvidia/current_vgpu_type": "r",
    f"{DEVICE}/nvidia/creatable_vgpu_types": "r",
    # Intel VMD, Arm, Hyper-V
    "/host/sys/devices/pci0000:00/0000:00:0e.0/pci10000:e0/10000:e0:06.0/modalias": "r",
    "/host/sys/devices/platform/40000000.pcie/pci0000:00/0000:00:01.0/config": "r",
    "/host/sys/devices/LNXSYSTM:00/LNXSYBUS:00/ACPI0004:00/VMBUS:00/4715-aa/pci7f5a:00/7f5a:00:02.0/revision": "r",
}
WRITES_SYSFS = {
    f"{DEVICE}/driver_override": "rw",
    f"{DEVICE}/sriov_numvfs": "w",
    f"{DEVICE}/sriov_totalvfs": "r",
    f"{DEVICE}/vpd": "r",
    "/host/sys/devices/pci0000:00/0000:00:0e.0/pci10000:e0/10000:e0:06.0/driver_override": "rw",
    "/host/sys/bus/pci/drivers/vfio-pci/bind": "w",
    "/host/sys/bus/pci/drivers/vfio-pci/unbind": "w",
    "/host/sys/bus/pci/drivers/nvidia/unbind": "w",
    "/host/sys/bus/pci/drivers_probe": "w",
}
GUARDS = {
    f"{DEVICE}/net/": "r",
    f"{DEVICE}/net/eth0/": "r",
    f"{DEVICE}/net/eth0/flags": "r",
    f"{DEVICE}/usb1/1-4/1-4:1.0/net/": "r",
    f"{DEVICE}/usb1/1-4/1-4:1.0/net/enx0/": "r",
    f"{DEVICE}/usb1/1-4/1-4:1.0/net/enx0/flags": "r",
    f"{DEVICE}/usb1/1-2/1-2:1.0/0003:046D:C31C.0001/input/input5/capabilities/key": "r",
    f"{DEVICE}/usb1/1-2/1-2:1.0/0003:046D:C31C.0001/input/input5/capabilities/rel": "r",
    "/host/sys/devices/virtual/tty/console/active": "r",
    "/host/sys/bus/usb/devices/": "r",
    "/host/sys/class/graphics/": "r",
    "/host/sys/class/input/": "r",
    "/host/sys/class/net/": "r",
    "/host/sys/class/tty/": "r",
    "/host/sys/module/nvidia/refcnt": "r",
    "/host/sys/module/nvidia/holders/": "r",
    "/host/sys/class/block/": "r",
    f"{DEVICE}/nvme/nvme0/nvme0n1/nvme0n1p1/dev": "r",
    "/host/sys/devices/virtual/block/dm-0/slaves/": "r",
    "/host/sys/devices/virtual/block/loop0/loop/backing_file": "r",
    "/host/sys/fs/ext4/": "r",
    "/host/sys/fs/btrfs/6f0c2d3e/devices/": "r",
    "/host/proc/mountinfo": "r",
    "/host/proc/route": "r",
    "/proc/swaps": "r",
}
STATE = {
    "/proc/sys/kernel/random/boot_id": "r",
    "/var/lib/vfiogate/": "r",
    "/var/lib/vfiogate/holds/": "rwk",
    "/var/lib/vfiogate/holds/0000:3b:00.0": "rwk",
    "/run/vfiogate/devices/": "r",
    "/run/vfiogate/devices/0000:3b:00.0": "rwk",
}
ALLOWED = {
    "vfiogate-hardware": EVERY | READS_SYSFS | {
        "/usr/bin/privd-hardware": "mr",
        "/host/sys/bus/mdev/devices/": "r",
        "/host/sys/bus/pci/slots/": "r",
        "/host/sys/bus/pci/slots/GPU slot 2/address": "r",
        f"{DEVICE}/3f5e2c10-0001-4a5b-8c6d-000000000001/vfio-dev/": "r",
        f"{DEVICE}/mdev_supported_types/nvidia-256/name": "r",
    },
    "vfiogate-gate": EVERY | STATE | {
        "/usr/bin/privd-gate": "mr",
        "/var/lib/vfiogate/gate.lock": "rwk",
        # the DRA driver
        f"{REGISTRY}/vfio.vfiogate.dev-reg.sock": "rw",
        f"{DRIVER}/dra.sock": "rw",
        f"{DRIVER}/.dra.sock.0": "rw",
        f"{METADATA}/": "rw",
        f"{METADATA}/{UID}_gpu.json": "rw",
        f"{METADATA}/.{UID}_gpu.json.tmp": "rw",
        f"/var/run/cdi/vfiogate-claim-{UID}.json": "rw",
        f"/var/run/cdi/.vfiogate-claim-{UID}.json.tmp": "rw",
        "/var/run/cdi/": "r",
    },
    "vfiogate-binder": EVERY | READS_SYSFS | WRITES_SYSFS | GUARDS | STATE | {
        "/usr/bin/privd-binder": "mr",
        "/var/lib/vfiogate/gate.lock": "rwk",
        "/var/lib/vfiogate/bindings/0000:3b:00.0": "rwk",
        "/var/lib/vfiogate/declared/0000:3b:00.0": "rwk",
        "/var/log/vfiogate/": "r",
        "/var/log/vfiogate/audit.jsonl": "krw",
    },
}

DENIED = [
    # sysfs: every other write that root may do there, and what reading is nobody's business
    "/host/sys/bus/pci/rescan",
    "/host/sys/bus/pci/uevent",
    "/host/sys/bus/pci/resource_alignment",
    "/host/sys/bus/pci/drivers_autoprobe",
    "/host/sys/bus/pci/drivers/vfio-pci/new_id",
    "/host/sys/bus/pci/drivers/vfio-pci/remove_id",
    "/host/sys/bus/pci/drivers/vfio-pci/uevent",
    "/host/sys/bus/pci/drivers/vfio-pci/module/parameters/ids",
    "/host/sys/bus/pci/drivers/bind",
    "/host/sys/bus/pci/slots/4/power",
    "/host/sys/bus/pci/slots/4/attention",
    "/host/sys/bus/platform/drivers_probe",
    "/host/sys/bus/platform/drivers/vfio-platform/bind",
    "/host/sys/bus/usb/drivers/usb-storage/unbind",
    "/host/sys/class/vfio/12/uevent",
    "/host/sys/devices/platform/serial8250/driver_override",
    "/host/sys/devices/virtual/powercap/intel-rapl/intel-rapl:0/energy_uj",
    "/host/sys/devices/system/cpu/cpu1/online",
    "/host/sys/devices/pci0000:00/pci_bus/0000:00/rescan",
    "/host/sys/devices/pci0000:00/driver_override",
    f"{DEVICE}/0000:3b:00.0.extra/driver_override",
    f"{DEVICE}/net/eth0/address",
    f"{DEVICE}/usb1/1-2/authorized",
    f"{DEVICE}/usb1/1-2/1-2:1.0/input/input5/inhibited",
    f"{DEVICE}/vfio-dev/vfio0/uevent",
    f"{DEVICE}/mdev_supported_types/nvidia-256/create",
    f"{GROUP}/reserved_regions",
    "/host/sys/kernel/uevent_helper",
    "/host/sys/kernel/debug/vfio/0000:3b:00.0",
    "/host/sys/kernel/security/apparmor/.load",
    "/host/sys/kernel/mm/transparent_hugepage/enabled",
    "/host/sys/firmware/efi/efivars/BootOrder-8be4df61",
    "/host/sys/firmware/acpi/tables/DSDT",
    "/host/sys/fs/cgroup/cgroup.procs",
    "/host/sys/module/vfio/parameters/enable_unsafe_noiommu_mode",
    "/host/sys/module/vfio_pci/parameters/ids",
    "/host/sys/power/state",
    "/host/sys/",
    "/host/sys/fs/ext4/vda1/trigger_fs_error",
    "/host/sys/devices/virtual/block/loop0/queue/scheduler",
    "/host/sys/module/nvidia/uevent",
    "/host/proc/kcore",
    # the runtime's own
    "/sys/bus/pci/drivers_probe",
    "/sys/devices/pci0000:00/0000:00:1c.0/driver_override",
    "/proc/1/environ",
    "/proc/sys/kernel/core_pattern",
    "/proc/sysrq-trigger",
    # device nodes are looked at and never opened
    "/host/dev/",
    "/host/dev/sda",
    "/host/dev/mem",
    "/host/dev/vfio/vfio",
    "/host/dev/vfio/12",
    "/dev/vfio/12",
    "/dev/kmsg",
    # what else lies beside the things that it may touch
    f"{PLUGINS}/",
    f"{PLUGINS}/nvidia.sock",
    f"{PLUGINS}/DEPRECATION",
    f"{PLUGINS}/vfiogate-.sock",
    f"{PLUGINS}/vfiogate-{DIGEST}0.sock",
    f"{PLUGINS}/vfiogate-{DIGEST}.sock.0",
    f"{PLUGINS}/sub/vfiogate-{DIGEST}.sock",
    "/var/lib/kubelet/config.yaml",
    "/var/lib/kubelet/pki/kubelet-client-current.pem",
    "/var/lib/kubelet/pods/0/volumes/secret",
    "/var/lib/kubelet/pod-resources/other.sock",
    f"{REGISTRY}/",
    f"{REGISTRY}/csi.example.com-reg.sock",
    f"{REGISTRY}/.vfio.vfiogate.dev-reg.sock.0",
    f"{REGISTRY}/vfio.vfiogate.dev-0-reg.sock",
    f"{DRIVER}/",
    f"{DRIVER}/other.sock",
    "/var/lib/kubelet/plugins/csi.example.com/csi.sock",
    "/var/lib/kubelet/plugins/csi.example.com/dra-device-metadata/",
    f"{METADATA}/other.json",
    f"{METADATA}/{UID}.json",
    f"{METADATA}/{UID}_gpu.json/x",
    "/var/lib/kubelet/dra_manager_state",
    "/var/run/cdi/nvidia.yaml",
    "/var/run/cdi/vfiogate-claim-.json",
    f"/var/run/cdi/vfiogate-claim-{UID[:-1]}.json",
    f"/var/run/cdi/vfiogate-claim-{UID}-0.json",
    f"/var/run/cdi/vfiogate-{DIGEST}.yaml",
    f"/var/run/cdi/vfiogate-{DIGEST}.json.tmp",
    "/run/vfiogate/plugind/other.sock",
    "/run/vfiogate/privd/privd.sock",
    "/run/containerd/containerd.sock",
    "/etc/vfiogate/sub/plugind.yaml",
    "/etc/passwd",
    "/etc/shadow",
    "/var/run/secrets/kubernetes.io/serviceaccount/token",
    "/usr/bin/plugind",
    "/usr/bin/netd",
    "/usr/bin/privd-daemon",
    "/usr/bin/privd-iommufd",
    "/usr/lib/x86_64-linux-gnu/sub/libc.so.6",
    "/usr/lib/os-release",
]

# Names of a PCI function's files that must stay out of reach, beside those that the scan reads.
CLOSED_ATTRIBUTES = [
    "uevent", "remove", "rescan", "reset", "resource", "resource0", "resource0_wc", "rom", "msi_bus", "irq",
    "d3cold_allowed", "power/control", "sriov_numvfs", "sriov_totalvfs", "sriov_drivers_autoprobe", "vpd",
    "driver/new_id", "driver/bind", "iommu_group/type", "mdev_type", "max_link_speed", "driver_override/x",
]

# Everything in a profile that is not about files.
SIGNALS = ["signal (receive) set=(term, int, kill, exists) peer={unconfined,runc,crun},"]
NETWORK = {
    "vfiogate-hardware": ["network netlink dgram,", "network unix stream,"],
    "vfiogate-gate": ["network unix stream,", "network unix seqpacket,"],
    "vfiogate-binder": ["network netlink dgram,", "network unix stream,", "network unix seqpacket,"],
}


def others_of(name: str) -> list[str]:
    return [*NETWORK[name], *SIGNALS, f"signal (send, receive) set=(abrt) peer={name},"]


# Rules each of which would be too much.
TOO_WIDE = [
    "/host/sys/** w,",
    "/host/** rw,",
    "/** w,",
    "/{host,other}/** w,",
    "/h*/sys/power/state w,",
    "@{pci}/* w,",
    "@{pci}/** r,",
    "/host/sys/devices/**/driver_override w,",
    "/host/sys/bus/pci/* w,",
    "/host/sys/bus/pci/drivers/*/* w,",
    "/host/sys/bus/*/drivers/*/bind w,",
    "/host/sys/bus/pci/drivers/*/new_id w,",
    "/host/sys/kernel/iommu_groups/*/type w,",
    "/host/sys/module/*/parameters/* r,",
    "/host/dev/** r,",
    "/var/lib/kubelet/** r,",
    "/var/run/cdi/* rw,",
    "/var/lib/kubelet/plugins_registry/* rw,",
    "/var/lib/kubelet/plugins/** rw,",
    "/usr/bin/* mr,",
    "/var/lib/vfiogate/* w,",
    "network inet stream,",
    "network netlink raw,",
    "signal (send) peer=unconfined,",
]

# What the reader does not even know, and so refuses.
REFUSED = [
    "capability,", "capability sys_admin,", "file,", "mount,", "umount,", "ptrace (read),", "unix,", "network,",
    "change_profile,", "userns,", "pivot_root,", "/usr/bin/sh ix,", "/usr/bin/sh rUx,", "/usr/bin/privd-gate mrix,", "deny /x w,",
    "owner /x r,", "audit /x r,", "include <abstractions/base>", "#include <abstractions/base>",
    "^hat {", "/x r, /y w,", "@{unset}/x r,", "/x[0-9 r,", "/x{a,b r,", "/x -> /y,",
]
