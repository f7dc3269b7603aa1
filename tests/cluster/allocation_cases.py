"""Pods and their devices: what one gets, what its neighbour is refused with, when a device is free again."""

import time

import manifests
from case import Case
from hardware import TREE, topology
from node import CommandFailed
from pods import pod_of
from waiting import TooLong, seconds_until, wait_for

CARD, SLOT, OTHER_SLOT = "vfiogate.dev/10de_2684", "vfiogate.dev/8086_100e", "vfiogate.dev/second-slot"
CARD_ADDRESS, SLOT_ADDRESS, OTHER_ADDRESS = "0000:01:00.0", "0000:04:01.0", "0000:04:02.0"
CARD_NODE, SLOT_NODE = "/dev/vfio/12", "/dev/vfio/14"


class OnOneNode(Case):
    """A card alone in group 12, and two network cards in group 14, each a resource of its own."""

    @classmethod
    def setUpClass(cls):
        cls.hardware = cls.hardware_of(topology("try"))
        configuration = (TREE / "deploy/examples/try.yaml").read_text()
        patches = [*manifests.simulated(cls.hardware), manifests.configured(configuration)]
        cls.installation = cls.install(manifests.shipped("base"), patches)

    def setUp(self):
        super().setUp()
        self.wait_offered(CARD, SLOT, OTHER_SLOT, seconds=90)

    def wait_offered(self, *resources: str, seconds: float) -> float:
        """Seconds until plugind offers one of each and the scheduler counts with it. The node's status tells the scheduler some 10 s
        late, so of it alone nothing follows."""
        try:
            return seconds_until(f"{', '.join(resources)} offered", lambda: self.is_offered(resources), seconds, every=0.3)
        except TooLong as late:
            raise AssertionError(f"{late}\n{self.node.counted('allocatable')}\n{self.installation.state()}") from None

    def wait_withdrawn(self, resource: str) -> None:
        wait_for(f"{resource} is withdrawn", lambda: self.node.allocatable(resource) == 0, seconds=30)

    def is_offered(self, resources: tuple[str, ...]) -> bool:
        try:
            free = self.installation.free()
        except CommandFailed:  # it starts
            return False
        return all(free.get(one) and self.node.allocatable(one) for one in resources)


class Allocation(OnOneNode):
    def test_a_pod_gets_its_device(self):
        seconds = self.pods.run(pod_of("vm", {CARD: 1}))
        self.measure(f"a pod runs with its device {seconds:.1f} s after it was made")
        self.assertEqual(self.pods.shows("vm"), ["12", "vfio", f"PCI_RESOURCE_VFIOGATE_DEV_10DE_2684={CARD_ADDRESS}"])
        wait_for("the witness sees it", lambda: len(self.witness.holders().get(CARD_NODE, [])) == 1, seconds=5)
        without = pod_of("without")
        self.pods.run(without)
        wait_for("a pod that asks for nothing has nothing", lambda: "such" in self.pods.said("without"), seconds=10)

    def test_its_sibling_is_refused_with_words(self):
        """The scheduler counts with what it heard last: the pod is sent to the node by name, as it is in a race."""
        self.pods.run(pod_of("vm", {SLOT: 1}))
        phase, words = self.pods.outcome(pod_of("sibling", {OTHER_SLOT: 1}, nodeName="node"))
        self.assertEqual(phase, "Failed", words)
        self.measure(f"its user reads: {words}")
        self.assertIn(OTHER_SLOT, words)
        self.wait_withdrawn(OTHER_SLOT)
        phase, words = self.pods.outcome(pod_of("second", {OTHER_SLOT: 1}, nodeName="node"))
        self.assertEqual(phase, "Failed", words)
        self.measure(f"once it is withdrawn: {words}")
        self.assertEqual(self.pods.restarts("vm"), 0)

    def test_a_scheduled_pod_waits_for_what_is_allocated(self):
        self.pods.run(pod_of("vm", {SLOT: 1}))
        self.wait_withdrawn(OTHER_SLOT)
        self.pods.create(pod_of("waiting", {OTHER_SLOT: 1}))
        wait_for("the scheduler says why", lambda: "Insufficient" in self.pods.events("waiting"), seconds=20)
        began = time.monotonic()
        self.pods.end("vm")
        self.pods.wait_running("waiting", seconds=90)
        self.measure(f"a waiting pod runs {time.monotonic() - began:.1f} s after the holder of its group was deleted")

    def test_a_device_is_free_only_when_it_is_closed(self):
        self.pods.run(pod_of("vm", {CARD: 1}))
        self.hardware.open(CARD_ADDRESS)
        self.pods.end("vm")
        phase, words = self.pods.outcome(pod_of("too-early", {CARD: 1}, nodeName="node"))
        self.assertEqual(phase, "Failed", words)
        self.measure(f"while its machine has it open: {words}")
        wait_for("it is lingering", lambda: self.installation.group_states()[CARD_ADDRESS] == "lingering", seconds=60)
        phase, words = self.pods.outcome(pod_of("still-too-early", {CARD: 1}, nodeName="node"))
        self.assertEqual(phase, "Failed", words)
        self.hardware.close(CARD_ADDRESS)
        seconds = self.wait_offered(CARD, seconds=60)
        self.pods.run(pod_of("next", {CARD: 1}))
        self.measure(f"offered again {seconds:.1f} s after it was closed; the next pod runs with it")


class DyingPods(Case):
    """Three cards of one resource, and pods that end before they open theirs."""

    @classmethod
    def setUpClass(cls):
        cls.hardware = cls.hardware_of(TREE / "tests/topologies/churn.yaml")
        configuration = (TREE / "deploy/examples/try.yaml").read_text()
        patches = [*manifests.simulated(cls.hardware), manifests.configured(configuration)]
        cls.installation = cls.install(manifests.shipped("base"), patches)

    def test_the_next_pod_gets_another_card(self):
        wait_for("three cards are offered", lambda: self.node.allocatable(CARD) == 3, seconds=90)
        began = time.monotonic()
        for name in ("first", "second"):
            phase, words = self.pods.outcome(pod_of(name, {CARD: 1}, command="exit 3", nodeName="node"))
            self.assertNotIn("Allocate", words)
            wait_for(f"{name} is dead", lambda name=name: self.pods.phase(name) == "Failed", seconds=30, every=0.05)
        phase, words = self.pods.outcome(pod_of("third", {CARD: 1}, nodeName="node"))
        self.assertEqual(phase, "Running", words)
        self.measure(f"the third pod runs {time.monotonic() - began:.1f} s after the first was made, which died at once as the second did")


class Companions(Case):
    """A card and its audio function, each a resource of its own, as virtual machines made for NVIDIA's KubeVirt plugin ask for them."""

    AUDIO = "vfiogate.dev/audio"
    VARIABLES = ["PCI_RESOURCE_VFIOGATE_DEV_10DE_2684=0000:01:00.0", "PCI_RESOURCE_VFIOGATE_DEV_AUDIO=0000:01:00.1"]
    CONFIGURATION = """resources:
- select: {device: "2684"}
- {name: vfiogate.dev/audio, select: {class: "0403"}, companions: attach}
"""

    @classmethod
    def setUpClass(cls):
        cls.hardware = cls.hardware_of(topology("card"))
        patches = [*manifests.simulated(cls.hardware), manifests.configured(cls.CONFIGURATION)]
        cls.installation = cls.install(manifests.shipped("base"), patches)

    def setUp(self):
        super().setUp()
        wait_for("both are offered", self.are_free, seconds=90)

    def are_free(self) -> bool:
        try:
            free = self.installation.group_states().get(CARD_ADDRESS) == "free"
        except CommandFailed:  # it starts
            return False
        return free and self.node.allocatable(CARD) == self.node.allocatable(self.AUDIO) == 1

    def test_one_container_gets_both(self):
        self.pods.run(pod_of("vm", {CARD: 1, self.AUDIO: 1}))
        self.assertEqual(sorted(self.pods.shows("vm")), sorted(["12", "vfio", *self.VARIABLES]))
        self.assertEqual(self.installation.group_states()[CARD_ADDRESS], "allocated")

    def test_a_ticket_alone_is_nothing(self):
        self.pods.run(pod_of("sound", {self.AUDIO: 1}))
        wait_for("it has nothing", lambda: "such" in self.pods.said("sound"), seconds=10)
        self.pods.run(pod_of("vm", {CARD: 1}))
        self.assertEqual(sorted(self.pods.shows("vm")), sorted(["12", "vfio", *self.VARIABLES]))

    def test_it_stands_over_a_restart_and_disputes_nothing(self):
        self.pods.run(pod_of("vm", {CARD: 1, self.AUDIO: 1}))
        self.installation.kill("plugind")
        wait_for("plugind is back", lambda: self.installation.restarts("plugind") == 1 and not self.installation.unready(), seconds=60)
        wait_for("the card is the pod's", lambda: self.installation.group_states().get(CARD_ADDRESS) == "allocated", seconds=60)
        self.assertEqual([entry for entry in self.installation.journal() if "dispute" in entry["event"]], [])
        phase, words = self.pods.outcome(pod_of("second", {CARD: 1, self.AUDIO: 1}, nodeName="node"))
        self.assertEqual(phase, "Failed", words)
        self.pods.end("vm")
        wait_for("both are offered again", self.are_free, seconds=90)
        self.pods.run(pod_of("next", {CARD: 1, self.AUDIO: 1}))
