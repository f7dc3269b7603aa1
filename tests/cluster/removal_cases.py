"""`kubectl delete -k`: what is left on the node is what docs/install.md says."""

import os
import pathlib
import re
import stat

import manifests
from case import Case
from hardware import topology
from node import CHECKPOINT, DEVICE_PLUGINS, KUBELET, LOG, RECORD, SPECS, STATE
from pods import pod_of
from waiting import wait_for

CARD = "vfiogate.dev/10de_2684"
BOTH = """resources:
- select: {vendor: "10de", class: "03"}
  serve: both
dra: {driver: vfio.vfiogate.dev, metadataFiles: true}
"""
# docs/install.md, Uninstall: by pattern, with DRA.
LEFT = (
    rf"{STATE}/((plugind|gate)\.)?lock", rf"{STATE}/(bindings|holds|declared)(/.*)?", rf"{RECORD}/[^/]+", rf"{LOG}/audit\.jsonl",
    rf"{DEVICE_PLUGINS}/vfiogate[^/]*\.sock", rf"{KUBELET}/plugins/vfio\.vfiogate\.dev(/.*)?",
)

KUBELET_S_OWN = {str(DEVICE_PLUGINS / "kubelet.sock"), str(CHECKPOINT)}


def files() -> dict[str, str]:
    """What is there where vfiogate writes; of which sort."""
    found = {}
    for place in (STATE, RECORD, LOG, SPECS, DEVICE_PLUGINS, KUBELET / "plugins", KUBELET / "plugins_registry"):
        for directory, names, others in os.walk(place):
            for path in (pathlib.Path(directory, name) for name in names + others):
                found[str(path)] = {stat.S_IFSOCK: "socket", stat.S_IFDIR: "directory"}.get(stat.S_IFMT(path.lstat().st_mode), "file")
    return found


class Removal(Case):
    def test_what_is_left_is_what_install_md_says(self):
        hardware = self.hardware_of(topology("try"), keep=self.addCleanup)
        patches = [*manifests.simulated(hardware), manifests.configured(BOTH)]
        before = files().keys() | KUBELET_S_OWN
        installation = self.install(manifests.shipped("dra"), patches, keep=self.addCleanup)
        installation.wait_ready(90)
        self.pods.run(pod_of("vm", {CARD: 1}))
        self.pods.end("vm")
        seconds = installation.remove()
        left = {path: sort for path, sort in files().items() if path not in before}
        self.measure(f"gone {seconds:.1f} s after `kubectl delete -k`; left: {', '.join(sorted(left))}")
        unsaid = [path for path in left if not any(re.fullmatch(pattern, path) for pattern in LEFT)]
        self.assertEqual(unsaid, [], "docs/install.md does not say that these are left")

    def test_a_running_pod_keeps_its_device(self):
        hardware = self.hardware_of(topology("try"), keep=self.addCleanup)
        installation = self.install(manifests.shipped("kubevirt"), manifests.simulated(hardware), keep=self.addCleanup)
        wait_for("a card is offered", lambda: self.node.allocatable(CARD), seconds=60)
        self.pods.run(pod_of("vm", {CARD: 1}))
        installation.remove()
        wait_for("nothing is offered", lambda: self.node.allocatable(CARD) == 0, seconds=30)
        self.pods.wait_running("vm")
        self.assertEqual(self.pods.restarts("vm"), 0)
        self.assertEqual(list(self.witness.holders()), ["/dev/vfio/12"], self.witness.said("holders", self.began))
