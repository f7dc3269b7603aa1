#!/usr/bin/env python3
"""The numbers of docs/scale.md: what a node's ResourceSlices cost the API server. Three tables, one a word:

  simulate.py sizes     bytes and objects, by devices
  simulate.py day       requests of a node in a day
  simulate.py restart   10,000 nodes at once: a discrete simulation of their requests at one API server

How netd spaces its requests is read out of its headers; what is assumed of the server stands below."""

import collections
import heapq
import json
import pathlib
import random
import re
import sys

TREE = pathlib.Path(__file__).resolve().parents[2]
UNITS = {"SECONDS": 1.0, "MILLISECONDS": 0.001}
NODES = 10_000
DAY = 86_400


def constants(*headers: str) -> dict[str, float]:
    found = {}
    for header in headers:
        text = (TREE / header).read_text()
        for name, number, unit in re.findall(r"constexpr kj::Duration (k\w+) = (\d+) \* kj::(\w+);", text):
            found[name] = int(number) * UNITS[unit]
        for name, number in re.findall(r"constexpr (?:unsigned|std::size_t) (k\w+) = (\d+);", text):
            found[name] = int(number)
    return found


PACE = constants("netd/dra/slices/publish_pacing.h", "netd/dra/slices/slice_plan.h")

# Of a kube-apiserver with its defaults: --max-requests-inflight 400 and --max-mutating-requests-inflight 200 are shared out
# by priority level; service accounts have workload-low, 100 of 245 shares. One service account is one flow: of 128 queues it
# gets a hand of 6, 50 requests each. What does not fit is answered 429 with Retry-After 1.
SEATS = round((400 + 200) * 100 / 245)
QUEUE = 6 * 50
RETRY_AFTER = 1.0
# Seats that a request takes: a list one for each 100 objects of its kind that are stored, at most 10. A write is charged for
# the watches that it wakes, 5 ms of a seat for each 10 of them, on at most 10 seats: if the server counts all watches of the
# kind, though it indexes them by node, that is the expensive case.
WIDEST = 10
EVENT_WORK = 0.005 / 10
# Assumed, in seconds, of a server that is not short of anything else.
TAKES = {"node": 0.005, "list": 0.010, "watch": 0.005, "write": 0.020}


# ---- Sizes ----

def device(number: int) -> dict:
    """As plugind publishes one: its attributes, the counter of its group, and a taint, as if all were held."""
    bus, slot = divmod(number, 32)
    address = f"{bus // 256:04x}:{bus % 256:02x}:{slot:02x}.0"
    text = {"resource.kubernetes.io/pciBusID": address, "resource.kubernetes.io/pcieRoot": f"pci{address[:7]}",
            "vendor": "10de", "device": "1eb8", "class": "030200", "driver": "vfio-pci", "sriovRole": "none", "vfioApi": "legacy",
            "productName": "TU104GL [Tesla T4]", "resource": "vfiogate.dev/10de_1eb8"}
    attributes = {name: {"string": value} for name, value in text.items()}
    attributes |= {"iommuGroup": {"int": number}, "numaNode": {"int": number % 2}}
    return {"name": address.replace(":", "-").replace(".", "-"), "attributes": attributes,
            "consumesCounters": [{"counterSet": f"groups-{number // 32}", "counters": {f"group-{number}": {"value": "1"}}}],
            "taints": [{"key": "vfio.vfiogate.dev/held", "value": "plugin", "effect": "NoSchedule",
                        "timeAdded": "2026-01-01T00:00:00Z"}]}


def slice_of(count: int, **content) -> dict:
    node, uid = "node-12345.cluster.example", "00000000-0000-0000-0000-000000000000"
    owner = {"apiVersion": "v1", "kind": "Node", "name": node, "uid": uid, "controller": True}
    return {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceSlice",
            "metadata": {"name": f"{node}-vfio.vfiogate.dev-000", "uid": uid, "resourceVersion": "1234567890",
                         "ownerReferences": [owner]},
            "spec": {"driver": "vfio.vfiogate.dev", "nodeName": node,
                     "pool": {"name": node, "generation": 1, "resourceSliceCount": count}, **content}}


def parts(items: list, most: float) -> list[list]:
    return [items[at:at + int(most)] for at in range(0, len(items), int(most))]


def slices_of(devices: int) -> list[dict]:
    sets = [{"name": f"groups-{number}", "counters": {f"group-{group}": {"value": "1"} for group in part}}
            for number, part in enumerate(parts(list(range(devices)), PACE["kMostCounters"]))]
    contents = [{"sharedCounters": part} for part in parts(sets, PACE["kMostCounterSets"])]
    contents += [{"devices": part} for part in parts([device(number) for number in range(devices)], PACE["kMostDevices"])]
    return [slice_of(len(contents), **content) for content in contents]


def sizes() -> None:
    row = "{:>8} {:>7} {:>14} {:>13} {:>16} {:>18}".format
    print(row("devices", "slices", "largest slice", "a node", "1,000 nodes", "10,000 nodes"))
    for devices in (8, 64, 256, 4096):
        lengths = [len(json.dumps(one, separators=(",", ":"))) for one in slices_of(devices)]
        whole = sum(lengths)
        print(row(devices, len(lengths), f"{max(lengths) / 1e3:,.1f} kB", f"{whole / 1e3:,.1f} kB", f"{whole / 1e3:,.1f} MB",
                  f"{whole / 1e2:,.0f} MB"))


# ---- A day ----

def day() -> None:
    watches = DAY / ((PACE["kWatchLeast"] + PACE["kWatchMost"]) / 2)
    row = "{:>15} {:>13} {:>13} {:>10} {:>9} {:>22} {:>15}".format
    print(row("allocations a day", "slice writes", "claim writes", "reads", "watches", "writes/s, 10,000 nodes", "of the leases'"))
    for allocations in (0, 10, 100, 1000):
        # Half of them through each path. The plugin's sets a taint and takes it away; a claim is read to be prepared, and
        # read and written for its status.
        slice_writes, claim_writes, reads = allocations, allocations // 2, allocations
        rate = (slice_writes + claim_writes) * NODES / DAY
        print(row(allocations, slice_writes, claim_writes, reads, f"{watches:.0f}", f"{rate:.1f}",
                  f"{100 * (slice_writes + claim_writes) / (DAY / 10):.1f} %"))


# ---- All at once ----

class Server:
    """One API server's workload-low level: seats, one queue, first come, first served."""

    def __init__(self, run: "Run", watched: bool):
        self.run, self.watched = run, watched
        self.free = SEATS
        self.queue: collections.deque = collections.deque()
        self.arrivals: collections.Counter = collections.Counter()
        self.refused = self.longest = 0

    def width(self, kind: str) -> int:
        if kind == "list":
            return WIDEST
        return WIDEST if kind == "write" and self.watched else 1

    def takes(self, kind: str) -> float:
        """The seats are also held while the watches are woken."""
        return TAKES[kind] + (EVENT_WORK * NODES / WIDEST if kind == "write" and self.watched else 0)

    def ask(self, kind: str, answered) -> None:
        self.arrivals[int(self.run.now)] += 1
        if len(self.queue) >= QUEUE:
            self.refused += 1
            self.run.after(TAKES["node"], answered, False)
            return
        self.queue.append((kind, answered))
        self.longest = max(self.longest, len(self.queue))
        self.dispatch()

    def dispatch(self) -> None:
        while self.queue and self.width(self.queue[0][0]) <= self.free:
            kind, answered = self.queue.popleft()
            self.free -= self.width(kind)
            self.run.after(TAKES[kind], answered, True)
            self.run.after(self.takes(kind), self.leave, self.width(kind))

    def leave(self, seats: int) -> None:
        self.free += seats
        self.dispatch()


class Node:
    """netd's publisher: steps in their order, each tried again after its backoff."""

    def __init__(self, run: "Run", steps: list[str], start: float):
        self.run, self.steps, self.at = run, steps, 0
        self.failures = 0
        run.after(start, self.step)

    def step(self) -> None:
        self.run.server.ask(self.steps[self.at], self.answered)

    def answered(self, good: bool) -> None:
        draw = self.run.random.random
        if good:
            self.at += 1
            if self.at == len(self.steps):
                self.run.ended.append(self.run.now)
            else:
                self.step()
            return
        self.failures += 1
        most = min(PACE["kPublishBackoff"] * 2 ** (self.failures - 1), PACE["kMostPublishBackoff"])
        self.run.after(RETRY_AFTER + most / 2 + draw() * most / 2, self.step)


class Run:
    def __init__(self, steps: list[str], spread: tuple[float, float], watched: bool):
        self.random = random.Random(1)
        self.now, self.count = 0.0, 0
        self.events: list = []
        self.ended: list[float] = []
        self.server = Server(self, watched)
        for _ in range(NODES):
            Node(self, steps, spread[0] + self.random.random() * (spread[1] - spread[0]))
        while self.events:
            self.now, _, act, arguments = heapq.heappop(self.events)
            act(*arguments)

    def after(self, seconds: float, act, *arguments) -> None:
        self.count += 1
        heapq.heappush(self.events, (self.now + seconds, self.count, act, arguments))


def restart() -> None:
    start, at_once = (0.0, PACE["kStartSpread"]), (0.0, 0.0)
    settle = (PACE["kSettleLeast"], PACE["kSettleMost"])
    lost = (PACE["kPublishBackoff"] / 2, PACE["kPublishBackoff"] + PACE["kStartSpread"])
    read, write = ["node", "list", "watch"], ["node", "list", "watch", "write", "write"]
    rows = [("netd restarts on all nodes", read, start, False),
            ("  the same without its jitter", read, at_once, False),
            ("all slices are new, watches by node", write, start, False),
            ("all slices are new, all watches count", write, start, True),
            ("every kubelet wipes its node", ["node", "write", "write"], settle, False),
            ("  the same, all watches count", ["node", "write", "write"], settle, True),
            ("the API server restarts", ["watch"], lost, False),
            ("all watches expire", ["list", "watch"], settle, False)]
    row = "{:<38} {:>8} {:>8} {:>8} {:>9} {:>10} {:>10} {:>7}".format
    print(row("10,000 nodes, 2 slices each", "requests", "refused", "peak/s", "in queue", "half done", "99 % done", "all"))
    over_time = []
    for name, steps, spread, watched in rows:
        run = Run(steps, spread, watched)
        total = sum(run.server.arrivals.values())
        ended = sorted(run.ended)
        print(row(name, f"{total:,}", f"{run.server.refused:,}", f"{max(run.server.arrivals.values()):,.0f}",
                  run.server.longest, f"{ended[NODES // 2]:.0f} s", f"{ended[NODES * 99 // 100]:.0f} s", f"{ended[-1]:.0f} s"))
        over_time.append((name, run.server.arrivals))
    print()
    print("requests per second, by 5 s from the start")
    for name, arrivals in over_time:
        print(f"{name:<38} " + " ".join(f"{sum(arrivals[5 * at + i] for i in range(5)) / 5:>5,.0f}" for at in range(8)))


def main() -> int:
    tables = {"sizes": sizes, "day": day, "restart": restart}
    if len(sys.argv) != 2 or sys.argv[1] not in tables:
        print(__doc__, file=sys.stderr)
        return 2
    tables[sys.argv[1]]()
    return 0


if __name__ == "__main__":
    sys.exit(main())
