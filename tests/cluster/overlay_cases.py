"""Every overlay, and every example of the chart: applied for real, Ready, and a pod gets a device as it says."""

import manifests
from case import Case
from hardware import topology_of
from pods import pod_of
from shipped_cases import helm_program
from waiting import wait_for

CARD = {"address": "0000:01:00.0", "id": "10de:2236", "class": "030200", "group": 12}
DRIVERS = [{"name": "nouveau", "ids": ["class=0302"]}, {"name": "vfio-pci", "kind": "vfio"}]
BY_MODEL, VARIABLE = "vfiogate.dev/10de_2236", "PCI_RESOURCE_VFIOGATE_DEV_10DE_2236=0000:01:00.0"
GRAPHICS = "/api/v1/nodes/node"
# By overlay: the resource that a pod asks for, and the variable that it gets.
ASKED = {
    "kubevirt": (BY_MODEL, VARIABLE),
    "nvidia-names": ("nvidia.com/GA102GL_A10", "PCI_RESOURCE_NVIDIA_COM_GA102GL_A10=0000:01:00.0"),
    "cdi": ("vfiogate.dev/pci_10de_2236", "PCI_RESOURCE_VFIOGATE_DEV_PCI_10DE_2236=0000:01:00.0"),
    "on-allocate": (BY_MODEL, VARIABLE),
    "node-classes": (BY_MODEL, VARIABLE),
}


class Overlays(Case):
    long = True

    def setUp(self):
        super().setUp()
        self.node.api.change(GRAPHICS, {"metadata": {"labels": {"example.com/devices": "graphics"}}})
        self.addCleanup(self.node.api.change, GRAPHICS, {"metadata": {"labels": {"example.com/devices": None}}})

    def bring_up(self, overlay: str, by_chart: bool):
        card = CARD | ({} if overlay == "on-allocate" else {"driver": "vfio-pci"})
        hardware = self.hardware_of(topology_of(self.somewhere("card.yaml"), DRIVERS, [card]), keep=self.addCleanup)
        resource = self.printed(overlay) if by_chart else manifests.shipped(overlay)
        return self.install(resource, manifests.simulated(hardware), keep=self.addCleanup)

    def printed(self, overlay: str):
        to = self.somewhere("chart.yaml")
        values = manifests.CHART / f"examples/{overlay}.yaml"
        words = ["template", "vfiogate", manifests.CHART, "--namespace", "vfiogate", "--set", "namespace.create=true", "-f", values]
        to.write_text(self.node.run(helm_program(self), *words))
        return to

    def allocates(self, overlay: str, by_chart: bool = False) -> None:
        self.bring_up(overlay, by_chart)
        resource, variable = ASKED[overlay]
        wait_for("the card is offered", lambda: self.node.allocatable(resource) == 1, seconds=60)
        seconds = self.pods.run(pod_of("vm", {resource: 1}))
        self.assertEqual(self.pods.shows("vm"), ["12", "vfio", variable])
        self.measure(f"{'chart' if by_chart else 'kustomize'}, {overlay}: a pod runs with its device after {seconds:.1f} s")

    def test_kubevirt(self):
        self.allocates("kubevirt")

    def test_nvidia_names(self):
        self.allocates("nvidia-names")

    def test_cdi(self):
        self.allocates("cdi")

    def test_on_allocate(self):
        self.allocates("on-allocate")

    def test_node_classes(self):
        self.allocates("node-classes")

    def test_chart_s_kubevirt(self):
        self.allocates("kubevirt", by_chart=True)

    def test_chart_s_nvidia_names(self):
        self.allocates("nvidia-names", by_chart=True)

    def test_chart_s_cdi(self):
        self.allocates("cdi", by_chart=True)

    def test_chart_s_on_allocate(self):
        self.allocates("on-allocate", by_chart=True)

    def test_chart_s_node_classes(self):
        self.allocates("node-classes", by_chart=True)

    def test_chart_s_dra(self):
        installation = self.bring_up("dra", by_chart=True)
        self.measure(f"chart, dra: Ready after {installation.wait_ready(60):.1f} s")
        slices = "/apis/resource.k8s.io/v1/resourceslices"
        wait_for("the card is published", lambda: any(one["spec"].get("devices") for one in self.node.api.items(slices)), seconds=30)
