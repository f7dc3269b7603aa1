#!/usr/bin/env python3
"""What each kind of machine looks like to its users, as a file that a reviewer can read: `privd list -o json`, what the kubelet sees, and
what a container gets, on the simulated node of docs/walk/node.sh with the real programs. The files are in answers/.
  tests/golden/golden_test.py --programs DIR [MACHINE...]     compares; exit 1 after a difference, with it
  tests/golden/golden_test.py --programs DIR --write ...      writes the files anew, to be read before they are committed"""

import argparse
import difflib
import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from machines import MACHINES

HERE = Path(__file__).resolve().parent
TREE = HERE.parent.parent
NODE = TREE / "docs/walk/node.sh"
# By the pci.ids of the machine that runs the test.
TRIES = 5
NOT_OURS = ("name", "className")


class Node:
    """The simulated node, up with one machine's hardware and configuration."""

    def __init__(self, programs, machine, place):
        self.environment = {**os.environ, "VFIOGATE_PROGRAMS": str(programs)}
        self.place = Path(place)
        self.machine = machine

    def __enter__(self):
        config = self.place / "config.yaml"
        config.write_text(self.machine.config)
        self.say("up", config, TREE / "tests/topologies" / self.machine.topology)
        try:
            for order in self.machine.orders:
                self.say("hardware", *order.split())
            for resource, device in self.machine.shown:
                self.say("await", device, "kubelet", "get", "devices", resource)
        except RuntimeError:
            self.say("down")
            raise
        return self

    def __exit__(self, *problem):
        self.say("down")

    def say(self, *words):
        done = subprocess.run([NODE, *words], capture_output=True, text=True, env=self.environment)
        if done.returncode != 0:
            raise RuntimeError(f"{' '.join(map(str, words))}: {done.stdout}{done.stderr}")
        return done.stdout

    def listed(self):
        said = json.loads(self.say("privd", "list", "--all", "-o", "json"))
        for device in said["devices"]:
            for field in NOT_OURS:
                device.pop(field)
        for part in ("groups", "devices", "mediated", "egm"):
            for entry in said[part]:
                yield f"{part}: {json.dumps(entry)}"

    def frames(self):
        """Each resource with its devices."""
        status = json.loads(self.say("plugind", "status", "-o", "json"))
        for resource in status["resources"]:
            yield resource["name"]
            yield from (f"  {line}" for line in self.say("kubelet", "get", "devices", resource["name"]).splitlines())

    def answers(self, machine):
        """What a pod's container gets, for each pod."""
        for number, limits in enumerate(machine.pods):
            pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": f"pod-{number}"},
                   "spec": {"containers": [{"name": "compute", "resources": {"limits": limits}}]}}
            path = self.place / "pod.json"
            path.write_text(json.dumps(pod))
            yield f"asks for {', '.join(f'{count} {name}' for name, count in limits.items())}"
            for line in self.applied(path).splitlines():
                if ": " in line:
                    yield "  " + in_order(line.strip())

    def applied(self, pod):
        """The kubelet's answer. A machine beside others may be too busy to be read within an Allocate's two seconds: asked again, as
        whoever made the pod does."""
        for _ in range(TRIES - 1):
            try:
                return self.say("kubelet", "apply", pod)
            except RuntimeError as refused:
                if "not known in time" not in str(refused):
                    raise
                self.say("kubelet", "delete", json.loads(pod.read_text())["metadata"]["name"])
        return self.say("kubelet", "apply", pod)


def in_order(line):
    """The ids as the kubelet picked them are in no order, nor are the variables in the answer."""
    ids = re.compile(r"^(\S+: \S+) ((?:[^ ,]+ )*[^ ,]+)(?=,|$)")
    line = ids.sub(lambda found: f"{found[1]} {' '.join(sorted(found[2].split()))}", line)
    parts = line.split(", ")
    variables = sorted(part for part in parts if "=" in part and not part.startswith("/"))
    return ", ".join([part for part in parts if part not in variables] + variables)


def seen_on(programs, machine):
    with tempfile.TemporaryDirectory() as place, Node(programs, machine, place) as node:
        lines = [f"# {machine.what}", "", "## privd list", *node.listed(), "", "## What the kubelet sees", *node.frames(),
                 "", "## What a container gets", *node.answers(machine)]
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--programs", required=True, metavar="DIR", help="where the built programs are")
    parser.add_argument("--write", action="store_true", help="write the files anew")
    parser.add_argument("machine", nargs="*", help=", ".join(MACHINES))
    arguments = parser.parse_args()
    unknown = [name for name in arguments.machine if name not in MACHINES]
    if unknown:
        parser.error(f"no machine {', '.join(unknown)}")
    if os.geteuid() != 0 or not Path("/dev/fuse").exists():
        print("skipped: it needs root and /dev/fuse")
        return 77
    bad = 0
    for name in arguments.machine or MACHINES:
        seen = seen_on(Path(arguments.programs).resolve(), MACHINES[name])
        path = HERE / "answers" / f"{name}.txt"
        if arguments.write:
            path.parent.mkdir(exist_ok=True)
            path.write_text(seen)
        known = path.read_text() if path.exists() else ""
        difference = list(difflib.unified_diff(known.splitlines(), seen.splitlines(), f"{name}: as committed", f"{name}: seen", lineterm="", n=0))
        print("\n".join(difference) or f"{name}: as committed")
        bad += bool(difference)
    if bad:
        print(f"{bad} differ. Is it meant so? Then --write, read the change and commit it.")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
