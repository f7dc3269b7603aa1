"""Virtual machines, as far as hardware sees them: whoever has a VFIO node in a living container opens it, and closes it when the
container is dead. It goes by the runtime's configurations, as the witness does."""

import subprocess
import threading

from hardware import Hardware
from witness import CONTAINERS, Look


class Machines:
    """`devices`: by group the device that a machine opens, which takes the group with it. `opened` and `busy` count; busy is what a machine meets whose group another has open."""

    def __init__(self, hardware: Hardware, devices: dict[str, str]):
        self.hardware, self.devices, self.opened, self.busy = hardware, devices, 0, 0
        self.failure: Exception | None = None
        self.ended = threading.Event()
        self.thread = threading.Thread(target=self.run)
        self.thread.start()

    def run(self) -> None:
        try:
            self.play()
        except Exception as failure:  # for end()
            self.failure = failure

    def play(self) -> None:
        look, having = Look(CONTAINERS), set()
        while not self.ended.wait(0.05):
            found = {(node.rpartition("/")[2], pod) for node, pods in look.holders().items() for pod in pods}
            for group, pod in having - found:
                self.hardware.order("close", self.devices[group], pod)
            having &= found
            for group, pod in found - having:
                if self.opens(group, pod):
                    having.add((group, pod))
        for group, pod in having:
            self.hardware.order("close", self.devices[group], pod)

    def opens(self, group: str, pod: str) -> bool:
        try:
            self.hardware.order("open", self.devices[group], pod)
            self.opened += 1
            return True
        except subprocess.CalledProcessError:
            self.busy += 1
            return False

    def end(self) -> None:
        self.ended.set()
        self.thread.join()
        if self.failure:
            raise self.failure
