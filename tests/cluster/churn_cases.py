"""Pods come and go, by scheduler and by name, deleted and force-deleted, while each program of vfiogate's and of the node's is
killed in turn: no group is ever in two pods, and in the end everything is free.

VFIOGATE_CHURN_SECONDS says for how long, VFIOGATE_CHURN_SEED which turns."""

import collections
import json
import os
import random
import time

import manifests
from api_client import Refused
from case import Case
from hardware import TREE
from machines import Machines
from node import CommandFailed
from pods import pod_of
from waiting import TooLong, wait_for

SECONDS = float(os.environ.get("VFIOGATE_CHURN_SECONDS", "1200"))
TOPOLOGY = TREE / "tests/topologies/churn.yaml"
CARD, SLOT, OTHER_SLOT = "vfiogate.dev/10de_2684", "vfiogate.dev/8086_100e", "vfiogate.dev/second-slot"
OFFERED = {CARD: 3, SLOT: 2, OTHER_SLOT: 2}
DEVICES = {"11": "0000:01:00.0", "12": "0000:02:00.0", "13": "0000:03:00.0", "14": "0000:04:01.0", "15": "0000:05:01.0"}
OURS, THEIRS = ("plugind", "privd-hardware", "privd-gate", "netd"), ("kubelet", "containerd", "apiserver")
MOST_PODS = 8


class Churn(Case):
    long = True

    @classmethod
    def setUpClass(cls):
        cls.hardware = cls.hardware_of(TOPOLOGY)
        configuration = (TREE / "deploy/examples/try.yaml").read_text()
        cls.installation = cls.install(manifests.shipped("base"), [*manifests.simulated(cls.hardware), manifests.configured(configuration)])

    def test_no_group_is_in_two_pods(self):
        seed = int(os.environ.get("VFIOGATE_CHURN_SEED", random.randrange(2**32)))
        self.random, self.counts, self.number = random.Random(seed), collections.Counter(), 0
        print(f"seed {seed}", flush=True)
        machines = Machines(self.hardware, DEVICES)
        self.addCleanup(machines.end)
        wait_for("all is offered", self.all_offered, seconds=90)
        until, next_kill = time.monotonic() + SECONDS, time.monotonic() + 5
        while time.monotonic() < until:
            self.tolerated(self.turn)
            if time.monotonic() > next_kill:
                self.tolerated(self.kill)
                next_kill = time.monotonic() + self.random.uniform(3, 12)
            self.assertEqual(self.witness.doubles(self.began), [], self.told())
            time.sleep(self.random.uniform(0.05, 0.6))
        wait_for("the API server answers", lambda: self.tolerated(self.node.is_ready), seconds=60)
        self.pods.end_all()
        began = time.monotonic()
        try:
            wait_for("all is offered again", self.all_offered, seconds=120, every=1)
        except TooLong as late:
            raise AssertionError(f"{late}\n{self.told()}\n{self.node.counted('allocatable')}\n{json.dumps(self.installation.status())}") from None
        self.measure(f"{self.told()}; all free {time.monotonic() - began:.1f} s after the last pod's end; seed {seed}; "
                     f"{machines.opened} opened, {machines.busy} met an open device")
        self.assertGreater(self.counts["ran"], SECONDS / 20)
        self.assertEqual(machines.busy, 0, "a machine met a device that another had open")

    def told(self) -> str:
        return f"{SECONDS:.0f} s: " + ", ".join(f"{count} {what}" for what, count in sorted(self.counts.items()))

    def all_offered(self) -> bool:
        return bool(self.tolerated(lambda: {name: self.node.allocatable(name) for name in OFFERED} == OFFERED))

    def tolerated(self, act):
        """What cannot be asked just now, since it was killed, is asked again in another turn."""
        try:
            return act()
        except (OSError, Refused, CommandFailed, ValueError) as failure:
            self.counts[f"turns that met {type(failure).__name__}"] += 1
            return None

    def turn(self) -> None:
        there = self.node.api.items("/api/v1/namespaces/default/pods")
        for pod in there:
            name, phase = pod["metadata"]["name"], pod["status"].get("phase")
            if phase == "Failed":
                self.counts["refused or failed"] += 1
                self.pods.delete(name)
            elif phase == "Running" and "deletionTimestamp" not in pod["metadata"] and self.random.random() < 0.12:
                force = self.random.random() < 0.4
                self.counts["force-deleted" if force else "deleted"] += 1
                self.counts["ran"] += 1
                self.pods.delete(name, force)
        if len(there) < MOST_PODS:
            self.number += 1
            resource = self.random.choice(list(OFFERED))
            way = {"nodeName": "node"} if self.random.random() < 0.5 else {}
            grace = self.random.choice([0, 1, 5])
            stay = self.random.choice(["sleep 100000", "trap 'sleep 2; exit 0' TERM; sleep 100000 & wait"])
            self.pods.create(pod_of(f"churn-{self.number}", {resource: 1}, stay, terminationGracePeriodSeconds=grace, **way))
            self.counts["made"] += 1

    def kill(self) -> None:
        victim = self.random.choice(OURS + THEIRS)
        self.counts[f"{victim} killed"] += 1
        if victim in OURS:
            self.installation.kill(victim)
            return
        self.node.control(victim, self.random.choice(["kill", "stop"]) if victim == "kubelet" else "kill")
        time.sleep(self.random.uniform(0, 2))
        self.node.control(victim, "start")
