"""The kubelet's checkpoint is lost while a pod has a device: nobody else gets it for as long as that pod runs.

The holder's device is closed in all but one: where it is open, the hardware alone says that it is taken."""

import datetime
import itertools
import time

from allocation_cases import OTHER_SLOT, SLOT, SLOT_ADDRESS, SLOT_NODE, OnOneNode
from pods import TOO_BUSY, StaticPod, pod_of
from waiting import TooLong, wait_for

STUBBORN = "trap '' TERM; while :; do sleep 1; done"
HOLDERS = 4  # of which one should outlive the kubelet's restart
WATCHED = 45  # seconds in which a group that is taken for free would have gone to another pod


class WithHolder(OnOneNode):
    def setUp(self):
        super().setUp()
        self.asked = itertools.count(1)

    def hold(self) -> str:
        """A pod on group 14 with the device closed; the container that runs in it. plugind asks the kubelet for its name within 10 s: a
        forgotten holder without a name is kept for ten minutes."""
        self.pods.run(pod_of("holder", {SLOT: 1}))
        wait_for("the witness sees it", lambda: SLOT_NODE in self.witness.holders(), seconds=10)
        wait_for("plugind knows its name", lambda: self.is_named("holder"), seconds=30, every=0.5)
        return self.container("holder")

    def is_named(self, pod: str) -> bool:
        return any(one.endswith(f"/{pod}") for one in self.installation.holder_pods())

    def container(self, name: str) -> str:
        status = self.pods.find(name)["status"]
        self.assertIn("containerStatuses", status, f"the kubelet has {name} no more: {status}")
        return status["containerStatuses"][0]["containerID"]

    def hold_through(self, loss, opened: bool = False) -> None:
        """A holder that the kubelet still runs after `loss`. One that comes back without its checkpoint rejects running pods, too, where
        it has read its sources before it looks at them: such a holder ends by the kubelet's word, and another one is taken."""
        for _ in range(HOLDERS):
            self.hold()
            if opened:
                self.hardware.open(SLOT_ADDRESS)
            loss()
            if "containerStatuses" in self.pods.find("holder")["status"]:
                return
            self.measure("the kubelet rejected the running holder; another one is taken")
            if opened:
                self.hardware.close(SLOT_ADDRESS)
            self.pods.end("holder")
            self.assertEqual(self.witness.doubles(self.began), [])
            self.wait_offered(SLOT, OTHER_SLOT, seconds=180)
        self.skipTest(f"the kubelet rejected {HOLDERS} running holders: none was left that it had forgotten")

    def lose_checkpoint(self) -> None:
        self.node.restart_kubelet("stop", self.node.lose_checkpoint)

    def lose_checkpoint_and_plugind(self) -> None:
        self.lose_checkpoint()
        self.kill_plugind()
        self.await_registration()

    def lose_checkpoint_and_register(self) -> None:
        self.lose_checkpoint()
        self.await_registration()

    def await_registration(self) -> None:
        """Before it the kubelet asks nobody: it admits a pod, and may run it without the device."""
        wait_for("the kubelet knows of it again", self.installation.is_standing, seconds=60, every=0.5)

    def kill_plugind(self) -> None:
        before = self.installation.restarts("plugind")
        self.installation.kill("plugind")
        wait_for("plugind is there again", lambda: self.installation.restarts("plugind") > before, seconds=60)

    def ask_for(self, seconds: float, *resources: str) -> list[str]:
        """One pod after the other asks for each of the resources, as the owner of a failed pod makes another; what became of
        them. Ends as soon as one runs."""
        until, outcomes = time.monotonic() + seconds, []
        while time.monotonic() < until:
            outcomes += self.ask_once(*resources)
            if "Running" in outcomes[-1]:
                break
            time.sleep(1)
        return outcomes

    def ask_once(self, *resources: str) -> list[str]:
        outcomes = []
        for resource in resources:
            name = f"asks-{next(self.asked)}"
            self.pods.create(pod_of(name, {resource: 1}, nodeName="node"))
            status = self.decided(name)
            outcomes.append(f"{resource}: {status['phase']} {status.get('message', '')}")
            if status["phase"] == "Running":
                break
            self.pods.delete(name)
        return outcomes

    def told_after_start(self, resource: str) -> str | None:
        """For 10 s after its start a holder that has nothing open may open it still; and a busy machine answers too late."""
        [told] = self.ask_once(resource)
        return None if ", starting," in told or TOO_BUSY in told else told

    def decided(self, name: str) -> dict:
        """Its status, once it runs or is refused. While the kubelet knows of no plugin for a resource it admits a pod without asking
        anybody, and never starts its container."""
        try:
            wait_for(f"{name} is decided", lambda: self.outcome(name), seconds=40)
        except TooLong as late:
            raise AssertionError(f"{late}\n{self.pods.find(name)['status']}\n{self.pods.events(name)}\n{self.installation.state()}") from None
        return self.outcome(name)

    def outcome(self, name: str) -> dict | None:
        status = self.pods.find(name)["status"]
        waiting = [one["state"].get("waiting", {}) for one in status.get("containerStatuses", [])]
        stuck = [one["message"] for one in waiting if one.get("reason") == "CreateContainerConfigError"]
        if status["phase"] == "Pending" and stuck:
            return {"phase": "stuck", "message": stuck[0]}
        return status if status["phase"] in ("Running", "Failed") else None

    def assert_nobody_gets_it(self, *resources: str) -> None:
        before = self.container("holder")
        outcomes = self.ask_for(WATCHED, *resources)
        running = [one for one in outcomes if "Running" in one]
        self.measure(f"{len(outcomes)} pods asked for its group in {WATCHED} s, {len(running)} got it; the last was told: {outcomes[-1]}")
        self.assertEqual(self.witness.doubles(self.began), [])
        self.assertEqual(running, [])
        self.assertEqual(self.container("holder"), before)

    def assert_free_after(self, end) -> None:
        """Nothing is kept for good either: the successor gets the device within 60 s of the former's end."""
        end()
        began = time.monotonic()
        wait_for("the witness sees it end", lambda: SLOT_NODE not in self.witness.holders(), seconds=60)
        try:
            name = wait_for("a successor runs", lambda: self.succeeds(), seconds=60, every=1)
        except TooLong as late:
            raise AssertionError(f"{late}\n{self.installation.state()}") from None
        self.measure(f"a successor has the device {time.monotonic() - began:.1f} s after the holder's end")
        self.pods.end(name)

    def succeeds(self) -> str | None:
        name = f"next-{next(self.asked)}"
        phase, _ = self.pods.outcome(pod_of(name, {SLOT: 1}, nodeName="node"))
        if phase == "Running":
            return name
        self.pods.delete(name)
        return None


class LostCheckpoint(WithHolder):
    def test_closed_holder_and_plugind_killed(self):
        self.hold_through(self.lose_checkpoint_and_plugind)
        self.assert_nobody_gets_it(OTHER_SLOT)
        self.assert_free_after(lambda: self.pods.end("holder"))

    def test_closed_holder_and_the_same_resource(self):
        self.hold_through(self.lose_checkpoint_and_register)
        told = wait_for("a pod is not told to wait for the holder's start", lambda: self.told_after_start(SLOT), seconds=30, every=1)
        self.measure(f"a pod that asks for the same resource: {told}")
        self.assert_nobody_gets_it(OTHER_SLOT)
        self.assert_free_after(lambda: self.pods.end("holder"))

    def test_open_holder_and_plugind_killed(self):
        self.hold_through(self.lose_checkpoint_and_plugind, opened=True)
        self.assert_nobody_gets_it(SLOT, OTHER_SLOT)
        self.hardware.close(SLOT_ADDRESS)
        self.assert_free_after(lambda: self.pods.end("holder"))


class StaticPods(WithHolder):
    def test_static_pod_at_the_kubelet_s_start(self):
        """Static pods are admitted before the API server was asked for the others."""
        self.hold()
        static = StaticPod(pod_of("static", {OTHER_SLOT: 1}))
        self.addCleanup(static.remove)

        def meanwhile() -> None:
            self.node.lose_checkpoint()
            static.place()

        self.node.restart_kubelet("stop", meanwhile)
        self.assert_nobody_gets_it(OTHER_SLOT)
        static.remove()
        self.assert_free_after(lambda: self.pods.end("holder"))

    def test_static_holder_that_is_replaced(self):
        """The kubelet forgets a static pod with its file, while its container has its grace still; another static pod asks at once."""
        former = StaticPod(pod_of("former", {SLOT: 1}, command=STUBBORN, terminationGracePeriodSeconds=20))
        successor = StaticPod(pod_of("successor", {SLOT: 1}))
        self.addCleanup(successor.remove)
        self.addCleanup(former.remove)
        former.place()
        wait_for("the witness sees it", lambda: SLOT_NODE in self.witness.holders(), seconds=60)
        wait_for("plugind knows its name", lambda: self.is_named("former-node"), seconds=30, every=0.5)
        self.node.restart_kubelet("stop", self.node.lose_checkpoint)
        wait_for("the kubelet knows of vfiogate again", self.installation.is_standing, seconds=30, every=0.5)
        # And the kubelet's: what its List lacks says nothing for its first minute.
        wait_for("the former's start is over", lambda: self.age("former-node") > 75, seconds=120, every=0.5)
        former.remove()
        successor.place()
        wait_for("the successor is decided", lambda: self.of_successor(), seconds=60, every=0.5)
        self.measure(f"the successor: {self.of_successor()}; group 14 is in {self.having()}")
        wait_for("the former's container is gone", lambda: not any("former" in one for one in self.having()), seconds=60)
        self.assertEqual(self.witness.doubles(self.began), [])
        self.assert_free_after(successor.remove)

    def of_successor(self) -> str | None:
        """What became of it. The kubelet makes no mirror pod of a static pod that it does not admit: plugind's journal tells then."""
        if self.pods.phase("successor-node") in ("Running", "Failed"):
            return self.pods.phase("successor-node")
        refused = [one["text"] for one in self.installation.journal() if one["event"] == "refused" and one["resource"] == SLOT]
        return refused[-1] if refused else None

    def age(self, name: str) -> float:
        """Seconds since its container started."""
        started = self.pods.find(name)["status"]["containerStatuses"][0]["state"]["running"]["startedAt"]
        return time.time() - datetime.datetime.fromisoformat(started.replace("Z", "+00:00")).timestamp()

    def having(self) -> list[str]:
        return self.witness.holders().get(SLOT_NODE, [])
