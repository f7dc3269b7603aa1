"""What KubeVirt's launchers are given beyond a device: an address for each device of a set, and a context of /dev/iommu."""

import os
import stat
import subprocess

import manifests
from case import Case
from hardware import topology
from node import CommandFailed
from pods import STAY, pod_of
from waiting import wait_for

HALF, MORE = "vfiogate.dev/hgx_4", "vfiogate.dev/hgx_4_more"
FIRST_OF, OTHERS_OF = "PCI_RESOURCE_VFIOGATE_DEV_HGX_4=", "PCI_RESOURCE_VFIOGATE_DEV_HGX_4_MORE="
LEFT = [f"0000:{bus}1:00.0" for bus in range(1, 5)]
RIGHT = [f"0000:{bus}1:00.0" for bus in range(5, 9)]
MACHINE = {HALF: 1, MORE: 3}


def listed(devices: list[str]) -> str:
    return ", ".join(f'"{device}"' for device in devices)


class MoreOfSets(Case):
    """Two sets of four GPUs for machines that have an entry for each device: one of the set's resource, three of `more`."""

    CONFIGURATION = f"""resources:
- name: {HALF}
  sets:
  - {{name: left, devices: [{listed(LEFT)}]}}
  - {{name: right, devices: [{listed(RIGHT)}]}}
  more: {{name: {MORE}, count: 3}}
"""

    @classmethod
    def setUpClass(cls):
        cls.hardware = cls.hardware_of(topology("eight-gpu"))
        patches = [*manifests.simulated(cls.hardware), manifests.configured(cls.CONFIGURATION)]
        cls.installation = cls.install(manifests.shipped("base"), patches)

    def setUp(self):
        super().setUp()
        wait_for("both sets and their tickets are offered", lambda: self.counts() == (2, 6) and self.are_free(), seconds=90)

    def counts(self) -> tuple[int, int]:
        return self.node.allocatable(HALF), self.node.allocatable(MORE)

    def are_free(self) -> bool:
        try:
            states = self.installation.group_states()
        except CommandFailed:  # it starts
            return False
        return all(states.get(device) == "free" for device in LEFT + RIGHT)

    def devices_of(self, name: str) -> list[str]:
        """The set that the pod has by its variables, in the order of its entries; its nodes are those of the same devices."""
        shown = self.pods.shows(name)
        first, others = (next(word for word in shown if word.startswith(prefix)) for prefix in (FIRST_OF, OTHERS_OF))
        devices = [first.removeprefix(FIRST_OF), *others.removeprefix(OTHERS_OF).split(",")]
        groups = [str(2 * int(device[5]) - 1) for device in devices]  # eight-gpu.yaml
        self.assertEqual(sorted(shown), sorted([*groups, "vfio", first, others]))
        return devices

    def test_two_machines_have_each_device_of_their_sets(self):
        for name in ("vm", "other"):
            self.pods.run(pod_of(name, MACHINE))
        self.assertEqual(sorted([self.devices_of("vm"), self.devices_of("other")]), [LEFT, RIGHT])
        self.assertEqual(self.counts(), (2, 6), "what is held stays Healthy")

    def test_a_third_waits_and_has_the_set_that_is_free_again(self):
        for name in ("vm", "other"):
            self.pods.run(pod_of(name, MACHINE))
        freed = self.devices_of("vm")
        self.pods.create(pod_of("third", MACHINE))
        why = wait_for("the scheduler says why", lambda: self.pods.events("third"), seconds=30)
        self.assertIn("Insufficient", why)
        self.pods.end("third")
        self.pods.end("vm")
        wait_for("its devices are free", lambda: self.states(freed) == {"free"}, seconds=90)
        self.pods.run(pod_of("third", MACHINE))
        self.assertEqual(self.devices_of("third"), freed)

    def test_it_stands_over_a_restart(self):
        self.pods.run(pod_of("vm", MACHINE))
        mine = self.devices_of("vm")
        self.installation.kill("plugind")
        wait_for("plugind is back", lambda: self.installation.restarts("plugind") == 1 and not self.installation.unready(), seconds=60)
        wait_for("the set is known", lambda: self.states(mine) == {"allocated"}, seconds=60)
        self.pods.run(pod_of("other", MACHINE))
        self.assertEqual(sorted([mine, self.devices_of("other")]), [LEFT, RIGHT])

    def states(self, devices: list[str]) -> set[str | None]:
        try:
            known = self.installation.group_states()
        except CommandFailed:
            return set()
        return {known.get(device) for device in devices}


class IommufdSocket(Case):
    """privd-iommufd on the node, as a host has it, and a pod that is given its socket. The node's /dev/iommu is a file, so that each
    who connects is refused; tests/machine has a real one."""

    CARD, ADDRESS = "vfiogate.dev/10de_2684", "0000:01:00.0"
    HERE = "/run/vfiogate/iommufd/iommufd.sock"
    THERE = "/var/run/kubevirt/iommufd.sock"
    CONFIGURATION = f"""resources:
- select: {{device: "2684"}}
  prefer: iommufd
  iommufdSocket: {HERE}
"""

    @classmethod
    def setUpClass(cls):
        cls.hardware = cls.hardware_of(topology("card"))
        for node in ("/dev/iommu", f"/dev/vfio/devices/{cls.device_node()}"):
            cls.make_node(node)
        cls.serve()
        patches = [*manifests.simulated(cls.hardware), manifests.configured(cls.CONFIGURATION)]
        cls.installation = cls.install(manifests.shipped("base"), patches)

    @classmethod
    def device_node(cls) -> str:
        return os.listdir(cls.hardware.sys / f"bus/pci/devices/{cls.ADDRESS}/vfio-dev")[0]

    @classmethod
    def make_node(cls, path: str) -> None:
        """Like /dev/null, as the node's groups are."""
        os.makedirs(os.path.dirname(path), exist_ok=True)
        os.mknod(path, 0o600 | stat.S_IFCHR, os.makedev(1, 3))
        cls.addClassCleanup(os.unlink, path)

    @classmethod
    def serve(cls) -> None:
        log = cls.somewhere("iommufd.log")
        with log.open("wb") as said:
            command = [cls.programs / "privd-iommufd", "--socket", cls.HERE]
            process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=said, stderr=said)
        cls.addClassCleanup(process.wait, timeout=20)
        cls.addClassCleanup(process.terminate)
        cls.log = log
        wait_for("privd-iommufd serves", lambda: "event=started" in log.read_text(), seconds=20)

    def test_a_pod_has_the_device_s_node_and_the_socket(self):
        wait_for("the card is offered", lambda: self.node.allocatable(self.CARD) == 1, seconds=90)
        show = f"echo $(ls /dev/iommu /dev/vfio/devices; stat -c %F:%i {self.THERE}; ls /dev/vfio); "
        self.pods.run(pod_of("vm", {self.CARD: 1}, command=show + STAY))
        shown = " ".join(self.pods.shows("vm"))
        self.measure(f"a pod has {shown}")
        self.assertIn(f"/dev/iommu /dev/vfio/devices: {self.device_node()} socket:{os.stat(self.HERE).st_ino} ", shown + " ")
        self.assertNotIn("12", shown.split(), "the group's node is not handed over beside it")
