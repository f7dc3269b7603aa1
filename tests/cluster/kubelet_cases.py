"""The kubelet ends and comes back while a pod has a device."""

import shutil
import time

from allocation_cases import OTHER_SLOT, SLOT, SLOT_ADDRESS, OnOneNode
from node import DEVICE_PLUGINS
from pods import pod_of
from waiting import wait_for


class Kubelet(OnOneNode):
    def over_restart(self, how: str) -> None:
        self.pods.run(pod_of("vm", {SLOT: 1}))
        container = self.pods.find("vm")["status"]["containerStatuses"][0]["containerID"]
        self.wait_withdrawn(OTHER_SLOT)
        back = self.node.restart_kubelet(how)
        began = time.monotonic()
        wait_for("the resources are there again", lambda: self.node.counted("capacity").get(SLOT) == 1, seconds=60)
        wait_for("what is allocated counts", lambda: self.node.allocatable(SLOT) == 1, seconds=60)
        self.measure(f"the kubelet answers {back:.1f} s after its start, what is offered is right {time.monotonic() - began:.1f} s later")
        self.pods.wait_running("vm")
        after = self.pods.find("vm")["status"]["containerStatuses"][0]
        self.assertEqual((after["containerID"], after["restartCount"]), (container, 0))
        phase, words = self.pods.outcome(pod_of("sibling", {OTHER_SLOT: 1}, nodeName="node"))
        self.assertEqual(phase, "Failed", words)
        self.assertEqual(self.node.allocatable(OTHER_SLOT), 0)
        self.assertEqual(self.installation.group_states()[SLOT_ADDRESS], "allocated")
        self.pods.end("vm")
        self.wait_offered(SLOT, OTHER_SLOT, seconds=60)

    def test_told_to_end(self):
        self.over_restart("stop")

    def test_killed(self):
        self.over_restart("kill")

    def test_its_directory_is_made_anew(self):
        """As `kubeadm reset` does it. The mount of privd-gate's container stays with the directory that was removed."""

        def clear() -> None:
            shutil.rmtree(DEVICE_PLUGINS)
            DEVICE_PLUGINS.mkdir(mode=0o750)

        def registered() -> int:
            return self.installation.logs("plugind").count("event=registered ")

        before, known = self.installation.restarts("privd-gate"), registered()
        self.node.restart_kubelet(between=clear)
        began = time.monotonic()
        wait_for("the gate is started again", lambda: self.installation.restarts("privd-gate") > before, seconds=60)
        self.assertIn("event=directory_lost", self.installation.logs("privd-gate", previous=True))
        # The node's status still has the count of before: a pod that comes now would be run without its device.
        wait_for("both are registered again", lambda: registered() >= known + 2, seconds=60)
        self.wait_offered(SLOT, OTHER_SLOT, seconds=60)
        self.measure(f"registered again {time.monotonic() - began:.1f} s after the kubelet's start")
        self.pods.run(pod_of("vm", {SLOT: 1}))
        self.pods.end("vm")
