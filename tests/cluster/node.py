"""The node that node.sh has started around this process: its programs, its directories, what it offers."""

import json
import os
import pathlib
import shutil
import subprocess
import time
import urllib.request

from api_client import ApiClient
from waiting import wait_for

KUBELET = pathlib.Path("/var/lib/kubelet")
DEVICE_PLUGINS = KUBELET / "device-plugins"
CHECKPOINT = DEVICE_PLUGINS / "kubelet_internal_checkpoint"
STATE, RECORD, LOG, SPECS = (
    pathlib.Path(path) for path in ("/var/lib/vfiogate", "/run/vfiogate/devices", "/var/log/vfiogate", "/var/run/cdi"))


class CommandFailed(AssertionError):
    pass


class Node:
    def __init__(self):
        self.directory = pathlib.Path(os.environ["NODE_DIR"])
        self.api = self.another_client()

    @staticmethod
    def another_client() -> ApiClient:
        """For another thread."""
        return ApiClient(pathlib.Path(os.environ["KUBECONFIG"]))

    @staticmethod
    def run(*command, given: str | None = None, seconds: float = 120) -> str:
        words = [str(word) for word in command]
        done = subprocess.run(words, input=given, capture_output=True, text=True, timeout=seconds)
        if done.returncode != 0:
            raise CommandFailed(f"{' '.join(words)}: exit {done.returncode}: {done.stdout.strip()} {done.stderr.strip()}")
        return done.stdout

    def kubectl(self, *words, given: str | None = None) -> str:
        return self.run("kubectl", *words, given=given)

    def control(self, what: str, act: str) -> str:
        """`kubelet stop`: node.sh names programs and acts."""
        return self.run("node-ctl", what, act)

    def log_of(self, what: str) -> str:
        return pathlib.Path(self.control(what, "log").strip()).read_text(errors="replace")

    def counted(self, which: str) -> dict[str, int]:
        """`allocatable` or `capacity`: of extended resources what the scheduler counts with."""
        found = self.api.get("/api/v1/nodes/node")["status"].get(which, {})
        return {name: int(count) for name, count in found.items() if "/" in name}

    def allocatable(self, resource: str) -> int:
        return self.counted("allocatable").get(resource, 0)

    def is_ready(self) -> bool:
        conditions = self.api.get("/api/v1/nodes/node")["status"]["conditions"]
        return any(one["type"] == "Ready" and one["status"] == "True" for one in conditions)

    def start_kubelet(self) -> float:
        """Seconds until it serves again: its socket is there, and it answers."""
        began = time.monotonic()
        self.control("kubelet", "start")
        wait_for("the kubelet is healthy", self.kubelet_answers, seconds=60)
        return time.monotonic() - began

    @staticmethod
    def kubelet_answers() -> bool:
        try:
            with urllib.request.urlopen("http://127.0.0.1:10248/healthz", timeout=5) as answer:
                return answer.status == 200
        except OSError:
            return False

    def restart_kubelet(self, how: str = "stop", between=lambda: None) -> float:
        """`how`: stop (SIGTERM) or kill; `between` is done while there is none."""
        self.control("kubelet", how)
        between()
        return self.start_kubelet()

    def lose_checkpoint(self) -> None:
        CHECKPOINT.unlink()

    def remembered(self) -> dict[str, list[str]]:
        """By pod UID, the devices that the kubelet's checkpoint names."""
        found: dict[str, list[str]] = {}
        for entry in json.loads(CHECKPOINT.read_text())["Data"]["PodDeviceEntries"] or []:
            ids = [one for some in entry["DeviceIDs"].values() for one in some]
            found.setdefault(entry["PodUID"], []).extend(sorted(ids))
        return found

    def forget(self) -> None:
        """As a node on which vfiogate never was."""

        def clean() -> None:
            for place in (DEVICE_PLUGINS, STATE, RECORD, LOG, SPECS, KUBELET / "plugins_registry", KUBELET / "plugins"):
                for path in place.glob("*"):
                    shutil.rmtree(path) if path.is_dir() else path.unlink()
            # Else a pod is sent here for what is not there, and the kubelet runs it without a device: it knows of no plugin.
            none = {name: None for name in self.counted("capacity")}
            self.api.change("/api/v1/nodes/node/status", {"status": {"capacity": none, "allocatable": none}})

        self.restart_kubelet("stop", clean)
        wait_for("the node is Ready", self.is_ready, seconds=60)
