#!/usr/bin/env python3
"""The witness itself, on hand-made bundles of containers: that it sees what it is there for, and nothing else."""

import json
import pathlib
import subprocess
import tempfile
import unittest

from waiting import holds_for, wait_for
from watch import Watch


class Witness(unittest.TestCase):
    def setUp(self):
        place = tempfile.TemporaryDirectory()
        self.addCleanup(place.cleanup)
        self.bundles = pathlib.Path(place.name, "bundles")
        self.bundles.mkdir()
        self.watch = Watch(pathlib.Path(place.name, "report"), "--containers", str(self.bundles), "--every", "0.02")
        self.addCleanup(lambda: self.watch.looks() and self.watch.end())

    def process(self) -> subprocess.Popen:
        process = subprocess.Popen(["sleep", "1000"])
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return process

    def container(self, name: str, sandbox: str, node: str | None, process: subprocess.Popen) -> None:
        bundle = self.bundles / name
        bundle.mkdir()
        devices = [{"path": path} for path in ("/dev/vfio/vfio", "/dev/null", node) if path]
        notes = {"io.kubernetes.cri.sandbox-id": sandbox, "io.kubernetes.cri.sandbox-name": f"pod-{sandbox}"}
        (bundle / "init.pid").write_text(str(process.pid))
        (bundle / "config.new").write_text(json.dumps({"linux": {"devices": devices}, "annotations": notes}))
        (bundle / "config.new").rename(bundle / "config.json")

    def await_holders(self, wanted: dict[str, int]) -> None:
        wait_for(f"{wanted}", lambda: {node: len(pods) for node, pods in self.watch.holders().items()} == wanted, seconds=10)

    def test_two_pods_with_one_node_are_seen(self):
        self.container("a", "1", "/dev/vfio/14", self.process())
        self.container("b", "2", "/dev/vfio/14", self.process())
        wait_for("it says so", self.watch.doubles, seconds=10)
        self.assertEqual(self.watch.doubles(), ["/dev/vfio/14 in pod-1 (1) and pod-2 (2)"])
        self.assertGreater(self.watch.end()["looks"], 0)

    def test_a_pod_made_again_while_the_former_lives_is_another(self):
        self.container("a", "first", "/dev/vfio/14", self.process())
        self.await_holders({"/dev/vfio/14": 1})
        self.container("b", "second", "/dev/vfio/14", self.process())
        wait_for("it says so", self.watch.doubles, seconds=10)

    def test_containers_of_one_pod_and_other_nodes_are_none(self):
        self.container("a", "1", "/dev/vfio/14", self.process())
        self.container("b", "1", "/dev/vfio/14", self.process())
        self.container("c", "2", "/dev/vfio/15", self.process())
        self.container("d", "3", None, self.process())
        self.await_holders({"/dev/vfio/14": 1, "/dev/vfio/15": 1})
        holds_for("no double", lambda: not self.watch.doubles(), seconds=0.3, every=0.05)

    def test_the_dead_have_nothing(self):
        first = self.process()
        self.container("a", "1", "/dev/vfio/14", first)
        self.await_holders({"/dev/vfio/14": 1})
        first.kill()  # a zombie now: nobody waits for it yet
        self.await_holders({})
        self.container("b", "2", "/dev/vfio/14", self.process())
        self.await_holders({"/dev/vfio/14": 1})
        self.assertEqual(self.watch.doubles(), [])

    def test_a_double_that_comes_again_is_told_again(self):
        self.container("a", "1", "/dev/vfio/14", self.process())
        for turn in (1, 2):
            second = self.process()
            self.container(f"b{turn}", f"2{turn}", "/dev/vfio/14", second)
            wait_for("it says so", lambda: len(self.watch.doubles()) == turn, seconds=10)
            second.kill()
            self.await_holders({"/dev/vfio/14": 1})


if __name__ == "__main__":
    unittest.main(verbosity=2)
