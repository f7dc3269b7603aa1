"""The namespaces that the containers of a pod share, with an address that the node reaches."""

import itertools
import pathlib
import subprocess

from patience import await_that


class Sandbox:
    numbers = itertools.count(1)

    def __init__(self, name: str):
        number = next(self.numbers)
        self.name, self.address = name, f"10.88.{number}.2"
        self.holder = subprocess.Popen(["unshare", "--net", "--ipc", "--uts", "sleep", "infinity"])
        await_that("the pod has its namespaces", lambda: self.command_of_holder().startswith(b"sleep"))
        link = f"pod{number}"
        own = ["ip", "link", "add", link, "type", "veth", "peer", "name", "eth0", "netns", str(self.holder.pid)]
        for words in (own, ["ip", "address", "add", f"10.88.{number}.1/24", "dev", link], ["ip", "link", "set", link, "up"]):
            subprocess.run(words, check=True)
        for words in (
            ["hostname", name], ["ip", "link", "set", "lo", "up"], ["ip", "link", "set", "eth0", "up"],
            ["ip", "address", "add", f"{self.address}/24", "dev", "eth0"],
        ):
            subprocess.run([*self.enter(), *words], check=True)

    def command_of_holder(self) -> bytes:
        return pathlib.Path(f"/proc/{self.holder.pid}/cmdline").read_bytes()

    def enter(self) -> list[str]:
        return ["nsenter", "--target", str(self.holder.pid), "--net", "--ipc", "--uts", "--"]

    def close(self) -> None:
        self.holder.kill()
        self.holder.wait()
