"""The machines of golden_test.py: hardware of tests/topologies, a configuration of plugind's, and what pods ask for, one after the other."""

import dataclasses


@dataclasses.dataclass(frozen=True)
class Machine:
    what: str
    topology: str
    config: str
    pods: tuple = ()
    orders: tuple = ()  # to the hardware, before it is looked at
    shown: tuple = ()  # resources, each with a device of it that the kubelet knows once the orders are done


GPU = "vfiogate.dev/gpu"


def one_resource(select, more="", name=GPU):
    return f"resources:\n- {{name: {name}, select: {{{select}}}{more}}}\n"


def profile(what, more):
    """A card with its audio function and two in one group, allocated in one of the ways in which consumers want them."""
    config = one_resource('device: "2684"', more, "vfiogate.dev/card") + f'- {{name: {GPU}, select: {{device: "20b0"}}{more}}}\n'
    return Machine(f"Cards for {what}", "card.yaml", config, ({"vfiogate.dev/card": 1, GPU: 1},))


def address_list(*buses):
    return ", ".join(f'"0000:{bus}1:00.0"' for bus in buses)


PARTITIONS = f"""resources:
- select: {{device: "2330"}}
- name: vfiogate.dev/hgx_4
  overlap: exclude
  sets:
  - {{name: partition-1, devices: [{address_list(1, 2, 3, 4)}]}}
  - {{name: partition-2, devices: [{address_list(5, 6, 7, 8)}]}}
- name: vfiogate.dev/hgx_8
  overlap: exclude
  sets:
  - {{name: partition-0, devices: [{address_list(*range(1, 9))}]}}
"""


def machines_of(size, *sets):
    """Partitions of one size, for virtual machines: an entry for the first device, and one for each that goes along."""
    listed = "".join(f"  - {{name: {name}, devices: [{address_list(*buses)}]}}\n" for name, buses in sets)
    return f"- name: vfiogate.dev/hgx_{size}\n  overlap: exclude\n  more: {{name: vfiogate.dev/hgx_{size}_more}}\n  sets:\n{listed}"


PARTITIONS_KUBEVIRT = "resources:\n" + machines_of(4, ("partition-1", (1, 2, 3, 4)), ("partition-2", (5, 6, 7, 8)))
PARTITIONS_KUBEVIRT += machines_of(8, ("partition-0", range(1, 9)))

WHOLE_KUBEVIRT = """resources:
- name: vfiogate.dev/card
  select: {device: ["2684", "22ba"]}
  groupUnit: whole
  companions: advertise
  more: {name: vfiogate.dev/card_more, count: 1}
- {name: vfiogate.dev/twin, select: {device: "20b0"}, groupUnit: whole, more: {name: vfiogate.dev/twin_more, count: 1}}
"""

FOUR = {"vfiogate.dev/hgx_4": 1, "vfiogate.dev/hgx_4_more": 3}
EIGHT = {"vfiogate.dev/hgx_8": 1, "vfiogate.dev/hgx_8_more": 7}

MACHINES = {
    "eight-gpu": Machine(
        "Eight GPUs and four NVSwitches, by model",
        "eight-gpu.yaml",
        'resources:\n- select: {vendor: "10de", class: "0302"}\n- {name: vfiogate.dev/nvswitch, select: {vendor: "10de", class: "0680"}}\n',
        ({"vfiogate.dev/10de_2330": 4, "vfiogate.dev/nvswitch": 2}, {"vfiogate.dev/10de_2330": 1}),
    ),
    "partitions": Machine(
        "Eight GPUs in NVLink partitions of eight and of four, and each alone; only one of what overlaps is allocated",
        "eight-gpu.yaml",
        PARTITIONS,
        ({"vfiogate.dev/hgx_4": 1}, {"vfiogate.dev/hgx_8": 1}, {"vfiogate.dev/10de_2330": 1}, {"vfiogate.dev/hgx_4": 1}),
    ),
    "partitions-kubevirt": Machine(
        "The partitions for KubeVirt, whose machines have an entry for each device: a ticket for each that goes along",
        "eight-gpu.yaml",
        PARTITIONS_KUBEVIRT,
        (FOUR, EIGHT, FOUR),
    ),
    "grace": Machine(
        "Grace: two sockets with two GPUs and their extended memory each",
        "grace.yaml",
        one_resource('device: "2941"'),
        ({GPU: 1}, {GPU: 2}, {GPU: 1}),
    ),
    "nic-with-vfs": Machine(
        "A network card and its virtual functions, for DPDK",
        "nic-with-64-vfs.yaml",
        one_resource('class: "02", sriov: vf', ", env: [sriov]", "vfiogate.dev/vf") + '- {name: vfiogate.dev/nic, select: {class: "02"}}\n',
        ({"vfiogate.dev/vf": 2, "vfiogate.dev/nic": 1},),
        ("vfs 0000:3b:00.0 64",),
        (("vfiogate.dev/vf", "0000:3b:08.7"),),
    ),
    "mediated": Machine(
        "GPUs that are cut into mediated devices, beside one that is passed through whole",
        "vgpu.yaml",
        'resources:\n- select: {mdev: "*"}\n- {name: vfiogate.dev/gpu, select: {vendor: "10de"}}\n',
        ({"vfiogate.dev/NVIDIA_A16-4Q": 2}, {GPU: 1}),
    ),
    "vgpu-vfs": Machine(
        "A GPU whose virtual functions are vGPUs, two of the four with a type; the card is too full to tell the larger type's name",
        "vgpu-vfs.yaml",
        'resources:\n- {name: vfiogate.dev/half-L40S, select: {vgpu: "1155"}}\n- select: {vgpu: "*"}\n- {name: vfiogate.dev/gpu, select: {sriov: pf}}\n',
        ({"vfiogate.dev/NVIDIA_L40S-1Q": 1}, {"vfiogate.dev/half-L40S": 1}),
        ("vfs 0000:11:00.0 4", "vgpu 0000:11:00.4 1147", "vgpu 0000:11:00.5 1155"),
        (("vfiogate.dev/NVIDIA_L40S-1Q", "0000:11:00.4"), ("vfiogate.dev/half-L40S", "0000:11:00.5")),
    ),
    "slots": Machine(
        "A server with named slots: cards of one slot, one that is cut into VFs, one with a switch of its own, a bay, and a slot that was empty",
        "slots.yaml",
        'resources:\n- {name: vfiogate.dev/card-4, select: {slot: "4"}}\n- {name: vfiogate.dev/twin, select: {slot: GPU slot 5}}\n'
        '- {name: vfiogate.dev/vf-6, select: {slot: "6", sriov: vf}}\n- {name: vfiogate.dev/late, select: {slot: "6-*"}}\n'
        '- {name: vfiogate.dev/bay2, select: {slot: bay 2}}\n- {name: vfiogate.dev/nvme, select: {rootPort: "0000:8f:00.0"}}\n',
        ({"vfiogate.dev/card-4": 1, "vfiogate.dev/twin": 2, "vfiogate.dev/vf-6": 1}, {"vfiogate.dev/bay2": 1, "vfiogate.dev/late": 1}),
        ("vfs 0000:71:00.0 2", "plug 0000:81:00.0"),
        (("vfiogate.dev/vf-6", "0000:71:01.1"), ("vfiogate.dev/late", "0000:81:00.0")),
    ),
    "serial": Machine(
        "The same server: one card by the serial number that it tells, and the others, which tell none",
        "slots.yaml",
        'resources:\n- {name: vfiogate.dev/mine, select: {class: "03", serial: "1324121001234"}}\n- {name: vfiogate.dev/gpu, select: {class: "03"}}\n',
        ({"vfiogate.dev/mine": 1, GPU: 1},),
        (),
        (("vfiogate.dev/mine", "0000:3b:00.0"), (GPU, "0000:60:00.0")),
    ),
    "nvme-switch": Machine(
        "Two NVMe drives behind a switch without ACS, in one group, and one with a group of its own",
        "nvme-switch.yaml",
        one_resource('class: "010802"', "", "vfiogate.dev/nvme"),
        ({"vfiogate.dev/nvme": 2},),
    ),
    "vmd": Machine(
        "An NVMe drive behind Intel's VMD, in a PCI domain above 16 bits, without KubeVirt's variable",
        "vmd.yaml",
        one_resource('class: "010802"', ", env: [none]", "vfiogate.dev/nvme"),
        ({"vfiogate.dev/nvme": 1},),
    ),
    "vmd-kubevirt": Machine(
        "The same drive with KubeVirt's variable, in which no such domain can be said",
        "vmd.yaml",
        'resources:\n- {name: vfiogate.dev/nvme, select: {class: "010802"}}\n- {name: vfiogate.dev/gpu, select: {class: "0300"}}\n',
    ),
    "noiommu": Machine(
        "A node without an IOMMU, in VFIO's no-IOMMU mode, for DPDK: by an explicit word, and nowhere else",
        "noiommu-mode.yaml",
        one_resource('address: "0000:01:*"', ", backend: noiommu, env: [sriov]", "vfiogate.dev/unsafe-nic")
        + '- {name: vfiogate.dev/nic, select: {class: "02"}}\n',
        ({"vfiogate.dev/unsafe-nic": 1},),
    ),
    "laptop": Machine(
        "A laptop: all of it on host drivers",
        "laptop.yaml",
        one_resource('vendor: "10de", class: "03"'),
    ),
    "profile-kubevirt": profile("KubeVirt: nothing is configured", ""),
    "profile-kata": profile("Kata", ", kata: true, env: [none]"),
    "profile-cdi": profile("a runtime that is told CDI names", ", inject: cdi, env: [none]"),
    "profile-iommufd": profile("iommufd", ", backend: iommufd"),
    "profile-both": profile("group and iommufd", ", backend: both"),
    "profile-prefer-iommufd": profile("iommufd where it is there", ", prefer: iommufd"),
    "profile-whole": profile("one party a group, told by groupUnit: whole", ", groupUnit: whole"),
    "profile-whole-kubevirt": Machine(
        "Whole groups for KubeVirt, with all functions in the machine: a card with its audio, and two cards of one group",
        "card.yaml",
        WHOLE_KUBEVIRT,
        ({"vfiogate.dev/card": 1, "vfiogate.dev/card_more": 1, "vfiogate.dev/twin": 1, "vfiogate.dev/twin_more": 1},),
    ),
    "profile-companions": Machine(
        "A VM of NVIDIA's KubeVirt plugin: a card and its audio function, each under its own resource",
        "card.yaml",
        one_resource('device: "2684"', "", "vfiogate.dev/card")
        + '- {name: vfiogate.dev/audio, select: {class: "0403"}, companions: attach}\n',
        ({"vfiogate.dev/card": 1, "vfiogate.dev/audio": 1},),
    ),
    "profile-all": profile("a choice among a group's members, groupUnit: all", ", groupUnit: all"),
}
