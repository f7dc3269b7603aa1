"""Devices on their host driver that are bound when a pod asks: overlays/on-allocate."""

import json
import time

import manifests
from case import Case
from hardware import topology_of
from node import CommandFailed
from overlay_cases import BY_MODEL, CARD, DRIVERS
from pods import STAY, pod_of
from waiting import TooLong, wait_for


# As a server's: its port keeps its host driver, and each function of its own has a group.
PORT = {
    "address": "0000:3b:00.0", "id": "8086:1593", "class": "020000", "group": 21, "driver": "ice", "reset": ["flr", "bus"],
    "sriov": {"total": 8, "device": "1889", "offset": 8, "stride": 1, "firstGroup": 30},
}
PORT_DRIVERS = [{"name": "ice", "ids": ["8086:1593"], "sriov": True}, {"name": "vfio-pci", "kind": "vfio"}]


class VirtualFunctions(Case):
    """A port of a network card whose functions privd makes when it starts, and binds for pods."""

    long = True
    VF = "vfiogate.dev/vf"
    OPTIONS = "sysfs /host/sys\ndev /host/dev\nvfs 8086:1593=4\nallow sriov=vf,vendor=8086\ndeclare sriov=vf,vendor=8086\n"
    CONFIGURATION = f'resources:\n- {{name: {VF}, select: {{class: "02", sriov: vf}}, env: [sriov]}}\n'

    def test_made_at_the_start_they_reach_pods(self):
        hardware = self.hardware_of(topology_of(self.somewhere("port.yaml"), PORT_DRIVERS, [PORT]), keep=self.addCleanup)
        patches = [*manifests.simulated(hardware), manifests.configured(self.CONFIGURATION), manifests.privd_options(self.OPTIONS)]
        installation = self.install(manifests.shipped("base"), patches, ["binding"], keep=self.addCleanup)
        wait_for("four are offered", lambda: self.node.allocatable(self.VF) == 4, seconds=90)
        self.measure(f"four virtual functions, none before: offered {time.monotonic() - installation.began:.1f} s after `kubectl apply`")
        show = "echo $(ls /dev/vfio; env | grep ^PCIDEVICE_); "
        for name in ("one", "two"):
            self.pods.run(pod_of(name, {self.VF: 2}, command=show + STAY))
        groups = [word for name in ("one", "two") for word in self.pods.shows(name) if word.isdigit()]
        self.assertEqual(sorted(groups), ["30", "31", "32", "33"])
        installation.kill("privd-binder")
        wait_for("the binder is back", lambda: installation.restarts("privd-binder") == 1 and not installation.unready(), seconds=60)
        made = installation.execute("privd-binder", "/usr/bin/privd", "audit", "show", "-o", "json").count('"create-vfs"')
        self.assertEqual(made, 1, "made once, and left alone since")


class OnAllocate(Case):
    long = True

    def setUp(self):
        super().setUp()
        self.hardware = self.hardware_of(topology_of(self.somewhere("card.yaml"), DRIVERS, [CARD]), keep=self.addCleanup)

    def bring_up(self, *patches: dict):
        installation = self.install(manifests.shipped("on-allocate"), [*manifests.simulated(self.hardware), *patches], keep=self.addCleanup)
        wait_for("the card is offered", lambda: self.node.allocatable(BY_MODEL) == 1, seconds=60)
        return installation

    def driver(self) -> str:
        return (self.hardware.sys / "bus/pci/devices/0000:01:00.0/driver").resolve().name

    def test_a_card_is_bound_when_a_pod_asks(self):
        installation = self.bring_up()
        self.assertEqual(self.driver(), "nouveau")
        seconds = self.pods.run(pod_of("vm", {BY_MODEL: 1}))
        self.assertEqual(self.driver(), "vfio-pci")
        self.assertIn("12", self.pods.shows("vm"))
        [bound] = [line for line in installation.journal() if line["event"] == "bound"]
        self.measure(f"a pod runs with a card that was on nouveau {seconds:.1f} s after it was made: {json.dumps(bound)}")

    def test_it_goes_back_to_its_host_driver(self):
        configuration = 'resources:\n- select: {vendor: "10de", class: "03"}\n  bind: on-allocate\n  returnTo: original\n'
        # docs/bind.md: in a pod no group's node can be held open.
        installation = self.bring_up(manifests.configured(configuration), manifests.arguments("privd-binder", "--allow-unguarded-unbind"))
        self.pods.run(pod_of("vm", {BY_MODEL: 1}))
        self.assertEqual(self.driver(), "vfio-pci")
        self.pods.end("vm")
        began = time.monotonic()
        try:
            wait_for("it is back on nouveau", lambda: self.driver() == "nouveau", seconds=90)
        except TooLong as late:
            raise AssertionError(f"{late}\n{installation.journal()}\n{installation.state()}") from None
        self.measure(f"back on nouveau {time.monotonic() - began:.1f} s after its pod's end")

    def privd(self, installation, *words: str) -> str:
        """A command in the binder's container; what it says also where it is refused."""
        try:
            return installation.execute("privd-binder", "/usr/bin/privd", *words)
        except CommandFailed as refused:
            return str(refused)

    def test_commands_work_in_the_binders_container(self):
        options = "sysfs /host/sys\ndev /host/dev\nallow-unguarded-unbind\n"
        installation = self.bring_up(manifests.privd_options(options))
        self.assertIn("Done: 3 writes", self.privd(installation, "bind", "01:00.0"))
        self.assertEqual(self.driver(), "vfio-pci")
        self.assertIn("Done: 3 writes", self.privd(installation, "unbind", "01:00.0"))
        self.assertEqual(self.driver(), "nouveau")
        self.privd(installation, "hold", "01:00.0", "--reason", "its fan is loud")
        began = time.monotonic()
        wait_for("plugind knows", lambda: installation.free()[BY_MODEL] == 0, seconds=5)
        self.measure(f"plugind says of a card that it is excluded {time.monotonic() - began:.1f} s after `privd hold`")
        wait_for("the node does not offer it", lambda: self.node.allocatable(BY_MODEL) == 0, seconds=60)
        self.privd(installation, "release", "01:00.0")
        wait_for("it is offered again", lambda: self.node.allocatable(BY_MODEL) == 1, seconds=60)
        self.pods.run(pod_of("vm", {BY_MODEL: 1}))
        refused = self.privd(installation, "unbind", "01:00.0")
        self.assertIn("held: ", refused)
        self.assertIn("default/vm", refused)
        self.assertEqual(self.driver(), "vfio-pci")
        self.assertIn("good: ", self.privd(installation, "audit", "verify"))

    def test_what_is_denied_is_denied_to_commands_too(self):
        denying = "sysfs /host/sys\ndev /host/dev\ndeny class=03\n"
        installation = self.install(manifests.shipped("on-allocate"), [*manifests.simulated(self.hardware), manifests.privd_options(denying)],
                                    keep=self.addCleanup)
        wait_for("the binder runs", lambda: installation.pods() and installation.restarts("privd-binder") == 0, seconds=60)
        refused = self.privd(installation, "bind", "01:00.0")
        self.assertIn("policy: ", refused)
        self.assertIn("--deny", refused)
        self.assertEqual(self.driver(), "nouveau")
