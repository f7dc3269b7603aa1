"""The device plugin that writes down what a kubelet asks it (tests/integration/kubelet/recording_plugin.cc)."""

import json
import pathlib
import queue
import subprocess
import threading


def shown(call: dict) -> list:
    if call["call"] == "GetPreferredAllocation":
        return [len(call["ids"])]
    return [call["ids"]] if call["ids"] else []


class Recorder:
    def __init__(self, programs: pathlib.Path, kubelet: pathlib.Path, resource: str):
        self.resource = resource
        self.seen: list[dict] = []
        self.answers: queue.Queue = queue.Queue()
        self.program = subprocess.Popen(
            [programs / "recording-plugin", kubelet, resource], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.reader = threading.Thread(target=self.read)
        self.reader.start()

    def read(self) -> None:
        for line in self.program.stdout:
            said = json.loads(line)
            if "answer" in said:
                self.answers.put(said["answer"])
            else:
                self.seen.append(said)

    def ask(self, *words):
        self.program.stdin.write(" ".join(words) + "\n")
        self.program.stdin.flush()
        return self.answers.get(timeout=40)

    def calls(self) -> list:
        """Each call as its name and its ids, in the order in which they came; of a question for a preference how many there are."""
        self.ask("notices")  # its answer comes after all that was written before
        return [[one["call"], *shown(one)] for one in self.seen]

    def end(self) -> None:
        self.program.stdin.close()
        self.program.wait(timeout=20)
        self.reader.join(timeout=20)
        self.program.stdout.close()
