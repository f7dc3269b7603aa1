#!/usr/bin/env python3
"""The independent witness: looks some ten times a second which living containers have which VFIO node, by the configurations that
the runtime wrote for them and by the kernel, and reports each moment at which two pods have one group's node. It asks neither
vfiogate nor the kubelet nor the API server.

It writes a JSON object a line: `holders` when they change, `double` when it begins, and at SIGTERM `end` with how often it looked."""

import argparse
import json
import os
import pathlib
import re
import signal
import time

CONTAINERS = pathlib.Path("/run/containerd/io.containerd.runtime.v2.task/k8s.io")
GROUP = re.compile(r"/dev/vfio/(?:noiommu-)?(\d+|devices/vfio\d+)")
NAME = "io.kubernetes.cri.sandbox-name"
SANDBOX = "io.kubernetes.cri.sandbox-id"


class Container:
    """One bundle of the runtime: `nodes` that its configuration gives it, `pod` a sandbox with a name for people. A pod that is made
    again, with the same name and UID, has another sandbox."""

    def __init__(self, bundle: pathlib.Path):
        config = json.loads((bundle / "config.json").read_text())
        devices = config.get("linux", {}).get("devices") or []
        mounts = [mount.get("destination", "") for mount in config.get("mounts") or []]
        self.nodes = {path for path in [*(device["path"] for device in devices), *mounts] if GROUP.fullmatch(path)}
        notes = config.get("annotations") or {}
        self.pod = notes.get(SANDBOX, bundle.name)
        self.name = f"{notes.get(NAME, bundle.name)} ({self.pod[:8]})"
        self.file = bundle / "init.pid"
        self.process: tuple[int, str] | None = None

    def lives(self) -> bool:
        """Its first process is there, is no zombie, and is the one that was seen first."""
        try:
            pid = int(self.file.read_text())
            fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        except (OSError, ValueError):
            return False
        state, since = fields[0], fields[19]
        self.process = self.process or (pid, since)
        return state not in "ZX" and self.process == (pid, since)


class Look:
    """What there is, remembered from look to look: a configuration is read once."""

    def __init__(self, place: pathlib.Path):
        self.place, self.known = place, {}

    def holders(self) -> dict[str, dict[str, str]]:
        """By node: the pods with a living container that has it, and their names."""
        names = set(os.listdir(self.place)) if self.place.exists() else set()
        for gone in self.known.keys() - names:
            del self.known[gone]
        for name in names - self.known.keys():
            try:
                self.known[name] = Container(self.place / name)
            except (OSError, ValueError):
                pass  # being made or removed: the next reading sees it
        found: dict[str, dict[str, str]] = {}
        for container in self.known.values():
            if container.nodes and container.lives():
                for node in container.nodes:
                    found.setdefault(node, {})[container.pod] = container.name
        return found


class Reporter:
    def __init__(self, report):
        self.report, self.seen = report, {}

    def say(self, **what) -> None:
        self.report.write(json.dumps(what | {"time": round(time.time(), 3)}) + "\n")
        self.report.flush()

    def take(self, holders: dict[str, dict[str, str]]) -> None:
        if holders == self.seen:
            return
        self.say(kind="holders", holders={node: sorted(pods.values()) for node, pods in holders.items()})
        for node, pods in holders.items():
            if len(pods) > 1 and set(pods) - set(self.seen.get(node, {})):
                self.say(kind="double", node=node, pods=sorted(pods.values()))
        self.seen = holders


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--containers", type=pathlib.Path, default=CONTAINERS, metavar="DIR")
    parser.add_argument("--report", type=pathlib.Path, required=True, metavar="FILE")
    parser.add_argument("--every", type=float, default=0.1, metavar="SECONDS")
    wish = parser.parse_args()
    # Awaited, not handled: a handler that set an Event could wait for ever for the lock that this thread has in wait().
    ending = {signal.SIGTERM, signal.SIGINT}
    signal.pthread_sigmask(signal.SIG_BLOCK, ending)
    with wish.report.open("a") as report:
        reporter, look = Reporter(report), Look(wish.containers)
        reporter.say(kind="begin")
        looks, longest, last = 0, 0.0, time.monotonic()
        while signal.sigtimedwait(ending, wish.every) is None:
            reporter.take(look.holders())
            now = time.monotonic()
            looks, longest, last = looks + 1, max(longest, now - last), now
        reporter.say(kind="end", looks=looks, longest=round(longest, 3))


if __name__ == "__main__":
    main()
