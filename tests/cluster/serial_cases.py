"""A card by the serial number that it tells, which privd-binder's container asks for."""

import manifests
from case import Case
from hardware import topology
from node import CommandFailed
from pods import pod_of
from waiting import wait_for

MINE, OTHERS = "vfiogate.dev/mine", "vfiogate.dev/gpu"
CARD, LATER = "0000:3b:00.0", "0000:81:00.0"
CONFIGURATION = f"""resources:
- {{name: {MINE}, select: {{class: "03", serial: "1324121001234"}}}}
- {{name: {OTHERS}, select: {{class: "03"}}}}
"""


class Serial(Case):
    """One card with the number, three without."""

    def setUp(self):
        super().setUp()
        self.hardware = self.hardware_of(topology("slots"), keep=self.addCleanup)

    def bring_up(self, *components: str):
        patches = [*manifests.simulated(self.hardware), manifests.configured(CONFIGURATION)]
        return self.install(manifests.shipped("base"), patches, components, keep=self.addCleanup)

    def counts(self) -> tuple[int, int]:
        return self.node.allocatable(MINE), self.node.allocatable(OTHERS)

    def test_the_card_with_the_number_and_all_others(self):
        installation = self.bring_up("binding")
        wait_for("each is where its number says", lambda: self.counts() == (1, 3), seconds=90)
        self.pods.run(pod_of("vm", {MINE: 1}))
        self.assertIn(f"PCI_RESOURCE_VFIOGATE_DEV_MINE={CARD}", self.pods.shows("vm"))
        self.hardware.order("plug", LATER)
        self.hardware.order("bind", LATER, "vfio-pci")
        wait_for("one that came is asked, too", lambda: self.counts() == (1, 4), seconds=60)
        installation.kill("privd-binder")
        wait_for("the binder is back", lambda: installation.restarts("privd-binder") == 1 and not installation.unready(), seconds=60)
        self.assertEqual(self.counts(), (1, 4), "what was told stays known")

    def test_where_nobody_asks_the_reason_is_said(self):
        installation = self.bring_up()
        wait_for("plugind knows the card", lambda: "serial-unknown" in self.explained(installation), seconds=90)
        self.measure(f"plugind explain: {self.explained(installation)}")
        self.assertEqual(self.counts(), (0, 0))

    def explained(self, installation) -> str:
        try:
            return installation.execute("plugind", "/usr/bin/plugind", "explain", CARD, "--timeout=5000")
        except CommandFailed as failure:
            return str(failure)
