#!/usr/bin/env python3
"""A node whose pods come and go, and a real Prometheus that scrapes it: the simulated node of docs/walk/node.sh, with
`netd metrics` beside it. Run by itself it prints the answers to the dashboard's queries, from which
docs/draw_dashboard.py draws. As root; needs /dev/fuse and a Prometheus, which tests/support/fetch_prometheus.sh brings."""

import argparse
import contextlib
import json
import os
import pathlib
import re
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.parse
import urllib.request

TREE = pathlib.Path(__file__).resolve().parents[2]
DASHBOARD = TREE / "deploy/helm/vfiogate/monitoring/dashboard.json"
HERE = pathlib.Path(__file__).resolve().parent
PATIENCE = 60  # seconds
CYCLES = 4
# What Grafana puts in for its variables.
VARIABLES = {"$node": ".*", "$resource": ".*", "$__rate_interval": "10s"}


def prometheus_tools() -> pathlib.Path | None:
    """Where prometheus and promtool are; None: they cannot be had."""
    base = os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache"
    done = subprocess.run([TREE / "tests/support/fetch_prometheus.sh", f"{base}/vfiogate/prometheus"], capture_output=True, text=True)
    return pathlib.Path(done.stdout.strip()) if done.returncode == 0 else None


def missing(tools: pathlib.Path | None) -> str | None:
    """Why it cannot be run here."""
    if os.geteuid() != 0:
        return "needs root"
    if not pathlib.Path("/dev/fuse").exists():
        return "needs /dev/fuse"
    if tools is None:
        return "needs Prometheus, which is neither installed nor can be downloaded"
    return None


def until(found, what: str):
    """The first answer of `found` that is not empty."""
    end = time.monotonic() + PATIENCE
    while not (answer := found()):
        if time.monotonic() > end:
            raise RuntimeError(f"not within {PATIENCE} s: {what}")
        time.sleep(0.1)
    return answer


def fetched(url: str) -> str:
    """The body; empty where nobody answers."""
    try:
        with urllib.request.urlopen(url, timeout=10) as answer:
            return answer.read().decode()
    except (urllib.error.URLError, ConnectionError):
        return ""


class Node:
    """With the words of docs/walk/node.sh."""

    def __init__(self, programs: pathlib.Path, tools: pathlib.Path, work: pathlib.Path):
        self.work, self.programs, self.tools = work, programs, tools
        self.environment = os.environ | {"VFIOGATE_PROGRAMS": str(programs)}
        self.running: list[subprocess.Popen] = []
        self.url = self.prometheus = ""

    def say(self, *words: str) -> str:
        done = subprocess.run([TREE / "docs/walk/node.sh", *words], capture_output=True, text=True, env=self.environment)
        return done.stdout + done.stderr

    def __enter__(self):
        said = self.say("up", str(HERE / "node.yaml"))
        if "node: up" not in said:
            raise RuntimeError(said)
        try:
            self.start_netd()
            self.start_prometheus()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *failure):
        for process in self.running:
            process.terminate()
            process.wait()
        self.say("down")

    def start(self, log: str, *command) -> pathlib.Path:
        path = self.work / log
        with path.open("w") as out:
            self.running.append(subprocess.Popen([str(word) for word in command], stdout=out, stderr=out))
        return path

    def start_netd(self):
        sums = subprocess.run(["cksum"], input=f"{TREE}\n", capture_output=True, text=True).stdout.split()
        log = self.start("netd.log", self.programs / "netd", "metrics", "--listen", "127.0.0.1:0",
                         "--plugind", f"/tmp/vfiogate-node-{sums[0]}/plugind/plugind.sock")
        found = until(lambda: re.search(r"event=started.* listen=(\S+)", log.read_text()), "netd starts")
        self.url = f"http://{found[1]}/metrics"

    def start_prometheus(self):
        target = urllib.parse.urlparse(self.url).netloc
        (self.work / "prometheus.yml").write_text(json.dumps({
            "global": {"scrape_interval": "1s", "evaluation_interval": "1s"},
            "rule_files": [str(DASHBOARD.parent / "rules.yaml")],
            "scrape_configs": [{"job_name": "vfiogate", "static_configs": [{"targets": [target], "labels": {"node": "simulated"}}]}],
        }))
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            address = f"127.0.0.1:{free.getsockname()[1]}"
        self.start("prometheus.log", self.tools / "prometheus", f"--config.file={self.work}/prometheus.yml",
                   f"--storage.tsdb.path={self.work}/data", f"--web.listen-address={address}")
        self.prometheus = f"http://{address}"
        until(lambda: self.ask("query", query="vfiogate_plugind_up == 1"), "Prometheus scrapes netd")

    def ask(self, what: str, **parameters) -> list:
        """Prometheus's answer; empty where there is none yet. An error of the query is one."""
        try:
            with urllib.request.urlopen(f"{self.prometheus}/api/v1/{what}?{urllib.parse.urlencode(parameters)}", timeout=10) as answer:
                return json.load(answer)["data"]["result"]
        except urllib.error.HTTPError as error:
            if error.code == 503:
                return []
            raise RuntimeError(f"{parameters}: {error.read().decode()}") from None
        except (urllib.error.URLError, ConnectionError):
            return []

    def rules(self) -> list[dict]:
        """Each alert with its health, once all were evaluated."""
        def evaluated():
            groups = json.loads(fetched(f"{self.prometheus}/api/v1/rules") or "{}").get("data", {"groups": []})["groups"]
            found = [rule for group in groups for rule in group["rules"]]
            return found if all(rule["health"] != "unknown" for rule in found) else []
        return until(evaluated, "the alerts are evaluated")

    def await_sample(self, query: str):
        """That it is scraped, too: what no scrape sees, no panel shows."""
        until(lambda: self.ask("query", query=query), query)

    def cycle(self):
        """A pod gets a card and lets it go; one leaves its machine behind; somebody opens a network card by hand."""
        self.say("kubelet", "apply", str(HERE / "one_card.yaml"))
        self.await_sample('vfiogate_resource_allocated_devices{resource="vfiogate.dev/10de_2684"} == 1')
        for card in ("0000:01:00.0", "0000:02:00.0"):
            self.say("hardware", "open", card)
        self.say("kubelet", "delete", "one-card", "--force")
        self.await_sample('vfiogate_groups{state="lingering"} > 0')
        self.say("hardware", "open", "0000:04:01.0")
        self.say("kubelet", "admit", str(HERE / "network.yaml"))
        self.await_sample('vfiogate_groups{state="foreign"} > 0')
        self.say("kubelet", "delete", "network")
        for device in ("0000:01:00.0", "0000:02:00.0", "0000:04:01.0"):
            self.say("hardware", "close", device)
        self.await_sample('sum(vfiogate_groups{state=~"lingering|foreign"}) == 0')

    def load(self):
        self.say("hardware", "bind", "0000:02:00.0", "vfio-pci")
        self.await_sample('vfiogate_resource_free_devices{resource="vfiogate.dev/10de_2684"} == 2')
        for _ in range(CYCLES):
            self.cycle()
        self.say("kubelet", "restart")
        self.await_sample('sum(increase(vfiogate_registrations_total{turn="new-kubelet"}[10s])) > 0')
        self.await_sample('min(vfiogate_resource_registered) == 1')
        self.say("kubelet", "apply", str(HERE / "one_card.yaml"))
        self.await_sample("sum(vfiogate_resource_allocated_devices) == 1")
        self.say("hardware", "open", "0000:04:01.0")
        self.await_sample('vfiogate_groups{state="foreign"} > 0')


@contextlib.contextmanager
def node_under_load(programs: pathlib.Path, tools: pathlib.Path):
    with tempfile.TemporaryDirectory() as work, Node(programs.resolve(), tools, pathlib.Path(work)) as node:
        began = time.time()
        node.load()
        node.began, node.ended = began, time.time()
        yield node


def filled(query: str) -> str:
    for name, value in VARIABLES.items():
        query = query.replace(name, value)
    return query


def queries(dashboard: dict) -> list[tuple[dict, dict]]:
    """Each panel with each of its targets."""
    return [(panel, target) for panel in dashboard["panels"] for target in panel["targets"]]


def legend(target: dict, labels: dict) -> str:
    return re.sub(r"{{(\w+)}}", lambda found: labels.get(found[1], ""), target["legendFormat"])


def answers(node: Node) -> list[dict]:
    """To each query, over the time of the load: numbers at even steps, None where there is none."""
    step = max(1, round((node.ended - node.began) / 60))
    end = int(node.ended) + 1
    start = end - step * 60
    found = []
    for panel, target in queries(json.loads(DASHBOARD.read_text())):
        series = node.ask("query_range", query=filled(target["expr"]), start=start, end=end, step=step)
        lines = []
        for one in series:
            values = {int(float(when)): float(value) for when, value in one["values"] if value not in ("NaN", "+Inf")}
            if values:
                lines.append({"legend": legend(target, one["metric"]),
                              "values": [float(f"{values[t]:.4g}") if t in values else None for t in range(start, end + 1, step)]})
        found.append({"panel": panel["id"], "target": target["refId"], "series": sorted(lines, key=lambda line: line["legend"])})
    return [{"seconds": end - start, "step": step}, *found]


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--programs", type=pathlib.Path, default=TREE / "build/release/bin", metavar="DIR")
    programs = options.parse_args().programs
    tools = prometheus_tools()
    if why := missing(tools):
        sys.exit(why)
    with node_under_load(programs, tools) as node:
        lines = [json.dumps(one) for one in answers(node)]
    print("[\n" + ",\n".join(lines) + "\n]")


if __name__ == "__main__":
    main()
