"""One run of a container. After its end there is another one, with a root of its own."""

import json
import os
import pathlib
import subprocess
import sys

from patience import await_that
from pod_manifest import Container
from pod_sandbox import Sandbox

PROCESS = pathlib.Path(__file__).resolve().parent / "container_process.py"
RUN = [sys.executable, "-I", str(PROCESS)]


APART = ["unshare", "--mount", "--pid", "--cgroup", "--fork", "--kill-child", "--"]


def run_to_its_end(wish: dict, sandbox: Sandbox, log: pathlib.Path, seconds: float = 60) -> int:
    """A container of which there is one run. `wish`: as below. Its exit code, or minus the signal."""
    with log.open("ab") as out:
        words = [*sandbox.enter(), *APART, *RUN, json.dumps(wish)]
        return subprocess.run(words, stdin=subprocess.DEVNULL, stdout=out, stderr=out, timeout=seconds).returncode


class RunningContainer:
    """`wish`: what container_process.py is told."""

    def __init__(self, container: Container, wish: dict, sandbox: Sandbox, log: pathlib.Path):
        self.container, self.wish, self.log, self.pid = container, wish, log, 0
        with log.open("ab") as out:
            self.runtime = subprocess.Popen(
                [*sandbox.enter(), *APART, *RUN, json.dumps(wish)], stdin=subprocess.DEVNULL, stdout=out, stderr=out
            )
        await_that(f"{container.name} runs", self.runs)

    def runs(self) -> bool:
        if self.runtime.poll() is not None:
            said = self.log.read_text(errors="replace")[-2000:]
            raise RuntimeError(f"{self.container.name} ended at once, with {self.runtime.returncode}: {said}")
        children = pathlib.Path(f"/proc/{self.runtime.pid}/task/{self.runtime.pid}/children").read_text().split()
        if not children:
            return False
        self.pid = int(children[0])
        words = b"".join(word.encode() + b"\0" for word in self.wish["command"])
        return pathlib.Path(f"/proc/{self.pid}/cmdline").read_bytes() == words

    def exec(self, command, seconds: float = 10) -> subprocess.CompletedProcess:
        """Another process in it, with the same identity, as the kubelet has it made."""
        same = {key: self.wish[key] for key in ("uid", "gid", "drop", "noNewPrivileges", "seccomp", "environment")}
        wish = same | {"of": self.pid, "command": list(command)}
        return subprocess.run([*RUN, json.dumps(wish)], capture_output=True, text=True, timeout=seconds)

    def signal(self, number: int) -> None:
        os.kill(self.pid, number)

    def ended(self, seconds: float) -> int:
        """Its exit code, or minus the signal."""
        return self.runtime.wait(seconds)

    def close(self) -> None:
        self.runtime.kill()
        self.runtime.wait()
