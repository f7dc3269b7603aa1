"""That the witness can fail: what it is there to see, made by hand in real pods."""

import pods
from case import Case
from waiting import wait_for

NODE = "/dev/vfio/60"


class Witness(Case):
    def by_hand(self, name: str) -> dict:
        """A pod that is given the node by its own wish, whatever anybody says: a volume."""
        volume = {"name": "node", "hostPath": {"path": NODE, "type": "CharDevice"}}
        pod = pods.pod_of(name, volumes=[volume])
        pod["spec"]["containers"][0]["volumeMounts"] = [{"name": "node", "mountPath": NODE}]
        return pod

    def ask_witness(self) -> None:
        self.assertTrue(self.witness.looks())  # what it has seen is what the case is about

    def test_two_pods_with_one_node_are_seen(self):
        self.pods.run(self.by_hand("first"))
        self.assertIn("60", self.pods.shows("first"))
        wait_for("the witness sees it", lambda: NODE in self.witness.holders(), seconds=5)
        self.assertEqual(self.witness.doubles(self.began), [])
        self.pods.run(self.by_hand("second"))
        said = wait_for("the witness says so", lambda: self.witness.doubles(self.began), seconds=10)
        self.assertRegex(said[0], rf"{NODE} in first \(\w+\) and second \(\w+\)")
        self.measure(said[0])
