"""What those who use a container's devices read of an answer, each as its own sources say, and what would go wrong there."""

import dataclasses
import re


@dataclasses.dataclass
class Answer:
    """One answer to Allocate, as a file of answers/ has it: "  compute: RESOURCE ID..., PART, ...". """

    resource: str
    ids: list[str]
    nodes: list[str]
    cdi: list[str]
    variables: dict[str, str]

    @classmethod
    def read(cls, line: str) -> "Answer":
        first, *parts = line.split(": ", 1)[1].split(", ")
        resource, *ids = first.split()
        variables = dict(part.split("=", 1) for part in parts if re.match(r"[A-Z_]+_", part))
        rest = [part for part in parts if part.split("=", 1)[0] not in variables]
        nodes = [part for part in rest if part.startswith("/dev/")]
        return cls(resource, ids, nodes, [part for part in rest if part not in nodes], variables)


@dataclasses.dataclass
class Container:
    """What one container asks for and is given, on hardware whose devices are in these groups."""

    wanted: dict[str, int]
    answers: list[Answer]
    groups: dict[str, int]

    def variables(self) -> dict[str, str]:
        return {name: value for answer in self.answers for name, value in answer.variables.items()}

    def nodes(self) -> set[str]:
        return {node for answer in self.answers for node in answer.nodes}


# KubeVirt, launcher: pkg/util/util.go (ResourceNameToEnvVar), pkg/virt-launcher/virtwrap/device/hostdevice/addresspool.go.
PCI_ADDRESS = re.compile(r"[0-9a-f]{4}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]")
UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")


def variable_of(prefix: str, resource: str) -> str:
    return f"{prefix}_{resource.upper().replace('/', '_').replace('.', '_')}"


def pool_of(container: Container, resource: str) -> list[str]:
    """The devices of a resource: of the PCI pool, or else of the one of mediated devices."""
    for prefix in ("PCI_RESOURCE", "MDEV_PCI_RESOURCE"):
        value = container.variables().get(variable_of(prefix, resource), "").removesuffix(",")
        if value:
            return value.split(",")
    return []


def kubevirt(container: Container) -> list[str]:
    """A virtual machine has an entry below hostDevices for each device that it asks for; each takes one address from its
    resource's pool, and whoever finds none fails the machine."""
    trouble, taken = [], []
    for resource, count in container.wanted.items():
        pool = pool_of(container, resource)
        for _ in range(count):
            if not pool:
                trouble.append(f"{resource}: no address is left for an entry")
                break
            taken.append(pool.pop(0))
        trouble += [f"{resource}: {address} is left over, and is no entry's" for address in pool]
    for address in taken:
        if not PCI_ADDRESS.fullmatch(address) and not UUID.fullmatch(address):
            trouble.append(f"{address} is no address that it takes")
        if taken.count(address) > 1:
            trouble.append(f"{address} is two entries'")
        if not {f"/dev/vfio/{container.groups.get(address)}", "/dev/iommu"} & container.nodes():
            trouble.append(f"{address}: no node of its group, and no iommufd")
    legacy = [node for node in container.nodes() if re.fullmatch(r"/dev/vfio/\d+", node)]
    if legacy and "/dev/vfio/vfio" not in container.nodes():
        trouble.append("groups without /dev/vfio/vfio")
    return trouble


# Kata, shim: src/runtime/pkg/containerd-shim-v2/cdi.go, and the CDI specification's forms of kinds and names.
CDI_KIND = re.compile(r"[A-Za-z][A-Za-z0-9.-]*[A-Za-z0-9]/[A-Za-z][A-Za-z0-9_-]*[A-Za-z0-9]")
CDI_DEVICE = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.:-]*[A-Za-z0-9]")


def kata(container: Container) -> list[str]:
    """It asks PodResources which devices the pod has, looks RESOURCE=ID up in the CDI specs, and finds the group's node there."""
    trouble = []
    for answer in container.answers:
        if not CDI_KIND.fullmatch(answer.resource):
            trouble.append(f"{answer.resource} is no CDI kind")
        trouble += [f"{one} is no CDI device" for one in answer.ids if not CDI_DEVICE.fullmatch(one)]
        trouble += [f"{one} is no device's own name" for one in answer.ids if one not in container.groups]
        if any(node.startswith("/dev/vfio/devices/") for node in answer.nodes) and len(answer.nodes) > 2:
            trouble.append(f"{answer.resource}: both ways, of which it takes one")
    return trouble


# The SR-IOV network device plugin's containers: k8snetworkplumbingwg/sriov-network-device-plugin, pkg/resources/server.go.
def dpdk(container: Container) -> list[str]:
    """PCIDEVICE_... lists the addresses of a resource; those of the answer, and no others."""
    trouble = []
    for answer in container.answers:
        listed = container.variables().get(variable_of("PCIDEVICE", answer.resource))
        if listed is not None and sorted(listed.split(",")) != sorted(answer.ids):
            trouble.append(f"{answer.resource}: {listed} is not what was allocated")
        if listed is None and "sriov" in answer.resource:
            trouble.append(f"{answer.resource}: no variable")
    return trouble
